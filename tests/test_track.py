"""Tracking: gains against the algebraic Riccati equation, and runs that come back to what they follow."""

import math

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import saltus
from saltus import robots
from saltus.control import Constant, Track
from saltus.errors import InputError


def jump():
    hopper = robots.hopper()
    return hopper, saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)


def test_gains_at_rest_are_those_of_the_riccati_equation():
    pendulum = robots.pendulum(tau_max=1.0) if "tau_max" in robots.pendulum().values else robots.pendulum()
    run = saltus.simulate(pendulum, {"theta": 0.0}, controller=Constant(0.0), until=20.0)
    track = Track(run, weights={"theta": 3.0, "dtheta": 0.5}, effort=2.0, spacing=2e-3, period=None)
    control = track.bind(pendulum)
    nx, arcs, units = 2, 1, len(pendulum.units)
    first = 4 + arcs * (4 + units) + 2
    gain = control.data[first + 2 * nx + 1 : first + 2 * nx + 1 + nx]
    # theta'' = -(g/l) theta + u / inertia, from the run's own derivatives
    h = 1e-6
    flow = [
        (saltus.simulate(pendulum, {"theta": a, "dtheta": b}, controller=Constant(c), until=h).final) for a, b, c in
        ((h, 0.0, 0.0), (0.0, h, 0.0), (0.0, 0.0, h))
    ]  # fmt: skip
    A = np.array([[0.0, 1.0], [flow[0]["dtheta"] / h / h, (flow[1]["dtheta"] - h) / h / h]])
    B = np.array([[0.0], [flow[2]["dtheta"] / h / h]])
    limit = float(pendulum.input_limits[0])
    R = np.array([[2.0 / (limit if math.isfinite(limit) else 1.0) ** 2]])
    P = solve_continuous_are(A, B, np.diag([3.0, 0.5]), R)
    assert gain == pytest.approx((np.linalg.inv(R) @ B.T @ P).ravel(), rel=2e-2)


def test_a_jump_is_followed_through_all_its_modes():
    hopper, run = jump()
    again = saltus.simulate(hopper, controller=Track(run, weights={"": 1.0, "x": 0.0}, period=None))
    assert again.arc_modes == run.arc_modes
    assert again.figures["jump_distance"] == pytest.approx(run.figures["jump_distance"], abs=1e-5)
    assert again.check().ok


@pytest.mark.parametrize("turned", [{"theta1": 0.5}, {"theta2": 0.5}, {"theta2": -0.5}])
def test_a_jump_that_begins_otherwise_comes_nearer(turned):
    hopper, run = jump()
    start = {"theta1": 109.0, "theta2": -108.0}
    start = {name: math.radians(value + turned.get(name, 0.0)) for name, value in start.items()}
    tracked = saltus.simulate(
        hopper, start, controller=Track(run, weights={"": 1.0, "x": 0.0, "theta2": 100.0}, effort=0.01)
    )
    blind = saltus.simulate(hopper, start, controller=hopper.profiles["paper"].controller)

    def off(other):
        # how far the knee is off as it flies, where the motor alone decides
        times = np.linspace(0.15, 0.3, 20)
        return np.abs(other.at(times)[:, 3] - run.at(times)[:, 3]).max()

    assert off(tracked) < 0.4 * off(blind)


def test_sampled_is_nearly_continuous():
    hopper, run = jump()
    weights = {"": 1.0, "x": 0.0}
    one, other = (
        saltus.simulate(hopper, controller=Track(run, weights=weights, period=period)) for period in (None, 2e-4)
    )
    assert other.figures["jump_distance"] == pytest.approx(one.figures["jump_distance"], abs=2e-3)


def test_what_cannot_be_tracked():
    hopper, run = jump()
    with pytest.raises(InputError, match="not of pendulum"):
        saltus.simulate(robots.pendulum(), controller=Track(run))
    with pytest.raises(InputError, match="theta3"):
        saltus.simulate(hopper, controller=Track(run, weights={"theta3": 1.0}))
    with pytest.raises(InputError, match="not be negative"):
        saltus.simulate(hopper, controller=Track(run, final={"theta1": -1.0}))
    with pytest.raises(InputError, match="weight of the others"):
        saltus.simulate(hopper, controller=Track(run, weights={"": math.nan}))
    with pytest.raises(InputError, match="by name"):
        saltus.simulate(hopper, controller=Track(run, weights=3))
    with pytest.raises(InputError, match="spacing must be positive"):
        saltus.simulate(hopper, controller=Track(run, spacing=0.0))


@pytest.mark.parametrize("turned", [(-1, 0), (-1, -1), (-1, 1), (0, -1), (1, 1)])
def test_no_contact_is_opened_and_closed_without_end(turned):
    # continuous, what lifts the foot and what presses it down would take turns at one instant
    hopper, run = jump()
    start = {"theta1": math.radians(109 + turned[0]), "theta2": math.radians(-108 + turned[1])}
    again = saltus.simulate(hopper, start, controller=Track(run), raise_errors=False)
    assert again.status.name == "terminal"
