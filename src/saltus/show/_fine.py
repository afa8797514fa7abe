"""A run with as many samples as its curves need: some in each of its steps."""

from __future__ import annotations

from dataclasses import replace

from saltus.engine import Trajectory

# Samples in a step on average, which is as long as the motion allows; and in a figure at most.
IN_A_STEP, MOST = 3, 20_000


def fine(run: Trajectory) -> Trajectory:
    """The run itself or, if it has fewer samples than its motion needs to look smooth, the same with more of them."""
    length, wanted = run.end_time - run.start_time, min(IN_A_STEP * run.steps, MOST)
    if not (length > 0 and run.output_step * wanted > length):
        return run
    made: Trajectory = run.__dict__.get("_fine") or replace(run, output_step=length / wanted)
    run.__dict__["_fine"] = made
    return made
