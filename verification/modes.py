"""Runs mode by mode against SciPy: the motion between events, the zero that ends it, and what the event does.

Between two events of a run its mode is integrated by SciPy's DOP853 from the state after the first, with accelerations
from the mode's own expressions, evaluated by CasADi. At the second the states must agree, and what the event is named
after must be zero there. Impulses must balance momentum, stay in the friction cone and, where a contact strikes alone
under Newton's law, give back the share of the speed that the law says.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import casadi as ca
import numpy as np
from generated import MACHINES
from ledger import Chunk, Outcome
from runs import drawn, simultaneous
from scipy.integrate import solve_ivp

from saltus import registry
from saltus.contact._unit import GROUNDS
from saltus.engine import Batch, Event, Trajectory
from saltus.engine import _layout as L
from saltus.errors import SaltusError
from saltus.hybrid import HybridSystem, find_statuses, symbolic_mode

COUNT, BATCH = 2_000, 10

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
TOLERANCES = 100.0

# Impulses are solved to rounding, times how badly conditioned the contact is.
ROUNDING = 1e-9

# Where a chain of impacts ends, what still moves is stopped: momentum may be off by this share of the run's largest.
CLOSING = 1e-5

# Runs of more arcs than this are compared in their first ones only.
MOST_ARCS = 40

# Runs with larger numbers are left out.
ABSURD = 1e4


def chunks(count: int, seed: int) -> list[Chunk]:
    """Batches of all robots and machines in turn, so many runs in all."""
    names = [*registry.names("robots"), *(f"machine{k}" for k in range(MACHINES))]
    total = -(-count // BATCH)
    return [
        Chunk("modes", names[k % len(names)], seed, k // len(names), min(BATCH, count - k * BATCH))
        for k in range(total)
    ]


def work(chunk: Chunk) -> Outcome:
    """Make runs, and compare each with SciPy."""
    runs = drawn(chunk.robot, BATCH, chunk.seed, chunk.number, sampled=False)
    batch, out = runs.make(), Outcome()
    for k in range(chunk.count):
        found, counts = compare(batch, k, runs.pushes[k])
        out.counts.update(counts)
        out.disagreed += [f"{chunk.name}, seed {chunk.seed}, run {k}: {words}" for words in found]
    return out


def compare(batch: Batch, k: int, push: Any) -> tuple[list[str], Counter[str]]:
    """What disagrees in one run, and what was looked at."""
    counts = Counter(runs=1)
    if not batch.begun[k]:
        return [], counts + Counter({"could not start": 1})
    run = batch.run(k)
    if simultaneous(run) or np.abs(run.mesh.x).max() > ABSURD:
        return [], counts + Counter({"left out, several contacts at once or absurd numbers": 1})
    allowed = TOLERANCES * (run.rtol * float(np.abs(run.mesh.x).max()) + run.atol)
    found: list[str] = []
    t, x = run.start_time, run.x[0]
    for arc, event in enumerate(run.events[:MOST_ARCS]):
        before, after = (np.array(list(part.values())) for part in (event.state_before, event.state_after))
        end, within, words = _arc(run, arc, (t, x), (event.t, before), push, allowed, counts)
        found += words
        if end is not None and not words:
            found += zero(run, event, end, within, arc)
        found += reset(run, event, before, after, arc, allowed)
        counts["events"] += 1
        t, x = event.t, after
    if len(run.events) <= MOST_ARCS and run.status.good:
        last = run.end_time, np.array(list(run.final.values()))
        found += _arc(run, len(run.arc_statuses) - 1, (t, x), last, push, allowed, counts)[2]
    return found[:3], counts


def _arc(
    run: Trajectory, arc: int, begin: Any, end: Any, push: Any, allowed: float, counts: Counter[str]
) -> tuple[np.ndarray | None, float, list[str]]:
    """Where SciPy ends an arc, how far from there a state may be, and what disagrees."""
    (t, x), (until, wanted) = begin, end
    if not until > t:
        return None, allowed, []
    mode = tuple(run.arc_statuses[min(arc, len(run.arc_statuses) - 1)].tolist())
    reached, norm = integrate(run, mode, t, x, until, push, (wanted, allowed))
    counts["arcs" if reached is not None else "arcs left out, forces not unique or a slip in space"] += 1
    if reached is None:
        return None, allowed, []
    away = float(np.abs(reached - wanted).max())
    if away <= allowed * norm:
        return reached, allowed * norm, []
    where = f"arc {arc} ({run.system.mode_name(mode)}, {t:.9g} to {until:.9g} s)"
    return (
        reached,
        allowed * norm,
        [f"{where}: states differ by {away:.3g}, allowed are {allowed:.3g} times {norm:.3g}"],
    )


# -- the motion ------------------------------------------------------------------------------


def rate_of(system: HybridSystem, mode: tuple[int, ...]) -> Any:
    """The rate of the state in a mode, its contact forces, and numbers that are positive where these are unique."""

    def make() -> Any:
        d, made = system.dynamics, symbolic_mode(system, mode)
        rate = ca.vertcat(d.qdot, made.acceleration)
        return ca.Function(
            "rate", [d.t, d.x, d.u, d.p], [rate, made.forces, made.pivots], ["t", "x", "u", "p"], ["r", "f", "w"]
        )

    return system.once(f"rate in {mode}", make)


def integrate(
    run: Trajectory,
    mode: tuple[int, ...],
    t: float,
    x: np.ndarray,
    until: float,
    push: Any,
    near: tuple[np.ndarray, float],
) -> tuple[np.ndarray | None, float]:
    """Where SciPy ends, and how much it multiplies a small change of where it starts; none where forces are not unique.

    The second number is one where the end is as ``near`` as it may be without.
    """
    system = run.system
    try:
        function = rate_of(system, mode)
    except (SaltusError, ArithmeticError, ValueError):
        return None, 1.0
    m, p = system.mechanism, system.parameter_values
    limits = np.array(system.input_limits)
    driven = [(m.index(one), m.nq + m.velocity_index(one)) for one in push.drives(system)]
    pivots = np.array(function(t, x, push.inputs(t, x, driven), p)[2], dtype=float)
    if not (pivots > 0).all() or _slides_in_space(system, mode):
        return None, 1.0
    # inputs jump at the starts of their levels
    ends = [t, *(start for start in push.starts if t < start < until and push.kind == "steps"), until]

    def solve(start: np.ndarray) -> np.ndarray:
        for a, b in itertools.pairwise(ends):

            def rate(now: float, y: np.ndarray, middle: float = 0.5 * (a + b)) -> np.ndarray:
                inputs = np.clip(push.inputs(middle if push.kind == "steps" else now, y, driven), -limits, limits)
                return np.asarray(function(now, y, inputs, p)[0], dtype=float).ravel()

            answer = solve_ivp(rate, (a, b), start, method="DOP853", **TIGHT)
            start = answer.y[:, -1] if answer.success else np.full(start.size, np.nan)
            if not answer.success:
                break
        return start

    with np.errstate(all="ignore"):
        end = solve(x)
        if not np.isfinite(end).all():
            return None, 1.0
        wanted, allowed = near
        if np.abs(end - wanted).max() <= allowed:
            return end, 1.0
        change = 1e-6 * max(1.0, float(np.abs(x).max()))
        columns = [(solve(x + change * unit) - end) / change for unit in np.eye(x.size)]
    return end, max(1.0, float(np.linalg.norm(np.nan_to_num(np.array(columns)), 2)))


def _slides_in_space(system: HybridSystem, mode: tuple[int, ...]) -> bool:
    """Whether something slips in space: its direction is a part of the run's own state."""
    return system.mechanism.dimension == 3 and any(
        unit.statuses[status] == "slip" for unit, status in zip(system.units, mode, strict=True)
    )


