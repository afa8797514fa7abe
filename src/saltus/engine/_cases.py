"""What differs between many runs: states, parameters and controllers of each, all checked before any work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact._unit import GROUNDS
from saltus.engine._control import Control
from saltus.engine._simulate import _check_grips, _check_start, bind, check_slips
from saltus.errors import InputError, SaltusError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.hybrid._closed import REST, grip_rows, grip_speeds, ground_motion
from saltus.hybrid._readings import reading_names

# How many runs CasADi evaluates at once: preparing it for more costs more than it saves.
_BLOCK = 256

# What a system keeps of its parameters' values once they are asked for.
OF_VALUES = ("_arenas", "unit_coefficients", "ideal_units")


@dataclass(frozen=True, eq=False)
class Cases:
    """A row for each run: state, parameters, numbers that follow from these, side of each guard; and its controller.

    ``varied`` says whether parameters differ; then ``constants`` are those of `HybridSystem`, and
    the system is that of the first run.
    """

    system: HybridSystem
    states: np.ndarray
    parameters: np.ndarray
    varied: bool
    constants: list[np.ndarray]
    sides: np.ndarray
    controllers: Sequence[Any]
    controls: Sequence[Control]

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def distinct(self) -> list[Control]:
        """The controllers as bound, each once."""
        if len(self.controls) > 1 and all(control is self.controls[0] for control in self.controls):
            return [self.controls[0]]
        return list({id(control): control for control in self.controls}.values())

    def of(self, run: int) -> HybridSystem:
        """The system with the parameters of one run."""
        if not self.varied:
            return self.system
        return _variant(self.system, self.parameters[run], [group[run] for group in self.constants])


def read_cases(
    system: HybridSystem, states: Any, parameters: Any, controllers: Any, start: float, mode: Mapping[str, str] | None
) -> Cases:
    """Everything that is given, as rows of numbers, or an error that names the first run at fault."""
    values, lengths = _read_parameters(system, parameters)
    varied = any(np.ndim(value) for value in values.values())
    if values and not varied:
        system = system.with_parameters(**values)
    told, rows, lengths["states"] = _read_states(system, states)
    many = isinstance(controllers, (list, tuple, np.ndarray)) and not hasattr(controllers, "bind")
    lengths["controllers"] = len(controllers) if many else None
    count = _common(lengths)
    rows = np.array(np.broadcast_to(rows, (count, rows.shape[1])), order="C")
    refuse(~np.isfinite(rows).all(axis=1), lambda run: system.state(rows[run]))
    refuse(~system.unit_quaternions(rows), lambda run: system.state(rows[run]))
    p = _parameter_rows(system, count, values if varied else {})
    constants = _check_constants(system, p) if varied else []
    if varied:
        system = _variant(system, p[0], [group[0] for group in constants])
    bare = Cases(system, rows, p, varied, constants, np.zeros((count, 0), dtype=np.int64), (), ())
    if told:
        rows[:] = _states_one_by_one(bare, told)
    sides = _check_starts(bare, start)
    statuses = system.start_statuses(mode)
    _check_all_grips(bare, statuses)
    _check_all_slips(bare)
    each = list(controllers) if many else [controllers] * count
    made = replace(bare, sides=sides, controllers=each, controls=_bind_all(bare, each, alike=not many))
    _ask_controllers(made, statuses)
    return made


def _parameter_rows(system: HybridSystem, count: int, own: Mapping[str, Any]) -> np.ndarray:
    """Parameters of all runs: those of the system, and what they have of their own, if that is allowed."""
    p = np.tile(system.parameter_values, (count, 1))
    for k, (name, parameter) in enumerate(system.mechanism.parameters.items()):
        if name in own:
            p[:, k] = own[name]
            values = p[:, k]
            bad = np.isnan(values) if parameter.infinite else ~np.isfinite(values)
            bad |= (values < parameter.lower) | (values > parameter.upper)
            if parameter.strict:
                bad |= values <= parameter.lower
            refuse(bad, lambda run, check=parameter.check, values=values: check(values[run]))  # type: ignore[misc]
    return p


def refuse(bad: np.ndarray, explain: Callable[[int], Any]) -> None:
    """Refuse the runs that are marked: ``explain`` raises the error of the first, as a run alone would."""
    if not bad.any():
        return
    run, more = int(np.argmax(bad)), int(bad.sum()) - 1
    try:
        explain(run)
    except SaltusError as error:
        raise InputError(f"run {run}{f' (and {more} more)' if more else ''}: {error}") from None
    raise InputError(f"run {run}{f' (and {more} more)' if more else ''}: its numbers are not allowed")


def column(function: Any, *rows: np.ndarray) -> np.ndarray:
    """The first output of a CasADi function for all runs, a row for each; what only the others need is not computed."""
    symbols = function.sx_in()
    return columns(ca.Function("first", symbols, function.call(symbols)[:1], {"cse": True}), *rows)[0]


def columns(function: Any, *rows: np.ndarray) -> list[np.ndarray]:
    """Evaluate a CasADi function for all runs: a row for each goes in, a row for each comes out."""
    count = len(rows[0])
    block = min(count, _BLOCK)
    symbols = function.sx_in()
    dense = ca.Function("dense", symbols, [ca.densify(out) for out in function.call(symbols)])
    # memory is shared: converting numbers one by one would take longer than the runs
    buffer: Any
    buffer, evaluate = dense.map(block).buffer()
    given = [np.empty((block, function.numel_in(k))) for k in range(function.n_in())]
    made = [np.empty((block, function.numel_out(k))) for k in range(function.n_out())]
    for k, array in enumerate(given):
        buffer.set_arg(k, array.data)
    for k, array in enumerate(made):
        buffer.set_res(k, array.data)
    answers = [np.empty((count, array.shape[1])) for array in made]
    for first in range(0, count, block):
        size = min(block, count - first)
        for array, row in zip(given, rows, strict=True):
            array[:size] = row[first : first + size].reshape(size, -1)
        evaluate()
        for answer, array in zip(answers, made, strict=True):
            answer[first : first + size] = array[:size]
    return answers


def _common(lengths: Mapping[str, int | None]) -> int:
    """The number of runs that all agree on; one where nothing says."""
    count, who = None, ""
    for name, length in lengths.items():
        if length is None:
            continue
        if length == 0:
            raise InputError(f"{name} are for no run at all; give at least one")
        if count is not None and length != count:
            raise InputError(f"{who} are for {count} runs, {name} for {length}; they must agree")
        count, who = length, name
    return 1 if count is None else count


def _numbers(name: str, given: Any) -> np.ndarray:
    """A number, or a plain row of numbers, one for each run."""
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number or one for each run, got {given!r}") from None
    if array.ndim > 1:
        raise InputError(f"{name} must be a number or one for each run, got an array of shape {array.shape}")
    return array


def _read_parameters(system: HybridSystem, given: Any) -> tuple[dict[str, Any], dict[str, int | None]]:
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise InputError(f"parameters are given by name, got {given!r}")
    values, lengths = {}, {}
    for name, value in given.items():
        if name not in system.mechanism.parameters:
            raise unknown_name("parameter", name, system.mechanism.parameters, system.name)
        array = _numbers(f"parameter {name!r}", value)
        values[name] = array if array.ndim else float(array)
        lengths[f"values of parameter {name!r}"] = len(array) if array.ndim else None
    return values, lengths


def _read_states(system: HybridSystem, given: Any) -> tuple[list[Any], np.ndarray, int | None]:
    """States as rows, a single row where one is for all; and how many runs they are for.

    Where a state follows from readings or from parameters, what is told of it comes first, for each run or once, and
    the rows are empty.
    """
    later = np.zeros((1, len(system.state_names)))
    for place in system.mechanism.quaternions:
        later[:, place] = 1.0
    if given is None or (isinstance(given, Mapping) and not given):
        return ([{}], later, None) if follows(system, {}) else ([], system.state()[None], None)
    if isinstance(given, Mapping):
        values, length = _values_by_name(system, given)
        if not follows(system, values):
            return [], _states_by_name(system, values, length), length
        rows = np.column_stack([np.broadcast_to(value, (length or 1,)) for value in values.values()]).tolist()
        return [dict(zip(values, row, strict=True)) for row in rows], later, length
    if isinstance(given, Iterable) and not isinstance(given, str) and not hasattr(given, "__array__"):
        given = list(given)
        if any(item is None or isinstance(item, Mapping) for item in given):
            return given, later, len(given)
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"states of {system.name} must be numbers, a row for each run, got {given!r}") from None
    names = system.state_names
    if array.ndim not in (1, 2) or array.shape[-1] != len(names):
        if array.shape == (0,):
            return [], np.zeros((0, len(names))), 0
        raise InputError(
            f"states of {system.name} have {len(names)} entries ({', '.join(names)}), a row for each run, "
            f"got an array of shape {array.shape}"
        )
    return ([], array[None], None) if array.ndim == 1 else ([], array, len(array))


def follows(system: HybridSystem, given: Mapping[str, Any]) -> bool:
    """Whether states told by these names follow from readings or parameters."""
    readings, named = reading_names(system), {**system.start, **given}
    return any(name in readings or isinstance(value, ca.SX) for name, value in named.items())


def _values_by_name(system: HybridSystem, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], int | None]:
    """What is told by name, numbers or one for each run, and for how many runs."""
    names, readings, values = system.state_names, reading_names(system), {}
    for name, value in given.items():
        if name not in names and name not in readings:
            kind = "coordinate, velocity or reading" if readings else "coordinate or velocity"
            raise unknown_name(kind, name, [*names, *readings], system.name)
        values[name] = _numbers(name, value)
    lengths = {f"values of {name}": len(value) if value.ndim else None for name, value in values.items()}
    count = _common(lengths)
    return values, count if any(value.ndim for value in values.values()) else None


def _states_by_name(system: HybridSystem, values: Mapping[str, np.ndarray], count: int | None) -> np.ndarray:
    rows = np.tile(system.state(), (count or 1, 1))
    for name, value in values.items():
        rows[:, system.state_names.index(name)] = value
    return rows


def _states_one_by_one(cases: Cases, told: list[Any]) -> np.ndarray:
    """States from what each run is told, or all are, with the parameters of each."""
    if len(told) == 1 and not cases.varied:
        return cases.system.state(told[0])
    rows = np.empty_like(cases.states)
    for run in range(len(cases)):
        try:
            rows[run] = cases.of(run).state(told[run if len(told) > 1 else 0])
        except InputError as error:
            raise InputError(f"run {run}: {error}") from None
    return rows


def _check_constants(system: HybridSystem, p: np.ndarray) -> list[np.ndarray]:
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
    refuse(bad, lambda run: system.with_parameters(**dict(zip(system.values, p[run], strict=True))))
    return constants


def _check_starts(cases: Cases, start: float) -> np.ndarray:
    """Refuse starts below the ground or beyond a terminal guard; the side of zero on which each guard begins."""
    system = cases.system
    nunit = len(system.units)
    if not nunit and not system.guards:
        return cases.sides
    t = np.full(len(cases), float(start))
    bad, gaps, own = wrong_starts(system, t, cases.states, cases.parameters)
    refuse(bad, lambda run: _check_start(system, gaps[run], own[run]))
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


def _check_all_grips(cases: Cases, statuses: list[int]) -> None:
    """Refuse starts in which a closed grip moves."""
    if not grip_speeds(cases.system, statuses, cases.states[0]):
        return
    J = columns(grip_rows(cases.system, statuses), cases.states, cases.parameters)[1]
    nv = cases.system.mechanism.nv
    velocities = cases.states[:, -nv:]
    speeds = np.einsum("nvr,nv->nr", J.reshape(len(J), nv, -1), velocities)  # CasADi stores columns
    bad = np.abs(speeds).max(axis=1) > 1e-9
    refuse(bad, lambda run: _check_grips(cases.of(run), statuses, cases.states[run]))


def _check_all_slips(cases: Cases) -> None:
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
    refuse(slips.any(axis=1), lambda run: check_slips(cases.of(run), cases.states[run]))


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


def _bind_all(cases: Cases, controllers: Sequence[Any], *, alike: bool) -> list[Control]:
    """Each controller bound to the system of its run; what is the same in all runs, once."""
    bound: dict[int, Control] = {}
    controls: list[Control] = []
    for run, controller in enumerate(controllers):
        control = bound.get(id(controller))
        if control is None:
            try:
                control = bind(controller, cases.of(run))
            except InputError as error:
                raise InputError(f"run {run}: {error}") from None
            # a Python function has memory of its own in each run, and limits are those of a run
            if control.lasting and (controller is None or not cases.varied):
                if alike:
                    return [control] * len(controllers)
                bound[id(controller)] = control
        controls.append(control)
    return controls


def _ask_controllers(cases: Cases, statuses: list[int]) -> None:
    """Let controllers refuse starts that they can do nothing with."""
    if all(control.check_start is None for control in cases.distinct):
        return
    for run, control in enumerate(cases.controls):
        if control.check_start is not None:
            try:
                control.check_start(cases.states[run], statuses, cases.parameters[run])
            except InputError as error:
                raise InputError(f"run {run}: {error}") from None


def _variant(system: HybridSystem, values: np.ndarray, constants: list[np.ndarray]) -> HybridSystem:
    """A system with other parameters that are known to be allowed, without the checks that made them known."""
    made: HybridSystem = object.__new__(HybridSystem)
    kept = {name: thing for name, thing in system.__dict__.items() if name not in OF_VALUES}
    own = {"values": dict(zip(system.values, values.tolist(), strict=True)), "constants": constants}
    made.__dict__.update({**kept, **own})
    return made
