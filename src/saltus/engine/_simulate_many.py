"""The one function that makes many runs: check everything, spread them over threads, hand back the summaries."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from saltus._native import pointer_to
from saltus.engine import _layout as L
from saltus.engine import _many as M
from saltus.engine._batch import Batch
from saltus.engine._cases import Cases
from saltus.engine._control import Control, ControlTable
from saltus.engine._figures import Figures, at_the_end, expressions_of
from saltus.engine._listen import was_made
from saltus.engine._program import arenas, batch_loop, coefficient_places
from saltus.engine._read_cases import read_cases
from saltus.engine._simulate import (
    _check_numbers,
    _fill,
    _next_sample,
    check_energy_tolerance,
    counts_work,
    energy_held,
)
from saltus.engine._status import NOT_STARTED, RUNNING
from saltus.engine._tableau import find_method
from saltus.engine._trajectory import Trajectory
from saltus.engine._wide import WIDTH, block_size, lane_kernels
from saltus.errors import BatchInterrupted, InputError
from saltus.hybrid import HybridSystem

# Rows for events in the memory of a thread: full, they are read and used anew.
_EVENT_ROOM = 64

# Threads write to their own memory only, and no two of them to one line of the cache.
_APART = 16


def simulate_many(
    system: HybridSystem,
    states: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    controllers: Any = None,
    mode: Mapping[str, str] | None = None,
    until: float | None = None,
    start: float = 0.0,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    method: str = "dopri5",
    energy_tolerance: float | None = math.inf,
    max_step: float = math.inf,
    max_steps: int = 10_000_000,
    max_events: int = 100_000,
    events_kept: int = 16,
    figures: Mapping[str, Any] | Figures | None = None,
    keep: str = "summary",
    threads: int | None = None,
    lanes: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """Simulate a system many times in compiled code on all cores.

    How many is told by whatever is given for each run; the rest holds for all. Each run is, bit by
    bit, that of `simulate` with the same options; or, made in lanes, the same but for rounding.

    A run that cannot start (a start below the ground, a negative mass, an input beyond its limit) has the status
    ``not_started`` and its reason in ``batch.reasons``; the others are, bit by bit, those of the batch without it. What
    is given for all runs and is not allowed is an error, as is a name that does not exist, before any work.

    Parameters
    ----------
    states
        Starts: an array with a row (q, v) for each run, a list of mappings or vectors, one for all,
        or a mapping of names to numbers or arrays (the robot's default for what is not named).
    parameters
        Values that replace the system's own: a number, or an array with one for each run.
    controllers
        One for all, or a sequence with one for each run.
    mode
        Which grips are ``closed``, ``open`` or ``reaching`` at the start, in all runs.
    events_kept
        Of how many events the times are kept; all are counted.
    figures
        Numbers of the user's own: expressions of state, parameters and time by name, read at the
        end, or a `saltus.Figures`, gathered along the run.
    keep
        "summary", or "records" to make the trajectories too, as ``batch.runs``.
    threads
        How many; one for each core if not given. The results do not depend on it.
    energy_tolerance
        As in `simulate`, but if it is not given the tolerances are left alone: of many runs some are so wild
        that holding their energy balance takes most of the time. ``None`` holds it as `simulate` does.
    lanes
        Whether runs go side by side through vector instructions, which is faster: possible where the
        system has no units, no damping, no controller and no energy tolerance, and done there if not said
        otherwise.
    progress
        Called now and then with the number of runs made and that of all.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"simulate_many needs a robot, such as saltus.robots.hopper(), got {system!r}")
    until = system.until if until is None else until
    _check_numbers(start, until, rtol, atol, max_step, None, None, max_steps, max_events)
    _check_choices(events_kept, keep, threads)
    check_energy_tolerance(energy_tolerance)
    find_method(method)
    options = {
        "until": until, "start": start, "rtol": rtol, "atol": atol, "method": method, "max_step": max_step,
        "max_steps": max_steps, "max_events": max_events, "mode": mode, "energy_tolerance": energy_tolerance,
    }  # fmt: skip
    law, names, at_end = _read_figures(system, figures)
    cases = read_cases(system, states, parameters, controllers, start, mode)
    able = cases.started()
    lanes = _choose_lanes(able, lanes, energy_tolerance)
    threads = min(threads or _cores(), max(1, len(able)))
    noted: list[int] = []
    if len(able):
        work = _Work(able, options, events_kept, law, lanes=lanes)
        with _interrupts_noted(work.stop) as noted:
            _spread(work, _chunks(len(able), threads, lanes=lanes), threads, _of_all(progress, cases))
        batch = work.batch(cases)
    else:
        batch = Batch(cases, options, events_kept, *_room(cases, events_kept, law))
        if progress is not None:
            progress(len(cases), len(cases))
    batch = replace(batch, figures=_figures(batch, names, law, at_end))
    was_made(batch)
    if noted:
        raise BatchInterrupted(_told(batch), batch)
    return _with_records(batch, threads, progress) if keep == "records" else batch


