"""The impulses of an impact: each unit answers by its own law to those of all others, until all agree."""

import math

from saltus._native import call_law, compiled, never_inline
from saltus.contact._behaviour import on_ground, row_count
from saltus.contact._unit import GRIP, JOINT, SPACE
from saltus.engine import _layout as L
from saltus.engine._forces import eliminate
from saltus.engine._status import NO_IMPULSE

# A row that grips leave less than this share of its mobility cannot move.
IMMOBILE = 1e-12

# A row of which others leave less than this share is redundant.
REDUNDANT = 1e-9

# Sweeps over all units after which the equations are first solved together; then twice as many, and so on.
FIRST_TOGETHER = 16

# Sweeps at most; and how many steps of Newton's method there are then, which need very few once the pieces of the
# laws are the right ones.
MOST_SWEEPS, MOST_NEWTON = 200_000, 12

# Turns that have not settled after so many sweeps come to no end.
LONG = 1000

# Turns that come to no end have settled all the same if the last changed no more than this share.
SETTLED = 1e-9

# Impulses larger than this, as a multiple of those that all units ask for alone, are none.
BEYOND = 1e9


@compiled
def takes_part(I, unit):
    """Whether a unit gives an impulse of its own: it strikes or rests against something, and no stop holds it."""
    if I[I[L.KIND] + unit] == GRIP or I[I[L.HELD] + unit] == 1:
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
def keep_grips(I, D):
    """Reduce the Delassus matrix, velocities and accelerations of all rows by those of grips, and of stops that hold.

    What is left is how the other rows answer to impulses while these hold. Rows that say the
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
        elif I[I[L.HELD] + unit] == 1:
            I[I[L.BILATERAL] + I[I[L.ROW] + unit]] = 1
            held += 1
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

    A unit at rest on the ground, or one that ends a sequence of bounces, answers by the plastic law. Negative where
    there is no solution.
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
    if I[I[L.TOUCH] + unit] == 1 or I[I[L.CLOSING] + unit] == 1:
        law = I[L.PLASTIC_IN_SPACE] if I[I[L.KIND] + unit] == SPACE else I[L.PLASTIC]
    if call_law(law, D, x, free, before, I[L.COEF] + L.COEFFICIENTS * unit, out, info) != 0:
        return -1.0
    change = 0.0
    for i in range(n):
        change = max(change, abs(D[out + i] - D[impulse + row + i]))
        D[impulse + row + i] = D[out + i]
    return change


@compiled
def _together(I, D, share, most):
    """Impulses of contacts in space, found without an order: all answer to the same impulses, and give a share of it.

    Several of them may share an impact in many ways; solved in turn, the first would take the most, and what is
    symmetric would not stay so. What this leaves is for the turns: it ends before it is exact.
    """
    never_inline()
    impulse, answer = I[L.IMPULSE], I[L.LAMD]
    for _ in range(most):
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
def _defect(I, D):
    """Let all units answer to the present impulses, to ANSWER; returns the largest change that they ask for.

    Negative where a law has no solution.
    """
    never_inline()
    impulse, answer, largest = I[L.IMPULSE], I[L.ANSWER], 0.0
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            row, count = I[I[L.ROW] + unit], row_count(I[I[L.KIND] + unit])
            for r in range(row, row + count):
                D[answer + r] = D[impulse + r]
            moved = _solve_unit(I, D, unit, True)
            for r in range(row, row + count):
                D[answer + r], D[impulse + r] = D[impulse + r], D[answer + r]
            if not moved >= 0.0:
                return -1.0
            largest = max(largest, moved)
    return largest


@compiled
def _largest_impulse(I, D):
    largest = 0.0
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            row = I[I[L.ROW] + unit]
            for r in range(row, row + row_count(I[I[L.KIND] + unit])):
                largest = max(largest, abs(D[I[L.IMPULSE] + r]))
    return largest


@compiled
def _newton_step(I, D):
    """Solve for the impulses to which all laws, straightened at the present ones, answer with themselves.

    ANSWER holds what they answer now. How an answer changes with the velocity that a unit is left with is seen by a
    small change of that velocity: laws are straight in it, piece by piece, or nearly so.
    """
    never_inline()
    nr, impulse, answer, S, rows, n = I[L.NROW], I[L.IMPULSE], I[L.ANSWER], I[L.SOLVE], I[L.PICKED], 0
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            for r in range(row_count(I[I[L.KIND] + unit])):
                I[rows + n] = I[I[L.ROW] + unit] + r
                n += 1
    w = n + 1
    for i in range(n):
        for j in range(n):
            D[S + i * w + j] = 1.0 if i == j else 0.0
        D[S + i * w + n] = D[answer + I[rows + i]] - D[impulse + I[rows + i]]
    first = 0
    for unit in range(I[L.NUNIT]):
        if not takes_part(I, unit):
            continue
        row, count, size = I[I[L.ROW] + unit], row_count(I[I[L.KIND] + unit]), 0.0
        for r in range(row, row + count):
            size = max(size, max(abs(_free_velocity(I, D, unit, r, True)), abs(D[I[L.REDUCED_V] + r])))
            D[I[L.LAMS] + r] = D[impulse + r]
        step = 1e-6 * size
        for c in range(row, row + count):
            if step == 0.0:
                continue
            place, was = I[L.REDUCED_V] + c, D[I[L.REDUCED_V] + c]
            D[place] = was + step
            change = D[place] - was
            moved = _solve_unit(I, D, unit, True)
            D[place] = was
            for r in range(row, row + count):
                slope = (D[impulse + r] - D[answer + r]) / change
                D[impulse + r] = D[I[L.LAMS] + r]
                for j in range(n):
                    other = I[rows + j]
                    if other < row or other >= row + count:
                        D[S + (first + r - row) * w + j] -= slope * D[I[L.REDUCED] + c * nr + other]
            if not moved >= 0.0:
                return False
        first += count
    redundant = I[L.REDUNDANT]
    solved = eliminate(I, D, n, False)
    I[L.REDUNDANT] = redundant
    if solved:
        for i in range(n):
            D[impulse + I[rows + i]] += D[S + i * w + n]
    return solved


@compiled
def _all_at_once(I, D):
    """Solve for the impulses of all units together, from the present ones; whether they settled.

    Newton's method. Where contacts push each other, sweeps come nearer by a small share only; this ends at rounding.
    The present impulses stay where it does not settle.
    """
    never_inline()
    impulse, kept, settled = I[L.IMPULSE], I[L.LAMD], False
    for r in range(I[L.NROW]):
        D[kept + r] = D[impulse + r]
    last = math.inf
    for _ in range(MOST_NEWTON):
        defect = _defect(I, D)
        size = _largest_impulse(I, D)
        if not 0.0 <= defect < math.inf:
            settled = False
            break
        if defect == 0.0:
            settled = True
            break
        if settled and not defect < 0.5 * last:
            break  # rounding
        settled, last = defect <= 1e-13 * size or _defect_of_velocity(I, D) <= 1e-15, defect
        if not _newton_step(I, D):
            break
    if not settled:
        for r in range(I[L.NROW]):
            D[impulse + r] = D[kept + r]
    return settled


@compiled
def _change_of_velocity(I, D, other):
    """How much velocities differ between the present and other impulses, as a share of those before.

    Where contacts nearly say the same thing twice, impulses may go on changing when velocities do not.
    """
    never_inline()
    nr, moved, largest = I[L.NROW], 0.0, 0.0
    for r in range(nr):
        if I[I[L.BILATERAL] + r] != 0:
            continue
        change = 0.0
        for s in range(nr):
            if I[I[L.BILATERAL] + s] == 0:
                change += D[I[L.REDUCED] + r * nr + s] * (D[I[L.IMPULSE] + s] - D[other + s])
        moved = max(moved, abs(change))
        largest = max(largest, abs(D[I[L.REDUCED_V] + r]))
    return moved / largest if largest > 0.0 else 0.0


@compiled
def _defect_of_velocity(I, D):
    """How far velocities are from what the laws ask for, after `_defect`, as a share of what they are the sum of."""
    nr, parts, largest = I[L.NROW], 0.0, 0.0
    for r in range(I[L.NROW]):
        D[I[L.LAMS] + r] = D[I[L.IMPULSE] + r]
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            row = I[I[L.ROW] + unit]
            for r in range(row, row + row_count(I[I[L.KIND] + unit])):
                D[I[L.LAMS] + r] = D[I[L.ANSWER] + r]
    for r in range(nr):
        if I[I[L.BILATERAL] + r] == 0:
            size = abs(D[I[L.REDUCED_V] + r])
            largest = max(largest, size)
            for s in range(nr):
                if I[I[L.BILATERAL] + s] == 0:
                    size += abs(D[I[L.REDUCED] + r * nr + s] * D[I[L.IMPULSE] + s])
            parts = max(parts, size)
    return _change_of_velocity(I, D, I[L.LAMS]) * largest / parts if parts > 0.0 else 0.0


@compiled
def _sweep(I, D):
    """Ask all units in turn for their impulses; returns the largest change of an impulse, and the largest impulse.

    The change is negative where a law has no solution.
    """
    change = largest = 0.0
    for r in range(I[L.NROW]):
        D[I[L.LAMD] + r] = D[I[L.IMPULSE] + r]
    several = count_parts(I) > 1
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            moved = _solve_unit(I, D, unit, several)
            if not moved >= 0.0:
                return -1.0, 0.0
            change = max(change, moved)
            row = I[I[L.ROW] + unit]
            normal = row + 1 if on_ground(I[I[L.KIND] + unit]) else row
            largest = max(largest, abs(D[I[L.IMPULSE] + normal]))
    return change, largest


@compiled
def _independent(I, D):
    """Whether the rows of all units that take part say different things, so that only one set of impulses stops them.

    By how much of each row's mobility those before it leave (Gauss); rows that grips hold say nothing.
    """
    never_inline()
    nr, S, n, R = I[L.NROW], I[L.SOLVE], 0, I[L.REDUCED]
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            for r in range(I[I[L.ROW] + unit], I[I[L.ROW] + unit] + row_count(I[I[L.KIND] + unit])):
                if D[R + r * nr + r] > IMMOBILE * D[I[L.W_A] + r * nr + r]:
                    I[I[L.PICKED] + n] = r
                    n += 1
    for i in range(n):
        for j in range(n):
            D[S + i * n + j] = D[R + I[I[L.PICKED] + i] * nr + I[I[L.PICKED] + j]]
    for k in range(n):
        row = I[I[L.PICKED] + k]
        if not D[S + k * n + k] > REDUNDANT * D[R + row * nr + row]:
            return False
        for i in range(k + 1, n):
            factor = D[S + i * n + k] / D[S + k * n + k]
            for j in range(k + 1, n):
                D[S + i * n + j] -= factor * D[S + k * n + j]
    return True


@compiled
def _in_turn(I, D, most):
    """Ask all units in turn until their impulses settle; whether they did."""
    never_inline()
    several, first, change, largest = count_parts(I) > 1, 0.0, 0.0, 0.0
    together = FIRST_TOGETHER if several else -1
    for sweep in range(most):
        change, largest = _sweep(I, D)
        if change < 0.0:
            return False
        if not several or change <= 1e-15 * largest:
            return True
        if sweep > 100 and _change_of_velocity(I, D, I[L.LAMD]) <= 1e-14:
            return True
        first = largest if sweep == 0 else first
        if not largest <= BEYOND * first:
            return False
        if sweep + 1 == together:
            together *= 2
            # redundant rows have many solutions: turns choose, unless they come to no end
            if (sweep > LONG or _independent(I, D)) and _settles(I, D):
                return True
    return change <= SETTLED * largest or _change_of_velocity(I, D, I[L.LAMD]) <= SETTLED


@compiled
def _from_other_friction(I, D):
    """Look for impulses from those that there would be without friction, or with friction without limit.

    Turns may go round in a circle, or come to where a contact that slides alone has no impulse. What is found
    is what the laws ask for with friction as it is.
    """
    never_inline()
    for attempt in range(3):
        for r in range(I[L.NROW]):
            if I[I[L.BILATERAL] + r] == 0:
                D[I[L.IMPULSE] + r] = 0.0
        for unit in range(I[L.NUNIT]):
            place = I[L.COEF] + L.COEFFICIENTS * unit
            D[I[L.MARGIN] + unit] = D[place]
            if attempt > 0 and on_ground(I[I[L.KIND] + unit]):
                D[place] = 0.0 if attempt == 1 else math.inf
        _in_turn(I, D, FIRST_TOGETHER // 2)
        for unit in range(I[L.NUNIT]):
            D[I[L.COEF] + L.COEFFICIENTS * unit] = D[I[L.MARGIN] + unit]
        for _ in range(FIRST_TOGETHER):
            if _settles(I, D):
                return True
            _together(I, D, 0.5 / count_parts(I), 5)
    return False


@compiled
def _settles(I, D):
    """Whether all laws agree on impulses near the present ones, which are then the present ones."""
    if not _all_at_once(I, D) or not _sweep(I, D)[0] >= 0.0 or not _defect(I, D) >= 0.0:
        return False
    return _defect_of_velocity(I, D) <= 1e-12


@compiled
def find_impulses(I, D):
    """Find the impulses of all units that take part, and how far they miss the laws, as a share of velocities.

    Stops bear their joints first, so that the laws of contacts see how the robot moves while they do. A stop that
    would pull is asked for its impulse in turn with the contacts.
    """
    never_inline()
    redundant, code, again = I[L.REDUNDANT], 0, _hold(I)
    if not again:
        return _agree(I, D)
    while again:
        keep_grips(I, D)
        for r in range(I[L.NROW]):
            D[I[L.IMPULSE] + r] = 0.0
        code = _agree(I, D)
        again = _let_go(I, D, code != 0)
    for unit in range(I[L.NUNIT]):
        I[I[L.HELD] + unit] = 0
    I[L.REDUNDANT] = redundant
    return code


@compiled
def _hold(I):
    """Let the stops of all joints that take part hold them; whether there are any, and contacts beside them."""
    contacts = joints = 0
    for unit in range(I[L.NUNIT]):
        if takes_part(I, unit):
            joint = I[I[L.KIND] + unit] == JOINT
            joints, contacts = joints + (1 if joint else 0), contacts + (0 if joint else 1)
    for unit in range(I[L.NUNIT]):
        if contacts > 0 and I[I[L.KIND] + unit] == JOINT and takes_part(I, unit):
            I[I[L.HELD] + unit] = 1
    return contacts > 0 and joints > 0


@compiled
def _let_go(I, D, failed):
    """Hold no more what a stop would pull at, or nothing where impulses were not found; whether any is let go."""
    found = False
    for unit in range(I[L.NUNIT]):
        if I[I[L.HELD] + unit] == 1:
            info, given = I[L.LAW_OUT] + 3 + 3 * unit, D[I[L.IMPULSE] + I[I[L.ROW] + unit]]
            D[info] = D[info + 1] = 1.0
            D[info + 2] = math.nan
            upper = I[I[L.TOUCH] + unit] == 2 or I[I[L.STRIKE] + unit] == 2
            if failed or (given > 0.0 if upper else given < 0.0):
                I[I[L.HELD] + unit] = 0
                found = True
    return found


@compiled
def _agree(I, D):
    """Let the units that take part agree on impulses, those held by grips and stops follow, and note what is missed."""
    never_inline()
    taking_part = count_parts(I)
    in_space = 0
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == SPACE and takes_part(I, unit):
            in_space += 1
    if in_space > 1:
        _together(I, D, 1.0 / taking_part, 1000)
    if not _in_turn(I, D, MOST_SWEEPS) and (
        taking_part < 2 or not _independent(I, D) or not _from_other_friction(I, D)
    ):
        return NO_IMPULSE
    D[I[L.EVENT] + L.E_MISSED] = 0.0
    if taking_part > 1:
        missed = _defect_of_velocity(I, D) if _defect(I, D) >= 0.0 else math.inf
        # where rows are redundant, turns end wherever they no longer change much: that is not judged here
        D[I[L.EVENT] + L.E_MISSED] = missed if missed <= 1e-12 or _independent(I, D) else 0.0
    _answer_of_grips(I, D)
    return 0
