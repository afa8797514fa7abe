"""One mode of a hybrid system as expressions: its accelerations and contact forces, built when asked for."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.contact._grip import CLOSED
from saltus.errors import InputError, unknown_name
from saltus.hybrid._system import HybridSystem
from saltus.mechanism import Dynamics, MassSolver

# Closed rows are taken to say the same where what they span is less than this share of what they would at right
# angles; a row alone cannot be judged, since rounding in it grows as the rows before it come close to each other.
DEPENDENT = 1e-12


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class SymbolicMode:
    """The flow of one mode, in the symbols of ``dynamics``.

    ``forces`` has an element for each row of each unit. Where ``pivots`` are not all positive the
    mass matrix is not positive definite or the closed rows are not independent, and the rest is
    worthless.
    """

    name: str
    statuses: tuple[int, ...]
    dynamics: Dynamics
    acceleration: Any
    forces: Any
    pivots: Any


def find_statuses(system: HybridSystem, mode: Any) -> tuple[int, ...]:
    """The number of each unit's status.

    Parameters
    ----------
    mode
        A status by name for each unit, the name of a mode, one number for each unit, or None
        where no unit exerts a force.
    """
    if mode is None:
        return tuple(_idle(system, unit) for unit in system.units)
    if isinstance(mode, Mapping):
        units = {unit.name: unit for unit in system.units}
        for name in mode:
            if name not in units:
                raise unknown_name("unit", name, units, system.name)
        missing = [name for name in units if name not in mode]
        if missing:
            raise InputError(f"mode of {system.name}: give a status of {', '.join(missing)} too")
        return tuple(_status(system, unit, mode[name]) for name, unit in units.items())
    if isinstance(mode, str):
        return _by_name(system, mode)
    if not isinstance(mode, (Sequence, np.ndarray)) or len(mode) != len(system.units):
        raise InputError(f"mode of {system.name} must be a status for each of {len(system.units)} units, got {mode!r}")
    return tuple(_status(system, unit, status) for unit, status in zip(system.units, mode, strict=True))


def _idle(system: HybridSystem, unit: Any) -> int:
    for status in range(len(unit.statuses)):
        if unit.equations(status).empty:
            return status
    raise InputError(f"{unit.name} of {system.name} exerts a force in every status; name the mode")


def _status(system: HybridSystem, unit: Any, status: Any) -> int:
    names = unit.statuses
    if isinstance(status, str):
        if status not in names:
            raise unknown_name("status", status, names, f"{system.name}'s {unit.name}")
        return names.index(status)  # type: ignore[no-any-return]
    # the numbers of statuses come out of records as NumPy's
    if isinstance(status, bool) or not hasattr(status, "__index__") or not 0 <= status < len(names):
        raise InputError(
            f"a status of {system.name}'s {unit.name} is one of {', '.join(names)} or its number, got {status!r}"
        )
    return int(status)


def _by_name(system: HybridSystem, name: str) -> tuple[int, ...]:
    """Read what `HybridSystem.mode_name` writes."""
    if len(system.units) == 1:
        return (_status(system, system.units[0], name),)
    if not system.units:
        if name != system.mode_name(()):
            raise unknown_name("mode", name, [system.mode_name(())], system.name)
        return ()
    given = {}
    rest = name
    for unit in reversed(system.units):  # names of units and statuses may have spaces in them
        for word in unit.statuses:
            label = f"{unit.name}:{word}"
            if rest == label or rest.endswith(f" {label}"):
                given[unit.name] = word
                rest = rest[: -len(label)].rstrip()
                break
    if len(system.units) > 3 and rest in ("", system.mode_name([0] * len(system.units))):
        # the name of a mode of many units leaves out those that are open or free
        return find_statuses(system, {unit.name: given.get(unit.name, unit.statuses[0]) for unit in system.units})
    if rest or len(given) < len(system.units):
        example = system.mode_name([0] * len(system.units))
        raise InputError(f"unknown mode of {system.name}: {name!r}; write it as {example!r}")
    return find_statuses(system, given)


def symbolic_mode(system: HybridSystem, mode: Any = None, without: Sequence[int] = ()) -> SymbolicMode:
    """The expressions of a mode: M a + h = S u + J^T lambda with the closed rows of J a + Jdot v at zero.

    Parameters
    ----------
    mode
        As for `find_statuses`.
    without
        Closed rows, by number, that get no force since others say the same.
    """
    # Notation: as in `saltus.mechanism`; lambda = T f + g, with f the forces of the closed rows
    statuses = find_statuses(system, mode)
    d = system.dynamics
    rows = [d.row(position) for unit in system.units for _, position in unit.rows]
    J = ca.vertcat(*(row for row, _ in rows)) if rows else ca.SX.zeros(0, d.v.numel())
    drift = ca.vertcat(*(drift for _, drift in rows)) if rows else ca.SX.zeros(0)
    closed: list[int] = []
    ties: list[tuple[int, int, Any]] = []
    g, names = ca.SX.zeros(len(rows)), [unit.name for unit in system.units]
    first = 0
    for unit, status in zip(system.units, statuses, strict=True):
        equations = unit.equations(status)
        # a row that cannot move at all needs no force to stand still
        moving = [first + row for row in equations.closed if ca.sparsify(J[first + row, :]).nnz()]
        closed += [row for row in moving if row not in without]
        ties += [(first + row, first + to, ratio) for row, to, ratio in equations.ties if first + to in closed]
        for row, force in equations.given:
            g[first + row] = force
        if unit.gate is not None and not equations.closed and statuses[names.index(unit.gate)] == CLOSED:
            g[first] -= unit.coefficients[4] * (J[first, :] @ d.v)
        first += len(unit.rows)
    T = ca.SX(len(rows), len(closed))
    for column, row in enumerate(closed):
        T[row, column] = 1
    for row, to, ratio in ties:
        T[row, closed.index(to)] = ratio
    acceleration, forces, pivots = d.free_acceleration, g, d.solver.pivots
    if not g.is_zero():
        acceleration = acceleration + d.solver.solve(J.T @ g)
    if closed:
        C = J[closed, :]
        through = d.solver.solve(J.T @ T)
        f, more = _solve(C @ through, -(C @ acceleration + drift[closed]), symmetric=not ties)
        forces, acceleration, pivots = T @ f + g, acceleration + through @ f, ca.vertcat(pivots, more)
    return SymbolicMode(system.mode_name(statuses), statuses, d, acceleration, ca.densify(forces), pivots)


def _solve(A: Any, b: Any, *, symmetric: bool) -> tuple[Any, Any]:
    """Solve for the forces; also numbers that are positive where the rows are independent.

    Ties make the matrix unsymmetric, and it need not be definite then.
    """
    n = A.shape[0]
    if n == 1:
        return b / A, ca.fabs(A)
    if symmetric:
        solver = MassSolver(A)
        volume = solver.pivots[1] if n == 2 else _product(solver.pivots)
        return solver.solve(b), ca.vertcat(solver.pivots, volume - DEPENDENT * _product(ca.diag(A)))
    Q, R = ca.qr(A)
    sizes = ca.vertcat(*(ca.norm_2(A[:, k]) for k in range(n)))
    return ca.solve(R, Q.T @ b), _product(ca.fabs(ca.diag(R))) - DEPENDENT * _product(sizes)


def _product(factors: Any) -> Any:
    return functools.reduce(operator.mul, ca.vertsplit(factors))
