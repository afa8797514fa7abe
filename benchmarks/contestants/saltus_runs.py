"""saltus: only its calls into compiled code, all of its public call, and that at a tighter tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import saltus
from contestants.problem import COUNT, END, SPACING, START, TOLERANCE, Contestant, robot, start, times
from saltus.engine import _layout as L
from saltus.engine import _status as S
from saltus.engine._control import Control
from saltus.engine._program import arenas, engine
from saltus.engine._sample import STATES
from saltus.engine._simulate import _fill

COMPILED = "saltus, compiled calls"
PUBLIC = "saltus, `simulate` and `run.x`"
TIGHT = "saltus, the same at 1e-11"
_METHOD = "dopri5"
_ROOM = 4096


@dataclass
class _Memory:
    """Everything that compiled code reads and writes, ready to run."""

    integers: np.ndarray
    doubles: np.ndarray
    steps: np.ndarray
    events: np.ndarray
    index: np.ndarray
    fraction: np.ndarray
    statuses: np.ndarray
    out: np.ndarray


def _fresh() -> _Memory:
    control = Control()
    I, D = arenas(robot(), _METHOD, 0, 0, 0, False)
    _fill(I, D, control, start(), 0.0, END, TOLERANCE, TOLERANCE, math.inf, None)
    I[L.MAXSTEP], I[L.MAXEVENT] = 10_000_000, 100_000
    I[L.STEP_ROOM], I[L.EVENT_ROOM] = _ROOM, 64
    rows = COUNT + 1
    # zeros written now, so that no page of the record is touched for the first time while the clock runs
    return _Memory(
        I,
        D,
        np.full((_ROOM, I[L.STEP_ROW]), 0.0),
        np.full((64, I[L.EVENT_ROW]), 0.0),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows),
        np.zeros(1, dtype=np.int64),
        np.full((rows, I[L.NY]), 0.0),
    )


def _advance(m: _Memory) -> None:
    code = engine(_METHOD).advance(*(a.ctypes.data for a in (m.integers, m.doubles, m.steps, m.events)))
    if code != S.FINISHED:
        raise RuntimeError(f"the engine ended with status {code}")


def _sample(m: _Memory) -> None:
    places = (m.integers, m.doubles, m.steps, m.index, m.fraction)
    code = engine(_METHOD).sample(
        *(a.ctypes.data for a in places), COUNT + 1, m.statuses.ctypes.data, m.out.ctypes.data, STATES
    )
    if code != 0:
        raise RuntimeError(f"the sampler ended with status {code}")


def _places(m: _Memory) -> tuple[np.ndarray, np.ndarray]:
    """In which step each millisecond lies, and where in it: the same in every run."""
    record = m.steps[: m.integers[L.NRECORD]]
    begins, lengths = record[:, L.S_TIME], record[:, L.S_LENGTH]
    index = np.clip(np.searchsorted(begins, times(), side="right") - 1, 0, len(begins) - 1)
    return index.astype(np.int64), np.clip((times() - begins[index]) / lengths[index], 0.0, 1.0)


def contestants() -> list[Contestant]:
    """The compiled calls alone, on memory prepared beforehand, and the public call with all that it adds."""
    once = _fresh()
    _advance(once)
    index, fraction = _places(once)

    def prepare() -> _Memory:
        memory = _fresh()
        memory.index[:], memory.fraction[:] = index, fraction
        return memory

    def compiled_calls(memory: _Memory) -> _Memory:
        _advance(memory)
        _sample(memory)
        return memory

    def public_call(tolerance: float) -> np.ndarray:
        run = saltus.simulate(robot(), START, until=END, rtol=tolerance, atol=tolerance, output_step=SPACING)
        return run.x

    return [
        Contestant(COMPILED, prepare, compiled_calls, lambda memory: memory.out[:, :4]),
        Contestant(PUBLIC, lambda: TOLERANCE, public_call, lambda x: x),
        Contestant(TIGHT, lambda: 1e-11, public_call, lambda x: x),
    ]
