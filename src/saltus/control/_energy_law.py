"""The law of the energy controller: which hands hold, where the next bar is, and what elbow and hands do about it.

Angles and torques are those seen from the hand that holds, mirrored where the next bar is to its left.
"""

from __future__ import annotations

import math
from functools import lru_cache

from saltus._native import CONTROL, Entry, compile_entry, compiled, doubles_from, never_inline
from saltus._sincos import sincos
from saltus.contact._grip import CLOSED, OPEN, REACHING
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control import _energy_gains as G
from saltus.control import _energy_states as E
from saltus.control import _swing_model as S
from saltus.control._observer import PHI1, PHI2, RATE1, RATE2, SAMPLES, balance, first_beliefs, observe
from saltus.control._swing_model import clip, energies, motor_torque, pose_at, wrap

# In data: units of both hands; where the first one's place, both angles and their rates are in the state; how many
# bars there are (none for a rope) and where the rope is among the parameters; the stride on it; which law, whether it
# looks ahead, whether it has sensors to see through, the delay of a release.
FIRST, SECOND, X, Y, ANGLE, ELBOW, RATE, ELBOW_RATE, BARS, ROPE, STRIDE = range(11)
MOMENTUM, AHEAD, SENSORS, DELAY = range(11, 15)

# Then what does not change of a swing (limit, motor, stop, capture, time to close, period), the links as seen from each
# hand, gains, and where each bar is among the parameters.
FIXED = 15
MODELS = FIXED + S.SWING - S.LIMIT
GAINS = MODELS + 2 * S.MODEL
BAR_PLACES = GAINS + G.GAINS

# Samples over which the place of the second hand is averaged, at most.
AVERAGED = 200.0

# Hanging with less than this share of the energy up to the bar is rest; and a swing this old may close a hand, s.
AT_REST, YOUNG = 0.05, 0.1


@compiled
def _place(hand, x, data):
    """Where a hand is, as far as the sensors tell."""
    px, py = x[int(data[X])], x[int(data[Y])]
    if hand == 1:
        return px, py
    model = doubles_from(data, MODELS)
    one = x[int(data[ANGLE])]
    both = one + x[int(data[ELBOW])]
    s1, c1 = sincos(one)
    s2, c2 = sincos(both)
    return px + model[S.L1] * s1 + model[S.L2] * s2, py - model[S.L1] * c1 - model[S.L2] * c2


@compiled
def _bar(hand, x, p, data):
    """The number of the bar nearest to a hand; on a rope, how far along it the hand is, by the way that is gone."""
    px, py = _place(hand, x, data)
    if data[BARS] == 0.0:
        rope = int(data[ROPE])
        along = px * math.cos(p[rope + 1]) + (py - p[rope]) * math.sin(p[rope + 1])
        return along if data[STRIDE] > 0.0 else -along
    nearest, least = 0, 1e300
    for k in range(int(data[BARS])):
        dx, dy = px - p[int(data[BAR_PLACES + 2 * k])], py - p[int(data[BAR_PLACES + 2 * k + 1])]
        if dx * dx + dy * dy < least:
            nearest, least = k, dx * dx + dy * dy
    return float(nearest)


@compiled
def _follow(hand, x, m, data):
    """Where the hand that holds is: the first one's place is told, the second one's is averaged."""
    px, py = _place(hand, x, data)
    m[E.PLACED] = 1.0 if hand == 1 else min(m[E.PLACED] + 1.0, AVERAGED)
    m[E.PIVOT_X] += (px - m[E.PIVOT_X]) / m[E.PLACED]
    m[E.PIVOT_Y] += (py - m[E.PIVOT_Y]) / m[E.PLACED]


@compiled
def _seen(hand, x, data):
    """Both angles and rates as seen from a hand."""
    one, two = x[int(data[ANGLE])], x[int(data[ELBOW])]
    rate1, rate2 = x[int(data[RATE])], x[int(data[ELBOW_RATE])]
    if hand == 1:
        return wrap(one), two, rate1, rate2
    return wrap(math.pi + one + two), -two, rate1 + rate2, -rate2


@compiled
def _target(m, p, data):
    """Where the next bar is from the hand that holds; the number zero if there is none."""
    if data[BARS] == 0.0:
        rope = int(data[ROPE])
        c, s = math.cos(p[rope + 1]), math.sin(p[rope + 1])
        along = m[E.PIVOT_X] * c + (m[E.PIVOT_Y] - p[rope]) * s + data[STRIDE]
        return 1.0, along * c - m[E.PIVOT_X], p[rope] + along * s - m[E.PIVOT_Y]
    k = int(m[E.HELD]) + 1
    if k >= int(data[BARS]):
        return 0.0, 0.0, 0.0
    place = BAR_PLACES + 2 * k
    return 1.0, p[int(data[place])] - m[E.PIVOT_X], p[int(data[place + 1])] - m[E.PIVOT_Y]


