"""The transition of [yang2016, 7.4.6] by the potential energy, as it is printed, beside the total energy; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from saltus.contact._unit import CLOSE, RELEASE
from saltus.control import Compiled
from saltus.hybrid import HybridSystem
from saltus.studies.papers._yang2016_pendulum import Pendulum
from saltus.studies.papers._yang2016_runs import OWN, pose_at, rest_energy

# In data: the links; lengths; where the bar is from the hand that holds, and the elbow's angle there; the aim and the
# energy over which it blends, J; whether by the potential energy; units of both hands.
A1, A2, A3, G1, G2, L1, L2, TX, TY, GOAL, AIM, OVER, POTENTIAL, FREE = range(14)

# Of the plain PID, N m/rad and N m s/rad; from which elbow angle on torque fades, and over what, rad; torque, N m.
KP, KD, AMPLITUDE, FADE, TORQUE = 20.0, 1.8, 2.6, 0.3, 10.0

# Memory: whether it poses.
POSES = 0


def law(t, x, status, memory, p, data, piece, u, request):
    q1, q2, w1, w2, free = x[2], x[3], x[6], x[7], int(data[FREE])
    request[free] = RELEASE
    c, c1, c12 = math.cos(q2), math.cos(q1), math.cos(q1 + q2)
    M12 = data[A3] + data[A2] * c
    potential = -data[G1] * c1 - data[G2] * c12
    energy = potential + 0.5 * (data[A1] + 2 * data[A2] * c) * w1 * w1 + M12 * w1 * w2 + 0.5 * data[A3] * w2 * w2
    torque = TORQUE if (M12 * w1 + data[A3] * w2) * (data[AIM] - energy) >= 0.0 else -TORQUE
    if torque * q2 > 0.0:
        torque *= 1.0 - min(max((abs(q2) - AMPLITUDE) / FADE, 0.0), 1.0)
    s1, s12 = math.sin(q1), math.sin(q1 + q2)
    px, py = data[L1] * s1 + data[L2] * s12 - data[TX], -data[L1] * c1 - data[L2] * c12 - data[TY]
    distance = math.sqrt(px * px + py * py)
    both = w1 + w2
    nearing = px * (data[L1] * c1 * w1 + data[L2] * c12 * both) + py * (data[L1] * s1 * w1 + data[L2] * s12 * both) < 0
    seen = potential if data[POTENTIAL] > 0.5 else energy
    left = min(max((data[AIM] - seen) / data[OVER], 0.0), 1.0)
    if memory[POSES] > 0.5:
        if left >= 1.0 or (not nearing and distance > 0.1):
            memory[POSES] = 0.0
    elif left < 1.0 and nearing and w1 > 0.0 and w2 > 0.0:
        memory[POSES] = 1.0
    if memory[POSES] > 0.5:
        pid = min(max(KP * (data[GOAL] - q2) - KD * w2, -TORQUE), TORQUE)
        torque = left * torque + (1.0 - left) * pid
        if t > 0.1 and distance < 0.08:
            request[free] = CLOSE
    u[0] = torque
    return 0


def blending(system: HybridSystem, away: tuple[float, float], buffer: float, *, potential: bool) -> Compiled:
    """The controller for one swing about hand A with a buffer, J, by the potential energy or by the total one."""
    of, v = Pendulum.of(system.values), system.values
    aim = rest_energy(system, away) + buffer
    free = next(k for k, unit in enumerate(system.units) if unit.name == "B")
    numbers: list[Any] = [of.a1, of.a2, of.a3, of.g1, of.g2, v["L1"], v["L2"], *away, pose_at(system, away)[1]]
    numbers += [aim, OWN["blend_energy"], potential, free]
    return Compiled(law, np.array(numbers, dtype=float).tolist(), period=1e-3)
