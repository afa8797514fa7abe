"""Places where another branch crosses, located by polynomials through points beside them, with their errors.

At such a place the derivative of the residual loses a rank, and a correction beside it is off by its rounding over
the distance. The branch itself is smooth there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq, newton

from saltus.errors import SaltusError
from saltus.gaits._branch import CLOSED, Branch, Sample

# How exactly a place is located, if rounding does not end it before.
EXACT = 1e-11

# Points of a window through which a polynomial goes, and how many of them are enough.
NODES = 12
FEWEST = 8

# Those that are nearer to the place than this share of the window are left out.
TOO_NEAR = 0.04

# Each window reaches this share of the one before to either side of the place.
NARROWER = 1 / 6

# Windows at most. An error that is less than this, and grows where the window shrinks, is that of rounding.
WINDOWS = 12
ROUNDED = 1e-5

# How much further off a place may be than points that are left out show.
SAFETY = 3.0

# Half of the difference that makes derivatives of a polynomial, as a share of its window.
DIFFERENCE = 1e-3


@dataclass(frozen=True)
class Crossing:
    """A place where another branch crosses, and how far off its parameter may be."""

    sample: Sample
    error: float


@dataclass(frozen=True)
class _Estimate:
    """A place by one window: its share of it, the vector there and along the branch, and their errors."""

    share: float
    z: np.ndarray
    way: np.ndarray
    errors: np.ndarray

    @property
    def off(self) -> float:
        return float(self.errors.max())


def rank(sample: Sample) -> float:
    """How far the derivative of the residual is from having one rank less, as where another branch crosses."""
    return float(np.linalg.svd(sample.at.slope, compute_uv=False)[sample.at.slope.shape[1] - 2])


def crossing(
    branch: Branch, wide: tuple[Sample, Sample], within: tuple[Sample, Sample], function: Callable[[Sample], float]
) -> Crossing | None:
    """Where a function of points is zero between two, by windows around it that shrink until the error is small.

    ``wide`` is the first window. The function has different signs at the points ``within``. None where there are too
    few points beside the place, or where no solution is at it.
    """
    best = None
    for _ in range(WINDOWS):
        found = _in_window(branch, wide, within, function)
        if found is None:
            break
        if best is not None and best.off < min(found.off, ROUNDED):
            break
        if best is None or found.off < best.off:
            best = found
        if best.off <= EXACT:
            break
        a, b = (branch.between(*wide, float(np.clip(found.share + d, 0, 1))) for d in (-NARROWER, NARROWER))
        if a is None or b is None:
            break
        wide = a, b
    return None if best is None else _solution(branch, within, best)


def _solution(branch: Branch, within: tuple[Sample, Sample], best: _Estimate) -> Crossing | None:
    """An estimate as a point of the branch; None if it solves the problem less well than its error explains."""
    try:
        at = branch.problem(best.z)
    except SaltusError:
        return None
    if not np.abs(at.residual).max() <= CLOSED + best.off * np.linalg.norm(at.slope, 2):
        return None
    a, b = within
    place = a.place + _share(within, best.z) * (b.place - a.place)
    return Crossing(Sample(place, best.way, at), SAFETY * float(best.errors[-1]))


def _in_window(
    branch: Branch, wide: tuple[Sample, Sample], within: tuple[Sample, Sample], function: Callable[[Sample], float]
) -> _Estimate | None:
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    corrected = [(float(share), branch.between(*wide, float(share), goal=0.0)) for share in nodes]
    known = [(share, sample) for share, sample in corrected if sample is not None]
    if len(known) < FEWEST:
        return None
    at = np.array([share for share, _ in known])
    values = np.array([[function(sample), *sample.z] for _, sample in known])
    ends = [(_share(wide, sample.z), function(sample)) for sample in within]
    share = _roughly(at, values[:, 0], ends)
    if share is None:
        return None
    far = np.abs(at - share) > TOO_NEAR
    return _estimate(at[far], values[far], share, float(np.sign(wide[1].place - wide[0].place)))


def _roughly(at: np.ndarray, values: np.ndarray, ends: list[tuple[float, float]]) -> float | None:
    """Where values have their zero: between the two neighbours of different signs that are nearest to the middle."""
    low, high = (float(np.clip(share, 0.0, 1.0)) for share, _ in ends)
    known = dict(zip(at.tolist(), values.tolist(), strict=True))
    known |= {share: value for share, value in ends if 0 <= share <= 1 and np.abs(at - share).min() > 1e-9}
    inside = sorted(share for share in known if low <= share <= high)
    brackets = [(a, b) for a, b in pairwise(inside) if (known[a] < 0.0) != (known[b] < 0.0)]
    if not brackets:
        return None
    a, b = min(brackets, key=lambda pair: abs(0.5 * (pair[0] + pair[1]) - 0.5 * (low + high)))
    along = BarycentricInterpolator(list(known), list(known.values()))
    return float(brentq(lambda x: float(along(x)), a, b))


def _estimate(at: np.ndarray, values: np.ndarray, share: float, side: float) -> _Estimate | None:
    """The zero of a polynomial, and how far it moves if any two of the points are left out.

    One is not enough: without any one, the place moves by the same divided difference times a factor, which may be
    small by chance.
    """
    if len(at) < FEWEST:
        return None
    along = BarycentricInterpolator(at, values)
    with suppress(RuntimeError):  # else the error says so
        nearer = float(newton(lambda x: float(along(x)[0]), share, x1=share + DIFFERENCE, tol=1e-14, rtol=1e-14))
        share = nearer if abs(nearer - share) < NARROWER else share
    here = along(share)
    slope = (along(share + DIFFERENCE) - along(share - DIFFERENCE)) / (2 * DIFFERENCE)
    if not slope[0]:
        return None
    errors = np.full(len(here) - 1, abs(here[0] / slope[0])) * np.abs(slope[1:])
    for two in combinations(range(len(at)), 2):
        other = BarycentricInterpolator(np.delete(at, two), np.delete(values, two, axis=0))(share)
        moved = other[1:] - here[1:] - slope[1:] * (other[0] - here[0]) / slope[0]
        errors = np.maximum(errors, np.abs(moved))
    way = side * slope[1:] / np.linalg.norm(slope[1:])
    return _Estimate(share, here[1:], way, errors)


def _share(ends: tuple[Sample, Sample], z: np.ndarray) -> float:
    """How far a point is along the chord between two others."""
    a, b = ends
    chord = b.z - a.z
    return float((z - a.z) @ chord / (chord @ chord))
