"""Swings with a flight: both hands are free at the end of each, until the other catches."""

from __future__ import annotations

from saltus.gaits._gait import Gait
from saltus.gaits.types import pieces
from saltus.hybrid import HybridSystem

ROBOT = "monkeybot"


def make(robot: HybridSystem) -> Gait:
    return pieces.make(robot, pieces=4, flights=1, torque_limit=4.0).renamed("ricochet", __doc__)


GAIT = make
