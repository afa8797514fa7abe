"""Numbers that anybody may give: also those that no floating point number is as large as."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def as_float(value: Any) -> float:
    """A number in double precision; infinite if it is larger than any, not a number if it is none."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_finite(value: Any) -> bool:
    """Whether a value is a number of finite size."""
    return math.isfinite(as_float(value))
