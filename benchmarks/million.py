"""A million random runs over all robots: each must end in a status that it can explain, with its audit closed.

    python benchmarks/million.py --runs 1000000

Parameters are drawn within their bounds, states within what the robot can start from, controllers, methods and
tolerances at random, from the seed. Nothing may crash, hang or end in numbers that are none; an energy balance may not stay
open; one run of many is made again with its whole record and audited in full. Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from tables import table

from saltus import registry
from saltus.conformance._draw import draw
from saltus.conformance._judge import Fault, faults
from saltus.robots import find_robot

BLOCK = 1000


@dataclass
class Tally:
    """What came of the runs of one robot."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    worst: float = 0.0
    seconds: float = 0.0

    @property
    def runs(self) -> int:
        return sum(self.statuses.values())


def block(name: str, count: int, seed: int, number: int, tally: Tally, every: int) -> None:
    """Make one block of runs and judge them."""
    begin = time.perf_counter()
    drawn = draw(find_robot(name), count, seed, number)
    batch = drawn.make()
    tally.statuses.update(batch.status.tolist())
    moved = batch.good & (batch.steps > 0)
    shares = batch.energy_worst[moved] / batch.energy_limit[moved]
    tally.worst = max(tally.worst, float(np.nanmax(shares, initial=0.0)))
    found: list[Fault] = faults(drawn, batch, every)
    tally.wrong += [f"{name}, seed {seed}, block {number}, {fault}" for fault in found]
    tally.seconds += time.perf_counter() - begin


def report(tallies: dict[str, Tally]) -> str:
    """The table of what came of it."""
    rows = []
    for name, tally in tallies.items():
        others = {status: count for status, count in tally.statuses.items() if status not in ("finished", "terminal")}
        rows.append(
            [
                name,
                str(tally.runs),
                str(tally.statuses["finished"] + tally.statuses["terminal"]),
                ", ".join(f"{count} {status}" for status, count in sorted(others.items())) or "none",
                f"{tally.worst:.2g}",
                str(len(tally.wrong)),
                f"{tally.runs / max(tally.seconds, 1e-9):.0f}",
            ]
        )
    head = ["robot", "runs", "ended well", "other statuses", "worst energy share", "wrong", "runs/s"]
    return "## Random runs\n\n" + table(head, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    parser.add_argument("--robot", action="append", help="one robot instead of all; may be given several times")
    parser.add_argument("--every", type=int, default=1000, help="which runs are audited in full")
    chosen = parser.parse_args()
    names = chosen.robot or registry.names("robots")
    each = -(-chosen.runs // len(names))
    tallies = {name: Tally() for name in names}
    done = 0
    try:
        for number in range(-(-each // BLOCK)):
            for name, tally in tallies.items():
                count = min(BLOCK, each - number * BLOCK)
                block(name, count, chosen.seed, number, tally, chosen.every)
                done += count
                print(f"\r{done} of {each * len(names)} runs", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"\nstopped after {done} runs", file=sys.stderr)
    print(file=sys.stderr)
    print(report(tallies))
    wrong = [line for tally in tallies.values() for line in tally.wrong]
    print("\n".join(["", *wrong[:100]]) if wrong else "\nnothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
