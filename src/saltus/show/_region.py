"""Regions of attraction: a colour for every outcome, over two quantities at the start."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from saltus.gaits import Region
from saltus.gaits._region import OUTCOMES
from saltus.show._figure import BLACK, BLUE, GREEN, ORANGE, RED, SKY, YELLOW, blank, label, look

# One for each outcome; what cannot be begun is left light.
COLOURS = (BLUE, SKY, GREEN, YELLOW, RED, ORANGE, BLACK, "#EDEDED")


def region_figure(found: Region, *, title: str = "") -> Figure:
    """What becomes of each start, by colour: cells of a grid, or points drawn at random."""
    with look():
        figure = blank(6.8, 5.6)
        axes = figure.add_subplot()
        axes.grid(visible=False)
        if found.shape is None:
            axes.scatter(found.x, found.y, c=np.array(COLOURS)[found.outcome], s=9.0, linewidths=0.0, rasterized=True)
        else:
            x, y = found.x.reshape(found.shape)[0], found.y.reshape(found.shape)[:, 0]
            axes.pcolormesh(
                x, y, found.outcome.reshape(found.shape), cmap=ListedColormap(COLOURS),
                norm=BoundaryNorm(np.arange(len(COLOURS) + 1) - 0.5, len(COLOURS)), shading="nearest", rasterized=True,
            )  # fmt: skip
        handles = [
            Patch(color=COLOURS[OUTCOMES.index(name)], label=f"{name} ({number / found.outcome.size:.1%})")
            for name, number in found.counts.items()
        ]
        # two columns where both fit beside each other
        wide = max((len(str(handle.get_label())) for handle in handles), default=0) > 44
        figure.legend(handles=handles, loc="outside lower center", ncols=1 if wide else 2, fontsize=8.5)
        axes.set_xlabel(label(found.x_name, found.unit(found.x_name)))
        axes.set_ylabel(label(found.y_name, found.unit(found.y_name)))
        told = f"{found.system.name}, {found.controller}: what becomes of a start in {found.until:g} s"
        axes.set_title(title or told)
    return figure
