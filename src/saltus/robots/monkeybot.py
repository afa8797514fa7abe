"""MonkeyBot [ufford2009]: two links with a magnet at each end, which hold on anywhere on a wall."""

from __future__ import annotations

import math

from saltus.contact import Grip, JointUnit, Pivot
from saltus.control import Timed
from saltus.hybrid import Guard, HybridSystem, Profile, Symmetry, wrapped
from saltus.mechanism import Floating, Mechanism, Revolute

INFERRED = "inferred: the set that explains the numbers of [ufford2009] best, which prints none"


def build() -> HybridSystem:
    m = Mechanism("monkeybot")
    m1 = m.parameter("m1", 1.0, "kg", "mass of link A", source=INFERRED, positive=True)
    m2 = m.parameter("m2", 1.0, "kg", "mass of link B", source=INFERRED, positive=True)
    L1 = m.parameter("L1", 0.61, "m", "length of link A", source="[ufford2009], figure 7", positive=True)
    L2 = m.parameter("L2", 0.61, "m", "length of link B", source="[ufford2009], figure 7", positive=True)
    r1 = m.parameter("r1", 0.54473, "m", "from hand A to the centre of mass of link A", source=INFERRED)
    r2 = m.parameter("r2", 0.06527, "m", "from the elbow to the centre of mass of link B", source=INFERRED)
    I1 = m.parameter("I1", 0.017849637, "kg m^2", "inertia of link A about its centre", source=INFERRED, positive=True)
    I2 = m.parameter("I2", 0.017849637, "kg m^2", "inertia of link B about its centre", source=INFERRED, positive=True)
    g = m.parameter("g", 9.81, "m/s^2", "gravity")
    limit = m.parameter("torque_limit", 20.0, "N m", "of the motor at the elbow", source="assumed", lower=0)
    dry = m.parameter("elbow_dry", 0.0, "N m", "constant friction of the elbow", lower=0)
    viscous = m.parameter("elbow_viscous", 0.0, "N m s/rad", "viscous friction of the elbow", lower=0)
    hand_dry = m.parameter("hand_dry", 0.0, "N m", "constant friction about the hand that holds", lower=0)
    hand_viscous = m.parameter("hand_viscous", 0.0, "N m s/rad", "viscous friction about the hand that holds", lower=0)
    m.gravity = g
    upper = m.body("link A", Floating("x", "y", "theta1"), mass=m1, inertia=I1, com=(0, -r1))
    lower = m.body("link B", Revolute("theta2", at=(0, -L1)), parent=upper, mass=m2, inertia=I2, com=(0, -r2))
    m.actuator("elbow", "theta2", limit=limit)
    a = m.point("A", upper)
    elbow = m.point("elbow", upper, (0, -L1))
    b = m.point("B", lower, (0, -L2))
    theta1, theta2 = m.coordinate("theta1").symbol, m.coordinate("theta2").symbol
    hand_a, hand_b = Grip(a, closed=True), Grip(b)
    return HybridSystem(
        m,
        units=(
            hand_a,
            hand_b,
            JointUnit(m.coordinate("theta2"), coulomb=dry, viscous=viscous),
            Pivot(hand_a, theta1, hand_dry, hand_viscous),
            Pivot(hand_b, theta1 + theta2, hand_dry, hand_viscous),
        ),
        guards=(
            Guard("level", b.position[1] - a.position[1], "ignore", "both", "B passes A's height"),
            Guard("vertical_A", elbow.position[0] - a.position[0], "ignore", "both", "link A passes the vertical"),
            Guard("vertical_B", elbow.position[0] - b.position[0], "ignore", "both", "link B passes the vertical"),
        ),
        start={"dtheta1": 0.902, "dtheta2": 10.935},
        until=0.85,
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
        profiles={
            "swing": Profile(
                Timed(swap_t=0.428, motor_t=0.025, torque=0.66, cycle_t=0.861),
                until=8.6,
                about="the paper's open-loop gait: ten swings by a clock of milliseconds",
            )
        },
        skeleton=(("A", "elbow"), ("elbow", "B")),
        about="two links with a magnet at each end, which hold on anywhere on a wall, and a motor at the elbow",
    )
