"""The behaviour of all units as the engine compiles it: each question goes to the unit's own kind."""

import numpy as np

from saltus._native import compiled
from saltus.contact import _grip as grip
from saltus.contact import _ground as ground
from saltus.contact import _joint as joint
from saltus.contact import _space as space
from saltus.contact._unit import GRIP, GROUND, JOINT, POSITION, REACH, SPACE, SPEED


@compiled
def on_ground(kind):
    """Whether a unit meets a ground: its second row is normal to that."""
    return kind in (GROUND, SPACE)


@compiled
def row_count(kind):
    """How many rows a unit has."""
    if kind == SPACE:
        return 3
    return 1 if kind == JOINT else 2


@compiled
def guard_kinds(kind, status, c0, c1, c2):
    """How each of the three guards of a status is evaluated."""
    if kind == GROUND:
        return ground.guard_kinds(status, c0)
    if kind == SPACE:
        return space.guard_kinds(status, c0)
    if kind == GRIP:
        return grip.guard_kinds(status)
    return joint.guard_kinds(status, c1, c2)


@compiled
def guard_values(kind, status, r0, r1, v0, reach, f0, f1, c0, c1, c2):
    """The guards of a status, positive inside, from positions, velocities and forces of its rows.

    In space the first velocity is that along the direction of slip, and the first force the size of friction.
    """
    if kind == GROUND:
        return ground.guard_values(status, r1, v0, f0, f1, c0)
    if kind == SPACE:
        return space.guard_values(status, r1, v0, f0, f1, c0)
    if kind == GRIP:
        return grip.guard_values(status, reach)
    return joint.guard_values(status, r0, v0, f0, c0, c1, c2)


@compiled
def guard_stuff(kind, status, slot):
    """What a kinematic guard is made of, and of which row."""
    if on_ground(kind):
        return (POSITION, 1) if slot == 0 else (SPEED, 0)
    if kind == GRIP:
        return REACH, 0
    return (SPEED, 0) if slot == 1 and status != joint.FREE else (POSITION, 0)


@compiled
def edge(kind, status, slot, c0):
    """Where a guard leads: a status, IMPACT or TEST."""
    if kind == GROUND:
        return ground.edge(status, slot)
    if kind == SPACE:
        return space.edge(status, slot)
    if kind == GRIP:
        return grip.edge(status)
    return joint.edge(status, slot, c0)


@compiled
def candidates(kind, status, ended, touch, still, v0, c0):
    """The statuses, as bits, that a unit may take next."""
    if kind == GROUND:
        return ground.candidates(ended, v0, still, c0) if touch == 1 else 1 << ground.OPEN
    if kind == SPACE:
        return space.candidates(ended, still, c0) if touch == 1 else 1 << space.OPEN
    if kind == GRIP:
        return 1 << status
    return joint.candidates(ended, touch, still, v0, c0)


@compiled
def margins(kind, status, touch, still, f0, f1, a0, a1, c0):
    """Two numbers that are positive where a status is consistent, and whether each is a force."""
    if kind == GROUND:
        return ground.margins(status, touch, still, f0, f1, a0, a1, c0)
    if kind == SPACE:
        return space.margins(status, touch, still, f0, f1, a0, a1, c0)
    if kind == GRIP:
        return 1.0e300, 1.0e300, True, True
    margin, force = joint.margins(status, touch, still, f0, a0, c0)
    return margin, 1.0e300, force, True


@compiled
def presumed(kind, status, touch, still, v0, c0):
    """What a unit's status will most likely be, before the forces are known."""
    if kind == GRIP:
        return status
    if kind == SPACE:
        if touch == 0:
            return space.OPEN
        if status != space.OPEN:
            return status
        return space.STICK if still else space.SLIP
    if kind == GROUND:
        if touch == 0:
            return ground.OPEN
        if status != ground.OPEN:
            return status
        if still:
            return ground.STICK
        return ground.SLIP_PLUS if v0 > 0.0 else ground.SLIP_MINUS
    if touch != 0:
        return joint.LOWER if touch == 1 else joint.UPPER
    if c0 <= 0.0:
        return joint.FREE
    if still:
        return joint.STUCK
    return joint.PLUS if v0 > 0.0 else joint.MINUS


