"""The energy balance of the hopper closes to 1e-10 J, however wild its torque; what it cannot do is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus
from saltus import robots, simulate, simulate_many
from saltus.control import Schedule

HELD = 1e-10

# Of what an energy is made of, parts that cancel and angles of many turns included, so many roundings are lost at most:
# 1e-10 J is more than that up to some 2e4 J.
ROUNDINGS = 20 * 2.3e-16


def profile(kind: str, limit: float, rng: np.random.Generator) -> Schedule:
    """Random torque of one to twenty pieces over 1 s: constant, straight or curved, within the limit."""
    pieces = int(rng.integers(1, 21))
    width = 1 / pieces
    first, middle, last = 0.999 * rng.uniform(-limit, limit, (3, pieces))
    if kind == "constant":
        rows = np.column_stack([first])
    elif kind == "straight":
        rows = np.column_stack([first, (last - first) / width])
    else:  # Bezier's curve stays between its points
        rows = np.column_stack([first, 2 * (middle - first) / width, (first - 2 * middle + last) / width**2])
    return Schedule((*(np.arange(pieces) * width), 1.0), [*rows.tolist(), [0.0]])


def profiles(limit: float, count: int, seed: int) -> list[Schedule]:
    rng = np.random.default_rng(seed)
    return [profile(kind, limit, rng) for kind in ("constant", "straight", "curved") for _ in range(count)]


def largest_energy(batch: saltus.engine.Batch) -> np.ndarray:
    return batch.doubles[:, saltus.engine._many.R_LARGEST]


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
@pytest.mark.parametrize("limit", [1.0, 3.0, 10.0])
def test_every_balance_closes(limit, method):
    torques = profiles(limit, 20, seed=7)
    left_alone = simulate_many(robots.hopper(), controllers=torques, method=method, threads=1)
    held = simulate_many(robots.hopper(), controllers=torques, method=method, threads=1, energy_tolerance=HELD)
    assert held.good.all()
    # each step rounds the energy once, and what is rounded adds up as a random walk does
    roundings = np.maximum(ROUNDINGS, 2.3e-16 * np.sqrt(held.steps))
    assert (held.energy_worst <= np.maximum(HELD, roundings * largest_energy(held))).all()
    # what was fine is not touched, and what was not was mended by tolerances
    fine = left_alone.energy_worst <= 0.2 * HELD
    assert (held.steps[fine] == left_alone.steps[fine]).all()
    assert (held.states[fine] == left_alone.states[fine]).all()
    assert (held.tightened[~fine] > 0).all()
    if limit > 1:
        assert left_alone.energy_worst.max() > 100 * HELD


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["constant", "straight", "curved"]),
    st.sampled_from([1.0, 3.0, 10.0]),
    st.integers(0, 10**6),
    st.floats(0.5, 25.0),
    st.floats(0.0, 0.9),
)
def test_by_default_every_run_closes(kind, limit, seed, gravity, friction):
    torque = profile(kind, limit, np.random.default_rng(seed))
    run = simulate(robots.hopper(g=gravity, mu=friction), controller=torque, raise_errors=False)
    energy = float(np.maximum(run.mesh.kinetic, 0.5 * run.mesh.energy_sizes[:, 0]).max())
    assert run.check()["energy balance"].value <= max(HELD, ROUNDINGS * energy)


def test_a_whirl_that_rounding_would_spoil():
    """Tens of thousands of steps at up to 5e4 J: roundings would add up to more than 1e-10 J if not carried on."""
    torques = [Schedule.steps((0.0, 0.25, 0.5), (tau, -0.1 * tau, tau)) for tau in (2.2, 2.4, 2.6, 2.8)]
    batch = simulate_many(robots.hopper(), {"y": 3.0}, controllers=torques, energy_tolerance=HELD, threads=1)
    assert (largest_energy(batch) > 1e4).all()
    assert (batch.steps > 10_000).all()
    assert (batch.energy_worst <= HELD).all()


def test_who_asks_for_less_is_left_alone():
    torque = profile("constant", 10.0, np.random.default_rng(3))
    loose = simulate(robots.hopper(), controller=torque, rtol=1e-8)
    assert loose.tightened == 0
    assert loose.check()["energy balance"].value > 10 * HELD
    assert simulate(robots.hopper(), controller=torque, energy_tolerance=math.inf).tightened == 0
    asked = simulate(robots.hopper(), controller=torque, rtol=1e-8, energy_tolerance=1e-9)
    assert asked.tightened > 0
    assert asked.check()["energy balance"].value <= 1e-9


def test_without_contacts_it_is_held_if_asked():
    pendulum, start = robots.double_pendulum(), {"theta1": 1.0, "theta2": 0.5}
    plain = simulate(pendulum, start, until=10.0)
    assert plain.tightened == 0
    asked = simulate(pendulum, start, until=10.0, energy_tolerance=1e-11)
    assert asked.tightened > 0
    assert asked.check()["energy balance"].value <= 1e-11 < plain.check()["energy balance"].value
    many = simulate_many(pendulum, [start] * 8, until=10.0, energy_tolerance=1e-11)
    assert (many.states == list(asked.final.values())).all()
    with pytest.raises(saltus.errors.InputError, match="lanes hold no energy_tolerance"):
        simulate_many(pendulum, [start] * 8, energy_tolerance=1e-11, lanes=True)
