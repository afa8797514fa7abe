"""Whether a family of gaits has the same bifurcations wherever its continuation begins, in which steps, and which way.

The closed family of two steps in the mass of one link: 4 folds and 4 period doublings, each once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from functools import cache

import numpy as np
from tables import table

from saltus import robots
from saltus.gaits import Family, FixedPoint, find_gait, follow, solve

STARTS = 20
STEPS = (0.2, 0.05, 0.01, 0.002, 0.1)
SPAN = (0.9, 1.1)
EXPECTED = {"fold": 4, "period doubling": 4}
AGREE = 1e-8


@cache
def first_walk() -> Family:
    """The family from the gait of equal links."""
    steps = find_gait("two_steps", robots.monkeybot()).with_knobs(motor_torque=3.0)
    return follow(solve(steps, {"dtheta1": 0.74984063, "dtheta2": 11.0805115}), "m1", SPAN)


def start_of(k: int) -> FixedPoint:
    """One of the starts, spread over the family; every fifth is at a bifurcation itself."""
    family = first_walk()
    if k % 5 == 4:
        return family.changes[k // 5 * 2].point
    return family.points[int((k + 0.5) / STARTS * len(family.points))]


def walk(case: tuple[int, float, str]) -> tuple[list[tuple[str, float]], int, float, float]:
    """Changes by kind and value, how many points, the resolution, and processor seconds."""
    k, step, first = case
    begin = time.process_time()
    family = follow(start_of(k), "m1", SPAN, step=step, first=first)
    changes = sorted((change.kind, change.value) for change in family.changes)
    return changes, len(family.points), family.resolution.length, time.process_time() - begin


def main() -> int:
    """Walk, print, and say by the exit status whether all walks agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=STARTS, help="how many of the starts")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="walks at a time")
    options = parser.parse_args()
    expected = sorted((change.kind, change.value) for change in first_walk().changes)
    cases = [(k, STEPS[k % len(STEPS)], first) for k in range(options.starts) for first in ("down", "up")]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        walks = []
        for done in pool.imap(walk, cases):
            walks.append(done)
            print(f"\r{len(walks)} of {len(cases)} walks", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    rows, good = [], _counts(expected) == EXPECTED
    for (k, step, first), (changes, points, resolution, seconds) in zip(cases, walks, strict=True):
        same = [kind for kind, _ in changes] == [kind for kind, _ in expected]
        apart = float(np.abs(np.subtract(_values(changes), _values(expected))).max()) if same else float("nan")
        good &= same and apart < AGREE
        counts = ", ".join(f"{count} {kind}" for kind, count in _counts(changes).items())
        numbers = (f"{points}", f"{resolution:.3g}", f"{apart:.1e}", f"{seconds:.1f}")
        rows.append((f"{k}", f"{step:g}", first, counts, *numbers))
    heads = ("start", "first step", "way", "changes", "points", "resolution", "values apart", "processor s")
    print(table(heads, rows, words=4))
    print("\n".join(f"{kind} at {value:.12f}" for kind, value in expected))
    print(f"{len(walks)} walks: {'the same' if good else 'NOT the same'} changes, values within {AGREE:g}")
    return 0 if good else 1


def _counts(changes: list[tuple[str, float]]) -> dict[str, int]:
    kinds = [kind for kind, _ in changes]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _values(changes: list[tuple[str, float]]) -> list[float]:
    return [value for _, value in changes]


if __name__ == "__main__":
    sys.exit(main())
