"""Everything that is given for many runs, read as rows of numbers and checked before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from saltus.engine._cases import Cases, Repeated, variant
from saltus.engine._control import Control, ControlTable
from saltus.engine._refusals import Refusals
from saltus.engine._simulate import bind, check_controller, check_one_start
from saltus.engine._starts import ask_controllers, check_constants, check_starts
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.hybrid._readings import reading_names


def read_cases(
    system: HybridSystem, states: Any, parameters: Any, controllers: Any, start: float, mode: Mapping[str, str] | None
) -> Cases:
    """Everything that is given, as rows of numbers.

    What is given for all runs and is not allowed is an error; what is given for a run and is not allowed is the reason
    why this run cannot start. The checks are in the order of those of a run alone, so that the reasons are the same.
    """
    values, lengths = _read_parameters(system, parameters)
    varied = any(np.ndim(value) for value in values.values())
    if values and not varied:
        system = system.with_parameters(**values)
    named, rows, lengths["states"] = _read_states(system, states)
    many = isinstance(controllers, (list, tuple, np.ndarray)) and not hasattr(controllers, "bind")
    lengths["controllers"] = len(controllers) if many else None
    count = _common(lengths)
    refusals, once = Refusals(count), lengths["states"] is None
    rows = np.array(np.broadcast_to(rows, (count, rows.shape[1])), order="C")
    p = _parameter_rows(system, count, values if varied else {}, refusals)
    constants = check_constants(system, p, refusals) if varied else []
    if varied and not refusals.refused.all():
        first = int(np.argmin(refusals.refused))
        system = variant(system, p[first], [group[first] for group in constants])
    bare = Cases(system, rows, p, varied, constants, np.zeros((count, 0), dtype=np.int64))
    statuses = system.start_statuses(mode)
    _check_states(bare, named, once, refusals)
    each = list(controllers) if many else Repeated(controllers, count)
    made = replace(bare, controllers=each, controls=_bind_all(bare, each, refusals))
    if once and not varied:
        check_one_start(system, start, rows[0], statuses)
    made = replace(made, sides=check_starts(made, start, statuses, refusals))
    ask_controllers(made, statuses, refusals)
    if once and not varied and not many:
        refusals.raise_first()
    return replace(made, refused=refusals.reasons)


def _parameter_rows(system: HybridSystem, count: int, own: Mapping[str, Any], refusals: Refusals) -> np.ndarray:
    """Parameters of all runs: those of the system, and what they have of their own, if that is allowed."""
    p = np.tile(system.parameter_values, (count, 1))
    for k, (name, parameter) in enumerate(system.mechanism.parameters.items()):
        if name not in own:
            continue
        if np.ndim(own[name]) == 0:
            parameter.check(own[name])
        p[:, k] = own[name]
        values = p[:, k]
        refusals.check(~parameter.allowed(values), lambda run, of=parameter, values=values: of.check(values[run]))  # type: ignore[misc]
    return p


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
    except (TypeError, ValueError, OverflowError):
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

    Where a state follows from readings or from parameters, the values by name come first, for each run or once, and
    the rows are empty.
    """
    names = system.state_names
    size = len(names)
    later = np.zeros((1, size))
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
    array = _array(given)
    if array is None:
        # beside a run whose state is one, a run whose state is none says so by itself
        each = list(given) if isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim) else []
        if any(row is not None and row.shape == (size,) for row in map(_array, each)):
            return each, later, len(each)
        raise InputError(f"states of {system.name} must be numbers, a row for each run, got {given!r}")
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        if array.shape == (0,):
            return [], np.zeros((0, size)), 0
        raise InputError(
            f"states of {system.name} have {size} entries ({', '.join(names)}), a row for each run, "
            f"got an array of shape {array.shape}"
        )
    return ([], array[None], None) if array.ndim == 1 else ([], array, len(array))


def _array(given: Any) -> np.ndarray | None:
    """Numbers as an array; None where they are none, or rows are not equally long."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None


def follows(system: HybridSystem, given: Mapping[str, Any]) -> bool:
    """Whether states with values of these names follow from readings or parameters."""
    readings, named = reading_names(system), {**system.start, **given}
    return any(name in readings or isinstance(value, ca.SX) for name, value in named.items())


def _values_by_name(system: HybridSystem, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], int | None]:
    """Values by name, each a number or one for each run; and for how many runs."""
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
    rows = np.empty((count or 1, len(system.state_names)))
    rows[:] = system.state()
    for name, value in values.items():
        rows[:, system.state_names.index(name)] = value
    return rows


def _check_states(cases: Cases, named: list[Any], once: bool, refusals: Refusals) -> None:
    """Fill in what follows from values by name, and refuse states that are not finite or have no posture."""
    rows = cases.states
    if named:
        _states_one_by_one(cases, named, once, refusals)
    elif once:
        rows[:] = cases.system.state(rows[0])
    else:
        finite = np.isfinite(rows)
        if not finite.all():
            refusals.check(~finite.all(axis=1), lambda run: cases.system.state(rows[run]))
        refusals.check(~cases.system.unit_quaternions(rows), lambda run: cases.system.state(rows[run]))


def _states_one_by_one(cases: Cases, named: list[Any], once: bool, refusals: Refusals) -> None:
    """States from the values by name of each run, or of all, with the parameters of each."""
    if once and not cases.varied:
        cases.states[:] = cases.system.state(named[0])
        return
    for run in np.flatnonzero(~refusals.refused).tolist():
        state = refusals.attempt(run, lambda run: cases.of(run).state(named[0 if once else run]))
        cases.states[run] = np.nan if state is None else state


# In the place of a controller of a run that is refused before it is bound.
_UNBOUND = Control()


def _bind_all(cases: Cases, controllers: Sequence[Any], refusals: Refusals) -> Sequence[Control]:
    """Each controller bound to the system of its run; what is the same in all runs, once."""
    if isinstance(controllers, Repeated):
        one = controllers.one
        if one is None or not cases.varied:
            control = bind(one, cases.system)
            if control.lasting:
                return Repeated(control, len(cases))
    else:
        table = _bind_alike(cases, controllers, refusals)
        if table is not None:
            return table
    bound: dict[int, Control] = {}
    controls = [_UNBOUND] * len(cases)
    for run, controller in enumerate(controllers):
        control = bound.get(id(controller), _UNBOUND)
        if control is _UNBOUND and not refusals.refused[run]:
            _check_kind(run, controller)
            control = refusals.attempt(run, lambda run: bind(controllers[run], cases.of(run))) or _UNBOUND
            # a Python function has memory of its own in each run, and limits are those of a run
            if control.lasting and (controller is None or not cases.varied) and control is not _UNBOUND:
                bound[id(controller)] = control
        controls[run] = control
    return controls


def _bind_alike(cases: Cases, controllers: Sequence[Any], refusals: Refusals) -> ControlTable | None:
    """Controllers of one kind as a table, where their kind can make it; those that it doubts are bound one by one."""
    kind = type(controllers[0])
    if not hasattr(kind, "bind_all") or any(type(controller) is not kind for controller in controllers):
        return None
    found = kind.bind_all(controllers, cases.of, cases.constants[3] if cases.varied else cases.system.input_limits)
    if found is None:
        return None
    table, doubtful = found
    refusals.check(doubtful, lambda run: bind(controllers[run], cases.of(run)))
    return table  # type: ignore[no-any-return]


def _check_kind(run: int, controller: Any) -> None:
    """Refuse what is no controller at all: a mistake of the caller, not of the run."""
    try:
        check_controller(controller)
    except InputError as error:
        raise InputError(f"run {run}: {error}") from None
