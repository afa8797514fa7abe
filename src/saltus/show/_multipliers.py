"""Multipliers of a gait in the complex plane: a gait is stable where all are inside the unit circle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from saltus.errors import InputError, SaltusError
from saltus.gaits import FixedPoint
from saltus.gaits._test_functions import UNIT
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, PURPLE, gait_title, look, sheet
from saltus.show._layout import EDGE, beside, legend_width, place, text_width
from saltus.show._scene import CIRCLE

# Beyond the unit circle the plane is drawn by the logarithm, if the largest multiplier is beyond this.
FAR = 4.0
# As many of each set get their number.
NUMBERED = 2
# Inches of a side of the axes, and points of the size of numbers.
SIDE, SIZE = 3.6, 8.0
_LOOKS = ((BLUE, "o"), (ORANGE, "D"), (GREEN, "^"), (PURPLE, "s"))
INSIDE = "#EAF3F8"


def multipliers_figure(found: FixedPoint | Mapping[str, Any] | Any, *, title: str = "") -> Figure:
    """Multipliers around the unit circle: filled where stable, open where not, the largest with their numbers.

    Parameters
    ----------
    found
        A fixed point, whose multipliers by its state and by the clock are shown; multipliers; or several sets by name.
    """
    sets, told = _sets(found)
    largest = max((float(np.abs(values).max()) for values in sets.values() if values.size), default=0.0)
    folded = largest > FAR
    edge = 1.25 * max(1.0, _radius(largest, folded))
    with look():
        figure = sheet(6.4, SIDE)
        axes = figure.add_subplot()
        axes.set(xlim=(-edge, edge), ylim=(-edge, edge))
        _rings(axes, edge, folded)
        handles = []
        numbers = []
        for (name, values), (colour, mark) in zip(sets.items(), _LOOKS * (1 + len(sets) // 4), strict=False):
            numbers += _draw(axes, values, colour, mark, folded)
            handles.append(Line2D([], [], ls="", marker=mark, color=colour, label=f"{name} ({_verdict(values)})"))
        handles.append(Line2D([], [], ls="", marker="o", mfc="white", mec=GREY, label="open: outside, unstable"))
        handles += [Line2D([], [], ls="", label=note) for note in told]
        beside(axes, handles, SIDE)
        figure.set_size_inches(SIDE + 0.75 + legend_width(axes) + EDGE, SIDE)
        shown = gait_title(found.gait, "multipliers") if isinstance(found, FixedPoint) else "multipliers"
        place(figure, [[axes]], [["imaginary part"]], [SIDE], title or shown)
        axes.set_xlim(*(np.array([-edge, edge]) * _shape(axes)))
        _write(axes, numbers)
        axes.set_xlabel("real part" + ("; beyond the circle by the logarithm" if folded else ""))
    return figure


def _sets(found: Any) -> tuple[dict[str, np.ndarray], list[str]]:
    """Sets of multipliers by name, and what is to be said about those that there are not."""
    if isinstance(found, FixedPoint):
        sets, told = {}, []
        try:
            sets["by state"] = np.asarray(found.multipliers)
        except SaltusError:
            told.append("by state: none, since the\ngait touches its guard")
        sets["by the clock"] = np.asarray(found.multipliers_timed)
        return sets, told
    named = found if isinstance(found, Mapping) else {"multipliers": found}
    try:
        sets = {str(name): np.atleast_1d(np.asarray(values, dtype=complex)) for name, values in named.items()}
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"multipliers must be numbers, got {found!r}") from None
    if not any(values.size for values in sets.values()) or not all(np.isfinite(v).all() for v in sets.values()):
        raise InputError("multipliers must be at least one finite number")
    return sets, []


def _verdict(values: np.ndarray) -> str:
    return f"largest {float(np.abs(values).max()):.4g}" if values.size else "none"


def _radius(size: float, folded: bool) -> float:
    """Where a size is drawn."""
    return size if not folded or size <= 1.0 else 1.0 + math.log10(size)


def _rings(axes: Axes, edge: float, folded: bool) -> None:
    """The unit circle, the axes, and circles at powers of ten."""
    axes.grid(visible=not folded)
    axes.fill(*CIRCLE.T, color=INSIDE, lw=0, zorder=0.1)
    axes.plot(*CIRCLE.T, color=GREY, lw=1.2, zorder=1.5, gid="unit circle")
    axes.axhline(0.0, color=GREY, lw=0.6, zorder=1.0)
    axes.axvline(0.0, color=GREY, lw=0.6, zorder=1.0)
    if not folded:
        return
    axes.set_xticks([-1.0, 0.0, 1.0])
    axes.set_yticks([-1.0, 0.0, 1.0])
    for power in range(1, math.ceil(edge)):
        axes.plot(*((1.0 + power) * CIRCLE.T), color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=1.0)
        axes.annotate(
            f"{10**power:g}", (0.0, 1.0 + power), (2, 2), textcoords="offset points", fontsize=8, color=GREY,
        )  # fmt: skip


def _draw(
    axes: Axes, values: np.ndarray, colour: str, mark: str, folded: bool
) -> list[tuple[str, np.ndarray, str, bool]]:
    """Marks of a set; the numbers of the largest, where they belong, their colour and whether they stand above."""
    size = np.abs(values)
    share = np.array([_radius(one, folded) / one if one > 0 else 1.0 for one in size])
    places = np.column_stack([values.real, values.imag]) * share[:, None]
    out = size > 1.0 + UNIT
    axes.plot(*places[~out].T, mark, color=colour, ms=6.0, zorder=3, clip_on=False)
    axes.plot(*places[out].T, mark, mec=colour, mfc="white", mew=1.5, ms=6.0, zorder=3, clip_on=False)
    # of two that are conjugate one has the number of both
    upper = [k for k in np.argsort(-size, kind="stable") if values[k].imag > -1e-12][:NUMBERED]
    above = mark in "o^"
    return [(_number(values[k]), places[k] * (1.0, 1.0 if above else -1.0), colour, above) for k in upper]


def _write(axes: Axes, numbers: list[tuple[str, np.ndarray, str, bool]]) -> None:
    """Numbers beside their marks, unless another is there already."""
    taken: list[tuple[float, float, float]] = []
    for text, place_of, colour, above in numbers:
        points = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
        x, y = axes.transData.transform(place_of) * points + (0.0, 12.0 if above else -12.0)
        half = 0.5 * text_width(text, SIZE) + 3.0
        if any(abs(x - other) < half + room and abs(y - level) < 1.4 * SIZE for other, level, room in taken):
            continue
        taken.append((x, y, half))
        axes.annotate(
            text, tuple(place_of), (0, 8 if above else -8), textcoords="offset points", ha="center",
            va="bottom" if above else "top", fontsize=SIZE, color=colour, zorder=4,
            path_effects=[withStroke(linewidth=2.2, foreground="white")],
        )  # fmt: skip


def _shape(axes: Axes) -> float:
    """Width over height of axes."""
    box = axes.get_window_extent()
    return float(box.width / box.height)


def _number(value: complex) -> str:
    if abs(value.imag) <= 1e-12 * max(1.0, abs(value)):
        return f"{value.real:.4g}"
    return f"{value.real:.3g} ± {abs(value.imag):.3g}i"
