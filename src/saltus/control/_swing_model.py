"""Two links that hang by one hand: their lumped inertias and weights, energies, limits, and the pose at a bar.

Notation: [yang2016, 7.4], corrected. With phi1 the angle of the link that hangs, from straight down and
counter-clockwise, and phi2 that of the elbow,

M11 = a1 + 2 a2 cos phi2, M12 = a3 + a2 cos phi2, M22 = a3, V = -g1 cos phi1 - g2 cos(phi1 + phi2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from saltus._native import compiled
from saltus._sincos import sincos
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# The numbers of the links as seen from a hand: inertias, weights, lengths. Beside them, what a swing has to do with:
# where the bar is from the hand that holds, the motor's limit and curve (a stall torque of zero for none), the elbow's
# stop, how near a hand must be to close, how long that takes, and the period.
A1, A2, A3, G1, G2, L1, L2, MODEL = range(8)
TX, TY, LIMIT, STALL, FREE_SPEED, STOP, CAPTURE, CLOSE_TIME, PERIOD, SWING = range(MODEL, MODEL + 10)

# How far the mechanism may be from two links, relative to its own size.
ALIKE = 1e-9


def models(system: HybridSystem, names: tuple[str, str], hand: Any, values: Mapping[str, float]) -> np.ndarray:
    """The numbers of the two links as seen from each hand, a row for each, from the mechanism's own M and V.

    ``names`` are the angles, ``hand`` is the second hand's place. What that hand sees is told by the robot's symmetry.
    """
    evaluate, others, used, last = system.once(
        "two links, seen from each hand", lambda: _functions(system, names, hand)
    )
    first = [float(values[name]) for name in system.mechanism.parameters]
    key = tuple(first[k] for k in used)
    if key not in last:
        # runs of a batch mostly have one and the same model
        last.clear()
        last[key] = np.array([_lumped(system, evaluate, p) for p in (first, np.array(others(first)).ravel())])
    found: np.ndarray = last[key]
    return found


def _functions(system: HybridSystem, names: tuple[str, str], hand: Any) -> tuple[Any, Any, list[int], dict[Any, Any]]:
    """M of both angles, V and the place of the second hand, with the first at the origin; and the other parameters.

    Then which parameters these depend on, and room for what was found last.
    """
    m, d = system.mechanism, system.dynamics
    if system.symmetry is None:
        raise InputError(f"energy: {system.name} does not say how it is seen from its other hand (no symmetry)")
    q = [m.index(name) for name in names]
    v = [m.velocity_index(name) for name in names]
    angles = ca.SX.sym("angles", 2)
    places = ca.SX.zeros(m.nq)
    places[q] = angles
    out = ca.substitute([d.M[v, v], ca.SX(d.potential), hand], [d.q], [places])
    rows, other = ca.vertcat(ca.vec(out[0]), out[1], out[2]), system.symmetry.other_parameters(m)
    seen = ca.vertcat(rows, ca.substitute(rows, d.p, other))
    used = [k for k in range(d.p.numel()) if ca.depends_on(seen, d.p[k])]
    return ca.Function("two_links", [angles, d.p], [rows]), ca.Function("other", [m.p], [other]), used, {}


def _lumped(system: HybridSystem, evaluate: Any, p: Any) -> np.ndarray:
    """The seven numbers, from four poses; a fifth tells whether the robot is two links at all."""
    straight, bent, folded, over = (
        np.array(evaluate(pose, p)).ravel() for pose in ((0, 0), (0, math.pi / 2), (0, math.pi), (math.pi, 0))
    )
    model = np.zeros(MODEL)
    model[A1], model[A3] = bent[0], bent[3]
    model[A2] = straight[1] - bent[3]
    model[G2] = (folded[4] - straight[4]) / 2
    model[G1] = (over[4] - straight[4]) / 2 - model[G2]
    model[L2] = (folded[6] - straight[6]) / 2
    model[L1] = -straight[6] - model[L2]
    one, two = 0.7, -1.1
    found = np.array(evaluate((one, two), p)).ravel()
    both = math.cos(one + two)
    coupled = model[A3] + model[A2] * math.cos(two)
    rise = model[G1] * (1 - math.cos(one)) + model[G2] * (1 - both)
    wanted = [
        model[A1] + 2 * model[A2] * math.cos(two), coupled, coupled, model[A3], straight[4] + rise,
        model[L1] * math.sin(one) + model[L2] * math.sin(one + two), -model[L1] * math.cos(one) - model[L2] * both,
    ]  # fmt: skip
    if not np.allclose(found, wanted, rtol=0, atol=ALIKE * (1 + np.abs(found).max())) or min(model[L1], model[L2]) <= 0:
        raise InputError(f"energy is for robots of two links that hang by a hand, and {system.name} does not move so")
    if not min(model[G1], model[G2]) > 0:
        raise InputError(f"energy: {system.name} does not hang: there is no weight that would bring it down")
    return model


@compiled
def clip(value, low, high):
    """A number, brought into a range."""
    return min(max(value, low), high)


@compiled
def wrap(angle):
    """An angle, brought between -pi and pi by whole turns."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@compiled
def motor_torque(torque, speed, limit, stall, free_speed):
    """What of a torque the motor gives at a speed of the elbow."""
    torque = clip(torque, -limit, limit)
    if stall > 0.0:
        left = max(0.0, stall * (1.0 - abs(speed) / free_speed))
        if speed > 0.0:
            torque = min(torque, left)
        elif speed < 0.0:
            torque = max(torque, -left)
    return torque


@compiled
def energies(x, s):
    """Kinetic and total energy; zero weight is at the height of the hand that holds."""
    sine2, c2 = sincos(x[1])
    sine1, c1 = sincos(x[0])
    M11, M12 = s[A1] + 2.0 * s[A2] * c2, s[A3] + s[A2] * c2
    kinetic = 0.5 * M11 * x[2] * x[2] + M12 * x[2] * x[3] + 0.5 * s[A3] * x[3] * x[3]
    return kinetic, kinetic - s[G1] * c1 - s[G2] * (c1 * c2 - sine1 * sine2)


@compiled
def pose_at(s):
    """Both angles with which the free hand is at the bar, the elbow down [yang2016, 3.2.2]; a bar to the right."""
    square = s[TX] * s[TX] + s[TY] * s[TY]
    away = math.sqrt(square)
    at_hand = clip((square + s[L1] * s[L1] - s[L2] * s[L2]) / max(2.0 * away * s[L1], 1e-12), -1.0, 1.0)
    at_elbow = clip((square - s[L1] * s[L1] - s[L2] * s[L2]) / (2.0 * s[L1] * s[L2]), -1.0, 1.0)
    return math.atan2(s[TX], -s[TY]) - math.acos(at_hand), math.acos(at_elbow)
