"""The flow of a mode: inputs, contact forces, accelerations, energy rates; and how a state is kept on its contacts."""

import math

import numpy as np

from saltus._native import call_control, call_kernel, call_part, compiled, never_inline
from saltus.contact._behaviour import holds
from saltus.contact._unit import JOINT
from saltus.engine import _layout as L
from saltus.engine._forces import eliminate
from saltus.engine._slip import contact_forces, turn_ties
from saltus.engine._status import CONTROLLER_FAILED, CONTROLLER_NOT_FINITE, NO_MODE, SINGULAR

# On which side of its limits an input is, as bits.
INSIDE, ABOVE, BELOW = 1, 2, 4


@compiled
def set_inputs(I, D, t, y):
    """Ask the controller, refuse what is not finite, and clip to the actuators' limits."""
    never_inline()
    u, limit = I[L.U], I[L.LIMIT]
    if I[L.PIECE] < I[L.NBREAK] and t >= D[I[L.BREAKS] + I[L.PIECE]]:
        # a step that ends at a break sees the left limit there, whatever the controller makes of t
        t = np.nextafter(D[I[L.BREAKS] + I[L.PIECE]], -np.inf)
    code = call_control(I[L.CONTROL], t, I, D, y, I[L.STATUS], I[L.MEM], I[L.P], I[L.DATA], I[L.PIECE], u, I[L.REQUEST])
    if code != 0:
        return CONTROLLER_FAILED
    for i in range(I[L.NU]):
        if not math.isfinite(D[u + i]):
            return CONTROLLER_NOT_FINITE
        side = INSIDE
        if D[u + i] > D[limit + i]:
            D[u + i], side = D[limit + i], ABOVE
            I[L.SATURATED] += 1
        elif D[u + i] < -D[limit + i]:
            D[u + i], side = -D[limit + i], BELOW
            I[L.SATURATED] += 1
        I[I[L.SEEN] + i] |= side
    return 0


@compiled
def _jammed(I, D):
    """Whether the only contact slides where pressing it down would lift it: motion comes to an end before that."""
    row, pair = I[I[L.ACTIVE_ROW]], I[I[L.ACTIVE_PAIR]]
    if I[L.NACTIVE] != 1 or pair < 0:
        return False
    A, side = I[L.W_A] + row * I[L.NROW], I[I[L.ACTIVE_SIDE]]
    if side >= 0:
        turn_ties(I, D)
    sideways = D[I[L.SIDE_TIE]] * D[A + side] if side >= 0 else 0.0
    return D[A + row] + D[I[L.ACTIVE_TIE]] * D[A + pair] + sideways <= 0.0


@compiled
def constrained(I, D, dy, lam):
    """Rates of the state from what the terms kernel wrote, with the contacts of the mode closed."""
    never_inline()
    if _jammed(I, D):
        return NO_MODE
    code = contact_forces(I, D, lam)
    if code != 0:
        return code
    nq, nv, nx, nr = I[L.NQ], I[L.NV], I[L.NX], I[L.NROW]
    W, acc, MJ, V = I[L.W], I[L.W_ACC], I[L.W_MJ], I[L.W_V]
    for i in range(nq):
        D[dy + i] = D[W + i]
    for i in range(nv):
        D[dy + nq + i] = D[acc + i]
    lost = 0.0
    # what stands still loses nothing, whatever rounding makes of its velocity
    for i in range(I[L.NACTIVE]):
        if I[I[L.ACTIVE_PAIR] + i] >= 0:
            lost -= D[lam + I[I[L.ACTIVE_PAIR] + i]] * D[V + I[I[L.ACTIVE_PAIR] + i]]
        if I[I[L.ACTIVE_SIDE] + i] >= 0:
            lost -= D[lam + I[I[L.ACTIVE_SIDE] + i]] * D[V + I[I[L.ACTIVE_SIDE] + i]]
    for r in range(nr):
        force = D[lam + r]
        if I[L.NGIVEN] > 0:
            lost -= (D[I[L.GIVEN] + r] - D[I[L.DAMP] + r] * D[V + r]) * D[V + r]
        if force != 0.0:
            for i in range(nv):
                D[dy + nq + i] += force * D[MJ + r * nv + i]
    for unit in range(I[L.NUNIT]):
        if I[I[L.COORDINATE] + unit] >= 0 and holds(JOINT, I[I[L.STATUS] + unit]):
            D[dy + nq + I[I[L.ITS_RATE] + unit]] = 0.0  # exactly, whatever rounding made of it
    D[dy + nx] = D[I[L.W_POWER]]
    D[dy + nx + 1] = D[I[L.W_POWER] + 1]
    D[dy + nx + 2] = lost
    return 0


