"""One cycle of a gait, or many side by side: run the phases one after the other, hand the state on, differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from saltus.engine import Trajectory, simulate, simulate_many
from saltus.engine._cases import columns
from saltus.errors import InputError, SaltusError
from saltus.gaits._gait import Gait
from saltus.gaits._phase import CLOCK, DURATION

# How exactly many cycles are run, and one alone, if nothing is said.
OPTIONS: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}
EXACT: dict[str, Any] = {**OPTIONS, "rtol": 1e-12, "atol": 1e-13}


@dataclass(frozen=True)
class Cycle:
    """A cycle that came to its end.

    ``losses`` are those of the impacts in which phases end, J; ``speeds`` those of the guards there, as
    shares of their greatest speeds: zero where a guard is touched without being crossed.
    ``jacobian`` has a row for each coordinate and velocity at the end and a column for each of
    ``names``: those at the start, then knobs; ``time_jacobian`` a row for the duration of each phase;
    ``travel_jacobian`` one for each direction.
    """

    gait: Gait
    start: dict[str, float]
    knobs: dict[str, float]
    final: dict[str, float]
    durations: dict[str, float]
    travel: tuple[float, float]
    losses: dict[str, float]
    speeds: dict[str, float]
    runs: list[Trajectory] = field(repr=False)
    names: tuple[str, ...] = ()
    jacobian: np.ndarray | None = field(default=None, repr=False)
    time_jacobian: np.ndarray | None = field(default=None, repr=False)
    travel_jacobian: np.ndarray | None = field(default=None, repr=False)

    @property
    def period(self) -> float:
        """Time of the whole cycle, s."""
        return float(sum(self.durations.values()))

    @property
    def times(self) -> dict[str, float]:
        """When each phase ends, from the start of the cycle, s."""
        return dict(zip(self.durations, np.cumsum(list(self.durations.values())).tolist(), strict=True))

    @property
    def residual(self) -> np.ndarray:
        """By how much the free coordinates and velocities differ at the end."""
        return differences(self.gait, self.start, self.final)

    @property
    def error(self) -> float:
        """The sum of their squares."""
        return float(self.residual @ self.residual)


@dataclass(frozen=True)
class Cycles:
    """Many cycles: an array with an element for each in every field.

    ``ended`` is how many phases came to their end; where that is not all of them ``reason`` says why
    and numbers are NaN.
    """

    gait: Gait
    starts: dict[str, np.ndarray]
    finals: dict[str, np.ndarray]
    durations: dict[str, np.ndarray]
    travel: np.ndarray
    ended: np.ndarray
    reason: np.ndarray

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
        """The sum of the squares of the residual."""
        return np.asarray((self.residual**2).sum(axis=-1))

    @property
    def period(self) -> np.ndarray:
        """Time of the whole cycle, s."""
        return np.asarray(sum(self.durations.values()))


def differences(gait: Gait, start: Mapping[str, Any], final: Mapping[str, Any]) -> np.ndarray:
    """Differences of what is free on the section; angles by the shorter way around."""
    angles = gait.angles()
    found = []
    for name in gait.free:
        difference = np.asarray(final[name]) - np.asarray(start[name])
        found.append(np.remainder(difference + np.pi, 2 * np.pi) - np.pi if name in angles else difference)
    return np.array(found)


class _Handover:
    """How the state goes into a phase from the one before, as a function with its derivative; the cycle is closed."""

    def __init__(self, gait: Gait, phase: int):
        new, robot = gait.held(phase), gait.robot
        whole = ca.vertcat(robot.mechanism.q, robot.mechanism.v)
        symmetry = robot.symmetry
        old = gait.held(phase - 1)
        x, p = ca.vertcat(old.mechanism.q, old.mechanism.v), old.mechanism.p
        state = old.whole_state
        energy = robot.dynamics.kinetic
        changes = gait.phases[phase].relabel or new is not old
        if gait.phases[phase].relabel and symmetry is not None:
            state = ca.substitute(symmetry.map(robot.mechanism), whole, state)
        here, pin = new.entry(state) if changes else (x, ca.vertcat(*(p[i] for i in _pin_places(old))))
        before = ca.substitute(energy, whole, state)
        q, v = new.mechanism.q, new.mechanism.v
        after = ca.substitute(new.seen(energy), ca.vertcat(q, v), here)
        lost = before - after if changes else ca.SX(0)
        out = ca.densify(ca.vertcat(here, pin))
        self.nx, self.changes = here.numel(), changes
        self.value = ca.Function("handover", [x, p], [out, lost])
        self.slope = ca.Function("slope", [x, p], [ca.densify(ca.jacobian(out, ca.vertcat(x, p)))])


def _pin_places(held: Any) -> list[int]:
    names = list(held.mechanism.parameters)
    return [names.index(name) for name in held.pins]


class _Plan:
    """Everything about a gait that does not depend on numbers."""

    def __init__(self, gait: Gait):
        self.gait = gait
        m = gait.robot.mechanism
        self.handovers = [_Handover(gait, (k + 1) % len(gait.phases)) for k in range(len(gait.phases))]
        first = gait.held(0)
        x, p = ca.vertcat(first.mechanism.q, first.mechanism.v), first.mechanism.p
        remembered = ca.vertcat(*(first.seen(e) for e in gait.remembered.values()), ca.SX.zeros(0))
        self.remember = ca.Function(
            "remember", [x, p], [remembered, ca.densify(ca.jacobian(remembered, x))], {"allow_free": False}
        )
        knobs = ca.vertcat(*(gait.symbols[name] for name in gait.knobs), ca.SX.zeros(0))
        self.inputs = []
        for phase in gait.phases:
            u = ca.vertcat(*(ca.SX(phase.inputs.get(name, 0.0)) for name in m.actuators), ca.SX.zeros(0))
            self.inputs.append(ca.Function("inputs", [knobs, m.p], [u, ca.densify(ca.jacobian(u, knobs))]))
        limits = ca.vertcat(*(ca.SX(a.limit) for a in m.actuators.values()), ca.SX.zeros(0))
        self.limits = np.array(ca.Function("limits", [m.p], [limits])(gait.robot.parameter_values), dtype=float).ravel()

    def inputs_of(self, phase: int, knobs: Mapping[str, Any]) -> list[Any]:
        """Inputs of a phase: a number for each actuator, or as many as there are values of the knobs."""
        count = max([np.size(value) for value in knobs.values()], default=1)
        rows = np.array([np.broadcast_to(value, (count,)) for value in knobs.values()]).reshape(len(knobs), count)
        p = np.tile(self.gait.robot.parameter_values, (count, 1))
        found = columns(self.inputs[phase], rows.T, p)[0].T
        return [row if count > 1 else float(row[0]) for row in found]

    def check_limits(self, phase: int, u: Sequence[Any]) -> None:
        for k, (name, actuator) in enumerate(self.gait.robot.mechanism.actuators.items()):
            worst = float(np.abs(u[k]).max(initial=0.0))
            if worst > self.limits[k] * (1 + 1e-12):
                raise InputError(
                    f"gait {self.gait.name}, phase {self.gait.phases[phase].name}: {worst:g} {actuator.unit} on "
                    f"{name} is beyond its limit of {self.limits[k]:g} {actuator.unit}"
                )


def plan_of(gait: Gait) -> _Plan:
    """The plan of a gait, made once."""
    if "_plan" not in gait.__dict__:
        gait.__dict__["_plan"] = _Plan(gait)
    plan: _Plan = gait.__dict__["_plan"]
    return plan


def _guard_of(gait: Gait, k: int) -> str:
    return "elapsed" if gait.phases[k].ends is None else gait.phases[k].name


def _duration_knob(gait: Gait, k: int) -> str:
    return f"{gait.phases[k].name}_t"


def run_many(
    gait: Gait,
    starts: Mapping[str, Any],
    knobs: Mapping[str, Any] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Cycles:
    """Many cycles side by side, from arrays of starts and knobs."""
    options = {**OPTIONS, **options}
    plan, values = plan_of(gait), gait.knob_values(knobs)
    begin = gait.state(starts)
    shape = np.broadcast_shapes(*(np.shape(v) for v in (*begin.values(), *values.values())))
    count = int(np.prod(shape, dtype=int))
    if len(shape) > 1 or count == 0:
        raise InputError(f"starts and knobs must be numbers or rows of one length, got shape {shape}")
    X = np.array([np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in begin.values()])
    numbers: dict[str, Any] = dict(values)
    first = gait.held(0)
    told = _columns(first, {**numbers, CLOCK: 0.0, DURATION: 1.0}, count)
    if gait.remembered:
        numbers |= dict(zip(gait.remembered, columns(plan.remember, X.T, told.T)[0].T, strict=True))
    numbers |= {name: np.zeros(count) for name in first.pins}
    alive, clock = np.arange(count), np.zeros(count)
    ended, reason = np.zeros(count, dtype=int), np.full(count, "", dtype=object)
    durations = {phase.name: np.full(count, np.nan) for phase in gait.phases}
    position = np.zeros((2, count))
    last = len(gait.phases) - 1
    for k, phase in enumerate(gait.phases):
        held, guard = gait.held(k), _guard_of(gait, k)
        u = plan.inputs_of(k, values)
        plan.check_limits(k, u)
        if phase.ends is None:
            numbers[DURATION] = values[_duration_knob(gait, k)]
        numbers[CLOCK] = clock
        numbers |= dict(zip(held.inputs.values(), u, strict=True))
        system = held.ending(guard)
        own = {
            name: value if np.ndim(value) == 0 else np.asarray(value)[alive]
            for name, value in numbers.items()
            if name in system.mechanism.parameters and name in held.used(guard)
        }
        longest = gait.longest if phase.ends is not None else float(np.max(numbers[DURATION])) * 1.01 + 1e-9

        def told_progress(done: int, total: int, k: int = k) -> None:
            if progress is not None:
                progress(k * count + done + count - total, count * (last + 1))

        batch = simulate_many(
            system, np.ascontiguousarray(X.T), parameters=_simple(own), until=longest, events_kept=0, threads=threads,
            progress=told_progress, **options,
        )  # fmt: skip
        done = batch.status == "terminal"
        for run in np.flatnonzero(~done):
            how = "never ends" if batch.status[run] == "finished" else f"ended as {batch.status[run]}"
            reason[alive[run]] = f"{phase.name} {how}" + (f" within {longest:g} s" if how == "never ends" else "")
        durations[phase.name][alive] = np.where(done, batch.t_end, np.nan)
        clock[alive] += batch.t_end
        alive, X = alive[done], batch.states[done].T
        ended[alive] += 1
        if not alive.size:
            break
        move, after = plan.handovers[k], gait.held((k + 1) % len(gait.phases))
        if not move.changes:
            continue
        out = columns(move.value, X.T, _columns(held, numbers, count)[:, alive].T)[0].T
        X = out[: move.nx]
        for name, row in zip(after.pins, out[move.nx :], strict=True):
            numbers[name] = np.zeros(count)
            numbers[name][alive] = row
    finals = {name: np.full(count, np.nan) for name in gait.state_names}
    if alive.size:
        for name, row in zip(gait.state_names, X[: len(gait.state_names)], strict=True):
            finals[name][alive] = row
        position = np.array([np.broadcast_to(numbers[name], count) for name in first.pins])
    travel = np.where(ended == last + 1, position, np.nan).T
    return Cycles(
        gait, {n: np.broadcast_to(v, (count,)) for n, v in begin.items()}, finals, durations, travel, ended, reason
    )


def _speed(run: Trajectory) -> float:
    """How fast the guard of a phase is where it ends the phase, as a share of its greatest speed."""
    m, d = run.system.mechanism, run.system.dynamics
    guard = ca.SX(run.system.guards[0].expression)
    rate = run.system.once(
        "speed",
        lambda: ca.Function(
            "rate", [d.x, d.p], [ca.jtimes(guard, m.q, m.v) + ca.jtimes(guard, m.v, d.free_acceleration)]
        ),
    )
    speeds = np.abs(columns(rate, run.mesh.x, np.tile(run.system.parameter_values, (len(run.mesh.x), 1)))[0].ravel())
    greatest = float(speeds.max())
    return float(speeds[-1]) / greatest if greatest > 0 else 0.0


def _simple(own: dict[str, Any]) -> dict[str, Any]:
    return {n: v if np.ndim(v) == 0 or not v.size or (v != v[0]).any() else float(v[0]) for n, v in own.items()}


def _columns(held: Any, numbers: Mapping[str, Any], count: int) -> np.ndarray:
    """Parameters of a held system, a column for each run."""
    values = held.system.values
    return np.array([np.broadcast_to(numbers.get(name, values[name]), (count,)) for name in held.mechanism.parameters])


def run_cycle(
    gait: Gait,
    start: Mapping[str, float] | None = None,
    knobs: Mapping[str, float] | None = None,
    *,
    derivatives: bool = False,
    **options: Any,
) -> Cycle:
    """One cycle, with its trajectories and, if asked for, exact derivatives by start and knobs."""
    options = {**EXACT, **options}
    plan, values, begin = plan_of(gait), gait.knob_values(knobs), gait.state(start)
    x = np.array(list(begin.values()), dtype=float)
    n, nk = len(x), len(values)
    dx = np.hstack([np.eye(n), np.zeros((n, nk))])
    numbers: dict[str, float] = {name: float(v) for name, v in values.items()}
    slopes: dict[str, np.ndarray] = {name: np.eye(nk, n + nk, n)[i] for i, name in enumerate(values)}
    first = gait.held(0)
    told = _columns(first, {**numbers, CLOCK: 0.0, DURATION: 1.0}, 1)
    remembered, by_state = (np.array(part, dtype=float) for part in plan.remember(x, told))
    for i, name in enumerate(gait.remembered):
        numbers[name], slopes[name] = float(remembered[i, 0]), by_state[i] @ dx[:n]
    numbers |= dict.fromkeys(first.pins, 0.0)
    numbers[CLOCK] = 0.0
    durations, losses, speeds, runs, times = {}, {}, {}, [], []
    for k, phase in enumerate(gait.phases):
        held, guard = gait.held(k), _guard_of(gait, k)
        u, by_knobs = (
            np.array(part, dtype=float)
            for part in plan.inputs[k]([numbers[name] for name in gait.knobs], gait.robot.parameter_values)
        )
        plan.check_limits(k, list(u))
        for i, name in enumerate(held.inputs.values()):
            numbers[name] = float(u[i, 0])
            slopes[name] = by_knobs[i] @ np.array([slopes[knob] for knob in gait.knobs]).reshape(nk, n + nk)
        if phase.ends is None:
            numbers[DURATION], slopes[DURATION] = numbers[_duration_knob(gait, k)], slopes[_duration_knob(gait, k)]
        system = held.ending(guard).with_parameters(
            **{name: numbers[name] for name in held.mechanism.parameters if name in numbers}
        )
        longest = gait.longest if phase.ends is not None else numbers[DURATION] * 1.01 + 1e-9
        run = simulate(system, x, until=longest, **options)
        if run.status.name != "terminal":
            raise SaltusError(f"gait {gait.name}: {phase.name} never ends within {longest:g} s")
        runs.append(run)
        durations[phase.name] = run.end_time
        if phase.ends is not None:
            speeds[phase.name] = _speed(run)
        names = list(held.mechanism.parameters)
        dp = np.array([slopes.get(name, np.zeros(n + nk)) for name in names])
        if derivatives:
            found = run.sensitivity()
            both = np.vstack([dx, dp])
            dx = found.matrix[:, : len(x) + len(names)] @ both
            times.append(found.times[-1, : len(x) + len(names)] @ both)
            slopes[CLOCK] = sum(times)  # type: ignore[assignment]
        numbers[CLOCK] += run.end_time
        x = run.x[-1]
        move, after = plan.handovers[k], gait.held((k + 1) % len(gait.phases))
        p = _columns(held, numbers, 1)
        out, lost = (np.array(part, dtype=float).ravel() for part in move.value(x, p))
        losses[phase.name] = float(lost[0])
        if derivatives:
            moved = np.array(move.slope(x, p), dtype=float) @ np.vstack([dx, dp])
            dx = moved[: move.nx]
            slopes |= dict(zip(after.pins, moved[move.nx :], strict=True))
        x = out[: move.nx]
        numbers |= dict(zip(after.pins, out[move.nx :].tolist(), strict=True))
    travel = (numbers[first.pins[0]], numbers[first.pins[1]])
    final = dict(zip(gait.state_names, x.tolist(), strict=True))
    names_of_all = (*gait.state_names, *gait.knobs)
    if not derivatives:
        return Cycle(gait, begin, values, final, durations, travel, losses, speeds, runs)
    by_pins = np.array([slopes.get(name, np.zeros(n + nk)) for name in first.pins])
    return Cycle(
        gait,
        begin,
        values,
        final,
        durations,
        travel,
        losses,
        speeds,
        runs,
        names_of_all,
        dx,
        np.array(times),
        by_pins,
    )
