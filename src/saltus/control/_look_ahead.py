"""What would come of posing now: the model run ahead until the hand has passed the bar, and ways to pose.

A way to pose is a profile of the elbow over the angle of the link that hangs: phi2 = goal2 + slope f + bend f^2 with
f = goal1 - phi1 cut to 0..2.5 rad, which ends in the pose at the bar. [yang2016, 9.1.5] asks for such a look ahead.
"""

from __future__ import annotations

import math

from saltus._native import always_inline, compiled, never_inline
from saltus._sincos import sincos
from saltus.control._energy_gains import (
    AIM,
    APPROACH_WEIGHT,
    FEEDFORWARD,
    HORIZON,
    KD,
    KP,
    LOOK_STEP,
    MISS_WEIGHT,
    SLOW_AIM,
)
from saltus.control._observer import COULOMB_SEEN, GAIN_SEEN, PHI1, PHI2, RATE1, RATE2, VISCOUS_SEEN
from saltus.control._swing_model import (
    A1,
    A2,
    A3,
    CAPTURE,
    CLOSE_TIME,
    FREE_SPEED,
    G1,
    G2,
    L1,
    L2,
    LIMIT,
    STALL,
    STOP,
    TX,
    TY,
    clip,
    motor_torque,
)

# What is found: the cost; kinetic energy, distance and time of the nearest pass; when the hand comes within reach of
# the bar and when it leaves (negative if it does not).
COST, RESIDUAL, MISS, WHEN, ENTERS, LEAVES, FOUND = range(7)

# Kinds of first profiles.
KINDS = 9

# How far the profile reaches, rad; how a plain PID's gains are to those of computed torque, kg m^2.
REACH, PLAIN = 2.5, 0.05

# Dry friction is full from this inverse rate on, s/rad.
SLIPS = 4.0


@compiled
def posing(f1, f2, w1, w2, M11, M12, M22, n1, n2, slope, bend, integral, kp, kd, feedforward):
    """The torque of pose; f1, f2: how far both angles are from those at the bar."""
    always_inline()
    f = clip(f1, 0.0, REACH)
    along, curve = 0.0, 0.0
    if 0.0 < f < REACH:
        along, curve = -(slope + 2.0 * bend * f), 2.0 * bend
    e = clip(f2 + (slope + bend * f) * f, -1.5, 1.5)
    if feedforward < 0.5:
        return PLAIN * (kp * e + kd * (along * w1 - w2)) + integral
    along = clip(along, -4.0, 6.0)
    share = M12 / M11
    wanted = kp * e + kd * (along * w1 - w2) - along * n1 / M11 + curve * w1 * w1
    return (M22 - M12 * share) * wanted / max(1.0 + along * share, 0.4) + n2 - share * n1 + integral


@compiled
def _stage(
    q1, q2, w1, w2, a1, a2, a3, g1, g2, goal1, goal2, slope, bend, integral, kp, kd, feedforward, gain, viscous,
    coulomb, limit, stall, free,
):  # fmt: skip
    """Accelerations under pose; and sines and cosines of both links and the masses, which were needed for them."""
    always_inline()
    s1, c1 = sincos(q1)
    s2, c2 = sincos(q2)
    s12 = s1 * c2 + c1 * s2
    M11, M12 = a1 + 2.0 * a2 * c2, a3 + a2 * c2
    n1 = -a2 * s2 * w2 * (2.0 * w1 + w2) + g1 * s1 + g2 * s12
    n2 = a2 * s2 * w1 * w1 + g2 * s12
    tau = posing(
        goal1 - q1, goal2 - q2, w1, w2, M11, M12, a3, n1, n2, slope, bend, integral, kp, kd, feedforward
    )  # fmt: skip
    n1 += viscous * w1 + coulomb * clip(w1 * SLIPS, -1.0, 1.0)
    n2 += viscous * w2 + coulomb * clip(w2 * SLIPS, -1.0, 1.0) - gain * motor_torque(tau, w2, limit, stall, free)
    scale = 1.0 / (M11 * a3 - M12 * M12)
    return (M12 * n2 - a3 * n1) * scale, (M12 * n1 - M11 * n2) * scale, s1, c1, s12, c1 * c2 - s1 * s2, M11, M12


