"""The symmetrical swing of [ufford2009, 4.1]: up to the old hand's height, change hands, motor, to the vertical."""

from __future__ import annotations

import casadi as ca

from saltus.gaits._gait import Gait
from saltus.gaits._phase import Phase
from saltus.hybrid import HybridSystem
from saltus.mechanism import Parameter

ROBOT = "monkeybot"
DEFAULT = True


def make(robot: HybridSystem) -> Gait:
    m, d = robot.mechanism, robot.dynamics
    level = m.points["B"].position[1] - m.points["A"].position[1]
    torque, energy = ca.SX.sym("motor_torque"), ca.SX.sym("energy")
    return Gait(
        "swing",
        robot,
        phases=(
            Phase("switch", "A", ends=level, direction="up"),
            Phase(
                "motor",
                "A",
                ends=d.kinetic + d.potential - energy,
                direction="up",
                inputs={"elbow": torque},
                relabel=True,
            ),
            Phase("vertical", "A", ends=m.coordinate("theta1").symbol),
        ),
        section={"theta1": 0.0},
        start={"dtheta1": 0.902, "dtheta2": 10.935},
        unknowns=("dtheta1", "dtheta2"),
        knobs={
            "motor_torque": Parameter(
                "motor_torque", 0.66, "N m", "until the energy is restored", source="inferred", lower=0.0
            )
        },
        symbols={"motor_torque": torque, "energy": energy},
        remembered={"energy": d.kinetic + d.potential},
        about=__doc__.split(": ", 1)[1],
    )


GAIT = make