@compiled
def _both_hold(t, x, m, p, data, request):
    """Release: after a while the hand behind is asked to open; on the last bar, nothing."""
    never_inline()
    if m[E.HOLDS] != 3.0:
        one, two = _bar(1, x, p, data), _bar(2, x, p, data)
        m[E.AHEAD] = 2.0 if two > one else 1.0
        m[E.HOLDS], m[E.HELD], m[E.SINCE], m[E.COUNT], m[E.PLACED] = 3.0, max(one, two), t, 0.0, 0.0
        m[E.MEAN1] = m[E.MEAN2] = 0.0
    hand = int(m[E.AHEAD])
    _follow(hand, x, m, data)
    m[E.TORQUE] = 0.0
    if data[BARS] > 0.0 and m[E.HELD] >= data[BARS] - 1.0:
        m[E.STATE] = E.REST
        return
    m[E.STATE] = E.RELEASING
    angle, elbow, _, _ = _seen(hand, x, data)
    m[E.COUNT] += 1.0
    m[E.MEAN1] += wrap(angle - m[E.MEAN1]) / m[E.COUNT]
    m[E.MEAN2] += (elbow - m[E.MEAN2]) / m[E.COUNT]
    if t - m[E.SINCE] >= data[DELAY] - 1e-9:
        request[int(data[FIRST if hand == 2 else SECOND])] = RELEASE


@compiled
def _begin(t, hand, x, m, p, data):
    """A swing about a hand begins."""
    never_inline()
    o, s = doubles_from(m, E.BELIEFS), doubles_from(m, E.SWINGING)
    released = m[E.HOLDS] == 3.0 and m[E.AHEAD] == hand
    if not released:
        m[E.HELD], m[E.PLACED] = _bar(hand, x, p, data), 0.0
        _follow(hand, x, m, data)
    for k in range(S.MODEL):
        s[k] = data[MODELS + S.MODEL * (hand - 1) + k]
    for k in range(S.LIMIT, S.SWING):
        s[k] = data[FIXED + k - S.LIMIT]
    _, way, _ = _target(m, p, data)
    m[E.HOLDS], m[E.SIDE] = hand, -1.0 if way < 0.0 else 1.0
    angle, elbow, rate, elbow_rate = _seen(hand, x, data)
    if released and data[SENSORS] > 0.5:
        angle, elbow, rate, elbow_rate = m[E.MEAN1], m[E.MEAN2], 0.0, 0.0
    o[PHI1], o[PHI2] = m[E.SIDE] * angle, m[E.SIDE] * elbow
    o[RATE1], o[RATE2] = m[E.SIDE] * rate, m[E.SIDE] * elbow_rate
    o[SAMPLES] = -1.0
    if m[E.KNOWN] == 0.0:
        first_beliefs(o, doubles_from(data, GAINS))
        m[E.KNOWN] = 1.0
    m[E.STATE], m[E.BEGAN], m[E.CHANGED], m[E.SIGN], m[E.TORQUE], m[E.NEXT] = E.INJECT, t, t, 1.0, 0.0, -1.0
    m[E.ASKED], m[E.KIND], m[E.COST], m[E.BAD], m[E.INTEGRAL] = -1.0, 0.0, 0.0, 0.0, 0.0
    m[E.ENTERS] = m[E.LEAVES] = -1.0
    m[E.HUNG] = 0.0 if released else 2.0  # two: not known yet


