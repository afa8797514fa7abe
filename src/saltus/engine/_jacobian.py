"""Derivatives of a run: of its end and of its event times, by state, parameters and the controller's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._content import equal_by_content
from saltus._native import pointer_to
from saltus.contact import SPACE
from saltus.contact._space import SLIP
from saltus.engine import _layout as L
from saltus.engine import _variation as T
from saltus.engine._program import derivative_program, transition_entry
from saltus.engine._status import STATUSES
from saltus.engine._tableau import find_method
from saltus.errors import InputError, SaltusError, unknown_name
from saltus.hybrid import HybridSystem

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory


@equal_by_content
@dataclass(frozen=True)
class Sensitivity:
    """How a run depends on everything it began with.

    ``matrix`` has a row for each state at the end and a column for each name; ``times`` has a row
    for each event. A run that ends in a terminal guard ends on that guard, whenever that is.
    """

    names: tuple[str, ...]
    groups: tuple[int, int, int]
    matrix: np.ndarray
    times: np.ndarray

    def columns(self, wrt: str | Sequence[str]) -> list[int]:
        """Columns of ``state``, ``parameters``, ``control``, or of some of the names."""
        ends = np.cumsum((0, *self.groups))
        for k, group in enumerate(("state", "parameters", "control")):
            if wrt == group:
                return list(range(ends[k], ends[k + 1]))
        chosen = [wrt] if isinstance(wrt, str) else list(wrt)
        for name in chosen:
            if name not in self.names:
                raise unknown_name("quantity", name, (*self.names, "state", "parameters", "control"), "this run")
        return [self.names.index(name) for name in chosen]


def coefficient_slopes(system: HybridSystem) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the units' coefficients (a block of each) and of the input limits by the parameters."""
    m = system.mechanism
    flat, limits = (np.array(part, dtype=float) for part in system.constant_slopes(system.parameter_values))
    blocks = np.zeros((len(system.units), L.COEFFICIENTS, m.p.numel()))
    start = 0
    for k, unit in enumerate(system.units):
        blocks[k, : len(unit.coefficients)] = flat[start : start + len(unit.coefficients)]
        start += len(unit.coefficients)
    # a stop at infinity has no derivative worth the name
    return np.nan_to_num(blocks, nan=0.0, posinf=0.0, neginf=0.0), np.nan_to_num(limits, nan=0.0)


class _Replay:
    """The arenas of a finished run, with room for matrices behind them."""

    def __init__(self, run: Trajectory):
        self.run = run
        system, control = run.system, run.control
        self.I, D = run.integers.copy(), run.doubles
        I, tableau = self.I, find_method(run.method)
        nx, ny, nu, nr, nq, nv = (int(I[k]) for k in (L.NX, L.NY, L.NU, L.NROW, L.NQ, L.NV))
        n_p, nc, nm = len(system.mechanism.parameters), len(control.parameters), control.memory.size
        nz, m, count = nx + n_p + nc, nx + n_p, tableau.count
        high = 2 * nr + int(I[L.NUNIT]) + int(I[L.NUSER])
        sizes = {
            T.TABLEAU: count * (count + 1), T.PHI: nx * nz, T.STAGE: nx * nz, T.NEXT: nx * (nz + 1),
            T.KZ: count * nx * nz, T.CU: (nz + nm + 1) * (nu + nm), T.INPUTS: (nz + 1) * nu, T.HELD: nz * nu,
            T.MEMORY: nz * nm, T.MEMORY_NEXT: nz * nm, T.MEMORY_BASE: nm,
            T.DER: (nq + nv + nr) * (m + 1) + nv * nu + nr * nv, T.SLOPE: high * (1 + m), T.EXT: nu + nv + nr,
            T.DTAU: nz, T.FORCES: nr * (nz + 1), T.COEF_P: int(I[L.NUNIT]) * L.COEFFICIENTS * n_p,
            T.LIMIT_P: nu * n_p, T.TIMES: len(run.event_rows) * nz, T.TANGENT: nx * (nz + 1), T.RATE: ny,
            T.RATE_AFTER: ny, T.RESULT: nx, T.SPARE: nu + nm, T.SINCE: 1, T.UNTIL: 1,
            T.KEPT: T.MOST_PLACES,
        }  # fmt: skip
        self.Q = np.zeros(T.Q_END + T.SPEC_WIDTH * nc, dtype=np.int64)
        end = len(D)
        for place, size in sizes.items():
            self.Q[place] = end
            end += size
        self.D = np.zeros(end)
        self.D[: len(D)] = D
        self.sizes, self.nx, self.nz, self.groups = sizes, nx, nz, (nx, n_p, nc)
        made = derivative_program(system)
        numbers = {
            T.NZ: nz, T.NP: n_p, T.NC: nc, T.NM: nm, T.NEVENT: len(run.event_rows), T.ONLY: -1,
            T.DERIVATIVES: made.address("derivatives"), T.SLOPES: made.address("slopes"),
            T.BLIND: int(control.python), T.SPEC: T.Q_END,
        }  # fmt: skip
        for place, value in numbers.items():
            self.Q[place] = value
        for k, parameter in enumerate(control.parameters):
            if len(parameter.places) > T.MOST_PLACES:
                raise InputError(f"{parameter.name} of {control.name} may be at most {T.MOST_PLACES} of its numbers")
            first = T.Q_END + T.SPEC_WIDTH * k
            self.Q[first : first + 2] = parameter.moves, len(parameter.places)
            self.Q[first + 2 : first + 2 + len(parameter.places)] = parameter.places
        weights = np.zeros((count, count))
        for j, row in enumerate(tableau.stages):
            weights[j, : len(row)] = row
        coefficients, limits = coefficient_slopes(system)
        self.put(T.TABLEAU, np.concatenate([tableau.nodes, weights.ravel()]))
        self.put(T.COEF_P, coefficients)
        self.put(T.LIMIT_P, limits)
        self.D[I[L.MEM] : I[L.MEM] + nm] = control.memory

    def put(self, place: int, values: np.ndarray) -> None:
        start = self.Q[place]
        self.D[start : start + self.sizes[place]] = np.ravel(values)

    def get(self, place: int) -> np.ndarray:
        start = self.Q[place]
        return self.D[start : start + self.sizes[place]].copy()

    def go(self, since: float, until: float, only: int = -1) -> np.ndarray:
        """Carry the identity from one time to another, or over one event."""
        run = self.run
        self.put(T.PHI, np.eye(self.nz, self.nx))  # stored column by column
        self.put(T.SINCE, np.array(since))
        self.put(T.UNTIL, np.array(until))
        self.Q[T.ONLY] = only
        self.Q[T.SKIP] = int((run.event_rows[:, L.E_TIME] <= since).sum())
        self.put(T.TIMES, np.full(self.sizes[T.TIMES], math.nan))
        steps, events = np.ascontiguousarray(run.step_rows), np.ascontiguousarray(run.event_rows)
        arrays = (self.I, self.D, steps, events, run.arc_statuses, self.Q)
        failure, run.control.failure = run.control.failure, None
        code = transition_entry()[0](*map(pointer_to, arrays))
        failure, run.control.failure = run.control.failure, failure
        if code != 0:
            raise SaltusError(f"{run.system.name}: no derivative here: {STATUSES[code].meaning}") from failure
        return self.get(T.PHI).reshape(self.nz, self.nx).T


