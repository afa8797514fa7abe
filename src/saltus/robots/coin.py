"""A coin that rolls and leans on a level ground, in space."""

from __future__ import annotations

import math

from saltus.contact import SpatialWheel, newton
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import FreeFlyer, Mechanism


def build() -> HybridSystem:
    m = Mechanism("coin", dimension=3)
    mass = m.parameter("mass", 1.0, "kg", "mass of the coin", positive=True)
    radius = m.parameter("radius", 0.2, "m", "radius of the coin", positive=True)
    # a thin disc; a ring has 1/2 and 1
    across = m.parameter("across", 0.25, "1", "inertia about a diameter, over mass and radius squared", positive=True)
    about = m.parameter("about", 0.5, "1", "inertia about the axis, over mass and radius squared", positive=True)
    mu = m.parameter("mu", math.inf, "1", "friction of the ground; ideal rolling if infinite", lower=0, infinite=True)
    restitution = m.parameter("restitution", 0.0, "1", "by Newton's law", lower=0, upper=1)
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    size = mass * radius**2
    coin = m.body("coin", FreeFlyer(), mass=mass, inertia=(across * size, about * size, across * size))
    centre = m.point("centre", coin)
    m.point("mark", coin, (0, 0, -radius))
    return HybridSystem(
        m,
        units=(SpatialWheel(centre, coin, radius, friction=mu, law=newton(restitution)),),
        guards=(Guard("flat", m.points["centre"].position[2] - 1e-3 * radius, about="the coin lies nearly flat"),),
        start={"z": radius, "roll": 0.2, "dpitch": 8.0, "dyaw": 1.0},
        until=5.0,
        skeleton=(("centre", "mark"),),
        about="a thin disc that rolls without slipping, leans and precesses; or slips with a finite mu",
    )
