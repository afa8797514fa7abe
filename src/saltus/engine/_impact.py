"""Impacts: every unit that strikes, closes or rests takes part, each by its own law, solved together."""

import math

from saltus._native import call_kernel, call_law, call_part, compiled, never_inline
from saltus.contact._behaviour import on_ground, row_count
from saltus.contact._grip import CLOSED
from saltus.contact._unit import GRIP, JOINT, SPACE
from saltus.engine import _layout as L
from saltus.engine._flow import shift, unit_length
from saltus.engine._forces import eliminate
from saltus.engine._guard_values import EPSILON, kinematics, sizes
from saltus.engine._guards import same_time
from saltus.engine._slides import slip_speed
from saltus.engine._status import NO_IMPULSE, SINGULAR

# A row that grips leave less than this share of its mobility cannot move.
IMMOBILE = 1e-12


@compiled
def takes_part(I, unit):
    """Whether a unit gives an impulse of its own to the impact: it strikes, or rests against something."""
    if I[I[L.KIND] + unit] == GRIP:
        return False
    return I[I[L.TOUCH] + unit] != 0 or I[I[L.STRIKE] + unit] != 0


@compiled
def count_parts(I):
    """How many units give impulses of their own."""
    count = 0
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            count += 1
    return count


@compiled
def _keep_grips(I, D):
    """Reduce the Delassus matrix, velocities and accelerations of all rows by those of closed and closing grips.

    What is left is how the other rows answer to impulses while the grips hold. Rows that say the
    same twice are eliminated once, and REDUNDANT notes it.
    """
    never_inline()
    nr, R, V, B, A = I[L.NROW], I[L.REDUCED], I[L.REDUCED_V], I[L.REDUCED_B], I[L.W_A]
    held = 0
    for r in range(nr):
        I[I[L.BILATERAL] + r] = 0
        D[V + r] = D[I[L.BEFORE] + r]
        D[B + r] = D[I[L.W_B] + r]
        for s in range(nr):
            D[R + r * nr + s] = D[A + r * nr + s]
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == GRIP and (I[I[L.TOUCH] + unit] != 0 or I[I[L.STRIKE] + unit] != 0):
            row = I[I[L.ROW] + unit]
            I[I[L.BILATERAL] + row] = I[I[L.BILATERAL] + row + 1] = 1
            held += 2
    I[L.NBILATERAL] = 0
    for _ in range(held):
        best, share = -1, 1e-12
        for r in range(nr):
            if I[I[L.BILATERAL] + r] == 1 and D[R + r * nr + r] > share * D[A + r * nr + r]:
                best, share = r, D[R + r * nr + r] / D[A + r * nr + r]
        if best < 0:
            I[L.REDUNDANT] = 1
            return
        I[I[L.BILATERAL] + best] = 2
        I[I[L.KEPT] + I[L.NBILATERAL]] = best
        I[L.NBILATERAL] += 1
        for i in range(nr):
            if I[I[L.BILATERAL] + i] != 2:
                factor = D[R + i * nr + best] / D[R + best * nr + best]
                for j in range(nr):
                    if I[I[L.BILATERAL] + j] != 2 or j == best:
                        D[R + i * nr + j] -= factor * D[R + best * nr + j]
                D[V + i] -= factor * D[V + best]
                D[B + i] -= factor * D[B + best]


@compiled
def _answer_of_grips(I, D):
    """Impulses of the grips that keep them closed, or close them, under those of the other rows."""
    never_inline()
    nr, R, V, impulse = I[L.NROW], I[L.REDUCED], I[L.REDUCED_V], I[L.IMPULSE]
    for r in range(nr):
        if I[I[L.BILATERAL] + r] != 0:
            D[impulse + r] = 0.0
    for k in range(I[L.NBILATERAL] - 1, -1, -1):
        row = I[I[L.KEPT] + k]
        velocity = D[V + row]
        for r in range(nr):
            if r != row:
                earlier = False
                for j in range(k):
                    earlier = earlier or I[I[L.KEPT] + j] == r
                if not earlier:
                    velocity += D[R + row * nr + r] * D[impulse + r]
        D[impulse + row] = -velocity / D[R + row * nr + row]


@compiled
def _free_velocity(I, D, unit, row, others):
    """Velocity of a row with the impulses of all units but its own."""
    velocity = D[I[L.REDUCED_V] + row]
    if others:
        first = I[I[L.ROW] + unit]
        last = first + row_count(I[I[L.KIND] + unit])
        for r in range(I[L.NROW]):
            if (r < first or r >= last) and I[I[L.BILATERAL] + r] == 0:
                velocity += D[I[L.REDUCED] + row * I[L.NROW] + r] * D[I[L.IMPULSE] + r]
    return velocity


