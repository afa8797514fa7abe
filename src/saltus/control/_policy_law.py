"""The law of tables: which hand holds, which table fits the next bar, and the input that leads to the best state.

All inputs that are tried are lanes of one block; so looking ahead costs microseconds.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from saltus._native import (
    CONTROL,
    Entry,
    bits_of,
    call_control_at,
    compile_entry,
    compiled,
    floats_at,
    floats_in,
    integers_at,
)
from saltus.contact._grip import CLOSED
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control import _grid as T
from saltus.control._grid import beyond, interpolated
from saltus.engine import _single as S
from saltus.engine._single import BLOCK, call_move

# In data: the units of both hands; or of what holds and -1, or -1 twice; how many bars there are. Of the look ahead:
# how many inputs, and how many may follow each; the limit, step length, steps, patience, what a full input costs, what
# its change and its reversal cost; whether the input that a table keeps is taken as it is, whether two tables are
# mixed, and whether each serves the other side too; the delay of a release; how near the bar a hand is asked to close.
# How many values of a table lie before those after a positive input, or zero if there are no others. Addresses, as the
# bits of a number: of what looks at the state, of the grid's numbers. Where tables and places of bars begin, and how
# many tables there are.
FIRST, SECOND, BARS, INPUTS, LIMIT, LENGTH, STEPS, PATIENCE, EFFORT, CHANGE, KEPT, DELAY = range(12)
NEAR, REVERSAL, BLENDS, MIRRORS, OTHER, THEN, LOOK, WHOLE, REAL, TABLES, PLACES, TABLE = range(12, 24)

# Of each hand: the address of its motion and of its parameters, and how many these are. Of each table: the hand that it
# is for, where its goal is from it, addresses of its values and of its inputs.
MOVE, VALUES_OF, PARAMETERS, HAND = range(4)
FOR, TX, TY, VALUES, ACTIONS, ONE = range(6)

# Row of a block: when the goal was met by the first of two inputs. It is that of costs, which are not asked for here.
MET = S.COST

# Where in data the hands begin; tables and places of bars among the parameters follow.
HAND_DATA = TABLE

# Memory: what is seen (both hands' places, both coordinates and rates); what is done (0 rest, 1 release, 2 swing);
# which hands held, since when; the bar that is held; where the hand is, from how many samples; the last input; which
# table is used (which hand is ahead, while both hold); the sign of the last input that
# was not zero; when it last moved or was at the goal, until when it is kicked and by which input. Then room for a block
# and for parameters.
X1, Y1, X2, Y2, C0, C1, R0, R1 = range(8)
STATE, HELD_BY, SINCE, HELD, PIVOT_X, PIVOT_Y, PLACED, INPUT, USED, SIGN = range(8, 18)
MOVED, KICKED, KICK, ROOM = range(18, 22)

# What has not moved for so long, s, is kicked for so long, s: values between states can be largest where it rests,
# though nothing comes of it. It moves if a rate is more than this share of its axis.
STALL, KICKS, SLOW = 0.5, 0.2, 0.01

# Samples over which the place of the hand is averaged, at most.
AVERAGED = 50.0

RESTS, RELEASES, SWINGS = range(3)

# Grips that are closed and ground points that stick have the same number.
HOLDS = CLOSED


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
            if mirror < 0.0 and data[MIRRORS] < 0.5:
                continue
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
def _worth(V, other, sign, whole, real, q0, q1, v0, v1):
    """The value of a state after an input of some sign; if there was none yet, of the better one."""
    value = interpolated(floats_at(V + (4 * other if sign > 0.0 else 0)), whole, real, q0, q1, v0, v1)
    if other > 0 and sign == 0.0:
        value = max(value, interpolated(floats_at(V + 4 * other), whole, real, q0, q1, v0, v1))
    return float(value)


@compiled
def _moves(m, data):
    """Whether one of the rates is more than a small share of its axis."""
    whole, real = integers_at(bits_of(data[WHOLE])), floats_at(bits_of(data[REAL]))
    first, second = (whole[2] - 1) / real[T.PER_UNIT + 2], (whole[3] - 1) / real[T.PER_UNIT + 3]
    return abs(m[R0]) > SLOW * first or abs(m[R1]) > SLOW * second


@compiled
def _unless_stalled(t, m, data, u):
    """The input, or a kick away from it where the robot has stalled on its way."""
    if t < m[KICKED] - 1e-9:
        return m[KICK]
    if _moves(m, data):
        m[MOVED] = t
    elif t - m[MOVED] > STALL:
        m[MOVED] = m[KICKED] = t + KICKS
        # away from what holds it there; else to the other side than before
        m[KICK] = -math.copysign(data[LIMIT], u if u != 0.0 else m[KICK])
        return m[KICK]
    return u


@compiled
def _begin(t, m):
    """A swing, or another mode, begins."""
    m[INPUT], m[SIGN], m[MOVED], m[KICKED] = 0.0, 0.0, t, t


@compiled
def _fill(m, data, side):
    """A lane of the block for each pair of inputs: one for now, one of three for later."""
    count, then = int(data[INPUTS]), int(data[THEN])
    W = floats_in(m, ROOM)
    for l in range(BLOCK):
        W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l] = np.float32(side * m[C0]), np.float32(side * m[C1])
        W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l] = np.float32(side * m[R0]), np.float32(side * m[R1])
        W[S.U * BLOCK + l] = np.float32(_input(data, min(l // then, count - 1), count))
        W[S.HIT * BLOCK + l] = np.float32(-1.0)
        W[S.A0 * BLOCK + l] = W[S.A1 * BLOCK + l] = np.float32(0.0)


@compiled
def _input(data, k, count):
    """One of some inputs, evenly from the limit on one side to that on the other."""
    return data[LIMIT] * (2.0 * k / (count - 1) - 1.0)


@compiled
def _look_ahead(t, m, data, hand, tx, ty, side, one, two, share):
    """Move a lane on for each input, and each with some that may follow; take the one that leads to the best state."""
    count, then, steps = int(data[INPUTS]), int(data[THEN]), int(data[STEPS])
    W = floats_in(m, ROOM)
    p = floats_in(m, ROOM + S.ROWS * BLOCK // 2)
    h = HAND_DATA + 1 + HAND * hand
    parameters = floats_at(bits_of(data[h + VALUES_OF]))
    size = int(data[h + PARAMETERS])
    for k in range(size):
        p[k] = parameters[k]
    if data[BARS] > 0.0:
        p[size - 3], p[size - 2] = np.float32(side * tx), np.float32(ty)
    _fill(m, data, side)
    length, move = data[LENGTH], bits_of(data[h + MOVE])
    call_move(move, W, p, np.float32(length), steps)
    if then > 1:
        for l in range(BLOCK):
            W[MET * BLOCK + l] = W[S.HIT * BLOCK + l]
            W[S.U * BLOCK + l] = np.float32(_input(data, l % then, then))
        call_move(move, W, p, np.float32(length), steps)
    met = W[(MET if then > 1 else S.HIT) * BLOCK]
    if np.float32(0.0) <= met < np.float32(length):
        m[MOVED] = t  # it is at the goal, and may rest
    best, chosen = -1.0, 0.0
    for l in range(count * then):
        u = _input(data, l // then, count)
        score = _score(m, data, side, u, l, one, two, share)
        # of several that are as good, such as where nothing is known, the smallest
        if score > best or (score == best and abs(u) < abs(chosen)):
            best, chosen = score, u
    # where nothing is known there is nowhere to go
    u = _unless_stalled(t, m, data, side * chosen) if best > 0.0 else side * chosen
    if u != 0.0:
        m[SIGN] = math.copysign(1.0, u)
    return u


@compiled
def _score(m, data, side, u, l, one, two, share):
    """What a lane has come to: the goal, or a state of some value; less what its inputs cost."""
    W = floats_in(m, ROOM)
    limit, time, patience = data[LIMIT], data[LENGTH] * data[STEPS], data[PATIENCE]
    before, spent, effort = side * m[SIGN], 0.0, (u / limit) ** 2
    left = 1.0 - data[CHANGE] * abs(u - side * m[INPUT]) / limit
    if u * before < 0.0:
        left *= 1.0 - data[REVERSAL]
    sign = u if u != 0.0 else before
    if data[THEN] > 1.0 and W[MET * BLOCK + l] < np.float32(0.0):
        next_one = float(W[S.U * BLOCK + l])
        spent = time
        effort += (next_one / limit) ** 2
        if next_one * sign < 0.0:
            left *= 1.0 - data[REVERSAL]
        sign = next_one if next_one != 0.0 else sign
    left *= math.exp(-data[EFFORT] * time * effort)
    met = float(W[S.HIT * BLOCK + l])
    if met >= 0.0:
        return left * math.exp(-(spent + met) / patience) * float(W[S.WORTH * BLOCK + l])
    whole, real = integers_at(bits_of(data[WHOLE])), floats_at(bits_of(data[REAL]))
    q0, q1, v0, v1 = W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l], W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l]
    if beyond(whole, real, q0, q1, v0, v1):
        return 0.0
    first, other = int(data[TABLE]), int(data[OTHER])
    value = _worth(bits_of(data[first + ONE * one + VALUES]), other, sign, whole, real, q0, q1, v0, v1)
    if two >= 0:
        V = bits_of(data[first + ONE * two + VALUES])
        value += share * (_worth(V, other, sign, whole, real, q0, q1, v0, v1) - value)
    return left * math.exp(-(spent + time) / patience) * value


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
def _choose(t, m, data, hand, tx, ty):
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
    return _look_ahead(t, m, data, hand, tx, ty, side, one, two, share)


@compiled
def _first_table(data, hand):
    """Where the first table for a hand is told; -1 if there is none."""
    for k in range(int(data[TABLES])):
        at = int(data[TABLE]) + ONE * k
        if int(data[at + FOR]) == hand:
            return at
    return -1


@compiled
def _knows(data, hand):
    """Whether there is a table for a hand."""
    return _first_table(data, hand) >= 0


@compiled
def _both_hold(t, m, p, data, request):
    if m[HELD_BY] != 3.0:
        one, two = _nearest_bar(m[X1], m[Y1], p, data), _nearest_bar(m[X2], m[Y2], p, data)
        m[HELD_BY], m[SINCE], m[HELD], m[PLACED] = 3.0, t, max(one, two), 0.0
        m[USED] = 1.0 if two > one else 0.0
    _follow(m, int(m[USED]))
    if m[HELD] >= data[BARS] - 1.0 or not _knows(data, int(m[USED])):
        m[STATE] = RESTS
        return
    m[STATE] = RELEASES
    if t - m[SINCE] >= data[DELAY] - 1e-9:
        request[int(data[FIRST if m[USED] == 1.0 else SECOND])] = RELEASE


@compiled
def _without_bars(t, m, status, data, request):
    """The input while what holds does; of two hands the free one is asked to close at its goal, and only there."""
    if data[SECOND] < 0.0:
        if data[FIRST] >= 0.0 and status[int(data[FIRST])] != HOLDS:
            m[HELD_BY] = 0.0
            return 0.0
        if m[HELD_BY] == 0.0:
            m[HELD_BY] = 1.0
            _begin(t, m)
        return _choose(t, m, data, 0, 0.0, 0.0)
    if m[HELD_BY] == 0.0:
        m[HELD_BY] = data[int(data[TABLE]) + FOR] + 1.0
        _begin(t, m)
    hand = int(m[HELD_BY]) - 1
    free = int(data[SECOND if hand == 0 else FIRST])
    if status[int(data[FIRST if hand == 0 else SECOND])] != HOLDS:
        # it may hang by the other one
        m[HELD_BY] = 2.0 - hand if status[free] == HOLDS and _knows(data, 1 - hand) else m[HELD_BY]
        _begin(t, m)
        return 0.0
    side = 1.0 if hand == 0 else -1.0
    goal = _first_table(data, hand)
    tx, ty = data[goal + TX], data[goal + TY]
    away = math.hypot(side * (m[X2] - m[X1]) - tx, side * (m[Y2] - m[Y1]) - ty)
    request[free] = CLOSE if away <= data[NEAR] else RELEASE
    if away <= data[NEAR] and status[free] == HOLDS:
        # it is there: the other hand is next
        m[HELD_BY] = 2.0 - hand if _knows(data, 1 - hand) else m[HELD_BY]
        _begin(t, m)
        return 0.0
    return _choose(t, m, data, hand, tx, ty)


def law(t, x, status, memory, p, data, piece, u, request):
    m = memory
    call_control_at(bits_of(data[LOOK]), t, x, status, memory, p, data, piece, u, request)
    u[0] = 0.0
    if data[BARS] == 0.0:
        u[0] = m[INPUT] = _without_bars(t, m, status, data, request)
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
        # what was averaged while both held is the place of the hand ahead
        if m[HELD_BY] != 3.0 or int(m[USED]) != hand:
            m[PLACED] = 0.0
            m[HELD] = _nearest_bar(m[X1] if one else m[X2], m[Y1] if one else m[Y2], p, data)
        m[HELD_BY] = hand + 1.0
        _begin(t, m)
    _follow(m, hand)
    ahead = int(m[HELD]) + 1
    if ahead >= int(data[BARS]):
        return 0
    place = int(data[PLACES]) + 2 * ahead
    bx, by = p[int(data[place])], p[int(data[place + 1])]
    m[STATE] = SWINGS
    u[0] = m[INPUT] = _choose(t, m, data, hand, bx - m[PIVOT_X], by - m[PIVOT_Y])
    fx, fy = (m[X2], m[Y2]) if one else (m[X1], m[Y1])
    free = second if one else first
    request[free] = CLOSE if math.hypot(fx - bx, fy - by) < data[NEAR] else RELEASE
    return 0


@lru_cache(maxsize=1)
def entry() -> Entry:
    """The law as machine code, the same for all robots."""
    return compile_entry(law, CONTROL, "control-policy")
