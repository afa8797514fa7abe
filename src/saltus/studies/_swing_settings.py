"""All settings of the robustness study: both centres of mass, laws, motors and all tasks, under the same mixes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from saltus.control import Energy, Motor
from saltus.control._energy_gains import CASES, LAWS
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import BARS, TASKS, find_task, placed
from saltus.studies._swing_trials import SwingTrials, TrialsInterrupted, fitted_energy, refuse_none, swing_trials

# Where the centres of mass are that [yang2016] does not tell: in the middle of the links, or nearer to the elbow.
CENTRES: Mapping[str, Mapping[str, float]] = {"mid": {}, "heavy": {"r1": 0.28, "r2": 0.12}}

MOTORS: Mapping[str, Motor | None] = {"ideal": None, "curve": Motor()}

# Ladders that are climbed in the time in which many swings are made.
LADDERS = 100


@dataclass(frozen=True)
class SwingSetting:
    """One setting: a task, where the centres of mass are, the law of the energy controller, and the motor."""

    task: str = "swing"
    centres: str = "mid"
    law: str = "power"
    motor: str = "ideal"

    def __post_init__(self) -> None:
        find_task(self.task)
        for what, given, allowed in (
            ("centres of mass", self.centres, CASES),
            ("law", self.law, LAWS),
            ("motor", self.motor, MOTORS),
        ):
            if given not in allowed:
                raise unknown_name(what, given, allowed)

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.task}, {self.centres}, {self.law}, {self.motor}"


def all_settings(tasks: Sequence[str] = tuple(TASKS)) -> list[SwingSetting]:
    """Every setting of some tasks: eight of each."""
    return [SwingSetting(*parts) for parts in itertools.product(tasks, CASES, LAWS, MOTORS)]


def try_settings(
    robot: str | HybridSystem = "brachiator",
    settings: Sequence[SwingSetting] | None = None,
    mixes: SwingMixes | None = None,
    *,
    ladders: int | None = LADDERS,
    bars: int = BARS,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, SwingTrials]:
    """Try every setting under the same mixes; the trials by the name of their setting.

    A setting of which no mix leaves a possible start has trials that say why; it is an error if that is so for all.

    Parameters
    ----------
    settings
        All of them if None.
    mixes
        Of every setting; of ladders at most ``ladders``, all of them if None.
    progress
        Called with the number of runs made, that of all, and the setting.
    """
    chosen = all_settings() if settings is None else list(settings)
    mixes = SwingMixes() if mixes is None else mixes
    if not chosen or not all(isinstance(one, SwingSetting) for one in chosen):
        raise InputError(f"settings are some of saltus.studies.SwingSetting, got {settings!r}")
    plain = find_robot(robot) if isinstance(robot, str) else robot
    given = [task_mixes(one.task, mixes, ladders) for one in chosen]
    for one in chosen:
        placed(plain, find_task(one.task), bars)  # refused before any work
    made, of, done = {}, sum(one.count for one in given), 0
    for setting, under in zip(chosen, given, strict=True):

        def tell(runs: int, _: int, done: int = done, name: str = setting.name) -> None:
            if progress is not None:
                progress(done + runs, of, name)

        try:
            made[setting.name] = _tried(plain, setting, under, bars, tell)
        except TrialsInterrupted as stopped:
            raise TrialsInterrupted(str(stopped), stopped.batch, stopped.trials, made) from None
        done += under.count
    refuse_none(made.values())
    return made


def task_mixes(task: str, mixes: SwingMixes, ladders: int | None = None) -> SwingMixes:
    """The mixes of a task: of ladders at most so many."""
    if task != "ladder" or ladders is None:
        return mixes
    if isinstance(ladders, bool) or not isinstance(ladders, int) or ladders < 1:
        raise InputError(f"ladders are a positive number, got {ladders!r}")
    return replace(mixes, count=min(mixes.count, ladders))


def _tried(
    robot: HybridSystem, setting: SwingSetting, mixes: SwingMixes, bars: int, progress: Callable[[int, int], None]
) -> SwingTrials:
    system = robot.with_parameters(**CENTRES[setting.centres])
    task, motor = find_task(setting.task), MOTORS[setting.motor]
    energy = Energy(law=setting.law, tuned=setting.centres)
    fitted = fitted_energy(energy, placed(system, task, bars), mixes, motor, task.gripper)
    made = swing_trials(system, setting.task, fitted, mixes, motor=motor, bars=bars, progress=progress)
    about: dict[str, Any] = {name: value for name, value in asdict(setting).items() if name != "task"}
    return replace(made, about=about)
