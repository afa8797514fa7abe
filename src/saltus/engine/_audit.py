"""The audit of a trajectory: laws that must hold along it, measured with what the run did not use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus.contact import guard_values_of
from saltus.contact._unit import GROUNDS
from saltus.engine import _layout as L
from saltus.engine._entry import ON_GROUND
from saltus.errors import unknown_name

if TYPE_CHECKING:
    from saltus.engine._trajectory import Samples, Trajectory
    from saltus.hybrid import HybridSystem

EPSILON = np.finfo(float).eps

# Misses of the energy balance over the root of the number of steps, in tolerances: random runs stay below one.
STEADY = 5.0

# The part of the energy that moved that may be missed at most, whatever the tolerance.
PART = 0.05

# An absolute tolerance that is always allowed: what hardly moves has no energy to compare with.
ALWAYS = 1e-11

# Roundings of an energy in a step.
ROUNDINGS = 5.0

# Kinetic energy of 1 kg at 1e-9 m/s, which counts as rest at the start, J.
RESTING = 1e-18

# What counts as rounding of lengths, speeds and forces, which solving for contacts magnifies.
FINE = 1e5 * EPSILON


@dataclass(frozen=True)
class Check:
    """One law: its name, how far it is missed, how far it may be, and in which unit."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def ok(self) -> bool:
        """Whether the law holds."""
        return bool(self.value <= self.limit)

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "FAIL"
        return f"{verdict} {self.name:<22} {self.value:10.3e} {self.unit:<6} (limit {self.limit:.1e})"


@dataclass(frozen=True)
class Audit:
    """All checks of one trajectory, and what else is to be said about it."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise unknown_name("check", name, [check.name for check in self.checks])

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.checks, *self.notes)))

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        checks = {c.name: {"value": c.value, "limit": c.limit, "unit": c.unit, "ok": c.ok} for c in self.checks}
        return {"ok": self.ok, "checks": checks, **({"notes": list(self.notes)} if self.notes else {})}


def audit(run: Trajectory) -> Audit:
    """Check a trajectory at the ends of all its steps."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite fails its check
        checks = [_energy(run)]
        if run.system.units:
            sizes = _sizes(run)
            checks += [*_contacts(run, sizes), *_guards(run, sizes), *_impacts(run)]
        return Audit(tuple(checks))


def energy_residual(s: Samples) -> np.ndarray:
    """Energy now, less energy at the start, less work put in, plus losses: zero at every sample, J."""
    total = s.kinetic + s.potential
    put_in = s.integrals[:, 0] - s.integrals[:, 1] - s.integrals[:, 2]
    residual: np.ndarray = total - total[0] - put_in + s.impact_loss - s.impact_loss[0]
    return residual


def _energy(run: Trajectory) -> Check:
    s = run.mesh
    exchanged = np.abs(s.integrals).sum(axis=1) + np.abs(s.impact_loss)
    scale = s.kinetic[0] + np.ptp(s.potential) + exchanged.max()
    largest = max(s.kinetic.max(), 0.5 * s.energy_sizes[:, 0].max(), exchanged.max())
    slope, pushed = s.energy_sizes[:, 1].max(), s.energy_sizes[1:, 2].max(initial=0.0)
    limit = energy_limit(run.steps, scale, largest, slope, pushed, run.rtol, run.atol)
    return Check("energy balance", float(np.abs(energy_residual(s)).max()), float(limit), "J")


