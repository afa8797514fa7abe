"""What may come of random runs: a good end or a verdict that the state bears out, and audits that close."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus import registry
from saltus.conformance._draw import MAX_EVENTS, MAX_STEPS
from saltus.contact import GRIP
from saltus.engine import Batch, Trajectory
from saltus.engine import _many as M
from saltus.engine._cases import columns
from saltus.hybrid import HybridSystem


@dataclass(frozen=True)
class Fault:
    """What is wrong with a run."""

    run: int
    what: str

    def __str__(self) -> str:
        return f"run {self.run}: {self.what}"


# Ends that need no excuse, and those that are only right where friction is so strong that motion is not unique.
ALLOWED = ("finished", "terminal", "step_limit")
OF_FRICTION = (
    "no_consistent_mode",
    "several_consistent_modes",
    "no_impulse",
    "step_collapse",
    "stalled",
    "event_limit",
)
OF_ABSURD_NUMBERS = ("not_finite", "singular_mass_matrix", "step_collapse", "stalled")

# A mass matrix worse than this is singular in practice; a speed beyond this is none of a robot.
CONDITION, SPEED = 1e10, 1e3

# Directions in which something slides, as forward and sideways parts.
ALONG = ((-1.0, 0.0), (1.0, 0.0))
AROUND = tuple((math.cos(angle), math.sin(angle)) for angle in np.linspace(0, 2 * math.pi, 16, endpoint=False))

# Friction that nothing overcomes, as a number to calculate with.
ENDLESS = 1e9


def faults(batch: Batch, every: int = 200) -> list[Fault]:
    """Everything wrong with the runs of a batch; one of ``every`` is made again for the whole of its audit."""
    found = _ends(batch) + _numbers(batch) + _places(batch)
    suspicious = {fault.run for fault in found}
    for run in sorted({*range(0, batch.n, every)} - suspicious):
        found += _record(batch, run)
    return found


def shares(batch: Batch) -> np.ndarray:
    """How far each run misses its energy balance over what its audit allows; zero for those that are not judged by it.

    Judged are those that ended well and whose steps are short against a turn: where a body turns
    several times in a step, its weight is a small ripple that a loose tolerance steps over.
    """
    speed = np.abs([batch.starts, batch.states])[:, :, batch.system.mechanism.nq :].max(axis=(0, 2))
    judged = batch.good & (batch.steps > 0) & (speed <= SPEED) & (speed * batch.t_end <= batch.steps)
    share = np.divide(batch.energy_worst, batch.energy_limit, out=np.zeros(batch.n), where=judged)
    return np.where(np.isnan(share), np.inf, share)


def _ends(batch: Batch) -> list[Fault]:
    """Runs that ended in a status that their state does not bear out."""
    found = []
    for run in np.flatnonzero(~np.isin(batch.status, ALLOWED)).tolist():
        status, excuse = batch.status[run], False
        if status in OF_FRICTION:
            excuse = friction_decides(batch, run)
        if status in OF_ABSURD_NUMBERS:
            excuse = excuse or absurd(batch, run) or (status == "stalled" and weightless(batch, run))
        elif status == "event_limit":
            excuse = excuse or absurd(batch, run) or bounces_nearly_for_ever(batch, run) or weightless(batch, run)
            excuse = excuse or clatters_at_rounding(batch, run) or guard_is_no_more_than_rounding(batch, run)
        excuse = excuse or closed_loop_is_singular(batch, run)
        if not excuse:
            found.append(Fault(run, f"{status} at t = {batch.t_end[run]:.6g} s"))
    return found


def _numbers(batch: Batch) -> list[Fault]:
    """Good runs whose states are not finite or whose energy does not balance; runs beyond their limits."""
    found = []
    finite, share = np.isfinite(batch.states).all(axis=1), shares(batch)
    for run in np.flatnonzero(batch.good & ~finite):
        found.append(Fault(int(run), "its last state is not finite"))
    for run in np.flatnonzero(share > 1.0):
        found.append(Fault(int(run), f"energy audit open: {share[run]:.3g} of what is allowed"))
    for run in np.flatnonzero((batch.steps > MAX_STEPS) | (batch.event_count > MAX_EVENTS)):
        found.append(
            Fault(int(run), f"{batch.steps[run]} steps and {batch.event_count[run]} events, beyond its limits")
        )
    return found


def _places(batch: Batch) -> list[Fault]:
    """Good runs that end below the ground or beyond a stop."""
    system = batch.system
    parts = [unit.clearance for unit in system.units if unit.kind != GRIP]  # hands may pass through walls
    if not parts:
        return []
    d = system.dynamics
    function = ca.Function("clearances", [d.x, d.p], [ca.vertcat(*parts)])
    least = columns(function, batch.states, batch.cases.parameters)[0].min(axis=1)
    size = 1 + np.abs(batch.states).max(axis=1)
    through = batch.good & ~(least >= -(100 * batch.options["rtol"] + 1e-9) * size)
    return [Fault(int(run), f"ends {-least[run]:.3g} m beyond the ground or a stop") for run in np.flatnonzero(through)]


def _record(batch: Batch, run: int) -> list[Fault]:
    """A run made again with its whole record: the same end, and every law of its audit."""
    again = batch.run(run)
    judged = shares(batch)[run] > 0.0
    found = []
    if again.status.name != batch.status[run] or list(again.final.values()) != batch.states[run].tolist():
        found.append(Fault(run, f"is another when made again: {again.status.name}"))
    if again.status.good:
        for check in again.check().checks:
            excuse = check.name == "energy balance" and not judged
            excuse = excuse or (check.name == "impacts create energy" and may_create_energy(again))
            if not check.ok and not excuse:
                found.append(Fault(run, f"{check.name}: {check.value:.3g} {check.unit} (limit {check.limit:.2g})"))
    return found


def may_create_energy(run: Trajectory) -> bool:
    """Whether a law of the robot is known to create energy, in some configurations with friction and restitution."""
    laws = [unit.law for unit in run.system.units if unit.law is not None]
    return any(getattr(registry.load("laws", law.name), "MAY_CREATE_ENERGY", False) for law in laws)


def absurd(batch: Batch, run: int) -> bool:
    """Whether a run had speeds that no robot has, or nothing that resists some motion."""
    x = batch.states[run]
    if np.abs(batch.starts[run][batch.system.mechanism.nq :]).max() > SPEED:
        return True
    matrix = np.array(_mass(batch.system)(x, batch.cases.parameters[run])[0], dtype=float)
    return bool(np.isfinite(matrix).all() and _condition(matrix) > CONDITION)


def _condition(matrix: np.ndarray) -> float:
    """Condition number of a symmetric matrix, all its rows on one footing."""
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return float(np.linalg.cond(matrix * scale * scale[:, None]))


def closed_loop_is_singular(batch: Batch, run: int) -> bool:
    """Whether the closed grips, as they are or as the controller is closing them, nearly say the same thing twice.

    An arm held at both ends that is all but straight can bear any load along itself, and must not move.
    """
    system = batch.system
    mass, J, _ = (np.array(part, dtype=float) for part in _mass(system)(batch.states[run], batch.cases.parameters[run]))
    rows = [system.first_rows[k] + r for k, unit in enumerate(system.units) if unit.kind == GRIP for r in (0, 1)]
    if len(rows) < 4:
        return False
    A = J[rows] @ np.linalg.solve(mass, J[rows].T)
    return _condition(A) > 1e6


def weightless(batch: Batch, run: int) -> bool:
    """Whether nothing presses the robot onto the ground: then rounding decides what its contacts do at rest."""
    m = batch.system.mechanism
    gravity = ca.Function("gravity", [m.p], [ca.SX(m.gravity)])(batch.cases.parameters[run])
    return float(gravity) == 0.0 and bool(batch.system.units)


def clatters_at_rounding(batch: Batch, run: int) -> bool:
    """Whether several units bounce in turn, no higher than the rounding of the gap."""
    x, p = batch.states[run], batch.cases.parameters[run]
    gaps = np.array(_mass(batch.system)(x, p)[2])
    return bool((np.abs(gaps) < 1e-12 * (1 + np.abs(x).max())).sum() > 1)


def guard_is_no_more_than_rounding(batch: Batch, run: int) -> bool:
    """Whether one of the robot's own guards is zero for good, as a line's direction is where it has no length."""
    _, own = batch.cases.of(run).kinematics(float(batch.t_end[run]), batch.states[run])
    watched = [guard.action != "ignore" for guard in batch.system.guards]
    return bool((np.abs(own[watched]) < 1e-12 * (1 + np.abs(batch.states[run]).max())).any())


def bounces_nearly_for_ever(batch: Batch, run: int) -> bool:
    """Whether a restitution near one makes more bounces than the limit before they can no longer be followed."""
    numbers = batch.cases.of(run).unit_coefficients
    return any(
        declared.name in ("restitution", "normal") and value > 0.98
        for unit, values in zip(batch.system.units, numbers, strict=True)
        if unit.law is not None
        for declared, value in zip(unit.law.declared, values[1:], strict=True)
    )


def _mass(system: HybridSystem) -> Any:
    d = system.dynamics
    rows = [d.row(row)[0] for unit in system.units for _, row in unit.rows]
    J = ca.vertcat(*rows) if rows else ca.SX.zeros(0, d.v.numel())
    gaps = [unit.clearance for unit in system.units]
    return ca.Function("mass", [d.x, d.p], [d.M, J, ca.vertcat(*gaps) if gaps else ca.SX.zeros(0)])


def friction_decides(batch: Batch, run: int) -> bool:
    """Whether friction can make the normal forces of some sliding not unique: no P-matrix, as in Painleve's paradox.

    [glocker2001]: with the tangential forces tied to the normal ones by the directions of sliding,
    normal accelerations follow from normal forces by a matrix all of whose principal minors must be
    positive.
    """
    system, p = batch.system, batch.cases.parameters[run]
    mass, J, gaps = (np.array(part, dtype=float) for part in _mass(system)(batch.states[run], p))
    statuses = batch.integers[run, M.R_STATUSES : M.R_STATUSES + len(system.units)]
    held, sliding, friction, counts = [], [], [], []
    coefficients = batch.cases.of(run).unit_coefficients
    for k, unit in enumerate(system.units):
        row = system.first_rows[k]
        if unit.kind == GRIP and statuses[k] == 1:
            held += [row, row + 1]
        elif unit.law is not None and abs(gaps.ravel()[k]) < 1e-6 * (1 + np.abs(batch.states[run]).max()):
            sliding.append(row)
            counts.append(len(unit.rows))
            friction.append(min(coefficients[k][0], ENDLESS))
    A = J @ np.linalg.solve(mass, J.T)
    if held:
        inner = A[np.ix_(held, held)]
        A = A - A[:, held] @ np.linalg.lstsq(inner, A[held], rcond=1e-12)[0]
    normal = [row + 1 for row in sliding]
    # along a line in the plane, all around in space
    ways = [ALONG if rows < 3 else AROUND for rows in counts]
    for turns in itertools.product(*ways):
        along, side = np.array(turns).reshape(-1, 2).T * friction
        tied = A[np.ix_(normal, normal)] - A[np.ix_(normal, sliding)] * along
        if side.any():
            tied = tied - A[np.ix_(normal, [min(row + 2, len(A) - 1) for row in sliding])] * side
        scale = np.abs(np.diag(A)[normal])
        tied /= np.sqrt(np.outer(scale, scale))
        for size in range(1, len(sliding) + 1):
            for chosen in itertools.combinations(range(len(sliding)), size):
                if np.linalg.det(tied[np.ix_(chosen, chosen)]) < 1e-6:
                    return True
    return False
