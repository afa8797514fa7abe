"""The Segway with rolling put in, in the angle that its wheel has rolled: theta and psi = x / r [vigne2019, eq. 18]."""

from __future__ import annotations

import casadi as ca

from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism
from saltus.mechanism._joints import Pose
from saltus.robots._segway import SKELETON, TILT, Rolling, bodies, fall, numbers, pd, profiles


def build() -> HybridSystem:
    m = Mechanism("segway_rolled")
    n = numbers(m)

    def rolled(theta: object, psi: object) -> Pose:
        return Pose(ca.vertcat(n.r * psi, n.r), -theta)  # type: ignore[operator]

    *_, head = bodies(
        m, n, Rolling(("theta", "psi"), rolled),
        lambda body: Rolling((), lambda: Pose(body.pose.position, -m.q[1])),
    )  # fmt: skip
    # the motor sits between body and wheel: it turns psi - theta
    m.actuator("motor", m.q[1] - m.q[0], limit=n.limit)
    return HybridSystem(
        m,
        guards=(fall(head),),
        start={"theta": TILT},
        until=10.0,
        controllers={"pd": pd()},
        profiles=profiles(),
        skeleton=SKELETON,
        about="the Segway without a contact, in how far it has rolled: its wheel is at r psi",
    )
