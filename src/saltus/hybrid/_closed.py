"""What is closed at a state: which grips move, what slips on the ground, and the nearest state without either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus.contact import GRIP
from saltus.contact._unit import GROUNDS
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.hybrid._system import HybridSystem

# A contact nearer to the ground than this, m, is on it, and one slower than this, m/s, at rest.
REST = 1e-9


def consistent(
    system: HybridSystem, x: np.ndarray, statuses: Sequence[int], keep: Sequence[str], rolling: bool
) -> np.ndarray:
    """`HybridSystem.consistent`, of a state and the statuses of grips."""
    nq, names = system.mechanism.nq, list(system.mechanism.velocities)
    for name in keep:
        if name not in names:
            raise unknown_name("velocity", name, names, system.name)
    M, J = (np.array(part, dtype=float) for part in grip_rows(system, statuses)(x, system.parameter_values))
    if system.ideal_units or rolling:
        J = np.vstack([J, _rolling_rows(system, x, rolling)])
    if J.size:
        free = [k for k, name in enumerate(names) if name not in keep]
        v, MJ = x[nq:], np.linalg.solve(M[np.ix_(free, free)], J[:, free].T)
        v[free] -= MJ @ np.linalg.lstsq(J[:, free] @ MJ, J @ v, rcond=1e-12)[0]
        left = float(np.abs(J @ v).max())
        if left > 1e-9 * max(1.0, float(np.abs(v).max())):
            raise InputError(
                f"start of {system.name}: with {', '.join(keep) or 'nothing'} kept, what is closed still moves at "
                f"{left:.6g} m/s; keep fewer velocities"
            )
    return x


def ground_motion(system: HybridSystem) -> Any:
    """Gap, normal speed and tangential speed of each ground contact, a function of state and parameters."""

    def made() -> Any:
        d, found = system.dynamics, []
        for unit in system.units:
            if unit.kind in GROUNDS:
                along, normal, *side = (d.row(row)[0] @ d.v for _, row in unit.rows)
                found += [unit.clearance, normal, ca.norm_2(ca.vertcat(along, *side))]
        return ca.Function("ground_motion", [d.x, d.p], [ca.vertcat(*found)])

    return system.once("ground_motion", made)


def slipping(system: HybridSystem, x: np.ndarray, *, ideal: bool = True) -> dict[str, float]:
    """Speed, m/s, of every ground contact that slips at a state, on the ground to stay; of ``ideal`` ones alone."""
    motion = np.array(ground_motion(system)(x, system.parameter_values), dtype=float).reshape(-1, 3)
    places = [k for k, unit in enumerate(system.units) if unit.kind in GROUNDS]
    return {
        system.units[k].name: float(speed)
        for k, (gap, normal, speed) in zip(places, motion, strict=True)
        if (k in system.ideal_units or not ideal) and gap <= REST and abs(normal) <= REST and speed > REST
    }


def _rolling_rows(system: HybridSystem, x: np.ndarray, every: bool) -> np.ndarray:
    """Jacobian of the ground contacts that slip on the ground, ideal ones or all."""
    if not any(unit.kind in GROUNDS for unit in system.units):
        return np.zeros((0, system.mechanism.nv))
    d, slips = system.dynamics, slipping(system, x, ideal=not every)
    rows = [position for unit in system.units if unit.name in slips for _, position in unit.rows]
    if not rows:
        return np.zeros((0, system.mechanism.nv))
    J = system.once(
        f"rolling_rows {', '.join(slips)}",
        lambda: ca.Function("rolling_rows", [d.x, d.p], [ca.vertcat(*(d.row(position)[0] for position in rows))]),
    )
    return np.array(J(x, system.parameter_values), dtype=float)


def grip_speeds(system: HybridSystem, statuses: Sequence[int], x: np.ndarray) -> dict[str, float]:
    """Speed of every closed grip at a state, m/s."""
    closed = [
        unit.name for unit, status in zip(system.units, statuses, strict=True) if unit.kind == GRIP and status == 1
    ]
    if not closed:
        return {}
    J = np.array(grip_rows(system, statuses)(x, system.parameter_values)[1], dtype=float)
    speeds = (J @ x[system.mechanism.nq :]).reshape(-1, 2)
    return dict(zip(closed, map(float, np.hypot(*speeds.T)), strict=True))


def grip_rows(system: HybridSystem, statuses: Sequence[int]) -> Any:
    """Mass matrix and Jacobian of the closed grips, a function of state and parameters."""
    d = system.dynamics
    rows = [
        position
        for unit, status in zip(system.units, statuses, strict=True)
        if unit.kind == GRIP and status == 1
        for _, position in unit.rows
    ]
    J = d.row(ca.vertcat(*rows))[0] if rows else ca.SX.zeros(0, d.v.numel())
    name = f"grip_rows {tuple(statuses)}"
    return system.once(name, lambda: ca.Function("grip_rows", [d.x, d.p], [d.M, J]))