# -- what ends it ----------------------------------------------------------------------------


def zero(run: Trajectory, event: Event, end: np.ndarray, within: float, arc: int) -> list[str]:
    """Whether what the event is named after is zero where SciPy ended: gaps and guards of the robot's own."""
    system, found = run.system, []
    clearances, own = system.kinematics(event.t, end)
    names = [guard.name for guard in system.guards]
    steep = _steepness(system, event.t, end)
    for guard in event.guards:
        if guard in names:
            value, slope = own[names.index(guard)], steep[len(system.units) + names.index(guard)]
        elif guard.endswith(".touch"):
            k = [unit.name for unit in system.units].index(guard[: -len(".touch")])
            value, slope = clearances[k], steep[k]
        else:
            continue
        if not abs(value) <= within * (1 + slope) + 1e-12:
            where = f"event {arc} ({guard} at {event.t:.9g} s)"
            found.append(f"{where}: its guard is {value:.3g}, allowed are {within * (1 + slope):.3g}")
    return found


def _steepness(system: HybridSystem, t: float, x: np.ndarray) -> np.ndarray:
    def make() -> Any:
        d = system.dynamics
        values = ca.vertcat(*(ca.SX(u.clearance) for u in system.units), *(ca.SX(g.expression) for g in system.guards))
        return ca.Function("steep", [d.t, d.x, d.p], [ca.jacobian(values, d.x)])

    rows = np.array(system.once("steepness", make)(t, x, system.parameter_values), dtype=float)
    return np.abs(rows).sum(axis=1)


