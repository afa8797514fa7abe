"""How the phases of a gait hang together, without numbers: what a phase is told, and how the state goes into the next.

Made once for each gait, and used for one cycle and for many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from saltus.engine._cases import column
from saltus.errors import InputError
from saltus.gaits._gait import Gait
from saltus.gaits._phase import CLOCK, DURATION, HeldSystem
from saltus.hybrid import HybridSystem

# What is beyond its end by this share of its size is at its end.
ROUNDING = 1e-12


class Plan:
    """Everything about a gait that does not depend on numbers."""

    def __init__(self, gait: Gait):
        self.gait = gait
        m = gait.robot.mechanism
        self.handovers = [Handover(gait, (k + 1) % len(gait.phases)) for k in range(len(gait.phases))]
        first = gait.held(0)
        x, p = ca.vertcat(first.mechanism.q, first.mechanism.v), first.mechanism.p
        remembered = ca.vertcat(*(first.seen(e) for e in gait.remembered.values()), ca.SX.zeros(0))
        self.remember = ca.Function(
            "remember", [x, p], [remembered, ca.densify(ca.jacobian(remembered, ca.vertcat(x, p)))],
            {"allow_free": False},
        )  # fmt: skip
        self.own = [name for name in gait.knobs if name not in m.parameters]
        knobs = ca.vertcat(*(gait.symbols[name] for name in self.own), ca.SX.zeros(0))
        self.inputs = []
        for phase in gait.phases:
            u = ca.vertcat(*(ca.SX(phase.inputs.get(name, 0.0)) for name in m.actuators), ca.SX.zeros(0))
            slope = ca.densify(ca.jacobian(u, ca.vertcat(knobs, m.p)))
            self.inputs.append(ca.Function("inputs", [knobs, m.p], [u, slope]))
        limits = ca.vertcat(*(ca.SX(a.limit) for a in m.actuators.values()), ca.SX.zeros(0))
        self.limits = ca.Function("limits", [m.p], [limits])
        self.changes = [Change(gait, name) for name in gait.knobs if name in m.parameters]
        self.swap = Change(gait, None) if gait.swaps else None

    def parameters(self, numbers: Mapping[str, Any], count: int) -> np.ndarray:
        """Parameters of the robot, a row for each of many cycles."""
        return _rows([numbers.get(name, value) for name, value in self.gait.robot.values.items()], count)

    def inputs_of(self, phase: int, numbers: Mapping[str, Any]) -> list[Any]:
        """Inputs of a phase: a number for each actuator, or for each cycle if they differ; none beyond its limit."""
        found, limits = self._inputs_and_limits(phase, numbers)
        self._check_limits(phase, found, limits)
        return [row if row.size > 1 else float(row[0]) for row in found]

    def inputs_of_many(self, phase: int, numbers: Mapping[str, Any]) -> tuple[list[Any], np.ndarray]:
        """The same for many cycles, and in which of them an input is beyond its limit."""
        found, limits = self._inputs_and_limits(phase, numbers)
        return [row if row.size > 1 else float(row[0]) for row in found], _beyond(found, limits).any(axis=0)

    def input_of(self, phase: int, numbers: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of a phase of one cycle, and their derivatives by the gait's own knobs and by parameters."""
        p = self.parameters(numbers, 1)
        found, slope = (
            np.array(part, dtype=float) for part in self.inputs[phase]([numbers[name] for name in self.own], p)
        )
        self._check_limits(phase, found.reshape(-1, 1), column(self.limits, p).T)
        return found.ravel(), slope

    def _inputs_and_limits(self, phase: int, numbers: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        count = max(np.size(numbers.get(name, 0.0)) for name in (*self.own, *self.gait.robot.values))
        p = self.parameters(numbers, count)
        rows = _rows([numbers[name] for name in self.own], count)
        return column(self.inputs[phase], rows, p).T, column(self.limits, p).T

    def _check_limits(self, phase: int, found: np.ndarray, limits: np.ndarray) -> None:
        """Refuse inputs beyond the limits of their actuators."""
        for u, limit, (name, actuator) in zip(found, limits, self.gait.robot.mechanism.actuators.items(), strict=True):
            worst = int((np.abs(u) - limit).argmax())
            if _beyond(u[worst], limit[worst]):
                raise InputError(
                    f"gait {self.gait.name}, phase {self.gait.phases[phase].name}: {abs(u[worst]):g} {actuator.unit} "
                    f"on {name} is beyond its limit of {limit[worst]:g} {actuator.unit}"
                )

    def told_first(self, numbers: Mapping[str, Any], count: int) -> np.ndarray:
        """Parameters of the first phase before it has begun, a row for each of many cycles."""
        return parameters_of(self.gait.held(0), {**numbers, CLOCK: 0.0, DURATION: 1.0}, count)


def _beyond(u: Any, limit: Any) -> Any:
    return np.abs(u) > limit * (1 + 1e-12)


class Handover:
    """How the state goes into a phase from the one before, as a function with its derivative; the cycle is closed."""

    def __init__(self, gait: Gait, phase: int):
        new, robot = gait.held(phase), gait.robot
        whole = ca.vertcat(robot.mechanism.q, robot.mechanism.v)
        symmetry = robot.symmetry
        old = gait.held(phase - 1)
        x, p = ca.vertcat(old.mechanism.q, old.mechanism.v), old.mechanism.p
        state = old.whole_state
        energy, parameters = robot.dynamics.kinetic, robot.mechanism.p
        changes = gait.phases[phase].relabel or new is not old
        before = ca.substitute(energy, whole, state)
        if gait.phases[phase].relabel and symmetry is not None:
            state = ca.substitute(symmetry.map(robot.mechanism), whole, state)
            if gait.swaps:
                parameters = symmetry.other_parameters(robot.mechanism)
        here, pin = new.entry(state, parameters) if changes else (x, ca.vertcat(*(p[i] for i in _pin_places(old))))
        q, v = new.mechanism.q, new.mechanism.v
        after = ca.substitute(new.seen(energy), ca.vertcat(q, v, robot.mechanism.p), ca.vertcat(here, parameters))
        lost = before - after if changes else ca.SX(0)
        out = ca.densify(ca.vertcat(here, pin))
        self.nx, self.changes = here.numel(), changes
        self.value = ca.Function("handover", [x, p], [out, lost])
        self.slope = ca.Function("slope", [x, p], [ca.densify(ca.jacobian(out, ca.vertcat(x, p)))])


def _pin_places(held: Any) -> list[int]:
    names = list(held.mechanism.parameters)
    return [names.index(name) for name in held.pins]


class Change:
    """New values of some parameters of the robot as functions of all: what mirrors one, or all under new names."""

    def __init__(self, gait: Gait, parameter: str | None):
        self.parameter = parameter
        m, symmetry = gait.robot.mechanism, gait.robot.symmetry
        new: dict[str, Any] = {}
        if symmetry is not None and parameter is None:
            new = {name: ca.SX(e) for name, e in symmetry.parameters.items()}
        elif symmetry is not None and parameter is not None and gait.odd:
            new = symmetry.tied(m, parameter)
        self.names = list(new)
        both = ca.vertcat(*new.values(), ca.SX.zeros(0))
        self.function = ca.Function("change", [m.p], [both, ca.densify(ca.jacobian(both, m.p))])
        self.all = list(m.parameters)

    def many(self, p: np.ndarray) -> dict[str, np.ndarray]:
        """New values for many cycles, from a row of parameters for each."""
        return dict(zip(self.names, column(self.function, p).T, strict=True)) if self.names else {}

    def one(
        self, p: np.ndarray, slopes: Mapping[str, np.ndarray], width: int
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """New values, and their derivatives from those of the old."""
        value, slope = (np.array(part, dtype=float) for part in self.function(p))
        old = np.array([slopes.get(name, np.zeros(width)) for name in self.all])
        return (
            dict(zip(self.names, value.ravel().tolist(), strict=True)),
            dict(zip(self.names, slope.reshape(len(self.names), len(self.all)) @ old, strict=True)),
        )


def plan_of(gait: Gait) -> Plan:
    """The plan of a gait, made once."""
    plan: Plan = gait.once(("plan",), lambda: Plan(gait))
    return plan


def robot_of(gait: Gait, knobs: Mapping[str, float] | None = None) -> HybridSystem:
    """The robot of a gait with the parameters that some knobs are, and with what follows from those."""
    numbers, plan = gait.knob_values(knobs), plan_of(gait)
    for change in plan.changes:
        numbers |= {name: float(value[0]) for name, value in change.many(plan.parameters(numbers, 1)).items()}
    return gait.robot.with_parameters(**{name: numbers[name] for name in gait.robot.values if name in numbers})


def guard_of(gait: Gait, k: int) -> str:
    """The guard that ends a phase."""
    return "elapsed" if gait.phases[k].ends is None else gait.phases[k].name


def duration_of(gait: Gait, k: int) -> str:
    """The knob that says how long a timed phase lasts."""
    return f"{gait.phases[k].name}_t"


def parameters_of(held: HeldSystem, numbers: Mapping[str, Any], count: int) -> np.ndarray:
    """Parameters of the system of a phase, a row for each of many cycles."""
    values = held.system.values
    return _rows([numbers.get(name, values[name]) for name in held.mechanism.parameters], count)


def _rows(values: list[Any], count: int) -> np.ndarray:
    """Numbers, or one for each of many cycles, as a row for each cycle."""
    rows = np.empty((count, len(values)), order="F")
    for k, value in enumerate(values):
        rows[:, k] = value
    return rows


def _column(function: Any, *rows: np.ndarray) -> np.ndarray:
    """The first output of a function, a row for each of many cycles; for one cycle a call is faster than a map."""
    if len(rows[0]) > 1:
        return column(function, *rows)
    found = function(*(row[0] for row in rows))
    return np.array(found[0] if isinstance(found, tuple) else found, dtype=float).reshape(1, -1)


def over(system: HybridSystem, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Which phases are over as they begin: beyond their end by no more than rounding, as where nothing was lost."""
    guard = system.guards[0]
    if guard.direction == "both":
        return np.zeros(len(x), dtype=bool)
    d = system.dynamics
    value = ca.SX(guard.expression) * (1 if guard.direction == "up" else -1)

    def made() -> tuple[Any, Any]:
        size = ca.sum1(ca.fabs(ca.jacobian(value, d.x).T * d.x))
        return ca.Function("beyond", [d.t, d.x, d.p], [value]), ca.Function("size", [d.t, d.x, d.p], [size])

    function, sizes = system.once(f"over {guard.name}", made)
    beyond = _column(function, np.zeros(len(x)), x, p).ravel()
    over, some = np.zeros(len(x), dtype=bool), np.flatnonzero(beyond > 0)
    if some.size:
        size = column(sizes, np.zeros(some.size), x[some], p[some]).ravel()
        over[some] = beyond[some] <= ROUNDING * (1 + size)
    return over
