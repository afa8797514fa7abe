"""Impacts: every unit that strikes, closes or rests takes part, each by its own law, solved together."""

import math

from saltus._native import call_kernel, call_part, compiled, never_inline
from saltus.contact._behaviour import on_ground
from saltus.contact._grip import CLOSED
from saltus.contact._unit import GRIP, JOINT, SPACE
from saltus.engine import _layout as L
from saltus.engine._flow import shift, unit_length
from saltus.engine._forces import eliminate
from saltus.engine._guard_values import EPSILON, kinematics, sizes
from saltus.engine._impulses import count_parts, find_impulses, keep_grips
from saltus.engine._instants import same_time
from saltus.engine._slides import slip_speed
from saltus.engine._status import SINGULAR
from saltus.engine._zeno import end_of_bounces


@compiled
def impact(I, D, t, y):
    """Let all striking units (STRIKE) and those at rest (TOUCH) act, and change the velocities.

    Flags TOUCH and STILL are set from the outcome. A sequence of ever smaller impacts that ends here (Zeno) ends at
    rest: what closes (CLOSING) strikes without rebound, and what is still lifted then is stopped too. Whether it does
    is decided here, unless FORESEEN says that CLOSING is given.
    """
    return call_part(I[L.IMPACT], I, D, t, 0.0, y, 0, 0)


def impact_part(I, D, t, h, y, b, c):
    """The part behind `impact`."""
    velocities, closing = y + I[L.NQ], I[L.FORESEEN] == 1
    for i in range(I[L.NV]):
        D[I[L.YD] + i] = D[velocities + i]
    for unit in range(I[L.NUNIT]):
        I[I[L.TOUCHED] + unit], I[I[L.STOOD] + unit] = I[I[L.TOUCH] + unit], I[I[L.STILL] + unit]
        if not closing:
            I[I[L.CLOSING] + unit] = 0
    code = _act(I, D, t, y)
    if code == 0 and not closing and end_of_bounces(I, D, t, y):
        closing = True
        _undo(I, D, velocities)
        if _act(I, D, t, y) != 0:  # as it was, then, without an end
            for unit in range(I[L.NUNIT]):
                I[I[L.CLOSING] + unit] = 0
            _undo(I, D, velocities)
            code = _act(I, D, t, y)
    if code == 0 and (closing or count_parts(I) > 1):
        _rest(I, D, t, y)
    if code != 0:  # what was tried last is no impulse
        for r in range(I[L.NROW]):
            D[I[L.IMPULSE] + r] = 0.0
    return code


@compiled
def _undo(I, D, velocities):
    """Put velocities and flags where they were before the impact."""
    for i in range(I[L.NV]):
        D[velocities + i] = D[I[L.YD] + i]
    for unit in range(I[L.NUNIT]):
        I[I[L.TOUCH] + unit], I[I[L.STILL] + unit] = I[I[L.TOUCHED] + unit], I[I[L.STOOD] + unit]


@compiled
def _act(I, D, t, y):
    """Find all impulses, also of units that strike only because of others, change velocities and set flags."""
    never_inline()
    code = _prepare(I, D, t, y)
    if code == 0:
        code = find_impulses(I, D)
    while code == 0 and _join(I, D, t):
        kinematics(I, D, t, y)
        code = _prepare(I, D, t, y)
        if code == 0:
            code = find_impulses(I, D)
    if code == 0:
        apply_impulses(I, D, y)
        _set_flags(I, D, y)
    return code


@compiled
def _rest(I, D, t, y):
    """Stop what rests after an impact: it moves by rounding, or by what is left of a sequence of impacts that ended.

    That is no impulse of a contact: over the time that is left out, gravity takes it back.
    """
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return
    sizes(I, D, t, y)
    keep_grips(I, D)
    closed = 0.0
    for unit in range(I[L.NUNIT]):
        if I[I[L.CLOSING] + unit] == 0:
            continue
        if unit < 52:
            closed += float(1 << unit)
        kind, strike = I[I[L.KIND] + unit], I[I[L.STRIKE] + unit]
        if kind == JOINT:
            I[I[L.TOUCH] + unit] = max(strike, I[I[L.TOUCHED] + unit])
            if I[I[L.TOUCH] + unit] == 0:  # the nearer stop
                place, c = D[I[L.GAP] + I[I[L.ROW] + unit]], I[L.COEF] + L.COEFFICIENTS * unit
                I[I[L.TOUCH] + unit] = 1 if place - D[c + 1] < D[c + 2] - place else 2
            I[I[L.STILL] + unit] = 1
        elif I[I[L.TOUCH] + unit] == 0:
            I[I[L.TOUCH] + unit] = 1
            I[I[L.STILL] + unit] = 0
    D[I[L.EVENT] + L.E_CLOSED] = closed
    for r in range(I[L.NROW]):
        D[I[L.ACC] + r] = D[I[L.IMPULSE] + r]
    _stop_all(I, D, y)
    if closed > 0.0 and _slides_no_more(I, D):
        _stop_all(I, D, y)
    for r in range(I[L.NROW]):
        D[I[L.IMPULSE] + r] = D[I[L.ACC] + r]


