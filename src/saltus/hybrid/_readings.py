"""States told by readings, such as the pitch of a body, instead of by coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus.errors import InputError
from saltus.hybrid._closed import REST
from saltus.mechanism import position_of

if TYPE_CHECKING:
    from saltus.hybrid._system import HybridSystem

# Newton steps, what counts as reached, and what is told apart from rounding.
_STEPS, _REACHED = 100, 1e-13


def reading_names(system: HybridSystem) -> list[str]:
    """Names of all readings, then of their rates."""
    readings = list(system.mechanism.readings)
    return [*readings, *(f"d{name}" for name in readings)]


def readings_of(system: HybridSystem) -> Any:
    """A function of state and parameters: all readings, then their rates."""
    return system.once("readings", lambda: _functions(system)[0])


def read_off(system: HybridSystem, states: np.ndarray) -> dict[str, np.ndarray]:
    """All readings and their rates by name, for states a row each; angles go on beyond half a turn."""
    if not system.mechanism.readings or not len(states):
        return {name: np.zeros(len(states)) for name in reading_names(system)}
    p = np.tile(system.parameter_values, (len(states), 1))
    values = np.array(readings_of(system).map(len(states))(states.T, p.T), dtype=float)
    found = dict(zip(reading_names(system), values, strict=True))
    for name, reading in system.mechanism.readings.items():
        if reading.wraps:
            found[name] = np.unwrap(found[name])
    return found


def _functions(system: HybridSystem) -> tuple[Any, Any, Any]:
    """Readings and rates; their gradients along velocities; positions and directions of contact rows."""
    d = system.dynamics
    values = ca.vertcat(*(reading.expression for reading in system.mechanism.readings.values()), ca.SX.zeros(0))
    G = ca.jacobian(values, d.q) @ d.N
    rows = [row for unit in system.units for _, row in unit.rows]
    J = ca.vertcat(*(d.row(row)[0] for row in rows)) if rows else ca.SX.zeros(0, d.v.numel())
    gaps = ca.vertcat(*(ca.SX(unit.clearance) for unit in system.units), ca.SX.zeros(0))
    gap_rows = ca.jacobian(gaps, d.q) @ d.N
    positions = ca.vertcat(*map(position_of, rows), ca.SX.zeros(0))
    return (
        ca.Function("readings", [d.x, d.p], [ca.vertcat(values, G @ d.v)]),
        ca.Function("slopes", [d.q, d.p], [values, G, gaps, gap_rows, d.N]),
        ca.Function("rows", [d.q, d.p], [positions, J, G]),
    )


def state_by_readings(
    system: HybridSystem,
    start: np.ndarray,
    told: Mapping[str, float],
    kept: Sequence[str],
    given: Sequence[str] | None = None,
) -> np.ndarray:
    """The state nearest to a start in which readings and their rates are as told.

    Readings that are not told stay as they are at the start, and their rates zero, as far as what is told allows it;
    coordinates and velocities that are ``kept`` stay as they are. What is on the ground at the start stays on it, and
    rolls or stands there. Of what is told, the names in ``given``, or all, are the user's, and give way to nothing.
    """
    from scipy.linalg import null_space

    m, p = system.mechanism, system.parameter_values
    names, given = list(m.readings), list(told if given is None else given)
    functions = system.once("reading_functions", lambda: _functions(system))
    _, slopes, rows = functions
    q, v = start[: m.nq].copy(), start[m.nq :].copy()
    values, _, gaps, _, _ = (np.array(part, dtype=float) for part in slopes(q, p))
    wanted = np.array([told.get(name, value) for name, value in zip(names, values.ravel(), strict=True)])
    closed = np.flatnonzero(np.abs(gaps.ravel()) <= REST)
    coordinates = [list(m.coordinates).index(name) for name in kept if name in m.coordinates]
    q = _positions(system, q, wanted, closed, coordinates, slopes, told)
    _, J, G = (np.array(part, dtype=float) for part in rows(q, p))
    own = [J[system.first_rows[k] : system.first_rows[k + 1]] for k in closed]
    rates = np.array([told.get(f"d{name}", 0.0) for name in names])
    velocities = [list(m.velocities).index(name) for name in kept if name in m.velocities]
    asked = [k for k, name in enumerate(names) if f"d{name}" in given]
    A = np.vstack([G[asked], np.eye(m.nv)[velocities], *own])
    right = np.concatenate([rates[asked], v[velocities], np.zeros(sum(map(len, own)))])
    free = np.where(np.isin(np.arange(m.nv), velocities), v, 0.0)
    v = free + np.linalg.lstsq(A, right - A @ free, rcond=1e-12)[0]
    # what is left free brings the other rates as near as it can
    left = null_space(A, rcond=1e-12) if len(A) else np.eye(m.nv)
    v += left @ _least(G @ left, rates - G @ v, 1e-10 * float(np.abs(G).max(initial=0.0)))
    x = np.concatenate([q, v])
    _check(system, x, {name: told[name] for name in given}, functions[0])
    _check_kept(system, x, start, kept)
    return x


def _least(A: np.ndarray, b: np.ndarray, none: float) -> np.ndarray:
    """The least solution of a system as near as can be, where singular values up to a size are rounding."""
    U, sizes, V = np.linalg.svd(A, full_matrices=False)
    found: np.ndarray = V.T @ np.divide(U.T @ b, sizes, out=np.zeros(len(sizes)), where=sizes > none)
    return found


def _positions(
    system: HybridSystem,
    q: np.ndarray,
    wanted: np.ndarray,
    closed: np.ndarray,
    kept: list[int],
    slopes: Any,
    told: Mapping[str, float],
) -> np.ndarray:
    """Newton's method for the coordinates, in the shortest steps."""
    m, p = system.mechanism, system.parameter_values
    angles = np.array([reading.wraps for reading in m.readings.values()], dtype=bool)
    for _ in range(_STEPS):
        values, G, gaps, gap_rows, N = (np.array(part, dtype=float) for part in slopes(q, p))
        off = wanted - values.ravel()
        off[angles] = (off[angles] + np.pi) % (2 * np.pi) - np.pi
        A = np.vstack([G, gap_rows[closed], N[kept]])
        b = np.concatenate([off, -gaps.ravel()[closed], np.zeros(len(kept))])
        if not np.all(np.isfinite(A)) or not np.all(np.isfinite(b)):
            break
        step = np.linalg.lstsq(A, b, rcond=1e-12)[0]
        # far away, the slopes of angles mislead
        step *= min(1.0, 0.5 / max(np.max(np.abs(step), initial=0.0), 1e-300))
        q = q + N @ step
        for place in m.quaternions:
            q[place : place + 4] /= np.linalg.norm(q[place : place + 4])
        if np.max(np.abs(step), initial=0.0) <= _REACHED:
            return q
    names = ", ".join(f"{name}={value:g}" for name, value in told.items())
    raise InputError(f"no state of {system.name} has {names} with its contacts where they were at the start")


