"""Robots as URDF files, so that other tools can load them.

A robot in the plane is put into the plane of X and Z, as gravity is along -Z elsewhere: its x is X, its y is Z, and a
counter-clockwise turn is one about -Y.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import casadi as ca
import numpy as np

from saltus._write import check_path, write
from saltus.contact import JointUnit, Wheel
from saltus.errors import InputError
from saltus.hybrid._system import HybridSystem
from saltus.mechanism import (
    Body,
    Box,
    Cylinder,
    Fixed,
    Floating,
    FreeFlyer,
    Hinge,
    Mechanism,
    Prismatic,
    Revolute,
    Shape,
    Slider,
    Weld,
)

# What stands for no limit where URDF wants a number.
ENDLESS = 1e6
# The axes of a robot in the plane, the third of which points out of it, in those of the file.
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass
class _Motor:
    """What acts on a coordinate: the limit of its motors, damping, dry friction and stops."""

    effort: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf


@dataclass
class _Placed:
    """A joint to be written: where it is in its parent, how it is turned there, and along which axis it moves."""

    name: str
    kind: str
    parent: str
    child: str
    at: Any = (0.0, 0.0, 0.0)
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, ...] | None = None
    coordinate: str = ""


@dataclass
class Urdf:
    """A file's text, and what of the robot could not be said in it."""

    text: str
    left_out: list[str] = field(default_factory=list)


def write_urdf(robot: HybridSystem | Mechanism, path: str | Path, *, dummy_mass: float = 0.0) -> list[str]:
    """Write a robot as URDF, with the values that its parameters now have, and tell what could not be said in it.

    Joints are named after coordinates, links after bodies; the root link is the world. A body that floats in the plane
    hangs on two sliders and a hinge. Stops, friction and damping of joints and the limits of motors are written;
    contacts, guards, gravity, thrusters and meshes are not, and a robot with springs (potential energy) or several
    free-flyers is refused.

    Parameters
    ----------
    dummy_mass
        Of links that have none, kg: MuJoCo and others refuse a moving link without mass. It changes the motion.
    """
    path = Path(path)
    check_path(path, (".urdf",))
    made = as_urdf(robot, dummy_mass=dummy_mass)
    write(path, made.text.encode("utf-8"))
    return made.left_out


def as_urdf(robot: HybridSystem | Mechanism, *, dummy_mass: float = 0.0) -> Urdf:
    """The same, as text."""
    system = HybridSystem(robot) if isinstance(robot, Mechanism) else robot
    if not 0 <= dummy_mass < math.inf:
        raise InputError(f"dummy_mass must be finite and not negative, got {dummy_mass!r}")
    m = system.mechanism
    free = [body.name for body in m.bodies.values() if isinstance(body.joint, FreeFlyer)]
    if len(free) > 1:
        raise InputError(
            f"{system.name}: {', '.join(free)} are free-flyers, and tools that read URDF allow one; "
            "write a file for each, or join them"
        )
    if not ca.SX(m.stored).is_zero():
        raise InputError(
            f"{system.name} stores energy in springs, which URDF cannot say: it would move otherwise there"
        )
    return _Writer(system, dummy_mass).result()


