"""Entering a mode: inputs, next statuses, first stage, and which guards are zero there."""

import math

from saltus._native import call_kernel, compiled, never_inline
from saltus.contact._behaviour import edge, holds, on_ground, presumed, slides, touching
from saltus.contact._grip import CLOSED, OPEN, REACHING, RELEASED
from saltus.contact._unit import AGAIN, CLOSE, FORCE, GRIP, JOINT, RELEASE, SPACE
from saltus.engine import _layout as L
from saltus.engine._choose import choose
from saltus.engine._cuts import forget_sides, keep_sides
from saltus.engine._flow import flow, set_inputs, shift, unit_length
from saltus.engine._forces import set_gates
from saltus.engine._guard_values import EPSILON, arm, floor_of, guards, kinematics, sizes, slopes
from saltus.engine._impact import impact
from saltus.engine._instants import same_time
from saltus.engine._record import close_event, open_event
from saltus.engine._slides import slip_speed
from saltus.engine._status import NO_MODE, TERMINAL

# So many events of forces at one instant that change nothing say that no mode goes on.
MOST_IN_VAIN = 50

# A start this near to the ground, or with a velocity this small, is on it or at rest (m, m/s).
ON_GROUND = 1e-9


@compiled
def _beyond(I, D, unit):
    """How far a unit is beyond the ground or the nearer stop, and where that is."""
    kind, row, c = I[I[L.KIND] + unit], I[I[L.ROW] + unit], I[L.COEF] + L.COEFFICIENTS * unit
    if on_ground(kind):
        return -D[I[L.GAP] + row + 1], 0.0
    below, above = D[I[L.GAP] + row] - D[c + 1], D[c + 2] - D[I[L.GAP] + row]
    return (-above, D[c + 2]) if above < below else (-below, D[c + 1])


@compiled
def put_onto(I, D, t):
    """Move a start that is on the ground or at a stop, but for more than rounding, exactly onto it.

    Several units in turn, in the metric of the mass matrix, until all are there.
    """
    never_inline()
    nr, near = I[L.NROW], I[L.PICK]
    sizes(I, D, t, I[L.Y])
    for unit in range(I[L.NUNIT]):
        I[near + unit] = 1 if I[I[L.KIND] + unit] != GRIP and _beyond(I, D, unit)[0] >= -ON_GROUND else 0
    for _ in range(100):
        moved = False
        for unit in range(I[L.NUNIT]):
            if I[near + unit] == 0:
                continue
            beyond, where = _beyond(I, D, unit)
            normal = I[I[L.ROW] + unit] + (1 if on_ground(I[I[L.KIND] + unit]) else 0)
            if abs(beyond) <= 16.0 * EPSILON * D[I[L.SIZE] + normal]:
                continue
            if call_kernel(I[L.TERMS], t, D, I[L.Y], I[L.U], I[L.P], I[L.W]) != 0:
                return
            amount = (where - D[I[L.GAP] + normal]) / D[I[L.W_A] + normal * nr + normal]
            shift(I, D, I[L.Y], normal, amount)
            unit_length(I, D, I[L.Y])
            kinematics(I, D, t, I[L.Y])
            moved = True
        if not moved:
            return


@compiled
def place_units(I, D, t):
    """At the start: which units are on the ground or at a stop, which strike it, which are leaving."""
    never_inline()
    kinematics(I, D, t, I[L.Y])
    put_onto(I, D, t)
    striking = False
    for unit in range(I[L.NUNIT]):
        kind, row, c = I[I[L.KIND] + unit], I[I[L.ROW] + unit], I[L.COEF] + L.COEFFICIENTS * unit
        I[I[L.ENDED] + unit] = -1
        if kind == GRIP:
            status, beyond = I[I[L.STATUS] + unit], D[I[L.GAP_REACH] + unit] > floor_of(I, D, L.SLOTS * unit, 0.0)
            I[I[L.TOUCH] + unit] = touching(kind, status)
            if status == REACHING and not beyond:
                I[I[L.STRIKE] + unit] = 1
                striking = True
            elif status == RELEASED and (beyond or D[c] <= 0.0):
                I[I[L.STATUS] + unit] = OPEN
            continue
        normal = row + 1 if on_ground(kind) else row
        I[I[L.STILL] + unit] = 1 if slip_speed(I, D, unit, I[L.GAP_V]) <= ON_GROUND else 0
        gap, speed, side, slot = D[I[L.GAP] + normal], D[I[L.GAP_V] + normal], 1, L.SLOTS * unit
        if kind == JOINT:
            below, above = gap - D[c + 1], D[c + 2] - gap
            gap = min(below, above)
            if above < below:
                side, speed = 2, -speed
                slot += 1 if D[c] <= 0.0 else 0  # with dry friction, the stop ahead has the first guard
        if gap <= ON_GROUND:
            I[I[L.ZERO] + slot] = 1
            if speed < -ON_GROUND:
                I[I[L.STRIKE] + unit] = side
                striking = True
            elif speed <= ON_GROUND:
                I[I[L.TOUCH] + unit] = side
    return striking


