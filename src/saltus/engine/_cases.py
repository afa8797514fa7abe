"""What differs between many runs, a row for each: states, parameters and controllers; and functions of such rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.engine._control import Control, ControlTable
from saltus.hybrid import HybridSystem

# How many runs CasADi evaluates at once: preparing it for more costs more than it saves, unless there are many.
_BLOCK, _MANY = 256, 1024

# A call of a function this short takes longer than what it computes: of many runs some share a call, up to so many
# instructions and runs.
_SHORT, _LONGEST, _MOST = 64, 2048, 128

# What a system keeps of its parameters' values once they are asked for.
OF_VALUES = ("unit_coefficients", "ideal_units")


class Repeated(Sequence[Any]):
    """One thing for every run, without a list as long as the runs are many."""

    def __init__(self, one: Any, count: int):
        self.one, self.count_of_all = one, count

    def __len__(self) -> int:
        return self.count_of_all

    def __getitem__(self, place: Any) -> Any:
        if not -self.count_of_all <= place < self.count_of_all:
            raise IndexError(place)
        return self.one


@equal_by_content
@dataclass(frozen=True, eq=False)
class Cases:
    """A row for each run: state, parameters, numbers that follow from these, side of each guard; and its controller.

    ``varied`` says whether parameters differ; then ``constants`` are those of `HybridSystem`, and the system is that of
    the first run that can start. ``refused`` says why each of the other runs cannot.
    """

    system: HybridSystem
    states: np.ndarray
    parameters: np.ndarray
    varied: bool
    constants: list[np.ndarray]
    sides: np.ndarray
    controllers: Sequence[Any] = ()
    controls: Sequence[Control] = ()
    refused: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.states)

    def __getstate__(self) -> dict[str, Any]:
        """Without controllers as bound, which are of one process and have done their work."""
        from saltus._pack import sendable

        controllers = sendable(self.controllers, f"a controller of {self.system.name}")
        return {one.name: getattr(self, one.name) for one in fields(self)} | {
            "controls": (),
            "controllers": controllers,
        }

    def _content(self) -> dict[str, Any]:
        """The same, with controllers run by run."""
        parts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "controls"}
        return parts | {"controllers": list(self.controllers)}

    @cached_property
    def distinct(self) -> list[Control]:
        """The controllers as bound, each once; of those that differ in their numbers only, one."""
        if isinstance(self.controls, (Repeated, ControlTable)):
            return [self.controls.one]
        return list({id(control): control for control in self.controls}.values())

    @property
    def one_control(self) -> bool:
        """Whether all runs have the same controller."""
        return len(self.distinct) == 1 and not isinstance(self.controls, ControlTable)

    def of(self, run: int) -> HybridSystem:
        """The system with the parameters of one run."""
        if not self.varied:
            return self.system
        return variant(self.system, self.parameters[run], [group[run] for group in self.constants])

    @cached_property
    def possible(self) -> np.ndarray:
        """Numbers of the runs that can start."""
        able = np.ones(len(self), dtype=bool)
        able[list(self.refused)] = False
        return np.flatnonzero(able)

    def started(self) -> Cases:
        """Those of them that can start, as a batch without the others would have them."""
        if not self.refused:
            return self
        rows = self.possible
        return replace(
            self, states=self.states[rows], parameters=self.parameters[rows],
            constants=[group[rows] for group in self.constants], sides=self.sides[rows],
            controllers=_some(self.controllers, rows), controls=_some(self.controls, rows), refused={},
        )  # fmt: skip


def _some(things: Sequence[Any], rows: np.ndarray) -> Sequence[Any]:
    if isinstance(things, ControlTable):
        return things.rows(rows)
    return Repeated(things.one, len(rows)) if isinstance(things, Repeated) else [things[k] for k in rows.tolist()]


def variant(system: HybridSystem, values: np.ndarray, constants: list[np.ndarray]) -> HybridSystem:
    """A system with other parameters that are known to be allowed, without the checks that made them known."""
    made: HybridSystem = object.__new__(HybridSystem)
    kept = {name: thing for name, thing in system.__dict__.items() if name not in OF_VALUES}
    own = {"values": dict(zip(system.values, values.tolist(), strict=True)), "constants": constants}
    made.__dict__.update({**kept, **own})
    return made


def column(function: Any, *rows: np.ndarray) -> np.ndarray:
    """The first output of a CasADi function for all runs, a row for each; what only the others need is not computed."""
    return columns(_first(function), *rows)[0]


def columns(function: Any, *rows: np.ndarray) -> list[np.ndarray]:
    """Evaluate a CasADi function for all runs: a row for each goes in, a row for each comes out."""
    count = len(rows[0])
    block, shared = min(count, _BLOCK), 1
    if count >= _MANY and function.n_instructions() <= _SHORT:
        block, shared = _MANY, min(_MOST, 1 << (_LONGEST // max(1, function.n_instructions())).bit_length() - 1)
    # memory is shared: converting numbers one by one would take longer than the runs
    buffer: Any
    buffer, evaluate = _mapped(function, block, shared).buffer()
    given = [np.zeros((block, function.numel_in(k))) for k in range(function.n_in())]
    made = [np.empty((block, function.numel_out(k))) for k in range(function.n_out())]
    for k, array in enumerate(given):
        buffer.set_arg(k, array.data)
    for k, array in enumerate(made):
        buffer.set_res(k, array.data)
    answers = [np.empty((count, array.shape[1])) for array in made]
    for first in range(0, count, block):
        size = min(block, count - first)
        for array, row in zip(given, rows, strict=True):
            array[:size] = row[first : first + size].reshape(size, -1)
        evaluate()
        for answer, array in zip(answers, made, strict=True):
            answer[first : first + size] = array[:size]
    return answers


@lru_cache(maxsize=64)
def _first(function: Any) -> Any:
    symbols = function.sx_in()
    return ca.Function("first", symbols, function.call(symbols)[:1], {"cse": True})


@lru_cache(maxsize=128)
def _mapped(function: Any, block: int, shared: int) -> Any:
    """A function of a block of rows, several of which share a call of what CasADi evaluates; the bits are the same."""
    symbols = [ca.SX.sym(f"rows{k}", function.numel_in(k), shared) for k in range(function.n_in())]
    sizes = [function.size_in(k) for k in range(function.n_in())]
    found = [
        function.call([ca.reshape(rows[:, run], *size) for rows, size in zip(symbols, sizes, strict=True)])
        for run in range(shared)
    ]
    outputs = [ca.horzcat(*(ca.vec(ca.densify(out)) for out in outs)) for outs in zip(*found, strict=True)]
    return ca.Function("rows", symbols, outputs).map(block // shared)
