"""Small machines built for one test each."""

import math

from saltus import GroundPoint, Guard, HybridSystem, Mechanism
from saltus.contact import Grip, JointUnit, newton, plastic
from saltus.mechanism import Floating, Prismatic


def particle(guards=(), gravity=0.0, name="particle"):
    """A free point mass; ``guards`` is a function of its two coordinates that returns guards."""
    m = Mechanism(name)
    m.gravity = m.parameter("g", gravity, "m/s^2")
    rail = m.body("rail", Prismatic("x"))
    body = m.body("body", Prismatic("y", axis=(0, 1)), parent=rail, mass=1.0)
    m.point("body", body)
    x, y = m.q[0], m.q[1]
    return HybridSystem(m, guards=tuple(guards(x, y)) if guards else ())


def lifter(gravity, restitution):
    """A body that can only move up and down, driven by a force, above the ground."""
    m = Mechanism("lifter")
    m.gravity = m.parameter("g", gravity, "m/s^2")
    body = m.body("body", Prismatic("y", axis=(0, 1)), mass=1.0)
    foot = m.point("foot", body)
    m.actuator("lift", "y", limit=100.0)
    return HybridSystem(m, units=(GroundPoint(foot, law=newton(restitution)),))


def particle_with_hand(name, *holds):
    """A free point mass that can hold on, to anything or to what is given."""
    m = Mechanism(name)
    rail = m.body("rail", Prismatic("x"))
    body = m.body("body", Prismatic("y", axis=(0, 1)), parent=rail, mass=2.0)
    return HybridSystem(m, units=(Grip(m.point("hand", body), holds),))


def slider(name, viscous=0.0, **stops):
    """A mass of 2 kg on a line with 0.5 N of dry friction and a motor, between stops if any are given."""
    m = Mechanism(name)
    mass, coulomb = m.parameter("mass", 2.0, "kg", positive=True), m.parameter("coulomb", 0.5, "N", lower=0)
    stops = {side: m.parameter(side, place, "m") if math.isfinite(place) else place for side, place in stops.items()}
    m.body("body", Prismatic("q"), mass=mass)
    m.actuator("motor", "q")
    return HybridSystem(m, units=(JointUnit(m.coordinate("q"), coulomb=coulomb, viscous=viscous, **stops),))


def plank(restitution=None, friction=0.0, half=0.5):
    """A thin uniform plank with a foot at each end, free in the plane."""
    m = Mechanism("plank")
    mass = m.parameter("mass", 2.0, "kg", positive=True)
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    mu = m.parameter("mu", friction, "1", lower=0)
    body = m.body("plank", Floating("x", "y", "angle"), mass=mass, inertia=mass * (2 * half) ** 2 / 12)
    law = plastic() if restitution is None else newton(restitution)
    feet = [m.point(name, body, (side, 0)) for name, side in (("left", -half), ("right", half))]
    return HybridSystem(m, units=tuple(GroundPoint(foot, friction=mu, law=law) for foot in feet))


def rod(mu, half=0.5):
    """A uniform rod with one foot, the classical case of Painleve's paradox."""
    m = Mechanism("rod")
    mass = m.parameter("mass", 1.0, "kg", positive=True)
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    friction = m.parameter("mu", mu, "1", lower=0)
    body = m.body("rod", Floating("x", "y", "angle"), mass=mass, inertia=mass * (2 * half) ** 2 / 12)
    foot = m.point("foot", body, (-half, 0))
    return HybridSystem(m, units=(GroundPoint(foot, friction=friction, law=plastic()),))


def rod_on_foot(angle, speed=0.0, spin=0.0, half=0.5):
    """State of the rod with its foot at the origin, moving along the ground."""
    c, s = math.cos(angle), math.sin(angle)
    return {
        "x": half * c,
        "y": half * s,
        "angle": angle,
        "dx": speed - half * s * spin,
        "dy": half * c * spin,
        "dangle": spin,
    }


__all__ = ["Guard", "lifter", "particle", "particle_with_hand", "plank", "rod", "rod_on_foot", "slider"]
