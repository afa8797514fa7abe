"""Maps of an error: as a surface, and as an intensity; both cut off above a value, with the lowest minima marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from saltus.gaits import ErrorMap, Minimum
from saltus.show._figure import RED, SCALE, blank, error_unit, gait_title, label, look, wrapped

# Cells along each side of a surface; more would be finer than the lines of a page.
SURFACE_CELLS = 100
# As many minima are marked, and no two nearer to each other than this share of the map's sides.
MARKED, APART = 4, 0.12
# How a surface is looked at: from one of four sides, from above, with these lengths of the axes.
SIDES, ELEVATION, BOX = (-120.0, -60.0, 60.0, 120.0), 60.0, (4.0, 4.0, 1.4)
# Below this share of the height of the cut, a cell should be seen.
LOW = 0.3
# Walls are darker than tiles, so that their edges are seen.
WALL = 0.85
# Where the map or its cells end there is no error that a wall could show.
SIDE = "#CFC8BA"
# One for each reason why there is no cycle; the last is for all others.
GREYS = ("#D9D9D9", "#A6A6A6", "#737373", "#454545")


def surface_figure(
    found: ErrorMap, *, above: float = 5.0, minima: Sequence[Minimum] | None = None, title: str = ""
) -> Figure:
    """The square root of the error as a surface, cut off at ``above``; flat and grey where no cycle ends."""
    marked = lowest_minima(found, above) if minima is None else minima
    with look():
        figure = blank(7.2, 5.8)
        axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)
        top = math.sqrt(above)
        colours = ScalarMappable(Normalize(0.0, top), SCALE)
        x, y, height = _thinned(found, np.sqrt(np.minimum(found.error, above)))
        _ground(axes, found)
        azimuth = _best_side(height, top)
        _blocks(axes, x, y, height, colours, azimuth)
        _pins(axes, marked, top)
        axes.set_xlim(_edges(x)[[0, -1]])
        axes.set_ylim(_edges(y)[[0, -1]])
        axes.set_zlim(0.0, top)
        axes.zaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        _name_axes(axes, found)
        axes.zaxis.set_rotate_label(False)
        axes.set_zlabel(r"$\sqrt{\mathrm{error}}$", rotation=0, labelpad=8)
        axes.xaxis.labelpad = axes.yaxis.labelpad = 6
        axes.view_init(elev=ELEVATION, azim=azimuth)
        axes.set_box_aspect(BOX, zoom=1.0)
        bar = figure.colorbar(colours, ax=axes, extend="max", shrink=0.62, pad=0.08)
        bar.set_label(_cut(rf"$\sqrt{{\mathrm{{error}}}}$ after one cycle{error_unit(found.gait, root=True)}", above))
        bar.outline.set_visible(False)  # type: ignore[operator]
        _legend(figure, found, marked)
        axes.set_title(title or gait_title(found.gait, "square root of the error after one cycle"))
    return figure


def intensity_figure(
    found: ErrorMap, *, above: float = 5.0, minima: Sequence[Minimum] | None = None, title: str = ""
) -> Figure:
    """The error as dark and light, cut off at ``above``, with minima marked; a grey for each reason for no cycle."""
    marked = lowest_minima(found, above) if minima is None else minima
    with look():
        figure = blank(6.8, 5.4)
        axes = figure.add_subplot()
        axes.grid(visible=False)
        for _, grey, there in _missing(found):
            cells = np.ma.masked_where(~there, np.zeros(there.shape))
            axes.pcolormesh(found.x, found.y, cells, cmap=ListedColormap([grey]), shading="nearest", rasterized=True)
        mesh = axes.pcolormesh(
            found.x, found.y, np.ma.masked_invalid(np.minimum(found.error, above)), cmap=SCALE, vmin=0.0, vmax=above,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        bar = figure.colorbar(mesh, ax=axes, extend="max")
        bar.set_label(_cut(f"error after one cycle{error_unit(found.gait)}", above))
        bar.outline.set_visible(False)  # type: ignore[operator]
        _squares(axes, marked)
        _name_axes(axes, found)
        _legend(figure, found, marked)
        axes.set_title(title or gait_title(found.gait, "error after one cycle"))
    return figure


def lowest_minima(found: ErrorMap, above: float, most: int = MARKED) -> list[Minimum]:
    """The lowest minima that lie well apart: of those along one valley only the lowest counts."""
    chosen: list[Minimum] = []
    for one in found.minima(below=above):
        if all(_distance(found, one, other) >= APART for other in chosen):
            chosen.append(one)
    return chosen[:most]


def _distance(found: ErrorMap, one: Minimum, other: Minimum) -> float:
    """How far two cells are from each other, as a share of the map's sides."""
    return math.hypot((one.x - other.x) / np.ptp(found.x), (one.y - other.y) / np.ptp(found.y))


