"""Where the parts of a figure stand, in inches: measured once, so that nothing is cut off or measured again."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

# Inches: above the title's line, below an axis with numbers and a name, between rows without them, at the right.
TITLE, BELOW, BETWEEN, EDGE = 0.34, 0.52, 0.17, 0.14
# Narrowest axes, inches; beside longer texts the figure becomes wider.
LEAST = 1.5
# Points of a line of text at an axis and in the title, and between numbers and names.
LINE, TITLE_LINE, PAD = 12.5, 15.0, 5.0
INCH = 72.0
# Letters of a line of a legend.
LONGEST = 34


def place(
    figure: Figure,
    grid: Sequence[Sequence[Axes]],
    names: Sequence[Sequence[str]],
    heights: Sequence[float],
    title: str,
    *,
    around: Callable[[float], tuple[float, float]] = lambda _: (0.1, 0.0),
    between: float = BETWEEN,
) -> None:
    """A title, rows and columns of axes, and what stands around them; the figure becomes as large as that needs.

    Parameters
    ----------
    names
        What each axis of heights shows.
    heights
        Of the rows, inches.
    around
        More room above the first row and below the last for a width of the axes, inches.
    between
        Room between rows, inches.
    """
    width, columns = float(figure.get_size_inches()[0]), len(grid[0])
    high = TITLE + sum(heights) + between * (len(heights) - 1) + BELOW
    figure.set_size_inches(width, high)
    _put(figure, grid, heights, [0.9] * columns, [EDGE] * columns, TITLE, between)
    numbers = [max(_beside(row[k]) for row in grid if row[k].axison) for k in range(columns)]
    lines = [
        max(_wrapped(name, height).count("\n") + 1 for name, height in zip(column, heights, strict=True))
        for column in zip(*names, strict=True)
    ]
    left = [(number + PAD + LINE * count + 5.0) / INCH for number, count in zip(numbers, lines, strict=True)]
    right = [max(legend_width(row[k]) for row in grid) + EDGE for k in range(columns)]
    wide = max((width - sum(left) - sum(right)) / columns, LEAST)
    width = wide * columns + sum(left) + sum(right)
    above, below = around(wide)
    shown = textwrap.fill(title, max(20, int(12.0 * width)))
    top = TITLE + above + shown.count("\n") * TITLE_LINE / INCH
    high += top - TITLE + below
    figure.set_size_inches(width, high)
    _put(figure, grid, heights, left, right, top, between)
    figure.text(0.1 / width, 1.0 - 0.08 / high, shown, ha="left", va="top", fontsize=11)
    for row, texts, height in zip(grid, names, heights, strict=True):
        for axes, text, room in zip(row, texts, numbers, strict=True):
            axes.set_ylabel(_wrapped(text, height))
            axes.yaxis.set_label_coords(-(room + PAD) / (wide * INCH), 0.5)


def _put(
    figure: Figure, grid: Sequence[Sequence[Axes]], heights: Sequence[float], left: Sequence[float],
    right: Sequence[float], top: float, between: float,
) -> None:  # fmt: skip
    width, high = figure.get_size_inches()
    wide = (width - sum(left) - sum(right)) / len(left)
    y = high - top
    for row, height in zip(grid, heights, strict=True):
        x = 0.0
        for k, axes in enumerate(row):
            x += left[k]
            axes.set_position((x / width, (y - height) / high, wide / width, height / high))
            x += wide + right[k]
        y -= height + between


def _beside(axes: Axes) -> float:
    """Points that numbers take left of an axis."""
    figure: Any = axes.get_figure(root=True)
    box = axes.yaxis.get_tightbbox(figure.canvas.get_renderer())
    if box is None:
        return 0.0
    return max(0.0, (axes.get_window_extent().x0 - box.x0) / figure.dpi * INCH)


def legend_width(axes: Axes) -> float:
    """Inches of a legend that stands right of its axes."""
    legend, figure = axes.get_legend(), axes.get_figure(root=True)
    if legend is None:
        return 0.0
    return float(legend.get_window_extent(figure.canvas.get_renderer()).width) / figure.dpi  # type: ignore[union-attr]


def beside(axes: Axes, handles: Sequence[Any], height: float, title: str | None = None) -> None:
    """A legend right of axes, in columns that are no higher than they are."""
    if not handles:
        return
    for handle in handles:
        lines = str(handle.get_label()).split("\n")
        handle.set_label("\n".join(line if "$" in line else textwrap.fill(line, LONGEST) for line in lines))
    most = max(3, int(height * INCH / 12.5))
    axes.legend(
        handles=list(handles), loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8.5, handlelength=2.4,
        borderaxespad=0.4, labelspacing=0.35, ncols=-(-len(handles) // most), columnspacing=1.0, title=title,
    )  # fmt: skip


def _wrapped(text: str, height: float) -> str:
    """The name of an axis in lines that are no longer than it."""
    most = max(12, int(height * INCH / 5.4))
    return "\n".join(part if "$" in part else textwrap.fill(part, most) for part in text.split("\n"))


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a line of text, points."""
    return float(TextPath((0.0, 0.0), text, size=size).get_extents().width) if text.strip() else 0.0
