"""Phase portraits of a run: each coordinate against its velocity, coloured by mode."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.show._figure import BLACK, STYLES, label, look, sheet
from saltus.show._fine import fine
from saltus.show._layout import BELOW, beside, place

# The mark of a mode stands in the middle of its arcs, but on no more than so many of them.
MARKS, MARKED = "osD^vPX*", 12
# Differences that are smaller, as a share of all, are rounding.
SAME = 1e-9


def phase_figure(run: Trajectory, names: Sequence[str] | None = None, *, title: str = "") -> Figure:
    """Coordinates against their velocities, in the colour and with the mark of each mode; jumps are dashed.

    Those that never move are left out unless they are named.
    """
    run = fine(run)
    known = _paired(run)
    for name in names or ():
        if name not in known:
            raise unknown_name("coordinate", name, known, run.system.name)
    if names is not None and not names:
        raise InputError(f"name at least one coordinate of {run.system.name}")
    chosen = list(names) if names is not None else [name for name in known if _moves(run, name)]
    chosen = chosen or known
    columns = 1 if len(chosen) == 1 else 2 if len(chosen) <= 4 else 3
    rows = -(-len(chosen) // columns)
    height = 2.6 if columns == 1 else 1.9
    with look():
        figure = sheet(5.4 if columns == 1 else 7.2, height * rows + 1.0)
        grid = figure.subplots(rows, columns, squeeze=False)
        arcs = _arcs(run)
        modes = list(dict.fromkeys(mode for mode, _ in arcs))
        spare = grid.ravel()[len(chosen) :]
        for axes in spare:
            axes.set_axis_off()
        texts = [[""] * columns for _ in range(rows)]
        units = {**run.system.mechanism.coordinates, **run.system.mechanism.velocities}
        for number, (axes, name) in enumerate(zip(grid.ravel(), chosen, strict=False)):
            _draw(axes, _rows(run, name), arcs, modes)
            axes.set_xlabel(label(name, units[name]))
            if columns > 1:
                axes.locator_params(nbins=4)
            texts[number // columns][number % columns] = label(f"d{name}", units[f"d{name}"])
        if not len(spare):
            beside(grid[0, -1], _legend(modes, run), height)
        still = [label(name, "") for name in known if name not in chosen] if names is None else []
        told = f"; {', '.join(still)} never move{'s' if len(still) == 1 else ''}" if still else ""
        shown = title or f"{run.system.name}: phase portraits{told}"
        place(figure, grid.tolist(), texts, [height] * rows, shown, between=BELOW + 0.12)
        if len(spare):  # there is room for the legend
            beside(spare[0], _legend(modes, run), height)
            spare[0].get_legend().set_bbox_to_anchor((0.0, 0.5), spare[0].transAxes)
    return figure


def _paired(run: Trajectory) -> list[str]:
    """Coordinates that have a velocity of their own: all but quaternions."""
    return [name for name in run.coordinates if f"d{name}" in run.system.mechanism.velocities]


def _rows(run: Trajectory, name: str) -> np.ndarray:
    """A coordinate and its velocity at the samples; what differs by rounding alone stands still."""
    states = run.system.state_names
    rows = np.array(run.x[:, [states.index(name), states.index(f"d{name}")]])
    for column in rows.T:
        if np.isfinite(column).all() and np.ptp(column) <= SAME * (1.0 + np.abs(column).max()):
            column[:] = column[0] if abs(column[0]) > SAME else 0.0
    return rows


def _moves(run: Trajectory, name: str) -> bool:
    rows = _rows(run, name)
    rows = rows[np.isfinite(rows).all(axis=1)]
    return bool(rows.size) and bool((np.ptp(rows, axis=0) > SAME * (1.0 + np.abs(rows).max(axis=0))).any())


def _arcs(run: Trajectory) -> list[tuple[str, slice]]:
    """Mode and samples of each arc."""
    numbers = run.samples.arc
    ends = np.flatnonzero(np.diff(numbers)) + 1
    cuts = [0, *ends.tolist(), len(numbers)]
    return [(run.arc_modes[numbers[a]], slice(a, b)) for a, b in itertools.pairwise(cuts)]


def _draw(axes: Axes, rows: np.ndarray, arcs: Sequence[tuple[str, slice]], modes: Sequence[str]) -> None:
    rows = np.where(np.isfinite(rows), rows, np.nan)
    for k, mode in enumerate(modes):
        mine = [rows[part] for name, part in arcs if name == mode]
        look_of = _look(k)
        axes.add_collection(
            LineCollection(mine, colors=look_of["color"], linewidths=1.5, zorder=3, gid=f"mode {mode}"), autolim=False
        )
        longest = sorted(mine, key=lambda part: -len(part))[:MARKED]
        axes.plot(*np.array([part[len(part) // 2] for part in longest]).T, ls="", ms=4.5, zorder=3.2, **look_of)
    jumps = [rows[[part.start - 1, part.start]] for _, part in arcs[1:]]
    jumps = [jump for jump in jumps if not np.array_equal(jump[0], jump[1])]
    axes.add_collection(
        LineCollection(jumps, colors=BLACK, linewidths=0.8, linestyles=[(0, (4, 2))], zorder=2.5, gid="jumps"),
        autolim=False,
    )
    axes.plot(*rows[0], "o", mec=BLACK, mfc="white", ms=5.5, zorder=4)
    axes.plot(*rows[-1], "s", color=BLACK, ms=4.5, zorder=4)
    seen = rows[np.isfinite(rows).all(axis=1)]
    if len(seen):
        axes.update_datalim(seen)
    axes.margins(0.06)
    axes.autoscale_view()


def _look(k: int) -> dict[str, Any]:
    return {"color": STYLES[k % len(STYLES)]["color"], "marker": MARKS[k % len(MARKS)]}


def _legend(modes: Sequence[str], run: Trajectory) -> list[Line2D]:
    handles = [Line2D([], [], label=mode.replace(" ", "\n"), ms=4.5, **_look(k)) for k, mode in enumerate(modes)]
    if any(any(event.impulse.values()) for event in run.events):
        handles.append(Line2D([], [], color=BLACK, lw=0.8, ls=(0, (4, 2)), label="jump"))
    handles.append(Line2D([], [], ls="", marker="o", mec=BLACK, mfc="white", ms=5.5, label="start"))
    handles.append(Line2D([], [], ls="", marker="s", color=BLACK, ms=4.5, label="end"))
    return handles
