"""Run all benchmarks, write them with the machine they ran on to `docs/benchmarks.md`, and print them."""

from __future__ import annotations

import argparse
from pathlib import Path

import accuracy
import batch
import hopper_profiles
import lanes
import machine
import startup
import two_link

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
    parts += [batch.report(), lanes.report(), hopper_profiles.report(chosen.count), startup.report()]
    text = "\n\n".join(parts) + "\n"
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
