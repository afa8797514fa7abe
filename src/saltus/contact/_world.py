"""Worlds to swing in: bars of a ladder, regular, uneven or inclined, from a file, or a rope; all as data.

How many bars there are is part of a robot's equations; where they are is a matter of its parameters.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from saltus._finite import as_float, is_finite
from saltus._reading import read_text
from saltus.contact._grip import Bar, Hold, Line
from saltus.errors import InputError
from saltus.mechanism import Mechanism

# Bars that a world may have: each adds to what is computed at every step.
MOST_BARS = 200

# Bars that are exactly at a robot's reach may be beyond it by roundings of their places.
ROUNDING = 1e-12


@dataclass(frozen=True)
class World:
    """Bars by their centres, m, in the order in which they are climbed; or a rope, straight and without end.

    Parameters
    ----------
    bars
        Centres of bars; none for a rope.
    rope
        Height of the rope at x = 0, m, and its incline, rad.
    """

    bars: tuple[tuple[float, float], ...] = ()
    rope: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        bars = tuple(self._pair(bar, f"bar {k}") for k, bar in enumerate(self.bars))
        object.__setattr__(self, "bars", bars)
        if self.rope is not None:
            if bars:
                raise InputError("a world has bars or a rope, not both")
            height, incline = self._pair(self.rope, "rope")
            if abs(incline) >= math.pi / 2:
                raise InputError(f"a rope's incline is less than a right angle, got {incline:g} rad")
            object.__setattr__(self, "rope", (height, incline))
        elif not bars:
            raise InputError("a world without bars: give at least one, or a rope")
        if len(bars) > MOST_BARS:
            raise InputError(f"a world has at most {MOST_BARS} bars, got {len(bars)}")

    @staticmethod
    def _pair(given: Any, what: str) -> tuple[float, float]:
        try:
            x, y = given
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what} is two numbers, got {given!r}") from None
        for value in (x, y):
            if not is_finite(value):
                raise InputError(f"{what} is where finite numbers say, got {given!r}")
        return float(x), float(y)

    @property
    def shape(self) -> str:
        """What of it is part of a robot's equations: ``rope``, or the number of bars."""
        return "rope" if self.rope is not None else str(len(self.bars))

    @property
    def parameters(self) -> dict[str, float]:
        """What of it is a matter of parameters."""
        if self.rope is not None:
            return {"rope_height": self.rope[0], "rope_incline": self.rope[1]}
        return {
            f"bar{k}_{axis}": value for k, bar in enumerate(self.bars) for axis, value in zip("xy", bar, strict=True)
        }

    def check(self, reach: float, radius: float, least: float = 0.0) -> World:
        """Refuse bars that overlap, and a step from one to the next that hands cannot make.

        Parameters
        ----------
        reach, least
            How far apart hands can be at most, and at least, m.
        radius
            Of the bars, m.
        """
        if not self.bars:
            return self
        places = np.array(self.bars)
        apart = np.hypot(*np.moveaxis(places[:, None] - places, 2, 0))
        for i, k in np.argwhere(np.triu(apart <= 2 * radius, 1)).tolist():
            raise InputError(
                f"bars {i} and {k} overlap: their centres are {apart[i, k]:.6g} m apart, their radius is {radius:g} m"
            )
        for k, step in enumerate(np.diagonal(apart, 1).tolist()):
            if step > reach * (1 + ROUNDING):
                raise InputError(
                    f"bar {k + 1} is out of reach: {step:.6g} m from bar {k}, and the robot reaches {reach:.6g} m"
                )
            if step < least:
                raise InputError(
                    f"bar {k + 1} is too near: {step:.6g} m from bar {k}, and the robot's hands stay at least "
                    f"{least:.6g} m apart"
                )
        return self

    @staticmethod
    def of(values: Mapping[str, float]) -> World | None:
        """The world that stands in the values of a robot's parameters, None where there is none."""
        if "rope_height" in values:
            return World(rope=(values["rope_height"], values["rope_incline"]))
        bars: list[tuple[float, float]] = []
        while f"bar{len(bars)}_x" in values:
            bars.append((values[f"bar{len(bars)}_x"], values[f"bar{len(bars)}_y"]))
        return World(tuple(bars)) if bars else None

    @staticmethod
    def read(path: str | Path) -> World:
        """Bars from a CSV file with the columns x and y, m."""
        file = Path(path)
        try:
            rows = list(csv.DictReader(io.StringIO(read_text(file), newline="")))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, csv.Error) as error:
            raise InputError(f"{path} is not a CSV file: {error}") from None
        if not rows or not {"x", "y"} <= set(rows[0]):
            raise InputError(f"{path}: a world is a CSV file with the columns x and y and a row for each bar")
        bars = []
        for k, row in enumerate(rows):
            try:
                bars.append((float(row["x"]), float(row["y"])))
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"{path}, row {k + 2}: x and y are numbers, got {row['x']!r} and {row['y']!r}"
                ) from None
        return World(tuple(bars))


def ladder(spacing: float | Sequence[float] = 0.55, bars: int | None = None, incline: float = 0.0) -> World:
    """Bars in a row from the origin on.

    Parameters
    ----------
    spacing
        From each bar to the next, m: one for all, or each.
    bars
        How many; needed where one spacing is given for all.
    incline
        How the row rises, rad.
    """
    if isinstance(spacing, Real):
        if bars is None:
            bars = 3
        if not isinstance(bars, int) or bars < 1:
            raise InputError(f"a ladder has at least one bar, got {bars!r}")
        if bars > MOST_BARS:
            raise InputError(f"a ladder has at most {MOST_BARS} bars, got {bars}")
        steps = [as_float(spacing)] * (bars - 1)
    else:
        steps = [as_float(step) for step in spacing]  # type: ignore[union-attr]
        if bars is not None and bars != len(steps) + 1:
            raise InputError(f"a ladder of {bars} bars has {bars - 1} spacings, got {len(steps)}")
    for step in steps:
        if not 0 < step < math.inf:
            raise InputError(f"spacings of a ladder are positive, got {step:g} m")
    if not abs(as_float(incline)) < math.pi / 2:
        raise InputError(f"a ladder's incline is less than a right angle, got {incline!r} rad")
    along = [0.0, *itertools.accumulate(steps)]
    return World(tuple((way * math.cos(incline), way * math.sin(incline)) for way in along))


def rope(incline: float = 0.0, height: float = 0.0) -> World:
    """A rope that is straight and without end, with an incline in rad."""
    return World(rope=(height, incline))


@dataclass(frozen=True)
class Held:
    """What of a world stands in a robot's equations: what hands can hold, and the centres of bars."""

    holds: tuple[Hold, ...]
    centres: tuple[tuple[Any, Any], ...]


def put_into(m: Mechanism, capture: Any, world: World) -> Held:
    """Declare the parameters of a world on a mechanism; their values are where its bars or its rope are."""
    values = world.parameters
    if world.rope is not None:
        height = m.parameter("rope_height", values["rope_height"], "m", "of the rope where x is zero")
        incline = m.parameter("rope_incline", values["rope_incline"], "rad", "how the rope rises")
        return Held((Line((0.0, height), (ca.cos(incline), height + ca.sin(incline)), capture, endless=True),), ())
    centres = []
    for k in range(len(world.bars)):
        x, y = (
            m.parameter(f"bar{k}_{axis}", values[f"bar{k}_{axis}"], "m", f"{axis} of bar {k}'s centre") for axis in "xy"
        )
        centres.append((x, y))
    return Held(tuple(Bar(centre, capture) for centre in centres), tuple(centres))
