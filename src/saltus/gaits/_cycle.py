"""One cycle of a gait: run the phases one after the other, hand the state on, differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from saltus._content import equal_by_content
from saltus.engine import Trajectory, simulate
from saltus.errors import SaltusError
from saltus.gaits._energy import needs_of
from saltus.gaits._gait import Gait
from saltus.gaits._phase import CLOCK, DURATION, HeldSystem
from saltus.gaits._plan import Change, duration_of, guard_of, over, parameters_of, plan_of

# How exactly a cycle alone is run, if nothing is said.
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "method": "dop853"}

# A guard that comes this near to zero, as a share of its largest value, is touched.
TOUCHED = 1e-6


@equal_by_content
@dataclass(frozen=True)
class Cycle:
    """A cycle that came to its end.

    ``losses`` are those of the impacts in which phases end, J; ``guards`` names the guard that ends each of the
    ``runs``, with no name where the time ends it. ``jacobian`` has a row for each coordinate and velocity at the end
    and a column for each of ``names``: those at the start, then knobs; ``time_jacobian`` a row for the duration of
    each phase; ``travel_jacobian`` one for each direction.
    """

    gait: Gait
    start: dict[str, float]
    knobs: dict[str, float]
    final: dict[str, float]
    durations: dict[str, float]
    travel: tuple[float, float]
    losses: dict[str, float]
    runs: list[Trajectory] = field(repr=False)
    guards: tuple[str, ...] = field(default=(), repr=False)
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
    def speeds(self) -> dict[str, float]:
        """Speeds of the guards that end phases, there, as shares of their greatest: zero where one is only touched."""
        return {name: speed for name, (speed, _) in self._ends.items()}

    @property
    def touched(self) -> dict[str, float]:
        """When in its phase a guard was almost reached before it ended it, s: a faster cycle would have ended there."""
        return {name: when for name, (_, when) in self._ends.items() if when is not None}

    @cached_property
    def _ends(self) -> dict[str, tuple[float, float | None]]:
        """How the guards of phases come to their zeros."""
        return {
            # a phase that is over as it begins does not come to its guard
            name: _speed(run) if run.status.name == "terminal" else (0.0, None)
            for name, run in zip(self.guards, self.runs, strict=True)
            if name
        }

    @property
    def residual(self) -> np.ndarray:
        """By how much the free coordinates and velocities differ at the end; whole turns of angles do not count."""
        return differences(self.gait, self.start, self.final)

    @property
    def error(self) -> float:
        """The sum of the squared differences, in which whole turns of an angle count [ufford2009, 4.2]."""
        return float(squares(self.gait, self.start, self.final))


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


def run_cycle(
    gait: Gait,
    start: Mapping[str, float] | None = None,
    knobs: Mapping[str, float] | None = None,
    *,
    derivatives: bool = False,
    **options: Any,
) -> Cycle:
    """One cycle, with its trajectories and, if asked for, exact derivatives by start and knobs."""
    walk = _Walk(gait, gait.state(start), gait.knob_values(knobs), derivatives)
    for k in range(len(gait.phases)):
        walk.through(k, {**EXACT, **options})
        walk.hand_over(k)
    return walk.cycle()


class _Walk:
    """A cycle on its way: the state, the numbers that phases are told, and the derivatives of both."""

    def __init__(self, gait: Gait, begin: dict[str, float], knobs: dict[str, float], derivatives: bool):
        self.gait, self.plan, self.begin, self.knobs, self.derivatives = gait, plan_of(gait), begin, knobs, derivatives
        self.x = np.array(list(begin.values()), dtype=float)
        n, nk = len(begin), len(knobs)
        self.width, self.no_slope = n + nk, np.zeros(n + nk)
        self.dx = np.eye(n, self.width)
        self.numbers: dict[str, float] = {name: float(v) for name, v in knobs.items()}
        self.slopes: dict[str, np.ndarray] = {name: np.eye(nk, self.width, n)[i] for i, name in enumerate(knobs)}
        for change in self.plan.changes:
            self._change(change)
        first = gait.held(0)
        remembered, by_all = (
            np.array(part, dtype=float) for part in self.plan.remember(self.x, self.plan.told_first(self.numbers, 1))
        )
        everything = np.vstack([self.dx, self._slopes(first)])
        for i, name in enumerate(gait.remembered):
            self.numbers[name], self.slopes[name] = float(remembered[i, 0]), by_all[i] @ everything
        self.numbers |= dict.fromkeys(first.pins, 0.0)
        self.numbers[CLOCK] = 0.0
        self.runs: list[Trajectory] = []
        self.losses: dict[str, float] = {}
        self.by_times: list[np.ndarray] = []

    def through(self, k: int, options: Mapping[str, Any]) -> None:
        """Run a phase to its end."""
        phase, held = self.gait.phases[k], self.gait.held(k)
        self._tell(k)
        system = held.ending(guard_of(self.gait, k)).with_parameters(
            **{name: self.numbers[name] for name in held.mechanism.parameters if name in self.numbers}
        )
        longest = self.gait.longest if phase.ends is not None else self.numbers[DURATION] * 1.01 + 1e-9
        is_over = phase.ends is not None and bool(over(system, self.x[None, :], system.parameter_values[None, :])[0])
        run = simulate(held.system if is_over else system, self.x, until=0.0 if is_over else longest, **options)
        if run.status.name != "terminal" and not is_over:
            text = f"gait {self.gait.name}: {phase.name} never ends within {longest:g} s"
            raise NeverEnds(text, partial(_why, self.gait, k, dict(self.numbers), run))
        self.runs.append(run)
        if is_over:
            self.by_times.append(np.zeros(self.width))
        elif self.derivatives:
            found = run.sensitivity()
            both = np.vstack([self.dx, self._slopes(held)])
            self.dx = found.matrix[:, : len(both)] @ both
            self.by_times.append(found.times[-1, : len(both)] @ both)
            self.slopes[CLOCK] = np.sum(self.by_times, axis=0)
        self.numbers[CLOCK] += run.end_time
        self.x = np.array(list(run.final.values()))

    def hand_over(self, k: int) -> None:
        """Go into the next phase."""
        move, following = self.plan.handovers[k], (k + 1) % len(self.gait.phases)
        held, pins = self.gait.held(k), self.gait.held(following).pins
        p = parameters_of(held, self.numbers, 1)
        out, lost = (np.array(part, dtype=float).ravel() for part in move.value(self.x, p))
        self.losses[self.gait.phases[k].name] = float(lost[0])
        if self.derivatives:
            moved = np.array(move.slope(self.x, p), dtype=float) @ np.vstack([self.dx, self._slopes(held)])
            self.dx = moved[: move.nx]
            self.slopes |= dict(zip(pins, moved[move.nx :], strict=True))
        self.x = out[: move.nx]
        self.numbers |= dict(zip(pins, out[move.nx :].tolist(), strict=True))
        if self.plan.swap is not None and self.gait.phases[following].relabel:
            self._change(self.plan.swap)

    def cycle(self) -> Cycle:
        """What came out."""
        gait, pins = self.gait, self.gait.held(0).pins
        made = Cycle(
            gait, self.begin, self.knobs,
            final=dict(zip(gait.state_names, self.x.tolist(), strict=True)),
            durations={phase.name: run.end_time for phase, run in zip(gait.phases, self.runs, strict=True)},
            travel=(self.numbers[pins[0]], self.numbers[pins[1]]),
            losses=self.losses, runs=self.runs,
            guards=tuple("" if phase.ends is None else phase.name for phase in gait.phases),
        )  # fmt: skip
        if not self.derivatives:
            return made
        return replace(
            made,
            names=(*gait.state_names, *gait.knobs),
            jacobian=self.dx,
            time_jacobian=np.array(self.by_times),
            travel_jacobian=np.array([self._slope(name) for name in pins]),
        )

    def _tell(self, k: int) -> None:
        """Set what a phase is told: its inputs and, if the clock ends it, when."""
        plan, held = self.plan, self.gait.held(k)
        inputs, by_numbers = plan.input_of(k, self.numbers)
        told_by = np.array([self._slope(name) for name in (*plan.own, *self.gait.robot.values)])
        for i, (name, u) in enumerate(zip(held.inputs.values(), inputs.tolist(), strict=True)):
            self.numbers[name], self.slopes[name] = u, by_numbers[i] @ told_by
        if self.gait.phases[k].ends is None:
            knob = duration_of(self.gait, k)
            self.numbers[DURATION], self.slopes[DURATION] = self.numbers[knob], self.slopes[knob]

    def _change(self, change: Change) -> None:
        """Set parameters of the robot that follow from others."""
        new, by_new = change.one(self.plan.parameters(self.numbers, 1), self.slopes, self.width)
        self.numbers |= new
        self.slopes |= by_new

    def _slope(self, name: str) -> np.ndarray:
        return self.slopes.get(name, self.no_slope)

    def _slopes(self, held: HeldSystem) -> np.ndarray:
        """Derivatives of the parameters of the system of a phase, a row for each."""
        return np.array([self._slope(name) for name in held.mechanism.parameters])


class NeverEnds(SaltusError):
    """A phase that does not come to its end. Why is found out only if the message is read: a search tries many."""

    def __init__(self, text: str, why: Callable[[], str]):
        super().__init__(text)
        self._text, self._why = text, why

    @cached_property
    def message(self) -> str:
        """What never ends, and why."""
        return self._text + self._why()

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:
        return SaltusError, (self.message,)


def _why(gait: Gait, k: int, numbers: Mapping[str, float], run: Trajectory) -> str:
    """What a phase that never ends may lack."""
    inputs = gait.held(k).inputs.values()
    if gait.phases[k].inputs and not any(numbers[name] for name in inputs):
        return ", since its inputs are zero"
    when = _speed(run)[1]
    if when is not None:
        return f", though its end was touched, to rounding, after {when:.6g} s"
    needs, x, p = needs_of(gait, k), run.x[:1], parameters_of(gait.held(k), numbers, 1)[0]
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
    parameters = np.tile(run.system.parameter_values[:, None], len(mesh.t))
    found = run.system.once(f"speed {name}", made)(mesh.t[None, :], mesh.x.T, parameters)
    rates, values = (np.array(part, dtype=float).ravel() for part in found)
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
