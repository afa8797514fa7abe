"""Worlds and tasks of robots that swing from bars, from the words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli._words import number, numbers
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.contact import World
    from saltus.hybrid import HybridSystem

WorldName = Annotated[
    str | None, typer.Option("--world", help="Where a robot swings: ladder, rope, or a CSV file of bars (x, y).")
]
Spacing = Annotated[
    str | None, typer.Option("--spacing", help="Of a ladder's bars, m: one for all, or each, as in 0.5,0.6,0.55.")
]
BarCount = Annotated[int | None, typer.Option("--bars", help="How many bars a ladder has.")]
Incline = Annotated[str | None, typer.Option("--incline", help="How a ladder or a rope rises; 10deg is allowed.")]
TaskName = Annotated[
    str | None, typer.Option("--task", help="swing: from hands on the first two bars; swing-up: hanging at rest.")
]
Target = Annotated[
    str | None, typer.Option("--target", help="Of a swing-up: x,y of the bar, m, from the one that is held.")
]

WORLDS = ("ladder", "rope")
TASKS = ("swing", "swing-up")


def placed_robot(
    robot: str, set_: list[str] | None, world: str | None, spacing: str | None, bars: int | None, incline: str | None,
    task: str | None, target: str | None,
) -> tuple[HybridSystem, dict[str, str] | None]:  # fmt: skip
    """A robot in the world of its task, and which hands hold at the start."""
    from saltus.contact import GRIP
    from saltus.robots import find_robot, hang, put

    given = {"--spacing": spacing, "--bars": bars, "--incline": incline}
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if target is not None:
        if task != "swing-up":
            raise InputError("--target is for --task swing-up")
        if world is not None or any(value is not None for value in given.values()):
            raise InputError("--target tells the whole world of a swing-up; leave out --world and what belongs to it")
        place = _two(target)
        made = _world_of(place)
    else:
        if world is None and task is None:
            for option, value in given.items():
                if value is not None:
                    raise InputError(f"{option} needs --world")
            return find_robot(robot).with_parameters(**numbers(set_, "--set")), None
        made = _world(world or "ladder", spacing, bars, incline)
    system = put(robot, made, **numbers(set_, "--set"))
    if task != "swing-up":
        return system, None
    hands = [unit.name for unit in system.units if unit.kind == GRIP]
    return hang(robot, system), dict.fromkeys(hands[1:], "open")


def _world(name: str, spacing: str | None, bars: int | None, incline: str | None) -> World:
    from saltus.contact import World, ladder, rope

    angle = 0.0 if incline is None else number(incline, "--incline")
    if name == "ladder":
        steps = [number(part, "--spacing") for part in (spacing or "0.55").split(",")]
        if len(steps) == 1:
            return ladder(steps[0], 10 if bars is None else bars, angle)
        return ladder(steps, bars, angle)
    if spacing is not None or bars is not None:
        raise InputError("--spacing and --bars are for --world ladder")
    if name == "rope":
        return rope(angle)
    if name.lower().endswith(".csv"):
        if incline is not None:
            raise InputError("--incline is for --world ladder and rope; a file tells where its bars are")
        return World.read(Path(name))
    raise unknown_name("world", name, [*WORLDS, "a file that ends with .csv"])


def _world_of(target: tuple[float, float]) -> World:
    from saltus.contact import World

    return World(((0.0, 0.0), target))


def _two(text: str) -> tuple[float, float]:
    parts = [number(part, "--target") for part in text.split(",")]
    if len(parts) != 2:
        raise InputError(f"--target takes x,y, such as 0.568,0, got {text!r}")
    return parts[0], parts[1]