@compiled
def _swing(t, x, m, data, is_open, reaching):
    """One sample of a swing: what is believed, the state, the torque; whether the free hand is to close."""
    o, s, g = doubles_from(m, E.BELIEFS), doubles_from(m, E.SWINGING), doubles_from(data, GAINS)
    goal1, goal2 = pose_at(s)
    kinetic, energy = energies(o, s)
    m[E.ENERGY] = energy
    balance(o, s, g, m[E.TORQUE], energy, t - m[E.BEGAN])
    aim = -s[S.G1] * math.cos(goal1) - s[S.G2] * math.cos(goal1 + goal2)
    lowest = -s[S.G1] - s[S.G2]
    if m[E.HUNG] == 2.0:
        m[E.HUNG] = 1.0 if energy - lowest < AT_REST * (aim - lowest) else 0.0
    s1, c1 = sincos(o[PHI1])
    s12, c12 = sincos(o[PHI1] + o[PHI2])
    px, py = s[S.L1] * s1 + s[S.L2] * s12 - s[S.TX], -s[S.L1] * c1 - s[S.L2] * c12 - s[S.TY]
    w1, w12 = o[RATE1], o[RATE1] + o[RATE2]
    nearing = px * (s[S.L1] * c1 * w1 + s[S.L2] * c12 * w12) + py * (s[S.L1] * s1 * w1 + s[S.L2] * s12 * w12) < 0.0
    distance = math.sqrt(px * px + py * py)
    bent = math.cos(o[PHI2])
    M11, M12 = s[S.A1] + 2.0 * s[S.A2] * bent, s[S.A3] + s[S.A2] * bent
    wanted = aim + g[G.BUFFER] - g[G.REDUCTION] * (aim - lowest)
    starting = m[E.HUNG] > 0.5 and t - m[E.BEGAN] < g[G.BOOTSTRAP_TIME]
    torque = E.injection(t, m, g, M12, energy, wanted, starting, data[MOMENTUM] > 0.5)
    left = 0.0
    if m[E.STATE] == E.CATCH:
        m[E.STATE] = E.POSE
    if data[AHEAD] < 0.5:
        left = clip((wanted - energy) / g[G.BLEND_ENERGY], 0.0, 1.0)
        E.by_energy(t, m, g, left, nearing, distance, starting)
        if s[S.CLOSE_TIME] > 0.0 and m[E.STATE] != E.INJECT and t >= m[E.NEXT] - 1e-9:
            E.foresee(t, m, g, goal1, goal2)
    elif m[E.STATE] == E.INJECT:
        if t >= m[E.NEXT] - 1e-9 and not starting and energy > aim - g[G.GATE]:
            E.look_for_a_way(t, m, g, goal1, goal2, reaching)
    else:
        if m[E.STATE] == E.BLEND and t - m[E.CHANGED] >= g[G.BLEND_TIME]:
            m[E.STATE] = E.POSE
        if t >= m[E.NEXT] - 1e-9:
            E.mend_the_way(t, m, g, goal1, goal2)
    if m[E.STATE] != E.INJECT:
        old = torque
        if data[AHEAD] > 0.5:
            old = m[E.OLD_TORQUE]
            left = 1.0 - (t - m[E.CHANGED]) / g[G.BLEND_TIME] if m[E.STATE] == E.BLEND else 0.0
        torque = left * old + (1.0 - left) * E.pose_torque(m, g, goal1, goal2, M11, M12)
    m[E.TORQUE] = motor_torque(torque, o[RATE2], s[S.LIMIT], s[S.STALL], s[S.FREE_SPEED])
    wish = t - m[E.BEGAN] > YOUNG and E.closes(t, m, g, distance, nearing, kinetic, is_open, reaching)
    if wish:
        m[E.STATE] = E.CATCH
    return wish


def law(t, x, status, memory, p, data, piece, u, request):
    m = memory
    first, second = int(data[FIRST]), int(data[SECOND])
    one, two = status[first] == CLOSED, status[second] == CLOSED
    request[first] = request[second] = 0
    u[0] = 0.0
    if not one and not two:
        m[E.STATE], m[E.HOLDS] = E.REST, 0.0
        return 0
    if one and two:
        _both_hold(t, x, m, p, data, request)
        return 0
    hand, other = (1, second) if one else (2, first)
    o, s = doubles_from(m, E.BELIEFS), doubles_from(m, E.SWINGING)
    if m[E.HOLDS] != hand:
        _begin(t, hand, x, m, p, data)
    else:
        _follow(hand, x, m, data)
        angle, elbow, rate, elbow_rate = _seen(hand, x, data)
        side = m[E.SIDE]
        if data[SENSORS] > 0.5:
            g = doubles_from(data, GAINS)
            told = side * x[int(data[RATE])]
            observe(o, s, g, m[E.TORQUE], side * angle, side * elbow, told, hand == 2)
        else:
            o[PHI1], o[PHI2], o[RATE1], o[RATE2] = side * angle, side * elbow, side * rate, side * elbow_rate
    there, tx, ty = _target(m, p, data)
    if there == 0.0:
        m[E.STATE], m[E.TORQUE] = E.REST, 0.0
        return 0
    s[S.TX], s[S.TY] = m[E.SIDE] * tx, ty
    reaching = status[other] == REACHING
    if _swing(t, x, m, data, status[other] == OPEN, reaching):
        request[other] = CLOSE
    elif reaching:
        request[other] = RELEASE
    u[0] = m[E.SIDE] * m[E.TORQUE] if hand == 1 else -m[E.SIDE] * m[E.TORQUE]
    return 0


@lru_cache(maxsize=1)
def entry() -> Entry:
    """The law as machine code, the same for all robots."""
    return compile_entry(law, CONTROL, "control-energy")
