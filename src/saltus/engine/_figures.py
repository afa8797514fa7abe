"""Figures of many runs: a user's own numbers, gathered in compiled code along each run or read off its last state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._native import FIGURES, Entry, compile_entry
from saltus.engine import _layout as L
from saltus.engine._cases import columns
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory

_COMPILED: dict[Any, Entry] = {}


@equal_by_content
@dataclass(frozen=True)
class Figures:
    """Numbers gathered along a run by a function in the compiled subset of Python.

    ``law(moment, t, before, after, old, new, guard, p, out) -> 0`` is called at the start (moment 0,
    statuses still zero), at each event (1) and at the end (2). It sees the states (q, v) and statuses
    of the units before and after, the number of the guard (-1 for breaks and samples) and the
    parameters. ``out`` begins as zeros: a place for each name, then ``memory`` more that are not
    reported. If it returns anything but 0, the figures of the run are not numbers.

    Called with a run of its own, they tell the same of it; what is not a number is None there.
    """

    names: Sequence[str]
    law: Callable[..., Any]
    memory: int = 0

    def __post_init__(self) -> None:
        names = [self.names] if isinstance(self.names, str) else list(self.names)
        if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
            raise InputError(f"figures need names, all different, got {self.names!r}")
        if not callable(self.law):
            raise InputError(f"the law of figures is a function, got {self.law!r}")
        if not isinstance(self.memory, int) or self.memory < 0:
            raise InputError(f"memory of figures is a number of places, got {self.memory!r}")
        object.__setattr__(self, "names", tuple(names))

    def __call__(self, run: Trajectory) -> dict[str, float | None]:
        """The figures of one run."""
        nunit, nx = len(run.system.units), len(run.system.state_names)
        p, out = run.system.parameter_values, np.zeros(self.size)
        ends = [run.x[0], run.x[-1]], [run.arc_statuses[0], run.arc_statuses[-1]]
        failed = self.law(0, run.start_time, ends[0][0], ends[0][0], np.zeros(nunit), np.zeros(nunit), -1, p, out)
        for row in run.event_rows:
            before, statuses = L.E_VECTORS, len(row) - 2 * nunit
            after = before + nx + 3
            failed |= self.law(
                1, row[L.E_TIME], row[before : before + nx], row[after : after + nx],
                row[statuses : statuses + nunit], row[statuses + nunit :], int(row[L.E_GUARD]), p, out,
            )  # fmt: skip
        failed |= self.law(2, run.end_time, ends[0][1], ends[0][1], ends[1][1], ends[1][1], -1, p, out)
        found = dict(zip(self.names, out.tolist(), strict=False))
        return {name: None if failed or math.isnan(value) else value for name, value in found.items()}

    @property
    def size(self) -> int:
        """Places of ``out``."""
        return len(self.names) + self.memory

    def entry(self) -> Entry:
        """The law as machine code."""
        if self.law not in _COMPILED:
            name = f"figures-{getattr(self.law, '__name__', 'law')}"
            _COMPILED[self.law] = compile_entry(self.law, FIGURES, name)
        return _COMPILED[self.law]


def expressions_of(system: HybridSystem, given: Mapping[str, Any]) -> Any:
    """A CasADi function of (t, x, p) that gives a column of figures."""
    m = system.mechanism
    known = {symbol.__hash__() for symbol in ca.symvar(ca.vertcat(m.t, m.q, m.v, m.p))}
    column = []
    for name, expression in given.items():
        try:
            value = ca.SX(expression)
        except (NotImplementedError, TypeError):  # how CasADi refuses what is no expression
            raise InputError(f"figure {name!r} must be an expression, got {expression!r}") from None
        if value.numel() != 1 or any(s.__hash__() not in known for s in ca.symvar(value)):
            raise InputError(
                f"figure {name!r} must be one number made of coordinates, velocities, parameters and time of "
                f"{system.name}, got {expression}"
            )
        column.append(value)
    return ca.Function("figures", [m.t, ca.vertcat(m.q, m.v), m.p], [ca.vertcat(*column)])


def at_the_end(
    function: Any, names: Sequence[str], t: np.ndarray, x: np.ndarray, p: np.ndarray
) -> dict[str, np.ndarray]:
    """Values of the expressions at the last states of all runs, one array for each."""
    values = columns(function, t, x, p)[0]
    return {name: values[:, k] for k, name in enumerate(names)}
