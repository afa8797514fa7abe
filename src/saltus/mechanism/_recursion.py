"""The equations of motion in space, by recursion over the tree of bodies: composite inertias and Newton-Euler.

Notation: [featherstone2008, chapters 5 and 6], in the axes of each body; accelerations are those seen in the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from saltus.mechanism._mechanism import Body, Mechanism
from saltus.mechanism._space import column, cross


@dataclass
class _Load:
    """What a body and all that hangs on it are: mass, its first moment and inertia about the body's origin; and
    the moment and force that their motion and gravity need there."""

    mass: Any
    first: Any
    inertia: Any
    moment: Any
    force: Any


def in_space(mechanism: Mechanism) -> tuple[Any, Any, Any, Any]:
    """Mass matrix, forces of motion and gravity, and both energies."""
    bodies = mechanism.bodies
    kinetic = potential = ca.SX(0)
    down = {"world": ca.vertcat(0, 0, mechanism.gravity)}
    loads = {}
    for name, body in bodies.items():
        motion = body.motion
        down[name] = motion.turn.T @ down[motion.parent]
        loads[name], energy = _own(body, down[name])
        kinetic += energy
        potential += body.mass * mechanism.gravity * body.pose.point(body.com)[2]
    for name, body in reversed(bodies.items()):
        if body.motion.parent != "world":
            _hang(loads[name], body, loads[body.motion.parent])
    M = ca.SX(mechanism.nv, mechanism.nv)
    h = ca.SX.zeros(mechanism.nv)
    places = _places(bodies)
    for name, body in bodies.items():
        load, own, columns = loads[name], places[name], body.motion.columns
        if own:
            h[own] = columns.T @ ca.vertcat(load.moment, load.force)
            _fill(M, bodies, places, name, load)
    return ca.densify(M), h, kinetic, potential


def _places(bodies: dict[str, Body]) -> dict[str, list[int]]:
    """The places of each body's velocities among all."""
    places, first = {}, 0
    for name, body in bodies.items():
        count = body.motion.columns.shape[1]
        places[name] = list(range(first, first + count))
        first += count
    return places


def _own(body: Body, down: Any) -> tuple[_Load, Any]:
    """What one body is and needs by itself, and its kinetic energy."""
    motion, mass, inertia, com = body.motion, body.mass, body.inertia, column(body.com)
    momentum = inertia @ motion.spin
    speed = motion.speed + cross(motion.spin, com)
    bias = motion.bias + cross(motion.spin_bias, com) + cross(motion.spin, cross(motion.spin, com)) + down
    force = mass * bias
    moment = inertia @ motion.spin_bias + cross(motion.spin, momentum) + cross(com, force)
    about = inertia + mass * (ca.dot(com, com) * ca.SX.eye(3) - com @ com.T)
    energy = (mass * ca.dot(speed, speed) + ca.dot(motion.spin, momentum)) / 2
    return _Load(mass, mass * com, about, moment, force), energy


def _hang(load: _Load, body: Body, parent: _Load) -> None:
    """Add what a body carries to its parent."""
    turn, origin = body.motion.turn, body.motion.origin
    first, force = turn @ load.first, turn @ load.force
    cross_terms = first @ origin.T + origin @ first.T + load.mass * (origin @ origin.T)
    spread = 2 * ca.dot(first, origin) + load.mass * ca.dot(origin, origin)
    parent.inertia += turn @ load.inertia @ turn.T + spread * ca.SX.eye(3) - cross_terms
    parent.first += first + load.mass * origin
    parent.mass += load.mass
    parent.force += force
    parent.moment += turn @ load.moment + cross(origin, force)


def _fill(M: Any, bodies: dict[str, Body], places: dict[str, list[int]], name: str, load: _Load) -> None:
    """Columns of the mass matrix for the velocities of one body: the momentum that each gives, up to the root."""
    columns = bodies[name].motion.columns
    for k, place in enumerate(places[name]):
        turning, shifting = columns[:3, k], columns[3:, k]
        force = load.mass * shifting + cross(turning, load.first)
        moment = load.inertia @ turning + cross(load.first, shifting)
        at = name
        while at != "world":
            motion = bodies[at].motion
            for other, row in zip(ca.horzsplit(motion.columns), places[at], strict=bool(places[at])):
                M[row, place] = M[place, row] = ca.dot(other[:3], moment) + ca.dot(other[3:], force)
            force = motion.turn @ force
            moment = motion.turn @ moment + cross(motion.origin, force)
            at = motion.parent
    if len(places[name]) == 6:  # a free-flyer: turning to the world and back leaves no trace
        linear = places[name][:3]
        M[linear, linear] = load.mass * ca.SX.eye(3)
