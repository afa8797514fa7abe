"""A run as stick figures: the robot at the instants that matter, numbered and named."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from saltus.contact._unit import GRIP, GROUND
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._figure import GREY, SCALE, blank, label, look

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
    with look():
        figure = blank(7.2, 4.2)
        axes = figure.add_subplot()
        drawn = _draw_snapshots(axes, run, list(snapshot_times(run) if times is None else times))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(title or f"{run.system.name}: snapshots", x=0.02, ha="left", fontsize=11)
        figure.draw_without_rendering()
        _number(axes, drawn, ground=_on_ground(run))
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
            drawn.append(_draw_snapshots(axes, run, instants))
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
            _number(axes, postures, ground=_on_ground(run))
    return figure


def snapshot_times(run: Trajectory) -> list[float]:
    """Start, separations, first impact, landings and end; from the first on two between them [oh_huang, item 4]."""
    turns = [t for t, _ in _turns(run)]
    times = [turns[0]]
    for number, (begin, end) in enumerate(itertools.pairwise(turns)):
        if number:
            times += [begin + (end - begin) * share for share in (1 / 3, 2 / 3)]
        times.append(end)
    return times


def _turns(run: Trajectory) -> list[tuple[float, str]]:
    """Start, end, each change between contact and flight, and the first impact even if the mode stays as it is."""
    contacts = [k for k, unit in enumerate(run.system.units) if unit.kind in (GROUND, GRIP)]
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


def _on_ground(run: Trajectory) -> bool:
    return any(unit.kind == GROUND for unit in run.system.units)


def _draw_snapshots(axes: Axes, run: Trajectory, instants: Sequence[float]) -> list[Posture]:
    system = run.system
    if not system.skeleton:
        raise InputError(f"{system.name} has no skeleton to be drawn")
    names = list(dict.fromkeys(name for pair in system.skeleton for name in pair))
    pairs = [(names.index(one), names.index(other)) for one, other in system.skeleton]
    d, points = system.dynamics, system.mechanism.points
    places = ca.Function("places", [d.q, d.p], [ca.vertcat(*(points[name].position for name in names))])
    told, states = _told(run, instants), run.at(np.array(instants))
    drawn = []
    for k, (t, x) in enumerate(zip(instants, states, strict=True)):
        at = np.array(places(x[: system.mechanism.nq], system.parameter_values)).reshape(-1, 2)
        shade = matplotlib.colormaps[SCALE](0.92 * (1 - k / max(1, len(instants) - 1)))
        drawn.append(Posture(at, at[pairs], shade))
        for number, ends in enumerate(at[pairs]):
            text = "" if number else f"{k + 1}: {t:.4f} s, {told[k]}"
            axes.plot(*ends.T, "-o", color=shade, lw=2.2, ms=3.5, label=text)
    if _on_ground(run):
        axes.axhline(0.0, color=GREY, lw=1.0)
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.margins(0.08, 0.12)
    return drawn


def _number(axes: Axes, drawn: Sequence[Posture], *, ground: bool) -> None:
    """A number at each posture, in its colour, clear of links, ground and other numbers where there is room."""
    points = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    shown = [axes.transData.transform(posture.points) * points for posture in drawn]
    links = [axes.transData.transform(posture.links.reshape(-1, 2)).reshape(-1, 2, 2) * points for posture in drawn]
    level = float(axes.transData.transform((0.0, 0.0))[1]) * points if ground else math.inf
    low, high = np.array(axes.get_window_extent().get_points()) * points
    around = [np.array([math.cos(a), math.sin(a)]) for a in math.radians(15.0) * np.arange(3, 27)]
    taken: list[np.ndarray] = []
    for k, posture in enumerate(drawn):
        radius = SIZE * (0.55 if k < 9 else 0.8)
        others = np.concatenate([links[n] for n in range(len(drawn)) if n != k] or [np.empty((0, 2, 2))])

        def cost(place: np.ndarray, own: int = k, radius: float = radius, others: np.ndarray = others) -> float:
            mine, theirs = _distances(place, links[own]), _distances(place, others)
            under = np.maximum(0.0, radius + 3.0 - np.array([*mine, *theirs, abs(place[1] - level)])).sum()
            over = sum(max(0.0, 2 * radius + 1.0 - math.dist(place, other)) for other in taken)
            outside = np.maximum(0.0, low + radius - place).sum() + np.maximum(0.0, place + radius - high).sum()
            strange = max(0.0, 2.0 + mine.min() - theirs.min(initial=math.inf))
            return float(10.0 * (under + over + outside) + strange)

        # the last point of the skeleton comes first, and what is near before what is far
        best = min(
            (cost(point + r * way) + r + 8.0 * rank, rank, r, n, tuple(point + r * way), tuple(r * way))
            for rank, point in enumerate(shown[k][::-1])
            for r in DISTANCES
            for n, way in enumerate(around)
        )
        place, offset = best[-2:]
        taken.append(np.array(place))
        text = axes.annotate(
            str(k + 1), posture.points[::-1][best[1]], xytext=offset, textcoords="offset points", ha="center",
            va="center", fontsize=SIZE, fontweight="bold", color=posture.colour, zorder=5,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
        text.set_in_layout(False)


def _distances(place: np.ndarray, links: np.ndarray) -> np.ndarray:
    """From a point to each of some links."""
    begin, along = links[:, 0], links[:, 1] - links[:, 0]
    share = ((place - begin) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest: np.ndarray = begin + np.clip(share, 0.0, 1.0)[:, None] * along
    return np.hypot(*(place - nearest).T)
