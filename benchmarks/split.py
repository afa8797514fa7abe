"""Where the time of short runs goes: outside and inside compiled, parallel code; and impossible starts among many.

python benchmarks/split.py --count 10000 --rounds 15
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from batch import COUNT, END, ROUNDS, SEED, met, starts, watched
from contestants.problem import TOLERANCE
from tables import ratio, table

import saltus
from saltus.engine import _simulate_many

COLUMNS = ["runs", "threads", "whole, ms", "before and after, ms", "threads, ms", "compiled, ms", "outside"]


@dataclass
class Split:
    """Where the time of a batch went: s outside and inside the parallel part, on the clock, by number of threads.

    ``compiled`` is the time that the threads spent in compiled code, summed over them.
    """

    name: str
    outside: dict[int, float]
    parallel: dict[int, float]
    compiled: dict[int, float]

    def whole(self, threads: int) -> float:
        """The whole call, s."""
        return self.outside[threads] + self.parallel[threads]

    def share(self, threads: int) -> float:
        """The share of the call that no thread spends in compiled code, as if they all ended together."""
        return 1.0 - self.compiled[threads] / threads / self.whole(threads)


def ball(count: int) -> Callable[[int], saltus.Batch]:
    """Half a second of a bouncing ball."""
    rng = np.random.default_rng(SEED)
    states = {"y": rng.uniform(0.1, 2.0, count), "dx": rng.uniform(-1, 1, count)}
    robot = saltus.robots.bouncing_ball()
    return lambda threads: saltus.simulate_many(robot, states, until=0.5, threads=threads)


def pendulum(count: int) -> Callable[[int], saltus.Batch]:
    """The runs of the comparison."""
    system, rows = watched(), starts(count)
    options: dict[str, Any] = {"until": END, "rtol": TOLERANCE, "atol": TOLERANCE}
    return lambda threads: saltus.simulate_many(system, rows, threads=threads, **options)


def hopper(count: int) -> Callable[[int], saltus.Batch]:
    """Jumps of the hopper, each with a torque profile of its own."""
    rng, robot = np.random.default_rng(SEED), saltus.robots.hopper()
    times = np.arange(8) * 0.04
    profiles = [saltus.control.Schedule.steps(times, rng.uniform(-3, 3, 8)) for _ in range(count)]
    return lambda threads: saltus.simulate_many(robot, controllers=profiles, until=0.3, threads=threads)


WORK = {"double pendulum, 1 s": pendulum, "bouncing ball, 0.5 s": ball, "hopper, own torque profiles": hopper}


@contextlib.contextmanager
def clocks() -> Iterator[dict[str, float]]:
    """Time in the parallel part of `simulate_many`, and in the compiled calls of its threads."""
    spent = {"parallel": 0.0, "compiled": 0.0}
    spread, task = _simulate_many._spread, _simulate_many._Work.task

    def timed_spread(*given: Any) -> None:
        begin = time.perf_counter()
        spread(*given)
        spent["parallel"] += time.perf_counter() - begin

    def timed_task(work: Any) -> Callable[[int, int], int]:
        made = task(work)

        def timed(first: int, last: int) -> int:
            begin = time.perf_counter()
            done = made(first, last)
            spent["compiled"] += time.perf_counter() - begin
            return done

        return timed

    _simulate_many._spread, _simulate_many._Work.task = timed_spread, timed_task  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        _simulate_many._spread, _simulate_many._Work.task = spread, task  # type: ignore[method-assign]


def split(name: str, run: Callable[[int], saltus.Batch], threads: list[int], rounds: int) -> Split:
    """The best of some rounds of each number of threads, in turn."""
    run(threads[0])  # the first call loads compiled code
    best: dict[int, tuple[float, float, float]] = {}
    for _ in range(rounds):
        for number in threads:
            with clocks() as spent:
                begin = time.perf_counter()
                batch = run(number)
                whole = time.perf_counter() - begin
                del batch  # its memory is given back here, which is no part of the call
            if number not in best or whole < sum(best[number][:2]):
                best[number] = (whole - spent["parallel"], spent["parallel"], spent["compiled"])
    return Split(name, *({number: best[number][k] for number in threads} for k in range(3)))  # type: ignore[arg-type]


def split_report(count: int = COUNT, rounds: int = ROUNDS) -> str:
    """Where the time of short runs goes: checks and summaries outside, compiled code in threads inside."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = [1, 2] if cores > 1 else [1]
    lines, targets = [], []
    for name, make in WORK.items():
        one = split(name, make(count), threads, rounds)
        for number in threads:
            times = [one.whole(number), one.outside[number], one.parallel[number], one.compiled[number]]
            lines.append(
                [name, str(number), *(f"{1e3 * seconds:.2f}" for seconds in times), f"{one.share(number):.1%}"]
            )
        last = one.share(threads[-1])
        targets.append([f"{name}: outside compiled, parallel code", "at most 5 %", f"{last:.1%}", met(last <= 0.05)])
        if cores > 1:
            gain = one.whole(1) / one.whole(2)
            targets.append([f"{name}: second core, times", "at least 1.86", ratio(gain), met(gain >= 1.86)])
    return "\n\n".join(
        [
            "## Where the time of short runs goes",
            _SPLIT.format(count=count, rounds=rounds),
            table(COLUMNS, lines),
            table(["target", "wanted", "measured", "met"], targets),
        ]
    )


# -- impossible starts -----------------------------------------------------------------------


def impossible_report(count: int = COUNT) -> str:
    """One start in a hundred is impossible: the other rows, compared with those of the batch without it, bit by bit."""
    rng, robot = np.random.default_rng(SEED), saltus.robots.bouncing_ball()
    states = np.column_stack([np.zeros(count), rng.uniform(0.1, 2.0, count), rng.uniform(-1, 1, (count, 2))])
    bad = np.sort(rng.choice(count, count // 100, replace=False))
    spoiled, good = states.copy(), np.setdiff1d(np.arange(count), bad)
    spoiled[bad[::2], 1], spoiled[bad[1::2], 2] = -0.5, np.nan
    batch, without = (saltus.simulate_many(robot, rows, until=0.5) for rows in (spoiled, states[good]))
    same = np.array_equal(batch.integers[good], without.integers)
    same = same and np.array_equal(batch.doubles[good], without.doubles, equal_nan=True)
    results, reasons = int(batch.begun.sum()), len(batch.reasons)
    rows = [
        ["results", f"{len(good):,}", f"{results:,}", met(results == len(good))],
        ["reasons", f"{len(bad):,}", f"{reasons:,}", met(list(batch.reasons) == bad.tolist())],
        ["bits as without the impossible starts", "the same", "the same" if same else "others", met(same)],
    ]
    return f"## Impossible starts among {count:,}\n\n" + table(["what", "wanted", "found", "met"], rows)


def report(count: int = COUNT, rounds: int = ROUNDS) -> str:
    """Both, one after the other."""
    return f"{split_report(count, rounds)}\n\n{impossible_report(count)}"


_SPLIT = """\
{count:,} runs by one call of `saltus.simulate_many`, best of {rounds} turns, on the clock. Before and after the threads
are the checks of all starts and what is made of the summaries; compiled is the time in compiled code, summed over the
threads. Outside is the share of the call that is not compiled, parallel code: one less compiled over threads over the
whole."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help="how many runs")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many turns, of which the best counts")
    asked = parser.parse_args()
    print(report(asked.count, asked.rounds))