def _check(system: HybridSystem, x: np.ndarray, told: Mapping[str, float], function: Any) -> None:
    """Refuse what contradicts itself or the contacts."""
    got = np.array(function(x, system.parameter_values), dtype=float).ravel()
    m = system.mechanism
    for name, value in zip(reading_names(system), got, strict=True):
        if name not in told:
            continue
        off = told[name] - value
        if name in m.readings and m.readings[name].wraps:
            off = (off + np.pi) % (2 * np.pi) - np.pi
        if not abs(off) <= 1e-9 * max(1.0, abs(told[name])):
            raise _cannot_be(system, name, told[name], value)


def _check_kept(system: HybridSystem, x: np.ndarray, start: np.ndarray, kept: Sequence[str]) -> None:
    """Refuse coordinates and velocities that could not stay as they are told."""
    for name in kept:
        k = system.state_names.index(name)
        told = start[k]
        for place in system.mechanism.quaternions:
            if place <= k < place + 4:
                told /= np.linalg.norm(start[place : place + 4])
        if not abs(x[k] - told) <= 1e-9 * max(1.0, abs(told)):
            raise _cannot_be(system, name, told, x[k])


def _cannot_be(system: HybridSystem, name: str, told: float, nearest: float) -> InputError:
    return InputError(
        f"{name} of {system.name} cannot be {told:g} with what else is told and the contacts where they "
        f"were at the start; nearest: {nearest:g}"
    )
