"""The Segway with rolling put in, in the encoder's angle: two coordinates, theta and phi [vigne2019, eq. 14]."""

from __future__ import annotations

import casadi as ca

from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism
from saltus.mechanism._joints import Pose
from saltus.robots._segway import SKELETON, TILT, Rolling, bodies, fall, numbers, pd, profiles


def build() -> HybridSystem:
    m = Mechanism("segway_reduced")
    n = numbers(m)

    def rolled(theta: object, phi: object) -> Pose:
        return Pose(ca.vertcat(n.r * (theta + phi), n.r), -theta)  # type: ignore[operator]

    *_, head = bodies(
        m, n, Rolling(("theta", "phi"), rolled),
        lambda body: Rolling((), lambda: Pose(body.pose.position, -(m.q[0] + m.q[1]))),
    )  # fmt: skip
    m.actuator("motor", "phi", limit=n.limit)
    return HybridSystem(
        m,
        guards=(fall(head),),
        start={"theta": TILT, "phi": -TILT},
        until=10.0,
        controllers={"pd": pd()},
        profiles=profiles(),
        skeleton=SKELETON,
        about="the Segway without a contact: its wheel always rolls, at r (theta + phi)",
    )
