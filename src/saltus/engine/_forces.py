"""Contact forces of a mode by a small active-set solve: which rows act, and how redundant friction is shared."""

import math

from saltus._native import compiled, never_inline
from saltus.contact._behaviour import holds, on_ground, slides
from saltus.contact._grip import CLOSED
from saltus.contact._ground import tie
from saltus.contact._joint import PLUS, STUCK
from saltus.contact._unit import GRIP, GROUND, JOINT, SPACE
from saltus.engine import _layout as L
from saltus.engine._status import REDUNDANT

# How often redundant friction is shared anew, unless none bears more than this part of what it can.
MOST_SHARINGS = 60
ENOUGH = 0.999


@compiled
def set_gates(I, D):
    """Give units that act only while a grip is closed their friction then, and none else."""
    for unit in range(I[L.NUNIT]):
        gate, c = I[I[L.GATE] + unit], I[L.COEF] + L.COEFFICIENTS * unit
        if gate >= 0:
            D[c] = D[c + 3] if I[I[L.STATUS] + gate] == CLOSED else 0.0


@compiled
def make_plan(I, D):
    """List the unknown contact forces of the present mode, a row each, and what is tied to it; and given forces."""
    never_inline()
    I[L.NACTIVE] = I[L.NGIVEN] = I[L.NCLOSED] = I[L.NSLIDE] = 0
    for r in range(I[L.NROW]):
        D[I[L.GIVEN] + r] = D[I[L.DAMP] + r] = 0.0
    set_gates(I, D)
    for unit in range(I[L.NUNIT]):
        kind, status, row = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], I[I[L.ROW] + unit]
        c = D[I[L.COEF] + L.COEFFICIENTS * unit]
        still, moves, gate = holds(kind, status), slides(kind, status), I[I[L.GATE] + unit]
        if gate >= 0 and not still and I[I[L.STATUS] + gate] == CLOSED:
            D[I[L.DAMP] + row] = D[I[L.COEF] + L.COEFFICIENTS * unit + 4]
            I[L.NGIVEN] += 1
        if not still and not moves:
            continue
        I[L.NCLOSED] += 1
        if kind == GROUND:
            if still:
                _activate(I, D, row, -1, 0.0)
            _activate(I, D, row + 1, row if moves else -1, tie(status, c))
        elif kind == SPACE:
            if still:
                _activate(I, D, row, -1, 0.0)
            _activate(I, D, row + 1, row if moves else -1, 0.0)
            if still:
                _activate(I, D, row + 2, -1, 0.0)
            else:
                I[I[L.ACTIVE_SIDE] + I[L.NACTIVE] - 1] = row + 2
                I[L.NSLIDE] += 1
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
    I[I[L.ACTIVE_SIDE] + n] = -1
    D[I[L.ACTIVE_TIE] + n] = ratio
    I[L.NACTIVE] = n + 1


