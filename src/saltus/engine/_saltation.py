"""What an event does to differences of states: its change in time, its reset, and the flows before and after.

Laws of impact are compiled functions without derivatives; they are differentiated by central
differences of fourth order, made smaller where they would cross from sticking to sliding.
"""

from saltus._native import call_kernel, compiled, never_inline
from saltus.contact._behaviour import edge, guard_slope, touching
from saltus.contact._grip import CLOSED
from saltus.contact._unit import FORCE, GRIP, GROUND, IMPACT, JOINT
from saltus.engine import _layout as L
from saltus.engine._entry import flags_of_closed
from saltus.engine._events import meet, side_of
from saltus.engine._flow import flow
from saltus.engine._forces import eliminate, make_plan
from saltus.engine._guard_values import arm, kinematics
from saltus.engine._impact import impact
from saltus.engine._status import COLLAPSE
from saltus.engine._variation import (
    COEF_P,
    DTAU,
    FORCES,
    MOST_ATTEMPTS,
    NC,
    NEXT,
    NO_BREAK,
    NP,
    NZ,
    PHI,
    RATE,
    RATE_AFTER,
    RESULT,
    SLOPE,
    SLOPES,
    SPEC,
    SPEC_WIDTH,
    STRUCK,
    TANGENT,
    TIMES,
)
from saltus.engine._variation_flow import linear_flow
from saltus.engine._variation_inputs import offset, weight


@compiled
def set_mode(I, D, statuses, first):
    for unit in range(I[L.NUNIT]):
        I[I[L.STATUS] + unit] = statuses[first + unit]
    make_plan(I, D)
    arm(I, D)


@compiled
def set_mode_of_event(I, D, events, first):
    for unit in range(I[L.NUNIT]):
        I[I[L.STATUS] + unit] = int(events[first + unit])
    make_plan(I, D)
    arm(I, D)


@compiled
def _change_of_guard(I, D, Q, slot, c, lam):
    """Change of a guard under column c of TANGENT, whose last column is time."""
    never_inline()
    nx, n_p, nr, nunit, nz = I[L.NX], Q[NP], I[L.NROW], I[L.NUNIT], Q[NZ]
    high = 2 * nr + nunit + I[L.NUSER]
    p = c if nx <= c < nx + n_p else -1
    unit = slot // L.SLOTS
    if unit >= nunit:
        return _change_of(D, Q, Q[TANGENT], 2 * nr + nunit + slot - L.SLOTS * nunit, high, nx, c, p, nz)
    row, coef, kind = I[I[L.ROW] + unit], Q[COEF_P] + L.COEFFICIENTS * unit * n_p, I[I[L.KIND] + unit]
    second = row + 1 if kind == GROUND else row
    c0 = D[coef + p - nx] if p >= 0 else 0.0
    c1 = D[coef + n_p + p - nx] if p >= 0 else 0.0
    c2 = D[coef + 2 * n_p + p - nx] if p >= 0 else 0.0
    return guard_slope(
        kind,
        I[I[L.STATUS] + unit],
        slot % L.SLOTS,
        _change_of(D, Q, Q[TANGENT], row, high, nx, c, p, nz),
        _change_of(D, Q, Q[TANGENT], second, high, nx, c, p, nz),
        _change_of(D, Q, Q[TANGENT], nr + row, high, nx, c, p, nz),
        _change_of(D, Q, Q[TANGENT], 2 * nr + unit, high, nx, c, p, nz),
        D[Q[FORCES] + c * nr + row],
        D[Q[FORCES] + c * nr + second],
        c0,
        c1,
        c2,
        D[lam + second],
        D[I[L.COEF] + L.COEFFICIENTS * unit],
    )


@compiled
def _change_of(D, Q, X, quantity, high, nx, c, p, nz):
    """Change of one of what the gaps kernel gives under column c of X; the first column of SLOPE is time."""
    total = D[Q[SLOPE] + quantity] if c == nz else 0.0
    if p >= 0:
        total += D[Q[SLOPE] + (1 + p) * high + quantity]
    for j in range(nx):
        total += D[Q[SLOPE] + (1 + j) * high + quantity] * D[X + c * nx + j]
    return total


