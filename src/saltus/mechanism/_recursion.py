"""The equations of motion in space, by recursion over the tree of bodies: composite inertias and Newton-Euler.

Notation: [featherstone2008, chapters 5 and 6], in the axes of each body; accelerations are those seen in the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from saltus.mechanism._mechanism import Body, Mechanism
from saltus.mechanism._space import Motion, column, cross


@dataclass
class _Load:
    """What a body and all that hangs on it are: mass, its first moment and inertia about the body's origin; and
    the moment and force that their motion and gravity need there."""

    mass: Any
    first: Any
    inertia: Any
    moment: Any = 0
    force: Any = 0


@dataclass(frozen=True)
class _Hung:
    """A body that moves, with all that is welded to it: where it is in the one that it hangs on, and its columns."""

    body: Body
    parent: str
    turn: Any
    origin: Any
    places: list[int]

    @property
    def columns(self) -> Any:
        return self.body.motion.columns


def in_space(mechanism: Mechanism) -> tuple[Any, Any, Any, Any]:
    """Mass matrix, forces of motion and gravity, and both energies.

    What is welded together is one body: the equations are as long as there are joints, not links.
    """
    heads, loads = _rigid(mechanism)
    kinetic = potential = ca.SX(0)
    down = {"world": ca.vertcat(0, 0, mechanism.gravity)}
    for name, load in loads.items():
        head = heads[name]
        down[name] = head.turn.T @ down[head.parent] if head.parent else down["world"]
        kinetic += _move(load, head.body.motion, down[name])
        pose = head.body.pose
        potential += mechanism.gravity * (load.mass * pose.position[2] + (pose.rotation @ load.first)[2])
    for name, head in reversed(heads.items()):
        if head.parent not in ("", "world"):
            _hang(loads[name], head, loads[head.parent])
    M = ca.SX(mechanism.nv, mechanism.nv)
    h = ca.SX.zeros(mechanism.nv)
    for name, head in heads.items():
        if head.places:
            load = loads[name]
            h[head.places] = head.columns.T @ ca.vertcat(load.moment, load.force)
            _fill(M, heads, name, load)
    return ca.densify(M), h, kinetic, potential


def _rigid(mechanism: Mechanism) -> tuple[dict[str, _Hung], dict[str, _Load]]:
    """Bodies that move (and the world), and what each is together with all that is welded to it."""
    world = mechanism.world
    heads = {"world": _Hung(world, "", ca.SX.eye(3), ca.SX.zeros(3), [])}
    loads = {"world": _Load(ca.SX(0), ca.SX.zeros(3), ca.SX.zeros(3, 3))}
    # the head of each body, and how the body is turned and where it is in its head
    within = {"world": ("world", ca.SX.eye(3), ca.SX.zeros(3))}
    first = 0
    for name, body in mechanism.bodies.items():
        motion = body.motion
        head, turn, origin = within[motion.parent]
        turn, origin = turn @ motion.turn, origin + turn @ motion.origin
        count = motion.columns.shape[1]
        own = _own(body)
        if count == 0:
            within[name] = (head, turn, origin)
            _add(loads[head], own, turn, origin)
            continue
        heads[name] = _Hung(body, head, turn, origin, list(range(first, first + count)))
        loads[name] = own
        within[name] = (name, ca.SX.eye(3), ca.SX.zeros(3))
        first += count
    return heads, loads


def _own(body: Body) -> _Load:
    """What one body is by itself, about its origin."""
    com = column(body.com)
    about = body.inertia + body.mass * (ca.dot(com, com) * ca.SX.eye(3) - com @ com.T)
    return _Load(body.mass, body.mass * com, about)


def _move(load: _Load, motion: Motion, down: Any) -> Any:
    """The moment and force that a body's motion and gravity need, and its kinetic energy."""
    spin, speed, mass, first = motion.spin, motion.speed, load.mass, load.first
    momentum = load.inertia @ spin
    bias = motion.bias + down
    load.force = mass * bias + cross(motion.spin_bias, first) + cross(spin, cross(spin, first))
    load.moment = load.inertia @ motion.spin_bias + cross(spin, momentum) + cross(first, bias)
    return (mass * ca.dot(speed, speed) + ca.dot(spin, momentum)) / 2 + ca.dot(speed, cross(spin, first))


def _add(load: _Load, other: _Load, turn: Any, origin: Any) -> None:
    """Add the mass of what is turned and shifted."""
    first = turn @ other.first
    cross_terms = first @ origin.T + origin @ first.T + other.mass * (origin @ origin.T)
    spread = 2 * ca.dot(first, origin) + other.mass * ca.dot(origin, origin)
    load.inertia += turn @ other.inertia @ turn.T + spread * ca.SX.eye(3) - cross_terms
    load.first += first + other.mass * origin
    load.mass += other.mass


def _hang(load: _Load, head: _Hung, parent: _Load) -> None:
    """Add what a body carries to its parent."""
    _add(parent, load, head.turn, head.origin)
    force = head.turn @ load.force
    parent.force += force
    parent.moment += head.turn @ load.moment + cross(head.origin, force)


def _fill(M: Any, heads: dict[str, _Hung], name: str, load: _Load) -> None:
    """Columns of the mass matrix for the velocities of one body: the momentum that each gives, up to the root."""
    for k, place in enumerate(heads[name].places):
        turning, shifting = heads[name].columns[:3, k], heads[name].columns[3:, k]
        force = load.mass * shifting + cross(turning, load.first)
        moment = load.inertia @ turning + cross(load.first, shifting)
        at = name
        while at != "world":
            head = heads[at]
            for other, row in zip(ca.horzsplit(head.columns), head.places, strict=True):
                M[row, place] = M[place, row] = ca.dot(other[:3], moment) + ca.dot(other[3:], force)
            force = head.turn @ force
            moment = head.turn @ moment + cross(head.origin, force)
            at = head.parent
    if len(heads[name].places) == 6:  # a free-flyer: turning to the world and back leaves no trace
        linear = heads[name].places[:3]
        M[linear, linear] = load.mass * ca.SX.eye(3)
