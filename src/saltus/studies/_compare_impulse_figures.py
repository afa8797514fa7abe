"""Pictures of impulses: ends over starts, swings to several targets, forces of trials and where they start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from saltus.hybrid import HybridSystem
from saltus.show._figure import GREY, STYLES, blank, look
from saltus.show._scene import Robot, draw_world
from saltus.show._strobe import shade
from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies._compare_learning import FAR, NEAR, Impulses
from saltus.studies._compare_queries import TARGETS, Queries
from saltus.studies._compare_runs import Shown

# Times between the postures of a stroboscope, and how long a run is drawn that missed, s.
FLASH, MISSED = 0.05, 1.0

# The end whose trials [yang2016, 7.17] shows, and how far they may be from it, m.
SLICE, HALF = 0.44, 0.005


def ends_figure(queries: Mapping[str, Queries], title: str) -> Figure:
    """Where the hand ends over where it starts, a curve for each target, with the target beside it.

    For all inverses alike: where it caught a bar at its target, or else where it came to its level again.
    """
    panels = []
    for name, one in queries.items():
        curves = [
            Curve(f"{100 * target:.1f} cm", 100 * np.array(one.starts), 100 * one.ends[:, k])
            for k, target in enumerate(TARGETS)
        ]
        levels = [Level(100 * float(target)) for target in TARGETS]
        panels.append(Panel(f"{name}\nend (cm)", curves, levels, gaps=True))
    figure = timeline(panels, title)
    figure.axes[-1].set_xlabel("start (cm); dashed: targets; no line: neither caught nor on its level again")
    return figure


def strobes_figure(rows: Mapping[str, Mapping[float, Shown]], title: str) -> Figure:
    """Swings to several targets as stick figures at equal steps of time, a row for each inverse, on the same scale."""
    with look():
        wide = max(len(runs) for runs in rows.values())
        figure = blank(0.3 + 2.25 * wide, 0.7 + 1.95 * len(rows))
        places = figure.subplots(len(rows), wide, sharex=True, sharey=True, squeeze=False)
        for line, (name, runs) in zip(places, rows.items(), strict=True):
            for axes, (target, one) in zip(line, runs.items(), strict=True):
                end = one.end if one.caught else min(MISSED, one.end)
                times = np.append(np.arange(one.run.start_time, end, FLASH), end)
                _postures(axes, one.run.system, one.run.at(times), [shade(k, len(times)) for k in range(len(times))])
                told = "missed" if one.time is None else f"after {one.time:.2f} s"
                axes.set_title(f"{name}, to {100 * target:g} cm:\n{told}", fontsize=8, loc="left")
                axes.label_outer()
        figure.suptitle(f"{title}, every {1e3 * FLASH:g} ms, the later the darker", x=0.02, ha="left", fontsize=11)
    return figure


def _postures(axes: Any, system: HybridSystem, states: np.ndarray, colours: Sequence[Any]) -> None:
    """A robot in some states, each in its colour, in its world."""
    robot = Robot.of(system)
    at = robot.at(states)
    lines = [line for place in at for line in robot.outlines(place)]
    each = [colour for colour, place in zip(colours, at, strict=True) for _ in robot.outlines(place)]
    axes.add_collection(LineCollection(lines, colors=each, linewidths=1.4, capstyle="round", zorder=3))
    reach = system.values["L1"] + system.values["L2"]
    axes.set_aspect("equal")
    axes.set(xlabel="x (m)", ylabel="y (m)", xlim=(-reach, reach), ylim=(-1.1 * reach, 0.25 * reach))
    draw_world(axes, system)


def forces_of(impulses: Impulses) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Starts, m, and forces on the hand, N, of all trials that ended near `SLICE`, and of those that were learned."""
    made = []
    for trials in (impulses.trials, impulses.soft):
        near = trials.reached & (np.abs(trials.x - SLICE) <= HALF)
        made += [trials.start[near], trials.force[near]]
    return made[0], made[1], made[2], made[3]


def forces_figure(impulses: Impulses, title: str) -> Figure:
    """Forces of trials that ended near one place over their starts, and those from which the committee learned."""
    start, force, learned_start, learned_force = forces_of(impulses)
    with look():
        figure = blank(6.8, 3.4)
        axes = figure.subplots()
        axes.plot(100 * start, force, "o", color=GREY, ms=2.5, label="all that came there", zorder=2)
        axes.plot(100 * learned_start, learned_force, "o", color="#C03A2B", ms=3.5, label="kept for training", zorder=3)
        axes.set(xlabel="start (cm)", ylabel="largest force on the hand (N)")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        figure.suptitle(title, x=0.02, ha="left", fontsize=11)
    return figure


def poses_figure(impulses: Impulses, title: str) -> Figure:
    """The robot where trials begin: furthest, in the middle and nearest."""
    starts = np.array([-FAR, -(FAR + NEAR) / 2, -NEAR])
    states = np.zeros((3, len(impulses.robot.state_names)))
    states[:, 2:4] = impulses.swinger.angles(starts).T
    with look():
        figure = blank(6.8, 2.2)
        for axes, start, state in zip(figure.subplots(1, 3, sharey=True), starts, states, strict=True):
            bars = {"bar0_x": float(start), "bar1_x": 0.0}
            _postures(axes, impulses.robot.with_parameters(**bars), state[None], [STYLES[0]["color"]])
            axes.set_title(f"from {100 * start:g} cm", fontsize=9, loc="left")
            axes.label_outer()
        figure.suptitle(title, x=0.02, ha="left", fontsize=11)
    return figure
