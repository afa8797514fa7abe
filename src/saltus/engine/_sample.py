"""Sampling a finished run: states, forces, inputs and energies anywhere on the recorded steps."""

import math

from saltus._native import compiled
from saltus.contact._unit import SPACE
from saltus.engine import _layout as L
from saltus.engine._flow import energies, flow, unit_length
from saltus.engine._forces import make_plan
from saltus.engine._guard_values import kinematics
from saltus.engine._slides import aim, slip_speed
from saltus.engine._tableau import dense_at

PLACES, STATES, EVERYTHING = range(3)

# Slower than this share of its speed in the middle of a step, a slip in space has no direction of its own: it ends.
STOPPING = 1e-3


@compiled
def _place(I, steps, index, fraction, count):
    """Turn increasing times into the step on which each lies and where on it; after an event, not before."""
    row, last = I[L.STEP_ROW], I[L.NRECORD] - 1
    k = 0
    for step in range(last + 1):
        begin, length = steps[step * row + L.S_TIME], steps[step * row + L.S_LENGTH]
        following = steps[(step + 1) * row + L.S_TIME] if step < last else math.inf
        scale = 1.0 / length if length > 0.0 else 0.0
        while k < count and fraction[k] < following:
            index[k] = step
            fraction[k] = min(max((fraction[k] - begin) * scale, 0.0), 1.0)
            k += 1


def sample(I, D, steps, index, fraction, count, statuses, out, what):
    """Write a row per sample: state and integrals; then forces, inputs, energies, and what the gaps kernel gives.

    With PLACES, ``fraction`` holds times and is replaced, with ``index``, by where they are.
    """
    if what == PLACES:
        _place(I, steps, index, fraction, count)
        return 0
    n, nx, ny, nr, nu, nunit = I[L.N], I[L.NX], I[L.NY], I[L.NROW], I[L.NU], I[L.NUNIT]
    length, vectors = I[L.STEP_ROW], I[L.NRC]
    if what == STATES:
        first = 0
        while first < count:
            last = first
            while last < count and index[last] == index[first]:
                last += 1
            states_on_step(steps, index[first] * length + L.S_VECTORS + nu, n, vectors, fraction, first, last, out, nx)
            first = last
        if I[L.NQUAT] > 0:
            for k in range(count):
                unit_length(I, out, k * nx)
        return 0
    wide = ny + nr + nu + 5 + 2 * nr + nunit + I[L.NUSER]
    arc = -1
    for k in range(count):
        row, start = index[k] * length, k * wide
        dense_at(steps, row + L.S_VECTORS + nu, n, vectors, fraction[k], out, start, n)
        unit_length(I, out, start)
        t = steps[row + L.S_TIME] + fraction[k] * steps[row + L.S_LENGTH]
        I[L.PIECE] = int(steps[row + L.S_PIECE])
        if int(steps[row + L.S_ARC]) != arc:
            arc = int(steps[row + L.S_ARC])
            for unit in range(nunit):
                I[I[L.STATUS] + unit] = statuses[arc * nunit + unit]
            make_plan(I, D)
        y = I[L.Y]
        if I[L.NSLIDE] > 0:
            # a slip that has only just begun has the direction that it will have, one that ends that which it had
            dense_at(steps, row + L.S_VECTORS + nu, n, vectors, 0.5, D, y, n)
            kinematics(I, D, t, y)
            for unit in range(nunit):
                if I[I[L.KIND] + unit] == SPACE:
                    aim(I, D, unit, I[L.GAP_V], 0.0)
                    slide = I[L.SLIDE] + 4 * unit
                    D[slide + 2], D[slide + 3] = 0.0, STOPPING * slip_speed(I, D, unit, I[L.GAP_V])
        for i in range(ny):
            D[y + i] = out[start + i]
        for i in range(nu):
            D[I[L.U] + i] = steps[row + L.S_VECTORS + i]
        code = flow(I, D, t, y, I[L.K], I[L.LAM])
        if code != 0:
            return code
        energies(I, D, t, y)
        kinematics(I, D, t, y)
        start += ny
        start = copy(D, I[L.LAM], out, start, nr)
        start = copy(D, I[L.U], out, start, nu)
        start = copy(D, I[L.ENERGIES], out, start, 5)
        start = copy(D, I[L.GAP], out, start, 2 * nr + nunit + I[L.NUSER])
    return 0


@compiled
def states_on_step(steps, r, n, vectors, fraction, first, last, out, nx):
    """States at all samples that lie on one step: its coefficients are read once."""
    if vectors != 5:
        for k in range(first, last):
            dense_at(steps, r, n, vectors, fraction[k], out, k * nx, nx)
        return
    for i in range(nx):
        a, b, c, d, e = steps[r + i], steps[r + n + i], steps[r + 2 * n + i], steps[r + 3 * n + i], steps[r + 4 * n + i]
        for k in range(first, last):
            s = fraction[k]
            left = 1.0 - s
            out[k * nx + i] = a + s * (b + left * (c + s * (d + left * e)))


@compiled
def copy(D, source, out, start, n):
    """Copy n numbers and return where they end."""
    for i in range(n):
        out[start + i] = D[source + i]
    return start + n