def _of_all(progress: Callable[[int, int], None] | None, cases: Cases) -> Callable[[int, int], None] | None:
    """Progress of the runs that can start, counted among all."""
    count, refused = len(cases), len(cases.refused)
    return None if progress is None else lambda made, of: progress(refused + made, count)


def _room(cases: Cases, kept: int, law: Figures | None) -> tuple[np.ndarray, np.ndarray]:
    """What runs leave that have not started."""
    counts = np.zeros((len(cases), M.integers_left(len(cases.system.units), kept)), dtype=np.int64)
    counts[:, M.R_CODE] = NOT_STARTED
    nx, size = cases.states.shape[1], law.size if law else 0
    return counts, np.full((len(cases), M.doubles_left(nx, kept, size)), np.nan)


def _figures(batch: Batch, names: list[str], law: Figures | None, at_end: Any) -> dict[str, np.ndarray]:
    """The user's own numbers, by name: what the law left, or functions of the last states."""
    if at_end is not None:
        found = at_the_end(at_end, names, batch.t_end, batch.states, batch.cases.parameters)
        return {name: np.where(batch.begun, values, np.nan) for name, values in found.items()}
    first = M.R_STATE + batch.starts.shape[1] + batch.events_kept
    return {name: batch.doubles[:, first + k] for k, name in enumerate(names)} if law is not None else {}


def _check_choices(kept: Any, keep: Any, threads: Any) -> None:
    if not isinstance(kept, int) or not 0 <= kept <= 1_000_000:
        raise InputError(f"events_kept must be a whole number from 0 to a million, got {kept!r}")
    if keep not in ("summary", "records"):
        raise InputError(f"keep must be 'summary' or 'records', got {keep!r}")
    if threads is not None and (not isinstance(threads, int) or not 0 < threads <= 4096):
        raise InputError(f"threads must be a positive whole number, got {threads!r}")


def _choose_lanes(cases: Cases, wanted: bool | None, held: float | None) -> bool:
    """Whether the runs can, and shall, be made side by side."""
    possible = not any(_integrals(cases, control) for control in (Control(), *cases.distinct))
    if held is not None and math.isfinite(held):
        if wanted:
            raise InputError("lanes hold no energy_tolerance: leave out one of them")
        return False
    if wanted and not possible:
        raise InputError(f"lanes are for systems without units, damping and controllers, {cases.system.name} has some")
    return possible and len(cases) >= WIDTH if wanted is None else bool(wanted)


def _read_figures(system: HybridSystem, given: Any) -> tuple[Figures | None, list[str], Any]:
    """The law of figures, their names, and the function of the last state, where there are such."""
    if given is None:
        return None, [], None
    if isinstance(given, Figures):
        given.entry()
        return given, list(given.names), None
    if not isinstance(given, Mapping):
        raise InputError(f"figures are a mapping of names to expressions or a saltus.Figures, got {given!r}")
    return None, list(given), expressions_of(system, given) if given else None


