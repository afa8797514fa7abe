"""A run as stick figures at equal steps of time, and the paths that points of the robot take."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._figure import GREY, SCALE, label, look, style
from saltus.show._fine import fine
from saltus.show._modes import bands_of
from saltus.show._scene import Robot, positions, scene

# How many stick figures are drawn unless said, and how many of them the legend names at most.
COUNT, NAMED = 15, 6
# Marks that are nearer to each other than this are one, points.
NEAREST = 5.0


def strobe_figure(run: Trajectory, count: int = COUNT, *, title: str = "") -> Figure:
    """The robot at equal steps of time from start to end, the later the darker."""
    if count < 2:
        raise InputError(f"a stroboscope flashes at least twice, got {count}")
    robot = Robot.of(run.system)
    times = np.linspace(run.start_time, run.end_time, count if run.end_time > run.start_time else 1)
    at = robot.at(run.at(times))
    shades = [shade(k, len(times)) for k in range(len(times))]
    with look():
        named = np.unique(np.linspace(0, len(times) - 1, min(NAMED, len(times))).round().astype(int))
        handles = [Line2D([], [], color=shades[k], marker="o", lw=2.0, label=f"{times[k]:.4g} s") for k in named]
        step = f", every {times[1] - times[0]:.4g} s" if len(times) > 1 else ""
        figure, axes = scene(
            run.system, *robot.box(at), handles, title or f"{run.system.name}: stroboscope{step}"
        )  # fmt: skip
        lines = [line for place in at for line in robot.outlines(place)]
        colours = [shade for shade, place in zip(shades, at, strict=True) for _ in robot.outlines(place)]
        axes.add_collection(
            LineCollection(lines, colors=colours, linewidths=1.8, capstyle="round", zorder=3, gid="links"),
            autolim=False,
        )
        x, y = at.reshape(-1, 2).T
        axes.scatter(x, y, s=10, c=np.repeat(shades, len(robot.names), axis=0), zorder=3.1)
    return figure


def shade(k: int, count: int) -> tuple[float, float, float, float]:
    """The colour of one of many instants: from light to dark."""
    red, green, blue, alpha = matplotlib.colormaps[SCALE](0.92 * (1.0 - k / (count - 1)) if count > 1 else 0.0)
    return red, green, blue, alpha


def paths_figure(run: Trajectory, points: Sequence[str] | None = None, *, title: str = "") -> Figure:
    """The ways of named points, those of the skeleton if none are named, with a mark at each event.

    The first and the last posture are drawn behind them, if there is a skeleton.
    """
    run = fine(run)
    system = run.system
    skeleton = list(dict.fromkeys(name for pair in system.skeleton for name in pair))
    names = list(points if points is not None else skeleton or system.mechanism.points)
    if not names:
        raise InputError(f"{system.name} has no points whose paths could be drawn")
    ways = positions(system, names, run.x)
    bands = bands_of(run)
    marks = positions(system, names, run.at([band.begin for band in bands[1:]])) if len(bands) > 1 else None
    low, high = np.nanmin(ways, axis=(0, 1)), np.nanmax(ways, axis=(0, 1))
    robot = Robot.of(system) if system.skeleton else None
    ends = robot.at(run.x[[0, -1]]) if robot else None
    if robot and ends is not None:
        box = robot.box(ends)
        low, high = np.fmin(low, box[0]), np.fmax(high, box[1])
    with look():
        handles = [Line2D([], [], label=label(name, ""), **style(k)) for k, name in enumerate(names)]
        handles.append(Line2D([], [], color=GREY, marker="o", mfc="white", ls="", label="start"))
        if marks is not None:
            handles.append(Line2D([], [], color=GREY, marker="D", ms=3.5, ls="", label="event"))
        figure, axes = scene(system, low, high, handles, title or f"{system.name}: paths of points")
        if robot and ends is not None:
            for at, grey in zip(ends, ("#C9C9C9", "#9A9A9A"), strict=True):
                axes.add_collection(
                    LineCollection(robot.outlines(at), colors=grey, linewidths=1.4, zorder=2), autolim=False
                )
        for k in range(len(names)):
            axes.plot(*ways[:, k].T, **style(k), zorder=3 + 0.01 * k)
            axes.plot(*ways[0, k], "o", mec=style(k)["color"], mfc="white", zorder=4)
            if marks is not None:
                shown = _apart(axes.transData.transform(marks[:, k]) * 72.0 / figure.dpi)
                axes.plot(*marks[shown, k].T, "D", color=style(k)["color"], ms=3.5, zorder=3.9)
    return figure


def _apart(places: np.ndarray) -> list[int]:
    """Those of some places, in points, that are not near one before them."""
    shown: list[int] = []
    for k, place in enumerate(places):
        if all(np.hypot(*(place - places[other])) >= NEAREST for other in shown[-400:]):
            shown.append(k)
    return shown
