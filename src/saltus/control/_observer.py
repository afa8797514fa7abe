"""What the energy controller believes of the robot: its state, from noisy sensors, and its torque gain and friction."""

from __future__ import annotations

import math

from saltus._native import compiled, never_inline
from saltus._sincos import sincos
from saltus.control._energy_gains import (
    ADAPT,
    COULOMB,
    ENERGY_NOISE,
    OBSERVE_ANGLE,
    OBSERVE_ELBOW,
    OBSERVE_ELBOW_RATE,
    OBSERVE_RATE,
    OBSERVE_RATE_BY_ANGLE,
    TORQUE_GAIN,
    VISCOUS,
)
from saltus.control._swing_model import (
    A1,
    A2,
    A3,
    FREE_SPEED,
    G1,
    G2,
    LIMIT,
    PERIOD,
    STALL,
    STOP,
    clip,
    motor_torque,
    wrap,
)

# In memory: both angles and their rates; torque gain, viscous and dry friction; of the window over which energy is
# balanced: work, what viscous and dry friction take per unit of them, energy at its beginning, samples, whether it
# counts; and the covariance of gain and frictions.
PHI1, PHI2, RATE1, RATE2, GAIN_SEEN, VISCOUS_SEEN, COULOMB_SEEN = range(7)
WORK, TURNED, PASSED, BEFORE, SAMPLES, COUNTS = range(7, 13)
P00, P01, P02, P11, P12, P22, OBSERVER = range(13, 20)

# Length of the window, s, and how long after the start of a swing the first one begins.
WINDOW, SETTLED = 0.1, 0.03

# First guesses are known to so much: of the torque gain, and of viscous and dry friction (N m s/rad, N m).
KNOWN_GAIN, KNOWN_VISCOUS, KNOWN_COULOMB = 0.09, 0.018, 0.09


@compiled
def first_beliefs(o, g):
    """What is believed of torque gain and friction before anything was seen."""
    o[GAIN_SEEN], o[VISCOUS_SEEN], o[COULOMB_SEEN] = g[TORQUE_GAIN], g[VISCOUS], g[COULOMB]
    o[P00], o[P11], o[P22] = KNOWN_GAIN * KNOWN_GAIN, KNOWN_VISCOUS * KNOWN_VISCOUS, KNOWN_COULOMB * KNOWN_COULOMB
    o[P01] = o[P02] = o[P12] = 0.0


@compiled
def observe(o, s, g, torque, angle, elbow, rate, by_second):
    """Move the model on by a period, and bring it nearer to what is measured.

    ``rate`` is that of the link with the inertial unit: the one that hangs, or, ``by_second``, the other.
    """
    never_inline()
    q1, q2, w1, w2, dt = o[PHI1], o[PHI2], o[RATE1], o[RATE2], s[PERIOD]
    sine1, c1 = sincos(q1)
    sine2, c2 = sincos(q2)
    sine12 = sine1 * c2 + c1 * sine2
    M11, M12 = s[A1] + 2.0 * s[A2] * c2, s[A3] + s[A2] * c2
    tau = o[GAIN_SEEN] * motor_torque(torque, w2, s[LIMIT], s[STALL], s[FREE_SPEED])
    n1 = -s[A2] * sine2 * w2 * (2.0 * w1 + w2) + s[G1] * sine1 + s[G2] * sine12
    n2 = s[A2] * sine2 * w1 * w1 + s[G2] * sine12
    n1 += o[VISCOUS_SEEN] * w1 + o[COULOMB_SEEN] * clip(w1 * 20.0, -1.0, 1.0)
    n2 += o[VISCOUS_SEEN] * w2 + o[COULOMB_SEEN] * clip(w2 * 20.0, -1.0, 1.0) - tau
    det = M11 * s[A3] - M12 * M12
    u1, u2 = (M12 * n2 - s[A3] * n1) / det, (M12 * n1 - M11 * n2) / det
    q1 += dt * (w1 + 0.5 * dt * u1)
    q2 += dt * (w2 + 0.5 * dt * u2)
    w1 += dt * u1
    w2 += dt * u2
    if (q2 > s[STOP] and w2 > 0.0) or (q2 < -s[STOP] and w2 < 0.0):
        w1 += M12 / M11 * w2
        w2 = 0.0
        q2 = clip(q2, -s[STOP], s[STOP])
        o[COUNTS] = 0.0
    e1, e2 = wrap(angle - q1), elbow - q2
    e3 = rate - (w1 + w2 if by_second else w1)
    o[PHI1] = wrap(q1 + g[OBSERVE_ANGLE] * e1)
    o[PHI2] = q2 + g[OBSERVE_ELBOW] * e2
    o[RATE1] = w1 + g[OBSERVE_RATE] * e3 + g[OBSERVE_RATE_BY_ANGLE] * e1
    o[RATE2] = w2 + g[OBSERVE_ELBOW_RATE] * e2


@compiled
def begin_window(o, energy):
    """A window over which energy is balanced begins."""
    o[SAMPLES], o[COUNTS], o[BEFORE] = 0.0, 1.0, energy
    o[WORK] = o[TURNED] = o[PASSED] = 0.0


@compiled
def balance(o, s, g, torque, energy, since):
    """Learn torque gain and friction from how the energy changes; ``since`` the swing began, s."""
    if g[ADAPT] < 0.5:
        return
    if o[SAMPLES] < 0.0:
        if since > SETTLED:
            begin_window(o, energy)
        return
    dt, w1, w2 = s[PERIOD], o[RATE1], o[RATE2]
    o[WORK] += dt * w2 * motor_torque(torque, w2, s[LIMIT], s[STALL], s[FREE_SPEED])
    o[TURNED] += dt * (w1 * w1 + w2 * w2)
    o[PASSED] += dt * (abs(w1) + abs(w2))
    o[SAMPLES] += 1.0
    if abs(o[PHI2]) > s[STOP] - 0.01:
        o[COUNTS] = 0.0
    if o[SAMPLES] * dt >= WINDOW - 1e-9:
        if o[COUNTS] > 0.5:
            _learn(o, g, energy)
        begin_window(o, energy)


@compiled
def _learn(o, g, energy):
    """A step of Bayesian least squares for gain and frictions; what is far off is left out."""
    never_inline()
    h0, h1, h2 = o[WORK], -o[TURNED], -o[PASSED]
    v0 = o[P00] * h0 + o[P01] * h1 + o[P02] * h2
    v1 = o[P01] * h0 + o[P11] * h1 + o[P12] * h2
    v2 = o[P02] * h0 + o[P12] * h1 + o[P22] * h2
    S = h0 * v0 + h1 * v1 + h2 * v2 + g[ENERGY_NOISE] * g[ENERGY_NOISE]
    e = energy - o[BEFORE] - (h0 * o[GAIN_SEEN] + h1 * o[VISCOUS_SEEN] + h2 * o[COULOMB_SEEN])
    if not e * e < 16.0 * S or not math.isfinite(S):
        return
    o[GAIN_SEEN] = clip(o[GAIN_SEEN] + v0 / S * e, 0.75, 1.2)
    o[VISCOUS_SEEN] = clip(o[VISCOUS_SEEN] + v1 / S * e, 0.0, 0.07)
    o[COULOMB_SEEN] = clip(o[COULOMB_SEEN] + v2 / S * e, 0.0, 0.35)
    o[P00] -= v0 * v0 / S
    o[P01] -= v0 * v1 / S
    o[P02] -= v0 * v2 / S
    o[P11] -= v1 * v1 / S
    o[P12] -= v1 * v2 / S
    o[P22] -= v2 * v2 / S
