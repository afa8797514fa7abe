"""How long a report takes, and all figures of a run, warm: best of several, and how large the file is."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe
from tables import table

import saltus
from saltus import show
from saltus.robots import find_robot
from saltus.show._points import Points

# Robots whose runs of this length, s, are reported.
ROBOTS, LENGTH = ("rimless_wheel", "arm", "bouncing_ball", "double_pendulum", "disc"), 5.0
REPEATS = 5


def main() -> None:
    print(describe())
    rows = []
    for name in ROBOTS:
        run = saltus.simulate(find_robot(name), until=LENGTH)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "it.html"
            written = best(lambda run=run, path=path: show.report(run, path, force=True))
            size = path.stat().st_size / 1e6
        drawn = best(lambda run=run: [show.figure_bytes(figure) for figure in show.run_figures(run).values()])
        rows.append((name, f"{len(run.events)}", f"{written:.2f}", f"{size:.2f}", f"{drawn:.2f}"))
    print(table(("run of 5 s", "events", "report (s)", "size (MB)", "all figures as PNG (s)"), rows))
    system = find_robot("rimless_wheel")
    points, states = Points(system), np.zeros((10_000, len(system.state_names)))
    spent = best(lambda: (points.positions(states), points.velocities(states)))
    print(f"\npositions and velocities of {len(points.names)} points at 10,000 states: {1e3 * spent:.1f} ms")


def best(work: Callable[[], Any]) -> float:
    """The least time of some repeats after one that warms up, s."""
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    main()
