"""The states of the energy controller while one hand holds: inject, blend, pose, and when the free hand is to close."""

from __future__ import annotations

from saltus._native import compiled, doubles_from, never_inline
from saltus._sincos import sincos
from saltus.control import _energy_gains as G
from saltus.control import _look_ahead as A
from saltus.control import _swing_model as S
from saltus.control._observer import OBSERVER, PHI1, PHI2, RATE1, RATE2
from saltus.control._swing_model import clip

# What the controller does; CATCH is pose with the free hand asked to close. By name in `saltus.control.Energy.states`.
REST, RELEASING, INJECT, BLEND, POSE, CATCH = range(6)

# Memory, for all to see: the state; cost of the way to pose, energy, kinetic energy and miss that are expected; number
# of look-aheads.
STATE, COST, ENERGY, RESIDUAL, MISS, LOOKS = range(6)

# Which hands hold, which bar, which hand is ahead; of the time in which both hold: since when, samples, mean angles;
# where the hand is that holds, from how many samples; on which side the next bar is.
HOLDS, HELD, AHEAD, SINCE, COUNT, MEAN1, MEAN2, PIVOT_X, PIVOT_Y, PLACED, SIDE = range(6, 17)

# Of a swing: whether it began at rest; when it and the state began; sign of inject, torque, time of the next
# look-ahead; the way to pose and the search for it; when the hand is within reach; when it was asked to close; torque
# before blending; whether anything is believed of the robot yet.
HUNG, BEGAN, CHANGED, SIGN, TORQUE, NEXT, SLOPE, BEND, BAD, INTEGRAL, KIND, WAY, STEP, FAILS = range(17, 31)
ENTERS, LEAVES, ASKED, OLD_TORQUE, KNOWN = range(31, 36)

# Blocks: what is believed, what a swing has to do with, what a look-ahead finds.
BELIEFS = 36
SWINGING = BELIEFS + OBSERVER
FOUND = SWINGING + S.SWING
PLACES = FOUND + A.FOUND

# A try whose cost is this much larger is none.
NEVER = 100.0


@compiled
def injection(t, m, g, M12, energy, wanted, starting, momentum):
    """The torque of inject: of the sign that adds energy, less near the aim, faded at the elbow's ends and speeds."""
    o, s = doubles_from(m, BELIEFS), doubles_from(m, SWINGING)
    w1, w2, limit = o[RATE1], o[RATE2], s[S.LIMIT]
    # power into the robot is torque times elbow rate; the thesis' law has the elbow's momentum instead
    driven = M12 * w1 + s[S.A3] * w2 if momentum else 0.1 * w2
    if driven * m[SIGN] < -g[G.HYSTERESIS]:
        m[SIGN] = -m[SIGN]
    torque = min(g[G.TORQUE], limit) * m[SIGN] * clip((wanted - energy) / g[G.ENERGY_SCALE], -1.0, 1.0)
    if starting:
        torque = g[G.BOOTSTRAP_TORQUE]
    if torque * w2 > 0.0:
        torque *= clip((g[G.ELBOW_SPEED] - abs(w2)) / (0.3 * g[G.ELBOW_SPEED]), -0.5, 1.0)
    ahead = o[PHI2] + g[G.FADE_TIME] * w2
    turns = int((t - max(m[CHANGED], m[BEGAN])) / g[G.WATCHDOG])
    amplitude = g[G.AMPLITUDE] if turns % 2 == 0 else g[G.SECOND_AMPLITUDE]
    over = clip((abs(ahead) - amplitude) / g[G.FADE], 0.0, 1.0)
    if over > 0.0:
        if torque * ahead > 0.0:
            torque *= 1.0 - over
        brake = limit * over * g[G.BRAKE]
        torque = clip(torque - (brake if ahead > 0.0 else -brake), -limit, limit)
    return torque


