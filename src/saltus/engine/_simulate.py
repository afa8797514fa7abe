"""The one function that runs a system: check everything, run the compiled loop, hand back the record."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from saltus._finite import as_float, is_finite
from saltus._native import pointer_to
from saltus.contact._unit import GROUNDS
from saltus.engine import _layout as L
from saltus.engine import _status as S
from saltus.engine._control import Control, python_control
from saltus.engine._listen import was_made
from saltus.engine._live import Live
from saltus.engine._program import arenas, engine
from saltus.engine._stepsize import LOWEST_ERROR
from saltus.engine._trajectory import Trajectory
from saltus.errors import InputError, RunFailed, RunInterrupted, SaltusError
from saltus.hybrid import HybridSystem
from saltus.hybrid._closed import grip_speeds, slipping

_BUDGET = 20_000

# How far the energy balance may be missed where nothing else is said, J; and up to which relative tolerance
# that is held: who asks for less gets less.
ENERGY_TOLERANCE, HELD_UP_TO = 1e-10, 1e-10


def bind(controller: Any, system: HybridSystem) -> Control:
    """A controller in the form that the loop calls; a bare function is sampled every millisecond."""
    check_controller(controller)
    if controller is None:
        return Control()
    if hasattr(controller, "bind"):
        bound = controller.bind(system)
        if not isinstance(bound, Control):
            raise InputError(f"bind of {controller!r} must return a Control, got {bound!r}")
        breaks = bound.breaks
        if breaks.size and not (np.isfinite(breaks).all() and (breaks[1:] > breaks[:-1]).all()):
            raise InputError(f"breaks of a controller must be finite times that increase, got {list(bound.breaks)}")
        return bound
    return python_control(controller, system, L.SAMPLED, 1e-3, 8)


def check_controller(controller: Any) -> None:
    """Refuse what is no controller, whatever the system is."""
    if isinstance(controller, type):
        raise InputError(f"{controller.__name__} is a kind of controller; give one of it: {controller.__name__}(...)")
    if controller is not None and not hasattr(controller, "bind") and not callable(controller):
        raise InputError(f"a controller is a function or has a bind method, got {controller!r}")


def simulate(
    system: HybridSystem,
    state: Mapping[str, float] | Sequence[float] | np.ndarray | None = None,
    *,
    until: float | None = None,
    start: float = 0.0,
    controller: Any = None,
    parameters: Mapping[str, float] | None = None,
    mode: Mapping[str, str] | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    method: str = "dopri5",
    energy_tolerance: float | None = None,
    max_step: float = math.inf,
    first_step: float | None = None,
    output_step: float | None = None,
    max_steps: int = 10_000_000,
    max_events: int = 100_000,
    raise_errors: bool = True,
    progress: Callable[[float], None] | None = None,
    watch: Callable[[Live], None] | None = None,
) -> Trajectory:
    """Simulate a system through every event.

    Parameters
    ----------
    state
        Start by name (the robot's default for what is not named) or as a vector (q, v).
    until, start
        End and start time, s.
    controller
        None (passive), a controller of `saltus.control`, or a function
        ``(t, state, mode, memory) -> command``, sampled every millisecond.
    parameters
        Values that replace the system's own.
    mode
        Which grips are ``closed``, ``open`` or ``reaching`` at the start, where not as the robot says.
    rtol, atol
        Relative and absolute error per step.
    energy_tolerance
        How far the energy balance (see ``run.check``) may be missed, J. Where it is about to be missed,
        rtol and atol are a tenth for the rest of the run, and again, down to an rtol of 1e-14. What is left
        then is rounding: some 1e-15 of the largest energy, with parts of it that cancel and angles of many
        turns. If not given, 1e-10 for a system with ground contacts where rtol is at most 1e-10. ``math.inf``
        leaves the tolerances alone.
    output_step
        Spacing of the samples in ``run.dataset``, s; a thousandth of the run if not given.
    raise_errors
        Raise `saltus.errors.RunFailed` if the run ends in a status that is not good; it carries the
        trajectory so far. Ctrl-C always raises `saltus.errors.RunInterrupted`, which carries it too.
    progress
        Called now and then with the simulated time.
    watch
        Called after every step with the run as it goes on (`saltus.engine.Live`); the run waits for it.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"simulate needs a robot, such as saltus.robots.hopper(), got {system!r}")
    if parameters:
        if not isinstance(parameters, Mapping):
            raise InputError(f"parameters are given by name, got {parameters!r}")
        system = system.with_parameters(**parameters)
    until = system.until if until is None else until
    _check_numbers(start, until, rtol, atol, max_step, first_step, output_step, max_steps, max_events)
    check_energy_tolerance(energy_tolerance)
    x0 = system.state(state)
    control = bind(controller, system)
    statuses = system.start_statuses(mode)
    own = check_one_start(system, start, x0, statuses)
    if control.check_start is not None:
        control.check_start(x0, statuses, system.parameter_values)
    integrals = counts_work(system, control)
    I, D = arenas(system, method, control.data.size, control.memory.size, control.breaks.size, integrals)
    _fill(I, D, control, x0, start, until, rtol, atol, max_step, first_step)
    I[I[L.STATUS] : I[L.STATUS] + len(statuses)] = statuses
    I[I[L.SIDE] : I[L.SIDE] + own.size] = system.guard_sides(start, x0, own)
    I[L.MAXSTEP], I[L.MAXEVENT] = max_steps, max_events
    D[L.CLOSES] = energy_held(energy_tolerance, rtol, system)
    record = partial(
        Trajectory, system=system, method=method, rtol=rtol, atol=atol, start_time=start, requested_end=until,
        output_step=output_step if output_step is not None else (until - start) / 1000, controller=controller,
        initial=x0, initial_mode=dict(mode or {}),
    )  # fmt: skip
    see = None if watch is None else partial(_show, watch, record, I, D, control)
    steps, events, code = _run(I, D, engine().advance, control, progress, see)
    run = record(control=control, status=S.STATUSES[code], integers=I, doubles=D, step_rows=steps, event_rows=events)
    was_made(run)
    if code == S.INTERRUPTED:  # who stops one run stops what made it
        raise RunInterrupted(run.failure_message(), run) from control.failure
    if raise_errors and not run.status.good:
        raise RunFailed(run.failure_message(), run) from control.failure
    return run


