"""What a status of a unit means for the forces and accelerations of the unit's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Equations:
    """One equation for the force of each row; the force of a row that is not named is zero.

    Parameters
    ----------
    closed
        Rows that do not accelerate; their forces are unknown.
    ties
        Rows whose force is a multiple of a closed row's: (row, closed row, ratio).
    given
        Rows whose force is known: (row, force).
    """

    closed: tuple[int, ...] = ()
    ties: tuple[tuple[int, int, Any], ...] = ()
    given: tuple[tuple[int, Any], ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the unit exerts no force at all."""
        return not (self.closed or self.ties or self.given)