@compiled
def _times_of_guard(I, D, Q, slot, t, y, lam):
    """Changes of the time at which a guard is zero, from PHI and RATE, to DTAU."""
    never_inline()
    nx, nz = I[L.NX], Q[NZ]
    for k in range(nx * nz):
        D[Q[TANGENT] + k] = D[Q[PHI] + k]
    for i in range(nx):
        D[Q[TANGENT] + nx * nz + i] = D[Q[RATE] + i]
    call_kernel(Q[SLOPES], t, D, y, I[L.U], I[L.P], Q[SLOPE])
    if I[I[L.GUARD_KIND] + slot] == FORCE:
        code = linear_flow(I, D, Q, t, y, Q[TANGENT], nz + 1, Q[RATE], lam, Q[NEXT])
        if code != 0:
            return code
    rate = _change_of_guard(I, D, Q, slot, nz, lam)
    for c in range(nz):
        change = _change_of_guard(I, D, Q, slot, c, lam)
        D[Q[DTAU] + c] = 0.0 if change == 0.0 else -change / rate
    return 0


@compiled
def _strikes(I, D, events, event, t, y):
    """Set the flags of the impact of a recorded event, if it was one."""
    never_inline()
    nunit, ny, nr = I[L.NUNIT], I[L.NY], I[L.NROW]
    kinematics(I, D, t, y)
    flags_of_closed(I)
    old = event + L.E_VECTORS + 2 * ny + 3 * nr
    fired = int(events[event + L.E_FIRED])
    striking = False
    for unit in range(nunit):
        kind, status = I[I[L.KIND] + unit], I[I[L.STATUS] + unit]
        if kind == GRIP and status != CLOSED and events[old + nunit + unit] == CLOSED:
            I[I[L.STRIKE] + unit] = 1
            striking = True
        elif kind == GRIP and status == CLOSED and events[old + nunit + unit] != CLOSED:
            # one that opens at the same instant does so before the impact
            I[I[L.STATUS] + unit] = int(events[old + nunit + unit])
            I[I[L.TOUCH] + unit] = 0
        elif events[event + L.E_CAUSE] == L.CAUSE_GUARD:
            for slot in range(L.SLOTS):
                hit = fired >> (L.SLOTS * unit + slot) & 1 == 1
                if hit and edge(kind, status, slot, 1.0) == IMPACT and meet(I, D, unit, side_of(kind, status, slot)):
                    striking = True
    return striking


@compiled
def _outcome(I, D):
    """A number for which units rest, stand still and stay after an impact."""
    total = 0
    for unit in range(I[L.NUNIT]):
        still = I[I[L.STILL] + unit] if I[I[L.TOUCH] + unit] != 0 or I[I[L.KIND] + unit] == JOINT else 0
        total = (total * 32 + 4 * I[I[L.TOUCH] + unit] + 2 * still) % 1152921504606846883
        if I[I[L.KIND] + unit] != GRIP:
            total += 1 if D[I[L.LAW_OUT] + 3 + 3 * unit] == 1.0 else 0
        if I[I[L.STRIKE] + unit] != 0 and I[I[L.KIND] + unit] == GROUND:
            # one that no longer approaches does not strike
            total += 8 if D[I[L.BEFORE] + I[I[L.ROW] + unit] + 1] < 0.0 else 0
    return total


@compiled
def _reset_of(I, D, Q, events, event, t, column, amount):
    """The state after an impact that begins from a state, parameters and coefficients moved along a column."""
    never_inline()
    nx, n_p, y = I[L.NX], Q[NP], I[L.YN]
    old = event + L.E_VECTORS + 2 * I[L.NY] + 3 * I[L.NROW]
    for i in range(nx):
        D[y + i] = events[event + L.E_VECTORS + i]
    set_mode_of_event(I, D, events, old)
    if not _strikes(I, D, events, event, t, y):
        return 1
    p = column - nx if nx <= column < nx + n_p else -1
    for i in range(nx):
        D[y + i] += amount * D[Q[TANGENT] + column * nx + i]
    _move_parameter(I, D, Q, p, amount)
    kinematics(I, D, t, y)
    I[L.FORESEEN] = 1  # what ends a sequence of impacts does so wherever it begins
    for unit in range(I[L.NUNIT]):
        I[I[L.CLOSING] + unit] = int(events[event + L.E_CLOSED]) >> unit & 1 if unit < 52 else 0
    code = impact(I, D, t, y)
    I[L.FORESEEN] = 0
    _move_parameter(I, D, Q, p, -amount)
    return 2 if code != 0 else 0


@compiled
def _move_parameter(I, D, Q, p, amount):
    if p >= 0:
        n_p = Q[NP]
        D[I[L.P] + p] += amount
        for k in range(L.COEFFICIENTS * I[L.NUNIT]):
            D[I[L.COEF] + k] += amount * D[Q[COEF_P] + k * n_p + p]


