"""Chapters 3, 5 and 7.4 of [yang2016] as they are printed, with what is wrong in them as a choice.

Notation: [yang2016, 3.3]; theta1 from the x-axis there, and here from the vertical wherever a robot's is meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

# By the last and the new levels of both channels: the count, as printed [yang2016, 5.3.1].
ENCODER_TABLE = {
    (0, 0, 1, 0): 1, (0, 0, 0, 1): -1, (0, 1, 0, 0): 1, (0, 1, 1, 1): -1,
    (1, 0, 1, 1): 1, (1, 0, 0, 0): 1, (1, 1, 0, 1): 1, (1, 1, 1, 0): -1,
}  # fmt: skip

LETTERS = ("m1", "m2", "l1", "l2", "r1", "r2", "I1", "I2", "g")


@dataclass(frozen=True)
class Choices:
    """Which of the misprints of 3.3.1 are kept."""

    # the hat matrix has (3, 1) = w2 and not -w2
    hat: bool = False
    # the second joint is at (1, 0, 0) and not at (l1, 0, 0)
    elbow_at_one: bool = False
    # r1 stands for both links in the Jacobian of the second
    one_radius: bool = False
    # the general Jacobian is that of the chain's end for both links
    end_for_all: bool = False


def hat(w: Any, misprinted: bool) -> Any:
    """The matrix of a vector product."""
    low = w[1] if misprinted else -w[1]
    return ca.vertcat(ca.horzcat(0, -w[2], w[1]), ca.horzcat(w[2], 0, -w[0]), ca.horzcat(low, w[0], 0))


def dynamics(choices: Choices) -> Any:
    """The mass matrix, Coriolis terms and gravity by twists, as numbers: of angles, rates and the parameters."""
    theta, rate, p = ca.SX.sym("theta", 2), ca.SX.sym("rate", 2), ca.SX.sym("p", len(LETTERS))
    m1, m2, l1, l2, r1, r2, I1, I2, g = ca.vertsplit(p)
    second = r1 if choices.one_radius else r2
    axis, elbow = ca.DM([0, 0, 1]), 1.0 if choices.elbow_at_one else l1
    twists = [ca.vertcat(-ca.cross(axis, place), axis) for place in (ca.DM([0, 0, 0]), ca.vertcat(elbow, 0, 0))]
    homes = [_home(r1), _home(l1 + second)]

    def moved(home: Any, first: int, last: int) -> Any:
        for i in range(last, first - 1, -1):
            home = _exponential(twists[i], theta[i], choices.hat) @ home
        return home

    M, E_p = ca.SX.zeros(2, 2), ca.SX(0)
    for k, (mass, inertia) in enumerate(((m1, I1), (m2, I2))):
        last, home = (1, _home(l1 + l2)) if choices.end_for_all else (k, homes[k])
        J = ca.SX.zeros(6, 2)
        for j in range(last + 1):
            J[:, j] = _inverse_adjoint(moved(home, j, last), choices.hat) @ twists[j]
        M += J.T @ ca.diag(ca.vertcat(mass, mass, mass, 0, 0, inertia)) @ J
        E_p += mass * g * moved(homes[k], 0, k)[1, 3]
    return ca.Function("printed", [theta, rate, p], [M, _coriolis(M, theta, rate), ca.gradient(E_p, theta), E_p])


def _home(x: Any) -> Any:
    made = ca.SX.eye(4)
    made[0, 3] = x
    return made


def _exponential(twist: Any, angle: Any, misprinted: bool) -> Any:
    v, w = twist[:3], twist[3:]
    W = hat(w, misprinted)
    turn = ca.SX.eye(3) + W * ca.sin(angle) + W @ W * (1 - ca.cos(angle))
    along = (ca.SX.eye(3) - turn) @ ca.cross(w, v) + w @ w.T @ v * angle
    return ca.vertcat(ca.horzcat(turn, along), ca.DM([[0, 0, 0, 1]]))


def _inverse_adjoint(way: Any, misprinted: bool) -> Any:
    R, p = way[:3, :3], way[:3, 3]
    zero = ca.SX.zeros(3, 3)
    return ca.vertcat(ca.horzcat(R.T, -R.T @ hat(p, misprinted)), ca.horzcat(zero, R.T))


def _coriolis(M: Any, theta: Any, rate: Any) -> Any:
    """C times the rates."""
    C = ca.SX.zeros(2, 2)
    for i in range(2):
        for j in range(2):
            for k in range(2):
                C[i, j] += 0.5 * rate[k] * (
                    ca.jacobian(M[i, j], theta[k]) + ca.jacobian(M[i, k], theta[j]) - ca.jacobian(M[k, j], theta[i])
                )  # fmt: skip
    return C @ rate


def letters(p: Mapping[str, float]) -> np.ndarray:
    """The parameters of a robot in the order of the letters."""
    return np.array([p[name.upper() if name.startswith("l") else name] for name in LETTERS])


def energy(p: Mapping[str, float], x: np.ndarray) -> np.ndarray:
    """The total energy as printed in 7.4.3, of rows of both angles and rates, J."""
    t1, t2, w1, w2 = np.moveaxis(np.asarray(x), -1, 0)
    m1, m2, l1, r1, g = p["m1"], p["m2"], p["L1"], p["r1"], p["g"]
    bent = r1 + l1 * np.cos(t2)
    potential = g * (l1 * m2 + r1 * m1) * np.sin(t1) + g * r1 * m2 * np.sin(t1 + t2)
    kinetic = 0.5 * w2 * (m2 * r1**2 * w2 + m2 * r1 * w1 * bent)
    first = m2 * l1**2 + m1 * r1**2 + m2 * r1**2 + 2 * m2 * l1 * r1 * np.cos(t2)
    kinetic = kinetic + 0.5 * w1 * (w1 * first + m2 * r1 * w2 * bent)
    made: np.ndarray = potential + kinetic
    return made


def energy_change(p: Mapping[str, float], t2: float, w: np.ndarray, a: np.ndarray) -> float:
    """What accelerations add to the kinetic energy by 7.4.4, W, with its terms in l1 + r1 - 1."""
    m1, m2, near = p["m1"], p["m2"], p["L1"] + p["r1"] - 1
    far = near + math.cos(t2)
    first = m2 / 2 - m2 * math.cos(2 * t2) / 2 + m2 * far**2 + m1 * p["r1"] ** 2
    M = np.array([[first, m2 * near * far], [m2 * near * far, m2 * near**2]])
    return float(w @ M @ a)


def bracket(t2: np.ndarray, w1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    """Whose sign the torque has, as printed in 7.4.4: its first rate should be that of the first link."""
    made: np.ndarray = (w2 + w2) / 2 + w1 * np.cos(t2)
    return made
