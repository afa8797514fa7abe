"""The matrices of [vigne2019] as they are printed, and how far the derived ones are from them.

Notation: [vigne2019]; in space v = (velocity of the axle in the body's axes, angular velocity likewise, wheel rate).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from saltus.hybrid import HybridSystem

Numbers = Mapping[str, float]


def skew(a: np.ndarray) -> np.ndarray:
    """The matrix of a vector product."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def contact_rows(R: np.ndarray, r: float) -> np.ndarray:
    """J of (9): the velocity of the contact point in the body's axes."""
    arm = skew(R.T @ [0, 0, r])
    return np.hstack([np.eye(3), arm, arm[:, 1:2]])


def contact_rates(R: np.ndarray, spin: np.ndarray, r: float) -> np.ndarray:
    """The rate of J, (10)."""
    arm = skew(-skew(spin) @ R.T @ [0, 0, r])
    return np.hstack([np.zeros((3, 3)), arm, arm[:, 1:2]])


def three_coordinates(p: Numbers, theta: float, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass matrix, other forces and the row of rolling in x, theta, phi: (11) and (13)."""
    m, l, J = p["m"], p["l"], p["J"]
    c, s = math.cos(theta), math.sin(theta)
    H = np.array([[m + p["m_w"], l * m * c, 0], [l * m * c, l**2 * m + p["I"] + J, J], [0, J, J]])
    return H, np.array([-(rate**2) * l * m * s, -p["g"] * l * m * s, 0]), np.array([1, -p["r"], -p["r"]])


def two_coordinates(p: Numbers, theta: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and other forces in theta, phi: (14) and (15)."""
    coupling, wheel = p["l"] * p["m"] * p["r"], _wheel(p)
    c, s = math.cos(theta), math.sin(theta)
    first = 2 * coupling * c + p["l"] ** 2 * p["m"] + wheel + p["I"]
    H = np.array([[first, coupling * c + wheel], [coupling * c + wheel, wheel]])
    return H, -s * np.array([rate**2 * coupling + p["g"] * p["l"] * p["m"], rate**2 * coupling])


def rolled(p: Numbers) -> np.ndarray:
    """Mass matrix in theta, psi about the upright body: (18)."""
    coupling = p["l"] * p["m"] * p["r"]
    return np.array([[p["m"] * p["l"] ** 2 + p["I"], coupling], [coupling, _wheel(p)]])


def linear(p: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """A and B of (21), in theta, its rate, psi, its rate."""
    inverse = np.linalg.inv(rolled(p))
    gravity = p["m"] * p["l"] * p["g"]
    A = np.zeros((4, 4))
    A[0, 1] = A[2, 3] = 1.0
    A[1, 0], A[3, 0] = inverse[0, 0] * gravity, inverse[0, 1] * gravity
    return A, np.array([0, inverse[0, 1] - inverse[0, 0], 0, inverse[1, 1] - inverse[1, 0]])[:, None]


def difference_printed(p: Numbers) -> float:
    """What must not be zero by the paper: J + (m + m_w) r² - m l r, kg m²."""
    return _wheel(p) - p["m"] * p["l"] * p["r"]


def determinant(p: Numbers) -> float:
    """Of the controllability matrix of (23), corrected: a square over a power, positive for positive parameters."""
    reach = p["g"] * p["l"] * p["m"] * (_wheel(p) + p["m"] * p["l"] * p["r"])
    return float(reach**2 / np.linalg.det(rolled(p)) ** 4)


def _wheel(p: Numbers) -> float:
    return (p["m"] + p["m_w"]) * p["r"] ** 2 + p["J"]


class Derived:
    """What a robot's derived equations say, as numbers: mass matrix, other forces, rows of its contact and drifts."""

    def __init__(self, system: HybridSystem) -> None:
        d = system.dynamics
        rows = [d.row(row) for unit in system.units for _, row in unit.rows]
        J = ca.vertcat(*(row[0] for row in rows), ca.SX.zeros(0, d.v.numel()))
        drift = ca.vertcat(*(row[1] for row in rows), ca.SX.zeros(0))
        self.system = system
        self._parts = ca.Function("parts", [d.x, d.p], [d.M, d.h, J, drift])

    def __call__(self, x: Any, **values: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        p = (self.system.with_parameters(**values) if values else self.system).parameter_values
        M, h, J, drift = (np.array(part, dtype=float) for part in self._parts(x, p))
        return M, h.ravel(), J, drift.ravel()
