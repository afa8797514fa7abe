"""Values of guards, positive inside their mode: of which kind each is, its rate, and what cannot be told from zero."""

import math

from saltus._native import call_kernel, compiled, never_inline
from saltus.contact._behaviour import guard_kinds, guard_stuff, guard_values, on_ground
from saltus.contact._unit import FORCE, KINEMATIC, NONE, POSITION, REACH, SPEED
from saltus.engine import _layout as L
from saltus.engine._forces import eliminate
from saltus.engine._slides import ending, first_speed, friction_of, turn_slides

# The spacing of doubles near one.
EPSILON = 2.220446049250313e-16


@compiled
def arm(I, D):
    """Note which guards are active in the present mode, and how they are evaluated."""
    never_inline()
    kinds, nunit = I[L.GUARD_KIND], I[L.NUNIT]
    for unit in range(nunit):
        c0 = I[L.COEF] + L.COEFFICIENTS * unit
        a, b, c = guard_kinds(I[I[L.KIND] + unit], I[I[L.STATUS] + unit], D[c0], D[c0 + 1], D[c0 + 2])
        I[kinds + L.SLOTS * unit] = a
        I[kinds + L.SLOTS * unit + 1] = b
        I[kinds + L.SLOTS * unit + 2] = c
    for user in range(I[L.NUSER]):
        active = I[I[L.ACTION] + user] != L.IGNORE
        I[kinds + L.SLOTS * nunit + user] = KINEMATIC if active else NONE


@compiled
def kinematics(I, D, t, y):
    """Gaps, velocities of contact rows and the robot's own guards at a state."""
    call_kernel(I[L.GAPS], t, D, y, I[L.U], I[L.P], I[L.GAP])


@compiled
def guards(I, D, lam, out):
    """All guards, positive inside the mode, from the last kinematics and the given forces."""
    never_inline()
    nunit = I[L.NUNIT]
    for unit in range(nunit):
        row, kind, c0 = I[I[L.ROW] + unit], I[I[L.KIND] + unit], I[L.COEF] + L.COEFFICIENTS * unit
        second = row + 1 if on_ground(kind) else row
        a, b, c = guard_values(
            kind,
            I[I[L.STATUS] + unit],
            D[I[L.GAP] + row],
            D[I[L.GAP] + second],
            first_speed(I, D, unit, I[L.GAP_V]) - ending(I, D, unit),
            D[I[L.GAP_REACH] + unit],
            friction_of(I, D, unit, lam),
            D[lam + second],
            D[c0],
            D[c0 + 1],
            D[c0 + 2],
        )
        D[out + L.SLOTS * unit] = a
        D[out + L.SLOTS * unit + 1] = b
        D[out + L.SLOTS * unit + 2] = c
    for user in range(I[L.NUSER]):
        D[out + L.SLOTS * nunit + user] = I[I[L.SIDE] + user] * D[I[L.GAP_USER] + user]


@compiled
def slopes(I, D, t, y, k, out):
    """Rates in time of the guards made of positions and velocities, after `kinematics` of the state y with rate k."""
    never_inline()
    call_kernel(I[L.RATES], t, D, y, k, I[L.P], I[L.RATE_V])
    slopes_of_rates(I, D, out)


@compiled
def slopes_of_rates(I, D, out):
    """The same, from the last rates."""
    nunit = I[L.NUNIT]
    for unit in range(nunit):
        row, kind = I[I[L.ROW] + unit], I[I[L.KIND] + unit]
        second = row + 1 if on_ground(kind) else row
        # guards are linear in these, and what they are compared with does not change in time
        a, b, c = guard_values(
            kind,
            I[I[L.STATUS] + unit],
            D[I[L.GAP_V] + row],
            D[I[L.GAP_V] + second],
            first_speed(I, D, unit, I[L.RATE_V]),
            D[I[L.RATE_REACH] + unit],
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        )
        D[out + L.SLOTS * unit] = a
        D[out + L.SLOTS * unit + 1] = b
        D[out + L.SLOTS * unit + 2] = c
    for user in range(I[L.NUSER]):
        D[out + L.SLOTS * nunit + user] = I[I[L.SIDE] + user] * D[I[L.RATE_USER] + user]


@compiled
def sizes(I, D, t, y):
    """How large the numbers are of which guards are made at a state, for `floor_of`."""
    call_kernel(I[L.SIZES], t, D, y, I[L.U], I[L.P], I[L.SIZE])


@compiled
def _acceleration_size(I, D):
    """How large the accelerations are of which those of the contact rows are made, where contacts are closed."""
    never_inline()
    nr, size = I[L.NROW], 0.0
    for r in range(nr):
        parts = abs(D[I[L.W_B] + r])
        for s in range(nr):
            parts += abs(D[I[L.W_A] + r * nr + s] * D[I[L.LAM] + s])
        size = max(size, parts)
    return size


