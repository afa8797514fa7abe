"""A run over time: coordinates, velocities, torques, and any series of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.show._curves import FAR, KINDS
from saltus.show._figure import GREY, label, style
from saltus.show._fine import fine
from saltus.show._timeline import Curve, Level, Panel, timeline

# Longer names of series stand in the legend alone.
MOST_LETTERS = 30

# Letters of names that an axis may have beside it.
WORDS = 26


def coordinates_figure(run: Trajectory, names: Sequence[str] | None = None, *, title: str = "") -> Figure:
    """Coordinates or velocities over time, those of one unit on one axis."""
    run = fine(run)
    units = {**run.system.mechanism.coordinates, **run.system.mechanism.velocities}
    wanted = list(run.coordinates if names is None else names)
    for name in wanted:
        if name not in units:
            raise unknown_name("coordinate or velocity", name, units, run.system.name)
    if not wanted:
        raise InputError(f"name at least one coordinate or velocity of {run.system.name}")
    columns = {name: run.x[:, run.system.state_names.index(name)] for name in wanted}
    panels = [
        Panel(what(members, unit), [Curve(label(name, ""), run.t, columns[name]) for name in members])
        for unit, members in _by_unit({name: units[name] for name in wanted}).items()
    ]
    return timeline(panels, title or f"{run.system.name}: coordinates", run)


def velocities_figure(run: Trajectory, *, title: str = "") -> Figure:
    """All velocities over time, those of one unit on one axis."""
    names = list(run.system.mechanism.velocities)
    return coordinates_figure(run, names, title=title or f"{run.system.name}: velocities")


def torques_figure(run: Trajectory, *, title: str = "") -> Figure:
    """Torques and forces of the actuators over time, between dashed lines at their limits."""
    run = fine(run)
    actuators = run.system.mechanism.actuators
    if not actuators:
        raise InputError(f"{run.system.name} has no actuators")
    inputs, limits = run.samples.inputs, run.system.input_limits
    order = list(actuators)
    panels = []
    for unit, members in _by_unit({name: actuator.unit for name, actuator in actuators.items()}).items():
        curves = [Curve(name.replace("_", " "), run.t, inputs[:, order.index(name)]) for name in members]
        levels, notes = _limits(members, curves, [float(limits[order.index(name)]) for name in members], unit)
        panels.append(Panel(f"{KINDS.get(unit, 'input')} ({unit})", curves, levels, notes=notes, named=True))
    return timeline(panels, title or f"{run.system.name}: torques and forces of the actuators", run)


def _limits(
    names: Sequence[str], curves: Sequence[Curve], limits: Sequence[float], unit: str
) -> tuple[list[Level], list[str]]:
    """Dashed lines at limits, grey where all have the same; those that are far away are only told."""
    largest = max((float(np.abs(values).max()) for curve in curves if (values := _there(curve)).size), default=0.0)
    same = len(set(limits)) == 1
    levels, notes = [], []
    for k, (name, limit) in enumerate(zip(names, limits, strict=True)):
        text = f"limit ±{limit:g} {unit}" if same else f"{name}: ±{limit:g} {unit}"
        if not np.isfinite(limit) or (same and k):
            continue
        if largest > 0 and limit > FAR * largest:
            notes.append(f"{text},\nbeyond the axis")
            continue
        colour = GREY if same else style(k)["color"]
        levels += [Level(limit, text, colour), Level(-limit, "", colour)]
    return levels, notes


def _there(curve: Curve) -> np.ndarray:
    return curve.values[np.isfinite(curve.values)]


def series_figure(
    t: Sequence[float] | np.ndarray,
    series: Mapping[str, Any],
    *,
    unit: str = "",
    run: Trajectory | None = None,
    title: str = "",
) -> Figure:
    """Anyone's own values over time; what is no finite number leaves a gap, and the legend says how many there are.

    Parameters
    ----------
    t
        Times, s.
    series
        Values by name, one for each time.
    unit
        Of all of them.
    run
        Whose modes and events are shown behind them.
    """
    times = _numbers("t", t)
    if not series:
        raise InputError("there are no series to be drawn")
    if not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise InputError("times must be finite and must not decrease")
    curves = []
    for name, given in series.items():
        values = _numbers(name, given)
        if len(values) != len(times):
            raise InputError(f"series {name!r} has {len(values)} values for {len(times)} times")
        curve = Curve(name, times, values)
        missing = f"\n{curve.missing} of {len(values)} values missing" if curve.missing else ""
        curves.append(Curve(label(name, "") + missing, times, values))
    names = ", ".join(label(name, "") for name in series)
    shown = names if len(names) <= MOST_LETTERS else "values"
    panel = Panel(shown if unit in ("", "1") else f"{shown} ({unit.replace('^2', '²')})", curves)
    return timeline([panel], title or ("series" if run is None else f"{run.system.name}: series"), run)


def _numbers(name: str, given: Any) -> np.ndarray:
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers, got {given!r}") from None
    if values.ndim != 1:
        raise InputError(f"{name} must be a plain sequence of numbers, got an array of shape {values.shape}")
    return values


def _by_unit(units: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by their unit."""
    groups: dict[str, list[str]] = {}
    for name, unit in units.items():
        groups.setdefault(unit, []).append(name)
    return groups


def what(names: Sequence[str], unit: str) -> str:
    """What an axis shows: the kind, the quantities and their unit."""
    # as many as there is room for beside an axis
    count = next(k for k in (4, 3, 2, 1) if k == 1 or sum(map(len, names[:k])) <= WORDS)
    shown = ", ".join(label(name, "") for name in names[:count]) + (", …" if len(names) > count else "")
    kind = f"{KINDS[unit]}\n" if unit in KINDS else ""
    return kind + (shown if unit in ("", "1") else f"{shown} ({unit.replace('^2', '²')})")
