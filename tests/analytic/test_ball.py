"""The bouncing ball against its closed form: bounce times, losses, and rest after infinitely many bounces."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus


def bounce_times(height, restitution, g, count):
    """Times of the first bounces of a ball dropped from a height."""
    speed = math.sqrt(2 * g * height)
    times = [speed / g]
    for _ in range(count - 1):
        speed *= restitution
        times.append(times[-1] + 2 * speed / g)
    return times


def rest_time(height, restitution, g):
    """Time at which the geometric series of bounces ends."""
    speed = math.sqrt(2 * g * height)
    return speed / g + 2 * speed / g * restitution / (1 - restitution)


def test_twenty_bounces():
    ball = saltus.robots.bouncing_ball(restitution=0.8)
    run = saltus.simulate(ball, {"y": 1.0}, until=4.05)
    expected = bounce_times(1.0, 0.8, 9.81, 20)
    measured = [event.t for event in run.events[:20]]
    assert np.abs(np.subtract(measured, expected)).max() < 1e-11
    assert all(event.guard == "ball.touch" for event in run.events)


def test_loss_at_each_bounce():
    ball = saltus.robots.bouncing_ball(restitution=0.8, mass=2.0)
    run = saltus.simulate(ball, {"y": 1.0}, until=2.0)
    energy = 2.0 * 9.81 * 1.0
    for event in run.events:
        assert event.energy_lost == pytest.approx(energy * (1 - 0.8**2), rel=1e-12)
        assert event.impulse["ball.n"] == pytest.approx(2.0 * 1.8 * -event.state_before["dy"], rel=1e-12)
        energy *= 0.8**2


@pytest.mark.parametrize("restitution", [0.3, 0.1, 0.7, 0.9])
def test_rest_by_the_zeno_rule(restitution):
    ball = saltus.robots.bouncing_ball(restitution=restitution)
    run = saltus.simulate(ball, {"y": 1.0}, until=20.0)
    last = run.events[-1]
    assert last.t == pytest.approx(rest_time(1.0, restitution, 9.81), abs=1e-11)
    assert last.mode_after == "stick"
    assert run.final["y"] == pytest.approx(0.0, abs=1e-15)
    assert run.final["dy"] == 0.0
    assert run.check().ok


def test_frictionless_ball_slides_on_after_zeno():
    ball = saltus.robots.bouncing_ball(restitution=0.5)
    run = saltus.simulate(ball, {"y": 0.5, "dx": 2.0}, until=3.0)
    assert run.arc_modes[-1] == "slip+"
    assert run.final["dx"] == pytest.approx(2.0, rel=1e-14)
    assert run.final["x"] == pytest.approx(6.0, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    height=st.floats(0.01, 100),
    restitution=st.floats(0.0, 0.97),
    g=st.floats(0.1, 50),
    sideways=st.floats(-10, 10),
)
def test_any_ball_follows_the_closed_form(height, restitution, g, sideways):
    ball = saltus.robots.bouncing_ball(restitution=restitution, g=g)
    end = rest_time(height, restitution, g)
    run = saltus.simulate(ball, {"y": height, "dx": sideways}, until=1.1 * end)
    for event, expected in zip(run.events, bounce_times(height, restitution, g, 20), strict=False):
        assert event.t == pytest.approx(expected, rel=1e-11)
    assert run.arc_modes[-1] != "flight"
    assert run.final["x"] == pytest.approx(sideways * 1.1 * end, rel=1e-9, abs=1e-12)
    assert run.check().ok
