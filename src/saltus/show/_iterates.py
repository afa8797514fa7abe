"""What became of a gait that was repeated by the clock: error, kinetic energy and height, cycle by cycle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from saltus.gaits import Iterates
from saltus.show._figure import BLUE, GREEN, ORANGE, RED, blank, error_unit, gait_title, look, wrapped

_STYLES: tuple[dict[str, str], ...] = (
    {"color": BLUE, "marker": "o"}, {"color": ORANGE, "marker": "s", "linestyle": "--"},
    {"color": GREEN, "marker": "^", "linestyle": "-."}, {"color": RED, "marker": "D", "linestyle": ":"},
)  # fmt: skip
# A gait whose error is above this is not that gait any more; maps are cut off there too.
LOST = 5.0
# Smaller differences, as a share of what is drawn, are rounding, and so are smaller errors and heights in m.
FINEST, LEAST_ERROR, LEAST_HEIGHT = 0.01, float(np.finfo(float).eps) ** 2, 1e-3
ERROR, KINETIC, HEIGHT = "error at the section", "kinetic energy at the section", "height of the hold at impact"


def error_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """The error at the section in each cycle, on a logarithmic axis."""
    return _alone(runs, _errors, title or _title(runs, ERROR))


def kinetic_figure(runs: Mapping[str, Iterates], *, title: str = "", until: int | None = None) -> Figure:
    """The kinetic energy at the section in each cycle, or up to one; the axis is that of cycles before a loss."""

    def draw(axes: Axes, runs: Mapping[str, Iterates]) -> None:
        _kinetic(axes, runs, until)

    return _alone(runs, draw, title or _title(runs, KINETIC))


def height_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """The height of each new hold."""
    return _alone(runs, _heights, title or _title(runs, HEIGHT))


def iterates_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """All three, one above the other."""
    with look():
        figure = blank(6.4, 8.6)
        panels = figure.subplots(3, 1, sharex=True)
        for axes, draw in zip(panels, (_errors, _kinetic, _heights), strict=True):
            draw(axes, runs)
            axes.set_xlabel("")
        panels[-1].set_xlabel("cycle")
        panels[0].set_title(title or _title(runs, "cycle by cycle"))
        _legend(figure, runs)
    return figure


def _alone(runs: Mapping[str, Iterates], draw: Callable[[Axes, Mapping[str, Iterates]], None], title: str) -> Figure:
    with look():
        figure = blank(6.4, 4.6)
        axes = figure.add_subplot()
        draw(axes, runs)
        axes.set_title(title)
        _legend(figure, runs)
    return figure


def _title(runs: Mapping[str, Iterates], what: str) -> str:
    return gait_title(next(iter(runs.values())).gait, what)


def _styled(runs: Mapping[str, Iterates]) -> Iterator[tuple[Iterates, dict[str, str]]]:
    return zip(runs.values(), itertools.cycle(_STYLES), strict=False)


def _errors(axes: Axes, runs: Mapping[str, Iterates]) -> None:
    for run, style in _styled(runs):
        axes.semilogy(run.cycle, np.maximum(run.error, LEAST_ERROR), **style)  # type: ignore[arg-type]
    unit = error_unit(next(iter(runs.values())).gait)
    _finish(axes, runs, f"{ERROR}{unit}", None)


def _kinetic(axes: Axes, runs: Mapping[str, Iterates], until: int | None = None) -> None:
    drawn = [np.array([run.kinetic_start, *run.kinetic[:until]]) for run in runs.values()]
    kept = np.concatenate([row[: lost_in(run)] for row, run in zip(drawn, runs.values(), strict=True)])
    if not np.abs(kept).max() > 0:  # it begins at rest, and was lost at once
        kept = np.concatenate(drawn)
    for (_, style), row in zip(_styled(runs), drawn, strict=True):
        axes.plot(np.arange(len(row)), row, **style)  # type: ignore[arg-type]
    bottom, top = _view(kept, FINEST * float(np.abs(kept).max()), above_zero=True)
    axes.set_ylim(bottom, top)
    for (_, style), row in zip(_styled(runs), drawn, strict=True):
        _outside(axes, row, bottom, top, style["color"])
    highest = max(float(row.max()) for row in drawn)
    if highest > top:
        axes.set_title(f"▲ beyond the axis, up to {highest:.3g} J", loc="right", fontsize=8.5)
    _finish(axes, runs, f"{KINETIC} (J)", until)


def _heights(axes: Axes, runs: Mapping[str, Iterates]) -> None:
    for run, style in _styled(runs):
        axes.plot([0, *run.cycle], [0.0, *run.y], **style)  # type: ignore[arg-type]
    axes.set_ylim(_view(np.concatenate([[0.0], *(run.y for run in runs.values())]), LEAST_HEIGHT))
    _finish(axes, runs, f"{HEIGHT} (m)", None)


def lost_in(run: Iterates) -> int | None:
    """The first cycle that is not one of the gait any more, because its error is too large or it did not end."""
    return run.first_above(LOST) or (run.count + 1 if run.reason else None)


def _view(values: np.ndarray, least: float, *, above_zero: bool = False) -> tuple[float, float]:
    """Limits of an axis around values, with room for a little more and no finer than rounding."""
    low, high = float(values.min()), float(values.max())
    room = max(0.15 * (high - low), least)
    return max(low - room, 0.0) if above_zero else low - room, high + room


def _outside(axes: Axes, row: np.ndarray, bottom: float, top: float, colour: str) -> None:
    """Arrows for what is beyond the axis."""
    for cycle in np.flatnonzero((row > top) | (row < bottom)):
        at, arrow = (top, "^") if row[cycle] > top else (bottom, "v")
        axes.plot(cycle, at, arrow, color=colour, markersize=8, clip_on=False)


def _finish(axes: Axes, runs: Mapping[str, Iterates], what: str, until: int | None) -> None:
    axes.set_xlabel("cycle")
    axes.set_ylabel(what)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for run, style in _styled(runs):
        lost = lost_in(run)
        if lost is not None and (until is None or lost <= until):
            axes.axvline(lost, color=style["color"], linewidth=1.0, linestyle=":", zorder=1)


def _legend(figure: Figure, runs: Mapping[str, Iterates]) -> None:
    """Names of the runs, and where and how they are lost, below the axes."""
    handles = []
    for (name, run), (_, style) in zip(runs.items(), _styled(runs), strict=True):
        lost, text = lost_in(run), []
        if lost is not None and lost <= run.count:
            text.append(f"error above {LOST:g} in cycle {lost}, dotted")
        if run.reason:
            text.append(f"lost in {run.reason}")
        if name or text:
            about = ": ".join(part for part in (name, "; ".join(text)) if part)
            handles.append(Line2D([], [], label=wrapped(about), **style))  # type: ignore[arg-type]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=1, fontsize=8.5)
