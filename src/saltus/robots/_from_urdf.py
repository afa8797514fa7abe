"""Robots from URDF files: a mechanism with the stops and friction of its joints, ready to run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.contact import JointUnit
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism

if TYPE_CHECKING:
    from saltus.mechanism._urdf import JointLimits

# What may follow the name of a file, after an @ and separated by commas.
WORDS = {
    "free": "the root link is free in space",
    "stops": "the limits of joints are stops",
    "friction": "joints have the dry friction of the file",
    "unchecked": "build it in spite of what the linter calls errors",
}


def load_urdf(
    path: str | Path,
    *,
    free_flyer: bool = False,
    stops: bool = False,
    friction: bool = False,
    meshes: str = "ignore",
    lint: bool = True,
) -> HybridSystem:
    """The robot of a URDF file, without contacts; `saltus.read_urdf` says how its coordinates and parameters are named.

    Parameters
    ----------
    free_flyer
        The root link is free in space; otherwise it is fixed to the world.
    stops
        The limits of joints are stops, where they are stopped without rebound: parameters ``<joint>_lower`` and
        ``<joint>_upper``, or one of them where a file has one limit only. A joint whose range does not hold zero
        starts in the middle of it, or at its only stop. Limits with no room between them are refused.
    friction
        Joints have the dry friction of the file, parameters ``<joint>_friction``.
    meshes, lint
        As for `saltus.read_urdf`.
    """
    from saltus.mechanism._urdf import import_urdf

    made = import_urdf(path, free_flyer=free_flyer, meshes=meshes, lint=lint)
    m = made.mechanism
    source = "URDF text" if _is_text(path) else Path(path).name
    limits = [limit for limit in made.limits if (stops and limit.ranged) or (friction and limit.friction > 0)]
    if stops:
        _check_room(limits, source)
    units = tuple(_unit(m, limit, source, stops=stops, friction=friction) for limit in limits)
    start = {limit.coordinate: limit.inside for limit in limits if stops and limit.inside != 0}
    first = next(iter(m.bodies))
    chosen = {"free": free_flyer, "stops": stops, "friction": friction, "unchecked": not lint}
    words = ",".join(word for word, wanted in chosen.items() if wanted)
    return HybridSystem(
        m,
        units=units,
        start=start,
        skeleton=made.skeleton or ((first, first),),
        about=f"read from {source}",
        origin="" if _is_text(path) else f"{Path(path).resolve()}{f'@{words}' if words else ''}",
    )


def _check_room(limits: list[JointLimits], source: str) -> None:
    """Refuse stops between which a joint could not be."""
    for limit in limits:
        given = f"{source}: joint {limit.coordinate} has limits {limit.lower:g} and {limit.upper:g} {limit.unit}"
        if limit.lower == limit.upper:
            raise InputError(
                f"{given}, which leave it no room between stops; "
                "make it fixed, give it a range, or read it without stops"
            )
        if limit.lower > limit.upper:
            raise InputError(f"{given}, the lower above the upper; exchange them, or read it without stops")


def _unit(m: Mechanism, limit: JointLimits, source: str, *, stops: bool, friction: bool) -> JointUnit:
    """Friction and stops of a joint, as parameters."""
    name, unit = limit.coordinate, limit.unit
    lower: Any = -math.inf
    upper: Any = math.inf
    coulomb: Any = 0.0
    if stops and limit.lower > -math.inf:
        lower = m.parameter(f"{name}_lower", limit.lower, unit, f"lower stop of {name}", source=source)
    if stops and limit.upper < math.inf:
        upper = m.parameter(f"{name}_upper", limit.upper, unit, f"upper stop of {name}", source=source)
    if friction and limit.friction > 0:
        force = "N" if unit == "m" else "N m"
        about = f"dry friction of {name}"
        coulomb = m.parameter(f"{name}_friction", limit.friction, force, about, source=source, lower=0)
    return JointUnit(m.coordinate(name), coulomb=coulomb, lower=lower, upper=upper)


def _is_text(source: str | Path) -> bool:
    return isinstance(source, str) and "<" in source


@dataclass(frozen=True)
class UrdfName:
    """A URDF file by its name, and what follows it: ``robot.urdf`` or ``robot.urdf@free,stops``."""

    path: Path
    words: tuple[str, ...]

    @classmethod
    def of(cls, name: str) -> UrdfName | None:
        """The file that a robot's name stands for, or none if it is the name of a registered robot."""
        path, at, words = name.rpartition("@") if ".urdf@" in name.lower() else (name, "", "")
        if not path.lower().endswith(".urdf"):
            return None
        chosen = tuple(words.split(",")) if at else ()
        for word in chosen:
            if word not in WORDS:
                raise unknown_name("word after @", word, WORDS, name)
        return cls(Path(path), chosen)

    @property
    def free_flyer(self) -> bool:
        """Whether the root link is free."""
        return "free" in self.words

    def robot(self) -> HybridSystem:
        """The robot, read again only if its file has changed."""
        try:
            changed = self.path.stat().st_mtime_ns
        except OSError as error:
            raise InputError(f"cannot read URDF file {str(self.path)!r}: {error.strerror}") from None
        return _loaded(self.path.resolve(), self.words, changed)


@lru_cache(maxsize=16)
def _loaded(path: Path, words: tuple[str, ...], changed: int) -> HybridSystem:
    return load_urdf(
        path,
        free_flyer="free" in words,
        stops="stops" in words,
        friction="friction" in words,
        lint="unchecked" not in words,
    )
