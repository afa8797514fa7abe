"""Bifurcations along a branch of fixed points: zeros of its test functions, none missed, located on the branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from saltus.gaits._branch import Branch, Sample
from saltus.gaits._counts import ROUNDING, SAME, counted, crossed, crossings
from saltus.gaits._places import Bifurcation, Places
from saltus.gaits._test_functions import AT_ONE, DOUBLING, FOLD, NEIMARK_SACKER, Tests, outside

# How much more a test function may bend than its values at neighbours show.
SAFETY = 2.0

# Steps are halved so often at most.
HALVINGS = 6

# A zero of a test function, as a share of its values nearby.
ZERO = 1e-8

# Two sides of one fold: how far along the branch the turn of the parameter and the multiplier at one are apart.
ONE_FOLD = 0.1


@dataclass(frozen=True)
class Found:
    """What is known of a branch: its points, refined, with those at which something happens among them.

    ``resolution`` is the largest distance between neighbours; ``finest`` the least to which steps were halved where a
    test function could have come to zero and back.
    """

    samples: tuple[Sample, ...]
    changes: tuple[Bifurcation, ...]
    resolution: float
    value_resolution: float
    finest: float


def bifurcations(branch: Branch, samples: Sequence[Sample], *, closed: bool = False) -> Found:
    """Everything that happens between neighbouring points of a branch, and points added to see it."""
    if len(samples) < 2:
        return Found(tuple(samples), (), 0.0, 0.0, 0.0)
    tests = Tests.of(samples)
    search = _Search(branch, tests, list(samples), closed)
    search.refine()
    return search.found()


class _Search:
    """Points of a branch in order, halved until nothing can hide between them."""

    def __init__(self, branch: Branch, tests: Tests, samples: list[Sample], closed: bool):
        self.branch, self.tests, self.samples, self.closed = branch, tests, samples, closed
        self.finest = max(b.place - a.place for a, b in pairwise(samples)) / 2**HALVINGS
        self.places = Places(branch, tests, self.samples, closed)
        self.values = {kind: [f(s) for s in samples] for kind, f in tests.all.items()}

    # -- refining ---------------------------------------------------------------------------

    def refine(self) -> None:
        """Halve each step in which a test function may be zero more often than its signs say."""
        k = 0
        while k < len(self.samples) - 1:
            a, b = self.samples[k], self.samples[k + 1]
            middle = None
            if b.place - a.place > self.finest and self._doubtful(k):
                middle = self.branch.between(a, b, 0.5)
            if middle is None:
                k += 1
                continue
            self._insert(k + 1, middle)
            k = max(k - 1, 0)  # a new point says more of its neighbours too

    def _doubtful(self, k: int) -> bool:
        signs = [kind for kind in (AT_ONE, DOUBLING, NEIMARK_SACKER) if self._changes_sign(kind, k)]
        more = crossed(self.places, *self.samples[k : k + 2]) > crossings(signs)
        return more or any(self._may_hide(kind, k) for kind in self.values)

    def _insert(self, k: int, sample: Sample) -> None:
        self.samples.insert(k, sample)
        for kind, f in self.tests.all.items():
            self.values[kind].insert(k, f(sample))

    def _may_hide(self, kind: str, k: int) -> bool:
        """Whether two more zeros fit between a point and the next, if the function bends no more than it does nearby.

        With f'' at most M, and ends of one sign, there is none if (sqrt|f_a| + sqrt|f_b|)^2 > M h^2 / 2; with ends of
        different signs there is one if |f_b - f_a| > M h^2.
        """
        f, h = self.values[kind], self.samples[k + 1].place - self.samples[k].place
        bend = SAFETY * self._bend(kind, k) * h * h
        a, b = abs(f[k]), abs(f[k + 1])
        if f[k] * f[k + 1] > 0.0:
            return bool(bend / 2 >= (np.sqrt(a) + np.sqrt(b)) ** 2)
        return bool(bend >= a + b > 0.0)

    def _bend(self, kind: str, k: int) -> float:
        """The largest second derivative of a test function near a step, by differences."""
        if len(self.samples) < 3:
            return np.inf
        f, found = self.values[kind], []
        for places, (s0, s1, s2) in self._triples(k):
            f0, f1, f2 = (f[place] for place in places)
            found.append(abs(2.0 * ((f2 - f1) / (s2 - s1) - (f1 - f0) / (s1 - s0)) / (s2 - s0)))
        return max(found)

    def _triples(self, k: int) -> list[tuple[list[int], list[float]]]:
        """The points of a step with the one before, and with the one after; around the end of a closed branch."""
        last, whole = len(self.samples) - 1, self.samples[-1].place - self.samples[0].place
        made = []
        for places in ([k - 1, k, k + 1], [k, k + 1, k + 2]):
            turns = [-whole if place < 0 else whole if place > last else 0.0 for place in places]
            if any(turns) and not self.closed:
                continue
            # the last point of a closed branch is its first
            places = [place % last if turn else place for place, turn in zip(places, turns, strict=True)]
            made.append((places, [self.samples[p].place + turn for p, turn in zip(places, turns, strict=True)]))
        return made

    # -- locating ---------------------------------------------------------------------------

    def found(self) -> Found:
        """All that happens, in order along the branch."""
        raw = [one for k in range(len(self.samples) - 1) for one in self._between(k)] + self._at_ends()
        raw = counted(self.places, raw)
        whole = self.samples[-1].place - self.samples[0].place if self.closed else np.inf
        changes = _as_one_fold(raw, self.tests, whole)
        changes = sorted((self._with_neighbours(one, changes, whole) for one in changes), key=lambda c: c.sample.place)
        steps = [(b.place - a.place, abs(b.value - a.value)) for a, b in self._steps()]
        for special in [s for change in changes for s in (change.sample, change.partner) if s is not None]:
            if min(abs(special.place - s.place) for s in self.samples) > SAME:
                self.samples.append(special)
        self.samples.sort(key=lambda s: s.place)
        return Found(
            tuple(self.samples), tuple(changes), max(h for h, _ in steps), max(v for _, v in steps), self.finest
        )

    def _steps(self) -> list[tuple[Sample, Sample]]:
        return list(pairwise(self.samples))

    def _between(self, k: int) -> list[Bifurcation]:
        """What happens between a point and the next, by signs."""
        ends = self.samples[k], self.samples[k + 1]
        made = [self.places.between(kind, ends) for kind in self.values if self._changes_sign(kind, k)]
        return [one for one in made if one is not None]

    def _changes_sign(self, kind: str, k: int) -> bool:
        f = self.values[kind]
        return (f[k] < 0.0) != (f[k + 1] < 0.0)

    def _at_ends(self) -> list[Bifurcation]:
        """What happens at the very ends of an open branch, where rounding alone would decide on which side it is."""
        if self.closed:
            return []
        made = []
        for end, beside in ((0, 1), (-1, -2)):
            for kind, f in self.values.items():
                sample = self.samples[end]
                same = (f[end] < 0.0) == (f[beside] < 0.0)
                one = self.places.at(kind, sample, self.samples[beside])
                if same and abs(f[end]) < ZERO * abs(f[beside]) and one is not None:
                    made.append(one)
        return made

    def _with_neighbours(self, one: Bifurcation, changes: Sequence[Bifurcation], whole: float) -> Bifurcation:
        """A change with what is outside the unit circle before and after it."""
        own = [s.place for s in (one.sample, one.partner) if s is not None]
        others = [s.place for c in changes if c is not one for s in (c.sample, c.partner) if s is not None]
        before = self._beside(min(own), others, -1.0, whole)
        after = self._beside(max(own), others, 1.0, whole)
        return replace(one, before=outside(before or one.sample), after=outside(after or one.sample))

    def _beside(self, place: float, others: Sequence[float], side: float, whole: float) -> Sample | None:
        """A point beside a change, before any other; None at the end of the branch."""

        def ahead(there: float) -> float:
            distance = side * (there - place)
            return distance % whole if np.isfinite(whole) else distance

        free = [(ahead(s.place), s) for s in self.samples]
        free = sorted(((d, s) for d, s in free if SAME < d < whole - SAME), key=lambda pair: pair[0])
        if not free:
            return None
        next_other = min((ahead(other) for other in others if ahead(other) > SAME), default=np.inf)
        nearest = [(d, s) for d, s in free if d < next_other]
        if nearest:
            # one at which multipliers have left the unit circle, if there is one
            return next((s for _, s in nearest if len(set(self.tests.outside(s))) == 1), nearest[0][1])
        distance = free[0][0]
        # two changes in one step: half-way between them
        k = self._step_of(place + side * min(SAME, distance))
        a, b = self.samples[k], self.samples[k + 1]
        goal = place + side * 0.5 * next_other
        middle = self.branch.between(a, b, (goal - a.place) / (b.place - a.place))
        if middle is not None:
            self._insert(k + 1, middle)
        return middle

    def _step_of(self, place: float) -> int:
        """The step in which a place is."""
        first, last = self.samples[0].place, self.samples[-1].place
        if self.closed:
            place = first + (place - first) % (last - first)
        places = np.array([s.place for s in self.samples])
        return int(np.clip(np.searchsorted(places, place) - 1, 0, len(places) - 2))


def _nearest_one(sample: Sample) -> complex:
    """The multiplier of what is kept, where that alone lets the parameter turn."""
    return complex(sample.multipliers[np.abs(sample.multipliers - 1.0).argmin()])


def _as_one_fold(raw: list[Bifurcation], tests: Tests, whole: float) -> list[Bifurcation]:
    """Where the parameter turns and where a multiplier is at one, as one change if they are at one place.

    Without anything that is kept they are the same to rounding. Where something is kept, such as the energy, a
    branch is a line on a surface of fixed points. Where that surface turns back, the parameter turns with
    all else that is held, and a multiplier is at one where it would turn with the energy held: at two points nearby.
    """

    def apart(a: Bifurcation, b: Bifurcation) -> float:
        distance = abs(a.sample.place - b.sample.place)
        return min(distance, whole - distance)

    reach = ONE_FOLD if tests.ones else ROUNDING
    made = [one for one in raw if one.kind not in (FOLD, AT_ONE)]
    used: set[tuple[str, int]] = set()
    folds, singles = ([one for one in raw if one.kind == kind] for kind in (FOLD, AT_ONE))
    pairs = sorted(((apart(f, s), i, j) for i, f in enumerate(folds) for j, s in enumerate(singles)))
    for distance, i, j in pairs:
        if distance <= reach and not used & {(FOLD, i), (AT_ONE, j)}:
            used |= {(FOLD, i), (AT_ONE, j)}
            partner = singles[j].sample if distance > ROUNDING else None
            made.append(replace(folds[i], multiplier=singles[j].multiplier, partner=partner))
    made += [replace(f, multiplier=_nearest_one(f.sample)) for i, f in enumerate(folds) if (FOLD, i) not in used]
    return made + [one for j, one in enumerate(singles) if (AT_ONE, j) not in used]
