"""Robots: one file each. A file is named after its robot and has a function ``build`` that describes it."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from saltus import registry
from saltus.contact import World
from saltus.errors import InputError, SaltusError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.robots._from_urdf import UrdfName, load_urdf

if TYPE_CHECKING:
    from saltus._pack import Packed

__all__ = ["find_robot", "hang", "load_urdf", "put", "robot_names"]


def robot_names() -> list[str]:
    """Names of all robots."""
    return registry.names("robots")


def find_robot(name: str) -> HybridSystem:
    """The robot of that name with its default parameters.

    A robot that swings in worlds may have the world's shape after an @, as `World.shape` tells it: ``brachiator@10``
    has ten bars. A name that ends with ``.urdf`` is a file: ``robot.urdf``, or ``robot.urdf@free`` with its root free
    in space, or ``robot.urdf@free,stops,friction`` with stops and dry friction of its joints too.
    """
    file = UrdfName.of(name)
    if file is not None:
        return file.robot()
    base, _, shape = name.partition("@")
    module = registry.load("robots", base)
    if shape and not takes_worlds(module):
        raise InputError(f"robot {base} is not one that is put into worlds, got {name!r}")
    return _built(module, name, shape)


def takes_worlds(module: ModuleType) -> bool:
    """Whether a robot's file says how it is put into worlds."""
    return hasattr(module, "in_world")


def put(name: str, world: World, **parameters: float) -> HybridSystem:
    """A robot in a world, where it begins at rest on the first bars; with other values of some parameters."""
    module = registry.load("robots", name)
    if not isinstance(world, World):
        raise InputError(f"a world is made by saltus.ladder, saltus.rope or saltus.World, got {world!r}")
    if not takes_worlds(module):
        raise InputError(f"robot {name} is not one that is put into worlds")
    system = find_robot(f"{name}@{world.shape}").with_parameters(**{**world.parameters, **parameters})
    # parameters may have moved bars
    made: HybridSystem = module.in_world(system, World.of(system.values) if parameters else world)
    return made


def hang(name: str, system: HybridSystem) -> HybridSystem:
    """The robot hanging at rest by its first hand, where that is not how it begins anyway."""
    module = registry.load("robots", name)
    made: HybridSystem = module.hanging(system) if hasattr(module, "hanging") else system
    return made


@lru_cache(maxsize=64)
def _built(module: ModuleType, name: str, shape: str) -> HybridSystem:
    try:
        system = module.build(shape) if shape else module.build()
    except Exception as error:
        raise SaltusError(
            f"robot {name} ({module.__file__}) cannot be built: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(system, HybridSystem):
        raise SaltusError(f"build of robot {name} ({module.__file__}) must return a HybridSystem, got {system!r}")
    return replace(system, origin=name)


def _rebuild(
    plugins: registry.PluginPaths,
    name: str,
    file: str,
    values: dict[str, float],
    actions: dict[str, str],
    changed: Packed | None,
) -> HybridSystem:
    try:
        original = find_robot(name)
    except InputError as error:
        raise SaltusError(
            f"robot {name} was sent here from a process that has it in {file}: copy that file to the same place, or "
            f"name the folder that holds it in SALTUS_PLUGINS ({error})"
        ) from error
    system = original.with_parameters(**values).with_guards(**actions)
    if changed is None:
        return system
    from saltus._pack import unpack

    start, laws = unpack(changed, system.mechanism.symbols)
    if start is not None:
        system = system.with_start(start)
    for unit, law in laws.items():
        system = system.with_law(law, unit)
    return system


def _reduce(system: HybridSystem) -> tuple[Any, ...]:
    """A registered robot is sent by its name and what was changed of it; any other by its expressions."""
    from saltus._pack import pack

    try:
        original = find_robot(system.origin) if system.origin else None
    except SaltusError:  # its file is gone
        original = None
    if original is None or not _differs_in_numbers(system, original):
        return system.__reduce__()
    actions = {guard.name: guard.action for guard in system.guards}
    actions |= {name: "terminal" if name in system.stops else "record" for name in system.stops ^ original.stops}
    # a start of its own may depend on the parameters, and is made anew
    start = None if system.start is original.start else system.start
    pairs = zip(system.units, original.units, strict=True)
    laws = {unit.name: unit.law for unit, own in pairs if unit.law is not own.law}
    changed = pack((start, laws), f"the robot {system.name}", system.mechanism.symbols) if start or laws else None
    return _rebuild, (
        registry.PluginPaths(),
        system.origin,
        _file(system.origin),
        dict(system.values),
        actions,
        changed,
    )


def _file(name: str) -> str:
    """The file that describes a robot."""
    urdf = UrdfName.of(name)
    return str(registry.where("robots", name.partition("@")[0]) if urdf is None else urdf.path)


def _differs_in_numbers(system: HybridSystem, original: HybridSystem) -> bool:
    """Whether a system is a registered one but for values, start, impact laws and actions of guards."""
    parts = [one.name for one in fields(system) if one.name not in ("values", "start", "units", "guards", "stops")]
    if any(getattr(system, name) is not getattr(original, name) for name in parts if name not in ("origin", "until")):
        return False
    if system.until != original.until or len(system.units) != len(original.units):
        return False
    if len(system.guards) != len(original.guards):
        return False
    units = all(one is own or _alike(one, own, "law") for one, own in zip(system.units, original.units, strict=True))
    guards = zip(system.guards, original.guards, strict=True)
    return units and all(one is own or _alike(one, own, "action") for one, own in guards)


def _alike(one: Any, own: Any, but: str) -> bool:
    """Whether a unit or a guard was made of another by changing one field."""
    parts = [part.name for part in fields(own) if part.name != but]
    return type(one) is type(own) and all(getattr(one, part) is getattr(own, part) for part in parts)


copyreg.pickle(HybridSystem, _reduce)  # type: ignore[arg-type]


def _factory(name: str) -> Callable[..., HybridSystem]:
    def make(world: World | None = None, **parameters: float) -> HybridSystem:
        if world is not None:
            return put(name, world, **parameters)
        return find_robot(name).with_parameters(**parameters)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = registry.load("robots", name).__doc__
    return make


def __getattr__(name: str) -> Any:
    """A robot by name, of saltus or a plugin's."""
    if not name.startswith("_") and name in robot_names():
        made = _factory(name)
        if not registry.find("robots", name).plugin:
            globals()[name] = made
        return made
    raise unknown_attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *robot_names()})


def unknown_attribute(name: str) -> AttributeError:
    """An attribute error that names the nearest robot."""
    return AttributeError(str(unknown_name("robot", name, robot_names())))


class _Package(ModuleType):
    """This package, in which the name of a robot is the function that makes it, and never its file.

    An import of a file would put the module in its function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in registry.names("robots", own=True)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