@compiled
def flow(I, D, t, y, dy, lam):
    """Rates of state and energy integrals, and contact forces, in the present mode."""
    return call_part(I[L.FLOW], I, D, t, 0.0, y, dy, lam)


@compiled
def rate(I, D, t, y, dy, lam, simple):
    """The same for a stage of a step; ``simple`` (no contacts, inputs held) goes straight to the kernel."""
    if simple:
        return SINGULAR if call_kernel(I[L.FREE], t, D, y, I[L.U], I[L.P], dy) != 0 else 0
    return flow(I, D, t, y, dy, lam)


def flow_part(I, D, t, h, y, dy, lam):
    """The part behind `flow`."""
    if I[L.CONTROL_KIND] == L.CONTINUOUS:
        code = set_inputs(I, D, t, y)
        if code != 0:
            return code
    if I[L.NCLOSED] == 0:
        if call_kernel(I[L.FREE], t, D, y, I[L.U], I[L.P], dy) != 0:
            return SINGULAR
        D[dy + I[L.NX] + 2] = 0.0
        for r in range(I[L.NROW]):
            D[lam + r] = 0.0
        return 0
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return SINGULAR
    return constrained(I, D, dy, lam)


@compiled
def _move(I, D, y, level):
    """Correct positions (level 0) or velocities (1) so that closed rows are where they belong; returns the error."""
    never_inline()
    n, nr, nv = I[L.NACTIVE], I[L.NROW], I[L.NV]
    A, MJ, S, rows, w = I[L.W_A], I[L.W_MJ], I[L.SOLVE], I[L.ACTIVE_ROW], I[L.NACTIVE] + 1
    worst = 0.0
    for i in range(n):
        row = I[rows + i]
        for j in range(n):
            D[S + i * w + j] = D[A + row * nr + I[rows + j]]
        wrong = D[I[L.GAP_V] + row] if level == 1 else D[I[L.GAP] + row] - D[I[L.ANCHOR] + row]
        worst = max(worst, abs(wrong))
        D[S + i * w + n] = -wrong
    if worst == 0.0 or not eliminate(I, D, n, False):
        return 0.0
    for i in range(n):
        amount = D[S + i * w + n]
        if level == 1:
            for j in range(nv):
                D[y + I[L.NQ] + j] += amount * D[MJ + I[rows + i] * nv + j]
        else:
            shift(I, D, y, I[rows + i], amount)
    return worst


@compiled
def shift(I, D, y, row, amount):
    """Move the coordinates along a row, in the metric of the mass matrix, by the terms at hand."""
    nq = I[L.NQ]
    for j in range(nq):
        D[y + j] += amount * D[I[L.W_MQ] + row * nq + j]


@compiled
def unit_length(I, x, at):
    """Bring the quaternions of a state to length one."""
    for k in range(I[L.NQUAT]):
        q = at + I[I[L.QUATERNION] + k]
        square = x[q] * x[q] + x[q + 1] * x[q + 1] + x[q + 2] * x[q + 2] + x[q + 3] * x[q + 3]
        if abs(square - 1.0) > 1e-15:  # what is of length one but for rounding stays as it is
            for j in range(4):
                x[q + j] /= math.sqrt(square)


@compiled
def project(I, D, y):
    """Move positions, then velocities, onto the closed contacts, in the metric of the mass matrix.

    Uses the terms of the state that is being moved.
    """
    never_inline()
    if I[L.NACTIVE] == 0:
        return
    for _ in range(3):
        call_kernel(I[L.GAPS], D[L.T], D, y, I[L.U], I[L.P], I[L.GAP])
        worst = _move(I, D, y, 0)
        if worst > 1e-13:  # where rows point is another matter then
            call_kernel(I[L.GAPS], D[L.T], D, y, I[L.U], I[L.P], I[L.GAP])
        if worst <= 1e-9:
            break
    _move(I, D, y, 1)
    for unit in range(I[L.NUNIT]):
        if I[I[L.COORDINATE] + unit] >= 0 and holds(JOINT, I[I[L.STATUS] + unit]):
            where = I[I[L.COORDINATE] + unit]
            D[y + where] = D[I[L.ANCHOR] + I[I[L.ROW] + unit]]
            D[y + I[L.NQ] + I[I[L.ITS_RATE] + unit]] = 0.0


@compiled
def energies(I, D, t, y):
    """Kinetic and potential energy, and how far errors of the state carry in them and in work, written to ENERGIES."""
    never_inline()
    call_kernel(I[L.ENERGY], t, D, y, I[L.U], I[L.P], I[L.ENERGIES])
