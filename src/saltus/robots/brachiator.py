"""The brachiator of [yang2016]: two links with claws at their ends and a motor between, which swing from bar to bar."""

from __future__ import annotations

import math

from saltus.contact import Grip, JointUnit, Pivot, World
from saltus.contact._world import put_into
from saltus.hybrid import HybridSystem, Symmetry, wrapped
from saltus.mechanism import Floating, Mechanism, Revolute
from saltus.robots._bars import between, clear_of, default_world, fallen

PRINTED = "[yang2016, 4.4]"
SPACING = 0.55
ASSUMED = "assumed: [yang2016] is silent"


def build(world: str = "3") -> HybridSystem:
    m = Mechanism("brachiator")
    m1 = m.parameter("m1", 1.77705, "kg", "mass of link A", source=PRINTED, positive=True)
    m2 = m.parameter("m2", 2.00899, "kg", "mass of link B", source=PRINTED, positive=True)
    L1 = m.parameter("L1", 0.40, "m", "length of link A", source="[yang2016, 1.1]", positive=True)
    L2 = m.parameter("L2", 0.40, "m", "length of link B", source="[yang2016, 1.1]", positive=True)
    r1 = m.parameter("r1", 0.20, "m", "from hand A to the centre of mass of link A", source=ASSUMED)
    r2 = m.parameter("r2", 0.20, "m", "from the elbow to the centre of mass of link B", source=ASSUMED)
    I1 = m.parameter("I1", 0.0151847, "kg m^2", "of link A about its centre of mass", source=PRINTED, positive=True)
    I2 = m.parameter("I2", 0.0116684, "kg m^2", "of link B about its centre of mass", source=PRINTED, positive=True)
    g = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("torque_limit", 10.0, "N m", "of the motor at the elbow", source="[yang2016, 7.4.4]", lower=0)
    gain = m.parameter("torque_gain", 1.0, "1", "torque over that which was asked for", positive=True)
    coulomb = m.parameter("elbow_coulomb", 0.0, "N m", "dry friction of the elbow", lower=0)
    viscous = m.parameter("elbow_viscous", 0.0, "N m s/rad", "viscous friction of the elbow", lower=0)
    hand_coulomb = m.parameter("hand_coulomb", 0.0, "N m", "dry friction about the hand that holds", lower=0)
    hand_viscous = m.parameter("hand_viscous", 0.0, "N m s/rad", "viscous friction about the hand that holds", lower=0)
    stop = m.parameter("elbow_stop", math.radians(170), "rad", "of the elbow, on both sides", source=ASSUMED)
    radius = m.parameter("bar_radius", 0.0127, "m", "of a bar", source="[yang2016, 1.2]", positive=True)
    capture = m.parameter(
        "capture",
        0.025,
        "m",
        "within which of a bar's centre a hand can close",
        source="[yang2016, 7.2.4]",
        positive=True,
    )
    m.gravity = g
    upper = m.body("link A", Floating("x", "y", "theta1"), mass=m1, inertia=I1, com=(0, -r1))
    lower = m.body("link B", Revolute("theta2", at=(0, -L1)), parent=upper, mass=m2, inertia=I2, com=(0, -r2))
    m.actuator("elbow", "theta2", limit=limit, gain=gain)
    a = m.point("A", upper)
    elbow = m.point("elbow", upper, (0, -L1))
    b = m.point("B", lower, (0, -L2))
    held = put_into(m, capture, default_world(world, SPACING))
    hand_a, hand_b = Grip(a, held.holds, closed=True), Grip(b, held.holds, closed=len(held.centres) > 1)
    theta1, theta2 = m.coordinate("theta1").symbol, m.coordinate("theta2").symbol
    system = HybridSystem(
        m,
        units=(
            hand_a,
            hand_b,
            JointUnit(m.coordinate("theta2"), coulomb=coulomb, viscous=viscous, lower=-stop, upper=stop),
            Pivot(hand_a, theta1, hand_coulomb, hand_viscous),
            Pivot(hand_b, theta1 + theta2, hand_coulomb, hand_viscous),
        ),
        guards=(
            *clear_of(held, {"link A": (a, elbow), "link B": (b, elbow)}, radius, capture),
            *fallen(held, (a, b)),
        ),
        until=10.0,
        symmetry=Symmetry(
            state={
                "x": b.position[0],
                "y": b.position[1],
                "theta1": wrapped(math.pi + theta1 + theta2),
                "theta2": -theta2,
            },
            units={"A": "B", "B": "A", "A_pivot": "B_pivot", "B_pivot": "A_pivot"},
            parameters={"m1": m2, "m2": m1, "L1": L2, "L2": L1, "r1": L2 - r2, "r2": L1 - r1, "I1": I2, "I2": I1},
        ),
        skeleton=(("A", "elbow"), ("elbow", "B")),
        about="two links of 4 kg that swing from bar to bar by claws at their ends, with a motor at the elbow",
    )
    return in_world(system, default_world(world, SPACING))


def in_world(system: HybridSystem, world: World) -> HybridSystem:
    """The robot at rest with hands on the first two bars, or hanging straight down from the only one or from a rope."""
    one, two = system.values["L1"], system.values["L2"]
    bent = math.cos(min(system.values["elbow_stop"], math.pi))
    world.check(one + two, system.values["bar_radius"], math.sqrt(one**2 + two**2 + 2 * one * two * bent))
    if world.rope is not None:
        return system.with_start({"y": world.rope[0]})
    return system.with_start(between(system, 1, 0) if len(world.bars) > 1 else between(system, 0))


def hanging(system: HybridSystem) -> HybridSystem:
    """The robot straight down from the first bar by hand A, at rest."""
    return system.with_start(between(system, 0)) if "bar0_x" in system.values else system
