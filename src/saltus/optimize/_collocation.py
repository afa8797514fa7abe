"""Motions by collocation: the modes are given, and states, inputs and times are found by a nonlinear program.

Every arc is cut into intervals of one length, on which the inputs are constant and the state is a polynomial that obeys
the mode's equations at Radau points [betts2010]. What the events between arcs ask for comes from the two modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from saltus._content import equal_by_content
from saltus.contact._ground import OPEN, SLIP_MINUS, SLIP_PLUS, STICK
from saltus.contact._unit import GROUND
from saltus.control import Schedule
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, symbolic_mode

_Part = tuple[np.ndarray, np.ndarray, np.ndarray]

# Points in an interval; the last is its end.
DEGREE = 3
TAU = ca.collocation_points(DEGREE, "radau")
SLOPES = ca.collocation_coeff(TAU)[0]

# Modes that last shorter, s, are left out of what a run is cut into.
BRIEF = 1e-6


@equal_by_content
@dataclass(frozen=True)
class Arc:
    """One piece of a motion that is to be found: its mode, into how much it is cut, and what must hold along it.

    ``keep`` are expressions of the robot's state that must not be negative; ``times`` bound how long it lasts.
    """

    mode: str
    intervals: int = 16
    keep: Sequence[Any] = ()
    times: tuple[float, float] = (1e-4, 2.0)


@equal_by_content
@dataclass(frozen=True, eq=False)
class Motion:
    """What collocation found: times and states at the ends of all intervals, the inputs on them, and how well.

    ``value`` is what was maximised; ``violation`` is the largest that any constraint of the program is missed by.
    """

    system: HybridSystem
    arcs: tuple[Arc, ...]
    times: list[np.ndarray]
    states: list[np.ndarray]
    inputs: list[np.ndarray]
    value: float
    violation: float
    message: str

    @property
    def solved(self) -> bool:
        """Whether it is the best of all near it."""
        return self.message == "solved"

    @property
    def start(self) -> dict[str, float]:
        """The state at the beginning, by name."""
        return dict(zip(self.system.state_names, self.states[0][0].tolist(), strict=True))

    def controller(self, after: float = 0.0) -> Schedule:
        """The inputs as steps at exact times, and ``after`` from the end on."""
        starts = np.concatenate([*(t[:-1] for t in self.times), self.times[-1][-1:]])
        values = np.concatenate([*self.inputs, np.full((1, self.inputs[0].shape[1]), after)])
        limits = np.array(self.system.input_limits)
        pieces = [[[value] for value in row] for row in np.clip(values, -limits, limits).tolist()]
        return Schedule(tuple(starts.tolist()), pieces)

    def finer(self, spacing: float) -> list[Arc]:
        """The same arcs in intervals of at most that length, s."""
        return [
            replace(arc, intervals=max(arc.intervals, int(np.ceil((t[-1] - t[0]) / spacing))))
            for arc, t in zip(self.arcs, self.times, strict=True)
        ]

    def sampled(self, arcs: Sequence[Arc]) -> list[_Part]:
        """Times, states and inputs at the ends of other intervals of the same arcs."""
        if [arc.mode for arc in arcs] != [arc.mode for arc in self.arcs]:
            raise InputError("the guess goes through other modes")
        parts = []
        for arc, t, x, u in zip(arcs, self.times, self.states, self.inputs, strict=True):
            flow = _Mode(self.system, arc).flow
            begins, ends = (np.array(flow.map(len(u))(x[k:][: len(u)].T, u.T)).T for k in (0, 1))
            wanted = np.linspace(t[0], t[-1], arc.intervals + 1)
            middle = 0.5 * (wanted[1:] + wanted[:-1])
            states = np.empty((len(wanted), x.shape[1]))
            for i, at in enumerate(wanted):
                k = min(int(np.searchsorted(t, at, side="right")) - 1, len(u) - 1)
                pair = CubicHermiteSpline(t[k : k + 2], x[k : k + 2], np.array([begins[k], ends[k]]))
                states[i] = pair(at)
            chosen = np.clip(np.searchsorted(t, middle, side="right") - 1, 0, len(u) - 1)
            parts.append((wanted, states, u[chosen]))
        return parts


def cut(run: Trajectory, spacing: float, keep: Sequence[Any] = ()) -> list[Arc]:
    """The arcs of a run, in intervals of about that length, s."""
    return [
        Arc(mode, max(3, int(np.ceil((end - begin) / spacing))), keep) for mode, begin, end in _pieces(run)
    ]  # fmt: skip


def collocate(
    system: HybridSystem,
    arcs: Sequence[Arc],
    guess: Trajectory | Motion,
    *,
    maximise: Callable[[list[Any], list[Any]], Any],
    start: Mapping[str, float | tuple[float, float]],
    finish: Sequence[Any] = (),
    margin: float = 1e-6,
    smooth: float = 1e-5,
    tolerance: float = 1e-6,
    max_iterations: int = 300,
    max_seconds: float = 120.0,
    print_level: int = 0,
) -> Motion:
    """Find the motion through given modes that maximises something.

    Parameters
    ----------
    arcs
        The modes in their order.
    guess
        A run that goes through the same modes, or what was found with other intervals: where the search begins.
    maximise
        Given the states at the beginnings and at the ends of all arcs, what is to be as large as possible; of several
        values, the least.
    start
        State at the beginning, by name: a number, or a lower and an upper bound; the rest is free.
    finish
        Expressions that are zero at the very end.
    margin
        By how much everything that must not be negative must be positive, so that the motion can be made.
    smooth
        Weight of the changes of the inputs in what is maximised.
    tolerance
        How well everything is met, in units of what each number is like.
    max_iterations, max_seconds
        When the search gives up.
    """
    parts = _sampled(arcs, guess) if isinstance(guess, Trajectory) else guess.sampled(arcs)
    program = _Program(system, arcs, parts, margin)
    program.begin(start)
    program.end(finish)
    value = program.least(maximise(program.begins, program.ends))
    options = {
        "print_level": print_level, "sb": "yes", "max_iter": max_iterations, "max_cpu_time": max_seconds,
        "tol": tolerance, "constr_viol_tol": 1e-9,
        # the guess is nearly a motion that can be made: a large barrier would only push it away
        "mu_init": 1e-3 if isinstance(guess, Trajectory) else 1e-5,
    }  # fmt: skip
    message = program.solve(-value + smooth * program.rough, options)
    return program.motion(value, message)


class _Program:
    """The nonlinear program: its variables and constraints arc by arc."""

    def __init__(self, system: HybridSystem, arcs: Sequence[Arc], parts: Sequence[Any], margin: float) -> None:
        self.system, self.arcs, self.margin = system, tuple(arcs), margin
        self.opti = ca.Opti()
        self.bounds = np.asarray(system.input_limits, dtype=float)
        self.limits = np.where(np.isfinite(self.bounds) & (self.bounds > 0), self.bounds, 1.0)
        self.scale = np.maximum(np.max([np.abs(x).max(axis=0) for _, x, _ in parts], axis=0), 0.1)
        self.modes = [_Mode(system, arc) for arc in arcs]
        self.begin_time = float(parts[0][0][0])
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.lengths: list[Any] = []
        self.rough: Any = 0
        self.fixed: dict[int, float] = {}
        for k, part in enumerate(parts):
            self._arc(k, *part)
            if k:
                self._join(k)

    @property
    def begins(self) -> list[Any]:
        return [X[:, 0] for X in self.nodes]

    @property
    def ends(self) -> list[Any]:
        return [X[:, -1] for X in self.nodes]

    def _arc(self, k: int, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> None:
        arc, mode, opti, N = self.arcs[k], self.modes[k], self.opti, self.arcs[k].intervals
        nx, nu = x.shape[1], u.shape[1]
        T = opti.variable()
        opti.subject_to(opti.bounded(arc.times[0], T, arc.times[1]))
        opti.set_initial(T, min(max(t[-1] - t[0], arc.times[0]), arc.times[1]))
        nodes, inner, inputs = opti.variable(nx, N + 1), opti.variable(nx, N * (DEGREE - 1)), opti.variable(nu, N)
        X, K, U = (ca.diag(size) @ v for size, v in ((self.scale, nodes), (self.scale, inner), (self.limits, inputs)))
        opti.set_initial(nodes, (x / self.scale).T)
        between = [x[i] + s * (x[i + 1] - x[i]) for i in range(N) for s in TAU[:-1]]
        opti.set_initial(inner, (np.array(between) / self.scale).T)
        opti.set_initial(inputs, np.clip(u / self.limits, -0.99, 0.99).T)
        for one, most in enumerate(self.bounds / self.limits):
            if np.isfinite(most):
                opti.subject_to(opti.bounded(-most, inputs[one, :], most))
        seen = mode.interval(self.scale).map(N)(
            X[:, :N], ca.reshape(K, nx * (DEGREE - 1), N), X[:, 1:], U, ca.repmat(T / N, 1, N)
        )
        residual, forces, keep, away = seen
        opti.subject_to(ca.vec(residual) == 0)
        if forces.numel():
            opti.subject_to(ca.vec(forces) >= self.margin)
        if keep.numel():
            # of the very end see `end`
            kept = ca.vec(keep)[: -len(arc.keep)] if k == len(self.arcs) - 1 else ca.vec(keep)
            opti.subject_to(kept >= self.margin)
        if away.numel():
            # zero where the arc begins or ends, so not there
            opti.subject_to(ca.vec(away)[: -(away.shape[0] // DEGREE)] >= 0)
        if N > 1:
            self.rough += ca.sumsqr(inputs[:, 1:] - inputs[:, :-1])
        self.nodes.append(X)
        self.inputs.append(U)
        self.lengths.append(T)

    def begin(self, start: Mapping[str, float | tuple[float, float]]) -> None:
        """Bound the state at the beginning; what is kept is kept there too."""
        if self.arcs[0].keep:
            kept = self._function(*self.arcs[0].keep)(self.begins[0], self.inputs[0][:, 0])
            self.opti.subject_to(kept >= self.margin)
        for name, value in start.items():
            i = self.system.state_names.index(name)
            low, high = value if isinstance(value, tuple) else (value, value)
            if low == high:
                self.fixed[i] = low
            size = self.scale[i]
            self.opti.subject_to(self.opti.bounded(low / size, self.begins[0][i] / size, high / size))

    def end(self, finish: Sequence[Any]) -> None:
        """Make expressions zero at the end; what is kept otherwise is kept there too."""
        last = self.ends[-1], self.inputs[-1][:, -1]
        others = [one for one in self.arcs[-1].keep if not any(ca.is_equal(one, zero, 4) for zero in finish)]
        if finish:
            self.opti.subject_to(self._function(*finish)(*last) == 0)
        if others:
            self.opti.subject_to(self._function(*others)(*last) >= self.margin)

    def least(self, values: Any) -> Any:
        """The least of some values, as a variable."""
        if not isinstance(values, (list, tuple)):
            return values
        least = self.opti.variable()
        for one in values:
            self.opti.subject_to(one - least >= 0)
        return least

    def solve(self, objective: Any, options: dict[str, Any]) -> str:
        """Minimise from where the last search ended; how this one did."""
        self.opti.minimize(objective)
        self.opti.solver("ipopt", {"print_time": False}, options)
        try:
            self.opti.solve()
            message = "solved"
        except RuntimeError:
            message = self.opti.return_status()
        self.opti.set_initial(self.opti.x, self.opti.debug.value(self.opti.x))
        return message

    def motion(self, value: Any, message: str) -> Motion:
        """What the last search ended with."""

        def read(expression: Any, rows: int) -> np.ndarray:
            value = self.opti.debug.value(expression, self.opti.initial())
            found: np.ndarray = np.array(value, dtype=float).reshape(rows, -1)
            return found

        begin, times = self.begin_time, []
        for arc, length in zip(self.arcs, self.lengths, strict=True):
            lasts = max(read(length, 1).item(), arc.times[0])
            times.append(begin + lasts * np.linspace(0, 1, arc.intervals + 1))
            begin = times[-1][-1]
        g, low, high = (read(part, 1) for part in (self.opti.g, self.opti.lbg, self.opti.ubg))
        violation = float(np.maximum(np.maximum(low - g, g - high), 0).max(initial=0.0))
        nx, nu = len(self.scale), len(self.limits)
        states, inputs = [read(X, nx).T for X in self.nodes], [read(U, nu).T for U in self.inputs]
        states[0][0, list(self.fixed)] = list(self.fixed.values())
        return Motion(
            self.system, self.arcs, times, states, inputs, read(value, 1).item(), violation, message
        )  # fmt: skip

    def _function(self, *expressions: Any) -> Any:
        d, p = self.system.dynamics, self.system.parameter_values
        column = ca.substitute(ca.vertcat(*expressions), ca.vertcat(d.p, d.t), ca.vertcat(p, 0))
        return ca.Function("at", [d.x, d.u], [column])

    def _join(self, k: int) -> None:
        """What an event asks for: where it happens, what it does to the state, and that the next mode is right."""
        d, opti, system = self.system.dynamics, self.opti, self.system
        old, new = self.modes[k - 1], self.modes[k]
        before, after = self.ends[k - 1], self.begins[k]
        u_old, u_new = self.inputs[k - 1][:, -1], self.inputs[k][:, 0]
        struck = False
        for unit, was, status, first in zip(system.units, old.statuses, new.statuses, system.first_rows, strict=False):
            if was == status:
                continue
            if unit.kind != GROUND:
                raise InputError(f"collocation knows events of ground contacts only, not of {unit.name}")
            along, gap = (position for _, position in unit.rows)
            Jt, Jn = (ca.jacobian(position, d.q) for position in (along, gap))
            if was == OPEN:
                struck = True
                opti.subject_to(self._function(gap)(before, u_old) == 0)
                opti.subject_to(self._function(-(Jn @ d.v))(before, u_old) >= self.margin)
                self._strike(unit, status, before, after)
            elif status == OPEN:
                acceleration = symbolic_mode(system, list(new.statuses)).acceleration
                _, drift = d.row(gap)
                opti.subject_to(self._function(Jn @ acceleration + drift)(before, u_new) >= self.margin)
            elif was == STICK:
                forces = symbolic_mode(system, list(old.statuses)).forces
                sign = 1 if status == SLIP_MINUS else -1
                edge = sign * forces[first] - unit.coefficients[0] * forces[first + 1]
                opti.subject_to(self._function(edge)(before, u_new) >= 0)
            else:
                opti.subject_to(self._function(Jt @ d.v)(before, u_old) == 0)
        size = self.scale[: d.q.numel()] if struck else self.scale
        opti.subject_to((after - before)[: len(size)] / size == 0)

    def _strike(self, unit: Any, status: int, before: Any, after: Any) -> None:
        """A plastic impact within the cone, or on its edge against the slide that follows."""
        d, opti, system = self.system.dynamics, self.opti, self.system
        numbers = ca.Function("numbers", [d.p], [ca.vertcat(*map(ca.SX, unit.coefficients))])
        mu, *restitutions = np.array(numbers(system.parameter_values), dtype=float).ravel().tolist()
        if any(restitutions):
            raise InputError("collocation knows plastic impacts only: set restitutions to zero")
        J = ca.jacobian(ca.vertcat(*(position for _, position in unit.rows)), d.q)
        impulse, v_after = opti.variable(2), after[d.q.numel() :]
        p, v = ca.SX.sym("impulse", 2), ca.SX.sym("after", d.v.numel())
        balance = [d.M @ (v - d.v) - J.T @ p, J @ v]
        equation = ca.Function(
            "impact", [d.x, p, v], [ca.substitute(row, d.p, system.parameter_values) for row in balance]
        )
        momentum, speeds = equation(before, impulse, v_after)
        opti.set_initial(impulse, [0.0, 0.5])
        opti.subject_to(momentum == 0)
        opti.subject_to(impulse[1] >= 0)
        if status == STICK:
            opti.subject_to(speeds == 0)
            if mu < math.inf:
                opti.subject_to(mu * impulse[1] - impulse[0] >= 0)
                opti.subject_to(mu * impulse[1] + impulse[0] >= 0)
        else:
            sign = 1 if status == SLIP_PLUS else -1
            opti.subject_to(speeds[1] == 0)
            opti.subject_to(impulse[0] + sign * mu * impulse[1] == 0)
            opti.subject_to(sign * speeds[0] >= self.margin)


class _Mode:
    """A mode as functions of state and inputs: flow, forces that push, what is kept, what only its ends lack."""

    def __init__(self, system: HybridSystem, arc: Arc) -> None:
        mode = symbolic_mode(system, arc.mode)
        d, p = system.dynamics, system.parameter_values
        self.statuses = mode.statuses

        def function(arguments: list[Any], expressions: list[Any]) -> Any:
            column = ca.substitute(ca.vertcat(*expressions), ca.vertcat(d.p, d.t), ca.vertcat(p, 0))
            return ca.Function("mode", arguments, [column]) if expressions else None

        forces: list[Any] = []
        away: list[Any] = []
        for k, (unit, status, first) in enumerate(zip(system.units, mode.statuses, system.first_rows, strict=False)):
            if unit.kind != GROUND:
                continue
            along, gap = (position for _, position in unit.rows)
            if status == OPEN:
                away.append(gap)
                continue
            lam_t, lam_n = mode.forces[first], mode.forces[first + 1]
            forces.append(lam_n)
            if status == STICK and k not in system.ideal_units:
                forces += [unit.coefficients[0] * lam_n - lam_t, unit.coefficients[0] * lam_n + lam_t]
            elif status != STICK:
                away.append((1 if status == SLIP_PLUS else -1) * (ca.jacobian(along, d.q) @ d.v))
        self.flow = function([d.x, d.u], [d.qdot, mode.acceleration])
        self.forces = function([d.x, d.u], forces)
        self.keep = function([d.x], [ca.SX(expression) for expression in arc.keep])
        self.away = function([d.x], away)

    def interval(self, scale: np.ndarray) -> Any:
        """One interval as a function of its ends and inner points: what the equations lack, forces, what is kept, away.

        The last three at all points in turn, forces at the beginning too.
        """
        nx, nu = len(scale), self.flow.size1_in(1)
        x, inner, y, u, h = (ca.SX.sym(*word) for word in (
            ("x", nx), ("inner", nx * (DEGREE - 1)), ("y", nx), ("u", nu), ("h", 1)
        ))  # fmt: skip
        points = [*ca.vertsplit(inner, nx), y]
        Z = ca.horzcat(x, *points)
        lacks = [(Z @ SLOPES[:, i] - h * self.flow(point, u)) / scale for i, point in enumerate(points)]
        forces = [] if self.forces is None else [self.forces(point, u) for point in (x, *points)]
        keep, away = ([] if at is None else [at(point) for point in points] for at in (self.keep, self.away))
        columns = [ca.vertcat(*rows) if rows else ca.SX(0, 1) for rows in (lacks, forces, keep, away)]
        return ca.Function("interval", [x, inner, y, u, h], columns)


def _pieces(run: Trajectory) -> list[tuple[str, float, float]]:
    """Modes of a run that last, each with its beginning and end."""
    pieces: list[tuple[str, float, float]] = []
    begin = run.start_time
    for event in run.events:
        if event.mode_after == event.mode_before and event.state_after != event.state_before:
            raise InputError(f"collocation knows plastic impacts only, and at {event.t:.6g} s the guess bounces")
        if event.mode_after != event.mode_before:
            if event.t > begin + BRIEF:
                pieces.append((event.mode_before, begin, event.t))
            begin = event.t
    if run.end_time > begin + BRIEF:
        pieces.append((run.arc_modes[-1], begin, run.end_time))
    return pieces


def _sampled(arcs: Sequence[Arc], run: Trajectory) -> list[_Part]:
    """Times, states and inputs of a run at the ends of the intervals of each arc."""
    pieces = _pieces(run)
    wanted, gone = [arc.mode for arc in arcs], [mode for mode, _, _ in pieces]
    if gone != wanted:
        raise InputError(f"the guess goes through {', '.join(gone)}, not through {', '.join(wanted)}")
    parts = []
    for arc, (_, begin, end) in zip(arcs, pieces, strict=True):
        t = np.linspace(begin, end, arc.intervals + 1)
        inner = t.copy()
        # on the two sides of an event states differ: read them inside the arc
        inner[0] += 1e-9 * (end - begin)
        inner[-1] -= 1e-9 * (end - begin)
        limits = np.asarray(run.system.input_limits)
        inputs = np.clip(run.everything_at(0.5 * (t[1:] + t[:-1])).inputs, -limits, limits)
        parts.append((t, run.at(inner), inputs))
    return parts
