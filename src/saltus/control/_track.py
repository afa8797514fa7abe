"""Tracking: a run is followed through its contact modes by time-varying LQR, whose gains come from the run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.engine import Control, Trajectory
from saltus.engine._cases import columns
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem, symbolic_mode

# Least number of nodes of an arc.
_NODES = 5


def law(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Inputs of the run and gains times the difference from it.

    The part of the run is that of the time, unless other contacts are open now: then it is the nearest in time with the
    same contacts open, so that what was done before a landing is gone on with until it comes.
    """
    nx, nu, arcs, units = int(data[0]), int(data[1]), int(data[2]), int(data[3])
    head, width = 4 + units, 2 * nx + nu + nu * nx
    now, more = piece, 4 + arcs * head
    if data[more + 1] > 0:
        while now < arcs - 1 and t >= data[5 + now * head]:
            now += 1
    chosen, least, held = now, data[more], False
    for unit in range(units):
        open_now, open_then = status[unit] == 0, int(data[8 + now * head + unit]) == 0
        if open_now != open_then:
            chosen, held = -1, not open_now
    if chosen < 0:
        chosen = now
        for k in range(arcs):
            a = 4 + k * head
            fits = True
            for unit in range(units):
                if (int(data[a + 4 + unit]) == 0) != (status[unit] == 0):
                    fits = False
            # a contact that should have opened is not waited for: the inputs may have to open it
            away = max(data[a] - t, 0.0 if held else t - data[a + 1], 0.0)
            if fits and away < least and not (held and t >= data[a + 1]):
                chosen, least = k, away
    a = 4 + chosen * head
    begin, end, count, first = data[a], data[a + 1], int(data[a + 2]), int(data[a + 3])
    h = (end - begin) / (count - 1)
    i = min(max(int((t - begin) / h), 0), count - 2)
    r = (t - begin - i * h) / h
    beyond = 0.0
    if r < 0.0 or r > 1.0:
        beyond = t - begin if r < 0.0 else t - end
        r = 0.0 if r < 0.0 else 1.0
    s = 1 - r
    b, c = first + i * width, first + (i + 1) * width
    for j in range(nu):
        u[j] = s * data[b + 2 * nx + j] + r * data[c + 2 * nx + j]
    for n in range(nx):
        # a cubic between two nodes, straight on beyond the first and the last
        goal = s * s * ((1 + 2 * r) * data[b + n] + r * h * data[b + nx + n])
        goal += r * r * ((1 + 2 * s) * data[c + n] - s * h * data[c + nx + n])
        goal += beyond * (s * data[b + nx + n] + r * data[c + nx + n])
        for j in range(nu):
            k = 2 * nx + nu + j * nx + n
            u[j] += (s * data[b + k] + r * data[c + k]) * (goal - x[n])
    return 0


@equal_by_content
@dataclass(frozen=True, eq=False)
class Track:
    """Follow a run by the gains that are best for small differences from it, through all its events.

    The gains solve the discrete Riccati recursion of the run's own linearisation, backwards in time: the mode's exact
    derivatives along an arc, the saltation matrix at an event. What they ask for beyond an actuator's limit is cut off.

    Parameters
    ----------
    run
        The run to follow, up to where it ended.
    weights, final
        What a difference in a state costs along the way and at the end, by name; 1 and 0 for what is not named. An
        empty name holds for all the others.
    effort
        What an input costs, in units of its limit if that is finite.
    spacing
        Between nodes of references and gains, s.
    window
        How early or late a contact may close or open, s: farther off, what the run did at that time is followed.
    period
        Sampled with this period, s. Continuous, if it is None: then a contact that the inputs of one arc open and those
        of the next close again has no end.
    """

    run: Trajectory
    weights: Mapping[str, float] | None = None
    final: Mapping[str, float] | None = None
    effort: float = 1.0
    spacing: float = 1e-3
    window: float = 0.1
    period: float | None = 1e-3

    def bind(self, system: HybridSystem) -> Control:
        run = self.run
        if system.state_names != run.system.state_names or len(system.units) != len(run.system.units):
            raise InputError(f"track: the run is one of {run.system.name}, not of {system.name}")
        if not system.mechanism.actuators:
            raise InputError(f"{system.name} has no actuators, so it takes no controller")
        for what, value in (("effort", self.effort), ("spacing", self.spacing), ("window", self.window)):
            if not 0 < value < np.inf:
                raise InputError(f"track: {what} must be positive, got {value!r}")
        numbers, breaks = self._plan
        return bind_compiled(law, numbers, self.period, () if self.period is not None else breaks, name="track")

    @cached_property
    def _plan(self) -> tuple[np.ndarray, list[float]]:
        """References and gains as the law reads them, and when arcs end: the same for every system that follows."""
        run = self.run
        arcs = _arcs(run, self.spacing)
        gains = self._gains(arcs)
        nx, nu, units = run.system.dynamics.x.numel(), run.system.dynamics.u.numel(), len(run.system.units)
        table: list[float] = [nx, nu, len(arcs), units]
        first, rows = 4 + len(arcs) * (4 + units) + 2, []
        for arc, K in zip(arcs, gains, strict=True):
            table += [arc.t[0], arc.t[-1], len(arc.t), first, *arc.statuses]
            nodes = np.column_stack([arc.x, arc.rates, arc.u, K.reshape(len(arc.t), -1)])
            rows.append(nodes.ravel())
            first += nodes.size
        numbers = np.concatenate([[*table, self.window, self.period is not None], *rows])
        return numbers, [arc.t[-1] for arc in arcs[:-1]]

    def _gains(self, arcs: Sequence[_Arc]) -> list[np.ndarray]:
        from scipy.linalg import expm

        system = self.run.system
        Q, P = (np.diag(_weights(system, given, rest)) for given, rest in ((self.weights, 1.0), (self.final, 0.0)))
        limits = np.where(np.isfinite(system.input_limits), system.input_limits, 1.0)
        R = np.diag(self.effort / limits**2)
        found = []
        for k in range(len(arcs) - 1, -1, -1):
            A, B, h = arcs[k].A, arcs[k].B, arcs[k].t[1] - arcs[k].t[0]
            nx, nu = B.shape[1:]
            block = np.zeros((len(A), nx + nu, nx + nu))
            block[:, :nx, :nx], block[:, :nx, nx:] = A * h, B * h
            steps = expm(block)
            K = np.empty((len(A), nu, nx))
            # a step from each node to the next, none from the last
            for i in range(len(A) - 2, -1, -1):
                F, G = steps[i, :nx, :nx], steps[i, :nx, nx:]
                K[i] = np.linalg.solve(R * h + G.T @ P @ G, G.T @ P @ F)
                P = Q * h + F.T @ P @ (F - G @ K[i])
                P = 0.5 * (P + P.T)
            K[-1] = K[-2]
            found.append(K)
            if k:
                P = arcs[k].carry.T @ P @ arcs[k].carry
        return found[::-1]