# -- what it does ----------------------------------------------------------------------------


def reset(run: Trajectory, event: Event, before: np.ndarray, after: np.ndarray, arc: int, allowed: float) -> list[str]:
    """Whether the state after an event follows from its impulses, and these from the law."""
    system = run.system
    nq, where = system.mechanism.nq, f"event {arc} ({event.guard} at {event.t:.9g} s)"
    impulse = np.array(list(event.impulse.values()))
    size = 1 + float(np.abs(before).max())
    change = after[nq:] - before[nq:]
    moved = float(np.abs(after[:nq] - before[:nq]).max())
    if moved > max(allowed, 1e-9 * size):
        return [f"{where}: coordinates jump by {moved:.3g}"]
    if not impulse.any():
        # what comes to rest is set to rest
        jump = float(np.abs(change).max())
        return [f"{where}: velocities jump by {jump:.3g} without impulse"] if jump > max(allowed, 1e-6 * size) else []
    M, J = (np.array(part, dtype=float) for part in _matrices(system)(event.t, before, system.parameter_values))
    pushed = J.T @ impulse
    missing = float(np.abs(M @ change - pushed).max())
    scale = float(np.abs(M).max() * np.abs(before[nq:]).max() + np.abs(J).max() * np.abs(impulse).max())
    found = []
    most = ROUNDING * scale
    closes = run.event_rows[arc, L.E_CLOSED] != 0.0
    if closes:  # what still moves as a chain of impacts ends is stopped without an impulse
        most = CLOSING * float(np.abs(M).max() * np.abs(run.mesh.x[:, nq:]).max())
    if missing > most:
        found.append(f"{where}: momentum is off by {missing:.3g} of {scale:.3g}")
    struck = []
    for k, (unit, values) in enumerate(zip(system.units, system.unit_coefficients, strict=True)):
        rows = slice(system.first_rows[k], system.first_rows[k + 1])
        if unit.kind not in GROUNDS or not impulse[rows].any():
            continue
        tangent, normal = math.hypot(impulse[rows][0], *impulse[rows][2:]), impulse[rows][1]
        least = ROUNDING * np.abs(impulse).max()
        if normal < -least or tangent > values[0] * normal * (1 + 1e-9) + least:
            words = f"has an impulse of {normal:.6g} and {tangent:.6g} across, friction {values[0]:.6g}"
            found.append(f"{where}: {unit.name} {words}")
        struck.append((k, rows, values, unit))
    if len(struck) == 1 and struck[0][3].law.name == "newton" and np.count_nonzero(np.abs(impulse) > 0) <= 3:
        k, rows, values, unit = struck[0]
        old, new = (J @ before[nq:])[rows][1], (J @ after[nq:])[rows][1]
        wanted = -values[1] * old
        struck_alone = event.guards == (f"{unit.name}.touch",) and new_open(event, unit, system) and not closes
        if struck_alone and abs(new - wanted) > 1e-8 * (abs(old) + 1e-3 * size):
            found.append(f"{where}: leaves at {new:.9g} m/s, by Newton's law at {wanted:.9g}")
    return found


def new_open(event: Event, unit: Any, system: HybridSystem) -> bool:
    """Whether a contact is open again after an event."""
    if event.mode_after == "end":
        return True
    return unit.statuses[find_statuses(system, event.mode_after)[system.units.index(unit)]] == unit.statuses[0]


def _matrices(system: HybridSystem) -> Any:
    def make() -> Any:
        d = system.dynamics
        rows = [d.row(row)[0] for unit in system.units for _, row in unit.rows]
        J = ca.vertcat(*rows) if rows else ca.SX.zeros(0, d.v.numel())
        return ca.Function("matrices", [d.t, d.x, d.p], [d.M, J])

    return system.once("mass and rows", make)
