"""The flow of a mode: inputs, contact forces by a small active-set solve, accelerations, energy rates."""

import math

import numpy as np

from saltus._native import call_control, call_kernel, call_part, compiled, never_inline
from saltus.contact._behaviour import holds, slides
from saltus.contact._ground import tie
from saltus.contact._joint import PLUS
from saltus.contact._unit import GRIP, GROUND, JOINT
from saltus.engine import _layout as L
from saltus.engine._status import CONTROLLER_FAILED, CONTROLLER_NOT_FINITE, REDUNDANT, SINGULAR


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
        if D[u + i] > D[limit + i]:
            D[u + i] = D[limit + i]
            I[L.SATURATED] += 1
        elif D[u + i] < -D[limit + i]:
            D[u + i] = -D[limit + i]
            I[L.SATURATED] += 1
    return 0


@compiled
def make_plan(I, D):
    """List the unknown contact forces of the present mode, a row each, and what is tied to it; and given forces."""
    never_inline()
    I[L.NACTIVE] = I[L.NGIVEN] = I[L.NCLOSED] = 0
    for r in range(I[L.NROW]):
        D[I[L.GIVEN] + r] = 0.0
    for unit in range(I[L.NUNIT]):
        kind, status, row = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], I[I[L.ROW] + unit]
        c = D[I[L.COEF] + L.COEFFICIENTS * unit]
        still, moves = holds(kind, status), slides(kind, status)
        if not still and not moves:
            continue
        I[L.NCLOSED] += 1
        if kind == GROUND:
            if still:
                _activate(I, D, row, -1, 0.0)
            _activate(I, D, row + 1, row if moves else -1, tie(status, c))
        elif moves:
            D[I[L.GIVEN] + row] = -c if status == PLUS else c
            I[L.NGIVEN] += 1
        else:
            _activate(I, D, row, -1, 0.0)
            if kind == GRIP:
                _activate(I, D, row + 1, -1, 0.0)


@compiled
def _activate(I, D, row, pair, ratio):
    n = I[L.NACTIVE]
    I[I[L.ACTIVE_ROW] + n] = row
    I[I[L.ACTIVE_PAIR] + n] = pair
    D[I[L.ACTIVE_TIE] + n] = ratio
    I[L.NACTIVE] = n + 1


@compiled
def eliminate(I, D, n):
    """Solve the n by n system at SOLVE, kept row by row with its right side, which the solution replaces.

    Rows that say the same thing twice are allowed: of the forces that they leave open one is set
    to zero, and REDUNDANT notes it. Returns False where rows contradict each other by more than the tolerance.
    """
    never_inline()
    S, w = I[L.SOLVE], n + 1
    right = 0.0
    for i in range(n):
        scale = 0.0
        for j in range(n):
            scale = max(scale, abs(D[S + i * w + j]))
        if scale > 0.0:  # contacts of light and of heavy bodies on one footing
            for j in range(w):
                D[S + i * w + j] /= scale
        right = max(right, abs(D[S + i * w + n]))
    rank = 0
    for k in range(n):
        best = rank
        for i in range(rank + 1, n):
            if abs(D[S + i * w + k]) > abs(D[S + best * w + k]):
                best = i
        I[I[L.PIVOT] + k] = -1
        if rank == n or not abs(D[S + best * w + k]) > 1e-12:
            continue
        if best != rank:
            for j in range(k, w):
                D[S + rank * w + j], D[S + best * w + j] = D[S + best * w + j], D[S + rank * w + j]
        for i in range(rank + 1, n):
            factor = D[S + i * w + k] / D[S + rank * w + k]
            for j in range(k + 1, w):
                D[S + i * w + j] -= factor * D[S + rank * w + j]
        I[I[L.PIVOT] + k] = rank
        rank += 1
    if rank < n:
        I[L.REDUNDANT] = 1
        for i in range(rank, n):
            if not abs(D[S + i * w + n]) <= 1e-9 * right + D[L.ATOL]:
                return False
    x = S + n * w
    for k in range(n - 1, -1, -1):
        row = I[I[L.PIVOT] + k]
        D[x + k] = 0.0
        if row >= 0:
            total = D[S + row * w + n]
            for j in range(k + 1, n):
                total -= D[S + row * w + j] * D[x + j]
            D[x + k] = total / D[S + row * w + k]
    for k in range(n):
        D[S + k * w + n] = D[x + k]
    return True


