"""Tuning: gains of the energy controller that fail least under training mixes, judged under others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control import Energy, Gripper, Motor
from saltus.errors import BatchInterrupted, InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import BARS, find_task, placed
from saltus.studies._swing_trials import _OF_TASK, SwingTrials, fitted_energy, swing_trials, try_swings

# A catch with this much kinetic energy left, J, counts as much as one at the end of the time.
HARD = 5.0

# Width of the first generation, as a share of each range.
WIDTH = 0.25


@equal_by_content
@dataclass(frozen=True, eq=False)
class Tuned:
    """Gains that were found, and what they are worth; a score counts failures, and below that time and softness.

    Parameters
    ----------
    energy
        The controller with these gains, not yet fitted to sensors, motor and gripper.
    gains, before
        Those that were tuned, by name: as found, and as they were.
    score, score_before
        On the training mixes.
    training, held_out, held_out_before
        Trials of each task: of the gains found on the training mixes, on held-out ones, and of those before on these.
        The latter two are empty where the search was interrupted.
    history
        Number of candidates tried and the best score, whenever it was better.
    candidates
        How many were tried.
    interrupted
        Whether Ctrl-C ended the search.
    """

    energy: Energy
    gains: dict[str, float]
    before: dict[str, float]
    score: float
    score_before: float
    training: tuple[SwingTrials, ...]
    held_out: tuple[SwingTrials, ...]
    held_out_before: tuple[SwingTrials, ...]
    history: tuple[tuple[int, float], ...]
    candidates: int
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without single runs."""
        return {
            "gains": self.gains,
            "before": self.before,
            "score": self.score,
            "score_before": self.score_before,
            "candidates": self.candidates,
            "interrupted": self.interrupted,
            "history": [list(row) for row in self.history],
            "training": [trials.to_dict(runs=False) for trials in self.training],
            "held_out": [trials.to_dict(runs=False) for trials in self.held_out],
            "held_out_before": [trials.to_dict(runs=False) for trials in self.held_out_before],
        }


def score_of(trials: Sequence[SwingTrials]) -> float:
    """Failures, each 1, and less than 1 for the time and the kinetic energy of catches: less is better."""
    score = 0.0
    for one in trials:
        good = one.success
        score += float((~good).sum())
        if good.any():
            time = np.minimum(one.time[good] / one.batch.options["until"], 1.0).mean()
            hard = np.minimum(one.residual[good] / HARD, 1.0).mean()
            score += 0.499 * float(time + hard) / len(trials)
    return score


def tune(
    robot: str | HybridSystem,
    gains: Mapping[str, tuple[float, float] | None] | Sequence[str],
    *,
    task: str | Sequence[str] = "swing",
    energy: Energy | None = None,
    mixes: SwingMixes | None = None,
    held_out: int = 500,
    candidates: int = 60,
    seed: int = 0,
    motor: Motor | None = None,
    gripper: Gripper | str | None = _OF_TASK,
    bars: int = BARS,
    progress: Callable[[int, int, float], None] | None = None,
) -> Tuned:
    """Gains of the energy controller that fail least often, and then are fast and soft, by CMA-ES on training mixes.

    The gains there are stay unless better ones are found. Ctrl-C ends the search and keeps the best so far. With one
    seed it comes out the same every time.

    Parameters
    ----------
    robot
        By name, or with parameters of its own.
    gains
        Names, each with the range to search, or with None or alone for from half of what it is to twice that.
        `Energy.all_gains` tells what there is.
    task
        What is tried: ``swing``, ``swing-up``, ``ladder``, or several of them.
    energy
        The controller to begin with: its law and all other gains.
    mixes
        To tune on; 60 if not said.
    held_out
        How many other mixes the outcome is judged on; none if 0.
    candidates
        How many sets of gains are tried, about.
    seed
        Of the search.
    progress
        Called with the number of candidates tried, that of all, and the best score so far.
    """
    tasks = (task,) if isinstance(task, str) else tuple(task)
    energy, mixes = Energy() if energy is None else energy, SwingMixes(count=60) if mixes is None else mixes
    _check(tasks, energy, mixes, held_out, candidates, seed)
    before, ranges = present_gains(energy), gain_ranges(gains, energy)

    def tried(values: Mapping[str, float], under: SwingMixes, trials: Any) -> tuple[SwingTrials, ...]:
        made = []
        for name in tasks:
            claws = find_task(name).gripper if isinstance(gripper, str) else gripper
            fitted = fitted_energy(
                with_gains(energy, values), placed(robot, find_task(name), bars), under, motor, claws
            )
            made.append(trials(robot, name, fitted, under, motor=motor, gripper=claws, bars=bars))
        return tuple(made)

    start = {name: before[name] for name in ranges}
    search = _Search(start, ranges, lambda values: tried(values, mixes, try_swings), candidates, seed, progress)
    judged: list[tuple[SwingTrials, ...]] = []
    interrupted = search.run()
    if not interrupted and held_out:
        try:
            # a search that is done is not lost to mixes that leave no possible start
            judged = [tried(values, mixes.held_out(held_out), swing_trials) for values in (search.best, start)]
        except BatchInterrupted:
            judged, interrupted = [], True
    return Tuned(
        energy=with_gains(energy, search.best), gains=search.best, before=start, score=search.score,
        score_before=search.history[0][1], training=search.trials, held_out=judged[0] if judged else (),
        held_out_before=judged[1] if judged else (), history=tuple(search.history), candidates=search.made,
        interrupted=interrupted,
    )  # fmt: skip


