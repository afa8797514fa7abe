"""The loop: enter a mode, step, find events, handle them, record, until something ends the run."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._ground import FORCE, IMPACT, OPEN, SLIP_MINUS, SLIP_PLUS, STICK, TEST, edge
from saltus.engine import _layout as L
from saltus.engine._choose import choose
from saltus.engine._flow import energies, flow, project, set_inputs
from saltus.engine._guards import arm, floor_of, guard_at, guards, kinematics, locate, screen
from saltus.engine._impact import impact
from saltus.engine._status import (
    COLLAPSE,
    CONTROLLER_FAILED,
    CONTROLLER_NOT_FINITE,
    EVENT_LIMIT,
    EVENTS_FULL,
    FINISHED,
    NOT_FINITE,
    PAUSED,
    STALLED,
    STEP_LIMIT,
    STEPS_FULL,
    TERMINAL,
)
from saltus.engine._tableau import step

ON_GROUND = 1e-9

# Logarithm of the smallest error that the step controller remembers.
LOWEST_ERROR = math.log(1e-4)


@compiled
def ulp(t):
    """The spacing of doubles near t, and never less than that near one second's thousandth."""
    return 2.3e-16 * max(abs(t), 1e-3)


@compiled
def same_time(t):
    """Instants nearer than this count as one."""
    return 1e-12 * max(1.0, abs(t))


# -- the record of events ----------------------------------------------------------------------


@compiled
def counts(I, slot):
    """Whether a crossing of a guard is an event: one of the robot's own may count in one direction only."""
    user = slot - L.SLOTS * I[L.NUNIT]
    if user < 0:
        return True
    direction = I[I[L.DIRECTION] + user]
    falling = I[I[L.SIDE] + user] == 1
    return direction == 2 or falling == (direction == 0)


@compiled
def open_event(I, D, t, guard, cause):
    """Begin the record of an event with everything before it."""
    never_inline()
    E, ny, nr = I[L.EVENT], I[L.NY], I[L.NROW]
    D[E + L.E_TIME] = t
    D[E + L.E_GUARD] = guard
    D[E + L.E_CAUSE] = cause
    D[E + L.E_ARC] = I[L.ARC]
    D[E + L.E_KAPPA] = math.nan
    fired = 0.0
    for slot in range(min(I[L.NGUARD], 52)):
        if I[I[L.FIRED] + slot] == 1 and counts(I, slot):
            fired += 2.0**slot
    D[E + L.E_FIRED] = fired
    energies(I, D, t, I[L.Y])
    D[E + L.E_KINETIC] = D[I[L.ENERGIES]]
    D[E + L.E_POTENTIAL] = D[I[L.ENERGIES] + 1]
    v = E + L.E_VECTORS
    for i in range(ny):
        D[v + i] = D[I[L.Y] + i]
    v += 2 * ny
    for r in range(nr):
        D[v + r] = D[I[L.LAM] + r]
        D[I[L.IMPULSE] + r] = 0.0
    v += 3 * nr
    for unit in range(I[L.NUNIT]):
        D[v + unit] = I[I[L.STATUS] + unit]
    I[L.PENDING] = 1


@compiled
def close_event(I, D, events, ended):
    """Complete the record of an event with everything after it, and store it."""
    never_inline()
    E, ny, nr, nunit = I[L.EVENT], I[L.NY], I[L.NROW], I[L.NUNIT]
    energies(I, D, D[L.T], I[L.Y])
    D[E + L.E_KINETIC_AFTER] = D[I[L.ENERGIES]]
    v = E + L.E_VECTORS
    for i in range(ny):
        D[v + ny + i] = D[I[L.Y] + i]
    v += 2 * ny
    for r in range(nr):
        D[v + nr + r] = D[I[L.LAM] + r]
        D[v + 2 * nr + r] = D[I[L.IMPULSE] + r]
    v += 3 * nr
    changed = False
    for unit in range(nunit):
        status = I[I[L.STATUS] + unit]
        D[v + nunit + unit] = status
        changed = changed or D[v + unit] != status
    D[E + L.E_ENDED] = 1.0 if ended else 0.0
    I[L.PENDING] = 0
    cause = D[E + L.E_CAUSE]
    if not changed and not ended and (cause == L.CAUSE_BREAK or cause == L.CAUSE_SAMPLE or cause == L.CAUSE_REARM):
        return
    if changed and not ended:
        I[L.ARC] += 1
    row = I[L.NEVENT] * I[L.EVENT_ROW]
    for k in range(I[L.EVENT_ROW]):
        events[row + k] = D[E + k]
    I[L.NEVENT] += 1