def energy_limit(steps: Any, scale: Any, largest: Any, slope: Any, pushed: Any, rtol: float, atol: float) -> Any:
    """How far the energy balance may be missed, J.

    Each step may miss by the tolerance, and misses add up as a random walk does. Whatever the tolerance, more than a
    part of the energy that moved is a wrong motion. What comes on top is rounding.

    Parameters
    ----------
    steps
        How many steps the run has.
    scale
        The energy that moved, J: kinetic energy at the start, range of the potential energy, work and losses. It does
        not depend on where potential energy is zero, nor on what the run itself makes of its kinetic energy.
    largest
        The largest energy of the run with parts that cancel, J: the state they are made of is rounded.
    slope
        The largest change of energy per absolute error of the state.
    pushed
        The largest product of inputs and coordinates, J, whose rounding is work that nobody counts.
    """
    walk = np.sqrt(1.0 + steps)
    promised = STEADY * walk * (rtol * scale + atol * np.maximum(1.0, slope))  # work has an error of its own, in J
    # 1 J for an absolute error of one, and less where the robot has nothing as large: it may be of micrometres
    small = np.minimum(np.maximum(1.0, slope), slope + pushed)
    most = PART * scale + STEADY * walk * min(atol, ALWAYS) * small
    return np.minimum(promised, most) + ROUNDINGS * walk * EPSILON * (largest + scale + pushed) + RESTING


@dataclass(frozen=True)
class _Sizes:
    """The robot's own size and what moves it: what is small is small beside these.

    ``length`` is that of the robot, m, wherever it has gone; ``far`` is how far it or a joint has gone, and bounds what
    rounding takes; ``force`` is the largest of the run, and ``speed`` the largest with what a force gives in a step.
    """

    length: float
    far: float
    speed: float
    force: float


def _sizes(run: Trajectory) -> _Sizes:
    s, system = run.mesh, run.system
    places, mass, gravity = system.once("own sizes", lambda: _own_sizes(system))(s.x[0], system.parameter_values)
    places = np.array(places, dtype=float)
    lengths = [abs(system.values[p.name]) for p in system.mechanism.parameters.values() if p.unit == "m"]
    apart = np.linalg.norm(places[:, :, None] - places[:, None, :], axis=0).max(initial=0.0)
    length = max(apart, max((value for value in lengths if np.isfinite(value)), default=0.0))
    nq = system.mechanism.nq
    far, speed = length + float(np.abs(s.x[:, :nq]).max()), float(np.abs(s.x[:, nq:]).max())
    weight = float(mass) * abs(float(gravity))
    whirl = s.kinetic.max() / length if length > 0 else 0.0
    forces = max(np.abs(s.forces).max(initial=0.0), np.nanmax(np.abs(s.inputs), initial=0.0))
    force, step = float(forces + weight + whirl), float(run.step_rows[:, L.S_LENGTH].max(initial=0.0))
    gained = force / float(mass) * step if mass > 0 else 0.0
    return _Sizes(length, far + gained * step, speed + gained, force)


def _own_sizes(system: HybridSystem) -> Any:
    """A function of state and parameters: where points and centres of mass are (a column each), mass and gravity."""
    m = system.mechanism
    bodies = list(m.bodies.values())
    places = [ca.SX(point.position) for point in m.points.values()]
    places += [ca.SX(body.pose.point(at)) for body in bodies for at in ((0,) * m.dimension, body.com)]
    mass = sum((ca.SX(body.mass) for body in bodies), ca.SX(0))
    shown = ca.horzcat(*places) if places else ca.SX.zeros(m.dimension, 0)
    return ca.Function("own_sizes", [system.dynamics.x, m.p], [shown, mass, ca.SX(m.gravity)])