class _Work:
    """All memory of a batch: the template, what is put into it for each run, and what the runs leave."""

    def __init__(self, cases: Cases, options: dict[str, Any], kept: int, law: Figures | None, *, lanes: bool):
        self.cases, self.options, self.kept, self.law, self.lanes = cases, options, kept, law, lanes
        self.I, self.D, differing = _template(cases, options)
        integers, doubles = _own(cases, self.I, differing, options["start"])
        self.integers, self.doubles = _side_by_side(integers, np.int64), _side_by_side(doubles, np.float64)
        self.places = np.concatenate([place for place, _ in (*integers, *doubles)]).astype(np.int64)
        count, size = len(cases), law.size if law else 0
        # a run fills its rows: what a thread touches first is its own
        self.counts = np.empty((count, M.integers_left(len(cases.system.units), kept)), dtype=np.int64)
        self.counts[:, M.R_CODE] = RUNNING
        self.results = np.empty((count, M.doubles_left(int(self.I[L.NX]), kept, size)))
        self.call, address, self.alive = batch_loop(lanes=lanes)
        entry = law.entry() if law else None
        self.head = np.array(
            [
                address, entry.place if entry else 0, 0, self.I.size, self.D.size, self.integers.shape[1],
                self.doubles.shape[1], kept, size, *self._kernels_of_lanes(),
            ]
        )  # fmt: skip
        shared = (self.head, self.I, self.D, self.places, self.integers, self.doubles, self.counts, self.results)
        self.shared = [pointer_to(array) for array in shared]

    def _kernels_of_lanes(self) -> list[int]:
        if not self.lanes:
            return []
        system, method = self.cases.system, self.options["method"]
        self.kernels = lane_kernels(system, method, own=self.cases.varied)
        own = len(system.mechanism.parameters) if self.cases.varied else 0
        return [*(self.kernels[place].place for place in sorted(self.kernels)), find_method(method).count, own]

    def _memory(self) -> tuple[int, int, int]:
        """How much memory a thread needs: both arenas, those of all lanes with a table and a block, and events."""
        integers, doubles, events = self.I.size, self.D.size, _EVENT_ROOM * int(self.I[L.EVENT_ROW])
        if not self.lanes:
            return integers, doubles, events
        own = len(self.cases.system.mechanism.parameters) if self.cases.varied else 0
        block = block_size(int(self.I[L.NX]), int(self.I[L.NUSER]), own, find_method(self.options["method"]).count)
        return WIDTH * integers + WIDTH, WIDTH * doubles + block, events

    def stop(self) -> None:
        """Let no thread begin another run, nor go on with a long one."""
        self.head[M.STOP] = 1

    @property
    def stopped(self) -> bool:
        return bool(self.head[M.STOP])

    def task(self) -> Callable[[int, int], int]:
        """The runs of a range, as one thread makes them, on memory of its own."""
        sizes = self._memory()
        kinds = (np.int64, np.float64, np.float64)
        own = [np.zeros(size + 2 * _APART, dtype=kind) for size, kind in zip(sizes, kinds, strict=True)]
        arguments = [*self.shared, *(pointer_to(array[_APART:]) for array in own)]

        def task(first: int, last: int, memory: Any = own) -> int:
            return int(self.call(*arguments, first, last))

        return task

    def batch(self, cases: Cases) -> Batch:
        """The summaries so far, in their places among all cases."""
        if self.stopped:  # no run has filled the rows of those that were not begun
            idle = self.counts[:, M.R_CODE] == RUNNING
            self.counts[idle], self.results[idle] = RUNNING, np.nan
        errors = {}
        if any(control.failure is not None for control in self.cases.distinct):
            errors = {k: c.failure for k, c in enumerate(self.cases.controls) if c.failure is not None}
        counts, results = self.counts, self.results
        if cases.refused:
            rows = cases.possible
            counts, results = _room(cases, self.kept, self.law)
            counts[rows], results[rows] = self.counts, self.results
            errors = {int(rows[k]): error for k, error in errors.items()}
        return Batch(cases, self.options, self.kept, counts, results, {}, errors)


