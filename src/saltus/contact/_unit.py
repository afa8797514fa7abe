"""What every unit has to say, and the numbers that compiled code knows its kinds and guards by."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from saltus.contact._equations import Equations
from saltus.contact._law import Law
from saltus.mechanism import Coordinate

GROUND, GRIP, JOINT, SPACE = range(4)

# Kinds of what meets a ground: the second row is normal to it, the others lie along it.
GROUNDS = (GROUND, SPACE)

# Guards that a unit has at most.
SLOTS = 3

# What a guard of a unit leads to, beside a status: an impact, or a test of all statuses.
IMPACT, TEST = -1, -2

# How a guard is evaluated: not active, from positions and velocities, from contact forces.
NONE, KINEMATIC, FORCE = range(3)

# What a kinematic guard is made of: a position, a velocity, or a distance from where a grip can hold.
POSITION, SPEED, REACH = range(3)

# What a controller may ask of a grip; anything else means no wish. AGAIN closes one that is within reach at that
# instant, even if it has let go there and not left; elsewhere it does nothing.
CLOSE, RELEASE, AGAIN = 1, -1, 2

# What causes a change of status beside a unit's own guards and commands: forces or velocities jump, by an input, by an
# impact or a command elsewhere, or where another unit's friction turns round.
JUMP = "jump"


class Unit(Protocol):
    """One thing that can hold or let go."""

    @property
    def name(self) -> str:
        """Its name, which no other unit or guard has."""

    @property
    def kind(self) -> int:
        """GROUND, GRIP, JOINT or SPACE."""

    @property
    def statuses(self) -> tuple[str, ...]:
        """Names of the statuses, in the order of their numbers."""

    @property
    def guard_names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the guards of each status."""

    @property
    def impacts(self) -> tuple[str, ...]:
        """Those of its guards that are impacts."""

    @property
    def rows(self) -> tuple[tuple[str, Any], ...]:
        """Direction and position of each row that it can close, expressions of the coordinates, or velocities."""

    @property
    def reach(self) -> Any:
        """Distance from where it can hold, not positive there; zero if that is everywhere."""

    @property
    def clearance(self) -> Any:
        """What must not be negative at the start of a run."""

    @property
    def coordinate(self) -> Coordinate | None:
        """The coordinate that its one row is, if it is one."""

    @property
    def gate(self) -> str | None:
        """The grip that must be closed for it to act, if there is one."""

    @property
    def law(self) -> Law | None:
        """What happens at an impact; None where that is not for the user to choose."""

    @property
    def coefficients(self) -> tuple[Any, ...]:
        """The numbers of its behaviour, expressions of the parameters."""

    @property
    def fixed(self) -> tuple[Any, ...]:
        """Everything else that must not depend on the state."""

    @property
    def damping(self) -> tuple[tuple[str, Any], ...]:
        """Coordinates that it damps, with the coefficients."""

    def equations(self, status: int) -> Equations:
        """How its rows act in a status."""

    def possible(self, values: list[float]) -> tuple[int, ...]:
        """Statuses that can occur with these values of its coefficients."""

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        """Every change of status that can occur with them: from, what causes it, to."""

    def allowed(self, values: np.ndarray) -> np.ndarray:
        """Which rows of values of its coefficients are allowed."""

    def complaint(self, values: list[float]) -> str:
        """What is wrong with values of its coefficients that are not allowed."""

    def blocked(self, clearance: float) -> str:
        """What is wrong with a start of negative clearance."""