@compiled
def touching(kind, status):
    """Whether a status rests on something: 1, or 2 at the upper stop of a joint."""
    if on_ground(kind):
        return 0 if status == ground.OPEN else 1
    if kind == GRIP:
        return 1 if status == grip.CLOSED else 0
    if status == joint.LOWER:
        return 1
    return 2 if status == joint.UPPER else 0


@compiled
def holds(kind, status):
    """Whether the unit's first row stands still."""
    if on_ground(kind):
        return status == ground.STICK
    if kind == GRIP:
        return status == grip.CLOSED
    return status == joint.STUCK or status == joint.LOWER or status == joint.UPPER


@compiled
def slides(kind, status):
    """Whether the unit's first row moves in one direction only, which its second guard watches."""
    if kind == GRIP:
        return False
    if kind == SPACE:
        return status == space.SLIP
    return status == ground.SLIP_PLUS or status == ground.SLIP_MINUS


@compiled
def guard_slope(kind, status, slot, r0, r1, v0, reach, f0, f1, c0, c1, c2, force, friction):
    """Change of a guard under changes of what it is made of; ``force`` and ``friction`` are the values themselves.

    Guards are linear in all of it but for friction times normal force.
    """
    if kind == GROUND and status == ground.STICK and slot > 0:
        bound = friction * f1 + c0 * force
        return bound - f0 if slot == 1 else bound + f0
    a, b, c = guard_values(kind, status, r0, r1, v0, reach, f0, f1, c0, c1, c2)
    return a if slot == 0 else (b if slot == 1 else c)


def guard_values_of(kind, status, r, v, reach, f, coefficients):  # type: ignore[no-untyped-def]
    """The guards of many states at once, and how each is evaluated: arrays of shape (states, 3)."""
    c0, c1, c2 = (*coefficients, 0.0, 0.0)[:3]
    ones = np.zeros((len(status), 1))
    if kind == SPACE:
        # slip is measured against friction, which is told by its size; the normal force may be below zero by rounding
        size = np.hypot(f[:, 0], f[:, 2]) * np.where(f[:, 1] < 0, -1, 1)
        slip = -np.divide(v[:, 0] * f[:, 0] + v[:, 2] * f[:, 2], size, out=np.zeros(len(size)), where=size != 0)
        v, f = slip[:, None], np.column_stack([np.abs(size), f[:, 1]])
    r, f = np.hstack([r, ones]), np.hstack([f, ones])
    values, kinds = np.empty((len(status), 3)), np.empty((len(status), 3), dtype=int)
    for k, s in enumerate(status):
        row = (r[k, 0], r[k, 1], v[k, 0], reach[k], f[k, 0], f[k, 1])
        values[k] = _guard_values(kind, s, *row, c0, c1, c2)
        kinds[k] = _guard_kinds(kind, s, c0, c1, c2)
    return values, kinds


def _guard_values(kind, status, r0, r1, v0, reach, f0, f1, c0, c1, c2):  # type: ignore[no-untyped-def]
    if kind == GROUND:
        return ground.guard_values.py_func(status, r1, v0, f0, f1, c0)
    if kind == SPACE:
        return space.guard_values.py_func(status, r1, v0, f0, f1, c0)
    if kind == GRIP:
        return grip.guard_values.py_func(status, reach)
    return joint.guard_values.py_func(status, r0, v0, f0, c0, c1, c2)


def _guard_kinds(kind, status, c0, c1, c2):  # type: ignore[no-untyped-def]
    if kind == GROUND:
        return ground.guard_kinds.py_func(status, c0)
    if kind == SPACE:
        return space.guard_kinds.py_func(status, c0)
    if kind == GRIP:
        return grip.guard_kinds.py_func(status)
    return joint.guard_kinds.py_func(status, c1, c2)