@compiled
def _nearest(f, before, slope_before, after, slope_after, dt):
    """The square of the least distance on a step: a cubic through its ends, at a share of the step."""
    left = 1.0 - f
    return (
        (1.0 + 2.0 * f) * left * left * before
        + f * left * left * dt * slope_before
        + f * f * (3.0 - 2.0 * f) * after
        - f * f * left * dt * slope_after
    )


@compiled
def look_ahead(o, s, g, goal1, goal2, slope, bend, integral, found):
    """Run the model under pose until the hand has passed the bar, by the classical Runge-Kutta method."""
    never_inline()
    a1, a2, a3, g1, g2, l1, l2 = s[A1], s[A2], s[A3], s[G1], s[G2], s[L1], s[L2]
    tx, ty, limit, stall, free, stop, near = s[TX], s[TY], s[LIMIT], s[STALL], s[FREE_SPEED], s[STOP], s[CAPTURE]
    gain, viscous, coulomb = o[GAIN_SEEN], o[VISCOUS_SEEN], o[COULOMB_SEEN]
    kp, kd, feedforward, weight = g[KP], g[KD], g[FEEDFORWARD], g[MISS_WEIGHT]
    slow = s[CLOSE_TIME] > 0.0
    aim = g[SLOW_AIM] if slow else g[AIM]
    dt = g[LOOK_STEP]
    steps = int(g[HORIZON] / dt)
    q1, q2, w1, w2 = o[PHI1], o[PHI2], o[RATE1], o[RATE2]
    cost, residual, miss, when, enters, leaves = 1e9, 0.0, 1.0, 0.0, -1.0, -1.0
    square0, rate0, kinetic0, above = 0.0, 0.0, 0.0, 0.0
    passed = False
    for i in range(steps + 1):
        b1, b2, s1, c1, s12, c12, M11, M12 = _stage(
            q1, q2, w1, w2, a1, a2, a3, g1, g2, goal1, goal2, slope, bend, integral, kp, kd, feedforward, gain, viscous,
            coulomb, limit, stall, free,
        )  # fmt: skip
        x, y = l1 * s1 + l2 * s12 - tx, -l1 * c1 - l2 * c12 - ty
        square = x * x + y * y
        rate = x * (l1 * c1 * w1 + l2 * c12 * (w1 + w2)) + y * (l1 * s1 * w1 + l2 * s12 * (w1 + w2))
        kinetic = 0.5 * M11 * w1 * w1 + M12 * w1 * w2 + 0.5 * a3 * w2 * w2
        if slow:
            if enters < 0.0 and square < near * near:
                enters = 0.0
                if i > 0:
                    old, new = math.sqrt(square0), math.sqrt(square)
                    enters = dt * (i - 1 + (old - near) / max(old - new, 1e-9))
            elif enters >= 0.0 and leaves < 0.0 and square > near * near:
                old, new = math.sqrt(square0), math.sqrt(square)
                leaves = dt * (i - 1 + (near - old) / max(new - old, 1e-9))
        if y > 0.03 and square < 0.09:
            above = g[APPROACH_WEIGHT]
        if i * dt > 0.3 and rate > 0.0 and square > 0.06:
            square0, kinetic0, steps = square, kinetic, i
            break
        if passed:
            if enters < 0.0 or leaves >= 0.0:
                break
        elif i > 0 and rate > 0.0 and rate0 <= 0.0:
            f = rate0 / (rate0 - rate)
            away = math.sqrt(max(_nearest(f, square0, 2.0 * rate0, square, 2.0 * rate, dt), 0.0))
            here = kinetic0 + f * (kinetic - kinetic0)
            more = max(0.0, away - aim)
            now = here + weight * more * more + above
            if now < cost:
                cost, residual, miss, when = now, here, away, dt * (i - 1 + f)
            if away < 0.2:
                if not slow or away > near:
                    break
                passed = True
        elif i == 0 and rate > 0.0 and square < near * near:
            # already past the nearest place, still within reach
            miss, residual = math.sqrt(square), kinetic
            more = max(0.0, miss - aim)
            cost = kinetic + weight * more * more
            if not slow:
                break
            passed = True
        square0, rate0, kinetic0 = square, rate, kinetic
        # the other three stages
        h = 0.5 * dt
        x1, x2 = w1 + h * b1, w2 + h * b2
        d1, d2, _, _, _, _, _, _ = _stage(
            q1 + h * w1, q2 + h * w2, x1, x2, a1, a2, a3, g1, g2, goal1, goal2, slope, bend, integral, kp, kd,
            feedforward, gain, viscous, coulomb, limit, stall, free,
        )  # fmt: skip
        y1, y2 = w1 + h * d1, w2 + h * d2
        e1, e2, _, _, _, _, _, _ = _stage(
            q1 + h * x1, q2 + h * x2, y1, y2, a1, a2, a3, g1, g2, goal1, goal2, slope, bend, integral, kp, kd,
            feedforward, gain, viscous, coulomb, limit, stall, free,
        )  # fmt: skip
        z1, z2 = w1 + dt * e1, w2 + dt * e2
        f1, f2, _, _, _, _, _, _ = _stage(
            q1 + dt * y1, q2 + dt * y2, z1, z2, a1, a2, a3, g1, g2, goal1, goal2, slope, bend, integral, kp, kd,
            feedforward, gain, viscous, coulomb, limit, stall, free,
        )  # fmt: skip
        q1 += dt / 6.0 * (w1 + 2.0 * (x1 + y1) + z1)
        q2 += dt / 6.0 * (w2 + 2.0 * (x2 + y2) + z2)
        w1 += dt / 6.0 * (b1 + 2.0 * (d1 + e1) + f1)
        w2 += dt / 6.0 * (b2 + 2.0 * (d2 + e2) + f2)
        if abs(q2) > stop:
            if q2 * w2 > 0.0:
                c2 = math.cos(q2)
                w1 += (a3 + a2 * c2) / (a1 + 2.0 * a2 * c2) * w2
                w2 = 0.0
            q2 = clip(q2, -stop, stop)
    if cost > 1e8:
        # it came no nearer and nearer: what it is at the end
        miss, residual, when = math.sqrt(square0), kinetic0, dt * steps
        more = max(0.0, miss - aim)
        cost = kinetic0 + weight * more * more
    found[COST], found[RESIDUAL], found[MISS] = cost, residual, miss
    found[WHEN], found[ENTERS], found[LEAVES] = when, enters, leaves


@compiled
def profile(kind, far, bent):
    """The slope and bend of a first profile; ``far`` is goal1 - phi1 and ``bent`` phi2 - goal2 now."""
    if kind == 0:
        return 0.0, 0.0
    if kind == 1:
        return -0.5, 0.0
    if kind == 2:
        return 0.5, 0.0
    if kind == 3:
        return -1.2, 0.0
    # those that begin where the elbow is
    slope = -2.0
    if kind == 5:
        slope = -1.0
    elif kind == 6:
        slope = -3.0
    elif kind == 7:
        slope = 0.0
    elif kind == 8:
        slope = 1.0
    if far < 0.3:
        return 0.4 * slope, 0.0
    return slope, clip((bent - slope * far) / (far * far), -6.0, 6.0)


@compiled
def change(way, step, far):
    """A change of slope and bend to be tried: of the slope, or of the bend with the middle kept, either way."""
    size = step if way < 2 else -step
    length = clip(far, 0.3, REACH)
    if way % 2 == 0:
        return size / max(length, 0.5), 0.0
    return -0.5 * size / length, size / (length * length)
