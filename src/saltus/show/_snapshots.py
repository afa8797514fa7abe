"""A run as stick figures: the robot at the instants that matter, numbered."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence

import casadi as ca
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.contact._unit import GRIP, GROUND
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._figure import GREY, SCALE, blank, label, look


def snapshots_figure(run: Trajectory, times: Sequence[float] | None = None, *, title: str = "") -> Figure:
    """The robot as a stick figure at some instants, the later the darker; at `snapshot_times` if none are given."""
    with look():
        figure = blank(7.2, 4.2)
        axes = figure.add_subplot()
        _draw_snapshots(axes, run, list(snapshot_times(run) if times is None else times))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(title or f"{run.system.name}: snapshots", x=0.02, ha="left", fontsize=11)
    return figure


def side_by_side_figure(runs: Mapping[str, Trajectory], *, title: str = "") -> Figure:
    """Several runs of a robot as stick figures on the same scale, with their modes and first figure."""
    if not runs:
        raise InputError("there are no runs to be put side by side")
    with look():
        wide = min(3, len(runs))
        figure = blank(3.2 * wide, 0.6 + 3.6 * math.ceil(len(runs) / wide))
        places = figure.subplots(math.ceil(len(runs) / wide), wide, sharex=True, sharey=True, squeeze=False).ravel()
        for axes in places[len(runs) :]:
            axes.set_visible(False)
        for axes, (name, run) in zip(places, runs.items(), strict=False):
            _draw_snapshots(axes, run, snapshot_times(run))
            axes.label_outer()
            told = [f"{label(n, '')} {value:.4g}" for n, value in run.figures.items() if value is not None][:1]
            lines = [name, *told, " ".join(run.arc_modes)]
            axes.set_title("\n".join(textwrap.shorten(line, 42) for line in lines), fontsize=8, loc="left")
        system = next(iter(runs.values())).system
        figure.suptitle(title or f"{system.name}: side by side", x=0.02, ha="left", fontsize=11)
    return figure


def _draw_snapshots(axes: Axes, run: Trajectory, instants: Sequence[float]) -> None:
    system = run.system
    if not system.skeleton:
        raise InputError(f"{system.name} has no skeleton to be drawn")
    names = list(dict.fromkeys(name for pair in system.skeleton for name in pair))
    d, points = system.dynamics, system.mechanism.points
    places = ca.Function("places", [d.q, d.p], [ca.vertcat(*(points[name].position for name in names))])
    for k, (t, x) in enumerate(zip(instants, run.at(np.array(instants)), strict=True)):
        at = np.array(places(x[: system.mechanism.nq], system.parameter_values)).reshape(-1, 2)
        shade = matplotlib.colormaps[SCALE](0.92 * (1 - k / max(1, len(instants) - 1)))
        for number, (one, other) in enumerate(system.skeleton):
            ends = at[[names.index(one), names.index(other)]]
            axes.plot(*ends.T, "-o", color=shade, lw=2.2, ms=3.5, label=f"{k + 1}: {t:.4f} s" if not number else "")
        # beside the last point, on alternate sides, so that numbers of postures that are near stay apart
        side = (7, -7)[k % 2]
        axes.annotate(
            str(k + 1), at[-1], xytext=(side, 5), textcoords="offset points", ha="center", fontsize=8, color=shade
        )
    if any(unit.kind == GROUND for unit in system.units):
        axes.axhline(0.0, color=GREY, lw=1.0)
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.margins(0.08, 0.12)


def snapshot_times(run: Trajectory) -> list[float]:
    """Start, end, each change between contact and flight, and from the first on two between them [oh_huang, item 4]."""
    contacts = [k for k, unit in enumerate(run.system.units) if unit.kind in (GROUND, GRIP)]
    closed = (run.arc_statuses[:, contacts] != 0).any(axis=1)
    arcs = itertools.pairwise(closed)
    inner = [event.t for event, (one, other) in zip(run.events, arcs, strict=False) if one != other]
    changes = [run.start_time, *inner, run.end_time]
    times = [changes[0]]
    for number, (begin, end) in enumerate(itertools.pairwise(changes)):
        if number:
            times += [begin + (end - begin) * share for share in (1 / 3, 2 / 3)]
        times.append(end)
    return times
