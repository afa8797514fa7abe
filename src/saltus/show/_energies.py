"""The energies of a run over time: what it has, what was put in, what was lost, and whether all that adds up."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from saltus.engine import Trajectory
from saltus.engine._audit import energy_residual
from saltus.show._figure import RED
from saltus.show._fine import fine
from saltus.show._timeline import Curve, Level, Panel, timeline

# What is a smaller share of the limit is drawn as this, since a logarithm has no zero.
LEAST = 1e-8


def energies_figure(run: Trajectory, *, title: str = "") -> Figure:
    """Kinetic, potential and total energy; work and losses; by how much the balance is missed, below the audit's limit.

    Work and losses that are always zero are only told.
    """
    run = fine(run)
    s = run.samples
    stored = {"kinetic": s.kinetic, "potential": s.potential, "total": s.kinetic + s.potential}
    changes = {
        "work": s.integrals[:, 0], "lost by damping": s.integrals[:, 1], "lost by friction": s.integrals[:, 2],
        "lost in impacts": s.impact_loss,
    }  # fmt: skip
    moved = {name: values for name, values in changes.items() if (values != 0.0).any()}
    still = [f"{name}: 0 J" for name in changes if name not in moved]
    panels = [Panel("energy (J)", _curves(run, stored))]
    if moved:
        panels.append(Panel("work and losses (J)", _curves(run, moved), notes=still, named=True))
    panels.append(_balance(run))
    told = "" if moved else "; no work, no losses"
    return timeline(panels, title or f"{run.system.name}: energies{told}", run)


def _curves(run: Trajectory, rows: dict[str, np.ndarray]) -> list[Curve]:
    return [Curve(name, run.t, values) for name, values in rows.items()]


def _balance(run: Trajectory) -> Panel:
    """How far energy, work and losses are from adding up, at the ends of all steps."""
    check, s = run.check()["energy balance"], run.mesh
    limit = check.limit if 0.0 < check.limit < np.inf else 1.0
    with np.errstate(invalid="ignore"):
        missed = np.maximum(np.abs(energy_residual(s)), LEAST * limit)
    highest = float(missed[np.isfinite(missed)].max(initial=limit))
    return Panel(
        "balance\nmissed by (J)", [Curve("missed by", s.t, missed)], [Level(limit, f"limit {limit:.1e} J", RED)],
        (0.5 * LEAST * limit, 10.0 * highest), log=True, named=True,
    )  # fmt: skip
