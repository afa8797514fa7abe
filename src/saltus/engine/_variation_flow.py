"""The variational equations: the flow differentiated exactly, by kernels, and carried over the recorded steps."""

from saltus._native import call_kernel, compiled, never_inline
from saltus.contact._behaviour import holds
from saltus.contact._grip import CLOSED
from saltus.contact._joint import PLUS
from saltus.contact._unit import GRIP, GROUND, JOINT
from saltus.engine import _layout as L
from saltus.engine._flow import flow
from saltus.engine._forces import eliminate
from saltus.engine._variation import (
    COEF_P,
    DER,
    DERIVATIVES,
    EXT,
    FORCES,
    HELD,
    INPUTS,
    KZ,
    NP,
    NZ,
    PHI,
    STAGE,
    TABLEAU,
)
from saltus.engine._variation_inputs import change_of_inputs, control_matrix


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
        change_of_inputs(I, D, Q, X, columns, inputs, False)
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
def _linear_damping(I, D, Q, unit, x, p, forces, J):
    """Change of the viscous friction of a row that is linear in the coordinates."""
    never_inline()
    nx, n_p, nv, nr, row, gate = I[L.NX], Q[NP], I[L.NV], I[L.NROW], I[I[L.ROW] + unit], I[I[L.GATE] + unit]
    status = I[I[L.STATUS] + unit]
    if gate < 0 or I[I[L.STATUS] + gate] != CLOSED or holds(JOINT, status):
        return
    speed = 0.0
    for j in range(nv):
        speed += D[J + j * nr + row] * D[x + I[L.NQ] + j]
    change = D[Q[COEF_P] + (L.COEFFICIENTS * unit + 4) * n_p + p - nx] if nx <= p < nx + n_p else 0.0
    D[forces + row] -= D[I[L.DAMP] + row] * speed + change * D[I[L.W_V] + row]


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
        if I[I[L.GATE] + unit] >= 0:
            _linear_damping(I, D, Q, unit, x, p, forces, J)
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
        if I[I[L.COORDINATE] + unit] >= 0 and holds(JOINT, I[I[L.STATUS] + unit]):
            D[acc + I[I[L.ITS_RATE] + unit]] = 0.0


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
