"""Alpha of a sliding contact over postures: where it is positive, and how near to zero it comes."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from saltus.hybrid import Painleve
from saltus.show._figure import RED, blank, label, look

HATCH = "////"


def painleve_figure(found: Painleve, *, title: str = "") -> Figure:
    """The smaller alpha of both directions; hatched where a posture is not possible, a line where alpha is zero."""
    alpha, units = found.alpha, found.system.mechanism.coordinates
    x, y = (_shown(values, units[name]) for values, name in ((found.x, found.x_name), (found.y, found.y_name)))
    with look():
        figure = blank(6.8, 5.4)
        axes = figure.add_subplot()
        axes.grid(visible=False)
        top = float(alpha.max())
        norm = TwoSlopeNorm(0.0, min(float(alpha.min()), -1e-3 * top), top)
        mesh = axes.pcolormesh(x, y, alpha, cmap="RdYlGn", norm=norm, shading="nearest", rasterized=True)
        bar = figure.colorbar(mesh, ax=axes)
        bar.set_label(f"least alpha of {found.unit} (1/kg)")
        bar.outline.set_visible(False)  # type: ignore[operator]
        if not found.possible.all():
            axes.contourf(x, y, (~found.possible).astype(float), levels=[0.5, 1.5], colors="none", hatches=[HATCH])
        if alpha.min() < 0.0 < alpha.max():
            axes.contour(x, y, alpha, levels=[0.0], colors=RED)
        handles: list[Artist] = []
        texts: list[str] = []
        for posture, marker, what in (
            (found.smallest, "o", f"least alpha {found.smallest.value:.4g} 1/kg, {found.smallest.sliding}"),
            (found.least_critical, "s", f"least critical friction {found.least_critical.value:.4g}"),
        ):
            place = [_shown(np.array([posture.at[name]]), units[name])[0] for name in (found.x_name, found.y_name)]
            handles += axes.plot(*place, marker, mfc="none", mec="k", ms=8.0, ls="none")
            texts.append(what)
        if not found.possible.all():
            handles.append(Patch(facecolor="none", edgecolor="k", hatch=HATCH, lw=0.8))
            texts.append("hatched: not possible")
        figure.legend(handles, texts, loc="outside lower center", fontsize=9)
        axes.set_xlabel(label(found.x_name, "deg" if units[found.x_name] == "rad" else units[found.x_name]))
        axes.set_ylabel(label(found.y_name, "deg" if units[found.y_name] == "rad" else units[found.y_name]))
        axes.set_title(title or f"{found.system.name}: alpha at friction {found.friction:g}")
    return figure


def _shown(values: np.ndarray, unit: str) -> np.ndarray:
    return values * (180.0 / math.pi) if unit == "rad" else values
