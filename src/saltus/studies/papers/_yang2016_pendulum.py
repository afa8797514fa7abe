"""The two links of [yang2016] held at one end, written by hand: equations, energy, and integrators of its chapter 6.

Notation: [yang2016, 3.3], with r2 for the second link and angles from the vertical.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class Pendulum:
    """Two links: M = [[a1 + 2 a2 cos, a3 + a2 cos], [a3 + a2 cos, a3]], gravity g1 and g2; kg m^2 and N m."""

    a1: float
    a2: float
    a3: float
    g1: float
    g2: float

    @staticmethod
    def of(p: Mapping[str, float]) -> Pendulum:
        """Of parameters by name."""
        a3 = p["I2"] + p["m2"] * p["r2"] ** 2
        return Pendulum(
            p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2 + a3,
            p["m2"] * p["L1"] * p["r2"],
            a3,
            p["g"] * (p["m1"] * p["r1"] + p["m2"] * p["L1"]),
            p["g"] * p["m2"] * p["r2"],
        )

    def mass(self, theta2: float) -> np.ndarray:
        """The mass matrix."""
        c = self.a2 * math.cos(theta2)
        return np.array([[self.a1 + 2 * c, self.a3 + c], [self.a3 + c, self.a3]])

    def rates(self, x: np.ndarray | list[float], torque: float) -> tuple[float, float, float, float]:
        """How angles and rates change under a torque of the elbow."""
        q1, q2, w1, w2 = x
        c, s, both = math.cos(q2), math.sin(q2), self.g2 * math.sin(q1 + q2)
        M11, M12, M22 = self.a1 + 2 * self.a2 * c, self.a3 + self.a2 * c, self.a3
        n1 = -self.a2 * s * w2 * (2 * w1 + w2) + self.g1 * math.sin(q1) + both
        n2 = self.a2 * s * w1 * w1 + both - torque
        scale = 1 / (M11 * M22 - M12 * M12)
        return w1, w2, (M12 * n2 - M22 * n1) * scale, (M12 * n1 - M11 * n2) * scale

    def energy(self, x: np.ndarray) -> np.ndarray:
        """Of rows of angles and rates, J; zero of height where it is held."""
        q1, q2, w1, w2 = np.moveaxis(np.asarray(x), -1, 0)
        c = self.a2 * np.cos(q2)
        kinetic = (0.5 * self.a1 + c) * w1**2 + (self.a3 + c) * w1 * w2 + 0.5 * self.a3 * w2**2
        made: np.ndarray = kinetic - self.g1 * np.cos(q1) - self.g2 * np.cos(q1 + q2)
        return made


Torque = Callable[[float], float]


def euler(of: Pendulum, start: list[float], torque: Torque, step: float, count: int, *, semi: bool) -> np.ndarray:
    """States after each step; with ``semi``, positions by the new rates."""
    rows, x = [start], start
    for k in range(count):
        w1, w2, b1, b2 = of.rates(x, torque(k * step))
        v1, v2 = x[2] + step * b1, x[3] + step * b2
        if semi:
            w1, w2 = v1, v2
        x = [x[0] + step * w1, x[1] + step * w2, v1, v2]
        rows.append(x)
    return np.array(rows)


def runge_kutta(of: Pendulum, start: list[float], torque: Torque, step: float, count: int) -> np.ndarray:
    """The same by the classical method of fourth order."""
    rows = [np.array(start)]
    for k in range(count):
        x, u = rows[-1], torque(k * step)
        a = np.array(of.rates(x, u))
        b = np.array(of.rates(x + 0.5 * step * a, u))
        c = np.array(of.rates(x + 0.5 * step * b, u))
        d = np.array(of.rates(x + step * c, u))
        rows.append(x + step / 6 * (a + 2 * b + 2 * c + d))
    return np.array(rows)


def solved(of: Pendulum, start: list[float], torque: Torque, hold: float, until: float) -> np.ndarray:
    """States every ``hold`` seconds, over which the torque stays the same, by SciPy's DOP853."""
    count = round(until / hold)
    rows = [np.array(start)]
    for k in range(count):
        u = torque(k * hold)
        run = solve_ivp(
            lambda t, x, u=u: of.rates(x, u), (0.0, hold), rows[-1], method="DOP853", rtol=1e-13, atol=1e-13
        )  # fmt: skip
        rows.append(run.y[:, -1])
    return np.array(rows)
