"""How the end of a run depends on its start: the variational equations along the recorded steps, and a
saltation at each event.

Columns of every matrix here are, in this order, states at the start, parameters, and parameters of the
controller; some have one more, for time. The flow is differentiated exactly, by kernels. What users
write as compiled functions, laws of impact and controllers, is differentiated by central differences of
fourth order, which leaves about 1e-12.
"""

import math

from saltus._native import call_control, call_kernel, compiled, never_inline
from saltus.contact._behaviour import edge, guard_slope, holds, touching
from saltus.contact._grip import CLOSED
from saltus.contact._joint import PLUS
from saltus.contact._unit import FORCE, GRIP, GROUND, IMPACT, JOINT
from saltus.engine import _layout as L
from saltus.engine._entry import flags_of_closed
from saltus.engine._events import meet, side_of
from saltus.engine._flow import eliminate, flow, make_plan
from saltus.engine._guards import arm, kinematics
from saltus.engine._impact import impact
from saltus.engine._status import COLLAPSE
from saltus.engine._tableau import dense_at

# Fields of Q, in place of a second layout: sizes, addresses, limits, then places in D.
(
    NZ, NP, NC, NM, NEVENT, DERIVATIVES, SLOPES, ONLY, BLIND, SKIP, STRUCK,
    TABLEAU, PHI, STAGE, NEXT, KZ, CU, INPUTS, HELD, MEMORY, MEMORY_NEXT, MEMORY_BASE, DER, SLOPE, EXT, DTAU, FORCES,
    COEF_P, LIMIT_P, TIMES, TANGENT, RATE, RATE_AFTER, RESULT, SPARE, SINCE, UNTIL, SPEC, Q_END,
) = range(39)  # fmt: skip

# Places of a controller's parameter: the break that it moves, how many numbers it is, and where they are.
SPEC_WIDTH, MOST_PLACES = 6, 4

# Relative step of differences.
DIFFERENCE = 1e-3

# How often a difference of a reset is made smaller.
MOST_ATTEMPTS = 7

# In place of the number of a break: of a parameter that moves none, and of an event that is none.
MOVES_NONE, NO_BREAK = -1, -2


@compiled
def _offset(k):
    """The four points of a central difference of fourth order."""
    return (1.0, -1.0, 2.0, -2.0)[k]


@compiled
def _weight(k):
    return (8.0, -8.0, -1.0, 1.0)[k] / 12.0


@compiled
def _ask(I, D, Q, t, y):
    """Ask the controller as the loop does, from the memory as it was, and clip."""
    for m in range(Q[NM]):
        D[I[L.MEM] + m] = D[Q[MEMORY_BASE] + m]
    call_control(I[L.CONTROL], t, I, D, y, I[L.STATUS], I[L.MEM], I[L.P], I[L.DATA], I[L.PIECE], I[L.U], I[L.REQUEST])
    for i in range(I[L.NU]):
        limit = D[I[L.LIMIT] + i]
        D[I[L.U] + i] = min(max(D[I[L.U] + i], -limit), limit)


@compiled
def _shift(I, D, Q, column, amount, y):
    """Move one of what inputs depend on: state, parameter, controller's parameter, memory; returns its size."""
    nx, n_p, nc = I[L.NX], Q[NP], Q[NC]
    if column < nx:
        D[y + column] += amount
        return max(1.0, abs(D[y + column]))
    column -= nx
    if column < n_p:
        D[I[L.P] + column] += amount
        return max(1e-3, abs(D[I[L.P] + column]))
    column -= n_p
    if column < nc:
        spec = Q[SPEC] + SPEC_WIDTH * column
        size = 1e-3
        for k in range(Q[spec + 1]):
            place = I[L.DATA] + Q[spec + 2 + k]
            D[place] += amount
            size = max(size, abs(D[place]))
        return size
    column -= nc
    if column < Q[NM]:
        D[Q[MEMORY_BASE] + column] += amount
        return max(1.0, abs(D[Q[MEMORY_BASE] + column]))
    return 1.0