@compiled
def _moved_with(I, D, row, sizes_of):
    """How large the numbers are of which a row is made by moving the state onto the closed contacts.

    A closed row that is off by its own rounding is put back by `project`, and that moves this row
    too, even one that is made of nothing but a joint's own rate, which is zero as it turns.
    """
    never_inline()
    n, nr, S, w = I[L.NACTIVE], I[L.NROW], I[L.SOLVE], I[L.NACTIVE] + 1
    for i in range(n):
        other = I[I[L.ACTIVE_ROW] + i]
        for j in range(n):
            D[S + i * w + j] = D[I[L.W_A] + other * nr + I[I[L.ACTIVE_ROW] + j]]
        D[S + i * w + n] = D[I[L.W_A] + other * nr + row]
    size = 0.0
    if n > 0 and eliminate(I, D, n, False):
        for i in range(n):
            size += abs(D[S + i * w + n]) * D[sizes_of + I[I[L.ACTIVE_ROW] + i]]
    return size


@compiled
def floor_of(I, D, slot, h):
    """Below this a guard cannot be told from zero: a few roundings of what it is made of.

    Forces are made of accelerations, which may cancel. Positions and speeds are also made of what
    speeds and accelerations add to them in the time ``h``, and of what is moved with closed contacts.
    """
    never_inline()
    nunit, nr, unit = I[L.NUNIT], I[L.NROW], slot // L.SLOTS
    if I[I[L.GUARD_KIND] + slot] == FORCE:
        size = 0.0
        for r in range(nr):
            size = max(size, abs(D[I[L.LAM] + r]))
        row = I[I[L.ROW] + unit] + (1 if on_ground(I[I[L.KIND] + unit]) else 0)
        size = max(size, _acceleration_size(I, D) / D[I[L.W_A] + row * nr + row])
        return 1e-12 * (1e-3 + size)
    if unit >= nunit:  # a guard of the robot, which may be a velocity that contacts hold at zero
        noise = D[L.H] * _acceleration_size(I, D) if I[L.NCLOSED] > 0 else 0.0
        return 16.0 * EPSILON * (D[I[L.SIZE] + 2 * nr + nunit + slot - L.SLOTS * nunit] + noise)
    stuff, row = guard_stuff(I[I[L.KIND] + unit], I[I[L.STATUS] + unit], slot % L.SLOTS)
    place = I[I[L.ROW] + unit] + row
    if stuff == REACH:
        # a hand is held where it was caught, which is at the edge to the rounding of that instant
        return 4096.0 * EPSILON * D[I[L.SIZE] + 2 * nr + unit]
    if I[I[L.GUARD_KIND] + slot] == NONE:
        return 0.0
    size = _speed_size(I, D, place, h)
    if stuff != SPEED:
        size = D[I[L.SIZE] + place] + _moved_with(I, D, place, I[L.SIZE]) + h * size
    return 16.0 * EPSILON * size


@compiled
def _speed_size(I, D, row, h):
    """How large the numbers are of which the speed of a row is made, with what accelerations add in the time ``h``."""
    nr = I[L.NROW]
    return D[I[L.SIZE] + row + nr] + _moved_with(I, D, row, I[L.SIZE] + nr) + h * _acceleration_size(I, D)


@compiled
def rate_of_gap(I, D, slot, block):
    """Rate of a guard that is a distance, from a block of the rates of all rows; not a number for any other guard."""
    unit = slot // L.SLOTS
    if unit >= I[L.NUNIT]:
        return math.nan
    kind, status, row = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], I[I[L.ROW] + unit]
    if guard_stuff(kind, status, slot % L.SLOTS)[0] != POSITION or I[I[L.GUARD_KIND] + slot] != KINEMATIC:
        return math.nan
    second = row + 1 if on_ground(kind) else row
    first, other, _ = guard_values(kind, status, D[block + row], D[block + second], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return first if slot % L.SLOTS == 0 else other


@compiled
def floor_of_rate(I, D, slot):
    """Below this the rate of a guard that is a distance cannot be told from zero: a few roundings of speeds."""
    unit = slot // L.SLOTS
    row = guard_stuff(I[I[L.KIND] + unit], I[I[L.STATUS] + unit], slot % L.SLOTS)[1]
    return 16.0 * EPSILON * _speed_size(I, D, I[I[L.ROW] + unit] + row, 0.0)


@compiled
def follow_slides(I, D):
    """After a step, let the direction of every slip in space be what it now is, and its guard be measured along it."""
    never_inline()
    kinematics(I, D, D[L.T], I[L.Y])
    sizes(I, D, D[L.T], I[L.Y])
    call_kernel(I[L.RATES], D[L.T], D, I[L.Y], I[L.K], I[L.P], I[L.RATE_V])
    turn_slides(I, D)
    guards(I, D, I[L.LAM], I[L.G0])
    slopes_of_rates(I, D, I[L.SLOPE0])
