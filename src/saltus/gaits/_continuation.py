"""A family of gaits: a fixed point followed in any knob, around folds, with its multipliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus.errors import InputError, SaltusError
from saltus.gaits._fixed import FixedPoint, evaluate, moved, slope_of

# A multiplier this near to one is one: that of the energy, which cycles keep.
UNIT = 1e-6


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
        Where to stop: the least and the largest value of the knob.
    step
        Length of the first step, as a part of the size of unknowns and knob.
    most
        How many points in each direction.
    """
    gait = fixed.gait
    low, high = span
    if knob not in gait.knobs:
        raise InputError(f"gait {gait.name} has no knob {knob!r} to be followed; it has {', '.join(gait.knobs)}")
    if not low < high or not low <= fixed.knobs[knob] <= high:
        raise InputError(f"the span of {knob} must contain its value {fixed.knobs[knob]:g}, got {low:g} to {high:g}")
    names = [*(unknowns if unknowns is not None else gait.unknowns or gait.free), knob]
    sides = [_Walk(fixed, names, travel, span, direction, step, progress).go(most) for direction in (-1.0, 1.0)]
    points = [*reversed(sides[0][0]), fixed, *sides[1][0]]
    return Family(knob, tuple(points), tuple(_changes(points, knob)), (sides[0][1], sides[1][1]))


class _Walk:
    """One direction of a family."""

    def __init__(
        self, fixed: FixedPoint, names: list[str], travel: Any, span: tuple[float, float], direction: float,
        step: float, progress: Callable[[int, float], None] | None,
    ):  # fmt: skip
        self.fixed, self.names, self.travel, self.span, self.step = fixed, names, travel, span, step
        self.progress = progress
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
                    why = "no gait nearer than a step of 1e-5"
                    break
                continue
            new, steps = found
            value = self._vector(new)[-1]
            if not self.span[0] <= value <= self.span[1]:
                why = f"{self.names[-1]} leaves the span"
                break
            if new.grazing:
                why = f"{' and '.join(new.grazing)} is reached without speed: a collisionless gait"
                break
            points.append(new)
            way = self._tangent(new)
            way *= 1.0 if way @ self.way >= 0 else -1.0
            point, self.w, self.way = new, self._vector(new), way
            self.step = min(self.step * (1.5 if steps <= 4 else 0.7), 0.2)
            if self.progress is not None:
                self.progress(len(points), float(value))
        return points, why

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


def _changes(points: Sequence[FixedPoint], knob: str) -> list[Change]:
    """Folds and changes of stability along a family."""
    values = [point.knobs[knob] for point in points]
    unstable = [int((np.abs(point.multipliers) > 1.0 + UNIT).sum()) for point in points]
    found = []
    for k in range(1, len(points) - 1):
        before, after = values[k] - values[k - 1], values[k + 1] - values[k]
        if before * after < 0.0:
            found.append(Change("fold", values[k], (k - 1, k + 1), f"{knob} turns back at {values[k]:.6g}"))
    for k in range(1, len(points)):
        if unstable[k] != unstable[k - 1]:
            crossing = _crossing(points[k - 1], points[k])
            where = 0.5 * (values[k - 1] + values[k])
            about = f"{unstable[k - 1]} multipliers outside the unit circle become {unstable[k]}, {crossing}"
            found.append(Change("stability", where, (k - 1, k), about))
    return found


def _crossing(before: FixedPoint, after: FixedPoint) -> str:
    """How a multiplier crosses the unit circle."""
    both = np.concatenate([before.multipliers, after.multipliers])
    near = [value for value in both[np.argsort(np.abs(np.abs(both) - 1.0))] if abs(value - 1.0) > UNIT]
    if not near:
        return "at one"
    angle = abs(math.atan2(near[0].imag, near[0].real))
    return "at one" if angle < 1e-6 else "at minus one" if angle > math.pi - 1e-6 else "as a pair"