def _missing(found: ErrorMap) -> list[tuple[str, str, np.ndarray]]:
    """Why there are cells without a cycle, the most frequent reason first: each with its grey and its cells."""
    cells = {reason: found.kind == reason for reason in found.reasons}
    reasons = sorted(cells, key=lambda reason: -int(cells[reason].sum()))
    if len(reasons) <= len(GREYS):
        return [(reason, grey, cells[reason]) for reason, grey in zip(reasons, GREYS, strict=False)]
    named, others = reasons[: len(GREYS) - 1], reasons[len(GREYS) - 1 :]
    rest = np.any([cells[reason] for reason in others], axis=0)
    texts = [*named, f"{len(others)} other reasons"]
    return list(zip(texts, GREYS, [*(cells[reason] for reason in named), rest], strict=True))


def _blocks(
    axes: Any, x: np.ndarray, y: np.ndarray, height: np.ndarray, colours: ScalarMappable, azimuth: float
) -> None:
    """Every cell as a flat tile at its height, and walls between those that differ: where the error jumps, a cliff."""
    tiles, flat = _tiles(x, y, height).reshape(*height.shape, 4, 3), np.isfinite(height)
    right, near = math.cos(math.radians(azimuth)) > 0.0, math.sin(math.radians(azimuth)) > 0.0
    between = _walls(_edges(x), _edges(y), height, seen_from=right)
    before = _walls(_edges(y), _edges(x), height.T, seen_from=near)
    # row after row towards the eye, so that what is near hides what is far
    for rank, row in enumerate(range(len(y)) if near else reversed(range(len(y)))):
        walls = [(wall, level) for (at, _), wall, level in between if at == row]
        front = [(wall[:, [1, 0, 2]], level) for (_, at), wall, level in before if at == row + near]
        top = list(zip(tiles[row][flat[row]], height[row][flat[row]], strict=True))
        _draw(axes, *_shaded([*top, *walls], colours, len(top)), 2.0 + rank / len(y))
        _draw(axes, *_shaded(front, colours, 0), 2.0 + (rank + 0.5) / len(y))


def _shaded(faces: Sequence[tuple[np.ndarray, float]], colours: ScalarMappable, tiles: int) -> tuple[Any, np.ndarray]:
    """Faces and their colours; all after the tiles are walls."""
    levels = [level for _, level in faces]
    shade = np.asarray(colours.to_rgba(np.array(levels)))
    shade[tiles:, :3] *= WALL
    shade[np.isnan(levels)] = to_rgba(SIDE)
    return [face for face, _ in faces], shade


def _draw(axes: Any, faces: Sequence[np.ndarray], colours: Any, order: float) -> None:
    """Faces with edges of their own colour, which close the gaps between them."""
    if len(faces):
        axes.add_collection3d(
            Poly3DCollection(
                faces, facecolors=colours, edgecolors=colours, linewidths=0.2, rasterized=True, zorder=order
            )
        )