@compiled
def _difference(I, D, Q, t, y, ys, c, columns, step, out):
    """Add a column of the derivatives of inputs and memory, by differences of one step."""
    never_inline()
    nu, nm, nx = I[L.NU], Q[NM], I[L.NX]
    for k in range(4):
        amount = _offset(k) * step
        _shift(I, D, Q, c, amount, ys)
        _ask(I, D, Q, t + amount if c == columns - 1 else t, ys)
        _shift(I, D, Q, c, -amount, ys)
        for i in range(nu):
            D[out + i] += _weight(k) / step * D[I[L.U] + i]
        for m in range(nm):
            D[out + nu + m] += _weight(k) / step * D[I[L.MEM] + m]
    # adding and taking away may have left a rounding
    if c < nx:
        D[ys + c] = D[y + c]


@compiled
def control_matrix(I, D, Q, t, y):
    """Derivatives of inputs, and of the memory after the call, by everything that they depend on.

    Written to CU, a column of inputs and memory for each state, parameter, controller's parameter,
    memory and, last, time. Inputs and memory are left as the controller sets them at (t, y).
    """
    never_inline()
    nx, n_p, nc, nm, nu = I[L.NX], Q[NP], Q[NC], Q[NM], I[L.NU]
    high, columns = nu + nm, nx + n_p + nc + nm + 1
    if I[L.PIECE] < I[L.NBREAK]:
        t = min(t, D[I[L.BREAKS] + I[L.PIECE]] * (1.0 - 1e-16))
    for m in range(nm):
        D[Q[MEMORY_BASE] + m] = D[I[L.MEM] + m]
    ys = I[L.YD]
    for i in range(nx):
        D[ys + i] = D[y + i]
    for c in range(columns):
        out = Q[CU] + c * high
        for i in range(high):
            D[out + i] = 0.0
        if Q[BLIND] == 1 and nx <= c < nx + n_p:
            continue
        step = DIFFERENCE * _shift(I, D, Q, c, 0.0, ys)
        for _ in range(5):
            # differences of two steps agree where the function is smooth on their scale
            coarse, fine = 0.0, 0.0
            for i in range(high):
                D[out + i] = D[Q[SPARE] + i] = 0.0
            _difference(I, D, Q, t, y, ys, c, columns, step, out)
            _difference(I, D, Q, t, y, ys, c, columns, step / 16.0, Q[SPARE])
            for i in range(high):
                coarse = max(coarse, abs(D[out + i] - D[Q[SPARE] + i]))
                fine = max(fine, abs(D[Q[SPARE] + i]))
            if coarse <= 1e-9 * fine or coarse <= 1e-12:
                break
            step /= 16.0
    _ask(I, D, Q, t, ys)
    for i in range(nu):
        limit = D[I[L.LIMIT] + i]
        if abs(D[I[L.U] + i]) >= limit:
            sign = 1.0 if D[I[L.U] + i] > 0.0 else -1.0
            for c in range(columns):
                inside = nx <= c < nx + n_p
                D[Q[CU] + c * high + i] = sign * D[Q[LIMIT_P] + i * n_p + c - nx] if inside else 0.0


@compiled
def _change_of_inputs(I, D, Q, X, columns, out, memory):
    """Chain rule: changes of inputs (and of memory) for all columns of changes X of the state."""
    never_inline()
    nx, n_p, nc, nm, nu, nz = I[L.NX], Q[NP], Q[NC], Q[NM], I[L.NU], Q[NZ]
    high = nu + nm
    for c in range(columns):
        for i in range(high):
            total = 0.0
            for j in range(nx):
                total += D[Q[CU] + j * high + i] * D[X + c * nx + j]
            if nx <= c < nz:
                total += D[Q[CU] + c * high + i]
            for m in range(nm):
                if c < nz:
                    total += D[Q[CU] + (nx + n_p + nc + m) * high + i] * D[Q[MEMORY] + c * nm + m]
            if c == nz:
                total += D[Q[CU] + (nx + n_p + nc + nm) * high + i]
            if i < nu:
                D[out + c * nu + i] = total
            elif memory:
                D[Q[MEMORY_NEXT] + c * nm + i - nu] = total


@compiled
def take_sample(I, D, Q, t, y):
    """At a sample the inputs, and the memory, change with the state; they are held until the next."""
    never_inline()
    nz, nm = Q[NZ], Q[NM]
    control_matrix(I, D, Q, t, y)
    _change_of_inputs(I, D, Q, Q[PHI], nz, Q[HELD], True)
    for k in range(nz * nm):
        D[Q[MEMORY] + k] = D[Q[MEMORY_NEXT] + k]


@compiled
def _remember(I, D, Q, t, y):
    """Let the controller's memory go on as it did at a sample."""
    for m in range(Q[NM]):
        D[Q[MEMORY_BASE] + m] = D[I[L.MEM] + m]
    _ask(I, D, Q, t, y)


