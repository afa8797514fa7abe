"""What training tells: how far it is, and rows of what came out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.control import Table
    from saltus.optimize import Discounted, RandomActions, Sweep


class TableProgress:
    """Shows sweeps on a progress bar; where they end by their residual, by how it falls."""

    def __init__(self, recipe: Discounted | RandomActions, show: Callable[..., None]):
        self._show = show
        self._tolerance = getattr(recipe, "tolerance", 0.0)
        self._number, self._residual, self._share = -1, math.nan, 0.0
        self._before = math.nan

    def __call__(self, sweep: Sweep) -> None:
        if sweep.number != self._number:
            self._before, self._number = self._residual, sweep.number
        self._residual = sweep.residual
        self._share = max(self._share, min(1.0, (sweep.number + sweep.share) / self._expected(sweep)))
        self._show(self._share, f"sweep {sweep.number + 1}, residual {sweep.residual:.3g}")

    def _expected(self, sweep: Sweep) -> float:
        """How many sweeps there are going to be: residuals fall by about the same factor in each."""
        if not self._tolerance > 0:
            return sweep.of
        if not self._tolerance < self._before < 1 or sweep.number < 2:
            return sweep.of if math.isnan(self._before) or self._before >= 1 else sweep.number + 1
        return min(sweep.of, max(sweep.number + 1, sweep.number * math.log(self._tolerance) / math.log(self._before)))


def of_table(table: Table, file: Path, seconds: float) -> dict[str, Any]:
    """A table for programs."""
    goal = table.goal
    return {
        "hand": table.holds, "target": None if goal is None else [goal.x, goal.y], "grid": list(table.shape),
        "states": math.prod(table.shape), "sweeps": table.sweeps, "residual": table.residual, "seconds": seconds,
        "bytes": table.memory, "recipe": dict(table.recipe), "file": str(file),
    }  # fmt: skip


def tables_rows(made: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of tables for people."""
    return [
        (
            f"held by {one['hand']}, to {one['target'][0]:g}, {one['target'][1]:g} m",
            str(one["sweeps"]),
            f"{one['residual']:.3g}",
            f"{one['seconds']:.1f}",
            f"{one['bytes'] / 1e9:.3g}",
            one["file"],
        )
        for one in made
    ]


def learned_rows(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of inverses for people."""
    names = {"committee": "committee of nets", "polished": "good trials, polished"}
    return [
        (
            names[name],
            f"{one['hits']}/{content['queries']} ({one['rate']:.1%})",
            "-" if one["residual"] is None or math.isnan(one["residual"]) else f"{one['residual']:.3f}",
            f"{one['rate_off']:.1%}",
        )
        for name, one in content["inverses"].items()
    ]


def queries_told(content: dict[str, Any]) -> str:
    """How many queries there were, and how many were not possible."""
    left = content["left_out"]
    return f"{content['queries']} queries" + (f", {left} left out as impossible" if left else "")