@compiled
def record_step(I, D, steps, t, h):
    """Store a step: when, how long, its inputs and its dense output."""
    I[L.NSTEP] += 1
    if I[L.KEEP] == 0:
        return
    row = I[L.NRECORD] * I[L.STEP_ROW]
    steps[row + L.S_TIME] = t
    steps[row + L.S_LENGTH] = h
    steps[row + L.S_PIECE] = I[L.PIECE]
    steps[row + L.S_ARC] = I[L.ARC]
    nu = I[L.NU]
    for i in range(nu):
        steps[row + L.S_VECTORS + i] = D[I[L.U] + i]
    row += L.S_VECTORS + nu
    for i in range(I[L.N] * I[L.NRC]):
        steps[row + i] = D[I[L.DENSE] + i]
    I[L.NRECORD] += 1


# -- entering a mode ----------------------------------------------------------------------------


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
def flags_of_closed(I, D):
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
def zero_on_entry(I, D):
    """Guards at the start of a mode, and which of them are zero there."""
    never_inline()
    nunit, g0, zero = I[L.NUNIT], I[L.G0], I[L.ZERO]
    guards(I, D, I[L.LAM], g0)
    for slot in range(I[L.NGUARD]):
        floor = floor_of(I, D, slot, I[L.Y])
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


# -- events ----------------------------------------------------------------------------------


@compiled
def fire(I, D, h, s):
    """Mark every guard whose zero is at this instant."""
    never_inline()
    for slot in range(I[L.NGUARD]):
        together = I[I[L.SUSPECT] + slot] == 1 and abs(D[I[L.ROOT] + slot] - s) * h <= same_time(D[L.T])
        I[I[L.FIRED] + slot] = 1 if together else 0


@compiled
def handle(I, D, events, which):
    """Deal with all guards that fired: end the run, strike, name or test the next statuses."""
    never_inline()
    t, y, nunit = D[L.T], I[L.Y], I[L.NUNIT]
    kinematics(I, D, t, y)
    flags_of_closed(I, D)
    primary = -1
    for slot in range(I[L.NGUARD] - 1, -1, -1):
        if I[I[L.FIRED] + slot] == 1 and counts(I, slot):
            primary = slot
    open_event(I, D, t, primary if primary >= 0 else which, L.CAUSE_GUARD if primary >= 0 else L.CAUSE_REARM)
    ended = False
    for user in range(I[L.NUSER]):
        slot = L.SLOTS * nunit + user
        if I[I[L.FIRED] + slot] == 1:
            if counts(I, slot) and I[I[L.ACTION] + user] == L.TERMINAL:
                ended = True
                D[I[L.EVENT] + L.E_GUARD] = slot
            I[I[L.SIDE] + user] = -I[I[L.SIDE] + user]
    if ended:
        close_event(I, D, events, True)
        return TERMINAL
    return change_units(I, D, t, y)


@compiled
def change_units(I, D, t, y):
    """Impacts, named statuses and tests that the fired guards of units ask for."""
    never_inline()
    nunit = I[L.NUNIT]
    striking = False
    tested = False
    for unit in range(nunit):
        status = I[I[L.STATUS] + unit]
        row = I[I[L.ROW] + unit]
        for slot in range(L.SLOTS):
            if I[I[L.FIRED] + L.SLOTS * unit + slot] == 0:
                continue
            target = edge(status, slot)
            if target == IMPACT:
                if D[I[L.GAP_V] + row + 1] < -1e-13:
                    striking = True
                else:
                    I[I[L.FIRED] + L.SLOTS * unit] = 0
                    I[I[L.TOUCH] + unit] = 1  # grazing: on the ground without a strike
                    tested = True
            elif target == TEST:
                I[I[L.STILL] + unit] = 1
                tested = True
            else:
                I[I[L.CANDIDATES] + unit] = 1 << target
                I[I[L.ENDED] + unit] = status
                break
    if striking:
        code = impact(I, D, t, y)
        if code != 0:
            return code
        kinematics(I, D, t, y)
    for unit in range(nunit):
        # units that no event concerns keep their status unless forces jump
        if I[I[L.CANDIDATES] + unit] == 0 and not striking and not tested:
            I[I[L.CANDIDATES] + unit] = 1 << I[I[L.STATUS] + unit]
    I[L.ENTRY] = L.CAUSE_GUARD
    return 0


