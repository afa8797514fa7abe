"""One cycle of a gait, or many side by side: run the phases one after the other, hand the state on, differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from saltus.engine import Trajectory, simulate, simulate_many
from saltus.engine._cases import columns
from saltus.errors import InputError, SaltusError
from saltus.gaits._energy import needs_of
from saltus.gaits._gait import Gait
from saltus.gaits._phase import CLOCK, DURATION
from saltus.hybrid import HybridSystem

# What is beyond its end by this share of its size is at its end.
ROUNDING = 1e-12

# A guard that comes this near to zero, as a share of its largest value, is touched.
TOUCHED = 1e-6

# Why a cycle was not even begun.
TOO_LITTLE = "too little energy"

# How exactly many cycles are run, and one alone, if nothing is said.
OPTIONS: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}
EXACT: dict[str, Any] = {**OPTIONS, "rtol": 1e-12, "atol": 1e-13}


@dataclass(frozen=True)
class Cycle:
    """A cycle that came to its end.

    ``losses`` are those of the impacts in which phases end, J; ``speeds`` those of the guards there, as
    shares of their greatest speeds: zero where a guard is touched without being crossed. ``touched`` says when
    in its phase a guard was all but reached before that: a cycle a little faster would have ended the phase there.
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
    touched: dict[str, float] = field(default_factory=dict)
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
        """By how much the free coordinates and velocities differ at the end; whole turns of angles do not count."""
        return differences(self.gait, self.start, self.final)

    @property
    def error(self) -> float:
        """The sum of the squared differences, in which whole turns of an angle count [ufford2009, 4.2]."""
        return float(squares(self.gait, self.start, self.final))


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
        """The sum of the squared differences, in which whole turns of an angle count."""
        return squares(self.gait, self.starts, self.finals)

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


def squares(gait: Gait, start: Mapping[str, Any], final: Mapping[str, Any]) -> np.ndarray:
    """The error of [ufford2009, 4.2]: the sum of the squared differences of what is free, as the angles are."""
    return np.asarray(sum((np.asarray(final[name]) - np.asarray(start[name])) ** 2 for name in gait.free))


class _Handover:
    """How the state goes into a phase from the one before, as a function with its derivative; the cycle is closed."""

    def __init__(self, gait: Gait, phase: int):
        new, robot = gait.held(phase), gait.robot
        whole = ca.vertcat(robot.mechanism.q, robot.mechanism.v)
        symmetry = robot.symmetry
        old = gait.held(phase - 1)
        x, p = ca.vertcat(old.mechanism.q, old.mechanism.v), old.mechanism.p
        state = old.whole_state
        energy, parameters = robot.dynamics.kinetic, robot.mechanism.p
        changes = gait.phases[phase].relabel or new is not old
        before = ca.substitute(energy, whole, state)
        if gait.phases[phase].relabel and symmetry is not None:
            state = ca.substitute(symmetry.map(robot.mechanism), whole, state)
            if gait.swaps:
                parameters = symmetry.other_parameters(robot.mechanism)
        here, pin = new.entry(state, parameters) if changes else (x, ca.vertcat(*(p[i] for i in _pin_places(old))))
        q, v = new.mechanism.q, new.mechanism.v
        after = ca.substitute(new.seen(energy), ca.vertcat(q, v, robot.mechanism.p), ca.vertcat(here, parameters))
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
            "remember", [x, p], [remembered, ca.densify(ca.jacobian(remembered, ca.vertcat(x, p)))],
            {"allow_free": False},
        )  # fmt: skip
        self.own = [name for name in gait.knobs if name not in m.parameters]
        knobs = ca.vertcat(*(gait.symbols[name] for name in self.own), ca.SX.zeros(0))
        self.inputs = []
        for phase in gait.phases:
            u = ca.vertcat(*(ca.SX(phase.inputs.get(name, 0.0)) for name in m.actuators), ca.SX.zeros(0))
            slope = ca.densify(ca.jacobian(u, ca.vertcat(knobs, m.p)))
            self.inputs.append(ca.Function("inputs", [knobs, m.p], [u, slope]))
        limits = ca.vertcat(*(ca.SX(a.limit) for a in m.actuators.values()), ca.SX.zeros(0))
        self.limits = ca.Function("limits", [m.p], [limits])
        self.changes = [_Change(gait, name) for name in gait.knobs if name in m.parameters]
        self.swap = _Change(gait, None) if gait.swaps else None

    def parameters(self, numbers: Mapping[str, Any], count: int) -> np.ndarray:
        """Parameters of the robot, a row for each of many cycles."""
        values = self.gait.robot.values
        return np.array([np.broadcast_to(numbers.get(n, v), (count,)) for n, v in values.items()]).reshape(-1, count).T

    def inputs_of(self, phase: int, numbers: Mapping[str, Any]) -> list[Any]:
        """Inputs of a phase: a number for each actuator, or for each cycle if they differ; none beyond its limit."""
        count = max(np.size(numbers.get(name, 0.0)) for name in (*self.own, *self.gait.robot.values))
        rows = np.array([np.broadcast_to(numbers[name], (count,)) for name in self.own]).reshape(len(self.own), count)
        p = self.parameters(numbers, count)
        found, limits = columns(self.inputs[phase], rows.T, p)[0].T, columns(self.limits, p)[0].T
        for u, limit, (name, actuator) in zip(found, limits, self.gait.robot.mechanism.actuators.items(), strict=True):
            worst = int((np.abs(u) - limit).argmax())
            if abs(u[worst]) > limit[worst] * (1 + 1e-12):
                raise InputError(
                    f"gait {self.gait.name}, phase {self.gait.phases[phase].name}: {abs(u[worst]):g} {actuator.unit} "
                    f"on {name} is beyond its limit of {limit[worst]:g} {actuator.unit}"
                )
        return [row if count > 1 else float(row[0]) for row in found]


