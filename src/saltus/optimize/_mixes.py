"""Robustness: what a trial keeps of its length when friction, torque and start are a little off, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import qmc

from saltus._content import equal_by_content
from saltus.engine import Batch, simulate_many
from saltus.engine._refusals import tally
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

if TYPE_CHECKING:
    from saltus.optimize._problem import Problem, Trial

# How exactly the runs of a judgement are made: enough for their lengths, and none without an end.
EXACTLY: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10, "max_steps": 20_000, "max_events": 400}


@equal_by_content
@dataclass(frozen=True)
class Mixes:
    """What may be off: parameters by a share of their value, states at the start by an amount, all evenly drawn.

    Parameters
    ----------
    shares, amounts
        By name: how far each may be off at most.
    count, seed
        How many mixes are drawn, and of which random numbers.
    size
        All of them times this.
    evenly
        Spread over the box (Sobol's points) in place of drawn one by one.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    amounts: Mapping[str, float] = field(default_factory=dict)
    count: int = 24
    seed: int = 0
    size: float = 1.0
    evenly: bool = True

    def __post_init__(self) -> None:
        if self.count < 1 or not self.size >= 0:
            raise InputError(f"mixes: a positive count and a size that is not negative, got {self.count}, {self.size}")

    def held_out(self, count: int = 200) -> Mixes:
        """Other mixes of full size, that no search has seen."""
        return replace(self, count=count, seed=self.seed + 1_000_003, size=1.0, evenly=False)

    def draw(self, system: HybridSystem) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Values of the parameters, and what is added to the states; the first mix is none."""
        for name in self.shares:
            if name not in system.values:
                raise unknown_name("parameter", name, tuple(system.values), system.name)
        for name in self.amounts:
            if name not in system.state_names:
                raise unknown_name("state", name, tuple(system.state_names), system.name)
        width = len(self.shares) + len(self.amounts)
        drawn = np.zeros((self.count + 1, width))
        if self.evenly and width:
            # few points that fill the box: what bears them bears those between
            points = qmc.Sobol(width, rng=np.random.default_rng(self.seed)).random(1 << (self.count - 1).bit_length())
            drawn[1:] = self.size * (2 * points[: self.count] - 1)
        else:
            drawn[1:] = self.size * np.random.default_rng(self.seed).uniform(-1, 1, (self.count, width))
        parts = iter(drawn.T)
        values = {name: system.values[name] * (1 + share * next(parts)) for name, share in self.shares.items()}
        return values, {name: amount * next(parts) for name, amount in self.amounts.items()}


@equal_by_content
@dataclass(frozen=True, eq=False)
class Robustness:
    """Lengths under held-out mixes: how many keep a share of the length without any, and how many have none at all.

    ``refused`` says of each mix under which the run could not start why, by its number; it has no length.
    """

    value: float
    values: np.ndarray
    share: float
    refused: dict[int, str] = field(default_factory=dict)

    @property
    def kept(self) -> float:
        """How often at least that share is kept."""
        return float(np.mean(np.nan_to_num(self.values, nan=-np.inf) >= self.share * self.value))

    @property
    def fell(self) -> float:
        """How often it came to nothing: it fell, broke a rule while that bound, or could not start."""
        return float(np.mean(np.isnan(self.values)))

    @property
    def reasons(self) -> dict[str, int]:
        """How many mixes leave no start, for each kind of reason, the most frequent first."""
        return tally(self.refused.values())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        low, middle = np.quantile(np.nan_to_num(self.values, nan=0.0), (0.1, 0.5))
        return {
            "length": self.value,
            "share": self.share,
            "kept": self.kept,
            "fell": self.fell,
            "not_started": len(self.refused),
            "reasons": self.reasons,
            "nine_in_ten": float(low),
            "median": float(middle),
        }


def run_mixes(problem: Problem, trials: list[Trial], mixes: Mixes, **options: Any) -> Batch:
    """Every trial under every mix, in one batch: all of the first trial, then all of the second."""
    values, amounts = mixes.draw(problem.robot)
    each, many = mixes.count + 1, len(trials)
    names = {*trials[0].start, *amounts}
    start = {}
    for name in names:
        given = [trial.start.get(name, problem.robot.start_values.get(name, 0.0)) for trial in trials]
        start[name] = np.repeat(given, each) + np.tile(amounts.get(name, np.zeros(each)), many)
    return simulate_many(
        problem.robot, start, parameters={name: np.tile(value, many) for name, value in values.items()},
        controllers=[trial.controller for trial in trials for _ in range(each)], until=problem.until,
        figures=problem.figures, events_kept=0, **options,
    )  # fmt: skip


def robustness(problem: Problem, trial: Trial, mixes: Mixes, share: float = 0.9) -> Robustness:
    """What a trial keeps under mixes; runs that break a rule, or cannot start, count as nothing."""
    batch = run_mixes(problem, [trial], mixes, **EXACTLY)
    if 0 in batch.cases.refused:  # the trial itself, without a mix
        raise InputError(batch.cases.refused[0])
    values = np.where(batch.begun, np.asarray(problem.lengths(batch), dtype=float), np.nan)
    return Robustness(float(values[0]), values[1:], share, {k - 1: why for k, why in batch.cases.refused.items()})
