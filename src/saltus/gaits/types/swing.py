"""The symmetrical swing of [ufford2009, 4.1]: up to the old hand's height, change hands, motor, to the vertical."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import casadi as ca

from saltus.gaits._gait import Gait
from saltus.gaits._phase import Phase
from saltus.gaits._rest import Rest
from saltus.hybrid import HybridSystem
from saltus.mechanism import Parameter

ROBOT = "monkeybot"
DEFAULT = True


def make(robot: HybridSystem) -> Gait:
    m, d = robot.mechanism, robot.dynamics
    energy_now = d.kinetic + d.potential
    level = m.points["B"].position[1] - m.points["A"].position[1]
    torque, energy = ca.SX.sym("motor_torque"), ca.SX.sym("energy")
    up = Phase("switch", "A", ends=level, direction="up")
    down = Phase("vertical", "A", ends=m.coordinate("theta1").symbol)

    return Gait(
        "swing",
        robot,
        phases=(
            up,
            Phase("motor", "A", ends=energy_now - energy, direction="up", inputs={"elbow": torque}, relabel=True),
            down,
        ),
        section={"theta1": 0.0},
        start={"dtheta1": 0.902, "dtheta2": 10.935},
        unknowns=("dtheta1", "dtheta2"),
        knobs={
            "motor_torque": Parameter("motor_torque", 0.66, "N m", "until the energy is back", "inferred", lower=0.0)
        },
        symbols={"motor_torque": torque, "energy": energy},
        remembered={"energy": energy_now},
        rest=Rest(_at_rest, (0.0, math.pi), fall=down, whole=(up, replace(down, relabel=True)), zero="theta2"),
        about=__doc__.split(": ", 1)[1],
    )


def _at_rest(parameters: Mapping[str, float], lean: float) -> dict[str, float]:
    """B to the left of A, at its height, with the elbow below."""
    length = parameters["L1"] / parameters["L2"]
    return {"theta1": -lean, "theta2": lean - math.acos(-length * math.cos(lean))}


GAIT = make