@compiled
def _solve_unit(I, D, unit, others):
    """Ask one unit for its impulse, given those of the others; returns the largest change.

    A unit at rest on the ground answers by the plastic law. Negative where there is no solution.
    """
    never_inline()
    nr, row, x, out = I[L.NROW], I[I[L.ROW] + unit], I[L.LAW_IN], I[L.LAW_OUT]
    R, impulse = I[L.REDUCED], I[L.IMPULSE]
    info = I[L.LAW_OUT] + 3 + 3 * unit
    normal = row + 1 if on_ground(I[I[L.KIND] + unit]) else row
    if not D[R + normal * nr + normal] > IMMOBILE * D[I[L.W_A] + normal * nr + normal]:
        # closed grips hold it: what is left of its mobility, and of its velocity, is rounding
        for r in range(row, row + row_count(I[I[L.KIND] + unit])):
            D[impulse + r] = 0.0
        D[info] = D[info + 1] = 1.0
        D[info + 2] = math.nan
        return 0.0
    if I[I[L.KIND] + unit] == JOINT:
        needed = -_free_velocity(I, D, unit, row, others) / D[R + row * nr + row]
        upper = I[I[L.TOUCH] + unit] == 2 or I[I[L.STRIKE] + unit] == 2
        given = min(needed, 0.0) if upper else max(needed, 0.0)
        D[info] = D[info + 1] = 1.0 if given == needed else 0.0
        D[info + 2] = math.nan
        change = abs(given - D[impulse + row])
        D[impulse + row] = given
        return change
    n = row_count(I[I[L.KIND] + unit])
    free, before = x + n * n, x + n * n + n
    for i in range(n):
        for j in range(n):
            D[x + n * i + j] = D[R + (row + i) * nr + row + j]
        D[free + i] = _free_velocity(I, D, unit, row + i, others)
        D[before + i] = D[I[L.BEFORE] + row + i]
    law = I[I[L.LAW] + unit]
    if I[I[L.TOUCH] + unit] == 1:
        law = I[L.PLASTIC_IN_SPACE] if I[I[L.KIND] + unit] == SPACE else I[L.PLASTIC]
    if call_law(law, D, x, free, before, I[L.COEF] + L.COEFFICIENTS * unit, out, info) != 0:
        return -1.0
    change = 0.0
    for i in range(n):
        change = max(change, abs(D[out + i] - D[impulse + row + i]))
        D[impulse + row + i] = D[out + i]
    return change


@compiled
def impact(I, D, t, y):
    """Let all striking units (STRIKE) and those at rest (TOUCH) act, and change the velocities.

    Several units are solved in turn until their impulses settle. Flags TOUCH and STILL are set
    from the outcome. A sequence of ever smaller bounces that ends here (Zeno) ends at rest.
    """
    return call_part(I[L.IMPACT], I, D, t, 0.0, y, 0, 0)


def impact_part(I, D, t, h, y, b, c):
    """The part behind `impact`."""
    code = _prepare(I, D, t, y)
    if code == 0:
        code = _strike(I, D)
    while code == 0 and _join(I, D, t):
        kinematics(I, D, t, y)
        code = _prepare(I, D, t, y)
        if code == 0:
            code = _strike(I, D)
    if code == 0:
        apply_impulses(I, D, y)
        _set_flags(I, D, y)
        if not _zeno(I, D, t, y) and count_parts(I) > 1:
            _stop_all(I, D, y)  # impulses of several units are found to rounding of the largest only
    return code


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
        row, kind, strike = I[I[L.ROW] + unit], I[I[L.KIND] + unit], I[I[L.STRIKE] + unit]
        if kind == GRIP:
            if I[I[L.TOUCH] + unit] == 1:
                D[before + row] = D[before + row + 1] = 0.0  # at rest: rounding is not a strike
            continue
        normal = row + 1 if on_ground(kind) else row
        if strike != 0:
            # it strikes at the ground or the stop itself, not where rounding left it
            where = 0.0 if on_ground(kind) else D[I[L.COEF] + L.COEFFICIENTS * unit + strike]
            shift(I, D, y, normal, (where - D[I[L.GAP] + normal]) / D[I[L.W_A] + normal * nr + normal])
            unit_length(I, D, y)
        if I[I[L.TOUCH] + unit] != 0:
            D[before + normal] = 0.0
    _keep_grips(I, D)
    return 0


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
def _together(I, D, share):
    """Impulses of contacts in space, found without an order: all answer to the same impulses, and give a share of it.

    Several of them may share an impact in many ways; solved in turn, the first would take the most, and what is
    symmetric would not stay so. What this leaves is for the turns: it ends before it is exact.
    """
    never_inline()
    impulse, answer = I[L.IMPULSE], I[L.LAMD]
    for _ in range(1000):
        change = largest = 0.0
        for unit in range(I[L.NUNIT]):
            if takes_part(I, unit):
                row, count = I[I[L.ROW] + unit], row_count(I[I[L.KIND] + unit])
                for r in range(row, row + count):
                    D[answer + r] = D[impulse + r]
                moved = _solve_unit(I, D, unit, True)
                for r in range(row, row + count):
                    D[answer + r], D[impulse + r] = D[impulse + r], D[answer + r]
                    largest = max(largest, abs(D[answer + r]))
                if moved < 0.0:
                    return
                change = max(change, moved)
        for unit in range(I[L.NUNIT]):
            if takes_part(I, unit):
                row = I[I[L.ROW] + unit]
                for r in range(row, row + row_count(I[I[L.KIND] + unit])):
                    D[impulse + r] += share * (D[answer + r] - D[impulse + r])
        if not change > 1e-10 * largest:
            return


