"""Claws that take their time, miss, refuse and droop, against free fall and mechanics written out by hand."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from saltus import Command, HybridSystem, Mechanism, robots, simulate
from saltus.contact import Bar, Grip, Line, Wall, World, ladder
from saltus.control import Compiled, Energy, Gripper, Hardware, Sampled
from saltus.control._gripper import cost_of_catch, from_nearest
from saltus.errors import InputError, UnknownName
from saltus.mechanism import Prismatic
from saltus.studies import swings

G = 9.81
CAPTURE = 0.1


def falling(*holds, gravity=G, mass=2.0):
    """A hand that moves freely in the plane."""
    m = Mechanism("falling")
    m.gravity = m.parameter("g", gravity, "m/s^2")
    rail = m.body("rail", Prismatic("x"))
    body = m.body("body", Prismatic("y", axis=(0, 1)), parent=rail, mass=mass)
    return HybridSystem(m, units=(Grip(m.point("hand", body), holds),))


def asks(*when, log=None, period=1e-3, name="hand"):
    """A controller that asks a grip: (from, until, wish); nothing at other times."""

    def function(t, state, mode, memory):
        if log is not None:
            log.append((t, dict(mode)))
        said = [wish for begin, end, wish in when if begin - 1e-9 <= t < end - 1e-9]
        return Command(requests={name: said[-1]} if said else {})

    return Sampled(function, period=period)


def told(run):
    """Times and modes after of all events."""
    return [(event.t, event.mode_after) for event in run.events]


def mixed(seed, place):
    """The generator, written with whole numbers of any size."""
    full = 2**64 - 1
    z = (seed * 0xD1342543DE82EF95 + place * 0x9E3779B97F4A7C15) & full
    for _ in range(2):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
        z = ((z ^ (z >> 31)) + 0x9E3779B97F4A7C15) & full
    return (z >> 11) / 2**53


# -- closing --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_bar():
    """A bar at the origin."""
    return falling(Bar((0.0, 0.0), CAPTURE))


def behind(*when, seed=0, log=None, **gripper):
    return Hardware(asks(*when, log=log), gripper=Gripper(**gripper), seed=seed)


def test_a_claw_closes_in_its_time_where_the_hand_is_then(one_bar):
    # dropped 0.25 m above the bar, within reach from 0.15 m of fall on; asked for one sample only
    begin = math.sqrt(2 * 0.15 / G)
    wish = 0.05
    log = []
    controller = behind((wish, wish + 1e-3, "close"), log=log)
    run = simulate(one_bar, {"y": 0.25}, controller=controller, until=0.5)
    assert begin < wish + 0.18 < math.sqrt(2 * 0.35 / G)
    assert told(run) == [(pytest.approx(0.23, abs=1e-12), "closed")]
    assert run.final["y"] == pytest.approx(0.25 - G / 2 * 0.23**2, abs=1e-10)
    assert run.events[0].energy_lost == pytest.approx(0.5 * 2.0 * (G * 0.23) ** 2, rel=1e-9)
    # meanwhile it is told to be reaching
    modes = {round(t * 1000): mode["hand"] for t, mode in log}
    assert [modes[k] for k in (49, 50, 51, 230, 231)] == ["open", "open", "reaching", "reaching", "closed"]


def test_a_claw_that_misses_opens_before_the_next_try(one_bar):
    # thrown up past the bar, asked for ever: beyond reach at 0.18 s and 0.43 s later, back within it another 0.43 s on
    log = []
    start, speed = -0.6, 5.68
    controller = behind((0.0, 9.0, "close"), log=log, open_time=(0.2, 0.3))
    run = simulate(one_bar, {"y": start, "dy": speed}, controller=controller, until=2.0)
    due = [0.18, 0.61, 1.04]
    assert [abs(start + speed * t - G / 2 * t**2) <= CAPTURE for t in due] == [False, False, True]
    modes = {round(t * 1000): mode["hand"] for t, mode in log}
    assert [modes[k] for k in (1, 180, 181, 430, 431, 610, 611)] == [
        "reaching",
        "reaching",
        "released",
        "released",
        "reaching",
        "reaching",
        "released",
    ]
    assert told(run) == [(pytest.approx(due[2], abs=1e-9), "closed")]
    # on its way down
    assert controller.claws(run) == {
        "hand": {"tries": 3, "misses": 2, "wrong sides": 0, "too hard": 0, "side": "above"}
    }


def test_a_hand_that_passes_while_the_claw_closes_is_not_held(one_bar):
    # within reach from 0.01 to 0.04 s, long before 0.18 s
    controller = behind((0.0, 9.0, "close"), close_time=0.18)
    run = simulate(one_bar, {"x": -0.2, "dx": 8.0}, controller=controller, until=0.3)
    assert told(run) == []


def test_a_wish_to_open_turns_a_closing_claw_round(one_bar):
    log = []
    controller = behind((0.0, 0.1, "close"), (0.1, 0.101, "open"), (0.101, 9.0, "close"), log=log, close_time=0.15)
    run = simulate(falling(Bar((0.0, 0.0), CAPTURE), gravity=0.0), controller=controller, until=0.6)
    # reopened by 0.1 + 0.25, then 0.15 to close
    assert told(run) == [(pytest.approx(0.5, abs=1e-9), "closed")]
    modes = {round(t * 1000): mode["hand"] for t, mode in log}
    assert [modes[k] for k in (100, 101, 350, 351)] == ["reaching", "released", "released", "reaching"]


def ask_once(t, x, status, memory, p, data, piece, u, request):
    if memory[0] == 0.0:
        request[0] = 1
    memory[0] = 1.0
    return 0


def test_a_wish_that_a_compiled_law_does_not_take_back_stands(one_bar):
    # as without claws; the second try, at 0.43 + 0.18 s, finds the hand where it has come to by then
    controller = Hardware(Compiled(ask_once, period=1e-3), gripper=Gripper())
    run = simulate(one_bar, {"y": G / 2 * 0.61**2}, controller=controller, until=1.0)
    assert told(run) == [(pytest.approx(0.61, abs=1e-9), "closed")]
    assert controller.claws(run)["hand"]["tries"] == 2
    ideal = simulate(one_bar, {"y": 0.25}, controller=Hardware(Compiled(ask_once, period=1e-3)), until=1.0)
    assert [mode for _, mode in told(ideal)] == ["reaching", "closed"]


def test_without_a_time_to_close_it_waits_for_the_bar(one_bar):
    # within reach after a fall of 0.15 m: at the next sample it closes
    controller = behind((0.0, 1e-3, "close"), close_time=0.0)
    run = simulate(one_bar, {"y": 0.25}, controller=controller, until=0.5)
    expected = math.ceil(math.sqrt(2 * 0.15 / G) * 1000) / 1000
    assert told(run) == [(pytest.approx(expected, abs=1e-12), "closed")]
    withdrawn = behind((0.0, 1e-3, "close"), (0.1, 0.101, "open"), close_time=0.0)
    assert told(simulate(one_bar, {"y": 0.25}, controller=withdrawn, until=0.5)) == []


def test_a_run_that_begins_reaching_begins_with_a_try(one_bar):
    run = simulate(one_bar, {"y": 0.25}, mode={"hand": "reaching"}, controller=behind(), until=0.5)
    assert told(run) == [(0.0, "open"), (pytest.approx(0.18, abs=1e-12), "closed")]


# -- opening --------------------------------------------------------------------------------------


def test_a_hand_stays_where_it_is_until_the_claw_has_opened(one_bar):
    times = []
    for seed in range(6):
        controller = behind((0.1, 0.101, "open"), seed=seed)
        run = simulate(one_bar, mode={"hand": "closed"}, controller=controller, until=1.0)
        drawn = 0.1 + 0.2 + 0.1 * mixed(seed, -1)
        expected = math.ceil((drawn - 1e-9) * 1000) / 1000
        opened = run.events[0]
        assert (opened.t, opened.mode_after) == (pytest.approx(expected, abs=1e-12), "released")
        assert run.at(expected - 1e-6).tolist() == [0.0] * 4
        times.append(drawn)
    assert len(set(times)) == 6
    assert 0.3 <= min(times) < max(times) <= 0.4


def test_each_release_takes_another_time():
    still = falling(Bar((0.0, 0.0), CAPTURE), gravity=0.0)
    # let go and caught again where it is: three times in two seconds
    controller = Hardware(asks((0.0, 0.5, "open"), (0.5, 1.0, "again"), (1.0, 1.5, "open")), gripper=Gripper(), seed=5)
    run = simulate(still, mode={"hand": "closed"}, controller=controller, until=2.0)
    drawn = [0.2 + 0.1 * mixed(5, place) for place in (-1, -2)]
    expected = [begin + math.ceil(wait * 1000 - 1e-6) / 1000 for begin, wait in zip((0.0, 1.0), drawn, strict=True)]
    assert told(run) == [
        (pytest.approx(expected[0], abs=1e-9), "released"),
        (pytest.approx(0.68, abs=1e-9), "closed"),
        (pytest.approx(expected[1], abs=1e-9), "released"),
    ]


# -- which side it comes from ---------------------------------------------------------------------

WAYS = {
    "below": (0.02, -0.3),
    "above": (-0.03, 0.3),
    "side": (-0.3, 0.01),
}


@pytest.mark.parametrize("side", WAYS)
@pytest.mark.parametrize("allowed", [("below",), ("side", "above"), ("below", "side", "above"), None])
def test_only_some_sides_are_held(side, allowed):
    robot = falling(Bar((0.0, 0.0), CAPTURE), gravity=0.0)
    x, y = WAYS[side]
    start = {"x": x, "y": y, "dx": 0.0 if side != "side" else 2.0, "dy": 0.0 if side == "side" else -2.0 * np.sign(y)}
    # 2 m/s: within reach from 0.1 s on, for 0.1 s
    controller = behind((0.0, 9.0, "close"), close_time=0.15, approach=allowed)
    run = simulate(robot, start, controller=controller, until=0.6)
    held = allowed is None or side in allowed
    assert bool(told(run)) == held
    counts = controller.claws(run)["hand"]
    assert (counts["side"], counts["wrong sides"]) == (side, 0 if held else 1)


def test_the_quarters_of_a_bar():
    robot = falling(Bar((0.0, 0.0), CAPTURE), gravity=0.0)
    for angle in np.deg2rad([-134, -91, -46, -44, 0, 44, 46, 90, 134, 136, 180, -136]):
        way = np.array([math.cos(angle), math.sin(angle)])
        side = "side" if abs(way[0]) > abs(way[1]) else ("below" if way[1] < 0 else "above")
        start = {"x": 0.2 * way[0], "y": 0.2 * way[1], "dx": -0.5 * way[0], "dy": -0.5 * way[1]}
        for allowed in ("below", "side", "above"):
            controller = behind((0.0, 9.0, "close"), close_time=0.0, approach=(allowed,))
            run = simulate(robot, start, controller=controller, until=0.3)
            assert bool(told(run)) == (allowed == side), (math.degrees(angle), allowed)


def test_refused_it_has_to_leave_first():
    robot = falling(Bar((0.0, 0.0), CAPTURE), gravity=4.0)
    # thrown up from below: refused on the way up, and again from above as it falls back, where that is allowed
    start = {"y": -0.3, "dy": 2.5}
    controller = behind((0.0, 9.0, "close"), close_time=0.0, approach=("above",))
    run = simulate(robot, start, controller=controller, until=2.0)
    back = (2.5 + math.sqrt(2.5**2 - 2 * 4.0 * 0.4)) / 4.0  # comes down through +0.1
    assert told(run) == [(pytest.approx(math.ceil(back * 1000) / 1000, abs=1e-9), "closed")]


def test_refused_it_does_not_try_again_before_it_has_left():
    robot = falling(Bar((0.0, 0.0), CAPTURE), gravity=0.0)
    # within reach from 0.4 s on, for four seconds
    controller = behind((0.5, 9.0, "close"), approach=("above",))
    run = simulate(robot, {"y": -0.12, "dy": 0.05}, controller=controller, until=2.0)
    assert told(run) == []
    assert controller.claws(run)["hand"]["tries"] == 1


def test_where_a_hand_is_from_what_it_can_hold():
    holds = {
        "bars": (Bar((0.0, 0.0), 0.1), Bar((1.0, 0.0), 0.1)),
        "sizes": (Bar((0.0, 0.0), 0.1), Bar((1.0, 0.0), 0.5)),
        "line": (Line((0.0, 0.0), (1.0, 1.0), 0.1, endless=True),),
        "wall": (Wall((0.0, 2.0), math.pi, 0.1),),
    }
    expected = {"bars": (0.4, -0.2), "sizes": (-0.6, -0.2), "line": (0.3, -0.3), "wall": (0.0, -2.2)}
    for name, some in holds.items():
        robot = falling(*some)
        q = robot.mechanism.q
        place = ca.Function("place", [q], [from_nearest(robot.units[0])])
        np.testing.assert_allclose(np.array(place([0.4, -0.2])).ravel(), expected[name], atol=1e-12)


# -- how hard a catch may be ----------------------------------------------------------------------


@pytest.mark.parametrize("times", [0.99, 1.01])
def test_a_catch_that_is_too_hard_does_not_happen(one_bar, times):
    t = 0.2
    energy = 0.5 * 2.0 * (G * t) ** 2
    controller = behind((0.02, 9.0, "close"), impact_limit=times * energy)
    run = simulate(one_bar, {"y": 0.25}, controller=controller, until=0.4)
    assert told(run) == ([(pytest.approx(t, abs=1e-12), "closed")] if times > 1 else [])
    assert controller.claws(run)["hand"]["too hard"] == (0 if times > 1 else 1)


def arm_cost(p, q, v, held):
    """What both hands of two links cost when they stop, with or without the first held; by hand."""
    a, b = q[2], q[2] + q[3]
    first = np.array([[1, 0, p["r1"] * math.cos(a), 0], [0, 1, p["r1"] * math.sin(a), 0]])
    elbow = np.array([[1, 0, p["L1"] * math.cos(a), 0], [0, 1, p["L1"] * math.sin(a), 0]])
    swing = np.array([[0, 0, math.cos(b), math.cos(b)], [0, 0, math.sin(b), math.sin(b)]])
    second, tip = elbow + p["r2"] * swing, elbow + p["L2"] * swing
    w1, w2 = np.array([[0, 0, 1, 0]]), np.array([[0, 0, 1, 1]])
    M = p["m1"] * first.T @ first + p["I1"] * w1.T @ w1 + p["m2"] * second.T @ second + p["I2"] * w2.T @ w2
    J = np.vstack([np.eye(4)[:2], tip]) if held else tip
    change = -np.linalg.solve(M, J.T @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ v))
    return 0.5 * change @ M @ change, 0.5 * v @ M @ v


def test_what_a_catch_costs():
    robot = robots.brachiator()
    d, (hand_a, hand_b) = robot.dynamics, robot.units[:2]
    alone, both = (
        ca.Function("cost", [d.x, d.p], [cost_of_catch(robot, grips)]) for grips in ([hand_b], [hand_b, hand_a])
    )
    generator = np.random.default_rng(4)
    for _ in range(5):
        x = np.concatenate([generator.uniform(-1, 1, 3), generator.uniform(0.3, 2.5, 1), generator.normal(size=4)])
        given = (x, robot.parameter_values)
        cost, _ = arm_cost(robot.values, x[:4], x[4:], held=False)
        assert float(alone(*given)) == pytest.approx(cost, rel=1e-10)
        x[4:6] = 0.0  # hand A holds: all that moves comes to rest
        cost, kinetic = arm_cost(robot.values, x[:4], x[4:], held=True)
        assert cost == pytest.approx(kinetic, rel=1e-10)
        assert float(both(*given)) == pytest.approx(cost, rel=1e-10)


def swing_to_catch(limit):
    """The brachiator hangs by hand A and swings hand B towards the bar ahead."""
    robot = robots.brachiator()
    start = robot.state()
    names = robot.state_names
    # hand B a little below its bar behind, on its way up to it
    start[names.index("theta1")] += 0.1
    start[names.index("dtheta1")] = -3.0
    gripper = Gripper(close_time=0.0, impact_limit=limit)
    controller = Hardware(asks((0.0, 9.0, "close"), name="B"), gripper=gripper)
    return simulate(robot, start, controller=controller, mode={"B": "open"}, until=0.3)


def test_the_robot_stops_dead_or_is_not_held():
    run = swing_to_catch(100.0)
    catch = next(event for event in run.events if "B:closed" in event.mode_after)
    q, v = np.split(np.array(list(catch.state_before.values())), 2)
    cost, kinetic = arm_cost(run.system.values, q, v, held=True)
    assert catch.energy_lost == pytest.approx(cost, rel=1e-6)
    assert cost == pytest.approx(kinetic, rel=1e-6)
    assert max(abs(value) for name, value in catch.state_after.items() if name.startswith("d")) < 1e-9
    assert any("B:closed" in event.mode_after for event in swing_to_catch(1.001 * cost).events)
    assert not any("B:closed" in event.mode_after for event in swing_to_catch(0.999 * cost).events)


# -- slack ----------------------------------------------------------------------------------------


def test_the_hand_that_holds_droops_as_the_other_opens():
    robot = robots.put("brachiator", ladder(0.55, 3))
    slack, log = 0.005, []
    gripper = Gripper(open_time=(0.2, 0.2), slack=slack)
    controller = Hardware(asks((0.05, 0.06, "open"), log=log, name="B"), gripper=gripper)
    run = simulate(robot, controller=controller, until=0.6)
    hands = [(event.t, event.mode_after.split()[:2]) for event in run.events if event.guard == "command"]
    fall = math.ceil(math.sqrt(2 * slack / G) * 1000) / 1000
    assert hands == [
        (pytest.approx(0.25, abs=1e-9), ["A:released", "B:released"]),
        (pytest.approx(0.25 + fall, abs=1e-9), ["A:closed", "B:released"]),
    ]
    # at rest before, all of it falls alike
    start, y = robot.state(), robot.state_names.index("y")
    assert run.at(0.5)[y] - start[y] == pytest.approx(-G / 2 * fall**2, abs=1e-9)
    caught = next(event for event in run.events if event.t > 0.25 and event.guard == "command")
    assert caught.energy_lost > 0
    assert {mode["A"] for _, mode in log} == {"closed"}
    ideal = Hardware(asks((0.05, 0.06, "open"), name="B"), gripper=Gripper(open_time=(0.2, 0.2)))
    assert simulate(robot, controller=ideal, until=0.6).at(0.5)[y] == pytest.approx(start[y], abs=1e-12)


def test_a_hand_at_the_edge_droops_as_far_as_it_can():
    robot = robots.put("brachiator", ladder(0.55, 3))
    start = robot.state()
    y = robot.state_names.index("y")
    start[y] -= 0.022  # the circle ends 3 mm below
    gripper = Gripper(open_time=(0.0, 0.0), slack=0.01)
    controller = Hardware(asks((0.1, 9.0, "open"), name="B"), gripper=gripper)
    run = simulate(robot, start, controller=controller, until=0.4)
    assert run.arc_modes[-1].startswith("A:closed")
    assert -0.003 < run.at(0.4)[y] - start[y] < -0.0028


@pytest.mark.parametrize("slack", [0.01, 0.02])
def test_a_hand_that_droops_on_a_steep_ladder_keeps_its_bar(slack):
    """It turns as it falls, and leaves the circle faster and faster."""
    robot = robots.put("brachiator", ladder(0.55, 3, math.radians(12)))
    run = simulate(robot, controller=Hardware(Energy(close_time=0.18), gripper=Gripper(slack=slack)), until=2.0)
    (swing,) = swings(run)
    assert swing.caught
    # the droop itself is no back-swing
    assert swing.back_swings == 0
    assert run.check().ok


def test_without_look_ahead_a_slow_hand_is_told_to_close_in_time():
    robot = robots.put("brachiator", World(((-0.55, 0.0), (0.0, 0.0), (0.5, 0.0))))
    energy = Energy(law="momentum", lookahead=False, buffer=1.0, close_time=0.18)
    controller = Hardware(energy, gripper=Gripper())
    run = simulate(robot, controller=controller, until=6.0)
    assert swings(run)[0].caught
    assert controller.claws(run)["B"]["tries"] == 1


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"close_time": -0.1}, "close_time must not be negative, got -0.1"),
        ({"close_time": math.nan}, "close_time must be a finite number"),
        ({"open_time": 0.2}, "a shortest and a longest time"),
        ({"open_time": (0.3, 0.2)}, "a shortest and a longest time, got 0.3 and 0.2 s"),
        ({"open_time": (0.1, 0.2, 0.3)}, "a shortest and a longest time"),
        ({"approach": "below"}, "approach is some of below, side, above"),
        ({"approach": ()}, "approach is some of below, side, above"),
        ({"impact_limit": 0.0}, "impact_limit must be positive"),
        ({"slack": -1.0}, "slack must not be negative"),
    ],
)
def test_wrong_grippers_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        Gripper(**options)


def test_claws_are_told_of_runs_that_have_them(one_bar):
    controller = Hardware(asks())
    run = simulate(one_bar, {"y": 5.0}, controller=controller, until=0.01)
    for one in (controller, behind()):
        with pytest.raises(InputError, match="made with a gripper"):
            one.claws(run)
    with pytest.raises(InputError, match="made with a gripper"):
        behind().claws(simulate(one_bar, {"y": 5.0}, controller=asks(), until=0.01))
    far = behind()
    told_of = far.claws(simulate(one_bar, {"y": 5.0}, controller=far, until=0.01))
    assert told_of == {"hand": {"tries": 0, "misses": 0, "wrong sides": 0, "too hard": 0, "side": None}}


def test_grippers_that_do_not_fit_are_refused():
    with pytest.raises(UnknownName, match="below"):
        Gripper(approach=("belo",))
    with pytest.raises(InputError, match="hold anywhere"):
        simulate(falling(), controller=behind(approach=("below",)), until=0.1)
    with pytest.raises(InputError, match="droops by gravity, which is 0"):
        simulate(falling(gravity=0.0), controller=behind(slack=0.01), until=0.1)