@dataclass(frozen=True, eq=False)
class _Arc:
    """An arc of the run at nodes: times, states, rates, inputs, derivatives; and what carries differences into it."""

    t: np.ndarray
    x: np.ndarray
    rates: np.ndarray
    u: np.ndarray
    A: np.ndarray
    B: np.ndarray
    statuses: list[int]
    carry: np.ndarray


def _arcs(run: Trajectory, spacing: float) -> list[_Arc]:
    """All arcs that last, each with the saltation of the events since the one before."""
    d = run.system.dynamics
    events = run.events
    bounds = [run.start_time, *(event.t for event in events), run.end_time]
    statuses = run.arc_statuses
    arcs, carry = [], np.eye(d.x.numel())
    for k in range(len(bounds) - 1):
        if k:
            event = events[k - 1]
            if event.mode_after == "end" or k >= len(statuses):
                break
            carry = run.saltation(k - 1) @ carry
        begin, end = bounds[k], bounds[k + 1]
        length = end - begin
        if length <= 1e-9 * max(1.0, end):
            continue
        t = np.linspace(begin, end, max(_NODES, int(np.ceil(length / spacing)) + 1))
        inner = t.copy()
        # on the two sides of an event states and inputs differ: read them inside the arc
        inner[0], inner[-1] = begin + 1e-9 * length, end - 1e-9 * length
        seen = run.everything_at(inner)
        mode = symbolic_mode(run.system, statuses[k].tolist())
        rates = ca.vertcat(d.qdot, mode.acceleration)
        function = ca.Function(
            "linear", [d.t, d.x, d.u, d.p], [rates, ca.jacobian(rates, d.x), ca.jacobian(rates, d.u)]
        )
        parameters = np.tile(run.system.parameter_values, (len(t), 1))
        limits = np.asarray(run.system.input_limits)
        u = np.clip(seen.inputs, -limits, limits)
        f, A, B = columns(function, inner, seen.x, u, parameters)
        nx, nu = d.x.numel(), d.u.numel()
        # CasADi writes matrices column by column
        A, B = A.reshape(-1, nx, nx).transpose(0, 2, 1), B.reshape(-1, nu, nx).transpose(0, 2, 1)
        arcs.append(_Arc(t, seen.x, f, u, A, B, statuses[k].tolist(), carry))
        carry = np.eye(nx)
    return arcs


def _weights(system: HybridSystem, given: Mapping[str, float] | None, rest: float) -> list[Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"track: weights are given by name of the state, got {given!r}")
    for name, value in (given or {}).items():
        if name and name not in system.state_names:
            raise unknown_name("state", name, system.state_names, system.name)
        if not 0 <= value < np.inf:
            raise InputError(f"track: the weight of {name or 'the others'} must not be negative, got {value!r}")
    named = {"": rest, **(given or {})}
    return [named.get(name, named[""]) for name in system.state_names]