@compiled
def linear_flow(I, D, Q, t, y, X, columns, k, lam, out):
    """Flow at (t, y) to k and lam, and its changes under the columns of X to out, those of forces to FORCES."""
    never_inline()
    code = flow(I, D, t, y, k, lam)
    if code != 0:
        return code
    nx, n_p, nq, nv, nu, nr, nz = I[L.NX], Q[NP], I[L.NQ], I[L.NV], I[L.NU], I[L.NROW], Q[NZ]
    inputs = Q[HELD]
    if I[L.CONTROL_KIND] == L.CONTINUOUS:
        control_matrix(I, D, Q, t, y)
        inputs = Q[INPUTS]
        _change_of_inputs(I, D, Q, X, columns, inputs, False)
    for i in range(nu):
        D[Q[EXT] + i] = D[I[L.U] + i]
    for i in range(nv):
        D[Q[EXT] + nu + i] = D[k + nq + i]
    for r in range(nr):
        D[Q[EXT] + nu + nv + r] = D[lam + r]
    call_kernel(Q[DERIVATIVES], t, D, y, Q[EXT], I[L.P], Q[DER])
    m = nx + n_p + 1
    DQ = Q[DER]
    DA = DQ + nq * m
    DU = DA + nv * m
    for c in range(columns):
        x, o = X + c * nx, out + c * nx
        p = c if nx <= c < m - 1 else -1
        if c == nz:
            p = m - 1  # time
        for i in range(nq):
            total = D[DQ + p * nq + i] if p >= 0 else 0.0
            for j in range(nx):
                total += D[DQ + j * nq + i] * D[x + j]
            D[o + i] = total
        for i in range(nv):
            total = D[DA + p * nv + i] if p >= 0 else 0.0
            for j in range(nx):
                total += D[DA + j * nv + i] * D[x + j]
            if c < nz or inputs == Q[INPUTS]:
                for j in range(nu):
                    total += D[DU + j * nv + i] * D[inputs + c * nu + j]
            D[o + nq + i] = total
        for r in range(nr):
            D[Q[FORCES] + c * nr + r] = 0.0
        if I[L.NCLOSED] > 0:
            _linear_contacts(I, D, Q, x, o + nq, p, lam, Q[FORCES] + c * nr, DU + nv * nu)
    return 0


@compiled
def _linear_contacts(I, D, Q, x, acc, p, lam, forces, DB):
    """Changes of contact forces that keep the closed rows from accelerating, added to the accelerations."""
    never_inline()
    nx, n_p, nv, nr, n = I[L.NX], Q[NP], I[L.NV], I[L.NROW], I[L.NACTIVE]
    J, A, S, w = DB + nr * (nx + n_p + 1), I[L.W_A], I[L.SOLVE], n + 1
    rows, pairs, ties = I[L.ACTIVE_ROW], I[L.ACTIVE_PAIR], I[L.ACTIVE_TIE]
    # friction is a parameter too: its change acts as a given force
    for unit in range(I[L.NUNIT]):
        change = D[Q[COEF_P] + L.COEFFICIENTS * unit * n_p + p - nx] if 0 <= p < nx + n_p else 0.0
        row, kind, status = I[I[L.ROW] + unit], I[I[L.KIND] + unit], I[I[L.STATUS] + unit]
        if change != 0.0 and kind != GRIP and (status == 2 or status == 3):  # slides
            sign = -1.0 if status == PLUS else 1.0
            D[forces + row] = sign * change * (D[lam + row + 1] if kind == GROUND else 1.0)
    for i in range(n):
        row = I[rows + i]
        total = D[DB + p * nr + row] if p >= 0 else 0.0
        for j in range(nx):
            total += D[DB + j * nr + row] * D[x + j]
        for j in range(nv):
            total += D[J + j * nr + row] * D[acc + j]
        for r in range(nr):
            total += D[A + row * nr + r] * D[forces + r]
        for j in range(n):
            entry = D[A + row * nr + I[rows + j]]
            if I[pairs + j] >= 0:
                entry += D[ties + j] * D[A + row * nr + I[pairs + j]]
            D[S + i * w + j] = entry
        D[S + i * w + n] = -total
    eliminate(I, D, n, False)
    for i in range(n):
        force = D[S + i * w + n]
        D[forces + I[rows + i]] += force
        if I[pairs + i] >= 0:
            D[forces + I[pairs + i]] += D[ties + i] * force
    for r in range(nr):
        if D[forces + r] != 0.0:
            for j in range(nv):
                D[acc + j] += D[forces + r] * D[I[L.W_MJ] + r * nv + j]
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == JOINT and holds(JOINT, I[I[L.STATUS] + unit]):
            D[acc + I[I[L.COORDINATE] + unit]] = 0.0


