"""What bodies look like: boxes, cylinders and spheres, placed on a body; for pictures only, never for contact."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus.errors import InputError

Colour = tuple[float, float, float, float]

_HEX = re.compile(r"#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?")


@dataclass(frozen=True)
class Box:
    """A box around its own origin, by its three edges along x, y and z, m."""

    size: tuple[Any, Any, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.size, tuple | list) or len(self.size) != 3:
            raise InputError(f"the size of a box is three lengths in m, got {self.size!r}")
        object.__setattr__(self, "size", tuple(_length(edge, "an edge of a box") for edge in self.size))

    @property
    def lengths(self) -> tuple[Any, ...]:
        """All its lengths, m."""
        return self.size

    def sized(self, lengths: Sequence[float]) -> Box:
        """The same form with other lengths."""
        return Box((lengths[0], lengths[1], lengths[2]))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder around its own z axis, half of its length on either side of its origin; m."""

    radius: Any
    length: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length(self.radius, "the radius of a cylinder"))
        object.__setattr__(self, "length", _length(self.length, "the length of a cylinder"))

    @property
    def lengths(self) -> tuple[Any, ...]:
        """All its lengths, m."""
        return (self.radius, self.length)

    def sized(self, lengths: Sequence[float]) -> Cylinder:
        """The same form with other lengths."""
        return Cylinder(*lengths)


@dataclass(frozen=True)
class Sphere:
    """A sphere around its own origin, m."""

    radius: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length(self.radius, "the radius of a sphere"))

    @property
    def lengths(self) -> tuple[Any, ...]:
        """All its lengths, m."""
        return (self.radius,)

    def sized(self, lengths: Sequence[float]) -> Sphere:
        """The same form with other lengths."""
        return Sphere(*lengths)


@dataclass(frozen=True)
class Shape:
    """A form on a body: where it is in the body's frame (m), how it is turned there, and its colour if it has one.

    Without a body it stands in the world. In the plane the third axis of a body points out of it, towards who looks at
    x to the right and y up.
    """

    body: str | None
    form: Box | Cylinder | Sphere
    at: tuple[Any, Any, Any]
    turn: np.ndarray
    colour: Colour | None


def shape_of(body: str | None, form: Any, at: Any, turn: Any, colour: Any) -> Shape:
    """A form on a body, or why it is none."""
    what = "a shape of the world" if body is None else f"a shape of body {body!r}"
    if not isinstance(form, Box | Cylinder | Sphere):
        raise InputError(f"{what} must be a Box, a Cylinder or a Sphere, got {form!r}")
    place = (0, 0, 0) if at is None else tuple(at) if isinstance(at, tuple | list) else ()
    if len(place) not in (2, 3):
        raise InputError(f"{what} is placed by two or three lengths in m, got {at!r}")
    if len(place) == 2:
        place = (*place, 0)
    x, y, z = (_expression(value, f"the place of {what}") for value in place)
    return Shape(body, form, (x, y, z), _rotation(turn, what), _colour(colour, what))


def _length(value: Any, what: str) -> Any:
    """A positive number, or an expression of parameters, whose sign is not known yet."""
    made = _expression(value, what)
    if isinstance(made, float) and made <= 0:
        raise InputError(f"{what} must be positive, got {made:g} m")
    return made


def _expression(value: Any, what: str) -> Any:
    if isinstance(value, ca.SX):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} must be a finite number in m or an expression of parameters, got {value!r}")
    return number


def _rotation(turn: Any, what: str) -> np.ndarray:
    if turn is None:
        return np.eye(3)
    try:
        matrix = np.array(turn, dtype=float)
    except (TypeError, ValueError, RuntimeError):  # the last is how CasADi refuses to be a number
        matrix = np.zeros(0)
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-6) or np.linalg.det(matrix) < 0:
        raise InputError(f"{what} is turned by a rotation matrix, three by three numbers, got {turn!r}")
    return matrix


def _colour(colour: Any, what: str) -> Colour | None:
    """Red, green, blue and how little is seen through it, each from 0 to 1."""
    if colour is None:
        return None
    if isinstance(colour, str) and _HEX.fullmatch(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in range(1, len(colour), 2)]
    else:
        try:
            parts = [float(part) for part in colour]
        except (TypeError, ValueError, OverflowError):
            parts = []
    if len(parts) not in (3, 4) or not all(0 <= part <= 1 for part in parts):
        raise InputError(f"the colour of {what} is '#rrggbb' or three or four numbers from 0 to 1, got {colour!r}")
    red, green, blue, alpha = [*parts, 1.0][:4]
    return red, green, blue, alpha
