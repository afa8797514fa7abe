"""What is to be reached in a mode of two degrees of freedom, and from which states: goals, their worth, grids."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from saltus._closure import closure_digest
from saltus._content import equal_by_content
from saltus.control._goal_search import least
from saltus.control._grid import Axis, check_axes
from saltus.control._protocol import finite
from saltus.control._table import UNKNOWN, Place
from saltus.engine._emit import straight_line
from saltus.engine._reduced import Reduced, reduced
from saltus.engine._single import Aim
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism._pinned import PIN

# Rates on a grid if nothing is said of them: for links of some decimetres [yang2016, errata], rad/s.
RATES = (10.0, 16.0)

# Places along each axis if nothing is said of them.
PLACES = 50

# A catch of this kinetic energy is worth 1/e of a soft one, J.
SOFT = 1.5

# Parts of what is to be reached that may be an expression or a function.
PARTS = ("goal", "worth", "cost")


@equal_by_content
@dataclass(frozen=True)
class Reach:
    """What is to be reached in a mode of two degrees of freedom, and the grid of states from which.

    Parameters
    ----------
    robot, holds
        The robot, and the grip that is closed or the ground point that sticks; none if None, for robots of two
        coordinates. A point that sticks is believed to, whatever the friction that it takes.
    goal
        Where it is: ``(point, (x, y))``, a point of the robot and a place from what holds, m, to come within ``radius``
        of; or an expression in the robot's symbols, or a function of both coordinates and both rates that numba can
        compile or that is CasADi's, that is not positive there.
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
        Places along each of the four axes: one number for all, or by name; or whole axes by name. States beyond the
        ends of an axis are worth nothing, but for angles that close on themselves.
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
    grid: int | Mapping[str, int | Axis] = PLACES
    stops: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.robot, HybridSystem):
            raise InputError(f"reach: a robot is wanted, such as saltus.robots.brachiator(), got {self.robot!r}")
        if not finite(self.soft, "reach: soft") > 0:
            raise InputError(f"reach: soft must be positive, got {self.soft:g} J")
        object.__setattr__(self, "soft", float(self.soft))  # numbers of numpy are not written to files
        self.place  # noqa: B018 - refuses what is no place
        for name in PARTS:
            self._check_part(name, getattr(self, name))

    def _check_part(self, name: str, part: Any) -> None:
        """Refuse what is neither an expression of one number nor a function."""
        if self._is_place(part) or (part is None and name != "goal"):
            return
        if callable(part):
            _check_function(name, part)
            return
        told = f"reach: {name} is an expression of one number in the robot's symbols, or a function of four numbers"
        try:
            whole = ca.SX(part)
        except (NotImplementedError, TypeError):
            raise InputError(f"{told}{', or a place' if name == 'goal' else ''}; got {part!r}") from None
        m = self.robot.mechanism
        free = ca.Function("part", [m.q, m.v, m.p], [whole], {"allow_free": True}).free_sx()
        if whole.numel() != 1 or free:
            got = f"{whole.numel()} numbers" if whole.numel() != 1 else f"unknown symbols {', '.join(map(str, free))}"
            raise InputError(f"{told}; got {got}")

    @staticmethod
    def _is_place(part: Any) -> bool:
        return isinstance(part, (tuple, list))

    @property
    def told(self) -> dict[str, str]:
        """Of each part that is an expression or a function: a digest, the same for the same one, if it can be known."""
        made = {}
        for name in PARTS:
            part = getattr(self, name)
            if part is None or self._is_place(part):
                continue
            part = self._seen(part)
            if callable(part):
                words = closure_digest(part)
            else:
                words = self._words(part)
            made[name] = UNKNOWN if words is None else hashlib.sha256(words.encode()).hexdigest()[:16]
        return made

    def _words(self, expression: Any) -> str:
        """An expression as text: coordinates and parameters by their names."""
        mode = self.mode
        names = (mode.names, mode.velocity_names, [*self.robot.values, *PIN])
        lines, results = straight_line(
            (mode.q, mode.v, mode.p), ca.SX(expression), lambda argument, k: names[argument][k]
        )
        return "\n".join([*lines, *results])

    @property
    def mode(self) -> Reduced:
        """The mode in its two coordinates."""
        return reduced(self.robot, self.holds)

    @property
    def place(self) -> Place | None:
        """The goal, if it is a place."""
        if not self._is_place(self.goal):
            return None
        try:
            point, (x, y) = self.goal
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"reach: a goal that is a place is (point, (x, y)), got {self.goal!r}") from None
        if not isinstance(point, str) or point not in self.robot.mechanism.points:
            raise unknown_name("point", point, self.robot.mechanism.points, self.robot.name)
        return Place(point, finite(x, "reach: x of the goal"), finite(y, "reach: y of the goal"), self.capture)

    @property
    def capture(self) -> float:
        """The radius of a goal that is a place, m."""
        radius = self.robot.values.get("capture") if self.radius is None else self.radius
        if radius is None or not finite(radius, "reach: radius") > 0:
            raise InputError(
                f"reach: a goal that is a place has a positive radius, m (--radius on the command line), got {radius!r}"
            )
        return float(radius)

    @property
    def travels(self) -> bool:
        """Whether it means the same in another process: expressions do not, since their symbols are this robot's."""
        parts = [None if self.place is not None else self.goal, self.worth, self.cost]
        try:
            pickle.dumps([part for part in parts if callable(part)])
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
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
        if isinstance(what, ca.Function):
            mode = self.mode
            return ca.SX(what(mode.q[0], mode.q[1], mode.v[0], mode.v[1]))
        return what if callable(what) else self.mode.seen(what)

    def axes(self) -> tuple[Axis, ...]:
        """The four axes: coordinates, then rates."""
        mode = self.mode
        names = (*mode.names, *mode.velocity_names)
        given = self.grid if isinstance(self.grid, Mapping) else dict.fromkeys(names, self.grid)
        for name in given:
            if name not in names:
                raise unknown_name("axis", name, names, self.robot.name)
        axes = tuple(self._axis(mode, name, given.get(name, PLACES)) for name in names)
        check_axes(axes)
        return axes

    def _axis(self, mode: Reduced, name: str, wanted: int | Axis) -> Axis:
        """One axis: as it is told, or between stops, a whole turn, or usual rates."""
        stopped = self._stopped(mode, name)
        unit = self.robot.mechanism.coordinates.get(name)
        if isinstance(wanted, Axis):
            turn = unit == "rad" and stopped is None and abs(wanted.upper - wanted.lower - 2 * math.pi) < 1e-6
            if wanted.periodic and not turn:
                raise InputError(
                    f"reach: only the axis of an angle without stops closes on itself, over a whole turn; that of "
                    f"{name} is from {wanted.lower:g} to {wanted.upper:g}"
                )
            return replace(wanted, name=name)
        if unit is None:
            k = mode.velocity_names.index(name)
            if self.robot.mechanism.coordinates[mode.names[k]] != "rad":
                raise InputError(
                    f"reach: {name} of {self.robot.name} is no rate of an angle: give its axis in the grid"
                )
            return Axis(name, -RATES[k], RATES[k], wanted)
        if stopped is not None:
            return Axis(name, *stopped, wanted)
        if unit != "rad":
            raise InputError(f"reach: {name} of {self.robot.name} is no angle: give its axis in the grid")
        return Axis(name, -math.pi, math.pi, wanted, periodic=True)

    def _stopped(self, mode: Reduced, name: str) -> tuple[float, float] | None:
        """Both stops of a coordinate, if it has them."""
        for which, lower, upper in mode.stops if self.stops else ():
            if mode.names[which] == name:
                at = ca.Function("stops", [mode.p], [lower, upper])(mode.values())
                low, high = (float(value) for value in at)
                if math.isfinite(low) and math.isfinite(high):
                    return low, high
        return None

    def check(self) -> tuple[Axis, ...]:
        """Refuse what cannot be reached; the axes."""
        axes = self.axes()
        aim, values = self.aim(costs=False)
        lowest = least(self._values_of_goal(aim, values), [(axis.lower, axis.upper) for axis in axes])
        if lowest <= 0:
            return axes
        told = f"{lowest:.4g} is the least value of it that was found there, and it must be 0 or less"
        if aim.symbols.numel():
            away = math.sqrt(lowest + values[2] ** 2)
            told = f"the nearest that it comes is {away:.4g} m, and {values[2]:g} m is wanted"
        raise InputError(f"reach: the goal is out of reach or outside the grid: {told}")

    def _values_of_goal(self, aim: Aim, values: list[float]) -> Callable[[np.ndarray], np.ndarray]:
        """The goal as a function of states in columns."""
        if callable(aim.goal):
            function = getattr(aim.goal, "py_func", aim.goal)
            return lambda states: np.array([function(*(float(x) for x in state)) for state in states.T])
        mode = self.mode
        whole = ca.Function("goal", [mode.q, mode.v, ca.vertcat(mode.p, aim.symbols)], [aim.goal])
        p = np.concatenate([mode.values(), values])
        return lambda states: np.array(whole.map(states.shape[1])(states[:2], states[2:], p)).ravel()


def _check_function(name: str, function: Callable[..., Any]) -> None:
    """Refuse a function that does not make one number of four."""
    told = f"reach: {name} is a function of both coordinates and both rates that tells one number"
    if isinstance(function, ca.Function):
        if (function.n_in(), function.n_out()) != (4, 1) or function.size_out(0) != (1, 1):
            raise InputError(f"{told}; got {function}")
        return
    try:
        value = getattr(function, "py_func", function)(0.1, 0.2, 0.3, 0.4)
    except Exception as error:  # noqa: BLE001 - whatever a user's function does wrong
        raise InputError(f"{told}; with 0.1, 0.2, 0.3, 0.4 it fails: {error}") from None
    if not isinstance(value, (Real, np.number)):
        raise InputError(f"{told}; with 0.1, 0.2, 0.3, 0.4 it tells {value!r}")
