"""Handling events: reach them by a step of the right length, then end, strike, name or test what is next."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._behaviour import edge, on_ground, slides
from saltus.contact._joint import FREE, PLUS
from saltus.contact._space import SLIP
from saltus.contact._unit import GRIP, GROUND, IMPACT, JOINT, SPACE, TEST
from saltus.engine import _layout as L
from saltus.engine._entry import flags_of_closed, place_units, presume
from saltus.engine._flow import flow
from saltus.engine._forces import row_accelerations
from saltus.engine._guard_values import guards, kinematics
from saltus.engine._guards import BY_SPEED, guard_at
from saltus.engine._impact import impact, stop_at_start, stop_turning
from saltus.engine._instants import same_time
from saltus.engine._record import counts, open_event
from saltus.engine._slides import aim, slip_speed
from saltus.engine._status import TERMINAL
from saltus.engine._tableau import DENSE_ONLY, NO_DENSE, step
from saltus.engine._zeno import forget_impacts


@compiled
def ulp(t):
    """The spacing of doubles near t, and never less than that near one second's thousandth."""
    return 2.3e-16 * max(abs(t), 1e-3)


@compiled
def fire(I, D, h, s):
    """Mark every guard whose zero is at this instant."""
    never_inline()
    for slot in range(I[L.NGUARD]):
        together = I[I[L.SUSPECT] + slot] != 0 and abs(D[I[L.ROOT] + slot] - s) * h <= same_time(D[L.T])
        I[I[L.FIRED] + slot] = 1 if together else 0


@compiled
def slope_at(I, D, t, h, s, slot):
    """Rate of a guard in time at a fraction of the step, on the dense output."""
    never_inline()
    width = 1e-4 * s
    low, high = s - width, min(1.0, s + width)
    rise = guard_at(I, D, t, h, high, slot) - guard_at(I, D, t, h, low, slot)
    return rise / ((high - low) * h)


# An event nearer than this to the end of a step, as a part of its length, is reached along its last rate.
STRAIGHT = 1e-8


@compiled
def end_guard(I, D, t, which):
    """The guard at the end of the step, at the time t, less what it is measured from; all guards go to G1."""
    kinematics(I, D, t, I[L.YN])
    guards(I, D, I[L.LAM] + (I[L.NSTAGE] - 1) * I[L.NROW], I[L.G1])
    return D[I[L.G1] + which] - (D[I[L.BASE] + which] if I[I[L.ZERO] + which] == 1 else 0.0)


@compiled
def land(I, D, t, h, s, which):
    """Re-step to the event and polish its time on the flow itself; returns the length, or < 0."""
    never_inline()
    # a guard whose zero its rate has located is too small to polish it
    rate = slope_at(I, D, t, h, s, which) if I[I[L.SUSPECT] + which] != BY_SPEED else 0.0
    length, change, slid = s * h, 0.0, False
    last = math.inf
    for attempt in range(6):
        if step(I, D, t, length, NO_DENSE) != 0:
            return -1.0
        g = end_guard(I, D, t + length, which)
        if not abs(g) < last:
            # the guard is no smooth function of time: keep what the bracket gave
            length += change
            if step(I, D, t, length, NO_DENSE) != 0:
                return -1.0
            break
        change = g / rate if rate < 0.0 else 0.0
        if attempt == 5 or abs(change) <= 0.5 * ulp(t + length) or not 0.0 < length - change <= h * (1.0 + 1e-9):
            break
        if abs(change) <= STRAIGHT * length:
            length, slid = slide(I, D, t, length, g, rate, which), True
            if length < 0.0:
                return -1.0
            break
        last = abs(g)
        length -= change
    if I[L.WATCH] == 0 and (keep_dense(I, D, t, length) if slid else step(I, D, t, length, DENSE_ONLY)) != 0:
        return -1.0
    for i in range(I[L.N]):
        D[I[L.LOWN] + i] = 0.0  # of steps made only to get here
    return length


@compiled
def slide(I, D, t, length, g, rate, which):
    """Move the end of the step along its rate to where the guard g is zero; returns the step's length then, or < 0.

    The way is so short that the rate of the state does not change on it by more than rounding. That
    of the guard may have been seen from too far off, and is taken anew from what each move brought.
    """
    never_inline()
    end, k, whole = I[L.YN], I[L.K] + (I[L.NSTAGE] - 1) * I[L.NY], length
    for _ in range(5):
        change = g / rate
        if abs(change) <= 0.5 * ulp(t + length) or abs(length - change - whole) > 10.0 * STRAIGHT * whole:
            break
        for i in range(I[L.N]):
            D[end + i] -= change * D[k + i]
        length -= change
        if flow(I, D, t + length, end, k, I[L.LAM] + (I[L.NSTAGE] - 1) * I[L.NROW]) != 0:
            return -1.0
        before, g = g, end_guard(I, D, t + length, which)
        # where rounding hides what the move brought, the old rate stays
        slope = (before - g) / change
        rate = slope if slope < 0.0 and abs(g) > 1e-6 * abs(before) else rate
    return length


@compiled
def keep_dense(I, D, t, length):
    """Dense output of a step whose end was moved, which stays where it is; returns a code."""
    never_inline()
    end, kept, last = I[L.YN], I[L.YD], I[L.NSTAGE] - 1
    for i in range(I[L.N]):
        D[kept + i] = D[end + i]
    code = step(I, D, t, length, NO_DENSE)
    if code == 0:
        code = step(I, D, t, length, DENSE_ONLY)
    for i in range(I[L.N]):
        D[end + i] = D[kept + i]
    if code == 0:
        code = flow(I, D, t + length, end, I[L.K] + last * I[L.NY], I[L.LAM] + last * I[L.NROW])
    return code


