"""Which starts of many runs are impossible: the checks of a run alone, for all rows at once."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact._unit import GROUNDS
from saltus.engine._cases import Cases, columns
from saltus.engine._refusals import Refusals
from saltus.engine._simulate import _check_grips, _check_start, check_slips
from saltus.hybrid import HybridSystem
from saltus.hybrid._closed import REST, grip_rows, grip_speeds, ground_motion


def check_constants(system: HybridSystem, p: np.ndarray, refusals: Refusals) -> list[np.ndarray]:
    """Masses, inertias, coefficients and limits of all runs; what a system refuses is refused here."""
    constants = columns(system._constants, p)
    masses, inertias, coefficients, limits = constants
    bad = ~((masses >= 0) & (masses < np.inf) & (inertias >= 0) & (inertias < np.inf)).all(axis=1)
    bad |= ((masses == 0) & (inertias > 0)).any(axis=1) | ~(limits >= 0).all(axis=1)
    place = 0
    for unit in system.units:
        size = len(unit.coefficients)
        bad |= ~unit.allowed(coefficients[:, place : place + size])
        place += size
    refusals.check(bad, lambda run: system.with_parameters(**dict(zip(system.values, p[run], strict=True))))
    return constants


def check_starts(cases: Cases, start: float, statuses: list[int], refusals: Refusals) -> np.ndarray:
    """Refuse starts that no run alone may have; the side of zero on which each guard begins."""
    sides = _check_places(cases, start, refusals)
    _check_all_grips(cases, statuses, refusals)
    _check_all_slips(cases, refusals)
    return sides


def _check_places(cases: Cases, start: float, refusals: Refusals) -> np.ndarray:
    """Refuse starts below the ground or beyond a terminal guard; the side of zero on which each guard begins."""
    system = cases.system
    if not system.units and not system.guards:
        return cases.sides
    t = np.full(len(cases), float(start))
    bad, gaps, own = wrong_starts(system, t, cases.states, cases.parameters)
    refusals.check(bad, lambda run: _check_start(system, gaps[run], own[run]))
    sides = np.where(own > 0, 1, -1).astype(np.int64)
    for k, guard in enumerate(system.guards):
        zero = own[:, k] == 0
        if zero.any():
            sides[zero, k] = _sides_at_zero(cases, guard, t, zero)
    return sides


def wrong_starts(
    system: HybridSystem, t: np.ndarray, states: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which starts are below the ground or beyond a terminal guard; clearances and guards of all."""
    nunit = len(system.units)
    values = columns(system.once("kinematics", system._kinematics), t, states, parameters)[0]
    gaps, own = values[:, :nunit], values[:, nunit:]
    bad = np.asarray(~(gaps >= -1e-9).all(axis=1))
    for guard, value in zip(system.guards, own.T, strict=True):
        if guard.action != "ignore":
            bad |= ~np.isfinite(value)
        if guard.no_start:
            bad |= np.abs(value) < 1e-9
        if guard.action == "terminal" and guard.direction != "both":
            bad |= (value if guard.direction == "down" else -value) < 0
    return bad, gaps, own


def _check_all_grips(cases: Cases, statuses: list[int], refusals: Refusals) -> None:
    """Refuse starts in which a closed grip moves."""
    if not grip_speeds(cases.system, statuses, cases.states[0]):
        return
    J = columns(grip_rows(cases.system, statuses), cases.states, cases.parameters)[1]
    nv = cases.system.mechanism.nv
    velocities = cases.states[:, -nv:]
    with np.errstate(invalid="ignore"):  # of runs that are refused already
        speeds = np.einsum("nvr,nv->nr", J.reshape(len(J), nv, -1), velocities)  # CasADi stores columns
    moves = ~(np.hypot(speeds[:, ::2], speeds[:, 1::2]).max(axis=1) <= 1e-9)
    refusals.check(moves, lambda run: _check_grips(cases.of(run), statuses, cases.states[run]))


def _check_all_slips(cases: Cases, refusals: Refusals) -> None:
    """Refuse starts in which something slips that never does."""
    units = cases.system.units
    grounded = [k for k, unit in enumerate(units) if unit.kind in GROUNDS]
    friction = np.array([cases.system.unit_coefficients[k][0] for k in grounded])
    if cases.varied:
        places = np.cumsum([0, *(len(unit.coefficients) for unit in units)])
        friction = cases.constants[2][:, places[grounded]]
    if not (friction == math.inf).any():
        return
    motion = columns(ground_motion(cases.system), cases.states, cases.parameters)[0].reshape(len(cases), -1, 3)
    gaps, normal, speeds = np.moveaxis(motion, 2, 0)
    slips = (friction == math.inf) & (gaps <= REST) & (np.abs(normal) <= REST) & (speeds > REST)
    refusals.check(slips.any(axis=1), lambda run: check_slips(cases.of(run), cases.states[run]))


def ask_controllers(cases: Cases, statuses: list[int], refusals: Refusals) -> None:
    """Let controllers refuse starts that they can do nothing with."""
    asking = {id(control) for control in cases.distinct if control.check_start is not None}
    if not asking:
        return
    asked = np.array([id(control) in asking for control in cases.controls])

    def ask(run: int) -> None:
        check = cases.controls[run].check_start
        assert check is not None
        check(cases.states[run], statuses, cases.parameters[run])

    refusals.check(asked, ask)


def _sides_at_zero(cases: Cases, guard: Any, t: np.ndarray, which: np.ndarray) -> Any:
    """The rule of `HybridSystem.guard_sides` for guards that begin at zero."""
    if guard.direction != "both":
        return 1 if guard.direction == "down" else -1
    d = cases.system.dynamics
    along = ca.vertcat(1, d.qdot, d.free_acceleration)
    rate = ca.jtimes(ca.SX(guard.expression), ca.vertcat(d.t, d.x), along)
    inputs = np.zeros((int(which.sum()), d.u.numel()))
    function = ca.Function("rate", [d.t, d.x, d.u, d.p], [rate])
    rates = columns(function, t[which], cases.states[which], inputs, cases.parameters[which])[0][:, 0]
    return np.where(rates >= 0, 1, -1)
