"""Where between two points of a branch something happens, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from saltus.gaits._branch import Branch, Sample, root
from saltus.gaits._crossing import crossing, rank
from saltus.gaits._test_functions import AT_ONE, BRANCH_POINT, DOUBLING, FOLD, NEIMARK_SACKER, UNIT, Tests

# A multiplier further than this from where a test function has its zero has not come there: it jumps over.
THERE = 1e-4

# Another branch crosses where the derivative of the residual is this share as far from a lower rank as at neighbours.
CROSSED = 1e-4

# The length of a branch around such a place where it is first looked for.
WIDE = 0.1

# How far beside a place, as shares of a step, a pair is looked at until it is clear of those that are there all along.
BESIDE = (1e-4, 1e-3, 1e-2, 0.1, 1.0)


@dataclass(frozen=True)
class Bifurcation:
    """A place on a branch where something happens, with the multiplier that does it.

    ``before`` and ``after`` count the multipliers outside the unit circle. ``partner`` is where a multiplier is at one
    where that is not quite where the parameter turns: it is so where something is kept, such as the energy.
    ``error`` is how far off the parameter of a place may be where another branch crosses.
    """

    kind: str
    sample: Sample
    multiplier: complex
    before: int = 0
    after: int = 0
    partner: Sample | None = None
    error: float | None = None


class Places:
    """Places between points of one branch."""

    def __init__(self, branch: Branch, tests: Tests, samples: Sequence[Sample], closed: bool):
        self.branch, self.tests, self.samples, self.closed = branch, tests, samples, closed

    def between(self, kind: str, ends: tuple[Sample, Sample], together: int = 1) -> Bifurcation | None:
        """The place at which a test function is zero, which has different signs at two points."""
        f: Callable[..., float] = self.tests.all[kind]
        if kind != FOLD:
            f = partial(f, together=together)
        sample, error = root(self.branch, *ends, f), None
        if kind in (FOLD, AT_ONE):
            wide = self._around(*ends)
            if sample is None or _crossed(sample, wide):
                located = crossing(self.branch, wide, ends, f)
                if located is None:
                    return None
                sample, error = located.sample, located.error
                kind = BRANCH_POINT if _crossed(sample, wide) else kind
        if sample is None:
            return None
        multiplier = self._multiplier(kind, sample, ends)
        return Bifurcation(kind, sample, multiplier, error=error) if is_there(kind, multiplier) else None

    def at(self, kind: str, sample: Sample, beside: Sample) -> Bifurcation | None:
        """What happens at a point of the branch itself, if a multiplier is where it must be."""
        multiplier = self._multiplier(kind, sample, (sample, beside))
        return Bifurcation(kind, sample, multiplier) if is_there(kind, multiplier) else None

    def _multiplier(self, kind: str, sample: Sample, ends: tuple[Sample, Sample]) -> complex:
        """The multiplier that comes to its place; nan where two that are real have the product one."""
        if kind != NEIMARK_SACKER or not self.tests.pairs:
            return self.tests.crossing(kind, sample)
        # at the place itself rounding decides which of the pairs with the product one are there all along
        end = max(ends, key=lambda end: abs(end.place - sample.place))
        for share in BESIDE:
            point = end if share == 1.0 else self.branch.between(sample, end, share)
            if point is not None and self.tests.nearest_pair(point)[1] > 10 * UNIT:
                beside = self.tests.crossing(kind, point)
                if np.isnan(beside):
                    return beside
                return complex(sample.multipliers[np.abs(sample.multipliers - beside).argmin()])
        return complex(np.nan)

    def _around(self, a: Sample, b: Sample) -> tuple[Sample, Sample]:
        """Points of the branch before and after two others that are far enough apart."""
        places = np.array([sample.place for sample in self.samples])
        i = int(np.searchsorted(places, a.place, "right")) - 1
        j = int(np.searchsorted(places, b.place, "left"))
        low, high = (-len(places) // 2, len(places) + len(places) // 2) if self.closed else (0, len(places) - 1)
        i, j = max(i, low), min(j, high)
        while self.sample(j).place - self.sample(i).place < WIDE and (i > low or j < high):
            i, j = max(i - 1, low), min(j + 1, high)
        return self.sample(i), self.sample(j)

    def sample(self, k: int) -> Sample:
        """A point by its number; around the end of a closed branch, whose last point is its first."""
        last = len(self.samples) - 1
        if 0 <= k <= last:
            return self.samples[k]
        turns, k = divmod(k, last)
        whole = self.samples[-1].place - self.samples[0].place
        return replace(self.samples[k], place=self.samples[k].place + turns * whole)


def _crossed(sample: Sample, wide: tuple[Sample, Sample]) -> bool:
    """Whether another branch crosses at a point, by others further apart."""
    return rank(sample) < CROSSED * max(rank(end) for end in wide)


def is_there(kind: str, multiplier: complex) -> bool:
    """Whether a multiplier is where it must be: not so at a neutral saddle, or where the derivative jumps."""
    if kind == NEIMARK_SACKER:
        return abs(abs(multiplier) - 1.0) < THERE
    return kind == FOLD or abs(multiplier - (-1.0 if kind == DOUBLING else 1.0)) < THERE
