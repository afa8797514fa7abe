"""One frame after another of robots in their world: what moves is drawn anew on what stands still."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Polygon

from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._figure import BLUE, GREEN, GREY, ORANGE, RED, look
from saltus.show._points import Contact, Points, bars, closed, contacts, flat, ground_lines, rails, up_name, wheels

# Told apart by colour, and in grey by dashes, joints and width [okabe2008].
COLOURS = (BLUE, ORANGE, GREEN, RED, "#CC79A7", "#56B4E9", "#000000")
DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 1)), (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (2, 2)), (0, (6, 1, 1, 1, 1, 1)))
JOINTS = ("o", "s", "^", "D", "v", "P", "X")
GROUND, FORCE, BAR, GRID = "#D9D5CD", "#B03A00", "#555555", "#E4E4E4"

DPI = 100
# Borders around the axes, and the height of a line of text, in pixels.
LEFT, RIGHT, BOTTOM, LINE = 84, 16, 52, 22
# Length of the longest arrow, and space around the motion, as shares of the size of the motion.
ARROW, MARGIN = 0.25, 0.08
# Times of a path between two frames.
FINER = 4


@dataclass(frozen=True)
class Actor:
    """One run, read at the times of all frames: where its points are, what holds and with which force."""

    name: str
    points: Points
    positions: np.ndarray
    contacts: list[Contact]
    forces: np.ndarray
    places: np.ndarray
    closed: np.ndarray
    modes: list[str]
    paths: dict[str, np.ndarray]
    circles: list[tuple[int, float]]

    @property
    def largest_force(self) -> float:
        """The largest contact force in any frame, N."""
        sizes = np.hypot(self.forces[..., 0], self.forces[..., 1])
        return float(np.nanmax(sizes, initial=0.0)) if sizes.size else 0.0


def read_actor(name: str, run: Trajectory, times: np.ndarray, traces: Sequence[str] | None) -> Actor:
    """Read a run at some times; before its beginning and after its end it stands still."""
    system, points = run.system, Points(run.system)
    if not points.skeleton:
        raise InputError(f"{system.name} has no skeleton to be drawn")
    own = np.clip(times, run.start_time, run.end_time)
    states, touching = run.at(own), contacts(system)
    finite = np.isfinite(states).all(axis=1)
    if not finite.any():
        raise InputError(f"there is nothing to be drawn: no state of this run of {system.name} is finite")
    read = run.everything_at(own[finite])
    arcs, rows = np.zeros(len(own), dtype=int), np.zeros((len(own), system.first_rows[-1]))
    arcs[finite], rows[finite] = read.arc, read.forces
    positions, statuses = points.positions(states), run.arc_statuses[arcs]
    positions[~finite] = math.nan
    holds = [closed(statuses, one) & finite for one in touching]
    forces = [
        np.where(held[:, None], flat(one.forces(rows, states)), 0.0) for one, held in zip(touching, holds, strict=True)
    ]
    places = [one.places(positions) for one in touching]
    nothing = np.zeros((len(own), 0, 2))
    told = [run.arc_modes[arc] if good else "state is not finite" for arc, good in zip(arcs, finite, strict=True)]
    over = times > run.end_time + 1e-9 * max(1.0, abs(run.end_time))
    told = [f"{mode}, over at {run.end_time:.4g} s" if past else mode for mode, past in zip(told, over, strict=True)]
    wanted = [points.names[points.skeleton[-1][1]]] if traces is None else list(dict.fromkeys(traces))
    return Actor(
        name,
        points,
        positions,
        touching,
        np.stack(forces, axis=1) if forces else nothing,
        np.stack(places, axis=1) if places else nothing,
        np.stack(holds, axis=1) if holds else np.zeros((len(own), 0), dtype=bool),
        told,
        _paths(run, points, times, wanted),
        [(one.point, one.radius) for one in wheels(system)],
    )


def _paths(run: Trajectory, points: Points, times: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Where some points pass, FINER places for each frame."""
    steps = np.linspace(0.0, len(times) - 1, FINER * (len(times) - 1) + 1)
    finer = np.interp(steps, np.arange(len(times)), times)
    at = points.positions(run.at(np.clip(finer, run.start_time, run.end_time)))
    return {name: at[:, points.index(name)] for name in names}


