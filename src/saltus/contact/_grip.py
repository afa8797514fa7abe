"""The grip: a point that holds on where it is, closed and opened by command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._finite import as_float, is_finite
from saltus._native import compiled
from saltus._whole import sent_whole
from saltus.contact._equations import Equations
from saltus.contact._unit import GRIP, IMPACT, KINEMATIC, NONE
from saltus.errors import InputError
from saltus.mechanism import Point

OPEN, CLOSED, REACHING, RELEASED = range(4)


class Hold(Protocol):
    """Something that a grip can hold."""

    @property
    def fixed(self) -> tuple[Any, ...]:
        """Its place and size, expressions of the parameters."""

    def reach(self, position: Any) -> Any:
        """How far a point is from where it can hold, m; not positive there."""

    def away(self, position: Any) -> Any:
        """Where a point is from its centre, or from the nearest place of it, m."""


def _check(hold: Hold, capture: Any) -> None:
    """Refuse numbers that no bar, line or wall has; expressions are for the parameters' own limits."""
    what = type(hold).__name__.lower()
    for value in hold.fixed:
        if isinstance(value, Real) and not is_finite(value):
            raise InputError(f"a {what} is where finite numbers say, got {value}")
    if isinstance(capture, Real) and not as_float(capture) > 0:
        raise InputError(f"a {what} of capture {capture:g} m can never be entered; it must be positive")


def distance(square: Any) -> Any:
    """The root of a square, m, with a slope where that is zero."""
    return ca.sqrt(ca.fmax(square, 1e-30))


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Bar:
    """A bar seen end-on: held by a point within ``capture`` of its centre (m)."""

    at: tuple[Any, Any]
    capture: Any

    def __post_init__(self) -> None:
        _check(self, self.capture)

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (*self.at, self.capture)

    def reach(self, position: Any) -> Any:
        return distance(self.square(position)) - self.capture

    def away(self, position: Any) -> Any:
        return position - ca.vertcat(*self.at)

    def square(self, position: Any) -> Any:
        """Square of a point's distance from its centre, m^2."""
        return ca.sumsqr(self.away(position))


def nearest(places: Sequence[tuple[Any, Any]], measures: Sequence[Any]) -> Any:
    """The place of the least measure; its slope is that of a place that stays, so that expressions stay short."""
    best, at = measures[0], ca.SX(ca.vertcat(*places[0]))
    for place, measure in zip(places[1:], measures[1:], strict=True):
        nearer = measure < best
        at = ca.if_else(nearer, ca.vertcat(*place), at)
        best = ca.fmin(best, measure)
    return at


