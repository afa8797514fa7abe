"""Phases of a gait, and the system in which a phase runs: the robot held by what it holds on to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.contact import GRIP, JointUnit
from saltus.contact._unit import JOINT
from saltus.errors import InputError, unknown_name
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import PIN, Mechanism, Parameter, Pinned


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Phase:
    """A part of a cycle in which the same grips are closed and inputs stay the same.

    Parameters
    ----------
    name
        What it is called; times at which phases end carry this name.
    holds
        The grip that is closed, or none in flight.
    ends
        The scalar whose zero ends it, in the robot's own symbols; if there is none, it lasts as long as
        the knob ``<name>_t`` says.
    direction
        Which crossings count: ``down``, ``up`` or ``both``.
    inputs
        Inputs by actuator, expressions of knobs and parameters.
    relabel
        Whether the robot's parts change their names, by its symmetry, when the phase begins.
    """

    name: str
    holds: str | None
    ends: Any = None
    direction: str = "both"
    inputs: Mapping[str, Any] = field(default_factory=dict)
    relabel: bool = False


# Numbers that a phase begins with: when, in the cycle, and how long it lasts if it is timed.
CLOCK, DURATION = "clock", "duration"


class HeldSystem:
    """The robot as it is in all phases with the same grip closed: fewer coordinates, no units but frictional joints.

    Inputs are constant within a phase, so they are parameters here, and their work is potential
    energy. What phases are told (knobs, what is remembered of the start, the clock) are parameters too.
    """

    def __init__(self, robot: HybridSystem, holds: str | None, told: Sequence[Parameter], symbols: Sequence[Any]):
        whole = robot.mechanism
        grips = {unit.name: unit for unit in robot.units if unit.kind == GRIP}
        if holds is not None and holds not in grips:
            raise unknown_name("grip", holds, grips, robot.name)
        _refuse_others(robot)
        self.robot, self.holds = robot, holds
        self.pinned = Pinned(whole, whole.points[holds]) if holds is not None else None
        self.mechanism = m = self.pinned.mechanism if self.pinned else _copy(whole)
        self.inputs = {name: f"input {name}" for name in whole.actuators}
        for name, actuator in list(m.actuators.items()):
            m.potential(-m.parameter(self.inputs[name], 0.0, actuator.unit, "held within a phase") * actuator.along)
        m.actuators = {}
        for parameter, symbol in zip(told, symbols, strict=True):
            if parameter.name in whole.parameters:
                continue  # a parameter of the robot that is a knob too
            m.parameter(parameter.name, parameter.value, parameter.unit, parameter.about, symbol=symbol)
        self.guards: list[Guard] = []
        self._endings: dict[str, HybridSystem] = {}
        self._used: dict[str, set[str]] = {}

    def seen(self, expression: Any) -> Any:
        """An expression of the robot's state in the coordinates of this system."""
        return self.pinned.seen(expression) if self.pinned else ca.SX(expression)

    def add(self, name: str, expression: Any, direction: str) -> None:
        """One more way for a phase to end."""
        self.guards.append(Guard(name, self.seen(expression), "ignore", direction, f"the end of phase {name}"))

    @cached_property
    def system(self) -> HybridSystem:
        """The system, when all guards are known."""
        robot = self.robot
        units = [
            unit
            for unit, values in zip(robot.units, robot.unit_coefficients, strict=True)
            if unit.kind == JOINT
            and unit.gate is None
            and (unit.possible(values) != (0,) or not all(_is_zero(c, robot) for _, c in unit.damping))
        ]
        for unit, values in zip(robot.units, robot.unit_coefficients, strict=True):
            if unit.gate is not None and unit.gate == self.holds and max(values[3:]) > 0:
                units.append(self._joint(unit))
        return HybridSystem(self.mechanism, units=tuple(units), guards=tuple(self.guards), values=dict(robot.values))

    def _joint(self, pivot: Any) -> JointUnit:
        """The friction of a pivot that holds at all times, as that of a joint."""
        for name in self.mechanism.coordinates:
            coordinate = self.mechanism.coordinate(name)
            if ca.is_equal(ca.SX(pivot.angle), coordinate.symbol):
                return JointUnit(coordinate, coulomb=pivot.coulomb, viscous=pivot.viscous)
        raise InputError(
            f"phases in which {self.holds} holds have no friction at {pivot.name}: its angle is no coordinate"
        )

    def ending(self, guard: str) -> HybridSystem:
        """The system in which a phase ends by one of the guards, and the others are not looked at."""
        if guard not in self._endings:
            chosen = tuple(replace(g, action="terminal") for g in self.guards if g.name == guard)
            self._endings[guard] = replace(self.system, guards=chosen)
        return self._endings[guard]

    def used(self, guard: str) -> set[str]:
        """Parameters on which motion, or this way to end, depends at all."""
        if guard not in self._used:
            d = self.system.dynamics
            expression = next(g.expression for g in self.guards if g.name == guard)
            everything = ca.vertcat(d.free_acceleration, d.potential, expression)
            depends = ca.Function("everything", [d.x, d.t, d.p], [everything]).jac_sparsity(0, 2)
            places = set(depends.get_triplet()[1])
            self._used[guard] = {name for i, name in enumerate(self.mechanism.parameters) if i in places}
        return self._used[guard]

    @cached_property
    def whole_state(self) -> Any:
        """State of the whole robot, as expressions of the state here and the parameters."""
        whole = self.robot.mechanism
        return self.seen(ca.vertcat(whole.q, whole.v))

    def entry(self, state: Any, parameters: Any) -> tuple[Any, Any]:
        """The state with which a phase begins here, from one of the whole robot, and where the pin is.

        Both in a robot with these parameters, expressions of its own.

        A hand that closes stops without rebound: v - M^-1 J^T (J M^-1 J^T)^-1 J v.
        """
        whole, d = self.robot.mechanism, self.robot.dynamics
        if self.pinned is None:
            return state, ca.SX.zeros(0)
        position = self.pinned.point.position
        J = ca.jacobian(position, whole.q)
        through = d.solver.solve(J.T)
        after = whole.v - through @ ca.solve(J @ through, J @ whole.v)
        kept = self.pinned.kept
        here = ca.vertcat(ca.vertcat(*(whole.q[i] for i in kept)), ca.vertcat(*(after[i] for i in kept)))
        old, new = ca.vertcat(whole.q, whole.v, whole.p), ca.vertcat(state, parameters)
        return ca.substitute(here, old, new), ca.substitute(position, old, new)

    @property
    def pins(self) -> tuple[str, ...]:
        """Names of the parameters that say where the pin is."""
        return PIN if self.pinned else ()


def _refuse_others(robot: HybridSystem) -> None:
    others = [unit.name for unit in robot.units if unit.kind not in (GRIP, JOINT)]
    if others:
        raise InputError(f"phases are for robots with grips and joints only; {robot.name} has {', '.join(others)}")


def _is_zero(expression: Any, robot: HybridSystem) -> bool:
    m = robot.mechanism
    return float(ca.Function("value", [m.p], [ca.SX(expression)])(robot.parameter_values)) == 0.0


def _copy(whole: Mechanism) -> Mechanism:
    made = Mechanism(f"{whole.name}-free")
    for name, value in vars(whole).items():
        if name not in ("name", "world"):
            made.__dict__[name] = dict(value) if isinstance(value, dict) else value
    return made
