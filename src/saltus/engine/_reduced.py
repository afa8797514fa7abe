"""A mode with two degrees of freedom in its own two coordinates: what is left of a robot that one contact holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact import Grip, GroundPoint, JointUnit, Pivot
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism._dynamics import derive
from saltus.mechanism._pinned import Pinned

# Dry friction has its full size from this rate on, rad/s or m/s: below, it grows with the rate.
SLIDES = 0.25


@dataclass(frozen=True)
class Reduced:
    """The flow of such a mode, in symbols that it shares with the robot.

    Parameters
    ----------
    names
        The two coordinates; `q` and `v` are their symbols and rates.
    p
        The robot's parameters, then where the point is that holds, if there is one.
    stops
        Of coordinates that have any: which, and its lower and upper stop, expressions of ``p``.
    """

    system: HybridSystem
    holds: str | None
    names: tuple[str, str]
    q: Any
    v: Any
    u: Any
    p: Any
    M: Any
    acceleration: Any
    kinetic: Any
    potential: Any
    stops: tuple[tuple[int, Any, Any], ...]
    pinned: Pinned | None

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the two rates."""
        return tuple(f"d{name}" for name in self.names)

    def seen(self, expression: Any) -> Any:
        """An expression of the whole robot's state, in these coordinates."""
        return ca.SX(expression) if self.pinned is None else self.pinned.seen(expression)

    def values(self, place: Sequence[float] = (0.0, 0.0)) -> np.ndarray:
        """Values of ``p``, with what holds at a place, m."""
        own = self.system.parameter_values
        return own if self.pinned is None else np.concatenate([own, np.asarray(place, dtype=float)])

    def stopped(self, which: int) -> Any:
        """What a plastic stop of a coordinate adds to both rates for each rad/s that it takes away.

        The impulse acts along that coordinate alone, so that the other row of M times the change of both rates is zero.
        """
        other = 1 - which
        added = ca.SX(2, 1)
        added[which], added[other] = -1, self.M[other, which] / self.M[other, other]
        return added


def reduced(system: HybridSystem, holds: str | None = None) -> Reduced:
    """The mode in which one grip or ground point holds a robot, or nothing does, if it then has two coordinates."""
    if not isinstance(system, HybridSystem):
        raise InputError(f"a robot is wanted, such as saltus.robots.brachiator(), got {system!r}")
    made: Reduced = system.once(f"reduced, held by {holds}", lambda: _reduced(system, holds))
    return made if made.system is system else _of(made, system)


def _of(made: Reduced, system: HybridSystem) -> Reduced:
    """The same expressions, of a robot with other values."""
    return Reduced(**{**vars(made), "system": system})


def _reduced(system: HybridSystem, holds: str | None) -> Reduced:
    holding = {unit.name: unit for unit in system.units if isinstance(unit, (Grip, GroundPoint))}
    if holds is not None and holds not in holding:
        raise unknown_name("grip or ground point", holds, holding, system.name)
    pinned = None if holds is None else Pinned(system.mechanism, holding[holds].point)
    mechanism = system.mechanism if pinned is None else pinned.mechanism
    if mechanism.nv != 2 or mechanism.nq != 2:
        held = "with no grip closed" if holds is None else f"held by {holds}"
        raise InputError(
            f"{system.name} {held} has {mechanism.nv} degrees of freedom "
            f"({', '.join(mechanism.coordinates)}), and two are wanted"
        )
    d = derive(mechanism)
    force = d.force + _friction(system, holds, d.q, d.v)
    names = tuple(mechanism.coordinates)
    stops = tuple(
        (names.index(unit.coordinate.name), ca.SX(unit.lower), ca.SX(unit.upper))
        for unit in system.units
        if isinstance(unit, JointUnit) and unit.coordinate.name in names
    )
    return Reduced(
        system=system, holds=holds, names=(names[0], names[1]), q=d.q, v=d.v, u=d.u, p=d.p, M=d.M,
        acceleration=d.solver.solve(force), kinetic=d.kinetic, potential=d.potential, stops=stops, pinned=pinned,
    )  # fmt: skip


def _friction(system: HybridSystem, holds: str | None, q: Any, v: Any) -> Any:
    """Generalised forces of the friction of joints and of the hand that holds."""
    total = ca.SX.zeros(2)
    for unit in system.units:
        if isinstance(unit, Pivot) and unit.grip.name != holds:
            continue
        if isinstance(unit, (JointUnit, Pivot)):
            ((_, angle),) = unit.rows
            along = ca.jacobian(angle, q)
            rate = along @ v
            dry = ca.fmax(ca.fmin(rate / SLIDES, 1), -1)
            total -= along.T * (ca.SX(unit.viscous) * rate + ca.SX(unit.coulomb) * dry)
    return total
