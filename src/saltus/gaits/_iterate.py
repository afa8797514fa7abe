"""A gait repeated by the clock alone: what it is like at each passage of the section, until it is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import xarray
from scipy.optimize import brentq

import saltus
from saltus._content import equal_by_content
from saltus.engine import Trajectory
from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import Cycle, run_cycle, squares
from saltus.gaits._fixed import FixedPoint
from saltus.gaits._gait import Gait, duration_knob
from saltus.gaits._plan import parameters_of, robot_of

# Pieces into which a phase is cut to look for passages of the section.
PIECES = 400


@equal_by_content
@dataclass(frozen=True)
class Iterates:
    """What each cycle of an open-loop run was like, an element for each.

    ``error``, ``kinetic`` and ``states`` are those at the passage of the section nearest to the end of the
    cycle, at ``times``, or at the end itself if the gait has no section; ``x`` and ``y`` say where the new hold
    is. If the run was lost before its end, ``reason`` says how.
    """

    gait: Gait
    start: dict[str, float]
    asked: int
    period: float | None
    times: np.ndarray
    states: np.ndarray
    error: np.ndarray
    kinetic: np.ndarray
    kinetic_start: float
    x: np.ndarray
    y: np.ndarray
    reason: str

    @property
    def count(self) -> int:
        """Cycles that ended with a passage."""
        return len(self.times)

    @property
    def cycle(self) -> np.ndarray:
        """Their numbers, from 1."""
        return np.arange(1, self.count + 1)

    def first_above(self, error: float) -> int | None:
        """Number of the first cycle whose error is above a value."""
        above = np.flatnonzero(self.error > error)
        return int(above[0]) + 1 if above.size else None

    def to_dataset(self) -> xarray.Dataset:
        """All of it, labelled."""
        variables = {
            "t": ("cycle", self.times, {"units": "s", "long_name": "time of the passage"}),
            "error": ("cycle", self.error, {"long_name": "sum of the squared differences from the start"}),
            "kinetic": ("cycle", self.kinetic, {"units": "J", "long_name": "kinetic energy at the passage"}),
            "x": ("cycle", self.x, {"units": "m", "long_name": "where the new hold is, to the side"}),
            "y": ("cycle", self.y, {"units": "m", "long_name": "where the new hold is, upward"}),
            "state": (("cycle", "name"), self.states, {"long_name": "state at the passage"}),
        }
        attributes = {
            "robot": self.gait.robot.name,
            "gait": self.gait.name,
            "asked": self.asked,
            "reason": self.reason,
            "period": math.nan if self.period is None else self.period,
            "saltus": saltus.__version__,
            **{f"start_{name}": value for name, value in self.start.items()},
        }
        return xarray.Dataset(variables, {"cycle": self.cycle, "name": self.gait.state_names}, attributes)

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        rows = zip(self.cycle, self.times, self.error, self.kinetic, self.x, self.y, strict=True)
        keys = ("cycle", "t", "error", "kinetic", "x", "y")
        return {
            "gait": self.gait.name,
            "start": dict(self.start),
            "asked": self.asked,
            "passed": self.count,
            "period": self.period,
            "reason": self.reason,
            "cycles": [{key: v.item() for key, v in zip(keys, row, strict=True)} for row in rows],
        }


def iterate(
    gait: Gait | FixedPoint,
    cycles: int,
    period: float | None = None,
    *,
    start: Mapping[str, float] | None = None,
    knobs: Mapping[str, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Iterates:
    """Run a gait open-loop: its phases last as they do in the first cycle, and nothing restarts the clock.

    Parameters
    ----------
    cycles
        How many.
    period
        The controller acts at multiples of it only, s: the times of the schedule are rounded to them. If it is
        not given they are exact.
    start, knobs
        Other values than those of the gait; a fixed point has its own.
    progress
        Called after each cycle with how many are behind, and how many are asked for.
    """
    check_iteration(cycles, period)
    if isinstance(gait, FixedPoint):
        if start or knobs:
            raise InputError("a fixed point has its own start and knobs")
        first, gait = gait.cycle, gait.gait
    else:
        _check_passage(gait)
        first = run_cycle(gait, start, knobs, **options)
    _check_passage(gait)
    return _Run(gait, first, cycles, period, options).result(progress)


def check_iteration(cycles: int, period: float | None) -> None:
    """Refuse a number of cycles or a period of the clock that cannot be."""
    if isinstance(cycles, bool) or not isinstance(cycles, int) or cycles < 1:
        raise InputError(f"the number of cycles must be a positive integer, got {cycles!r}")
    if period is not None and not 0 < period < math.inf:
        raise InputError(f"the period of the controller must be positive and finite, got {period!r}")


def _check_passage(gait: Gait) -> None:
    gait.check_repeats()
    if not gait.section:
        return
    begin, end = gait.phases[0], gait.phases[-1]
    if begin.relabel or begin.holds != end.holds:
        raise InputError(f"gait {gait.name}: its last phase must go on into its first")


class _Run:
    """An open-loop run, cycle after cycle."""

    def __init__(self, gait: Gait, first: Cycle, cycles: int, period: float | None, options: Mapping[str, Any]):
        self.gait, self.first, self.asked, self.period, self.options = gait, first, cycles, period, options
        timed = gait.with_knobs(**first.knobs).timed(first.durations)
        # a search may keep durations within bounds; a clock does not
        free = {f"{phase.name}_t": duration_knob(phase.name, first.durations[phase.name]) for phase in timed.phases}
        self.timed = replace(timed, knobs={**timed.knobs, **free})
        self.name = next(iter(gait.section), "")
        self.place = gait.state_names.index(self.name) if self.name else -1
        held = gait.held(0)
        m = held.mechanism
        self.kinetic = ca.Function("kinetic", [ca.vertcat(m.q, m.v), m.p], [held.seen(gait.robot.dynamics.kinetic)])
        self.p = parameters_of(held, robot_of(gait, first.knobs).values, 1)[0]

    def lengths(self) -> Iterator[dict[str, float]]:
        """How long each phase lasts, cycle after cycle, when the controller can act only at its samples."""
        durations = {phase.name: self.first.durations[phase.name] for phase in self.timed.phases}
        ends, number = np.cumsum(list(durations.values())), 0
        before = 0.0
        while True:
            lengths = {}
            for phase, end in zip(self.timed.phases, number * ends[-1] + ends, strict=True):
                at = end if self.period is None else round(end / self.period) * self.period
                lengths[f"{phase.name}_t"] = float(at - before)
                before = at
            yield dict(zip(lengths, durations.values(), strict=True)) if self.period is None else lengths
            number += 1

    def result(self, progress: Callable[[int, int], None] | None = None) -> Iterates:
        start = {name: self.first.start[name] for name in self.gait.state_names}
        state, clock, hold = start, 0.0, np.zeros(2)
        previous: Cycle | None = None
        times, states, holds, reason = [], [], [], ""
        lengths = self.lengths()
        for number in range(self.asked + 1):
            try:
                cycle = run_cycle(self.timed, state, next(lengths), **self.options)
            except InputError as error:
                if self.period is None:
                    raise
                raise InputError(
                    f"a phase is shorter than the controller's period of {self.period:g} s: {error}"
                ) from None
            except SaltusError as error:
                reason = f"cycle {number + 1}: {error}"
                break
            if progress is not None:
                progress(min(number + 1, self.asked), self.asked)
            if not self.name:
                clock, hold, state = clock + cycle.period, hold + np.array(cycle.travel), cycle.final
                times.append(clock)
                states.append(np.array(list(state.values())))
                holds.append(hold)
                if len(times) == self.asked:
                    break
                continue
            if previous is not None:
                passed = self.passage(previous.runs[-1], cycle.runs[0])
                if passed is None:
                    reason = f"cycle {number}: {self.name} = {self.gait.section[self.name]:g} is not passed any more"
                    break
                times.append(clock + passed[0])
                states.append(passed[1])
                holds.append(hold)
            previous, state = cycle, cycle.final
            clock, hold = clock + cycle.period, hold + np.array(cycle.travel)
        states_ = np.array(states).reshape(len(states), len(start))
        columns = dict(zip(self.gait.state_names, states_.T, strict=True))
        places = np.array(holds).reshape(len(holds), 2)
        return Iterates(
            self.gait, start, self.asked, self.period, np.array(times), states_, self.errors(start, columns),
            np.array([self.energy(x) for x in states_]), self.energy(np.array(list(start.values()))),
            places[:, 0], places[:, 1], reason,
        )  # fmt: skip

    def errors(self, start: Mapping[str, float], states: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(squares(self.gait, start, states), dtype=float).reshape(-1)

    def energy(self, x: np.ndarray) -> float:
        return float(self.kinetic(x, self.p))

    def passage(self, before: Trajectory, after: Trajectory) -> tuple[float, np.ndarray] | None:
        """The passage nearest to where one run goes over into the next; its time is counted from there."""
        found = [(t - run.end_time * (run is before), run.at(t)) for run in (before, after) for t in self.zeros(run)]
        return min(found, key=lambda one: abs(one[0]), default=None)

    def zeros(self, run: Trajectory) -> list[float]:
        def gap(t: float) -> float:
            return float(self.away(run.at(t)[self.place]))

        times = np.linspace(0.0, run.end_time, PIECES + 1)
        values = self.away(run.at(times)[:, self.place])
        # where an angle is wrapped around it jumps, and passes nothing
        crosses = (values[:-1] * values[1:] <= 0) & (np.abs(np.diff(values)) < math.pi)
        return [
            float(times[k] if values[k] == 0 else times[k + 1] if values[k + 1] == 0 else
                  brentq(gap, times[k], times[k + 1], xtol=1e-14))
            for k in np.flatnonzero(crosses)
        ]  # fmt: skip

    def away(self, value: Any) -> Any:
        gap = np.asarray(value) - self.gait.section[self.name]
        return np.remainder(gap + np.pi, 2 * np.pi) - np.pi if self.name in self.gait.angles() else gap
