"""How long a whole process takes: importing saltus, and a run from the command line, the first time and later."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tables import table

REPEATS = 5
COMMAND = ("run", "pendulum", "--json")


def _seconds(command: list[str], **environment: str) -> tuple[float, str]:
    """Time of a process from start to end, and what it said if it failed."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    except OSError as error:
        return time.perf_counter() - begin, str(error)
    lines = done.stderr.strip().splitlines() or ["no message"]
    return time.perf_counter() - begin, "" if done.returncode == 0 else f"exit status {done.returncode}: {lines[-1]}"


def _several(command: list[str], **environment: str) -> tuple[list[float], str]:
    """Times of a process started several times, and what it said if it failed."""
    tries = [_seconds(command, **environment) for _ in range(REPEATS)]
    return [seconds for seconds, _ in tries], next((trouble for _, trouble in tries if trouble), "")


def report() -> str:
    """Start the processes and tell how long each took."""
    bare, _ = _several([sys.executable, "-c", "pass"])
    loaded, trouble = _several([sys.executable, "-c", "import saltus"])
    rows = [
        ["`python -c pass`", *_row(bare, "")],
        ["`python -c 'import saltus'`", *_row(loaded, trouble)],
        ["importing saltus, the difference", *_row([min(loaded) - min(bare)], trouble)],
    ]
    program = str(Path(sys.executable).parent / "saltus")
    words = " ".join(("saltus", *COMMAND))
    with tempfile.TemporaryDirectory() as folder:
        first, trouble = _seconds([program, *COMMAND], SALTUS_CACHE=folder)
        rows.append([f"`{words}`, the very first time (empty cache)", *_row([first], trouble)])
        later, trouble = _several([program, *COMMAND], SALTUS_CACHE=folder)
        rows.append([f"`{words}`, after that", *_row(later, trouble)])
    return "\n\n".join(
        [
            "## Starting",
            f"Whole processes, from start to end; best and worst of {REPEATS}. The first run of a robot compiles the\n"
            "engine and the robot's kernels into an empty cache; later runs load them.",
            table(["what", "best, s", "worst, s"], rows),
        ]
    )


def _row(seconds: list[float], trouble: str) -> list[str]:
    if trouble:
        return [f"failed ({trouble})", "-"]
    return [f"{min(seconds):.3f}", f"{max(seconds):.3f}" if len(seconds) > 1 else ""]


if __name__ == "__main__":
    print(report())
