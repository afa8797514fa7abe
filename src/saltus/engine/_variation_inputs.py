"""How inputs depend on state, parameters and the controller's own numbers: by differences of what users write.

Controllers are compiled functions without derivatives; central differences of fourth order leave about 1e-12.
"""

from saltus._native import call_control, compiled, never_inline
from saltus.engine import _layout as L
from saltus.engine._flow import ABOVE, BELOW, INSIDE
from saltus.engine._variation import (
    BLIND,
    CU,
    DIFFERENCE,
    HELD,
    KEPT,
    LIMIT_P,
    MEMORY,
    MEMORY_BASE,
    MEMORY_NEXT,
    NC,
    NM,
    NP,
    NZ,
    PHI,
    SIDED,
    SPARE,
    SPEC,
    SPEC_WIDTH,
)


@compiled
def offset(k):
    """The four points of a central difference of fourth order."""
    return (1.0, -1.0, 2.0, -2.0)[k]


@compiled
def weight(k):
    return (8.0, -8.0, -1.0, 1.0)[k] / 12.0


@compiled
def _ask(I, D, Q, t, y):
    """Ask the controller as the loop does, from the memory as it was."""
    for m in range(Q[NM]):
        D[I[L.MEM] + m] = D[Q[MEMORY_BASE] + m]
    call_control(I[L.CONTROL], t, I, D, y, I[L.STATUS], I[L.MEM], I[L.P], I[L.DATA], I[L.PIECE], I[L.U], I[L.REQUEST])


@compiled
def _ask_and_clip(I, D, Q, t, y):
    """The same, and clip; note on which side of their limits inputs are, unless SIDED says that this is given."""
    _ask(I, D, Q, t, y)
    for i in range(I[L.NU]):
        u, limit = D[I[L.U] + i], D[I[L.LIMIT] + i]
        if Q[SIDED] == 0:
            I[I[L.CUT] + i] = INSIDE if abs(u) < limit else (ABOVE if u > 0.0 else BELOW)
        D[I[L.U] + i] = min(max(u, -limit), limit)


@compiled
def _number(I, Q, column, k, y):
    """Where the k-th number is of one of what inputs depend on: state, parameter, controller's parameter, memory."""
    nx, n_p, nc = I[L.NX], Q[NP], Q[NC]
    if column < nx:
        return y + column
    column -= nx
    if column < n_p:
        return I[L.P] + column
    column -= n_p
    if column < nc:
        return I[L.DATA] + Q[Q[SPEC] + SPEC_WIDTH * column + 2 + k]
    return Q[MEMORY_BASE] + column - nc


@compiled
def _numbers(I, Q, column):
    """How many numbers that is; time, the last, is none of them."""
    named = column - I[L.NX] - Q[NP]
    if 0 <= named < Q[NC]:
        return Q[Q[SPEC] + SPEC_WIDTH * named + 1]
    return 1 if named < Q[NC] + Q[NM] else 0


@compiled
def _size(I, D, Q, column, y):
    """How large it is, for the step of a difference."""
    named = column - I[L.NX] - Q[NP]
    size = 1e-3 if column >= I[L.NX] and named < Q[NC] else 1.0
    for k in range(_numbers(I, Q, column)):
        size = max(size, abs(D[_number(I, Q, column, k, y)]))
    return size


@compiled
def _difference(I, D, Q, t, ys, c, columns, step, out):
    """A column of the derivatives of inputs and memory, by differences of one step."""
    never_inline()
    nu, nm, count = I[L.NU], Q[NM], _numbers(I, Q, c)
    for j in range(count):
        D[Q[KEPT] + j] = D[_number(I, Q, c, j, ys)]
    for k in range(4):
        amount = offset(k) * step
        for j in range(count):
            D[_number(I, Q, c, j, ys)] = D[Q[KEPT] + j] + amount
        _ask(I, D, Q, t + amount if c == columns - 1 else t, ys)
        for i in range(nu + nm):
            value = D[I[L.U] + i] if i < nu else D[I[L.MEM] + i - nu]
            # what is the same at all points has a difference of zero, to the last bit
            if k == 0:
                D[out + i] = value
            elif k == 1:
                D[out + i] = 8.0 * (D[out + i] - value)
            else:
                D[out + i] += value if k == 3 else -value
    for i in range(nu + nm):
        D[out + i] /= 12.0 * step
    # back to the last bit: a memory may count, and what is left of one by a rounding is none
    for j in range(count):
        D[_number(I, Q, c, j, ys)] = D[Q[KEPT] + j]


@compiled
def _rests(I, Q, D, c):
    """Whether a memory depends on nothing that a run began with: it may count, and then has no slope either."""
    m = c - I[L.NX] - Q[NP] - Q[NC]
    if not 0 <= m < Q[NM]:
        return False
    largest = 0.0
    for k in range(Q[NZ]):
        largest = max(largest, abs(D[Q[MEMORY] + k * Q[NM] + m]))
    return largest == 0.0


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
        if (Q[BLIND] == 1 and nx <= c < nx + n_p) or _rests(I, Q, D, c):
            continue
        step = DIFFERENCE * _size(I, D, Q, c, ys)
        for _ in range(5):
            # differences of two steps agree where the function is smooth on their scale
            coarse, fine = 0.0, 0.0
            _difference(I, D, Q, t, ys, c, columns, step, out)
            _difference(I, D, Q, t, ys, c, columns, step / 16.0, Q[SPARE])
            for i in range(high):
                coarse = max(coarse, abs(D[out + i] - D[Q[SPARE] + i]))
                fine = max(fine, abs(D[Q[SPARE] + i]))
            if coarse <= 1e-9 * fine or coarse <= 1e-12:
                break
            step /= 16.0
    _ask_and_clip(I, D, Q, t, ys)
    for i in range(nu):
        side = I[I[L.CUT] + i]
        if side != INSIDE:
            sign = 1.0 if side == ABOVE else -1.0
            for c in range(columns):
                inside = nx <= c < nx + n_p
                D[Q[CU] + c * high + i] = sign * D[Q[LIMIT_P] + i * n_p + c - nx] if inside else 0.0


@compiled
def change_of_inputs(I, D, Q, X, columns, out, memory):
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
def take_sides(I, D, Q, t, y):
    """Note on which side of their limits continuous inputs are, for all of a step that has its middle here.

    Steps end where that changes. At their very ends rounding would tell, or the side of the next.
    """
    if I[L.CONTROL_KIND] == L.CONTINUOUS:
        for m in range(Q[NM]):
            D[Q[MEMORY_BASE] + m] = D[I[L.MEM] + m]
        Q[SIDED] = 0
        _ask_and_clip(I, D, Q, t, y)
        Q[SIDED] = 1
        for m in range(Q[NM]):
            D[I[L.MEM] + m] = D[Q[MEMORY_BASE] + m]


@compiled
def take_sample(I, D, Q, t, y):
    """At a sample the inputs, and the memory, change with the state; they are held until the next."""
    never_inline()
    nz, nm = Q[NZ], Q[NM]
    control_matrix(I, D, Q, t, y)
    change_of_inputs(I, D, Q, Q[PHI], nz, Q[HELD], True)
    for k in range(nz * nm):
        D[Q[MEMORY] + k] = D[Q[MEMORY_NEXT] + k]


@compiled
def remember(I, D, Q, t, y):
    """Let the controller's memory go on as it did at a sample."""
    for m in range(Q[NM]):
        D[Q[MEMORY_BASE] + m] = D[I[L.MEM] + m]
    _ask_and_clip(I, D, Q, t, y)
