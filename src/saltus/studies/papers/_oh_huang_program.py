"""What the program of [oh_huang] computed, step by step: it shows where its published distance comes from.

Written anew after the authors' own [oh_huang_program], of which it keeps what decides the distance: a gravity that is
9.8 wherever it is used, the sign of sliding as a number that is updated between steps, the tolerances of each phase,
and in the impact law a moment of inertia that was twice too large until a later version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

# Notation: [oh_huang, item 1]; X = (x, y, theta1, theta2) and their rates.
MASS, HALF, FRICTION = 0.3, 0.15, 0.3
W = np.eye(2, 4)
UNTIL, OUTPUT_STEP = 3.0, 0.0005
# Their event of separation is this much below zero, N.
SLACK = 0.01

Vector = np.ndarray
Motion = Callable[[float, Vector], Vector]
Events = Callable[[float, Vector], tuple[Vector, list[int]]]

# Notation: [dormand1980]; E is the error of the step, BI its dense output as in [shampine1997].
A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
C = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
BI = np.array(
    [
        [1, -183 / 64, 37 / 12, -145 / 128], [0, 0, 0, 0], [0, 1500 / 371, -1000 / 159, 1000 / 371],
        [0, -125 / 32, 125 / 12, -375 / 64], [0, 9477 / 3392, -729 / 106, 25515 / 6784],
        [0, -11 / 7, 11 / 3, -55 / 28], [0, 3 / 2, -4, 5 / 2],
    ]
)  # fmt: skip


def matrices(X: Vector, g: float) -> tuple[Vector, Vector, Vector]:
    """M, B and G as they are printed."""
    m, l = MASS, HALF
    one, two, d1, d2 = X[2], X[3], X[6], X[7]
    s1, c1, s2, c2, s12, c12 = (f(angle) for angle in (one, two, one + two) for f in (math.sin, math.cos))
    a, b, c = -l * m * (s12 + 3 * s1), l * m * (c12 + 3 * c1), 2 * m * l**2 / 3 * (3 * c2 + 2)
    M = np.array(
        [
            [2 * m, 0, a, -l * m * s12], [0, 2 * m, b, l * m * c12],
            [a, b, 4 / 3 * l**2 * m * (3 * c2 + 5), c], [-l * m * s12, l * m * c12, c, 4 / 3 * m * l**2],
        ]
    )  # fmt: skip
    B = np.array(
        [
            -l * m * (d1**2 * c12 + d2**2 * c12 + 3 * d1**2 * c1 + 2 * d1 * d2 * c12),
            -l * m * (d1**2 * s12 + d2**2 * s12 + 3 * d1**2 * s1 + 2 * d1 * d2 * s12),
            -2 * m * l**2 * d2 * s2 * (2 * d1 + d2),
            2 * m * l**2 * d1**2 * s2,
        ]
    )
    return M, B, np.array([0, 2 * m * g, l * g * m * (c12 + 3 * c1), l * g * m * c12])


def torque(t: float) -> float:
    """The profile, each piece in its local time."""
    if t < 0.06:
        return 3.2 - 1500 * (t - 0.04) ** 2
    if t < 0.25:
        return -0.6 + 3 * (t - 0.06)
    return 0.9 - 15 * (t - 0.25) if t < 0.35 else 0.0


@dataclass
class Program:
    """One run of it; ``inertia`` is how many times too large a link's moment of inertia is in the impact law."""

    inertia: float
    g: float = 9.8
    sigma: float = 1.0
    times: list[float] = field(default_factory=list)
    states: list[Vector] = field(default_factory=list)
    kappa: float = math.nan
    distance: float = math.nan
    slip_tolerance: float = 1e-6

    def run(self) -> Program:
        """Stick, slip, flight, impact, slip."""
        phi = math.radians(54)
        t, X = 0.0, np.array([0, 0, math.radians(55) + phi, -2 * phi, 0, 0, 0, 0])
        phases: list[tuple[Motion, Events, float]] = [
            (self._stick, self._stick_events, 1e-12),
            (self._slip, self._slip_events, self.slip_tolerance),
            (self._fly, self._fly_events, 1e-12),
            (self._slip, self._slip_events, self.slip_tolerance),
        ]
        for k, (motion, events, tolerance) in enumerate(phases):
            if k == 3:
                X = self._impact(X)
            self.states.append(X)
            t, X = _ode45(motion, events, t, X, tolerance)
            self.times.append(t)
        self.states.append(X)
        self.distance = float(min(X[0], X[0] + 2 * HALF * math.cos(X[2])))
        return self

    def forces(self, t: float, X: Vector, sigma: float) -> tuple[Vector, float]:
        """Forces of a foot that sticks, and the normal force of one that slides."""
        M, B, G = matrices(X, self.g)
        rest = np.linalg.solve(M, B + G - np.array([0, 0, 0, torque(t)]))
        stick = np.linalg.solve(W @ np.linalg.solve(M, W.T), W @ rest)
        return stick, float(rest[1] / np.linalg.solve(M, [-sigma * FRICTION, 1, 0, 0])[1])

    def _accelerate(self, t: float, X: Vector, force: Vector) -> Vector:
        M, B, G = matrices(X, self.g)
        return np.concatenate([X[4:], np.linalg.solve(M, W.T @ force + [0, 0, 0, torque(t)] - B - G)])

    def _stick(self, t: float, X: Vector) -> Vector:
        rates = self._accelerate(t, X, self.forces(t, X, self.sigma)[0])
        rates[4:6] = 0.0
        return rates

    def _slip(self, t: float, X: Vector) -> Vector:
        normal = self.forces(t, X, self.sigma)[1]
        rates = self._accelerate(t, X, normal * np.array([-self.sigma * FRICTION, 1.0]))
        rates[5] = 0.0
        return rates

    def _fly(self, t: float, X: Vector) -> Vector:
        return self._accelerate(t, X, np.zeros(2))

    def _stick_events(self, t: float, X: Vector) -> tuple[Vector, list[int]]:
        (along, normal), _ = self.forces(t, X, self.sigma)
        knee, head = _heights(X)
        return np.array([FRICTION * normal - along, -along - FRICTION * normal, head, knee, normal]), [0, 0, -1, -1, -1]

    def _slip_events(self, t: float, X: Vector) -> tuple[Vector, list[int]]:
        # events are asked at the start, where the foot stands, and after each step
        self.sigma = float(np.sign(X[4]))
        knee, head = _heights(X)
        values = np.array([self.forces(t, X, self.sigma)[1] + SLACK, X[4], head, knee])
        return values, [-1, -1 if self.sigma == 1 else 1, -1, -1]

    def _fly_events(self, t: float, X: Vector) -> tuple[Vector, list[int]]:
        knee, head = _heights(X)
        return np.array([X[1], head, knee]), [0, 0, 0]

    def _impact(self, X: Vector) -> Vector:
        # Notation: [oh_huang, item 3] with both restitutions zero
        M = matrices(X, self.g)[0] + (self.inertia - 1) * turning()
        compliance, v = W @ np.linalg.solve(M, W.T), X[4:6]
        one, two = np.array([0.0, -v[1] / compliance[1, 1]]), -np.linalg.solve(compliance, v)
        self.kappa = 1.0
        if abs(two[0]) > FRICTION * two[1]:
            self.kappa = float(FRICTION * one[1] / (abs(two[0]) - FRICTION * (two[1] - one[1])))
        impulse = one + self.kappa * (two - one)
        return np.concatenate([X[:4], X[4:] + np.linalg.solve(M, W.T @ impulse)])