def _least(values: list[Any]) -> Any:
    least = values[0]
    for value in values[1:]:
        least = ca.fmin(least, value)
    return least


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Line:
    """A straight line or, with an end, a piece of one: held by a point within ``capture`` of it (m)."""

    start: tuple[Any, Any]
    end: tuple[Any, Any]
    capture: Any
    endless: bool = False

    def __post_init__(self) -> None:
        _check(self, self.capture)
        if all(isinstance(value, Real) for value in (*self.start, *self.end)) and self.start == self.end:
            raise InputError(f"a line needs two different points, got {self.start} twice")

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (*self.start, *self.end, self.capture)

    def reach(self, position: Any) -> Any:
        return ca.norm_2(self.away(position)) - self.capture

    def away(self, position: Any) -> Any:
        along = ca.vertcat(*self.end) - ca.vertcat(*self.start)
        away = position - ca.vertcat(*self.start)
        share = ca.dot(away, along) / ca.dot(along, along)
        if not self.endless:
            share = ca.fmin(ca.fmax(share, 0), 1)
        return away - share * along

    def above(self, position: Any) -> Any:
        """How far a point is to the left of the line, seen from its start to its end, m."""
        along = ca.vertcat(*self.end) - ca.vertcat(*self.start)
        away = position - ca.vertcat(*self.start)
        return (along[0] * away[1] - along[1] * away[0]) / ca.norm_2(along)


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Wall:
    """A wall through a point, seen edge-on, whose surface runs at an angle (rad): held from the side to
    the left of that direction, within ``capture`` of it, and anywhere behind it."""

    through: tuple[Any, Any]
    angle: Any
    capture: Any = 0.0

    def __post_init__(self) -> None:
        _check(self, None)

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (*self.through, self.angle, self.capture)

    def reach(self, position: Any) -> Any:
        return self.before(position) - self.capture

    def away(self, position: Any) -> Any:
        return self.before(position) * ca.vertcat(-ca.sin(self.angle), ca.cos(self.angle))

    def before(self, position: Any) -> Any:
        """How far a point is in front of the surface, m."""
        away = position - ca.vertcat(*self.through)
        return ca.cos(self.angle) * away[1] - ca.sin(self.angle) * away[0]


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Grip:
    """A point that can be pinned to the world where it is.

    A controller asks for it: ``close`` closes at once, or where the point comes within reach of what
    it can hold; ``open`` lets go. One that has let go can hold again after it has left, or where it is asked to close
    ``again``, which closes at once, within reach, or not at all.

    Parameters
    ----------
    point
        The material point, such as a hand.
    holds
        Bars, lines or walls that it can hold; anything anywhere if there are none.
    closed
        Whether a run begins with it closed.
    """

    point: Point
    holds: tuple[Hold, ...] = ()
    closed: bool = False

    kind = GRIP
    coordinate = None
    gate = None
    law = None
    statuses = ("open", "closed", "reaching", "released")
    guard_names = (("", "", ""), ("", "", ""), ("catch", "", ""), ("leave", "", ""))
    impacts = ("catch",)
    damping = ()

    @property
    def name(self) -> str:
        """The point's name."""
        return self.point.name

    @cached_property
    def rows(self) -> tuple[tuple[str, Any], ...]:
        return (("x", self.point.position[0]), ("y", self.point.position[1]))

    @property
    def reach(self) -> Any:
        if not self.holds:
            return ca.SX(0)
        position, same = self.point.position, self.holds[0].fixed[-1]
        if all(isinstance(hold, Bar) and ca.is_equal(ca.SX(hold.capture), ca.SX(same), 2) for hold in self.holds):
            # of many bars of one size, the nearest: one root, and one slope, for all
            centre = nearest([hold.at for hold in self.holds], [hold.square(position) for hold in self.holds])  # type: ignore[attr-defined]
            return distance(ca.sumsqr(position - centre)) - same
        return _least([hold.reach(position) for hold in self.holds])

    @property
    def clearance(self) -> Any:
        places = [hold.before(self.point.position) for hold in self.holds if isinstance(hold, Wall)]
        return ca.mmin(ca.vertcat(*places)) if places else ca.SX(0)

    @property
    def coefficients(self) -> tuple[Any, ...]:
        return (float(len(self.holds)),)

    @property
    def fixed(self) -> tuple[Any, ...]:
        return tuple(value for hold in self.holds for value in hold.fixed)

    def equations(self, status: int) -> Equations:
        return Equations(closed=(0, 1)) if status == CLOSED else Equations()

    def possible(self, values: list[float]) -> tuple[int, ...]:
        return (OPEN, CLOSED, REACHING, RELEASED) if self.holds else (OPEN, CLOSED)

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        anywhere = ((OPEN, "close", CLOSED), (CLOSED, "open", OPEN))
        if not self.holds:
            return anywhere
        # at the edge of its reach, or beyond where a run began so, what lets go has left already
        return (
            *anywhere,
            (OPEN, "close", REACHING),
            (REACHING, "catch", CLOSED),
            (REACHING, "open", OPEN),
            (CLOSED, "open", RELEASED),
            (RELEASED, "leave", OPEN),
            (RELEASED, "again", CLOSED),
        )

    def allowed(self, values: np.ndarray) -> np.ndarray:
        return np.ones(len(values), dtype=bool)

    def complaint(self, values: list[float]) -> str:
        return ""

    def blocked(self, clearance: float) -> str:
        return f"{self.name} is {-clearance:.6g} m behind the surface of a wall; it must not be"


@compiled
def guard_kinds(status):
    """The one guard is the distance from what it can hold: while it reaches for it, or leaves it."""
    if status in (REACHING, RELEASED):
        return KINEMATIC, NONE, NONE
    return NONE, NONE, NONE


@compiled
def guard_values(status, reach):
    """The guards of a status, positive inside."""
    if status == REACHING:
        return reach, 1.0, 1.0
    if status == RELEASED:
        return -reach, 1.0, 1.0
    return 1.0, 1.0, 1.0


@compiled
def edge(status):
    """Where the guard leads: holding is an impact."""
    return IMPACT if status == REACHING else OPEN
