"""A canvas of braille dots: lines, circles and signs, as the text of a terminal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

# A character has four rows of two dots; each is a bit of its place among the braille patterns.
BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], dtype=np.uint8)
BRAILLE = 0x2800
# Colours by their number in a terminal: of what stands still, of the robot, of a contact that holds, and of others.
PLAIN, GREY, BLUE, GREEN, YELLOW = 0, 90, 94, 92, 93


class Canvas:
    """A drawing of so many columns and rows of characters; places are counted in dots, from the upper left."""

    def __init__(self, columns: int, rows: int):
        self.columns, self.rows = columns, rows
        self.dots = np.zeros((4 * rows, 2 * columns), dtype=bool)
        self.colours = np.zeros((rows, columns), dtype=int)
        self.marks: dict[tuple[int, int], str] = {}

    def line(self, begin: Sequence[float], end: Sequence[float], colour: int = PLAIN, *, thick: bool = False) -> None:
        """A straight line from dot to dot, as far as it is on the canvas; one dot thick, or two."""
        ends = clipped(begin, end, 2 * self.columns, 4 * self.rows)
        if ends is None:
            return
        (x, y), (u, v) = ((math.floor(one + 0.5), math.floor(other + 0.5)) for one, other in ends)
        share = np.linspace(0.0, 1.0, 1 + max(abs(u - x), abs(v - y)))
        across = np.floor(x + (u - x) * share + 0.5).astype(int)
        down = np.floor(y + (v - y) * share + 0.5).astype(int)
        if thick:
            flat = abs(u - x) >= abs(v - y)
            across, down = np.append(across, across + (not flat)), np.append(down, down + flat)
        inside = (across >= 0) & (across < 2 * self.columns) & (down >= 0) & (down < 4 * self.rows)
        across, down = across[inside], down[inside]
        self.dots[down, across] = True
        self.colours[down // 4, across // 2] = colour

    def circle(self, centre: Sequence[float], radius: float, colour: int = PLAIN) -> None:
        """A circle, of straight pieces that are too short to be seen."""
        count = 8 + 4 * math.ceil(math.sqrt(min(radius, 1e4)))
        turns = np.linspace(0.0, 2 * math.pi, count + 1)
        rim = np.column_stack([centre[0] + radius * np.cos(turns), centre[1] + radius * np.sin(turns)])
        for begin, end in itertools.pairwise(rim):
            self.line(begin, end, colour)

    def mark(self, place: Sequence[float], sign: str, colour: int = PLAIN) -> None:
        """A character in place of the dots that are there."""
        if not (-0.5 <= place[0] < 2 * self.columns - 0.5 and -0.5 <= place[1] < 4 * self.rows - 0.5):
            return
        cell = math.floor(place[1] + 0.5) // 4, math.floor(place[0] + 0.5) // 2
        self.marks[cell] = sign
        self.colours[cell] = colour

    def lines(self, *, colour: bool) -> list[str]:
        """The drawing as text."""
        cells = self.dots.reshape(self.rows, 4, self.columns, 2)
        signs = (cells * BITS[None, :, None, :]).sum(axis=(1, 3))
        lines = []
        for row in range(self.rows):
            text, now = "", PLAIN
            for column in range(self.columns):
                sign = self.marks.get((row, column)) or (
                    chr(BRAILLE + signs[row, column]) if signs[row, column] else " "
                )
                wanted = int(self.colours[row, column]) if sign != " " else now
                if colour and wanted != now:
                    text, now = f"{text}\x1b[{wanted}m", wanted
                text += sign
            lines.append(f"{text}\x1b[0m" if now else text)
        return lines


def clipped(
    begin: Sequence[float], end: Sequence[float], width: float, height: float
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The part of a line that is on a canvas of so many dots; nothing of one that misses it or is not finite."""
    (x, y), (u, v) = begin, end
    if not all(map(math.isfinite, (x, y, u, v))):
        return None
    first, last = 0.0, 1.0
    for place, way, most in ((x, u - x, width), (y, v - y, height)):
        low, high = -0.5 - place, most - 0.5 - place
        if way == 0.0:
            if not low <= 0.0 <= high:
                return None
            continue
        enters, leaves = sorted((low / way, high / way))
        first, last = max(first, enters), min(last, leaves)
    if first > last:
        return None
    return (x + first * (u - x), y + first * (v - y)), (x + last * (u - x), y + last * (v - y))
