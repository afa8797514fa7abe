"""How pinocchio reads a URDF file: its model, and what it says of the mass matrix."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from saltus.errors import InputError, SaltusError
from saltus.mechanism._urdf_file import INERTIA_ENTRIES, Description, Node, parsed

_JOINT = "joint "
# Limits that pinocchio accepts, of all joints: those of the file are not its to judge.
LIMITS = {"lower": "-1", "upper": "1", "effort": "1", "velocity": "1"}


def pinocchio_model(description: Description, *, free_flyer: bool) -> Any:
    """Pinocchio's model of a description that has a tree."""
    try:
        import pinocchio as pin
    except ImportError as error:
        raise SaltusError(f"reading URDF needs pinocchio, which cannot be loaded ({error}): pip install pin") from None
    text = _plain(description)
    try:
        if free_flyer:
            return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        return pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise InputError(f"pinocchio cannot read {description.where}: {error}") from None


def wholes(model: Any) -> dict[str, tuple[float, np.ndarray]]:
    """Mass, and inertia about the centre of mass, of what each link is part of: all that is welded to it.

    What does not move has none: nothing depends on it.
    """
    import pinocchio as pin

    found = {}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint != 0:
            inertia = model.inertias[frame.parentJoint]
            found[frame.name] = float(inertia.mass), np.array(inertia.inertia)
    return found


def motionless(model: Any) -> tuple[list[str], list[str]]:
    """Joints that move no mass, and joints that can move together without moving any.

    The mass matrix is singular for both. It is looked at in some random configurations: one that is singular in all
    of them is so because of how it is built.
    """
    import pinocchio as pin

    data, random = model.createData(), np.random.default_rng(1)
    alone, together = None, None
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), random.uniform(-1, 1, model.nv))
        M = np.array(pin.crba(model, data, q))
        M = np.triu(M) + np.triu(M, 1).T
        size = np.sqrt(np.diag(M))
        nothing = size <= 1e-9 * max(size.max(initial=0), 1e-300)
        kept = np.flatnonzero(~nothing)
        values, vectors = np.linalg.eigh(M[np.ix_(kept, kept)] / np.outer(size[kept], size[kept]))
        null = vectors[:, values < 1e-13]
        part = set(kept[np.abs(null).max(axis=1, initial=0) > 0.1])
        alone = set(np.flatnonzero(nothing)) if alone is None else alone & set(np.flatnonzero(nothing))
        together = part if together is None else together & part
    return _joints(model, alone or set()), _joints(model, together or set())


def _joints(model: Any, places: set[Any]) -> list[str]:
    """Names of the joints that velocities belong to, "" for a free root; the first is none, it is the world's."""
    joints = list(zip(model.names, model.joints, strict=True))[1:]
    return [file_name(name) for name, joint in joints if places & set(range(joint.idx_v, joint.idx_v + joint.nv))]


def model_name(joint: str) -> str:
    """What a joint of the file is called in the model, where "universe" and "root_joint" are pinocchio's own."""
    return _JOINT + joint


def file_name(frame: str) -> str:
    """What a joint of the model is called in the file, "" if it is not from there."""
    return frame.removeprefix(_JOINT) if frame.startswith(_JOINT) else ""


def _plain(description: Description) -> str:
    """Links with their inertials and joints with their places and axes: what pinocchio is asked about.

    What it would not read, and nothing here needs, is left out or filled in: limits, entries of inertias that are zero
    by not being there, spaces around names, and all that is only seen.
    """
    root = parsed(description.text, description.where)
    plain = Node("robot", {"name": "robot"}, root.line)
    for link in root.all("link"):
        made = Node("link", {"name": link.attributes["name"].strip()}, link.line)
        inertial = link.child("inertial")
        if inertial is not None:
            made.children = [part for tag in ("origin", "mass", "inertia") if (part := inertial.child(tag)) is not None]
            for inertia in made.all("inertia"):
                inertia.attributes = {entry: inertia.attributes.get(entry, "0") for entry in INERTIA_ENTRIES}
            made.children = [Node("inertial", {}, inertial.line, made.children)]
        plain.children.append(made)
    for joint in root.all("joint"):
        name, kind = joint.attributes["name"].strip(), joint.attributes["type"]
        parts = [part for tag in ("origin", "axis") if (part := joint.child(tag)) is not None]
        entry = description.joints[name]
        parts += [Node("parent", {"link": entry.parent}, joint.line), Node("child", {"link": entry.child}, joint.line)]
        if kind in ("revolute", "prismatic", "continuous"):
            parts.append(Node("limit", LIMITS, joint.line))
        plain.children.append(Node("joint", {"name": model_name(name), "type": kind}, joint.line, parts))
    return _written(plain)


def _written(node: Node) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>{''.join(map(_written, node.children))}</{node.tag}>"