class _Writer:
    def __init__(self, system: HybridSystem, dummy_mass: float):
        self.system, self.mechanism, self.dummy_mass = system, system.mechanism, dummy_mass
        self.flat = system.mechanism.dimension == 2
        self.left_out: list[str] = []
        self.links: dict[str, list[str]] = {"world": []}
        self.joints: list[_Placed] = []

    def result(self) -> Urdf:
        motors = self._motors()
        for body in self.mechanism.bodies.values():
            self._hang(body)
            self.links[body.name] = self._inertial(body)
        for name, visual in self._visuals():
            self.links[name].append(visual)
        if self.mechanism.meshes:
            files = len({file for files in self.mechanism.meshes.values() for file in files})
            links = ", ".join(self.mechanism.meshes)
            self.left_out.append(
                f"{files} mesh{'' if files == 1 else 'es'} of {links}: a mesh is not kept when it is read"
            )
        return Urdf("\n".join(self._lines(motors)) + "\n", self.left_out)

    def _lines(self, motors: dict[str, _Motor]) -> Iterable[str]:
        gravity = self.value(self.mechanism.gravity)
        yield '<?xml version="1.0"?>'
        about = f"{self.system.name}, written by saltus. Gravity is {gravity:g} m/s^2 along -Z, which URDF cannot say."
        yield f"<!-- {escape(about).replace('--', '- -')} -->"
        yield f"<robot name={quoteattr(self.system.name)}>"
        for name, parts in self.links.items():
            if parts:
                yield f"  <link name={quoteattr(name)}>"
                yield from parts
                yield "  </link>"
            else:
                yield f"  <link name={quoteattr(name)}/>"
        for joint in self.joints:
            yield from _joint_lines(joint, motors.get(joint.coordinate))
        yield "</robot>"

    # -- numbers ----------------------------------------------------------------------------

    def value(self, expression: Any) -> Any:
        """An expression of the parameters as a number, or as an array where it is one."""
        m = self.mechanism
        made = ca.Function("value", [m.p], [ca.SX(expression)])(self.system.parameter_values)
        array = np.array(made, dtype=float)
        return float(array.reshape(())) if array.size == 1 else array

    def place(self, at: Iterable[Any]) -> tuple[float, ...]:
        """A vector of the mechanism in the axes of the file."""
        numbers = [self.value(value) + 0.0 for value in at]
        return (numbers[0], 0.0, numbers[1]) if self.flat else tuple(numbers)

    # -- joints -----------------------------------------------------------------------------

    def _hang(self, body: Body) -> None:
        joint, parent, child = body.joint, body.parent, body.name
        if isinstance(joint, Floating):
            for name, axis in ((joint.x, (1.0, 0.0, 0.0)), (joint.y, (0.0, 0.0, 1.0))):
                between = self._between(f"{child}_{name}")
                self.joints.append(_Placed(name, "prismatic", parent, between, axis=axis, coordinate=name))
                parent = between
            axis = (0.0, -float(joint.sense), 0.0)
            self.joints.append(_Placed(joint.angle, "continuous", parent, child, axis=axis, coordinate=joint.angle))
        elif isinstance(joint, FreeFlyer):
            self.joints.append(_Placed(self._joint_name(f"{child}_free"), "floating", parent, child))
        else:
            self.joints.append(self._one(joint, parent, child))

    def _one(self, joint: Any, parent: str, child: str) -> _Placed:
        if not isinstance(joint, Fixed | Weld | Revolute | Hinge | Prismatic | Slider):
            raise InputError(
                f"{self.system.name}: body {child!r} hangs by a joint of its own kind, {type(joint).__name__}, "
                "which URDF cannot say"
            )
        at, turn = self.place(joint.at), self._turn(joint)
        if isinstance(joint, Fixed | Weld):
            return _Placed(self._joint_name(f"{child}_fixed"), "fixed", parent, child, at, turn)
        if isinstance(joint, Revolute):
            axis = (0.0, -float(joint.sense), 0.0)
            return _Placed(joint.name, "continuous", parent, child, at, turn, axis, joint.name)
        if isinstance(joint, Hinge):
            return _Placed(joint.name, "continuous", parent, child, at, turn, joint.axis, joint.name)
        along = self.place(joint.axis)
        length = math.hypot(*along)
        if abs(length - 1) > 1e-12:
            raise InputError(
                f"{self.system.name}: the axis of {joint.name} is {length:g} long; URDF has axes of length one"
            )
        return _Placed(joint.name, "prismatic", parent, child, at, turn, along, joint.name)

    def _turn(self, joint: Any) -> tuple[float, float, float]:
        if self.flat:
            return 0.0, -self.value(getattr(joint, "offset", 0)) + 0.0, 0.0
        return (0.0, 0.0, 0.0) if joint.turn is None else _angles(self.value(joint.turn))

    def _joint_name(self, name: str) -> str:
        """A name for a joint without a coordinate, which no coordinate has."""
        while name in self.mechanism.coordinates or any(joint.name == name for joint in self.joints):
            name += "_"
        return name

    def _between(self, name: str) -> str:
        """A link of no body, between two joints."""
        while name in self.links or name in self.mechanism.bodies:
            name += "_"
        self.links[name] = self._mass(0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
        return name

    def _motors(self) -> dict[str, _Motor]:
        m = self.mechanism
        motors: dict[str, _Motor] = defaultdict(_Motor)
        for actuator in m.actuators.values():
            if actuator.coordinate is None:
                self.left_out.append(f"thruster {actuator.name}: URDF has motors of joints only")
                continue
            gain = self.value(ca.jacobian(ca.SX(actuator.along), m.coordinate(actuator.coordinate).symbol))
            motors[actuator.coordinate].effort += abs(gain) * self.value(actuator.limit)
        for name, coefficient in (*m.damped, *(pair for unit in self.system.units for pair in unit.damping)):
            motors[name].damping += self.value(coefficient)
        for unit in self.system.units:
            if isinstance(unit, JointUnit):
                motor = motors[unit.name]
                motor.friction, motor.lower, motor.upper = map(self.value, unit.coefficients)
            else:
                self.left_out.append(f"{type(unit).__name__} {unit.name}: URDF has no contacts")
        return motors

    # -- links ------------------------------------------------------------------------------

    def _inertial(self, body: Body) -> list[str]:
        mass, inertia = self.value(body.mass), self.value(body.inertia)
        if self.flat:
            # only the moment about Y counts; the others are as of a ball, so that the body is a possible one
            inertia = inertia * np.eye(3)
        return self._mass(mass, self.place(body.com), np.reshape(inertia, (3, 3)))

    def _mass(self, mass: float, com: tuple[float, ...], inertia: np.ndarray) -> list[str]:
        if mass == 0 and self.dummy_mass == 0 and not inertia.any():
            return []
        if mass == 0:
            mass, inertia = self.dummy_mass, inertia if inertia.any() else 1e-2 * self.dummy_mass * np.eye(3)
        entries = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        moments = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i, j in entries)
        return [
            "    <inertial>",
            f"      <origin xyz={_numbers(com)}/>",
            f'      <mass value="{float(mass)!r}"/>',
            f"      <inertia {moments}/>",
            "    </inertial>",
        ]

    def _visuals(self) -> Iterable[tuple[str, str]]:
        """What links look like: their shapes, or cylinders along the skeleton and wheels."""
        m = self.mechanism
        for shape in m.shapes:
            yield shape.body or "world", self._shape(shape)
        if m.shapes:
            return
        for first, second in dict.fromkeys(self.system.skeleton):
            one, other = m.points[first], m.points[second]
            for body in (m.bodies.get(one.body), m.bodies.get(other.body)):
                ends = None if body is None else self._rigid(body, one.position, other.position)
                if ends is not None and body is not None:
                    yield body.name, _rod(*ends)
                    break
        for unit in self.system.units:
            if isinstance(unit, Wheel) and self.flat:
                ends = self._rigid(unit.body, unit.point.position)
                if ends is not None:
                    yield (
                        unit.body.name,
                        _visual(ends[0], (math.pi / 2, 0.0, 0.0), _cylinder(self.value(unit.radius), 0.02)),
                    )

    def _shape(self, shape: Shape) -> str:
        x, y, z = map(self.value, shape.at)
        lengths = [self.value(length) for length in shape.form.lengths]
        if isinstance(shape.form, Box):
            geometry = f"<box size={_numbers(lengths)}/>"
        elif isinstance(shape.form, Cylinder):
            geometry = _cylinder(*lengths)
        else:
            geometry = f'<sphere radius="{lengths[0]!r}"/>'
        # in the plane the third axis points to who looks at it, along -Y
        at, turn = ((x, -z, y), UPRIGHT @ shape.turn) if self.flat else ((x, y, z), shape.turn)
        return _visual(np.array(at), _angles(turn), geometry, shape.colour)

    def _rigid(self, body: Body, *positions: Any) -> list[np.ndarray] | None:
        """Points in the axes of a body, as the file has them, or none if they do not move with it."""
        m, random = self.mechanism, np.random.default_rng(1)
        if self.flat:
            c, s = ca.cos(body.pose.angle), ca.sin(body.pose.angle)
            turn = ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
        else:
            turn = body.pose.rotation
        seen = ca.horzcat(*(turn.T @ (position - body.pose.position) for position in positions))
        function = ca.Function("seen", [m.q, m.p], [seen])
        one, other = (
            np.array(function(random.uniform(-1, 1, m.nq), self.system.parameter_values), dtype=float) for _ in range(2)
        )
        if np.abs(one - other).max() > 1e-9:
            return None
        return [np.array([p[0], 0.0, p[1]]) if self.flat else p for p in one.T]


