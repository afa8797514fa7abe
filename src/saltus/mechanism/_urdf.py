"""Mechanisms from URDF files: pinocchio reads joints and where they are, the masses of every link stay parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from saltus.errors import unknown_name
from saltus.mechanism._mechanism import WORLD, Body, Mechanism
from saltus.mechanism._shapes import Box, Cylinder, Sphere
from saltus.mechanism._space import FreeFlyer, Hinge, Slider, Weld
from saltus.mechanism._urdf_file import Description, Inertial, JointEntry, Visual, describe, exact
from saltus.mechanism._urdf_lint import ERROR, judge, refuse
from saltus.mechanism._urdf_pinocchio import file_name, model_name, pinocchio_model

MESHES = ("ignore", "check")
_ROUND: dict[str, Any] = {"cylinder": Cylinder, "sphere": Sphere}
_FLYER = FreeFlyer()
# Names that a free-flyer takes, for its coordinates, velocities and readings.
_TAKEN = (*(name for name, _ in (*_FLYER.coordinates, *_FLYER.velocities)), "yaw", "roll", "pitch")


@dataclass(frozen=True)
class JointLimits:
    """What a file says of a joint and a mechanism does not hold: range (rad or m) and dry friction (N m or N)."""

    coordinate: str
    lower: float
    upper: float
    friction: float
    unit: str

    @property
    def ranged(self) -> bool:
        """Whether it is limited, on one side or both."""
        return self.lower > -math.inf or self.upper < math.inf

    @property
    def inside(self) -> float:
        """Where it may be: zero if that is in its range, else the middle of it, or its only limit."""
        if self.lower <= 0 <= self.upper:
            return 0.0
        if math.isinf(self.upper - self.lower):
            return self.lower if self.lower > -math.inf else self.upper
        return (self.lower + self.upper) / 2


@dataclass(frozen=True)
class Imported:
    """A mechanism and what else its file says."""

    mechanism: Mechanism
    limits: tuple[JointLimits, ...]
    skeleton: tuple[tuple[str, str], ...]


def read_urdf(
    source: str | Path, *, free_flyer: bool = False, name: str | None = None, meshes: str = "ignore", lint: bool = True
) -> Mechanism:
    """The mechanism that a URDF file describes: a tree of revolute, continuous, prismatic and fixed joints.

    Coordinates are named after the joints, actuators and bodies and points after joints and links; every character that
    is not a letter, digit or underscore becomes an underscore. A joint whose name is taken (by another,
    or by a free-flyer: x, y, z, qw, ..., roll, pitch, yaw) gets ``_joint`` at its end, and then a number; a link
    so, or named world, gets ``_link``.
    Parameters of a link that moves: ``<link>_mass`` (kg) and, where not zero, ``<link>_com_x`` to ``_z`` (m) and
    ``<link>_ixx`` to ``_izz`` (kg m^2, about the centre of mass in the link's axes); of a joint, ``<joint>_effort`` and
    ``<joint>_damping``; and gravity, ``g``. A joint whose effort is given as zero has no actuator, one without effort
    an actuator without limit. Boxes, cylinders and spheres that are seen become shapes; meshes do not.

    Parameters
    ----------
    source
        A path, or the text of a file.
    free_flyer
        The root link is free in space. Otherwise it is fixed to the world.
    name
        Of the mechanism; that of the file if none is given.
    meshes
        ``check`` refuses a file whose meshes are missing; ``ignore`` does not look for them.
    lint
        Refuse what the linter finds to be an error. Without it, only what cannot be built is refused.
    """
    return import_urdf(source, free_flyer=free_flyer, name=name, meshes=meshes, lint=lint).mechanism


def import_urdf(
    source: str | Path, *, free_flyer: bool = False, name: str | None = None, meshes: str = "ignore", lint: bool = True
) -> Imported:
    """The same, with what a mechanism does not hold."""
    if meshes not in MESHES:
        raise unknown_name("choice of meshes", meshes, MESHES)
    description = describe(source)
    missing = ERROR if meshes == "check" else None
    refuse(description, judge(description, free_flyer=free_flyer, missing_meshes=missing), everything=lint)
    return _Reader(description, free_flyer, name).result()


class _Reader:
    """Makes a mechanism of a description, in the order of pinocchio's frames."""

    def __init__(self, description: Description, free_flyer: bool, name: str | None):
        self.description, self.free_flyer = description, free_flyer
        self.model = pinocchio_model(description, free_flyer=free_flyer)
        self.mechanism = m = Mechanism(name or identifier(description.name) or "robot", dimension=3)
        self.source = description.where
        m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity, along -z")
        self.coordinates = self._coordinates()
        # last the one that cannot keep its name, so that it takes no other's
        self.links = _distinct(sorted(description.links, key=lambda name: name == WORLD), (WORLD,), "link")
        self.bodies: dict[str, Body] = {}
        self.moving: set[str] = set()
        self.limits: list[JointLimits] = []
        self.skeleton: list[tuple[str, str]] = []

    def result(self) -> Imported:
        import pinocchio as pin

        frames = self.model.frames
        for frame in frames:
            if frame.type == pin.FrameType.BODY:
                above = frames[frame.parentFrame]
                joint = self.description.joints.get(file_name(above.name))
                self._link(frame.name, joint, None if joint is None else self._placement(above, frames))
        return Imported(self.mechanism, tuple(self.limits), tuple(self.skeleton))

    def _coordinates(self) -> dict[str, str]:
        """The coordinate of each moving joint."""
        moving = [joint.name for joint in self.description.joints.values() if joint.moves and joint.type != "floating"]
        floats = self.free_flyer or any(joint.type == "floating" for joint in self.description.joints.values())
        return _distinct(moving, _TAKEN if floats else (), "joint")

    def _placement(self, above: Any, frames: Any) -> Any:
        """Where a joint is in its parent link: pinocchio has both as seen from the moving joint before them."""
        import pinocchio as pin

        at = self.model.jointPlacements[above.parentJoint] if above.type == pin.FrameType.JOINT else above.placement
        return frames[above.parentFrame].placement.inverse() * at

    def _link(self, name: str, joint: JointEntry | None, placement: Any) -> None:
        """Add a link, hung by its joint; a root has none."""
        m = self.mechanism
        if joint is None:
            made, parent = (FreeFlyer() if self.free_flyer else Weld()), None
        else:
            made, parent = self._joint(joint, placement), self.bodies[joint.parent]
            if isinstance(made, FreeFlyer):
                parent = None
        if not isinstance(made, Weld) or (joint is not None and joint.parent in self.moving):
            self.moving.add(name)
        inertial = self.description.links[name].inertial if name in self.moving else None
        mass, inertia, com = self._inertial(self.links[name], inertial)
        body = m.body(self.links[name], made, parent=parent, mass=mass, inertia=inertia, com=com)
        self.bodies[name] = body
        m.point(body.name, body)
        for visual in self.description.links[name].visuals:
            self._shape(body, visual)
        if self.description.links[name].meshes:
            m.meshes[body.name] = self.description.links[name].meshes
        if parent is not None:
            self.skeleton.append((parent.name, body.name))
        if joint is not None and joint.name in self.coordinates:
            self._drive(joint, self.coordinates[joint.name])

    def _joint(self, joint: JointEntry, placement: Any) -> Any:
        if joint.type == "floating":
            return FreeFlyer()
        x, y, z = map(_near_zero, placement.translation)
        at, matrix = (x, y, z), exact(placement.rotation)
        turn = None if np.array_equal(matrix, np.eye(3)) else matrix
        if joint.type == "fixed":
            return Weld(at, turn)
        index = self.model.getJointId(model_name(joint.name))
        subspace = self._subspace(index)
        kind, axis = (Slider, subspace[:3]) if joint.type == "prismatic" else (Hinge, subspace[3:])
        x, y, z = map(float, axis)
        return kind(self.coordinates[joint.name], (x, y, z), at, turn)

    def _subspace(self, index: int) -> np.ndarray:
        import pinocchio as pin

        joint = self.model.joints[index]
        data = joint.createData()
        joint.calc(data, pin.neutral(self.model))
        return np.asarray(data.S).reshape(6)

    def _inertial(self, link: str, inertial: Inertial | None) -> tuple[Any, Any, tuple[Any, ...]]:
        """Parameters of a link's mass and how it is spread; what is zero stays so."""
        if inertial is None:
            return 0, 0, (0, 0, 0)
        m, source = self.mechanism, self.source
        mass = m.parameter(
            f"{link}_mass", inertial.mass, "kg", f"mass of {link}", source=source, lower=0, positive=inertial.mass > 0
        )
        com = []
        for axis, value in zip("xyz", inertial.com, strict=True):
            about = f"centre of mass of {link} along its {axis}"
            declared = value != 0
            com.append(m.parameter(f"{link}_com_{axis}", value, "m", about, source=source) if declared else 0)
        inertia = [[0] * 3 for _ in range(3)]
        tiny = 1e-15 * np.abs(inertial.inertia).max()  # what turning by quarters leaves
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            value, pair = float(inertial.inertia[i, j]), "xyz"[i] + "xyz"[j]
            if abs(value) > tiny:
                about = f"inertia of {link} about its centre of mass, in its axes"
                lower = 0.0 if i == j and value >= 0 else -math.inf
                entry = m.parameter(
                    f"{link}_i{pair}", value, "kg m^2", about, source=source, lower=lower, positive=lower == 0
                )
                inertia[i][j] = inertia[j][i] = entry
        return mass, inertia, tuple(com)

    def _shape(self, body: Body, visual: Visual) -> None:
        if min(visual.lengths) <= 0 or (
            visual.colour is not None and not all(0 <= part <= 1 for part in visual.colour)
        ):
            return  # nothing to be seen, and no reason to refuse what moves as it should
        form = Box(visual.lengths) if visual.form == "box" else _ROUND[visual.form](*visual.lengths)  # type: ignore[arg-type]
        self.mechanism.shape(body, form, at=visual.at, turn=visual.turn, colour=visual.colour)

    def _drive(self, joint: JointEntry, coordinate: str) -> None:
        """The actuator, damping and limits of a joint."""
        m = self.mechanism
        unit = "N" if joint.type == "prismatic" else "N m"
        length = "m" if joint.type == "prismatic" else "rad"
        limit: Any = math.inf
        if joint.effort:
            about, effort = f"limit of the motor of {coordinate}", abs(joint.effort)
            limit = m.parameter(f"{coordinate}_effort", effort, unit, about, source=self.source, lower=0)
        if joint.driven:
            m.actuator(coordinate, coordinate, limit=limit)
        if joint.damping > 0:
            name, units = f"{coordinate}_damping", f"{unit} s/{length}"
            damping = m.parameter(
                name, joint.damping, units, f"viscous friction of {coordinate}", source=self.source, lower=0
            )
            m.damping(coordinate, damping)
        limited = joint.type != "continuous"
        lower = joint.lower if limited and joint.lower is not None else -math.inf
        upper = joint.upper if limited and joint.upper is not None else math.inf
        self.limits.append(JointLimits(coordinate, lower, upper, joint.friction, length))


def identifier(name: str) -> str:
    """A name as an identifier: letters, digits and underscores, not beginning with a digit."""
    text = re.sub(r"\W", "_", name)
    return f"_{text}" if text[:1].isdigit() else text


def _distinct(names: Iterable[str], taken: Iterable[str], kind: str) -> dict[str, str]:
    """Identifiers for names, all different, none taken and none the rate of another."""
    made: dict[str, str] = {}
    used = set(taken)
    for name in names:
        base = wanted = identifier(name)
        if wanted in used or f"d{wanted}" in used:
            wanted = base = f"{base}_{kind}"
        number = 2
        while wanted in used or f"d{wanted}" in used:
            wanted, number = f"{base}_{number}", number + 1
        used |= {wanted, f"d{wanted}"}
        made[name] = wanted
    return made


def _near_zero(value: float) -> float:
    return 0.0 if abs(value) < 1e-15 else float(value)
