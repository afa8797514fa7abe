"""How much processor time the command line takes to start, beside that of importing numba, CasADi and NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from tables import table

REPEATS = 5
LIBRARIES = "import numba, casadi, numpy"

# The commands, and how many times as long as the libraries each may take.
BOUNDS = {("--help",): 1.0, ("list",): 1.5, ("run", "pendulum", "--json"): 2.5}


class ProcessFailed(Exception):
    """A process did not end well; its words say why."""


def processor_time(command: list[str], folder: str) -> float:
    """User and system time of one process from its start to its end, s; bytecode and kernels are kept in a folder."""
    environment = {**os.environ, "SALTUS_CACHE": f"{folder}/kernels", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a warm start finds its bytecode
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise ProcessFailed(f"`{' '.join(command)}` ended with status {process.returncode}: {lines[-1]}")
    return usage.ru_utime + usage.ru_stime


def measure() -> dict[tuple[str, ...], tuple[float, float]]:
    """First and best later processor time of each command, s; the command without words is that of the libraries.

    The first start has neither bytecode nor kernels, and makes them. Later the commands take turns, so that a machine
    that is busy for a while is busy for all of them.
    """
    commands = {(): [sys.executable, "-c", LIBRARIES]}
    commands |= {words: [sys.executable, "-m", "saltus", *words] for words in BOUNDS}
    with tempfile.TemporaryDirectory() as folder:
        turns = [
            {words: processor_time(command, folder) for words, command in commands.items()} for _ in range(1 + REPEATS)
        ]
    return {words: (turns[0][words], min(turn[words] for turn in turns[1:])) for words in commands}


def report() -> str:
    """Start the processes and compare them."""
    times = measure()
    unit = times[()][1]
    rows = [[f"`python -c '{LIBRARIES}'`", f"{times[()][0]:.2f}", f"{unit:.3f}", "1", "", ""]]
    for words, bound in BOUNDS.items():
        first, best = times[words]
        name, kept = f"`saltus {' '.join(words)}`", "yes" if best <= bound * unit else "NO"
        rows.append([name, f"{first:.2f}", f"{best:.3f}", f"{best / unit:.2f}", f"{bound:.1f}", kept])
    return "\n\n".join(
        [
            "## Starting",
            "Processor time (user and system) of whole processes: of the very first start, which has neither\n"
            f"bytecode nor kernels, and the best of {REPEATS} later starts, in turns. The ratio is that of the best\n"
            "to that of the libraries.",
            table(["command", "first, s", "best, s", "ratio", "bound", "kept"], rows),
        ]
    )


if __name__ == "__main__":
    print(report())
