"""What may be off in a comparison, one by one and all together, and how often each controller bears it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saltus.control import Energy, Impulse
from saltus.hybrid import HybridSystem
from saltus.show import wilson_interval
from saltus.studies._compare_learning import SPACING, Impulses, Tables
from saltus.studies._compare_runs import TASKS
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import find_task, placed
from saltus.studies._swing_trials import SwingTrials, fitted_energy, try_swings

# By how much the times and the size of an impulse are off at most, as shares [yang2016, 7.3.3].
# Shares of a begin that is nearly zero are nothing, so that it is also off by a time, s.
TIMING, AMPLITUDE, LATE = 0.05, 0.10, 0.015

# Ranges of the mixes: torque, friction that nothing was trained for (N m s/rad, N m), starts that are off (m).
TORQUE, FRICTION = {"torque_gain": (0.9, 1.1)}, {"viscous": (0.0, 0.06), "coulomb": (0.0, 0.3)}
OFF = (0.01, 0.05)

SENSORS: dict[str, Any] = {"encoder": True, "angle_noise": math.radians(1), "rate_noise": math.radians(5)}

# What other random numbers are for: errors of an impulse.
_ERRORS = 7


@dataclass(frozen=True)
class Disturbance:
    """What is off: ranges of the mixes, whether sensors are between, and errors of an impulse.

    Those are shares of its times, of its size, and how much it begins too early or too late, s.
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]
    starts: bool = False
    sensed: bool = False
    timing: float = 0.0
    amplitude: float = 0.0
    late: float = 0.0

    @property
    def of_impulse(self) -> bool:
        """Whether it is the impulse that is off."""
        return bool(self.timing or self.amplitude or self.late)

    def mixes(self, count: int, seed: int) -> list[SwingMixes]:
        """Held-out mixes; of starts that are off, as many to either side."""
        plain = replace(SwingMixes.none(count, **self.ranges), seed=seed, **(SENSORS if self.sensed else {}))
        if not self.starts:
            return [plain.held_out()]
        near, far = OFF
        sides = [(near, far), (-far, -near)]
        counts = [count - count // 2, count // 2]
        return [
            replace(plain, start_offset=side, seed=seed + k, count=many).held_out()
            for k, (side, many) in enumerate(zip(sides, counts, strict=True))
            if many
        ]

    def tasks(self) -> tuple[str, ...]:
        """Those in which it can be off: a swing-up has no start that is held."""
        return TASKS[:1] if self.of_impulse or (self.starts and not self.ranges) else TASKS


DISTURBANCES = (
    Disturbance("torque ±10 %", TORQUE),
    Disturbance("friction not trained for", FRICTION),
    Disturbance("torque and friction", {**TORQUE, **FRICTION}),
    Disturbance("start off by 1-5 cm", {}, starts=True),
    Disturbance("sensor noise", {}, sensed=True),
    Disturbance("all of it", {**TORQUE, **FRICTION}, starts=True, sensed=True),
    Disturbance("impulse timing ±5 %", {}, timing=TIMING),
    Disturbance("impulse begun ±15 ms", {}, late=LATE),
    Disturbance("impulse amplitude ±10 %", {}, amplitude=AMPLITUDE),
)


@dataclass(frozen=True)
class Rate:
    """How often a controller did a task with something off, and how softly."""

    controller: str
    disturbance: str
    task: str
    good: int
    count: int
    time: float
    residual: float

    @property
    def interval(self) -> tuple[float, float, float]:
        """The share, and the interval in which that of all mixes is, at 95 % [wilson1927]."""
        return wilson_interval(self.good, self.count)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        share, low, high = self.interval
        return {
            "controller": self.controller, "disturbance": self.disturbance, "task": self.task, "good": self.good,
            "count": self.count, "share": share, "interval": [low, high], "median_time": self.time,
            "median_residual": self.residual,
        }  # fmt: skip


@dataclass(frozen=True)
class Wrong:
    """Makes the impulse of each mix: the right one, with errors of its own in all times, or in its size."""

    impulse: Impulse
    limit: float
    timing: float
    amplitude: float
    late: float
    seed: int

    def __call__(self, system: HybridSystem, number: int) -> Impulse:
        shares = np.random.default_rng([self.seed, _ERRORS, number]).uniform(-1, 1, 4)
        size = self.impulse.size * (1 + self.amplitude * shares[1])
        begin = self.impulse.begin * (1 + self.timing * shares[0]) + self.late * shares[3]
        return replace(
            self.impulse, begin=max(begin, 0.0),
            length=self.impulse.length * (1 + self.timing * shares[2]),
            size=float(np.clip(size, -self.limit, self.limit)),
        )  # fmt: skip


def makers(tables: Tables, impulses: Impulses) -> dict[str, Callable[[Disturbance, SwingMixes, str], Any]]:
    """By name: what makes the controller for a disturbance, its mixes and a task; None where it cannot do it."""
    sampled = 1e-3  # sensors stand only before what is sampled

    def kick(inverse: Any) -> Callable[[Disturbance, SwingMixes, str], Any]:
        right = inverse.impulse(-SPACING, SPACING)

        def make(what: Disturbance, mixes: SwingMixes, task: str) -> Any:
            if task != "swing":
                return None
            one = replace(right, period=sampled) if what.sensed else right
            if not what.of_impulse:
                return one
            return Wrong(one, impulses.swinger.limit, what.timing, what.amplitude, what.late, mixes.seed)

        return make

    def energy(what: Disturbance, mixes: SwingMixes, task: str) -> Any:
        return fitted_energy(Energy(), placed(tables.robot, find_task(task)), mixes)

    return {
        "dp": lambda what, mixes, task: tables.policy(sensed=what.sensed),
        "dp_thesis": lambda what, mixes, task: tables.of(tables.thesis, sensed=what.sensed),
        "impulse": kick(impulses.good),
        "committee": kick(impulses.nets),
        "energy": energy,
    }


def rate(
    robot: str | HybridSystem, name: str, make: Callable[[Disturbance, SwingMixes, str], Any], what: Disturbance,
    task: str, count: int, seed: int,
) -> tuple[Rate, list[SwingTrials]] | None:  # fmt: skip
    """Try a controller with something off; None where that is not for it."""
    if what.of_impulse and name not in ("impulse", "committee"):
        return None
    made = []
    for mixes in what.mixes(count, seed):
        controller = make(what, mixes, task)
        if controller is None:
            return None
        made.append(try_swings(robot, task, controller, mixes))
    good = np.concatenate([one.success for one in made])
    values = {key: np.concatenate([getattr(one, key) for one in made])[good] for key in ("time", "residual")}
    median = {key: float(np.median(each)) if each.size else math.nan for key, each in values.items()}
    return Rate(name, what.name, task, int(good.sum()), len(good), median["time"], median["residual"]), made
