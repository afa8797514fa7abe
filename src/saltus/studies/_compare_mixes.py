"""What may be off in a comparison, one by one and all together, and how often each controller bears it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control import Energy, Impulse
from saltus.hybrid import HybridSystem
from saltus.show import wilson_interval
from saltus.studies._compare_learning import Tables
from saltus.studies._compare_runs import FORWARD, TASKS
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import find_task, placed
from saltus.studies._swing_trials import SwingTrials, fitted_energy, swing_trials

# By how much the times of an impulse are off at most, as a share [yang2016, 7.3.3].
# Shares of a begin that is nearly zero are nothing, so that it is also off by a time, s.
TIMING, LATE = 0.05, 0.015

# A begin of which TIMING is less than this, s, is told to be off by next to nothing.
NOTHING = 1e-3

# Ranges of the mixes: torque, friction that nothing was trained for (N m s/rad, N m), starts that are off (m).
TORQUE, FRICTION = {"torque_gain": (0.9, 1.1)}, {"viscous": (0.0, 0.06), "coulomb": (0.0, 0.3)}
OFF = (0.01, 0.05)

SENSORS: dict[str, Any] = {"encoder": True, "angle_noise": math.radians(1), "rate_noise": math.radians(5)}

# Controllers that are impulses: they have one forward swing.
KICKED = ("impulse", "committee")

# What other random numbers are for: errors of an impulse.
_ERRORS = 7


@equal_by_content
@dataclass(frozen=True)
class Disturbance:
    """What is off: ranges of the mixes, whether sensors are between, and errors of an impulse.

    Those are shares of its times, and how much it begins too early or too late, s. Its size is off by a motor that
    gives more or less than is asked, ``of_size``, as in other mixes: what is asked cannot be beyond the motor's limit.
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]
    starts: bool = False
    sensed: bool = False
    timing: float = 0.0
    late: float = 0.0
    of_size: bool = False

    @property
    def of_impulse(self) -> bool:
        """Whether it is the impulse that is off."""
        return bool(self.timing or self.late or self.of_size)

    def mixes(self, count: int, seed: int) -> list[SwingMixes]:
        """Held-out mixes; of starts that are off, as many to either side."""
        # the size of an impulse is off by other draws than the torque of all
        seed += _ERRORS if self.of_size else 0
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
    Disturbance("impulse amplitude ±10 %", TORQUE, of_size=True),
)


@equal_by_content
@dataclass(frozen=True)
class Rate:
    """How often a controller did a task with something off, and how softly.

    ``count`` are the mixes that could start; ``reasons`` says how many could not, for each kind of reason.
    """

    controller: str
    disturbance: str
    task: str
    good: int
    count: int
    time: float
    residual: float
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def interval(self) -> tuple[float, float, float]:
        """The share, and the interval in which that of all mixes is, at 95 % [wilson1927]."""
        if not self.count:
            return math.nan, 0.0, 1.0
        return wilson_interval(self.good, self.count)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        share, low, high = self.interval
        return {
            "controller": self.controller, "disturbance": self.disturbance, "task": self.task, "good": self.good,
            "count": self.count, "share": share, "interval": [low, high], "median_time": self.time,
            "median_residual": self.residual, "reasons": dict(self.reasons),
        }  # fmt: skip


@equal_by_content
@dataclass(frozen=True)
class Wrong:
    """Makes the impulse of each mix: the right one, with errors of its own in all times.

    What would come before letting go is lost: while both hands hold, nothing moves. To begin too early is thus to let
    go too late, with less of the impulse left.
    """

    impulse: Impulse
    timing: float
    late: float
    seed: int

    def __call__(self, system: HybridSystem, number: int) -> Impulse:
        shares = np.random.default_rng([self.seed, _ERRORS, number]).uniform(-1, 1, 3)
        begin = self.impulse.begin * (1 + self.timing * shares[0]) + self.late * shares[1]
        end = begin + self.impulse.length * (1 + self.timing * shares[2])
        return replace(self.impulse, begin=max(begin, 0.0), length=max(end, 0.0) - max(begin, 0.0))


def timing_note(what: Disturbance, impulse: Impulse | None) -> str:
    """What is to be said of times that are off, where the begin is so near to zero that they are not, or are lost."""
    if impulse is None:
        return ""
    if what.timing and what.timing * impulse.begin < NOTHING:
        return f"{what.timing:.0%} of its begin is {1e3 * what.timing * impulse.begin:.2g} ms"
    if what.late > impulse.begin:
        return "what would come before letting go is lost"
    return ""


def makers(tables: Tables, answers: Mapping[str, Impulse]) -> dict[str, Callable[[Disturbance, SwingMixes, str], Any]]:
    """By name: what makes the controller for a disturbance, its mixes and a task; None where it cannot do it.

    ``answers`` are the right impulses of both inverses.
    """
    sampled = 1e-3  # sensors stand only before what is sampled

    def kick(right: Impulse) -> Callable[[Disturbance, SwingMixes, str], Any]:
        def make(what: Disturbance, mixes: SwingMixes, task: str) -> Any:
            if task != "swing":
                return None
            one = replace(right, period=sampled) if what.sensed else right
            return Wrong(one, what.timing, what.late, mixes.seed) if what.timing or what.late else one

        return make

    def energy(what: Disturbance, mixes: SwingMixes, task: str) -> Any:
        return fitted_energy(Energy(), placed(tables.robot, find_task(task)), mixes)

    return {
        "dp": lambda what, mixes, task: tables.policy(sensed=what.sensed),
        "dp_thesis": lambda what, mixes, task: tables.of(tables.thesis, sensed=what.sensed),
        **{name: kick(right) for name, right in answers.items()},
        "energy": energy,
    }


def rate(
    robot: str | HybridSystem, name: str, make: Callable[[Disturbance, SwingMixes, str], Any], what: Disturbance,
    task: str, count: int, seed: int,
) -> tuple[Rate, list[SwingTrials]] | None:  # fmt: skip
    """Try a controller with something off; None where that is not for it."""
    kicked = name in KICKED
    if what.of_impulse and not kicked:
        return None
    made = []
    for mixes in what.mixes(count, seed):
        controller = make(what, mixes, task)
        if controller is None:
            return None
        made.append(swing_trials(robot, task, controller, mixes, limit=FORWARD if kicked else None))
    good = np.concatenate([one.success for one in made])
    values = {key: np.concatenate([getattr(one, key) for one in made])[good] for key in ("time", "residual")}
    median = {key: float(np.median(each)) if each.size else math.nan for key, each in values.items()}
    count, reasons = sum(one.count for one in made), sum((Counter(one.refusals) for one in made), Counter[str]())
    found = Rate(name, what.name, task, int(good.sum()), count, median["time"], median["residual"], reasons)
    return found, made
