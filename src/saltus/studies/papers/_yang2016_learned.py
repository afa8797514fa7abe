"""What chapters 7.2, 7.3 and 7.5 of [yang2016] share: tables and impulses, learned once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from saltus.studies._compare_learning import Effort, Impulses, Tables, learn_impulses, learn_tables
from saltus.studies.papers._yang2016_chapter import FINE, Progress

SEED = 2016

# Held-out mixes for each thing that is off, with all detail and with little.
MIXES, FEW = 300, 4


@dataclass(frozen=True)
class _Listener:
    """Who is told of progress: whoever it is, what is learned is the same."""

    tell: Progress = field(compare=False)


def effort_of(detail: int) -> Effort:
    """How much is spent on learning: little, so that nothing good comes of it, unless figures are to be fine."""
    if detail >= FINE:
        return Effort()
    return Effort(grid=12, thesis_grid=10, thesis_sweeps=4, trials=4000, members=2, others=(), rounds=1)


def tried(effort: Effort) -> str:
    """With how much less than the thesis its own recipe is tried."""
    return f"tried with {effort.thesis_grid}⁴ states and {effort.thesis_sweeps} sweeps; the thesis has 100⁴ and 1000"


def mixes_of(detail: int) -> int:
    """How many mixes are tried."""
    return MIXES if detail >= FINE else FEW


def tables_of(detail: int, progress: Progress) -> Tables:
    """All tables."""
    return _tables(effort_of(detail), _Listener(progress))


def impulses_of(detail: int, progress: Progress) -> Impulses:
    """Trials of impulses and both inverses."""
    return _impulses(effort_of(detail), _Listener(progress))


@lru_cache(maxsize=1)
def _tables(effort: Effort, listener: _Listener) -> Tables:
    return learn_tables("brachiator", effort, SEED, listener.tell)


@lru_cache(maxsize=1)
def _impulses(effort: Effort, listener: _Listener) -> Impulses:
    return learn_impulses("brachiator", effort, SEED, listener.tell)
