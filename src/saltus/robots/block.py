"""A block on a slope, pushed along the slope by a force; it sticks, slides both ways, and can be lifted off."""

from __future__ import annotations

import casadi as ca

from saltus.contact import GroundPoint, plastic
from saltus.control import Sine
from saltus.hybrid import HybridSystem, Profile
from saltus.mechanism import Mechanism, Prismatic


def build() -> HybridSystem:
    m = Mechanism("block")
    mass = m.parameter("mass", 1.0, "kg", "mass of the block", positive=True)
    slope = m.parameter("slope", 0.1, "rad", "angle of the slope, uphill to the right", lower=-1.5, upper=1.5)
    mu = m.parameter("mu", 0.3, "1", "friction", lower=0)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("force_limit", 100.0, "N", "of the pushing force", lower=0)
    uphill, normal = (ca.cos(slope), ca.sin(slope)), (-ca.sin(slope), ca.cos(slope))
    carriage = m.body("carriage", Prismatic("s", axis=uphill))
    block = m.body("block", Prismatic("n", axis=normal), parent=carriage, mass=mass)
    foot = m.point("block", block)
    m.actuator("push", "s", limit=limit)
    return HybridSystem(
        m,
        units=(GroundPoint(foot, friction=mu, law=plastic(), slope=slope),),
        until=4.0,
        profiles={"sine": Profile(Sine(amplitude=6.0), about="pushed to and fro once a second")},
        skeleton=(("block", "block"),),
        about="a block on a slope: s along it, n away from it",
    )
