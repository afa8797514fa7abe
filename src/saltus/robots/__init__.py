"""Robots: one file each. A file is named after its robot and has a function ``build`` that describes it."""

from __future__ import annotations

import copyreg
import importlib
import pickle
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from saltus.errors import unknown_name
from saltus.hybrid import HybridSystem

__all__ = ["find_robot", "robot_names"]


def robot_names() -> list[str]:
    """Names of all robots."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


@lru_cache(maxsize=64)
def find_robot(name: str) -> HybridSystem:
    """The robot of that name with its default parameters."""
    if name not in robot_names():
        raise unknown_name("robot", name, robot_names())
    built: HybridSystem = importlib.import_module(f"{__name__}.{name}").build()
    return replace(built, origin=name)


def _rebuild(name: str, values: dict[str, float], actions: dict[str, str], laws: tuple[Any, ...]) -> HybridSystem:
    system = find_robot(name).with_parameters(**values).with_guards(**actions)
    for unit, law in zip(system.units, laws, strict=True):
        if law is not None:
            system = system.with_law(law, unit.name)
    return system


def _reduce(system: HybridSystem) -> tuple[Any, ...]:
    """Expressions cannot travel between processes; a robot's name and what was changed of it can."""
    if not system.origin:
        raise pickle.PicklingError(f"{system.name} was built by hand; to send it elsewhere, make it a robot's file")
    laws = tuple(
        None if unit.law is original.law else unit.law
        for unit, original in zip(system.units, find_robot(system.origin).units, strict=True)
    )
    actions = {guard.name: guard.action for guard in system.guards}
    return _rebuild, (system.origin, dict(system.values), actions, laws)


copyreg.pickle(HybridSystem, _reduce)  # type: ignore[arg-type]


def _factory(name: str) -> Callable[..., HybridSystem]:
    def make(**parameters: float) -> HybridSystem:
        return find_robot(name).with_parameters(**parameters)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = importlib.import_module(f"{__name__}.{name}").__doc__
    return make


def __getattr__(name: str) -> Any:
    raise unknown_attribute(name)


def unknown_attribute(name: str) -> AttributeError:
    """An attribute error that names the nearest robot."""
    return AttributeError(str(unknown_name("robot", name, robot_names())))


# Loaded now, so that a later import of one file does not put the module in its function's place.
for _name in robot_names():
    globals()[_name] = _factory(_name)
