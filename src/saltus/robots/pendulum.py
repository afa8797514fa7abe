"""A pendulum with a driven pivot: a rod and a bob, hanging at theta = 0."""

from __future__ import annotations

import math

from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Revolute


def build() -> HybridSystem:
    m = Mechanism("pendulum")
    mass = m.parameter("mass", 1.0, "kg", "mass of the bob", positive=True)
    length = m.parameter("length", 1.0, "m", "pivot to bob", positive=True)
    inertia = m.parameter("inertia", 0.0, "kg m^2", "of the bob about its centre of mass", lower=0)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    damping = m.parameter("damping", 0.0, "N m s/rad", "viscous friction of the pivot", lower=0)
    limit = m.parameter("torque_limit", 10.0, "N m", "of the motor at the pivot", lower=0)
    rod = m.body("rod", Revolute("theta", offset=-math.pi / 2), mass=mass, inertia=inertia, com=(length, 0))
    m.actuator("pivot", "theta", limit=limit)
    m.damping("theta", damping)
    m.point("pivot", m.world)
    m.point("bob", rod, (length, 0))
    return HybridSystem(
        m,
        start={"theta": 1.0},
        until=10.0,
        skeleton=(("pivot", "bob"),),
        about="one rod with a bob, hanging at theta = 0",
    )
