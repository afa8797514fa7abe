"""Test functions of a branch of fixed points: each is smooth along it, and zero where a kind of bifurcation happens.

Notation: [kuznetsov2004, chapter 10] and [govaerts2000, chapter 4]. A is the derivative of the map, m its eigenvalues.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from saltus.gaits._branch import Sample

# A multiplier this near to one is one: that of the energy, which cycles keep.
UNIT = 1e-6

# Two multipliers that are real and equal may come out this far from the real axis: the root of their rounding.
REAL = 1e-5

FOLD, AT_ONE, BRANCH_POINT = "fold", "multiplier at one", "branch point"
DOUBLING, NEIMARK_SACKER, JUMP = "period doubling", "Neimark-Sacker", "jump"


@dataclass(frozen=True)
class Tests:
    """Test functions of one branch: each is smooth, and zero where something happens.

    Multipliers that are one, or minus one, all along the branch, and pairs whose product is one, are left out.
    ``on_circle`` is how many multipliers of most points are on the unit circle.

    ``together`` is how many multipliers, or products of two, come to their place at once. The product of all has a zero
    of that order there; the sum of all products that leave one less out has a simple zero.
    """

    ones: int = 0
    minus_ones: int = 0
    pairs: int = 0
    on_circle: int = 0

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Tests:
        """Those of a branch of which some points are known."""
        ones = statistics.median_low(_count(s.multipliers - 1.0) for s in samples)
        minus_ones = statistics.median_low(_count(s.multipliers + 1.0) for s in samples)
        on_circle = statistics.median_low(_count(np.abs(s.multipliers) - 1.0) for s in samples)
        some = cls(ones, minus_ones, 0, on_circle)
        return replace(some, pairs=statistics.median_low(_count(some._pairs(s)[1]) for s in samples))

    @property
    def all(self) -> dict[str, Callable[..., float]]:
        """By what happens at their zeros."""
        return {FOLD: self.turn, AT_ONE: self.at_one, DOUBLING: self.doubling, NEIMARK_SACKER: self.pair}

    def turn(self, sample: Sample) -> float:
        """How fast the parameter changes along the branch."""
        return float(sample.way[-1])

    def at_one(self, sample: Sample, together: int = 1) -> float:
        """The product of all m - 1: the last coefficient of det(sI - (A - I)) that is not zero all along."""
        return _last(sample.at.matrix, 1.0, self.ones + together - 1)

    def doubling(self, sample: Sample, together: int = 1) -> float:
        """The product of all m + 1: det(A + I)."""
        return _last(sample.at.matrix, -1.0, self.minus_ones + together - 1)

    def pair(self, sample: Sample, together: int = 1) -> float:
        """The product of all m_i m_j - 1, i < j: the determinant of the bialternate product of A and A, less I."""
        products = self._pairs(sample)[1][self.pairs :]
        if together == 1:
            return float(np.prod(products).real)
        return _symmetric(np.poly(products), together - 1)

    def crossing(self, kind: str, sample: Sample) -> complex:
        """The multiplier that is nearest to where it must be for a kind of change; nan where a pair is real."""
        m = sample.multipliers
        if kind != NEIMARK_SACKER:
            goal, left_out = self._goal(kind)
            order = np.argsort(np.abs(m - goal))
            return complex(m[order[min(left_out, len(m) - 1)]])
        (first, second), product = self.nearest_pair(sample)
        upper = first if first.imag > second.imag else second
        return upper if np.isfinite(product) and upper.imag > REAL else complex(np.nan)

    def nearest_pair(self, sample: Sample) -> tuple[tuple[complex, complex], float]:
        """The two multipliers whose product is nearest to one, but for those where it is so all along; and how near."""
        pairs, products = self._pairs(sample)
        if len(pairs) <= self.pairs:
            return (complex(np.nan), complex(np.nan)), np.nan
        first, second = pairs[self.pairs]
        return (complex(first), complex(second)), float(np.abs(products[self.pairs]))

    def gathered(self, kind: str, sample: Sample, near: float) -> int:
        """How many multipliers, or products of two, are near to where they must be, but for those that always are."""
        if kind == NEIMARK_SACKER:
            return int((np.abs(self._pairs(sample)[1]) < near).sum()) - self.pairs
        goal, left_out = self._goal(kind)
        return int((np.abs(sample.multipliers - goal) < near).sum()) - left_out

    def outside(self, sample: Sample) -> tuple[int, int]:
        """How many multipliers are outside the unit circle, at least and at most, where some have come to it."""
        on_circle = _count(np.abs(sample.multipliers) - 1.0)
        least = outside(sample)
        return least, least + max(on_circle - self.on_circle, 0)

    def _goal(self, kind: str) -> tuple[float, int]:
        """Where a multiplier must be, and how many are there all along."""
        return (-1.0, self.minus_ones) if kind == DOUBLING else (1.0, self.ones)

    def _pairs(self, sample: Sample) -> tuple[list[tuple[complex, complex]], np.ndarray]:
        """Pairs of multipliers and their products less one, those that are nearest to zero first."""
        m = sample.multipliers
        m = m[np.argsort(np.abs(m - 1.0))][self.ones :]
        m = m[np.argsort(np.abs(m + 1.0))][self.minus_ones :]
        pairs = list(combinations(m, 2))
        products = np.array([a * b - 1.0 for a, b in pairs])
        order = np.argsort(np.abs(products))
        return [pairs[k] for k in order], products[order]


def _count(values: np.ndarray) -> int:
    return int((np.abs(values) < UNIT).sum())


def _last(A: np.ndarray, of: float, left_out: int) -> float:
    """The product of all eigenvalues of A less a number, but for some that are always zero.

    As a coefficient of the characteristic polynomial it is smooth where one more of them comes to zero.
    """
    return _symmetric(np.poly(A - of * np.eye(len(A))), left_out)


def _symmetric(polynomial: np.ndarray, left_out: int) -> float:
    """The sum of all products of the roots of a polynomial that leave so many of them out."""
    degree = len(polynomial) - 1 - left_out
    return float(np.real(polynomial[degree]) * (-1.0) ** degree) if degree >= 0 else 1.0


def outside(sample: Sample) -> int:
    """How many multipliers are outside the unit circle."""
    return int((np.abs(sample.multipliers) > 1.0 + UNIT).sum())
