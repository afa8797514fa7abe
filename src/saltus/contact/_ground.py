"""The ground point and the wheel: what meets a straight ground, sticks or rolls on it, slips or leaves it.

Where friction is infinite nothing slips: contacts stick, as ideal wheels roll, or they are open.

The functions with lower-case names and scalar arguments are the whole of their behaviour; the
engine compiles them. Rows are tangential, then normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus._whole import sent_whole
from saltus.contact._equations import Equations
from saltus.contact._law import Law, plastic
from saltus.contact._on_ground import OnGround
from saltus.contact._unit import FORCE, GROUND, IMPACT, JUMP, KINEMATIC, NONE, TEST
from saltus.mechanism import Body, Point

OPEN, STICK, SLIP_PLUS, SLIP_MINUS = range(4)

EDGES = (
    (OPEN, "touch", OPEN),
    (OPEN, "touch", STICK),
    (OPEN, "touch", SLIP_PLUS),
    (OPEN, "touch", SLIP_MINUS),
    (STICK, "lift", OPEN),
    (STICK, "cone-", SLIP_PLUS),
    (STICK, "cone+", SLIP_MINUS),
    (SLIP_PLUS, "turn", STICK),
    (SLIP_PLUS, "turn", SLIP_MINUS),
    (SLIP_PLUS, "lift", OPEN),
    (SLIP_MINUS, "turn", STICK),
    (SLIP_MINUS, "turn", SLIP_PLUS),
    (SLIP_MINUS, "lift", OPEN),
    # a slide that has only just begun is decided anew as sticking is
    *((old, JUMP, new) for old in (STICK, SLIP_PLUS, SLIP_MINUS) for new in range(4) if new != old),
)


class _OnGround(OnGround):
    """What ground points and wheels have in common: everything but what is measured along the ground."""

    slope: Any
    through: tuple[Any, Any]

    kind = GROUND
    slips = ("slip+", "slip-")
    guard_names = (("touch", "", ""), ("lift", "cone+", "cone-"), ("lift", "turn", ""), ("lift", "turn", ""))

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

    @cached_property
    def rows(self) -> tuple[tuple[str, Any], ...]:
        return (("t", self.slide), ("n", self.gap))

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (self.slope, *self.through)

    def equations(self, status: int) -> Equations:
        if status == OPEN:
            return Equations()
        if status == STICK:
            return Equations(closed=(0, 1))
        return Equations(closed=(1,), ties=((0, 1, -self.friction if status == SLIP_PLUS else self.friction),))

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        known = self.possible(values)
        return tuple(one for one in EDGES if one[0] in known and one[2] in known)


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class GroundPoint(_OnGround):
    """A point that can meet the ground.

    Parameters
    ----------
    point
        The material point.
    friction
        Coulomb's coefficient: a number or an expression of the parameters; infinite if it never slips.
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


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Wheel(_OnGround):
    """A round wheel that rolls on the ground, slips on it or leaves it.

    In the plane rolling is a matter of positions: centre plus radius times angle stands still.
    What slips is the lowest point of the rim.

    Parameters
    ----------
    point
        The centre.
    body
        The body that turns with the wheel.
    radius
        In m: a number or an expression of the parameters.
    friction, law, slope, through, open_name
        As for a ground point.
    """

    point: Point
    body: Body
    radius: Any
    friction: Any = 0.0
    law: Law = field(default_factory=plastic)
    slope: Any = 0.0
    through: tuple[Any, Any] = (0.0, 0.0)
    open_name: str = "open"

    held_name = "roll"

    @property
    def slide(self) -> Any:
        """How far the rim has slipped: the centre's way plus what has been rolled back."""
        return super().slide + self.radius * self.body.pose.angle

    @property
    def gap(self) -> Any:
        """Distance of the rim from the ground."""
        return super().gap - self.radius

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (*super().fixed, self.radius)


@compiled
def guard_kinds(status, mu):
    """How each of the three guards of a status is evaluated; without friction nothing happens when sliding turns."""
    if status == OPEN:
        return KINEMATIC, NONE, NONE
    if status == STICK:
        return (FORCE, NONE, NONE) if mu == math.inf else (FORCE, FORCE, FORCE)
    return FORCE, KINEMATIC if mu > 0.0 else NONE, NONE


@compiled
def guard_values(status, gap, v_t, f_t, f_n, mu):
    """The guards of a status, positive inside: gap; or normal force and both faces of the cone,
    or normal force and speed of slip."""
    if status == OPEN:
        return gap, 1.0, 1.0
    if status == STICK:
        return (f_n, 1.0, 1.0) if mu == math.inf else (f_n, mu * f_n - f_t, mu * f_n + f_t)
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
def candidates(status_ended, v_t, still, mu):
    """The statuses, as bits, that a point on the ground with no normal velocity may take next."""
    if mu == math.inf:
        bits = (1 << OPEN) | (1 << STICK) if still else 1 << OPEN
    elif still:
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
def margins(status, touch, still, f_t, f_n, a_t, a_n, mu):
    """Two numbers that are positive where a status is consistent, and whether each is a force."""
    if touch == 0:
        return 1.0e300, 1.0e300, True, True
    if status == OPEN:
        return a_n, 1.0e300, False, True
    if status == STICK:
        return f_n, 1.0e300 if mu == math.inf else mu * f_n - abs(f_t), True, True
    if not still:
        return f_n, 1.0e300, True, True
    return f_n, a_t if status == SLIP_PLUS else -a_t, True, False
