"""No input at all."""

from __future__ import annotations

from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus.engine import Control
from saltus.hybrid import HybridSystem


@equal_by_content
@dataclass(frozen=True)
class Passive:
    """Leave the robot to itself."""

    def bind(self, system: HybridSystem) -> Control:
        return Control()


CONTROLLER = Passive
