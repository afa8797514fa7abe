"""Where things are: a robot's named points at many states, and the world that it moves in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact import SPACE, Bar, Grip, GroundPoint, Line, SpatialWheel, Wall, Wheel
from saltus.contact._unit import GROUND
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import Point


@dataclass(frozen=True)
class GroundLine:
    """A straight ground through (x, y), m, at an angle, rad; below it is solid."""

    x: float
    y: float
    angle: float


@dataclass(frozen=True)
class Circle:
    """A wheel: the index of the point that is its centre, and its radius, m."""

    point: int
    radius: float


@dataclass(frozen=True)
class Place:
    """A bar to hold: its centre and how near a grip must come, m."""

    x: float
    y: float
    capture: float


@dataclass(frozen=True)
class Rail:
    """A line or the surface of a wall to hold, between two of its points, m, or beyond them."""

    start: tuple[float, float]
    end: tuple[float, float]
    endless: bool


@dataclass(frozen=True)
class Contact:
    """Something that holds or stands: its unit, the point, its rows, and how they lie in the world.

    Parameters
    ----------
    unit, point, row
        Index of the unit, of its point, and of its first row of force.
    kind
        ``ground`` or ``grip``.
    angle
        Of the first row's direction in the world, rad; the second row is a quarter turn further.
    radius
        From the point to where the force acts, against the second row, m.
    directions
        In space, of the three rows at some states: [state, row, axis].
    """

    name: str
    kind: str
    unit: int
    point: int
    row: int
    angle: float = 0.0
    radius: float = 0.0
    directions: Callable[[np.ndarray], np.ndarray] | None = None

    def forces(self, rows: np.ndarray, states: np.ndarray | None = None) -> np.ndarray:
        """Forces on the robot along the axes of its world, N, from those of all rows and, in space, the states."""
        if self.directions is not None:
            if states is None:
                raise InputError(f"the force of {self.name} has a direction that depends on the state: give states")
            return np.einsum("fr,fra->fa", rows[:, self.row : self.row + 3], self.directions(states))
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        first, second = rows[..., self.row], rows[..., self.row + 1]
        return np.stack([cos * first - sin * second, sin * first + cos * second], axis=-1)

    def places(self, points: np.ndarray) -> np.ndarray:
        """Where the force acts, m, from the positions of all points at some instants."""
        if self.directions is not None:
            return np.asarray(points[..., self.point, :])
        away = np.array([math.sin(self.angle), -math.cos(self.angle)])
        place: np.ndarray = points[..., self.point, :] + self.radius * away
        return place


def flat(places: np.ndarray) -> np.ndarray:
    """Places or directions in space as a picture shows them, seen along y: x to the right, the last axis up."""
    return places if places.shape[-1] == 2 else places[..., [0, -1]]


def stood_up(places: np.ndarray) -> np.ndarray:
    """Places or directions, of the plane or in space, as ones in space: the plane's x is x, its y is z."""
    if places.shape[-1] == 3:
        return places
    return np.stack([places[..., 0], np.zeros(places.shape[:-1]), places[..., 1]], axis=-1)


