"""Infinitely many impacts in finite time, of one unit or of several in turn; `benchmarks/zeno.py` makes more."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from test_impacts import benchmark

import saltus
from saltus.contact import GroundPoint, JointUnit, chatterjee, newton
from saltus.engine import _layout as L
from saltus.engine import _zeno
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Prismatic

FEW = 2000


def on_rails() -> HybridSystem:
    """Two masses, one above the other, the upper at its stop on the lower, which bounces."""
    m = Mechanism("two_on_a_rail")
    m.gravity = 9.81
    low = m.body("low", Prismatic("y", axis=(0, 1)), mass=1.0)
    m.body("high", Prismatic("s", axis=(0, 1)), parent=low, mass=0.7)
    return HybridSystem(
        m, units=(GroundPoint(m.point("foot", low), law=newton(0.5)), JointUnit(m.coordinate("s"), lower=0.0))
    )


def block() -> HybridSystem:
    """A tall block that rocks from edge to edge."""
    m = Mechanism("tall_block")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.2)
    edges = [m.point(name, body, (x, -0.5)) for name, x in (("left", -0.2), ("right", 0.2))]
    return HybridSystem(m, units=tuple(GroundPoint(edge, friction=0.6, law=chatterjee(0.0, -0.4)) for edge in edges))


def at_rest(run: saltus.Trajectory) -> None:
    assert run.status.name == "finished"
    assert max(abs(value) for name, value in run.final.items() if name.startswith("d")) < 1e-9
    assert run.check().ok, str(run.check())


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("apart", [0.0, 0.3])
def test_two_masses_on_a_rail(rtol: float, apart: float) -> None:
    run = saltus.simulate(on_rails(), {"y": 1.0, "s": apart}, until=6.0, rtol=rtol, max_events=FEW, raise_errors=False)
    at_rest(run)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-8])
def test_a_rod_that_chatters(rtol: float) -> None:
    rod = saltus.robots.rod(mu=0.3, restitution=0.5)
    for spin in (0.0, 1.0, -2.0):
        start = {"theta": 1.2, "dtheta": spin}
        at_rest(saltus.simulate(rod, start, until=5.0, rtol=rtol, max_events=FEW, raise_errors=False))


@pytest.mark.parametrize("lean", [0.1, 0.2, 0.3])
def test_a_block_that_rocks_with_slip_that_comes_back(lean: float) -> None:
    height = 0.5 * math.cos(lean) + 0.2 * math.sin(lean)
    at_rest(saltus.simulate(block(), {"y": height, "angle": lean}, until=6.0, max_events=FEW, raise_errors=False))


def test_a_ball_of_restitution_0_995_rests_at_the_right_time() -> None:
    e, g = 0.995, 9.81
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=e), {"y": 1.0}, until=200.0, rtol=1e-6)
    end = math.sqrt(2 / g) * (1 + e) / (1 - e)
    last = run.events[-1]
    assert last.mode_after == "stick"
    # times of thousands of bounces add up their roundings, which the time's own is 3e-14 s of
    assert last.t == pytest.approx(end, abs=1e-9)
    assert len(run.events) > 5000
    assert run.event_rows[-1, L.E_CLOSED] == 1.0
    assert not run.event_rows[:-1, L.E_CLOSED].any()


def test_a_ball_that_loses_nothing_never_rests() -> None:
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=1.0), {"y": 1e-6}, until=0.5)
    assert len(run.events) > 300
    assert run.arc_modes[-1] == "flight"


def test_what_is_lost_where_a_sequence_ends_is_booked() -> None:
    run = saltus.simulate(block(), {"y": 0.5 * math.cos(0.2) + 0.2 * math.sin(0.2), "angle": 0.2}, until=6.0)
    closing = [event for event, row in zip(run.events, run.event_rows, strict=True) if row[L.E_CLOSED] > 0]
    assert closing
    assert all(event.energy_lost >= 0.0 for event in closing)
    assert run.check()["energy balance"].ok


def test_the_state_after_the_end_of_a_sequence_has_the_right_derivatives() -> None:
    """Where two masses rest does not depend on how they fell; when they began to does."""
    run = saltus.simulate(on_rails(), {"y": 1.0, "s": 0.0}, until=3.0)
    np.testing.assert_allclose(run.jacobian()[[0, 1, 2, 3]], 0.0, atol=1e-6)


def drop(which: int, seed: int = 35) -> Any:
    """A drop of the benchmark by its number."""
    return list(benchmark("zeno").drops(which + 1, seed))[-1]


@pytest.mark.parametrize("which", [170, 205, 221, 301])
def test_a_contact_that_is_lifted_too_little_to_be_seen_comes_back_when_and_as_fast_as_it_left(which: int) -> None:
    """Flights of 1e-9 s and 1e-18 m: what fell until it was seen struck a hundred times as fast, and fed the chain."""
    at_rest(drop(which).run(600))


def test_two_feet_and_a_stop_that_strike_in_turn_close_together() -> None:
    """One foot slides, the other is held by a leg at its stop; each was lifted by the next, for ever."""
    run = drop(168).run(600)
    at_rest(run)
    assert "toe0:slip+ q1:lower toe1:stick" in run.arc_modes


@pytest.mark.parametrize("which", [199, 278])
def test_two_feet_of_a_straight_leg_do_not_hold_it_as_it_bends(which: int) -> None:
    """While it is straight they say the same thing twice; as it bends, forces of 1e8 N were to hold both."""
    run = drop(which).run(600)
    at_rest(run)
    assert run.check()["forces in the cone"].ok


def test_a_slip_in_space_is_not_held_at_the_speed_at_which_it_has_begun() -> None:
    """Friction against where a slip points and against where it turns to, in turn: 100 thousand steps of 1e-11 s."""
    run = drop(348).run(600)
    at_rest(run)
    assert len(run.step_rows) < 2000


@pytest.mark.parametrize("up", [1e-3, 1e-5, 1e-7, 2e-9])
def test_a_low_flight_ends_when_its_speed_says(up: float) -> None:
    """A stop that is left at a speed is met again at that speed, after 2 v / a, however low the flight."""
    m = Mechanism("stone")
    m.gravity = 10.0
    m.body("stone", Prismatic("y", axis=(0, 1)), mass=1.0)
    far = 1.0  # where places are rounded to 1e-16
    system = HybridSystem(m, units=(JointUnit(m.coordinate("y"), lower=far),))
    run = saltus.simulate(system, {"y": far, "dy": up}, until=0.01)
    struck = run.events[0]
    assert struck.t == pytest.approx(0.2 * up, rel=1e-5)
    assert struck.state_before["dy"] == pytest.approx(-up, rel=1e-5)


def test_derivatives_pass_through_a_sequence_of_low_flights() -> None:
    """Where a robot comes to rest depends on how high it began, through all impacts of two stops, a wheel and a tip."""
    case, ends = dataclasses.replace(drop(170), rtol=1e-10), []
    for change in (1e-7, -1e-7):
        ends.append(dataclasses.replace(case, start={**case.start, "y": case.start["y"] + change}).run().final["x"])
    run = case.run()
    column = run.jacobian()[:, run.system.state_names.index("y")]
    assert column[0] == pytest.approx((ends[0] - ends[1]) / 2e-7, rel=1e-4)
    np.testing.assert_allclose(column[1:], 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["wheel", "legs"])
def test_random_chains_with_stops(kind: str) -> None:
    zeno = benchmark("zeno")
    tallies = zeno.measure(8, 2, (kind,))
    assert sum(sum(tally.statuses.values()) for tally in tallies.values()) == 8
    assert not any(tally.wrong for tally in tallies.values())


@pytest.mark.parametrize(
    ("last", "ratio", "over"),
    [(1e-9, 1.0, True), (1e-9, 0.9999, True), (1e-9, 0.99, False), (1e-9, 0.9, False), (1e-13, 0.9, True)],
)
def test_impacts_that_tell_little_are_over_if_they_do_not_shrink_or_shrink_to_nothing(
    last: float, ratio: float, over: bool
) -> None:
    """Each pair of flights takes a share of the time that the one before it took."""
    flights = last * ratio ** -np.arange(_zeno.MANY // 2.0).repeat(2)
    times = 1.0 - np.append(0.0, np.cumsum(flights))
    is_over = _zeno._low_for_ever.py_func
    assert is_over(times, 0, 1e-10) == over
    times[-1] = math.nan  # one too few
    assert not is_over(times, 0, 1e-10)