def turning() -> Vector:
    """The part of M that is the links' moments of inertia about their centres, m (2 l)^2 / 12 each."""
    turns = np.array([[0, 0, 1, 0], [0, 0, 1, 1]])
    return MASS * (2 * HALF) ** 2 / 12 * turns.T @ turns


def _heights(X: Vector) -> tuple[float, float]:
    knee = X[1] + 2 * HALF * math.sin(X[2])
    return knee, knee + 2 * HALF * math.sin(X[2] + X[3])


def _ode45(f: Motion, events: Events, t: float, X: Vector, tolerance: float) -> tuple[float, Vector]:
    """Time and state of the first event; steps are chosen as in [shampine1997].

    Relative and absolute tolerance are the same, so that the scale of the error is at least one. The order of calls
    matters: ``f`` once before the events at the start, which may change what ``f`` gives afterwards.
    """
    begin, slope = t, f(t, X)
    before = events(t, X)[0]
    longest = 0.1 * (UNTIL - t)
    rate = np.max(np.abs(slope) / np.maximum(np.abs(X), 1)) / (0.8 * tolerance**0.2)
    h = min(longest, OUTPUT_STEP, 1 / rate)
    while t < UNTIL:
        shortest = 16 * np.spacing(t)
        h = min(longest, max(shortest, h))
        failed = False
        while True:
            K, end, error = _step(f, t, X, slope, h)
            if error <= tolerance or h <= shortest:
                break
            h = max(shortest, 0.5 * h if failed else h * max(0.1, 0.8 * (tolerance / error) ** 0.2))
            failed = True
        after, directions = events(t + h, end)
        started = before == 0 if t == begin else np.zeros(len(before), dtype=bool)
        if _crossed(before, after, directions, started):
            return _locate(events, t, X, h, K, before, directions, started)
        t, X, slope, before = t + h, end, K[:, 6], after
        if not failed:
            h /= max(0.2, 1.25 * (error / tolerance) ** 0.2)
    raise ArithmeticError("no event ends this phase")


def _step(f: Motion, t: float, X: Vector, slope: Vector, h: float) -> tuple[Vector, Vector, float]:
    K = np.empty((len(X), 7))
    K[:, 0] = slope
    for k, (row, c) in enumerate(zip(A, C, strict=True), 1):
        end = X + h * K[:, :k] @ row
        K[:, k] = f(t + c * h, end)
    scale = np.maximum(np.maximum(np.abs(X), np.abs(end)), 1)
    return K, end, float(h * np.max(np.abs(K @ E) / scale))


def _crossed(before: Vector, after: Vector, directions: list[int], started: Vector) -> bool:
    """Whether any value changed its sign the way it counts; those that were zero at the start do not."""
    return bool(((np.sign(before) != np.sign(after)) & (directions * (after - before) >= 0) & ~started).any())


def _locate(
    events: Events, t: float, X: Vector, h: float, K: Vector, before: Vector, directions: list[int], started: Vector
) -> tuple[float, Vector]:
    """The first event of a step, by halving."""
    low, high = 0.0, 1.0

    def at(share: float) -> Vector:
        return X + K @ (h * BI) @ np.cumprod([share] * 4)

    while (high - low) * h > 128 * np.spacing(t + h) and high - low > 1e-16:
        middle = 0.5 * (low + high)
        if _crossed(before, events(t + middle * h, at(middle))[0], directions, started):
            high = middle
        else:
            low = middle
    events(t + high * h, at(high))
    return float(t + high * h), at(high)
