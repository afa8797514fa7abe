"""A million random runs over all robots: every one ends in a status that its state bears out, with its audit closed."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tables import table

from saltus import registry
from saltus.conformance._draw import BATCH, draw
from saltus.conformance._judge import Fault, faults, shares
from saltus.engine import Batch
from saltus.errors import BatchInterrupted
from saltus.robots import find_robot

COUNT, SEED, EVERY = 1_000_000, 2009, 200


@dataclass
class Tally:
    """What came of the runs of one robot: how many ended how, and what was wrong with which."""

    robot: str
    runs: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    open_audits: int = 0
    not_judged: int = 0
    worst: float = 0.0
    wrong: list[tuple[int, Fault]] = field(default_factory=list)

    def add(self, number: int, batch: Batch, found: list[Fault], seconds: float) -> None:
        """Count the runs of one batch."""
        self.runs += batch.n
        self.seconds += seconds
        self.statuses.update(batch.status.tolist())
        share = shares(batch)
        self.open_audits += int((share > 1.0).sum())
        missed = batch.good & (batch.steps > 0) & ~(batch.energy_worst <= batch.energy_limit)
        self.not_judged += int((missed & (share == 0.0)).sum())
        self.worst = max(self.worst, float(share.max()))
        self.wrong += [(number, fault) for fault in found]


def make(robot: str, runs: int, seed: int, tell: bool) -> Tally:
    """Random runs of one robot; what was made so far, where the user stops them."""
    tally, system = Tally(robot), find_robot(robot)
    for number in range(-(-runs // BATCH)):
        begin = time.perf_counter()
        try:
            drawn = draw(system, BATCH, seed, number)
            batch = drawn.make(min(BATCH, runs - tally.runs))
            found = faults(batch, EVERY)
        except (KeyboardInterrupt, BatchInterrupted):
            raise Stopped(tally) from None
        tally.add(number, batch, found, time.perf_counter() - begin)
        if tell:
            rate = tally.runs / tally.seconds
            print(
                f"\r{robot}: {tally.runs:,} of {runs:,} runs, {rate:,.0f} a second, {len(tally.wrong)} wrong   ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    if tell:
        print(file=sys.stderr)
    return tally


class Stopped(Exception):
    """The user stopped it; ``tally`` is what was made of the robot at hand."""

    def __init__(self, tally: Tally):
        super().__init__(tally.robot)
        self.tally = tally


def report(tallies: list[Tally], seed: int) -> str:
    """A table with a line for each robot, how all ended, and everything that is wrong."""
    names = sorted({name for tally in tallies for name in tally.statuses}, key=lambda name: -_total(tallies, name))
    rows = [
        [
            tally.robot,
            f"{tally.runs:,}",
            *(f"{tally.statuses[name]:,}" if tally.statuses[name] else "" for name in names),
            str(tally.open_audits),
            str(tally.not_judged),
            f"{tally.worst:.2f}",
            str(len(tally.wrong)),
            f"{tally.runs / max(tally.seconds, 1e-9):,.0f}",
        ]
        for tally in tallies
    ]
    parts = [
        table(
            ["robot", "runs", *names, "audits open", "open but too fast", "worst share", "wrong", "runs a second"], rows
        )
    ]
    parts += [
        f"{tally.robot}, seed {seed}, batch {number}, {fault}" for tally in tallies for number, fault in tally.wrong
    ]
    return "\n".join(parts)


def _total(tallies: list[Tally], name: str) -> int:
    return sum(tally.statuses[name] for tally in tallies)


def main() -> int:
    """Make the runs, print the table; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=COUNT, help="how many, over all robots together")
    parser.add_argument("--seed", type=int, default=SEED, help="another seed makes other runs")
    parser.add_argument("--robot", action="append", help="this robot only; may be given several times")
    chosen = parser.parse_args()
    robots = chosen.robot or registry.names("robots")
    shares = [chosen.runs // len(robots) + (k < chosen.runs % len(robots)) for k in range(len(robots))]
    tallies: list[Tally] = []
    stopped = False
    begin = time.perf_counter()
    try:
        for robot, runs in zip(robots, shares, strict=True):
            if runs:
                tallies.append(make(robot, runs, chosen.seed, True))
    except Stopped as stop:
        print(file=sys.stderr)
        tallies.append(stop.tally)
        stopped = True
    made, wrong = sum(tally.runs for tally in tallies), sum(len(tally.wrong) for tally in tallies)
    print(report(tallies, chosen.seed))
    minutes = (time.perf_counter() - begin) / 60
    print(f"\n{made:,} of {chosen.runs:,} runs in {minutes:.1f} min, {wrong} wrong{'; stopped' if stopped else ''}")
    return 1 if wrong or stopped else 0


if __name__ == "__main__":
    sys.exit(main())