@compiled
def _differentiate_reset(I, D, Q, events, event, t):
    """Replace the columns of TANGENT by their images under the derivative of the event's reset, if it has one.

    Sets STRUCK to whether it has.
    """
    never_inline()
    nx, n_p, nz = I[L.NX], Q[NP], Q[NZ]
    code = _reset_of(I, D, Q, events, event, t, 0, 0.0)
    Q[STRUCK] = 1 if code == 0 else 0
    if code != 0:
        return 0 if code == 1 else COLLAPSE
    nominal = _outcome(I, D)
    for c in range(nz):
        size = 1e-300
        for i in range(nx):
            size = max(size, abs(D[Q[TANGENT] + c * nx + i]) / max(1.0, abs(events[event + L.E_VECTORS + i])))
        if nx <= c < nx + n_p:
            size = max(size, 1.0 / max(1e-3, abs(D[I[L.P] + c - nx])))
        step = 1e-4 / size
        for attempt in range(MOST_ATTEMPTS):
            same = True
            for i in range(nx):
                D[Q[RESULT] + i] = 0.0
            for k in range(4):
                code = _reset_of(I, D, Q, events, event, t, c, offset(k) * step)
                if code != 0 or (_outcome(I, D) != nominal and attempt < MOST_ATTEMPTS - 1):
                    same = False
                    break
                for i in range(nx):
                    D[Q[RESULT] + i] += weight(k) / step * D[I[L.YN] + i]
            if same:
                break
            # a stick became a slide or the like: stay nearer; where that does not help, as at a bound, ignore it
            step = 0.1 * step if attempt < MOST_ATTEMPTS - 2 else 1e-6 / size
        for i in range(nx):
            D[Q[NEXT] + c * nx + i] = D[Q[RESULT] + i]
    for k in range(nx * nz):
        D[Q[TANGENT] + k] = D[Q[NEXT] + k]
    return 0


@compiled
def _rate_at(I, D, steps, step, t, y, rate):
    """Flow with the inputs of a step: those it began with if they were held, else what the controller says."""
    row = step * I[L.STEP_ROW]
    I[L.PIECE] = int(steps[row + L.S_PIECE])
    if I[L.CONTROL_KIND] != L.CONTINUOUS:
        for i in range(I[L.NU]):
            D[I[L.U] + i] = steps[row + L.S_VECTORS + i]
    return flow(I, D, t, y, rate, I[L.LAMD])


@compiled
def _times_of_break(D, Q, passed):
    """Changes of the time of a break: one for the controller's parameter that it is, else zero."""
    for c in range(Q[NZ]):
        D[Q[DTAU] + c] = 0.0
    for k in range(Q[NC]):
        if Q[Q[SPEC] + SPEC_WIDTH * k] == passed:
            D[Q[DTAU] + Q[NZ] - Q[NC] + k] = 1.0


@compiled
def jump(I, D, Q, steps, events, event, number, before, after, same_instant):
    """Carry PHI over one recorded event: its time, its reset and the two flows (saltation)."""
    never_inline()
    nx, nz, ny, nr, nunit = I[L.NX], Q[NZ], I[L.NY], I[L.NROW], I[L.NUNIT]
    t, cause, ended = events[event + L.E_TIME], int(events[event + L.E_CAUSE]), events[event + L.E_ENDED] == 1.0
    old = event + L.E_VECTORS + 2 * ny + 3 * nr
    y = I[L.YS]
    for i in range(nx):
        D[y + i] = events[event + L.E_VECTORS + i]
    set_mode_of_event(I, D, events, old)
    code = _rate_at(I, D, steps, before, t, y, Q[RATE])
    if code != 0:
        return code
    if cause == L.CAUSE_GUARD:
        code = _times_of_guard(I, D, Q, int(events[event + L.E_GUARD]), t, y, I[L.LAMD])
        if code != 0:
            return code
    elif not (cause == L.CAUSE_COMMAND and same_instant):
        first = int(steps[before * I[L.STEP_ROW] + L.S_PIECE])
        last = int(steps[after * I[L.STEP_ROW] + L.S_PIECE])
        _times_of_break(D, Q, first if last > first else NO_BREAK)
    for c in range(nz):
        D[Q[TIMES] + number * nz + c] = D[Q[DTAU] + c]
        for i in range(nx):
            D[Q[TANGENT] + c * nx + i] = D[Q[PHI] + c * nx + i] + D[Q[RATE] + i] * D[Q[DTAU] + c]
    Q[STRUCK] = 0
    if not ended:
        if nunit > 0:
            code = _differentiate_reset(I, D, Q, events, event, t)
            if code != 0:
                return code
        for i in range(nx):
            D[y + i] = events[event + L.E_VECTORS + ny + i]
        set_mode_of_event(I, D, events, old + nunit)
        code = _rate_at(I, D, steps, after, t, y, Q[RATE_AFTER])
        if code != 0:
            return code
    for c in range(nz):
        for i in range(nx):
            place, after_it = Q[PHI] + c * nx + i, 0.0 if ended else D[Q[RATE_AFTER] + i]
            if Q[STRUCK] == 1 and i >= I[L.NQ]:
                D[place] = D[Q[TANGENT] + c * nx + i] - after_it * D[Q[DTAU] + c]
            else:  # what the reset leaves alone: large numbers must not cancel
                D[place] += (D[Q[RATE] + i] - after_it) * D[Q[DTAU] + c]
    if not ended and I[L.NACTIVE] > 0:
        settle_columns(I, D, Q, t, y)
    return 0