class _Search:
    """CMA-ES in the unit box of the ranges, from the gains there are."""

    def __init__(
        self,
        start: dict[str, float],
        ranges: dict[str, tuple[float, float]],
        tried: Callable[[Mapping[str, float]], tuple[SwingTrials, ...]],
        candidates: int,
        seed: int,
        progress: Callable[[int, int, float], None] | None,
    ):
        self.ranges, self.tried, self.of, self.seed, self.progress = ranges, tried, candidates, seed, progress
        self.made, self.history = 0, []  # type: int, list[tuple[int, float]]
        self.best, self.score = start, math.inf
        # not to be interrupted: without it there is nothing to keep
        self.trials = tried(start)
        self._judge(start, self.trials)

    def run(self) -> bool:
        """Search; whether it was interrupted."""
        import cma

        low, high = np.array(list(self.ranges.values())).T
        at = (np.array(list(self.best.values())) - low) / (high - low)
        # one number alone is nothing for a covariance: a second one that does nothing goes with it
        extra = [0.5] if len(at) == 1 else []
        options = {"bounds": [0, 1], "verbose": -9, "seed": self.seed + 1}
        strategy = cma.CMAEvolutionStrategy([*np.clip(at, 1e-3, 1 - 1e-3), *extra], WIDTH, options)
        try:
            while self.made < self.of and not strategy.stop():
                asked = strategy.ask()
                scores = []
                for unit in asked:
                    values = dict(zip(self.ranges, (low + (high - low) * unit[: len(at)]).tolist(), strict=True))
                    scores.append(self._judge(values, self.tried(values)))
                strategy.tell(asked, scores)
        except KeyboardInterrupt:
            return True
        return False

    def _judge(self, values: dict[str, float], trials: tuple[SwingTrials, ...]) -> float:
        score = score_of(trials)
        self.made += 1
        if score < self.score:
            self.best, self.score, self.trials = values, score, trials
            self.history.append((self.made, score))
        if self.progress is not None:
            self.progress(self.made, max(self.of, self.made), self.score)
        return score


def with_gains(energy: Energy, values: Mapping[str, float]) -> Energy:
    """The controller with some gains changed, wherever they were said."""
    own: dict[str, Any] = {name: value for name, value in values.items() if name in _options()}
    others = {name: value for name, value in values.items() if name not in own}
    kept = {name: value for name, value in energy.gains.items() if name not in values}
    return replace(energy, **own, gains={**kept, **others})


def _options() -> frozenset[str]:
    """Gains that are options of their own."""
    from saltus.control.energy import OWN

    return frozenset(OWN)


def present_gains(energy: Energy) -> dict[str, float]:
    """All gains of a controller, by name."""
    return dict(zip(Energy.all_gains(), energy._gains(), strict=True))


def gain_ranges(given: Any, energy: Energy) -> dict[str, tuple[float, float]]:
    """The range of each gain; refused where it is none, or where the gain is unknown."""
    present = present_gains(energy)
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence)) or not given:
        raise InputError(f"gains to tune are names, or ranges by name, such as {{'buffer': (1, 6)}}; got {given!r}")
    names = list(given)
    for name in names:
        if name not in present:
            raise unknown_name("gain", name, present, "energy")
    if len(set(names)) != len(names):
        raise InputError(f"a gain to tune is named once, got {', '.join(names)}")
    return {name: _range(name, given[name] if isinstance(given, Mapping) else None, present[name]) for name in names}


def _range(name: str, given: Any, present: float) -> tuple[float, float]:
    """A range that is told, or from half of what there is to twice that."""
    if given is None and present == 0:
        raise InputError(f"{name} is zero now: tell the range in which it is to be tuned")
    try:
        low, high = map(float, sorted((present / 2, present * 2)) if given is None else given)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: a range is a lowest and a highest value, got {given!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"{name}: a range is a lowest and a highest value, got {low:g} and {high:g}")
    for end in (low, high):
        Energy(gains={name: end})  # refused where it is of the wrong sign
    if not low <= present <= high:
        raise InputError(f"{name} is {present:g} now, which must be within the range {low:g} to {high:g}")
    return low, high


def _check(tasks: Any, energy: Any, mixes: Any, held_out: Any, candidates: Any, seed: Any) -> None:
    if not tasks:
        raise InputError("there is no task to tune for")
    for name in tasks:
        find_task(name)
    if not isinstance(energy, Energy):
        raise InputError(f"gains are those of a saltus.control.Energy, got {energy!r}")
    if not isinstance(mixes, SwingMixes):
        raise InputError(f"mixes are a saltus.studies.SwingMixes, got {mixes!r}")
    for what, value, least in (("held_out", held_out, 0), ("candidates", candidates, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{what} is a whole number of at least {least}, got {value!r}")
