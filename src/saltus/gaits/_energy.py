"""How much energy a phase needs to come to its end: the least potential energy anywhere on its guard."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.optimize import minimize

from saltus.gaits._gait import Gait

# Random places from which the least is looked for.
PLACES = 24


def energy_lacking(gait: Gait, phase: int, x: np.ndarray, p: np.ndarray) -> tuple[float, float] | None:
    """The energy with which a phase begins and the least with which it could end, J, if that is more.

    Only where nothing drives the phase and its guard depends on coordinates alone can it be told.
    """
    one, held = gait.phases[phase], gait.held(phase)
    if one.ends is None or one.inputs:
        return None
    m, d = held.mechanism, held.system.dynamics
    guard = held.seen(one.ends)
    if ca.depends_on(guard, m.v):
        return None
    values = ca.Function("values", [m.q, d.p], [d.potential, ca.gradient(d.potential, m.q)])
    places = ca.Function("places", [m.q, d.p], [guard, ca.gradient(guard, m.q)])
    energy = float(ca.Function("energy", [d.x, d.p], [d.kinetic + d.potential])(x, p))
    random, least = np.random.default_rng(0), np.inf

    def miss(q: np.ndarray) -> float:
        return float(places(q, p)[0])

    on_guard = {"type": "eq", "fun": miss, "jac": lambda q: np.array(places(q, p)[1], dtype=float).ravel()}
    for _ in range(PLACES):
        found = minimize(
            lambda q: float(values(q, p)[0]), random.uniform(-np.pi, np.pi, m.nq), method="SLSQP",
            jac=lambda q: np.array(values(q, p)[1], dtype=float).ravel(), constraints=[on_guard],
        )  # fmt: skip
        if found.success and abs(miss(found.x)) < 1e-6:
            least = min(least, float(found.fun))
    # what is found is a little above the least, never below it by more than it misses the guard
    return (energy, least) if np.isfinite(least) and energy < least - 1e-5 * (1 + abs(least)) else None
