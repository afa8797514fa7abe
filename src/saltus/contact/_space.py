"""Contacts with a level ground in space: points and wheels that stick or roll, slip in any direction, or leave it.

The functions with lower-case names and scalar arguments are the whole of their behaviour; the
engine compiles them. Rows are forward, normal, sideways. What slips has one status, since it may slip in any direction;
the engine keeps that direction, and gives the speed along it and the size of the friction force.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus._whole import sent_whole
from saltus.contact._equations import Equations
from saltus.contact._law import Law, plastic
from saltus.contact._on_ground import OnGround
from saltus.contact._unit import FORCE, IMPACT, JUMP, KINEMATIC, NONE, SPACE, TEST
from saltus.errors import InputError, unknown_name
from saltus.mechanism import Body, Point, Velocity
from saltus.mechanism._space import _unit, cross

OPEN, STICK, SLIP = range(3)

CONTACTS = ("rim", "upright")

# Slower than this, m/s, a slip that begins has turned to where its acceleration points before anything else changes.
SLOWEST = 1e-6

# The axis of a wheel that is as near to the vertical as this, rad, is vertical.
FLAT = 1e-9


def _allowed(value: Any, lower: float, *, strict: bool = False, infinite: bool = False) -> bool:
    """Whether a value is a number that is not too small, or an expression, of which only its value can tell."""
    if not isinstance(value, Real):
        return isinstance(value, ca.SX)
    number = float(value)
    return (number > lower if strict else number >= lower) and (infinite or math.isfinite(number))


class _OnLevelGround(OnGround, ABC):
    """What points and wheels have in common: everything but where they touch."""

    height: Any

    kind = SPACE
    slips = ("slip",)
    guard_names = (("touch", "", ""), ("lift", "cone", ""), ("lift", "turn", ""))

    def __post_init__(self) -> None:
        name = f"contact {self.point.name}"
        if not _allowed(self.friction, 0.0, infinite=True):
            raise InputError(
                f"{name}: friction must be a number that is not negative (inf means that it never slips) or an "
                f"expression, got {self.friction!r}"
            )
        if not _allowed(self.height, -math.inf):
            raise InputError(f"{name}: height must be a finite number or an expression, got {self.height!r}")

    @property
    @abstractmethod
    def rows(self) -> tuple[tuple[str, Velocity], ...]:
        """Velocities forward, normal to the ground and sideways."""

    @property
    def gap(self) -> Any:
        """Distance from the ground."""
        return self.rows[1][1].position

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (self.height,)

    def equations(self, status: int) -> Equations:
        if status == OPEN:
            return Equations()
        if status == STICK:
            return Equations(closed=(0, 1, 2))
        along, side = self.rows[0][1].velocity, self.rows[2][1].velocity
        ratio = -self.friction / ca.sqrt(along**2 + side**2)
        return Equations(closed=(1,), ties=((0, 1, ratio * along), (2, 1, ratio * side)))

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        possible = self.possible(values)
        every = (
            *((OPEN, "touch", new) for new in possible),
            (STICK, "lift", OPEN),
            (STICK, "cone", SLIP),
            (SLIP, "turn", STICK),
            (SLIP, "turn", SLIP),
            (SLIP, "lift", OPEN),
            *((old, JUMP, new) for old in (STICK, SLIP) for new in possible if new != old),
        )
        return tuple(edge for edge in every if edge[0] in possible and edge[2] in possible)


@sent_whole
@equal_by_content
@dataclass(frozen=True, eq=False)
class SpatialPoint(_OnLevelGround):
    """A point of a body in space that can meet a level ground.

    Parameters
    ----------
    point, body
        The material point, and the body that it is of.
    friction
        Coulomb's coefficient, a number or an expression of the parameters; infinite, it never slips.
    law
        What happens at an impact.
    height
        Of the ground, m.
    open_name
        What this unit's open status is called in reports.
    """

    point: Point
    body: Body
    friction: Any = math.inf
    law: Law = field(default_factory=plastic)
    height: Any = 0.0
    open_name: str = "open"

    @cached_property
    def rows(self) -> tuple[tuple[str, Velocity], ...]:
        velocity, drift = self.body.velocity(self.point.at)
        place = self.point.position - ca.vertcat(0, 0, self.height)
        names = (("t", 0), ("n", 2), ("s", 1))
        return tuple((name, Velocity(velocity[k], drift[k], place[k])) for name, k in names)


@sent_whole
@equal_by_content
@dataclass(frozen=True, eq=False)
class SpatialWheel(_OnLevelGround):
    """A wheel in space that rolls on a level ground, slips on it or leaves it.

    Rolling is a matter of velocities: no position stands still. The force has a part forward, across the axle and along
    the ground, a normal part, and a part sideways, to the left of forward.

    Parameters
    ----------
    point
        The centre, a point of the body.
    body
        The body that turns with the wheel.
    radius
        In m: a number or an expression of the parameters.
    axis
        Of the wheel, in the axes of the body, of any length; forward is to the right of it, seen from above. Where it
        is vertical the wheel lies flat and touches everywhere at once: no start may be there.
    contact
        Where it touches: ``rim``, the lowest point of the rim of a thin disc that may lean, or ``upright``, straight
        below the centre, which is true of a wheel that does not lean [vigne2019, 2.2].
    friction, law, height, open_name
        As for a point.
    """

    point: Point
    body: Body
    radius: Any
    axis: tuple[float, float, float] = (0, 1, 0)
    contact: str = "rim"
    friction: Any = math.inf
    law: Law = field(default_factory=plastic)
    height: Any = 0.0
    open_name: str = "open"

    held_name = "roll"

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f"wheel {self.point.name}"
        if self.contact not in CONTACTS:
            raise unknown_name("contact", self.contact, CONTACTS, what)
        object.__setattr__(self, "axis", _unit(self.axis, what))
        if not _allowed(self.radius, 0.0, strict=True):
            raise InputError(f"{what}: radius must be a positive number or an expression, got {self.radius!r}")

    @cached_property
    def rows(self) -> tuple[tuple[str, Velocity], ...]:
        # Notation: a axis, w spin, v velocity of the centre; forward t = a x z / c, s = z x t, with c = |a x z|
        a, w, v = (ca.SX.sym(name, 3) for name in "awv")
        z = ca.vertcat(0, 0, 1)
        c = ca.sqrt(a[0] ** 2 + a[1] ** 2)
        t, s = ca.vertcat(a[1], -a[0], 0) / c, ca.vertcat(a[0], a[1], 0) / c
        arm = self.radius * (a[2] * s - c * z) if self.contact == "rim" else -self.radius * z
        moves = v + cross(w, arm)
        velocities = ca.vertcat(ca.dot(t, moves), moves[2], ca.dot(s, moves))
        velocity, bias = self.body.velocity(self.point.at)
        R, m = self.body.pose.rotation, self.body.motion
        axis, spin = self.body.pose.direction(self.axis), R @ m.spin
        old = ca.vertcat(a, w, v)
        now = ca.vertcat(axis, spin, velocity)
        drifts = ca.jtimes(velocities, old, ca.vertcat(cross(w, a), R @ m.spin_bias, bias))
        velocities, drifts = ca.substitute(velocities, old, now), ca.substitute(drifts, old, now)
        low = self.radius * (ca.sqrt(axis[0] ** 2 + axis[1] ** 2) if self.contact == "rim" else 1)
        gap = self.point.position[2] - self.height - low
        positions = (None, gap, None)
        return tuple(
            (name, Velocity(velocities[k], drifts[k], position))
            for k, (name, position) in enumerate(zip("tns", positions, strict=True))
        )

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (self.height, self.radius)

    @property
    def clearance(self) -> Any:
        """The gap; not a number where the wheel lies flat."""
        axis = self.body.pose.direction(self.axis)
        return ca.if_else(axis[0] ** 2 + axis[1] ** 2 > FLAT**2, self.gap, math.nan)

    def blocked(self, clearance: float) -> str:
        if math.isnan(clearance):
            return f"wheel {self.name} lies flat, its axis vertical: it touches nowhere in particular; let it lean less"
        return super().blocked(clearance)


@compiled
def guard_kinds(status, mu):
    """How each of the three guards of a status is evaluated; what never slips has no cone."""
    if status == OPEN:
        return KINEMATIC, NONE, NONE
    if status == STICK:
        return FORCE, FORCE if mu < math.inf else NONE, NONE
    return FORCE, KINEMATIC if mu > 0.0 else NONE, NONE


@compiled
def guard_values(status, gap, speed, friction, f_n, mu):
    """The guards of a status, positive inside: gap; or normal force and what is left of the cone, or speed of slip."""
    if status == OPEN:
        return gap, 1.0, 1.0
    if status == STICK:
        return f_n, mu * f_n - friction if mu < math.inf else 1.0, 1.0
    return f_n, speed, 1.0


@compiled
def edge(status, slot):
    """Where a guard leads: a status, IMPACT or TEST."""
    if status == OPEN:
        return IMPACT
    if slot == 0:
        return OPEN
    return SLIP if status == STICK else TEST


@compiled
def candidates(status_ended, still, mu):
    """The statuses, as bits, that a point on the ground with no normal velocity may take next."""
    bits = 1 << OPEN
    if still:
        bits |= 1 << STICK
    if mu < math.inf:
        bits |= 1 << SLIP
    if status_ended >= 0:
        bits &= ~(1 << status_ended)
    return bits


@compiled
def margins(status, touch, still, friction, f_n, growth, a_n, mu):
    """Two numbers that are positive where a status is consistent, and whether each is a force."""
    if touch == 0:
        return 1.0e300, 1.0e300, True, True
    if status == OPEN:
        return a_n, 1.0e300, False, True
    if status == STICK:
        return f_n, mu * f_n - friction if mu < math.inf else 1.0e300, True, True
    return f_n, growth if still else 1.0e300, True, not still


@compiled
def direction(along, side, last_along, last_side, slow):
    """The direction of slip, measured from the last one, along which it counts as no slower than ``slow``.

    So friction does not turn round where a step goes beyond the end of a slip.
    """
    forward = max(along * last_along + side * last_side, slow)
    across = side * last_along - along * last_side
    size = math.sqrt(forward * forward + across * across)
    if not size > 0.0:
        return last_along, last_side
    x, y = forward / size, across / size
    return x * last_along - y * last_side, x * last_side + y * last_along
