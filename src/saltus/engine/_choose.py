"""The next mode, by cause and consistency: none or two consistent ones are a verdict, never a guess."""

import math

from saltus._native import call_kernel, call_part, compiled, never_inline
from saltus.contact._behaviour import candidates, margins, on_ground, slides
from saltus.contact._unit import SPACE
from saltus.engine import _layout as L
from saltus.engine._flow import flow, set_inputs
from saltus.engine._forces import make_plan, row_accelerations, set_gates
from saltus.engine._guard_values import sizes
from saltus.engine._slides import aim, first_speed, friction_of, set_ending
from saltus.engine._slip import contact_forces, tie_along, turning
from saltus.engine._status import NO_MODE, SINGULAR, TWO_MODES

REJECTED, UNDECIDED, CONSISTENT = range(3)

# Where all forces vanish, accelerations are compared with this (m/s^2, rad/s^2): rounding decides nothing.
SLIGHT = 1e-6

# A margin that has become less than this, relative, did not change: its forces jumped.
LOST = 0.5

# Relative sizes: below the first a margin counts as tied, below the second it has no sign, below the third it has
# not changed.
TIE, ROUNDING, NOISE = 1e-9, 1e-12, 1e-13


@compiled
def candidates_of_all(I, D, widen):
    """Set the candidate statuses of all units from their flags; ``widen`` forgets named ones."""
    never_inline()
    set_gates(I, D)
    for unit in range(I[L.NUNIT]):
        if widen or I[I[L.CANDIDATES] + unit] == 0:
            I[I[L.CANDIDATES] + unit] = candidates(
                I[I[L.KIND] + unit],
                I[I[L.STATUS] + unit],
                I[I[L.ENDED] + unit],
                I[I[L.TOUCH] + unit],
                I[I[L.STILL] + unit] == 1,
                D[I[L.GAP_V] + I[I[L.ROW] + unit]],
                D[I[L.COEF] + L.COEFFICIENTS * unit],
            )


@compiled
def _next_status(bits, after):
    """The candidate that follows another in order of preference, or -1 after the last: what rests comes first."""
    seen = after < 0
    for status in (4, 5, 1, 2, 3, 0):
        if seen and bits & (1 << status):
            return status
        if status == after:
            seen = True
    return -1


@compiled
def _scales_of(I, D, unit, lam):
    """Sizes of forces and accelerations at a unit, to tell zero from small."""
    never_inline()
    row, nr = I[I[L.ROW] + unit], I[L.NROW]
    acceleration, parts = SLIGHT, 0.0
    for r in range(nr):
        acceleration = max(acceleration, abs(D[I[L.W_B] + r]))
    force = abs(D[lam + row])
    if on_ground(I[I[L.KIND] + unit]):
        row += 1
        force += abs(D[lam + row])
    for r in range(nr):
        parts += abs(D[I[L.W_A] + row * nr + r] * D[lam + r])
    force += acceleration / max(1e-300, D[I[L.W_A] + row * nr + row])
    return force, max(acceleration, parts)


@compiled
def present_terms(I, D, t):
    """Inputs and terms at the present state."""
    never_inline()
    if I[L.CONTROL_KIND] == L.CONTINUOUS:
        code = set_inputs(I, D, t, I[L.Y])
        if code != 0:
            return code
    if call_kernel(I[L.TERMS], t, D, I[L.Y], I[L.U], I[L.P], I[L.W]) != 0:
        return SINGULAR
    return 0


@compiled
def _measure(I, D, lam, out):
    """Write both margins of every unit, each over the size of what it is made of."""
    never_inline()
    row_accelerations(I, D, lam)
    for unit in range(I[L.NUNIT]):
        row, kind = I[I[L.ROW] + unit], I[I[L.KIND] + unit]
        second_row = row + 1 if on_ground(kind) else row
        first, second, first_force, second_force = margins(
            kind,
            I[I[L.STATUS] + unit],
            I[I[L.TOUCH] + unit],
            I[I[L.STILL] + unit] == 1,
            friction_of(I, D, unit, lam),
            D[lam + second_row],
            first_speed(I, D, unit, I[L.ACC]),
            D[I[L.ACC] + second_row],
            D[I[L.COEF] + L.COEFFICIENTS * unit],
        )
        force, acceleration = _scales_of(I, D, unit, lam)
        D[out + 2 * unit] = first / max(1e-300, force if first_force else acceleration)
        D[out + 2 * unit + 1] = second / max(1e-300, force if second_force else acceleration)


@compiled
def _tie_named(I, D, out):
    """Where a force guard fired, the margin of the status that it names is zero, whatever rounding makes of it."""
    never_inline()
    for unit in range(I[L.NUNIT]):
        status = I[I[L.STATUS] + unit]
        if I[I[L.ENDED] + unit] >= 0 and I[I[L.CANDIDATES] + unit] == 1 << status:
            second = on_ground(I[I[L.KIND] + unit]) and slides(I[I[L.KIND] + unit], status)
            D[out + 2 * unit + (1 if second else 0)] = 0.0


