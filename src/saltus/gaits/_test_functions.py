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

FOLD, AT_ONE, BRANCH_POINT = "fold", "multiplier at one", "branch point"
DOUBLING, NEIMARK_SACKER, JUMP = "period doubling", "Neimark-Sacker", "jump"


@dataclass(frozen=True)
class Tests:
    """Test functions of one branch: each is smooth, and zero where something happens.

    Multipliers that are one, or minus one, all along the branch, and pairs whose product is one, are left out.
    """

    ones: int = 0
    minus_ones: int = 0
    pairs: int = 0

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Tests:
        """Those of a branch of which some points are known."""
        ones = statistics.median_low(_count(s.multipliers - 1.0) for s in samples)
        minus_ones = statistics.median_low(_count(s.multipliers + 1.0) for s in samples)
        some = cls(ones, minus_ones)
        return replace(some, pairs=statistics.median_low(_count(some._products(s)) for s in samples))

    @property
    def all(self) -> dict[str, Callable[[Sample], float]]:
        """By what happens at their zeros."""
        return {FOLD: self.turn, AT_ONE: self.at_one, DOUBLING: self.doubling, NEIMARK_SACKER: self.pair}

    def turn(self, sample: Sample) -> float:
        """How fast the parameter changes along the branch."""
        return float(sample.way[-1])

    def at_one(self, sample: Sample) -> float:
        """The product of all m - 1: the last coefficient of det(sI - (A - I)) that is not zero all along."""
        return _last(sample.at.matrix, 1.0, self.ones)

    def doubling(self, sample: Sample) -> float:
        """The product of all m + 1: det(A + I)."""
        return _last(sample.at.matrix, -1.0, self.minus_ones)

    def pair(self, sample: Sample) -> float:
        """The product of all m_i m_j - 1, i < j: the determinant of the bialternate product of A and A, less I."""
        products = self._products(sample)
        products = products[np.argsort(np.abs(products))][self.pairs :]
        return float(np.prod(products).real)

    def crossing(self, kind: str, sample: Sample) -> complex:
        """The multiplier that is nearest to where it must be for a kind of change."""
        m = sample.multipliers
        if kind != NEIMARK_SACKER:
            goal = -1.0 if kind == DOUBLING else 1.0
            left_out = self.minus_ones if kind == DOUBLING else self.ones
            order = np.argsort(np.abs(m - goal))
            return complex(m[order[min(left_out, len(m) - 1)]])
        complexes = m[m.imag > UNIT]
        return complex(complexes[np.abs(np.abs(complexes) - 1.0).argmin()]) if complexes.size else complex(np.nan)

    def _products(self, sample: Sample) -> np.ndarray:
        m = sample.multipliers
        m = m[np.argsort(np.abs(m - 1.0))][self.ones :]
        m = m[np.argsort(np.abs(m + 1.0))][self.minus_ones :]
        return np.array([a * b - 1.0 for a, b in combinations(m, 2)])


def _count(values: np.ndarray) -> int:
    return int((np.abs(values) < UNIT).sum())


def _last(A: np.ndarray, of: float, left_out: int) -> float:
    """The product of all eigenvalues of A less a number, but for some that are always zero.

    As a coefficient of the characteristic polynomial it is smooth where one more of them comes to zero.
    """
    n = len(A)
    coefficients = np.poly(A - of * np.eye(n))
    return float(np.real(coefficients[n - left_out]) * (-1.0) ** (n - left_out))


def outside(sample: Sample) -> int:
    """How many multipliers are outside the unit circle."""
    return int((np.abs(sample.multipliers) > 1.0 + UNIT).sum())
