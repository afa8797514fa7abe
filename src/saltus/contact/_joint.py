"""The joint with dry friction and stops: one coordinate that slides, sticks or rests against a stop.

Friction and stops of one joint are one unit, since two rows on one coordinate would be one too many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._finite import as_float
from saltus._native import compiled
from saltus._whole import sent_whole
from saltus.contact._equations import Equations
from saltus.contact._unit import FORCE, IMPACT, JOINT, JUMP, KINEMATIC, NONE, TEST
from saltus.errors import InputError
from saltus.mechanism import Coordinate

FREE, STUCK, PLUS, MINUS, LOWER, UPPER = range(6)


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class JointUnit:
    """Friction and stops of a joint.

    Parameters
    ----------
    coordinate
        What moves: ``mechanism.coordinate(name)``.
    coulomb
        Dry friction, the torque (N m) or force (N) that it takes to move: a number or an
        expression of the parameters. Without it the status is ``free``, not ``free+`` or ``free-``.
    viscous
        Torque or force per speed.
    lower, upper
        Stops, where the joint is stopped without rebound; none if infinite.
    """

    coordinate: Coordinate
    coulomb: Any = 0.0
    viscous: Any = 0.0
    lower: Any = -math.inf
    upper: Any = math.inf

    kind = JOINT
    gate = None
    law = None
    statuses = ("free", "stuck", "free+", "free-", "lower", "upper")
    guard_names = (
        ("lower", "upper", ""),
        ("limit-", "limit+", ""),
        ("upper", "turn", ""),
        ("lower", "turn", ""),
        ("push", "", ""),
        ("push", "", ""),
    )
    impacts = ("lower", "upper")

    def __post_init__(self) -> None:
        if isinstance(self.viscous, Real) and not 0 <= as_float(self.viscous) < math.inf:
            raise InputError(f"{self.name}: viscous friction must be finite and not negative, got {self.viscous:g}")

    @property
    def name(self) -> str:
        """The coordinate's name."""
        return self.coordinate.name

    @property
    def rows(self) -> tuple[tuple[str, Any], ...]:
        return (("q", self.coordinate.symbol),)

    @property
    def reach(self) -> Any:
        return ca.SX(0)

    @property
    def clearance(self) -> Any:
        q = self.coordinate.symbol
        return ca.fmin(q - self.lower, self.upper - q)

    @property
    def coefficients(self) -> tuple[Any, ...]:
        return (self.coulomb, self.lower, self.upper)

    @property
    def fixed(self) -> tuple[Any, ...]:
        return (self.viscous,)

    @property
    def damping(self) -> tuple[tuple[str, Any], ...]:
        return ((self.coordinate.name, self.viscous),)

    def equations(self, status: int) -> Equations:
        if status in (STUCK, LOWER, UPPER):
            return Equations(closed=(0,))
        if status in (PLUS, MINUS):
            return Equations(given=((0, -self.coulomb if status == PLUS else self.coulomb),))
        return Equations()

    def possible(self, values: list[float]) -> tuple[int, ...]:
        coulomb, lower, upper = values
        stops = ((LOWER,) if lower > -math.inf else ()) + ((UPPER,) if upper < math.inf else ())
        return ((STUCK, PLUS, MINUS) if coulomb > 0 else (FREE,)) + stops

    def edges(self, values: list[float]) -> tuple[tuple[int, str, int], ...]:
        dry = values[0] > 0
        # before a stop and, at once or after a rest, away from it
        stops = (
            (LOWER, "lower", MINUS if dry else FREE, PLUS if dry else FREE),
            (UPPER, "upper", PLUS if dry else FREE, MINUS if dry else FREE),
        )
        edges: list[tuple[int, str, int]] = []
        if dry:
            edges += [
                (STUCK, "limit+", PLUS),
                (STUCK, "limit-", MINUS),
                (PLUS, "turn", STUCK),
                (PLUS, "turn", MINUS),
                (MINUS, "turn", STUCK),
                (MINUS, "turn", PLUS),
                *((old, JUMP, new) for old in (STUCK, PLUS, MINUS) for new in (STUCK, PLUS, MINUS) if new != old),
            ]
        for stop, name, towards, away in stops:
            if stop in self.possible(values):
                edges += [(towards, name, stop), (towards, name, away), (stop, "push", away), (stop, JUMP, away)]
        return tuple(edges)

    def allowed(self, values: np.ndarray) -> np.ndarray:
        coulomb, lower, upper = values.T
        return np.asarray((coulomb >= 0) & np.isfinite(coulomb) & (lower < upper))

    def complaint(self, values: list[float]) -> str:
        coulomb, lower, upper = values
        if not lower < upper:
            return f"the lower stop must be below the upper, got {lower:g} and {upper:g}"
        return f"dry friction must be finite and not negative, got {coulomb:g}"

    def blocked(self, clearance: float) -> str:
        return f"{self.name} is {-clearance:.6g} {self.coordinate.unit} beyond a stop; it must not be"


@compiled
def guard_kinds(status, lower, upper):
    """How each guard of a status is evaluated; a stop at infinity has none."""
    below = KINEMATIC if lower > -math.inf else NONE
    above = KINEMATIC if upper < math.inf else NONE
    if status == FREE:
        return below, above, NONE
    if status == STUCK:
        return FORCE, FORCE, NONE
    if status == PLUS:
        return above, KINEMATIC, NONE
    if status == MINUS:
        return below, KINEMATIC, NONE
    return FORCE, NONE, NONE


@compiled
def guard_values(status, q, v, f, c, lower, upper):
    """The guards of a status, positive inside: distances from stops, speed, force left of friction."""
    if status == FREE:
        return q - lower, upper - q, 1.0
    if status == STUCK:
        return c - f, c + f, 1.0
    if status == PLUS:
        return upper - q, v, 1.0
    if status == MINUS:
        return q - lower, -v, 1.0
    if status == LOWER:
        return c + f, 1.0, 1.0
    return c - f, 1.0, 1.0


@compiled
def edge(status, slot, c):
    """Where a guard leads: a status, IMPACT or TEST."""
    if status == FREE:
        return IMPACT
    if status == STUCK:
        return MINUS if slot == 0 else PLUS
    if status == LOWER:
        return PLUS if c > 0.0 else FREE
    if status == UPPER:
        return MINUS if c > 0.0 else FREE
    return IMPACT if slot == 0 else TEST


@compiled
def candidates(ended, touch, still, v, c):
    """The statuses, as bits, that it may take next; touch is 1 at the lower stop, 2 at the upper."""
    if touch == 1:
        bits = (1 << LOWER) | (1 << (PLUS if c > 0.0 else FREE))
    elif touch == 2:
        bits = (1 << UPPER) | (1 << (MINUS if c > 0.0 else FREE))
    elif c <= 0.0:
        return 1 << FREE
    elif still:
        bits = (1 << STUCK) | (1 << PLUS) | (1 << MINUS)
    else:
        bits = (1 << PLUS) if v > 0.0 else (1 << MINUS)
    if ended >= 0:
        bits &= ~(1 << ended)
    return bits


@compiled
def margins(status, touch, still, f, a, c):
    """A number that is positive where a status is consistent, and whether it is a force."""
    if status == STUCK:
        return c - abs(f), True
    if status == LOWER:
        return f + c, True
    if status == UPPER:
        return c - f, True
    if touch == 1 or (touch == 0 and still and status == PLUS):
        return a, False
    if touch == 2 or (touch == 0 and still and status == MINUS):
        return -a, False
    return 1.0e300, False
