"""A two-link arm that hangs by its hand: a grip at the hand, dry friction and stops at the elbow."""

from __future__ import annotations

import math

from saltus.contact import Grip, JointUnit
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Revolute


def build() -> HybridSystem:
    m = Mechanism("arm")
    m1 = m.parameter("m1", 1.0, "kg", "mass of the upper link", positive=True)
    m2 = m.parameter("m2", 1.0, "kg", "mass of the lower link", positive=True)
    L1 = m.parameter("L1", 0.5, "m", "length of the upper link", positive=True)
    L2 = m.parameter("L2", 0.5, "m", "length of the lower link", positive=True)
    g = m.parameter("g", 9.81, "m/s^2", "gravity")
    coulomb = m.parameter("coulomb", 0.3, "N m", "dry friction of the elbow", lower=0)
    viscous = m.parameter("viscous", 0.0, "N m s/rad", "viscous friction of the elbow", lower=0)
    lower_stop = m.parameter("lower_stop", math.radians(-150), "rad", "least angle of the elbow")
    upper_stop = m.parameter("upper_stop", math.radians(150), "rad", "largest angle of the elbow")
    limit = m.parameter("torque_limit", 10.0, "N m", "of the motor at the elbow", lower=0)
    m.gravity = g
    upper = m.body("upper", Floating("x", "y", "theta1"), mass=m1, inertia=m1 * L1**2 / 12, com=(0, -L1 / 2))
    lower = m.body(
        "lower", Revolute("theta2", at=(0, -L1)), parent=upper, mass=m2, inertia=m2 * L2**2 / 12, com=(0, -L2 / 2)
    )
    m.actuator("elbow", "theta2", limit=limit)
    hand = m.point("hand", upper)
    m.point("elbow", upper, (0, -L1))
    tip = m.point("tip", lower, (0, -L2))
    return HybridSystem(
        m,
        units=(
            Grip(hand, closed=True),
            Grip(tip),
            JointUnit(m.coordinate("theta2"), coulomb=coulomb, viscous=viscous, lower=lower_stop, upper=upper_stop),
        ),
        start={"theta1": 1.2, "theta2": 0.8},
        until=10.0,
        skeleton=(("hand", "elbow"), ("elbow", "tip")),
        about="two links that hang by a hand; either end can hold on anywhere, the elbow sticks and has stops",
    )
