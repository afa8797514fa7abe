"""Bifurcations along a branch of fixed points: zeros of its test functions, none missed, located on the branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from saltus.gaits._branch import Branch, Sample, root, smooth_root
from saltus.gaits._test_functions import (
    AT_ONE,
    BRANCH_POINT,
    DOUBLING,
    FOLD,
    JUMP,
    NEIMARK_SACKER,
    UNIT,
    Tests,
    outside,
)

# A multiplier further than this from where a test function has its zero has not come there: it jumps over.
THERE = 1e-4

# How much more a test function may bend than its values at neighbours show.
SAFETY = 2.0

# Steps are halved so often at most.
HALVINGS = 6

# Another branch crosses where the derivative of the residual is this share as far from a lower rank as at neighbours.
CROSSED = 1e-4

# The length of a branch around such a place that shows where it is.
WIDE = 0.1

# A zero of a test function, as a share of its values nearby.
ZERO = 1e-8

# Places of a branch that are nearer are the same.
SAME = 1e-9

# Places where test functions of one change have their zeros, if they differ by rounding only.
ROUNDING = 1e-5

# Two sides of one fold: how far along the branch the turn of the parameter and the multiplier at one are apart.
ONE_FOLD = 0.1

# How many multipliers cross the unit circle where it is not one: a fold alone is no crossing.
_CROSSING = {FOLD: 0, NEIMARK_SACKER: 2}


@dataclass(frozen=True)
class Bifurcation:
    """A place on a branch where something happens, with the multiplier that does it.

    ``before`` and ``after`` count the multipliers outside the unit circle. ``partner`` is where a multiplier is at one
    where that is not quite where the parameter turns: it is so where something is kept, such as the energy.
    """

    kind: str
    sample: Sample
    multiplier: complex
    before: int = 0
    after: int = 0
    partner: Sample | None = None


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
        return self._unexplained(k, signs) or any(self._may_hide(kind, k) for kind in self.values)

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
        """What happens between a point and the next."""
        a, b = self.samples[k], self.samples[k + 1]
        made = []
        for kind, f in self.tests.all.items():
            if not self._changes_sign(kind, k):
                continue
            sample = root(self.branch, a, b, f)
            crossed = sample is None or _rank(sample) < CROSSED * max(_rank(a), _rank(b))
            if crossed and kind in (FOLD, AT_ONE):
                kind, sample = BRANCH_POINT, smooth_root(self.branch, self._around(k), (a, b), f)
            if sample is not None and self._is_there(kind, sample):
                made.append(Bifurcation(kind, sample, self.tests.crossing(kind, sample)))
        return made + self._jump(k, made)

    def _around(self, k: int) -> tuple[Sample, Sample]:
        """Points before and after a step that are far enough apart."""
        i, j = k, k + 1
        while self.samples[j].place - self.samples[i].place < WIDE and (i > 0 or j < len(self.samples) - 1):
            i, j = max(i - 1, 0), min(j + 1, len(self.samples) - 1)
        return self.samples[i], self.samples[j]

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
                if same and abs(f[end]) < ZERO * abs(f[beside]) and self._is_there(kind, sample):
                    made.append(Bifurcation(kind, sample, self.tests.crossing(kind, sample)))
        return made

    def _is_there(self, kind: str, sample: Sample) -> bool:
        """Whether a multiplier is where it must be: not so at a neutral saddle, or where the derivative jumps."""
        m = self.tests.crossing(kind, sample)
        if kind == NEIMARK_SACKER:
            return abs(abs(m) - 1.0) < THERE
        return kind == FOLD or abs(m - (-1.0 if kind == DOUBLING else 1.0)) < THERE

    def _unexplained(self, k: int, kinds: Sequence[str]) -> bool:
        """Whether more multipliers cross the unit circle in a step than these kinds of change say."""
        (low_a, high_a), (low_b, high_b) = (self._outside(self.samples[i]) for i in (k, k + 1))
        return max(low_a - high_b, low_b - high_a) > sum(_CROSSING.get(kind, 1) for kind in kinds)

    def _outside(self, sample: Sample) -> tuple[int, int]:
        """How many multipliers are outside the unit circle, at least and at most, where some are on it."""
        sizes = np.abs(sample.multipliers)
        left_out = self.tests.ones + self.tests.minus_ones
        return int((sizes > 1.0 + UNIT).sum()), int((sizes > 1.0 - UNIT).sum()) - left_out

    def _jump(self, k: int, made: Sequence[Bifurcation]) -> list[Bifurcation]:
        """Where the number of multipliers outside changes though none comes to the unit circle."""
        a, b = self.samples[k], self.samples[k + 1]
        if not self._unexplained(k, [one.kind for one in made]):
            return []
        before = outside(a)
        while b.place - a.place > SAME:
            middle = self.branch.between(a, b, 0.5)
            if middle is None:
                break
            a, b = (middle, b) if outside(middle) == before else (a, middle)
        return [Bifurcation(JUMP, b, complex(b.multipliers[0]))]

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
        free = [(distance, s) for distance, s in free if SAME < distance < whole - SAME]
        if not free:
            return None
        distance, nearest = min(free, key=lambda pair: pair[0])
        next_other = min((ahead(other) for other in others if ahead(other) > SAME), default=np.inf)
        if distance < next_other:
            return nearest
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


def _rank(sample: Sample) -> float:
    """How far the derivative of the residual is from having one rank less, as where another branch crosses."""
    return float(np.linalg.svd(sample.at.slope, compute_uv=False)[sample.at.slope.shape[1] - 2])


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
