"""Maps of an error: as a surface, and as an intensity with its minima marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from saltus.gaits import ErrorMap, Minimum
from saltus.show._figure import ORANGE, SCALE, blank, label, look

# Cells along each side of a surface; more would be finer than the lines of a page.
SURFACE_CELLS = 100
# Neighbours whose heights or periods differ by more than this share are not joined.
JUMP = 0.1
NOT_REACHED = "#D9D9D9"


def surface_figure(found: ErrorMap, *, title: str = "") -> Figure:
    """The square root of the error as a surface; it is cut where the error jumps, and left out where no cycle ends."""
    with look():
        figure = blank(7.0, 5.2)
        axes = figure.add_subplot(projection="3d")
        step = [max(1, -(-size // SURFACE_CELLS)) for size in found.error.shape]
        height = np.sqrt(found.error)[:: step[0], :: step[1]]
        X, Y = np.meshgrid(found.x[:: step[1]], found.y[:: step[0]])
        top = float(np.nanmax(height, initial=0.0)) or 1.0
        colours = ScalarMappable(Normalize(0.0, top), SCALE).to_rgba(height)
        period = found.period[:: step[0], :: step[1]]
        # not joined where a corner is missing, and where one is of a cycle of another kind
        joined = (_spread(height) <= JUMP * top) & (_spread(period) <= JUMP * np.nanmedian(period))
        colours[:-1, :-1][~joined] = 0.0
        axes.plot_surface(
            X, Y, height, facecolors=colours, rstride=1, cstride=1, linewidth=0, antialiased=False, shade=False,
            rasterized=True,
        )  # fmt: skip
        axes.set_xlabel(label(found.x_name, found.unit(found.x_name)), labelpad=6)
        axes.set_ylabel(label(found.y_name, found.unit(found.y_name)), labelpad=6)
        axes.set_zlabel(r"$\sqrt{\mathrm{error}}$", labelpad=5)
        axes.set_zlim(0.0, top)
        axes.view_init(elev=34, azim=-128)
        axes.set_box_aspect((4, 4, 2.4), zoom=0.92)
        if title:
            axes.set_title(title)
    return figure


def _spread(values: np.ndarray) -> np.ndarray:
    """Largest difference between the corners of each piece of a surface."""
    return np.asarray(np.ptp([values[:-1, :-1], values[1:, :-1], values[:-1, 1:], values[1:, 1:]], axis=0))


def intensity_figure(
    found: ErrorMap, *, above: float = 5.0, minima: Sequence[Minimum] | None = None, title: str = ""
) -> Figure:
    """The error as dark and light, truncated at ``above``, with minima marked; grey where no cycle ends."""
    marked = found.minima(most=8, below=above) if minima is None else minima
    with look():
        figure = blank()
        axes = figure.add_subplot()
        axes.grid(visible=False)
        axes.set_facecolor(NOT_REACHED)
        mesh = axes.pcolormesh(
            found.x, found.y, np.ma.masked_invalid(np.minimum(found.error, above)), cmap=SCALE, vmin=0.0, vmax=above,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        bar = figure.colorbar(mesh, ax=axes, extend="max")
        bar.set_label(f"error after one cycle (cut off at {above:g})")
        bar.outline.set_visible(False)  # type: ignore[operator]
        handles: list[Any] = []
        if marked:
            handles.append(
                axes.scatter(
                    [one.x for one in marked], [one.y for one in marked], s=34, marker="s", facecolors="none",
                    edgecolors=ORANGE, linewidths=1.5, label="minimum", zorder=3, clip_on=False,
                )
            )  # fmt: skip
        if not found.good.all():
            handles.append(Patch(color=NOT_REACHED, label="no cycle"))
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=2)
        axes.set_xlabel(label(found.x_name, found.unit(found.x_name)))
        axes.set_ylabel(label(found.y_name, found.unit(found.y_name)))
        if title:
            axes.set_title(title)
    return figure
