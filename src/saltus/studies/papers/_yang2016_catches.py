"""What [yang2016] reads off the curves of its swings: energy and rates at the catch, turns of the elbow."""

from __future__ import annotations

import math

import numpy as np

from saltus.studies._compare_figures import rest_energy
from saltus.studies._compare_runs import Shown

# Rows of the state: the elbow's angle, and the rate of the first link about the hand that holds.
_ELBOW, _RATE = 3, 6


def hand_rate(one: Shown) -> float | None:
    """The rate of the first link just before the catch, degrees/s, negative if it falls back; None without a catch."""
    return math.degrees(float(one.run.samples.x[_before(one)[-1], _RATE])) if one.caught else None


def above_required(one: Shown, away: float) -> float | None:
    """Potential energy at the catch less that of rest at the bar, m ahead, J; None without a catch."""
    if not one.caught:
        return None
    return float(one.run.samples.potential[_before(one)[-1]]) - rest_energy(one.run.system, away)


def leeway(one: Shown) -> float:
    """What the whole weight does on the way on which a hand can close, J: so much a catch may be above or below."""
    p = one.run.system.values
    return float((p["m1"] + p["m2"]) * p["g"] * p["capture"])


def turns(one: Shown) -> list[float]:
    """When the elbow goes past 180 degrees, s."""
    rows = _before(one)
    round_ = np.floor((one.run.samples.x[rows, _ELBOW] + math.pi) / (2 * math.pi))
    times: list[float] = one.run.samples.t[rows[1:]][np.diff(round_) != 0].tolist()
    return times


def parted(one: Shown, other: Shown, most: float) -> float:
    """When the energies of two runs first differ by more than so much, J; the end of the shorter if they never do."""
    rows = min(_before(one), _before(other), key=len)
    energies = [run.samples.kinetic[rows] + run.samples.potential[rows] for run in (one.run, other.run)]
    apart = np.flatnonzero(np.abs(energies[0] - energies[1]) > most)
    return float(one.run.samples.t[apart[0] if apart.size else rows[-1]])


def _before(one: Shown) -> np.ndarray:
    """Samples until the catch, or all."""
    t = one.run.samples.t
    return np.flatnonzero(t < one.end) if one.caught else np.arange(len(t))
