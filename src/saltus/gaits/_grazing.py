"""Whether a phase ends by touching its guard without crossing it, where the return map has no derivative."""

from __future__ import annotations

import casadi as ca
import numpy as np

from saltus.gaits._cycle import Cycle

# A guard reached slower than this share of its greatest speed is touched only.
SHARE = 1e-5


def grazing_phase(cycle: Cycle) -> str | None:
    """Name of the first phase whose guard is at a standstill where it ends the phase."""
    for phase, run in zip(cycle.gait.phases, cycle.runs, strict=True):
        if phase.ends is None:
            continue
        d = run.system.dynamics
        guard = next(guard for guard in run.system.guards if guard.name == phase.name).expression
        m = run.system.mechanism
        slope = ca.jtimes(guard, m.q, m.v) + ca.jtimes(guard, m.v, d.free_acceleration)
        rate = ca.Function("rate", [d.x, d.t, d.p], [slope])
        mesh = run.mesh
        rates = np.abs(np.array(rate(mesh.x.T, mesh.t[None, :], run.system.parameter_values)).ravel())
        if rates[-1] <= SHARE * rates.max():
            return phase.name
    return None
