"""A family of gaits: a fixed point followed in any knob, around folds, with its multipliers and its bifurcations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from saltus._content import equal_by_content
from saltus.errors import InputError, SaltusError
from saltus.gaits._bifurcations import Bifurcation, bifurcations
from saltus.gaits._branch import Branch, Evaluation, Sample, Walk
from saltus.gaits._cycle import Cycle, run_cycle
from saltus.gaits._fixed import FixedPoint, evaluate, moved, slope_of
from saltus.gaits._gait import Gait
from saltus.gaits._test_functions import AT_ONE, BRANCH_POINT, DOUBLING, FOLD, JUMP, NEIMARK_SACKER

# The longest step, as a part of the size of unknowns and knob, if nothing is said.
RESOLUTION = 0.1


@equal_by_content
@dataclass(frozen=True)
class Change:
    """Something that happens in a family: a fold, a period doubling, a Neimark-Sacker bifurcation, a branch point.

    ``value`` is that of the knob, ``point`` the gait at which it happens and ``index`` its place among the points of
    the family. ``multiplier`` is the one that comes to the unit circle; ``before`` and ``after`` count those outside.
    A fold is where the knob turns back. Where cycles keep the energy, the multiplier may be at one a little
    beside it, at the value ``at_one`` and the point ``index_at_one``; elsewhere that is the same.
    """

    kind: str
    value: float
    point: FixedPoint
    index: int
    multiplier: complex
    before: int
    after: int
    about: str
    at_one: float | None = None
    index_at_one: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        return {
            "kind": self.kind, "value": self.value, "index": self.index,
            "multiplier": [self.multiplier.real, self.multiplier.imag], "outside_before": self.before,
            "outside_after": self.after, "about": self.about, "at_one": self.at_one,
            "fixed_point": dict(self.point.start), "knobs": dict(self.point.knobs),
        }  # fmt: skip


@equal_by_content
@dataclass(frozen=True)
class Resolution:
    """How narrow a window between two changes can be and still be found.

    Neighbouring points are at most ``length`` apart along the family, as a part of the size of unknowns and knob, and
    at most ``value`` in the knob: nothing wider is missed. Where a test function bends so much that it may come
    to zero and back between two points, points are as near as ``finest``.
    """

    length: float = 0.0
    value: float = 0.0
    finest: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """All of it in plain numbers."""
        return {"length": self.length, "value": self.value, "finest": self.finest}


@equal_by_content
@dataclass(frozen=True)
class Family:
    """Points of a family in order, what happens along it, and why it ends on either side."""

    knob: str
    points: tuple[FixedPoint, ...]
    changes: tuple[Change, ...]
    ends: tuple[str, str]
    resolution: Resolution = Resolution()

    @property
    def values(self) -> np.ndarray:
        """Values of the knob."""
        return np.array([{**point.start, **point.knobs}[self.knob] for point in self.points])

    @property
    def radii(self) -> np.ndarray:
        """Largest size of a multiplier of each point, of the map on the section."""
        return np.array([np.abs(point.multipliers).max() for point in self.points])

    def to_rows(self) -> list[dict[str, Any]]:
        """A row of plain numbers for each point."""
        return [point.to_dict() for point in self.points]


def follow(
    fixed: FixedPoint,
    knob: str,
    span: tuple[float, float],
    *,
    unknowns: Sequence[str] | None = None,
    travel: tuple[float | None, float | None] = (None, None),
    step: float = 0.05,
    resolution: float = RESOLUTION,
    most: int = 200,
    first: Literal["down", "up"] = "down",
    progress: Callable[[int, float], None] | None = None,
) -> Family:
    """Follow a fixed point in a knob, both ways, by pseudo-arclength [keller1977], with exact derivatives.

    Parameters
    ----------
    span
        Where to stop: the least and the largest value of the knob, or of the parameter of the robot.
    step
        Length of the first step, as a part of the size of unknowns and knob.
    resolution
        Length of the longest step: no window between two changes that is wider is missed. Steps are shorter where a
        test function may come to zero and back.
    most
        How many points in each direction; those that are added to find changes do not count.
    first
        Which way to go first. A closed family is walked in that way only.
    """
    check_span(fixed.gait.with_knobs(**fixed.knobs), knob, span)
    if not (0 < step < math.inf and 0 < resolution < math.inf) or most < 1:
        raise InputError(
            f"a family is followed in steps of a positive size, got {most!r} of {step!r}, at most {resolution!r}"
        )
    if first not in ("down", "up"):
        raise InputError(f"a family is followed down or up first, got {first!r}")
    if fixed.grazing:
        raise SaltusError(
            f"gait {fixed.gait.name}: {' and '.join(fixed.grazing)} is reached without speed at the fixed point, where "
            "the map has no derivative, so that no family by state begins there; begin at one that is powered"
        )
    if knob not in fixed.gait.knobs:
        fixed = _with_knob(fixed, knob)
    names = [*(unknowns if unknowns is not None else fixed.gait.unknowns or fixed.gait.free), knob]
    problem = _Problem(fixed, names, travel)
    branch = Branch(problem)
    start = branch.sample(problem.of(fixed.cycle, fixed), np.eye(len(names))[-1], 0.0)
    limits = (span[0] / problem.scale[-1], span[1] / problem.scale[-1])

    def walk(begin: Sample) -> tuple[list[Sample], str, bool]:
        report = None if progress is None else lambda count, z: progress(count, z * problem.scale[-1])
        made = Walk(branch, begin, limits, step, resolution, refuse=_grazes, progress=report)
        samples, why = made.go(most)
        return samples, _in_words(why, knob, samples[-1].at.content), made.closed

    samples, why, closed = walk(start if first == "up" else start.reversed())
    if closed:
        return _family(branch, problem, samples, (why, why), closed=True)
    others, other_why, _ = walk(start.reversed() if first == "up" else start)
    (below, first_end), (above, last_end) = (samples, why), (others, other_why)
    if first == "up":
        (below, first_end), (above, last_end) = (above, last_end), (below, first_end)
    whole = [*(sample.reversed() for sample in reversed(below[1:])), *above]
    return _family(branch, problem, whole, (first_end, last_end), closed=False)


def check_span(gait: Gait, knob: str, span: tuple[float, float]) -> None:
    """Refuse a family that cannot be, before any work is done."""
    gait = gait.with_knob(knob)
    (low, high), spec = span, gait.knobs[knob]
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"{knob} must go from a smaller to a greater finite value, got {low:g} to {high:g}")
    for value in span:
        spec.check(value)
    if not low <= spec.value <= high:
        raise InputError(f"the span of {knob} must contain its value {spec.value:g}, got {low:g} to {high:g}")


def _with_knob(fixed: FixedPoint, parameter: str) -> FixedPoint:
    """The same fixed point, with derivatives by a parameter of the robot."""
    gait = fixed.gait.with_knob(parameter)
    knobs = {**fixed.knobs, parameter: gait.knobs[parameter].value}
    cycle = run_cycle(gait, {name: fixed.start[name] for name in gait.free}, knobs, derivatives=True)
    return FixedPoint(gait, fixed.start, knobs, cycle, fixed.steps)


class _Problem:
    """A gait as a problem for a branch: unknowns and knob, each divided by its size, are its vector."""

    def __init__(self, fixed: FixedPoint, names: list[str], travel: tuple[float | None, float | None]):
        self.fixed, self.names, self.travel = fixed, names, travel
        self.w = _vector(names, fixed.start, fixed.knobs)
        self.scale = np.maximum(np.abs(self.w), 0.1)

    def __call__(self, z: np.ndarray) -> Evaluation:
        gait, w = self.fixed.gait, z * self.scale
        start, knobs = moved(gait, self.fixed.start, self.fixed.knobs, self.names, w - self.w)
        # the numbers asked for, without the rounding of a difference
        for name, value in zip(self.names, w.tolist(), strict=True):
            (start if name in gait.free else knobs)[name] = value
        cycle, residual = evaluate(gait, start, knobs, self.travel)
        return self._evaluation(z, cycle, residual, None)

    def of(self, cycle: Cycle, fixed: FixedPoint) -> Evaluation:
        """What is said at a fixed point that is known."""
        return self._evaluation(self.w / self.scale, cycle, cycle.residual, fixed)

    def _evaluation(self, z: np.ndarray, cycle: Cycle, residual: np.ndarray, fixed: FixedPoint | None) -> Evaluation:
        assert cycle.jacobian is not None
        gait = cycle.gait
        places = [gait.state_names.index(name) for name in gait.free]
        point = fixed or FixedPoint(gait, cycle.start, cycle.knobs, cycle, 0)
        slope = slope_of(cycle, self.names, self.travel) * self.scale
        return Evaluation(z, residual, slope, cycle.jacobian[np.ix_(places, places)], point)


def _vector(names: Sequence[str], start: Mapping[str, float], knobs: Mapping[str, float]) -> np.ndarray:
    both = {**start, **knobs}
    return np.array([both[name] for name in names])


def _grazes(at: Evaluation) -> str:
    grazing = at.content.grazing
    return f"{' and '.join(grazing)} is reached without speed: a collisionless gait" if grazing else ""


def _in_words(why: str, knob: str, point: FixedPoint) -> str:
    """Why a family ends."""
    if why == "leaves the span":
        return f"{knob} {why}"
    if why:
        return why
    name, speed = min(point.cycle.speeds.items(), key=lambda item: item[1], default=("", 1.0))
    if speed < 0.05:
        return f"it comes to where {name} is touched without speed, and the map has no derivative"
    return "no gait nearer than a step of 1e-5"


def _family(branch: Branch, problem: _Problem, samples: list[Sample], ends: tuple[str, str], *, closed: bool) -> Family:
    """Points and changes of a family from those of its branch."""
    knob, size = problem.names[-1], float(problem.scale[-1])
    found = bifurcations(branch, samples, closed=closed)
    points = tuple(sample.at.content for sample in found.samples)
    places = np.array([sample.place for sample in found.samples])

    def index(sample: Sample) -> int:
        return int(np.abs(places - sample.place).argmin())

    changes = tuple(_change(one, knob, index) for one in found.changes)
    return Family(
        knob, points, changes, ends, Resolution(found.resolution, found.value_resolution * size, found.finest)
    )


def _change(one: Bifurcation, knob: str, index: Callable[[Sample], int]) -> Change:
    point: FixedPoint = one.sample.at.content
    value = point.knobs[knob]
    at_one = None
    if one.partner is not None:
        at_one = one.partner
    elif one.kind == FOLD and one.before != one.after:
        at_one = one.sample
    value_at_one = None if at_one is None else at_one.at.content.knobs[knob]
    about = f"{_ABOUT[one.kind].format(knob=knob)} at {value:.9g}{_more(one, value_at_one, value)}"
    return Change(
        one.kind, value, point, index(one.sample), one.multiplier, one.before, one.after, about,
        value_at_one, None if at_one is None else index(at_one),
    )  # fmt: skip


_ABOUT = {
    FOLD: "{knob} turns back",
    BRANCH_POINT: "another family crosses",
    AT_ONE: "a multiplier passes one while {knob} goes on,",
    DOUBLING: "a multiplier passes minus one",
    NEIMARK_SACKER: "a pair of multipliers passes the unit circle",
    JUMP: "multipliers jump across the unit circle",
}


def _more(one: Bifurcation, at_one: float | None, value: float) -> str:
    """What else there is to say of a change: the angle of a pair, where a multiplier is at one, what it does."""
    words = ""
    if one.kind == NEIMARK_SACKER:
        words += f", {abs(math.degrees(np.angle(one.multiplier))):.4g} degrees from one"
    if at_one is not None and at_one != value:
        words += f", and a multiplier passes one at {at_one:.9g}"
    return f"{words}; multipliers outside the unit circle: {one.before} before, {one.after} after"
