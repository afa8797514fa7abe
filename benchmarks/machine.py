"""The machine and the versions that the numbers belong to."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from tables import table

from saltus._provenance import processor

_LIBRARIES = ("saltus", "numpy", "scipy", "numba", "llvmlite", "casadi", "mujoco", "drake")


def _compiler() -> str:
    try:
        answer = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "not found"
    return answer.stdout.splitlines()[0]


def _installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def describe() -> str:
    """A table of the machine, the versions and the day."""
    rows = [
        ["processor", processor()],
        ["cores", str(os.cpu_count())],
        ["load when begun", f"{os.getloadavg()[0]:.1f}"],
        ["system", platform.platform()],
        ["C compiler", _compiler()],
        ["Python", platform.python_version()],
        *([library, _installed(library)] for library in _LIBRARIES),
        ["date", date.today().isoformat()],
    ]
    return table(["what", "which"], rows, words=2)
