"""Tasks of robots that swing from bars: one swing, a swing-up, a ladder; and how each mix begins it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import Grip, World, ladder
from saltus.control import Gripper
from saltus.engine._refusals import Refusals
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating
from saltus.mechanism._dh import hanging, two_link_angles
from saltus.registry import load
from saltus.robots import find_robot, put, takes_worlds
from saltus.studies._swing_mixes import SwingMixes

# Bars of a ladder, and how many it may have: all of its catches are kept.
BARS, MOST_BARS = 20, 60

# Units of parameters that are scaled by the mass of a mix.
_MASSES = ("kg", "kg m^2")

# A motor's torque over that which was asked for, as robots name it, and how names of friction end.
_GAIN, _VISCOUS, _COULOMB = "torque_gain", "_viscous", "_coulomb"


@equal_by_content
@dataclass(frozen=True)
class Task:
    """What is to be done, and in which time.

    Parameters
    ----------
    name
        How it is called.
    limit
        The time that it may take, s.
    about
        What it is.
    gripper
        The claws, if nothing is said of them: None for such that close and open at once.
    """

    name: str
    limit: float
    about: str
    gripper: Gripper | None = None


TASKS = {
    task.name: task
    for task in (
        Task("swing", 6.0, "from hands on two bars, catch the third"),
        Task("swing-up", 15.0, "from hanging at rest by one hand, catch the next bar"),
        Task("ladder", 60.0, "catch the last bar of a ladder, without a fall", Gripper()),
    )
}


def find_task(name: str) -> Task:
    """The task of that name."""
    if not isinstance(name, str) or name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]


def placed(robot: str | HybridSystem, task: Task, bars: int = BARS) -> HybridSystem:
    """A robot with its own parameters in the world of a task, level until mixes place bars; refused if it cannot."""
    if isinstance(bars, bool) or not isinstance(bars, int) or not 3 <= bars <= MOST_BARS:
        raise InputError(f"a ladder to climb has 3 to {MOST_BARS} bars, got {bars!r}")
    name, values = _named(robot)
    if not takes_worlds(load("robots", name)):
        raise InputError(f"{task.name} is for robots that swing from bars, such as brachiator, not for {name}")
    gap = _nominal_gap(values)
    worlds = {
        "swing": World(((-gap, 0.0), (0.0, 0.0), (gap, 0.0))),
        "swing-up": World(((0.0, 0.0), (gap, 0.0))),
        "ladder": ladder(gap, bars),
    }
    system = put(name, worlds[task.name], **values)
    _check(system)
    return system


def _nominal_gap(values: Mapping[str, float]) -> float:
    """From bar to bar before mixes place them, m; for links that do not span it, as large a part of their reach."""
    reach = values.get("L1", 0.4) + values.get("L2", 0.4)
    return 0.55 if reach > 0.55 else 0.55 / 0.8 * reach


def _named(robot: str | HybridSystem) -> tuple[str, dict[str, float]]:
    """The name of a robot, and its parameters but for those of its world."""
    system = find_robot(robot) if isinstance(robot, str) else robot
    if not isinstance(system, HybridSystem):
        raise InputError(f"a robot is its name or a system, such as saltus.robots.brachiator(), got {robot!r}")
    if not system.origin:
        raise InputError(f"{system.name} was built by hand; to be put into worlds it must be a robot's file")
    own = {name: value for name, value in system.values.items() if not of_world(name)}
    return system.origin.partition("@")[0], own


def of_world(name: str) -> bool:
    """Whether a parameter is where a bar or a rope is."""
    return name.startswith("rope_") or (name.startswith("bar") and name[3:4].isdigit())


def _check(system: HybridSystem) -> None:
    """Refuse robots that are not two links with a hand at each end and a motor between."""
    m = system.mechanism
    joint = next(iter(m.bodies.values())).joint
    hands = [k for k, unit in enumerate(system.units) if isinstance(unit, Grip)]
    if len(m.bodies) != 2 or not isinstance(joint, Floating) or hands != [0, 1] or len(m.actuators) != 1:
        raise InputError(
            f"swings are tried with robots of two links with two hands and one motor, such as brachiator; "
            f"{system.name} has {len(m.bodies)} links, {len(hands)} hands and {len(m.actuators)} motors"
        )
    for name in (_GAIN, "L1", "L2"):
        if name not in system.values:
            raise InputError(f"swings are tried with robots that have the parameter {name}; {system.name} has none")


def ended_by_catch(system: HybridSystem, task: Task, gripper: Gripper | None) -> HybridSystem:
    """The robot whose run ends with its first catch, where that is all there is to do; claws close without a guard."""
    if task.name == "ladder" or gripper is not None:
        return system
    return system.with_guards(**{f"{system.units[1].name}.catch": "terminal"})


def last_bar(system: HybridSystem) -> int:
    """The number of the last bar."""
    return sum(f"bar{k}_x" in system.values for k in range(len(system.values))) - 1


def open_hands(system: HybridSystem, task: Task) -> dict[str, str] | None:
    """Which hands are open at the start."""
    return {system.units[1].name: "open"} if task.name == "swing-up" else None


def bars_of(task: Task, mixes: SwingMixes, bars: int, *, told: bool = False) -> np.ndarray:
    """Centres of all bars of each mix, m: mixes, bars, x and y; ``told``: where a controller is told that they are."""
    drawn = mixes.draw()
    off = np.zeros(mixes.count) if told else drawn["start_offset"]
    if task.name == "swing":
        along = np.column_stack([off - drawn["behind"], np.zeros(mixes.count), drawn["spacing"]])
    elif task.name == "swing-up":
        along = np.column_stack([np.zeros(mixes.count), drawn["spacing"]])
    else:
        along = np.column_stack([np.zeros(mixes.count), np.cumsum(mixes.draw_gaps(bars), axis=1)])
        along[:, 0] += off
    way = np.column_stack([np.cos(drawn["incline"]), np.sin(drawn["incline"])])
    return np.asarray(along[:, :, None] * way[:, None, :])


def bar_parameters(places: np.ndarray) -> dict[str, np.ndarray]:
    """Places of bars as parameters."""
    return {f"bar{k}_{axis}": places[:, k, j] for k in range(places.shape[1]) for j, axis in enumerate("xy")}


def given(
    system: HybridSystem, task: Task, mixes: SwingMixes, bars: int, refusals: Refusals
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Parameters and starts of the runs of all mixes; those whose bars the robot cannot span are refused."""
    drawn, places = mixes.draw(), bars_of(task, mixes, bars)
    parameters = {_GAIN: system.values[_GAIN] * drawn["torque_gain"]}
    for name, parameter in system.mechanism.parameters.items():
        if name.endswith(_VISCOUS):
            parameters[name] = system.values[name] + drawn["viscous"]
        elif name.endswith(_COULOMB):
            parameters[name] = system.values[name] + drawn["coulomb"]
        elif parameter.unit in _MASSES:
            parameters[name] = system.values[name] * drawn["mass"]
    _check_gaps(system, places, refusals)
    held = 0 if task.name == "swing-up" else 1
    states = np.zeros((mixes.count, len(system.state_names)))
    states[:, :2] = places[:, held]
    if held:
        lengths = system.values["L1"], system.values["L2"]
        for k in np.flatnonzero(~refusals.refused).tolist():
            x, y = (places[k, 0] - places[k, 1]).tolist()
            states[k, 2:4] = _below(x, y, *lengths)
    return {**parameters, **bar_parameters(places)}, states