@compiled
def _slides_no_more(I, D):
    """Where a sequence of impacts ends: mark contacts whose slip cannot be told from the rounding that ended it."""
    found = False
    for unit in range(I[L.NUNIT]):
        row, mu = I[I[L.ROW] + unit], D[I[L.COEF] + L.COEFFICIENTS * unit]
        if not on_ground(I[I[L.KIND] + unit]) or I[I[L.TOUCH] + unit] == 0 or I[I[L.STILL] + unit] == 1:
            continue
        slowest = -8.0 * EPSILON * D[I[L.REDUCED_B] + row + 1] * D[I[L.SIZE] + row + 1]
        if mu == math.inf or slip_speed(I, D, unit, I[L.W_V]) ** 2 <= slowest:
            I[I[L.STILL] + unit] = 1
            found = True
    return found


@compiled
def _prepare(I, D, t, y):
    """Terms and velocities before the impact; what strikes is moved to where it strikes exactly."""
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return SINGULAR
    nr, before = I[L.NROW], I[L.BEFORE]
    for r in range(nr):
        D[I[L.IMPULSE] + r] = 0.0
        D[before + r] = D[I[L.W_V] + r]
    for unit in range(I[L.NUNIT]):
        row, kind = I[I[L.ROW] + unit], I[I[L.KIND] + unit]
        if kind == GRIP:
            if I[I[L.TOUCH] + unit] == 1:
                D[before + row] = D[before + row + 1] = 0.0  # at rest: rounding is not a strike
            continue
        if I[I[L.TOUCH] + unit] != 0:
            D[before + (row + 1 if on_ground(kind) else row)] = 0.0
    _place(I, D, y)
    keep_grips(I, D)
    return 0


@compiled
def _place(I, D, y):
    """Move what strikes to the ground or the stop itself, not where rounding left it, and what rests with it."""
    nr, n, S = I[L.NROW], 0, I[L.SOLVE]
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] != GRIP and (I[I[L.STRIKE] + unit] != 0 or I[I[L.TOUCH] + unit] != 0):
            ground = on_ground(I[I[L.KIND] + unit])
            row, side = I[I[L.ROW] + unit] + (1 if ground else 0), max(I[I[L.STRIKE] + unit], I[I[L.TOUCH] + unit])
            where = 0.0 if ground else D[I[L.COEF] + L.COEFFICIENTS * unit + side]
            I[I[L.PICKED] + n] = row
            D[I[L.ANSWER] + n] = where - D[I[L.GAP] + row]
            n += 1
    if n == 1:
        row = I[I[L.PICKED]]
        shift(I, D, y, row, D[I[L.ANSWER]] / D[I[L.W_A] + row * nr + row])
    elif n > 1:
        for i in range(n):
            for j in range(n):
                D[S + i * (n + 1) + j] = D[I[L.W_A] + I[I[L.PICKED] + i] * nr + I[I[L.PICKED] + j]]
            D[S + i * (n + 1) + n] = D[I[L.ANSWER] + i]
        redundant = I[L.REDUNDANT]
        if eliminate(I, D, n, False):
            for i in range(n):
                shift(I, D, y, I[I[L.PICKED] + i], D[S + i * (n + 1) + n])
        I[L.REDUNDANT] = redundant
    if n > 0:
        unit_length(I, D, y)


@compiled
def _join(I, D, t):
    """Let units strike too that would do so in what counts as the same instant; whether there are any."""
    never_inline()
    joined = False
    for unit in range(I[L.NUNIT]):
        kind, row, c = I[I[L.KIND] + unit], I[I[L.ROW] + unit], I[L.COEF] + L.COEFFICIENTS * unit
        if kind == GRIP or I[I[L.TOUCH] + unit] != 0 or I[I[L.STRIKE] + unit] != 0:
            continue
        if on_ground(kind):
            row += 1
        speed, _ = _velocity_after(I, D, row)
        gap, side = D[I[L.GAP] + row], 1
        if kind == JOINT:
            side = 1 if speed < 0.0 else 2
            gap = gap - D[c + 1] if side == 1 else D[c + 2] - gap
            speed = -abs(speed)
        if speed < 0.0 and gap <= -speed * same_time(t):
            I[I[L.STRIKE] + unit] = side
            joined = True
    return joined


@compiled
def apply_impulses(I, D, y):
    """Change the velocities by the impulses of all rows."""
    never_inline()
    nv, nq = I[L.NV], I[L.NQ]
    for r in range(I[L.NROW]):
        amount = D[I[L.IMPULSE] + r]
        if amount != 0.0:
            for i in range(nv):
                D[y + nq + i] += amount * D[I[L.W_MJ] + r * nv + i]


@compiled
def _velocity_after(I, D, row):
    """Velocity of a row after the impact, and the size of what it is the sum of."""
    nr = I[L.NROW]
    velocity = D[I[L.BEFORE] + row]
    size = abs(velocity)
    for r in range(nr):
        part = D[I[L.W_A] + row * nr + r] * D[I[L.IMPULSE] + r]
        velocity += part
        size += abs(part)
    return velocity, size


