"""The flow of a mode: inputs, contact forces by a small active-set solve, accelerations, energy rates."""

import math

import numpy as np

from saltus._native import call_control, call_kernel, call_part, compiled, never_inline
from saltus.contact._behaviour import holds, on_ground, slides
from saltus.contact._grip import CLOSED
from saltus.contact._ground import tie
from saltus.contact._joint import PLUS, STUCK
from saltus.contact._space import SLOWEST, direction
from saltus.contact._unit import GRIP, GROUND, JOINT, SPACE
from saltus.engine import _layout as L
from saltus.engine._status import CONTROLLER_FAILED, CONTROLLER_NOT_FINITE, NO_MODE, REDUNDANT, SINGULAR

# How often redundant friction is shared anew.
MOST_SHARINGS = 30


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
def contact_forces(I, D, lam):
    """Forces of all contact rows such that the active rows do not accelerate.

    Where they are not unique, friction bears as little as it can, and is shared as each can bear it:
    that keeps each in its cone if this is possible at all.
    """
    never_inline()
    if I[L.NSLIDE] > 0:
        turn_ties(I, D)
    return _solve_forces(I, D, lam)


@compiled
def _solve_forces(I, D, lam):
    """The same, with ties as they are."""
    never_inline()
    n, S = I[L.NACTIVE], I[L.SOLVE]
    _assemble(I, D, lam)
    if not eliminate(I, D, n, False):
        return REDUNDANT
    if I[L.RANK] < n:
        for i in range(n):
            D[I[L.WEIGHT] + i] = 1.0
        for attempt in range(MOST_SHARINGS):
            if not _share(I, D, n, attempt):
                break
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
def tie_along(I, D, unit, along, side):
    """Let friction of what slips in space act against a direction."""
    row, mu = I[I[L.ROW] + unit], D[I[L.COEF] + L.COEFFICIENTS * unit]
    for i in range(I[L.NACTIVE]):
        if I[I[L.ACTIVE_ROW] + i] == row + 1:
            D[I[L.ACTIVE_TIE] + i], D[I[L.SIDE_TIE] + i] = -mu * along, -mu * side


@compiled
def turning(I, D, unit, angle):
    """How fast the acceleration of a slip turns from a direction against which friction acts, and grows along it."""
    never_inline()
    row, along, side = I[I[L.ROW] + unit], math.cos(angle), math.sin(angle)
    tie_along(I, D, unit, along, side)
    if _solve_forces(I, D, I[L.LAMS]) != 0:
        return math.nan, math.nan
    row_accelerations(I, D, I[L.LAMS])
    a, b = D[I[L.ACC] + row], D[I[L.ACC] + row + 2]
    return along * b - side * a, along * a + side * b


@compiled
def _turn_slowly(I, D, unit):
    """The direction of a slip that begins: that in which its acceleration does not turn it.

    Where that is so in every direction, the one that is at hand.
    """
    never_inline()
    ref, row = I[L.SLIDE] + 4 * unit, I[I[L.ROW] + unit]
    angle = math.atan2(D[ref + 1], D[ref])
    last, step = angle, 1e-4
    turn, _ = turning(I, D, unit, angle)
    friction = D[I[L.COEF] + L.COEFFICIENTS * unit] * abs(D[I[L.LAMS] + row + 1] * D[I[L.W_A] + row * (I[L.NROW] + 1)])
    for attempt in range(30):
        angle = last + step
        now, _ = turning(I, D, unit, angle)
        if not abs(now - turn) > 1e-6 * friction * abs(step):
            angle = math.atan2(D[ref + 1], D[ref]) if attempt == 0 else angle
            break
        last, turn, step = angle, now, -now * step / (now - turn)
        if abs(step) < 1e-14:
            break
        if not abs(step) < 0.3:
            step = math.copysign(0.3, step)
    tie_along(I, D, unit, math.cos(angle), math.sin(angle))


@compiled
def _begins(I, D, unit):
    """Whether a unit slips in space, has just begun to, and is still slow."""
    v = I[L.W_V] + I[I[L.ROW] + unit]
    if I[I[L.KIND] + unit] != SPACE or not slides(SPACE, I[I[L.STATUS] + unit]):
        return False
    return D[I[L.SLIDE] + 4 * unit + 2] == 1.0 and math.hypot(D[v], D[v + 2]) < SLOWEST


@compiled
def turn_ties(I, D):
    """Friction of what slips in space, over the normal force: against the slip as the last terms have it.

    The direction of a slip that begins changes much faster than all else, by friction over its speed, and so stays
    where it does not turn; of several, each in turn.
    """
    never_inline()
    slow = 0
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and slides(SPACE, I[I[L.STATUS] + unit]):
            v, ref = I[L.W_V] + I[I[L.ROW] + unit], I[L.SLIDE] + 4 * unit
            if _begins(I, D, unit):
                tie_along(I, D, unit, D[ref], D[ref + 1])
                slow += 1
            else:
                slow = D[ref + 3] if D[ref + 2] == 0.0 else 1e-3 * SLOWEST
                along, side = direction(D[v], D[v + 2], D[ref], D[ref + 1], slow)
                tie_along(I, D, unit, along, side)
    for _ in range(0 if slow == 0 else (1 if I[L.NSLIDE] == 1 else 8)):
        for unit in range(I[L.NUNIT]):
            if _begins(I, D, unit):
                _turn_slowly(I, D, unit)


@compiled
def _share(I, D, n, attempt):
    """Weights by which friction is shared better than in the present solution; whether there is need of any.

    At first by what each can bear, which counts as little beside what holds without limit; then,
    while one bears too much, less for it and more for the others [lawson1961].
    """
    never_inline()
    w = n + 1
    largest = 1e-300
    for i in range(n):
        largest = max(largest, abs(D[I[L.SOLVE] + i * w + n]))
    needed = False
    for unit in range(I[L.NUNIT]):
        kind, status = I[I[L.KIND] + unit], I[I[L.STATUS] + unit]
        rubs = (on_ground(kind) and holds(kind, status)) or (kind == JOINT and status == STUCK)
        if not rubs or D[I[L.COEF] + L.COEFFICIENTS * unit] == math.inf:  # else it holds without limit
            continue
        for i in range(n):
            row = I[I[L.ACTIVE_ROW] + i] - I[I[L.ROW] + unit]
            if row == 0 or (kind == SPACE and row == 2):
                bears = D[I[L.COEF] + L.COEFFICIENTS * unit]
                if on_ground(kind):
                    bears *= D[I[L.SOLVE] + (i + 1 - row) * w + n]
                bears = max(bears, 1e-9 * largest)
                share = abs(D[I[L.SOLVE] + i * w + n]) / bears
                needed = needed or attempt == 0 or share > 1.0
                D[I[L.WEIGHT] + i] = 1e-8 * bears / largest if attempt == 0 else D[I[L.WEIGHT] + i] / max(share, 1e-3)
    return needed


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
