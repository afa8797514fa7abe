"""What every registered gait must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus import registry
from saltus.conformance._violation import require, require_close, require_documented
from saltus.errors import InputError, SaltusError
from saltus.gaits import Cycle, Gait, find_gait, run_cycle, run_many
from saltus.robots import find_robot

TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}
# By how much starts and knobs are moved for a difference, and how well it then agrees with the derivative.
STEP, AGREEMENT = 1e-5, 1e-4


def file_can_be_loaded(name: str) -> None:
    """The file runs and defines what its kind needs."""
    registry.load("gaits", name)


def file_says_what_it_is(name: str) -> None:
    """The file opens with a sentence."""
    require_documented("gaits", name)


def makes_a_gait_for_its_robot(name: str) -> None:
    """ROBOT names a robot, and GAIT makes a gait of it."""
    gait = _gait(name)
    require(gait.name == name, f"its name is {gait.name!r}, and that of its file {name!r}")
    require(gait.about, "about is empty; say in one sentence what the gait is")


def every_knob_says_what_it_is(name: str) -> None:
    """Each knob has a unit, a meaning and a symbol."""
    gait = _gait(name)
    for knob in gait.knobs.values():
        require(knob.unit and knob.about, f"knob {knob.name} needs a unit and a meaning")
        require(knob.name in gait.symbols, f"knob {knob.name} has no symbol")


def a_cycle_runs_or_says_why_not(name: str) -> None:
    """A cycle from the gait's own start comes to its end, or the reason names the phase that does not."""
    gait = _gait(name)
    try:
        cycle = run_cycle(gait)
    except InputError:
        raise
    except SaltusError as error:
        require(any(p.name in str(error) for p in gait.phases), f"the reason does not name a phase: {error}")
        return
    require(np.isfinite(cycle.error), f"the error is {cycle.error}")
    require(all(t > 0 for t in cycle.durations.values()), f"phases must last, got {cycle.durations}")
    for at, value in gait.section.items():
        require_close(cycle.final[at], value, 1e-9, f"{at} where the cycle ends on its section")


def many_are_as_one(name: str) -> None:
    """A cycle among many is the cycle alone."""
    gait = _gait(name)
    alone = _cycle(gait)
    if alone is None:
        return
    starts = {key: np.full(3, alone.start[key]) for key in gait.free}
    many = run_many(gait, starts, **TIGHT)
    require(many.good.all(), f"alone it comes to its end, among many not: {many.reason[0]}")
    for key, value in alone.final.items():
        require_close(many.finals[key], value, 1e-8, f"{key} at the end")


def derivatives_agree_with_differences(name: str) -> None:
    """Exact derivatives of the end by the start and the knobs are what small differences say."""
    gait = _gait(name)
    cycle = _cycle(gait, derivatives=True)
    if cycle is None:
        return
    assert cycle.jacobian is not None
    for column, key in enumerate(cycle.names):
        if key in gait.section:
            continue
        ends = [_end(gait, cycle, key, step) for step in (-2 * STEP, -STEP, STEP, 2 * STEP)]
        difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * STEP)
        size = max(1.0, float(np.abs(difference).max()))
        require_close(cycle.jacobian[:, column], difference, AGREEMENT * size, f"derivative of the end by {key}")


def _gait(name: str) -> Gait:
    module = registry.load("gaits", name)
    require(isinstance(getattr(module, "ROBOT", None), str), "it has no ROBOT; name the robot it is for")
    return find_gait(name, find_robot(module.ROBOT))


def _cycle(gait: Gait, *, derivatives: bool = False) -> Cycle | None:
    try:
        return run_cycle(gait, derivatives=derivatives, **TIGHT)
    except InputError:
        raise
    except SaltusError:
        return None  # said, and judged, elsewhere


def _end(gait: Gait, cycle: Cycle, key: str, step: float) -> np.ndarray:
    """The end of a cycle one of whose numbers is a little off."""
    start, knobs = {name: cycle.start[name] for name in gait.free}, dict(cycle.knobs)
    target = start if key in start else knobs
    target[key] += step
    return np.array(list(run_cycle(gait, start, knobs, **TIGHT).final.values()))


CHECKS = (
    file_can_be_loaded,
    file_says_what_it_is,
    makes_a_gait_for_its_robot,
    every_knob_says_what_it_is,
    a_cycle_runs_or_says_why_not,
    many_are_as_one,
    derivatives_agree_with_differences,
)
