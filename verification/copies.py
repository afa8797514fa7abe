"""Runs and their copies: in other units, mirrored, shifted in time, with their parts in another order.

A copy must have the same events, and states within 100 times the tolerance times the norm of the run's Jacobian. Runs
in which several contacts act at once are left out, since their forces may not be unique; a run whose own events
change when its tolerances do is listed as grazing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from generated import MACHINES, machine, mirror
from ledger import Chunk, Outcome
from runs import PERIOD, Runs, case, drawn, robot, simultaneous

from saltus import registry, simulate
from saltus.conformance._judge import friction_decides
from saltus.engine import Batch, Trajectory
from saltus.errors import SaltusError
from saltus.hybrid import HybridSystem

COUNT, BATCH = 50_000, 100

# States of a copy may differ by so many tolerances, times the norm of the run's Jacobian.
TOLERANCES = 100.0

# What is negated in the mirror image of a robot, and which parameters change places.
MIRRORS: dict[str, tuple[list[str], dict[str, str]]] = {
    "bouncing_ball": (["x"], {}),
    "block": (["s", "slope", "push"], {}),
    "pendulum": (["theta", "pivot"], {}),
    "double_pendulum": (["theta1", "theta2", "elbow"], {}),
    "disc": (["x", "angle", "slope", "torque"], {}),
    "arm": (
        ["x", "theta1", "theta2", "elbow", "lower_stop", "upper_stop"],
        {"lower_stop": "upper_stop", "upper_stop": "lower_stop"},
    ),
    "brachiator": (["x", "theta1", "theta2", "elbow", "bar0_x", "bar1_x", "bar2_x"], {}),
    "five_link_brachiator": (["x", "theta1", "elbow_a", "shoulder_a", "shoulder_b", "elbow_b", "bar0_x", "bar1_x"], {}),
    "monkeybot": (["x", "theta1", "theta2", "elbow"], {}),
    "segway": (["x", "theta", "phi", "motor"], {}),
    "segway_reduced": (["theta", "phi", "motor"], {}),
    "segway_rolled": (["theta", "psi", "motor"], {}),
}


@dataclass(frozen=True)
class Change:
    """How a copy differs: a factor for each number by name, what changes places, and the unit and zero of time."""

    name: str
    factors: dict[str, float]
    swapped: dict[str, str] = field(default_factory=dict)
    forces: dict[str, float] = field(default_factory=dict)
    time: float = 1.0
    shift: float = 0.0
    system: HybridSystem | None = None

    def state_factors(self, system: HybridSystem) -> np.ndarray:
        """A factor for each entry of the state."""
        m = system.mechanism
        places = [self.factors.get(name, 1.0) for name in m.coordinates]
        if m.nq == m.nv:
            return np.array([*places, *(one / self.time for one in places)])
        # a quaternion has three rates, which are turned as angles are
        names = m.state_names[m.nq :]
        return np.array([*places, *(self.factors.get(f"rate {name}", 1.0) / self.time for name in names)])

    def of(self, runs: Runs) -> Runs:
        """The copies of runs."""
        old, new = runs.system, self.system or runs.system
        order = [old.state_names.index(name) for name in new.state_names]
        states = (runs.states * self.state_factors(old))[:, order]
        parameters = {
            name: self.factors.get(name, 1.0) * runs.parameters[self.swapped.get(name, name)]
            for name in new.mechanism.parameters
        }
        motors = list(old.mechanism.actuators)
        force = np.array([self.forces.get(name, 1.0) for name in motors])
        driven = [old.mechanism.actuators[name].coordinate for name in motors]
        place = np.array([self.factors.get(name, 1.0) if name else 1.0 for name in driven])
        turns = [motors.index(name) for name in new.mechanism.actuators]
        pushes = [push.changed(force, place, turns, self.time, self.shift) for push in runs.pushes]
        options = dict(runs.options)
        options["until"] = options["until"] * self.time + self.shift
        options["start"] = self.shift
        # no entry of the copy may be less exact than that of the run
        options["atol"] = options["atol"] * float(min(1.0, np.abs(self.state_factors(old)).min()))
        return Runs(new, states, parameters, pushes, options)

    def back(self, system: HybridSystem, states: np.ndarray) -> np.ndarray:
        """States of copies, in the units and the order of the runs."""
        new = self.system or system
        order = [new.state_names.index(name) for name in system.state_names]
        return np.asarray(states[..., order] / self.state_factors(system))

    def time_back(self, times: Any) -> Any:
        """Times of copies in those of the runs."""
        return (times - self.shift) / self.time


# -- which copies there are ------------------------------------------------------------------


def exponents(unit: str) -> tuple[int, int, int] | None:
    """The powers of mass, length and time in a unit; None if it is not understood."""
    known = {"1": (0, 0, 0), "rad": (0, 0, 0), "kg": (1, 0, 0), "m": (0, 1, 0), "s": (0, 0, 1)}
    known |= {"N": (1, 1, -2), "J": (1, 2, -2), "Hz": (0, 0, -1), "W": (1, 2, -3)}
    total, sign = np.zeros(3, dtype=int), 1
    for word in re.findall(r"/|[A-Za-z1]+(?:\^\d+)?", unit):
        if word == "/":
            sign = -1
            continue
        base, _, power = word.partition("^")
        if base not in known:
            return None
        total += sign * int(power or 1) * np.array(known[base])
    return tuple(total.tolist())  # type: ignore[return-value]


def rescaled(system: HybridSystem, random: np.random.Generator) -> Change | None:
    """Other units of mass, length and time."""
    size = 10.0 ** random.uniform(-1, 1, 3)

    def factor(unit: str) -> float:
        powers = exponents(unit)
        return math.nan if powers is None else float(np.prod(size ** np.array(powers)))

    m = system.mechanism
    factors = {name: factor(unit) for name, unit in m.coordinates.items()}
    factors |= {name: factor(parameter.unit) for name, parameter in m.parameters.items()}
    if m.nq != m.nv:
        lengths = [f"d{name}" for name, unit in m.coordinates.items() if unit == "m"]
        factors |= {f"rate {name}": factor("m") for name in lengths}
    forces = {}
    for name, actuator in m.actuators.items():
        unit = "N m" if actuator.coordinate is None else {"m": "N", "rad": "N m"}[m.coordinates[actuator.coordinate]]
        forces[name] = factor(unit)
    # bounds that are lengths, say, are numbers of the robot's own
    bounds = ((name, bound) for name, one in m.parameters.items() for bound in (one.lower, one.upper))
    if any(math.isfinite(bound) and bound != 0 and factors[name] != 1 for name, bound in bounds):
        return None
    change = Change("re-scaled", factors, {}, forces, time=float(size[2]))
    return change if covariant(system, change, random) else None


def mirrored(name: str, system: HybridSystem, random: np.random.Generator) -> Change | None:
    """What a mirror at a vertical line makes of it."""
    if name.startswith("machine"):
        negated, swapped = mirror(int(name[len("machine") :]))
    elif name in MIRRORS:
        names, swapped = MIRRORS[name]
        negated = dict.fromkeys(names, -1.0)
    else:
        return None
    m = system.mechanism
    forces = {one: negated.get(one, 1.0) for one in m.actuators}
    factors = {one: -1.0 for one in negated if one in m.coordinates or one in m.parameters}
    change = Change("mirrored", factors, swapped, forces)
    return change if covariant(system, change, random) else None


def shifted(random: np.random.Generator) -> Change:
    """Another zero of time; a multiple of the period of sampled controllers."""
    return Change("shifted", {}, shift=PERIOD * int(random.integers(1, 1000)))


def covariant(system: HybridSystem, change: Change, random: np.random.Generator) -> bool:
    """Whether a robot has no numbers of its own that a copy would have to change, nor depends on time.

    Accelerations, clearances, guards, speeds of contact rows, coefficients and limits of the copy must be those of the
    run, but for a factor that is the same everywhere.
    """
    d, m = system.dynamics, system.mechanism
    if any(math.isnan(one) for one in (*change.factors.values(), *change.forces.values())):
        return False
    guards = [ca.SX(guard.expression) for guard in system.guards]
    if ca.depends_on(ca.vertcat(d.free_acceleration, *guards), d.t):
        return False
    rows = [d.row(row) for unit in system.units for _, row in unit.rows]
    seen = [*(ca.SX(unit.clearance) for unit in system.units), *guards, *(J @ d.v for J, _ in rows)]
    seen += [drift + J @ d.free_acceleration for J, drift in rows]
    function = ca.Function("seen", [d.t, d.x, d.u, d.p], [d.free_acceleration, ca.vertcat(*seen)])
    state, place = change.state_factors(system), list(m.parameters)
    by = np.array([change.factors.get(name, 1.0) for name in place])
    order = [place.index(change.swapped.get(name, name)) for name in place]
    force = np.array([change.forces.get(name, 1.0) for name in m.actuators])
    runs, copies = [], []
    for _ in range(6):
        x, u = random.normal(size=len(state)), random.normal(size=force.size)
        system.unit_quaternions(x[None])
        p = system.parameter_values * random.uniform(0.8, 1.2, len(place))
        for found, given in ((runs, (x, u, p)), (copies, (x * state, u * force, p[order] * by))):
            values = [*function(0, *given), *([] if change.swapped else system._constants(given[2]))]
            found.append([np.array(one, dtype=float).ravel() for one in values])
    for group, (old, new) in enumerate(zip(zip(*runs, strict=True), zip(*copies, strict=True), strict=True)):
        old, new = np.array(old), np.array(new)
        known = np.isfinite(old).all(axis=0) & (np.abs(old).max(axis=0, initial=0.0) > 1e-9)
        old, new = old[:, known], new[:, known]
        # the factor of each entry, from where it is largest
        largest = np.abs(old).argmax(axis=0) if old.size else np.zeros(0, dtype=int)
        columns = np.arange(old.shape[1])
        factor = new[largest, columns] / old[largest, columns]
        scale = np.abs(factor) * np.abs(old).max(axis=0, initial=0.0)
        if (np.abs(new - factor * old) > 1e-6 * scale).any():
            return False
        if group == 0 and not np.allclose(factor, (state[m.nq :] / change.time)[known], rtol=1e-6):
            return False
    return True


def changes(name: str, seed: int, number: int) -> list[Change]:
    """The copies of a chunk."""
    random = np.random.default_rng([seed, number, 5])
    system = robot(name)
    found = [rescaled(system, random), mirrored(name, system, random), shifted(random)]
    if name.startswith("machine"):
        found.append(Change("re-ordered", {}, system=machine(int(name[len("machine") :]), 1)))
    return [one for one in found if one is not None]


def chunks(count: int, seed: int) -> list[Chunk]:
    """Batches of all robots and machines in turn, so many runs in all."""
    names = [*registry.names("robots"), *(f"machine{k}" for k in range(MACHINES))]
    total = -(-count // BATCH)
    return [
        Chunk("copies", names[k % len(names)], seed, k // len(names), min(BATCH, count - k * BATCH))
        for k in range(total)
    ]


# -- whether they agree ----------------------------------------------------------------------


def work(chunk: Chunk) -> Outcome:
    """Make runs and their copies, and compare them."""
    runs = drawn(chunk.robot, BATCH, chunk.seed, chunk.number)
    batch, out = runs.make(), Outcome()
    out.counts.update(runs=batch.n)
    for change in changes(chunk.robot, chunk.seed, chunk.number):
        if change.system is not None:
            actions = {guard.name: guard.action for guard in runs.system.guards}
            change = Change(change.name, {}, system=change.system.with_guards(**actions))
        other = change.of(runs).make()
        suspects = np.flatnonzero(~alike(batch, other, change))
        out.counts.update({f"{change.name} copies": batch.n, f"{change.name}: agree at once": batch.n - suspects.size})
        for k in suspects.tolist():
            end, words = judge(batch, other, change, k)
            out.counts.update([f"{change.name}: {end}"])
            if end in ("disagree", "grazing", "friction decides", "no Jacobian"):
                line = f"{chunk.name}, seed {chunk.seed}, run {k}, {change.name}: {end}: {words}"
                (out.disagreed if end == "disagree" else out.listed).append(line)
    return out


def alike(batch: Batch, other: Batch, change: Change) -> np.ndarray:
    """Which copies ended like their runs, with the same events, and states within the tolerance itself."""
    allowed = _allowed(batch, np.maximum(np.abs(batch.starts).max(axis=1), np.abs(batch.states).max(axis=1)))
    with np.errstate(invalid="ignore"):
        away = np.abs(change.back(batch.system, other.states) - batch.states).max(axis=1)
        late = np.abs(change.time_back(other.event_times) - batch.event_times)
        late = np.where(np.isnan(batch.event_times) & np.isnan(other.event_times), 0.0, late).max(axis=1, initial=0.0)
    same = (batch.status == other.status) & (batch.event_count == other.event_count)
    pairs = zip(batch.event_guards, other.event_guards, strict=True)
    guards = np.array([list(map(_name, row)) == list(map(_name, its)) for row, its in pairs])
    return np.asarray(same & guards & (away <= allowed) & (late <= allowed))


def _allowed(batch: Batch, size: Any) -> Any:
    return TOLERANCES * (batch.options["rtol"] * size + batch.options["atol"])


def _name(guard: str) -> str:
    """The name of a guard that its mirror image has, too."""
    return re.sub(r"(lower|upper)$", "stop", re.sub(r"[+-]$", "", guard))


def sequence(run: Trajectory) -> list[tuple[str, ...]]:
    """What happened, in order."""
    return [tuple(sorted(map(_name, event.guards or (event.guard,)))) for event in run.events]


def judge(batch: Batch, other: Batch, change: Change, k: int) -> tuple[str, str]:
    """Why a copy is not alike at once, and in words."""
    if not batch.begun[k] or not other.begun[k]:
        alike_refused = not batch.begun[k] and not other.begun[k]
        return ("could not start", "") if alike_refused else ("disagree", f"{batch.status[k]}, and {other.status[k]}")
    one, two = batch.run(k), other.run(k)
    if simultaneous(one) or simultaneous(two):
        return "simultaneous contacts", ""
    if not one.status.good and one.status == two.status:
        return "ended badly alike", ""
    if one.status != two.status and "step_limit" in (one.status.name, two.status.name):
        return "limit of steps", ""  # a copy may need more of them
    size = float(np.abs(one.mesh.x).max())
    allowed = float(_allowed(batch, size))
    first, second = sequence(one), sequence(two)
    same = first == second and one.status == two.status
    if not same and _nearly_together(one, allowed):
        return "events nearly at once", ""
    if one.status != two.status and (friction_decides(batch, k) or friction_decides(other, k)):
        # forces grow without bound as a slip jams: whether that is passed is for the spacing of times to say
        return "friction decides", _difference(one, two, first, second)
    if not stable(batch, k) or not (same or stable(other, k)):
        return "grazing", _difference(one, two, first, second)
    try:
        norm = amplification(one)
    except SaltusError as error:
        return ("no Jacobian", str(error)[:200]) if same else ("disagree", _difference(one, two, first, second))
    away = float(np.abs(change.back(batch.system, other.states[k]) - batch.states[k]).max())
    words = f"states differ by {away:.3g}, allowed are {allowed:.3g} times {norm:.3g}"
    if not same:
        # what touches without a force may do so in several ways, all of which are the same motion
        harmless = one.status == two.status and away <= allowed * norm
        return "grazing" if harmless else "disagree", _difference(one, two, first, second)
    if away <= allowed * norm:
        return "agree by the Jacobian", ""
    return "disagree", words


def _nearly_together(run: Trajectory, within: float) -> bool:
    times = np.array([event.t for event in run.events])
    return bool((np.diff(times) <= max(within, 1e-9)).any())


def _difference(one: Trajectory, two: Trajectory, first: list[Any], second: list[Any]) -> str:
    k = next((k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    here = f"{first[k]} at t = {one.events[k].t:.9g}" if k < len(first) else f"no more, {one.status.name}"
    there = f"{second[k]} at t = {two.events[k].t:.9g}" if k < len(second) else f"no more, {two.status.name}"
    return f"event {k}: {here}; in the copy {there}"


def stable(batch: Batch, k: int) -> bool:
    """Whether a run keeps its events with other tolerances, another method, shorter steps, and another start nearby."""
    system, x, controller = case(batch, k)
    options: dict[str, Any] = {**batch.options, "raise_errors": False}
    rtol, until = options["rtol"], options["until"]
    other = {"dopri5": "dop853"}.get(options["method"], "dopri5")
    variants: list[dict[str, Any]] = [
        {"method": other},
        {"rtol": max(0.1 * rtol, 1e-13)},
        {"rtol": min(10 * rtol, 1e-2)},
    ]
    variants += [{"max_step": (until - options["start"]) / 37}]
    base = simulate(system, x, controller=controller, **options)
    wanted = (base.status.name, sequence(base))

    def same(start: np.ndarray, **changed: Any) -> bool:
        run = simulate(system, start, controller=controller, **{**options, **changed})
        return (run.status.name, sequence(run)) == wanted

    if not all(same(x, **one) for one in variants):
        return False
    random = np.random.default_rng(k)
    for _ in range(4):
        near = x + random.uniform(-1, 1, x.size) * 10 * (rtol * np.abs(x) + options["atol"])
        try:
            if not same(near):
                return False
        except SaltusError:  # a start a hair below the ground is none
            continue
    return True


def amplification(run: Trajectory) -> float:
    """The largest norm of the Jacobian of the end by the state at any of some times, at least one."""
    norms = [1.0]
    for share in (0.0, 0.25, 0.5, 0.75, 0.9):
        since = run.start_time + share * (run.end_time - run.start_time)
        norms.append(float(np.linalg.norm(run.jacobian(since=since) if share else run.jacobian(), 2)))
    return max(norms)
