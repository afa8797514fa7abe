"""Many cycles of a gait side by side: every phase of all of them at once, in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.engine import simulate_many
from saltus.engine._cases import column
from saltus.engine._refusals import Refusals
from saltus.errors import InputError
from saltus.gaits._cycle import differences, squares
from saltus.gaits._energy import needs_of
from saltus.gaits._gait import Gait
from saltus.gaits._phase import CLOCK, DURATION, HeldSystem
from saltus.gaits._plan import duration_of, guard_of, over, parameters_of, plan_of

# How exactly many cycles are run, if nothing is said.
OPTIONS: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}

# Why a cycle was not even begun.
TOO_LITTLE = "too little energy"


@equal_by_content
@dataclass(frozen=True)
class Cycles:
    """Many cycles: an array with an element for each in every field.

    ``ended`` is how many phases came to their end; where that is not all of them ``reason`` says why
    and numbers are NaN. ``begun`` says which could start.
    """

    gait: Gait
    starts: dict[str, np.ndarray]
    finals: dict[str, np.ndarray]
    durations: dict[str, np.ndarray]
    travel: np.ndarray
    ended: np.ndarray
    reason: np.ndarray
    begun: np.ndarray

    @property
    def good(self) -> np.ndarray:
        """Which came to their end."""
        return self.ended == len(self.gait.phases)

    @property
    def residual(self) -> np.ndarray:
        """A row for each cycle."""
        return differences(self.gait, self.starts, self.finals).T

    @property
    def error(self) -> np.ndarray:
        """The sum of the squared differences, in which whole turns of an angle count."""
        return squares(self.gait, self.starts, self.finals)

    @property
    def period(self) -> np.ndarray:
        """Time of the whole cycle, s."""
        return np.asarray(sum(self.durations.values()))


def run_many(
    gait: Gait,
    starts: Mapping[str, Any],
    knobs: Mapping[str, Any] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Cycles:
    """Many cycles side by side, from arrays of starts and knobs.

    A cycle that cannot start has its reason, as one that does not come to its end: a number that is not finite, a knob
    or an input beyond its bounds, a phase that begins beyond its end. What is given for all and is not allowed is an
    error.
    """
    begin, values = gait.states(starts), gait.many_knobs(knobs)
    shape = np.broadcast_shapes(*(np.shape(v) for v in (*begin.values(), *values.values())))
    count = int(np.prod(shape, dtype=int))
    if len(shape) > 1 or count == 0:
        raise InputError(f"starts and knobs must be numbers or rows of one length, got shape {shape}")
    if not any(np.ndim(value) for value in values.values()):
        for k in range(len(gait.phases)):
            plan_of(gait).inputs_of(k, values)
    begin = {n: np.broadcast_to(np.asarray(v, dtype=float), (count,)) for n, v in begin.items()}
    refusals = _refused(gait, begin, values, count)
    rows = np.flatnonzero(~refusals.refused)
    if not rows.size:
        return _nothing(gait, begin, refusals)
    walk = _Walk(gait, *({n: v if np.ndim(v) == 0 else v[rows] for n, v in given.items()} for given in (begin, values)))
    for k in range(len(gait.phases)):
        walk.through(k, progress, {**OPTIONS, "threads": threads, **options})
        if not walk.alive.size:
            break
        walk.hand_over(k)
    return walk.cycles() if rows.size == count else _among(walk.cycles(), rows, _nothing(gait, begin, refusals))


def _refused(gait: Gait, begin: Mapping[str, np.ndarray], knobs: Mapping[str, Any], count: int) -> Refusals:
    """Cycles that `run_cycle` would refuse by their numbers."""
    refusals = Refusals(count)
    for name, row in begin.items():
        refusals.check(~np.isfinite(row), lambda run, name=name, row=row: gait.check_number(name, row[run]))  # type: ignore[misc]
    for name, row in knobs.items():
        knob = gait.knobs[name]
        if np.ndim(row):
            refusals.check(~knob.allowed(row), lambda run, knob=knob, row=row: knob.check(row[run]))  # type: ignore[misc]
    return refusals


def _nothing(gait: Gait, begin: dict[str, np.ndarray], refusals: Refusals) -> Cycles:
    """Cycles none of which began, with the reasons that are known."""
    count = len(refusals.refused)
    reason = np.full(count, "", dtype=object)
    for run, text in refusals.reasons.items():
        reason[run] = text
    empty = {phase.name: np.full(count, np.nan) for phase in gait.phases}
    finals = {name: np.full(count, np.nan) for name in gait.state_names}
    none = np.zeros(count, dtype=int)
    return Cycles(gait, begin, finals, empty, np.full((count, 2), np.nan), none, reason, none.astype(bool))


def _among(cycles: Cycles, rows: np.ndarray, others: Cycles) -> Cycles:
    """Cycles in their places among those that could not start."""
    for of in ("finals", "durations"):
        for name, values in getattr(cycles, of).items():
            getattr(others, of)[name][rows] = values
    for of in ("travel", "ended", "reason", "begun"):
        getattr(others, of)[rows] = getattr(cycles, of)
    return others


class _Walk:
    """Many cycles on their way: those that still run (``alive``), a row of their states each, and what all are told."""

    def __init__(self, gait: Gait, begin: dict[str, np.ndarray], knobs: dict[str, Any]):
        self.gait, self.plan, self.begin, self.knobs = gait, plan_of(gait), begin, knobs
        self.x = np.array(list(begin.values())).T
        self.count = count = len(self.x)
        self.numbers: dict[str, Any] = dict(knobs)
        for change in self.plan.changes:
            self.numbers |= change.many(self.plan.parameters(self.numbers, count))
        if gait.remembered:
            found = column(self.plan.remember, self.x, self.plan.told_first(self.numbers, count))
            self.numbers |= dict(zip(gait.remembered, found.T, strict=True))
        self.numbers |= {name: np.zeros(count) for name in gait.held(0).pins}
        self.alive, self.clock = np.arange(count), np.zeros(count)
        self.ended, self.reason = np.zeros(count, dtype=int), np.full(count, "", dtype=object)
        self.durations = {phase.name: np.full(count, np.nan) for phase in gait.phases}
        self.begun = np.zeros(count, dtype=bool)

    def through(self, k: int, progress: Callable[[int, int], None] | None, options: Mapping[str, Any]) -> None:
        """Run a phase to its end; cycles in which it has none stay behind with a reason."""
        phase, held = self.gait.phases[k], self.gait.held(k)
        inputs, beyond = self.plan.inputs_of_many(k, self.numbers)
        self.numbers |= dict(zip(held.inputs.values(), inputs, strict=True))
        self._leave_behind(k, np.broadcast_to(beyond, (self.count,))[self.alive])
        if not self.alive.size:
            return
        if phase.ends is None:
            self.numbers[DURATION] = self.knobs[duration_of(self.gait, k)]
        self.numbers[CLOCK] = self.clock
        system = held.ending(guard_of(self.gait, k))
        lasting = np.broadcast_to(self.numbers.get(DURATION, 0.0), (self.count,))[self.alive]
        longest = self.gait.longest if phase.ends is not None else float(lasting.max()) * 1.01 + 1e-9

        def told(done: int, total: int) -> None:
            if progress is not None:
                progress(k * self.count + done + self.count - total, self.count * len(self.gait.phases))

        size = len(self.alive)
        status, times, ends = np.full(size, "terminal", dtype=object), np.zeros(size), self.x.copy()
        why: dict[int, str] = {}
        is_over = np.zeros(size, dtype=bool)
        if phase.ends is not None:
            is_over = over(system, self.x, self._parameters(held))
        own = self._own(k)
        lacking = _lacking(self.gait, k, own, self.x)
        status[lacking] = TOO_LITTLE
        go = ~is_over & ~lacking
        if go.any():
            batch = simulate_many(
                system, np.ascontiguousarray(self.x[go]), until=longest, events_kept=0, progress=told,
                parameters={name: value if np.ndim(value) == 0 else value[go] for name, value in own.items()},
                **options,
            )  # fmt: skip
            status[go], times[go], ends[go] = batch.status, batch.t_end, batch.states
            why = {int(np.flatnonzero(go)[run]): f"cannot start: {text}" for run, text in batch.cases.refused.items()}
        self.begun[self.alive] |= ~np.isin(np.arange(size), list(why))
        done = status == "terminal"
        how = {"finished": f"never ends within {longest:g} s", TOO_LITTLE: f"never ends: {TOO_LITTLE}"}
        for run in np.flatnonzero(~done):
            end = why.get(int(run)) or how.get(status[run], f"ended as {status[run]}")
            self.reason[self.alive[run]] = f"{phase.name} {end}"
        self.durations[phase.name][self.alive] = np.where(done, times, np.nan)
        self.clock[self.alive] += times
        self.alive, self.x = self.alive[done], ends[done]
        self.ended[self.alive] += 1

    def _leave_behind(self, k: int, beyond: np.ndarray) -> None:
        """Leave cycles whose inputs are beyond their limits in a phase, with the reason that a cycle alone gives."""
        refusals = Refusals(len(beyond))
        refusals.check(beyond, lambda run: self.plan.inputs_of(k, self._of(self.alive[run])))
        for run, text in refusals.reasons.items():
            self.reason[self.alive[run]] = text
        self.alive, self.x = self.alive[~refusals.refused], self.x[~refusals.refused]

    def _of(self, run: int) -> dict[str, Any]:
        """The numbers of one cycle."""
        return {name: value if np.ndim(value) == 0 else float(value[run]) for name, value in self.numbers.items()}

    def hand_over(self, k: int) -> None:
        """Go into the next phase."""
        move, following = self.plan.handovers[k], (k + 1) % len(self.gait.phases)
        if not move.changes:
            return
        out = column(move.value, self.x, self._parameters(self.gait.held(k)))
        if self.plan.swap is not None and self.gait.phases[following].relabel:
            self.numbers |= self.plan.swap.many(self.plan.parameters(self.numbers, self.count))
        self.x = out[:, : move.nx]
        for name, place in zip(self.gait.held(following).pins, out[:, move.nx :].T, strict=True):
            self.numbers[name] = np.zeros(self.count)
            self.numbers[name][self.alive] = place

    def cycles(self) -> Cycles:
        """What came out."""
        finals = {name: np.full(self.count, np.nan) for name in self.gait.state_names}
        travel = np.full((self.count, 2), np.nan)
        if self.alive.size:
            for name, value in zip(self.gait.state_names, self.x.T, strict=False):
                finals[name][self.alive] = value
            travel[self.alive] = np.array([self.numbers[name][self.alive] for name in self.gait.held(0).pins]).T
        return Cycles(self.gait, self.begin, finals, self.durations, travel, self.ended, self.reason, self.begun)

    def _parameters(self, held: HeldSystem) -> np.ndarray:
        """Parameters of the system of a phase, a row for each cycle that still runs."""
        return parameters_of(held, self.numbers, self.count)[self.alive]

    def _own(self, k: int) -> dict[str, Any]:
        """What a phase must be told: a number, or one for each cycle that still runs if they differ."""
        held = self.gait.held(k)
        used, own = held.used(guard_of(self.gait, k)), {}
        for name in held.mechanism.parameters:
            if name in self.numbers and name in used:
                value = self.numbers[name]
                value = value if np.ndim(value) == 0 else np.asarray(value)[self.alive]
                same = np.ndim(value) > 0 and value.size > 0 and not (value != value[0]).any()
                own[name] = float(value[0]) if same else value
        return own


def _lacking(gait: Gait, k: int, own: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    """Which of many cycles surely have too little energy for their first phase, so that they need not be run."""
    needs = needs_of(gait, k) if k == 0 and len(x) > 1 else None
    if needs is None or any(np.ndim(value) for value in own.values()):
        return np.zeros(len(x), dtype=bool)
    held = gait.held(k)
    p = np.array([own.get(name, held.system.values[name]) for name in held.mechanism.parameters], dtype=float)
    return needs.lacking(x, p)
