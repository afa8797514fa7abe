"""Claptrap with two arms, each of a shoulder and an elbow: inner joints are no problem."""

from __future__ import annotations

from saltus.control import Feedback
from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import PD, claptrap

# The arms are held where they hang.
JOINTS = ("left_shoulder", "left_elbow", "right_shoulder", "right_elbow")
STIFFNESS, DAMPING = 5.0, 0.5


def build() -> HybridSystem:
    held = {joint: {joint: -STIFFNESS, f"d{joint}": -DAMPING} for joint in JOINTS}
    controllers = {"pd": Feedback({"wheel": PD, **held})}
    return claptrap(
        "claptrap_arms", about="Claptrap with two arms of two links", file="claptrap_arms", controllers=controllers
    )
