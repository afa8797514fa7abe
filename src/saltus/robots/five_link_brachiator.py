"""The five-link brachiator of [yang2016, 2.2.1]: two arms of two links each and a body that hangs from the shoulder."""

from __future__ import annotations

import math

from saltus.contact import Grip, JointUnit, Pivot, World
from saltus.contact._world import put_into
from saltus.control import ArmSwing
from saltus.hybrid import HybridSystem, Profile, Symmetry
from saltus.mechanism import Floating, Mechanism, Revolute
from saltus.robots._bars import clear_of, default_world, fallen

SPACING = 1.3
ASSUMED = "assumed: [yang2016] has no numbers of its five-link robot"


def build(world: str = "2") -> HybridSystem:
    # All joint angles are zero where both arms are overhead, one along the other, above the body. Each is that of the
    # link farther from hand A to the one nearer to it, so that the other hand's view is the same with other signs.
    m = Mechanism("five_link_brachiator")
    m_fore = m.parameter("m_fore", 0.8, "kg", "mass of a forearm", source=ASSUMED, positive=True)
    m_upper = m.parameter("m_upper", 0.8, "kg", "mass of an upper arm", source=ASSUMED, positive=True)
    m_body = m.parameter("m_body", 1.6, "kg", "mass of the body", source=ASSUMED, positive=True)
    L_fore = m.parameter("L_fore", 0.35, "m", "length of a forearm, a uniform rod", source=ASSUMED, positive=True)
    L_upper = m.parameter("L_upper", 0.35, "m", "length of an upper arm, a uniform rod", source=ASSUMED, positive=True)
    L_body = m.parameter("L_body", 0.35, "m", "length of the body, a uniform rod", source=ASSUMED, positive=True)
    g = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("torque_limit", 10.0, "N m", "of the motor at each joint", source=ASSUMED, lower=0)
    gain = m.parameter("torque_gain", 1.0, "1", "torque over that which was asked for", positive=True)
    coulomb = m.parameter("joint_coulomb", 0.0, "N m", "dry friction of each joint", lower=0)
    viscous = m.parameter("joint_viscous", 0.0, "N m s/rad", "viscous friction of each joint", lower=0)
    hand_coulomb = m.parameter("hand_coulomb", 0.0, "N m", "dry friction about a hand that holds", lower=0)
    hand_viscous = m.parameter("hand_viscous", 0.0, "N m s/rad", "viscous friction about a hand that holds", lower=0)
    elbow_stop = m.parameter("elbow_stop", math.radians(170), "rad", "of elbows, on both sides", source=ASSUMED)
    shoulder_stop = m.parameter(
        "shoulder_stop", math.radians(270), "rad", "of shoulders, on both sides of the arm overhead", source=ASSUMED
    )
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
    fore_inertia, upper_inertia = m_fore * L_fore**2 / 12, m_upper * L_upper**2 / 12
    fore_a = m.body("forearm A", Floating("x", "y", "theta1"), mass=m_fore, inertia=fore_inertia, com=(0, -L_fore / 2))
    upper_a = m.body(
        "upper arm A",
        Revolute("elbow_a", at=(0, -L_fore)),
        parent=fore_a,
        mass=m_upper,
        inertia=upper_inertia,
        com=(0, -L_upper / 2),
    )
    body = m.body(
        "body",
        Revolute("shoulder_a", at=(0, -L_upper)),
        parent=upper_a,
        mass=m_body,
        inertia=m_body * L_body**2 / 12,
        com=(0, -L_body / 2),
    )
    upper_b = m.body(
        "upper arm B",
        Revolute("shoulder_b"),
        parent=body,
        mass=m_upper,
        inertia=upper_inertia,
        com=(0, L_upper / 2),
    )
    fore_b = m.body(
        "forearm B",
        Revolute("elbow_b", at=(0, L_upper)),
        parent=upper_b,
        mass=m_fore,
        inertia=fore_inertia,
        com=(0, L_fore / 2),
    )
    stops = {"elbow_a": elbow_stop, "shoulder_a": shoulder_stop, "shoulder_b": shoulder_stop, "elbow_b": elbow_stop}
    for joint in stops:
        m.actuator(joint, joint, limit=limit, gain=gain)
    a, b = m.point("A", fore_a), m.point("B", fore_b, (0, L_fore))
    elbow_a, elbow_b = m.point("elbow_A", upper_a), m.point("elbow_B", fore_b)
    m.point("shoulder", body)
    m.point("hip", body, (0, -L_body))
    held = put_into(m, capture, default_world(world, SPACING))
    hand_a, hand_b = Grip(a, held.holds, closed=True), Grip(b, held.holds)
    angles = {name: m.coordinate(name).symbol for name in ("theta1", *stops)}
    last = sum(angles.values())
    system = HybridSystem(
        m,
        units=(
            hand_a,
            hand_b,
            *(
                JointUnit(m.coordinate(joint), coulomb=coulomb, viscous=viscous, lower=-stop, upper=stop)
                for joint, stop in stops.items()
            ),
            Pivot(hand_a, angles["theta1"], hand_coulomb, hand_viscous),
            Pivot(hand_b, last, hand_coulomb, hand_viscous),
        ),
        guards=(
            *clear_of(held, {"forearm A": (a, elbow_a), "forearm B": (b, elbow_b)}, radius, capture),
            *fallen(held, (a, b)),
        ),
        until=10.0,
        symmetry=Symmetry(
            state={
                "x": b.position[0],
                "y": b.position[1],
                "theta1": last,
                "elbow_a": -angles["elbow_b"],
                "shoulder_a": -angles["shoulder_b"],
                "shoulder_b": -angles["shoulder_a"],
                "elbow_b": -angles["elbow_a"],
            },
            units={
                "A": "B",
                "B": "A",
                "elbow_a": "elbow_b",
                "elbow_b": "elbow_a",
                "shoulder_a": "shoulder_b",
                "shoulder_b": "shoulder_a",
                "A_pivot": "B_pivot",
                "B_pivot": "A_pivot",
            },
        ),
        profiles=_profiles(world),
        skeleton=(
            ("A", "elbow_A"),
            ("elbow_A", "shoulder"),
            ("shoulder", "hip"),
            ("shoulder", "elbow_B"),
            ("elbow_B", "B"),
        ),
        about="two arms of two links each and a body, 4.8 kg, which swing from bar to bar, with a motor at each joint",
    )
    return in_world(system, default_world(world, SPACING))


def _profiles(world: str) -> dict[str, Profile]:
    if world == "rope" or int(world) < 2:
        return {}
    return {"swing_up": Profile(ArmSwing(), until=15.0, about="from hanging at rest to the next bar, and catch it")}


def in_world(system: HybridSystem, world: World) -> HybridSystem:
    """The robot at rest, hanging straight down by hand A from the first bar or from a rope, its other arm down too."""
    world.check(2 * (system.values["L_fore"] + system.values["L_upper"]), system.values["bar_radius"])
    x, y = world.bars[0] if world.rope is None else (0.0, world.rope[0])
    return system.with_start({"x": x, "y": y, "shoulder_b": -math.pi})
