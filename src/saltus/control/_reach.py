"""What is to be reached in a mode of two degrees of freedom, and from which states: goals, their worth, grids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from saltus.control._protocol import finite
from saltus.control._table import Axis, Place, check_axes
from saltus.engine._reduced import Reduced, reduced
from saltus.engine._single import Aim
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

# Rates on a grid if nothing is said of them: for links of some decimetres [yang2016, errata], rad/s.
RATES = (10.0, 16.0)

# A catch of this kinetic energy is worth 1/e of a soft one, J.
SOFT = 1.5

# Places along each coordinate at which a goal is looked for before anything is done.
LOOKED_AT = 120

# And how often more closely around the best of them.
LOOKED_CLOSER = 3


@dataclass(frozen=True)
class Reach:
    """What is to be reached in a mode of two degrees of freedom, and the grid of states from which.

    Parameters
    ----------
    robot, holds
        The robot, and the grip that is closed; none if None, for robots of two coordinates.
    goal
        Where it is: ``(point, (x, y))``, a point of the robot and a place from the closed grip, m, to come within
        ``radius`` of; or an expression in the robot's symbols, or a compiled function of both coordinates and both
        rates, that is not positive there.
    worth
        Of reaching the goal in a state, at most 1: an expression or function; exp(-kinetic energy / soft) if None.
    soft
        Kinetic energy with which a goal is worth 1/e, J.
    cost
        Of being in a state, for recipes that add up costs: likewise; the square of the distance from the place, m^2, if
        None.
    radius
        Of a goal that is a place, m; the robot's ``capture`` if None.
    grid
        Places along each of the four axes: one number for all, or by name; or whole axes by name.
    stops
        Whether joints have their stops; else they turn freely, and their axes close on themselves.
    """

    robot: HybridSystem
    goal: Any
    holds: str | None = None
    worth: Any = None
    soft: float = SOFT
    cost: Any = None
    radius: float | None = None
    grid: int | Mapping[str, int | Axis] = 50
    stops: bool = True

    @property
    def mode(self) -> Reduced:
        """The mode in its two coordinates."""
        return reduced(self.robot, self.holds)

    @property
    def place(self) -> Place | None:
        """The goal, if it is a place."""
        if not isinstance(self.goal, tuple):
            return None
        try:
            point, (x, y) = self.goal
        except (TypeError, ValueError):
            raise InputError(f"reach: a goal that is a place is (point, (x, y)), got {self.goal!r}") from None
        if point not in self.robot.mechanism.points:
            raise unknown_name("point", point, self.robot.mechanism.points, self.robot.name)
        return Place(point, finite(x, "reach: x of the goal"), finite(y, "reach: y of the goal"), self.capture)

    @property
    def capture(self) -> float:
        """The radius of a goal that is a place, m."""
        radius = self.robot.values.get("capture") if self.radius is None else self.radius
        if radius is None or not finite(radius, "reach: radius") > 0:
            raise InputError(f"reach: a goal that is a place has a positive radius, m, got {radius!r}")
        return float(radius)

    @property
    def travels(self) -> bool:
        """Whether it means the same in another process: expressions do not, since their symbols are this robot's."""
        parts = [None if self.place is not None else self.goal, self.worth, self.cost]
        return all(part is None or callable(part) for part in parts)

    def aim(self, *, costs: bool) -> tuple[Aim, list[float]]:
        """The goal for compiled code, and the values of its symbols."""
        mode = self.mode
        worth = ca.exp(-mode.kinetic / self.soft) if self.worth is None else self._seen(self.worth)
        goal, cost, symbols, values = self.goal, self.cost, ca.SX.zeros(0), []
        place = self.place
        if place is not None:
            symbols, values = ca.SX.sym("goal", 3), [place.x, place.y, place.radius]
            away = ca.sumsqr(mode.seen(self.robot.mechanism.points[place.point].position) - symbols[:2])
            goal, cost = away - symbols[2] ** 2, away if cost is None else self._seen(cost)
        else:
            goal, cost = self._seen(goal), None if cost is None else self._seen(cost)
        if costs and cost is None:
            raise InputError("reach: this recipe adds up costs; say what a state costs")
        return Aim(goal, worth, cost if costs else None, symbols=symbols), values

    def _seen(self, what: Any) -> Any:
        return what if callable(what) else self.mode.seen(what)

    def axes(self) -> tuple[Axis, ...]:
        """The four axes: coordinates, then rates."""
        mode = self.mode
        names = (*mode.names, *mode.velocity_names)
        given = self.grid if isinstance(self.grid, Mapping) else dict.fromkeys(names, self.grid)
        for name in given:
            if name not in names:
                raise unknown_name("axis", name, names, self.robot.name)
        ends = self._ends(mode)
        axes = []
        for name in names:
            wanted, (lower, upper, periodic) = given.get(name, 50), ends[name]
            axis = (
                replace(wanted, name=name) if isinstance(wanted, Axis) else Axis(name, lower, upper, wanted, periodic)
            )
            axes.append(axis)
        made = tuple(axes)
        check_axes(made)
        return made

    def _ends(self, mode: Reduced) -> dict[str, tuple[float, float, bool]]:
        """Where axes begin and end if nothing is said of it, and whether they close on themselves."""
        ends = dict.fromkeys(mode.names, (-math.pi, math.pi, True))
        for which, lower, upper in mode.stops if self.stops else ():
            at = ca.Function("stops", [mode.p], [lower, upper])(mode.values())
            low, high = (float(value) for value in at)
            if math.isfinite(low) and math.isfinite(high):
                ends[mode.names[which]] = (low, high, False)
        units = self.robot.mechanism.coordinates
        for name, rate in zip(mode.velocity_names, RATES, strict=True):
            ends[name] = (-rate, rate, False)
        for name in mode.names:
            if units[name] != "rad":
                raise InputError(f"reach: {name} of {self.robot.name} is no angle: give its axis in the grid")
        return ends

    def check(self) -> tuple[Axis, ...]:
        """Refuse what cannot be reached; the axes."""
        axes = self.axes()
        aim, values = self.aim(costs=False)
        if not callable(aim.goal):
            _on_grid(self.mode, aim, values, axes)
        return axes


