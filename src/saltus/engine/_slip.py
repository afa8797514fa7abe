"""Directions of what slips in space, and the contact forces with friction against them."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._behaviour import slides
from saltus.contact._space import SLOWEST, direction
from saltus.contact._unit import SPACE
from saltus.engine import _layout as L
from saltus.engine._forces import row_accelerations, solve_forces
from saltus.engine._slides import steady


@compiled
def tie_along(I, D, unit, along, side):
    """Let friction of what slips in space act against a direction."""
    row, mu = I[I[L.ROW] + unit], D[I[L.COEF] + L.COEFFICIENTS * unit]
    for i in range(I[L.NACTIVE]):
        if I[I[L.ACTIVE_ROW] + i] == row + 1:
            D[I[L.ACTIVE_TIE] + i], D[I[L.SIDE_TIE] + i] = -mu * along, -mu * side


@compiled
def turning(I, D, unit, angle):
    """How fast the acceleration of a slip turns from a direction against which friction acts, and grows along it."""
    never_inline()
    row, along, side = I[I[L.ROW] + unit], math.cos(angle), math.sin(angle)
    tie_along(I, D, unit, along, side)
    if solve_forces(I, D, I[L.LAMS]) != 0:
        return math.nan, math.nan
    row_accelerations(I, D, I[L.LAMS])
    a, b = D[I[L.ACC] + row], D[I[L.ACC] + row + 2]
    return along * b - side * a, along * a + side * b


@compiled
def _turn_slowly(I, D, unit):
    """The direction of a slip that begins: that in which its acceleration does not turn it.

    Where that is so in every direction, the one that is at hand.
    """
    never_inline()
    ref, row = I[L.SLIDE] + 4 * unit, I[I[L.ROW] + unit]
    angle = math.atan2(D[ref + 1], D[ref])
    last, step = angle, 1e-4
    turn, _ = turning(I, D, unit, angle)
    friction = D[I[L.COEF] + L.COEFFICIENTS * unit] * abs(D[I[L.LAMS] + row + 1] * D[I[L.W_A] + row * (I[L.NROW] + 1)])
    for attempt in range(30):
        angle = last + step
        now, _ = turning(I, D, unit, angle)
        if not abs(now - turn) > 1e-6 * friction * abs(step):
            angle = math.atan2(D[ref + 1], D[ref]) if attempt == 0 else angle
            break
        last, turn, step = angle, now, -now * step / (now - turn)
        if abs(step) < 1e-14:
            break
        if not abs(step) < 0.3:
            step = math.copysign(0.3, step)
    tie_along(I, D, unit, math.cos(angle), math.sin(angle))


@compiled
def _begins(I, D, unit):
    """Whether a unit slips in space, has just begun to, and is still slow."""
    v = I[L.W_V] + I[I[L.ROW] + unit]
    if I[I[L.KIND] + unit] != SPACE or not slides(SPACE, I[I[L.STATUS] + unit]):
        return False
    return D[I[L.SLIDE] + 4 * unit + 2] == 1.0 and math.hypot(D[v], D[v + 2]) < steady(I, D, unit)


@compiled
def turn_ties(I, D):
    """Friction of what slips in space, over the normal force: against the slip as the last terms have it.

    The direction of a slip that begins changes much faster than all else, by friction over its speed, and so stays
    where it does not turn; of several, each in turn.
    """
    never_inline()
    beginning = 0
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and slides(SPACE, I[I[L.STATUS] + unit]):
            v, ref = I[L.W_V] + I[I[L.ROW] + unit], I[L.SLIDE] + 4 * unit
            if _begins(I, D, unit):
                tie_along(I, D, unit, D[ref], D[ref + 1])
                beginning += 1
            else:
                slow = D[ref + 3] if D[ref + 2] == 0.0 else 1e-3 * SLOWEST
                along, side = direction(D[v], D[v + 2], D[ref], D[ref + 1], slow)
                tie_along(I, D, unit, along, side)
    # each depends on the others: a few rounds settle them
    for _ in range(0 if beginning == 0 else (1 if I[L.NSLIDE] == 1 else 8)):
        for unit in range(I[L.NUNIT]):
            if _begins(I, D, unit):
                _turn_slowly(I, D, unit)


@compiled
def contact_forces(I, D, lam):
    """Forces of all contact rows such that the active rows do not accelerate.

    Where they are not unique, friction bears as little as it can, and is shared as each can bear it:
    that keeps each in its cone if this is possible at all.
    """
    never_inline()
    if I[L.NSLIDE] > 0:
        turn_ties(I, D)
    return solve_forces(I, D, lam)
