"""A and B as expressions of the parameters, and the determinant that says for which of them a robot is controllable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.control._equilibrium import statuses_at
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem, find_statuses, symbolic_mode


@sent_whole
@equal_by_content
@dataclass(frozen=True, eq=False)
class SymbolicLinear:
    """A robot about a state at rest, as CasADi expressions of its parameters and of what was not told.

    ``residual`` are the accelerations there: where they are not zero, it is no equilibrium.
    """

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    A: Any
    B: Any
    residual: Any

    @property
    def determinant(self) -> Any:
        """Of the controllability matrix, for one input: zero exactly where the robot is not controllable."""
        return controllability_determinant(self.A, self.B)


def symbolic_linear(
    system: HybridSystem,
    at: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    mode: Any = None,
) -> SymbolicLinear:
    """A and B of a robot whose coordinates are independent, as expressions.

    Parameters
    ----------
    at
        Coordinates by name, numbers or expressions; others stay symbols. All velocities are zero.
    inputs
        The same of inputs; zero if not named.
    mode
        As for `saltus.hybrid.find_statuses`, without closed contacts. If None, that in which the robot is at rest where
        the numbers of ``at`` put it, and elsewhere at its start; it must be one without closed contacts.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"symbolic_linear needs a robot, such as saltus.robots.segway_rolled(), got {system!r}")
    d, mechanism = system.dynamics, system.mechanism
    for name in at or {}:
        if name not in mechanism.coordinates:
            raise unknown_name("coordinate", name, mechanism.coordinates, system.name)
    statuses = find_statuses(system, mode) if mode is not None or not system.units else _found(system, at or {})
    if mechanism.nq != mechanism.nv or any(
        unit.equations(status).closed for unit, status in zip(system.units, statuses, strict=True)
    ):
        raise InputError(
            f"symbolic_linear needs independent coordinates, which {system.name} in mode {system.mode_name(statuses)} "
            "does not have; linearize gives numbers for it"
        )
    q, u = dict(zip(mechanism.coordinates, ca.vertsplit(d.q), strict=True)), dict.fromkeys(mechanism.actuators, 0.0)
    for known, given, kind in ((q, at, "coordinate"), (u, inputs, "actuator")):
        for name, value in (given or {}).items():
            if name not in known:
                raise unknown_name(kind, name, known, system.name)
            known[name] = value
    a = symbolic_mode(system, statuses).acceleration
    point = ca.vertcat(*map(ca.SX, (*q.values(), *([0.0] * mechanism.nv), *u.values())))
    parts = [
        ca.substitute(ca.densify(part), ca.vertcat(d.x, d.u), point)
        for part in (ca.jacobian(a, d.q), ca.jacobian(a, d.v), ca.jacobian(a, d.u), a)
    ]
    n = mechanism.nv
    A = ca.blockcat([[ca.SX.zeros(n, n), ca.SX.eye(n)], parts[:2]])
    B = ca.vertcat(ca.SX.zeros(n, len(u)), parts[2])
    return SymbolicLinear(tuple(mechanism.state_names), tuple(u), A, B, parts[3])


def _found(system: HybridSystem, at: Mapping[str, Any]) -> tuple[int, ...]:
    """The mode in which the robot is at rest, by the numbers that are told."""
    x = system.state()
    x[system.mechanism.nq :] = 0.0
    for name, value in at.items():
        if isinstance(value, Real):
            x[system.mechanism.index(name)] = float(value)
    found: tuple[int, ...] = statuses_at(system, x, np.zeros(len(system.mechanism.actuators)))
    return found


def controllability_determinant(A: Any, B: Any) -> Any:
    """The determinant of [B, A B, A A B, ...] for one input, of numbers or of expressions."""
    A, B = ca.SX(A), ca.SX(B)
    if A.shape[0] != A.shape[1] or B.shape != (A.shape[0], 1):
        raise InputError(f"a determinant needs a square A and a B of one column, got {A.shape} and {B.shape}")
    columns = [B]
    for _ in range(A.shape[0] - 1):
        columns.append(A @ columns[-1])
    return ca.det(ca.horzcat(*columns))
