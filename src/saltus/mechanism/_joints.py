"""Planar joints: how a child body's frame is placed in its parent's, coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca

from saltus.errors import InputError


@dataclass(frozen=True)
class Pose:
    """A planar frame: the position of its origin and its angle, in the world."""

    position: Any
    angle: Any

    def point(self, local: tuple[Any, Any]) -> Any:
        """The world position of a point given in this frame."""
        c, s = ca.cos(self.angle), ca.sin(self.angle)
        a, b = local
        return self.position + ca.vertcat(c * a - s * b, s * a + c * b)

    def direction(self, local: tuple[Any, Any]) -> Any:
        """The world direction of a vector given in this frame."""
        return self.point(local) - self.position


class Joint(Protocol):
    """What a joint has to say."""

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each coordinate."""

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        """The child's frame, from the parent's and this joint's coordinates."""


@dataclass(frozen=True)
class Revolute:
    """Turn about a point of the parent; the coordinate counts counter-clockwise, or clockwise if ``sense`` is -1."""

    name: str
    at: tuple[Any, Any] = (0, 0)
    offset: Any = 0
    sense: int = 1

    def __post_init__(self) -> None:
        _check_sense(self.name, self.sense)

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        return ((self.name, "rad"),)

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        return Pose(parent.point(self.at), parent.angle + self.offset + self.sense * q[0])


@dataclass(frozen=True)
class Prismatic:
    """Slide along an axis fixed in the parent, without turning."""

    name: str
    axis: tuple[Any, Any] = (1, 0)
    at: tuple[Any, Any] = (0, 0)

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        return ((self.name, "m"),)

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        return Pose(parent.point(self.at) + q[0] * parent.direction(self.axis), parent.angle)


@dataclass(frozen=True)
class Fixed:
    """No motion at all: a rigid extension of the parent."""

    at: tuple[Any, Any] = (0, 0)
    offset: Any = 0

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        return ()

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        return Pose(parent.point(self.at), parent.angle + self.offset)


@dataclass(frozen=True)
class Floating:
    """Free in the plane: two positions and an angle, all measured in the parent; ``sense`` as of Revolute."""

    x: str
    y: str
    angle: str
    sense: int = 1

    def __post_init__(self) -> None:
        _check_sense(self.angle, self.sense)

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        return ((self.x, "m"), (self.y, "m"), (self.angle, "rad"))

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        return Pose(parent.point((q[0], q[1])), parent.angle + self.sense * q[2])


def _check_sense(name: str, sense: Any) -> None:
    if sense not in (1, -1):
        raise InputError(f"joint {name!r}: sense is 1 (counter-clockwise) or -1 (clockwise), got {sense!r}")
