"""Friction of a link about the hand that holds: as that of a joint there, and none when the hand is open."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import HybridSystem, Mechanism
from saltus.contact import Grip, JointUnit, Pivot
from saltus.control import Timed
from saltus.errors import InputError
from saltus.gaits import find_gait, run_cycle
from saltus.mechanism import Floating, Revolute

TIGHT = {"rtol": 1e-12, "atol": 1e-13, "method": "dop853"}


@cache
def rod(held):
    """A rod that hangs by a hand: in three coordinates with friction at the grip, or in one with that of a joint."""
    m = Mechanism(f"rod-{held}")
    dry, viscous = m.parameter("dry", 0.0, "N m", lower=0), m.parameter("viscous", 0.0, "N m s/rad", lower=0)
    m.gravity = 9.81
    joint = Floating("x", "y", "theta") if held else Revolute("theta", at=(0, 0))
    body = m.body("rod", joint, mass=1.3, inertia=0.05, com=(0, -0.4))
    theta = m.coordinate("theta")
    if not held:
        return HybridSystem(m, units=(JointUnit(theta, coulomb=dry, viscous=viscous),))
    hand = Grip(m.point("hand", body), closed=True)
    return HybridSystem(m, units=(hand, Pivot(hand, theta.symbol, dry, viscous)))


FRICTION = [{"viscous": 0.3}, {"dry": 0.4}, {"dry": 0.3, "viscous": 0.1}, {"dry": 6.0}]


@pytest.mark.parametrize("friction", FRICTION)
def test_a_held_rod_is_a_pendulum_with_friction(friction):
    start = {"theta": 1.2, "dtheta": 0.5}
    one, other = (
        saltus.simulate(rod(held).with_parameters(**friction), start, until=6.0, **TIGHT) for held in (True, False)
    )
    times = np.linspace(0, 6, 201)
    np.testing.assert_allclose(one.at(times)[:, [2, 5]], other.at(times), rtol=0, atol=1e-9)
    assert [event.t for event in one.events] == pytest.approx([event.t for event in other.events], abs=1e-9)
    assert one.check().ok
    if "dry" in friction:
        assert one.arc_modes[-1] == "hand:closed hand_pivot:stuck"
        # stuck at a slope that friction can bear
        assert abs(1.3 * 9.81 * 0.4 * np.sin(one.final["theta"])) <= friction["dry"]


def test_in_the_air_there_is_none():
    robot = rod(held=True).with_parameters(dry=0.5, viscous=0.5)
    run = saltus.simulate(robot, {"dtheta": 3.0}, mode={"hand": "open"}, until=1.0)
    assert run.final["theta"] == pytest.approx(3.0, abs=1e-9)
    assert run.arc_modes == ["hand:open hand_pivot:free"]
    assert not run.samples.integrals[:, 2].any()


def test_it_begins_and_ends_with_the_grip():
    def acts(t, state, mode, memory):
        return saltus.Command(requests={"hand": "close" if 0.2 < t < 0.5 else "open"})

    robot = rod(held=True).with_parameters(dry=0.05, viscous=0.05)
    run = saltus.simulate(robot, {"dtheta": 9.0}, mode={"hand": "open"}, controller=acts, until=0.8)
    assert run.arc_modes[0] == run.arc_modes[-1] == "hand:open hand_pivot:free"
    sign = "+" if run.events[0].state_after["dtheta"] > 0 else "-"
    assert run.arc_modes[1] == f"hand:closed hand_pivot:turns{sign}"
    loss = run.samples.integrals[:, 2]
    assert np.ptp(loss[run.samples.t < 0.2]) == 0
    assert np.ptp(loss[run.samples.t > 0.51]) == 0
    assert loss[-1] > 0.01
    assert run.check().ok


BOTH = {"hand_dry": 0.02, "hand_viscous": 0.005, "elbow_dry": 0.02}


@pytest.mark.parametrize("friction", [{"hand_viscous": 0.01}, {"hand_dry": 0.03}, BOTH])
def test_from_hand_to_hand_it_is_the_friction_of_the_gait(friction):
    """At either hand of the whole robot; in the gait's phases it is that of a joint."""
    robot = saltus.robots.monkeybot(**friction)
    gait = find_gait("swing", robot).timed({"switch": 0.427, "motor": 0.05, "vertical": 0.38})
    state = {"dtheta1": 0.902, "dtheta2": 11.2}
    d = robot.dynamics
    flip = ca.Function("flip", [d.x, d.p], [robot.symmetry.map(robot.mechanism)])
    one = run_cycle(gait, state, rtol=1e-12, atol=1e-13)
    run = saltus.simulate(robot, one.start, controller=Timed.of(one), until=3 * one.period, **TIGHT)
    assert run.check().ok
    assert run.samples.integrals[-1, 2] > 0.01
    state = one.start
    for k in range(1, 4):
        cycle = run_cycle(gait, state, rtol=1e-12, atol=1e-13)
        state, x = cycle.final, run.at(k * one.period)
        for _ in range(k):
            x = np.array(flip(x, robot.parameter_values)).ravel()
        assert x[[2, 3, 6, 7]] == pytest.approx(list(state.values()), rel=0, abs=1e-9)


