"""The law of tables: which hand holds, which table fits the next bar, and the input that leads to the best state.

All inputs that are tried are lanes of one block; so looking ahead costs microseconds.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np

from saltus import contact
from saltus._native import (
    CONTROL,
    Entry,
    bits_of,
    call_control_at,
    compile_entry,
    compiled,
    files_digest,
    floats_at,
    floats_in,
    integers_at,
)
from saltus.contact._grip import CLOSED
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control import _table as T
from saltus.control._table import beyond, interpolated
from saltus.engine import _single as S
from saltus.engine._single import BLOCK, call_move

# In data: how many hands there are (two, or none), their units, how many bars and parameters of a mode; of the look
# ahead: how many inputs, the limit, step length, steps, patience, what a full input costs, what its change and its
# reversal cost, whether the input that a table keeps is taken as it is, and whether two tables are mixed; the delay of
# a release; how near the bar a hand is asked to close. Addresses, as the bits of a number: of what looks at the state,
# of the grid's numbers. Where tables and places of bars begin, and how many tables there are.
HANDS, FIRST, SECOND, BARS, PARAMETERS, INPUTS, LIMIT, LENGTH, STEPS, PATIENCE, EFFORT, CHANGE, KEPT, DELAY = range(14)
NEAR, REVERSAL, BLENDS, LOOK, WHOLE, REAL, TABLES, PLACES, TABLE = range(14, 23)

# Of each hand: the address of its motion and of its parameters. Of each table: the hand that it is for, where its goal
# is from it, addresses of its values and of its inputs.
MOVE, VALUES_OF, HAND = range(3)
FOR, TX, TY, VALUES, ACTIONS, ONE = range(6)

# Where in data the hands begin; tables and places of bars among the parameters follow.
HAND_DATA = TABLE

# Memory: what is seen (both hands' places, both coordinates and rates); what is done (0 rest, 1 release, 2 swing);
# which hands held, since when; the bar that is held; where the hand is, from how many samples; the last input; the
# value that is expected; which table is used (which hand is ahead, while both hold); the sign of the last input that
# was not zero. Then room for a block and for parameters.
X1, Y1, X2, Y2, C0, C1, R0, R1 = range(8)
STATE, HELD_BY, SINCE, HELD, PIVOT_X, PIVOT_Y, PLACED, INPUT, EXPECTED, USED, SIGN = range(8, 19)
ROOM = 19

# Samples over which the place of the hand is averaged, at most.
AVERAGED = 50.0

RESTS, RELEASES, SWINGS = range(3)


@compiled
def _nearest_bar(x, y, p, data):
    best, least = 0, 1e300
    first = int(data[PLACES])
    for k in range(int(data[BARS])):
        dx, dy = x - p[int(data[first + 2 * k])], y - p[int(data[first + 2 * k + 1])]
        if dx * dx + dy * dy < least:
            best, least = k, dx * dx + dy * dy
    return best


@compiled
def _follow(m, hand):
    """Where the hand that holds is, averaged: it does not move."""
    x, y = (m[X1], m[Y1]) if hand == 0 else (m[X2], m[Y2])
    m[PLACED] = min(m[PLACED] + 1.0, AVERAGED)
    m[PIVOT_X] += (x - m[PIVOT_X]) / m[PLACED]
    m[PIVOT_Y] += (y - m[PIVOT_Y]) / m[PLACED]


@compiled
def _tables_for(data, hand, tx, ty):
    """The two tables of a hand whose goals are nearest, the way they are from it, and whether they are mirrored."""
    one, two, near, next_near, side = -1, -1, 1e300, 1e300, 1.0
    for k in range(int(data[TABLES])):
        d = int(data[TABLE]) + ONE * k
        if int(data[d + FOR]) != hand:
            continue
        for mirror in (1.0, -1.0):
            dx, dy = mirror * data[d + TX] - tx, data[d + TY] - ty
            away = math.sqrt(dx * dx + dy * dy)
            if away < near:
                if mirror == side or one < 0:
                    two, next_near = one, near
                else:
                    two, next_near = -1, 1e300
                one, near, side = k, away, mirror
            elif mirror == side and away < next_near:
                two, next_near = k, away
    return one, two, near, next_near, side


@compiled
def _look_ahead(m, data, hand, tx, ty, side, one, two, share):
    """Move a lane on for each input, and take the one that leads to the best state."""
    count, limit, steps = int(data[INPUTS]), data[LIMIT], int(data[STEPS])
    W = floats_in(m, ROOM)
    p = floats_in(m, ROOM + S.ROWS * BLOCK // 2)
    h = HAND_DATA + 1 + HAND * hand
    parameters = floats_at(bits_of(data[h + VALUES_OF]))
    size = int(data[PARAMETERS])
    for k in range(size):
        p[k] = parameters[k]
    if data[HANDS] > 0.0:
        p[size - 3], p[size - 2] = np.float32(side * tx), np.float32(ty)
    for l in range(BLOCK):
        W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l] = np.float32(side * m[C0]), np.float32(side * m[C1])
        W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l] = np.float32(side * m[R0]), np.float32(side * m[R1])
        W[S.U * BLOCK + l] = np.float32(limit * (2.0 * min(l, count - 1) / (count - 1) - 1.0))
        W[S.HIT * BLOCK + l] = np.float32(-1.0)
        W[S.A0 * BLOCK + l] = W[S.A1 * BLOCK + l] = np.float32(0.0)
    whole, real = integers_at(bits_of(data[WHOLE])), floats_at(bits_of(data[REAL]))
    first = int(data[TABLE])
    V = floats_at(bits_of(data[first + ONE * one + VALUES]))
    V2 = floats_at(bits_of(data[first + ONE * max(two, 0) + VALUES]))
    length, patience = data[LENGTH], data[PATIENCE]
    call_move(bits_of(data[h + MOVE]), W, p, np.float32(length), steps)
    later = math.exp(-length * steps / patience)
    best, chosen, expected = -1.0, 0.0, 0.0
    for l in range(count):
        u = float(W[S.U * BLOCK + l])
        met = float(W[S.HIT * BLOCK + l])
        if met >= 0.0:
            value = math.exp(-met / patience) * float(W[S.WORTH * BLOCK + l])
        else:
            q0, q1, v0, v1 = W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l], W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l]
            value = 0.0
            if not beyond(whole, real, v0, v1):
                value = float(interpolated(V, whole, real, q0, q1, v0, v1))
                if two >= 0:
                    value += share * (float(interpolated(V2, whole, real, q0, q1, v0, v1)) - value)
            value *= later
        value *= math.exp(-data[EFFORT] * length * steps * (u / limit) ** 2)
        score = value * (1.0 - data[CHANGE] * abs(u - side * m[INPUT]) / limit)
        if u * side * m[SIGN] < 0.0:
            score *= 1.0 - data[REVERSAL]
        if score > best:
            best, chosen, expected = score, u, value
    m[EXPECTED] = expected
    if chosen != 0.0:
        m[SIGN] = side * math.copysign(1.0, chosen)
    return side * chosen


@compiled
def _kept_input(m, data, side, one):
    """The input that a table keeps for the nearest state."""
    whole, real = integers_at(bits_of(data[WHOLE])), floats_at(bits_of(data[REAL]))
    first = int(data[TABLE])
    U = floats_at(bits_of(data[first + ONE * one + ACTIONS]))
    q0, q1 = np.float32(side * m[C0]), np.float32(side * m[C1])
    v0, v1 = np.float32(side * m[R0]), np.float32(side * m[R1])
    return side * float(U[T.nearest(whole, real, q0, q1, v0, v1)])


@compiled
def _choose(m, data, hand, tx, ty):
    """The input in a swing about a hand; the goal is at a place from it."""
    one, two, near, next_near, side = _tables_for(data, hand, tx, ty)
    if one < 0:
        return 0.0
    m[USED] = one
    if data[KEPT] > 0.5:
        return _kept_input(m, data, side, one)
    share = 0.0
    if data[BLENDS] < 0.5 or two < 0 or near == 0.0:
        two = -1
    else:
        share = near / (near + next_near)
    return _look_ahead(m, data, hand, tx, ty, side, one, two, share)


@compiled
def _both_hold(t, m, p, data, request):
    if m[HELD_BY] != 3.0:
        one, two = _nearest_bar(m[X1], m[Y1], p, data), _nearest_bar(m[X2], m[Y2], p, data)
        m[HELD_BY], m[SINCE], m[HELD], m[PLACED] = 3.0, t, max(one, two), 0.0
        m[USED] = 1.0 if two > one else 0.0
    _follow(m, int(m[USED]))
    if m[HELD] >= data[BARS] - 1.0:
        m[STATE] = RESTS
        return
    m[STATE] = RELEASES
    if t - m[SINCE] >= data[DELAY] - 1e-9:
        request[int(data[FIRST if m[USED] == 1.0 else SECOND])] = RELEASE


def law(t, x, status, memory, p, data, piece, u, request):
    m = memory
    call_control_at(bits_of(data[LOOK]), t, x, status, memory, p, data, piece, u, request)
    u[0] = 0.0
    if data[HANDS] == 0.0:
        u[0] = m[INPUT] = _choose(m, data, 0, 0.0, 0.0)
        return 0
    first, second = int(data[FIRST]), int(data[SECOND])
    request[first] = request[second] = 0
    one, two = status[first] == CLOSED, status[second] == CLOSED
    m[STATE] = RESTS
    if one and two:
        _both_hold(t, m, p, data, request)
        m[INPUT] = 0.0
        return 0
    if not one and not two:
        m[HELD_BY], m[INPUT] = 0.0, 0.0
        return 0
    hand = 0 if one else 1
    if m[HELD_BY] != hand + 1.0:
        if m[HELD_BY] != 3.0:
            m[PLACED] = 0.0
            m[HELD] = _nearest_bar(m[X1] if one else m[X2], m[Y1] if one else m[Y2], p, data)
        m[HELD_BY], m[INPUT], m[SIGN] = hand + 1.0, 0.0, 0.0
    _follow(m, hand)
    ahead = int(m[HELD]) + 1
    if ahead >= int(data[BARS]):
        return 0
    place = int(data[PLACES]) + 2 * ahead
    bx, by = p[int(data[place])], p[int(data[place + 1])]
    m[STATE] = SWINGS
    u[0] = m[INPUT] = _choose(m, data, hand, bx - m[PIVOT_X], by - m[PIVOT_Y])
    fx, fy = (m[X2], m[Y2]) if one else (m[X1], m[Y1])
    free = second if one else first
    request[free] = CLOSE if math.hypot(fx - bx, fy - by) < data[NEAR] else RELEASE
    return 0


@lru_cache(maxsize=1)
def entry() -> Entry:
    """The law as machine code, the same for all robots."""
    key = files_digest([Path(__file__).parent, Path(contact.__file__).parent]) + Path(S.__file__).read_text()
    return compile_entry(law, CONTROL, "control-policy", key)