class Scene:
    """A picture of robots in their world, of a size in pixels, that can be drawn at each of its frames."""

    def __init__(
        self,
        runs: Mapping[str, Trajectory],
        times: np.ndarray,
        *,
        size: tuple[int, int],
        speed: float,
        traces: Sequence[str] | None = None,
    ) -> None:
        self.times = times
        self.actors = [read_actor(name, run, times, traces) for name, run in runs.items()]
        self.figure = Figure(figsize=(size[0] / DPI, size[1] / DPI), dpi=DPI)
        self.canvas = FigureCanvasAgg(self.figure)
        with look():
            handles = self._legend_handles()
            columns = max(1, min(len(handles), size[0] // 200))
            self.axes = _blank_axes(self.figure, size, len(runs), math.ceil(len(handles) / columns), _up(runs))
            systems = [run.system for run in runs.values()]
            reach = _reach(self.actors, systems)
            self.force_scale = self._scale_of_forces(reach)
            tips = [(actor.places + self.force_scale * actor.forces).reshape(-1, 2) for actor in self.actors]
            _draw_world(self.axes, systems, _set_view(self.axes, np.concatenate([reach, *tips])))
            self.moving = [_Moving(self, actor, k) for k, actor in enumerate(self.actors)]
            self._write_header(runs, speed)
            if handles:
                place: Any = {"loc": "lower center", "ncols": columns, "fontsize": 9, "borderaxespad": 0.2}
                self.figure.legend(handles=handles, **place)
            self.canvas.draw()
        self._still = self.canvas.copy_from_bbox(self.figure.bbox)  # type: ignore[attr-defined]

    def frames(self) -> Iterator[np.ndarray]:
        """Every frame as pixels, [row, column, red green blue alpha]; copy one to keep it."""
        for k in range(len(self.times)):
            yield self.frame(k)

    def frame(self, k: int) -> np.ndarray:
        """One frame as pixels."""
        self.canvas.restore_region(self._still)  # type: ignore[attr-defined]
        self._clock.set_text(f"t = {self.times[k]:.{self._digits}f} s")
        self.figure.draw_artist(self._clock)
        # all paths lie below all robots
        for what in ("below", "above"):
            for one in self.moving:
                for artist in one.drawn(k, what):
                    self.figure.draw_artist(artist)
        return np.asarray(self.canvas.buffer_rgba())

    def pixel(self, place: Sequence[float]) -> tuple[float, float]:
        """Column and row of the pixel at a place of the world, m."""
        x, y = self.axes.transData.transform(place)
        return float(x), float(self.figure.bbox.height - y)

    def _scale_of_forces(self, reach: np.ndarray) -> float:
        """Metres of an arrow for a newton."""
        largest = max(actor.largest_force for actor in self.actors)
        return ARROW * _span(reach) / largest if largest > 0 else 0.0

    def _write_header(self, runs: Mapping[str, Trajectory], speed: float) -> None:
        width, height = self.figure.bbox.width, self.figure.bbox.height
        robots = ", ".join(dict.fromkeys(run.system.name for run in runs.values()))
        left, right, top = LEFT / width, 1 - RIGHT / width, 1 - 0.7 * LINE / height
        shown = textwrap.shorten(robots, int((width - LEFT - 160) / 9), placeholder=" …")
        self.figure.text(left, top, shown, va="center", weight="bold")
        pace = "real time" if math.isclose(speed, 1.0) else f"{speed:.3g} of real time"
        self.figure.text(right, top - LINE / height, pace, va="center", ha="right", color=BAR)
        step = (self.times[-1] - self.times[0]) / max(1, len(self.times) - 1)
        self._digits = int(np.clip(math.ceil(-math.log10(step)), 2, 9)) if step > 0 else 3
        self._clock = self.figure.text(right, top, "", va="center", ha="right", weight="bold", animated=True)

    def _legend_handles(self) -> list[Line2D]:
        """What paths, arrows and marks are, where there are any."""
        handles = [Line2D([], [], color=GREY, lw=1.2, label=f"path of {name}") for name in self._traced()]
        largest = max(actor.largest_force for actor in self.actors)
        if largest > 0:
            arrow: Any = {
                "color": FORCE if len(self.actors) == 1 else BAR,
                "lw": 0,
                "marker": r"$\rightarrow$",
                "ms": 14,
            }
            handles.append(Line2D([], [], **arrow, label=f"contact force, at most {largest:.3g} N"))
        if any(one.kind == "grip" for actor in self.actors for one in actor.contacts):
            handles.append(Line2D([], [], label="grip that holds", **HOLDS))
        return handles

    def _traced(self) -> list[str]:
        return list(dict.fromkeys(name for actor in self.actors for name in actor.paths))


HOLDS: Any = {"marker": "s", "ms": 11, "mfc": "none", "mec": "#000000", "mew": 2.2, "lw": 0}


class _Moving:
    """What of one run is drawn anew in each frame."""

    def __init__(self, scene: Scene, actor: Actor, k: int) -> None:
        self.actor, self.scale = actor, scene.force_scale
        alone = len(scene.actors) == 1
        axes, colour = scene.axes, COLOURS[k]
        width = 4.5 - 2.0 * k / max(1, len(scene.actors) - 1)
        body: Any = {"color": colour, "ls": DASHES[k], "lw": width, "solid_capstyle": "round"}
        (self.links,) = axes.plot([], [], **body, zorder=4, animated=True)
        joint: Any = {"color": colour, "marker": JOINTS[k], "ms": 7, "lw": 0, "mec": "white", "mew": 0.8}
        (self.joints,) = axes.plot([], [], **joint, zorder=5, animated=True)
        (self.trace,) = axes.plot([], [], color=GREY if alone else colour, lw=1.2, alpha=0.8, zorder=3, animated=True)
        (self.holds,) = axes.plot([], [], **HOLDS, zorder=7, animated=True)
        (self.arrows,) = axes.plot([], [], color=FORCE if alone else colour, lw=2.4, zorder=6, animated=True)
        self.words = self._words(scene, k, body, joint)

    def _words(self, scene: Scene, k: int, body: Mapping[str, Any], joint: Mapping[str, Any]) -> Any:
        """The line that tells the mode; of several runs, behind a sample of its look."""
        width, height = scene.figure.bbox.width, scene.figure.bbox.height
        y, x = 1 - LINE * (1.7 + k) / height, LEFT
        if len(scene.actors) > 1:
            ends = [x / width, (x + 36) / width]
            scene.figure.add_artist(Line2D(ends, [y, y], **body))
            scene.figure.add_artist(Line2D(ends, [y, y], **joint))
            x += 46
        # beside the first line stands the speed
        self.room = int((width - x - RIGHT - (130 if k == 0 else 0)) / 7.2)
        return scene.figure.text(x / width, y, "", va="center", animated=True)

    def drawn(self, k: int, what: str) -> list[Artist]:
        """Artists of a frame, those below or above."""
        actor = self.actor
        if what == "below":
            self.trace.set_data(*_gapped([path[: FINER * k + 1] for path in actor.paths.values()]).T)
            return [self.trace]
        at = actor.positions[k]
        links = [at[[one, other]] for one, other in actor.points.skeleton if one != other]
        circles = [at[centre] + radius * _ROUND for centre, radius in actor.circles]
        self.links.set_data(*_gapped([*links, *circles]).T)
        self.joints.set_data(*at[sorted({end for pair in actor.points.skeleton for end in pair})].T)
        held = [one.point for one, holds in zip(actor.contacts, actor.closed[k], strict=True) if holds]
        grips = {one.point for one in actor.contacts if one.kind == "grip"}
        self.holds.set_data(*at[[point for point in held if point in grips]].reshape(-1, 2).T)
        pairs = zip(actor.places[k], self.scale * actor.forces[k], strict=True)
        self.arrows.set_data(*_gapped([_arrow(place, along) for place, along in pairs]).T)
        mode = f"mode: {actor.modes[k]}" if not actor.name else f"{actor.name}: {actor.modes[k]}"
        self.words.set_text(textwrap.shorten(mode, max(12, self.room), placeholder=" …"))
        return [self.links, self.joints, self.arrows, self.holds, self.words]


_ROUND = np.stack([np.cos(np.linspace(0, 2 * math.pi, 61)), np.sin(np.linspace(0, 2 * math.pi, 61))], axis=1)


def _gapped(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Lines one after the other, with a gap between them."""
    gap = np.full((1, 2), math.nan)
    parts = [part for piece in pieces for part in (piece, gap)]
    return np.concatenate(parts) if parts else np.zeros((0, 2))


def _arrow(place: np.ndarray, along: np.ndarray) -> np.ndarray:
    """An arrow from a place, as one line; nothing where it has no length."""
    if not np.hypot(*along) > 0:
        return np.full((1, 2), math.nan)
    tip, across = place + along, np.array([-along[1], along[0]])
    barbs = [tip - 0.22 * along + side * 0.11 * across for side in (1, -1)]
    return np.array([place, tip, barbs[0], tip, barbs[1]])


def _blank_axes(figure: Figure, size: tuple[int, int], runs: int, rows: int, up: str) -> Axes:
    """Axes between the lines of text above, one for each run, and the rows of the legend below."""
    width, height = size
    top, bottom = LINE * (1.5 + runs) + 4, BOTTOM + LINE * rows
    axes = figure.add_axes(
        (LEFT / width, bottom / height, (width - LEFT - RIGHT) / width, (height - top - bottom) / height)
    )
    axes.set_xlabel("x (m)")
    axes.set_ylabel(f"{up} (m)")
    axes.grid(color=GRID)
    axes.set_autoscale_on(False)
    return axes


def _up(runs: Mapping[str, Trajectory]) -> str:
    """The axis that points up in the world of some runs."""
    return ", ".join(dict.fromkeys(up_name(run.system) for run in runs.values()))


def _reach(actors: Sequence[Actor], systems: Sequence[Any]) -> np.ndarray:
    """All places that the motion comes to, and those of bars."""
    reach = [actor.positions.reshape(-1, 2) for actor in actors]
    for actor in actors:
        for centre, radius in actor.circles:
            reach += [actor.positions[:, centre] + side * radius for side in (-1, 1)]
    reach += [np.array([[bar.x, bar.y]]) for system in systems for bar in bars(system)]
    places = np.concatenate(reach)
    return places[np.isfinite(places).all(axis=1)]


def _span(places: np.ndarray) -> float:
    """The longer side of the box around some places, m; one metre around a point that stands still."""
    span = float(np.ptp(places, axis=0).max())
    return span if span > 1e-6 * (1 + float(np.abs(places).max())) else 1.0


def _set_view(axes: Axes, places: np.ndarray) -> np.ndarray:
    """Fit all places at equal aspect: the lower left and the upper right corner of what is seen."""
    places = places[np.isfinite(places).all(axis=1)]
    low, high, span = places.min(axis=0), places.max(axis=0), _span(places)
    middle, wide = 0.5 * (low + high), np.maximum(high - low, 0.35 * span) + 2 * MARGIN * span
    shape = np.array(axes.get_window_extent().size)
    half = 0.5 * shape * max(wide / shape)
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal", adjustable="box")
    return np.array([middle - half, middle + half])


def _draw_world(axes: Axes, systems: Sequence[Any], view: np.ndarray) -> None:
    """Grounds, bars, lines and walls, each once."""
    middle, far = view.mean(axis=0), 2.0 * float(np.hypot(*(view[1] - view[0])))
    for ground in dict.fromkeys(line for system in systems for line in ground_lines(system)):
        along = np.array([math.cos(ground.angle), math.sin(ground.angle)])
        foot = np.array([ground.x, ground.y])
        foot = foot + ((middle - foot) @ along) * along
        ends = np.array([foot - far * along, foot + far * along])
        below = far * np.array([along[1], -along[0]])
        axes.add_patch(Polygon([*ends, *(ends + below)[::-1]], fc=GROUND, ec="none", zorder=1))
        axes.plot(*ends.T, color=BAR, lw=1.4, zorder=2)
    for rail in dict.fromkeys(rail for system in systems for rail in rails(system)):
        start, end = np.array(rail.start), np.array(rail.end)
        more = far * (end - start) / np.hypot(*(end - start)) if rail.endless else 0.0
        axes.plot(*np.array([start - more, end + more]).T, color=BAR, lw=3.0, zorder=2)
    for bar in dict.fromkeys(bar for system in systems for bar in bars(system)):
        axes.add_patch(CirclePatch((bar.x, bar.y), bar.capture, fc="none", ec=BAR, ls=":", lw=1.0, zorder=2))
        axes.plot([bar.x], [bar.y], "o", color=BAR, ms=6, zorder=2)
