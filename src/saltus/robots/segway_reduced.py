"""The Segway with rolling put in, in the encoder's angle: two coordinates, theta and phi [vigne2019, eq. 14]."""

from __future__ import annotations

import casadi as ca

from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism
from saltus.mechanism._joints import Pose
from saltus.robots import _segway as shared


def build() -> HybridSystem:
    m = Mechanism("segway_reduced")
    n = shared.numbers(m)

    def rolled(theta: object, phi: object) -> Pose:
        return Pose(ca.vertcat(n.r * (theta + phi), n.r), -theta)  # type: ignore[operator]

    *_, head = shared.bodies(
        m, n, shared.Rolling(("theta", "phi"), rolled),
        lambda body: shared.Rolling((), lambda: Pose(body.pose.position, -(m.q[0] + m.q[1]))),
    )  # fmt: skip
    m.actuator("motor", "phi", limit=n.limit)
    return HybridSystem(
        m,
        guards=(shared.fall(head),),
        start={"theta": shared.TILT, "phi": -shared.TILT},
        until=10.0,
        controllers={"pd": shared.pd()},
        profiles=shared.profiles(),
        skeleton=shared.SKELETON,
        about="the Segway without a contact: its wheel always rolls, at r (theta + phi)",
    )