def evaluate(system: HybridSystem, function: Any, states: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A function of state and parameters at some states (q, v), a row each: values of a shape for every state."""
    x = np.ascontiguousarray(states, dtype=float)
    wide = len(system.state_names)
    if x.ndim != 2 or x.shape[1] != wide:
        raise InputError(f"states of {system.name} are rows of {wide} numbers, got shape {x.shape}")
    out = np.zeros((len(x), *shape))
    if not out.size:
        return out
    # CasADi runs through all states in one call, and reads and writes NumPy's own memory
    buffer, run = function.map("many", "serial", len(x), [1], []).buffer()
    values = system.parameter_values
    buffer.set_arg(0, x.data)
    buffer.set_arg(1, values.data)
    buffer.set_res(0, out.data)
    run()
    return out


class Points:
    """The named points of a robot, and its skeleton as pairs of their indices; a pair (k, k) is a lone point."""

    def __init__(self, system: HybridSystem) -> None:
        self.system = system
        self._points = _points(system)
        self.names = list(self._points)
        self.skeleton = [(self.index(one), self.index(other)) for one, other in system.skeleton]

    def owner(self, name: str) -> str:
        """The body that a point belongs to."""
        return str(self._points[name].body)

    def index(self, name: str) -> int:
        """The place of a point."""
        if name not in self._points:
            raise unknown_name("point", name, self.names, self.system.name)
        return self.names.index(name)

    def positions(self, states: np.ndarray) -> np.ndarray:
        """Positions of all points at some states (q, v), as pictures show them, x and height: [state, point, axis]."""
        return flat(self.full_positions(states))

    def velocities(self, states: np.ndarray) -> np.ndarray:
        """Velocities of all points at some states (q, v), along x and upwards, m/s: [state, point, axis]."""
        return flat(self.full_velocities(states))

    def full_positions(self, states: np.ndarray) -> np.ndarray:
        """The positions along all axes of the world that the robot moves in, two or three."""
        return evaluate(self.system, self._functions["point positions"], states, (len(self.names), self._axes))

    def full_velocities(self, states: np.ndarray) -> np.ndarray:
        """The velocities along all axes."""
        return evaluate(self.system, self._functions["point velocities"], states, (len(self.names), self._axes))

    @property
    def _axes(self) -> int:
        return self.system.mechanism.dimension

    @cached_property
    def _functions(self) -> dict[str, Any]:
        made: dict[str, Any] = self.system.once("points", self._make)
        return made

    def _make(self) -> dict[str, Any]:
        m = self.system.mechanism
        places = ca.vertcat(*(point.position for point in self._points.values()))
        speeds = ca.jtimes(places, m.q, m.qdot)
        given = [ca.vertcat(m.q, m.v), m.p]
        return {
            "point positions": ca.Function("places", given, [ca.densify(places)]),
            "point velocities": ca.Function("speeds", given, [ca.densify(speeds)]),
        }


def up_name(system: HybridSystem) -> str:
    """The name of the axis that points up."""
    return "y" if system.mechanism.dimension == 2 else "z"


def on_ground(unit: Any) -> bool:
    """Whether a unit meets the ground, in the plane or in space; its normal row is the second."""
    return unit.kind in (GROUND, SPACE)


def ground_lines(system: HybridSystem) -> list[GroundLine]:
    """The grounds of a robot, each once however many points can meet it."""
    lines: list[GroundLine] = []
    for unit in filter(on_ground, system.units):
        where = (0.0, unit.height, 0.0) if unit.kind == SPACE else (*unit.through, unit.slope)  # type: ignore[attr-defined]
        x, y, angle = parameter_values_of(system, *where)
        if not any(_same_line(line, x, y, angle) for line in lines):
            lines.append(GroundLine(x, y, angle))
    return lines


def wheels(system: HybridSystem) -> list[Circle]:
    """The wheels of a robot."""
    names = list(_points(system))
    return [
        Circle(names.index(unit.point.name), *parameter_values_of(system, unit.radius)) for unit in wheel_units(system)
    ]


def wheel_units(system: HybridSystem) -> list[Any]:
    """Units that are wheels: with a point, a radius, a body that turns and, in space, an axis of it."""
    return [unit for unit in system.units if isinstance(unit, (Wheel, SpatialWheel))]


def bars(system: HybridSystem) -> list[Place]:
    """The bars that its grips can hold, each once."""
    found = [
        Place(*parameter_values_of(system, *hold.at, hold.capture)) for hold in _holds(system) if isinstance(hold, Bar)
    ]
    return list(dict.fromkeys(found))


def rails(system: HybridSystem) -> list[Rail]:
    """The lines and walls that its grips can hold, each once."""
    found = []
    for hold in _holds(system):
        if isinstance(hold, Line):
            a, b, c, d = parameter_values_of(system, *hold.start, *hold.end)
            found.append(Rail((a, b), (c, d), hold.endless))
        elif isinstance(hold, Wall):
            a, b, angle = parameter_values_of(system, *hold.through, hold.angle)
            found.append(Rail((a, b), (a + math.cos(angle), b + math.sin(angle)), endless=True))
    return list(dict.fromkeys(found))


def contacts(system: HybridSystem) -> list[Contact]:
    """Grounds and grips, in the order of the units."""
    names, found = list(_points(system)), []
    for k, unit in enumerate(system.units):
        row = system.first_rows[k]
        if isinstance(unit, (GroundPoint, Wheel)):
            radius_of = unit.radius if isinstance(unit, Wheel) else 0.0
            angle, radius = parameter_values_of(system, unit.slope, radius_of)
            found.append(Contact(unit.name, "ground", k, names.index(unit.point.name), row, angle, radius))
        elif unit.kind == SPACE:
            found.append(
                Contact(unit.name, "ground", k, names.index(_touch(unit)), row, directions=_Rows(system, unit))
            )
        elif isinstance(unit, Grip):
            found.append(Contact(unit.name, "grip", k, names.index(unit.point.name), row))
    return found


class _Rows:
    """Directions in the world of the rows of a contact in space: forward, up, and to the left of forward."""

    def __init__(self, system: HybridSystem, unit: Any) -> None:
        self.system, self.unit = system, unit

    def __call__(self, states: np.ndarray) -> np.ndarray:
        function = self.system.once(f"directions of {self.unit.name}", self._make)
        return evaluate(self.system, function, states, (3, 3))

    def _make(self) -> Any:
        m = self.system.mechanism
        forward, left = _forward(self.unit), _left(self.unit)
        rows = ca.vertcat(forward, ca.SX([0, 0, 1]), left)
        return ca.Function("directions", [ca.vertcat(m.q, m.v), m.p], [ca.densify(rows)])


def _axle(unit: Any) -> Any:
    """The axis of a wheel in the world; that of a point is y."""
    return unit.body.pose.direction(unit.axis) if isinstance(unit, SpatialWheel) else ca.SX([0, 1, 0])


def _forward(unit: Any) -> Any:
    a = _axle(unit)
    return ca.vertcat(a[1], -a[0], 0) / ca.sqrt(a[0] ** 2 + a[1] ** 2)


def _left(unit: Any) -> Any:
    a = _axle(unit)
    return ca.vertcat(a[0], a[1], 0) / ca.sqrt(a[0] ** 2 + a[1] ** 2)


def _touch_point(unit: Any) -> Point:
    """Where a wheel in space touches the ground, or would: straight below its centre or at its lowest rim."""
    a = _axle(unit)
    c = ca.sqrt(a[0] ** 2 + a[1] ** 2)
    up = ca.SX([0, 0, 1])
    arm = a[2] * _left(unit) - c * up if unit.contact == "rim" else -up
    return Point(_touch(unit), unit.point.position + unit.radius * arm, unit.body.name)


def _touch(unit: Any) -> str:
    """The name of the point where a contact in space acts."""
    return f"{unit.point.name} contact" if isinstance(unit, SpatialWheel) else unit.point.name


def closed(statuses: np.ndarray, contact: Contact) -> np.ndarray:
    """Whether a contact holds or stands, from rows of statuses; a grip that reaches for a bar holds nothing."""
    status = statuses[..., contact.unit]
    held: np.ndarray = status == 1 if contact.kind == "grip" else status != 0
    return held


def _points(system: HybridSystem) -> dict[str, Any]:
    """All named points, those of contacts that the mechanism does not list, and where wheels in space touch."""
    points = dict(system.mechanism.points)
    for unit in system.units:
        if (point := getattr(unit, "point", None)) is not None:
            points.setdefault(point.name, point)
        if isinstance(unit, SpatialWheel):
            points[_touch(unit)] = _touch_point(unit)
    return points


def _holds(system: HybridSystem) -> list[Any]:
    return [hold for unit in system.units if isinstance(unit, Grip) for hold in unit.holds]


def parameter_values_of(system: HybridSystem, *expressions: Any) -> list[float]:
    """Numbers of expressions of the parameters, at their values."""
    function = ca.Function("values", [system.mechanism.p], [ca.vertcat(*map(ca.SX, expressions))])
    return [float(value) for value in np.array(function(system.parameter_values)).reshape(-1)]


def _same_line(line: GroundLine, x: float, y: float, angle: float) -> bool:
    """Whether a line through a point at an angle is a line already known, but for rounding."""
    away = math.cos(angle) * (line.y - y) - math.sin(angle) * (line.x - x)
    scale = 1.0 + abs(x) + abs(y)
    return abs(math.remainder(line.angle - angle, 2 * math.pi)) < 1e-12 and abs(away) < 1e-12 * scale