def _tiles(x: np.ndarray, y: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Corners of all cells, row by row."""
    left, low = (grid.ravel() for grid in np.meshgrid(_edges(x)[:-1], _edges(y)[:-1]))
    right, high = (grid.ravel() for grid in np.meshgrid(_edges(x)[1:], _edges(y)[1:]))
    z = height.ravel()
    corners = [(left, low, z), (right, low, z), (right, high, z), (left, high, z)]
    return np.array(corners).transpose(2, 0, 1)


def _walls(
    across: np.ndarray, along: np.ndarray, height: np.ndarray, *, seen_from: bool
) -> list[tuple[tuple[int, int], np.ndarray, float]]:
    """Upright faces between neighbours in a row that face its end, or its beginning: place, corners and height.

    Where a neighbour is missing they reach down to the ground, and have no height.
    """
    level = np.pad(height, ((0, 0), (1, 1)), constant_values=np.nan)
    middle, ground = 0.5 * (level[:, 1:] + level[:, :-1]), np.nan_to_num(level)
    high, low = (ground[:, :-1], ground[:, 1:]) if seen_from else (ground[:, 1:], ground[:, :-1])
    found = []
    for row, k in np.argwhere(high > low):
        at, near, far = across[k], along[row], along[row + 1]
        bottom, top = low[row, k], high[row, k]
        wall = np.array([(at, near, bottom), (at, far, bottom), (at, far, top), (at, near, top)])
        found.append(((int(row), int(k)), wall, float(middle[row, k])))
    return found


def _ground(axes: Any, found: ErrorMap) -> None:
    """Flat greys where no cycle ends."""
    for _, grey, there in _missing(found):
        x, y, cells = _thinned(found, there)
        tiles = _tiles(x, y, np.zeros(cells.shape))[cells.ravel()]
        _draw(axes, list(tiles), grey, 1.0)


def _edges(values: np.ndarray) -> np.ndarray:
    """Where the cells around values end."""
    middle = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def _thinned(found: ErrorMap, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A map with no more cells than a surface can show."""
    rows, columns = (max(1, -(-size // SURFACE_CELLS)) for size in values.shape)
    return found.x[::columns], found.y[::rows], values[::rows, ::columns]


def _best_side(height: np.ndarray, top: float) -> float:
    """The azimuth, of four, from which least of what is low is hidden behind something higher, degrees."""
    rows, columns = np.nonzero(height < LOW * top)
    ground = np.nan_to_num(height)
    steps = np.linspace(0.02, 0.5, 25)
    # how high the line of sight is above a cell, in the units of the surface, at shares of the map's side from it
    rise = steps * math.tan(math.radians(ELEVATION)) * top * BOX[0] / BOX[2]

    def hidden(azimuth: float) -> int:
        angle = math.radians(azimuth)
        i = np.rint(rows + np.multiply.outer(steps, np.full(rows.size, math.sin(angle) * height.shape[0]))).astype(int)
        k = np.rint(columns + np.multiply.outer(steps, np.full(rows.size, math.cos(angle) * height.shape[1])))
        k = k.astype(int)
        inside = (i >= 0) & (i < height.shape[0]) & (k >= 0) & (k < height.shape[1])
        before = np.where(inside, ground[np.where(inside, i, 0), np.where(inside, k, 0)], -np.inf)
        return int((before > height[rows, columns] + rise[:, None]).any(axis=0).sum())

    return min(SIDES, key=hidden)


def _pins(axes: Any, marked: Sequence[Minimum], top: float) -> None:
    """A numbered pin in each minimum, which stands out of the valley."""
    for number, one in enumerate(marked, 1):
        foot = math.sqrt(one.error)
        axes.plot([one.x] * 2, [one.y] * 2, [foot, 1.25 * top], color=RED, linewidth=1.2, zorder=4)
        axes.plot([one.x], [one.y], [foot], "s", color=RED, fillstyle="none", markersize=5, zorder=4)
        axes.text(one.x, one.y, 1.25 * top, str(number), zorder=5, **_TAG)


def _squares(axes: Axes, marked: Sequence[Minimum]) -> None:
    """A numbered square around each minimum."""
    for number, one in enumerate(marked, 1):
        axes.plot(one.x, one.y, "s", color=RED, fillstyle="none", markersize=6, markeredgewidth=1.5, clip_on=False)
        axes.annotate(str(number), (one.x, one.y), (9, 9), textcoords="offset points", **_TAG)


_TAG: Any = {
    "ha": "center", "va": "center", "fontsize": 8.5, "color": "black",
    "bbox": {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": RED, "linewidth": 1.0},
}  # fmt: skip


def _legend(figure: Figure, found: ErrorMap, marked: Sequence[Minimum]) -> None:
    """What the numbers and the greys mean, below the axes."""
    handles: list[Any] = []
    for number, one in enumerate(marked, 1):
        at = f"{label(found.x_name, '')} = {one.x:.4g}, {label(found.y_name, '')} = {one.y:.4g}"
        text = f"{number}: minimum {one.error:.2g} at {at}" + (", where the map ends" if one.edge else "")
        handles.append(Line2D([], [], color=RED, marker="s", fillstyle="none", linestyle="", label=text))
    for reason, grey, there in _missing(found):
        share = f"{int(there.sum())} of {there.size} cells"
        handles.append(Patch(color=grey, label=wrapped(f"no cycle: {reason} ({share})")))
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=1, fontsize=8.5)


def _name_axes(axes: Any, found: ErrorMap) -> None:
    axes.set_xlabel(label(found.x_name, found.unit(found.x_name)))
    axes.set_ylabel(label(found.y_name, found.unit(found.y_name)))


def _cut(what: str, above: float) -> str:
    return f"{what}\ncut off at error = {above:g}"
