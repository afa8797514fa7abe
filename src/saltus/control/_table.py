"""Tables of a mode with two degrees of freedom: grids, values of states, and files that know what they belong to."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from saltus._native import always_inline, compiled
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

FORMAT = "saltus table 1"

# Of a table's file: values are the same if they are to this share.
SAME = 1e-12

# States are numbered by integers of 32 bits.
MOST_STATES = 2**31

# Numbers of a grid in compiled code: of each axis how many places, whether it closes on itself; and in single
# precision where it begins and how many places there are for each unit.
COUNTS, CLOSED, WHOLE = 0, 4, 8
LOWER, PER_UNIT, REAL = 0, 4, 8


@dataclass(frozen=True)
class Axis:
    """Evenly spaced places of a coordinate or a rate, from ``lower`` to ``upper``.

    One that is ``periodic`` closes on itself: the last place is one spacing before ``upper``, which is the first again.
    """

    name: str
    lower: float
    upper: float
    count: int
    periodic: bool = False

    def __post_init__(self) -> None:
        for value in (self.lower, self.upper):
            if not isinstance(value, Real) or not math.isfinite(value):
                raise InputError(f"axis {self.name}: its ends are finite numbers, got {value!r}")
        if not self.lower < self.upper:
            raise InputError(f"axis {self.name} must rise, got {self.lower:g} to {self.upper:g}")
        if isinstance(self.count, bool) or not isinstance(self.count, Integral) or self.count < 3:
            raise InputError(f"axis {self.name} has at least 3 places, got {self.count!r}")

    @property
    def spacing(self) -> float:
        """From place to place."""
        return (self.upper - self.lower) / (self.count if self.periodic else self.count - 1)

    @property
    def places(self) -> np.ndarray:
        """All places."""
        return self.lower + self.spacing * np.arange(self.count)


def check_axes(axes: tuple[Axis, ...]) -> None:
    """Refuse a grid whose rates close on themselves, or that has more states than can be numbered."""
    for axis in axes[2:]:
        if axis.periodic:
            raise InputError(f"axis {axis.name} is one of a rate, which does not close on itself")
    count = math.prod(axis.count for axis in axes)
    if count >= MOST_STATES:
        raise InputError(f"a grid has less than {MOST_STATES:.3g} states, got {count:.3g}")


def grid_numbers(axes: tuple[Axis, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a grid for compiled code, whole and real."""
    whole = [*(axis.count for axis in axes), *(int(axis.periodic) for axis in axes)]
    real = [*(axis.lower for axis in axes), *(1 / axis.spacing for axis in axes)]
    return np.array(whole, dtype=np.int64), np.array(real, dtype=np.float32)


@dataclass(frozen=True)
class Place:
    """A goal that is a place: a point of the robot comes within a radius of it, m, from the closed grip."""

    point: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, eq=False)
class Table:
    """What states of a mode are worth, or cost, on a grid of both coordinates and both rates.

    Parameters
    ----------
    values
        Of each state, single precision: between 0 and 1, larger is better; or costs, smaller is better.
    actions
        The input that was best in each state, where the recipe keeps it.
    robot, holds
        The robot's name, and the grip that is closed in this mode.
    parameters
        Values of all parameters that count in it.
    goal
        Where the goal is, if it is a place.
    recipe
        How it was made: its name and its numbers.
    sweeps, residual
        How often all states were gone through, and the largest change in the last sweep.
    task
        What was to be reached (a `saltus.control.Reach`), in the process in which it was made; a file does not have it.
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
    task: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """How many places each axis has."""
        return tuple(axis.count for axis in self.axes)

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
        arrays = {"values": self.values, **({} if self.actions is None else {"actions": self.actions})}
        head = {
            "format": FORMAT, "axes": [asdict(axis) for axis in self.axes], "robot": self.robot, "holds": self.holds,
            "parameters": dict(self.parameters), "recipe": dict(self.recipe),
            "goal": None if self.goal is None else asdict(self.goal),
            "sweeps": self.sweeps, "residual": self.residual, "digest": _digest(arrays),
        }  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".new-{target.name}")
        with new.open("wb") as file:
            np.savez(file, head=np.array(json.dumps(head)), **arrays)  # type: ignore[arg-type]
        new.replace(target)
        return target

    @staticmethod
    def load(path: str | Path, system: HybridSystem | None = None) -> Table:
        """Read one from a file; refused if it is damaged, or not of this robot."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from None
        except Exception as error:  # noqa: BLE001 - a damaged archive fails in many ways
            raise InputError(f"{path} is not a table, or damaged: {error}") from None
        try:
            head = json.loads(str(arrays.pop("head")))
            known = head["format"] == FORMAT
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path} is not a table of saltus") from None
        if not known:
            raise InputError(f"{path} is a table of another kind, {head['format']!r}; this is for {FORMAT!r}")
        if head["digest"] != _digest(arrays):
            raise InputError(f"{path} is damaged: its numbers are not those that were written")
        table = _made(head, arrays)
        if table.values.shape != table.shape:
            raise InputError(f"{path} is damaged: {table.values.shape} values for a grid of {table.shape}")
        return table if system is None else table.check(system)


