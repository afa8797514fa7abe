"""A torque profile: pieces of polynomials, each in its own local time, that jump at exact instants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._finite import as_float
from saltus.contact import GRIP
from saltus.control._function import bind_compiled
from saltus.control._protocol import check_limit
from saltus.engine import Control, ControlParameter
from saltus.engine._control import ControlTable, wishes
from saltus.errors import InputError
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):
    pieces, width = int(data[1]), int(data[2])
    local = t - data[3 + piece]
    for k in range(int(data[0])):
        c = 3 + pieces + (k * pieces + piece) * width
        total = 0.0
        for j in range(width - 1, -1, -1):
            total = total * local + data[c + j]
        u[k] = total
    wishes = 3 + pieces + int(data[0]) * pieces * width
    units = int(data[wishes])
    for k in range(units):
        request[k] = int(data[wishes + 1 + piece * units + k])
    return 0


@equal_by_content
@dataclass(frozen=True)
class Schedule:
    """Prescribed inputs: piece k holds from ``starts[k]`` on, the last for ever; before the first there is none.

    ``pieces[k]`` are the coefficients of a polynomial in t - starts[k], constant term first. With
    several actuators it is one such row for each, in order. ``requests[k]`` says what grips do from
    ``starts[k]`` on: ``close``, ``open`` or, if they are not named, what they did before.
    """

    starts: Sequence[float]
    pieces: Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]] = ()
    requests: Sequence[Mapping[str, str]] = ()

    @staticmethod
    def steps(starts: Sequence[float], values: Sequence[float] | Sequence[Sequence[float]]) -> Schedule:
        """Piecewise constant inputs; for several actuators each value is a row."""
        rows = [[value] if np.ndim(value) == 0 else [[v] for v in value] for value in values]  # type: ignore[union-attr]
        return Schedule(tuple(starts), rows)  # type: ignore[arg-type]

    @staticmethod
    def of(cycle: Any, cycles: int = 1, period: float | None = None) -> Schedule:
        """By the clock what a cycle of a gait did (see `saltus.gaits.run_cycle`), flights and all, so many times.

        Times are rounded to multiples of ``period``, s, if it is given, each for itself: cycles may differ by one
        of them, and their mean length stays. In the end nothing is held and nothing driven.
        """
        if not isinstance(cycles, int) or cycles < 1:
            raise InputError(f"schedule: cycles must be a positive whole number, got {cycles!r}")
        gait, robot = cycle.gait, cycle.gait.robot
        grips = [unit.name for unit in robot.units if unit.kind == GRIP]
        signs = _mirrored(robot)
        other = dict(robot.symmetry.units) if robot.symmetry is not None else {}
        starts, pieces, requests = [], [], []
        now, swapped = 0.0, bool(gait.phases[0].relabel)  # it begins as names have been changed
        for _ in range(cycles):
            for phase, run, duration in zip(gait.phases, cycle.runs, cycle.durations.values(), strict=True):
                swapped = swapped != phase.relabel
                held = other.get(phase.holds, phase.holds) if swapped else phase.holds
                if duration > 0:
                    starts.append(now if period is None else round(now / period) * period)
                    values = [run.system.values[f"input {name}"] for name in signs]
                    pieces.append([[(s if swapped else 1.0) * v] for v, s in zip(values, signs.values(), strict=True)])
                    requests.append({name: "close" if name == held else "open" for name in grips})
                now += duration
        starts.append(now if period is None else round(now / period) * period)
        pieces.append([[0.0] for _ in signs])
        return Schedule(tuple(starts), pieces, (*requests, dict.fromkeys(grips, "open")))

    def bind(self, system: HybridSystem) -> Control:
        starts, table = self._table(system)
        turning = table[:, :, 1:].any(axis=(0, 2))
        steps, slopes = ~turning, np.flatnonzero(turning)
        for k in range(table.shape[0]):
            flat = table[k, steps, 0]
            check_limit(system, k, float(flat[np.abs(flat).argmax()]) if flat.size else 0.0, "schedule")
            for piece in slopes:
                end = starts[piece + 1] - starts[piece] if piece + 1 < len(starts) else np.inf
                extreme = _extreme(table[k, piece], end)
                check_limit(system, k, extreme, f"schedule, piece {piece + 1}")
        return bind_compiled(
            law,
            _data(starts[None], table[None], self._wishes(system))[0],
            breaks=starts,
            name="schedule",
            parameters=_named(tuple(system.mechanism.actuators), (len(starts) + 1, table.shape[2])),
        )

    @classmethod
    def bind_all(
        cls, schedules: Sequence[Schedule], system_of: Callable[[int], HybridSystem], limits: np.ndarray
    ) -> tuple[ControlTable, np.ndarray] | None:
        """Bind many schedules at once; say which of them may have to be refused. Nothing if they are not alike.

        ``system_of`` gives the system of each; ``limits`` are those of its actuators, or a row of them for each.
        """
        if cls.bind is not Schedule.bind:
            return None
        order = {id(schedule): row for row, schedule in enumerate(schedules)}
        distinct, which = np.unique([order[id(schedule)] for schedule in schedules], return_inverse=True)
        read = _alike([schedules[row] for row in distinct], limits.shape[-1])
        if read is None:
            return None
        starts, table = read
        wild = ~(np.isfinite(starts).all(axis=1) & (starts[:, 1:] > starts[:, :-1]).all(axis=1))
        largest = _bounds(starts, table)[which]
        doubtful = wild[which] | ~(largest <= limits).all(axis=1)
        if doubtful.all():
            return None
        sure = int(np.argmin(doubtful))
        control = schedules[sure].bind(system_of(sure))
        data = _data(starts, table, np.zeros((starts.shape[1] + 1, 0)))
        return ControlTable(control, data[which], starts[which]), doubtful

    def _table(self, system: HybridSystem) -> tuple[np.ndarray, np.ndarray]:
        names = list(system.mechanism.actuators)
        if not names and not self.requests:
            raise InputError(f"{system.name} has no actuators, so it takes no schedule but one of requests to grips")
        try:
            starts = np.array(self.starts, dtype=float)
            # requests alone leave all actuators at rest
            pieces = self.pieces if len(self.pieces) or not self.requests else [[[0.0]] * len(names)] * len(starts)
            table = np.zeros((0, len(starts), 1)) if not names else _rectangle(pieces, len(names))
            rows = [] if table is not None else _rows(pieces)
        except (TypeError, ValueError, IndexError):
            raise InputError("schedule: starts are times, pieces are rows of polynomial coefficients") from None
        if starts.ndim != 1 or not starts.size or not np.isfinite(starts).all() or (starts[1:] <= starts[:-1]).any():
            raise InputError(f"schedule: starts must be finite times that increase, got {self.starts!r}")
        if len(pieces) != len(starts):
            raise InputError(f"schedule: {len(starts)} starts need as many pieces, got {len(pieces)}")
        if table is None:
            table = _padded(rows, names)
        if not np.isfinite(table).all():
            raise InputError("schedule: all coefficients must be finite")
        return starts, table

    def _wishes(self, system: HybridSystem) -> np.ndarray:
        """Requests to all units, a row for each piece after one of none; no columns if there are no requests."""
        if not self.requests:
            return np.zeros((len(self.starts) + 1, 0))
        if len(self.requests) != len(self.starts):
            raise InputError(f"schedule: {len(self.starts)} starts need as many requests, got {len(self.requests)}")
        rows = [wishes(requests, system) for requests in self.requests]
        return np.array([[0] * len(system.units), *rows], dtype=float)


def _mirrored(system: HybridSystem) -> dict[str, float]:
    """Sign of each actuator when the robot's parts change their names."""
    m, signs = system.mechanism, {}
    for name, actuator in m.actuators.items():
        signs[name] = 1.0
        if system.symmetry is not None and actuator.coordinate is not None:
            symbol = m.coordinate(actuator.coordinate).symbol
            new = ca.SX(system.symmetry.state.get(actuator.coordinate, symbol))
            signs[name] = float(ca.Function("sign", [m.q], [ca.jacobian(new, symbol)])(np.zeros(m.nq)))
    return signs


