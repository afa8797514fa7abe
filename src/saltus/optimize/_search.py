"""Global search without derivatives: CMA-ES from random starts, stage by stage, a generation in one compiled batch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._records import load_record, save_record
from saltus.errors import InputError
from saltus.optimize._problem import WORST, Problem
from saltus.optimize._verdict import verdict

FORMAT = "saltus search 1"

# Of so many drawn candidates one is tried under mixes.
FEW = 60

# While nothing clean is found, the best of the stage is judged as a whole and written this often, s.
OFTEN = 2.0

# So many candidates are drawn between two looks at the clock.
BLOCK = 600


@dataclass
class Progress:
    """How far a search is."""

    seconds: float
    runs: int
    restarts: int
    best: float


@equal_by_content
@dataclass
class Best:
    """The best candidate so far, and what it took; ``clean`` says whether it breaks no rule when it is made exactly."""

    problem: Problem
    unit: np.ndarray
    score: float
    seconds: float = 0.0
    runs: int = 0
    restarts: int = 0
    history: list[tuple[float, int, float]] = field(default_factory=list)
    clean: bool = True

    @property
    def values(self) -> dict[str, float]:
        """Its numbers."""
        return self.problem.values(self.unit)

    def better_than(self, other: Best) -> bool:
        """Whether it is to be kept in place of another: what breaks no rule comes first."""
        return (self.clean, self.score) > (other.clean, other.score)

    def save(self, file: Path) -> None:
        """Write it, all or nothing."""
        save_record(file, FORMAT, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """For JSON: all that is needed to go on."""
        return {
            "problem": self.problem.name,
            "parameters": dict(self.problem.robot.values),
            "score": self.score,
            "clean": self.clean,
            "values": self.values,
            "seconds": self.seconds,
            "runs": self.runs,
            "restarts": self.restarts,
            "history": [list(row) for row in self.history],
        }


def search(
    problem: Problem,
    *,
    seconds: float = math.inf,
    runs: int | None = None,
    seed: int = 0,
    file: Path | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Best:
    """The best candidate that can be found in a time or in so many runs.

    It is written to the file whenever there is a better one; what is clean is better than what is not. A search that
    is resumed goes on from the file: what is there is judged anew, is where it begins if it is clean, and stays if
    nothing better is found. With a number of runs in place of a time it comes out the same every time.
    """
    if not seconds > 0 or (runs is not None and runs < 1) or (runs is None and math.isinf(seconds)):
        raise InputError(f"a search needs a positive time or number of runs, got {seconds!r} s and {runs!r}")
    began, best = time.monotonic(), None
    if resume:
        if file is None or not file.exists():
            raise InputError("there is no file to go on from")
        best = read_best(problem, file)
    spent, made, restarts = (0.0, 0, 0) if best is None else (best.seconds, best.runs, best.restarts)
    # what is not clean is no place to begin at
    clean = best is not None and best.clean
    begin_at = best.unit if best is not None and clean else None
    one = _Search(problem, np.random.default_rng([seed, made]), lambda: time.monotonic() - began > seconds, begin_at)
    one.told = best.score if best is not None and clean else one.told
    looked = -math.inf
    while (now := time.monotonic() - began) < seconds and (runs is None or one.runs < runs):
        found = one.step()
        other = None
        if found is not None and (best is None or not best.clean or found[1] > best.score):
            other = judged_as_whole(problem, *found)
        elif (best is None or not best.clean) and runs is None and now - looked > OFTEN:
            looked, other = now, judged_as_whole(problem, one.best[1])
        if other is not None and (best is None or other.better_than(best)):
            best = _after(other, best, spent + now, made + one.runs, restarts + one.restarts)
            one.told = best.score if best.clean else one.told
            if file is not None:
                best.save(file)
        if progress is not None:
            progress(Progress(now, one.runs, one.restarts, -math.inf if best is None else best.score))
    if best is None or not best.clean:  # the whole problem was perhaps never come to
        other = judged_as_whole(problem, one.best[1])
        best = other if best is None or other.better_than(best) else best
    best.seconds, best.runs, best.restarts = spent + now, made + one.runs, restarts + one.restarts
    if file is not None:
        best.save(file)
    return best


def _after(new: Best, old: Best | None, seconds: float, runs: int, restarts: int) -> Best:
    """A new best, with what it took and with the history of those before it."""
    new.seconds, new.runs, new.restarts = seconds, runs, restarts
    new.history = [*(old.history if old is not None else []), (seconds, runs, new.score)]
    return new


def judged_as_whole(problem: Problem, unit: np.ndarray, score: float | None = None) -> Best:
    """A candidate as the whole problem sees it: clean if it is made exactly and breaks no rule, and then worth that."""
    if score is None:
        score = float(problem.scores(unit[None])[0])
    if score <= WORST:
        return Best(problem, unit, score, clean=False)
    judged = verdict(problem, problem.trial(problem.values(unit)))
    if judged.value is None or not judged.clean:
        return Best(problem, unit, score, clean=False)
    return Best(problem, unit, min(score, judged.value))


def read_best(problem: Problem, file: Path) -> Best:
    """The best candidate that a search left in a file, judged anew."""
    try:
        content = load_record(file, FORMAT)
        told, values = content["problem"], {name: float(content["values"][name]) for name in problem.variables}
        seconds, runs, restarts = float(content["seconds"]), int(content["runs"]), int(content["restarts"])
        parameters = dict(content["parameters"])
        history = [(float(t), int(n), float(s)) for t, n, s in content["history"]]
    except InputError as error:
        raise InputError(f"cannot go on from {file}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"cannot go on from {file}: {type(error).__name__}: {error}") from None
    if told != problem.name:
        raise InputError(f"{file} holds a search for {told}, not for {problem.name}")
    if parameters != dict(problem.robot.values):
        raise InputError(f"{file} holds a search with other parameters of {problem.robot.name}")
    unit = problem.unit(values)
    inside = bool(np.all((unit >= -1e-9) & (unit <= 1 + 1e-9)))
    if not (inside and math.isfinite(seconds) and min(seconds, runs, restarts) >= 0):
        raise InputError(f"cannot go on from {file}: a number in it is not possible")
    best = judged_as_whole(problem, np.clip(unit, 0.0, 1.0))
    best.seconds, best.runs, best.restarts, best.history = seconds, runs, restarts, history
    return best


class _Search:
    """Searches one after the other: through the stages of the problem, then in all numbers, then anew."""

    def __init__(
        self, problem: Problem, random: np.random.Generator, late: Callable[[], bool], at: np.ndarray | None = None
    ):
        self.problem, self.random, self.late = problem, random, late
        self.stages = [*problem.stages, problem.whole]
        self.runs = self.restarts = 0
        self.told = -math.inf
        self.champion: tuple[float, np.ndarray] | None = None
        self.begin(at)

    def begin(self, at: np.ndarray | None = None) -> None:
        """Begin at a random point or, in all numbers, at one that is told."""
        self.number = 0 if at is None else len(self.stages) - 1
        if at is None:
            varied = [name in self.stages[0].names for name in self.problem.variables]
            at = np.where(varied, self.random.random(len(varied)), 0.5)
        self.at = at
        self.tried: list[tuple[float, np.ndarray]] = []
        self.reached: list[np.ndarray] = []
        self._enter()

    def _enter(self) -> None:
        import cma

        self.stage = self.stages[self.number]
        if self.number == len(self.stages) - 1:
            # some earlier stage may have ended at what is better as a whole
            reached = np.array([*self.reached, self.at])
            self.at = reached[self.problem.scores(reached).argmax()]
            self.runs += len(reached)
        self.history: list[float] = []
        names = list(self.problem.variables)
        self.places = [names.index(name) for name in self.stage.names]
        self.best: tuple[float, np.ndarray] = (-np.inf, self.at)
        if self.stage.drawn:
            self.at = self._drawn(self.stage.drawn)
        options = {
            "bounds": [0, 1], "popsize": self.stage.candidates, "verbose": -9,
            "seed": int(self.random.integers(1, 1 << 31)),
        }  # fmt: skip
        self.strategy = cma.CMAEvolutionStrategy(
            np.clip(self.at[self.places], 1e-3, 1 - 1e-3), self.stage.width, options
        )

    def _drawn(self, count: int) -> np.ndarray:
        """The best of so many candidates; under mixes, of those few that are best without. Fewer where time is up."""
        drawn = np.tile(self.at, (count, 1))
        drawn[:, self.places] = self.random.random((count, len(self.places)))
        scores = self._scores(drawn, BLOCK, mixed=False)
        if self.problem.mixes is not None:
            drawn = drawn[np.argsort(-scores)[: max(1, len(scores) // FEW)]]
            scores = self._scores(drawn, max(1, BLOCK // FEW), mixed=True)
        return np.asarray(drawn[scores.argmax()])

    def _scores(self, drawn: np.ndarray, block: int, *, mixed: bool) -> np.ndarray:
        """Scores of candidates, of the first at least, as far as there is time."""
        found: list[np.ndarray] = []
        for first in range(0, len(drawn), block):
            if found and self.late():
                break
            found.append(self.problem.scores(drawn[first : first + block], self.stage, mixed=mixed))
            self.runs += len(found[-1])
        return np.concatenate(found)

    def _told(self, unit: np.ndarray, score: float) -> tuple[np.ndarray, float]:
        """A candidate with its score; what was judged under a few mixes is judged under all if it would be the best."""
        if self.stage.mixes is not None and score > self.told:
            score = float(self.problem.scores(unit[None])[0])
            self.runs += 1
        return unit, score

    def step(self) -> tuple[np.ndarray, float] | None:
        """One generation; the best candidate of it, if it is judged as the whole problem is."""
        asked = np.array(self.strategy.ask())
        if not self.history:
            asked[0] = self.at[self.places]
        units = np.tile(self.at, (len(asked), 1))
        units[:, self.places] = asked
        scores = self.problem.scores(units, self.stage)
        self.runs += len(scores)
        self.strategy.tell(list(asked), list(-scores))
        top = int(scores.argmax())
        if scores[top] > self.best[0]:
            self.best = float(scores[top]), units[top]
        self.history.append(float(scores[top]))
        patience, last = self.stage.patience, self.number == len(self.stages) - 1
        stale = len(self.history) > patience and (
            max(self.history[-patience:]) <= max(self.history[:-patience]) + self.stage.gain
        )
        found = self._told(units[top], float(scores[top])) if self.stage.judge is self.problem.judge else None
        if self.strategy.stop() or stale:
            self.tried.append(self.best)
            self.reached.append(self.best[1])
            if len(self.tried) < self.stage.tries:
                self._enter()
                return found
            self.best = max(self.tried, key=lambda pair: pair[0])
            self.tried, self.at = [], self.best[1]
            if last:
                if self.champion is None or self.best[0] > self.champion[0]:
                    self.champion = self.best
                # in turn from a random point, and once more around the best of all
                self.restarts += 1
                self.begin(self.champion[1] if self.restarts % 2 else None)
            else:
                self.number += 1
                self._enter()
        return found
