"""A run over time, with its modes named and its events marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

from saltus.contact._unit import GROUND
from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, RED, blank, label, look

COLOURS = (BLUE, ORANGE, GREEN, RED)
KINDS = {"m": "position", "rad": "angle", "m/s": "velocity", "rad/s": "angular velocity"}
# Size of the name of a mode, its height, and the least space between two names, in points.
SIZE, HEIGHT, SPACE = 8.0, 9.6, 3.0


def coordinates_figure(run: Trajectory, names: Sequence[str] | None = None, *, title: str = "") -> Figure:
    """Coordinates or velocities over time, those of one unit on one axis."""
    units = {**run.system.mechanism.coordinates, **run.system.mechanism.velocities}
    wanted = list(run.coordinates if names is None else names)
    for name in wanted:
        if name not in units:
            raise unknown_name("coordinate or velocity", name, units, run.system.name)
    groups: dict[str, list[str]] = {}
    for name in wanted:
        groups.setdefault(units[name], []).append(name)
    with look():
        figure = blank(6.8, 1.0 + 2.3 * len(groups))
        rows = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (unit, members) in zip(rows, groups.items(), strict=True):
            for name, colour in zip(members, COLOURS * (1 + len(members) // 4), strict=False):
                axes.plot(run.t, run.x[:, run.system.state_names.index(name)], color=colour, label=label(name, ""))
            axes.set_ylabel(_what(members, unit))
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(title or f"{run.system.name}: coordinates", x=0.02, ha="left", fontsize=11)
        _mark_modes(figure, list(rows), run)
    return figure


def normal_force_figure(run: Trajectory, unit: str | None = None, *, title: str = "") -> Figure:
    """The normal force of a ground contact over time, with a dashed line at zero."""
    name, row, _ = _contact(run, unit)
    with look():
        figure = blank(6.8, 3.4)
        axes = figure.add_subplot()
        axes.plot(run.t, run.samples.forces[:, row + 1], color=BLUE)
        axes.axhline(0.0, color=GREY, ls="--", lw=1.0)
        axes.set_ylabel(rf"normal force on {name} (N)")
        figure.suptitle(title or f"{run.system.name}: normal force", x=0.02, ha="left", fontsize=11)
        _mark_modes(figure, [axes], run)
    return figure


def force_ratio_figure(run: Trajectory, unit: str | None = None, *, title: str = "") -> Figure:
    """The tangential over the normal force of a ground contact, between dashed lines at the friction."""
    name, row, friction = _contact(run, unit)
    along, normal = run.samples.forces[:, row], run.samples.forces[:, row + 1]
    least = 1e-9 * max(1.0, float(np.abs(normal).max()))
    ratio = np.divide(along, normal, out=np.full(len(normal), math.nan), where=np.abs(normal) > least)
    with look():
        figure = blank(6.8, 3.4)
        axes = figure.add_subplot()
        axes.plot(run.t, ratio, color=BLUE)
        for side in (-friction, friction):
            axes.axhline(side, color=RED, ls="--", lw=1.0)
        axes.set_ylim(-1.5 * friction - 0.02, 1.5 * friction + 0.02)
        axes.set_ylabel(f"tangential over normal force on {name}")
        shown = title or f"{run.system.name}: force ratio, friction {friction:g}"
        figure.suptitle(shown, x=0.02, ha="left", fontsize=11)
        _mark_modes(figure, [axes], run)
    return figure


def _contact(run: Trajectory, unit: str | None) -> tuple[str, int, float]:
    """A ground contact: its name, the place of its tangential force, and its friction."""
    contacts = {one.name: k for k, one in enumerate(run.system.units) if one.kind == GROUND}
    if not contacts:
        raise InputError(f"{run.system.name} has no contacts with the ground")
    name = next(iter(contacts)) if unit is None else unit
    if name not in contacts:
        raise unknown_name("ground contact", name, contacts, run.system.name)
    k = contacts[name]
    return name, run.system.first_rows[k], float(run.system.unit_coefficients[k][0])


def _what(names: Sequence[str], unit: str) -> str:
    """What an axis shows: the kind, the quantities and their unit."""
    shown = ", ".join(label(name, "") for name in names[:4]) + (", …" if len(names) > 4 else "")
    kind = f"{KINDS[unit]}\n" if unit in KINDS else ""
    return kind + (shown if unit in ("", "1") else f"{shown} ({unit.replace('^2', '²')})")


def _bands(run: Trajectory) -> list[tuple[str, float, float]]:
    """Mode, beginning and end of each stretch of motion between changes of mode and impacts, whatever mode follows."""
    bands, begin = [], run.start_time
    for event in run.events:
        parts = event.mode_before != event.mode_after or any(event.impulse.values())
        if parts and not event.ended and event.t > begin:
            bands.append((event.mode_before, begin, event.t))
            begin = event.t
    if run.end_time > begin or not bands:
        bands.append((run.arc_modes[-1], begin, run.end_time))
    return bands


def _mark_modes(figure: Figure, rows: Sequence[Axes], run: Trajectory) -> None:
    """Time below; a dashed line at each change of mode and each impact; above, names of modes that have room."""
    bands = _bands(run)
    begin, end = bands[0][1], max(bands[-1][2], bands[0][1] + 1e-12)
    for axes in rows:
        for _, t, _ in bands[1:]:
            axes.axvline(t, color=GREY, ls="--", lw=0.8)
        axes.set_xlim(begin, end)
        # a common power of ten stands left of the axis, where no mode is named
        axes.yaxis.get_offset_text().set(x=-0.03, ha="right")
    rows[-1].set_xlabel("time (s)")
    # names change heights alone, so that widths can be measured before they are there
    figure.draw_without_rendering()
    scale = rows[0].get_window_extent().width / figure.dpi * 72.0 / (end - begin)
    names = _named(bands, scale)
    for k, upright in sorted(names.items()):
        mode, since, until = bands[k]
        rows[0].annotate(
            mode.replace(" ", "\n"), (0.5 * (since + until), 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
            textcoords="offset points", ha="center", va="bottom", fontsize=SIZE, rotation=90 if upright else 0,
        )  # fmt: skip
    lost = len(bands) - len(names)
    if lost:
        rows[-1].set_xlabel(f"time (s); {lost} short {'modes are' if lost > 1 else 'mode is'} not named")


def _named(bands: Sequence[tuple[str, float, float]], scale: float) -> dict[int, bool]:
    """Bands whose names have room, and whether upright; the longer a band, the sooner it is named.

    Parameters
    ----------
    scale
        Points of the axis for a second.
    """
    named: dict[int, bool] = {}
    taken: list[tuple[float, float]] = []
    for k in sorted(range(len(bands)), key=lambda k: bands[k][1] - bands[k][2]):
        mode, begin, end = bands[k]
        lines = mode.split(" ")
        width = max(float(TextPath((0.0, 0.0), line, size=SIZE).get_extents().width) for line in lines)
        upright = width + SPACE > (end - begin) * scale
        half = 0.5 * (HEIGHT * len(lines) if upright else width)
        middle = 0.5 * (begin + end) * scale
        if all(middle + half + SPACE <= left or right + SPACE <= middle - half for left, right in taken):
            named[k] = upright
            taken.append((middle - half, middle + half))
    return named
