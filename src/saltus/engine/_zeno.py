"""Infinitely many impacts in finite time: where what is left of them takes no time, the units involved close."""

import math

from saltus._native import call_kernel, compiled, never_inline
from saltus.contact._behaviour import on_ground
from saltus.contact._unit import GRIP
from saltus.engine import _layout as L
from saltus.engine._guard_values import EPSILON, floor_of, sizes
from saltus.engine._impulses import count_parts, keep_grips

# All impacts to come together may last this share of the time, or of a second.
NO_TIME = 1e-13

# Where other contacts rest, what keeps them there hides short flights: so many times as long.
AMONG_OTHERS = 1000.0

# How many of its last impacts a unit remembers, and after how many of them at most its cycle begins anew.
REMEMBERED, LONGEST_CYCLE = 10, 3

# A bounce no higher than so many times what a guard is known to cannot be followed.
UNSEEN = 4.0

# So many impacts of the whole robot, each of what fell no farther than so many times what a gap is known to, are
# a sequence of their own.
MANY, LOW = 64, 100.0

# A sequence that becomes shorter by less than this share does not end.
SHRINKS = 0.99

# A unit is carried along by an impact elsewhere if it moves no more than so many times as fast.
CARRIED = 100.0


@compiled
def forget_impacts(I, D):
    """At the start of a run no unit has struck anything."""
    for k in range(REMEMBERED * I[L.NUNIT]):
        D[I[L.STRUCK_AT] + k] = math.nan
    for k in range(MANY + 1):
        D[I[L.LOW_IMPACTS] + k] = math.nan


@compiled
def _remember(I, D, t):
    """Note the time at which units strike."""
    for unit in range(I[L.NUNIT]):
        if I[I[L.STRIKE] + unit] != 0:
            times = I[L.STRUCK_AT] + REMEMBERED * unit
            for k in range(REMEMBERED - 1, 0, -1):
                D[times + k] = D[times + k - 1]
            D[times] = t


@compiled
def _remainder(D, times, cycle):
    """How long all impacts to come of a unit last together, by its last three cycles, which shrink geometrically.

    Not a number or infinite where they do not.
    """
    now = D[times] - D[times + cycle]
    before = D[times + cycle] - D[times + 2 * cycle]
    first = D[times + 2 * cycle] - D[times + 3 * cycle]
    ratio = max(now / before, before / first)
    return now * ratio / (1.0 - ratio) if 0.0 < ratio < 1.0 else math.inf


@compiled
def _shrinks(D, times):
    """Whether the times between the impacts of a unit become shorter; also while too few of them are known."""
    now, before = D[times] - D[times + 3], D[times + 3] - D[times + 6]
    return not (now >= SHRINKS * before and before >= SHRINKS * (D[times + 6] - D[times + 9]))


@compiled
def _largest_place(I, D):
    """How large the numbers are of which the positions of all rows are made."""
    largest = 0.0
    for r in range(I[L.NROW]):
        largest = max(largest, D[I[L.SIZE] + r])
    return largest


@compiled
def _approach(I, D, unit, block):
    """Velocity of a unit away from what it meets: the ground, or the stop that it strikes or rests at."""
    row = I[I[L.ROW] + unit]
    if on_ground(I[I[L.KIND] + unit]):
        return D[block + row + 1]
    upper = I[I[L.STRIKE] + unit] == 2 or (I[I[L.STRIKE] + unit] == 0 and I[I[L.TOUCHED] + unit] == 2)
    return -D[block + row] if upper else D[block + row]


@compiled
def _normal(I, unit):
    """The row along which a unit meets something."""
    return I[I[L.ROW] + unit] + (1 if on_ground(I[I[L.KIND] + unit]) else 0)


