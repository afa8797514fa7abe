"""How long a whole process takes: importing saltus, and a run from the command line, the first time and later."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tables import table

REPEATS = 5
COMMAND = ("run", "pendulum", "--json")


@dataclass(frozen=True)
class Process:
    """Seconds on the clock and on the processor from a process's start to its end, and its words if it failed."""

    clock: float
    processor: float
    trouble: str = ""


def start(command: list[str], **environment: str) -> Process:
    """Start a process and wait for its end."""
    used, begin = _processor_time(), time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    except OSError as error:
        return Process(math.nan, math.nan, str(error))
    clock, processor = time.perf_counter() - begin, _processor_time() - used
    lines = done.stderr.strip().splitlines() or ["no message"]
    return Process(clock, processor, "" if done.returncode == 0 else f"exit status {done.returncode}: {lines[-1]}")


def _processor_time() -> float:
    """Processor time of all processes started so far that have ended, s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _row(name: str, processes: list[Process]) -> list[str]:
    troubles = [process.trouble for process in processes if process.trouble]
    if troubles:
        return [name, "failed", "", "", troubles[0]]
    clocks = [process.clock for process in processes]
    worst = f"{max(clocks):.3f}" if len(clocks) > 1 else ""
    return [name, f"{min(clocks):.3f}", worst, f"{min(process.processor for process in processes):.3f}", ""]


def report() -> str:
    """Start the processes and tell how long each took."""
    bare = [start([sys.executable, "-c", "pass"]) for _ in range(REPEATS)]
    loaded = [start([sys.executable, "-c", "import saltus"]) for _ in range(REPEATS)]
    more = Process(
        min(process.clock for process in loaded) - min(process.clock for process in bare),
        min(process.processor for process in loaded) - min(process.processor for process in bare),
        next((process.trouble for process in loaded if process.trouble), ""),
    )
    program, words = str(Path(sys.executable).parent / "saltus"), " ".join(("saltus", *COMMAND))
    with tempfile.TemporaryDirectory() as folder:
        first = start([program, *COMMAND], SALTUS_CACHE=folder)
        later = [start([program, *COMMAND], SALTUS_CACHE=folder) for _ in range(REPEATS)]
    rows = [
        _row("`python -c pass`", bare),
        _row("`python -c 'import saltus'`", loaded),
        _row("importing saltus: the difference", [more]),
        _row(f"`{words}`, the very first time", [first]),
        _row(f"`{words}`, after that", later),
    ]
    headings = ["what", "best, s", "worst, s", "processor, s", "trouble"]
    if not any(row[-1] for row in rows):
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    return "\n\n".join(
        [
            "## Starting",
            f"Whole processes, from start to end, on the clock: best and worst of {REPEATS}, and the best of their\n"
            "processor time. The very first run compiles the engine and the robot's kernels into an empty cache;\n"
            "later ones load them.",
            table(headings, rows),
        ]
    )


if __name__ == "__main__":
    print(report())
