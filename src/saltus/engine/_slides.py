"""Slip in space: a contact that slides in any direction along the ground, and the first rows of all other units."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._behaviour import slides
from saltus.contact._space import SLOWEST
from saltus.contact._unit import SPACE
from saltus.engine import _layout as L
from saltus.engine._instants import same_time

# A slip that is slower than so many times the speed at which it is over may have no steady direction: what a step may
# miss turns it by more than 1/300 rad, and friction with it.
UNSTEADY = 30.0

# A slip that begins has done so at this share of the speed from which on it is steady: at that speed itself, friction
# below and above may hold it.
BEGUN = 0.99

# Steps shorter than this resolve how a guard leaves zero, and how a slip turns, s.
RESOLVED = 1e-7


@compiled
def first_speed(I, D, unit, block):
    """Velocity of a unit's first row, from a block of all rows; of what slips in space, that along its direction."""
    row, ref = I[I[L.ROW] + unit], I[L.SLIDE] + 4 * unit
    if I[I[L.KIND] + unit] == SPACE:
        return D[block + row] * D[ref] + D[block + row + 2] * D[ref + 1]
    return D[block + row]


@compiled
def ending(I, D, unit):
    """At what speed a slip in space is over: where errors of the state hide its direction; a new one may be slow."""
    slide = I[L.SLIDE] + 4 * unit
    return D[slide + 3] if I[I[L.KIND] + unit] == SPACE and D[slide + 2] == 0.0 else 0.0


@compiled
def set_ending(I, D, unit):
    """Note at what speed a slip in space is over, by the last sizes: where errors of the state hide its direction."""
    size = D[I[L.SIZE] + I[L.NROW] + I[I[L.ROW] + unit]] + D[I[L.SIZE] + I[L.NROW] + I[I[L.ROW] + unit] + 2]
    D[I[L.SLIDE] + 4 * unit + 3] = 10.0 * (D[L.ATOL] + D[L.RTOL] * size)


@compiled
def steady(I, D, unit):
    """From what speed on a slip in space that has begun has a direction that errors of the state do not turn."""
    return max(SLOWEST, UNSTEADY * D[I[L.SLIDE] + 4 * unit + 3])


@compiled
def friction_of(I, D, unit, lam):
    """Force of a unit's first row; of a contact in space, the size of its friction."""
    row = I[I[L.ROW] + unit]
    if I[I[L.KIND] + unit] == SPACE:
        return math.hypot(D[lam + row], D[lam + row + 2])
    return D[lam + row]


@compiled
def slip_speed(I, D, unit, block):
    """How fast a unit's first row moves; in space, along the ground."""
    row = I[I[L.ROW] + unit]
    if I[I[L.KIND] + unit] == SPACE:
        return math.hypot(D[block + row], D[block + row + 2])
    return abs(D[block + row])


@compiled
def aim(I, D, unit, block, least):
    """Note the direction in which a unit slips in space, if it does so faster than the least."""
    row, ref = I[I[L.ROW] + unit], I[L.SLIDE] + 4 * unit
    size = math.hypot(D[block + row], D[block + row + 2])
    if size > least:
        D[ref], D[ref + 1] = D[block + row] / size, D[block + row + 2] / size


@compiled
def turn_slides(I, D):
    """Let the direction of every slip in space be what it now is, by the last kinematics, sizes and rates.

    One that comes to its end in what counts as the same instant is over.
    """
    never_inline()
    instant = same_time(D[L.T])
    for unit in range(I[L.NUNIT]):
        slot = L.SLOTS * unit + 1
        if I[I[L.KIND] + unit] == SPACE and slides(SPACE, I[I[L.STATUS] + unit]) and I[I[L.ZERO] + slot] == 0:
            began = I[L.SLIDE] + 4 * unit + 2
            set_ending(I, D, unit)
            speed, rate = slip_speed(I, D, unit, I[L.GAP_V]), first_speed(I, D, unit, I[L.RATE_V])
            D[began + 1] = max(D[began + 1], -rate * instant)
            if speed > BEGUN * steady(I, D, unit):
                D[began] = 0.0
            along = first_speed(I, D, unit, I[L.GAP_V])
            if D[began] == 0.0 and speed < UNSTEADY * D[began + 1] and speed * speed - along * along > 1e-4 * speed**2:
                # so slow that its direction wavers from step to step: it is over where it is slower still
                D[began + 1] = max(D[began + 1], 0.99 * speed)
            aim(I, D, unit, I[L.GAP_V], SLOWEST if D[began] == 1.0 else 0.0)


@compiled
def astray(I, D, h):
    """Whether a step ends in a slip in space whose direction is quite another than at its start."""
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and slides(SPACE, I[I[L.STATUS] + unit]):
            row, ref = I[I[L.ROW] + unit], I[L.SLIDE] + 4 * unit
            along = first_speed(I, D, unit, I[L.GAP_V])
            across = D[I[L.GAP_V] + row + 2] * D[ref] - D[I[L.GAP_V] + row] * D[ref + 1]
            if abs(across) > 0.5 * abs(along) and abs(across) > D[ref + 3] and h > RESOLVED:
                return True
    return False
