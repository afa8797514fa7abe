"""Observed order of each method and of its event times, by halving a fixed step."""

import math

import numpy as np
import pytest

import saltus
from saltus.engine import method_names
from saltus.engine._tableau import find_method
from saltus.hybrid import Guard

STEPS = {"dopri5": (160, 226, 320, 452, 640), "dop853": (40, 57, 80, 113)}
STEPS_TO_EVENTS = {**STEPS, "dop853": (20, 28, *STEPS["dop853"])}
SLACK = {"dopri5": 0.2, "dop853": 0.4}


def fixed(system, count, until, method, start=None):
    """A run whose every step has the same length: tolerances too loose to matter, a cap on the step."""
    h = until / count
    return saltus.simulate(
        system,
        start or {"theta": 1.5},
        until=until,
        rtol=0.1,
        atol=1e6,
        max_step=h * (1 + 1e-12),
        first_step=h,
        method=method,
    )


def slope(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def order_of_the_state(method):
    """Observed order of the final state of a pendulum."""
    robot = saltus.robots.pendulum()
    exact = saltus.simulate(robot, {"theta": 1.5}, until=4.0, rtol=1e-14, atol=1e-15, method="dop853").final.values()
    errors = []
    for count in STEPS[method]:
        run = fixed(robot, count, 4.0, method)
        assert run.steps == count
        errors.append(math.dist(run.final.values(), exact))
    return slope(STEPS[method], errors)


def order_of_event_times(method):
    """Observed order of the third passage of a damped pendulum through a place off its middle.

    Off the symmetry of the swing, where errors would cancel, and over several starts, since the
    last step before an event is of any length.
    """
    robot = saltus.robots.pendulum(damping=0.2)
    guard = Guard("here", robot.mechanism.q[0] - 0.4, "record", "both")
    watched = saltus.HybridSystem(robot.mechanism, guards=(guard,), values=robot.values)
    starts = [{"theta": 1.5, "dtheta": speed} for speed in np.linspace(0.5, 2.5, 9)]
    exact = [
        saltus.simulate(watched, start, until=4.0, rtol=1e-14, atol=1e-15, method="dop853").events[2].t
        for start in starts
    ]
    errors = []
    for count in STEPS_TO_EVENTS[method]:
        runs = [fixed(watched, count, 4.0, method, start) for start in starts]
        errors.append(np.sqrt(np.mean([(run.events[2].t - t) ** 2 for run, t in zip(runs, exact, strict=True)])))
    return slope(STEPS_TO_EVENTS[method], errors)


@pytest.mark.parametrize("order", [order_of_the_state, order_of_event_times])
@pytest.mark.parametrize("method", method_names())
def test_observed_order(method, order):
    assert order(method) == pytest.approx(find_method(method).order, abs=SLACK[method])


def test_energy_over_a_minute():
    run = saltus.simulate(
        saltus.robots.double_pendulum(),
        {"theta1": 0.5, "theta2": 0.3},
        until=60.0,
        rtol=1e-12,
        atol=1e-12,
        method="dop853",
    )
    energy = run.mesh.kinetic + run.mesh.potential
    assert np.abs(energy / energy[0] - 1).max() < 1e-10


@pytest.mark.parametrize("method", method_names())
def test_dense_output_is_as_good_as_the_steps(method):
    # the interpolant is at most one order below the method: halving the step divides its error accordingly
    robot = saltus.robots.pendulum()
    exact = saltus.simulate(robot, {"theta": 1.5}, until=2.0, rtol=1e-14, atol=1e-15, method="dop853", max_step=0.01)
    times = np.linspace(0, 2, 301)
    counts = (20, 28, 40)
    errors = [np.abs(fixed(robot, count, 2.0, method).at(times) - exact.at(times)).max() for count in counts]
    assert slope(counts, errors) > find_method(method).order - 1.5
