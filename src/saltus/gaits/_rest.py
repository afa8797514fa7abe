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

from saltus._content import equal_by_content
from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import Cycle, run_cycle
from saltus.gaits._cycles import run_many
from saltus.gaits._fixed import FixedPoint
from saltus.gaits._gait import Gait
from saltus.gaits._phase import Phase
from saltus.gaits._plan import robot_of
from saltus.hybrid import HybridSystem

# By how much a gait that loses nothing may miss itself, rad and rad/s: it may be very unstable.
CLOSED = 1e-6

TIGHT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-14}


@equal_by_content
@dataclass(frozen=True)
class Rest:
    """States at rest in which hands can be changed, by one number, and the gait made of two falls.

    Parameters
    ----------
    states
        The state at rest, for the robot's parameters and a value of that number.
    span
        Its least and its largest value.
    fall
        The phase from rest to the section.
    whole
        The phases of the gait itself, without a motor: to rest, and down again under new names.
    zero
        The coordinate that must be zero when the section is reached.
    """

    states: Callable[[Mapping[str, float], float], Mapping[str, float]]
    span: tuple[float, float]
    fall: Phase
    whole: tuple[Phase, Phase]
    zero: str


@equal_by_content
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


def collisionless(
    gait: Gait,
    knobs: Mapping[str, float] | None = None,
    *,
    count: int = 2000,
    progress: Callable[[int, int], None] | None = None,
) -> list[Collisionless]:
    """All collisionless gaits of a gait type, by shooting from rest on a fine grid.

    Of the knobs only those count that are parameters of the robot. ``progress`` is called with how many places
    between two shots have been looked at, and of how many.
    """
    rest = gait.rest
    if rest is None:
        raise InputError(f"gait {gait.name} does not say where the robot can be at rest when it changes hands")
    gait.check_repeats()
    if any(held.system.units for held in map(gait.held, range(len(gait.phases)))):
        raise InputError(
            f"gait {gait.name}: a robot with friction cannot rise as it fell, so that it has no collisionless gaits"
        )
    shooting = _Shooting(rest, robot_of(gait, knobs), gait.section)
    low, high = rest.span
    values = np.linspace(low, high, count + 2)[1:-1]
    rows = [shooting.state(float(value)) for value in values]
    starts = {name: np.array([row.get(name, 0.0) for row in rows]) for name in shooting.fall.free}
    ends = run_many(shooting.fall, starts)
    misses = _turned(ends.finals[rest.zero])
    found: list[Collisionless] = []
    changes = np.flatnonzero(np.isfinite(misses[:-1]) & np.isfinite(misses[1:]) & (misses[:-1] * misses[1:] <= 0))
    for number, k in enumerate(changes):
        if progress is not None:
            progress(number, len(changes))
        if abs(misses[k + 1] - misses[k]) > 1.0:
            continue  # a whole turn more, or another passage: no zero between them

        def miss(value: float) -> float:
            return float(_turned(shooting.fallen(value).final[rest.zero]))

        try:
            value = float(brentq(miss, values[k], values[k + 1], xtol=1e-15, rtol=1e-15))
            whole = shooting.doubled(value)
        except (SaltusError, ValueError):
            continue
        if whole.fixed.residual < CLOSED:
            found.append(whole)
    return found


class _Shooting:
    """The fall and the whole gait of one robot."""

    def __init__(self, rest: Rest, robot: HybridSystem, section: Mapping[str, float]):
        self.rest, self.robot = rest, robot
        self.fall = Gait("fall", robot, (rest.fall,), section={})
        self.whole = Gait("passive", robot, rest.whole, section)

    def state(self, value: float) -> dict[str, float]:
        """The state at rest."""
        return dict(self.rest.states(self.robot.values, value))

    def fallen(self, value: float) -> Cycle:
        """The fall from there."""
        return run_cycle(self.fall, self.state(value), **TIGHT)

    def doubled(self, value: float) -> Collisionless:
        """The whole gait of a fall: up and down again take the same time."""
        fall, zero = self.fallen(value), self.rest.zero
        start = {name: value for name, value in fall.final.items() if name in self.whole.free}
        start[zero] = float(_turned(start[zero]))
        timed = self.whole.timed({phase.name: fall.period for phase in self.whole.phases})
        begin = {**dict.fromkeys(timed.free, 0.0), **start}
        cycle = run_cycle(timed, begin, derivatives=True, **TIGHT)
        fixed = FixedPoint(timed, cycle.start, cycle.knobs, cycle, 0)
        return Collisionless(self.state(value), value, zero, fall, fixed)


def _turned(angle: np.ndarray | float) -> np.ndarray:
    return np.asarray(np.remainder(np.asarray(angle) + np.pi, 2 * np.pi) - np.pi)
