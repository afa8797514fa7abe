"""The audit of a trajectory: laws that must hold along it, measured with what the run did not use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.contact import guard_values_of
from saltus.contact._unit import GROUNDS
from saltus.engine import _layout as L
from saltus.errors import unknown_name

if TYPE_CHECKING:
    from saltus.engine._trajectory import Samples, Trajectory

EPSILON = np.finfo(float).eps


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
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "FAIL"
        return f"{verdict} {self.name:<22} {self.value:10.3e} {self.unit:<6} (limit {self.limit:.1e})"


@dataclass(frozen=True)
class Audit:
    """All checks of one trajectory."""

    checks: tuple[Check, ...]

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
        return "\n".join(map(str, self.checks))

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        checks = {c.name: {"value": c.value, "limit": c.limit, "unit": c.unit, "ok": c.ok} for c in self.checks}
        return {"ok": self.ok, "checks": checks}


def audit(run: Trajectory) -> Audit:
    """Check a trajectory at the ends of all its steps."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite fails its check
        return Audit((_energy(run), *_contacts(run), *_guards(run), *_impacts(run)))


def energy_residual(s: Samples) -> np.ndarray:
    """Energy now, less energy at the start, less work put in, plus losses: zero at every sample, J."""
    total = s.kinetic + s.potential
    put_in = s.integrals[:, 0] - s.integrals[:, 1] - s.integrals[:, 2]
    residual: np.ndarray = total - total[0] - put_in + s.impact_loss - s.impact_loss[0]
    return residual


def _energy(run: Trajectory) -> Check:
    s = run.mesh
    sizes = [s.kinetic, s.potential - s.potential[0], 0.5 * s.energy_sizes[:, 0], *s.integrals.T]
    scale = max(float(np.abs(size).max()) for size in sizes)
    slope, pushed = s.energy_sizes[:, 1].max(), s.energy_sizes[1:, 2].max(initial=0.0)
    limit = float(energy_limit(run.steps, scale, slope, pushed, run.rtol, run.atol))
    return Check("energy balance", float(np.abs(energy_residual(s)).max()), limit, "J")


def energy_limit(steps: Any, scale: Any, slope: Any, pushed: Any, rtol: float, atol: float) -> Any:
    """How far the energy balance may be missed, J.

    ``scale`` is the largest energy of the run, with parts that cancel, since the state they are made of is
    only known to a relative error; ``slope`` is the largest change of energy per absolute error of the state;
    ``pushed`` is the largest product of inputs and coordinates, whose rounding is work that nobody counts.
    """
    # each step may miss by the tolerance; misses add up along the run, but mostly cancel
    return 1e-11 + (20 + 0.2 * steps) * (rtol * scale + atol * np.maximum(1.0, slope) + EPSILON * pushed)


def _contacts(run: Trajectory) -> list[Check]:
    """Closed rows stay where they were closed, and stand still."""
    if not run.system.units:
        return []
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
    size = 1 + float(np.abs(s.x).max())
    limit = (100 * run.rtol + 1e-12) * size
    return [Check("contacts closed", apart, limit, "m"), Check("contacts at rest", rate, limit, "m/s")]


def _guards(run: Trajectory) -> list[Check]:
    """No guard is negative inside its mode."""
    if not run.system.units:
        return []
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
    size = 1 + float(np.abs(s.x).max())
    force = 1 + float(np.abs(s.forces).max(initial=0.0))
    limit = 100 * run.rtol + 1e-11
    return [
        Check("gaps and slip", worst_length, limit * size, "m, m/s"),
        Check("forces in the cone", worst_force, 100 * limit * force, "N"),
    ]


# How far impulses may miss what they must, relative: some roundings, and as much as a cone allows for.
IMPULSES = 1e-12


def _impacts(run: Trajectory) -> list[Check]:
    """No impact creates energy, no ground pulls, friction stays in its cone and velocities are those of the laws."""
    struck = [event for event in run.events if any(event.impulse.values())]
    if not struck:
        return []
    lost = [event.energy_lost for event in struck]
    checks = [Check("impacts create energy", max(0.0, -min(lost)), 1e-12 * (1 + max(map(abs, lost))), "J")]
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