@compiled
def eliminate(I, D, n, weighted):
    """Solve the n by n system at SOLVE, kept row by row with its right side, which the solution replaces.

    Rows that say the same thing twice are allowed: of all solutions that of least square is taken,
    each number over its WEIGHT if it is ``weighted``, and REDUNDANT notes it. RANK is the number of
    rows that say something new. Returns False where rows contradict each other by
    more than the tolerance.
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
    I[L.RANK] = rank
    if rank < n:
        I[L.REDUNDANT] = 1
        for i in range(rank, n):
            if not abs(D[S + i * w + n]) <= 1e-9 * right + D[L.ATOL]:
                return False
    x = S + n * w
    _substitute(I, D, n, x, -1)
    if rank < n:
        _least(I, D, n, x, weighted)
    for k in range(n):
        D[S + k * w + n] = D[x + k]
    return True


@compiled
def _substitute(I, D, n, x, free):
    """Solve the triangular system: its own right side with no free number, or none and one free number that is one."""
    never_inline()
    S, w = I[L.SOLVE], n + 1
    for k in range(n - 1, -1, -1):
        row = I[I[L.PIVOT] + k]
        D[x + k] = 1.0 if k == free else 0.0
        if row >= 0:
            total = D[S + row * w + n] if free < 0 else 0.0
            for j in range(k + 1, n):
                total -= D[S + row * w + j] * D[x + j]
            D[x + k] = total / D[S + row * w + k]


@compiled
def _product(I, D, n, a, b, weighted):
    total = 0.0
    for k in range(n):
        total += D[a + k] * D[b + k] / (D[I[L.WEIGHT] + k] if weighted else 1.0)
    return total


@compiled
def _least(I, D, n, x, weighted):
    """Take from a solution what the rows leave open: its part along each direction that they do not see."""
    never_inline()
    first = x + n
    count = 0
    for free in range(n):
        if I[I[L.PIVOT] + free] >= 0:
            continue
        z = first + count * n
        _substitute(I, D, n, z, free)
        for other in range(count):  # directions at right angles to each other
            y = first + other * n
            share = _product(I, D, n, z, y, weighted) / _product(I, D, n, y, y, weighted)
            for k in range(n):
                D[z + k] -= share * D[y + k]
        share = _product(I, D, n, x, z, weighted) / _product(I, D, n, z, z, weighted)
        for k in range(n):
            D[x + k] -= share * D[z + k]
        count += 1


@compiled
def solve_forces(I, D, lam):
    """The same, with ties as they are."""
    never_inline()
    n, S = I[L.NACTIVE], I[L.SOLVE]
    _assemble(I, D, lam)
    if not eliminate(I, D, n, False):
        return REDUNDANT
    if I[L.RANK] < n:
        for i in range(n):
            D[I[L.WEIGHT] + i] = 1.0
        worst, power = math.inf, 1.0
        for attempt in range(MOST_SHARINGS):
            share = _share(I, D, n, attempt, power)
            if (attempt > 0 and share <= ENOUGH) or share == 0.0:
                break
            # larger steps while they help: where most of what each bears is not to be shared, weights change much
            power = min(2.0 * power, 512.0) if share < worst else max(power / 8.0, 1.0)
            worst = share
            _assemble(I, D, lam)
            eliminate(I, D, n, True)
    rows, pairs, ties = I[L.ACTIVE_ROW], I[L.ACTIVE_PAIR], I[L.ACTIVE_TIE]
    for i in range(n):
        force = D[S + i * (n + 1) + n]
        D[lam + I[rows + i]] += force
        if I[pairs + i] >= 0:
            D[lam + I[pairs + i]] += D[ties + i] * force
        if I[I[L.ACTIVE_SIDE] + i] >= 0:
            D[lam + I[I[L.ACTIVE_SIDE] + i]] += D[I[L.SIDE_TIE] + i] * force
    return 0


@compiled
def _borne(I, D, n, unit, largest):
    """Where the friction of a unit that holds by it is among the unknown forces (-1: nowhere), that, and its limit."""
    kind, status, mu = I[I[L.KIND] + unit], I[I[L.STATUS] + unit], D[I[L.COEF] + L.COEFFICIENTS * unit]
    rubs = (on_ground(kind) and holds(kind, status)) or (kind == JOINT and status == STUCK)
    if rubs and mu < math.inf:  # else it holds without limit
        for i in range(n):
            if I[I[L.ACTIVE_ROW] + i] == I[I[L.ROW] + unit]:
                x, w = I[L.SOLVE] + n, n + 1
                bears = mu * D[x + (i + 1) * w] if on_ground(kind) else mu
                friction = math.hypot(D[x + i * w], D[x + (i + 2) * w]) if kind == SPACE else abs(D[x + i * w])
                return i, friction, max(bears, 1e-9 * largest)
    return -1, 0.0, 1.0


@compiled
def _share(I, D, n, attempt, power):
    """Weights by which friction is shared better than in the present solution; the largest share of what one can bear.

    At first by what each can bear, which counts as little beside what holds without limit; then,
    while one bears too much, less for it and more for the others [lawson1961], by a power of how much.
    """
    never_inline()
    largest, worst = 1e-300, 0.0
    for i in range(n):
        largest = max(largest, abs(D[I[L.SOLVE] + i * (n + 1) + n]))
    for unit in range(I[L.NUNIT]):
        i, friction, bears = _borne(I, D, n, unit, largest)
        if i >= 0:
            worst = max(worst, friction / bears)
    if attempt > 0 and worst <= ENOUGH:
        return worst
    for unit in range(I[L.NUNIT]):
        i, friction, bears = _borne(I, D, n, unit, largest)
        if i < 0:
            continue
        factor = 1e-8 * bears / largest if attempt == 0 else math.pow(max(friction / (bears * worst), 1e-3), -power)
        for k in range(i, i + (3 if I[I[L.KIND] + unit] == SPACE else 1), 2):
            D[I[L.WEIGHT] + k] = max(D[I[L.WEIGHT] + k] * factor, 1e-14)
    return worst


@compiled
def _assemble(I, D, lam):
    """The system of equations for the active rows; all forces begin as what is given."""
    n, nr = I[L.NACTIVE], I[L.NROW]
    A, b, S = I[L.W_A], I[L.W_B], I[L.SOLVE]
    rows, pairs, ties = I[L.ACTIVE_ROW], I[L.ACTIVE_PAIR], I[L.ACTIVE_TIE]
    for r in range(nr):
        D[lam + r] = D[I[L.GIVEN] + r]
    if I[L.NGIVEN] > 0:
        for r in range(nr):
            D[lam + r] -= D[I[L.DAMP] + r] * D[I[L.W_V] + r]
    w = n + 1
    for i in range(n):
        row = I[rows + i]
        for j in range(n):
            entry = D[A + row * nr + I[rows + j]]
            if I[pairs + j] >= 0:
                entry += D[ties + j] * D[A + row * nr + I[pairs + j]]
            if I[I[L.ACTIVE_SIDE] + j] >= 0:
                entry += D[I[L.SIDE_TIE] + j] * D[A + row * nr + I[I[L.ACTIVE_SIDE] + j]]
            D[S + i * w + j] = entry
        acceleration = D[b + row]
        if I[L.NGIVEN] > 0:
            for r in range(nr):
                acceleration += D[A + row * nr + r] * D[lam + r]
        D[S + i * w + n] = -acceleration


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
