"""Controllers: one file each, found by name; and the ways to make one of a function."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from saltus.control._function import Compiled, Continuous, Sampled
from saltus.control._protocol import Controller
from saltus.control.constant import Constant
from saltus.control.passive import Passive
from saltus.control.pd import PD
from saltus.control.schedule import Schedule
from saltus.control.sine import Sine
from saltus.engine import Command
from saltus.errors import unknown_name

__all__ = [
    "PD",
    "Command",
    "Compiled",
    "Constant",
    "Continuous",
    "Controller",
    "Passive",
    "Sampled",
    "Schedule",
    "Sine",
    "controller_names",
    "find_controller",
]


def controller_names() -> list[str]:
    """Names of all controllers."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def find_controller(name: str) -> Any:
    """The class of the controller of that name."""
    if name not in controller_names():
        raise unknown_name("controller", name, controller_names())
    return importlib.import_module(f"{__name__}.{name}").CONTROLLER
