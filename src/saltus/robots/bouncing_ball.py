"""A ball thrown in the plane, bouncing on flat ground by Newton's law."""

from __future__ import annotations

from saltus.contact import GroundPoint, newton
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Prismatic


def build() -> HybridSystem:
    m = Mechanism("bouncing_ball")
    mass = m.parameter("mass", 1.0, "kg", "mass of the ball", positive=True)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    restitution = m.parameter("restitution", 0.8, "1", "speed after over speed before", lower=0, upper=1)
    mu = m.parameter("mu", 0.0, "1", "friction of the ground", lower=0)
    carriage = m.body("carriage", Prismatic("x"))
    ball = m.body("ball", Prismatic("y", axis=(0, 1)), parent=carriage, mass=mass)
    centre = m.point("ball", ball)
    return HybridSystem(
        m,
        units=(GroundPoint(centre, friction=mu, law=newton(restitution), open_name="flight"),),
        start={"y": 1.0},
        until=3.0,
        skeleton=(("ball", "ball"),),
        about="a ball that bounces on the ground and comes to rest",
    )
