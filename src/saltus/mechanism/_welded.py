"""Bodies that are welded together, taken as the one body that they are."""

from __future__ import annotations

from typing import Any

import casadi as ca

from saltus.mechanism._mechanism import WORLD, Body, Mechanism
from saltus.mechanism._space import column


def welded(mechanism: Mechanism) -> dict[str, tuple[str, ...]]:
    """The names of all bodies that each body of a mechanism in space is one with, its own among them.

    What is welded to the world is not one with anything: nothing depends on its mass.
    """
    heads: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name, body in mechanism.bodies.items():
        still = body.parent == WORLD or body.motion.columns.shape[1] > 0
        heads[name] = name if still else heads[body.parent]
        groups.setdefault(heads[name], []).append(name)
    return {name: tuple(groups[head]) for name, head in heads.items()}


def whole(mechanism: Mechanism, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Mass, and inertia about the centre of mass in the axes of the first, of bodies that are welded together.

    The mass is that of all, and the inertia the sum of theirs and of m d^2 for each, d from the common centre.
    """
    bodies = [mechanism.bodies[name] for name in names]
    if len(bodies) == 1:
        return bodies[0].mass, bodies[0].inertia
    frames = {names[0]: (ca.SX.eye(3), ca.SX.zeros(3))}
    for body in bodies[1:]:
        turn, origin = frames[body.parent]
        frames[body.name] = turn @ body.motion.turn, origin + turn @ body.motion.origin
    mass = ca.SX(0)
    first = ca.SX.zeros(3)
    for body in bodies:
        mass += body.mass
        first += body.mass * _centre(body, frames)
    centre = first / ca.if_else(mass == 0, 1, mass)
    inertia = ca.SX.zeros(3, 3)
    for body in bodies:
        turn, arm = frames[body.name][0], _centre(body, frames) - centre
        inertia += turn @ body.inertia @ turn.T + body.mass * (ca.dot(arm, arm) * ca.SX.eye(3) - arm @ arm.T)
    return mass, inertia


def _centre(body: Body, frames: dict[str, Any]) -> Any:
    turn, origin = frames[body.name]
    return origin + turn @ column(body.com)
