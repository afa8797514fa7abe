"""Impacts: every unit that strikes or rests takes part, each by its own law, solved together."""

from saltus._native import call_kernel, call_law, call_part, compiled, never_inline
from saltus.engine import _layout as L
from saltus.engine._guards import EPSILON, sizes
from saltus.engine._status import NO_IMPULSE, SINGULAR


@compiled
def _solve_unit(I, D, unit, others):
    """Ask one unit's law for its impulse, given those of the others; returns the largest change.

    A unit at rest on the ground answers by the plastic law. Negative where there is no solution.
    """
    never_inline()
    nr, row, x, out = I[L.NROW], I[I[L.ROW] + unit], I[L.LAW_IN], I[L.LAW_OUT]
    A, impulse, before = I[L.W_A], I[L.IMPULSE], I[L.BEFORE]
    for i in range(2):
        for j in range(2):
            D[x + 2 * i + j] = D[A + (row + i) * nr + row + j]
        velocity = D[before + row + i]
        if others:
            for r in range(nr):
                if r != row and r != row + 1:
                    velocity += D[A + (row + i) * nr + r] * D[impulse + r]
        D[x + 4 + i] = velocity
        D[x + 6 + i] = D[before + row + i]
    law = I[L.PLASTIC] if I[I[L.TOUCH] + unit] == 1 else I[I[L.LAW] + unit]
    info = I[L.LAW_OUT] + 2 + 3 * unit
    if call_law(law, D, x, x + 4, x + 6, I[L.COEF] + L.COEFFICIENTS * unit, out, info) != 0:
        return -1.0
    change = 0.0
    for i in range(2):
        change = max(change, abs(D[out + i] - D[impulse + row + i]))
        D[impulse + row + i] = D[out + i]
    return change


@compiled
def impact(I, D, t, y):
    """Apply the laws to the striking units (FIRED) and those at rest (TOUCH), and change the velocities.

    Several units are solved in turn until their impulses settle. Flags TOUCH and STILL are set
    from the outcome. A sequence of ever smaller bounces that ends here (Zeno) ends at rest.
    """
    return call_part(I[L.IMPACT], I, D, t, 0.0, y, 0, 0)


def impact_part(I, D, t, h, y, b, c):
    """The part behind `impact`."""
    code = _strike(I, D, t, y)
    if code == 0:
        _zeno(I, D, t, y)
    return code


@compiled
def _strike(I, D, t, y):
    never_inline()
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return SINGULAR
    nunit, nr, nv, nq = I[L.NUNIT], I[L.NROW], I[L.NV], I[L.NQ]
    impulse, before, V, MJ = I[L.IMPULSE], I[L.BEFORE], I[L.W_V], I[L.W_MJ]
    speed = 1e-300
    taking_part = 0
    for r in range(nr):
        D[impulse + r] = 0.0
        D[before + r] = D[V + r]
        speed = max(speed, abs(D[V + r]))
    for unit in range(nunit):
        if I[I[L.FIRED] + L.SLOTS * unit] == 1:
            # the point strikes at the ground itself, not where rounding left it
            row = I[I[L.ROW] + unit] + 1
            amount = -D[I[L.GAP] + unit] / D[I[L.W_A] + row * nr + row]
            for i in range(nq):
                D[y + i] += amount * D[MJ + row * nv + i]
        if I[I[L.TOUCH] + unit] == 1:
            D[before + I[I[L.ROW] + unit] + 1] = 0.0  # at rest: rounding is not a strike
        if I[I[L.TOUCH] + unit] == 1 or I[I[L.FIRED] + L.SLOTS * unit] == 1:
            taking_part += 1
    change = largest = 0.0
    for _ in range(2000):
        change = largest = 0.0
        for unit in range(nunit):
            if I[I[L.TOUCH] + unit] == 1 or I[I[L.FIRED] + L.SLOTS * unit] == 1:
                moved = _solve_unit(I, D, unit, taking_part > 1)
                if moved < 0.0:
                    return NO_IMPULSE
                change = max(change, moved)
                largest = max(largest, abs(D[impulse + I[I[L.ROW] + unit] + 1]))
        if taking_part < 2 or change <= 1e-15 * largest:
            break
    if taking_part > 1 and not change <= 1e-9 * largest:
        return NO_IMPULSE
    for r in range(nr):
        if D[impulse + r] != 0.0:
            for i in range(nv):
                D[y + nq + i] += D[impulse + r] * D[MJ + r * nv + i]
    for unit in range(nunit):
        if I[I[L.TOUCH] + unit] == 0 and I[I[L.FIRED] + L.SLOTS * unit] == 0:
            continue
        row, info = I[I[L.ROW] + unit], I[L.LAW_OUT] + 2 + 3 * unit
        resting = I[I[L.TOUCH] + unit] == 1
        v_n = D[before + row + 1]
        for r in range(nr):
            v_n += D[I[L.W_A] + (row + 1) * nr + r] * D[impulse + r]
        stays = D[info] == 1.0 or (resting and abs(v_n) <= 1e-13 * speed)
        struck = D[impulse + row + 1] != 0.0
        I[I[L.TOUCH] + unit] = 1 if stays else 0
        if struck:
            v_t = D[before + row]
            for r in range(nr):
                v_t += D[I[L.W_A] + row * nr + r] * D[impulse + r]
            I[I[L.STILL] + unit] = 1 if stays and (D[info + 1] == 1.0 or abs(v_t) <= 1e-15 * speed) else 0
        D[I[L.EVENT] + L.E_KAPPA] = D[info + 2]
    return 0


@compiled
def _zeno(I, D, t, y):
    """Bring a unit to rest when all bounces to come, ever smaller, take no time together.

    They last 2 v / a (1 + r + r^2 + ...), with v the speed and a the fall after this one and r
    the ratio of speeds after and before.
    """
    never_inline()
    nr, nv, nq = I[L.NROW], I[L.NV], I[L.NQ]
    sizes(I, D, t, y)
    for unit in range(I[L.NUNIT]):
        if I[I[L.FIRED] + L.SLOTS * unit] == 0 or I[I[L.TOUCH] + unit] == 1:
            continue
        if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
            continue
        row = I[I[L.ROW] + unit] + 1
        v, fall = D[I[L.W_V] + row], -D[I[L.W_B] + row]
        ratio = -v / D[I[L.BEFORE] + row]
        if not (fall > 0.0 and 0.0 <= ratio < 1.0):
            continue
        soon = 2.0 * v <= fall * (1.0 - ratio) * 1e-13 * max(1.0, abs(t))
        # a bounce lower than the rounding of the gap cannot be followed
        flat = v * v <= 2.0 * fall * 4.0 * EPSILON * D[I[L.SIZE] + unit]
        if not (soon or flat):
            continue
        amount = -v / D[I[L.W_A] + row * nr + row]
        for i in range(nv):
            D[y + nq + i] += amount * D[I[L.W_MJ] + row * nv + i]
        D[I[L.IMPULSE] + row] += amount
        I[I[L.TOUCH] + unit] = 1
        I[I[L.STILL] + unit] = 1 if D[I[L.LAW_OUT] + 2 + 3 * unit + 1] == 1.0 else 0
