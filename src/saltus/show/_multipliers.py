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
from saltus.gaits._continuation import UNIT
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, PURPLE, gait_title, look, sheet
from saltus.show._layout import beside, place, titled
from saltus.show._scene import CIRCLE

# Beyond the unit circle the plane is drawn by the logarithm, if the largest multiplier is beyond this.
FAR = 4.0
# As many of each set get their number.
NUMBERED = 2
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
        figure = sheet(6.4, 4.6)
        axes = figure.add_subplot()
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xlim=(-edge, edge), ylim=(-edge, edge))
        _rings(axes, edge, folded)
        handles = []
        for (name, values), (colour, mark) in zip(sets.items(), _LOOKS * (1 + len(sets) // 4), strict=False):
            _draw(axes, values, colour, mark, folded)
            handles.append(Line2D([], [], ls="", marker=mark, color=colour, label=f"{name} ({_verdict(values)})"))
        handles.append(Line2D([], [], ls="", marker="o", mfc="white", mec=GREY, label="open: outside, unstable"))
        handles += [Line2D([], [], ls="", label=note) for note in told]
        beside(axes, handles, 3.4)
        place(figure, [[axes]], [["imaginary part"]], [3.6])
        axes.set_xlabel("real part" + ("; beyond the circle by the logarithm" if folded else ""))
        shown = gait_title(found.gait, "multipliers") if isinstance(found, FixedPoint) else "multipliers"
        titled(figure, title or shown)
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
    except (TypeError, ValueError):
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


def _draw(axes: Axes, values: np.ndarray, colour: str, mark: str, folded: bool) -> None:
    size = np.abs(values)
    share = np.array([_radius(one, folded) / one if one > 0 else 1.0 for one in size])
    places = np.column_stack([values.real, values.imag]) * share[:, None]
    out = size > 1.0 + UNIT
    axes.plot(*places[~out].T, mark, color=colour, ms=6.0, zorder=3, clip_on=False)
    axes.plot(*places[out].T, mark, mec=colour, mfc="white", mew=1.5, ms=6.0, zorder=3, clip_on=False)
    for k in np.argsort(-size, kind="stable")[:NUMBERED]:
        if values[k].imag < -1e-12:  # its conjugate has the number
            continue
        up = mark in "o^"
        axes.annotate(
            _number(values[k]), tuple(places[k]), (0, 8 if up else -8), textcoords="offset points", ha="center",
            va="bottom" if up else "top", fontsize=8, color=colour, zorder=4,
            path_effects=[withStroke(linewidth=2.2, foreground="white")],
        )  # fmt: skip


def _number(value: complex) -> str:
    if abs(value.imag) <= 1e-12 * max(1.0, abs(value)):
        return f"{value.real:.4g}"
    return f"{value.real:.3g} ± {abs(value.imag):.3g}i"
