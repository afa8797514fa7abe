"""Grids over both coordinates and both rates of a mode: their axes, and what compiled code reads off them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from saltus._finite import is_finite
from saltus._native import always_inline, compiled
from saltus.errors import InputError

# States are numbered by integers of 32 bits.
MOST_STATES = 2**31

# A state is at the end of an axis if it is to this share of a spacing.
ROUNDING = 1e-3

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
            if not is_finite(value):
                raise InputError(f"axis {self.name}: its ends are finite numbers, got {value!r}")
        if not self.lower < self.upper:
            raise InputError(f"axis {self.name} must rise, got {self.lower:g} to {self.upper:g}")
        if not isinstance(self.periodic, bool):
            raise InputError(f"axis {self.name} closes on itself or does not, got {self.periodic!r}")
        if isinstance(self.count, bool) or not isinstance(self.count, Integral) or self.count < 3:
            raise InputError(f"axis {self.name} has at least 3 places, got {self.count!r}")
        for name, kind in (("lower", float), ("upper", float), ("count", int)):
            object.__setattr__(self, name, kind(getattr(self, name)))  # numbers of numpy are not written to files

    @property
    def spacing(self) -> float:
        """From place to place."""
        return (self.upper - self.lower) / (self.count if self.periodic else self.count - 1)

    @property
    def places(self) -> np.ndarray:
        """All places."""
        return self.lower + self.spacing * np.arange(self.count)


def check_axes(axes: tuple[Axis, ...]) -> None:
    """Refuse a grid whose rates close on themselves."""
    for axis in axes[2:]:
        if axis.periodic:
            raise InputError(f"axis {axis.name} is one of a rate, which does not close on itself")


def grid_numbers(axes: tuple[Axis, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a grid for compiled code, whole and real."""
    whole = [*(axis.count for axis in axes), *(int(axis.periodic) for axis in axes)]
    real = [*(axis.lower for axis in axes), *(1 / axis.spacing for axis in axes)]
    return np.array(whole, dtype=np.int64), np.array(real, dtype=np.float32)


@compiled
def place_on(count, closed, lower, per_unit, value):
    """Where a number is on an axis: the place below, the step to the next one, and the share of the way to it.

    A number beyond the ends of an axis that does not close on itself is at the end; what is no number is somewhere.
    """
    always_inline()
    at = (value - lower) * per_unit
    if closed:
        size = np.float32(count)
        at -= size * np.float32(math.floor(at / size))
        low = min(max(np.int32(at), np.int32(0)), np.int32(count - 1))
        return low, (np.int32(1 - count) if low == np.int32(count - 1) else np.int32(1)), at - np.float32(low)
    at = min(max(at, np.float32(0.0)), np.float32(count - 1))
    low = min(max(np.int32(at), np.int32(0)), np.int32(count - 2))
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
def _within(whole, real, axis, value):
    """Whether a number is between the ends of an axis, but for a rounding: a stop may be one of them."""
    always_inline()
    at = (value - real[LOWER + axis]) * real[PER_UNIT + axis]
    return (at >= np.float32(-ROUNDING)) & (at <= np.float32(whole[axis] - 1) + np.float32(ROUNDING))


@compiled
def beyond(whole, real, q0, q1, v0, v1):
    """Whether a state is beyond the ends of an axis, or no number: such states are worth nothing, being unknown."""
    always_inline()
    inside = _within(whole, real, 2, v0) & _within(whole, real, 3, v1)
    inside &= (whole[CLOSED] != 0) | _within(whole, real, 0, q0)
    inside &= (whole[CLOSED + 1] != 0) | _within(whole, real, 1, q1)
    return not inside


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
