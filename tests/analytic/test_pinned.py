"""Mechanisms pinned at a point, and potential energies of the robot's own."""

import math

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.errors import InputError
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import Mechanism, Pinned, Prismatic, derive


@pytest.mark.parametrize("hand", ["A", "B"])
def test_energies_of_the_pinned_robot_are_those_of_the_whole(hand):
    robot = robots.monkeybot(m2=1.7, L2=0.4, r2=0.1, I2=0.05)
    whole, d = robot.mechanism, robot.dynamics
    pinned = Pinned(whole, whole.points[hand])
    held = derive(pinned.mechanism)
    p = np.append(robot.parameter_values, [0.3, -0.7])
    state = ca.Function("state", [held.x, held.p], [pinned.state])
    ours = ca.Function("ours", [held.x, held.p], [held.kinetic, held.potential])
    theirs = ca.Function("theirs", [d.x, d.p], [d.kinetic, d.potential, whole.points[hand].position])
    for x in np.random.default_rng(1).normal(size=(20, 4)):
        q = np.array(state(x, p), dtype=float).ravel()
        kinetic, potential, place = theirs(q, robot.parameter_values)
        assert float(ours(x, p)[0]) == pytest.approx(float(kinetic), rel=1e-12)
        assert float(ours(x, p)[1]) == pytest.approx(float(potential), rel=1e-12, abs=1e-12)
        assert np.array(place).ravel() == pytest.approx([0.3, -0.7], abs=1e-14)


def test_pinned_robot_moves_as_the_whole_robot_with_that_hand_closed():
    robot = robots.monkeybot()
    start = {"theta1": 0.4, "theta2": 0.9, "dtheta1": -1.0, "dtheta2": 2.0}
    held = HybridSystem(Pinned(robot.mechanism, robot.mechanism.points["A"]).mechanism, values=dict(robot.values))
    one = saltus.simulate(held, start, until=2.0, rtol=1e-11, atol=1e-12)
    whole = saltus.simulate(robot, start, until=2.0, rtol=1e-11, atol=1e-12)
    for name in start:
        assert one.final[name] == pytest.approx(whole.final[name], abs=1e-8)


def test_only_what_floats_can_be_pinned():
    pendulum = robots.pendulum().mechanism
    with pytest.raises(InputError, match="carry all bodies along"):
        Pinned(pendulum, next(iter(pendulum.points.values())))


def test_a_spring_oscillates_at_its_own_frequency():
    m = Mechanism("spring")
    mass = m.parameter("mass", 0.7, "kg", positive=True)
    stiffness = m.parameter("stiffness", 50.0, "N/m", positive=True)
    m.body("mass", Prismatic("x"), mass=mass)
    m.potential(stiffness * m.coordinate("x").symbol ** 2 / 2)
    spring = HybridSystem(m, guards=(Guard("middle", m.q[0], "record", "both"),))
    run = saltus.simulate(spring, {"x": 0.2}, until=5.0, rtol=1e-12, atol=1e-13)
    half = math.pi * math.sqrt(0.7 / 50.0)
    assert [event.t for event in run.events] == pytest.approx(
        [half * (k + 0.5) for k in range(len(run.events))], abs=1e-9
    )
    assert run.check().ok
