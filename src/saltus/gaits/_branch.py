"""A branch of solutions followed by pseudo-arclength [keller1977]: predict, correct, and points between two others.

Nothing here knows of gaits: a problem is a function of a vector whose last entry is the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from saltus.errors import SaltusError

# A correction of a point on the way ends where the residual is this small.
CLOSED = 5e-11

# How small it is made where something is located, if rounding does not end it before.
POLISHED = 3e-12

# How exactly a point is located along a branch.
LOCATED = 3e-12

# Steps are such that the residual of a prediction is this: two or three corrections are then enough.
PREDICTED = 5e-4

# A correction that does not bring the residual below this share of the first one leads nowhere.
FALLING = 0.3

# Corrections at most.
MOST_CORRECTIONS = 8

# A correction goes no further than this share of its step, else it may lead to another branch.
STRAYED = 0.5

# The least cosine of the angle between tangents of neighbours.
TURNED = 0.8


@dataclass(frozen=True)
class Evaluation:
    """What a problem says at a vector.

    ``slope`` is the derivative of the residual by the vector, ``matrix`` that of the map whose fixed points are
    followed, ``content`` whatever the problem is about.
    """

    z: np.ndarray
    residual: np.ndarray
    slope: np.ndarray = field(repr=False)
    matrix: np.ndarray = field(repr=False)
    content: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Sample:
    """A point of a branch: where along it, and in which direction the branch goes on."""

    place: float
    way: np.ndarray
    at: Evaluation

    @property
    def z(self) -> np.ndarray:
        return self.at.z

    @property
    def value(self) -> float:
        """The parameter."""
        return float(self.at.z[-1])

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Eigenvalues of the derivative of the map, the largest first."""
        values = np.linalg.eigvals(self.at.matrix)
        return np.asarray(values[np.argsort(-np.abs(values))])

    def reversed(self) -> Sample:
        """The same point of the branch walked the other way."""
        return replace(self, place=-self.place, way=-self.way)


class Branch:
    """A curve on which a problem is solved."""

    def __init__(self, problem: Callable[[np.ndarray], Evaluation]):
        self.problem = problem

    def sample(self, at: Evaluation, way: np.ndarray, place: float) -> Sample:
        """A solution as a point of the branch, which goes on in about the direction given."""
        tangent = np.linalg.svd(at.slope)[2][-1]
        return Sample(place, tangent * (1.0 if tangent @ way >= 0 else -1.0), at)

    def correct(
        self, guess: np.ndarray, way: np.ndarray, reach: float, goal: float = CLOSED
    ) -> tuple[Evaluation, float] | None:
        """Newton's method back onto the branch at right angles to a direction, and how far off the guess was."""
        z, best, first = guess, None, math.inf
        for count in range(1, MOST_CORRECTIONS + 1):
            try:
                found = self.problem(z)
            except SaltusError:
                return None
            size = float(np.abs(found.residual).max())
            if best is not None and size >= float(np.abs(best.residual).max()):
                return best, first  # no nearer than rounding
            if count == 1:
                first = size
            if size <= goal:
                return found, first
            if count > 1 and size > max(FALLING * first, CLOSED):
                return None
            best = found if size <= CLOSED else None
            J = np.vstack([found.slope, way])
            right = np.append(-found.residual, way @ (guess - z))
            z = z + np.linalg.lstsq(J, right, rcond=1e-10)[0]
            if not np.linalg.norm(z - guess) <= STRAYED * reach:
                return None
        return (best, first) if best is not None else None

    def onward(self, samples: list[Sample], step: float) -> tuple[Sample, float] | None:
        """The next point after those given, a step further, and the residual of the prediction."""
        last = samples[-1]
        guess = last.z + step * last.way
        if len(samples) > 1:
            h = last.place - samples[-2].place
            guess = _hermite(samples[-2], last, 1.0 + step / h)
        found = self.correct(guess, last.way, step)
        if found is None:
            return None
        new = self.sample(found[0], last.way, 0.0)
        if new.way @ last.way < TURNED:
            return None
        return replace(new, place=last.place + _length(last, new)), found[1]

    def between(
        self, a: Sample, b: Sample, share: float, near: tuple[Sample, Sample] | None = None, goal: float = POLISHED
    ) -> Sample | None:
        """The point of the branch between two neighbours, at a share of the way from one to the other.

        ``near`` are points between the two, before and after it, if such are known.
        """
        if share <= 0.0 or share >= 1.0:
            return a if share <= 0.0 else b
        chord = b.z - a.z
        size = float(np.linalg.norm(chord))
        way, (c, d), place = chord / size, near or (a, b), a.place + share * (b.place - a.place)
        guess = _hermite(c, d, (place - c.place) / (d.place - c.place))
        guess = guess + way * (share * size - way @ (guess - a.z))  # so that the share is that of the chord
        found = self.correct(guess, way, size, goal)
        if found is None:
            return None
        return self.sample(found[0], way, place)

    def passes(self, a: Sample, b: Sample, goal: Sample) -> bool:
        """Whether the branch goes through a point between two neighbours."""
        chord = b.z - a.z
        share = float((goal.z - a.z) @ chord / (chord @ chord))
        if not 0.0 <= share <= 1.0 or np.linalg.norm(_hermite(a, b, share) - goal.z) > 0.1 * np.linalg.norm(chord):
            return False
        found = self.between(a, b, share)
        return found is not None and bool(np.linalg.norm(found.z - goal.z) < 1e-6) and bool(found.way @ goal.way > 0)


