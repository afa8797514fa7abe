"""The table of [yang2016, 7.5] for three controllers, thesis and ours: same robot, same worlds, same held-out mixes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control import Energy, Impulse
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.studies._compare_learning import (
    SPACING,
    Effort,
    Impulses,
    Progress,
    Tables,
    check_robot,
    learn_impulses,
    learn_tables,
)
from saltus.studies._compare_mixes import DISTURBANCES, KICKED, Rate, makers, rate
from saltus.studies._compare_queries import Queries, answered, queried
from saltus.studies._compare_runs import (
    Scope,
    Shown,
    along_rope,
    as_scope,
    impulse_on_ladder,
    impulse_up,
    impulses_on_rope,
    ladders,
    nominal,
)
from saltus.studies._compare_torque import TorqueUse, torque_use
from saltus.studies._swing_trials import SwingTrials
from saltus.studies._swings import swings

CONTROLLERS = {
    "dp": "dynamic programming",
    "dp_thesis": "dynamic programming, thesis' recipe",
    "impulse": "impulses, polished",
    "committee": "impulses, committee of nets",
    "energy": "energy, ours",
}
SHORT_NAMES = {
    "dp": "DP", "dp_thesis": "DP, thesis", "impulse": "impulse", "committee": "nets", "energy": "energy, ours"
}  # fmt: skip

# Mixes over which the use of torque is averaged: the first that were caught, of each task.
USED, USED_WITH = 10, "torque ±10 %"

# The thesis' own ways are tried with the first of the mixes only, one in so many: they take long.
FEWER = {"dp_thesis": 3, "committee": 3}

# Shares of the whole that are behind when each part begins.
_BEHIND = {"impulses": 0.0, "tables": 0.08, "runs": 0.55, "mixes": 0.65}


@equal_by_content
@dataclass(frozen=True, eq=False)
class Comparison:
    """All that was found of the controllers, by their names in `CONTROLLERS`.

    Parameters
    ----------
    runs
        With nothing off: by controller and task; ``gentle`` is dynamic programming with a cost on torque, ``free`` and
        ``free_thesis`` are both recipes without stops of the elbow.
    scope
        By controller: swing-up, ladder, rope.
    rates
        With something off.
    torque
        The use of torque, by controller and task: the mean over some runs that were caught, with torque that is off.
    answers, queries
        Of both inverses of impulses: from 0.55 m behind to 0.55 m ahead, and all that they were asked.
    memory
        Of what was learned, bytes.
    seconds
        That learning took; not reproducible.
    """

    robot: str
    seed: int
    mixes: int
    effort: Effort
    tables: Tables
    impulses: Impulses
    runs: Mapping[tuple[str, str], Shown]
    scope: Mapping[str, Mapping[str, Scope]]
    rates: tuple[Rate, ...]
    torque: Mapping[tuple[str, str], TorqueUse]
    answers: Mapping[str, Impulse]
    queries: Mapping[str, Queries]
    rope_ends: Mapping[str, Mapping[float, float]]
    memory: Mapping[str, int]
    seconds: Mapping[str, float]

    def rate(self, controller: str, disturbance: str, task: str = "swing") -> Rate | None:
        """How often a controller did a task with something off; None where it cannot."""
        return next(
            (r for r in self.rates if (r.controller, r.disturbance, r.task) == (controller, disturbance, task)), None
        )

    def to_dict(self, *, seconds: bool = True) -> dict[str, Any]:
        """For JSON; all but ``seconds`` is the same for the same seed."""
        content = {
            "robot": self.robot, "parameters": dict(self.tables.robot.values), "seed": self.seed, "mixes": self.mixes,
            "effort": asdict(self.effort),
            "controllers": CONTROLLERS,
            "runs": {f"{name}, {task}": one.to_dict() for (name, task), one in self.runs.items()},
            "scope": {name: {what: one.to_dict() for what, one in each.items()} for name, each in self.scope.items()},
            "rates": [one.to_dict() for one in self.rates],
            "torque": {f"{name}, {task}": one.to_dict() for (name, task), one in self.torque.items()},
            "answers": {
                name: {"begin": one.begin, "size": one.size, "length": one.length} for name, one in self.answers.items()
            },
            "queries": {name: one.to_dict() for name, one in self.queries.items()},
            "rope_ends": {name: {f"{k:g}": v for k, v in each.items()} for name, each in self.rope_ends.items()},
            "memory_bytes": dict(self.memory),
        }  # fmt: skip
        return content | ({"seconds": dict(self.seconds)} if seconds else {})


def compare_controllers(
    robot: str | HybridSystem = "brachiator",
    *,
    seed: int = 0,
    mixes: int = 200,
    effort: Effort | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Teach the controllers of [yang2016, 7] and compare them, in the rows of its table 7.5.

    Parameters
    ----------
    robot
        Of two links with two hands, by name or with parameters of its own.
    seed
        Of all random numbers: everything but times is the same for the same seed.
    mixes
        Held-out runs for each thing that is off, controller and task.
    effort
        How much is spent on learning.
    progress
        Called with what is being done, and the share of the whole that is behind.
    """
    effort = Effort() if effort is None else effort
    check(seed, mixes, effort)
    tell = progress or (lambda doing, share: None)
    check_robot(robot, effort)
    # they take little time, and tell first if the motor is too weak
    impulses = learn_impulses(robot, effort, seed, _part(tell, "impulses", "tables"))
    tables = learn_tables(robot, effort, seed, _part(tell, "tables", "runs"))
    return compared(robot, tables, impulses, seed=seed, mixes=mixes, effort=effort, progress=tell)


