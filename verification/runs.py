"""Random runs whose inputs are plain numbers, so that a copy of them can be written down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from generated import machine

from saltus.conformance._draw import UNLIMITED, draw
from saltus.control import PD, Constant, Schedule, Sine
from saltus.engine import Batch, Trajectory, simulate_many
from saltus.engine._cases import Cases
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot

MAX_EVENTS, EVENTS_COMPARED = 500, 16

# Sampled controllers share one period, s, so that a whole batch can be shifted by a multiple of it.
PERIOD = 0.04


@dataclass(frozen=True)
class Push:
    """What drives a run: nothing, levels in turn, a sine, or a PD; rows of numbers, an entry for each actuator."""

    kind: str
    levels: tuple[tuple[float, ...], ...] = ()
    starts: tuple[float, ...] = ()
    omega: float = 1.0
    phase: float = 0.0
    count: int = 0

    def controller(self) -> Any:
        """The controller of saltus that this is."""
        if self.kind == "none":
            return None
        if self.kind == "constant":
            return Constant(list(self.levels[0]))
        if self.kind == "steps":
            return Schedule.steps(self.starts, [list(row) for row in self.levels])
        if self.kind == "sine":
            return Sine(list(self.levels[0]), self.omega, self.phase, list(self.levels[1]))
        period = self.starts[0] if self.kind == "sampled" else None
        return PD(list(self.levels[0]), list(self.levels[1]), list(self.levels[2]), period)

    def drives(self, system: HybridSystem) -> list[str]:
        """The coordinates that it sees."""
        driven = [actuator.coordinate for actuator in system.mechanism.actuators.values()]
        return [name for name in driven if name is not None] if self.kind in ("pd", "sampled") else []

    def inputs(self, t: float, x: np.ndarray, driven: list[tuple[int, int]]) -> np.ndarray:
        """The same, evaluated here, for controllers that are not sampled; at a step its value from there on.

        ``driven`` are the places of the coordinates that it sees, and of their rates.
        """
        if self.kind == "none":
            return np.zeros(self.count)
        if self.kind == "constant":
            return np.array(self.levels[0])
        if self.kind == "steps":
            piece = int(np.searchsorted(self.starts, t, side="right")) - 1
            return np.array(self.levels[piece]) if piece >= 0 else np.zeros(self.count)
        if self.kind == "sine":
            return np.array(self.levels[1]) + np.array(self.levels[0]) * math.sin(self.omega * t + self.phase)
        kp, kd, target = map(np.array, self.levels)
        places, rates = np.array(driven).T
        return np.asarray(kp * (target - x[places]) - kd * x[rates])

    def changed(self, force: np.ndarray, place: np.ndarray, order: list[int], time: float, shift: float) -> Push:
        """With forces and coordinates by these factors, actuators in another order, another unit and zero of time."""

        def row(values: Any, factor: Any) -> tuple[float, ...]:
            changed = np.asarray(values) * factor
            return tuple(changed[order].tolist())

        if self.kind == "none":
            return self
        if self.kind in ("pd", "sampled"):
            kp, kd, target = self.levels
            levels = row(kp, force / place), row(kd, force / place * time), row(target, place)
            return replace(self, levels=levels, starts=tuple(time * one for one in self.starts))
        omega = self.omega / time
        return replace(
            self,
            levels=tuple(row(one, force) for one in self.levels),
            starts=tuple(time * one + shift for one in self.starts),
            omega=omega,
            phase=self.phase - omega * shift,
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of one robot, ready to be made."""

    system: HybridSystem
    states: np.ndarray
    parameters: dict[str, np.ndarray]
    pushes: list[Push]
    options: dict[str, Any]

    def make(self) -> Batch:
        """All of them."""
        controllers = [push.controller() for push in self.pushes]
        given = {"parameters": self.parameters, "controllers": controllers, "events_kept": EVENTS_COMPARED}
        return simulate_many(self.system, self.states, **given, **self.options)


@lru_cache(maxsize=64)
def robot(name: str) -> HybridSystem:
    """A registered robot, or a machine by its number."""
    return machine(int(name[len("machine") :])) if name.startswith("machine") else find_robot(name)


def drawn(name: str, count: int, *seed: int, sampled: bool = True) -> Runs:
    """Random runs of a robot; ``sampled`` allows sampled controllers."""
    made = draw(robot(name), count, *seed)
    random = np.random.default_rng([*seed, 77])
    limits = np.array(
        [actuator_limits(made.system, {k: v[run] for k, v in made.parameters.items()}) for run in range(count)]
    ).reshape(count, -1)
    pushes = [_push(made.system, limit, made.options["until"], sampled, random) for limit in limits]
    options = {**made.options, "max_events": MAX_EVENTS, "start": 0.0}
    return Runs(made.system, made.states, made.parameters, pushes, options)


def actuator_limits(system: HybridSystem, parameters: dict[str, float]) -> np.ndarray:
    """The limits of all actuators; one that has none gets some."""
    limits = np.array(system.with_parameters(**parameters).constants[3])
    limits[~np.isfinite(limits)] = UNLIMITED
    return limits


def _push(system: HybridSystem, limits: np.ndarray, until: float, sampled: bool, random: np.random.Generator) -> Push:
    if not limits.size:
        return Push("none")
    driven = all(actuator.coordinate is not None for actuator in system.mechanism.actuators.values())
    kinds = [
        "none",
        "constant",
        "steps",
        "sine",
        *(["pd"] if driven else []),
        *(["sampled"] if driven and sampled else []),
    ]
    kind = str(random.choice(kinds))

    def levels() -> tuple[float, ...]:
        return tuple((random.uniform(-0.99, 0.99, limits.size) * limits).tolist())

    if kind == "constant":
        return Push(kind, (levels(),))
    if kind == "steps":
        starts = np.concatenate([[0.0], np.sort(random.uniform(0, until, int(random.integers(1, 5))))])
        return Push(kind, tuple(levels() for _ in starts), tuple(starts.tolist()))
    if kind == "sine":
        rows = tuple(tuple((0.5 * np.array(levels())).tolist()) for _ in range(2))
        return Push(kind, rows, (), float(10.0 ** random.uniform(-1, 1.5)), float(random.uniform(-3, 3)))
    if kind in ("pd", "sampled"):
        kp = limits * 10.0 ** random.uniform(-1.5, 0.5)
        rows = kp, kp * random.uniform(0.02, 0.3), random.uniform(-2, 2, limits.size)
        return Push(kind, tuple(tuple(row.tolist()) for row in rows), (PERIOD,) if kind == "sampled" else ())
    return Push("none", count=limits.size)


def case(batch: Batch, run: int) -> tuple[HybridSystem, np.ndarray, Any]:
    """The robot, start and controller of one run of a batch."""
    cases: Cases = batch.cases
    return cases.of(run), batch.starts[run], cases.controllers[run]


def simultaneous(run: Trajectory) -> bool:
    """Whether several contacts met an event together, or said the same thing twice."""
    units = [unit.name for unit in run.system.units]
    together = any(
        len({name for name in units if any(g.startswith(f"{name}.") for g in e.guards)}) > 1 for e in run.events
    )
    return together or run.redundant
