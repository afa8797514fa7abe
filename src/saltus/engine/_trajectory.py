"""A trajectory: everything a run left behind, by name, and the means to read it anywhere in time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._content import equal_by_content
from saltus._native import pointer_to
from saltus.engine import _layout as L
from saltus.engine._control import Control
from saltus.engine._event import Event, named, read_event
from saltus.engine._program import engine
from saltus.engine._sample import EVERYTHING, PLACES, STATES
from saltus.engine._status import STATUSES, Status
from saltus.errors import InputError, SaltusError, words
from saltus.hybrid import HybridSystem, read_off

if TYPE_CHECKING:
    import xarray

    from saltus.engine._audit import Audit
    from saltus.engine._error_estimate import ErrorEstimate
    from saltus.engine._jacobian import Sensitivity
    from saltus.engine._needed import NeededFriction
    from saltus.hybrid import ModeGraph


@equal_by_content
@dataclass(frozen=True)
class Samples:
    """Everything known at some instants, a row each."""

    t: np.ndarray
    arc: np.ndarray
    x: np.ndarray
    integrals: np.ndarray
    forces: np.ndarray
    inputs: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    energy_sizes: np.ndarray
    impact_loss: np.ndarray
    positions: np.ndarray
    speeds: np.ndarray
    reach: np.ndarray
    guards: np.ndarray


@equal_by_content
@dataclass(frozen=True, eq=False)
class Trajectory:
    """The record of one run.

    Arcs of smooth motion are joined by events. Samples at a regular spacing, with one row on each
    side of every event, are in ``dataset``; ``at`` reads the continuous motion at any time.

    It can be pickled and copied, and is equal to another where robot, controller and record are. What was compiled is
    found, or compiled anew, in the process that loads it.
    """

    system: HybridSystem
    control: Control
    method: str
    rtol: float
    atol: float
    start_time: float
    requested_end: float
    output_step: float
    initial: np.ndarray
    initial_mode: Mapping[str, str]
    status: Status
    integers: np.ndarray
    doubles: np.ndarray
    step_rows: np.ndarray
    event_rows: np.ndarray
    controller: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        from saltus.engine._travel import packed

        return packed(self)

    def __copy__(self) -> Trajectory:
        made = object.__new__(type(self))
        made.__dict__.update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Trajectory:
        from saltus.engine._travel import copied

        return copied(self, memo)

    def _content(self) -> dict[str, Any]:
        from saltus.engine._travel import content

        return content(self)

    # -- how it ended -----------------------------------------------------------------------

    @property
    def end_time(self) -> float:
        """Time at which the run ended, s."""
        return float(self.doubles[L.T])

    @property
    def final(self) -> dict[str, float]:
        """The last state, by name."""
        start = self.integers[L.Y]
        return named(self.system, self.doubles[start : start + self.integers[L.NX]])

    @property
    def steps(self) -> int:
        """Number of accepted integration steps."""
        return int(self.integers[L.NSTEP])

    @property
    def rejected(self) -> int:
        """Number of rejected integration steps."""
        return int(self.integers[L.NREJECT])

    @property
    def tightened(self) -> int:
        """How often rtol and atol were made a tenth, to hold the energy balance."""
        return int(self.integers[L.TIGHTER])

    @property
    def saturated(self) -> bool:
        """Whether an actuator's limit ever cut the controller's wish."""
        return bool(self.integers[L.SATURATED])

    @property
    def redundant(self) -> bool:
        """Whether closed contacts ever said the same thing twice, so that their forces were not unique."""
        return bool(self.integers[L.REDUNDANT])

    def failure_message(self) -> str:
        """What ended the run, when, and in which state."""
        state = ", ".join(f"{name} = {value:.9g}" for name, value in self.final.items())
        cause = f": {words(self.control.failure)}" if self.control.failure is not None else ""
        status = f"status {self.status.name!r} at t = {self.end_time:.9g} s"
        return f"{self.system.name}: {self.status.meaning}{cause}; {status}, {state}"

    # -- events -----------------------------------------------------------------------------

    @cached_property
    def events(self) -> list[Event]:
        """Every event, in order of time."""
        return [read_event(self.system, row) for row in self.event_rows]

    # -- arcs -------------------------------------------------------------------------------

    @cached_property
    def arc_statuses(self) -> np.ndarray:
        """Statuses of all units in each arc, as numbers."""
        nunit = int(self.integers[L.NUNIT])
        last = self.integers[self.integers[L.STATUS] : self.integers[L.STATUS] + nunit]
        arcs = np.tile(last, (int(self.integers[L.ARC]) + 1, 1)).astype(np.int64)
        if len(self.event_rows) and nunit:
            width = self.event_rows.shape[1]
            before, after = (self.event_rows[:, width - k * nunit : width - (k - 1) * nunit] for k in (2, 1))
            # an event parts two arcs, but for one in which the run ends
            arc = self.event_rows[:, L.E_ARC].astype(int)
            going = arc + 1 < len(arcs)
            arcs[arc[going] + 1] = after[going]
            arcs[arc] = before
        return np.ascontiguousarray(arcs)

    @cached_property
    def arc_modes(self) -> list[str]:
        """Name of the mode of each arc."""
        return [self.system.mode_name(row.tolist()) for row in self.arc_statuses]

    # -- the continuous motion ----------------------------------------------------------------

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return list(self.system.mechanism.coordinates)

    def at(self, times: float | Sequence[float] | np.ndarray) -> np.ndarray:
        """States (q, v) at any times of the run, from its dense output; after the event where there is one."""
        x = self._states(*self._places(self._wanted(times)))
        return x[0] if np.ndim(times) == 0 else x

    def everything_at(self, times: Sequence[float] | np.ndarray) -> Samples:
        """States, forces, inputs and energies at any times of the run; after the event where there is one."""
        wanted = self._wanted(times)
        return self._everything(wanted, *self._places(wanted))

    def _wanted(self, times: Any) -> np.ndarray:
        """Times that are to be read, if they can be."""
        try:
            wanted = np.atleast_1d(np.asarray(times, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"times must be numbers, got {times!r}") from None
        if wanted.ndim > 1 or not np.isfinite(wanted).all():
            raise InputError("times must be one finite number or a plain sequence of them")
        slack = 1e-12 * max(1.0, abs(self.end_time))
        if wanted.size and not (wanted.min() >= self.start_time - slack and wanted.max() <= self.end_time + slack):
            raise InputError(f"times must lie between {self.start_time:g} and {self.end_time:g} s")
        return wanted

    def _places(self, times: np.ndarray, *, before: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Step and fraction of it at which each time is read; at an event after it, or ``before`` it."""
        begins = self._begins
        index = np.clip(np.searchsorted(begins, times, side="left" if before else "right") - 1, 0, len(begins) - 1)
        lengths = self.step_rows[index, L.S_LENGTH]
        return index, np.clip((times - begins[index]) / np.where(lengths > 0, lengths, 1.0), 0.0, 1.0)

    def _places_in_order(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for increasing times, in one compiled pass."""
        index, fraction = np.empty(len(times), dtype=np.int64), times.copy()
        self._call_sampler(index, fraction, 0, PLACES)
        return index, fraction

    @cached_property
    def _begins(self) -> np.ndarray:
        return np.ascontiguousarray(self.step_rows[:, L.S_TIME])

    def _call_sampler(self, index: np.ndarray, fraction: np.ndarray, width: int, what: int) -> np.ndarray:
        I, D = self.integers.copy(), self.doubles.copy()
        index = np.ascontiguousarray(index, dtype=np.int64)
        fraction = np.ascontiguousarray(fraction, dtype=np.float64)
        out = np.zeros((len(index), width)) if what == EVERYTHING else np.empty((len(index), width))
        steps, statuses = np.ascontiguousarray(self.step_rows), self.arc_statuses
        # a controller that failed is asked again, about times before its failure
        failure, self.control.failure = self.control.failure, None
        arguments = map(pointer_to, (I, D, steps, index, fraction))
        call = (*arguments, len(index), pointer_to(statuses), pointer_to(out), what)
        code = engine().sample(*call)
        if code != 0:
            # it fails again: read the rest with the inputs on record
            I[L.CONTROL_KIND] = L.SAMPLED
            code = engine().sample(*call)
        self.control.failure = failure
        if code != 0:
            raise SaltusError(f"sampling a run of {self.system.name} failed: {STATUSES[code].meaning}")
        return out

    def _states(self, index: np.ndarray, fraction: np.ndarray) -> np.ndarray:
        return self._call_sampler(index, fraction, int(self.integers[L.NX]), STATES)

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, steps and fractions of the regular samples, and of both sides of every event."""
        end = self.end_time
        count = math.floor((end - self.start_time) / self.output_step * (1 + 1e-12)) if self.output_step > 0 else 0
        times = np.arange(count + 1) * self.output_step
        times += self.start_time
        jumps = self.event_rows[:, L.E_TIME] if len(self.event_rows) else np.zeros(0)
        jumps = np.unique(jumps)
        slack = 1e-12 * max(1.0, abs(end))
        if jumps.size:
            near = (
                np.abs(times[:, None] - jumps[None, :]).min(axis=1) <= slack
                if jumps.size < 1000
                else np.isin(times, jumps)
            )
            times = times[~near]
        if end - max(times[-1:].max(initial=-math.inf), jumps[-1:].max(initial=-math.inf)) > slack:
            times = np.append(times, end)
        if times.size and times[-1] > end:
            times[-1] = end
        index, fraction = self._places_in_order(times)
        if not jumps.size:
            return times, index, fraction
        left = self._places(jumps, before=True)
        right = self._places(jumps)
        first = jumps > self.start_time
        last = jumps <= self._begins[-1]
        all_times = np.concatenate([times, jumps[first], jumps[last]])
        all_index = np.concatenate([index, left[0][first], right[0][last]])
        all_fraction = np.concatenate([fraction, left[1][first], right[1][last]])
        order = np.lexsort((all_fraction, all_index, all_times))
        return all_times[order], all_index[order], all_fraction[order]

    @property
    def t(self) -> np.ndarray:
        """Times of the samples, s."""
        return self._grid[0]

    @cached_property
    def x(self) -> np.ndarray:
        """States (q, v) at the samples, a row each."""
        return self._states(self._grid[1], self._grid[2])

    @cached_property
    def samples(self) -> Samples:
        """Everything at the samples: states, forces, inputs, energies, positions of contact rows."""
        return self._everything(*self._grid)

    @cached_property
    def mesh(self) -> Samples:
        """Everything at the ends of all integration steps, where nothing is interpolated."""
        count = len(self.step_rows)
        index = np.concatenate([[0], np.arange(count)])
        fraction = np.concatenate([[0.0], np.ones(count)])
        times = self.step_rows[index, L.S_TIME] + fraction * self.step_rows[index, L.S_LENGTH]
        return self._everything(times, index, fraction)

    def _everything(self, times: np.ndarray, index: np.ndarray, fraction: np.ndarray) -> Samples:
        nx, ny, nr, nu, nunit, nuser = (int(self.integers[k]) for k in (L.NX, L.NY, L.NROW, L.NU, L.NUNIT, L.NUSER))
        width = ny + nr + nu + 5 + 2 * nr + nunit + nuser
        rows = self._call_sampler(index, fraction, width, EVERYTHING)
        arc = self.step_rows[index, L.S_ARC].astype(int)
        cuts = np.cumsum([nx, 3, nr, nu, 1, 1, 3, nr, nr, nunit])
        x, integrals, forces, inputs, kinetic, potential, sizes, positions, speeds, reach, guards = np.split(
            rows, cuts, axis=1
        )
        return Samples(
            times, arc, x, integrals, forces, inputs, kinetic[:, 0], potential[:, 0], sizes,
            self._lost_before(index), positions, speeds, reach, guards,
        )  # fmt: skip

    def _lost_before(self, index: np.ndarray) -> np.ndarray:
        """Energy lost in impacts before these steps, J."""
        lost = self.event_rows[:, L.E_KINETIC] - self.event_rows[:, L.E_KINETIC_AFTER]
        total = np.concatenate([[0.0], np.cumsum(lost)])
        result: np.ndarray = total[self.step_rows[index, L.S_EVENTS].astype(int)]
        return result

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The samples as a labelled dataset."""
        from saltus.engine._dataset import dataset

        return dataset(self)

    @cached_property
    def figures(self) -> dict[str, float | None]:
        """The robot's own figures, such as a jump's length."""
        return self.system.figures(self)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """What is read off the coordinates at all samples, such as the pitch of a body, and the rates of that."""
        return read_off(self.system, self.x)

    def _last_readings(self) -> dict[str, float]:
        found = read_off(self.system, np.array([list(self.final.values())]))
        return {name: float(values[0]) for name, values in found.items()}

    def needed_friction(self) -> dict[str, NeededFriction]:
        """The friction that each ground contact needed to hold as it did, at most, and when; by unit.

        Forces are read at the ends of all steps, on both sides of events, and thrice between.
        """
        from saltus.engine._needed import needed_friction

        return needed_friction(self)

    # -- derivatives --------------------------------------------------------------------------

    def jacobian(
        self, wrt: str | Sequence[str] = "state", *, since: float | None = None, until: float | None = None
    ) -> np.ndarray:
        """Derivative of the last state by what the run began with: a row for each state, a column for each quantity.

        Exact along the flow, by the variational equations on the run's own steps; every event adds its
        saltation. Where the run ends in a terminal guard, so does every neighbour, at its own time.

        Parameters
        ----------
        wrt
            ``state``, ``parameters``, ``control``, or names of some of them (`sensitivity` lists them).
        since, until
            Another beginning or end, s; at an event, the state after it.
        """
        found = self.sensitivity(since=since, until=until)
        return found.matrix[:, found.columns(wrt)]

    def event_times_jacobian(self, wrt: str | Sequence[str] = "state") -> np.ndarray:
        """Derivative of the time of each event by what the run began with."""
        found = self.sensitivity()
        return found.times[:, found.columns(wrt)]

    def sensitivity(self, *, since: float | None = None, until: float | None = None) -> Sensitivity:
        """All derivatives at once, with their names."""
        known = self.__dict__.setdefault("_sensitivities", {})
        if (since, until) not in known:
            from saltus.engine._jacobian import sensitivity

            known[since, until] = sensitivity(self, since, until)
        found: Sensitivity = known[since, until]
        return found

    def saltation(self, event: int) -> np.ndarray:
        """The saltation matrix of an event: how it carries a difference of states from before it to after it."""
        from saltus.engine._jacobian import saltation

        return saltation(self, event)

    def check(self, *, deep: bool = False) -> Audit:
        """Audit the run: energy balance, contacts closed, guards respected.

        Parameters
        ----------
        deep
            Measure it independently too: windows of it are simulated again by another method at a tighter tolerance,
            and the error of its end state is estimated (`error_estimate`). This takes several times as long as the run.
        """
        from saltus.engine._audit import audit

        known = self.__dict__.setdefault("_audits", {})
        if deep not in known:
            if deep:
                from saltus.engine._deep import deep_audit

                known[deep] = deep_audit(self)
            else:
                known[deep] = audit(self)
        made: Audit = known[deep]
        return made

    def error_estimate(self) -> ErrorEstimate:
        """Estimate how far the end state is from the true one, by two more runs at tighter tolerances.

        A controller that is a Python function is called again, so it must depend on its arguments alone.
        """
        from saltus.engine._error_estimate import error_estimate

        made: ErrorEstimate = self.__dict__.get("_error_estimate") or error_estimate(self)
        self.__dict__["_error_estimate"] = made
        return made

    def mode_graph(self) -> ModeGraph:
        """The modes that it visited, and the events between them."""
        from saltus.hybrid._graph import visited

        return visited(self)

    def save(self, path: str | Path) -> Path:
        """Write the dataset to a .nc, .mat or .csv file, all or nothing."""
        from saltus.engine._files import save

        return save(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """The run in short, for JSON: status, end, final state, events and figures."""
        return {
            "robot": self.system.name,
            "status": self.status.name,
            "meaning": self.status.meaning,
            "t_end": self.end_time,
            "final": self.final,
            **({"readings": self._last_readings()} if self.system.mechanism.readings else {}),
            "events": [event.to_dict() for event in self.events],
            **self.figures,
            "steps": self.steps,
            "rejected": self.rejected,
            "saturated": self.saturated,
            "redundant": self.redundant,
        }

    def __repr__(self) -> str:
        size = f"{len(self.event_rows)} events, {self.steps} steps"
        return f"<Trajectory of {self.system.name}: {self.status.name} at t = {self.end_time:.6g} s, {size}>"