def _on_grid(mode: Reduced, aim: Aim, values: list[float], axes: tuple[Axis, ...]) -> None:
    """Refuse a goal that lies nowhere on the grid."""
    goal = ca.Function("goal", [mode.q, mode.v, ca.vertcat(mode.p, aim.symbols)], [aim.goal])
    p = np.concatenate([mode.values(), values])
    ends = [(axis.lower, axis.upper) for axis in axes]
    lowest, at = _least(goal, p, ends[:2], ends[2:])
    for _ in range(LOOKED_CLOSER):
        if lowest <= 0:
            return
        # between the places around the best one
        ends = [
            (max(low, x - (high - low) / LOOKED_AT), min(high, x + (high - low) / LOOKED_AT))
            for (low, high), x in zip(ends, at, strict=True)
        ]
        new, at = _least(goal, p, ends[:2], ends[2:])
        lowest = min(lowest, new)
    told = f"{lowest:.4g} is the least value of its expression there, and it must be 0 or less"
    if aim.symbols.numel():
        told = f"the nearest that it comes is {math.sqrt(lowest + values[2] ** 2):.4g} m, and {values[2]:g} m is wanted"
    raise InputError(f"reach: the goal is out of reach or outside the grid: {told}")


def _least(
    goal: ca.Function, p: np.ndarray, places: list[tuple[float, float]], rates: list[tuple[float, float]]
) -> tuple[float, list[float]]:
    """The least value of a goal among many coordinates, at the rates in the middle and at random ones; where it is."""
    q = np.array(np.meshgrid(*(np.linspace(*ends, LOOKED_AT) for ends in places), indexing="ij")).reshape(2, -1)
    draw = np.random.default_rng(0)
    best, at = math.inf, [0.0] * 4
    for share in (0.0, 0.5):
        v = np.array([low + (high - low) * (0.5 + draw.uniform(-share, share, q.shape[1])) for low, high in rates])
        found = np.nan_to_num(np.array(goal.map(q.shape[1])(q, v, p)).ravel(), nan=np.inf)
        k = int(np.argmin(found))
        if found[k] < best:
            best, at = float(found[k]), [*q[:, k].tolist(), *v[:, k].tolist()]
    return best, at
