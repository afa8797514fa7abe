"""The rimless wheel of McGeer: spokes without a rim that walk down a slope, one impact a step."""

from __future__ import annotations

import math

from saltus.contact import GroundPoint, plastic
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism

SPOKES = 8


def build() -> HybridSystem:
    m = Mechanism("rimless_wheel")
    source = "mcgeer1990"
    mass = m.parameter("mass", 1.0, "kg", "mass at the hub", positive=True)
    length = m.parameter("length", 1.0, "m", "length of a spoke", source=source, positive=True)
    shape = m.parameter("shape", 0.1, "1", "inertia over mass and length squared", positive=True, upper=1)
    slope = m.parameter("slope", -0.08, "rad", "angle of the ground, downhill to the right", lower=-1, upper=1)
    mu = m.parameter("mu", 1.0, "1", "friction of the ground", lower=0)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    wheel = m.body("wheel", Floating("x", "y", "theta"), mass=mass, inertia=shape * mass * length**2)
    m.point("hub", wheel)
    feet = []
    for k in range(SPOKES):
        # spoke 0 points straight down at theta = 0, the others follow against the clock
        angle = 2 * math.pi * k / SPOKES - math.pi / 2
        feet.append(m.point(f"foot{k}", wheel, (length * math.cos(angle), length * math.sin(angle))))
    return HybridSystem(
        m,
        units=tuple(GroundPoint(foot, friction=mu, law=plastic(), slope=slope) for foot in feet),
        start={"y": 1.0, "dtheta": -1.5, "dx": 1.5},
        until=5.0,
        skeleton=tuple(("hub", f"foot{k}") for k in range(SPOKES)),
        about="spokes without a rim that walk down a slope; every step ends in a plastic impact",
    )
