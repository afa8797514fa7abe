"""What the controllers of [yang2016, 7] have to learn before they can swing: tables, trials and nets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from saltus.control import Policy, Reach, Table
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize import (
    Committee,
    Discounted,
    GoodTrials,
    RandomActions,
    Swinger,
    committee,
    random_impulses,
    softest,
    train_table,
)
from saltus.optimize._value_iteration import check_memory
from saltus.studies._swing_tasks import find_task, placed

# From bar to bar, m, in all that is compared; and other distances for which there are tables, for uneven ladders.
SPACING, OTHERS = 0.55, (0.50, 0.60)

# What the full torque costs in the tables that spare it, 1/s.
EFFORT = 2.0

# How often a policy acts: as in [yang2016, 7.2.2]; and through sensors, whose rates are differences over ten samples.
PERIOD, SENSED = 0.02, 1e-3

# How long each part takes beside the others, roughly: our tables, those of the thesis' recipe, impulses.
SHARES = {"table": 1.0, "thesis": 1.2, "impulses": 1.5}

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Effort:
    """How much is spent on learning.

    Parameters
    ----------
    grid
        Places along each axis of a table by our recipe.
    thesis_grid, thesis_sweeps
        Of tables by the thesis' recipe, which takes 100 and 1000.
    trials
        Random impulses [yang2016, 7.3.2].
    members
        Nets of the committee.
    others
        Distances of bars beside 0.55 m for which there are tables, m: for uneven ladders.
    rounds
        In which good trials are polished.
    """

    grid: int = 50
    thesis_grid: int = 30
    thesis_sweeps: int = 100
    trials: int = 165_000
    members: int = 10
    others: tuple[float, ...] = OTHERS
    rounds: int = 6

    def __post_init__(self) -> None:
        least = {"grid": 8, "thesis_grid": 8, "thesis_sweeps": 1, "trials": 2000, "members": 1, "rounds": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise InputError(f"compare: {name} is a whole number of at least {low}, got {value!r}")


@dataclass(frozen=True, eq=False)
class Tables:
    """What dynamic programming learns [yang2016, 7.2]; ``seconds`` that each table took.

    Parameters
    ----------
    ours
        By our recipe: for each hand and distance, that of hand A and 0.55 m first.
    free, gentle
        Of hand A and 0.55 m: without stops of the elbow, and with a cost on torque.
    thesis, thesis_free
        By the thesis' recipe, with stops and without.
    """

    robot: HybridSystem
    ours: tuple[Table, ...]
    free: Table
    gentle: Table
    thesis: Table
    thesis_free: Table
    seconds: dict[str, float] = field(default_factory=dict)

    def policy(self, *, sensed: bool = False) -> Policy:
        """Control by our tables; it believes in the nominal robot."""
        return Policy(self.ours, model=dict(self.robot.values), period=SENSED if sensed else PERIOD)

    def of(self, table: Table, *, sensed: bool = False) -> Policy:
        """Control by one of the other tables."""
        return Policy(table, model=dict(self.robot.values), period=SENSED if sensed else PERIOD)


@dataclass(frozen=True, eq=False)
class Impulses:
    """What is learned of impulses [yang2016, 7.3]: trials, both inverses, and how long each took, s."""

    robot: HybridSystem
    swinger: Swinger
    good: GoodTrials
    nets: Committee
    kept: int
    soft: int
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes: of the trials that came somewhere, with start, end, impulse and residual; of all weights."""
        weights = sum(part.size for net in self.nets.nets for part in (*net.coefs_, *net.intercepts_))
        return {"impulse": 8 * 6 * self.kept, "committee": 8 * int(weights)}


def learn_tables(robot: str | HybridSystem, effort: Effort, seed: int, progress: Progress) -> Tables:
    """Make all tables; those of the thesis' recipe by random inputs of a seed."""
    system = placed(robot, find_task("swing"))
    hands = {"A": "B", "B": "A"}
    ours, fine, spare = Discounted(), effort.grid, Discounted(effort=EFFORT)
    theirs = RandomActions(sweeps=effort.thesis_sweeps, seed=seed % 2**32)
    wanted: list[tuple[str, Reach, Any]] = [
        (f"{hand} to {away:g} m", _reach(system, hand, free, away, fine), ours)
        for away in (SPACING, *effort.others)
        for hand, free in hands.items()
    ]
    count = len(wanted)
    wanted += [
        ("free", _reach(system, "A", "B", SPACING, fine, stops=False), ours),
        ("gentle", _reach(system, "A", "B", SPACING, fine), spare),
        ("thesis", _reach(system, "A", "B", SPACING, effort.thesis_grid), theirs),
        ("thesis free", _reach(system, "A", "B", SPACING, effort.thesis_grid, stops=False), theirs),
    ]
    for _, task, recipe in wanted:
        check_memory(task.check(), recipe)  # refused before any work
    whole = count + 2 + 2 * SHARES["thesis"]
    made, seconds, done = [], {}, 0.0
    for name, task, recipe in wanted:
        share = SHARES["thesis" if recipe is theirs else "table"]

        def tell(sweep: Any, name: str = name, done: float = done, share: float = share, recipe: Any = recipe) -> None:
            # ours ends when nothing changes any more, after some fifteen sweeps
            of = sweep.of if recipe is theirs else min(sweep.of, 16)
            progress(f"table {name}", (done + share * min(1.0, max(0.0, sweep.number - 1 + sweep.share) / of)) / whole)

        began = time.perf_counter()
        made.append(train_table(task, recipe, progress=tell))
        seconds[name] = time.perf_counter() - began
        done += share
    free, gentle, thesis, thesis_free = made[count:]
    return Tables(system, tuple(made[:count]), free, gentle, thesis, thesis_free, seconds)


def _reach(system: HybridSystem, holds: str, free: str, away: float, grid: int, *, stops: bool = True) -> Reach:
    return Reach(system, (free, (away, 0.0)), holds, grid=grid, stops=stops)


def learn_impulses(robot: str | HybridSystem, effort: Effort, seed: int, progress: Progress) -> Impulses:
    """Make trials, and both inverses of them."""
    system = placed(robot, find_task("swing"))
    seconds = {}

    def timed(name: str, share: float, make: Callable[[], Any]) -> Any:
        progress(name, share)
        began = time.perf_counter()
        made = make()
        seconds[name] = time.perf_counter() - began
        return made

    swinger = Swinger(system)
    trials = timed("trials", 0.0, lambda: random_impulses(swinger, effort.trials, seed))
    soft = softest(trials)
    nets = timed("committee", 0.3, lambda: committee(soft, swinger, members=effort.members, seed=seed % 2**32))
    good = GoodTrials(swinger, trials, rounds=effort.rounds, seed=seed)
    return Impulses(system, swinger, good, nets, int(trials.reached.sum()), len(soft), seconds)
