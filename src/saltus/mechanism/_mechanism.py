"""The description of a mechanism: what a robot file writes, and nothing derived from it yet."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.errors import InputError, unknown_name
from saltus.mechanism._joints import Fixed, Joint, Pose
from saltus.mechanism._shapes import Box, Cylinder, Shape, Sphere, shape_of
from saltus.mechanism._space import WORLD_MOTION, Frame, FreeFlyer, SpatialJoint, Weld, column, cross, follow

# What does not move, and no body may be named.
WORLD = "world"


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
        except (TypeError, ValueError, OverflowError):
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

    def allowed(self, values: np.ndarray) -> np.ndarray:
        """Which of many values `check` would take."""
        good = ~np.isnan(values) if self.infinite else np.isfinite(values)
        good &= (values >= self.lower) & (values <= self.upper)
        return good & (values > self.lower) if self.strict else good


@dataclass(frozen=True)
class Body:
    """A rigid body: where its frame is, and its mass properties (kg, kg m^2 about the centre of mass).

    In space the inertia is a matrix, in the axes of the body, and ``motion`` says how it moves. ``joint`` is what it
    hangs by on the body named ``parent``; both are kept for those who write it down elsewhere.
    """

    name: str
    pose: Any
    mass: Any
    inertia: Any
    com: tuple[Any, ...]
    motion: Any = None
    joint: Any = None
    parent: str = ""

    def velocity(self, local: tuple[Any, ...]) -> tuple[Any, Any]:
        """Velocity in the world of a point of a body in space, and its rate while no velocity of a joint changes."""
        return self.carried(column(local))

    def carried(self, arm: Any) -> tuple[Any, Any]:
        """The same for a point that is given by where it is from the body's origin, in the body's axes."""
        m, R = self.motion, self.pose.rotation
        bias = m.bias + cross(m.spin_bias, arm) + cross(m.spin, cross(m.spin, arm))
        return R @ (m.speed + cross(m.spin, arm)), R @ bias


@dataclass(frozen=True)
class Point:
    """A named material point: its world position as an expression of the coordinates, and its place in its body."""

    name: str
    position: Any
    body: str
    at: tuple[Any, ...] = ()


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


@dataclass(frozen=True)
class Reading:
    """A number that is read off the coordinates, an angle of a body for example: its expression and unit.

    One that ``wraps`` is an angle that comes round: beyond pi it is read from -pi on. One that ``follows`` is not held
    where it was when other readings are told for a start: it is what coordinates and the others make of it.
    """

    name: str
    expression: Any
    unit: str
    wraps: bool = False
    follows: bool = False


@sent_whole
@equal_by_content
class Mechanism:
    """Bodies joined into a tree, with named points, parameters and actuators.

    In the plane: x to the right, y up, angles counter-clockwise, joints Revolute, Prismatic, Fixed and Floating. In
    space (``dimension=3``): z up, joints Hinge, Slider, Weld and FreeFlyer. Velocities are the rates of the
    coordinates and are named ``d`` + coordinate, but for the angular velocity of a free-flyer, wx, wy, wz. All
    quantities are in SI units.
    """

    def __init__(self, name: str, *, dimension: int = 2):
        if dimension not in (2, 3):
            raise InputError(f"{name}: a mechanism has dimension 2 or 3, got {dimension!r}")
        self.name = name
        self.dimension = dimension
        self.bodies: dict[str, Body] = {}
        self.points: dict[str, Point] = {}
        self.parameters: dict[str, Parameter] = {}
        self.actuators: dict[str, Actuator] = {}
        self.coordinates: dict[str, str] = {}
        self.velocities: dict[str, str] = {}
        self.readings: dict[str, Reading] = {}
        self.shapes: tuple[Shape, ...] = ()
        # files of meshes that bodies were said to look like; nothing here shows them
        self.meshes: dict[str, tuple[str, ...]] = {}
        self.quaternions: list[int] = []
        self.gravity: Any = 0
        self._symbols: dict[str, Any] = {}
        self._q: list[Any] = []
        self._v: list[Any] = []
        self._rates: list[Any] = []
        self.t = ca.SX.sym("t")
        self._damping: list[tuple[str, Any]] = []
        self.stored: Any = ca.SX(0)
        if dimension == 2:
            self.world = Body(WORLD, Pose(ca.SX.zeros(2), ca.SX(0)), 0, 0, (0, 0))
        else:
            self.world = Body(WORLD, Frame(ca.SX.zeros(3), ca.SX.eye(3)), 0, 0, (0, 0, 0), WORLD_MOTION)

    def _content(self) -> tuple[Any, ...]:
        return vars(self), list(self.coordinates), list(self.velocities), list(self.parameters), list(self.actuators)

    def __hash__(self) -> int:
        return hash(self.name)

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
        joint: Joint | SpatialJoint,
        *,
        parent: Body | None = None,
        mass: Any = 0,
        inertia: Any = 0,
        com: tuple[Any, ...] | None = None,
    ) -> Body:
        """Add a body that hangs on its parent (the world if none is given) by a joint.

        In space the inertia is a matrix, or three moments about the axes of the body.
        """
        self._new(name, self.bodies, "body")
        if name == WORLD:
            raise InputError(f"a body of {self.name} cannot be named {name!r}: that is what does not move")
        com = (0,) * self.dimension if com is None else com
        if (self.dimension == 3) != hasattr(joint, "relative") or len(com) != self.dimension:
            raise InputError(
                f"body {name!r} of {self.name}: its joint and centre of mass must be of dimension {self.dimension}"
            )
        parent = parent or self.world
        if isinstance(joint, FreeFlyer) and parent is not self.world:
            raise InputError(f"body {name!r} of {self.name}: a free-flyer hangs on the world, not on {parent.name}")
        try:
            mass, inertia = ca.SX(mass), self._inertia(inertia)
        except NotImplementedError:  # how CasADi refuses what is no expression
            raise InputError(f"body {name!r} of {self.name}: mass and inertia must be numbers or expressions") from None
        q, v = self._declare(joint)
        if self.dimension == 2:
            pose = joint.place(parent.pose, q)  # type: ignore[union-attr]
            made = Body(name, pose, mass, inertia, com, None, joint, parent.name)
        else:
            motion = follow(parent.motion, parent.name, joint, q, v)  # type: ignore[arg-type]
            frame = Frame(parent.pose.point(motion.origin), parent.pose.rotation @ motion.turn)
            made = Body(name, frame, mass, inertia, com, motion, joint, parent.name)
        self.bodies[name] = made
        if isinstance(joint, FreeFlyer):
            for angle, expression in joint.angles(made.pose.rotation).items():
                self.reading(angle, expression, "rad", wraps=True)
        return made

    def _declare(self, joint: Any) -> tuple[list[Any], list[Any]]:
        """Symbols of a joint's coordinates and velocities."""
        velocities = getattr(joint, "velocities", tuple((f"d{name}", f"{unit}/s") for name, unit in joint.coordinates))
        q: list[Any] = []
        v: list[Any] = []
        if isinstance(joint, FreeFlyer):
            self.quaternions.append(self.nq + joint.quaternion)
        for known, symbols, names in ((self.coordinates, q, joint.coordinates), (self.velocities, v, velocities)):
            for name, unit in names:
                self._new(name, [*self.state_names, *self.readings], "coordinate, velocity or reading")
                known[name] = unit
                symbols.append(ca.SX.sym(name))
        self._q.extend(q)
        self._v.extend(v)
        self._rates.extend(joint.rates(q, v) if hasattr(joint, "rates") else v)
        return q, v

    def _inertia(self, inertia: Any) -> Any:
        if self.dimension == 2:
            return ca.SX(inertia)
        if isinstance(inertia, tuple | list) and len(inertia) == 3 and not isinstance(inertia[0], tuple | list):
            return ca.diag(ca.vertcat(*map(ca.SX, inertia)))
        if isinstance(inertia, tuple | list):
            return ca.vertcat(*(ca.horzcat(*map(ca.SX, row)) for row in inertia))
        matrix = ca.SX(inertia)
        return ca.SX.zeros(3, 3) if matrix.is_zero() and matrix.numel() == 1 else matrix

    def weld(self, name: str, to: Body, at: tuple[Any, ...], **properties: Any) -> Body:
        """Add a body rigidly fixed to another."""
        joint = Fixed(at) if self.dimension == 2 else Weld(at)  # type: ignore[arg-type]
        return self.body(name, joint, parent=to, **properties)

    def point(self, name: str, body: Body, at: tuple[Any, ...] | None = None) -> Point:
        """Name a point of a body, given in the body's frame."""
        self._new(name, self.points, "point")
        at = (0,) * self.dimension if at is None else at
        made = Point(name, body.pose.point(at), body.name, at)
        self.points[name] = made
        return made

    def shape(
        self,
        body: Body,
        form: Box | Cylinder | Sphere,
        *,
        at: tuple[Any, ...] | None = None,
        turn: Any = None,
        colour: Any = None,
    ) -> Shape:
        """Say what a body, or the world, looks like; it has no other effect, and a body may have several shapes.

        Parameters
        ----------
        at
            Where the form's origin is in the body's frame, m; in the plane the third number may be left out.
        turn
            How the form is turned there, a rotation matrix.
        colour
            ``"#rrggbb"``, or red, green, blue and, if you like, opacity from 0 to 1; chosen for you if none is given.
        """
        if body is not self.world and self.bodies.get(getattr(body, "name", "")) is not body:
            raise InputError(f"{self.name}: a shape is put on a body that m.body returned, or on m.world, not {body!r}")
        made = shape_of(None if body is self.world else body.name, form, at, turn, colour)
        sizes = ca.vertcat(*map(ca.SX, (*made.form.lengths, *made.at)))
        if ca.depends_on(sizes, ca.vertcat(self.t, self.q, self.v)):
            raise InputError(f"a shape of body {body.name!r} of {self.name} may depend on parameters only")
        self.shapes = (*self.shapes, made)
        return made

    def actuator(self, name: str, on: Any, *, limit: Any = math.inf, gain: Any = 1.0) -> None:
        """Drive a coordinate: a torque on an angle, a force on a length; ``gain`` u with ``|u| <= limit``.

        ``on`` is its name, or an angle that is made of several coordinates.
        """
        self._new(name, self.actuators, "actuator")
        if not isinstance(on, str):
            self.actuators[name] = Actuator(name, gain * ca.SX(on), limit, "N m")
            return
        along = gain * self._q[self.index(on)]
        unit = "N m" if self.coordinates[on] == "rad" else "N"
        self.actuators[name] = Actuator(name, along, limit, unit, on)

    def reading(self, name: str, expression: Any, unit: str, *, wraps: bool = False, follows: bool = False) -> None:
        """Name a number that is read off the coordinates; it can be told for a start, and so can its rate, d + name."""
        self._new(name, [*self.state_names, *self.readings], "coordinate, velocity or reading")
        self.readings[name] = Reading(name, ca.SX(expression), unit, wraps, follows)

    def thruster(self, name: str, point: Point, direction: tuple[Any, Any], *, limit: Any = math.inf) -> None:
        """Push a point along a fixed direction of the world with a force ``|u| <= limit``."""
        self._new(name, self.actuators, "actuator")
        along = ca.dot(point.position, ca.vertcat(*direction))
        self.actuators[name] = Actuator(name, along, limit, "N")

    def damping(self, on: str, coefficient: Any) -> None:
        """Resist a coordinate's rate: force = -coefficient * rate."""
        self.velocity_index(on)
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
        """Number of velocities: one less than coordinates for every quaternion."""
        return len(self.velocities)

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
    def qdot(self) -> Any:
        """Rates of the coordinates, expressions of coordinates and velocities."""
        return ca.vertcat(*self._rates) if self._rates else ca.SX.zeros(0)

    @property
    def tangent(self) -> Any:
        """The matrix that turns velocities into rates of the coordinates; in the plane, one."""
        return ca.jacobian(self.qdot, self.v) if self.quaternions else ca.SX.eye(self.nv)

    @property
    def p(self) -> Any:
        """The parameters, as one column of symbols."""
        return ca.vertcat(*self._symbols.values()) if self._symbols else ca.SX.zeros(0)

    @property
    def symbols(self) -> Any:
        """All that its expressions are made of, as one column: time, coordinates, velocities, parameters."""
        return ca.vertcat(self.t, self.q, self.v, self.p)

    @property
    def viscous(self) -> list[tuple[int, Any]]:
        """Index of the damped velocity and its coefficient."""
        return [(self.velocity_index(name), coefficient) for name, coefficient in self._damping]

    @property
    def damped(self) -> list[tuple[str, Any]]:
        """The damped coordinates and their coefficients."""
        return list(self._damping)

    def coordinate(self, name: str) -> Coordinate:
        """One of the coordinates, to put friction or stops on it."""
        return Coordinate(name, self._q[self.index(name)], self.coordinates[name])

    def index(self, name: str) -> int:
        """The place of a coordinate."""
        names = list(self.coordinates)
        if name not in names:
            raise unknown_name("coordinate", name, names, self.name)
        return names.index(name)

    def velocity_index(self, coordinate: str) -> int:
        """The place, among the velocities, of the rate of a coordinate."""
        self.index(coordinate)
        name = f"d{coordinate}"
        if name not in self.velocities:
            raise InputError(f"{coordinate} of {self.name} is part of a quaternion: it has no velocity of its own")
        return list(self.velocities).index(name)

    def input_directions(self) -> Any:
        """The matrix that turns inputs into generalised forces, one column per actuator."""
        N = self.tangent
        columns = [(ca.jacobian(actuator.along, self.q) @ N).T for actuator in self.actuators.values()]
        return ca.horzcat(*columns) if columns else ca.SX.zeros(self.nv, 0)

    def _new(self, name: str, taken: Container[str], kind: str) -> None:
        if not name or not isinstance(name, str):
            raise InputError(f"a {kind} of {self.name} needs a name, got {name!r}")
        if name in taken:
            raise InputError(f"{self.name} already has a {kind} named {name!r}")
