"""Regions of attraction: from which starts a controlled robot returns, over two quantities, by many runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import xarray

from saltus._content import equal_by_content
from saltus._finite import as_float, is_finite
from saltus._provenance import provenance_line
from saltus._write import check_path, write
from saltus.contact._unit import GROUNDS
from saltus.engine import Batch, Figures, simulate_many
from saltus.engine._cases import columns
from saltus.engine._read_cases import follows
from saltus.engine._refusals import Refusals, none_of, tally
from saltus.engine._simulate import _check_grips, _check_start, check_slips
from saltus.engine._starts import check_constants, wrong_starts
from saltus.errors import InputError, unknown_name
from saltus.gaits._map import MOST_CELLS, Axis, check_any_allowed
from saltus.hybrid import HybridSystem

# What may become of a start. The first four are all of those that come back.
RETURNED, LIMITED, SLIPPED, LIMITED_SLIPPED, FELL, LATE, FAILED, NO_START = range(8)

OUTCOMES = (
    "returned",
    "returned, at the actuators' limit on the way",
    "returned, slipping on the way",
    "returned, slipping and at the limit on the way",
    "fell",
    "not back in time",
    "no motion",
    "no start",
)

# How near to its target a varied quantity must be at the end, in its unit, where nothing else is said.
NEAR = 0.05

RTOL, ATOL = 1e-8, 1e-10


@equal_by_content
@dataclass(frozen=True, eq=False)
class Region:
    """What becomes of runs that begin with other values of two quantities.

    ``outcome`` are places in `OUTCOMES`, one for each pair of ``x`` and ``y``. Of a grid, they are rows of one value of
    y each, in ``shape``; random points have none. ``slipped`` and ``saturated`` are noted of every run, also of those
    that did not come back; ``t_end`` is when each ended, s. ``reasons`` says why a start is none, by its number.
    """

    system: HybridSystem
    controller: str
    until: float
    x_name: str
    x: np.ndarray
    y_name: str
    y: np.ndarray
    outcome: np.ndarray
    slipped: np.ndarray
    saturated: np.ndarray
    t_end: np.ndarray
    shape: tuple[int, int] | None
    within: dict[str, float]
    target: dict[str, float]
    start: dict[str, float]
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def returned(self) -> np.ndarray:
        """Which came back."""
        back: np.ndarray = self.outcome <= LIMITED_SLIPPED
        return back

    @property
    def counts(self) -> dict[str, int]:
        """How many runs had each outcome that there was."""
        numbers = np.bincount(self.outcome, minlength=len(OUTCOMES))
        return {name: int(number) for name, number in zip(OUTCOMES, numbers, strict=True) if number}

    @property
    def reason_counts(self) -> dict[str, int]:
        """How many starts are none for each kind of reason, the most frequent first."""
        return tally(self.reasons.values())

    def unit(self, name: str) -> str:
        """Unit of a quantity."""
        return unit_of(self.system, name)

    def to_dict(self) -> dict[str, Any]:
        """In short, for JSON."""
        possible = self.outcome != NO_START
        return {
            "robot": self.system.name, "controller": self.controller, "until": self.until,
            "x": self.x_name, "y": self.y_name, "runs": int(self.outcome.size), "outcomes": self.counts,
            "reasons": self.reason_counts,
            "returned": int(self.returned.sum()), "share": float(self.returned.sum() / max(1, possible.sum())),
            "slipped": int(self.slipped.sum()), "saturated": int(self.saturated.sum()),
            "within": dict(self.within), "target": dict(self.target), "start": dict(self.start),
        }  # fmt: skip

    def to_dataset(self) -> xarray.Dataset:
        """Every start and its outcome, with names, units and where they come from."""
        meanings = {"flag_values": np.arange(len(OUTCOMES), dtype=np.int8), "flag_meanings": "; ".join(OUTCOMES)}
        variables = {
            self.x_name: ("run", self.x, {"units": self.unit(self.x_name)}),
            self.y_name: ("run", self.y, {"units": self.unit(self.y_name)}),
            "outcome": ("run", self.outcome.astype(np.int8), meanings),
            "slipped": ("run", self.slipped),
            "saturated": ("run", self.saturated),
            "t_end": ("run", self.t_end, {"units": "s"}),
        }
        attributes = {
            "robot": self.system.name, "controller": self.controller, "until": self.until,
            "shape": list(self.shape or ()), "made_with": provenance_line(),
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


def region(
    system: HybridSystem,
    x: Axis,
    y: Axis,
    *,
    controller: Any = None,
    start: Mapping[str, float] | None = None,
    until: float | None = None,
    within: Mapping[str, float] | None = None,
    target: Mapping[str, float] | None = None,
    count: int | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    atol: float = ATOL,
    method: str = "dopri5",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Region:
    """From which starts a robot comes back, over two quantities.

    Velocities that are neither varied nor given follow from the others where contacts tie them together: runs begin
    in the nearest state in which closed grips do not move and nothing on the ground slips, if there is one.

    A start that is impossible, or a value beyond a bound of a parameter, has the outcome "no start" and its reason in
    ``reasons``. It is an error, before any work, if no start is possible.

    A run is at the limit where an actuator is asked for more than its own limit, a number of the robot. A limit that a
    controller keeps by itself, as ``LQR(limit=20)`` does, is part of its law and does not count.

    Parameters
    ----------
    x, y
        A name and its values: a coordinate, a velocity, a reading or a parameter.
    controller
        As for `saltus.simulate`.
    start
        Other start values, by name.
    within
        What must be near its target at the end, and how near: by name, in the unit of each. If not given, the
        coordinates that are varied and their rates, within 0.05.
    target
        Where that is, by name; zero for what is not named.
    count
        Draw so many points at random between the first and the last value of each, by ``seed``, in place of a grid.
    progress
        Called with the number of runs made and that of all.
    """
    trial = Trial.make(system, [x[0], y[0]], controller, start, until, within, target, rtol, atol, method, threads)
    axes = [_axis(trial.system, *axis) for axis in (x, y)]
    if x[0] == y[0]:
        raise InputError(f"a region needs two different quantities, got {x[0]} twice")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MOST_CELLS):
        raise InputError(f"count must be a whole number from 1 to {MOST_CELLS:,}, got {count!r}")
    if len(axes[0]) * len(axes[1]) > MOST_CELLS:
        raise InputError(f"a region has at most {MOST_CELLS:,} cells, got {len(axes[0]):,} times {len(axes[1]):,}")
    if count is None:
        points = [part.ravel() for part in np.meshgrid(*axes)]
        shape = (len(axes[1]), len(axes[0]))
    else:
        random = np.random.default_rng(seed)
        points, shape = [random.uniform(axis[0], axis[-1], count) for axis in axes], None
    made = trial.judge(dict(zip((x[0], y[0]), points, strict=True)), progress)
    made.check_any()
    return Region(
        trial.system, made.controller, trial.until, x[0], points[0], y[0], points[1], made.outcome, made.slipped,
        made.saturated, made.t_end, shape, trial.within, trial.target, trial.start, made.reasons,
    )  # fmt: skip


@equal_by_content
@dataclass(frozen=True)
class Judged:
    """What became of some starts."""

    controller: str
    outcome: np.ndarray
    slipped: np.ndarray
    saturated: np.ndarray
    t_end: np.ndarray
    reasons: dict[int, str] = field(default_factory=dict)

    def check_any(self) -> None:
        """Refuse starts of which not one is possible: no run was made."""
        if len(self.reasons) == self.outcome.size:
            raise none_of("runs can start", list(self.reasons.values()))


@equal_by_content
@dataclass(frozen=True, eq=False)
class Trial:
    """What all runs have in common."""

    system: HybridSystem
    controller: Any
    start: dict[str, float]
    until: float
    within: dict[str, float]
    target: dict[str, float]
    options: dict[str, Any]

    @classmethod
    def make(
        cls, system: Any, varied: Sequence[str], controller: Any, start: Any, until: Any, within: Any, target: Any,
        rtol: float, atol: float, method: str, threads: int | None,
    ) -> Trial:  # fmt: skip
        """Everything checked, before any work."""
        if not isinstance(system, HybridSystem):
            raise InputError(f"a region needs a robot, such as saltus.robots.segway(), got {system!r}")
        known = [*_quantities(system), *system.mechanism.parameters]
        for name in varied:
            if name not in known:
                raise unknown_name("quantity", name, known, system.name)
        given = dict(start or {})
        both = sorted(set(given) & set(varied))
        if both:
            raise InputError(f"{both[0]} is varied, so that it cannot be given too")
        system.state(given)
        near = dict.fromkeys(_with_rates(system, varied), NEAR) if within is None else dict(within)
        if not near:
            raise InputError("say what must be near its target at the end: within={'theta': 0.05}")
        aims = dict(target or {})
        for name, value in near.items():
            if name not in _quantities(system):
                raise unknown_name("quantity", name, _quantities(system), system.name)
            if not 0 < as_float(value) < math.inf:
                raise InputError(f"within: {name} needs a positive number, got {value!r}")
        for name, value in aims.items():
            if name not in near:
                raise unknown_name("quantity that must be near its target", name, near, system.name)
            if not is_finite(value):
                raise InputError(f"target of {name} must be a finite number, got {value!r}")
        end = system.until if until is None else until
        if not 0 < as_float(end) < math.inf:
            raise InputError(f"until must be a positive time in seconds, got {end!r}")
        options = {"rtol": rtol, "atol": atol, "method": method, "threads": threads}
        full = {name: float(aims.get(name, 0.0)) for name in near}
        return cls(system, controller, given, float(end), {n: float(v) for n, v in near.items()}, full, options)

    def judge(self, values: Mapping[str, np.ndarray], progress: Callable[[int, int], None] | None = None) -> Judged:
        """What becomes of runs that begin with these values."""
        system, count = self.system, len(next(iter(values.values())))
        parameters = {name: row for name, row in values.items() if name in system.mechanism.parameters}
        refusals = Refusals(count)
        p = self._parameter_rows(parameters, count, refusals)
        states = self._starts(values, parameters, count, refusals)
        if system.units or system.guards:
            wrong, gaps, own = wrong_starts(system, np.zeros(count), states, p)
            refusals.check(wrong, lambda run: _check_start(system, gaps[run], own[run]))
        possible = ~refusals.refused
        slipped, saturated = np.zeros((2, count), dtype=bool)
        made = Judged("passive", np.full(count, NO_START), slipped, saturated, np.zeros(count))
        made.reasons.update(refusals.reasons)
        if not possible.any():
            return made
        batch = simulate_many(
            system, states[possible], parameters={name: row[possible] for name, row in parameters.items()},
            controllers=self.controller, until=self.until, events_kept=0, figures=_slips(system), progress=progress,
            **self.options,
        )  # fmt: skip
        slips = batch.figures["slipped"] != 0 if "slipped" in batch.figures else np.zeros(batch.n, dtype=bool)
        made.outcome[possible] = self._outcomes(batch, slips)
        made.slipped[possible], made.saturated[possible] = slips & batch.begun, batch.saturated
        made.t_end[possible] = np.where(batch.begun, batch.t_end, 0.0)
        made.reasons.update({int(np.flatnonzero(possible)[run]): why for run, why in batch.cases.refused.items()})
        first = batch.cases.possible[0] if batch.begun.any() else 0
        return replace(made, controller=batch.cases.controls[first].name)

    def _parameter_rows(self, given: Mapping[str, np.ndarray], count: int, refusals: Refusals) -> np.ndarray:
        """Parameters of all runs; those that no robot has are refused, and the system's own are in their place."""
        p, known = np.tile(self.system.parameter_values, (count, 1)), self.system.mechanism.parameters
        for name, row in given.items():
            refusals.check(~known[name].allowed(row), lambda k, name=name, row=row: known[name].check(row[k]))  # type: ignore[misc]
            able = ~refusals.refused
            p[able, list(known).index(name)] = row[able]
        if given:
            check_constants(self.system, p, refusals)
        return p

    def _starts(
        self, values: Mapping[str, np.ndarray], parameters: Mapping[str, np.ndarray], count: int, refusals: Refusals
    ) -> np.ndarray:
        """Start states; those that cannot be made consistent with closed contacts are refused."""
        system = self.system
        told = {name: row for name, row in values.items() if name not in parameters}
        if not set(told) <= set(system.state_names):  # readings are made into states one by one
            states = np.tile(system.state(self.start), (count, 1))
            for run in np.flatnonzero(~refusals.refused).tolist():
                found = refusals.attempt(
                    run, lambda run: self._of(parameters, run).state({**self.start, **_row(told, run)})
                )
                if found is not None:
                    states[run] = found
        else:
            states = np.tile(system.state(self.start), (count, 1))
            if parameters and follows(system, self.start):
                for run in np.flatnonzero(~refusals.refused).tolist():
                    found = refusals.attempt(run, lambda run: self._of(parameters, run).state(self.start))
                    states[run] = states[run] if found is None else found
            for name, row in told.items():
                states[:, system.state_names.index(name)] = row
        keep = [name for name in system.mechanism.velocities if name in told or name in self.start]
        if not any(system.start_statuses()) and not any(unit.kind in GROUNDS for unit in system.units):
            return states
        for run in np.flatnonzero(~refusals.refused).tolist():
            one = self._of(parameters, run)
            # where what is told leaves no such state it slips, unless it cannot; and the largest numbers never roll
            with contextlib.suppress(InputError):
                states[run] = one.consistent(states[run], keep=keep, rolling=True)
            refusals.attempt(run, lambda run, one=one: _check_closed(one, states[run]))  # type: ignore[misc]
        return states

    def _of(self, parameters: Mapping[str, np.ndarray], run: int) -> HybridSystem:
        """The system with the parameters of one run."""
        return self.system.with_parameters(**_row(parameters, run)) if parameters else self.system

    def _outcomes(self, batch: Batch, slipped: np.ndarray) -> np.ndarray:
        """One of OUTCOMES for each run."""
        system, d = self.system, self.system.dynamics
        quantities = _quantities(system)
        function = ca.Function("aims", [d.x, d.p], [ca.vertcat(*(quantities[name] for name in self.within))])
        ends = columns(function, batch.states, batch.cases.parameters)[0]
        off = np.abs(ends - np.array([self.target[name] for name in self.within]))
        readings = system.mechanism.readings
        rounds = np.array([name in readings and bool(readings[name].wraps) for name in self.within])
        off = np.where(rounds, np.abs((off + np.pi) % (2 * np.pi) - np.pi), off)  # the shorter way round
        back = (off <= np.array(list(self.within.values()))).all(axis=1) & (batch.status == "finished")
        returned = RETURNED + np.where(batch.saturated, LIMITED, 0) + np.where(slipped, SLIPPED, 0)
        outcome = np.where(back, returned, np.where(batch.status == "finished", LATE, FAILED))
        outcome = np.where(batch.status == "not_started", NO_START, outcome)
        return np.where(batch.status == "terminal", FELL, outcome)


