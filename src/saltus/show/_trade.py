"""Length against robustness: what each of several optima keeps when everything is a little off."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from saltus.optimize import Robustness
from saltus.show._figure import BLUE, GREY, ORANGE, blank, look, wrapped


def trade_figure(points: Mapping[float, Robustness], *, what: str = "length (m)", title: str = "") -> Figure:
    """Lengths over how often they are kept, a point for each size of the mixes that were searched with."""
    with look():
        figure = blank(6.4, 4.4)
        axes = figure.add_subplot()
        ordered = sorted(points.items())
        kept = [100 * point.kept for _, point in ordered]
        fell = [100 * point.fell for _, point in ordered]
        lengths = [point.value for _, point in ordered]
        axes.plot(kept, lengths, "o-", color=BLUE, label="kept, of 100 mixes")
        axes.plot(fell, lengths, "x:", color=ORANGE, label="came to nothing, of 100 mixes")
        for (size, point), x in zip(ordered, kept, strict=True):
            if not point.value > 0:
                continue
            axes.annotate(f"{size:g}", (x, point.value), textcoords="offset points", xytext=(6, 5), fontsize=8)
        axes.axvline(90, color=GREY, linestyle="--", linewidth=0.8)
        top = max((length for length in lengths if length > 0), default=1.0)
        axes.set(xlim=(-4, 104), ylim=(0, 1.15 * top), xlabel="mixes (%)", ylabel=what)
        axes.legend(loc="lower left")
        share = ordered[0][1].share
        axes.set_title(
            wrapped(title or f"At least {share:.0%} of the length kept; numbers: size of mixes searched with")
        )
    return figure
