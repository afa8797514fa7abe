"""The rolling balancer of Vigne in its sagittal plane: a body on a wheel, which rolls, slips, lifts off and falls."""

from __future__ import annotations

import math

from saltus.contact import Wheel
from saltus.hybrid import HybridSystem
from saltus.mechanism import Fixed, Floating, Mechanism, Revolute
from saltus.robots._segway import SKELETON, TILT, bodies, fall, lqr, numbers, pd, profiles


def build() -> HybridSystem:
    m = Mechanism("segway")
    n = numbers(m)
    mu = m.parameter("mu", math.inf, "1", "friction of the ground; ideal rolling if infinite", lower=0, infinite=True)
    # x is that of the axle; y is the height of the wheel over the ground, so that it stands whatever its radius
    stand = m.body("stand", Fixed((0, n.r)))
    # angles count forwards as in the paper: theta from the vertical, phi of the wheel from the body
    _, wheel, head = bodies(
        m, n, Floating("x", "y", "theta", sense=-1), lambda body: Revolute("phi", sense=-1), parent=stand
    )
    m.actuator("motor", "phi", limit=n.limit)
    # where it is, which is theta + phi if it has never slipped
    m.reading("psi", m.q[0] / n.r, "rad")
    return HybridSystem(
        m,
        units=(Wheel(m.points["axle"], wheel, n.r, friction=mu),),
        guards=(fall(head),),
        start={"theta": TILT},
        until=10.0,
        controllers={"pd": pd(), "lqr": lqr()},
        profiles=profiles(),
        skeleton=SKELETON,
        about="a body that balances on a wheel with one motor between them; ideal rolling, or slip with a finite mu",
    )
