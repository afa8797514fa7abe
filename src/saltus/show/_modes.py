"""The modes of a run in a figure: tinted bands behind the curves, names above them, dashed lines at events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from saltus.engine import Trajectory
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, YELLOW
from saltus.show._layout import INCH, text_width

# Size of the name of a mode, its height, and the least space between two names, in points.
SIZE, HEIGHT, SPACE = 8.0, 9.6, 3.0
# Lines of events that are nearer to each other than this are one, in points.
NEAREST = 2.0
# What a mode's band is tinted with, and how light it is in grey; neighbours differ in both.
TINTS = (
    (SKY, 0.96), (ORANGE, 0.905), (GREEN, 0.935), (PURPLE, 0.88),
    (YELLOW, 0.955), (BLUE, 0.895), (RED, 0.93), (GREY, 0.87),
)  # fmt: skip
EVENT = "#6E6E6E"
# How high ticks are, as a share of the axes.
FOOT = 0.04


@dataclass(frozen=True)
class Band:
    """A stretch of motion in one mode between events, s."""

    mode: str
    begin: float
    end: float


def bands_of(run: Trajectory) -> list[Band]:
    """Stretches of motion between changes of mode and impacts, whatever mode follows."""
    bands, begin = [], run.start_time
    for event in run.events:
        parts = event.mode_before != event.mode_after or any(event.impulse.values())
        if parts and not event.ended and event.t > begin:
            bands.append(Band(event.mode_before, begin, event.t))
            begin = event.t
    if run.end_time > begin or not bands:
        bands.append(Band(run.arc_modes[-1], begin, run.end_time))
    return bands


def shared_words(modes: Iterable[str]) -> list[str]:
    """Words that all of several modes have in common, if something is left of each without them."""
    words = [mode.split(" ") for mode in dict.fromkeys(modes)]
    common = [word for word in words[0] if all(word in others for others in words[1:])]
    return common if len(words) > 1 and all(len(others) > len(common) for others in words) else []


def tint(colour: str, light: float) -> tuple[float, float, float]:
    """A colour mixed with white until it is as light in grey as it should be."""
    rgb = np.array(to_rgb(colour))
    share = (1.0 - light) / (1.0 - float(rgb @ (0.299, 0.587, 0.114)))
    red, green, blue = 1.0 - share * (1.0 - rgb)
    return float(red), float(green), float(blue)


def tints(modes: Iterable[str]) -> dict[str, tuple[float, float, float]]:
    """A tint for each mode, in the order in which they first occur."""
    return {mode: tint(*TINTS[k % len(TINTS)]) for k, mode in enumerate(dict.fromkeys(modes))}


def joined(bands: Sequence[Band]) -> list[Band]:
    """The same with those of one mode that touch as one."""
    found: list[Band] = []
    for band in bands:
        if found and found[-1].mode == band.mode:
            found[-1] = Band(band.mode, found[-1].begin, band.end)
        else:
            found.append(band)
    return found


def draw_bands(rows: Sequence[Axes], bands: Sequence[Band]) -> None:
    """Tints from the bottom to the top of axes."""
    colours = tints(band.mode for band in bands)
    parts = [band for band in joined(bands) if band.end > band.begin]
    corners = [[(b.begin, 0.0), (b.end, 0.0), (b.end, 1.0), (b.begin, 1.0)] for b in parts]
    for axes in rows:
        axes.add_collection(
            PolyCollection(
                corners, facecolors=[colours[b.mode] for b in parts], linewidths=0.0, zorder=0.2,
                transform=axes.get_xaxis_transform(), gid="bands",
            ),
            autolim=False,
        )  # fmt: skip


def apart(times: Sequence[float], scale: float) -> list[float]:
    """Those of some times at which lines can be told apart.

    Parameters
    ----------
    scale
        Points of the axis for a second.
    """
    shown: list[float] = []
    for t in times:
        if not shown or (t - shown[-1]) * scale >= NEAREST:
            shown.append(t)
    return shown


def draw_events(rows: Sequence[Axes], times: Sequence[float], *, foot: bool = False) -> None:
    """A dashed line at each of some times, or a tick at the foot of the axes."""
    top, dashes, width = (FOOT, "-", 0.3) if foot else (1.0, (0, (4, 2.5)), 0.7)
    for axes in rows:
        axes.add_collection(
            LineCollection(
                [[(t, 0.0), (t, top)] for t in times], colors=EVENT, linestyles=[dashes], linewidths=width,
                zorder=1.5, transform=axes.get_xaxis_transform(), gid="events",
            ),
            autolim=False,
        )  # fmt: skip


@dataclass(frozen=True)
class Name:
    """The name of a mode above its band."""

    text: str
    middle: float
    upright: bool

    @property
    def height(self) -> float:
        """Points that it takes above the axes."""
        lines = self.text.split("\n")
        return max(text_width(line, SIZE) for line in lines) if self.upright else HEIGHT * len(lines)


def names_of(bands: Sequence[Band], scale: float) -> list[Name]:
    """Names that have room, without what all have in common; the longer a band, the sooner it is named.

    One that is too short is named upright.
    """
    common = shared_words(band.mode for band in bands)
    named: list[Name] = []
    taken: list[tuple[float, float]] = []
    for band in sorted(bands, key=lambda band: band.begin - band.end):
        lines = [word for word in band.mode.split(" ") if word not in common]
        width = max(text_width(line, SIZE) for line in lines)
        upright = width + SPACE > (band.end - band.begin) * scale
        half = 0.5 * (HEIGHT * len(lines) if upright else width)
        middle = 0.5 * (band.begin + band.end)
        low, high = middle * scale - half, middle * scale + half
        if all(high + SPACE <= left or right + SPACE <= low for left, right in taken):
            named.append(Name("\n".join(lines), middle, upright))
            taken.append((low, high))
    return sorted(named, key=lambda name: name.middle)


def room_above(names: Sequence[Name]) -> float:
    """Inches that names take above the axes."""
    return (max((name.height for name in names), default=0.0) + 4.0) / INCH


def draw_names(axes: Axes, names: Sequence[Name]) -> None:
    """Names of modes above axes."""
    for name in names:
        axes.annotate(
            name.text, (name.middle, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
            textcoords="offset points", ha="center", va="bottom", fontsize=SIZE, rotation=90 if name.upright else 0,
        )  # fmt: skip
