"""A robot drawn with the braille dots of a terminal, at one instant of its run, and a line that says how it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus.engine import Trajectory
from saltus.engine import _layout as L
from saltus.engine._event import read_event
from saltus.hybrid import HybridSystem
from saltus.show._canvas import BLUE, GREEN, GREY, YELLOW, Canvas
from saltus.show._points import Contact, GroundLine, Points, bars, contacts, ground_lines, rails, wheels

# What a contact looks like: one that holds, one that slips, a hand that reaches.
HOLDS, SLIPS, REACHES = ("●", GREEN), ("◆", YELLOW), ("○", YELLOW)
# Places farther away are not drawn, and are not sought.
FAR = 1e9
# The robot is drawn at least this large, by the smaller side of the picture; else the picture follows it.
LEAST_SIZE = 0.4


@dataclass(frozen=True)
class Moment:
    """What is drawn of a run at one time: where its points are (m), and how it is."""

    t: float
    places: np.ndarray
    statuses: Sequence[int]
    mode: str
    event: str
    energy: float


class Scene:
    """What there is to be drawn of a system: points, links between them, wheels, ground, rails, bars and contacts."""

    def __init__(self, system: HybridSystem):
        self.system, self.points = system, Points(system)
        self.links = self.points.skeleton or [(k, k) for k in range(len(self.points.names))]
        self.contacts, self.wheels = contacts(system), wheels(system)
        self.grounds, self.rails, self.bars = ground_lines(system), rails(system), bars(system)
        d = system.dynamics
        self._energy = ca.Function("energy", [d.t, d.x, d.p], [d.kinetic + d.potential])

    def moment(self, run: Trajectory, t: float) -> Moment:
        """How a run is at a time, after the events of that time; nothing here asks its controller."""
        x, p = run.at(t), self.system.parameter_values
        behind = int(np.searchsorted(run.event_rows[:, L.E_TIME], t, side="right"))
        statuses = run.arc_statuses[min(behind, len(run.arc_statuses) - 1)].tolist()
        event = ""
        if behind:
            last = read_event(self.system, run.event_rows[behind - 1])
            event = f"{last.guard} {last.t:.3f} s"
        places = self.points.positions(x[None])[0]
        return Moment(t, places, statuses, self.system.mode_name(statuses), event, float(self._energy(t, x, p)))

    def reach(self, places: np.ndarray) -> np.ndarray:
        """Corners of all that belongs to the robot at some places, m; nothing of what is not finite."""
        far = [places[wheel.point] + side * wheel.radius for wheel in self.wheels for side in (-1.0, 1.0)]
        corners = np.array([*places, *far], dtype=float).reshape(-1, 2)
        with np.errstate(invalid="ignore"):
            good: np.ndarray = corners[(np.abs(corners) < FAR).all(axis=1)]
        return good


class View:
    """Which part of the world is shown: all that was seen so far, or what is around a robot that has gone farther."""

    def __init__(self, scene: Scene):
        self._scene = scene
        self._size = 0.0
        self._low, self._high = np.full(2, math.inf), np.full(2, -math.inf)
        self._centre = np.zeros(2)

    def look(self, places: np.ndarray, width: int, height: int) -> tuple[float, np.ndarray]:
        """Dots for a metre, and the place in the middle of so many dots, now that the robot is at these places."""
        corners = self._scene.reach(places)
        if len(corners):
            self._see(corners)
            robot = (corners.min(axis=0) + corners.max(axis=0)) / 2
        else:
            robot = self._centre
        seen = np.where(np.isfinite(self._high), self._high - self._low, 0.0)
        room = np.array([width, height], dtype=float)
        scale = float((room / np.maximum(seen, 1e-12 + (seen.max() == 0.0))).min())
        if self._size > 0.0:
            scale = max(scale, LEAST_SIZE * room.min() / self._size)
        half = room / scale / 2
        for k in range(2):
            if seen[k] <= 2 * half[k] * (1 + 1e-9):
                self._centre[k] = (self._low[k] + self._high[k]) / 2 if np.isfinite(self._low[k]) else 0.0
            else:  # it follows, with some room to move in the middle
                self._centre[k] = min(max(self._centre[k], robot[k] - half[k] / 8), robot[k] + half[k] / 8)
        return scale, self._centre

    def _see(self, corners: np.ndarray) -> None:
        """Remember where the robot was, and the ground below it; with a margin, so that the scale changes seldom."""
        low, high = corners.min(axis=0), corners.max(axis=0)
        self._size = max(self._size, float(np.hypot(*(high - low))))
        middle = (low + high) / 2
        if not np.isfinite(self._low).all():
            low, high = np.minimum(low, middle - 0.6 * self._size), np.maximum(high, middle + 0.6 * self._size)
        below = [foot(ground, middle) for ground in self._scene.grounds]
        low, high = np.min([low, *below], axis=0), np.max([high, *below], axis=0)
        if (low < self._low).any() or (high > self._high).any():
            low, high = np.minimum(low, self._low), np.maximum(high, self._high)
            margin = 0.08 * float((high - low).max())
            self._low = np.where(low < self._low, low - margin, self._low)
            self._high = np.where(high > self._high, high + margin, self._high)


def foot(ground: GroundLine, place: np.ndarray) -> np.ndarray:
    """The place on a straight ground that is nearest to another."""
    along, through = np.array([math.cos(ground.angle), math.sin(ground.angle)]), np.array([ground.x, ground.y])
    nearest: np.ndarray = through + along * float(along @ (place - through))
    return nearest


def nice(value: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below a positive number."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1 - 1e-9))


def frame(
    scene: Scene, moment: Moment, view: View, columns: int, rows: int, *, colour: bool, note: str = ""
) -> list[str]:
    """A picture of so many columns and rows: the robot, and below it one line of words, or two where it is narrow."""
    words = 1 if columns >= 72 or rows < 8 else 2
    canvas = Canvas(columns, max(0, rows - words))
    told = [f"{moment.t:.3f} s", moment.mode, note, moment.event, f"{moment.energy:.4g} J"]
    if canvas.rows:
        scale, centre = view.look(moment.places, 2 * columns, 4 * canvas.rows)
        middle = np.array([columns, 2 * canvas.rows], dtype=float) - 0.5
        told += _draw(canvas, scene, moment, lambda place: middle + scale * (place - centre) * (1, -1), scale, centre)
    return [*canvas.lines(colour=colour), *packed(told, columns, words)[:rows]]


def _draw(canvas: Canvas, scene: Scene, moment: Moment, to_dots: Any, scale: float, centre: np.ndarray) -> list[str]:
    """Everything of a moment, what is in front last; gives what the marks on the ground mean."""
    step = nice(12.0 / scale)
    for ground in scene.grounds:
        _draw_ground(canvas, ground, to_dots, step, centre, scale)
    for rail in scene.rails:
        start, end = np.array(rail.start), np.array(rail.end)
        if rail.endless:
            along = (end - start) / max(float(np.hypot(*(end - start))), 1e-300)
            nearest = start + along * float(along @ (centre - start))
            half = (canvas.columns + 2 * canvas.rows) / scale
            start, end = nearest - half * along, nearest + half * along
        canvas.line(to_dots(start), to_dots(end), GREY)
    for bar in scene.bars:
        canvas.circle(to_dots(np.array([bar.x, bar.y])), max(1.5, scale * bar.capture), GREY)
    with np.errstate(invalid="ignore"):
        near = (np.abs(moment.places) < FAR).all(axis=1)
    at = np.array(
        [to_dots(place) if good else (math.nan, math.nan) for place, good in zip(moment.places, near, strict=True)]
    )
    for wheel in scene.wheels:
        canvas.circle(at[wheel.point], scale * wheel.radius, BLUE)
    for one, other in scene.links:
        if one == other:
            canvas.circle(at[one], 1.5, BLUE)
        else:
            canvas.line(at[one], at[other], BLUE, thick=True)
    for contact in scene.contacts:
        if moment.statuses[contact.unit]:
            _mark(canvas, contact, moment.statuses[contact.unit], at, scale)
    return [f"marks {step:g} m"] if scene.grounds else []


def _draw_ground(canvas: Canvas, ground: GroundLine, to_dots: Any, step: float, centre: Any, scale: float) -> None:
    """A line, with a mark below it at every step from its own origin, so that motion along it is seen."""
    cos, sin = math.cos(ground.angle), math.sin(ground.angle)
    along, below, through = np.array([cos, sin]), np.array([sin, -cos]), np.array([ground.x, ground.y])
    nearest = foot(ground, centre)
    half = (canvas.columns + 2 * canvas.rows) / scale
    canvas.line(to_dots(nearest - half * along), to_dots(nearest + half * along), GREY)
    passed = float(along @ (nearest - through))
    for k in range(math.ceil((passed - half) / step), math.floor((passed + half) / step) + 1):
        place = through + k * step * along
        canvas.line(to_dots(place), to_dots(place + 3.0 / scale * below), GREY)


def _mark(canvas: Canvas, contact: Contact, status: int, at: np.ndarray, scale: float) -> None:
    """The state of a closed contact, where it is; that of a wheel at the lowest point of its rim."""
    place = at[contact.point] + scale * contact.radius * np.array([math.sin(contact.angle), math.cos(contact.angle)])
    canvas.mark(place, *(HOLDS if status == 1 else SLIPS if contact.kind == "ground" else REACHES))


def packed(parts: Sequence[str], columns: int, rows: int) -> list[str]:
    """Parts of a sentence in so many lines of a width, in order; what has no room is left out, the first are cut."""
    lines = [""]
    for k, part in enumerate(filter(None, parts)):
        longer = f"{lines[-1]}  {part}" if lines[-1] else part
        if len(longer) <= columns:
            lines[-1] = longer
        elif len(lines) < rows:
            lines.append(cut(part, columns))
        elif k < 2 and columns - len(lines[-1]) > 4:
            lines[-1] = cut(longer, columns)
    return [line.ljust(columns) for line in (lines + [""] * rows)[:rows]]


def cut(text: str, columns: int) -> str:
    """A text that is no longer than a width."""
    return text if len(text) <= columns else text[: max(0, columns - 1)] + "…"[: max(0, columns)]
