"""Worlds of bars and ropes: how they are told, what is refused, and how a robot is put into them."""

import math
import pickle

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.cli._worlds import placed_robot
from saltus.contact import World, ladder, rope
from saltus.errors import InputError


def test_a_ladder_is_regular_uneven_or_inclined():
    assert ladder(0.5, 3).bars == ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0))
    uneven = ladder([0.5, 0.6], incline=math.radians(10))
    assert np.hypot(*np.diff(uneven.bars, axis=0).T) == pytest.approx([0.5, 0.6], abs=1e-15)
    assert math.atan2(*uneven.bars[2][::-1]) == pytest.approx(math.radians(10), abs=1e-15)


def test_bars_are_read_from_a_file(tmp_path):
    path = tmp_path / "bars.csv"
    path.write_text("x,y,name\n0,0,first\n0.55,0.02,second\n")
    assert World.read(path).bars == ((0.0, 0.0), (0.55, 0.02))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a,b\n1,2\n", "columns x and y"),
        ("x,y\n", "columns x and y"),
        ("x,y\n1,oops\n", "row 2"),
        ("x,y\n1,inf\n", "finite"),
    ],
)
def test_files_that_are_no_worlds_are_refused(tmp_path, text, match):
    path = tmp_path / "bars.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        World.read(path)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: World(()), "without bars"),
        (lambda: World(((0, 0),), rope=(0, 0)), "not both"),
        (lambda: World(((0, math.nan),)), "finite"),
        (lambda: World((3,)), "two numbers"),
        (lambda: ladder(0.5, 0), "at least one bar"),
        (lambda: ladder(-0.5, 3), "positive"),
        (lambda: ladder(math.inf, 3), "positive"),
        (lambda: ladder(0.5, 201), "at most 200"),
        (lambda: ladder([0.5, 0.6], 2), "has 1 spacings"),
        (lambda: ladder(0.5, 3, incline=2.0), "right angle"),
        (lambda: rope(incline=math.pi / 2), "right angle"),
        (lambda: robots.brachiator(world=ladder(0.9, 3)), "out of reach: 0.9 m from bar 0"),
        (lambda: robots.brachiator(world=ladder(0.02, 3)), "overlap"),
        (lambda: robots.brachiator(world=3), "made by"),
        (lambda: robots.hopper(world=ladder()), "not one that is put into worlds"),
        (lambda: robots.find_robot("hopper@3"), "not one that is put into worlds"),
        (lambda: robots.find_robot("brachiator@zero"), "number of bars"),
    ],
)
def test_what_is_no_world_is_refused_before_any_work(make, match):
    with pytest.raises(saltus.errors.SaltusError, match=match):
        make()


def test_where_bars_are_is_a_matter_of_parameters():
    one, other = (robots.brachiator(world=ladder(step, 3)) for step in (0.5, 0.6))
    assert one.derived is other.derived
    assert (one.values["bar2_x"], other.values["bar2_x"]) == (1.0, 1.2)
    again = pickle.loads(pickle.dumps(other))
    assert (again.values, dict(again.start)) == (other.values, dict(other.start))


def test_hands_begin_on_the_first_two_bars():
    system = robots.brachiator(world=ladder([0.5, 0.62], incline=0.1))
    run = saltus.simulate(system, until=0.1)
    assert run.arc_modes == ["A:closed B:closed"]
    places = run.mesh.positions[0]
    assert places[[0, 2]] == pytest.approx([system.values["bar1_x"], system.values["bar0_x"]], abs=1e-15)
    elbow = run.mesh.x[0]
    assert elbow[1] - 0.4 * math.cos(elbow[2]) < min(places[1], places[3])


def test_a_link_that_passes_through_a_bar_is_an_event():
    system = robots.brachiator(bar1_x=0.3, bar1_y=-0.25, bar2_x=60.0)
    start = {"x": 0.0, "y": 0.0, "theta1": 1.4, "theta2": 0.0}
    run = saltus.simulate(system, start, until=1.0, mode={"B": "open"})
    event = next(event for event in run.events if event.guard == "link A meets a bar")
    angle = event.state_before["theta1"]
    away = abs(0.3 * math.cos(angle) - 0.25 * math.sin(angle))
    assert away == pytest.approx(0.0127, abs=1e-9)
    ended = saltus.simulate(
        system.with_guards(**{"link A meets a bar": "terminal"}), start, until=1.0, mode={"B": "open"}
    )
    assert ended.end_time == event.t


def test_the_bar_that_is_held_is_no_obstacle():
    """A hand pinned anywhere in the circle in which it can close swings all round without meeting its own bar."""
    rng = np.random.default_rng(3)
    system = robots.brachiator(bar1_x=50.0, bar2_x=60.0)
    for _ in range(5):
        away, side = 0.0249 * math.sqrt(rng.random()), 2 * math.pi * rng.random()
        start = {"x": away * math.cos(side), "y": away * math.sin(side), "theta1": 3.0, "dtheta1": 1.0}
        run = saltus.simulate(system, start, until=3.0, mode={"B": "open"})
        assert not [event for event in run.events if event.guard == "link A meets a bar"]


def test_a_robot_that_holds_nothing_falls():
    system = robots.brachiator()
    run = saltus.simulate(system, until=5.0, mode={"A": "open", "B": "open"})
    assert run.status.name == "terminal"
    assert run.events[-1].guard == "fell"
    assert saltus.studies.fell(run)


def test_a_rope_is_held_anywhere():
    system = robots.brachiator(world=rope(incline=0.1, height=1.0))
    assert system.state()[1] == 1.0
    start = {"x": 2.0, "y": 1.0 + 2.0 * math.tan(0.1)}
    run = saltus.simulate(system, start, until=0.2)
    assert run.mesh.reach[0, 0] <= 0


@pytest.mark.parametrize(("robot", "target"), [("brachiator", "0.568,0"), ("five_link_brachiator", "1.3,0")])
def test_a_swing_up_begins_hanging_by_the_first_hand(robot, target):
    system, mode = placed_robot(robot, None, None, None, None, None, "swing-up", target)
    assert mode == {"B": "open"}
    x = dict(zip(system.state_names, system.state(), strict=True))
    assert (x["x"], x["y"]) == (0.0, 0.0)
    hand = ca.Function("hand", [system.dynamics.x, system.dynamics.p], [system.mechanism.points["B"].position])
    assert float(hand(system.state(), system.parameter_values)[1]) < -0.69


def test_bars_may_be_as_near_as_hands_are_thick_if_nothing_else_is_said():
    near = ladder(0.11, 3)
    assert near.check(1.0, 0.05) is near
    assert near.check(1.0, 0.05, least=0.1) is near
    with pytest.raises(InputError):
        near.check(1.0, 0.05, least=0.2)