@compiled
def _measure_later(I, D, t, out):
    """Write the margins a moment later on the present mode's own flow; whether there is such a flow."""
    y, delta = I[L.Y], D[L.DELTA]
    flows = flow(I, D, t, y, I[L.KD], I[L.LAMD]) == 0
    for i in range(I[L.NX]):
        D[I[L.YD] + i] = D[y + i] + delta * D[I[L.KD] + i]
    flows = flow(I, D, t + delta, I[L.YD], I[L.KD], I[L.LAMD]) == 0 and flows
    if I[L.NCLOSED] == 0:
        call_kernel(I[L.TERMS], t + delta, D, I[L.YD], I[L.U], I[L.P], I[L.W])
    _measure(I, D, I[L.LAMD], out)
    return flows


@compiled
def _stays(I, D, now, later):
    """Whether no margin that is not negative now is far below zero a moment later.

    Rows may say the same thing twice in one instant only, as two feet do of a leg that is straight. As it bends, what
    holds both is a force without limit.
    """
    stays = True
    for k in range(2 * I[L.NUNIT]):
        stays = stays and not (D[now + k] >= -TIE and D[later + k] < -LOST)
    return stays


@compiled
def _judge(I, D, t):
    """Whether the present statuses are consistent, and stay so on an open interval after t."""
    never_inline()
    lam, now, later = I[L.LAM], I[L.MARGIN], I[L.MARGIN] + 2 * I[L.NUNIT]
    if contact_forces(I, D, lam) != 0:
        return REJECTED
    _measure(I, D, lam, now)
    _tie_named(I, D, now)
    tied = False
    for k in range(2 * I[L.NUNIT]):
        if not D[now + k] >= -TIE:
            return REJECTED
        tied = tied or D[now + k] <= TIE
    rank = I[L.RANK] if I[L.NCLOSED] > 0 else I[L.NACTIVE]
    if not tied and rank == I[L.NACTIVE]:
        return CONSISTENT
    flows = _measure_later(I, D, t, later)
    verdict = CONSISTENT if flows or not tied else REJECTED
    if flows and rank < I[L.RANK] and not _stays(I, D, now, later):
        verdict = REJECTED
    # A tie goes to the first non-zero one-sided derivative along this mode's own flow.
    for k in range(2 * I[L.NUNIT]):
        margin = D[now + k]
        change = D[later + k] - margin
        if margin > TIE:
            continue
        if abs(margin) <= ROUNDING and change < -NOISE:
            verdict = REJECTED
        elif abs(margin) > ROUNDING or change <= NOISE:
            # nearly zero, but more than rounding: its sign, told by the score, says more than its change
            verdict = min(verdict, UNDECIDED)
    present_terms(I, D, t)
    return verdict


# Directions that are tried for a slip that begins.
DIRECTIONS = 64


@compiled
def _aim_beginning(I, D, unit):
    """The direction in which a contact at rest begins to slip: that of its acceleration under friction against it."""
    never_inline()
    width = 2.0 * math.pi / DIRECTIONS
    best, angle, found = 0.0, 0.0, False
    for k in range(DIRECTIONS):
        low, high = (k + 0.37) * width, (k + 1.37) * width
        at_low, at_high = turning(I, D, unit, low)[0], turning(I, D, unit, high)[0]
        if not at_low * at_high <= 0.0:
            continue
        for _ in range(60):
            middle = 0.5 * (low + high)
            if turning(I, D, unit, middle)[0] * at_low > 0.0:
                low = middle
            else:
                high = middle
        turn, growth = turning(I, D, unit, high)
        # where forces become infinite the sign changes too, and a ground that pulls lets nothing slip
        pressed = D[I[L.LAMS] + I[I[L.ROW] + unit] + 1] > 0.0
        if pressed and growth > best and abs(turn) <= 1e-6 * growth:
            best, found, angle = growth, True, high
    if found:
        tie_along(I, D, unit, math.cos(angle), math.sin(angle))
        ref = I[L.SLIDE] + 4 * unit
        D[ref], D[ref + 1] = math.cos(angle), math.sin(angle)
    return found


# How often the directions of several slips that begin together are found anew, each from those of the others.
ROUNDS = 20


@compiled
def aim_all(I, D):
    """Find the direction of every slip in space of the present statuses; whether each has one."""
    never_inline()
    sizes(I, D, D[L.T], I[L.Y])
    begin = 0
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] != SPACE or not slides(SPACE, I[I[L.STATUS] + unit]):
            continue
        ref = I[L.SLIDE] + 4 * unit
        D[ref + 2] = I[I[L.STILL] + unit]
        set_ending(I, D, unit)
        if I[I[L.STILL] + unit] == 0:
            aim(I, D, unit, I[L.W_V], 0.0)
        elif I[I[L.ENDED] + unit] < 0:
            begin += 1
            tie_along(I, D, unit, 0.0, 0.0)
            continue
        tie_along(I, D, unit, D[ref], D[ref + 1])
    for _ in range(min(begin, 1) * (1 if begin < 2 else ROUNDS)):
        apart = 0.0
        for unit in range(I[L.NUNIT]):
            if I[I[L.KIND] + unit] != SPACE or not slides(SPACE, I[I[L.STATUS] + unit]):
                continue
            ref = I[L.SLIDE] + 4 * unit
            if I[I[L.STILL] + unit] == 0 or I[I[L.ENDED] + unit] >= 0:
                continue
            along, side = D[ref], D[ref + 1]
            if not _aim_beginning(I, D, unit):
                return False
            apart = max(apart, abs(D[ref] - along), abs(D[ref + 1] - side))
        if apart <= 1e-12:
            break
    return True


