"""A batch: what many runs left behind, an array over the runs for each thing known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._content import equal_by_content
from saltus.engine import _many as M
from saltus.engine._audit import Audit, Check, energy_limit
from saltus.engine._cases import Cases
from saltus.engine._event import event_cause, named
from saltus.engine._refusals import tally
from saltus.engine._simulate import simulate
from saltus.engine._status import NOT_STARTED, RUNNING, STATUSES
from saltus.engine._trajectory import Trajectory
from saltus.engine._travel import portable
from saltus.errors import InputError, unknown_name, words
from saltus.hybrid import HybridSystem
from saltus.registry import PluginPaths

if TYPE_CHECKING:
    import xarray


@equal_by_content
@dataclass(frozen=True, eq=False)
class Batch:
    """The summaries of many runs, a row each; ``run`` makes any of them again with its whole record.

    ``options`` are those of `saltus.simulate`; ``figures`` are the user's own; ``errors`` are what
    controllers raised, by run; ``runs`` are the trajectories, where they were requested (None where a run
    could not start or the batch was interrupted before). A run that could not start has the status
    ``not_started``, numbers that are NaN, and its reason in ``reasons``.
    """

    cases: Cases
    options: dict[str, Any]
    events_kept: int
    integers: np.ndarray
    doubles: np.ndarray
    figures: dict[str, np.ndarray] = field(default_factory=dict)
    errors: dict[int, BaseException] = field(default_factory=dict)
    runs: list[Trajectory | None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {"plugins": PluginPaths()} | {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"errors": {run: portable(error) for run, error in self.errors.items()}}

    def __copy__(self) -> Batch:
        made = object.__new__(type(self))
        made.__dict__.update(vars(self))
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state.items() if name != "plugins"})

    def _content(self) -> dict[str, Any]:
        errors = {run: words(error) for run, error in self.errors.items()}
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"errors": errors}

    # -- how they ended ---------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.integers)

    def __len__(self) -> int:
        return self.n

    @property
    def system(self) -> HybridSystem:
        """The system, with the parameters of the first run that could start."""
        return self.cases.system

    @property
    def codes(self) -> np.ndarray:
        """Status of each run, as a number."""
        return self.integers[:, M.R_CODE]

    @cached_property
    def status(self) -> np.ndarray:
        """Status of each run, by name."""
        return np.array([STATUSES[code].name for code in range(len(STATUSES))])[self.codes]

    @cached_property
    def good(self) -> np.ndarray:
        """Whether each run ended well."""
        return np.array([STATUSES[code].good for code in range(len(STATUSES))])[self.codes]

    @property
    def begun(self) -> np.ndarray:
        """Whether each run was begun: not where it could not start, nor where the batch was interrupted before."""
        begun: np.ndarray = (self.codes != RUNNING) & (self.codes != NOT_STARTED)
        return begun

    @cached_property
    def reasons(self) -> dict[int, str]:
        """Why each run that could not start, or did not end well, did not: a sentence by its number."""
        return {k: self._reason(k) for k in np.flatnonzero(~self.good).tolist()}

    def _reason(self, run: int) -> str:
        if run in self.cases.refused:
            return self.cases.refused[run]
        status = STATUSES[int(self.codes[run])]
        if status.code == RUNNING:
            return "the batch was stopped before this run began"
        cause = f": {words(self.errors[run])}" if run in self.errors else ""
        return f"{self.system.name}: {status.meaning}{cause}; status {status.name!r} at t = {self.t_end[run]:.9g} s"

    @cached_property
    def reason_counts(self) -> dict[str, int]:
        """How many runs have each reason, the most frequent first; reasons that differ in numbers alone are one."""
        return tally(self.reasons.values())

    @property
    def t_end(self) -> np.ndarray:
        """Time at which each run ended, s."""
        return self.doubles[:, M.R_TIME]

    @property
    def states(self) -> np.ndarray:
        """The last state (q, v) of each run, a row each."""
        return self.doubles[:, M.R_STATE : M.R_STATE + len(self.system.state_names)]

    @property
    def starts(self) -> np.ndarray:
        """The first state of each run, a row each."""
        return self.cases.states

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters of all runs, by name."""
        return dict(zip(self.system.mechanism.parameters, self.cases.parameters.T, strict=True))

    def final(self, run: int) -> dict[str, float]:
        """The last state of one run, by name."""
        return named(self.system, self.states[self._index(run)])

    def __getitem__(self, name: str) -> np.ndarray:
        """A coordinate or velocity at the end of all runs, or a figure, by name."""
        names = self.system.state_names
        if name in names:
            return self.states[:, names.index(name)]
        if name in self.figures:
            return self.figures[name]
        raise unknown_name("coordinate, velocity or figure", name, [*names, *self.figures], self.system.name)

    @cached_property
    def modes(self) -> np.ndarray:
        """Name of the mode in which each run ended; empty where it could not start."""
        rows = self.integers[:, M.R_STATUSES : self._first_event]
        names = _by_row(rows, lambda row: self.system.mode_name(row.tolist()))
        return np.where(self.codes == NOT_STARTED, "", names)

    @property
    def steps(self) -> np.ndarray:
        """Number of accepted integration steps of each run."""
        return self.integers[:, M.R_STEPS]

    @property
    def rejected(self) -> np.ndarray:
        """Number of rejected integration steps of each run."""
        return self.integers[:, M.R_REJECTED]

    @property
    def tightened(self) -> np.ndarray:
        """How often rtol and atol of each run were made a tenth, to hold the energy balance."""
        return self.integers[:, M.R_TIGHTER]

    @property
    def saturated(self) -> np.ndarray:
        """Whether an actuator's limit ever cut the controller's wish."""
        cut: np.ndarray = self.integers[:, M.R_SATURATED] > 0
        return cut

    @property
    def redundant(self) -> np.ndarray:
        """Whether closed contacts ever said the same thing twice, so that their forces were not unique."""
        twice: np.ndarray = self.integers[:, M.R_REDUNDANT] > 0
        return twice

    # -- events -----------------------------------------------------------------------------

    @property
    def event_count(self) -> np.ndarray:
        """Number of events of each run, also of those beyond the kept ones."""
        return self.integers[:, M.R_EVENTS]

    @property
    def event_times(self) -> np.ndarray:
        """Times of the first ``events_kept`` events of each run, s; not a number where there is none."""
        first = M.R_STATE + len(self.system.state_names)
        return self.doubles[:, first : first + self.events_kept]

    @cached_property
    def event_guards(self) -> np.ndarray:
        """Names of what caused these events; empty where there is none."""
        rows = self.integers[:, self._first_event :].reshape(self.n * self.events_kept, 2 + len(self.system.units))
        names = _by_row(rows, lambda row: event_cause(self.system, row[0], row[1], row[2:]) if row[0] else "")
        return names.reshape(self.n, self.events_kept)

    @property
    def _first_event(self) -> int:
        return M.R_STATUSES + len(self.system.units)

    # -- trust ------------------------------------------------------------------------------

    @property
    def energy_residual(self) -> np.ndarray:
        """Energy at the end, less energy at the start, less work put in, plus losses, J."""
        return self.doubles[:, M.R_RESIDUAL]

    @property
    def energy_worst(self) -> np.ndarray:
        """The largest magnitude of that residual at the end of any step of each run, J."""
        return self.doubles[:, M.R_WORST]

    @cached_property
    def energy_limit(self) -> np.ndarray:
        """What the audit of a run allows it to be, J."""
        scale, largest, slope, pushed = (
            self.doubles[:, place] for place in (M.R_SCALE, M.R_LARGEST, M.R_STEEPEST, M.R_PUSHED)
        )
        rtol, atol = self.options["rtol"], self.options["atol"]
        limit: np.ndarray = energy_limit(self.steps, scale, largest, slope, pushed, rtol, atol)
        return limit

    def check(self) -> Audit:
        """Audit all runs that were begun: the worst energy balance, and how many runs miss theirs."""
        worst, limit = self.energy_worst[self.begun], self.energy_limit[self.begun]
        if not worst.size:
            return Audit(())
        missed = ~(worst <= limit)
        k = int(np.argmax(np.where(missed, np.inf, worst / limit)))
        return Audit(
            (
                Check("energy balance", float(worst[k]), float(limit[k]), "J"),
                Check("runs that miss it", float(missed.sum()), 0.0, ""),
            )
        )

    # -- more of one run --------------------------------------------------------------------

    def run(self, run: int) -> Trajectory:
        """Make one run again, bit by bit the same, with its whole record; one that could not start is an error."""
        k = self._index(run)
        if k in self.cases.refused:
            raise InputError(self.cases.refused[k])
        controller = self.cases.controllers[k]
        return simulate(self.cases.of(k), self.starts[k], controller=controller, raise_errors=False, **self.options)

    def _index(self, run: int) -> int:
        if not isinstance(run, (int, np.integer)) or not -self.n <= run < self.n:
            raise InputError(f"runs are numbered from 0 to {self.n - 1}, got {run!r}")
        return int(run) % self.n

    def to_dataset(self) -> xarray.Dataset:
        """The batch as a labelled dataset."""
        from saltus.engine._dataset import batch_dataset

        return batch_dataset(self)

    def __repr__(self) -> str:
        ends = ", ".join(f"{count} {name}" for name, count in Counter(self.status.tolist()).most_common())
        return f"<Batch of {self.n} runs of {self.system.name}: {ends}; {int(self.event_count.sum())} events>"


def _by_row(rows: np.ndarray, name: Any) -> np.ndarray:
    """A name for each row of numbers, made once for all rows that are the same."""
    if not rows.shape[1]:
        return np.full(len(rows), name(rows[0]))
    different, which = np.unique(rows, axis=0, return_inverse=True)
    return np.array([name(row) for row in different], dtype=str)[which.reshape(-1)]
