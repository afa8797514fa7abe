"""Claptrap on two wheels, each with a motor: it stands by itself sideways, and can turn."""

from __future__ import annotations

from saltus.control import Feedback
from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import PD, claptrap, lqr

WHEELS = ("left_wheel", "right_wheel")

# What it drives with, rad/s: of its wheels, and what turns it by 0.2 rad/s, each wheel of 0.15 m being 0.2 m from the
# middle.
SPEED, DIFFERENCE = 4.0, 0.2 * 0.2 / 0.15


def build() -> HybridSystem:
    half = {name: gain / 2 for name, gain in PD.items()}
    controllers = {
        "pd": Feedback(dict.fromkeys(WHEELS, half)),
        "lqr": lqr("psi", "yaw", motors=2),
        # by the angles of its wheels: along a curve they go on, while its place comes round
        "drive": lqr(*WHEELS, motors=2, speed={"left_wheel": SPEED - DIFFERENCE, "right_wheel": SPEED + DIFFERENCE}),
    }
    return claptrap(
        "claptrap_two_wheels",
        about="Claptrap on two wheels; it can turn",
        file="claptrap_two_wheels",
        controllers=controllers,
    )
