"""What the number of multipliers outside the unit circle shows of a branch where signs of test functions do not.

Two multipliers that leave the unit circle at one place change the sign of no product: the test function touches zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from saltus.gaits._branch import Sample
from saltus.gaits._places import Bifurcation, Places
from saltus.gaits._test_functions import AT_ONE, BRANCH_POINT, DOUBLING, FOLD, JUMP, NEIMARK_SACKER, outside

# Places of a branch that are nearer are the same.
SAME = 1e-9

# Places where test functions of one change have their zeros, if they differ by rounding only.
ROUNDING = 1e-5

# Multipliers that are so near to where they must be may come there together, and have come there.
NEAR, TOGETHER = 1e-2, 1e-5

# How far beside a place a test function is first tried, by how much more each time, and how often.
BESIDE, FURTHER, TRIES = 1e-6, 4.0, 12

# Where a step is divided, the first at which the branch can be corrected.
SHARES = (0.5, 0.25, 0.75, 0.1, 0.9)

# How many multipliers cross the unit circle where it is not one: a fold alone is no crossing.
_CROSSING = {FOLD: 0, NEIMARK_SACKER: 2}


def crossings(kinds: Sequence[str]) -> int:
    """How many multipliers cross the unit circle at changes of these kinds, at most."""
    return sum(_CROSSING.get(kind, 1) for kind in kinds)


def crossed(places: Places, a: Sample, b: Sample) -> int:
    """By how many the multipliers outside the unit circle differ at least, where some are on it."""
    (low_a, high_a), (low_b, high_b) = places.tests.outside(a), places.tests.outside(b)
    return max(low_a - high_b, low_b - high_a, 0)


def counted(places: Places, known: Sequence[Bifurcation]) -> list[Bifurcation]:
    """Changes that are known by signs, with those that only the number of multipliers outside shows."""
    counts = _Counts(places)
    made = list(known)
    for a, b in counts.spans():
        made = counts.explained(a, b, made, len(a.multipliers))
    return [counts.in_its_step(one) if one not in known else one for one in made]


class _Counts:
    """Points of a branch at which no multiplier is on the unit circle by chance, and what happens between them."""

    def __init__(self, places: Places):
        self.places, samples = places, places.samples
        self.whole = samples[-1].place - samples[0].place if places.closed else np.inf

    def spans(self) -> list[tuple[Sample, Sample]]:
        """Neighbours among such points, around the end of a closed branch; ends of an open one count as they are."""
        samples, last = self.places.samples, len(self.places.samples) - 1
        clear = [k for k in range(last + 1) if self._is_clear(samples[k])]
        if not self.places.closed:
            clear = sorted({0, *clear, last})
        elif clear:
            clear = [*clear, clear[0] + last]
        return list(pairwise(self.places.sample(k) for k in clear))

    def _is_clear(self, sample: Sample) -> bool:
        low, high = self.places.tests.outside(sample)
        return low == high

    def explained(self, a: Sample, b: Sample, known: list[Bifurcation], deeper: int) -> list[Bifurcation]:
        """Changes with those that are missing between two points, or that are several at one place."""
        inside = [one for one in known if self._is_between(one, a, b)]
        count = crossed(self.places, a, b)
        twice = {id(one) for one in inside for other in inside if one is not other and self._are_one(one, other)}
        if count <= crossings([one.kind for one in inside if id(one) not in twice]):
            return known
        found = self._search(a, b)
        if found is None:
            return known
        known = [one for one in known if not self._are_one(one, found)] + [found]
        if found.kind == JUMP or not deeper:
            return known
        before, after = self._clear_beside(a, b, found)
        known = self.explained(a, before, known, deeper - 1) if before is not None else known
        return self.explained(after, b, known, deeper - 1) if after is not None else known

    def in_its_step(self, one: Bifurcation) -> Bifurcation:
        """The same with its place by the step in which it is, if it was found between points further apart."""
        samples, place = self.places.samples, one.sample.place
        if self.places.closed:
            place = samples[0].place + (place - samples[0].place) % self.whole
        k = int(np.clip(np.searchsorted([s.place for s in samples], place), 1, len(samples) - 1))
        best = []
        for a, b in pairwise(samples[max(k - 2, 0) : k + 2]):
            chord = b.z - a.z
            share = float((one.sample.z - a.z) @ chord / (chord @ chord))
            best.append((max(-share, share - 1.0), a.place + float(np.clip(share, 0.0, 1.0)) * (b.place - a.place)))
        return replace(one, sample=replace(one.sample, place=min(best)[1]))

    # -- one change -------------------------------------------------------------------------

    def _search(self, a: Sample, b: Sample) -> Bifurcation | None:
        """A place between two points at which the number of multipliers outside changes."""
        ends, before = (a, b), outside(a)
        while b.place - a.place > SAME:
            shares = (self.places.branch.between(a, b, share) for share in SHARES)
            middle = next((sample for sample in shares if sample is not None), None)
            if middle is None:
                break
            a, b = (middle, b) if outside(middle) == before else (a, middle)
        for kind in (DOUBLING, AT_ONE, NEIMARK_SACKER):
            near = max(self.places.tests.gathered(kind, sample, NEAR) for sample in (a, b))
            for together in range(near, 0, -1):
                found = self._several(kind, ends, 0.5 * (a.place + b.place), together)
                if found is not None:
                    return found
        return Bifurcation(JUMP, b, complex(b.multipliers[0]))

    def _several(self, kind: str, ends: tuple[Sample, Sample], place: float, together: int) -> Bifurcation | None:
        """So many multipliers that come to the unit circle together about a place."""
        bracket = self._bracket(kind, ends, place, together)
        found = None if bracket is None else self.places.between(kind, bracket, together)
        if found is None or self.places.tests.gathered(kind, found.sample, TOGETHER) != together:
            return None
        return found

    def _bracket(
        self, kind: str, ends: tuple[Sample, Sample], place: float, together: int
    ) -> tuple[Sample, Sample] | None:
        """Points on both sides of a place at which a test function has different signs, as near as there are."""
        f = self.places.tests.all[kind]
        for k in range(TRIES):
            a, b = (self._beside(ends, place + side * BESIDE * FURTHER**k) for side in (-1.0, 1.0))
            if a is not None and b is not None and (f(a, together) < 0.0) != (f(b, together) < 0.0):
                return a, b
        return None

    def _clear_beside(self, a: Sample, b: Sample, one: Bifurcation) -> tuple[Sample | None, Sample | None]:
        """Points on both sides of a change, as near as there are, at which no multiplier is on the unit circle."""
        made: list[Sample | None] = []
        for side in (-1.0, 1.0):
            points = (self._beside((a, b), one.sample.place + side * BESIDE * FURTHER**k) for k in range(TRIES))
            clear = next((point for point in points if point is not None and self._is_clear(point)), None)
            made.append(clear if clear is not None and a.place < clear.place < b.place else None)
        return made[0], made[1]

    def _beside(self, ends: tuple[Sample, Sample], place: float) -> Sample | None:
        a, b = ends
        return self.places.branch.between(a, b, (place - a.place) / (b.place - a.place))

    def _is_between(self, one: Bifurcation, a: Sample, b: Sample) -> bool:
        place = one.sample.place
        return a.place <= place <= b.place or a.place <= place + self.whole <= b.place

    def _are_one(self, one: Bifurcation, other: Bifurcation) -> bool:
        """Whether two changes of one kind are at one place."""
        apart = abs(one.sample.place - other.sample.place)
        same = one.kind == other.kind or {one.kind, other.kind} == {AT_ONE, BRANCH_POINT}
        return same and min(apart, abs(self.whole - apart)) < ROUNDING