def unit_of(system: HybridSystem, name: str) -> str:
    """Unit of a coordinate, velocity, reading or parameter."""
    m = system.mechanism
    known = {**m.coordinates, **m.velocities, **{one.name: one.unit for one in m.readings.values()}}
    known |= {f"d{one.name}": f"{one.unit}/s" for one in m.readings.values() if f"d{one.name}" not in known}
    known |= {one: parameter.unit for one, parameter in m.parameters.items()}
    return known[name]


def _quantities(system: HybridSystem) -> dict[str, Any]:
    """Everything that can be told of a state, as expressions."""
    d = system.dynamics
    found = dict(zip(system.state_names, ca.vertsplit(d.x), strict=True))
    for reading in system.mechanism.readings.values():
        found[reading.name] = reading.expression
        found.setdefault(f"d{reading.name}", ca.jtimes(reading.expression, d.q, d.qdot))
    return found


def _with_rates(system: HybridSystem, names: Sequence[str]) -> list[str]:
    """Coordinates and readings of these names, or whose rates these are, and their rates."""
    known, found = _quantities(system), []
    for name in names:
        if name in known:
            # a rate is called d and what it is the rate of; wz of a free body is the rate of nothing
            pair = (name[1:], name) if name.startswith("d") and name[1:] in known else (name, f"d{name}")
            found += [name, *(other for other in pair if other in known)]
    return list(dict.fromkeys(found))