@compiled
def slope_at(I, D, t, h, s, slot):
    """Rate of a guard in time at a fraction of the step, on the dense output."""
    never_inline()
    width = 1e-4 * s
    low, high = s - width, min(1.0, s + width)
    rise = guard_at(I, D, t, h, high, slot) - guard_at(I, D, t, h, low, slot)
    return rise / ((high - low) * h)


@compiled
def land(I, D, t, h, s, which):
    """Re-step to the event and polish its time on the flow itself; returns the length, or < 0."""
    never_inline()
    rate = slope_at(I, D, t, h, s, which)
    length = s * h
    last = math.inf
    for _ in range(6):
        if step(I, D, t, length) != 0:
            return -1.0
        kinematics(I, D, t + length, I[L.YN])
        guards(I, D, I[L.LAM] + (I[L.NSTAGE] - 1) * I[L.NROW], I[L.G1])
        g = D[I[L.G1] + which]
        if g == 0.0 or rate >= 0.0:
            break
        change = g / rate
        if abs(change) <= 0.5 * ulp(t + length) or abs(change) >= 0.5 * last:
            break
        if not 0.0 < length - change <= h * (1.0 + 1e-9):
            break
        last = abs(change)
        length -= change
    return length


@compiled
def accept(I, D):
    """Make the end of the step the present state, and its last stage the next first."""
    y, yn, k, nr = I[L.Y], I[L.YN], I[L.K], I[L.NROW]
    last = k + (I[L.NSTAGE] - 1) * I[L.NY]
    for i in range(I[L.NY]):
        D[k + i] = D[last + i]
    for i in range(I[L.N]):
        D[y + i] = D[yn + i]
    for r in range(nr):
        D[I[L.LAM] + r] = D[I[L.LAM] + (I[L.NSTAGE] - 1) * nr + r]


