"""Bars with confidence intervals: rates of runs that were kept, means of samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from saltus.errors import InputError
from saltus.show._figure import BLACK, SKY, label, look, sheet
from saltus.show._layout import place, text_width

# Inches of a bar and its gap.
BAR = 0.36


def wilson_interval(kept: int, of: int, confidence: float = 0.95) -> tuple[float, float, float]:
    """A rate and the interval in which it is, by Wilson's score [wilson1927]; it never leaves 0 to 1.

    Parameters
    ----------
    kept, of
        How often something was so, of how many times.
    """
    _check_confidence(confidence)
    if not (of > 0 and 0 <= kept <= of):
        raise InputError(f"a rate needs some of at least one, got {kept} of {of}")
    z, rate = NormalDist().inv_cdf(0.5 + 0.5 * confidence), kept / of
    middle = (rate + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(rate * (1 - rate) / of + (z / (2 * of)) ** 2)
    # at the ends the interval ends with the rate, but for rounding
    return rate, 0.0 if kept == 0 else middle - half, 1.0 if kept == of else middle + half


def mean_interval(samples: Sequence[float] | np.ndarray, confidence: float = 0.95) -> tuple[float, float, float]:
    """The mean of samples and the interval in which that of all is, by Student's distribution."""
    _check_confidence(confidence)
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise InputError("an interval of a mean needs at least two finite samples")
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    half = float(stats.t.ppf(0.5 + 0.5 * confidence, len(values) - 1)) * error
    return mean, mean - half, mean + half


def bars_figure(
    values: Mapping[str, Any], *, what: str = "", unit: str = "", percent: bool = False, title: str = ""
) -> Figure:
    """A bar for each name, with a whisker over its interval and its number beside it.

    Parameters
    ----------
    values
        By name: a value with the low and the high end of its interval as a tuple of three, or samples, of which the
        mean is shown with its 95 % interval.
    percent
        Whether values are rates, and shown as percentages.
    """
    if not values:
        raise InputError("there are no values to be shown as bars")
    rows = [_interval(name, given) for name, given in values.items()]
    scale = 100.0 if percent else 1.0
    middle, low, high = scale * np.array(rows).T
    with look():
        height = max(1.2, BAR * len(rows) + 0.2)
        figure = sheet(6.4, height)
        axes = figure.add_subplot()
        at = np.arange(len(rows))[::-1]
        axes.barh(at, middle, height=0.62, color=SKY, edgecolor=BLACK, linewidth=0.6, zorder=2)
        axes.errorbar(
            middle, at, xerr=[middle - low, high - middle], fmt="none", ecolor=BLACK, elinewidth=1.2, capsize=3.5,
            zorder=3,
        )  # fmt: skip
        texts = [_told(*row, percent) for row in zip(middle, low, high, strict=True)]
        axes.set_yticks(at, [label(name, "") for name in values])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(-0.6, len(rows) - 0.4)
        place(figure, [[axes]], [[""]], [height], title or what or "values")
        _make_room(axes, np.minimum(low, 0.0).min(), high, texts)
        for text, x, y in zip(texts, np.maximum(high, 0.0), at, strict=True):
            axes.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center", fontsize=8.5)
        if percent:
            axes.set_xticks(np.arange(0.0, 101.0, 20.0))
        shown = "%" if percent else unit
        axes.set_xlabel(f"{what} ({shown})" if shown else what)
    return figure


def _make_room(axes: Any, low: float, high: np.ndarray, texts: Sequence[str]) -> None:
    """An axis as long as that the numbers at the ends of the whiskers are within it."""
    figure = axes.get_figure(root=True)
    wide = axes.get_position().width * figure.get_size_inches()[0] * 72.0
    room = np.array([text_width(text, 8.5) + 10.0 for text in texts])
    end = max(float(((np.maximum(high, 0.0) - low) / (1.0 - np.minimum(room / wide, 0.8))).max()), 1e-12)
    axes.set_xlim(low - (0.02 * end if low < 0 else 0.0), low + end)


def _interval(name: str, given: Any) -> tuple[float, float, float]:
    if isinstance(given, tuple) and len(given) == 3:
        value, low, high = map(float, given)
        if not (math.isfinite(value) and math.isfinite(low) and math.isfinite(high) and low <= value <= high):
            raise InputError(f"{name}: a value lies in its interval, got {value:g} and {low:g} to {high:g}")
        return value, low, high
    try:
        return mean_interval(given)
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None


def _told(value: float, low: float, high: float, percent: bool) -> str:
    sign = " %" if percent else ""
    return f"{value:.3g}{sign}  ({low:.3g} to {high:.3g})"


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence lies between 0 and 1, got {confidence:g}")
