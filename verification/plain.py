"""Random runs over all robots: each ends in a status that its state bears out, with its audit closed.

Parameters are drawn within their bounds, states within what the robot can start from, controllers, methods and
tolerances at random, from the seed. Nothing may crash, hang or end in numbers that are none; no energy balance may stay
open; one run of many is repeated with its whole record and audited in full.
"""

from __future__ import annotations

from ledger import Chunk, Outcome

from saltus import registry
from saltus.conformance._draw import BATCH, draw
from saltus.conformance._judge import faults, shares
from saltus.robots import find_robot

COUNT = 1_000_000

# One of how many runs is audited in full.
EVERY = 200


def chunks(count: int, seed: int) -> list[Chunk]:
    """Batches of all robots in turn, so many runs in all."""
    names = registry.names("robots")
    each = -(-count // len(names))
    numbers = range(-(-each // BATCH))
    return [
        Chunk("plain", name, seed, number, min(BATCH, each - number * BATCH)) for number in numbers for name in names
    ]


def work(chunk: Chunk) -> Outcome:
    """Make the first runs of a batch, and judge them."""
    batch = draw(find_robot(chunk.robot), BATCH, chunk.seed, chunk.number).make(chunk.count)
    share = shares(batch)
    out = Outcome(disagreed=[f"{chunk.name}, seed {chunk.seed}, {fault}" for fault in faults(batch, EVERY)])
    out.counts.update(runs=batch.n)
    out.counts.update(f"ended {status}" for status in batch.status.tolist())
    missed = batch.good & (batch.steps > 0) & ~(batch.energy_worst <= batch.energy_limit)
    out.counts.update({"turn too fast for their steps to be judged": int((missed & (share == 0.0)).sum())})
    return out
