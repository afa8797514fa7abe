"""Controllers: one file each, found by name; and the ways to make one of a function."""

from __future__ import annotations

import dataclasses
from typing import Any

from saltus import registry
from saltus.control._current import Current
from saltus.control._encoder import Encoder
from saltus.control._function import Compiled, Continuous, Sampled
from saltus.control._grid import Axis
from saltus.control._gripper import Gripper
from saltus.control._hardware import Hardware
from saltus.control._imu import Imu
from saltus.control._linear import Linear
from saltus.control._linearize import LinearArc, linearize, linearize_along
from saltus.control._motor import Motor
from saltus.control._protocol import Controller
from saltus.control._reach import Reach
from saltus.control._symbolic_linear import SymbolicLinear, controllability_determinant, symbolic_linear
from saltus.control._table import Place, Table
from saltus.control._track import Track
from saltus.control.arm_swing import ArmSwing
from saltus.control.constant import Constant
from saltus.control.energy import Energy
from saltus.control.feedback import Feedback
from saltus.control.impulse import Impulse
from saltus.control.lqr import LQR
from saltus.control.passive import Passive
from saltus.control.pd import PD
from saltus.control.points import Points
from saltus.control.policy import Policy
from saltus.control.schedule import Schedule
from saltus.control.sine import Sine
from saltus.control.swap_at_level import SwapAtLevel
from saltus.control.timed import Timed
from saltus.engine import Command
from saltus.errors import SaltusError

__all__ = [
    "LQR",
    "PD",
    "ArmSwing",
    "Axis",
    "Command",
    "Compiled",
    "Constant",
    "Continuous",
    "Controller",
    "Current",
    "Encoder",
    "Energy",
    "Feedback",
    "Gripper",
    "Hardware",
    "Impulse",
    "Imu",
    "Linear",
    "LinearArc",
    "Motor",
    "Passive",
    "Place",
    "Points",
    "Policy",
    "Reach",
    "Sampled",
    "Schedule",
    "Sine",
    "SwapAtLevel",
    "SymbolicLinear",
    "Table",
    "Timed",
    "Track",
    "controllability_determinant",
    "controller_names",
    "find_controller",
    "linearize",
    "linearize_along",
    "symbolic_linear",
]


def controller_names() -> list[str]:
    """Names of all controllers."""
    return registry.names("controllers")


def find_controller(name: str) -> Any:
    """The class of the controller of that name."""
    module = registry.load("controllers", name)
    kind = module.CONTROLLER
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind) or not hasattr(kind, "bind"):
        raise SaltusError(f"CONTROLLER of {module.__file__} must be a dataclass with a method bind, got {kind!r}")
    return kind
