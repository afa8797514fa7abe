"""What everything that meets a ground has in common: it is open, sticks or rolls, slips, and has friction and a law."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact._law import Law
from saltus.mechanism import Point


class OnGround:
    """A base for units that meet a ground; they add where they touch, their rows and their equations."""

    point: Point
    gap: Any
    friction: Any
    law: Law
    open_name: str

    slips: tuple[str, ...]
    coordinate = None
    gate = None
    held_name = "stick"
    impacts = ("touch",)
    damping = ()

    @property
    def name(self) -> str:
        """The point's name."""
        return self.point.name

    @property
    def statuses(self) -> tuple[str, ...]:
        """Names of the statuses, in the order of their numbers."""
        return (self.open_name, self.held_name, *self.slips)

    @property
    def reach(self) -> Any:
        return ca.SX(0)

    @property
    def clearance(self) -> Any:
        return self.gap

    @property
    def coefficients(self) -> tuple[Any, ...]:
        return (self.friction, *self.law.coefficients)

    def possible(self, values: list[float]) -> tuple[int, ...]:
        # even without friction a point sticks, where nothing pushes it along the ground
        return (0, 1) if values[0] == math.inf else tuple(range(len(self.statuses)))

    def allowed(self, values: np.ndarray) -> np.ndarray:
        friction, *rest = values.T
        good = np.asarray(friction >= 0)
        for declared, value in zip(self.law.declared, rest, strict=True):
            good &= (declared.lower <= value) & (value <= declared.upper)
        return good

    def complaint(self, values: list[float]) -> str:
        friction, *rest = values
        for declared, value in zip(self.law.declared, rest, strict=True):
            if not declared.lower <= value <= declared.upper:
                bounds = f"between {declared.lower:g} and {declared.upper:g}"
                return f"{declared.name} must lie {bounds}, got {value:g}"
        return f"friction must not be negative (inf means that it never slips), got {friction:g}"

    def blocked(self, clearance: float) -> str:
        return f"point {self.name} is {-clearance:.6g} m below the ground; it must not be"
