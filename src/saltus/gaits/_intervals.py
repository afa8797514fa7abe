"""Regions of attraction in one quantity: the intervals of starts that return, by a scan and bisection of its edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from saltus._content import equal_by_content
from saltus._finite import as_float, is_finite
from saltus._provenance import provenance_line
from saltus._write import check_path, write
from saltus.engine._refusals import tally
from saltus.errors import InputError
from saltus.gaits._map import MOST_CELLS
from saltus.gaits._region import ATOL, LIMITED_SLIPPED, NO_START, OUTCOMES, RTOL, Judged, Trial, unit_of
from saltus.hybrid import HybridSystem

# How many steps a scan has, and how narrow an edge is bracketed as a part of a step, where nothing else is said.
STEPS, FINE = 200, 1e-3

# An edge is not bracketed more narrowly than so many times the distance of two neighbouring numbers.
ROUNDING = 4


@equal_by_content
@dataclass(frozen=True)
class Edge:
    """A border of an interval that returns, between two values that differ by the tolerance at most.

    The start ``returned`` returns, the start ``lost`` does not. ``outcome`` is how the run from ``lost`` ends, one of
    `OUTCOMES`. "not back in time" depends on ``until``: a longer run may move this edge.
    """

    returned: float
    lost: float
    outcome: str


@equal_by_content
@dataclass(frozen=True)
class Interval:
    """Neighbouring starts that all return, or that all do not: the least and the largest value, both included.

    ``outcomes`` counts the scanned starts inside it by outcome.
    """

    low: float
    high: float
    returns: bool
    outcomes: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"from": self.low, "to": self.high, "returns": self.returns, "outcomes": dict(self.outcomes)}


@equal_by_content
@dataclass(frozen=True)
class Lost:
    """A start that does not return: its value, its distance from the target, and how its run ends."""

    value: float
    displacement: float
    outcome: str


@equal_by_content
@dataclass(frozen=True, eq=False)
class RecoverableIntervals:
    """From which values of one quantity a robot returns.

    ``values`` are all starts in increasing order: those of the scan, where ``scanned``, and those that bracket the
    edges. ``outcome`` are places in `OUTCOMES`. ``slipped``, ``saturated`` and ``t_end`` (s) belong to every run.
    Values of the scan are ``resolution`` apart: a gap or an island that is narrower may be missed. ``origin`` is where
    displacements are measured from: the target of the quantity, or the robot's own value of a parameter. ``reasons``
    says why a start is none, by its place in ``values``.
    """

    system: HybridSystem
    controller: str
    until: float
    name: str
    span: tuple[float, float]
    resolution: float
    tolerance: float
    values: np.ndarray
    scanned: np.ndarray
    outcome: np.ndarray
    slipped: np.ndarray
    saturated: np.ndarray
    t_end: np.ndarray
    within: dict[str, float]
    target: dict[str, float]
    start: dict[str, float]
    origin: float
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def returned(self) -> np.ndarray:
        """Which starts return."""
        back: np.ndarray = self.outcome <= LIMITED_SLIPPED
        return back

    @property
    def runs(self) -> int:
        """How many runs were needed."""
        return int(self.values.size)

    @property
    def unit(self) -> str:
        """Unit of the quantity."""
        return unit_of(self.system, self.name)

    @property
    def counts(self) -> dict[str, int]:
        """How many starts of the scan had each outcome that occurred."""
        return _counts(self.outcome[self.scanned])

    @property
    def reason_counts(self) -> dict[str, int]:
        """How many starts of the scan are none for each kind of reason, the most frequent first."""
        return tally(why for k, why in self.reasons.items() if self.scanned[k])

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The span in intervals, each of starts that return or of starts that do not, in increasing order."""
        ends = [0, *(np.flatnonzero(np.diff(self.returned)) + 1).tolist(), self.runs]
        return tuple(self._interval(slice(*part)) for part in pairwise(ends))

    def _interval(self, part: slice) -> Interval:
        values, outcome = self.values[part], self.outcome[part]
        return Interval(
            float(values[0]), float(values[-1]), bool(self.returned[part][0]), _counts(outcome[self.scanned[part]])
        )

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every border between starts that return and starts that do not, in increasing order."""
        after = (np.flatnonzero(np.diff(self.returned)) + 1).tolist()
        pairs = [(k - 1, k) if self.returned[k - 1] else (k, k - 1) for k in after]
        return tuple(
            Edge(float(self.values[back]), float(self.values[lost]), OUTCOMES[self.outcome[lost]])
            for back, lost in pairs
        )

    @property
    def displacements(self) -> np.ndarray:
        """Distance of every start from the target, in the unit of the quantity."""
        away = np.abs(self.values - self.origin)
        readings = self.system.mechanism.readings
        if self.name in readings and readings[self.name].wraps:  # the shorter way round
            away = np.abs((away + np.pi) % (2 * np.pi) - np.pi)
        return away

    @property
    def first_lost(self) -> Lost | None:
        """The start nearest to the target that begins and does not return; None where there is none.

        Larger displacements may return again: see ``largest_returning`` and ``intervals``.
        """
        lost = np.flatnonzero(~self.returned & (self.outcome != NO_START))
        if not lost.size:
            return None
        away = self.displacements
        k = int(lost[np.argmin(away[lost])])
        return Lost(float(self.values[k]), float(away[k]), OUTCOMES[self.outcome[k]])

    @property
    def largest_returning(self) -> float | None:
        """The start farthest from the target, within the span, that returns; None where none does.

        Smaller displacements may be lost: see ``first_lost`` and ``intervals``.
        """
        back = np.flatnonzero(self.returned)
        return float(self.values[back[np.argmax(self.displacements[back])]]) if back.size else None

    def to_dict(self) -> dict[str, Any]:
        """In short, for JSON."""
        lost = self.first_lost
        return {
            "robot": self.system.name, "controller": self.controller, "until": self.until, "name": self.name,
            "unit": self.unit, "span": list(self.span), "resolution": self.resolution, "tolerance": self.tolerance,
            "first_lost": None if lost is None else dict(vars(lost)), "largest_returning": self.largest_returning,
            "intervals": [one.to_dict() for one in self.intervals], "edges": [dict(vars(one)) for one in self.edges],
            "outcomes": self.counts, "reasons": self.reason_counts, "runs": self.runs, "origin": self.origin,
            "within": dict(self.within), "target": dict(self.target), "start": dict(self.start),
        }  # fmt: skip

    def to_dataset(self) -> xarray.Dataset:
        """Every start and its outcome, with names, units and where they come from."""
        meanings = {"flag_values": np.arange(len(OUTCOMES), dtype=np.int8), "flag_meanings": "; ".join(OUTCOMES)}
        variables = {
            self.name: ("run", self.values, {"units": self.unit}),
            "outcome": ("run", self.outcome.astype(np.int8), meanings),
            "scanned": ("run", self.scanned),
            "slipped": ("run", self.slipped),
            "saturated": ("run", self.saturated),
            "t_end": ("run", self.t_end, {"units": "s"}),
        }
        attributes = {
            "robot": self.system.name, "controller": self.controller, "until": self.until, "span": list(self.span),
            "resolution": self.resolution, "tolerance": self.tolerance, "origin": self.origin,
            "made_with": provenance_line(),
            **{f"within_{name}": value for name, value in self.within.items()},
            **{f"target_{name}": value for name, value in self.target.items()},
            **{f"start_{name}": value for name, value in self.start.items()},
            **{f"parameter_{name}": value for name, value in self.system.values.items()},
        }  # fmt: skip
        return xarray.Dataset(variables, attrs=attributes)

    def save(self, path: str | Path) -> Path:
        """Write it to a .nc file, all or nothing."""
        check_path(Path(path), (".nc",))
        return write(Path(path), bytes(self.to_dataset().to_netcdf(engine="h5netcdf")))


def recoverable_intervals(
    system: HybridSystem,
    name: str,
    span: tuple[float, float],
    *,
    resolution: float | None = None,
    tolerance: float | None = None,
    controller: Any = None,
    start: Mapping[str, float] | None = None,
    until: float | None = None,
    within: Mapping[str, float] | None = None,
    target: Mapping[str, float] | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
    method: str = "dopri5",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RecoverableIntervals:
    """From which values of one quantity a robot returns: a scan of the span, then bisection of every edge at once.

    Starts that return need not be one interval: those beyond a lost one may return again. A scan finds every gap that
    is wider than the resolution, and may miss narrower ones. A start that is impossible, or a value beyond a bound of a
    parameter, has the outcome "no start" and its reason in ``reasons``. It is an error, before any work, if no start of
    the scan is possible.

    Parameters
    ----------
    name
        A coordinate, a velocity, a reading or a parameter.
    span
        The least and the largest value. Choose it on both sides of the target to find losses on both.
    resolution
        The largest distance of neighbouring values of the scan, in the unit of the quantity; a two-hundredth of the
        span if not given.
    tolerance
        How far the two sides of an edge may be apart; a thousandth of the resolution if not given.
    controller, start
        As for `region`.
    within, target
        As for `region`; if not given, the quantity itself and its rate must be within 0.05 of zero at the end.
    progress
        Called with the number of runs of the scan that are made and that of all of them.

    Examples
    --------
    >>> import saltus
    >>> weak = saltus.robots.segway_rolled(torque_limit=20.0)
    >>> found = saltus.gaits.recoverable_intervals(
    ...     weak, "theta", (0.0, 1.5), resolution=0.05, controller=weak.controllers["lqr"]
    ... )
    >>> print(f"first lost at {found.first_lost.value:.3f} rad: {found.first_lost.outcome}")
    first lost at 1.043 rad: fell
    """
    trial = Trial.make(system, [name], controller, start, until, within, target, rtol, atol, method, threads)
    values = _scan_values(*_span(name, span), resolution)
    step = float(values[-1] - values[0]) / (len(values) - 1)
    width = FINE * step if tolerance is None else _positive("tolerance", tolerance)
    scan = trial.judge({name: values}, progress)
    scan.check_any()
    parts = [(values, scan), *_bisect(trial, name, values, scan, width)]
    every = np.concatenate([part for part, _ in parts])
    order = np.argsort(every, kind="stable")

    reasons: dict[int, str] = {}
    places, first = np.argsort(order), 0
    for part, made in parts:
        reasons.update({int(places[first + run]): why for run, why in made.reasons.items()})
        first += part.size

    def joined(what: str) -> np.ndarray:
        return np.concatenate([getattr(made, what) for _, made in parts])[order]

    return RecoverableIntervals(
        trial.system, scan.controller, trial.until, name, (float(values[0]), float(values[-1])), step, width,
        every[order], (np.arange(every.size) < len(values))[order], joined("outcome"), joined("slipped"),
        joined("saturated"), joined("t_end"), trial.within, trial.target, trial.start, _origin(trial, name, values),
        dict(sorted(reasons.items())),
    )  # fmt: skip


def _bisect(
    trial: Trial, name: str, values: np.ndarray, scan: Judged, tolerance: float
) -> list[tuple[np.ndarray, Judged]]:
    """Further runs that bracket every edge of a scan to a tolerance, one batch for each halving of all brackets."""
    returned = scan.outcome <= LIMITED_SLIPPED
    before = np.flatnonzero(np.diff(returned))
    back = np.where(returned[before], values[before], values[before + 1])
    lost = np.where(returned[before], values[before + 1], values[before])
    made: list[tuple[np.ndarray, Judged]] = []
    while True:
        narrow = np.maximum(tolerance, ROUNDING * np.spacing(np.maximum(np.abs(back), np.abs(lost))))
        wide = np.abs(lost - back) > narrow
        if not wide.any():
            return made
        middle = 0.5 * (back[wide] + lost[wide])
        judged = trial.judge({name: middle})
        good = judged.outcome <= LIMITED_SLIPPED
        back[wide], lost[wide] = np.where(good, middle, back[wide]), np.where(good, lost[wide], middle)
        made.append((middle, judged))


def _span(name: str, span: Any) -> tuple[float, float]:
    """The two ends of a span, checked."""
    try:
        low, high = span
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the span of {name} must be two numbers, such as (0.0, 1.5), got {span!r}") from None
    for value in (low, high):
        if isinstance(value, bool) or not is_finite(value):
            raise InputError(f"the span of {name} must be finite numbers, got {value!r}")
    if not low < high:
        raise InputError(f"the span of {name} must increase, got {low:g} to {high:g}")
    return float(low), float(high)


def _scan_values(low: float, high: float, resolution: float | None) -> np.ndarray:
    """Evenly spaced values from one end to the other, at most the resolution apart."""
    length = high - low
    step = length / STEPS if resolution is None else _positive("resolution", resolution)
    if step > length:
        raise InputError(f"resolution must be at most the length of the span, {length:g}, got {resolution!r}")
    if not length / step < MOST_CELLS:
        raise InputError(f"a scan has at most {MOST_CELLS:,} steps, got {length:g} in steps of {step:g}")
    # rounding of the length must not add a step
    return np.linspace(low, high, math.ceil(length / step * (1 - 1e-12)) + 1)


def _positive(what: str, value: Any) -> float:
    if isinstance(value, bool) or not 0 < as_float(value) < math.inf:
        raise InputError(f"{what} must be a positive number, got {value!r}")
    return float(value)


def _origin(trial: Trial, name: str, values: np.ndarray) -> float:
    """What displacements are measured from: the target, zero without one, or the robot's own value of a parameter."""
    origin = trial.target.get(name, trial.system.values.get(name, 0.0))
    # an infinite limit or friction is nearest to the end of the span on its side
    return float(origin) if math.isfinite(origin) else float(np.clip(origin, values[0], values[-1]))


def _counts(outcome: np.ndarray) -> dict[str, int]:
    """How many there are of each outcome that occurs."""
    numbers = np.bincount(outcome, minlength=len(OUTCOMES))
    return {name: int(number) for name, number in zip(OUTCOMES, numbers, strict=True) if number}