def _template(cases: Cases, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arenas with room for the largest controller; and where runs with and without energy integrals differ."""
    controls = cases.distinct
    data, memory, breaks = (max(getattr(c, name).size for c in controls) for name in ("data", "memory", "breaks"))
    always = _integrals(cases, cases.controls[0])
    I, D = arenas(cases.system, options["method"], data, memory, breaks, always)
    _fill(
        I, D, cases.controls[0], cases.states[0], options["start"], options["until"], options["rtol"], options["atol"],
        options["max_step"], None,
    )  # fmt: skip
    I[I[L.STATUS] : I[L.STATUS] + len(cases.system.units)] = cases.system.start_statuses(options["mode"])
    I[L.MAXSTEP], I[L.MAXEVENT] = options["max_steps"], options["max_events"]
    I[L.WATCH], I[L.STEP_ROOM], I[L.EVENT_ROOM] = 1, 2, _EVENT_ROOM
    differing = np.zeros((0, 3), dtype=np.int64)
    if any(_integrals(cases, control) != always for control in controls):
        with_them, without = (
            arenas(cases.system, options["method"], data, memory, breaks, flag)[0] for flag in (True, False)
        )
        places = np.flatnonzero(with_them != without)
        differing = np.column_stack([places, without[places], with_them[places]])
    D[L.CLOSES] = energy_held(options["energy_tolerance"], options["rtol"], cases.system)
    return I, D, differing


def _integrals(cases: Cases, control: Control) -> bool:
    return counts_work(cases.system, control)


_Columns = list[tuple[np.ndarray, np.ndarray]]


def _side_by_side(columns: _Columns, kind: Any) -> np.ndarray:
    """The values of some columns as one table; what is one already is not copied."""
    values = [block for _, block in columns]
    return np.ascontiguousarray(values[0] if len(values) == 1 else np.column_stack(values), dtype=kind)


def _own(cases: Cases, I: np.ndarray, differing: np.ndarray, start: float) -> tuple[_Columns, _Columns]:
    """What each run puts into its copy of the template: places in I and in D, and a row of values for each run."""
    integers: _Columns = [(I[L.SIDE] + np.arange(cases.sides.shape[1]), cases.sides)]
    doubles: _Columns = [(I[L.Y] + np.arange(cases.states.shape[1]), cases.states)]
    if cases.varied:
        doubles.append((I[L.P] + np.arange(cases.parameters.shape[1]), cases.parameters))
        doubles.append((np.array(coefficient_places(cases.system, I), dtype=np.int64), cases.constants[2]))
        doubles.append((I[L.LIMIT] + np.arange(I[L.NU]), cases.constants[3]))
    if isinstance(cases.controls, ControlTable):
        _own_numbers(cases.controls, I, start, integers, doubles)
    elif not cases.one_control:
        _own_controls(cases, I, start, integers, doubles)
    if len(differing):
        flags = np.array([int(_integrals(cases, control)) for control in cases.controls])
        integers.append((differing[:, 0], differing[:, 1 + flags].T))
    return integers, doubles


def _own_numbers(controls: ControlTable, I: np.ndarray, start: float, integers: _Columns, doubles: _Columns) -> None:
    """The numbers and breaks of each run, where its controller has nothing else of its own."""
    integers.append((np.array([L.PIECE]), (controls.breaks <= start).sum(axis=1, keepdims=True)))
    doubles.append((I[L.DATA] + np.arange(controls.data.shape[1]), controls.data))
    doubles.append((I[L.BREAKS] + np.arange(controls.breaks.shape[1]), controls.breaks))


def _own_controls(cases: Cases, I: np.ndarray, start: float, integers: _Columns, doubles: _Columns) -> None:
    """A controller for each run: address, counters, numbers, memory and breaks."""
    controls = cases.controls
    places = np.array([L.CONTROL_KIND, L.CONTROL, L.NBREAK, L.PIECE])
    rows = [(c.kind, c.address, c.breaks.size, int(np.searchsorted(c.breaks, start, side="right"))) for c in controls]
    integers.append((places, np.array(rows, dtype=np.int64)))
    samples = [float(_next_sample(start, c.period)) if c.kind == L.SAMPLED else 0.0 for c in controls]
    doubles.append((np.array([L.PERIOD, L.T_SAMPLE]), np.column_stack([[c.period for c in controls], samples])))
    for place, name in ((L.DATA, "data"), (L.MEM, "memory"), (L.BREAKS, "breaks")):
        blocks = [getattr(control, name) for control in controls]
        table = np.zeros((len(blocks), max(block.size for block in blocks)))
        for row, block in zip(table, blocks, strict=True):
            row[: block.size] = block
        doubles.append((I[place] + np.arange(table.shape[1]), table))


# -- threads --------------------------------------------------------------------------------


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _chunks(count: int, threads: int, *, lanes: bool) -> list[tuple[int, int]]:
    """Ranges of runs that a thread makes in one call: long ones first, then short ones, so that all end together.

    Lanes are full in long ranges only.
    """
    least, most = (WIDTH, 2048) if lanes else (1, 256)
    first, made = 0, []
    while first < count:
        last = min(count, first + max(least, min(most, (count - first) // (4 * threads))))
        made.append((first, last))
        first = last
    return made


def _spread(
    work: Any, chunks: list[tuple[int, int]], threads: int, progress: Callable[[int, int], None] | None
) -> None:
    """Give chunks of runs to threads as these become free, until all are made or the work is stopped."""
    coming, count = iter(chunks), chunks[-1][1]
    made: list[int] = []
    errors: list[BaseException] = []

    def run(task: Callable[[int, int], int]) -> None:
        try:
            for first, last in coming:
                if work.stopped:
                    return
                made.append(task(first, last))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            errors.append(error)
            work.stop()

    # their memory is made here: threads that wait for each other's Python code begin late
    started = [threading.Thread(target=run, args=(work.task(),), name=f"saltus-{k}") for k in range(threads)]
    try:
        for thread in started:
            thread.start()
        for thread in started:
            while thread.is_alive():
                thread.join(0.1)
                if progress is not None:
                    progress(sum(made), count)
    except BaseException:
        work.stop()
        raise
    finally:
        for thread in started:
            if thread.ident is not None:
                thread.join()
    if errors:
        raise errors[0]
    if progress is not None:
        progress(sum(made), count)


@contextlib.contextmanager
def _interrupts_noted(stop: Callable[[], None]) -> Iterator[list[int]]:
    """While threads work, Ctrl-C is noted and stops them: nothing that is made is lost."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        stop()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _told(batch: Batch) -> str:
    return f"{batch.system.name}: stopped by the user; of {batch.n} runs {int(batch.begun.sum())} were begun"


class _Records:
    """The trajectories of a batch, made again one by one."""

    def __init__(self, batch: Batch):
        self.batch, self.stopped = batch, False
        self.runs: list[Trajectory | None] = [None] * batch.n

    def stop(self) -> None:
        self.stopped = True

    def task(self) -> Callable[[int, int], int]:
        def task(first: int, last: int) -> int:
            for k in range(first, last):
                if k not in self.batch.cases.refused:
                    self.runs[k] = self.batch.run(k)
            return last - first

        return task


def _with_records(batch: Batch, threads: int, progress: Callable[[int, int], None] | None) -> Batch:
    records = _Records(batch)
    with _interrupts_noted(records.stop) as noted:
        _spread(records, [(k, k + 1) for k in range(batch.n)], threads, progress)
    kept = replace(batch, runs=records.runs)
    if noted:
        raise BatchInterrupted(_told(kept), kept)
    return kept