@compiled
def flags_of_closed(I):
    """Closed units rest on something; they are still if they hold, or have just begun to slide."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        kind, status = I[I[L.KIND] + unit], I[I[L.STATUS] + unit]
        I[I[L.CANDIDATES] + unit] = 0
        I[I[L.ENDED] + unit] = -1
        I[I[L.STRIKE] + unit] = 0
        I[I[L.TOUCH] + unit] = touching(kind, status)
        just = slides(kind, status) and I[I[L.ZERO] + L.SLOTS * unit + 1] == 1
        I[I[L.STILL] + unit] = 1 if holds(kind, status) or just else 0


@compiled
def presume(I, D):
    """Until the mode is chosen, which needs the inputs, tell the controller what is known of it."""
    never_inline()
    set_gates(I, D)
    for unit in range(I[L.NUNIT]):
        I[I[L.STATUS] + unit] = presumed(
            I[I[L.KIND] + unit],
            I[I[L.STATUS] + unit],
            I[I[L.TOUCH] + unit],
            I[I[L.STILL] + unit] == 1,
            D[I[L.GAP_V] + I[I[L.ROW] + unit]],
            D[I[L.COEF] + L.COEFFICIENTS * unit],
        )


@compiled
def anchor(I, D):
    """Note where rows that have just closed are held: where they are, on the ground, or at the stop."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        kind, status, row = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], I[I[L.ROW] + unit]
        if kind == JOINT and touching(kind, status) != 0:
            D[I[L.ANCHOR] + row] = D[I[L.COEF] + L.COEFFICIENTS * unit + touching(kind, status)]
        elif holds(kind, status) and I[I[L.WAS] + unit] != status:
            D[I[L.ANCHOR] + row] = D[I[L.GAP] + row]
            if kind == GRIP:
                D[I[L.ANCHOR] + row + 1] = D[I[L.GAP] + row + 1]
            elif kind == SPACE:
                D[I[L.ANCHOR] + row + 2] = D[I[L.GAP] + row + 2]


@compiled
def zero_on_entry(I, D):
    """Guards at the start of a mode, and which of them are zero there."""
    never_inline()
    nunit, g0, zero = I[L.NUNIT], I[L.G0], I[L.ZERO]
    guards(I, D, I[L.LAM], g0)
    slopes(I, D, D[L.T], I[L.Y], I[L.K], I[L.SLOPE0])
    sizes(I, D, D[L.T], I[L.Y])
    for slot in range(I[L.NGUARD]):
        floor = floor_of(I, D, slot, 0.0)
        if I[I[L.GUARD_KIND] + slot] == FORCE:
            floor *= 1e3
        unit = slot // L.SLOTS
        if unit >= nunit:
            known = I[I[L.FIRED] + slot] == 1
        else:  # it was zero when the mode was entered, and has not been seen above it since
            known = I[zero + slot] == 1 and I[I[L.WAS] + unit] == I[I[L.STATUS] + unit] and D[g0 + slot] <= floor
        I[zero + slot] = 1 if known or abs(D[g0 + slot]) <= floor else 0
        if not known or I[I[L.FIRED] + slot] == 1 or I[L.NSTEP] == 0:
            D[I[L.BASE] + slot] = min(D[g0 + slot], 0.0)
    for unit in range(nunit):
        kind, status, slot = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], L.SLOTS * unit
        side = max(I[I[L.TOUCH] + unit], I[I[L.STRIKE] + unit])
        if kind != GRIP and slides(kind, status):
            if I[I[L.STILL] + unit] == 1:
                I[zero + slot + 1] = 1
        elif kind != GRIP and not holds(kind, status) and side != 0:
            # it leaves the ground, or the stop on that side
            I[zero + slot + side - 1] = 1


@compiled
def _at_hand(I, D, unit):
    """Whether a grip that holds nothing could close where it is."""
    status = I[I[L.STATUS] + unit]
    return status in (OPEN, RELEASED) and D[I[L.GAP_REACH] + unit] <= 0.0