class _Change:
    """New values of some parameters of the robot as functions of all: what mirrors one, or all under new names."""

    def __init__(self, gait: Gait, parameter: str | None):
        m, symmetry = gait.robot.mechanism, gait.robot.symmetry
        new: dict[str, Any] = {}
        if symmetry is not None and parameter is None:
            new = {name: ca.SX(e) for name, e in symmetry.parameters.items()}
        elif symmetry is not None and parameter is not None and gait.odd:
            new = symmetry.tied(m, parameter)
        self.names = list(new)
        both = ca.vertcat(*new.values(), ca.SX.zeros(0))
        self.function = ca.Function("change", [m.p], [both, ca.densify(ca.jacobian(both, m.p))])
        self.all = list(m.parameters)

    def many(self, p: np.ndarray) -> dict[str, np.ndarray]:
        """New values for many cycles, from a row of parameters for each."""
        return dict(zip(self.names, columns(self.function, p)[0].T, strict=True)) if self.names else {}

    def one(
        self, p: np.ndarray, slopes: Mapping[str, np.ndarray], width: int
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """New values, and their derivatives from those of the old."""
        value, slope = (np.array(part, dtype=float) for part in self.function(p))
        old = np.array([slopes.get(name, np.zeros(width)) for name in self.all])
        return (
            dict(zip(self.names, value.ravel().tolist(), strict=True)),
            dict(zip(self.names, slope.reshape(len(self.names), len(self.all)) @ old, strict=True)),
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
    for change in plan.changes:
        numbers |= change.many(plan.parameters(numbers, count))
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
        u = plan.inputs_of(k, numbers)
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

        over = np.zeros(len(alive), dtype=bool)
        if phase.ends is not None:
            over = _over(system, X.T, _columns(held, numbers, count)[:, alive].T)
        status, times, ends = np.full(len(alive), "terminal", dtype=object), np.zeros(len(alive)), X.T.copy()
        own = _simple(own)
        lacking = _lacking(gait, k, own, numbers, X.T)
        status[lacking] = TOO_LITTLE
        go = ~over & ~lacking
        if go.any():
            batch = simulate_many(
                system, np.ascontiguousarray(X.T[go]), until=longest, events_kept=0, threads=threads,
                parameters={name: value if np.ndim(value) == 0 else value[go] for name, value in own.items()},
                progress=told_progress, **options,
            )  # fmt: skip
            status[go], times[go], ends[go] = batch.status, batch.t_end, batch.states
        done = status == "terminal"
        for run in np.flatnonzero(~done):
            how = {"finished": f"never ends within {longest:g} s", TOO_LITTLE: f"never ends: {TOO_LITTLE}"}
            reason[alive[run]] = f"{phase.name} {how.get(status[run], f'ended as {status[run]}')}"
        durations[phase.name][alive] = np.where(done, times, np.nan)
        clock[alive] += times
        alive, X = alive[done], ends[done].T
        ended[alive] += 1
        if not alive.size:
            break
        move, after = plan.handovers[k], gait.held((k + 1) % len(gait.phases))
        if not move.changes:
            continue
        out = columns(move.value, X.T, _columns(held, numbers, count)[:, alive].T)[0].T
        if plan.swap is not None and gait.phases[(k + 1) % len(gait.phases)].relabel:
            numbers |= plan.swap.many(plan.parameters(numbers, count))
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


def _over(system: HybridSystem, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Which phases are over as they begin: beyond their end by no more than rounding, as where nothing was lost."""
    guard = system.guards[0]
    if guard.direction == "both":
        return np.zeros(len(x), dtype=bool)
    d = system.dynamics
    value = ca.SX(guard.expression) * (1 if guard.direction == "up" else -1)

    def made() -> tuple[Any, Any]:
        size = ca.sum1(ca.fabs(ca.jacobian(value, d.x).T * d.x))
        return ca.Function("beyond", [d.t, d.x, d.p], [value]), ca.Function("size", [d.t, d.x, d.p], [size])

    function, sizes = system.once(f"over {guard.name}", made)
    beyond = columns(function, np.zeros(len(x)), x, p)[0].ravel()
    over, some = np.zeros(len(x), dtype=bool), np.flatnonzero(beyond > 0)
    if some.size:
        size = columns(sizes, np.zeros(some.size), x[some], p[some])[0].ravel()
        over[some] = beyond[some] <= ROUNDING * (1 + size)
    return over


def _lacking(gait: Gait, k: int, own: Mapping[str, Any], numbers: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    """Which of many cycles surely have too little energy for their first phase, so that they need not be run."""
    needs = needs_of(gait, k) if k == 0 and len(x) > 1 else None
    if needs is None or any(np.ndim(value) for value in own.values()):
        return np.zeros(len(x), dtype=bool)
    held = gait.held(k)
    p = np.array([own.get(name, held.system.values[name]) for name in held.mechanism.parameters], dtype=float)
    return needs.lacking(x, p)


def _why(gait: Gait, k: int, numbers: Mapping[str, float], run: Trajectory) -> str:
    """What a phase that never ends may lack."""
    inputs = gait.held(k).inputs.values()
    if gait.phases[k].inputs and not any(numbers[name] for name in inputs):
        return ", since its inputs are zero"
    when = _speed(run)[1]
    if when is not None:
        return f", though its end was touched, to rounding, after {when:.6g} s"
    needs, x, p = needs_of(gait, k), run.x[:1], _columns(gait.held(k), numbers, 1).ravel()
    if needs is None or not needs.lacking(x, p)[0]:
        return ""
    has, least = float(needs.energy(x[0], p)), needs.least(p)
    return f": it begins with too little energy, {has:.6g} J, where {least:.6g} J are needed to end at all"


def _speed(run: Trajectory) -> tuple[float, float | None]:
    """How fast the guard of a phase is where it ends the phase, as a share of its greatest speed.

    Also when, before that, it was touched to rounding and not crossed, if it was.
    """
    m, d, name = run.system.mechanism, run.system.dynamics, run.system.guards[0].name
    guard = ca.SX(run.system.guards[0].expression)

    def made() -> Any:
        rate = ca.jtimes(guard, m.q, m.v) + ca.jtimes(guard, m.v, d.free_acceleration)
        return ca.Function("rate", [d.t, d.x, d.p], [rate, guard])

    mesh = run.mesh
    rates, values = (
        part.ravel()
        for part in columns(
            run.system.once(f"speed {name}", made), mesh.t, mesh.x,
            np.tile(run.system.parameter_values, (len(mesh.t), 1)),
        )
    )  # fmt: skip
    greatest, largest = float(np.abs(rates).max()), float(np.abs(values).max())
    # towards zero, then away from it, on one step
    turns = (values[:-1] * rates[:-1] < 0) & (values[1:] * rates[1:] > 0) & (values[:-1] * values[1:] > 0)
    touched = None
    for k in np.flatnonzero(turns[:-1]):
        h = mesh.t[k + 1] - mesh.t[k]
        curve = CubicHermiteSpline([0.0, h], values[k : k + 2], rates[k : k + 2])
        places = [s for s in curve.derivative().roots(extrapolate=False) if 0 <= s <= h]
        if any(abs(float(curve(s))) < TOUCHED * largest for s in places):
            touched = float(mesh.t[k] + places[0])
            break
    return (float(abs(rates[-1])) / greatest if greatest > 0 else 0.0), touched


def _simple(own: dict[str, Any]) -> dict[str, Any]:
    return {n: v if np.ndim(v) == 0 or not v.size or (v != v[0]).any() else float(v[0]) for n, v in own.items()}


def _columns(held: Any, numbers: Mapping[str, Any], count: int) -> np.ndarray:
    """Parameters of a held system, a column for each run."""
    values = held.system.values
    return np.array([np.broadcast_to(numbers.get(name, values[name]), (count,)) for name in held.mechanism.parameters])


def _slopes(held: Any, slopes: Mapping[str, np.ndarray], width: int) -> np.ndarray:
    """Derivatives of the parameters of a held system, a row for each."""
    return np.array([slopes.get(name, np.zeros(width)) for name in held.mechanism.parameters])


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
    for change in plan.changes:
        tied, by_tied = change.one(plan.parameters(numbers, 1), slopes, n + nk)
        numbers, slopes = numbers | tied, slopes | by_tied
    first = gait.held(0)
    told = _columns(first, {**numbers, CLOCK: 0.0, DURATION: 1.0}, 1)
    remembered, by_all = (np.array(part, dtype=float) for part in plan.remember(x, told))
    everything = np.vstack([dx, _slopes(first, slopes, n + nk)])
    for i, name in enumerate(gait.remembered):
        numbers[name], slopes[name] = float(remembered[i, 0]), by_all[i] @ everything
    numbers |= dict.fromkeys(first.pins, 0.0)
    numbers[CLOCK] = 0.0
    durations, losses, speeds, runs, times = {}, {}, {}, [], []
    touched: dict[str, float] = {}
    for k, phase in enumerate(gait.phases):
        held, guard = gait.held(k), _guard_of(gait, k)
        by_numbers = np.array(plan.inputs[k]([numbers[name] for name in plan.own], plan.parameters(numbers, 1))[1])
        told_by = [slopes.get(name, np.zeros(n + nk)) for name in (*plan.own, *gait.robot.values)]
        for i, (name, u) in enumerate(zip(held.inputs.values(), plan.inputs_of(k, numbers), strict=True)):
            numbers[name], slopes[name] = u, by_numbers[i] @ np.array(told_by)
        if phase.ends is None:
            numbers[DURATION], slopes[DURATION] = numbers[_duration_knob(gait, k)], slopes[_duration_knob(gait, k)]
        system = held.ending(guard).with_parameters(
            **{name: numbers[name] for name in held.mechanism.parameters if name in numbers}
        )
        longest = gait.longest if phase.ends is not None else numbers[DURATION] * 1.01 + 1e-9
        over = phase.ends is not None and bool(_over(system, x[None, :], system.parameter_values[None, :])[0])
        run = simulate(held.system if over else system, x, until=0.0 if over else longest, **options)
        if run.status.name != "terminal" and not over:
            why = _why(gait, k, numbers, run)
            raise SaltusError(f"gait {gait.name}: {phase.name} never ends within {longest:g} s{why}")
        runs.append(run)
        durations[phase.name] = run.end_time
        if phase.ends is not None:
            speeds[phase.name], when = (0.0, None) if over else _speed(run)
            if when is not None:
                touched[phase.name] = when
        names = list(held.mechanism.parameters)
        dp = _slopes(held, slopes, n + nk)
        if over:
            times.append(np.zeros(n + nk))
        elif derivatives:
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
        if plan.swap is not None and gait.phases[(k + 1) % len(gait.phases)].relabel:
            swapped, by_swapped = plan.swap.one(plan.parameters(numbers, 1), slopes, n + nk)
            numbers, slopes = numbers | swapped, slopes | by_swapped
    travel = (numbers[first.pins[0]], numbers[first.pins[1]])
    final = dict(zip(gait.state_names, x.tolist(), strict=True))
    names_of_all = (*gait.state_names, *gait.knobs)
    if not derivatives:
        return Cycle(gait, begin, values, final, durations, travel, losses, speeds, runs, touched)
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
        touched,
        names_of_all,
        dx,
        np.array(times),
        by_pins,
    )