@compiled
def _keep(I, block):
    for unit in range(I[L.NUNIT]):
        I[block + unit] = I[I[L.STATUS] + unit]


@compiled
def _motion(I, D, out):
    """Accelerations under the present contact forces; returns the size of what they are made of."""
    never_inline()
    nv, size = I[L.NV], 0.0
    for i in range(nv):
        total, parts = D[I[L.W_ACC] + i], abs(D[I[L.W_ACC] + i])
        for r in range(I[L.NROW]):
            part = D[I[L.LAM] + r] * D[I[L.W_MJ] + r * nv + i]
            total += part
            parts += abs(part)
        D[out + i] = total
        size = max(size, parts)
    return size


@compiled
def _same_motion(I, D):
    """Whether the present statuses move as the first consistent ones do: then only names and forces differ.

    So it is where contacts say the same thing twice, as a joint whose dry friction may stick or
    not while a closed loop holds it.
    """
    never_inline()
    size = _motion(I, D, I[L.YD])
    apart = 0.0
    for i in range(I[L.NV]):
        apart = max(apart, abs(D[I[L.YD] + i] - D[I[L.YS] + i]))
    return apart <= TIE * size


@compiled
def _score(I, D):
    """The least margin of the present statuses where it is below zero: ties are better broken by it than by order."""
    never_inline()
    least = 0.0
    for k in range(2 * I[L.NUNIT]):
        least = min(least, D[I[L.MARGIN] + k])
    return least if least < -NOISE else 0.0


@compiled
def _enumerate(I, D, t):
    """Try every combination of candidates; returns how many are consistent and how many undecided."""
    never_inline()
    nunit, pick = I[L.NUNIT], I[L.PICK]
    consistent = undecided = 0
    best = 0.0
    for unit in range(nunit):
        I[pick + unit] = _next_status(I[I[L.CANDIDATES] + unit], -1)
        if I[pick + unit] < 0:
            return 0, 0
    while True:
        for unit in range(nunit):
            I[I[L.STATUS] + unit] = I[pick + unit]
        make_plan(I, D)
        verdict = _judge(I, D, t) if I[L.NSLIDE] == 0 or aim_all(I, D) else REJECTED
        if verdict == CONSISTENT:
            if consistent == 0:
                _keep(I, I[L.BEST])
                _motion(I, D, I[L.YS])
                consistent = 1
            elif not _same_motion(I, D):
                consistent += 1
        elif verdict == UNDECIDED:
            score = _score(I, D)
            if undecided == 0 or score > best:
                _keep(I, I[L.NEUTRAL])
                best = score
            undecided += 1
        unit = nunit - 1
        while unit >= 0:
            following = _next_status(I[I[L.CANDIDATES] + unit], I[pick + unit])
            if following >= 0:
                I[pick + unit] = following
                break
            I[pick + unit] = _next_status(I[I[L.CANDIDATES] + unit], -1)
            unit -= 1
        if unit < 0:
            return consistent, undecided


@compiled
def choose(I, D, t):
    """Set the statuses of the next mode among the candidates, or return a verdict.

    A candidate named by a force guard is tried alone first, then all but the status it ended, then
    all.
    """
    return call_part(I[L.CHOOSE], I, D, t, 0.0, 0, 0, 0)


@compiled
def _gives_way(I):
    """Whether what led here is a contact in space whose friction is exhausted, and that says what others say too."""
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and I[I[L.ENDED] + unit] >= 0 and I[L.REDUNDANT] == 1:
            return True
    return False


def choose_part(I, D, t, h, a, b, c):
    """The part behind `choose`."""
    code = present_terms(I, D, t)
    if code != 0:
        return code
    candidates_of_all(I, D, False)
    consistent = undecided = 0
    for attempt in range(3):
        consistent, undecided = _enumerate(I, D, t)
        # one of several contacts that hold each other gives way in no direction alone: then others do so with it
        if consistent > 0 or (undecided > 0 and not (attempt < 2 and _gives_way(I))):
            break
        if attempt == 1:
            # a guard that only grazed zero ended nothing
            for unit in range(I[L.NUNIT]):
                I[I[L.ENDED] + unit] = -1
        candidates_of_all(I, D, True)
    if consistent > 1:
        return TWO_MODES
    if consistent + undecided == 0:
        return NO_MODE
    chosen = I[L.BEST] if consistent == 1 else I[L.NEUTRAL]
    for unit in range(I[L.NUNIT]):
        I[I[L.STATUS] + unit] = I[chosen + unit]
    make_plan(I, D)
    if I[L.NSLIDE] > 0:
        aim_all(I, D)
    return 0
