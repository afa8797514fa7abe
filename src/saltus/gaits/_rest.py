"""Collisionless gaits: the robot is at rest for an instant when it changes hands, so that no impact costs anything.

At rest time can be run backwards: if the robot falls from rest to the section with its free coordinates at their
mirror-symmetric values (zero), then it rises on the other side as it fell. So each such fall is half of a gait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import Cycle, run_cycle
from saltus.gaits._cycles import run_many
from saltus.gaits._fixed import FixedPoint
from saltus.gaits._gait import Gait

# By how much a gait that loses nothing may miss itself, rad and rad/s: it may be very unstable.
CLOSED = 1e-6

TIGHT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-14}


@dataclass(frozen=True)
class Rest:
    """States at rest in which hands can be changed, by one number, and the gait made of two falls.

    Parameters
    ----------
    states
        The state at rest for a value of that number.
    span
        Its least and its largest value.
    fall
        A gait of one phase, from rest to the section.
    gait
        The gait itself, without a motor.
    zero
        The coordinate that must be zero when the section is reached.
    """

    states: Callable[[float], Mapping[str, float]]
    span: tuple[float, float]
    fall: Gait
    gait: Gait
    zero: str


@dataclass(frozen=True)
class Collisionless:
    """A gait that loses nothing: where it rests, its fall from there, and the gait as the clock alone replays it."""

    rest: dict[str, float]
    value: float
    zero: str
    fall: Cycle
    fixed: FixedPoint

    @property
    def miss(self) -> float:
        """By how much the coordinate that must be zero on the section is not, rad or m."""
        return float(abs(_turned(self.fall.final[self.zero])))


def collisionless(gait: Gait, *, count: int = 2000) -> list[Collisionless]:
    """All collisionless gaits of a gait type, by shooting from rest on a fine grid."""
    rest = gait.rest
    if rest is None:
        raise InputError(f"gait {gait.name} does not say where the robot can be at rest when it changes hands")
    gait.check_repeats()
    if any(held.system.units for held in map(gait.held, range(len(gait.phases)))):
        raise InputError(
            f"gait {gait.name}: a robot with friction cannot rise as it fell, so that it has no collisionless gaits"
        )
    low, high = rest.span
    values = np.linspace(low, high, count + 2)[1:-1]
    rows = [rest.states(float(value)) for value in values]
    starts = {name: np.array([row.get(name, 0.0) for row in rows]) for name in rest.fall.free}
    ends = run_many(rest.fall, starts)
    misses = _turned(ends.finals[rest.zero])
    found: list[Collisionless] = []
    for k in np.flatnonzero(np.isfinite(misses[:-1]) & np.isfinite(misses[1:]) & (misses[:-1] * misses[1:] <= 0)):
        if abs(misses[k + 1] - misses[k]) > 1.0:
            continue  # a whole turn more, or another passage: no zero between them

        def miss(value: float) -> float:
            return float(_turned(_fall(rest, value).final[rest.zero]))

        try:
            value = float(brentq(miss, values[k], values[k + 1], xtol=1e-15, rtol=1e-15))
            whole = _doubled(rest, value)
        except (SaltusError, ValueError):
            continue
        if whole.fixed.residual < CLOSED:
            found.append(whole)
    return found


def _turned(angle: np.ndarray | float) -> np.ndarray:
    return np.asarray(np.remainder(np.asarray(angle) + np.pi, 2 * np.pi) - np.pi)


def _fall(rest: Rest, value: float) -> Cycle:
    return run_cycle(rest.fall, dict(rest.states(value)), **TIGHT)


def _doubled(rest: Rest, value: float) -> Collisionless:
    """The whole gait of a fall: up and down again take the same time."""
    fall = _fall(rest, value)
    half = fall.period
    start = {name: value for name, value in fall.final.items() if name in rest.gait.free}
    start[rest.zero] = float(_turned(start[rest.zero]))
    first, second = (phase.name for phase in rest.gait.phases)
    timed = rest.gait.timed({first: half, second: half})
    begin = {**dict.fromkeys(timed.free, 0.0), **start}
    cycle = run_cycle(timed, begin, derivatives=True, **TIGHT)
    fixed = FixedPoint(timed, cycle.start, cycle.knobs, cycle, 0)
    return Collisionless(dict(rest.states(value)), value, rest.zero, fall, fixed)
