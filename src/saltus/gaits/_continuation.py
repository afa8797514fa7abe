"""A family of gaits: a fixed point followed in any knob, around folds, with its multipliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import run_cycle
from saltus.gaits._fixed import FixedPoint, evaluate, moved, newton, slope_of
from saltus.gaits._gait import Gait

# A multiplier this near to one is one: that of the energy, which cycles keep.
UNIT = 1e-6

# How often an interval in which stability changes is halved.
HALVINGS = 16

# Changes of stability between two points that are told at most.
MOST_CHANGES = 6


@dataclass(frozen=True)
class Change:
    """Something that happens between two points of a family: a fold, or a change of stability."""

    kind: str
    value: float
    between: tuple[int, int]
    about: str


@dataclass(frozen=True)
class Family:
    """Points of a family in order, what happens between them, and why it ends on either side."""

    knob: str
    points: tuple[FixedPoint, ...]
    changes: tuple[Change, ...]
    ends: tuple[str, str]

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
    most: int = 200,
    progress: Callable[[int, float], None] | None = None,
) -> Family:
    """Follow a fixed point in a knob, both ways, by pseudo-arclength [keller1977], with exact derivatives.

    Parameters
    ----------
    span
        Where to stop: the least and the largest value of the knob, or of the parameter of the robot.
    step
        Length of the first step, as a part of the size of unknowns and knob.
    most
        How many points in each direction.
    """
    check_span(fixed.gait.with_knobs(**fixed.knobs), knob, span)
    if not 0 < step < math.inf or most < 1:
        raise InputError(f"a family is followed in steps of a positive size, got {most!r} of {step!r}")
    if fixed.grazing:
        raise SaltusError(
            f"gait {fixed.gait.name}: {' and '.join(fixed.grazing)} is reached without speed at the fixed point, where "
            "the map has no derivative, so that no family by state begins there; begin at one that is powered"
        )
    if knob not in fixed.gait.knobs:
        fixed = _with_knob(fixed, knob)
    gait = fixed.gait
    names = [*(unknowns if unknowns is not None else gait.unknowns or gait.free), knob]
    down, up = (_Walk(fixed, names, travel, span, direction, step, progress) for direction in (-1.0, 1.0))
    before, first = down.go(most)
    if down.closed:
        return Family(knob, (fixed, *before, fixed), tuple(_changes([fixed, *before, fixed], down)), (first, first))
    after, last = up.go(most)
    points = [*reversed(before), fixed, *after]
    return Family(knob, tuple(points), tuple(_changes(points, up)), (first, last))


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


class _Walk:
    """One direction of a family."""

    def __init__(
        self, fixed: FixedPoint, names: list[str], travel: Any, span: tuple[float, float], direction: float,
        step: float, progress: Callable[[int, float], None] | None,
    ):  # fmt: skip
        self.fixed, self.names, self.travel, self.span, self.step = fixed, names, travel, span, step
        self.progress, self.closed = progress, False
        self.w = self._vector(fixed)
        self.scale = np.maximum(np.abs(self.w), 0.1)
        self.way = self._tangent(fixed)
        self.way *= direction * (1.0 if self.way[-1] >= 0 else -1.0)

    def _vector(self, point: FixedPoint) -> np.ndarray:
        both = {**point.start, **point.knobs}
        return np.array([both[name] for name in self.names])

    def _tangent(self, point: FixedPoint) -> np.ndarray:
        J = slope_of(point.cycle, self.names, self.travel) * self.scale
        return np.asarray(np.linalg.svd(J)[2][-1])

    def go(self, most: int) -> tuple[list[FixedPoint], str]:
        """Points on this side, nearest first, and why there are no more."""
        points: list[FixedPoint] = []
        point, why = self.fixed, f"{most} points"
        while len(points) < most:
            found = self._correct(point, self.w + self.scale * self.step * self.way)
            if found is None:
                self.step *= 0.5
                if self.step < 1e-5:
                    why = _stuck(point)
                    break
                continue
            new, steps = found
            value = self._vector(new)[-1]
            way = self._tangent(new)
            way *= 1.0 if way @ self.way >= 0 else -1.0
            if way[-1] * self.way[-1] < 0.0:
                points += self._fold(point)
            if not self.span[0] <= value <= self.span[1]:
                why = f"{self.names[-1]} leaves the span"
                points += self._at_end(point, new)
                break
            if new.grazing:
                why = f"{' and '.join(new.grazing)} is reached without speed: a collisionless gait"
                break
            points.append(new)
            point, self.w, self.way = new, self._vector(new), way
            if len(points) > 8 and self._back(points[-2], new):
                why, self.closed = "it comes back to where it began", True
                goal = self._vector(self.fixed)
                points = points[:-3] + [
                    one for one in points[-3:] if ((self._vector(one) - goal) / self.scale) @ self.way < 0
                ]
                break
            self.step = min(self.step * (1.5 if steps <= 4 else 0.7), 0.2)
            if self.progress is not None:
                self.progress(len(points), float(value))
        return points, why

    def _at_end(self, before: FixedPoint, after: FixedPoint) -> list[FixedPoint]:
        """The point at the very end of the span, between one within it and one beyond, if it is there."""
        a, b = self._vector(before), self._vector(after)
        end = self.span[0] if b[-1] < self.span[0] else self.span[1]
        share = (end - a[-1]) / (b[-1] - a[-1])
        if not share > 1e-9:
            return []
        try:
            start, knobs = moved(before.gait, before.start, before.knobs, self.names, share * (b - a))
            knobs[self.names[-1]] = end
            found = newton(before.gait, start, knobs, self.names[:-1], self.travel)
        except SaltusError:
            return []
        return [] if found.grazing else [found]

    def _fold(self, point: FixedPoint) -> list[FixedPoint]:
        """The point between this one and the next at which the knob turns back, to rounding."""

        def turning(length: float) -> tuple[float, FixedPoint | None]:
            found = self._correct(point, self.w + self.scale * length * self.way)
            if found is None:
                return math.nan, None
            way = self._tangent(found[0])
            return float(way[-1] * (1.0 if way @ self.way >= 0 else -1.0)), found[0]

        low, high, best = 0.0, self.step, None
        f_low, f_high = float(self.way[-1]), turning(self.step)[0]
        for _ in range(40):
            middle = low - f_low * (high - low) / (f_high - f_low)  # regula falsi, halved where one end stays
            value, found = turning(middle)
            if found is None:
                break
            best = found
            if abs(value) < 1e-9:
                break
            if value * f_low < 0:
                high, f_high, f_low = middle, value, 0.5 * f_low
            else:
                low, f_low, f_high = middle, value, 0.5 * f_high
        return [best] if best is not None else []

    def _back(self, before: FixedPoint, after: FixedPoint) -> bool:
        """Whether the way from one point to the next passes the point at which all began."""
        a, b, goal = (self._vector(point) / self.scale for point in (before, after, self.fixed))
        along = b - a
        share = float(np.clip((goal - a) @ along / (along @ along), 0.0, 1.0))
        return bool(np.linalg.norm(goal - a - share * along) < 0.05 * np.linalg.norm(along))

    def between(self, one: FixedPoint, other: FixedPoint) -> FixedPoint | None:
        """A point of the family half-way between two that are near each other."""
        a, b = self._vector(one), self._vector(other)
        along = (b - a) / self.scale
        self.way, self.step = along / max(float(np.linalg.norm(along)), 1e-300), float(np.linalg.norm(along))
        found = self._correct(one, 0.5 * (a + b))
        return None if found is None else found[0]

    def _correct(self, near: FixedPoint, guess: np.ndarray) -> tuple[FixedPoint, int] | None:
        """Newton back onto the family, at right angles to the way."""
        gait, w = near.gait, guess
        for steps in range(1, 9):
            try:
                start, knobs = moved(gait, near.start, near.knobs, self.names, w - self._vector(near))
                cycle, r = evaluate(gait, start, knobs, self.travel)
            except SaltusError:
                return None
            if np.abs(r).max() < 1e-11:
                return FixedPoint(gait, cycle.start, cycle.knobs, cycle, steps), steps
            J = np.vstack([slope_of(cycle, self.names, self.travel) * self.scale, self.way])
            change = np.linalg.lstsq(J, np.append(-r, self.way @ ((guess - w) / self.scale)), rcond=1e-10)[0]
            if np.linalg.norm(change) > 10 * self.step:
                return None
            w = w + self.scale * change
        return None


def _changes(points: Sequence[FixedPoint], walk: _Walk) -> list[Change]:
    """Folds and changes of stability along a family."""
    knob = walk.names[-1]
    values = [point.knobs[knob] for point in points]
    found = []
    for k in range(1, len(points) - 1):
        before, after = values[k] - values[k - 1], values[k + 1] - values[k]
        if before * after < 0.0:
            found.append(Change("fold", values[k], (k - 1, k + 1), f"{knob} turns back at {values[k]:.6g}"))
    for k in range(1, len(points)):
        low, end = points[k - 1], points[k]
        for _ in range(MOST_CHANGES):
            if _outside(low) == _outside(end):
                break
            low, high = _narrowed(low, end, walk)
            where = 0.5 * (low.knobs[knob] + high.knobs[knob])
            about = (
                f"{_outside(low)} multipliers outside the unit circle become {_outside(high)}, "
                f"{_crossing(low, high)}, near {knob} = {where:.6g}"
            )
            found.append(Change("stability", where, (k - 1, k), about))
            low = high
    return found


def _outside(point: FixedPoint) -> int:
    """How many multipliers are outside the unit circle."""
    return int((np.abs(point.multipliers) > 1.0 + UNIT).sum())


def _narrowed(low: FixedPoint, high: FixedPoint, walk: _Walk) -> tuple[FixedPoint, FixedPoint]:
    """Two points between which the first change of stability after one of them lies, as near as halving brings them."""
    for _ in range(HALVINGS):
        middle = walk.between(low, high)
        if middle is None or middle.grazing:
            break
        if _outside(middle) == _outside(low):
            low = middle
        else:
            high = middle
    return low, high


def _crossing(before: FixedPoint, after: FixedPoint) -> str:
    """How a multiplier crosses the unit circle."""
    old, new = before.multipliers, after.multipliers
    pairs = linear_sum_assignment(np.abs(old[:, None] - new[None, :]))
    for a, b in zip(old[pairs[0]], new[pairs[1]], strict=True):
        if (abs(a) > 1.0 + UNIT) == (abs(b) > 1.0 + UNIT):
            continue
        real = [value.real for value in (a, b) if abs(value.imag) <= UNIT * abs(value)]
        if not real:
            return "as a pair"
        return "at one" if real[0] > 0 else "at minus one"
    return "as a pair"


def _stuck(point: FixedPoint) -> str:
    """Why a family cannot be followed any further than a point."""
    name, speed = min(point.cycle.speeds.items(), key=lambda item: item[1], default=("", 1.0))
    if speed < 0.05:
        return f"it comes to where {name} is touched without speed, and the map has no derivative"
    return "no gait nearer than a step of 1e-5"
