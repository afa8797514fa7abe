"""A million random runs over all robots: each ends in a status that its state bears out, with its audit closed.

    python benchmarks/million.py --runs 1000000

Parameters are drawn within their bounds, states within what the robot can start from, controllers, methods and
tolerances at random, from the seed. Nothing may crash, hang or end in numbers that are none; no energy balance may stay
open; one run of many is made again with its whole record and audited in full. Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tables import table

from saltus import registry
from saltus.conformance._draw import BATCH, draw
from saltus.conformance._judge import faults, shares
from saltus.errors import BatchInterrupted
from saltus.robots import find_robot

COUNT, SEED, EVERY = 1_000_000, 2009, 200


@dataclass
class Tally:
    """What came of the runs of one robot.

    ``unjudged`` are open audits of runs that turn too fast for their steps, see `shares`; ``worst``
    is the largest share of what its audit allows that any other run took.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    audits_open: int = 0
    worst: float = 0.0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def runs(self) -> int:
        return sum(self.statuses.values())


def make(name: str, count: int, seed: int, number: int, every: int, tally: Tally) -> None:
    """Make the first ``count`` runs of a batch, and judge them."""
    begin = time.perf_counter()
    batch = draw(find_robot(name), BATCH, seed, number).make(count)
    found, share = faults(batch, every), shares(batch)
    missed = batch.good & (batch.steps > 0) & ~(batch.energy_worst <= batch.energy_limit)
    tally.statuses.update(batch.status.tolist())
    tally.unjudged += int((missed & (share == 0.0)).sum())
    tally.audits_open += int((share > 1.0).sum())
    tally.worst = max(tally.worst, float(share.max()))
    tally.wrong += [f"{name}, seed {seed}, batch {number}, {fault}" for fault in found]
    tally.seconds += time.perf_counter() - begin


def report(tallies: dict[str, Tally]) -> str:
    """A table with a line for each robot."""
    rows = []
    for name, tally in tallies.items():
        good = tally.statuses["finished"] + tally.statuses["terminal"]
        others = [(count, end) for end, count in tally.statuses.items() if end not in ("finished", "terminal")]
        rows.append(
            [
                name,
                ", ".join(f"{count:,} {end}" for count, end in sorted(others, reverse=True)) or "none",
                f"{tally.runs:,}",
                f"{good:,}",
                f"{tally.audits_open:,}",
                f"{tally.unjudged:,}",
                f"{tally.worst:.2f}",
                f"{len(tally.wrong):,}",
                f"{tally.runs / max(tally.seconds, 1e-9):,.0f}",
            ]
        )
    head = [
        "robot",
        "other statuses",
        "runs",
        "ended well",
        "audits open",
        "too fast",
        "worst share",
        "wrong",
        "runs/s",
    ]
    return "## Random runs\n\n" + table(head, rows, words=2)


def main() -> int:
    """Make the runs, robot by robot in turn; tell how far they came, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=COUNT, help="how many in all")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    parser.add_argument("--robot", action="append", help="one robot instead of all; may be given several times")
    parser.add_argument("--every", type=int, default=EVERY, help="one of how many runs is audited in full")
    chosen = parser.parse_args()
    names = chosen.robot or registry.names("robots")
    each, done, begin = -(-chosen.runs // len(names)), 0, time.perf_counter()
    tallies = {name: Tally() for name in names}
    stopped = False
    try:
        for number in range(-(-each // BATCH)):
            for name, tally in tallies.items():
                count = min(BATCH, each - number * BATCH)
                before = len(tally.wrong)
                make(name, count, chosen.seed, number, chosen.every, tally)
                for line in tally.wrong[before:]:
                    print(f"\n{line}", file=sys.stderr)
                done += count
                rate, wrong = done / (time.perf_counter() - begin), sum(len(one.wrong) for one in tallies.values())
                told = f"\r{done:,} of {each * len(names):,} runs, {rate:,.0f} a second, {wrong} wrong "
                print(told, end="", file=sys.stderr, flush=True)
    except (KeyboardInterrupt, BatchInterrupted):
        stopped = True
    print(file=sys.stderr)
    print(report(tallies))
    lines = [line for tally in tallies.values() for line in tally.wrong]
    end = f"stopped after {done:,} of {each * len(names):,} runs" if stopped else f"{done:,} runs"
    minutes = (time.perf_counter() - begin) / 60
    print("\n".join(["", f"{end} in {minutes:.1f} min: " + (f"{len(lines)} wrong" if lines else "nothing is wrong")]))
    print("\n".join(lines[:100]))
    return 1 if lines or stopped else 0


if __name__ == "__main__":
    sys.exit(main())
