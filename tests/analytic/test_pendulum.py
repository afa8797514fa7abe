"""The pendulum against elliptic integrals, and with damping against energy decay."""

import math

import numpy as np
import pytest
from scipy.special import ellipk

import saltus
from saltus.hybrid import Guard


def period(amplitude, length, g):
    """Exact period of a point pendulum."""
    return 4 * math.sqrt(length / g) * ellipk(math.sin(amplitude / 2) ** 2)


@pytest.mark.parametrize("amplitude", [0.1, 1.0, 2.0, 3.0, 3.1])
def test_period(amplitude):
    robot = saltus.robots.pendulum(length=0.7, g=9.7)
    exact = period(amplitude, 0.7, 9.7)
    run = saltus.simulate(robot, {"theta": amplitude}, until=exact, rtol=1e-12, atol=1e-13)
    assert run.final["theta"] == pytest.approx(amplitude, abs=2e-9)
    assert run.final["dtheta"] == pytest.approx(0.0, abs=2e-9)


def test_crossings_of_the_vertical_are_quarter_periods():
    robot = saltus.robots.pendulum()
    watched = saltus.HybridSystem(robot.mechanism, guards=(Guard("vertical", robot.mechanism.q[0], "record", "both"),))
    run = saltus.simulate(watched, {"theta": 1.0}, until=10.0, rtol=1e-12, atol=1e-13)
    quarter = period(1.0, 1.0, 9.81) / 4
    expected = quarter * np.arange(1, 2 * len(run.events), 2)
    assert len(run.events) == 9
    assert np.abs([event.t for event in run.events] - expected).max() < 1e-9


def test_damping_takes_out_what_the_audit_says():
    robot = saltus.robots.pendulum(damping=0.3)
    run = saltus.simulate(robot, {"theta": 2.0}, until=10.0)
    data = run.dataset
    assert float(data.damping_loss[-1]) > 5
    assert run.check()["energy balance"].value < 1e-8
    assert float(data.energy[-1] - data.energy[0] + data.damping_loss[-1]) == pytest.approx(0, abs=1e-8)