def _check(run: Trajectory, result: np.ndarray) -> np.ndarray:
    if not np.isfinite(result).all():
        raise SaltusError(
            f"{run.system.name}: the run has no derivative: a guard of one of its events is reached without speed"
        )
    return result


def _refuse_slips_in_space(run: Trajectory) -> None:
    """Slip in any direction and impacts in space have no derivatives here; rolling and flight have."""
    for k, unit in enumerate(run.system.units):
        statuses = run.arc_statuses[:, k]
        if unit.kind == SPACE and (np.unique(statuses).size > 1 or (statuses == SLIP).any()):
            raise InputError(
                f"{run.system.name}'s {unit.name} slips, strikes or leaves the ground in space in this run; "
                "derivatives are known only while it rolls, sticks or is in the air all the time"
            )


def _refuse_rough_control(run: Trajectory) -> None:
    """What a controller reads in steps has slopes of zero or of infinity."""
    if run.control.rough:
        raise InputError(f"a run of {run.system.name} with {run.control.name} has no derivative: {run.control.rough}")


def sensitivity(run: Trajectory, since: float | None, until: float | None) -> Sensitivity:
    """Differentiate a run from one time to another."""
    _refuse_slips_in_space(run)
    _refuse_rough_control(run)
    for name, value in (("since", since), ("until", until)):
        if value is not None and not run.start_time <= value <= run.end_time:
            raise InputError(f"{name} must lie between {run.start_time:g} and {run.end_time:g} s, got {value!r}")
    begin, end = -math.inf if since is None else since, math.inf if until is None else until
    if begin > end:
        raise InputError(f"time runs forward: until ({end:g} s) must not be before since ({begin:g} s)")
    if not run.status.good:
        raise InputError(f"a run that ended as {run.status.name} has no derivative")
    replay = _Replay(run)
    matrix = _check(run, replay.go(begin, end))
    times = replay.get(T.TIMES).reshape(-1, replay.nz)
    control = run.control
    names = (
        *run.system.state_names,
        *run.system.mechanism.parameters,
        *(f"{control.name}.{parameter.name}" for parameter in control.parameters),
    )
    return Sensitivity(names, replay.groups, matrix, times)


def saltation(run: Trajectory, event: int) -> np.ndarray:
    """The saltation matrix of one event."""
    _refuse_slips_in_space(run)
    _refuse_rough_control(run)
    count = len(run.event_rows)
    if not isinstance(event, int) or not -count <= event < count:
        raise InputError(f"the run has {count} events, so there is no event {event!r}")
    event %= count
    times, causes = run.event_rows[:, L.E_TIME], run.event_rows[:, L.E_CAUSE]
    if event and causes[event] == L.CAUSE_COMMAND and times[event - 1] == times[event]:
        raise InputError(
            f"event {event} is what event {event - 1} led to at the same instant, so it has no saltation matrix of "
            "its own; run.jacobian(since=..., until=...) goes over both"
        )
    replay = _Replay(run)
    return _check(run, replay.go(-math.inf, math.inf, event)[:, : replay.nx])
