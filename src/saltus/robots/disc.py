"""A disc on a slope: it rolls, slips where friction is too small, and bounces if it is dropped."""

from __future__ import annotations

from saltus.contact import Wheel, newton
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism


def build() -> HybridSystem:
    m = Mechanism("disc")
    mass = m.parameter("mass", 1.0, "kg", "mass of the disc", positive=True)
    radius = m.parameter("radius", 0.2, "m", "radius of the disc", positive=True)
    shape = m.parameter("shape", 0.5, "1", "inertia over mass and radius squared", positive=True, upper=1)
    slope = m.parameter("slope", -0.2, "rad", "angle of the slope, downhill to the right", lower=-1.5, upper=1.5)
    mu = m.parameter("mu", 0.5, "1", "friction of the slope", lower=0)
    restitution = m.parameter("restitution", 0.0, "1", "by Newton's law", lower=0, upper=1)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("torque_limit", 10.0, "N m", "of the torque on the disc", lower=0)
    disc = m.body("disc", Floating("x", "y", "angle"), mass=mass, inertia=shape * mass * radius**2)
    m.actuator("torque", "angle", limit=limit)
    centre = m.point("centre", disc)
    m.point("mark", disc, (radius, 0))
    return HybridSystem(
        m,
        units=(Wheel(centre, disc, radius, friction=mu, law=newton(restitution), slope=slope),),
        start={"y": 0.5},
        until=3.0,
        skeleton=(("centre", "mark"),),
        about="a disc dropped on a slope, which it meets, slips on and rolls down",
    )
