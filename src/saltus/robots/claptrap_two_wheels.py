"""Claptrap on two wheels, each with a motor: it stands by itself sideways, and can turn."""

from __future__ import annotations

from saltus.control import Feedback
from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import PD, claptrap, lqr

WHEELS = ("left_wheel", "right_wheel")


def build() -> HybridSystem:
    half = {name: gain / 2 for name, gain in PD.items()}
    controllers = {
        "pd": Feedback(dict.fromkeys(WHEELS, half)),
        "lqr": lqr("yaw", motors=2),
        "drive": lqr("yaw", motors=2, speed={"psi": 4.0, "yaw": 0.2}),
    }
    return claptrap(
        "claptrap_two_wheels",
        "Claptrap on two wheels; it can turn",
        file="claptrap_two_wheels",
        controllers=controllers,
    )
