"""A cart that carries a pendulum and is pushed along its rail; it can bump into the ground with the bob."""

from __future__ import annotations

import math

from saltus.contact import GroundPoint, find_law
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Prismatic, Revolute


def build() -> HybridSystem:
    m = Mechanism("cart")
    cart_mass = m.parameter("cart_mass", 2.0, "kg", "mass of the cart", positive=True)
    bob_mass = m.parameter("bob_mass", 0.5, "kg", "mass of the bob", positive=True)
    length = m.parameter("length", 0.8, "m", "pivot to bob", positive=True)
    height = m.parameter("height", 0.5, "m", "of the rail above the ground")
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("force_limit", 50.0, "N", "of the push on the cart", lower=0)
    damping = m.parameter("damping", 0.1, "N s/m", "viscous friction of the rail", lower=0)
    cart = m.body("cart", Prismatic("s"), mass=cart_mass)
    rod = m.body(
        "rod", Revolute("theta", at=(0, height), offset=-math.pi / 2), parent=cart, mass=bob_mass, com=(length, 0)
    )
    m.actuator("push", "s", limit=limit)
    m.damping("s", damping)
    m.point("pivot", cart, (0, height))
    bob = m.point("bob", rod, (length, 0))
    return HybridSystem(
        m,
        units=(GroundPoint(bob, law=find_law("newton", {"restitution": 0.5}), open_name="swing"),),
        start={"theta": 1.5},
        until=2.0,
        skeleton=(("pivot", "bob"),),
        about="a cart on a rail with a pendulum whose bob can strike the ground",
    )
