"""The description of a mechanism: what a robot file writes, and nothing derived from it yet."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import casadi as ca

from saltus.errors import InputError, unknown_name
from saltus.mechanism._joints import Fixed, Joint, Pose


@dataclass(frozen=True)
class Parameter:
    """A named number of the model, an input of the compiled code; ``infinite`` ones may be without bound."""

    name: str
    value: float
    unit: str
    about: str = ""
    source: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    strict: bool = False
    infinite: bool = False

    def check(self, value: float) -> float:
        """Return the value as a float, or refuse it."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise InputError(f"parameter {self.name!r} must be a number, not {value!r}") from None
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            raise InputError(f"parameter {self.name!r} must be finite, not {number}")
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.strict and number <= self.lower:
            raise InputError(f"parameter {self.name!r} must be greater than {self.lower:g}{unit}, not {number:g}")
        if not number >= self.lower:
            raise InputError(f"parameter {self.name!r} must be at least {self.lower:g}{unit}, not {number:g}")
        if not number <= self.upper:
            raise InputError(f"parameter {self.name!r} must be at most {self.upper:g}{unit}, not {number:g}")
        return number


@dataclass(frozen=True)
class Body:
    """A rigid body: where its frame is, and its mass properties (kg, kg m^2 about the centre of mass)."""

    name: str
    pose: Pose
    mass: Any
    inertia: Any
    com: tuple[Any, Any]