def counts_work(system: HybridSystem, control: Control) -> bool:
    """Whether a run has work and losses to integrate."""
    return bool(system.units) or control.kind != L.PASSIVE or bool(system.mechanism.viscous)


def check_energy_tolerance(value: Any) -> None:
    """Refuse a tolerance that no balance can be held to."""
    if value is not None and (not as_float(value) > 0):
        raise InputError(f"energy_tolerance must be a positive number, in joules, got {value!r}")


def energy_held(value: float | None, rtol: float, system: HybridSystem) -> float:
    """To what the loop holds the energy balance, J; zero for nothing."""
    if value is None:
        grounded = any(unit.kind in GROUNDS for unit in system.units)
        return ENERGY_TOLERANCE if grounded and rtol <= HELD_UP_TO else 0.0
    return float(value) if math.isfinite(value) else 0.0


def _check_numbers(
    start: Any,
    until: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
    first: Any,
    output: Any,
    max_steps: Any,
    max_events: Any,
) -> None:
    """Refuse numbers that no run can have."""
    given = {"start": start, "until": until, "rtol": rtol, "atol": atol, "max_step": max_step}
    given |= {name: value for name, value in (("first_step", first), ("output_step", output)) if value is not None}
    for name, value in given.items():
        if math.isnan(as_float(value)) or (name != "max_step" and not is_finite(value)):
            raise InputError(f"{name} must be a finite number, got {value!r}")
    if until < start:
        raise InputError(f"time runs forward: until ({until:g} s) must not be before start ({start:g} s)")
    if not 1e-14 <= rtol <= 1e-1:
        raise InputError(f"rtol must lie between 1e-14 and 0.1, got {rtol!r}")
    for name in ("atol", "max_step", "first_step", "output_step"):
        if name in given and not given[name] > 0:
            raise InputError(f"{name} must be positive, got {given[name]!r}")
    for name, limit in (("max_steps", max_steps), ("max_events", max_events)):
        if not isinstance(limit, int) or not 0 < limit < 2**62:
            raise InputError(f"{name} must be a positive whole number, got {limit!r}")


