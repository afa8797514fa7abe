"""A family of gaits over its knob: where they start, how stable they are, where they turn back or change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from saltus.gaits import Change, Family
from saltus.gaits._map import unit_of
from saltus.gaits._test_functions import AT_ONE, BRANCH_POINT, DOUBLING, FOLD, JUMP, NEIMARK_SACKER, UNIT
from saltus.show._figure import BLUE, GREY, ORANGE, RED, blank, gait_title, label, look, wrapped

# Changes nearer to each other than this share of the knob's range are marked as one.
NEAR = 0.02
# What differs by less is the same all along a family, and needs no panel.
SAME = 1e-9
# Smaller multipliers are drawn as this, since a logarithm has no zero.
LEAST = 1e-6
# How stable and unstable parts are drawn.
_LINES: dict[bool, Any] = {
    True: {"color": BLUE, "linestyle": "-", "linewidth": 2.0},
    False: {"color": ORANGE, "linestyle": (0, (4, 2)), "linewidth": 1.4},
}
_MARKS = {FOLD: "D", DOUBLING: "o", NEIMARK_SACKER: "^", BRANCH_POINT: "X", AT_ONE: "v", JUMP: "s"}


def family_figure(family: Family, *, title: str = "") -> Figure:
    """The free start values and the largest multiplier over the knob; solid where stable, dashed where not."""
    gait = family.points[0].gait
    starts = {name: np.array([point.start[name] for point in family.points]) for name in gait.free}
    varied = [name for name, row in starts.items() if np.ptp(row) > SAME * max(1.0, float(np.abs(row).max()))]
    names = varied or list(starts)
    groups = _grouped(family)
    with look():
        figure = blank(6.8, 3.6 + 1.5 * len(names) + 0.25 * len(groups))
        rows = np.ravel(figure.subplots(len(names) + 1, 1, sharex=True, height_ratios=[*[1.0] * len(names), 1.5]))
        for axes, name in zip(rows, names, strict=False):
            _curve(axes, family, starts[name], groups)
            axes.set_ylabel(label(name, unit_of(gait, name)))
        bottom = rows[-1]
        bottom.set_yscale("log")
        bottom.axhline(1.0, color=GREY, linewidth=1.0, zorder=1)
        _curve(bottom, family, np.maximum(family.radii, LEAST), groups, lettered=True)
        bottom.set_ylabel("largest multiplier")
        bottom.set_xlabel(label(family.knob, unit_of(gait, family.knob)))
        rows[0].set_title(title or gait_title(gait, f"family in {family.knob.replace('_', ' ')}"))
        figure.align_ylabels(rows)
        fixed = [
            f"{label(name, '')} = {starts[name][0]:.6g} {unit_of(gait, name)}" for name in starts if name not in names
        ]
        _legend(figure, family, groups, fixed)
    return figure


@dataclass(frozen=True)
class _Group:
    """Changes at all but one value of the knob."""

    letter: str
    changes: tuple[Change, ...]

    @property
    def about(self) -> str:
        """What happens there; of several changes only where."""
        if len(self.changes) == 1:
            return f"{self.letter}  {self.changes[0].kind}: {self.changes[0].about}"
        kinds = dict.fromkeys(change.kind for change in self.changes)
        return f"{self.letter}  " + "; ".join(f"{kind} at {', '.join(self._places(kind))}" for kind in kinds)

    def _places(self, kind: str) -> list[str]:
        return list(dict.fromkeys(f"{change.value:.7g}" for change in self.changes if change.kind == kind))


def _grouped(family: Family) -> list[_Group]:
    """Changes by their value, those that are near to each other together."""
    width = float(np.ptp(family.values)) or 1.0
    groups: list[list[Change]] = []
    for change in sorted(family.changes, key=lambda change: change.value):
        if groups and change.value - groups[-1][0].value < NEAR * width:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [_Group(_letter(k), tuple(group)) for k, group in enumerate(groups)]


def _letter(k: int) -> str:
    return chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "")


def _curve(axes: Axes, family: Family, height: np.ndarray, groups: list[_Group], *, lettered: bool = False) -> None:
    """A quantity along a family, with its changes marked."""
    for stable, x, y in _stretches(family, height):
        axes.plot(x, y, **_LINES[stable])
    for group in groups:
        for change in group.changes:
            at = float(height[change.index])
            axes.plot(change.value, at, _MARKS.get(change.kind, "s"), color=RED, fillstyle="none", zorder=3)
        if lettered:
            axes.axvline(group.changes[0].value, color=RED, linewidth=0.8, alpha=0.5, zorder=1)
            axes.annotate(
                group.letter, (group.changes[0].value, 1.0), (0, 3), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", color=RED,
            )  # fmt: skip


def _stretches(family: Family, height: np.ndarray) -> list[tuple[bool, list[float], list[float]]]:
    """Parts of a curve that are all stable or all unstable; they meet where the stability changes."""
    values, stable = family.values, family.radii <= 1.0 + UNIT
    changes = {change.index for change in family.changes} | {change.index_at_one for change in family.changes}
    parts = [(bool(stable[0]), [float(values[0])], [float(height[0])])]
    for k in range(1, len(values)):
        here = (float(values[k]), float(height[k]))
        if stable[k] != stable[k - 1]:
            before = (float(values[k - 1]), float(height[k - 1]))
            if k - 1 in changes:
                where = before
            else:
                where = here if k in changes else (0.5 * (before[0] + here[0]), 0.5 * (before[1] + here[1]))
                _append(parts[-1], where)
            parts.append((bool(stable[k]), [where[0]], [where[1]]))
            if where == here:
                continue
        _append(parts[-1], here)
    return parts


def _append(part: tuple[bool, list[float], list[float]], where: tuple[float, float]) -> None:
    part[1].append(where[0])
    part[2].append(where[1])


def _legend(figure: Figure, family: Family, groups: list[_Group], fixed: list[str]) -> None:
    """What lines, marks and letters mean, and what is the same in all gaits, below the axes."""
    stable = family.radii <= 1.0 + UNIT
    handles = [
        Line2D([], [], label="stable" if kind else "unstable", **_LINES[kind])
        for kind in (True, False)
        if (stable == kind).any()
    ]
    for group in groups:
        mark = _MARKS.get(min(change.kind for change in group.changes), "s")
        handles.append(Line2D([], [], color=RED, marker=mark, fillstyle="none", ls="", label=wrapped(group.about)))
    if fixed:
        handles.append(Line2D([], [], ls="", label=f"the same in all: {', '.join(fixed)}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=1, fontsize=8.5)
