"""A torque profile through points: steps, straight lines or a cubic spline between given times."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from saltus._content import equal_by_content
from saltus._reading import read_text
from saltus.control.schedule import Schedule
from saltus.engine import Control
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

KINDS = ("steps", "linear", "cubic")


@equal_by_content
@dataclass(frozen=True)
class Points:
    """Prescribed inputs through points; before the first time and after the last there is none.

    Parameters
    ----------
    times
        Instants, s, that increase.
    values
        An input at each; with several actuators, a row at each.
    kind
        ``steps``: each value holds until the next time. ``linear``: straight lines. ``cubic``: a spline with
        continuous second derivatives, the first and last two of its pieces being one polynomial.
    file
        In place of times and values, a CSV file: a column of times and one for each actuator. A line of names may
        come first: ``t`` or ``time``, then every actuator, in any order.
    """

    times: Sequence[float] = ()
    values: Sequence[float] | Sequence[Sequence[float]] = ()
    kind: str = "linear"
    file: str = ""

    def schedule(self, actuators: Sequence[str] | None = None) -> Schedule:
        """The same as pieces of polynomials; columns of a file that names them in the order of these actuators."""
        if self.kind not in KINDS:
            raise unknown_name("kind of points", self.kind, KINDS)
        if self.file:
            if len(self.times) or len(self.values):
                raise InputError("points: give times and values, or a file, not both")
            table = _read(Path(self.file), actuators)
            return Points(table[:, 0].tolist(), table[:, 1:].tolist(), self.kind).schedule()
        try:
            times, values = np.array(self.times, dtype=float), np.array(self.values, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InputError("points: times are numbers, and values a number or a row of numbers at each") from None
        if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
            raise InputError(f"points: at least two finite times that increase are needed, got {self.times!r}")
        if values.shape[:1] != times.shape or values.ndim > 2 or not np.isfinite(values).all():
            raise InputError(f"points: {len(times)} times need as many finite values, got {self.values!r}")
        columns = values.reshape(len(times), -1)
        if self.kind == "steps":
            pieces = [[[value] for value in row] for row in columns[:-1]]
        elif self.kind == "linear":
            slopes = np.diff(columns, axis=0) / np.diff(times)[:, None]
            pieces = [
                list(map(list, zip(row, slope, strict=True))) for row, slope in zip(columns, slopes, strict=False)
            ]
        else:
            from scipy.interpolate import CubicSpline

            spline = CubicSpline(times, columns) if len(times) > 3 else CubicSpline(times, columns, bc_type="natural")
            pieces = [spline.c[::-1, k, :].T.tolist() for k in range(len(times) - 1)]
        pieces.append([[0.0] for _ in range(columns.shape[1])])
        return Schedule(tuple(times.tolist()), pieces)

    def bind(self, system: HybridSystem) -> Control:
        return replace(self.schedule(list(system.mechanism.actuators)).bind(system), name="points")


def _read(path: Path, actuators: Sequence[str] | None) -> np.ndarray:
    """Numbers of a CSV file, a row for each line; its columns are times and then these actuators."""
    try:
        lines = list(csv.reader(read_text(path).splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"points: cannot read {path}: {error}") from None
    header: list[str] = []
    rows = []
    for number, row in enumerate(lines, 1):
        if not any(map(str.strip, row)):
            continue
        try:
            rows.append([float(cell) for cell in row])
        except ValueError:
            if rows or header:
                raise InputError(f"points: {path}, line {number}, has more than numbers: {', '.join(row)}") from None
            header = [cell.strip() for cell in row]
    if not rows or len({len(row) for row in [header or rows[0], *rows]}) > 1 or len(rows[0]) < 2:
        raise InputError(f"points: {path} must have a column of times and one for each actuator in every line")
    table = np.array(rows)
    return table[:, _columns(path, header, actuators)] if header else table


def _columns(path: Path, header: list[str], actuators: Sequence[str] | None) -> list[int]:
    """Where the times are, and then each actuator, by the names over the columns."""
    first, *named = header
    order = named if actuators is None else list(actuators)
    # NumPy writes its line of names behind a mark
    if first.lstrip("# ").lower() not in ("t", "time") or sorted(named) != sorted(order):
        wanted = "" if actuators is None else f" ({', '.join(actuators) or 'it has none'})"
        raise InputError(
            f"points: the names over the columns of {path} must be t and then the robot's actuators{wanted}, "
            f"got {', '.join(header)}"
        )
    return [0, *(1 + named.index(name) for name in order)]


CONTROLLER = Points
EXAMPLE = {"times": (0.0, 0.05, 0.1, 0.2), "values": (0.1, 0.4, -0.2, 0.0), "kind": "cubic"}
