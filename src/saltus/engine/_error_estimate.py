"""The error of a run's end state, estimated by two tighter runs, and how far a chaotic motion is predictable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.engine import _layout as L
from saltus.engine._entry import ON_GROUND
from saltus.engine._status import TERMINAL
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory

# The tightest tolerance there is, and how much tighter than the run, and at least how tight, a reference is.
TIGHTEST, TIGHTER, TIGHT = 1e-14, 1e-3, 1e-9

# Two references that differ by a tenth of what the run differs from them are good enough to measure it.
RESOLVED = 0.1

# Of the range of a coordinate: where two references are so far apart, the motion is not predictable.
LOST = 0.1

# What the estimate allows for: the run's own distance from the better reference, and that between the references.
OWN, BETWEEN = 2.0, 3.0

# A state that moves less than this part of what others of its unit move is measured by them.
SMALLEST_RANGE = 1e-4

# Steps that a reference may take: some, and so many times those of the run.
FEW, MANY = 10_000, 500

# So many steps of a reference, at least, see what a longer one may step over: a short push, a short visit to a guard.
_GRID = 1000


@dataclass(frozen=True)
class ErrorEstimate:
    """How far each state at the end of a run is from the true one, at most.

    ``error`` and ``range`` have an entry for each state: what it may be wrong by, and what it covers along the run.
    ``predictable_until`` is the time beyond which runs at the tightest tolerances part, s; None if they never do.
    ``reason`` says why there is no number, where the error is infinite.
    """

    names: tuple[str, ...]
    error: np.ndarray
    range: np.ndarray
    predictable_until: float | None = None
    reason: str = ""

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise unknown_name("state", name, self.names, "this run")
        return float(self.error[self.names.index(name)])

    def __float__(self) -> float:
        return float(self.error.max())

    @property
    def relative(self) -> float:
        """The largest error over the range of its state."""
        return float((self.error / self.range).max())

    def __str__(self) -> str:
        lines = []
        if self.predictable_until is not None:
            lines.append(f"not predictable beyond t = {self.predictable_until:.6g} s")
        if self.reason:
            lines.append(self.reason)
        width = max(map(len, self.names))
        lines += [
            f"{name:<{width}} {error:9.1e}  (range {size:.1e})"
            for name, error, size in zip(self.names, self.error, self.range, strict=True)
        ]
        return "\n".join(lines)


def again(run: Trajectory, rtol: float, method: str, *, window: Any = None, max_step: float = np.inf) -> Trajectory:
    """The same run at another tolerance, or a window of it: the state and time it begins with, its end and grips."""
    from saltus.engine._simulate import simulate

    state, start, end, mode = window or (run.initial, run.start_time, run.requested_end, run.initial_mode)
    # an absolute tolerance that allows anything promises nothing
    ratio = min(run.atol / run.rtol, 1e-2)
    I, D = run.integers, run.doubles
    return simulate(
        run.system, state, start=start, until=end, controller=run.controller, mode=mode, rtol=rtol,
        atol=ratio * rtol, method=method, energy_tolerance=np.inf, max_step=min(max_step, float(D[L.H_MAX])),
        max_steps=FEW + MANY * run.steps, max_events=int(I[L.MAXEVENT]), raise_errors=False,
    )  # fmt: skip


def other_method(method: str) -> str:
    """A method that is not the run's own."""
    return "dop853" if method != "dop853" else "dopri5"


def error_estimate(run: Trajectory) -> ErrorEstimate:
    """Compare the end of a run with two references, which are made tighter until they agree."""
    if not run.status.good:
        raise InputError(f"a run that ended as {run.status.name} has no end state whose error could be estimated")
    estimates = []
    for second, third in _references(run):
        one = _compare(run, second, third)
        estimates.append(one)
        # references that part say nothing of how far tighter ones would agree
        if not one.reason and one.predictable_until is None and _resolves(run, second, third):
            break
    # where the tightest tolerances lead nowhere, those before them say more
    return next((estimate for estimate in reversed(estimates) if not estimate.reason), estimates[-1])


def _references(run: Trajectory) -> Iterator[tuple[Trajectory, Trajectory]]:
    """Pairs of runs by another method, the second of each ten times as tight; the last pair is the tightest."""
    method = other_method(run.method)
    longest = (run.end_time - run.start_time) / _GRID or np.inf
    first = max(TIGHTEST, min(TIGHT, TIGHTER * run.rtol))
    for rtol in dict.fromkeys((first, max(TIGHTEST, min(first, 10 * TIGHTEST)))):
        tighter = max(TIGHTEST, 0.1 * rtol)
        better = again(run, tighter, method if tighter < rtol else run.method, max_step=longest)
        yield again(run, rtol, method, max_step=longest), better


def _resolves(run: Trajectory, second: Trajectory, third: Trajectory) -> bool:
    """Whether two references are near to each other beside the run, or all three agree to rounding."""
    apart, own = _gap(second, third), _gap(run, third)
    enough = np.maximum(own.max(), run.atol + run.rtol * np.abs(_end(run)))
    return bool((apart <= RESOLVED * enough + _rounding(third)).all())


def _gap(one: Trajectory, other: Trajectory) -> np.ndarray:
    return np.abs(_end(one) - _end(other))


def _end(run: Trajectory) -> np.ndarray:
    return np.array(list(run.final.values()))


def _rounding(run: Trajectory) -> np.ndarray:
    rounding: np.ndarray = 8 * np.finfo(float).eps * np.abs(run.x).max(axis=0)
    return rounding


def _compare(run: Trajectory, second: Trajectory, third: Trajectory) -> ErrorEstimate:
    names, size = tuple(run.system.state_names), ranges(third)
    error = OWN * _gap(run, third) + BETWEEN * _gap(second, third) + _rounding(third)
    until = _parting(second, third, size)
    if until is not None:
        error = np.maximum(error, size)
    reason = next((text for one in (third, second) if (text := _ends_otherwise(run, one))), "")
    if reason or not np.isfinite(error).all():
        error = np.full(len(names), np.inf)
    return ErrorEstimate(names, error, size, until, reason)


def _ends_otherwise(run: Trajectory, reference: Trajectory) -> str:
    """How a reference ends, where that is not how the run does."""
    same = run.status.code == reference.status.code
    if same and (run.status.code != TERMINAL or run.events[-1].guard == reference.events[-1].guard):
        return ""
    how = reference.status.name if not same else f"terminal at {reference.events[-1].guard}"
    return f"at rtol {reference.rtol:.0e} the run ends at t = {reference.end_time:.6g} s: {how}"


def ranges(run: Trajectory) -> np.ndarray:
    """What each state covers along a run, at least a little of what others of its unit do."""
    mechanism = run.system.mechanism
    units = np.array([*mechanism.coordinates.values(), *mechanism.velocities.values()])
    covered = np.ptp(run.x, axis=0)
    for unit in set(units.tolist()):
        own = units == unit
        covered[own] = np.maximum(covered[own], SMALLEST_RANGE * covered[own].max())
    result: np.ndarray = np.maximum(covered, ON_GROUND)
    return result


def _parting(second: Trajectory, third: Trajectory, size: np.ndarray) -> float | None:
    """When the coordinates of two references part; velocities jump at events, which are early in one of them."""
    nq = second.system.mechanism.nq
    end = min(second.end_time, third.end_time)
    times = np.linspace(third.start_time, end, _GRID)
    apart = np.abs(second.at(times)[:, :nq] - third.at(times)[:, :nq]) / size[:nq]
    far = np.flatnonzero(~(apart.max(axis=1) <= LOST))
    return float(times[far[0]]) if far.size else None
