"""Observed order of each method and of its event times, by halving a fixed step."""

import math

import numpy as np
import pytest

import saltus
from saltus.engine import find_method, method_names
from saltus.hybrid import Guard

STEPS = {"dopri5": (160, 226, 320, 452, 640), "dop853": (40, 57, 80, 113)}
STEPS_TO_EVENTS = {**STEPS, "dop853": (20, 28, *STEPS["dop853"])}
SLACK = {"dopri5": 0.2}


def counts_of(method, known):
    """Numbers of steps, down to errors that still stand out from rounding."""
    finest = min(2000, 4 * 10 ** (11 / find_method(method).order))
    return known.get(method, [round(finest / 2 ** (k / 2)) for k in (3, 2, 1, 0)])


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
    errors, counts = [], counts_of(method, STEPS)
    for count in counts:
        run = fixed(robot, count, 4.0, method)
        assert run.steps == count
        errors.append(math.dist(run.final.values(), exact))
    return slope(counts, errors)


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
    errors, counts = [], counts_of(method, STEPS_TO_EVENTS)
    for count in counts:
        runs = [fixed(watched, count, 4.0, method, start) for start in starts]
        errors.append(np.sqrt(np.mean([(run.events[2].t - t) ** 2 for run, t in zip(runs, exact, strict=True)])))
    return slope(counts, errors)


@pytest.mark.parametrize("order", [order_of_the_state, order_of_event_times])
@pytest.mark.parametrize("method", method_names())
def test_observed_order(method, order):
    assert order(method) == pytest.approx(find_method(method).order, abs=SLACK.get(method, 0.4))


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
