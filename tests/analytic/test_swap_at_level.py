"""Hands exchanged by the state: against the exact cycle of the gait, repeated by the clock, and what is refused."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.control import Sampled, SwapAtLevel, Timed
from saltus.errors import InputError
from saltus.gaits import find_gait, run_cycle

TIGHT = {"rtol": 1e-12, "atol": 1e-13, "method": "dop853"}


@cache
def robot():
    return saltus.robots.monkeybot()


@cache
def swing():
    return run_cycle(find_gait("swing", robot()), rtol=1e-12, atol=1e-13)


def one_cycle(period, **options):
    """From vertical to vertical."""
    until_vertical = robot().with_guards(vertical_B="terminal")
    return saltus.simulate(until_vertical, controller=SwapAtLevel(0.66, period=period), until=2.0, **options)


@pytest.mark.parametrize("period", [1e-3, 1e-4, 1e-5])
def test_it_acts_at_the_first_sample_after_what_it_waits_for(period):
    cycle, run = swing(), one_cycle(period, **TIGHT)
    (swap,), (_, (on, torque), (off, none)) = Timed.replay(run).swap_t, Timed.replay(run).torques
    assert 0 < swap - cycle.durations["switch"] <= period
    assert on == swap
    assert (torque, none) == (0.66, 0.0)
    # a late swap loses less or more, so that the motor acts longer or shorter
    assert off - on == pytest.approx(cycle.durations["motor"], abs=1.5 * period)
    assert run.end_time == pytest.approx(cycle.period, abs=3 * period)
    energy = run.mesh.kinetic + run.mesh.potential
    rate = 0.66 * np.abs(run.mesh.x[:, 7]).max()
    assert 0 <= energy[-1] - energy[0] <= rate * period
    assert run.check().ok


def test_with_short_periods_it_is_the_exact_cycle():
    ends = [np.array(list(one_cycle(period, **TIGHT).final.values())) for period in (1e-4, 1e-6)]
    exact = [swing().final[name] for name in ("theta2", "dtheta2")]
    errors = [np.abs(end[[3, 7]] + exact).max() for end in ends]
    assert errors[1] < 0.1 * errors[0]
    assert errors[1] < 1e-3


def test_the_next_cycle_is_that_of_the_other_hand():
    run = saltus.simulate(robot(), controller=SwapAtLevel(0.66, period=1e-4), until=5.0)
    held = [event.mode_after for event in run.events]
    assert len(held) > 3
    assert held == (["B:closed", "A:closed"] * len(held))[: len(held)]
    for event in run.events:
        # at the same height, but for what the hand rises in a sample
        q = run.mesh.positions[np.searchsorted(run.mesh.t, event.t)]
        assert abs(q[3] - q[1]) < 1e-4 * 3
    signs = {np.sign(u) for t, u in zip(run.samples.t, run.samples.inputs[:, 0], strict=True) if u}
    assert signs == {-1.0, 1.0}
    # every cycle begins with the energy of the last, but for what the motor does in a sample
    energy = run.mesh.kinetic + run.mesh.potential
    assert np.ptp(energy[[np.searchsorted(run.mesh.t, event.t) - 1 for event in run.events]]) < 1e-2
    assert run.check().ok


@pytest.mark.parametrize("period", [1e-3, 1e-4])
def test_it_is_repeated_by_the_clock(period):
    run = saltus.simulate(robot(), controller=SwapAtLevel(0.66, period=period), until=3.0, **TIGHT)
    again = saltus.simulate(robot(), controller=Timed.replay(run), until=3.0, **TIGHT)
    times = np.linspace(0, 3, 301)
    np.testing.assert_allclose(run.at(times), again.at(times), rtol=0, atol=1e-9)
    assert [event.t for event in run.events] == [event.t for event in again.events]


def test_a_cycle_is_repeated_many_times():
    run = one_cycle(1e-3, **TIGHT)
    many = saltus.simulate(robot(), controller=Timed.replay(run, cycles=10), until=5 * run.end_time, **TIGHT)
    assert len(many.events) == 5
    first = many.at(run.end_time)
    assert first == pytest.approx(list(run.final.values()), abs=1e-9)


def test_a_weak_motor_goes_on_past_the_vertical():
    run = saltus.simulate(robot(), {"dtheta2": 12.5}, controller=SwapAtLevel(0.12), until=1.5)
    swap = run.events[0].t
    on = run.samples.t[run.samples.inputs[:, 0] != 0]
    vertical = run.samples.t[(run.samples.t > swap) & (run.samples.guards[:, 2] <= 0)][0]
    assert on.max() > vertical


def test_the_other_hand_first():
    """The robot seen from its other end is the same robot."""
    one = saltus.simulate(robot(), controller=SwapAtLevel(0.66), until=1.5)
    d = robot().dynamics
    flip = ca.Function("flip", [d.x, d.p], [robot().symmetry.map(robot().mechanism)])
    start = np.array(flip(robot().state(), robot().parameter_values)).ravel()
    run = saltus.simulate(
        robot(), start, mode={"A": "open", "B": "closed"}, controller=SwapAtLevel(0.66, hands=("B", "A")), until=1.5
    )
    assert [event.t for event in run.events] == [event.t for event in one.events]
    assert run.samples.inputs[:, 0] == pytest.approx(-one.samples.inputs[:, 0])
    again = saltus.simulate(robot(), start, mode={"A": "open", "B": "closed"}, controller=Timed.replay(run), until=1.5)
    assert again.final == pytest.approx(run.final, abs=1e-8)


def test_what_is_refused():
    with pytest.raises(InputError, match="must not be negative"):
        SwapAtLevel(-0.5).bind(robot())
    with pytest.raises(InputError, match="beyond its limit"):
        SwapAtLevel(50.0).bind(robot())
    with pytest.raises(InputError, match="positive time"):
        SwapAtLevel(0.5, period=0.0).bind(robot())
    with pytest.raises(InputError, match="two grips"):
        SwapAtLevel(0.5).bind(saltus.robots.double_pendulum())
    with pytest.raises(InputError, match="is none"):
        Timed.replay(saltus.simulate(robot(), controller=Timed(swap_t=0.1, cycle_t=0.3), until=0.5))

    def lets_go(t, state, mode, memory):
        return saltus.Command(requests={"A": "open"} if t > 0.05 else {})

    with pytest.raises(InputError, match="one hand holds at all times"):
        Timed.replay(saltus.simulate(robot(), controller=Sampled(lets_go), until=0.1))
