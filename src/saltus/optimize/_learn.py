"""The whole impulse method [yang2016, 7.3]: trials, bins, both inverses, and how often each is right."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._checked import chosen_threads, rising, whole
from saltus.optimize._impulses import (
    BEGINS,
    LENGTHS,
    STARTS,
    TARGETS,
    TIME,
    Ranges,
    Swinger,
    Trials,
    random_impulses,
)
from saltus.optimize._inverse import Asked, Committee, GoodTrials, check_softness, committee, hits, softest

# How many starts and targets are asked for.
QUERIES = (11, 7)

Pair = tuple[float, float]


@equal_by_content
@dataclass(frozen=True, eq=False)
class Plan:
    """What is learned, and asked: checked before any work.

    Parameters
    ----------
    ranges
        Of random trials; starts are only those that the elbow allows.
    reach
        Ends that count, m.
    starts, targets
        Of queries, m: those that are possible.
    left_out
        How many queries are not.
    """

    swinger: Swinger
    ranges: Ranges
    reach: Pair
    starts: tuple[float, ...]
    targets: tuple[float, ...]
    left_out: int
    softness: str
    count: int
    seed: int
    threads: int | None


@equal_by_content
@dataclass(frozen=True, eq=False)
class Learned:
    """What the impulse method comes to.

    Parameters
    ----------
    plan
        What was learned, and asked.
    trials, softest
        All trials, and those that were kept of each bin.
    committee, polished
        Both inverses.
    found
        What became of every query by each inverse.
    seconds
        Of trials, of training, and of queries of each inverse.
    """

    plan: Plan
    trials: Trials
    softest: Trials
    committee: Committee
    polished: GoodTrials
    found: dict[str, Asked]
    seconds: dict[str, float]

    @property
    def swinger(self) -> Swinger:
        """What trials are made by."""
        return self.plan.swinger

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "trials": len(self.trials),
            "reached": int(self.trials.reached.sum()),
            "kept": len(self.softest),
            "softness": self.plan.softness,
            "time": self.swinger.time,
            "ranges": {name: list(pair) for name, pair in (*vars(self.plan.ranges).items(), ("end", self.plan.reach))},
            "queries": len(self.plan.starts) * len(self.plan.targets),
            "left_out": self.plan.left_out,
            "within": self.swinger.capture,
            "inverses": {name: hit_rates(asked) for name, asked in self.found.items()},
            "answers": self._answers(),
            "committee_error": dict(zip(("begin", "size", "length"), self.committee.error.tolist(), strict=True)),
            "seconds": self.seconds,
        }

    def _answers(self) -> list[dict[str, Any]]:
        """Every query, with the impulse of each inverse and whether it hit."""
        made = []
        for row, start in enumerate(self.plan.starts):
            for column, target in enumerate(self.plan.targets):
                answer: dict[str, Any] = {"start": start, "target": target}
                for name, asked in self.found.items():
                    begin, size, length = asked.impulses[row, column].tolist()
                    hit = bool(asked.hit[row, column])
                    answer[name] = {"begin": begin, "size": size, "length": length, "hit": hit}
                made.append(answer)
        return made


def hit_rates(asked: Asked) -> dict[str, float]:
    """Of queries: how many catch the bar, kinetic energy there, J; and how many if the begin is off."""
    on_time = asked.begins.index(1.0)
    off = np.delete(asked.made.reached, on_time, axis=-1)
    left = asked.made.residual[..., on_time][asked.hit]
    return {
        "hits": int(asked.hit.sum()),
        "rate": float(asked.hit.mean()),
        "residual": float(left.mean()) if left.size else float("nan"),
        "rate_off": float(off.mean()) if off.size else float("nan"),
    }


def plan_impulses(
    robot: HybridSystem, *, count: int = 165_000, seed: int = 0, starts: Pair = STARTS, targets: Pair = TARGETS,
    begins: Pair | None = None, lengths: Pair | None = None, softness: str = "residual", time: float = TIME,
    threads: int | None = None,
) -> Plan:  # fmt: skip
    """What `learn_impulses` would do, with nothing done: it refuses what cannot be."""
    check_softness(softness)
    count, seed = whole(count, "impulses: the number of trials", 1), whole(seed, "impulses: a seed", 0)
    threads, swinger = chosen_threads(threads), Swinger(robot, time)
    longer = swinger.time / TIME
    ranges = Ranges(
        starts,
        (BEGINS[0] * longer, BEGINS[1] * longer) if begins is None else begins,
        (LENGTHS[0] * longer, LENGTHS[1] * longer) if lengths is None else lengths,
    )
    reach = rising(targets, "impulses: targets")
    if reach[0] <= 0:
        raise InputError(f"impulses: targets are ahead, positive, got {reach[0]:g} to {reach[1]:g} m")
    possible, *places = _possible(swinger, ranges.start, reach)
    return Plan(
        swinger, Ranges(possible, ranges.begin, ranges.length), reach, places[0], places[1],
        math.prod(QUERIES) - len(places[0]) * len(places[1]), softness, count, seed, threads,
    )  # fmt: skip


def _possible(swinger: Swinger, starts: Pair, targets: Pair) -> tuple[Pair, tuple[float, ...], tuple[float, ...]]:
    """Of a range of starts, and of starts and targets of queries, what the elbow allows."""
    begun, ended = (np.linspace(*pair, many).round(4) for pair, many in zip((starts, targets), QUERIES, strict=True))
    nearest, farthest = swinger.distances
    begun, ended = begun[swinger.possible(begun)], ended[swinger.possible(ended) & (ended >= swinger.targets[0])]
    # just within: stretched, a hand has no way to go
    range_ = max(starts[0], -farthest * (1 - 1e-9)), min(starts[1], -nearest)
    if not len(begun) or not len(ended) or not range_[0] < range_[1]:
        raise InputError(
            f"impulses: no query is possible: the free hand of {swinger.robot.name} can be from {nearest:.4g} to "
            f"{farthest:.4g} m behind, and end from {swinger.targets[0]:.4g} to {farthest:.4g} m ahead; starts are "
            f"{starts[0]:g} to {starts[1]:g} m, and targets {targets[0]:g} to {targets[1]:g} m"
        )
    return range_, tuple(begun.tolist()), tuple(ended.tolist())


def learn_impulses(
    robot: HybridSystem, *, count: int = 165_000, seed: int = 0, starts: Pair = STARTS, targets: Pair = TARGETS,
    begins: Pair | None = None, lengths: Pair | None = None, softness: str = "residual", time: float = TIME,
    threads: int | None = None, progress: Callable[[float, str], None] | None = None,
) -> Learned:  # fmt: skip
    """Make random trials, keep the softest, train both inverses, and ask them for every start and target.

    Parameters
    ----------
    count, seed
        How many trials, and of which random numbers.
    starts, targets
        From where to where the free hand swings, m: negative is behind the hand that holds. Of both, 11 and 7 are asked
        for; those where the elbow does not let the hand be are left out.
    begins, lengths
        Of the impulses of random trials, s; as those of `Ranges` if None, and as much longer as the trials are.
    softness
        By what the trials are chosen that the committee learns: ``residual`` or ``force``.
    time
        How long a trial lasts, s.
    progress
        Called with the share that is done, and what is done next.
    """
    plan = plan_impulses(
        robot, count=count, seed=seed, starts=starts, targets=targets, begins=begins, lengths=lengths,
        softness=softness, time=time, threads=threads,
    )  # fmt: skip
    return learned(plan, progress)


def learned(plan: Plan, progress: Callable[[float, str], None] | None = None) -> Learned:
    """Do what was planned."""
    tell = progress or (lambda share, what: None)
    seconds: dict[str, float] = {}

    def timed(name: str, share: float, what: str, do: Callable[[], Any]) -> Any:
        tell(share, what)
        begin = clock.perf_counter()
        made = do()
        seconds[name] = clock.perf_counter() - begin
        return made

    swinger, seed = plan.swinger, plan.seed
    trials = timed(
        "trials", 0.0, "trials", lambda: random_impulses(swinger, plan.count, seed, plan.ranges, plan.threads)
    )
    kept = softest(trials, plan.softness, reach=plan.reach)
    nets = timed("committee", 0.1, "committee", lambda: committee(kept, swinger, seed=seed))
    polished = GoodTrials(swinger, trials, seed=seed)
    queries = plan.starts, plan.targets
    found = {
        "committee": timed("asked", 0.5, "asking the committee", lambda: hits(swinger, nets, *queries)),
        "polished": timed("polished", 0.55, "polishing", lambda: hits(swinger, polished, *queries)),
    }
    return Learned(plan, trials, kept, nets, polished, found, seconds)
