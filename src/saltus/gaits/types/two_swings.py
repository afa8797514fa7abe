"""Two different swings in each cycle, by the clock alone."""

from __future__ import annotations

from saltus.gaits._gait import Gait
from saltus.gaits.types import pieces
from saltus.hybrid import HybridSystem

ROBOT = "monkeybot"


def make(robot: HybridSystem) -> Gait:
    return pieces.make(robot, pieces=3, swings=2, torque_limit=3.0).renamed("two_swings", __doc__)


GAIT = make
