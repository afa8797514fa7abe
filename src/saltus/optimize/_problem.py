"""What is to be optimised: numbers that may be chosen, the run that they make, and how good it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.engine import Batch, Figures, Trajectory, simulate, simulate_many
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._collocation import Motion
from saltus.optimize._mixes import Mixes, run_mixes

# How exactly candidates of a search are run, and those that are told of, which have no more events than this.
FAST: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8, "max_steps": 3000, "max_events": 60}
EVENTS = 1000
EXACT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}


@equal_by_content
@dataclass(frozen=True)
class Trial:
    """A run that can be made: its start, by name, and its controller."""

    start: Mapping[str, float]
    controller: Any


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Stage:
    """A part of a search: only some numbers are varied, and runs are judged by something that leads to the objective.

    ``width`` is where the search begins to look, in parts of the bounds; ``gain`` and ``patience`` say when it has come
    to its end: when so many generations have not made it better by so much. Of so many ``tries``, each from another
    random point, the best is gone on with. A try begins at the best of so many ``drawn`` at random or, with none drawn,
    where the stage before has ended. Numbers that no stage has come to are in the middle of their bounds. Where the
    problem has mixes, a stage may be content with some of them.
    """

    names: Sequence[str]
    judge: Callable[[Batch], np.ndarray]
    figures: Figures
    until: float
    width: float = 0.1
    gain: float = 1e-3
    patience: int = 40
    candidates: int = 40
    tries: int = 1
    drawn: int = 2000
    mixes: int | None = None


@sent_whole
@equal_by_content
@dataclass(frozen=True, eq=False)
class Problem:
    """Numbers that may be chosen, and what they are worth.

    Parameters
    ----------
    robot
        With the guards that the judge wants to see recorded.
    variables
        The numbers, each between two bounds.
    trial
        The run that values of all of them make.
    lacks
        By how much a start is not allowed, zero if it is; such a candidate is not run.
    judge
        How good each run of a batch is, the more the better; runs that break rules are worth less the more they do.
    figures
        What the judge reads of the runs.
    objective
        The figure that is to be as large as possible.
    until, complete
        How long a run may last, s; and whether a run came to what is the end of it.
    rules, binding
        Guards that must not be crossed, and until when: a function of a run.
    stages
        Searches in some of the numbers that lead to a good start for that in all of them.
    mixes
        What may be off: candidates are then judged by what they keep of it in nine of ten mixes.
    polish
        Better motions near a run, by collocation through its modes, each better still, within so many seconds.
    lengths
        The objective of each run of a batch, not a number if a rule is broken: what robustness is measured by.
    """

    name: str
    robot: HybridSystem
    variables: Mapping[str, tuple[float, float]]
    trial: Callable[[Mapping[str, float]], Trial]
    lacks: Callable[[Mapping[str, float]], float]
    judge: Callable[[Batch], np.ndarray]
    figures: Figures
    objective: str
    until: float
    rules: Sequence[str] = ()
    binding: Callable[[Trajectory], float] = field(default=lambda run: run.end_time)
    complete: Callable[[Trajectory], bool] = field(default=lambda run: True)
    stages: Sequence[Stage] = ()
    mixes: Mixes | None = None
    polish: Callable[[Trajectory, float], Iterable[Motion]] | None = None
    lengths: Callable[[Batch], np.ndarray] = field(default=lambda batch: np.full(len(batch.status), np.nan))

    def __post_init__(self) -> None:
        for name, (low, high) in self.variables.items():
            if not -math.inf < low < high < math.inf:
                raise InputError(
                    f"problem {self.name}: {name} must lie between two finite bounds, got {low} and {high}"
                )

    def values(self, unit: np.ndarray) -> dict[str, float]:
        """The numbers at a point of the unit cube."""
        return {
            name: float(low + share * (high - low))
            for (name, (low, high)), share in zip(self.variables.items(), np.clip(unit, 0.0, 1.0), strict=True)
        }

    def unit(self, values: Mapping[str, float]) -> np.ndarray:
        """The point of the unit cube of some numbers."""
        return np.array([(values[name] - low) / (high - low) for name, (low, high) in self.variables.items()])

    @cached_property
    def whole(self) -> Stage:
        """The search for the objective itself, in all numbers."""
        return Stage(
            tuple(self.variables),
            self.judge,
            self.figures,
            self.until,
            width=0.005 if self.mixes is None else 0.05,
            gain=5e-4,
            patience=150 if self.mixes is None else 60,
            candidates=60 if self.mixes is None else 30,
            drawn=0,
        )

    def scores(self, units: np.ndarray, stage: Stage | None = None, mixed: bool = True) -> np.ndarray:
        """How good candidates are, a row of the unit cube each; if the problem has mixes, with or without them."""
        stage = stage or self.whole
        candidates = [self.values(row) for row in units]
        lacks = np.array([self.lacks(values) for values in candidates])
        found = np.where(lacks > 0, WORST - lacks, -math.inf)
        run = np.flatnonzero(lacks <= 0)
        if run.size:
            trials = [self.trial(candidates[k]) for k in run]
            if mixed and self.mixes is not None and stage.judge is self.judge:
                count = stage.mixes or self.mixes.count
                found[run] = self._under_mixes(trials, replace(self.mixes, count=min(count, self.mixes.count)))
                return found
            names = list(trials[0].start)
            batch = simulate_many(
                self.robot, {name: np.array([trial.start[name] for trial in trials]) for name in names},
                controllers=[trial.controller for trial in trials], until=stage.until, figures=stage.figures,
                events_kept=0, **FAST,
            )  # fmt: skip
            judged = np.asarray(stage.judge(batch), dtype=float)
            found[run] = np.where(np.isfinite(judged) & np.isin(batch.status, GOOD), judged, WORST)
        return found

    def _under_mixes(self, trials: list[Trial], mixes: Mixes) -> np.ndarray:
        """What the worst tenth leaves of the score, over the share it must be; more without a mix is not to be kept."""
        batch = run_mixes(self, trials, mixes, **FAST)
        judged = np.asarray(self.judge(batch), dtype=float)
        judged = np.where(np.isfinite(judged) & np.isin(batch.status, GOOD), judged, NOTHING).reshape(len(trials), -1)
        low = np.quantile(judged[:, 1:], 1 - KEPT, axis=1)
        own, borne = judged[:, 0], np.where(low > 0, low / SHARE, low)
        # the more a score without a mix is beyond what is borne, the less of it is kept
        return np.where((borne > 0) & (own > borne), borne**2 / np.maximum(own, borne), np.minimum(own, borne))

    def run(self, trial: Trial, **options: Any) -> Trajectory:
        """One run, exactly."""
        return simulate(
            self.robot, trial.start, controller=trial.controller, until=self.until, raise_errors=False,
            **{"max_events": EVENTS, **EXACT, **options},
        )  # fmt: skip


# The score of what cannot be run; what cannot even be begun is worth less, one mix of many with no end more.
WORST, NOTHING = -20.0, -6.0

# Of so many mixes, so large a share of the score is to be kept; a little more than what is asked, for others are drawn.
KEPT, SHARE = 0.96, 0.92

# Statuses of runs that came to their end.
GOOD = ("finished", "terminal")