def _contacts(run: Trajectory, sizes: _Sizes) -> list[Check]:
    """Closed rows stay where they were closed, and stand still."""
    s = run.mesh
    status = run.arc_statuses[s.arc]
    apart = rate = 0.0
    names = run.system.row_names
    for k, (unit, first) in enumerate(zip(run.system.units, run.system.first_rows, strict=False)):
        # stretches of one status; rows that are closed in it do not move
        ends = np.append(np.flatnonzero(np.diff(status[:, k])) + 1, len(status))
        begin = 0
        closed = {one: [first + r for r in unit.equations(one).closed] for one in set(status[:, k].tolist())}
        for end in ends:
            for row in closed[int(status[begin, k])]:
                held = s.positions[begin:end, row]
                where = 0.0 if names[row].endswith(".n") else held[0]
                apart = max(apart, float(np.abs(held - where).max()))
                rate = max(rate, float(np.abs(s.speeds[begin:end, row]).max()))
            begin = end
    # they are projected after each step, so that the tolerance counts for little
    part = 1e-3 * run.rtol
    at_start = ON_GROUND if status[0].any() else 0.0
    return [
        Check("contacts closed", apart, part * sizes.length + FINE * sizes.far + at_start, "m"),
        Check("contacts at rest", rate, (part + FINE) * sizes.speed + at_start, "m/s"),
    ]


def _guards(run: Trajectory, sizes: _Sizes) -> list[Check]:
    """No guard is negative inside its mode."""
    s = run.mesh
    status = run.arc_statuses[s.arc]
    worst_length = worst_force = 0.0
    for k, (unit, coefficients) in enumerate(zip(run.system.units, run.system.unit_coefficients, strict=True)):
        rows = slice(run.system.first_rows[k], run.system.first_rows[k + 1])
        values, kinds = guard_values_of(
            unit.kind,
            status[:, k],
            s.positions[:, rows],
            s.speeds[:, rows],
            s.reach[:, k],
            s.forces[:, rows],
            coefficients,
        )
        worst_length = max(worst_length, float(-np.where(kinds == 1, values, 0).min(initial=0.0)))
        worst_force = max(worst_force, float(-np.where(kinds == 2, values, 0).min(initial=0.0)))
    part, near = 1e-2 * run.rtol, sizes.length + sizes.speed
    return [
        Check("gaps and slip", worst_length, part * near + FINE * (sizes.far + sizes.speed), "m, m/s"),
        Check("forces in the cone", worst_force, (part + FINE) * sizes.force, "N"),
    ]


# How far impulses may miss what they must, relative: some roundings, and as much as a cone allows for.
IMPULSES = 1e-12


def _impacts(run: Trajectory) -> list[Check]:
    """No impact creates energy, no ground pulls, friction stays in its cone and velocities are those of the laws."""
    struck = [event for event in run.events if any(event.impulse.values())]
    if not struck:
        return []
    lost = [event.energy_lost for event in struck]
    moving = float(run.event_rows[:, L.E_KINETIC].max())
    checks = [Check("impacts create energy", max(0.0, -min(lost)), FINE * moving, "J")]
    if any(unit.kind in GROUNDS for unit in run.system.units):
        checks.append(Check("impulses push", _impulses(run), IMPULSES, "1"))
    return checks


def _impulses(run: Trajectory) -> float:
    """How much a ground pulls or friction leaves its cone, as a share of the impact's largest impulse, or how far
    velocities miss the laws, as a share of them: the worst of all impacts.
    """
    nx, nr = len(run.system.state_names), run.system.first_rows[-1]
    first = L.E_VECTORS + 2 * (nx + 3) + 2 * nr
    impulses = run.event_rows[:, first : first + nr]
    largest = np.abs(impulses).max(axis=1, initial=0.0)
    impulses = impulses[largest > 0.0] / largest[largest > 0.0, None]
    worst = float(run.event_rows[:, L.E_MISSED].max(initial=0.0))
    for k, (unit, coefficients) in enumerate(zip(run.system.units, run.system.unit_coefficients, strict=True)):
        if unit.kind in GROUNDS:
            rows = impulses[:, run.system.first_rows[k] : run.system.first_rows[k + 1]]
            along, normal = np.linalg.norm(np.delete(rows, 1, axis=1), axis=1), rows[:, 1]
            worst = max(worst, float(-normal.min(initial=0.0)))
            if coefficients[0] < np.inf:
                worst = max(worst, float((along - coefficients[0] * normal).max(initial=0.0)))
    return worst
