"""The forces of contacts over time: of the ground, of grips, of joints that stick or rest against a stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from saltus.contact import Unit
from saltus.contact._unit import GRIP, GROUND, JOINT
from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.show._curves import ratio_of_forces
from saltus.show._figure import RED, label
from saltus.show._fine import fine
from saltus.show._points import on_ground
from saltus.show._timeline import Curve, Level, Panel, timeline


def forces_figure(run: Trajectory, *, title: str = "") -> Figure:
    """Forces of all units that have any, a panel for each kind; those that never act are only told."""
    run = fine(run)
    if not run.system.row_names:
        raise InputError(f"{run.system.name} has no contacts, grips or joints that could bear a force")
    idle = [one.name for k, one in enumerate(run.system.units) if one.rows and not _acts(run, k)]
    every = [
        _panel(run, "normal force\nof the ground (N)", GROUND, ("n",)),
        _panel(run, "tangential force\nof the ground (N)", GROUND, ("t",)),
        _panel(run, "sideways force\nof the ground (N)", GROUND, ("s",)),
        _panel(run, "force of grips (N)", GRIP, ("x", "y")),
        _panel(run, "torque of friction\nand stops (N m)", JOINT, ("q",), "N m"),
        _panel(run, "force of friction\nand stops (N)", JOINT, ("q",), "N"),
    ]
    panels = [panel for panel in every if panel.curves]
    if not panels:
        zeros = [Curve(label(name, ""), run.t, np.zeros(len(run.t))) for name in idle]
        panels = [Panel("contact forces (N)", zeros, [Level(0.0)], named=True)]
    told = f"; never acting: {', '.join(label(name, '') for name in idle)}" if idle else ""
    return timeline(panels, title or f"{run.system.name}: contact forces{told}", run)


def _acts(run: Trajectory, k: int) -> bool:
    """Whether a unit ever bears a force."""
    rows = slice(run.system.first_rows[k], run.system.first_rows[k + 1])
    return bool((run.samples.forces[:, rows] != 0.0).any())


def _panel(run: Trajectory, text: str, kind: int, directions: Sequence[str], unit: str = "") -> Panel:
    """Curves of all units of a kind that ever act."""
    curves = []
    for k, one in enumerate(run.system.units):
        fits = on_ground(one) if kind == GROUND else one.kind == kind
        if not fits or (unit and _unit(one) != unit) or not _acts(run, k):
            continue
        for row, (direction, _) in enumerate(one.rows, run.system.first_rows[k]):
            if direction in directions:
                name = label(one.name, "") + (f", {direction}" if len(directions) > 1 else "")
                curves.append(Curve(name, run.t, run.samples.forces[:, row]))
    return Panel(text, curves, [Level(0.0)], named=True)


def _unit(unit: Unit) -> str:
    """Unit of what a joint bears."""
    return "N" if unit.coordinate is not None and unit.coordinate.unit == "m" else "N m"


def normal_force_figure(run: Trajectory, unit: str | None = None, *, title: str = "") -> Figure:
    """The normal force of a ground contact over time, or of all that ever bear one, with a dashed line at zero."""
    run = fine(run)
    chosen = _contacts(run, unit)
    curves = [Curve(label(name, ""), run.t, run.samples.forces[:, row + 1]) for name, row, _ in chosen]
    panel = Panel(f"normal force{_on(chosen)} (N)", curves, [Level(0.0)])
    return timeline([panel], title or f"{run.system.name}: normal force", run)


def force_ratio_figure(run: Trajectory, unit: str | None = None, *, title: str = "") -> Figure:
    """The tangential over the normal force of a ground contact, or of all, between dashed lines at the friction.

    There is none where the normal force is zero. Infinite friction has no lines.
    """
    run = fine(run)
    chosen = _contacts(run, unit)
    curves = [
        Curve(label(name, ""), run.t, ratio_of_forces(run.system, run.samples.forces, row)) for name, row, _ in chosen
    ]
    frictions = list(dict.fromkeys(friction for *_, friction in chosen))
    finite = [friction for friction in frictions if friction < np.inf]
    levels = [Level(side, "", RED) for friction in finite for side in (friction, -friction)]
    needed = max((float(np.nanmax(np.abs(c.values), initial=0.0)) for c in curves), default=0.0)
    most = max(finite) if finite == frictions else max(*finite, needed, 0.0)
    panel = Panel(
        f"tangential over normal force{_on(chosen)}", curves, levels, (-1.5 * most - 0.02, 1.5 * most + 0.02),
        gaps=True,
    )  # fmt: skip
    told = ", ".join("infinite" if friction == np.inf else f"{friction:g}" for friction in frictions)
    return timeline([panel], title or f"{run.system.name}: force ratio, friction {told}", run)


def _on(chosen: Sequence[tuple[str, int, float]]) -> str:
    return f" on {chosen[0][0]}" if len(chosen) == 1 else ""


def _contacts(run: Trajectory, unit: str | None) -> list[tuple[str, int, float]]:
    """Ground contacts: name, place of the tangential force and friction of one, or of all that ever bear a force."""
    system = run.system
    contacts = {
        one.name: (one.name, system.first_rows[k], float(system.unit_coefficients[k][0]))
        for k, one in enumerate(system.units)
        if on_ground(one)
    }
    if not contacts:
        raise InputError(f"{system.name} has no contacts with the ground")
    if unit is not None:
        if unit not in contacts:
            raise unknown_name("ground contact", unit, contacts, system.name)
        return [contacts[unit]]
    acting = {one.name for k, one in enumerate(system.units) if _acts(run, k)}
    bearing = [one for name, one in contacts.items() if name in acting]
    return bearing or list(contacts.values())[:1]