def _below(x: float, y: float, l1: float, l2: float) -> tuple[float, float]:
    """Both angles that put the free hand at a place, with the elbow below."""
    ways = [two_link_angles(x, y, l1, l2, elbow) for elbow in ("down", "up")]
    angle, elbow = max(ways, key=lambda way: math.cos(hanging(way[0])))
    return hanging(angle), elbow


def _check_gaps(system: HybridSystem, places: np.ndarray, refusals: Refusals) -> None:
    """Refuse gaps that both links do not span or, bent up to their stop, do not go into; and bars that overlap."""
    gaps = np.linalg.norm(np.diff(places, axis=1), axis=2)
    one, two, wide = system.values["L1"], system.values["L2"], 2 * system.values["bar_radius"]
    bent = math.cos(min(system.values.get("elbow_stop", math.pi), math.pi))
    reach, least = one + two, math.sqrt(max(one**2 + two**2 + 2 * one * two * bent, 0.0))
    for wrong, words in (
        (gaps >= reach, f"and both links of {system.name} reach {reach:g} m"),
        (gaps <= wide, f"and bars are {wide:g} m thick"),
        (gaps < least, f"and hands of {system.name} stay at least {least:.4g} m apart"),
    ):

        def refuse(mix: int, wrong: np.ndarray = wrong, words: str = words) -> None:
            gap = int(np.argmax(wrong[mix]))
            raise InputError(f"bars {gap} and {gap + 1} are {gaps[mix, gap]:.4g} m apart, {words}")

        refusals.check(wrong.any(axis=1), refuse)


def hand_places(system: HybridSystem) -> Any:
    """Where both hands are, a function of states and parameters."""

    def made() -> Any:
        d = system.dynamics
        hands = [unit.point.position for unit in system.units if isinstance(unit, Grip)]
        return ca.Function("hands", [d.x, d.p], [ca.vertcat(*hands), d.kinetic])

    return system.once("trials: hands", made)
