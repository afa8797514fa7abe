"""Numbers that are given for impulses, refused if they cannot be: whole ones, pairs that rise, rows of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from saltus._finite import as_float, is_finite
from saltus.errors import InputError


def whole(value: Any, what: str, least: int) -> int:
    """A whole number, of numpy too, of at least so much."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{what} is a whole number of at least {least}, got {value!r}")
    return int(value)


def positive(value: Any, what: str) -> float:
    """A number that is finite and positive."""
    if isinstance(value, bool) or not 0 < as_float(value) < math.inf:
        raise InputError(f"{what} must be a positive finite number, got {value!r}")
    return float(value)


def rising(value: Any, what: str) -> tuple[float, float]:
    """Two finite numbers, the smaller one first."""
    pair = list(value) if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else []
    numbers = [one for one in pair if not isinstance(one, bool) and is_finite(one)]
    if len(pair) != 2 or len(numbers) != 2:
        raise InputError(f"{what} is a pair of finite numbers, got {value!r}")
    low, high = map(float, numbers)
    if not low < high:
        raise InputError(f"{what} must rise, got {low:g} to {high:g}")
    return low, high


def chosen_threads(threads: Any) -> int | None:
    """How many threads; None is one for each core."""
    return None if threads is None else whole(threads, "impulses: threads", 1)


def rows(what: str, **given: Any) -> list[np.ndarray]:
    """Numbers or arrays of one dimension as arrays of one length, which are finite."""
    arrays = []
    for name, values in given.items():
        try:
            array = np.atleast_1d(np.asarray(values, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what}: {name} is a number or an array of numbers, got {values!r}") from None
        if array.ndim > 1 or not array.size:
            raise InputError(f"{what}: {name} is a number or an array of one dimension, its shape is {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"{what}: {name} is of finite numbers, got {array[~np.isfinite(array)][0]}")
        arrays.append(array)
    lengths = {name: len(array) for name, array in zip(given, arrays, strict=True)}
    if len(set(lengths.values()) - {1}) > 1:
        raise InputError(f"{what}: arrays must be of one length, got {lengths}")
    return [np.ascontiguousarray(array) for array in np.broadcast_arrays(*arrays)]