@compiled
def _strike(I, D):
    """Find the impulses of all units that take part."""
    never_inline()
    taking_part = count_parts(I)
    in_space = 0
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and takes_part(I, unit):
            in_space += 1
    if in_space > 1:
        _together(I, D, 1.0 / taking_part)
    change = largest = 0.0
    for sweep in range(200_000):
        change = largest = 0.0
        for r in range(I[L.NROW]):
            D[I[L.LAMD] + r] = D[I[L.IMPULSE] + r]
        for unit in range(I[L.NUNIT]):
            if takes_part(I, unit):
                moved = _solve_unit(I, D, unit, taking_part > 1)
                if moved < 0.0:
                    return NO_IMPULSE
                change = max(change, moved)
                row = I[I[L.ROW] + unit]
                normal = row + 1 if on_ground(I[I[L.KIND] + unit]) else row
                largest = max(largest, abs(D[I[L.IMPULSE] + normal]))
        if taking_part < 2 or change <= 1e-15 * largest or (sweep > 100 and _still_change(I, D) <= 1e-14):
            break
    if taking_part > 1 and not change <= 1e-9 * largest and not _still_change(I, D) <= 1e-9:
        return NO_IMPULSE
    _answer_of_grips(I, D)
    return 0


@compiled
def _still_change(I, D):
    """How much the last sweep changed velocities, as a share of them.

    Where contacts nearly say the same thing twice, impulses may go on changing when velocities do not.
    """
    never_inline()
    nr, moved, largest = I[L.NROW], 0.0, 0.0
    for r in range(nr):
        change = 0.0
        for s in range(nr):
            if I[I[L.BILATERAL] + s] == 0:
                change += D[I[L.REDUCED] + r * nr + s] * (D[I[L.IMPULSE] + s] - D[I[L.LAMD] + s])
        if I[I[L.BILATERAL] + r] == 0:
            moved = max(moved, abs(change))
            largest = max(largest, abs(D[I[L.REDUCED_V] + r]))
    return moved / largest if largest > 0.0 else 0.0


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


@compiled
def _zeno(I, D, t, y):
    """Bring units to rest when all bounces to come, ever smaller, take no time together or cannot be followed.

    They last 2 v / a (1 + r + r^2 + ...), with v the speed and a the fall after this one and r
    the ratio of speeds after and before. What an impact elsewhere lifts, as in rocking from one
    point to another, is treated alike. What is stopped stops together with all that rests; whether
    it then stays is for the forces to say.
    """
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return True
    sizes(I, D, t, y)
    _keep_grips(I, D)
    ended = False
    for unit in range(I[L.NUNIT]):
        I[I[L.PICK] + unit] = 0
        if not on_ground(I[I[L.KIND] + unit]) or I[I[L.TOUCH] + unit] == 1:
            continue
        row, strikes = I[I[L.ROW] + unit] + 1, I[I[L.STRIKE] + unit] != 0
        before, v, fall = D[I[L.BEFORE] + row], D[I[L.W_V] + row], -D[I[L.REDUCED_B] + row]
        if not strikes and (before != 0.0 or D[I[L.GAP] + row] > 1e-9):
            continue  # it was in the air
        ratio = -v / before if strikes else 0.0
        if not (fall > 0.0 and 0.0 <= ratio < 1.0):
            continue
        soon = strikes and 2.0 * v <= fall * (1.0 - ratio) * 1e-13 * max(1.0, abs(t))
        # a bounce that loses less height than the rounding of the gap cannot be followed
        share = max(1.0 - ratio * ratio, 0.01)
        flat = share * v * v <= 2.0 * fall * 8.0 * EPSILON * D[I[L.SIZE] + row]
        if soon or flat:
            ended = True
            I[I[L.PICK] + unit] = 1
            I[I[L.TOUCH] + unit] = 1
            held = D[I[L.COEF] + L.COEFFICIENTS * unit] == math.inf  # whatever a law left of its slip
            stuck = strikes and D[I[L.LAW_OUT] + 3 + 3 * unit + 1] == 1.0
            I[I[L.STILL] + unit] = 1 if stuck or held else 0
    if ended:
        _stop_all(I, D, y)
    for unit in range(I[L.NUNIT]):
        row = I[I[L.ROW] + unit]
        if I[I[L.PICK] + unit] == 1 and I[I[L.STRIKE] + unit] == 0:
            # it slides on only if that can be told from the rounding that ended its rocking
            slowest = -8.0 * EPSILON * D[I[L.REDUCED_B] + row + 1] * D[I[L.SIZE] + row + 1]
            I[I[L.STILL] + unit] = 1 if slip_speed(I, D, unit, I[L.W_V]) ** 2 <= slowest else 0
    return ended
