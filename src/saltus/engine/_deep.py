"""The deep audit: parts of a run simulated again by another method, and the estimated error of its end state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.contact import GRIP
from saltus.engine import _layout as L
from saltus.engine._audit import PART, STEADY, Audit, Check
from saltus.engine._error_estimate import TIGHTER, TIGHTEST, again, other_method, ranges
from saltus.errors import SaltusError

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory

# How many windows are simulated again, and how many steps each has at most.
WINDOWS, LONGEST = 8, 40

# The part of its range by which a state at the end may be wrong.
WRONG = 0.1


def deep_audit(run: Trajectory) -> Audit:
    """The audit with two more laws: windows agree with another method, and the end state is known."""
    estimate = run.error_estimate()
    checks = [*run.check().checks, *_windows(run), Check("error of the end state", estimate.relative, WRONG, "range")]
    notes = (str(estimate).splitlines()[0],) if estimate.predictable_until is not None or estimate.reason else ()
    return Audit(tuple(checks), notes)


def _windows(run: Trajectory) -> list[Check]:
    """Random windows again: how far their ends are off, over what the tolerance promises."""
    shares = [share for window in _chosen(run) if (share := _share(run, *window)) is not None]
    return [Check("windows", max(shares), 1.0, "limits")] if shares else []


def _chosen(run: Trajectory) -> list[tuple[int, int]]:
    """First and last steps of windows: those at which a run can begin by itself, drawn at random."""
    rows, begins = run.step_rows, _beginnings(run)
    ends = np.flatnonzero(np.append(False, rows[1:, L.S_ARC] == rows[:-1, L.S_ARC]))
    random = np.random.default_rng(0)
    chosen = []
    for first in random.permutation(begins)[:WINDOWS]:
        reached = ends[(ends > first) & (ends <= first + LONGEST)]
        if reached.size:
            chosen.append((int(first), int(random.choice(reached))))
    return chosen


def _beginnings(run: Trajectory) -> np.ndarray:
    """Steps that begin inside an arc; with a sampled controller at a sample, and never with one that remembers."""
    rows, memory = run.step_rows, run.control.memory
    place = int(run.integers[L.MEM])
    remembers = not np.array_equal(run.doubles[place : place + memory.size], memory)
    if remembers or len(rows) < 2:
        return np.zeros(0, dtype=int)
    inside = rows[1:, L.S_ARC] == rows[:-1, L.S_ARC]
    if run.control.kind == L.SAMPLED:
        inside &= rows[1:, L.S_SAMPLE] != rows[:-1, L.S_SAMPLE]
    return np.flatnonzero(np.append(False, inside))


def _state(run: Trajectory, step: int) -> np.ndarray:
    first = L.S_VECTORS + int(run.integers[L.NU])
    return run.step_rows[step, first : first + int(run.integers[L.NX])].copy()


def _share(run: Trajectory, first: int, last: int) -> float | None:
    """How far the end of a window is off, over what the tolerance promises; None where it cannot be told."""
    times = run.step_rows[[first, last], L.S_TIME]
    statuses = run.arc_statuses[int(run.step_rows[first, L.S_ARC])]
    mode = {
        unit.name: unit.statuses[status]
        for unit, status in zip(run.system.units, statuses.tolist(), strict=True)
        if unit.kind == GRIP
    }
    try:
        carried = run.jacobian(since=times[0], until=times[1])
        alone = again(
            run, max(TIGHTEST, min(1e-10, TIGHTER * run.rtol)), other_method(run.method),
            window=(_state(run, first), float(times[0]), float(times[1]), mode),
        )  # fmt: skip
    except SaltusError:  # it has no derivative, or cannot begin there by itself
        return None
    if not alone.status.good or alone.end_time != times[1]:
        return None
    promised = _promised(run, first, last, carried)
    return float((np.abs(np.array(list(alone.final.values())) - _state(run, last)) / promised).max())


def _promised(run: Trajectory, first: int, last: int, carried: np.ndarray) -> Any:
    """What each state may be off at the end of a window: errors of its steps, as the motion carries them."""
    states = np.abs([_state(run, step) for step in range(first, last + 1)]).max(axis=0)
    own = run.atol + run.rtol * states
    walk = STEADY * np.sqrt((1.0 + last - first) * len(own))
    within = np.maximum(own, np.abs(carried) @ own)
    return np.minimum(walk * within, PART * ranges(run)) + 1e-13 * (1.0 + np.abs(carried).sum(axis=1)) * states.max()
