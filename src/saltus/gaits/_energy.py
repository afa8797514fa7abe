"""How much energy a phase needs to come to its end: the least potential energy anywhere on its guard."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from scipy.optimize import minimize

from saltus.engine._cases import column, columns
from saltus.gaits._gait import Gait

# Places in each coordinate at which the guard is looked at, and how many of the lowest are looked at closely.
GRID, LOWEST = 361, 6


class Needs:
    """What can be told of the energy of a phase that nothing drives and whose end depends on two angles alone."""

    def __init__(self, gait: Gait, phase: int):
        held = gait.held(phase)
        m, d = held.mechanism, held.system.dynamics
        guard = held.seen(gait.phases[phase].ends)
        self.energy = ca.Function("energy", [d.x, d.p], [d.kinetic + d.potential])
        self.place = ca.Function("place", [m.q, d.p], [d.potential, guard])
        self.slopes = ca.Function("slopes", [m.q, d.p], [ca.gradient(d.potential, m.q), ca.gradient(guard, m.q)])
        self.known: dict[bytes, float] = {}

    def least(self, p: np.ndarray) -> float:
        """The least potential energy on the guard, J; that of nothing if it is nowhere zero."""
        key = p.tobytes()
        if key not in self.known:
            self.known[key] = self._least(p)
        return self.known[key]

    def _least(self, p: np.ndarray) -> float:
        angles = np.linspace(-math.pi, math.pi, GRID)
        q = np.stack(np.meshgrid(angles, angles, indexing="ij"), axis=-1)
        values, guard = (
            part.reshape(GRID, GRID) for part in columns(self.place, q.reshape(-1, 2), np.tile(p, (q.size // 2, 1)))
        )
        corners = np.stack([guard[:-1, :-1], guard[1:, :-1], guard[:-1, 1:], guard[1:, 1:]])
        # cells that the guard passes, or touches
        passed = (corners.min(axis=0) <= 0) & (corners.max(axis=0) >= 0)
        if not passed.any():
            return math.inf
        low = np.where(passed, np.minimum(values[:-1, :-1], values[1:, 1:]), np.inf)
        best = math.inf
        for cell in np.argsort(low, axis=None)[:LOWEST]:
            i, k = np.unravel_index(cell, low.shape)
            found = minimize(
                lambda x: float(self.place(x, p)[0]), q[i, k], method="SLSQP",
                jac=lambda x: np.array(self.slopes(x, p)[0], dtype=float).ravel(),
                constraints=[{
                    "type": "eq",
                    "fun": lambda x: float(self.place(x, p)[1]),
                    "jac": lambda x: np.array(self.slopes(x, p)[1], dtype=float).ravel(),
                }],
            )  # fmt: skip
            if found.success and abs(float(self.place(found.x, p)[1])) < 1e-6:
                best = min(best, float(found.fun))
        # if no place could be looked at closely, no more is known than what the grid says
        step = angles[1] - angles[0]
        steepest = float(np.abs(np.gradient(values, step)).sum(axis=0).max())
        return (
            min(best, float(low.min()) + step * steepest) if math.isfinite(best) else float(low.min()) - step * steepest
        )

    def lacking(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Which starts, a row each, have too little energy to come to the end at all; surely so."""
        least = self.least(p)
        energy = column(self.energy, x, np.tile(p, (len(x), 1))).ravel()
        return np.asarray(energy < least - 1e-6 * (1 + abs(least)))


def needs_of(gait: Gait, phase: int) -> Needs | None:
    """What can be told of the energy that a phase needs, made once; None if nothing can."""

    def make() -> Needs | None:
        one, held = gait.phases[phase], gait.held(phase)
        units = list(held.mechanism.coordinates.values())
        tells = one.ends is not None and not one.inputs and units == ["rad", "rad"]
        if tells:
            guard, m = held.seen(one.ends), held.mechanism
            tells = not ca.depends_on(guard, ca.vertcat(m.v, m.t)) and not ca.depends_on(
                held.system.dynamics.potential, m.t
            )
        return Needs(gait, phase) if tells else None

    made: Needs | None = gait.once(("needs", phase), make)
    return made
