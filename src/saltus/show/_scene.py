"""A robot in its world: where its points are, its links, wheels, the ground and bars, and axes that hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.show._figure import GREY, sheet
from saltus.show._layout import EDGE, beside, legend_width, place
from saltus.show._points import Points, bars, ground_lines, rails, up_name, wheels

# Widest and highest axes and those that are least so, inches.
WIDEST, HIGHEST, NARROWEST, LOWEST = 5.9, 4.2, 2.6, 1.4
EARTH = "#EFEDE8"
_TURN = np.linspace(0.0, 2.0 * math.pi, 49)
CIRCLE = np.column_stack([np.cos(_TURN), np.sin(_TURN)])


def positions(system: HybridSystem, names: Sequence[str], states: np.ndarray) -> np.ndarray:
    """Places of named points at some states: instants, points, axes; m."""
    points = Points(system)
    return points.positions(states)[:, [points.index(name) for name in names]]


@dataclass(frozen=True)
class Robot:
    """What is drawn of a robot: points, links between them and circles around them."""

    system: HybridSystem
    names: list[str]
    pairs: list[tuple[int, int]]
    radii: dict[int, float]

    @classmethod
    def of(cls, system: HybridSystem) -> Robot:
        """That of a system with a skeleton."""
        if not system.skeleton:
            raise InputError(f"{system.name} has no skeleton to be drawn")
        names = list(dict.fromkeys(name for pair in system.skeleton for name in pair))
        pairs = [(names.index(one), names.index(other)) for one, other in system.skeleton]
        every = Points(system).names
        found = {every[wheel.point]: wheel.radius for wheel in wheels(system)}
        radii = {names.index(name): radius for name, radius in found.items() if name in names}
        return cls(system, names, pairs, radii)

    def at(self, states: np.ndarray) -> np.ndarray:
        """Its points at some states, m."""
        return positions(self.system, self.names, states)

    def outlines(self, at: np.ndarray) -> list[np.ndarray]:
        """Its links and rims, as lines, where its points are at one instant."""
        links = [at[[one, other]] for one, other in self.pairs]
        return links + [at[k] + radius * CIRCLE for k, radius in self.radii.items()]

    def box(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest places that it takes."""
        room = np.zeros(len(self.names))
        for k, radius in self.radii.items():
            room[k] = radius
        low, high = at - room[:, None], at + room[:, None]
        return np.nanmin(low, axis=(0, 1)), np.nanmax(high, axis=(0, 1))


def draw_world(axes: Axes, system: HybridSystem) -> None:
    """Ground, rails and bars, within the limits that the axes have."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    reach = 2.0 * math.hypot(right - left, top - bottom)
    middle = np.array([0.5 * (left + right), 0.5 * (bottom + top)])
    for line in ground_lines(system):
        along = np.array([math.cos(line.angle), math.sin(line.angle)])
        foot = np.array([line.x, line.y]) + ((middle - (line.x, line.y)) @ along) * along
        ends = np.array([foot - reach * along, foot + reach * along])
        below = ends[::-1] - reach * np.array([-along[1], along[0]])
        axes.fill(*np.vstack([ends, below]).T, color=EARTH, lw=0, zorder=0.1)
        axes.plot(*ends.T, color=GREY, lw=1.0, zorder=1.2, gid="ground")
    for rail in rails(system):
        start, end = np.array(rail.start), np.array(rail.end)
        along = (end - start) / max(float(np.hypot(*(end - start))), 1e-300)
        if rail.endless:
            foot = start + ((middle - start) @ along) * along
            start, end = foot - reach * along, foot + reach * along
        axes.plot(*np.array([start, end]).T, color=GREY, lw=2.4, zorder=1.2, gid="rail")
    for bar in bars(system):
        axes.plot(bar.x, bar.y, "o", mfc="white", mec=GREY, mew=1.5, ms=7.0, zorder=1.2)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


def scene(
    system: HybridSystem, low: np.ndarray, high: np.ndarray, handles: Sequence[Any], title: str
) -> tuple[Figure, Axes]:
    """Axes of equal scales around a box, m, with the world in them and a legend beside; as large as that needs."""
    figure = sheet(WIDEST, HIGHEST)
    axes = figure.add_subplot()
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        low, high = np.zeros(2), np.ones(2)
    middle, size = 0.5 * (low + high), 1.16 * (high - low)
    size = np.maximum(size, max(0.02 * float(size.max()), 0.1))
    wide = min(WIDEST, HIGHEST * size[0] / size[1])
    height = float(np.clip(wide * size[1] / size[0], LOWEST, HIGHEST))
    wide = max(wide, NARROWEST)
    beside(axes, handles, height)
    figure.set_size_inches(wide + 0.75 + legend_width(axes) + EDGE, height)
    _fit(axes, middle, size, np.array([wide, height]))
    place(figure, [[axes]], [[f"{up_name(system)} (m)"]], [height], title)
    axes.set_xlabel("x (m)")
    box = axes.get_position()
    _fit(axes, middle, size, np.array(figure.get_size_inches()) * (box.width, box.height))
    draw_world(axes, system)
    return figure, axes


def _fit(axes: Axes, middle: np.ndarray, size: np.ndarray, inches: np.ndarray) -> None:
    """Limits of equal scales in axes of a size; what is longer than it must be shows more."""
    half = 0.5 * float((size / inches).max()) * inches
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
