"""Memory that a table needs while it is made, and that there is."""

from __future__ import annotations

import math
import os
from pathlib import Path

from saltus.control._grid import MOST_STATES, Axis
from saltus.errors import InputError
from saltus.optimize._recipes import Discounted, RandomActions


def check_memory(axes: tuple[Axis, ...], recipe: Discounted | RandomActions) -> int:
    """Bytes that a table needs while it is made; refused where there are not so many."""
    count = math.prod(axis.count for axis in axes)
    arrays = 3 if isinstance(recipe, RandomActions) else recipe.sides
    needed = 4 * count * arrays + 4 * count * recipe.sides // min(axis.count for axis in axes[:2])
    free, shape = available(), " x ".join(str(axis.count) for axis in axes)
    if needed > 0.9 * free:
        raise InputError(f"a grid of {shape} needs {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are available")
    if count * recipe.sides >= MOST_STATES:
        twice = "" if recipe.sides == 1 else ", each counted twice"
        raise InputError(f"a table has less than {MOST_STATES:.3g} states, and {shape} are {count:.3g}{twice}")
    return needed


def available() -> float:
    """Bytes of memory that are free, as far as the system and the limits of its groups tell."""
    return min(_free(), _left_to_group())


def _free() -> float:
    try:
        with Path("/proc/meminfo").open() as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return math.inf


def _left_to_group() -> float:
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # there is no group, or it has no limit
        return math.inf
    return limit - sum(float(line.split()[1]) for line in lines if line.startswith("anon "))
