"""Swings by the clock alone that end higher than they began: more pieces, and more torque."""

from __future__ import annotations

from saltus.gaits._gait import Gait
from saltus.gaits.types import pieces
from saltus.hybrid import HybridSystem

ROBOT = "monkeybot"


def make(robot: HybridSystem) -> Gait:
    return pieces.make(robot, pieces=4, torque_limit=6.0).renamed("climb", __doc__)


GAIT = make