@compiled
def _look(m, g, goal1, goal2, slope, bend, integral):
    """A look ahead along one way to pose; its cost."""
    m[LOOKS] += 1.0
    found = doubles_from(m, FOUND)
    A.look_ahead(doubles_from(m, BELIEFS), doubles_from(m, SWINGING), g, goal1, goal2, slope, bend, integral, found)
    return found[A.COST]


@compiled
def _searched(m, better):
    """Go on in a direction that was better, turn from one that was not; with ever smaller steps if none is."""
    if better:
        m[STEP], m[FAILS] = min(m[STEP] * 1.4, 1.0), 0.0
        return
    m[WAY] = (m[WAY] + 1.0) % 4.0
    m[FAILS] += 1.0
    if m[FAILS] >= 4.0:
        m[STEP], m[FAILS] = max(m[STEP] * 0.6, 0.02), 0.0


@compiled
def look_for_a_way(t, m, g, goal1, goal2, reaching):
    """In inject: look along some ways to pose, and take the best if it is soft enough."""
    never_inline()
    o, s, found = doubles_from(m, BELIEFS), doubles_from(m, SWINGING), doubles_from(m, FOUND)
    first = m[NEXT] < 0.0
    m[NEXT] = t + g[G.TICK]
    far, bent, close_time = goal1 - o[PHI1], o[PHI2] - goal2, s[S.CLOSE_TIME]
    # a claw that missed has to open first
    ready = m[ASKED] + 2.0 * close_time + g[G.REOPEN_TIME] if m[ASKED] >= 0.0 and not reaching else -1.0
    best, slope, bend = 1e9, 0.0, 0.0
    for _ in range(A.KINDS if first else int(g[G.CANDIDATES])):
        kind = int(m[KIND])
        m[KIND] = (kind + 1) % A.KINDS
        one, two = A.profile(kind, far, bent)
        cost = _look(m, g, goal1, goal2, one, two, 0.0)
        if close_time > 0.0 and t + found[A.WHEN] < ready:
            cost += NEVER
        if cost < best:
            best, slope, bend = cost, one, two
    enough = g[G.ENTER_COST]
    m[STEP], m[WAY], m[FAILS] = g[G.SEARCH_STEP], 0.0, 0.0
    if first and m[HUNG] < 0.5:
        enough = max(enough, g[G.FIRST_COST])
        for _ in range(int(g[G.FIRST_TRIALS])):
            one, two = A.change(int(m[WAY]), m[STEP], far)
            cost = _look(m, g, goal1, goal2, slope + one, bend + two, 0.0)
            better = cost < best - 1e-3
            if better:
                best, slope, bend = cost, slope + one, bend + two
            _searched(m, better)
    m[COST] = best
    if best < enough:
        m[STATE], m[CHANGED] = BLEND if g[G.BLEND_TIME] > 0.0 else POSE, t
        m[SLOPE], m[BEND], m[BAD], m[INTEGRAL], m[WAY], m[FAILS] = slope, bend, 0.0, 0.0, 0.0, 0.0
        m[OLD_TORQUE] = m[TORQUE]
        m[ENTERS] = m[LEAVES] = -1.0


@compiled
def _expect(t, m):
    """Note what the last look-ahead found."""
    found = doubles_from(m, FOUND)
    m[RESIDUAL], m[MISS] = found[A.RESIDUAL], found[A.MISS]
    m[ENTERS] = t + found[A.ENTERS] if found[A.ENTERS] >= 0.0 else -1.0
    m[LEAVES] = t + found[A.LEAVES] if found[A.LEAVES] >= 0.0 else -1.0


@compiled
def foresee(t, m, g, goal1, goal2):
    """In pose without look-ahead: when a hand that takes time to close will be within reach."""
    never_inline()
    m[NEXT] = t + g[G.TICK]
    _look(m, g, goal1, goal2, 0.0, 0.0, m[INTEGRAL])
    _expect(t, m)


