"""Entering a mode: inputs, next statuses, first stage, and which guards are zero there."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._ground import FORCE, OPEN, SLIP_MINUS, SLIP_PLUS, STICK
from saltus.engine import _layout as L
from saltus.engine._choose import choose
from saltus.engine._flow import flow, set_inputs
from saltus.engine._guards import arm, floor_of, guards, kinematics, sizes
from saltus.engine._record import close_event

# A start this near to the ground, or with a velocity this small, is on it or at rest (m, m/s).
ON_GROUND = 1e-9


@compiled
def place_units(I, D, t):
    """At the start: which units are on the ground, which strike it, which are leaving."""
    never_inline()
    kinematics(I, D, t, I[L.Y])
    striking = False
    for unit in range(I[L.NUNIT]):
        row = I[I[L.ROW] + unit]
        I[I[L.ENDED] + unit] = -1
        if D[I[L.GAP] + unit] <= ON_GROUND:
            v_t, v_n = D[I[L.GAP_V] + row], D[I[L.GAP_V] + row + 1]
            I[I[L.ZERO] + L.SLOTS * unit] = 1
            if v_n < -ON_GROUND:
                I[I[L.FIRED] + L.SLOTS * unit] = 1
                striking = True
            elif v_n <= ON_GROUND:
                I[I[L.TOUCH] + unit] = 1
                I[I[L.STILL] + unit] = 1 if abs(v_t) <= ON_GROUND else 0
    return striking


@compiled
def flags_of_closed(I):
    """Closed units are on the ground; they are still if they stick, or have just begun to slip."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        status = I[I[L.STATUS] + unit]
        I[I[L.CANDIDATES] + unit] = 0
        I[I[L.ENDED] + unit] = -1
        I[I[L.TOUCH] + unit] = 0 if status == OPEN else 1
        just = status != OPEN and status != STICK and I[I[L.ZERO] + L.SLOTS * unit + 1] == 1
        I[I[L.STILL] + unit] = 1 if status == STICK or just else 0


@compiled
def presume(I, D):
    """Until the mode is chosen, which needs the inputs, tell the controller what is known of it.

    Returns the units that stuck until now, as bits.
    """
    never_inline()
    was_sticking = 0
    for unit in range(I[L.NUNIT]):
        place = I[L.STATUS] + unit
        if I[place] == STICK:
            was_sticking |= 1 << unit
        if I[I[L.TOUCH] + unit] == 0:
            I[place] = OPEN
        elif I[place] == OPEN:
            v_t = D[I[L.GAP_V] + I[I[L.ROW] + unit]]
            if I[I[L.STILL] + unit] == 1:
                I[place] = STICK
            else:
                I[place] = SLIP_PLUS if v_t > 0.0 else SLIP_MINUS
    return was_sticking


@compiled
def zero_on_entry(I, D):
    """Guards at the start of a mode, and which of them are zero there."""
    never_inline()
    nunit, g0, zero = I[L.NUNIT], I[L.G0], I[L.ZERO]
    guards(I, D, I[L.LAM], g0)
    sizes(I, D, D[L.T], I[L.Y])
    for slot in range(I[L.NGUARD]):
        floor = floor_of(I, D, slot)
        if I[I[L.GUARD_KIND] + slot] == FORCE:
            floor *= 1e3
        fired = slot >= L.SLOTS * nunit and I[I[L.FIRED] + slot] == 1
        I[zero + slot] = 1 if fired or abs(D[g0 + slot]) <= floor else 0
    for unit in range(nunit):
        slot = L.SLOTS * unit
        status = I[I[L.STATUS] + unit]
        if status == OPEN:
            if I[I[L.FIRED] + slot] == 1 or I[I[L.TOUCH] + unit] == 1:
                I[zero + slot] = 1
        elif status != STICK and I[I[L.STILL] + unit] == 1:
            I[zero + slot + 1] = 1


@compiled
def enter(I, D, events):
    """Inputs, next mode, first stage and guards; then the event that led here is complete."""
    never_inline()
    t, y, cause = D[L.T], I[L.Y], I[L.ENTRY]
    kinematics(I, D, t, y)
    was_sticking = presume(I, D)
    if I[L.CONTROL_KIND] == L.SAMPLED and (cause == L.CAUSE_SAMPLE or I[L.SAMPLE] == 0):
        code = set_inputs(I, D, t, y)
        if code != 0:
            return code
        I[L.SAMPLE] += 1
    if I[L.NUNIT] > 0:
        code = choose(I, D, t)
        if code != 0:
            return code
    for unit in range(I[L.NUNIT]):
        if I[I[L.STATUS] + unit] == STICK and not was_sticking & (1 << unit):
            D[I[L.ANCHOR] + unit] = D[I[L.GAP_SLIDE] + unit]
    arm(I)
    code = flow(I, D, t, y, I[L.K], I[L.LAM])
    if code != 0:
        return code
    zero_on_entry(I, D)
    for slot in range(I[L.NGUARD]):
        I[I[L.FIRED] + slot] = 0
    if I[L.PENDING] == 1:
        close_event(I, D, events, False)
    I[L.ENTRY] = L.CAUSE_NONE
    return 0


@compiled
def first_step(I, D):
    """A first step size from the sizes of state and rate [hairer1993, II.4]."""
    never_inline()
    n, y, k = I[L.N], I[L.Y], I[L.K]
    d0 = d1 = 0.0
    for i in range(n):
        scale = D[L.ATOL] + D[L.RTOL] * abs(D[y + i])
        d0 += (D[y + i] / scale) ** 2
        d1 += (D[k + i] / scale) ** 2
    d0, d1 = math.sqrt(d0 / n), math.sqrt(d1 / n)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    return min(100.0 * h, 0.1 * D[L.T_END] - 0.1 * D[L.T]) if h > 0.0 else 1e-6
