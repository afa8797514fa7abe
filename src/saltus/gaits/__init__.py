"""Gaits: return maps made of phases, their fixed points, multipliers, families and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltus import registry
from saltus._lazy import loaded_later
from saltus.errors import InputError, SaltusError

if TYPE_CHECKING:
    from saltus.gaits._catch import Catch, catches
    from saltus.gaits._continuation import Change, Family, Resolution, check_span, follow
    from saltus.gaits._cycle import Cycle, run_cycle
    from saltus.gaits._cycles import Cycles, run_many
    from saltus.gaits._fixed import FixedPoint, multipliers, solve, spectral_radius
    from saltus.gaits._from_map import fixed_points
    from saltus.gaits._gait import Gait
    from saltus.gaits._intervals import Edge, Interval, Lost, RecoverableIntervals, recoverable_intervals
    from saltus.gaits._iterate import Iterates, check_iteration, iterate
    from saltus.gaits._map import ErrorMap, Minimum, check_axes, check_map_target, error_map
    from saltus.gaits._minimise import Minimised, minimise
    from saltus.gaits._phase import Phase
    from saltus.gaits._region import Region, region
    from saltus.gaits._rest import Collisionless, Rest, collisionless
    from saltus.gaits._search import Recovery, StableGait, climb, find_stable, recovers

__all__ = [
    "Catch",
    "Change",
    "Collisionless",
    "Cycle",
    "Cycles",
    "Edge",
    "ErrorMap",
    "Family",
    "FixedPoint",
    "Gait",
    "Interval",
    "Iterates",
    "Lost",
    "Minimised",
    "Minimum",
    "Phase",
    "RecoverableIntervals",
    "Recovery",
    "Region",
    "Resolution",
    "Rest",
    "StableGait",
    "catches",
    "check_axes",
    "check_iteration",
    "check_map_target",
    "check_span",
    "climb",
    "collisionless",
    "error_map",
    "find_gait",
    "find_stable",
    "fixed_points",
    "follow",
    "gait_names",
    "iterate",
    "minimise",
    "multipliers",
    "recoverable_intervals",
    "recovers",
    "region",
    "run_cycle",
    "run_many",
    "solve",
    "spectral_radius",
]

__getattr__ = loaded_later(__name__)


def gait_names(robot: str | None = None) -> list[str]:
    """Names of all gait types, or of those of one robot; the one that is meant if nothing is said comes first."""
    names = registry.names("gaits")
    if robot is None:
        return names
    own = [name for name in names if getattr(registry.load("gaits", name), "ROBOT", None) == robot]
    return sorted(own, key=lambda name: not getattr(registry.load("gaits", name), "DEFAULT", False))


def find_gait(name: str, robot: Any) -> Gait:
    """The gait type of that name for a robot, or for the robot of a name."""
    from saltus.gaits._gait import Gait
    from saltus.hybrid import HybridSystem
    from saltus.robots import find_robot

    module = registry.load("gaits", name)
    system = find_robot(robot) if isinstance(robot, str) else robot
    if not isinstance(system, HybridSystem):
        raise InputError(f"gait {name} needs a robot, such as saltus.robots.monkeybot(), or its name, got {robot!r}")
    meant = getattr(module, "ROBOT", None)
    if meant is not None and meant not in (system.origin, system.name):
        raise InputError(f"gait {name} is for {meant}, not for {system.name}")
    if not callable(module.GAIT):
        raise InputError(f"GAIT of {module.__file__} must be a function that makes a gait, got {module.GAIT!r}")
    try:
        made = module.GAIT(system)
    except SaltusError:
        raise
    except Exception as error:
        raise SaltusError(f"gait {name} ({module.__file__}) cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(made, Gait):
        raise InputError(f"GAIT of {module.__file__} must make a saltus.gaits.Gait, got {made!r}")
    return made