@compiled
def mend_the_way(t, m, g, goal1, goal2):
    """In pose: look again, change the way for the better, and give it up if it leads past the bar."""
    never_inline()
    m[NEXT] = t + g[G.TICK]
    far = goal1 - m[BELIEFS + PHI1]
    best = _look(m, g, goal1, goal2, m[SLOPE], m[BEND], m[INTEGRAL])
    _expect(t, m)
    for _ in range(int(g[G.TRIALS])):
        one, two = A.change(int(m[WAY]), m[STEP], far)
        cost = _look(m, g, goal1, goal2, m[SLOPE] + one, m[BEND] + two, m[INTEGRAL])
        better = cost < best - 1e-3
        if better:
            best = cost
            m[SLOPE] += one
            m[BEND] += two
            _expect(t, m)
        _searched(m, better)
    m[COST] = best
    m[BAD] = m[BAD] + 1.0 if best > g[G.LEAVE_COST] else 0.0
    if m[BAD] >= g[G.LEAVE_COUNT]:
        m[STATE], m[CHANGED] = INJECT, t


@compiled
def by_energy(t, m, g, left, nearing, distance, starting):
    """The transition of [yang2016, 7.4.6], by the total energy; pose only far from the bar, on the way to it [8.2]."""
    o = doubles_from(m, BELIEFS)
    if m[STATE] == INJECT:
        if not starting and left < 1.0 and nearing and distance > 0.1 and o[RATE1] > 0.0 and o[RATE2] > 0.0:
            m[STATE], m[CHANGED], m[INTEGRAL] = BLEND if left > 0.0 else POSE, t, 0.0
    elif left >= 1.0 or (not nearing and distance > 0.1):
        m[STATE] = INJECT
    else:
        m[STATE] = BLEND if left > 0.0 else POSE
    m[SLOPE] = m[BEND] = 0.0


@compiled
def pose_torque(m, g, goal1, goal2, M11, M12):
    """The torque of pose now; the error is summed up on the way."""
    o, s = doubles_from(m, BELIEFS), doubles_from(m, SWINGING)
    s1, c1 = sincos(o[PHI1])
    s2, c2 = sincos(o[PHI2])
    s12, w1, w2 = s1 * c2 + c1 * s2, o[RATE1], o[RATE2]
    n1 = -s[S.A2] * s2 * w2 * (2.0 * w1 + w2) + s[S.G1] * s1 + s[S.G2] * s12
    n2 = s[S.A2] * s2 * w1 * w1 + s[S.G2] * s12
    f1, f2 = goal1 - o[PHI1], goal2 - o[PHI2]
    torque = A.posing(
        f1, f2, w1, w2, M11, M12, s[S.A3], n1, n2, m[SLOPE], m[BEND], m[INTEGRAL], g[G.KP], g[G.KD], g[G.FEEDFORWARD]
    )  # fmt: skip
    f = clip(f1, 0.0, A.REACH)
    error = f2 + (m[SLOPE] + m[BEND] * f) * f
    if abs(error) < 0.3:
        m[INTEGRAL] = clip(m[INTEGRAL] + s[S.PERIOD] * g[G.KI] * error, -1.5, 1.5)
    return clip(torque, -s[S.LIMIT], s[S.LIMIT])


@compiled
def closes(t, m, g, distance, nearing, kinetic, is_open, reaching):
    """Whether the free hand is asked to close now: only in pose, and so early that it is there when it closes."""
    if m[STATE] < BLEND:
        return False
    s = doubles_from(m, SWINGING)
    time = s[S.CLOSE_TIME]
    if time == 0.0:
        near = distance < g[G.CLOSE_DISTANCE] and (nearing or distance < s[S.CAPTURE])
        return near and kinetic < g[G.CLOSE_ENERGY]
    if reaching:
        return True
    if not is_open or m[ENTERS] < 0.0:
        return False
    leaves = m[LEAVES] if m[LEAVES] > 0.0 else m[ENTERS] + 0.3
    if t + time >= 0.5 * (m[ENTERS] + leaves) and t + time < leaves - 0.01:
        m[ASKED] = t
        return True
    return False
