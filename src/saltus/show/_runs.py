"""A run over time, with its modes named and its events marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.contact._unit import GROUND
from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, RED, blank, label, look

COLOURS = (BLUE, ORANGE, GREEN, RED)
# An arc shorter than this share of the run has its name written upright.
NARROW = 0.09


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
            axes.set_ylabel(f"({unit})")
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
            _mark_modes(axes, run, named=axes is rows[0])
        rows[-1].set_xlabel("time (s)")
        figure.suptitle(title or f"{run.system.name}: coordinates", x=0.02, ha="left", fontsize=11)
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
        axes.set_xlabel("time (s)")
        _mark_modes(axes, run, named=True)
        figure.suptitle(title or f"{run.system.name}: normal force", x=0.02, ha="left", fontsize=11)
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
        axes.set_xlabel("time (s)")
        _mark_modes(axes, run, named=True)
        shown = title or f"{run.system.name}: force ratio, friction {friction:g}"
        figure.suptitle(shown, x=0.02, ha="left", fontsize=11)
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


def _mark_modes(axes: Axes, run: Trajectory, *, named: bool) -> None:
    """A dashed line at each change of mode and, if asked for, the name of each mode above."""
    changes = [event for event in run.events if event.mode_before != event.mode_after]
    ends = [run.start_time, *(event.t for event in changes if event.mode_after != "end"), run.end_time]
    modes = [*(event.mode_before for event in changes)]
    if len(modes) < len(ends) - 1:
        modes.append(changes[-1].mode_after if changes else run.arc_modes[-1])
    for t in ends[1:-1]:
        axes.axvline(t, color=GREY, ls="--", lw=0.8)
    axes.set_xlim(ends[0], max(ends[-1], ends[0] + 1e-12))
    if not named:
        return
    for mode, begin, end in zip(modes, ends[:-1], ends[1:], strict=False):
        narrow = end - begin < NARROW * (ends[-1] - ends[0])
        axes.annotate(
            mode, (0.5 * (begin + end), 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
            textcoords="offset points", ha="center", va="bottom", fontsize=8, rotation=90 if narrow else 0,
        )  # fmt: skip
