"""What the controllers of [yang2016, 7] have to learn before they can swing: tables, trials and nets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from saltus._content import equal_by_content
from saltus.control import Policy, Reach, Table
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize import (
    Committee,
    Discounted,
    GoodTrials,
    RandomActions,
    Ranges,
    Swinger,
    Trials,
    committee,
    random_impulses,
    softest,
    train_table,
)
from saltus.optimize._value_iteration import check_memory
from saltus.studies._swing_tasks import find_task, placed

# From bar to bar, m, in all that is compared; and other distances for which there are tables, for uneven ladders.
SPACING, OTHERS = 0.55, (0.50, 0.60)

# The bar of the swing-ups, m [yang2016, 7.2.4]; and how near and far hands are on bars or at targets, m: from 40 to
# 60 cm, as [yang2016, 7.3.3] asks impulses, whose trials therefore start there and not, as its data, at 50 to 60 cm.
UP, NEAR, FAR = 0.568, 0.40, 0.60

# What the full torque costs in the tables that spare it, 1/s.
EFFORT = 2.0

# How often a policy acts: as in [yang2016, 7.2.2]; and through sensors, whose rates are differences over ten samples.
PERIOD, SENSED = 0.02, 1e-3

# How long each part takes beside the others, roughly: our tables, those of the thesis' recipe, impulses.
SHARES = {"table": 1.0, "thesis": 1.2, "impulses": 1.5}

Progress = Callable[[str, float], None]


@equal_by_content
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
        Distances of bars beside 0.55 m for which there are tables, m, as far as the robot reaches: for uneven ladders.
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


@equal_by_content
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


@equal_by_content
@dataclass(frozen=True, eq=False)
class Impulses:
    """What is learned of impulses [yang2016, 7.3]: trials, both inverses, and how long each took, s.

    ``soft`` are the trials that the committee has learned from, those of least force on the hand that holds.
    """

    robot: HybridSystem
    swinger: Swinger
    trials: Trials
    soft: Trials
    good: GoodTrials
    nets: Committee
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """How many trials came to their level again."""
        return int(self.trials.reached.sum())

    @property
    def memory(self) -> dict[str, int]:
        """Bytes: of the trials that came somewhere, with start, end, impulse and residual; of all weights."""
        weights = sum(part.size for net in self.nets.nets for part in (*net.coefs_, *net.intercepts_))
        return {"impulse": 8 * 6 * self.kept, "committee": 8 * int(weights)}


def check_robot(robot: str | HybridSystem, effort: Effort) -> HybridSystem:
    """The robot among bars; refused if it cannot hold what all are to swing from and to, or if a table is too large."""
    system = placed(robot, find_task("swing"))
    least, most = _span(system)
    if not (least <= NEAR and most > FAR):
        raise InputError(
            f"compare: swings are from and to places {NEAR:g} to {FAR:g} m away; hands of {system.name} can be from "
            f"{least:.4g} to {most:g} m apart"
        )
    for _, task, recipe in _wanted(system, effort, 0):
        check_memory(task.check(), recipe)
    return system


def _span(system: HybridSystem) -> tuple[float, float]:
    """How near and how far apart both hands can be, m, with the elbow at its stop and straight."""
    one, two = system.values["L1"], system.values["L2"]
    bent = math.cos(min(system.values.get("elbow_stop", math.pi), math.pi))
    return math.sqrt(max(one**2 + two**2 + 2 * one * two * bent, 0.0)), one + two


def _wanted(system: HybridSystem, effort: Effort, seed: int) -> list[tuple[str, Reach, Any]]:
    """Names, goals and recipes of all tables: ours first, then the four that are looked at for themselves."""
    hands = {"A": "B", "B": "A"}
    ours, fine, spare = Discounted(), effort.grid, Discounted(effort=EFFORT)
    theirs = RandomActions(sweeps=effort.thesis_sweeps, seed=seed % 2**32)
    least, most = _span(system)
    return [
        *(
            (f"{hand} to {away:g} m", _reach(system, hand, free, away, fine), ours)
            for away in (SPACING, *(one for one in effort.others if least <= one < most))
            for hand, free in hands.items()
        ),
        ("free", _reach(system, "A", "B", SPACING, fine, stops=False), ours),
        ("gentle", _reach(system, "A", "B", SPACING, fine), spare),
        ("thesis", _reach(system, "A", "B", SPACING, effort.thesis_grid), theirs),
        ("thesis free", _reach(system, "A", "B", SPACING, effort.thesis_grid, stops=False), theirs),
    ]


def learn_tables(robot: str | HybridSystem, effort: Effort, seed: int, progress: Progress) -> Tables:
    """Make all tables; those of the thesis' recipe by random inputs of a seed."""
    system = check_robot(robot, effort)
    wanted = _wanted(system, effort, seed)
    count = len(wanted) - 4
    whole = count + 2 + 2 * SHARES["thesis"]
    made, seconds, done = [], {}, 0.0
    for name, task, recipe in wanted:
        theirs = isinstance(recipe, RandomActions)
        share = SHARES["thesis" if theirs else "table"]

        def tell(sweep: Any, name: str = name, done: float = done, share: float = share, theirs: bool = theirs) -> None:
            # ours ends when nothing changes any more, after some fifteen sweeps
            of = sweep.of if theirs else min(sweep.of, 16)
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
    system = check_robot(robot, effort)
    seconds = {}

    def timed(name: str, share: float, make: Callable[[], Any]) -> Any:
        progress(name, share)
        began = time.perf_counter()
        made = make()
        seconds[name] = time.perf_counter() - began
        return made

    swinger = Swinger(system)
    starts = Ranges(start=(-FAR, -NEAR))
    trials = timed("trials", 0.0, lambda: random_impulses(swinger, effort.trials, seed, starts))
    try:
        # by the force on the hand, as published
        soft = softest(trials, by="force", reach=(NEAR, FAR))
        nets = timed("committee", 0.3, lambda: committee(soft, swinger, members=effort.members, seed=seed % 2**32))
    except InputError as error:
        raise InputError(
            f"compare: {effort.trials} impulses of up to {swinger.limit:g} N m are too few or too weak for "
            f"{system.name}: {error}"
        ) from None
    good = GoodTrials(swinger, trials, rounds=effort.rounds, seed=seed)
    return Impulses(system, swinger, trials, soft, good, nets, seconds)
