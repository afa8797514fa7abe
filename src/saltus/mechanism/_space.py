"""Joints and motion in space: how a child body's frame is placed in its parent's, and how it moves there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import casadi as ca
import numpy as np

from saltus.errors import InputError

Vector = tuple[Any, Any, Any]

ORIGIN: Vector = (0, 0, 0)


def cross(a: Any, b: Any) -> Any:
    """The vector product of two columns."""
    return ca.vertcat(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def column(vector: Sequence[Any]) -> Any:
    """Three numbers or expressions as a column."""
    return ca.vertcat(*map(ca.SX, vector)) if not isinstance(vector, ca.SX) else vector


def rotation(axis: Sequence[float], angle: Any) -> Any:
    """The matrix that turns by an angle about an axis of unit length [featherstone2008, 2.8]."""
    x, y, z = axis
    c, s = ca.cos(angle), ca.sin(angle)
    d = 1 - c
    return ca.vertcat(
        ca.horzcat(c + d * x * x, d * x * y - s * z, d * x * z + s * y),
        ca.horzcat(d * x * y + s * z, c + d * y * y, d * y * z - s * x),
        ca.horzcat(d * x * z - s * y, d * y * z + s * x, c + d * z * z),
    )


def roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """The matrix that turns about the fixed axes x, then y, then z, as URDF has it."""
    matrices = (rotation(axis, angle) for axis, angle in (((0, 0, 1), yaw), ((0, 1, 0), pitch), ((1, 0, 0), roll)))
    a, b, c = (np.array(ca.DM(matrix)) for matrix in matrices)
    return np.asarray(a @ b @ c)


@dataclass(frozen=True)
class Frame:
    """A frame in space: the position of its origin and its rotation, in the world."""

    position: Any
    rotation: Any

    def point(self, local: Vector) -> Any:
        """The world position of a point given in this frame."""
        return self.position + self.direction(local)

    def direction(self, local: Vector) -> Any:
        """The world direction of a vector given in this frame."""
        return self.rotation @ column(local)


@dataclass(frozen=True)
class Motion:
    """How a body moves, in its own axes: what the equations of motion are made of.

    ``turn`` and ``origin`` place it in its parent; ``columns`` are its joint's, turning above
    shifting, a column for each velocity. ``spin`` and ``speed`` are its angular velocity and the velocity of its
    origin; ``spin_bias`` and ``bias`` their rates, as seen in the world, while no velocity of a joint changes.
    """

    parent: str
    turn: Any
    origin: Any
    columns: Any
    spin: Any
    speed: Any
    spin_bias: Any
    bias: Any


WORLD_MOTION = Motion(
    "", ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(6, 0), *(ca.SX.zeros(3) for _ in range(4))
)  # fmt: skip


class SpatialJoint(Protocol):
    """What a joint in space has to say."""

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each coordinate."""

    @property
    def velocities(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each velocity."""

    def rates(self, q: list[Any], v: list[Any]) -> list[Any]:
        """Rates of the coordinates."""

    def relative(self, q: list[Any]) -> tuple[Any, Any]:
        """Rotation and origin of the child in the parent."""

    def columns(self, q: list[Any]) -> Any:
        """Velocities of the child relative to the parent, in the child's axes: six by number of velocities."""


def _unit(axis: Sequence[Any], what: str) -> tuple[float, float, float]:
    try:
        numbers = [float(value) for value in axis]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    length = math.sqrt(sum(value * value for value in numbers))
    if len(numbers) != 3 or not 0 < length < math.inf:
        raise InputError(f"{what}: an axis is three finite numbers that are not all zero, got {axis!r}")
    x, y, z = (value / length for value in numbers)
    return x, y, z


def _turn(turn: Any) -> Any:
    return ca.SX.eye(3) if turn is None else ca.SX(turn)


@dataclass(frozen=True)
class _Mounted:
    """A joint at a place of the parent, turned there by a constant rotation."""

    name: str
    axis: Vector = (0, 0, 1)
    at: Vector = ORIGIN
    turn: Any = None

    unit: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", _unit(self.axis, f"joint {self.name}"))

    @property
    def velocities(self) -> tuple[tuple[str, str], ...]:
        return tuple((f"d{name}", f"{unit}/s") for name, unit in self.coordinates)

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        return ((self.name, self.unit),)

    def rates(self, q: list[Any], v: list[Any]) -> list[Any]:
        return v


@dataclass(frozen=True)
class Hinge(_Mounted):
    """Turn about an axis fixed in the parent, counter-clockwise as seen from its tip.

    Parameters
    ----------
    name
        Of the coordinate, rad.
    axis
        In the joint's frame; its length does not matter.
    at, turn
        Where the joint's frame is in the parent, m, and how it is turned there, a rotation matrix.
    """

    unit = "rad"

    def relative(self, q: list[Any]) -> tuple[Any, Any]:
        return _turn(self.turn) @ rotation(self.axis, q[0]), column(self.at)

    def columns(self, q: list[Any]) -> Any:
        return ca.vertcat(column(self.axis), ca.SX(3, 1))


@dataclass(frozen=True)
class Slider(_Mounted):
    """Slide along an axis fixed in the parent, without turning; arguments as for a hinge, the coordinate in m."""

    unit = "m"

    def relative(self, q: list[Any]) -> tuple[Any, Any]:
        turn = _turn(self.turn)
        return turn, column(self.at) + turn @ (column(self.axis) * q[0])

    def columns(self, q: list[Any]) -> Any:
        return ca.vertcat(ca.SX(3, 1), column(self.axis))


@dataclass(frozen=True)
class Weld:
    """No motion at all: a rigid extension of the parent, at a place and turned by a rotation matrix."""

    at: Vector = ORIGIN
    turn: Any = None

    coordinates: tuple[tuple[str, str], ...] = field(default=(), init=False)
    velocities: tuple[tuple[str, str], ...] = field(default=(), init=False)

    def rates(self, q: list[Any], v: list[Any]) -> list[Any]:
        return []

    def relative(self, q: list[Any]) -> tuple[Any, Any]:
        return _turn(self.turn), column(self.at)

    def columns(self, q: list[Any]) -> Any:
        return ca.SX(6, 0)


@dataclass(frozen=True)
class FreeFlyer:
    """Free in space: position and quaternion, with the rates of the position and the angular velocity in body axes.

    Coordinates x, y, z, qw, qx, qy, qz; velocities dx, dy, dz in the world, wx, wy, wz in the body. The length of the
    quaternion does not matter to anything but itself. ``prefix`` goes before all names where there are several.
    """

    prefix: str = ""

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        places = ((f"{self.prefix}{name}", "m") for name in ("x", "y", "z"))
        return (*places, *((f"{self.prefix}{name}", "1") for name in ("qw", "qx", "qy", "qz")))

    @property
    def velocities(self) -> tuple[tuple[str, str], ...]:
        rates = ((f"d{self.prefix}{name}", "m/s") for name in ("x", "y", "z"))
        return (*rates, *((f"{self.prefix}{name}", "rad/s") for name in ("wx", "wy", "wz")))

    @property
    def quaternion(self) -> int:
        """The place of the quaternion among the coordinates."""
        return 3

    def rates(self, q: list[Any], v: list[Any]) -> list[Any]:
        _, _, _, w, x, y, z = q
        a, b, c = v[3:]
        turning = (-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a)
        return [*v[:3], *(rate / 2 for rate in turning)]

    def relative(self, q: list[Any]) -> tuple[Any, Any]:
        return self.rotation(q), ca.vertcat(*q[:3])

    def rotation(self, q: list[Any]) -> Any:
        """The rotation of a quaternion of any length."""
        w, x, y, z = q[3:]
        s = 2 / (w * w + x * x + y * y + z * z)
        return ca.vertcat(
            ca.horzcat(1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
            ca.horzcat(s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
            ca.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
        )

    def columns(self, q: list[Any]) -> Any:
        R = self.rotation(q)
        return ca.vertcat(ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)), ca.horzcat(R.T, ca.SX(3, 3)))

    def angles(self, R: Any) -> dict[str, Any]:
        """Yaw, roll and pitch by name: turning about z, then the new x, then the new y, all the way round."""
        return {
            f"{self.prefix}yaw": ca.atan2(-R[0, 1], R[1, 1]),
            f"{self.prefix}roll": ca.atan2(R[2, 1], ca.sqrt(R[2, 0] ** 2 + R[2, 2] ** 2)),
            f"{self.prefix}pitch": ca.atan2(-R[2, 0], R[2, 2]),
        }


def follow(parent: Motion, name: str, joint: SpatialJoint, q: list[Any], v: list[Any]) -> Motion:
    """The motion of a body that hangs on its parent by a joint, as [featherstone2008, 5.3] but as seen in the world.

    No joint here has columns that change but for the turning of the body itself.
    """
    turn, origin = joint.relative(q)
    columns = joint.columns(q)
    own = columns @ ca.vertcat(*v) if v else ca.SX.zeros(6)
    carried = turn.T @ parent.spin
    at = parent.bias + cross(parent.spin_bias, origin) + cross(parent.spin, cross(parent.spin, origin))
    return Motion(
        name,
        turn,
        origin,
        columns,
        carried + own[:3],
        turn.T @ (parent.speed + cross(parent.spin, origin)) + own[3:],
        turn.T @ parent.spin_bias + cross(carried, own[:3]),
        turn.T @ at + 2 * cross(carried, own[3:]),
    )