def check_one_start(system: HybridSystem, start: float, x0: np.ndarray, statuses: list[int]) -> np.ndarray:
    """Refuse a start that no run may have; the values of all guards there."""
    gaps, own = system.kinematics(start, x0) if system.units or system.guards else (np.zeros(0), np.zeros(0))
    _check_start(system, gaps, own)
    _check_grips(system, statuses, x0)
    check_slips(system, x0)
    return own


def _check_start(system: HybridSystem, gaps: np.ndarray, own: np.ndarray) -> None:
    """Refuse a start that is inside the ground, behind a wall, beyond a stop or beyond a terminal guard."""
    for unit, gap in zip(system.units, gaps, strict=True):
        if not gap >= -1e-9:
            raise InputError(f"start of {system.name}: {unit.blocked(float(gap))}")
    for guard, value in zip(system.guards, own, strict=True):
        if guard.no_start and abs(value) < 1e-9:
            raise InputError(
                f"start of {system.name} is where {guard.about or guard.name} ({guard.name!r} is zero); it must not be"
            )
    for guard, value in zip(system.guards, own, strict=True):
        if guard.action != "ignore" and not math.isfinite(value):
            raise InputError(f"start of {system.name}: guard {_described(guard)} is not a number there")
        wrong = value < 0 if guard.direction == "down" else value > 0
        if guard.action == "terminal" and guard.direction != "both" and wrong:
            rule = "not be negative" if guard.direction == "down" else "not be positive"
            raise InputError(f"start of {system.name} violates {_described(guard)}: {value:.6g}, must {rule}")


def _described(guard: Any) -> str:
    return f"{guard.name!r} ({guard.about})" if guard.about else repr(guard.name)


def _check_grips(system: HybridSystem, statuses: list[int], x0: np.ndarray) -> None:
    """Refuse a start in which a closed grip moves."""
    for unit, speed in grip_speeds(system, statuses, x0).items():
        if speed > 1e-9:
            raise InputError(
                f"start of {system.name}: {unit} is closed but moves at {speed:.6g} m/s; "
                "system.consistent(state) gives the nearest state in which it does not"
            )


def check_slips(system: HybridSystem, x0: np.ndarray) -> None:
    """Refuse a start in which something slips that never does."""
    if not system.ideal_units:
        return
    for unit, speed in slipping(system, x0).items():
        raise InputError(
            f"start of {system.name}: {unit} is on the ground and slips at {speed:.6g} m/s, but its friction is "
            "infinite; give velocities that roll (system.consistent(state, keep=[...]) finds the nearest), or a "
            "finite friction"
        )


def _fill(
    I: np.ndarray, D: np.ndarray, control: Control, x0: np.ndarray, start: float, until: float,
    rtol: float, atol: float, max_step: float, first: float | None,
) -> None:  # fmt: skip
    for place, block in ((L.Y, x0), (L.MEM, control.memory), (L.DATA, control.data), (L.BREAKS, control.breaks)):
        D[I[place] : I[place] + block.size] = block
    D[L.T], D[L.T_END], D[L.RTOL], D[L.ATOL] = start, until, rtol, atol
    D[L.H], D[L.H_MAX] = first or 0.0, max_step
    D[L.PERIOD], D[L.ERROR_OLD], D[L.DELTA] = control.period, LOWEST_ERROR, 1e-6
    if control.kind == L.SAMPLED:
        D[L.T_SAMPLE] = _next_sample(start, control.period)
    I[L.CONTROL_KIND], I[L.CONTROL] = control.kind, control.address
    I[L.PIECE] = int(np.searchsorted(control.breaks, start, side="right"))
    I[L.ENTRY], I[L.BUDGET] = L.CAUSE_START, _BUDGET


def _next_sample(start: float, period: float) -> int:
    """Number of the first sample after the start, which is one itself."""
    count = math.floor(start / period)
    while count * period <= start + 4 * math.ulp(start):
        count += 1
    return count


