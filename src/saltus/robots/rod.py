"""A rod that is dropped: both of its ends can meet the ground."""

from __future__ import annotations

from saltus.contact import GroundPoint, newton
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism


def build() -> HybridSystem:
    m = Mechanism("rod")
    mass = m.parameter("mass", 1.0, "kg", "mass of the rod", positive=True)
    length = m.parameter("length", 1.0, "m", "length of the rod", positive=True)
    shape = m.parameter("shape", 1 / 12, "1", "inertia over mass and length squared", positive=True, upper=0.25)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    mu = m.parameter("mu", 0.3, "1", "friction of the ground", lower=0)
    restitution = m.parameter("restitution", 0.0, "1", "of both ends, by Newton's law", lower=0, upper=1)
    rod = m.body("rod", Floating("x", "y", "theta"), mass=mass, inertia=shape * mass * length**2)
    left = m.point("A", rod, (-length / 2, 0))
    right = m.point("B", rod, (length / 2, 0))
    return HybridSystem(
        m,
        units=tuple(GroundPoint(end, friction=mu, law=newton(restitution)) for end in (left, right)),
        start={"y": 1.0, "theta": 0.5},
        until=3.0,
        skeleton=(("A", "B"),),
        about="a rod dropped at an angle: it strikes with one end, slides or pivots, and falls flat",
    )
