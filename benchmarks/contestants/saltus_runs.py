"""saltus: only its calls into compiled code, all of its public call, and that at a tighter tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import saltus
from contestants.problem import (
    COMPILED,
    COUNT,
    END,
    PUBLIC,
    SPACING,
    START,
    TOLERANCE,
    Contestant,
    robot,
    start,
    times,
)
from saltus.engine import _layout as L
from saltus.engine import _status as S
from saltus.engine._control import Control
from saltus.engine._program import arenas, engine
from saltus.engine._sample import PLACES, STATES
from saltus.engine._simulate import _fill

_ROOM = 4096


@dataclass(frozen=True)
class _Calls:
    """Arguments of the compiled calls, with the memory behind them."""

    advance: list[int]
    sample: list[int]
    statuses: int
    out: np.ndarray
    memory: tuple[np.ndarray, ...]


def _prepare() -> _Calls:
    """Memory for one run, all of it written once, so that no page is touched first while the clock runs."""
    I, D = arenas(robot(), "dopri5", 0, 0, 0, False)
    _fill(I, D, Control(), start(), 0.0, END, TOLERANCE, TOLERANCE, math.inf, None)
    I[L.MAXSTEP], I[L.MAXEVENT] = 10_000_000, 100_000
    I[L.STEP_ROOM], I[L.EVENT_ROOM] = _ROOM, 64
    steps, events = np.full((_ROOM, I[L.STEP_ROW]), 0.0), np.full((64, I[L.EVENT_ROW]), 0.0)
    index, fraction = np.full(COUNT + 1, 0, dtype=np.int64), times()
    statuses, out = np.full(1, 0, dtype=np.int64), np.full((COUNT + 1, I[L.NX]), 0.0)
    at = [array.ctypes.data for array in (I, D, steps, events, index, fraction, statuses)]
    memory = (I, D, steps, events, index, fraction, statuses)
    return _Calls(at[:4], [*at[:3], *at[4:6]], at[6], out, memory)


def _compiled_calls(calls: _Calls) -> np.ndarray:
    """Integrate, find the step of each millisecond, and evaluate the dense output there."""
    made, out = engine(), calls.out.ctypes.data
    code = made.advance(*calls.advance)
    placed = made.sample(*calls.sample, COUNT + 1, calls.statuses, out, PLACES)
    sampled = made.sample(*calls.sample, COUNT + 1, calls.statuses, out, STATES)
    if (code, placed, sampled) != (S.FINISHED, 0, 0):
        raise RuntimeError(f"the compiled calls returned {code}, {placed} and {sampled}")
    return calls.out


def _public_call(tolerance: float) -> np.ndarray:
    run = saltus.simulate(robot(), START, until=END, rtol=tolerance, atol=tolerance, output_step=SPACING)
    return run.x


def contestants() -> list[Contestant]:
    """The compiled calls alone, on memory prepared beforehand, and the public call with all that it adds."""
    return [
        Contestant(COMPILED, _prepare, _compiled_calls, lambda x: x),
        Contestant(PUBLIC, lambda: TOLERANCE, _public_call, lambda x: x),
        Contestant("saltus, the same at 1e-11", lambda: 1e-11, _public_call, lambda x: x),
    ]