def _run(
    I: np.ndarray, D: np.ndarray, advance: Any, control: Control, progress: Callable[[float], None] | None,
    see: Callable[[np.ndarray, np.ndarray], None] | None,
) -> tuple[np.ndarray, np.ndarray, int]:  # fmt: skip
    """Call the loop until it ends, giving it room for its record as it asks; where someone sees it, step by step."""
    if see is not None:
        I[L.BUDGET] = 1
    steps = np.empty((512, I[L.STEP_ROW]))
    events = np.empty((64, I[L.EVENT_ROW]))
    with _interrupts_noted(control):
        while True:
            I[L.STEP_ROOM], I[L.EVENT_ROOM] = len(steps), len(events)
            code = advance(pointer_to(I), pointer_to(D), pointer_to(steps), pointer_to(events))
            if isinstance(control.failure, KeyboardInterrupt):
                code = S.INTERRUPTED
            elif code == S.STEPS_FULL:
                steps = _enlarged(steps, int(I[L.NRECORD]))
            elif code == S.EVENTS_FULL:
                events = _enlarged(events, int(I[L.NEVENT]))
            if progress is not None:
                progress(float(D[L.T]))
            if see is not None and code != S.EVENTS_FULL:  # then an event is still being handled
                see(steps, events)
            if code not in (S.STEPS_FULL, S.EVENTS_FULL, S.PAUSED):
                break
    if isinstance(control.failure, KeyboardInterrupt):  # however late it came
        code = S.INTERRUPTED
    if code not in S.STATUSES:
        raise SaltusError(f"the engine returned an unknown status {code}")
    used, count = int(I[L.NRECORD]), int(I[L.NEVENT])
    if _rests(I, D, events):
        steps[used] = _resting_row(I, D)
        I[L.NRECORD] = used = used + 1
    return steps[:used], events[:count], code


def _show(
    watch: Callable[[Live], None], record: Callable[..., Trajectory], I: np.ndarray, D: np.ndarray, control: Control,
    steps: np.ndarray, events: np.ndarray,
) -> None:  # fmt: skip
    """Let someone watch the run as far as it is; what is read of it leaves the run as it was."""

    def so_far() -> Trajectory:
        rows, integers = steps[: int(I[L.NRECORD])], I.copy()
        if _rests(I, D, events):
            rows = np.vstack([rows, _resting_row(I, D)])
        integers[L.NRECORD] = len(rows)
        return record(
            control=replace(control), status=S.STATUSES[S.RUNNING], integers=integers, doubles=D.copy(),
            step_rows=rows, event_rows=events[: int(I[L.NEVENT])],
        )  # fmt: skip

    watch(Live(float(D[L.T]), so_far, lambda: isinstance(control.failure, KeyboardInterrupt)))


def _rests(I: np.ndarray, D: np.ndarray, events: np.ndarray) -> bool:
    """Whether the last state is one that no step begins with."""
    last = int(I[L.NEVENT]) - 1
    return I[L.NRECORD] == 0 or (last >= 0 and events[last, L.E_TIME] == D[L.T] and not events[last, L.E_ENDED])


def _resting_row(I: np.ndarray, D: np.ndarray) -> np.ndarray:
    """A step of no length, for a last state that no step begins with."""
    row = np.zeros(I[L.STEP_ROW])
    row[L.S_TIME], row[L.S_PIECE], row[L.S_ARC], row[L.S_EVENTS] = D[L.T], I[L.PIECE], I[L.ARC], I[L.NEVENT]
    row[L.S_SAMPLE] = I[L.SAMPLE]
    first = L.S_VECTORS + I[L.NU]
    row[L.S_VECTORS : first] = np.nan_to_num(D[I[L.U] : I[L.U] + I[L.NU]])
    row[first : first + I[L.N]] = D[I[L.Y] : I[L.Y] + I[L.N]]
    return row


@contextlib.contextmanager
def _interrupts_noted(control: Control) -> Iterator[None]:
    """While compiled code runs, Ctrl-C is noted and ends the run between steps: nothing is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: Any) -> None:
        control.failure = KeyboardInterrupt()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _enlarged(rows: np.ndarray, used: int) -> np.ndarray:
    larger = np.empty((4 * len(rows), rows.shape[1]))
    larger[:used] = rows[:used]
    return larger