@compiled
def requested(I, D):
    """Whether a controller asks a grip for something that it has not done."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == GRIP:
            status, wish = I[I[L.STATUS] + unit], I[I[L.REQUEST] + unit]
            if wish == CLOSE and status == OPEN:
                return True
            if wish == RELEASE and status in (CLOSED, REACHING):
                return True
            if wish == AGAIN and _at_hand(I, D, unit):
                return True
    return False


@compiled
def obey(I, D, t, y):
    """Open grips, close those that can hold where they are, let the others reach for something."""
    never_inline()
    flags_of_closed(I)
    sizes(I, D, t, y)
    closing = False
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] != GRIP:
            continue
        place, wish = I[L.STATUS] + unit, I[I[L.REQUEST] + unit]
        choosy = D[I[L.COEF] + L.COEFFICIENTS * unit] > 0.0
        # the edge is within reach, but not for one that leaves just now; what it let go there it has yet to leave
        near = floor_of(I, D, L.SLOTS * unit, 0.0)
        if wish == CLOSE and I[place] == OPEN:
            if choosy and (D[I[L.GAP_REACH] + unit] > near or D[I[L.LEFT] + unit] == t):
                I[place] = REACHING
            else:
                I[I[L.STRIKE] + unit] = 1
                closing = True
        elif wish == AGAIN and _at_hand(I, D, unit):
            I[I[L.STRIKE] + unit] = 1
            closing = True
        elif wish == RELEASE and I[place] == CLOSED:
            I[place] = RELEASED if choosy and D[I[L.GAP_REACH] + unit] < near else OPEN
            I[I[L.TOUCH] + unit] = 0
        elif wish == RELEASE and I[place] == REACHING:
            I[place] = OPEN
    if closing:
        code = impact(I, D, t, y)
        if code != 0:
            return code
        kinematics(I, D, t, y)
    return 0


@compiled
def stopped(I, D):
    """Whether an input that jumps takes a unit past a guard that is to end the run; it then ends before the jump."""
    never_inline()
    if I[L.PENDING] == 0 or (I[L.ENTRY] != L.CAUSE_BREAK and I[L.ENTRY] != L.CAUSE_SAMPLE) or I[L.COMMANDED] == 1:
        return False
    for unit in range(I[L.NUNIT]):
        old, new, kind = I[I[L.WAS] + unit], I[I[L.STATUS] + unit], I[I[L.KIND] + unit]
        for slot in range(L.SLOTS):
            leads = old != new and edge(kind, old, slot, D[I[L.COEF] + L.COEFFICIENTS * unit]) == new
            if leads and (I[I[L.STOPS] + unit] >> (L.SLOTS * old + slot)) & 1:
                place = L.SLOTS * unit + slot
                if D[I[L.EVENT] + L.E_FIRED] == 0.0 and place < 52:
                    D[I[L.EVENT] + L.E_FIRED] = float(1 << place)
                D[I[L.EVENT] + L.E_CAUSE] = L.CAUSE_GUARD
                D[I[L.EVENT] + L.E_GUARD] = place
                for other in range(I[L.NUNIT]):
                    I[I[L.STATUS] + other] = I[I[L.WAS] + other]
                return True
    return False


@compiled
def ask_controller(I, D, t, y):
    """Ask for inputs and requests where they may change: a sampled controller at its samples, another always."""
    never_inline()
    kind = I[L.CONTROL_KIND]
    due = I[L.ENTRY] == L.CAUSE_SAMPLE or I[L.SAMPLE] == 0
    if kind == L.CONTINUOUS or (kind == L.SAMPLED and due):
        code = set_inputs(I, D, t, y)
        if code != 0:
            return code
        I[L.SAMPLE] += 1
    return 0


@compiled
def _changed(I, D):
    """Whether a sample, at which nothing else happens, changed any input; if none, the mode goes on as it was."""
    alone = I[L.ENTRY] == L.CAUSE_SAMPLE and D[I[L.EVENT] + L.E_CAUSE] == L.CAUSE_SAMPLE and I[L.COMMANDED] == 0
    changed = not alone
    for i in range(I[L.NU]):
        if D[I[L.U] + i] != D[I[L.U_BEFORE] + i]:
            changed = True
    return changed


@compiled
def _ended(I):
    """Whether a force guard ended the status of a unit."""
    ended = -1
    for unit in range(I[L.NUNIT]):
        ended = max(ended, I[I[L.ENDED] + unit])
    return ended >= 0


@compiled
def _in_vain(I, D, t):
    """Whether force guards fire again and again at one instant and the mode stays: the next one is not consistent.

    So it is where a controller acts otherwise in that mode.
    """
    for unit in range(I[L.NUNIT]):
        if I[I[L.WAS] + unit] != I[I[L.STATUS] + unit]:
            I[L.IN_VAIN] = 0
            return False
    if I[L.IN_VAIN] == 0 or t - D[L.IN_VAIN_SINCE] > same_time(t):
        I[L.IN_VAIN], D[L.IN_VAIN_SINCE] = 0, t
    I[L.IN_VAIN] += 1
    return I[L.IN_VAIN] > MOST_IN_VAIN


@compiled
def enter(I, D, events):
    """Inputs, next mode, first stage and guards; then the event that led here is complete.

    What the controller asks of grips is an event of its own, after the one that led here.
    """
    never_inline()
    t, y = D[L.T], I[L.Y]
    if I[L.ENTRY] != L.CAUSE_BREAK and I[L.ENTRY] != L.CAUSE_SAMPLE:
        for i in range(I[L.NX]):
            D[I[L.LOW] + i] = 0.0  # an event puts the state where it is
    kinematics(I, D, t, y)
    if I[L.ENTRY] == L.CAUSE_COMMAND:
        flags_of_closed(I)
    presume(I, D)
    for i in range(I[L.NU]):
        D[I[L.U_BEFORE] + i] = D[I[L.U] + i]
    code = ask_controller(I, D, t, y)
    if code != 0:
        return code
    command = I[L.COMMANDED] == 0 and requested(I, D)
    if command and (I[L.PENDING] == 0 or D[I[L.EVENT] + L.E_CAUSE] >= L.CAUSE_BREAK):
        # a break or a sample at which grips are told what to do is a command
        if I[L.PENDING] == 0:
            open_event(I, D, t, -1, L.CAUSE_COMMAND)
        D[I[L.EVENT] + L.E_CAUSE] = L.CAUSE_COMMAND
        I[L.COMMANDED] = 1
        command = False
        code = obey(I, D, t, y)
        if code != 0:
            return code
        presume(I, D)
    if I[L.NUNIT] > 0 and not _changed(I, D):
        for unit in range(I[L.NUNIT]):
            I[I[L.STATUS] + unit] = I[I[L.WAS] + unit]
    elif I[L.NUNIT] > 0:
        ended = _ended(I)
        code = choose(I, D, t)
        if code == 0 and ended and _in_vain(I, D, t):
            code = NO_MODE
        if code != 0:
            return code
        if stopped(I, D):
            return TERMINAL
        anchor(I, D)
    arm(I, D)
    forget_sides(I)
    code = flow(I, D, t, y, I[L.K], I[L.LAM])
    if code != 0:
        return code
    keep_sides(I)
    zero_on_entry(I, D)
    for slot in range(I[L.NGUARD]):
        I[I[L.FIRED] + slot] = 0
    if I[L.PENDING] == 1:
        close_event(I, D, events, False)
    other = I[L.ENTRY] == L.CAUSE_BREAK
    for unit in range(I[L.NUNIT]):
        other = other or I[I[L.WAS] + unit] != I[I[L.STATUS] + unit]
        I[I[L.WAS] + unit] = I[I[L.STATUS] + unit]
    if other and I[L.NSTEP] > 0:
        # the step size of another flow is none for this one
        D[L.H] = min(D[L.H], first_step(I, D))
    I[L.ENTRY] = L.CAUSE_COMMAND if command else L.CAUSE_NONE
    return 0


@compiled
def first_step(I, D):
    """A first step size from the sizes of state, rate and its change over a short Euler step [hairer1993, II.4]."""
    never_inline()
    n, y, k, yd, kd = I[L.N], I[L.Y], I[L.K], I[L.YD], I[L.KD]
    d0 = d1 = d2 = 0.0
    for i in range(n):
        scale = D[L.ATOL] + D[L.RTOL] * abs(D[y + i])
        d0 += (D[y + i] / scale) ** 2
        d1 += (D[k + i] / scale) ** 2
    d0, d1 = math.sqrt(d0 / n), math.sqrt(d1 / n)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    if not h > 0.0:
        return 1e-6
    h = min(h, 0.1 * (D[L.T_END] - D[L.T]))
    for i in range(n):
        D[yd + i] = D[y + i] + h * D[k + i]
    if flow(I, D, D[L.T] + h, yd, kd, I[L.LAMD]) != 0:
        return h
    for i in range(n):
        scale = D[L.ATOL] + D[L.RTOL] * abs(D[y + i])
        d2 += ((D[kd + i] - D[k + i]) / scale) ** 2
    largest = max(d1, math.sqrt(d2 / n) / h) if h > 0.0 else 0.0
    bound = math.pow(0.01 / largest, 1.0 / I[L.ORDER]) if largest > 1e-15 else max(1e-6, 1e-3 * h)
    longest = min(100.0 * h, 0.1 * (D[L.T_END] - D[L.T]))
    return min(longest, bound) if bound > 0.0 else h
