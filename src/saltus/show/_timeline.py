"""Curves over time: panels below each other, with the modes of a run behind them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from saltus.engine import Trajectory
from saltus.show._figure import GREY, look, sheet, style
from saltus.show._layout import INCH, LINE, beside, place
from saltus.show._modes import (
    Name,
    apart,
    bands_of,
    draw_bands,
    draw_events,
    draw_names,
    joined,
    names_of,
    room_above,
    shared_words,
)

WIDTH, ALONE, STACKED = 6.8, 2.3, 1.65
# More events than this are ticks at the foot of the axes.
MOST_LINES = 80
# An instant is shown in the middle of an axis of this length, s.
INSTANT = 0.1


@dataclass(frozen=True)
class Curve:
    """A quantity over time; where it is not a finite number there is a gap."""

    name: str
    t: np.ndarray
    values: np.ndarray

    @property
    def missing(self) -> int:
        """How many values are no finite numbers."""
        return int((~np.isfinite(self.values)).sum())


@dataclass(frozen=True)
class Level:
    """A dashed line at a height."""

    height: float
    name: str = ""
    colour: str = GREY


@dataclass(frozen=True)
class Panel:
    """One axis: what it shows, its curves and levels."""

    what: str
    curves: Sequence[Curve]
    levels: Sequence[Level] = ()
    limits: tuple[float, float] | None = None
    log: bool = False
    notes: Sequence[str] = ()
    # whether a curve that is alone is named too, and whether gaps mean that there is nothing to show
    named: bool = False
    gaps: bool = False


def timeline(panels: Sequence[Panel], title: str, run: Trajectory | None = None) -> Figure:
    """Panels below each other over the same time; with the modes and events of a run, if there is one."""
    heights = [ALONE if len(panels) == 1 else STACKED] * len(panels)
    with look():
        figure = sheet(WIDTH, 1.0 + sum(heights))
        rows: list[Axes] = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
        for axes, panel, height in zip(rows, panels, heights, strict=True):
            _draw(axes, panel, height)
        rows[0].set_xlim(*_span(panels, run))
        marks = None if run is None else _Marks(run, rows)
        grid, names = [[axes] for axes in rows], [[panel.what] for panel in panels]
        if marks is None:
            place(figure, grid, names, heights, title)
            rows[-1].set_xlabel("time (s)")
        else:
            place(figure, grid, names, heights, title, around=marks.room)
            marks.draw()
    return figure


class _Marks:
    """Bands, events and names of the modes of a run, as far as there is room for them."""

    def __init__(self, run: Trajectory, rows: Sequence[Axes]) -> None:
        self.rows, self.scale, self.crowded = rows, 1.0, False
        self.bands = self.named = bands_of(run)
        self.names: list[Name] = []
        self.shown: list[float] = []
        self.text = ""

    def room(self, wide: float) -> tuple[float, float]:
        """Inches above and below axes of a width."""
        begin, end = self.rows[0].get_xlim()
        self.scale = wide * INCH / (end - begin)
        self.shown = apart([band.begin for band in self.bands[1:]], self.scale)
        self.crowded = len(self.shown) > MOST_LINES
        if self.crowded:
            self.shown = [band.begin for band in self.bands[1:]]
        self.named = joined(self.bands) if self.crowded else self.bands
        self.names = names_of(self.named, self.scale)
        self.text = textwrap.fill("time (s)" + self._left_out(), max(24, int(wide * INCH / 5.0)))
        return room_above(self.names), self.text.count("\n") * LINE / INCH

    def draw(self) -> None:
        """All of them, and what time is."""
        draw_bands(self.rows, self.bands)
        draw_events(self.rows, self.shown, foot=self.crowded)
        draw_names(self.rows[0], self.names)
        self.rows[-1].set_xlabel(self.text)

    def _left_out(self) -> str:
        """What is to be said about names and lines for which there is no room."""
        unnamed, events = len(self.named) - len(self.names), len(self.bands) - 1
        common = shared_words(band.mode for band in self.bands)
        notes = [f"always {' '.join(common)}"] if common else []
        notes += [f"{unnamed} short mode{'s' if unnamed > 1 else ''} not named"] if unnamed else []
        if self.crowded:
            notes.append(f"{events} events as ticks at the foot")
        elif events > len(self.shown):
            notes.append(f"{events - len(self.shown)} of {events} events not marked")
        return "; " + ", ".join(notes) if notes else ""


def _draw(axes: Axes, panel: Panel, height: float) -> None:
    handles: list[Any] = []
    for k, curve in enumerate(panel.curves):
        # what is alone needs no gap, and has no line: it is a dot
        values = np.where(np.isfinite(curve.values), curve.values, np.nan)
        (line,) = axes.plot(curve.t, values, label=curve.name, **style(k), zorder=3)
        lone = _alone(curve.t, values)
        if lone.any():
            axes.plot(curve.t[lone], values[lone], "o", color=line.get_color(), ms=3.0, zorder=3)
        if len(panel.curves) > 1 or panel.named or (curve.missing and not panel.gaps):
            handles.append(line)
    for level in panel.levels:
        drawn = axes.axhline(level.height, color=level.colour, ls=(0, (5, 3)), lw=1.0, zorder=2.5)
        if level.name:
            handles.append(Line2D([], [], color=level.colour, ls=drawn.get_linestyle(), lw=1.0, label=level.name))
    if panel.log:
        axes.set_yscale("log")
    if panel.limits:
        axes.set_ylim(*panel.limits)
    elif not any(np.isfinite(curve.values).any() for curve in panel.curves):
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no values", transform=axes.transAxes, ha="center", va="center", color=GREY)
    elif not panel.log:
        _widen(axes, panel)
    handles += [Line2D([], [], ls="", label=note) for note in panel.notes]
    if not panel.log and height < ALONE:
        axes.locator_params(axis="y", nbins=5)
    # a common power of ten stands left of the axis, where no mode is named
    axes.yaxis.get_offset_text().set(x=-0.03, ha="right")
    beside(axes, handles, height)


def _alone(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values without a neighbour in time that a line could lead to."""
    there = np.isfinite(values)
    linked = there[1:] & there[:-1] & (np.diff(t) > 0.0)
    return there & ~np.append(False, linked) & ~np.append(linked, False)


def _widen(axes: Axes, panel: Panel) -> None:
    """No axis is so fine that rounding looks like motion."""
    rows = [curve.values[np.isfinite(curve.values)] for curve in panel.curves]
    heights = np.concatenate([*rows, [level.height for level in panel.levels]])
    low, high = float(heights.min()), float(heights.max())
    if high - low < 1e-9 * max(1e-3, abs(low), abs(high)):
        middle, half = 0.5 * (low + high), max(0.1 * max(abs(low), abs(high)), 1e-3)
        axes.set_ylim(middle - 1.15 * half, middle + 1.15 * half)


def _span(panels: Sequence[Panel], run: Trajectory | None) -> tuple[float, float]:
    """The time that is shown."""
    if run is not None:
        begin, end = run.start_time, run.end_time
    else:
        times = np.concatenate([curve.t for panel in panels for curve in panel.curves] or [np.zeros(1)])
        begin, end = (float(times.min()), float(times.max())) if times.size else (0.0, 0.0)
    if end > begin:
        return begin, end
    return begin - 0.5 * INSTANT, begin + 0.5 * INSTANT
