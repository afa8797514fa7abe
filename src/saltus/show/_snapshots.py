"""A run as stick figures: the robot at the instants that matter, numbered and named."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from saltus.contact._unit import GRIP
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._figure import blank, label, look
from saltus.show._points import GroundLine, ground_lines, on_ground, up_name
from saltus.show._scene import CIRCLE, Robot, draw_world, scene
from saltus.show._strobe import shade

# Size of a number, and how far from a point of its posture it may stand, in points.
SIZE, DISTANCES = 8.0, (9.0, 12.0, 16.0, 21.0)


@dataclass(frozen=True)
class Posture:
    """One stick figure: where its points and its links are, m, and its colour."""

    points: np.ndarray
    links: np.ndarray
    colour: Any


def snapshots_figure(run: Trajectory, times: Sequence[float] | None = None, *, title: str = "") -> Figure:
    """The robot as a stick figure at some instants, the later the darker; at `snapshot_times` if none are given."""
    instants = list(snapshot_times(run) if times is None else times)
    if not instants:
        raise InputError("name at least one instant of the run")
    with look():
        robot, drawn = _postures(run, instants)
        handles = [
            Line2D([], [], color=posture.colour, marker="o", ms=3.5, lw=2.2, label=f"{k}: {t:.4f} s, {told}")
            for k, (posture, t, told) in enumerate(zip(drawn, instants, _told(run, instants), strict=True), 1)
        ]
        box = robot.box(np.array([posture.points for posture in drawn]))
        figure, axes = scene(run.system, *box, handles, title or f"{run.system.name}: snapshots")
        _draw(axes, robot, drawn)
        _number(axes, drawn, ground_lines(run.system))
    return figure


def side_by_side_figure(runs: Mapping[str, Trajectory], *, title: str = "") -> Figure:
    """Several runs of a robot as stick figures on the same scale, with their instants, modes and first figure."""
    if not runs:
        raise InputError("there are no runs to be put side by side")
    with look():
        wide = 2 if len(runs) == 4 else min(3, len(runs))
        figure = blank(3.2 * wide, 0.6 + 3.6 * math.ceil(len(runs) / wide))
        places = figure.subplots(math.ceil(len(runs) / wide), wide, sharex=True, sharey=True, squeeze=False).ravel()
        for axes in places[len(runs) :]:
            axes.set_visible(False)
        drawn = []
        for place, (axes, (name, run)) in enumerate(zip(places, runs.items(), strict=False)):
            instants = snapshot_times(run)
            robot, postures = _postures(run, instants)
            drawn.append(postures)
            _draw(axes, robot, postures)
            axes.set_aspect("equal")
            axes.set(xlabel="x (m)", ylabel=f"{up_name(run.system)} (m)")
            axes.margins(0.08, 0.12)
            axes.label_outer()
            if place + wide >= len(runs):  # nothing is below it
                axes.tick_params(labelbottom=True)
                axes.set_xlabel("x (m)")
            told = [f"{label(n, '')} {value:.4g}" for n, value in run.figures.items() if value is not None][:1]
            turns = dict(_turns(run))
            numbers = ", ".join(f"{k} {turns[t]}" for k, t in enumerate(instants, 1) if t in turns)
            lines = [name, *told, " ".join(run.arc_modes), numbers]
            axes.set_title("\n".join(textwrap.fill(line, 44) for line in lines), fontsize=8, loc="left")
        system = next(iter(runs.values())).system
        figure.suptitle(title or f"{system.name}: side by side", x=0.02, ha="left", fontsize=11)
        figure.draw_without_rendering()
        for axes, postures, run in zip(places, drawn, runs.values(), strict=False):
            draw_world(axes, run.system)
            _number(axes, postures, ground_lines(run.system))
    return figure


def snapshot_times(run: Trajectory) -> list[float]:
    """Start, separations, first impact, landings and end; from the first on two between them [oh_huang, item 4]."""
    turns = [t for t, _ in _turns(run)]
    if run.end_time <= run.start_time:
        return turns[:1]
    times = [turns[0]]
    for number, (begin, end) in enumerate(itertools.pairwise(turns)):
        if number:
            times += [begin + (end - begin) * share for share in (1 / 3, 2 / 3)]
        times.append(end)
    return times


def _turns(run: Trajectory) -> list[tuple[float, str]]:
    """Start, end, each change between contact and flight, and the first impact even if the mode stays as it is."""
    contacts = [k for k, unit in enumerate(run.system.units) if unit.kind == GRIP or on_ground(unit)]
    closed = (run.arc_statuses[:, contacts] != 0).any(axis=1)
    turns, struck = [(run.start_time, "start")], False
    # an event parts two arcs, but for one in which the run ends
    for event, (before, after) in zip(run.events, itertools.pairwise(closed), strict=False):
        impact = any(event.impulse.values())
        if (before != after or (impact and not struck)) and turns[-1][0] < event.t < run.end_time:
            turns.append((event.t, "impact" if impact else "contact" if after else "separation"))
        struck = struck or impact
    return [*turns, (run.end_time, "end")]


def _told(run: Trajectory, instants: Sequence[float]) -> list[str]:
    """What happens at each instant: a turn of the motion, or the mode that it is in."""
    turns = _turns(run)
    near = 1e-9 * max(1.0, abs(run.end_time))
    modes = [run.arc_modes[arc] for arc in run.everything_at(instants).arc]
    return [
        next((what for at, what in turns if abs(at - t) <= near), textwrap.shorten(mode, 30, placeholder=" …"))
        for t, mode in zip(instants, modes, strict=True)
    ]


def _postures(run: Trajectory, instants: Sequence[float]) -> tuple[Robot, list[Posture]]:
    robot = Robot.of(run.system)
    places = robot.at(run.at(np.array(instants)))
    return robot, [
        Posture(at, at[robot.pairs], shade(k, len(instants)))
        for k, at in enumerate(places)
    ]  # fmt: skip


def _draw(axes: Axes, robot: Robot, drawn: Sequence[Posture]) -> None:
    for posture in drawn:
        for ends in posture.links:
            axes.plot(*ends.T, "-o", color=posture.colour, lw=2.2, ms=3.5)
        for k, radius in robot.radii.items():
            axes.plot(*(posture.points[k] + radius * CIRCLE).T, color=posture.colour, lw=1.2)


def _number(axes: Axes, drawn: Sequence[Posture], grounds: Sequence[GroundLine]) -> None:
    """A number at each posture, in its colour, clear of links, ground and other numbers where there is room."""
    points = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]

    def seen(places: np.ndarray) -> np.ndarray:
        shown: np.ndarray = axes.transData.transform(places.reshape(-1, 2)).reshape(places.shape) * points
        return shown

    shown, links = [seen(posture.points) for posture in drawn], [seen(posture.links) for posture in drawn]
    levels = seen(np.array([_ends(line.x, line.y, line.angle) for line in grounds]).reshape(-1, 2, 2))
    low, high = np.array(axes.get_window_extent().get_points()) * points
    # the last point of the skeleton comes first, and what is near before what is far
    offsets = np.array([r * way for r in DISTANCES for way in _AROUND])
    far = np.hypot(*offsets.T)
    taken = np.empty((0, 2))
    for k, posture in enumerate(drawn):
        radius = SIZE * (0.55 if k < 9 else 0.8)
        others = np.concatenate([links[n] for n in range(len(drawn)) if n != k] or [np.empty((0, 2, 2))])
        places = (shown[k][::-1, None] + offsets).reshape(-1, 2)
        mine, theirs = _distances(places, links[k]), _distances(places, others)
        near = np.concatenate([mine, theirs, _distances(places, levels)], axis=1)
        under = np.maximum(0.0, radius + 3.0 - near).sum(axis=1)
        away = np.hypot(*(places[:, None] - taken).transpose(2, 0, 1))
        over = np.maximum(0.0, 2 * radius + 1.0 - away).sum(axis=1)
        outside = (np.maximum(0.0, low + radius - places) + np.maximum(0.0, places + radius - high)).sum(axis=1)
        strange = np.maximum(0.0, 2.0 + mine.min(axis=1) - theirs.min(axis=1, initial=math.inf))
        rank = np.repeat(np.arange(len(shown[k])), len(offsets))
        cost = 10.0 * (under + over + outside) + strange + np.tile(far, len(shown[k])) + 8.0 * rank
        best = int(np.argmin(cost))
        taken = np.vstack([taken, places[best]])
        text = axes.annotate(
            str(k + 1), posture.points[::-1][rank[best]], xytext=tuple(offsets[best % len(offsets)]),
            textcoords="offset points", ha="center", va="center", fontsize=SIZE, fontweight="bold",
            color=posture.colour, zorder=5, path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
        text.set_in_layout(False)


_AROUND = [np.array([math.cos(a), math.sin(a)]) for a in math.radians(15.0) * np.arange(3, 27)]


def _ends(x: float, y: float, angle: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two points of a ground, far apart."""
    far = 1e4
    dx, dy = far * math.cos(angle), far * math.sin(angle)
    return (x - dx, y - dy), (x + dx, y + dy)


def _distances(places: np.ndarray, links: np.ndarray) -> np.ndarray:
    """From points, a row each, to some links, a column each."""
    begin, along = links[:, 0], links[:, 1] - links[:, 0]
    share = ((places[:, None] - begin) * along).sum(axis=2) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest = begin + np.clip(share, 0.0, 1.0)[..., None] * along
    found: np.ndarray = np.hypot(*(places[:, None] - nearest).transpose(2, 0, 1))
    return found