def _made(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Table:
    goal = head["goal"]
    return Table(
        axes=tuple(Axis(**axis) for axis in head["axes"]),
        values=arrays["values"],
        actions=arrays.get("actions"),
        robot=head["robot"],
        holds=head["holds"],
        parameters=head["parameters"],
        recipe=head["recipe"],
        goal=None if goal is None else Place(**goal),
        sweeps=int(head["sweeps"]),
        residual=float(head["residual"]),
    )


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


@compiled
def place_on(count, closed, lower, per_unit, value):
    """Where a number is on an axis: the place below, the step to the next one, and the share of the way to it.

    A number beyond the ends of an axis that does not close on itself is at the end.
    """
    always_inline()
    at = (value - lower) * per_unit
    if closed:
        size = np.float32(count)
        at -= size * np.float32(math.floor(at / size))
        low = min(np.int32(at), np.int32(count - 1))
        return low, (np.int32(1 - count) if low == np.int32(count - 1) else np.int32(1)), at - np.float32(low)
    at = min(max(at, np.float32(0.0)), np.float32(count - 1))
    low = min(np.int32(at), np.int32(count - 2))
    return low, np.int32(1), at - np.float32(low)


@compiled
def between(V, low, d0, d1, d2, f0, f1, f2, f3):
    """The value between sixteen states, linear in each coordinate: the first, steps to others, shares of the way."""
    always_inline()
    one = np.float32(1.0)
    total = np.float32(0.0)
    for k in range(4):
        near = low + (d0 if k >= 2 else 0) + (d1 if k % 2 == 1 else 0)
        far = near + d2
        a = V[near] + f3 * (V[near + 1] - V[near])
        b = V[far] + f3 * (V[far + 1] - V[far])
        total += (f0 if k >= 2 else one - f0) * (f1 if k % 2 == 1 else one - f1) * (a + f2 * (b - a))
    return total


@compiled
def interpolated(V, whole, real, q0, q1, v0, v1):
    """The value at a state."""
    n1, n2, n3 = whole[1], whole[2], whole[3]
    a0, d0, f0 = place_on(whole[0], whole[CLOSED] != 0, real[LOWER], real[PER_UNIT], q0)
    a1, d1, f1 = place_on(n1, whole[CLOSED + 1] != 0, real[LOWER + 1], real[PER_UNIT + 1], q1)
    a2, _, f2 = place_on(n2, False, real[LOWER + 2], real[PER_UNIT + 2], v0)
    a3, _, f3 = place_on(n3, False, real[LOWER + 3], real[PER_UNIT + 3], v1)
    low = ((a0 * n1 + a1) * n2 + a2) * n3 + a3
    return between(V, low, d0 * n1 * n2 * n3, d1 * n2 * n3, n3, f0, f1, f2, f3)


@compiled
def beyond(whole, real, v0, v1):
    """Whether a rate is beyond the ends of its axis, or no number: such states are worth nothing, being unknown."""
    always_inline()
    zero = np.float32(0.0)
    one, two = (v0 - real[LOWER + 2]) * real[PER_UNIT + 2], (v1 - real[LOWER + 3]) * real[PER_UNIT + 3]
    within = (one >= zero) & (two >= zero) & (one <= np.float32(whole[2] - 1)) & (two <= np.float32(whole[3] - 1))
    return not within


@compiled
def nearest(whole, real, q0, q1, v0, v1):
    """The number of the state that is nearest."""
    index = 0
    half = np.float32(0.5)
    for axis in range(4):
        value = q0 if axis == 0 else q1 if axis == 1 else v0 if axis == 2 else v1
        closed = whole[CLOSED + axis] != 0
        low, on, share = place_on(whole[axis], closed, real[LOWER + axis], real[PER_UNIT + axis], value)
        index = index * whole[axis] + low + (on if share > half else 0)
    return index