def _row(columns: Mapping[str, np.ndarray], run: int) -> dict[str, float]:
    """The values of one run by name."""
    return {name: float(values[run]) for name, values in columns.items()}


def _check_closed(system: HybridSystem, x: np.ndarray) -> None:
    """Refuse a start in which something slips that never does, or a closed grip moves."""
    check_slips(system, x)
    _check_grips(system, system.start_statuses(), x)


def _axis(system: HybridSystem, name: str, values: Any) -> np.ndarray:
    try:
        axis = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"values of {name} must be numbers, got {values!r}") from None
    if axis.ndim != 1 or axis.size < 2 or (np.diff(axis) <= 0).any() or not np.isfinite(axis).all():
        raise InputError(f"values of {name} must be at least two finite numbers that increase")
    if name in system.mechanism.parameters:
        check_any_allowed(system.mechanism.parameters[name], axis)
    return axis


def _slips(system: HybridSystem) -> Figures | None:
    """Figures that tell whether a ground contact ever slips; none where there are no such contacts."""
    places = [k for k, unit in enumerate(system.units) if unit.kind in GROUNDS]
    return _slip_figures(sum(1 << k for k in places), len(system.units)) if places else None


@lru_cache(maxsize=64)
def _slip_figures(which: int, units: int) -> Figures:
    def slips(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
        # statuses of ground contacts from the second on are slips; at the start none is known yet
        for unit in range(units):
            if moment > 0 and (which >> unit) & 1 and (old[unit] >= 2 or new[unit] >= 2):
                out[0] = 1.0
        return 0

    return Figures(("slipped",), slips)