def advance(I, D, steps, events):
    """Go on until the run ends, pauses or runs out of room; the status says which."""
    budget = I[L.BUDGET]
    while True:
        t = D[L.T]
        if I[L.NEVENT] + 1 >= I[L.EVENT_ROOM]:
            return EVENTS_FULL
        if I[L.ENTRY] == L.CAUSE_START:
            I[L.ENTRY] = L.CAUSE_BREAK
            if place_units(I, D, t):
                open_event(I, D, t, 0, L.CAUSE_GUARD)
                for unit in range(I[L.NUNIT] - 1, -1, -1):
                    if I[I[L.FIRED] + L.SLOTS * unit] == 1:
                        D[I[L.EVENT] + L.E_GUARD] = L.SLOTS * unit
                code = change_units(I, D, t, I[L.Y])
                if code != 0:
                    close_event(I, D, events, True)
                    return code
        if I[L.ENTRY] != L.CAUSE_NONE:
            code = enter(I, D, events)
            if code != 0:
                if I[L.PENDING] == 1:
                    close_event(I, D, events, True)
                return code
            if D[L.H] <= 0.0:
                D[L.H] = first_step(I, D)
        if I[L.NEVENT] >= I[L.MAXEVENT]:
            return EVENT_LIMIT
        if t >= D[L.T_END]:
            return FINISHED
        if I[L.NSTEP] >= I[L.MAXSTEP]:
            return STEP_LIMIT
        if I[L.NRECORD] + 1 >= I[L.STEP_ROOM]:
            return STEPS_FULL
        if budget <= 0:
            return PAUSED
        budget -= 1

        # no step crosses the end, a break of the schedule or a sample
        stop, why = D[L.T_END], L.CAUSE_NONE
        if I[L.PIECE] < I[L.NBREAK] and D[I[L.BREAKS] + I[L.PIECE]] <= stop:
            stop, why = D[I[L.BREAKS] + I[L.PIECE]], L.CAUSE_BREAK
        if I[L.CONTROL_KIND] == L.SAMPLED:
            sample = D[L.T_SAMPLE] * D[L.PERIOD]
            if sample < stop:
                stop, why = sample, L.CAUSE_SAMPLE
            elif sample == stop:
                why = L.CAUSE_SAMPLE
        h = min(D[L.H], D[L.H_MAX])
        arrives = h >= stop - t or h >= 0.999 * (stop - t)
        if arrives:
            h = stop - t

        code = step(I, D, t, h)
        error = D[L.ERROR]
        if code in (CONTROLLER_FAILED, CONTROLLER_NOT_FINITE):
            return code
        if code != 0 or not error <= 1.0:
            I[L.NREJECT] += 1
            I[L.REJECTED] = 1
            if code != 0 or not math.isfinite(error):
                D[L.H] = 0.1 * h
            else:
                D[L.H] = h * max(0.2, 0.9 * error ** (-1.0 / I[L.ORDER]))
            if D[L.H] <= ulp(t):
                if code != 0:
                    return code
                return COLLAPSE if math.isfinite(error) else NOT_FINITE
            continue

        # the natural size of the next step, by Gustafsson's controller [hairer1993, IV.2]
        size = math.log(max(error, 1e-10))
        factor = 0.9 * math.exp(0.04 * D[L.ERROR_OLD] - (1.0 / I[L.ORDER] - 0.03) * size)
        factor = min(max(factor, 0.2), 1.0 if I[L.REJECTED] == 1 else 10.0)
        D[L.ERROR_OLD] = max(size, LOWEST_ERROR)
        I[L.REJECTED] = 0
        natural = h * factor
        if arrives:
            natural = max(natural, min(D[L.H], 10.0 * h))

        which = -1
        if I[L.NCLOSED] > 0:
            project(I, D, I[L.YN])  # the terms are those of the last stage, the end itself
        D[L.BEYOND] = same_time(t) / h if arrives else 0.0
        if I[L.NGUARD] > 0:
            if screen(I, D, t, h) > 0:
                which = locate(I, D, t, h)
                s = D[L.FRACTION]
                if which >= 0:
                    fire(I, D, h, s)
                    whole = h
                    h = land(I, D, t, h, s, which)
                    if h < 0.0:
                        # a shorter step failed where the longer did not: try again, shorter
                        D[L.H] = 0.5 * whole
                        if D[L.H] <= ulp(t):
                            return COLLAPSE
                        continue
                    if I[L.NCLOSED] > 0:
                        project(I, D, I[L.YN])
                    arrives = arrives and abs(stop - t - h) <= same_time(t)
                    natural = max(h, min(natural, whole))
                else:
                    kinematics(I, D, t + h, I[L.YN])
                    guards(I, D, I[L.LAM] + (I[L.NSTAGE] - 1) * I[L.NROW], I[L.G1])
        record_step(I, D, steps, t, h)
        accept(I, D)
        D[L.H] = natural
        D[L.T] = stop if arrives else t + h
        if D[L.T] > t + 2.0 * ulp(t):
            I[L.SAME_TIME] = 0
        else:
            I[L.SAME_TIME] += 1
            if I[L.SAME_TIME] > 50:
                return STALLED if which >= 0 else COLLAPSE
        for slot in range(I[L.NGUARD]):
            D[I[L.G0] + slot] = D[I[L.G1] + slot]
            if I[I[L.ZERO] + slot] == 1 and D[I[L.G1] + slot] > floor_of(I, D, slot, I[L.Y]):
                I[I[L.ZERO] + slot] = 0
        if which >= 0:
            code = handle(I, D, events, which)
            if code != 0:
                if I[L.PENDING] == 1:
                    close_event(I, D, events, True)
                return code
        if arrives and why != L.CAUSE_NONE:
            if which < 0:
                open_event(I, D, D[L.T], -1, why)
                flags_of_closed(I, D)
            else:
                for unit in range(I[L.NUNIT]):
                    I[I[L.CANDIDATES] + unit] = 0
            if I[L.PIECE] < I[L.NBREAK] and D[I[L.BREAKS] + I[L.PIECE]] == stop:
                I[L.PIECE] += 1
            if why == L.CAUSE_SAMPLE:
                D[L.T_SAMPLE] += 1.0
            I[L.ENTRY] = why