@compiled
def follow_step(I, D, Q, t, h):
    """Carry PHI over one step from Y, by the same stages as the step itself."""
    never_inline()
    nx, nz, stages = I[L.NX], Q[NZ], I[L.NSTAGE]
    y, ys, ny, nodes, size = I[L.Y], I[L.YS], I[L.NY], Q[TABLEAU], I[L.NX] * Q[NZ]
    for j in range(stages):
        weights = nodes + stages + j * stages
        for i in range(nx):
            total = 0.0
            for l in range(j):
                total += D[weights + l] * D[I[L.K] + l * ny + i]
            D[ys + i] = D[y + i] + h * total
        for c in range(size):
            total = 0.0
            for l in range(j):
                if D[weights + l] != 0.0:
                    total += D[weights + l] * D[Q[KZ] + l * size + c]
            D[Q[STAGE] + c] = D[Q[PHI] + c] + h * total
        if j == stages - 1:
            for c in range(size):
                D[Q[PHI] + c] = D[Q[STAGE] + c]
            return 0
        code = linear_flow(I, D, Q, t + D[nodes + j] * h, ys, Q[STAGE], nz, I[L.K] + j * ny, I[L.LAM], Q[KZ] + j * size)
        if code != 0:
            return code
    return 0


@compiled
def _set_mode(I, D, statuses, first):
    for unit in range(I[L.NUNIT]):
        I[I[L.STATUS] + unit] = statuses[first + unit]
    make_plan(I, D)
    arm(I, D)


@compiled
def _set_mode_of_event(I, D, events, first):
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
            total += 1 if D[I[L.LAW_OUT] + 2 + 3 * unit] == 1.0 else 0
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
    _set_mode_of_event(I, D, events, old)
    if not _strikes(I, D, events, event, t, y):
        return 1
    p = column - nx if nx <= column < nx + n_p else -1
    for i in range(nx):
        D[y + i] += amount * D[Q[TANGENT] + column * nx + i]
    _move_parameter(I, D, Q, p, amount)
    kinematics(I, D, t, y)
    code = impact(I, D, t, y)
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
    for unit in range(I[L.NUNIT]):
        I[I[L.NEUTRAL] + unit] = I[I[L.LAW] + unit]
        bounced = I[I[L.KIND] + unit] == GROUND and D[I[L.LAW_OUT] + 2 + 3 * unit] != 1.0
        if bounced and I[I[L.STRIKE] + unit] != 0 and I[I[L.TOUCH] + unit] == 1:
            I[I[L.LAW] + unit] = I[L.PLASTIC]  # the last of infinitely many bounces ends at rest
    _reset_of(I, D, Q, events, event, t, 0, 0.0)
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
                code = _reset_of(I, D, Q, events, event, t, c, _offset(k) * step)
                if code != 0 or (_outcome(I, D) != nominal and attempt < MOST_ATTEMPTS - 1):
                    same = False
                    break
                for i in range(nx):
                    D[Q[RESULT] + i] += _weight(k) / step * D[I[L.YN] + i]
            if same:
                break
            # a stick became a slide or the like: stay nearer; where that does not help, as at a bound, ignore it
            step = 0.1 * step if attempt < MOST_ATTEMPTS - 2 else 1e-6 / size
        for i in range(nx):
            D[Q[NEXT] + c * nx + i] = D[Q[RESULT] + i]
    for k in range(nx * nz):
        D[Q[TANGENT] + k] = D[Q[NEXT] + k]
    for unit in range(I[L.NUNIT]):
        I[I[L.LAW] + unit] = I[I[L.NEUTRAL] + unit]
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
    _set_mode_of_event(I, D, events, old)
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
        _set_mode_of_event(I, D, events, old + nunit)
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
def _plain_break(I, D, Q, steps, before, after, t, y):
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