@compiled
def _set_flags(I, D, y):
    """From the outcome of an impact: which units rest now, and which of their rows stand still."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        kind, row = I[I[L.KIND] + unit], I[I[L.ROW] + unit]
        resting, strike = I[I[L.TOUCH] + unit], I[I[L.STRIKE] + unit]
        if kind == GRIP:
            if strike != 0:
                I[I[L.STATUS] + unit] = CLOSED
                I[I[L.TOUCH] + unit] = 1
            continue
        if kind == JOINT:
            v, size = _velocity_after(I, D, row)
            stopped = D[I[L.IMPULSE] + row] != 0.0 or abs(v) <= 1e-13 * size
            # dry friction gives no impulse: what stuck moves with the rest
            I[I[L.TOUCH] + unit] = max(resting, strike) if stopped else 0
            I[I[L.STILL] + unit] = 1 if stopped else 0
            if stopped and I[I[L.COORDINATE] + unit] >= 0:
                D[y + I[L.NQ] + I[I[L.ITS_RATE] + unit]] = 0.0  # exactly: rounding is not a motion into the stop
            continue
        if resting == 0 and strike == 0:
            continue
        info = I[L.LAW_OUT] + 3 + 3 * unit
        v_n, size = _velocity_after(I, D, row + 1)
        stays = D[info] == 1.0 or (resting == 1 and abs(v_n) <= 1e-13 * size)
        I[I[L.TOUCH] + unit] = 1 if stays else 0
        v_t, size = _velocity_after(I, D, row)
        if kind == SPACE:
            side, more = _velocity_after(I, D, row + 2)
            v_t, size = math.hypot(v_t, side), size + more
        if D[I[L.IMPULSE] + row + 1] != 0.0:
            I[I[L.STILL] + unit] = 1 if stays and (D[info + 1] == 1.0 or abs(v_t) <= 1e-15 * size) else 0
        elif abs(v_t) > 1e-13 * size:
            I[I[L.STILL] + unit] = 0
        D[I[L.EVENT] + L.E_KAPPA] = D[info + 2]


@compiled
def _stop_all(I, D, y):
    """Stop every row that rests, by the terms of the present state."""
    never_inline()
    nr, nv, nq, n = I[L.NROW], I[L.NV], I[L.NQ], 0
    for unit in range(I[L.NUNIT]):
        row, kind = I[I[L.ROW] + unit], I[I[L.KIND] + unit]
        if I[I[L.TOUCH] + unit] != 0 or (kind == JOINT and I[I[L.STILL] + unit] == 1):
            if not on_ground(kind) or I[I[L.STILL] + unit] == 1:
                I[I[L.ACTIVE_ROW] + n] = row
                n += 1
                if kind == SPACE:
                    I[I[L.ACTIVE_ROW] + n] = row + 2
                    n += 1
            if kind != JOINT:
                I[I[L.ACTIVE_ROW] + n] = row + 1
                n += 1
    for i in range(n):
        row = I[I[L.ACTIVE_ROW] + i]
        for j in range(n):
            D[I[L.SOLVE] + i * (n + 1) + j] = D[I[L.W_A] + row * nr + I[I[L.ACTIVE_ROW] + j]]
        D[I[L.SOLVE] + i * (n + 1) + n] = -D[I[L.W_V] + row]
    if not eliminate(I, D, n, False):
        return
    for i in range(n):
        row, amount = I[I[L.ACTIVE_ROW] + i], D[I[L.SOLVE] + i * (n + 1) + n]
        D[I[L.IMPULSE] + row] += amount
        for j in range(nv):
            D[y + nq + j] += amount * D[I[L.W_MJ] + row * nv + j]
        for r in range(nr):
            D[I[L.W_V] + r] += D[I[L.W_A] + r * nr + row] * amount


@compiled
def stop_turning(I, D, t, y):
    """Bring joints that turn exactly to rest, together with all that rests: no impact, but rounding and tolerance."""
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return
    _stop_all(I, D, y)
    for r in range(I[L.NROW]):
        D[I[L.IMPULSE] + r] = 0.0
    for unit in range(I[L.NUNIT]):
        if I[I[L.COORDINATE] + unit] >= 0 and I[I[L.STILL] + unit] == 1:
            D[y + I[L.NQ] + I[I[L.ITS_RATE] + unit]] = 0.0  # exactly, whatever rounding made of it


@compiled
def stop_at_start(I, D, t, y):
    """At the start, take from units that rest what velocity they have, if that is more than rounding."""
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return
    moves = False
    sizes(I, D, t, y)
    for unit in range(I[L.NUNIT]):
        kind, row = I[I[L.KIND] + unit], I[I[L.ROW] + unit]
        if kind != GRIP and I[I[L.TOUCH] + unit] != 0:
            normal = row + 1 if on_ground(kind) else row
            moves = moves or abs(D[I[L.W_V] + normal]) > 16.0 * EPSILON * D[I[L.SIZE] + I[L.NROW] + normal]
    if moves:
        _stop_all(I, D, y)