@compiled
def _loses(I, D):
    """Whether the impact takes energy, by more than rounding."""
    lost = size = 0.0
    for r in range(I[L.NROW]):
        part = D[I[L.IMPULSE] + r] * (D[I[L.BEFORE] + r] + D[I[L.W_V] + r])
        lost -= part
        size += abs(D[I[L.IMPULSE] + r]) * (abs(D[I[L.BEFORE] + r]) + abs(D[I[L.W_V] + r]))
    return lost > 1e-9 * size


@compiled
def _last_of_chain(I, D, t, unit):
    """Whether a unit that strikes does so for the last time: all to come takes no time, or cannot be followed.

    By when it struck before, whatever came between: impacts of other units, slips that turned.
    """
    times, speed = I[L.STRUCK_AT] + REMEMBERED * unit, -_approach(I, D, unit, I[L.BEFORE])
    since, shortest = D[times] - D[times + 1], _shortest(I, t)
    if not since > 0.0:
        return False
    # it has hardly been farther away than where its guard is told from zero
    height = 0.25 * speed * since
    if height <= UNSEEN * floor_of(I, D, L.SLOTS * unit, since):
        return True
    if height <= UNSEEN * 16.0 * EPSILON * _largest_place(I, D) and not _shrinks(D, times):
        return True
    for cycle in range(1, LONGEST_CYCLE + 1):
        if D[times] - D[times + cycle] <= 1e4 * NO_TIME * max(1.0, abs(t)) and _remainder(D, times, cycle) <= shortest:
            return True
    return False


@compiled
def _last_by_itself(I, D, t, unit):
    """Whether the bounces of a unit alone, or its rocking where it rested, take no time or cannot be followed.

    They last 2 v / a (1 + r + r^2 + ...), with v the speed and a the fall after this one and r
    the ratio of speeds after and before.
    """
    row, strikes = _normal(I, unit), I[I[L.STRIKE] + unit] != 0
    before, v = _approach(I, D, unit, I[L.BEFORE]), _approach(I, D, unit, I[L.W_V])
    fall = -_approach(I, D, unit, I[L.REDUCED_B])
    if not strikes and I[I[L.TOUCHED] + unit] == 0:
        if not on_ground(I[I[L.KIND] + unit]) or before != 0.0 or D[I[L.GAP] + row] > 1e-9:
            return False  # it was in the air
    if strikes and not before < 0.0:
        return False  # others drew it back
    ratio = -v / before if strikes else 0.0
    if not (fall > 0.0 and 0.0 <= ratio < 1.0):
        return False
    soon = strikes and 2.0 * v <= fall * (1.0 - ratio) * NO_TIME * max(1.0, abs(t))
    # a bounce that loses less height than the rounding of the gap cannot be followed
    share = max(1.0 - ratio * ratio, 0.01)
    return soon or share * v * v <= 2.0 * fall * 8.0 * EPSILON * D[I[L.SIZE] + row]


@compiled
def _carried(I, D, t, unit, speed, since):
    """Whether a unit moves as little as one whose impacts have come to their end: it was lifted, or is hardly away."""
    row, v = _normal(I, unit), _approach(I, D, unit, I[L.W_V])
    if I[I[L.STRIKE] + unit] != 0 or I[I[L.TOUCHED] + unit] != 0:
        return abs(v) <= CARRIED * speed
    if not D[I[L.STRUCK_AT] + REMEMBERED * unit] >= t - CARRIED * since:
        return False
    return (
        abs(v) <= CARRIED * speed and _away(I, D, unit) <= CARRIED * speed * since + 16.0 * EPSILON * D[I[L.SIZE] + row]
    )


@compiled
def _lowest_speed(I, D, unit):
    """How fast a unit is after a fall through a few roundings of places: speeds below it tell little of a motion."""
    row = _normal(I, unit)
    fall = abs(D[I[L.W_B] + row])
    for r in range(I[L.NROW]):
        fall += abs(D[I[L.W_A] + row * I[L.NROW] + r] * D[I[L.LAM] + r])
    return math.sqrt(2.0 * fall * LOW * 16.0 * EPSILON * _largest_place(I, D))


