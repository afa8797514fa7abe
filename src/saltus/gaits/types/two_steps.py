"""Two swings as one cycle: each hand holds once, so that the two links need not be alike."""

from __future__ import annotations

from dataclasses import replace

from saltus.gaits._gait import Gait
from saltus.gaits.types.swing import make as swing
from saltus.hybrid import HybridSystem

ROBOT = "monkeybot"


def make(robot: HybridSystem) -> Gait:
    one = swing(robot)
    again = tuple(replace(phase, name=f"{phase.name}_2") for phase in one.phases)
    return replace(
        one,
        name="two_steps",
        phases=(*one.phases, *again),
        unknowns=("theta2", "dtheta2"),
        rest=None,
        about=__doc__.split(": ", 1)[1],
    )


GAIT = make
