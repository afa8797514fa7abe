"""What a controller is: bound to a system, it answers (t, state, mode, memory) with a command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, Protocol

from saltus._finite import is_finite
from saltus.engine import Control
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem


class Controller(Protocol):
    """A controller, before it is bound to a system."""

    def bind(self, system: HybridSystem) -> Control:
        """Check against the system and return what the engine calls.

        What can only be told of the start of a run is for ``check_start`` of the `Control` to refuse.
        """


def per_actuator(system: HybridSystem, given: Any, what: str) -> list[float]:
    """A number for each actuator, from one number, a mapping by name (zero for the rest) or a sequence."""
    names = list(system.mechanism.actuators)
    if not names:
        raise InputError(f"{system.name} has no actuators, so it takes no controller")
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown_name("actuator", name, names, system.name)
        values = [given.get(name, 0.0) for name in names]
    elif isinstance(given, Real):
        values = [given] * len(names)
    elif isinstance(given, Iterable) and not isinstance(given, str):
        values = list(given)
    else:
        raise InputError(f"{what}: give a number, one for each actuator, or them by name, got {given!r}")
    if len(values) != len(names):
        raise InputError(
            f"{what}: {system.name} has {len(names)} actuators ({', '.join(names)}), got {len(values)} values"
        )
    for name, value in zip(names, values, strict=True):
        if not is_finite(value):
            raise InputError(f"{what} of actuator {name} must be a finite number, got {value!r}")
    return [float(value) for value in values]


def check_limit(system: HybridSystem, actuator: int, extreme: float, what: str) -> None:
    """Refuse a prescribed input that is beyond an actuator's limit."""
    limit = float(system.input_limits[actuator])
    if abs(extreme) > limit * (1 + 1e-12):
        name = list(system.mechanism.actuators)[actuator]
        unit = system.mechanism.actuators[name].unit
        raise InputError(f"{what}: {extreme:.6g} {unit} on actuator {name} is beyond its limit of {limit:g} {unit}")


def finite(value: Any, what: str) -> float:
    """Refuse what is not a finite number."""
    if not is_finite(value):
        raise InputError(f"{what} must be a finite number, got {value!r}")
    return float(value)


def check_period(period: float) -> float:
    """Refuse a sampling period that is not a positive time."""
    if not isinstance(period, Real) or not 0 < period < math.inf:
        raise InputError(f"a controller's period must be a positive time in seconds, got {period!r}")
    return float(period)