def test_modes_in_which_an_open_hand_rubs_do_not_exist():
    modes = {node.name for node in saltus.mode_graph(rod(held=True).with_parameters(dry=0.2)).nodes}
    assert modes == {
        "hand:open hand_pivot:free",
        "hand:closed hand_pivot:stuck",
        "hand:closed hand_pivot:turns+",
        "hand:closed hand_pivot:turns-",
    }
    smooth = {node.name for node in saltus.mode_graph(rod(held=True)).nodes}
    assert smooth == {"hand:open hand_pivot:free", "hand:closed hand_pivot:free"}


def test_what_is_refused():
    hand, pivot = rod(held=True).units
    with pytest.raises(InputError, match="no grip of its"):
        HybridSystem(rod(held=True).mechanism, units=(pivot,))
    with pytest.raises(InputError, match="sum of coordinates"):
        HybridSystem(rod(held=True).mechanism, units=(hand, Pivot(hand, ca.sin(pivot.angle), 0.1)))
    with pytest.raises(InputError, match="viscous friction"):
        Pivot(rod(held=True).units[0], 0.0, viscous=-1.0)
    with pytest.raises(InputError, match="hand_dry"):
        saltus.robots.monkeybot(hand_dry=-1.0)


@pytest.mark.parametrize("hand", ["A", "B"])
def test_a_robot_that_sticks_hangs_askew_for_a_minute(hand):
    """Link B's angle is no coordinate of its own."""
    robot = saltus.robots.monkeybot(hand_dry=20.0, elbow_dry=10.0)
    start = {"theta1": 0.4, "theta2": 0.5, "dtheta1": 0.0, "dtheta2": 0.0}
    mode = {"A": "open", "B": "open", hand: "closed"}
    run = saltus.simulate(robot, start, mode=mode, until=60.0)
    assert run.arc_modes == [f"{hand}:closed theta2:stuck {hand}_pivot:stuck"]
    assert run.final == pytest.approx({"x": 0, "y": 0, "dx": 0, "dy": 0, **start}, abs=1e-12)
    # what friction bears is the weight's moment about the hand
    names = robot.row_names
    gravity = robot.dynamics.potential
    moment = ca.Function("moment", [robot.dynamics.x, robot.dynamics.p], [ca.jacobian(gravity, robot.dynamics.q)])
    by_state = np.array(moment(robot.state(start), robot.parameter_values)).ravel()
    weight = by_state[1]
    if hand == "A":
        assert run.samples.forces[-1, names.index("A_pivot.q")] == pytest.approx(by_state[2], rel=1e-9)
    assert run.samples.forces[-1, names.index(f"{hand}.y")] == pytest.approx(weight, rel=1e-9)
    assert run.check().ok