def check(seed: int, mixes: int, effort: Effort) -> None:
    """Refuse what cannot be compared."""
    for name, value, least, most in (("seed", seed, 0, 2**32 - 1), ("mixes", mixes, 2, 100_000)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InputError(f"compare: {name} is a whole number from {least} to {most}, got {value!r}")
    if not isinstance(effort, Effort):
        raise InputError(f"compare: effort is a saltus.studies.Effort, got {effort!r}")


def compared(
    robot: str | HybridSystem, tables: Tables, impulses: Impulses, *, seed: int, mixes: int, effort: Effort,
    progress: Progress,
) -> Comparison:  # fmt: skip
    """Compare controllers that have learned."""
    part = _part(progress, "runs", "mixes")
    part("queries of impulses", 0.0)
    queries = {name: queried(impulses, name) for name in KICKED}
    answers, asking = {}, {}
    for name in KICKED:
        began = time.perf_counter()
        (answers[name],) = answered(impulses, name, [(-SPACING, SPACING)])
        asking[name] = time.perf_counter() - began
    runs = _runs(robot, tables, answers, part)
    scope, rope_ends = _scope(robot, tables, impulses, answers, runs, seed, part)
    rates, torque = _rates(robot, tables, answers, seed, mixes, _part(progress, "mixes", None))
    table = [value for name, value in tables.seconds.items() if " to " in name]
    memory = {
        "dp": sum(one.memory for one in tables.ours), "dp per table": tables.ours[0].memory,
        "dp_thesis": tables.thesis.memory, **impulses.memory, "energy": 0,
    }  # fmt: skip
    seconds = {
        "dp": float(sum(table)), "dp per table": float(np.mean(table)), "dp_thesis": tables.seconds["thesis"],
        "trials": impulses.seconds["trials"], "impulse per query": asking["impulse"],
        "impulse": impulses.seconds["trials"] + asking["impulse"],
        "committee": impulses.seconds["trials"] + impulses.seconds["committee"], "energy": 0.0,
    }  # fmt: skip
    return Comparison(
        tables.robot.name, seed, mixes, effort, tables, impulses, runs, scope, rates, torque, answers, queries,
        rope_ends, memory, seconds,
    )  # fmt: skip


def _part(progress: Progress, name: str, after: str | None) -> Progress:
    begin, end = _BEHIND[name], 1.0 if after is None else _BEHIND[after]
    return lambda doing, share: progress(doing, begin + (end - begin) * share)


def _runs(
    robot: str | HybridSystem, tables: Tables, answers: Mapping[str, Impulse], part: Progress
) -> dict[tuple[str, str], Shown]:
    """With nothing off."""
    acting = {
        "dp": tables.policy(), "gentle": tables.of(tables.gentle), "dp_thesis": tables.of(tables.thesis),
        "energy": Energy(),
    }  # fmt: skip
    made = {}
    for k, (name, controller) in enumerate(acting.items()):
        part(f"{name} with nothing off", 0.3 + 0.1 * k)
        for task in ("swing", "swing-up"):
            made[name, task] = nominal(robot, task, controller)
    made["free", "swing-up"] = nominal(robot, "swing-up", tables.of(tables.free), stops=False)
    made["free_thesis", "swing-up"] = nominal(robot, "swing-up", tables.of(tables.thesis_free), stops=False)
    for name, impulse in answers.items():
        made[name, "swing"] = nominal(robot, "swing", impulse)
    return made


def _scope(
    robot: str | HybridSystem, tables: Tables, impulses: Impulses, answers: Mapping[str, Impulse],
    runs: Mapping[tuple[str, str], Shown], seed: int, part: Progress,
) -> tuple[dict[str, dict[str, Scope]], dict[str, dict[float, float]]]:  # fmt: skip
    part("ladders", 0.7)
    made: dict[str, dict[str, Scope]] = {
        "dp": {
            "swing-up": as_scope(runs["dp", "swing-up"]), "ladder": ladders(robot, tables.policy(), seed),
            "rope": along_rope(robot, tables.policy()),
        },
        "energy": {
            "swing-up": as_scope(runs["energy", "swing-up"]), "ladder": ladders(robot, Energy(), seed),
            "rope": along_rope(robot, Energy(stride=SPACING)),
        },
    }  # fmt: skip
    part("ropes", 0.9)
    ends = {}
    for name, inverse in (("impulse", impulses.good), ("committee", impulses.nets)):
        rope, ends[name] = impulses_on_rope(robot, impulses, inverse)
        made[name] = {
            "swing-up": impulse_up(robot, answers[name]), "ladder": impulse_on_ladder(robot, answers[name]),
            "rope": rope,
        }  # fmt: skip
    return made, ends


def mixes_for(name: str, count: int) -> int:
    """How many of so many mixes a controller is tried with."""
    return max(2, count // FEWER.get(name, 1))


def _rates(
    robot: str | HybridSystem, tables: Tables, answers: Mapping[str, Impulse], seed: int, count: int, part: Progress
) -> tuple[tuple[Rate, ...], dict[tuple[str, str], TorqueUse]]:
    rates: list[Rate] = []
    torque: dict[tuple[str, str], TorqueUse] = {}
    acting = makers(tables, answers)
    whole = sum(len(what.tasks()) for what in DISTURBANCES) * len(acting)
    done = 0
    for what in DISTURBANCES:
        for task in what.tasks():
            for name, make in acting.items():
                part(f"{CONTROLLERS[name]}: {what.name}, {task}", done / whole)
                done += 1
                found = rate(robot, name, make, what, task, mixes_for(name, count), seed)
                if found is None:
                    continue
                rates.append(found[0])
                used = _used(found[1]) if what.name == USED_WITH else []
                if used:
                    torque[name, task] = TorqueUse.average(used)
    return tuple(rates), torque


def _used(trials: list[SwingTrials]) -> list[TorqueUse]:
    """Of the first runs that were caught."""
    made, first = [], trials[0]
    caught = [number for number, good in zip(first.mixes.numbers, first.success, strict=True) if good]
    for number in caught[:USED]:
        run = first.run(number)
        # a run that is ended by its catch tells of no swing that was caught, but of its time
        times = [(one.start, one.start + one.time) for one in swings(run) if one.time > 0]
        if times:
            made.append(torque_use(run, times[0][0], times[-1][1]))
    return made
