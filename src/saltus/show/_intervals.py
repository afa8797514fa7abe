"""Regions of attraction in one quantity: a bar coloured by outcome for each, with its edges marked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from saltus.errors import InputError
from saltus.gaits import RecoverableIntervals
from saltus.gaits._region import OUTCOMES
from saltus.show._figure import BLACK, blank, label, look, wrapped
from saltus.show._region import COLOURS

# Half the height of a bar; bars are one apart. Marks of edges stand above it.
HALF, MARK = 0.3, 0.1


def intervals_figure(*found: RecoverableIntervals, labels: Sequence[str] = (), title: str = "") -> Figure:
    """Which starts return, by colour along one quantity: a bar for each result, with a mark at every edge.

    Parameters
    ----------
    found
        Results over the same quantity; the first is on top.
    labels
        The name of each bar; the robot and its controller if not given.
    """
    if not found or len({one.name for one in found}) > 1 or len({one.unit for one in found}) > 1:
        raise InputError(f"intervals of one quantity are needed, got {[one.name for one in found]}")
    names = list(labels) or [f"{one.system.name}, {one.controller}" for one in found]
    if len(names) != len(found):
        raise InputError(f"labels must be one for each of {len(found)} results, got {len(names)}")
    with look():
        figure = blank(6.8, 2.2 + 0.55 * len(found))
        axes = figure.add_subplot()
        axes.grid(visible=False)
        for place, one in enumerate(found):
            _bar(axes, one, -float(place))
        axes.set_yticks([-float(place) for place in range(len(found))], names)
        axes.tick_params(axis="y", length=0.0)
        axes.set_ylim(-len(found) + 0.5, 0.5 + MARK)
        axes.set_xlim(min(one.span[0] for one in found), max(one.span[1] for one in found))
        axes.set_xlabel(label(found[0].name, found[0].unit))
        axes.set_title(title or wrapped(_described(found[0]), 80))
        _legend(figure, found)
    return figure


def _bar(axes: Axes, found: RecoverableIntervals, place: float) -> None:
    """One bar: each start's colour up to halfway to the next, and marks above the edges."""
    values = found.values
    borders = np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])
    axes.pcolormesh(
        borders, [place - HALF, place + HALF], found.outcome[None, :], cmap=ListedColormap(COLOURS),
        norm=BoundaryNorm(np.arange(len(COLOURS) + 1) - 0.5, len(COLOURS)), shading="flat", rasterized=True,
    )  # fmt: skip
    edges = [0.5 * (edge.returned + edge.lost) for edge in found.edges]
    axes.vlines(edges, place + HALF, place + HALF + MARK, color=BLACK, linewidth=0.7)
    lost = found.first_lost
    if lost is not None:
        axes.plot([lost.value], [place + HALF + MARK], marker="v", color=BLACK, markersize=5.0, linestyle="none")


def _legend(figure: Figure, found: Sequence[RecoverableIntervals]) -> None:
    shown = np.unique(np.concatenate([one.outcome for one in found])).tolist()
    handles: list[Patch | Line2D] = [Patch(color=COLOURS[k], label=OUTCOMES[k]) for k in shown]
    if any(one.edges for one in found):
        handles.append(Line2D([], [], color=BLACK, marker="|", linestyle="none", markersize=7.0, label="edge"))
    if any(one.first_lost for one in found):
        handles.append(Line2D([], [], color=BLACK, marker="v", linestyle="none", markersize=5.0, label="first lost"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)


def _described(found: RecoverableIntervals) -> str:
    unit = "" if found.unit in ("", "1") else f" {found.unit}"
    said = f"which starts return in {found.until:g} s, at a resolution of {found.resolution:.3g}{unit}"
    return f"{found.system.name}: {said}"