@dataclass(frozen=True)
class Point:
    """A named material point, by its world position as an expression of the coordinates."""

    name: str
    position: Any
    body: str


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint: its name, its symbol and its unit."""

    name: str
    symbol: Any
    unit: str


@dataclass(frozen=True)
class Actuator:
    """An input: a force along ``along``, a coordinate or another length or angle, ``|u| <= limit``."""

    name: str
    along: Any
    limit: Any
    unit: str
    coordinate: str | None = None


class Mechanism:
    """Bodies joined into a tree, with named points, parameters and actuators.

    Planar: x to the right, y up, angles counter-clockwise. Velocities are the rates of the
    coordinates and are named ``d`` + coordinate. All quantities are in SI units.
    """

    def __init__(self, name: str):
        self.name = name
        self.bodies: dict[str, Body] = {}
        self.points: dict[str, Point] = {}
        self.parameters: dict[str, Parameter] = {}
        self.actuators: dict[str, Actuator] = {}
        self.coordinates: dict[str, str] = {}
        self.gravity: Any = 0
        self._symbols: dict[str, Any] = {}
        self._q: list[Any] = []
        self._v: list[Any] = []
        self.t = ca.SX.sym("t")
        self._damping: list[tuple[str, Any]] = []
        self.stored: Any = ca.SX(0)
        self.world = Body("world", Pose(ca.SX.zeros(2), ca.SX(0)), 0, 0, (0, 0))

    def __repr__(self) -> str:
        return f"<Mechanism {self.name}: {len(self.bodies)} bodies, coordinates {', '.join(self.coordinates)}>"

    # -- building ---------------------------------------------------------------------------

    def parameter(
        self,
        name: str,
        value: float,
        unit: str,
        about: str = "",
        *,
        source: str = "",
        lower: float = -math.inf,
        upper: float = math.inf,
        positive: bool = False,
        infinite: bool = False,
        symbol: Any = None,
    ) -> Any:
        """Declare a parameter and return its symbol, a new one or one at hand.

        ``positive`` means strictly so. One that is ``infinite`` may be, as friction that never gives way or a limit
        that does not exist; others are finite.
        """
        self._new(name, self.parameters, "parameter")
        if positive:
            lower = max(lower, 0.0)
        made = Parameter(name, float(value), unit, about, source, lower, upper, positive, infinite)
        made.check(value)
        self.parameters[name] = made
        self._symbols[name] = ca.SX.sym(name) if symbol is None else symbol
        return self._symbols[name]

    def body(
        self,
        name: str,
        joint: Joint,
        *,
        parent: Body | None = None,
        mass: Any = 0,
        inertia: Any = 0,
        com: tuple[Any, Any] = (0, 0),
    ) -> Body:
        """Add a body that hangs on its parent (the world if none is given) by a joint."""
        self._new(name, self.bodies, "body")
        symbols = []
        for coordinate, unit in joint.coordinates:
            self._new(coordinate, self.state_names, "coordinate or velocity")
            self._new(f"d{coordinate}", self.state_names, "coordinate or velocity")
            self.coordinates[coordinate] = unit
            symbols.append(ca.SX.sym(coordinate))
            self._v.append(ca.SX.sym(f"d{coordinate}"))
        self._q.extend(symbols)
        pose = joint.place((parent or self.world).pose, symbols)
        try:
            mass, inertia = ca.SX(mass), ca.SX(inertia)
        except NotImplementedError:  # how CasADi refuses what is no expression
            raise InputError(f"body {name!r} of {self.name}: mass and inertia must be numbers or expressions") from None
        made = Body(name, pose, mass, inertia, com)
        self.bodies[name] = made
        return made

    def weld(self, name: str, to: Body, at: tuple[Any, Any], **properties: Any) -> Body:
        """Add a body rigidly fixed to another."""
        return self.body(name, Fixed(at), parent=to, **properties)

    def point(self, name: str, body: Body, at: tuple[Any, Any] = (0, 0)) -> Point:
        """Name a point of a body, given in the body's frame."""
        self._new(name, self.points, "point")
        made = Point(name, body.pose.point(at), body.name)
        self.points[name] = made
        return made

    def actuator(self, name: str, on: str, *, limit: Any = math.inf, gain: Any = 1.0) -> None:
        """Drive a coordinate: a torque on an angle, a force on a length; ``gain`` u with ``|u| <= limit``."""
        self._new(name, self.actuators, "actuator")
        along = gain * self._q[self.index(on)]
        unit = "N m" if self.coordinates[on] == "rad" else "N"
        self.actuators[name] = Actuator(name, along, limit, unit, on)

    def thruster(self, name: str, point: Point, direction: tuple[Any, Any], *, limit: Any = math.inf) -> None:
        """Push a point along a fixed direction of the world with a force ``|u| <= limit``."""
        self._new(name, self.actuators, "actuator")
        along = ca.dot(point.position, ca.vertcat(*direction))
        self.actuators[name] = Actuator(name, along, limit, "N")

    def damping(self, on: str, coefficient: Any) -> None:
        """Resist a coordinate's rate: force = -coefficient * rate."""
        self.index(on)
        self._damping.append((on, coefficient))

    def potential(self, energy: Any) -> None:
        """Add potential energy, an expression of coordinates and parameters: a spring, or a torque that stays."""
        self.stored = self.stored + energy

    # -- reading ----------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.coordinates)

    @property
    def velocities(self) -> dict[str, str]:
        """Name and unit of each velocity."""
        return {f"d{name}": f"{unit}/s" for name, unit in self.coordinates.items()}

    @property
    def state_names(self) -> list[str]:
        """Names of all coordinates, then all velocities."""
        return [*self.coordinates, *self.velocities]

    @property
    def q(self) -> Any:
        """The coordinates, as one column of symbols."""
        return ca.vertcat(*self._q) if self._q else ca.SX.zeros(0)

    @property
    def v(self) -> Any:
        """The velocities, as one column of symbols."""
        return ca.vertcat(*self._v) if self._v else ca.SX.zeros(0)

    @property
    def p(self) -> Any:
        """The parameters, as one column of symbols."""
        return ca.vertcat(*self._symbols.values()) if self._symbols else ca.SX.zeros(0)

    @property
    def viscous(self) -> list[tuple[int, Any]]:
        """Index of the damped velocity and its coefficient."""
        return [(self.index(name), coefficient) for name, coefficient in self._damping]

    def coordinate(self, name: str) -> Coordinate:
        """One of the coordinates, to put friction or stops on it."""
        return Coordinate(name, self._q[self.index(name)], self.coordinates[name])

    def index(self, name: str) -> int:
        """The place of a coordinate."""
        names = list(self.coordinates)
        if name not in names:
            raise unknown_name("coordinate", name, names, self.name)
        return names.index(name)

    def input_directions(self) -> Any:
        """The matrix that turns inputs into generalised forces, one column per actuator."""
        columns = [ca.jacobian(actuator.along, self.q).T for actuator in self.actuators.values()]
        return ca.horzcat(*columns) if columns else ca.SX.zeros(self.nv, 0)

    def _new(self, name: str, taken: Container[str], kind: str) -> None:
        if not name or not isinstance(name, str):
            raise InputError(f"a {kind} of {self.name} needs a name, got {name!r}")
        if name in taken:
            raise InputError(f"{self.name} already has a {kind} named {name!r}")
