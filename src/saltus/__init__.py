"""saltus: a laboratory for robots whose motion is smooth until something sudden happens."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from saltus import (
        conformance,
        contact,
        control,
        errors,
        gaits,
        mechanism,
        optimize,
        registry,
        robots,
        show,
        studies,
    )
    from saltus.contact import Bar, Grip, GroundPoint, JointUnit, Line, Wall, Wheel
    from saltus.control import Linear, linearize, linearize_along
    from saltus.engine import Batch, Command, Event, Figures, Rollout, Trajectory, rollout, simulate, simulate_many
    from saltus.hybrid import Guard, HybridSystem, ModeGraph, Profile, mode_graph, write_urdf
    from saltus.mechanism import Mechanism, lint_urdf, read_urdf
    from saltus.robots import load_urdf

_WHERE = {
    "simulate": "saltus.engine",
    "rollout": "saltus.engine",
    "Rollout": "saltus.engine",
    "simulate_many": "saltus.engine",
    "Batch": "saltus.engine",
    "Figures": "saltus.engine",
    "Trajectory": "saltus.engine",
    "Event": "saltus.engine",
    "Command": "saltus.engine",
    **dict.fromkeys(("Linear", "linearize", "linearize_along"), "saltus.control"),
    "Mechanism": "saltus.mechanism",
    "HybridSystem": "saltus.hybrid",
    "ModeGraph": "saltus.hybrid",
    "mode_graph": "saltus.hybrid",
    "Guard": "saltus.hybrid",
    "Profile": "saltus.hybrid",
    "write_urdf": "saltus.hybrid",
    "load_urdf": "saltus.robots",
    "read_urdf": "saltus.mechanism",
    "lint_urdf": "saltus.mechanism",
    **dict.fromkeys(("World", "ladder", "rope"), "saltus.contact"),
    **dict.fromkeys(("Bar", "Grip", "GroundPoint", "JointUnit", "Line", "Wall", "Wheel"), "saltus.contact"),
}
_MODULES = (
    "conformance", "contact", "control", "errors", "gaits", "mechanism", "optimize", "registry", "robots", "show",
    "studies",
)  # fmt: skip

__all__ = [
    "Bar",
    "Batch",
    "Command",
    "Event",
    "Figures",
    "Grip",
    "GroundPoint",
    "Guard",
    "HybridSystem",
    "JointUnit",
    "Line",
    "Linear",
    "Mechanism",
    "ModeGraph",
    "Profile",
    "Rollout",
    "Trajectory",
    "Wall",
    "Wheel",
    "World",
    "conformance",
    "contact",
    "control",
    "errors",
    "gaits",
    "ladder",
    "linearize",
    "linearize_along",
    "lint_urdf",
    "load_urdf",
    "mechanism",
    "mode_graph",
    "optimize",
    "read_urdf",
    "registry",
    "robots",
    "rollout",
    "rope",
    "show",
    "simulate",
    "simulate_many",
    "studies",
    "write_urdf",
]


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def __getattr__(name: str) -> Any:
    """Load a part when it is first asked for: importing saltus itself stays fast."""
    if name in _MODULES:
        return importlib.import_module(f"saltus.{name}")
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")
