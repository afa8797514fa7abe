"""How pinocchio reads a URDF file: its model, and what it says of the mass matrix."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from saltus.errors import InputError, SaltusError
from saltus.mechanism._urdf_file import Description, Node, parsed


def pinocchio_model(description: Description, *, free_flyer: bool) -> Any:
    """Pinocchio's model of a description that has a tree."""
    try:
        import pinocchio as pin
    except ImportError as error:
        raise SaltusError(f"reading URDF needs pinocchio, which cannot be loaded ({error}): pip install pin") from None
    text = _mended(description)
    try:
        if free_flyer:
            return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        return pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise InputError(f"pinocchio cannot read {description.where}: {error}") from None


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
    """Names of the joints that velocities belong to; the first is none, it is the world's."""
    joints = list(zip(model.names, model.joints, strict=True))[1:]
    return [name for name, joint in joints if places & set(range(joint.idx_v, joint.idx_v + joint.nv))]


def _mended(description: Description) -> str:
    """The text, with limits added where they are lacking: pinocchio would not read it, and nothing here needs them."""
    lacking = [
        joint
        for joint in description.joints.values()
        if joint.type in ("revolute", "prismatic") and (joint.effort is None or joint.velocity is None)
    ]
    if not lacking:
        return description.text
    root = parsed(description.text, description.where)
    names = {joint.name for joint in lacking}
    for node in root.all("joint"):
        if node.attributes["name"].strip() in names:
            limit = node.child("limit")
            if limit is None:
                limit = Node("limit", {}, node.line)
                node.children.append(limit)
            limit.attributes.update({key: limit.attributes.get(key, "0") for key in ("effort", "velocity")})
    return _written(root)


def _written(node: Node) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>{''.join(map(_written, node.children))}</{node.tag}>"
