"""What there is to be seen of a run in space: bodies that move, the world that stands still, contacts and forces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.mechanism import Box, Cylinder, Sphere
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from saltus.show._points import (
    Points,
    bars,
    closed,
    contacts,
    ground_lines,
    parameter_values_of,
    rails,
    stood_up,
    wheel_units,
    wheels,
)
from saltus.show._poses import UPRIGHT, Poses, along, point_places, quaternions

BODIES = (BLUE, ORANGE, GREEN, SKY, PURPLE, RED)
JOINT, MARK, FORCE, BAR = "#3C3C3C", "#F4F1EA", "#B03A00", "#555555"
# Radius of a link, of a joint and of a contact's mark, as shares of the robot's size; longest arrow, of the same.
LINK, JOINT_SIZE, TOUCH, ARROW = 0.022, 0.032, 0.03, 0.8
# A place that moves by less than this share of the robot's size stands still in a body.
STILL = 1e-9
# A cylinder that is flatter than this share of its radius is a wheel, whose turning is made visible.
FLAT = 1.5
# Thickness of a wheel in space that has no shape, as a share of its radius.
THIN = 0.08


@dataclass(frozen=True)
class Thing:
    """A form of a size in m, where it is in what carries it, and its colour."""

    form: Box | Cylinder | Sphere | Arrow
    at: np.ndarray
    turn: np.ndarray
    colour: tuple[float, ...]
    on_top: bool = False

    @property
    def reach(self) -> float:
        """How far it reaches from its own origin, m."""
        match self.form:
            case Box(size):
                return 0.5 * math.hypot(*size)
            case Cylinder(radius, length):
                return math.hypot(radius, 0.5 * length)
            case Sphere(radius):
                return float(radius)
        return 0.0


@dataclass(frozen=True)
class Arrow:
    """An arrow of unit length along z, from its origin; its thickness in m."""

    thickness: float


@dataclass(frozen=True)
class Mover:
    """Things that are carried along: origin and quaternion (x, y, z, w) at each frame, and what else changes."""

    path: str
    things: list[Thing]
    places: np.ndarray
    turns: np.ndarray
    scales: np.ndarray | None = None
    visible: np.ndarray | None = None


@dataclass(frozen=True)
class Plane:
    """A ground through a place, m, and how it is turned: its third axis points up from it."""

    at: np.ndarray
    turn: np.ndarray


@dataclass
class SpaceScene:
    """A run in space, frame by frame.

    ``centre`` is where the robot is at each frame, ``size`` how large it is, ``low`` and ``high`` the box that it
    stays in, m.
    """

    times: np.ndarray
    movers: list[Mover] = field(default_factory=list)
    still: list[Thing] = field(default_factory=list)
    grounds: list[Plane] = field(default_factory=list)
    trace: np.ndarray | None = None
    centre: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    low: np.ndarray = field(default_factory=lambda: np.zeros(3))
    high: np.ndarray = field(default_factory=lambda: np.zeros(3))
    size: float = 1.0
    largest_force: float = 0.0


def space_scene(run: Trajectory, times: np.ndarray, *, forces: bool) -> SpaceScene:
    """Everything of a run that is drawn, at some of its times."""
    states = run.at(times)
    finite = np.isfinite(states).all(axis=1)
    if not finite[0]:
        raise InputError(
            f"there is nothing to be drawn: the first state of this run of {run.system.name} is not finite"
        )
    if not finite.all():  # what comes after it cannot be shown
        times = times[: int(np.argmin(finite))]
        states = states[: len(times)]
    return _Maker(run, times, states).scene(forces=forces)


class _Maker:
    """Poses, places and sizes of a run, and what is made of them."""

    def __init__(self, run: Trajectory, times: np.ndarray, states: np.ndarray) -> None:
        self.run, self.system, self.times, self.states = run, run.system, times, states
        poses, self.points = Poses(run.system), Points(run.system)
        self.bodies = poses.names
        self.origins, self.rotations = poses.at(states)
        mechanism = run.system.mechanism
        # the origins of bodies are places too, after all named points
        self.places = np.concatenate([point_places(run.system, states), self.origins], axis=1)
        owners = [self.points.owner(name) for name in self.points.names] + self.bodies
        self.owners = [self.bodies.index(name) if name in self.bodies else None for name in owners]
        self.shaped = {shape.body for shape in mechanism.shapes}
        self.carried: dict[int, list[Thing]] = {k: [] for k in range(len(self.bodies))}
        self.still: list[Thing] = []
        self.loose: list[Mover] = []
        self._shapes()
        self.size = self._size()

    def scene(self, *, forces: bool) -> SpaceScene:
        self._wheels()
        self._links()
        self._holds()
        movers = [
            Mover(f"robot/{_clean(name)}", self.carried[k], self.origins[:, k], quaternions(self.rotations[:, k]))
            for k, name in enumerate(self.bodies)
            if self.carried[k]
        ]
        touching, tips, largest = self._contacts(forces=forces)
        low, high = self._box(tips)
        everything = movers + self.loose + touching
        return SpaceScene(
            self.times, everything, self.still, self._grounds(), self._trace(), self._centre(), low, high, self.size,
            largest,
        )  # fmt: skip

    # -- what bodies look like ----------------------------------------------------------------

    def _shapes(self) -> None:
        """What the robot's own file says."""
        for shape in self.system.mechanism.shapes:
            count = len(shape.form.lengths)
            numbers = parameter_values_of(self.system, *shape.form.lengths, *shape.at)
            lengths, at = numbers[:count], np.array(numbers[count:])
            if not all(0 < length < math.inf for length in lengths):
                kind = type(shape.form).__name__.lower()
                raise InputError(f"a {kind} on {shape.body or 'the world'} of {self.system.name} has lengths {lengths}")
            form = shape.form.sized(lengths)
            index = None if shape.body is None else self.bodies.index(shape.body)
            if index is None and self.system.mechanism.dimension == 2:
                at, turn = UPRIGHT @ at, UPRIGHT @ shape.turn
            else:
                turn = shape.turn
            colour = shape.colour or self._colour(index)
            for thing in [Thing(form, at, turn, colour), *_spokes(form, at, turn)]:
                self._add(index, thing)

    def _wheels(self) -> None:
        """A disc for every wheel on a body that has no shape of its own."""
        for unit in wheel_units(self.system):
            if unit.body.name not in self.shaped and unit.body.name in self.bodies:
                (radius,) = parameter_values_of(self.system, unit.radius)
                body = self.bodies.index(unit.body.name)
                at = self._local(body, self.points.index(unit.point.name))[0]
                turn = along(np.array([getattr(unit, "axis", (0.0, 0.0, 1.0))], dtype=float))[0]
                # where it leans, a thick one would sink into the ground
                form = Cylinder(radius, (0.25 if self.system.mechanism.dimension == 2 else THIN) * radius)
                for thing in [Thing(form, at, turn, self._colour(body)), *_spokes(form, at, turn)]:
                    self._add(body, thing)

    def _links(self) -> None:
        """Links between places, joints where they end; of bodies that have no shape of their own."""
        ends = set()
        for one, other in self._pairs():
            ends |= {one, other}
            if one != other:
                self._link(one, other)
        for place in sorted(ends):
            owner = self.owners[place]
            if owner is None or self.bodies[owner] not in self.shaped:
                at = self.places[0, place] if owner is None else self._local(owner, place)[0]
                self._add(owner, Thing(Sphere(JOINT_SIZE * self.size), at, np.eye(3), _rgba(JOINT)))

    def _pairs(self) -> list[tuple[int, int]]:
        """The skeleton; of a robot that has none the points, and in space the way from body to body."""
        if self.points.skeleton:
            return self.points.skeleton
        lone = [] if self.shaped else [(k, k) for k in range(len(self.points.names))]
        first = len(self.points.names)
        pairs = []
        for k, body in enumerate(self.system.mechanism.bodies.values()):
            if body.motion is not None and body.motion.parent in self.bodies:
                pairs.append((first + self.bodies.index(body.motion.parent), first + k))
        return lone + pairs

    def _link(self, one: int, other: int) -> None:
        """A rod between two places, on the body in which both stand still, or else on none."""
        for body in dict.fromkeys([self.owners[other], self.owners[one]]):
            begin, end = self._local(body, one), self._local(body, other)
            if max(float(np.ptp(part, axis=0).max()) for part in (begin, end)) > STILL * self.size:
                continue
            length = float(np.linalg.norm(end[0] - begin[0]))
            if length > STILL * self.size and (body is None or self.bodies[body] not in self.shaped):
                turn, middle = along((end - begin)[:1])[0], 0.5 * (begin[0] + end[0])
                self._add(body, Thing(Cylinder(LINK * self.size, length), middle, turn, self._colour(body)))
            return
        if all(owner is None or self.bodies[owner] in self.shaped for owner in (self.owners[one], self.owners[other])):
            return
        way = self.places[:, other] - self.places[:, one]
        lengths = np.maximum(np.linalg.norm(way, axis=1), STILL * self.size)
        thing = Thing(Cylinder(LINK * self.size, 1.0), np.zeros(3), np.eye(3), self._colour(self.owners[other]))
        middle, scales = self.places[:, one] + 0.5 * way, np.ones((len(way), 3))
        scales[:, 2] = lengths
        self.loose.append(Mover(f"robot/link {len(self.loose) + 1}", [thing], middle, quaternions(along(way)), scales))

    def _holds(self) -> None:
        """Bars and rails, across the plane and along it."""
        for bar in bars(self.system):
            at = stood_up(np.array([bar.x, bar.y]))
            rod = Cylinder(0.6 * LINK * self.size, 0.6 * self.size)
            self.still.append(Thing(rod, at, UPRIGHT, _rgba(BAR)))
        for rail in rails(self.system):
            start, end = stood_up(np.array(rail.start)), stood_up(np.array(rail.end))
            way = end - start
            if rail.endless:
                way = way / np.linalg.norm(way)
                foot = start + way * float((self.places[0, 0] - start) @ way)
                start, end = foot - 20 * self.size * way, foot + 20 * self.size * way
            rod = Cylinder(0.6 * LINK * self.size, float(np.linalg.norm(end - start)))
            self.still.append(Thing(rod, 0.5 * (start + end), along((end - start)[None])[0], _rgba(BAR)))

    # -- contacts -------------------------------------------------------------------------------

    def _contacts(self, *, forces: bool) -> tuple[list[Mover], list[np.ndarray], float]:
        """A mark at every closed contact and an arrow for its force; where arrows end, m; and the largest force, N."""
        found = contacts(self.system)
        if not found:
            return [], [], 0.0
        read = self.run.everything_at(self.times)
        statuses, points = self.run.arc_statuses[read.arc], self.points.full_positions(self.states)
        marks, places, pushes = [], {}, {}
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(self.times), 1))
        for contact in found:
            name, held = contact.name, closed(statuses, contact)
            places[name] = stood_up(contact.places(points))
            mark = Thing(Sphere(TOUCH * self.size), np.zeros(3), np.eye(3), _rgba(RED), on_top=True)
            marks.append(Mover(f"contacts/{_clean(name)}", [mark], places[name], upright, None, held))
            push = np.where(held[:, None], stood_up(contact.forces(read.forces, self.states)), 0.0)
            pushes[name] = np.nan_to_num(push)
        largest = max(float(np.linalg.norm(push, axis=1).max()) for push in pushes.values())
        if not forces or not largest > 0:
            return marks, [], 0.0
        arrows = [self._arrow(name, places[name], pushes[name], largest) for name in places]
        scale = ARROW * self.size / largest
        return marks + arrows, [places[name] + scale * pushes[name] for name in places], largest

    def _arrow(self, name: str, place: np.ndarray, push: np.ndarray, largest: float) -> Mover:
        """A force that pushes the robot at a place, as long as it is large."""
        lengths = ARROW * self.size * np.linalg.norm(push, axis=1) / largest
        seen = lengths > 1e-3 * self.size
        scales = np.ones((len(place), 3))
        scales[:, 2] = np.where(seen, lengths, 1e-3 * self.size)
        arrow = Thing(Arrow(0.5 * LINK * self.size), np.zeros(3), np.eye(3), _rgba(FORCE), on_top=True)
        return Mover(f"forces/{_clean(name)}", [arrow], place, quaternions(along(push)), scales, seen)

    # -- sizes ----------------------------------------------------------------------------------

    def _grounds(self) -> list[Plane]:
        made = []
        for line in ground_lines(self.system):
            cos, sin = math.cos(line.angle), math.sin(line.angle)
            turn = np.array([[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]])
            made.append(Plane(np.array([line.x, 0.0, line.y]), turn))
        return made

    def _size(self) -> float:
        """How large the robot is, m: how far its places and shapes are apart at most; a metre if it is a point."""
        largest = [2.0 * thing.reach for things in self.carried.values() for thing in things]
        largest += [2.0 * wheel.radius for wheel in wheels(self.system)]
        own = self.places[:, [k for k in range(self.places.shape[1]) if self.owners[k] is not None]]
        if own.shape[1]:
            largest.append(float(np.linalg.norm(np.ptp(own, axis=1), axis=1).max()))
        size = max(largest, default=0.0)
        return size if size > 1e-9 else 1.0

    def _box(self, contact_places: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The corners of all that the robot takes, and of where contacts and their arrows are."""
        lows, highs = [], []
        for at in [self.places.reshape(-1, 3), *contact_places]:
            if len(at):
                lows.append(at.min(axis=0))
                highs.append(at.max(axis=0))
        for k, things in self.carried.items():
            for thing in things:
                at = self.origins[:, k] + self.rotations[:, k] @ thing.at
                lows.append(at.min(axis=0) - thing.reach)
                highs.append(at.max(axis=0) + thing.reach)
        if not lows:
            return -0.5 * np.ones(3), 0.5 * np.ones(3)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def _centre(self) -> np.ndarray:
        """Where the robot is: the middle of its bodies and points at each frame."""
        own = [k for k, owner in enumerate(self.owners) if owner is not None]
        places = self.places[:, own] if own else np.zeros((len(self.times), 1, 3))
        return np.asarray(0.5 * (places.min(axis=1) + places.max(axis=1)))

    def _trace(self) -> np.ndarray | None:
        """The way of the last point of the skeleton."""
        return self.places[:, self.points.skeleton[-1][1]] if self.points.skeleton else None

    # -- helpers --------------------------------------------------------------------------------

    def _add(self, body: int | None, thing: Thing) -> None:
        (self.still if body is None else self.carried[body]).append(thing)

    def _local(self, body: int | None, place: int) -> np.ndarray:
        """A place as a body sees it, at each frame."""
        at = self.places[:, place]
        if body is None:
            return np.asarray(at)
        return np.einsum("fji,fj->fi", self.rotations[:, body], at - self.origins[:, body])

    def _colour(self, body: int | None) -> tuple[float, ...]:
        return _rgba(GREY) if body is None else _rgba(BODIES[body % len(BODIES)])


def _spokes(form: Any, at: np.ndarray, turn: np.ndarray) -> Iterator[Thing]:
    """Bars across the faces of a wheel, so that it is seen to turn."""
    if isinstance(form, Cylinder) and form.length < FLAT * form.radius:
        for wide, high in ((1.7, 0.16), (0.16, 1.7)):
            bar = Box((wide * form.radius, high * form.radius, 1.04 * form.length))
            yield Thing(bar, at, turn, _rgba(MARK))


def _rgba(colour: str) -> tuple[float, ...]:
    return (*to_rgb(colour), 1.0)


def _clean(name: str) -> str:
    """A name that is one part of a path."""
    return name.replace("/", "∕")  # noqa: RUF001