@compiled
def _load_step(I, D, steps, row, fraction):
    """State and inputs at a fraction of a recorded step."""
    dense_at(steps, row + L.S_VECTORS + I[L.NU], I[L.N], I[L.NRC], fraction, D, I[L.Y], I[L.N])
    I[L.PIECE] = int(steps[row + L.S_PIECE])
    for i in range(I[L.NU]):
        D[I[L.U] + i] = steps[row + L.S_VECTORS + i]


def transition(I, D, steps, events, statuses, Q):
    """Carry PHI from SINCE to UNTIL along the record; or over one event ONLY, at which it starts."""
    length, count, nunit = I[L.STEP_ROW], I[L.NRECORD], I[L.NUNIT]
    since, until = D[Q[SINCE]], D[Q[UNTIL]]
    event = 0
    sample = -1
    settled = since > -math.inf or Q[ONLY] >= 0
    for step in range(count + 1):
        row = step * length
        last = step == count
        arc = I[L.ARC] + 2 if last else int(steps[row + L.S_ARC])
        before, after = max(step - 1, 0), min(step, count - 1)
        jumped = False
        while event < Q[NEVENT]:
            place = event * I[L.EVENT_ROW]
            t = events[place + L.E_TIME]
            if int(events[place + L.E_ARC]) >= arc:
                break
            same = event > 0 and events[place - I[L.EVENT_ROW] + L.E_TIME] == t
            wanted = event == Q[ONLY] if Q[ONLY] >= 0 else event >= Q[SKIP] and t <= until
            if wanted and events[place + L.E_CAUSE] == L.CAUSE_COMMAND and I[L.CONTROL_KIND] == L.SAMPLED:
                count_after = int(steps[after * length + L.S_SAMPLE])
                if count_after != sample:
                    # the command was given before it was obeyed
                    I[L.PIECE] = int(steps[after * length + L.S_PIECE])
                    _set_mode_of_event(I, D, events, place + L.E_VECTORS + 2 * I[L.NY] + 3 * I[L.NROW])
                    for i in range(I[L.NX]):
                        D[I[L.YS] + i] = events[place + L.E_VECTORS + i]
                    take_sample(I, D, Q, t, I[L.YS])
                    sample = count_after
            if wanted:
                # an event at the end may come after the step of no length that holds the last state
                code = jump(I, D, Q, steps, events, place, event, min(before, count - 1), after, same)
                if code != 0:
                    return code
            jumped = True
            event += 1
        if last or Q[ONLY] >= 0:
            continue
        begin, h = steps[row + L.S_TIME], steps[row + L.S_LENGTH]
        first, final = max(begin, since), min(begin + h, until)
        if begin > until:
            continue
        if final < since:
            if I[L.CONTROL_KIND] == L.SAMPLED and int(steps[row + L.S_SAMPLE]) != sample:
                # what the controller remembers goes back further
                sample = int(steps[row + L.S_SAMPLE])
                _set_mode(I, D, statuses, arc * nunit)
                _load_step(I, D, steps, row, 0.0)
                _remember(I, D, Q, begin, I[L.Y])
            continue
        part = 0.0 if h == 0.0 else min(max((first - begin) / h, 0.0), 1.0)
        _set_mode(I, D, statuses, arc * nunit)
        if step > 0 and not jumped and begin > since:
            if int(steps[row + L.S_PIECE]) != int(steps[row - length + L.S_PIECE]):
                _load_step(I, D, steps, row, 0.0)
                code = _plain_break(I, D, Q, steps, before, after, begin, I[L.Y])
                if code != 0:
                    return code
        _load_step(I, D, steps, row, part)
        if I[L.CONTROL_KIND] == L.SAMPLED and int(steps[row + L.S_SAMPLE]) != sample:
            take_sample(I, D, Q, begin, I[L.Y])
            sample = int(steps[row + L.S_SAMPLE])
            if begin < since:  # what was decided before does not depend on the state since
                for k in range(Q[NZ] * (I[L.NU] + Q[NM])):
                    D[Q[HELD] + k] = 0.0
        if not settled:
            # neighbours of a start in contact come into contact, or to rest on it, at once
            settled = True
            if event == 0 and I[L.NACTIVE] > 0:
                code = flow(I, D, begin, I[L.Y], I[L.K], I[L.LAM])
                if code != 0:
                    return code
                settle_columns(I, D, Q, begin, I[L.Y])
        if final > first:
            code = follow_step(I, D, Q, first, final - first)
            if code != 0:
                return code
    return 0
