"""Starts of a cycle seen from the end of its first phase, from which time is run backwards.

Where a phase ends on a guard that is hardly reached, its end depends on its start as on a square root, and
Newton's method fails. The start depends on the end smoothly. So where nothing drives or brakes the first
phase, its end is taken as the unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import least_squares

from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import run_cycle
from saltus.gaits._cycles import run_many
from saltus.gaits._gait import Gait
from saltus.gaits._phase import Phase

# How much faster a guess may be made until it reaches the end of the first phase.
FASTER = (1.0, 1.001, 1.003, 1.01, 1.03, 1.1)


class Backwards:
    """The first phase of a gait run from its end to its start."""

    def __init__(self, gait: Gait):
        first = gait.phases[0]
        if first.ends is None or first.inputs or len(gait.section) != 1 or gait.held(0).system.units:
            raise InputError(f"gait {gait.name}: its first phase cannot be run backwards")
        self.gait = gait
        (name, value), m = next(iter(gait.section.items())), gait.robot.mechanism
        section = m.coordinate(name).symbol - value
        self.reverse = Gait(f"{gait.name}, backwards", gait.robot, (Phase("back", first.holds, section),), section={})
        held = gait.held(0)
        x, p = ca.vertcat(held.mechanism.q, held.mechanism.v), held.mechanism.p
        guard = held.seen(first.ends)
        self.guard = ca.Function("guard", [x, p], [guard, ca.densify(ca.jacobian(guard, x))])
        self.p = held.system.parameter_values
        nq = held.mechanism.nq
        self.sign = np.array([1.0] * nq + [-1.0] * nq)

    def end(self, start: Mapping[str, float]) -> np.ndarray:
        """The state at the end of the first phase; a guess that gets there late, or never, is made a little faster."""
        only = Gait("first phase", self.gait.robot, self.gait.phases[:1], section={})
        fast = self.gait.held(0).mechanism.velocities
        factors = {name: np.array(FASTER) if name in fast else np.ones(len(FASTER)) for name in start}
        ends = run_many(only, {name: value * factors[name] for name, value in start.items()})
        if not ends.good.any():
            raise SaltusError(f"gait {self.gait.name}: from the guess, {self.gait.phases[0].name} is never reached")
        times = np.where(ends.good, ends.period, np.inf)
        soon = int(np.argmax(times <= 1.3 * times.min()))
        chosen = {name: float(value * factors[name][soon]) for name, value in start.items()}
        return np.asarray(run_cycle(only, chosen).runs[0].x[-1])

    def on_guard(self, y: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
        """A state moved onto the guard by one of its coordinates, and its derivative by the others."""
        y = y.copy()
        for _ in range(30):
            value, slope = (np.array(part, dtype=float).ravel() for part in self.guard(y, self.p))
            if abs(slope[place]) < 1e-12:
                raise SaltusError("the guard does not depend on this coordinate here")
            y[place] -= value[0] / slope[place]
            if abs(value[0]) < 1e-15:
                break
        slope = np.array(self.guard(y, self.p)[1], dtype=float).ravel()
        others = [i for i in range(len(y)) if i != place]
        D = np.zeros((len(y), len(others)))
        for k, i in enumerate(others):
            D[i, k], D[place, k] = 1.0, -slope[i] / slope[place]
        return y, D

    def start(self, y: np.ndarray) -> tuple[dict[str, float], np.ndarray]:
        """The start from which the first phase comes to an end, and its derivative by that end."""
        names = self.reverse.state_names
        back = run_cycle(self.reverse, dict(zip(names, self.sign * y, strict=True)), derivatives=True)
        assert back.jacobian is not None
        x = self.sign * np.array(list(back.final.values()))
        return dict(zip(names, x.tolist(), strict=True)), self.sign[:, None] * back.jacobian * self.sign


def shoot_backwards(gait: Gait, guess: Mapping[str, float], knobs: Mapping[str, float]) -> dict[str, float]:
    """A start near a guess at which the cycle closes, found from the end of its first phase."""
    backwards = Backwards(gait)
    y0 = backwards.end(guess)
    slope = np.array(backwards.guard(y0, backwards.p)[1], dtype=float).ravel()
    nq = len(y0) // 2
    place = int(np.abs(slope[:nq]).argmax())
    others = [i for i in range(len(y0)) if i != place]
    wanted = [name for name in gait.free if not gait.unknowns or name in gait.unknowns]
    given = [name for name in gait.free if name not in wanted]
    names = gait.state_names
    free = [names.index(name) for name in gait.free]
    latest: dict[str, Any] = {}

    def residual(z: np.ndarray) -> np.ndarray:
        y = y0.copy()
        y[others] = z
        try:
            y, D = backwards.on_guard(y, place)
            start, by_end = backwards.start(y)
            cycle = run_cycle(gait, {name: start[name] for name in gait.free}, knobs, derivatives=True)
        except SaltusError:
            return np.full(len(free) + len(given), 1e3)
        assert cycle.jacobian is not None
        dx = by_end @ D
        closing = (cycle.jacobian[:, : len(names)] @ dx - dx)[free]
        more = [names.index(name) for name in given]
        latest["J"], latest["start"], latest["z"] = np.vstack([closing, dx[more]]), start, z.copy()
        return np.concatenate([cycle.residual, [start[name] - guess[name] for name in given]])

    def slopes(z: np.ndarray) -> np.ndarray:
        if not np.array_equal(z, latest["z"]):
            residual(z)
        return np.asarray(latest["J"])

    first = residual(y0[others])
    if "J" not in latest or first[0] == 1e3:
        raise SaltusError(f"gait {gait.name}: its first phase cannot be run backwards from the guess")
    found = least_squares(
        residual, y0[others], jac=slopes, x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=80
    )
    residual(found.x)
    start = {name: float(latest["start"][name]) for name in gait.free}
    return start | {name: float(guess[name]) for name in given}
