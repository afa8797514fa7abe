"""Hardware between a controller and a robot, from the words of the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli._words import number
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.engine import Trajectory

HardwareParts = Annotated[
    list[str] | None,
    typer.Option(
        "--hardware",
        help="A real part between controller and robot, with its options: motor, encoder, gripper, "
        "imu:angle_noise=1deg,rate_noise=5deg; or backlash=1deg, seed=3. May be given several times.",
    ),
]

PARTS = ("motor", "encoder", "imu", "current", "gripper")

# What is but a number, each with an example.
NUMBERS = {"backlash": "1deg", "seed": "3"}
EXAMPLE = "--hardware imu:angle_noise=1deg,delay=0.01"


def behind(controller: Any, hardware: list[str] | None, given: Collection[str]) -> Any:
    """A controller behind the parts that are named.

    A controller that can know of the parts does so, but for those of its options that were ``given``.
    """
    if not hardware:
        return controller
    from saltus.control import Hardware

    parts: dict[str, Any] = {}
    for text in hardware:
        name, part = _part(text)
        if name in parts:
            raise InputError(f"--hardware: {name} is given twice")
        parts[name] = part
    if not set(PARTS) & set(parts) and "backlash" not in parts:
        raise InputError(f"--hardware seed is that of noise and of times that are drawn; name a part of {_listed()}")
    made = Hardware(controller, **parts)
    if hasattr(controller, "suited"):
        made = dataclasses.replace(made, controller=controller.suited(made, given))
    return made


def claws_told(controller: Any, run: Trajectory) -> dict[str, Any]:
    """What the claws went through, for JSON, where there are any."""
    if controller is None:
        return {}
    from saltus.control import Hardware

    with_claws = isinstance(controller, Hardware) and controller.gripper is not None
    return {"claws": controller.claws(run)} if with_claws else {}


def _listed() -> str:
    return f"{', '.join(PARTS[:-1])} and {PARTS[-1]}"


def _part(text: str) -> tuple[str, Any]:
    """A part and what it is, from ``name``, ``name:option=value,option=value`` or ``name=value``."""
    from saltus import control

    name, colon, words = text.partition(":")
    name, equals, value = (word.strip() for word in name.partition("="))
    if name in NUMBERS:
        if not equals or not value or colon:
            raise InputError(f"--hardware {name} takes one number, as in {name}={NUMBERS[name]}")
        return name, _whole(value, f"--hardware {name}") if name == "seed" else number(value, f"--hardware {name}")
    if name not in PARTS:
        raise unknown_name("part", name, [*PARTS, *NUMBERS], "--hardware")
    if equals:
        raise InputError(f"--hardware {name} takes its options after a colon, as in {EXAMPLE}, got {text!r}")
    kind = getattr(control, name.capitalize())
    fields = {field.name: field for field in dataclasses.fields(kind)}
    options: dict[str, Any] = {}
    for word in filter(None, (word.strip() for word in words.split(","))):
        option, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise InputError(f"--hardware {name} takes options as option=value, as in {EXAMPLE}, got {word!r}")
        if option not in fields:
            raise unknown_name("option", option, fields, f"--hardware {name}")
        if option in options:
            raise InputError(f"--hardware {name}: {option} is given twice")
        options[option] = _value(str(fields[option].type), value, f"--hardware {name}: {option}")
    lacking = [option for option, field in fields.items() if field.default is dataclasses.MISSING]
    for option in lacking:
        if option not in options:
            raise InputError(f"--hardware {name} needs {option}, as in {name}:{option}=2")
    return name, kind(**options)


def _value(kind: str, text: str, where: str) -> Any:
    """A value of the kind that a part's option has: several are parted by a slash."""
    if kind.startswith("tuple[str"):
        return tuple(word.strip() for word in text.split("/"))
    if kind.startswith("tuple[float"):
        return tuple(number(word.strip(), where) for word in text.split("/"))
    return _whole(text, where) if kind == "int" else number(text, where)


def _whole(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{where} must be a whole number, got {text!r}") from None
