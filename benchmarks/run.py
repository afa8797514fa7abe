"""Run all benchmarks, write them with the machine they ran on to `docs/benchmarks.md`, and print them."""

from __future__ import annotations

import argparse
from pathlib import Path

import accuracy
import batch
import gait_map
import hopper_profiles
import lanes
import machine
import split
import startup
import two_link

RANDOM_RUNS = "## Random runs"
OUTPUT = Path(__file__).parent.parent / "docs" / "benchmarks.md"

_HEAD = """\
# Benchmarks

Written by `make bench`. Ratios are the point: times belong to the machine, ratios were measured side by side."""


def main() -> None:
    """Run what is asked for, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=hopper_profiles.COUNT, help="torque profiles within each limit")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="file to write")
    chosen = parser.parse_args()
    parts = [_HEAD, machine.describe(), accuracy.report(), two_link.report()]
    parts += [batch.report(), split.report(), gait_map.report(), lanes.report()]
    parts += [hopper_profiles.report(chosen.count), startup.report()]
    # what the verification wrote stays: it takes longer than all others together
    old = chosen.output.read_text() if chosen.output.exists() else ""
    kept = old[old.index(RANDOM_RUNS) :].rstrip() if RANDOM_RUNS in old else ""
    text = "\n\n".join([*parts, kept] if kept else parts) + "\n"
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
