"""What became of a gait that was repeated by the clock: error, kinetic energy and height, cycle by cycle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from saltus.gaits import Iterates
from saltus.show._figure import BLUE, ORANGE, blank, look

_STYLES = ({"color": BLUE, "marker": "o"}, {"color": ORANGE, "marker": "s", "linestyle": "--"})


def error_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """The error at the section in each cycle, on a logarithmic axis."""
    with look():
        figure = blank()
        _errors(figure.add_subplot(), runs, title)
    return figure


def kinetic_figure(runs: Mapping[str, Iterates], *, title: str = "", until: int | None = None) -> Figure:
    """The kinetic energy at the section in each cycle, or in those up to one."""
    with look():
        figure = blank()
        _kinetic(figure.add_subplot(), runs, title, until)
    return figure


def height_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """The height of each new hold."""
    with look():
        figure = blank()
        _heights(figure.add_subplot(), runs, title)
    return figure


def iterates_figure(runs: Mapping[str, Iterates], *, title: str = "") -> Figure:
    """All three, one above the other."""
    with look():
        figure = blank(6.4, 8.0)
        top, middle, bottom = figure.subplots(3, 1, sharex=True)
        _errors(top, runs, title)
        _kinetic(middle, runs, "")
        _heights(bottom, runs, "")
        for axes in (top, middle):
            axes.set_xlabel("")
        for axes in (middle, bottom):
            if axes.get_legend() is not None:
                axes.get_legend().remove()  # type: ignore[union-attr]
    return figure


def _errors(axes: Axes, runs: Mapping[str, Iterates], title: str) -> None:
    for (name, run), style in zip(runs.items(), _STYLES, strict=False):
        axes.semilogy(run.cycle, np.maximum(run.error, np.finfo(float).tiny), label=name, **style)  # type: ignore[arg-type]
    _finish(axes, runs, "error at the section", title)


def _kinetic(axes: Axes, runs: Mapping[str, Iterates], title: str, until: int | None = None) -> None:
    for (name, run), style in zip(runs.items(), _STYLES, strict=False):
        axes.plot([0, *run.cycle[:until]], [run.kinetic_start, *run.kinetic[:until]], label=name, **style)  # type: ignore[arg-type]
    _finish(axes, runs, "kinetic energy at the section (J)", title)


def _heights(axes: Axes, runs: Mapping[str, Iterates], title: str) -> None:
    for (name, run), style in zip(runs.items(), _STYLES, strict=False):
        axes.plot([0, *run.cycle], [0.0, *run.y], label=name, **style)  # type: ignore[arg-type]
    _finish(axes, runs, "height of the hold (m)", title)


def _finish(axes: Axes, runs: Mapping[str, Iterates], what: str, title: str) -> None:
    axes.set_xlabel("cycle")
    axes.set_ylabel(what)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(runs) > 1:
        axes.legend(loc="best")
    if title:
        axes.set_title(title)
