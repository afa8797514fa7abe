"""The pivot: friction of a link about the hand that holds it, and none while the hand is open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._finite import as_float
from saltus._whole import sent_whole
from saltus.contact._equations import Equations
from saltus.contact._grip import Grip
from saltus.contact._joint import FREE, MINUS, PLUS, STUCK, JointUnit
from saltus.contact._unit import JOINT, JUMP
from saltus.errors import InputError


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Pivot:
    """Friction of a link that turns about a closed grip: a joint that is there only while the grip is closed.

    Parameters
    ----------
    grip
        The grip; while it is open, the status is ``free`` and there is no friction.
    angle
        The link's angle in the world, a sum of coordinates.
    coulomb
        Dry friction, the torque that it takes to turn, N m.
    viscous
        Torque per rate, N m s/rad.
    """

    grip: Grip
    angle: Any
    coulomb: Any = 0.0
    viscous: Any = 0.0

    kind = JOINT
    coordinate = None
    law = None
    statuses = ("free", "stuck", "turns+", "turns-")
    guard_names = (("", "", ""), ("limit-", "limit+", ""), ("", "turn", ""), ("", "turn", ""))
    impacts = ()
    damping = ()

    def __post_init__(self) -> None:
        if isinstance(self.viscous, Real) and not 0 <= as_float(self.viscous) < math.inf:
            raise InputError(f"{self.name}: viscous friction must be finite and not negative, got {self.viscous:g}")

    @property
    def name(self) -> str:
        """The grip's name, and what this is of it."""
        return f"{self.grip.name}_pivot"

    @property
    def gate(self) -> str:
        return self.grip.name

    @property
    def rows(self) -> tuple[tuple[str, Any], ...]:
        return (("q", self.angle),)

    @property
    def reach(self) -> Any:
        return ca.SX(0)

    @property
    def clearance(self) -> Any:
        return ca.SX(0)

    @property
    def coefficients(self) -> tuple[Any, ...]:
        # as a joint without stops; the engine puts zero for the first while the grip is open
        return (self.coulomb, -math.inf, math.inf, self.coulomb, self.viscous)

    @property
    def fixed(self) -> tuple[Any, ...]:
        return ()

    def equations(self, status: int) -> Equations:
        if status == STUCK:
            return Equations(closed=(0,))
        if status in (PLUS, MINUS):
            return Equations(given=((0, -self.coulomb if status == PLUS else self.coulomb),))
        return Equations()

    def possible(self, values: list[float]) -> tuple[int, ...]:
        return (FREE, STUCK, PLUS, MINUS) if values[0] > 0 else (FREE,)

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        if not values[0] > 0:
            return ()
        # with the grip, it comes and goes
        own = JointUnit.edges(self, values[:3])  # type: ignore[arg-type]
        return (*own, *((FREE, JUMP, new) for new in (STUCK, PLUS, MINUS)), *((s, JUMP, FREE) for s in (1, 2, 3)))

    def allowed(self, values: np.ndarray) -> np.ndarray:
        dry, viscous = values[:, 0], values[:, 4]
        return np.asarray((dry >= 0) & np.isfinite(dry) & (viscous >= 0) & np.isfinite(viscous))

    def complaint(self, values: list[float]) -> str:
        return f"friction must be finite and not negative, got {values[0]:g} and {values[4]:g}"

    def blocked(self, clearance: float) -> str:
        return ""
