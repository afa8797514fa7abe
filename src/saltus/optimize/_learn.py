"""The whole impulse method [yang2016, 7.3]: trials, bins, both inverses, and how often each is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus.hybrid import HybridSystem
from saltus.optimize._impulses import Swinger, Trials, random_impulses
from saltus.optimize._inverse import OFF, Committee, GoodTrials, committee, hits, softest

# Starts and targets of queries, m, on the level of the hand that holds.
STARTS = tuple(np.linspace(-0.60, -0.40, 11).round(3).tolist())
TARGETS = tuple(np.linspace(0.40, 0.60, 7).round(4).tolist())


@dataclass(frozen=True, eq=False)
class Learned:
    """What the impulse method comes to.

    Parameters
    ----------
    trials, softest
        All trials, and those that were kept of each bin.
    committee, polished
        Both inverses.
    found
        What became of every query by each inverse, in arrays of starts, targets and shares of the begin.
    seconds
        Of trials, of training, and of queries of each inverse.
    """

    swinger: Swinger
    trials: Trials
    softest: Trials
    committee: Committee
    polished: GoodTrials
    found: dict[str, Trials]
    seconds: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "trials": len(self.trials),
            "reached": int(self.trials.reached.sum()),
            "kept": len(self.softest),
            "queries": len(STARTS) * len(TARGETS),
            "within": self.swinger.capture,
            "inverses": {name: hit_rates(made) for name, made in self.found.items()},
            "committee_error": dict(zip(("begin", "size", "length"), self.committee.error.tolist(), strict=True)),
            "seconds": self.seconds,
        }


def hit_rates(made: Trials) -> dict[str, float]:
    """Of queries as `hits` makes them: how many catch the bar, kinetic energy there, J; and if the begin is off."""
    on_time = OFF.index(1.0)
    reached = made.reached[..., on_time]
    off = np.delete(made.reached, on_time, axis=-1)
    left = made.residual[..., on_time][reached]
    return {
        "hits": int(reached.sum()),
        "rate": float(reached.mean()),
        "residual": float(left.mean()) if left.size else float("nan"),
        "rate_off": float(off.mean()),
    }


def learn_impulses(
    robot: HybridSystem, *, count: int = 165_000, seed: int = 0, threads: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Learned:  # fmt: skip
    """Make random trials, keep the softest, train both inverses, and ask them for every start and target.

    Parameters
    ----------
    count, seed
        How many trials, and of which random numbers.
    progress
        Called with the share that is done, and what is done next.
    """
    tell = progress or (lambda share, what: None)
    seconds: dict[str, float] = {}

    def timed(name: str, share: float, what: str, do: Callable[[], Any]) -> Any:
        tell(share, what)
        begin = time.perf_counter()
        made = do()
        seconds[name] = time.perf_counter() - begin
        return made

    swinger = Swinger(robot)
    trials = timed("trials", 0.0, "trials", lambda: random_impulses(swinger, count, seed, threads=threads))
    kept = softest(trials)
    nets = timed("committee", 0.1, "committee", lambda: committee(kept, swinger.limit, seed=seed))
    polished = GoodTrials(swinger, trials, seed=seed)
    found = {
        "committee": timed("asked", 0.5, "asking the committee", lambda: hits(swinger, nets, STARTS, TARGETS)),
        "polished": timed("polished", 0.55, "polishing", lambda: hits(swinger, polished, STARTS, TARGETS)),
    }
    return Learned(swinger, trials, kept, nets, polished, found, seconds)
