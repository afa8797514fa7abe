"""Tables of what the states of a mode of two degrees of freedom are worth; their files know what they belong to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._finite import as_float
from saltus._records import load_arrays, save_arrays
from saltus.control._grid import Axis, check_axes
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

FORMAT = "saltus table 3"

# Of a table's file: values are the same if they are to this share.
SAME = 1e-12

# The digest of a function of which it cannot be known whether another one is the same.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Place:
    """A goal that is a place: a point of the robot comes within a radius of it, m, from what holds."""

    point: str
    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        numbers = [finite_number(value) for value in (self.x, self.y, self.radius)]
        if not isinstance(self.point, str) or not all(map(math.isfinite, numbers)) or self.radius <= 0:
            raise InputError(f"a place is a point, x and y in m, and a positive radius, got {self!r}")


@equal_by_content
@dataclass(frozen=True, eq=False)
class Table:
    """What states of a mode are worth, or cost, on a grid of both coordinates and both rates.

    Parameters
    ----------
    values
        Of each state, single precision: between 0 and 1, larger is better; or costs, smaller is better. Where reversals
        of the input cost something there are two of each, after a negative input and after a positive one.
    actions
        The input that was best in each state, where the recipe keeps it.
    robot, holds
        The robot's name, and the grip or ground point that holds in this mode.
    parameters
        Values of all parameters that count in it.
    goal
        Where the goal is, if it is a place.
    recipe
        How it was made: its name and its numbers.
    sweeps, residual
        How often all states were gone through, and the largest change in the last sweep.
    begun
        Of a sweep that was interrupted: slices of the grid that are done, and the change in them.
    ahead
        Values of these slices after that sweep, where others must still see those of the sweep before.
    told
        Of a goal, worth or cost that is an expression or a function: its digest, by name.
    task
        What was to be reached (a `saltus.control.Reach`), in the process in which it was made. A file does not have it;
        where the goal or its worth is an expression or a function it has to be told again, `load(path, task=...)`.
    """

    axes: tuple[Axis, ...]
    values: np.ndarray
    robot: str
    holds: str | None
    parameters: Mapping[str, float]
    recipe: Mapping[str, Any]
    goal: Place | None = None
    actions: np.ndarray | None = None
    sweeps: int = 0
    residual: float = math.inf
    begun: tuple[int, float] = (0, 0.0)
    ahead: np.ndarray | None = None
    told: Mapping[str, str] = field(default_factory=dict)
    task: Any = None

    def __post_init__(self) -> None:
        check_numbers(self)

    def __repr__(self) -> str:
        held = "" if self.holds is None else f" held by {self.holds}"
        goal = "" if self.goal is None else f", {self.goal.point} to ({self.goal.x:g}, {self.goal.y:g})"
        shape = " x ".join(map(str, self.shape))
        return f"<table of {self.robot}{held}{goal}, {shape}, recipe {self.recipe['name']}, {self.sweeps} sweeps>"

    def __getstate__(self) -> dict[str, Any]:
        # expressions lose their symbols on the way to another process; a goal that is a place needs none
        state = dict(vars(self))
        if self.task is not None and not self.task.travels:
            state["task"] = None
        return state

    @property
    def shape(self) -> tuple[int, ...]:
        """How many places each axis has."""
        return tuple(axis.count for axis in self.axes)

    @property
    def sides(self) -> int:
        """How many values each state has: one, or one for each sign of the last input."""
        return len(self.values) if self.values.ndim == 5 else 1

    @property
    def memory(self) -> int:
        """Bytes of all numbers."""
        return self.values.nbytes + (0 if self.actions is None else self.actions.nbytes)

    def check(self, system: HybridSystem) -> Table:
        """Refuse a robot that the table was not made for, and say what differs."""
        if system.name != self.robot:
            raise InputError(f"this table is of {self.robot}, not of {system.name}")
        for name, value in self.parameters.items():
            if name not in system.values:
                raise InputError(f"this table is of a {self.robot} with a parameter {name}, which this one has not")
            own = system.values[name]
            if not abs(own - value) <= SAME * max(abs(own), abs(value)):
                raise InputError(
                    f"this table is of a {self.robot} with {name} = {value:.12g}, and here {name} = {own:.12g}"
                )
        return self

    def save(self, path: str | Path) -> Path:
        """Write it to a file, .npz, whole or not at all."""
        target = Path(path)
        if target.suffix != ".npz":
            raise InputError(f"a table is written to a file that ends with .npz, got {path}")
        arrays = {"values": self.values, "actions": self.actions, "ahead": self.ahead}
        head = {
            "axes": [asdict(axis) for axis in self.axes], "robot": self.robot, "holds": self.holds,
            "parameters": dict(self.parameters), "recipe": dict(self.recipe),
            "goal": None if self.goal is None else asdict(self.goal),
            "sweeps": self.sweeps, "residual": self.residual, "begun": list(self.begun), "told": dict(self.told),
        }  # fmt: skip
        return save_arrays(target, FORMAT, head, {name: part for name, part in arrays.items() if part is not None})

    @staticmethod
    def load(path: str | Path, system: HybridSystem | None = None, *, task: Any = None) -> Table:
        """Read one from a file; refused if it is damaged, or not of this robot or task."""
        head, arrays = load_arrays(Path(path), FORMAT, ("values", "actions", "ahead"))
        try:
            table = _read(head, arrays)
            table = table if system is None else table.check(system)
            return table if task is None else table.with_task(task)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def with_task(self, task: Any) -> Table:
        """The same table with what was to be reached told again; refused if that is something else."""
        if not hasattr(task, "told"):
            raise InputError(f"what is to be reached is told by a saltus.control.Reach, got {task!r}")
        self.check(task.robot)
        refuse_other(self.told, task.told, "this table")
        for name in ("soft", "stops"):
            if self.recipe.get(name) != getattr(task, name):
                raise InputError(
                    f"this table was made with {name} = {self.recipe.get(name)}, and told is {getattr(task, name)}"
                )
        if task.axes() != self.axes:
            raise InputError(f"this table has another grid than the one that is told: {self!r}")
        if task.holds != self.holds or task.place != self.goal:
            raise InputError(f"this table is {self!r}, and told is {task.goal!r} held by {task.holds}")
        return replace(self, task=task)


def refuse_other(had: Mapping[str, str], told: Mapping[str, str], what: str) -> None:
    """Refuse another expression or function than a table was made for, by their digests."""
    for name in sorted({*had, *told}):
        if had.get(name) != told.get(name):
            raise InputError(f"{what} was made for another {name} than the one that is told")
        if had[name] == UNKNOWN:
            raise InputError(f"{what} has a function as its {name} of which it cannot be known whether it is this one")


def check_numbers(table: Table) -> None:
    """Refuse a table whose arrays compiled code could not read, or that does not tell what a table tells."""
    axes, recipe = table.axes, table.recipe
    if len(axes) != 4 or not all(isinstance(axis, Axis) for axis in axes):
        raise InputError(f"a table has four axes, got {axes!r}")
    check_axes(axes)
    shapes = [table.shape, (2, *table.shape)]
    begun = (table.begun[0], *table.shape[1:])
    parts = (("values", table.values, shapes), ("actions", table.actions, shapes[:1]), ("ahead", table.ahead, [begun]))
    for name, array, allowed in parts:
        if array is None and name != "values":
            continue
        if not isinstance(array, np.ndarray) or array.dtype != np.float32 or not array.flags.c_contiguous:
            raise InputError(f"a table's {name} are an array of numbers of 32 bits, row after row")
        if array.shape not in allowed:
            raise InputError(f"a table's {name} are as many as its grid, {allowed[0]}, not {array.shape}")
    made_by = recipe.get("name") if isinstance(recipe, Mapping) else None
    if made_by not in ("saltus", "thesis") or (made_by == "thesis") != (table.actions is not None):
        raise InputError(f"a table is made by the recipe saltus, or by thesis with its actions, not by {made_by!r}")
    if (table.ahead is not None) != (made_by == "thesis" and table.begun[0] > 0):
        raise InputError("a table in the middle of a sweep by the recipe thesis has what is ahead, and no other has")
    check_settings(recipe, table.sides)
    if not isinstance(table.holds, str | None) or not isinstance(table.goal, Place | None):
        raise InputError(f"a table has a name of what holds, and a place, or none: {table.holds!r}, {table.goal!r}")
    for key, value in table.parameters.items():
        if not math.isfinite(finite_number(value)):
            raise InputError(f"a table's parameters are finite numbers, and {key} is {value!r}")
    slices, change = table.begun
    if table.sweeps < 0 or not 0 <= slices <= max(table.shape) or not change >= 0:
        raise InputError(
            f"a table tells its sweeps, and how much of another there is, not {table.sweeps}, {table.begun}"
        )


def check_settings(recipe: Mapping[str, Any], sides: int) -> None:
    """Refuse settings of a recipe that a policy could not use."""
    discounted = recipe["name"] == "saltus"
    for key in ("patience", "soft") if discounted else ("soft",):
        if not 0 < finite_number(recipe.get(key)) < math.inf:
            raise InputError(f"a table's {key} is a positive number, not {recipe.get(key)!r}")
    reversal = finite_number(recipe.get("reversal", 0.0))
    if not finite_number(recipe.get("effort", 0.0)) >= 0 or not 0 <= reversal < 1:
        raise InputError(
            f"a table's effort is not negative, and its reversal a share below 1, not {recipe.get('effort')!r} and "
            f"{recipe.get('reversal')!r}"
        )
    if sides != (2 if discounted and reversal > 0 else 1):
        raise InputError(f"a table with reversal = {reversal:g} has not {sides} value(s) for each state")
    if not isinstance(recipe.get("stops"), bool):
        raise InputError(f"a table tells whether joints have stops, not {recipe.get('stops')!r}")


def finite_number(value: Any) -> float:
    """A number; not one if it is something else."""
    return math.nan if isinstance(value, bool) else as_float(value)


def _read(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Table:
    """A table of what is in a file."""
    try:
        goal = head["goal"]
        table = Table(
            axes=tuple(Axis(**axis) for axis in head["axes"]),
            values=arrays["values"],
            actions=arrays.get("actions"),
            ahead=arrays.get("ahead"),
            robot=head["robot"],
            holds=head["holds"],
            parameters=head["parameters"],
            recipe=head["recipe"],
            goal=None if goal is None else Place(**goal),
            sweeps=int(head["sweeps"]),
            residual=float(head["residual"]),
            begun=(int(head["begun"][0]), float(head["begun"][1])),
            told=dict(head["told"]),
        )
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise InputError("it is damaged: it does not tell what a table tells") from None
    for array in arrays.values():
        if not np.isfinite(array).all():
            raise InputError("it is damaged: some of its numbers are none")
    return table