@compiled
def _remember_low(I, D, t):
    """Note when an impact was low; one that is not begins the sequence anew."""
    times, low = I[L.LOW_IMPACTS], True
    for unit in range(I[L.NUNIT]):
        if I[I[L.STRIKE] + unit] != 0 and I[I[L.KIND] + unit] != GRIP:
            low = low and -_approach(I, D, unit, I[L.BEFORE]) <= _lowest_speed(I, D, unit)
    for k in range(MANY, 0, -1):
        D[times + k] = D[times + k - 1] if low else math.nan
    D[times] = t if low else math.nan


@compiled
def _low_for_ever(D, times, shortest):
    """Whether the last low impacts of the whole robot, whatever their order, are fed by rounding, or soon over."""
    now, before = D[times] - D[times + MANY // 2], D[times + MANY // 2] - D[times + MANY]
    ratio = now / before
    if not 0.0 < ratio < math.inf:
        return False
    return ratio >= SHRINKS or now * ratio / (1.0 - ratio) <= shortest


@compiled
def _shortest(I, t):
    """All impacts to come that last no longer than this take no time."""
    return NO_TIME * max(1.0, abs(t)) * (AMONG_OTHERS if count_parts(I) > 1 else 1.0)


@compiled
def _lies_low(I, D, unit):
    """Whether a unit strikes, was lifted or is hardly away, at a speed that tells little."""
    if abs(_approach(I, D, unit, I[L.W_V])) > _lowest_speed(I, D, unit):
        return False
    return (
        I[I[L.STRIKE] + unit] != 0
        or I[I[L.TOUCHED] + unit] != 0
        or _away(I, D, unit) <= LOW * 16.0 * EPSILON * _largest_place(I, D)
    )


@compiled
def _away(I, D, unit):
    """How far a unit is from what it meets: from the ground, or from the nearer stop."""
    gap, c = D[I[L.GAP] + _normal(I, unit)], I[L.COEF] + L.COEFFICIENTS * unit
    return abs(gap) if on_ground(I[I[L.KIND] + unit]) else min(abs(gap - D[c + 1]), abs(D[c + 2] - gap))


@compiled
def end_of_bounces(I, D, t, y):
    """Mark the units that close (CLOSING), after an impact has been applied; whether there are any.

    Sequences end by one unit alone, or by several that strike in turn: a rocking body, a ball that bounces while a
    joint hits its stop. Each remembers when it struck.
    """
    never_inline()
    _remember(I, D, t)
    if call_kernel(I[L.TERMS], t, D, y, I[L.U], I[L.P], I[L.W]) != 0:
        return False
    sizes(I, D, t, y)
    keep_grips(I, D)
    _remember_low(I, D, t)
    ended, speed, since = False, 0.0, 0.0
    loses = _loses(I, D)
    endless = loses and _low_for_ever(D, I[L.LOW_IMPACTS], _shortest(I, t))
    for unit in range(I[L.NUNIT]):
        if I[I[L.KIND] + unit] == GRIP:
            continue
        if I[I[L.STRIKE] + unit] != 0 and loses and _last_of_chain(I, D, t, unit):
            times = I[L.STRUCK_AT] + REMEMBERED * unit
            speed = max(speed, -_approach(I, D, unit, I[L.BEFORE]))
            since = max(since, D[times] - D[times + 1])
        # what rests already is held where it rests: a slip that cannot be told from rounding ends too
        lies = endless and _lies_low(I, D, unit)
        if lies or (I[I[L.TOUCH] + unit] == 0 and _last_by_itself(I, D, t, unit)):
            I[I[L.CLOSING] + unit] = 1
            ended = True
    if speed > 0.0:
        for unit in range(I[L.NUNIT]):
            if I[I[L.KIND] + unit] != GRIP and _carried(I, D, t, unit, speed, since):
                if I[I[L.TOUCH] + unit] == 0:
                    I[I[L.CLOSING] + unit] = 1
                    ended = True
    return ended