@compiled
def _row_of_place(I, row):
    """Where a closed row must be, as a coefficient: 0 on the ground, 1 or 2 at a stop, -1 where it was."""
    for unit in range(I[L.NUNIT]):
        kind, first = I[I[L.KIND] + unit], I[I[L.ROW] + unit]
        if kind == GROUND and row == first + 1:
            return unit, 0
        if kind == JOINT and row == first and touching(kind, I[I[L.STATUS] + unit]) != 0:
            return unit, touching(kind, I[I[L.STATUS] + unit])
    return 0, -1


@compiled
def settle_columns(I, D, Q, t, y):
    """Move all columns of PHI onto the closed contacts: no closed row parts, and none moves.

    A neighbour that slides for a moment where the run itself sticks at once ends up there as well.
    """
    never_inline()
    nx, n_p, nr, nv, nq, nz = I[L.NX], Q[NP], I[L.NROW], I[L.NV], I[L.NQ], Q[NZ]
    high, S, A = 2 * nr + I[L.NUNIT] + I[L.NUSER], I[L.SOLVE], I[L.W_A]
    call_kernel(Q[SLOPES], t, D, y, I[L.U], I[L.P], Q[SLOPE])
    for c in range(nz):
        p = c if nx <= c < nx + n_p else -1
        for level in range(2):
            n = 0
            for i in range(I[L.NACTIVE]):
                _, place = _row_of_place(I, I[I[L.ACTIVE_ROW] + i])
                if level == 1 or place >= 0:
                    I[I[L.PICKED] + n] = I[I[L.ACTIVE_ROW] + i]
                    n += 1
            w = n + 1
            for i in range(n):
                row = I[I[L.PICKED] + i]
                for j in range(n):
                    D[S + i * w + j] = D[A + row * nr + I[I[L.PICKED] + j]]
                    if level == 1 and I[I[L.ACTIVE_PAIR] + j] >= 0:  # what slides is stopped with friction
                        D[S + i * w + j] += D[I[L.ACTIVE_TIE] + j] * D[A + row * nr + I[I[L.ACTIVE_PAIR] + j]]
                wrong = _change_of(D, Q, Q[PHI], level * nr + row, high, nx, c, p, nz)
                unit, place = _row_of_place(I, row)
                if level == 0 and place > 0 and p >= 0:
                    wrong -= D[Q[COEF_P] + (L.COEFFICIENTS * unit + place) * n_p + p - nx]
                D[S + i * w + n] = -wrong
            if n > 0 and eliminate(I, D, n, False):
                for i in range(n):
                    amount = D[S + i * w + n]
                    for j in range(nv):
                        change = D[I[L.W_MJ] + I[I[L.PICKED] + i] * nv + j]
                        if level == 1 and I[I[L.ACTIVE_PAIR] + i] >= 0:
                            change += D[I[L.ACTIVE_TIE] + i] * D[I[L.W_MJ] + I[I[L.ACTIVE_PAIR] + i] * nv + j]
                        D[Q[PHI] + c * nx + level * nq + j] += amount * change


@compiled
def plain_break(I, D, Q, steps, before, after, t, y):
    """Carry PHI over a break that changed no mode, whose time a controller's parameter may move."""
    never_inline()
    nx, nz = I[L.NX], Q[NZ]
    _times_of_break(D, Q, int(steps[before * I[L.STEP_ROW] + L.S_PIECE]))
    code = _rate_at(I, D, steps, before, t, y, Q[RATE])
    if code == 0:
        code = _rate_at(I, D, steps, after, t, y, Q[RATE_AFTER])
    for c in range(nz):
        for i in range(nx):
            D[Q[PHI] + c * nx + i] += (D[Q[RATE] + i] - D[Q[RATE_AFTER] + i]) * D[Q[DTAU] + c]
    return code