def _length(a: Sample, b: Sample) -> float:
    """Length of the arc between neighbours, from that of the chord and the angle between the tangents."""
    turn = float(np.linalg.norm(b.way - a.way))
    return float(np.linalg.norm(b.z - a.z)) * (1.0 + turn * turn / 24.0)


def _hermite(a: Sample, b: Sample, share: float) -> np.ndarray:
    """The cubic through two points and their tangents, between them or beyond."""
    h, t = b.place - a.place, share
    return np.asarray(
        (1 + 2 * t) * (1 - t) ** 2 * a.z
        + t * (1 - t) ** 2 * h * a.way
        + t * t * (3 - 2 * t) * b.z
        + t * t * (t - 1) * h * b.way
    )


@dataclass
class Walk:
    """One direction of a branch, from its first point until something ends it.

    ``limits`` are those of the parameter; ``longest`` that of a step. ``refuse`` says why a solution is no point any
    more, or nothing.
    """

    branch: Branch
    start: Sample
    limits: tuple[float, float]
    step: float
    longest: float
    shortest: float = 1e-5
    refuse: Callable[[Evaluation], str] = lambda _: ""
    progress: Callable[[int, float], None] | None = None
    closed: bool = False

    def go(self, most: int) -> tuple[list[Sample], str]:
        """Points, that at the start first, and why there are no more; "" where no step was short enough."""
        samples = [self.start]
        step = min(self.step, self.longest)
        while len(samples) <= most:
            found = self.branch.onward(samples, step)
            if found is None:
                step *= 0.5
                if step < self.shortest:
                    return samples, ""
                continue
            new, off = found
            inner = self._turns_outside(samples[-1], new) or new
            if not self.limits[0] <= inner.value <= self.limits[1]:
                samples += self._at_limit(samples[-1], inner)
                return samples, "leaves the span"
            why = self.refuse(new.at)
            if why:
                return samples, why
            if len(samples) > 3 and self.branch.passes(samples[-1], new, self.start):
                self.closed = True
                last = replace(self.start, place=samples[-1].place + _length(samples[-1], self.start))
                # a step that is all but none says nothing
                if last.place - samples[-1].place < 1e-6 and len(samples) > 1:
                    samples.pop()
                return [*samples, last], "it comes back to where it began"
            samples.append(new)
            if self.progress is not None:
                self.progress(len(samples) - 1, new.value)
            # the error of a prediction by a cubic grows with the fourth power of the step
            step = min(step * float(np.clip((PREDICTED / max(off, 1e-16)) ** 0.25, 0.3, 2.0)), self.longest)
        return samples, f"{most} points"

    def _turns_outside(self, a: Sample, b: Sample) -> Sample | None:
        """The turn of the parameter between two points, if it is outside the limits."""
        if a.way[-1] * b.way[-1] >= 0.0:
            return None
        shares = np.linspace(0.0, 1.0, 101)
        values = np.array([_hermite(a, b, share)[-1] for share in shares])
        outside = np.maximum(values - self.limits[1], self.limits[0] - values)
        share = float(shares[int(outside.argmax())])
        if outside.max() <= 0.0 or share in (0.0, 1.0):
            return None
        return self.branch.between(a, b, share)

    def _at_limit(self, a: Sample, b: Sample) -> list[Sample]:
        """The point at which the parameter reaches its limit, between one within and one beyond."""
        end = self.limits[0] if b.value < self.limits[0] else self.limits[1]
        if math.isclose(a.value, end, rel_tol=1e-12, abs_tol=1e-14):
            return []
        found = root(self.branch, a, b, lambda sample: sample.value - end)
        if found is None or self.refuse(found.at):
            return []
        # to the last digit: the parameter is where it was asked to be
        z = found.z.copy()
        z[-1] = end
        exact = self.branch.correct(z, np.eye(len(z))[-1], float(np.linalg.norm(b.z - a.z)), POLISHED)
        return [replace(found, at=exact[0])] if exact is not None and exact[0].z[-1] == end else [found]


class _LostError(Exception):
    """The branch could not be corrected between two points."""


def root(branch: Branch, a: Sample, b: Sample, function: Callable[[Sample], float]) -> Sample | None:
    """The point between two neighbours at which a function of points is zero, by the method of Brent [brent1973].

    The function has different signs at the two. None where the branch cannot be corrected between them.
    """
    known = {0.0: a, 1.0: b}

    def at(share: float) -> float:
        if share not in known:
            low, high = max(s for s in known if s < share), min(s for s in known if s > share)
            found = branch.between(a, b, share, (known[low], known[high]))
            if found is None:
                raise _LostError
            known[share] = found
        return function(known[share])

    try:
        share = brentq(at, 0.0, 1.0, xtol=LOCATED / (b.place - a.place))
    except _LostError:
        return None
    at(share)
    return known[share]
