"""Two links in a row, swinging from a fixed pivot; both angles are zero when they hang."""

from __future__ import annotations

import math

from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Revolute


def build() -> HybridSystem:
    m = Mechanism("double_pendulum")
    m1 = m.parameter("m1", 1.0, "kg", "mass of the upper link", positive=True)
    m2 = m.parameter("m2", 1.0, "kg", "mass of the lower link", positive=True)
    L1 = m.parameter("L1", 1.0, "m", "length of the upper link", positive=True)
    L2 = m.parameter("L2", 1.0, "m", "length of the lower link", positive=True)
    r1 = m.parameter("r1", 0.5, "m", "pivot to the upper centre of mass")
    r2 = m.parameter("r2", 0.5, "m", "elbow to the lower centre of mass")
    I1 = m.parameter("I1", 1 / 12, "kg m^2", "of the upper link about its centre of mass", lower=0)
    I2 = m.parameter("I2", 1 / 12, "kg m^2", "of the lower link about its centre of mass", lower=0)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("torque_limit", 10.0, "N m", "of the motor at the elbow", lower=0)
    upper = m.body("upper", Revolute("theta1", offset=-math.pi / 2), mass=m1, inertia=I1, com=(r1, 0))
    lower = m.body("lower", Revolute("theta2", at=(L1, 0)), parent=upper, mass=m2, inertia=I2, com=(r2, 0))
    m.actuator("elbow", "theta2", limit=limit)
    m.point("pivot", m.world)
    m.point("elbow", upper, (L1, 0))
    m.point("tip", lower, (L2, 0))
    return HybridSystem(
        m,
        start={"theta1": 1.0, "theta2": 0.5},
        until=10.0,
        skeleton=(("pivot", "elbow"), ("elbow", "tip")),
        about="two links in a row; theta2 is relative to the upper link",
    )
