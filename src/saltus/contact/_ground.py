"""The ground point: a point of a robot that meets a straight ground, sticks, slips or leaves it.

The functions with lower-case names and scalar arguments are the whole of its behaviour; the
engine compiles them. Rows of a ground point are tangential, then normal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from saltus._native import compiled
from saltus.contact._equations import Equations
from saltus.contact._law import Law, plastic
from saltus.mechanism import Point

OPEN, STICK, SLIP_PLUS, SLIP_MINUS = range(4)
STATUSES = ("open", "stick", "slip+", "slip-")

# What a guard of a unit leads to, beside a status: an impact, or a test of all statuses.
IMPACT, TEST = -1, -2

# How a guard is evaluated: not active, from positions and velocities, from contact forces.
NONE, KINEMATIC, FORCE = range(3)

GUARD_NAMES = (
    ("touch", "", ""),
    ("lift", "cone+", "cone-"),
    ("lift", "turn", ""),
    ("lift", "turn", ""),
)


@dataclass(frozen=True)
class GroundPoint:
    """A point that can meet the ground.

    Parameters
    ----------
    point
        The material point.
    friction
        Coulomb's coefficient: a number or an expression of the parameters.
    law
        What happens at an impact.
    slope
        Angle of the ground, in rad; the tangent points to (cos, sin) of it.
    through
        A point of the ground, in m.
    open_name
        What this unit's open status is called in reports.
    """

    point: Point
    friction: Any = 0.0
    law: Law = field(default_factory=plastic)
    slope: Any = 0.0
    through: tuple[Any, Any] = (0.0, 0.0)
    open_name: str = "open"

    @property
    def name(self) -> str:
        """The point's name."""
        return self.point.name

    @property
    def slide(self) -> Any:
        """Position along the ground."""
        away = self.point.position - ca.vertcat(*self.through)
        return ca.cos(self.slope) * away[0] + ca.sin(self.slope) * away[1]

    @property
    def gap(self) -> Any:
        """Distance from the ground."""
        away = self.point.position - ca.vertcat(*self.through)
        return ca.cos(self.slope) * away[1] - ca.sin(self.slope) * away[0]

    @property
    def statuses(self) -> tuple[str, ...]:
        """Names of the statuses, in the order of their numbers."""
        return (self.open_name, *STATUSES[1:])

    @property
    def positions(self) -> tuple[Any, ...]:
        """What each row is the rate of."""
        return self.slide, self.gap

    def equations(self, status: int) -> Equations:
        """What a status asks of the tangential and the normal row."""
        if status == OPEN:
            return Equations()
        if status == STICK:
            return Equations(closed=(0, 1))
        sigma = 1 if status == SLIP_PLUS else -1
        return Equations(closed=(1,), ties=((0, 1, -sigma * self.friction),))


@compiled
def guard_kinds(status):
    """How each of the three guards of a status is evaluated."""
    if status == OPEN:
        return KINEMATIC, NONE, NONE
    if status == STICK:
        return FORCE, FORCE, FORCE
    return FORCE, KINEMATIC, NONE


@compiled
def guard_values(status, gap, v_t, f_t, f_n, mu):
    """The guards of a status, positive inside: gap; or normal force and both faces of the cone,
    or normal force and speed of slip."""
    if status == OPEN:
        return gap, 1.0, 1.0
    if status == STICK:
        return f_n, mu * f_n - f_t, mu * f_n + f_t
    if status == SLIP_PLUS:
        return f_n, v_t, 1.0
    return f_n, -v_t, 1.0


@compiled
def edge(status, slot):
    """Where a guard leads: a status, IMPACT or TEST."""
    if status == OPEN:
        return IMPACT
    if slot == 0:
        return OPEN
    if status == STICK:
        return SLIP_MINUS if slot == 1 else SLIP_PLUS
    return TEST


@compiled
def candidates(status_ended, v_t, still):
    """The statuses, as bits, that a point on the ground with no normal velocity may take next."""
    if still:
        bits = 15
    elif v_t > 0.0:
        bits = (1 << OPEN) | (1 << SLIP_PLUS)
    else:
        bits = (1 << OPEN) | (1 << SLIP_MINUS)
    if status_ended >= 0:
        bits &= ~(1 << status_ended)
    return bits


@compiled
def tie(status, mu):
    """The ratio of tangential to normal force in slip."""
    if status == SLIP_PLUS:
        return -mu
    if status == SLIP_MINUS:
        return mu
    return 0.0


@compiled
def margins(status, still, f_t, f_n, a_t, a_n, mu):
    """Two numbers that are positive where a status is consistent: one a force or, if open, an
    acceleration; the other a force or, if about to slip, an acceleration."""
    if status == OPEN:
        return a_n, 1.0e300
    if status == STICK:
        return f_n, mu * f_n - abs(f_t)
    if not still:
        return f_n, 1.0e300
    if status == SLIP_PLUS:
        return f_n, a_t
    return f_n, -a_t


def guard_values_of(status, gap, v_t, f_t, f_n, mu):  # type: ignore[no-untyped-def]
    """The guards of many states at once, and how each is evaluated: arrays of shape (states, 3)."""
    values = [guard_values.py_func(*row, mu) for row in zip(status, gap, v_t, f_t, f_n, strict=True)]
    kinds = [guard_kinds.py_func(s) for s in status]
    return np.array(values).reshape(-1, 3), np.array(kinds).reshape(-1, 3)