@compiled
def contact_forces(I, D, lam):
    """Forces of all contact rows such that the active rows do not accelerate."""
    never_inline()
    n, nr = I[L.NACTIVE], I[L.NROW]
    A, b, S = I[L.W_A], I[L.W_B], I[L.SOLVE]
    rows, pairs, ties = I[L.ACTIVE_ROW], I[L.ACTIVE_PAIR], I[L.ACTIVE_TIE]
    for r in range(nr):
        D[lam + r] = D[I[L.GIVEN] + r]
    w = n + 1
    for i in range(n):
        row = I[rows + i]
        for j in range(n):
            entry = D[A + row * nr + I[rows + j]]
            if I[pairs + j] >= 0:
                entry += D[ties + j] * D[A + row * nr + I[pairs + j]]
            D[S + i * w + j] = entry
        acceleration = D[b + row]
        if I[L.NGIVEN] > 0:
            for r in range(nr):
                acceleration += D[A + row * nr + r] * D[lam + r]
        D[S + i * w + n] = -acceleration
    if not eliminate(I, D, n):
        return REDUNDANT
    for i in range(n):
        force = D[S + i * w + n]
        D[lam + I[rows + i]] += force
        if I[pairs + i] >= 0:
            D[lam + I[pairs + i]] += D[ties + i] * force
    return 0


@compiled
def constrained(I, D, dy, lam):
    """Rates of the state from what the terms kernel wrote, with the contacts of the mode closed."""
    never_inline()
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
    for r in range(nr):
        force = D[lam + r]
        if force != 0.0:
            lost -= force * D[V + r]
            for i in range(nv):
                D[dy + nq + i] += force * D[MJ + r * nv + i]
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == JOINT and holds(JOINT, I[I[L.STATUS] + unit]):
            D[dy + nq + I[I[L.COORDINATE] + unit]] = 0.0  # exactly, whatever rounding made of it
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
def row_accelerations(I, D, lam):
    """Accelerations of all contact rows under given forces, from what the terms kernel wrote."""
    never_inline()
    nr, A, b, acc = I[L.NROW], I[L.W_A], I[L.W_B], I[L.ACC]
    for r in range(nr):
        total = D[b + r]
        for s in range(nr):
            total += D[A + r * nr + s] * D[lam + s]
        D[acc + r] = total


@compiled
def project(I, D, y):
    """Move positions, then velocities, onto the closed contacts, in the metric of the mass matrix.

    Uses the terms of the state that is being moved.
    """
    never_inline()
    n, nr, nq, nv = I[L.NACTIVE], I[L.NROW], I[L.NQ], I[L.NV]
    if n == 0:
        return
    call_kernel(I[L.GAPS], D[L.T], D, y, I[L.U], I[L.P], I[L.GAP])
    A, MJ, S, rows = I[L.W_A], I[L.W_MJ], I[L.SOLVE], I[L.ACTIVE_ROW]
    for level in range(2):
        w = n + 1
        worst = 0.0
        for i in range(n):
            row = I[rows + i]
            for j in range(n):
                D[S + i * w + j] = D[A + row * nr + I[rows + j]]
            wrong = D[I[L.GAP_V] + row] if level == 1 else D[I[L.GAP] + row] - D[I[L.ANCHOR] + row]
            worst = max(worst, abs(wrong))
            D[S + i * w + n] = -wrong
        if worst == 0.0 or not eliminate(I, D, n):
            continue
        for i in range(n):
            amount = D[S + i * w + n]
            for j in range(nv):
                D[y + level * nq + j] += amount * D[MJ + I[rows + i] * nv + j]
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == JOINT and holds(JOINT, I[I[L.STATUS] + unit]):
            where = I[I[L.COORDINATE] + unit]
            D[y + where] = D[I[L.ANCHOR] + I[I[L.ROW] + unit]]
            D[y + nq + where] = 0.0


@compiled
def energies(I, D, t, y):
    """Kinetic and potential energy, and how far relative and absolute errors carry, written to ENERGIES."""
    never_inline()
    call_kernel(I[L.ENERGY], t, D, y, I[L.U], I[L.P], I[L.ENERGIES])