@compiled
def handle(I, D, which):
    """Deal with all guards that fired: end the run, strike, name or test the next statuses."""
    never_inline()
    t, y, nunit = D[L.T], I[L.Y], I[L.NUNIT]
    kinematics(I, D, t, y)
    flags_of_closed(I)
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
    for unit in range(nunit):
        for k in range(L.SLOTS):
            slot, place = L.SLOTS * unit + k, L.SLOTS * I[I[L.STATUS] + unit] + k
            if I[I[L.FIRED] + slot] == 1 and counts(I, slot) and (I[I[L.STOPS] + unit] >> place) & 1:
                ended = True
                D[I[L.EVENT] + L.E_GUARD] = slot
    if ended:
        return TERMINAL
    return change_units(I, D, t, y)


@compiled
def side_of(kind, status, slot):
    """Which side is struck: 1, or 2 for the upper stop of a joint."""
    return 2 if kind == JOINT and (status == PLUS or slot == 1) else 1


@compiled
def meet(I, D, unit, side):
    """A unit meets the ground, a stop or what it reached for; whether it strikes, or only grazes it."""
    never_inline()
    kind, row = I[I[L.KIND] + unit], I[I[L.ROW] + unit]
    speed = D[I[L.GAP_V] + row]
    if on_ground(kind):
        speed = D[I[L.GAP_V] + row + 1]
    elif side == 2:
        speed = -speed
    if kind == GRIP or speed < -1e-13:
        I[I[L.STRIKE] + unit] = side
        return True
    I[I[L.TOUCH] + unit] = side
    I[I[L.STILL] + unit] = 1 if slip_speed(I, D, unit, I[L.GAP_V]) <= 1e-13 else 0
    return False


@compiled
def stop_with(I, D, t):
    """Mark what slides and has come to rest together with what was stopped; whether there is any.

    A joint has, if it turns in what counts as the same instant: in a closed loop that can move in one way only, all
    its joints turn together, and rounding alone says which is the first.
    """
    never_inline()
    found = False
    row_accelerations(I, D, I[L.LAM])
    for unit in range(I[L.NUNIT]):
        kind = I[I[L.KIND] + unit]
        if I[I[L.STILL] + unit] != 0 or not slides(kind, I[I[L.STATUS] + unit]):
            continue
        row = I[I[L.ROW] + unit]
        if kind == SPACE:
            stops = slip_speed(I, D, unit, I[L.GAP_V]) <= 10.0 * D[I[L.SLIDE] + 4 * unit + 3]
        else:
            stops = kind == JOINT and abs(D[I[L.GAP_V] + row]) <= abs(D[I[L.ACC] + row]) * same_time(t)
        if stops:
            I[I[L.STILL] + unit] = 1
            found = True
    return found


@compiled
def change_units(I, D, t, y):
    """Impacts, named statuses and tests that the fired guards of units ask for."""
    never_inline()
    nunit = I[L.NUNIT]
    striking = False
    tested = turned = False
    for unit in range(nunit):
        kind, status = I[I[L.KIND] + unit], I[I[L.STATUS] + unit]
        for slot in range(L.SLOTS):
            if I[I[L.FIRED] + L.SLOTS * unit + slot] == 0:
                continue
            target = edge(kind, status, slot, D[I[L.COEF] + L.COEFFICIENTS * unit])
            if target == IMPACT:
                if meet(I, D, unit, side_of(kind, status, slot)):
                    striking = True
                else:
                    tested = True
            elif target == TEST:
                I[I[L.STILL] + unit] = 1
                turned = turned or kind != GROUND
                tested = True
            else:
                if kind == SPACE and target == SLIP:
                    # it gives way against the friction that it can no longer bear
                    aim(I, D, unit, I[L.LAM], 0.0)
                    D[I[L.SLIDE] + 4 * unit] *= -1.0
                    D[I[L.SLIDE] + 4 * unit + 1] *= -1.0
                if kind == GRIP:
                    I[I[L.STATUS] + unit] = target
                    D[I[L.LEFT] + unit] = t
                else:
                    I[I[L.ENDED] + unit] = status
                I[I[L.CANDIDATES] + unit] = 1 << target
                break
    if turned:
        stop_turning(I, D, t, y)
        kinematics(I, D, t, y)
        if stop_with(I, D, t):
            stop_turning(I, D, t, y)
            kinematics(I, D, t, y)
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
def begin(I, D):
    """At the start, units that strike the ground at once do so in an event of its own."""
    never_inline()
    t = D[L.T]
    for k in range(4 * I[L.NUNIT]):
        D[I[L.SLIDE] + k] = 0.0  # of another run
    forget_impacts(I, D)
    I[L.IN_VAIN] = 0
    I[L.ENTRY] = L.CAUSE_BREAK
    if not place_units(I, D, t):
        if I[L.NUNIT] > 0:
            stop_at_start(I, D, t, I[L.Y])
        return 0
    presume(I, D)
    first = I[L.NGUARD]
    for unit in range(I[L.NUNIT] - 1, -1, -1):
        side = I[I[L.STRIKE] + unit]
        if side != 0:
            # a joint that slides has one stop before it, another two
            both = I[I[L.KIND] + unit] == JOINT and I[I[L.STATUS] + unit] == FREE
            first = L.SLOTS * unit + (side - 1 if both else 0)
            I[I[L.FIRED] + first] = 1
    open_event(I, D, t, first, L.CAUSE_GUARD)
    I[L.ENTRY] = L.CAUSE_GUARD
    code = impact(I, D, t, I[L.Y])
    kinematics(I, D, t, I[L.Y])
    return code
