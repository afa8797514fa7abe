"""Controllers made of functions: plain Python ones, sampled or continuous, and compiled ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control._protocol import check_period
from saltus.engine import Control, ControlParameter
from saltus.engine._control import compiled_control, python_control
from saltus.engine._layout import CONTINUOUS, SAMPLED
from saltus.errors import InputError
from saltus.hybrid import HybridSystem


@equal_by_content
@dataclass(frozen=True)
class Sampled:
    """A Python function ``(t, state, mode, memory) -> command``, asked every ``period`` seconds and held between."""

    function: Callable[..., Any]
    period: float = 1e-3
    memory: int = 8

    def bind(self, system: HybridSystem) -> Control:
        if not isinstance(self.memory, int) or self.memory < 0:
            raise InputError(f"memory of a controller is a number of places, got {self.memory!r}")
        return python_control(self.function, system, SAMPLED, check_period(self.period), self.memory)


@equal_by_content
@dataclass(frozen=True)
class Continuous:
    """A Python function ``(t, state, mode, memory) -> command``, asked at every stage of every step.

    It must be a smooth function of time and state, except at ``breaks``, and leave memory alone.
    """

    function: Callable[..., Any]
    breaks: Sequence[float] = ()

    def bind(self, system: HybridSystem) -> Control:
        control = python_control(self.function, system, CONTINUOUS, 0.0, 0)
        control.breaks = np.asarray(self.breaks, dtype=float)
        return control


@equal_by_content
@dataclass(frozen=True)
class Compiled:
    """A function in the compiled subset of Python:

    ``law(t, x, status, memory, p, data, piece, u, request) -> 0`` writes its inputs to ``u``.
    ``data`` are its own numbers, ``piece`` counts the breaks passed; with a period it is sampled.
    """

    law: Callable[..., Any]
    data: Sequence[float] = ()
    period: float | None = None
    breaks: Sequence[float] = ()
    memory: int = 8

    def bind(self, system: HybridSystem) -> Control:
        named = _numbered(len(self.data))
        return bind_compiled(self.law, self.data, self.period, self.breaks, self.memory, parameters=named)


@lru_cache(maxsize=16)
def _numbered(count: int) -> tuple[ControlParameter, ...]:
    return tuple(ControlParameter(f"data{k}", (k,)) for k in range(count))


def bind_compiled(
    law: Callable[..., Any],
    data: Sequence[float] | np.ndarray,
    period: float | None = None,
    breaks: Sequence[float] | np.ndarray = (),
    memory: int = 0,
    name: str = "",
    parameters: Sequence[ControlParameter] = (),
) -> Control:
    """A compiled law with its numbers, sampled if it has a period."""
    return compiled_control(
        law,
        kind=CONTINUOUS if period is None else SAMPLED,
        data=np.asarray(data, dtype=float),
        memory=np.zeros(memory),
        breaks=np.asarray(breaks, dtype=float),
        period=0.0 if period is None else check_period(period),
        parameters=tuple(parameters),
        name=name or getattr(law, "__name__", "compiled"),
    )
