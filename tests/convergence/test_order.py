"""Observed order of each method and of its event times, by halving a fixed step."""

import math

import numpy as np
import pytest
from scipy.special import ellipk

import saltus
from saltus.engine import method_names
from saltus.engine._tableau import find_method
from saltus.hybrid import Guard

STEPS = {"dopri5": (160, 226, 320, 452, 640)}


def fixed(system, count, until, method):
    """A run whose every step has the same length: tolerances too loose to matter, a cap on the step."""
    h = until / count
    return saltus.simulate(
        system, {"theta": 1.5}, until=until, rtol=0.1, atol=1e6, max_step=h * (1 + 1e-12), first_step=h, method=method
    )


def slope(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


@pytest.mark.parametrize("method", method_names())
def test_order_of_the_state(method):
    robot = saltus.robots.pendulum()
    exact = saltus.simulate(robot, {"theta": 1.5}, until=4.0, rtol=1e-14, atol=1e-15).final.values()
    errors = []
    for count in STEPS[method]:
        run = fixed(robot, count, 4.0, method)
        assert run.steps == count
        errors.append(math.dist(run.final.values(), exact))
    assert slope(STEPS[method], errors) == pytest.approx(find_method(method).order, abs=0.2)


@pytest.mark.parametrize("method", method_names())
def test_order_of_event_times(method):
    robot = saltus.robots.pendulum()
    watched = saltus.HybridSystem(robot.mechanism, guards=(Guard("vertical", robot.mechanism.q[0], "record", "both"),))
    # the sixth passage of the vertical, after 11 quarter periods
    exact = 11 * math.sqrt(1 / 9.81) * ellipk(math.sin(0.75) ** 2)
    errors = []
    for count in STEPS[method]:
        run = fixed(watched, count, 7.0, method)
        errors.append(abs(run.events[5].t - exact))
    assert slope(STEPS[method], errors) == pytest.approx(find_method(method).order, abs=0.2)
