"""The problem that all contestants solve: its numbers, its equations in plain Python, and a solution to measure by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import saltus

END = 10.0
SPACING = 1e-3
COUNT = 10_000
TOLERANCE = 1e-9
START = {"theta1": 1.0, "theta2": 0.5}

# The contestants that others are compared with.
BY_HAND = "C, by hand"
COMPILED = "saltus, compiled calls"
PUBLIC = "saltus, `simulate` and `run.x`"


@dataclass(frozen=True)
class Contestant:
    """One way to solve the problem; only ``solve`` is timed.

    ``prepare`` returns what ``solve`` takes, ``states`` turns what ``solve`` left behind into a row
    (theta1, theta2, omega1, omega2) at each millisecond.
    """

    name: str
    prepare: Callable[[], Any]
    solve: Callable[[Any], Any]
    states: Callable[[Any], np.ndarray]
    slow: bool = False


@lru_cache(maxsize=1)
def robot() -> saltus.HybridSystem:
    """The robot whose parameters all contestants use."""
    return saltus.robots.double_pendulum()  # type: ignore[no-any-return]


def start() -> np.ndarray:
    """The first state, at rest."""
    return np.array([START["theta1"], START["theta2"], 0.0, 0.0])


def times() -> np.ndarray:
    """When the states are wanted, s."""
    return SPACING * np.arange(COUNT + 1)


def make_flow() -> Callable[[float, Any], list[float]]:
    """The equations of motion for SciPy: floats and `math` only, since arrays of four cost more than they save."""
    p = robot().values
    upper = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    lower = p["I2"] + p["m2"] * p["r2"] ** 2
    coupling = p["m2"] * p["L1"] * p["r2"]
    weight_upper = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"]
    weight_lower = p["m2"] * p["r2"] * p["g"]
    sin, cos = math.sin, math.cos

    def flow(t: float, y: Any) -> list[float]:
        theta1, theta2, w1, w2 = y.tolist()
        bend, twist = coupling * cos(theta2), coupling * sin(theta2)
        m12 = lower + bend
        m11 = upper + m12 + bend
        pull = weight_lower * sin(theta1 + theta2)
        f1 = twist * w2 * (w1 + w1 + w2) - weight_upper * sin(theta1) - pull
        f2 = -twist * w1 * w1 - pull
        inverse = 1.0 / (m11 * lower - m12 * m12)
        return [w1, w2, (lower * f1 - m12 * f2) * inverse, (m11 * f2 - m12 * f1) * inverse]

    return flow


def reference() -> np.ndarray:
    """States at each millisecond by SciPy's DOP853 at rtol 1e-13 and atol 1e-14."""
    from scipy.integrate import solve_ivp

    solution = solve_ivp(make_flow(), (0.0, END), start(), method="DOP853", t_eval=times(), rtol=1e-13, atol=1e-14)
    states: np.ndarray = solution.y.T
    return states


def second_reference() -> np.ndarray:
    """States at each millisecond by another method on other coordinates, to check the first reference.

    The angles are absolute here, the equations are typed anew, and each millisecond is one
    extrapolated midpoint step of order 8, so that nothing is interpolated.
    """
    p = robot().values
    a = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    b = p["m2"] * p["L1"] * p["r2"]
    c = p["I2"] + p["m2"] * p["r2"] ** 2
    e = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"]
    f = p["m2"] * p["r2"] * p["g"]

    def rate(y: np.ndarray) -> np.ndarray:
        alpha, beta, va, vb = y.tolist()
        cosine, sine = b * math.cos(alpha - beta), b * math.sin(alpha - beta)
        left = -sine * vb * vb - e * math.sin(alpha)
        right = sine * va * va - f * math.sin(beta)
        d = a * c - cosine * cosine
        return np.array([va, vb, (c * left - cosine * right) / d, (a * right - cosine * left) / d])

    def change(y: np.ndarray, k: np.ndarray, n: int) -> np.ndarray:
        """Change of the state over a millisecond in n modified midpoint steps."""
        h = SPACING / n
        before, now = np.zeros(4), h * k
        for _ in range(n - 1):
            before, now = now, before + 2 * h * rate(y + now)
        return 0.5 * (before + now + h * rate(y + now))

    y = start()
    y[1] += y[0]
    y[3] += y[2]
    rows, lost = [y], np.zeros(4)
    for _ in range(COUNT):
        k = rate(y)
        table = [change(y, k, n) for n in (2, 4, 6, 8)]
        for level in range(1, 4):
            for j in range(3, level - 1, -1):
                table[j] = table[j] + (table[j] - table[j - 1]) / (((j + 1) / (j + 1 - level)) ** 2 - 1)
        # ten thousand additions: what rounding takes from one is given to the next
        step = table[3] + lost
        after = y + step
        lost = step - (after - y)
        y = after
        rows.append(y)
    states = np.array(rows)
    states[:, 1] -= states[:, 0]
    states[:, 3] -= states[:, 2]
    return states