def _data(starts: np.ndarray, table: np.ndarray, wishes: np.ndarray) -> np.ndarray:
    """What the law reads, a row for each schedule; the wishes are those of all."""
    count, actuators, pieces, width = table.shape
    # a piece of zeros comes first, for the time before the first start
    table = np.concatenate([np.zeros((count, actuators, 1, width)), table], axis=2)
    head, tail = ([actuators, pieces + 1, width], [wishes.shape[1], *wishes.reshape(-1)])
    same = [np.repeat([one], count, axis=0) for one in (head, tail)]
    return np.concatenate([same[0], starts[:, :1], starts, table.reshape(count, -1), same[1]], axis=1)


def _alike(schedules: Sequence[Schedule], actuators: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Starts, and coefficients by actuator, piece and power, of schedules of one shape without requests."""
    if any(len(schedule.requests) for schedule in schedules):
        return None
    try:
        starts = np.array([schedule.starts for schedule in schedules], dtype=float)
        table = np.array([schedule.pieces for schedule in schedules], dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    if table.ndim == 3:
        table = table[:, :, None, :]
    if starts.ndim != 2 or table.ndim != 4 or not table.size or table.shape[:3] != (*starts.shape, actuators):
        return None
    return starts, table.transpose(0, 2, 1, 3)


def _bounds(starts: np.ndarray, table: np.ndarray) -> np.ndarray:
    """What no input of schedules exceeds, by schedule and actuator; NaN or infinite where that is not known."""
    times = np.append(np.diff(starts, axis=1), np.full((len(starts), 1), np.inf), axis=1)
    bounds = np.abs(table[..., 0])
    for power in range(1, table.shape[3]):
        coefficients = np.abs(table[..., power])
        with np.errstate(invalid="ignore"):  # nothing grows for ever without a coefficient
            bounds += np.where(coefficients == 0, 0.0, coefficients * times[:, None] ** power)
    return bounds.max(axis=2)


@lru_cache(maxsize=16)
def _named(actuators: tuple[str, ...], shape: tuple[int, int]) -> tuple[ControlParameter, ...]:
    """Names of all starts and coefficients; a start moves its break, and the local time of its piece."""
    pieces, width = shape
    named = [ControlParameter(f"start{k + 1}", (4 + k,) if k else (3, 4), moves=k) for k in range(pieces - 1)]
    for a, actuator in enumerate(actuators):
        for k in range(1, pieces):
            first = 3 + pieces + (a * pieces + k) * width
            named += [ControlParameter(f"{actuator}.piece{k}.c{j}", (first + j,)) for j in range(width)]
    return tuple(named)


def _rectangle(pieces: Any, actuators: int) -> np.ndarray | None:
    """Coefficients by actuator, piece and power, if all pieces are of one shape: thousands of schedules are read so."""
    try:
        array = np.array(pieces, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.ndim == 2:
        array = array[:, None, :]
    if array.ndim != 3 or array.shape[1] != actuators or not array.size:
        return None
    return array.transpose(1, 0, 2)


def _rows(pieces: Any) -> list[list[list[float]]]:
    """The same as lists, which may differ in length."""
    pieces = [[piece] if np.ndim(piece[0]) == 0 else piece for piece in pieces]
    return [[[as_float(c) if isinstance(c, int) else float(c) for c in row] for row in piece] for piece in pieces]


def _padded(rows: list[list[list[float]]], names: list[str]) -> np.ndarray:
    for k, piece in enumerate(rows):
        if len(piece) != len(names):
            raise InputError(
                f"schedule, piece {k + 1}: {len(names)} actuators ({', '.join(names)}), got {len(piece)} rows"
            )
    table = np.zeros((len(names), len(rows), max(len(row) for piece in rows for row in piece)))
    for k, piece in enumerate(rows):
        for j, row in enumerate(piece):
            table[j, k, : len(row)] = row
    return table


def _extreme(coefficients: np.ndarray, end: float) -> float:
    """The value of largest magnitude of a polynomial on [0, end]; infinite if it grows for ever."""
    degree = int(np.flatnonzero(coefficients)[-1]) if coefficients.any() else 0
    if degree == 0:
        return float(coefficients[0])
    if np.isinf(end):
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        parts = coefficients[: degree + 1] * end ** np.arange(degree + 1)
    if not np.isfinite(parts).all():
        return np.inf
    polynomial = np.polynomial.Polynomial(parts)
    places = [0.0, 1.0]
    if degree > 1:
        # a power too small to change the sum moves no turn, and quotients by it may overflow
        slope = polynomial.deriv().trim(np.finfo(float).eps * np.abs(parts).max())
        turns = np.asarray(slope.roots(), dtype=complex)
        places += [float(r.real) for r in turns if abs(r.imag) < 1e-9 and 0 < r.real < 1]
    return max((float(polynomial(s)) for s in places), key=abs)


CONTROLLER = Schedule
EXAMPLE = {"starts": (0.0, 0.1, 0.2), "pieces": ((0.5,), (0.5, -1.0, 2.0), (0.0,))}