def _joint_lines(joint: _Placed, motor: _Motor | None) -> Iterable[str]:
    motor = motor or _Motor()
    ranged = math.isfinite(motor.lower) or math.isfinite(motor.upper)
    kind = "revolute" if joint.kind == "continuous" and ranged else joint.kind
    yield f'  <joint name={quoteattr(joint.name)} type="{kind}">'
    yield f"    <parent link={quoteattr(joint.parent)}/>"
    yield f"    <child link={quoteattr(joint.child)}/>"
    yield f"    <origin xyz={_numbers(joint.at)} rpy={_numbers(joint.turn)}/>"
    if joint.axis is not None:
        yield f"    <axis xyz={_numbers(joint.axis)}/>"
        lower, upper = max(motor.lower, -ENDLESS), min(motor.upper, ENDLESS)
        between = "" if kind == "continuous" else f'lower="{lower!r}" upper="{upper!r}" '
        yield f'    <limit {between}effort="{min(motor.effort, ENDLESS)!r}" velocity="{ENDLESS!r}"/>'
        if motor.damping or motor.friction:
            yield f'    <dynamics damping="{motor.damping!r}" friction="{motor.friction!r}"/>'
    yield "  </joint>"


def _numbers(values: Iterable[float]) -> str:
    return '"' + " ".join(repr(float(value)) for value in values) + '"'


def _rod(start: np.ndarray, end: np.ndarray) -> str:
    """A cylinder from one point to another; a ball where they are one."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return _visual(start, (0.0, 0.0, 0.0), '<sphere radius="0.02"/>')
    turn = (0.0, math.atan2(math.hypot(along[0], along[1]), along[2]), math.atan2(along[1], along[0]))
    return _visual((start + end) / 2, turn, _cylinder(0.03 * length, length))


def _cylinder(radius: float, length: float) -> str:
    return f'<cylinder radius="{radius!r}" length="{length!r}"/>'


def _visual(at: np.ndarray, turn: tuple[float, ...], geometry: str, colour: Any = None) -> str:
    material = "" if colour is None else f'\n      <material name=""><color rgba={_numbers(colour)}/></material>'
    return (
        f"    <visual>\n      <origin xyz={_numbers(at)} rpy={_numbers(turn)}/>\n"
        f"      <geometry>{geometry}</geometry>{material}\n    </visual>"
    )


def _angles(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation matrix, as URDF has them."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-9:  # looking straight up or down: all turning about z is yaw
        return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
