"""Slips in space that begin and end: as soon as errors of the state no longer turn them, and at any time of day."""

import pytest

import saltus
from saltus import robots

LEANING = {"roll": 0.25, "pitch": 0.3, "dyaw": 1.0, "dpitch": 3.0}


@pytest.mark.parametrize("rtol", [1e-7, 1e-6, 1e-5, 1e-4])
def test_a_slip_that_begins_is_followed_at_any_tolerance(rtol: float) -> None:
    """Friction turns a slow slip at once to where its acceleration points; what a step misses must not turn it away."""
    wheel = robots.claptrap(mu=0.3)
    fine = saltus.simulate(wheel, LEANING, until=0.6)
    run = saltus.simulate(wheel, LEANING, until=0.6, rtol=rtol, atol=rtol / 100)
    assert [(event.guard, event.mode_after) for event in run.events] == [("wheel.cone", "slip"), ("fall", "end")]
    assert run.steps < fine.steps / 4
    assert run.end_time == pytest.approx(fine.end_time, abs=10 * rtol)
    assert list(run.final.values()) == pytest.approx(list(fine.final.values()), abs=1e3 * rtol)
    assert run.check().ok


@pytest.mark.parametrize("start", [0.0, 20.0, 1e5, 1e7])
def test_a_slip_ends_when_what_is_left_of_it_is_no_longer_than_an_instant(start: float) -> None:
    """Its direction turns as fast as friction over speed, and time is known to so many digits only.

    What is left out is a speed of at most 0.6 g times that instant.
    """
    coin = robots.coin(mu=0.6)
    x = coin.state({"roll": 0.3, "dyaw": 1.0, "dpitch": 8.0})
    x[7:9] += 0.3
    first = saltus.simulate(coin, x, until=1.0)
    run = saltus.simulate(coin, x, start=start, until=start + 1.0)
    assert run.status.good
    assert [event.mode_after for event in run.events] == ["roll"]
    assert run.events[0].t - start == pytest.approx(first.events[0].t, abs=1e-9 + 2e-12 * start)
    assert list(run.final.values()) == pytest.approx(list(first.final.values()), abs=1e-8 + 0.6 * 9.81e-12 * start)
