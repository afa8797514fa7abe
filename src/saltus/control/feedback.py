"""Linear feedback: each input is a sum of gains times states, any of them, measured from a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.control._protocol import finite, per_actuator
from saltus.engine import Control, ControlParameter
from saltus.engine._control import seeing
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

# Numbers of each term: the actuator, the place of its quantity (from -1 down, in what is seen), gain and reference.
TERM = 4


def law(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    inputs, terms = int(data[0]), int(data[1])
    for k in range(inputs):
        u[k] = 0.0
    for term in range(terms):
        d = 2 + inputs + TERM * term
        place = int(data[d + 1])
        value = x[place] if place >= 0 else memory[-1 - place]
        u[int(data[d])] += data[d + 2] * (value - data[d + 3])
    for k in range(inputs):
        u[k] = min(max(u[k], -data[2 + k]), data[2 + k])
    return 0


@equal_by_content
@dataclass(frozen=True)
class Feedback:
    """Input = sum of gain (quantity - reference), over any coordinates, velocities and readings of the robot.

    Parameters
    ----------
    gains
        By name of the quantity, ``{"theta": 150, "dtheta": 1.5}``, for a robot of one actuator; by actuator, a
        mapping of such mappings.
    reference
        Where a quantity is to be, by name; zero for what is not named.
    limit
        Largest input, below the actuator's own limit: one for all or by actuator.
    period
        Sampled with this period, s; continuous if None.
    """

    gains: Mapping[str, Any]
    reference: Mapping[str, float] = field(default_factory=dict)
    limit: float | Mapping[str, float] | None = None
    period: float | None = None

    def bind(self, system: HybridSystem) -> Control:
        actuators = list(system.mechanism.actuators)
        gains = self._by_actuator(system)
        used = list(dict.fromkeys(name for of in gains.values() for name in of))
        if not isinstance(self.reference, Mapping):
            raise InputError(f"feedback: the reference is given by name, got {self.reference!r}")
        for name in self.reference:
            if name not in used:
                raise unknown_name("quantity with a gain", name, used, "feedback")
        places, chosen, memory = system.once(f"feedback of {' '.join(used)}", lambda: _law_of(system, used))
        data = [float(len(actuators)), float(sum(map(len, gains.values()))), *self._limits(system)]
        named = []
        for actuator, of in gains.items():
            for name, gain in of.items():
                owner = "" if len(actuators) == 1 else f"{actuator}."
                named += [
                    ControlParameter(f"gain.{owner}{name}", (len(data) + 2,)),
                    ControlParameter(f"reference.{owner}{name}", (len(data) + 3,)),
                ]
                target = finite(self.reference.get(name, 0.0), f"feedback: reference of {name}")
                data += [actuators.index(actuator), places[name], finite(gain, f"feedback: gain of {name}"), target]
        return bind_compiled(chosen, data, self.period, memory=memory, name="feedback", parameters=named)

    def _by_actuator(self, system: HybridSystem) -> dict[str, Mapping[str, float]]:
        actuators = list(system.mechanism.actuators)
        if not actuators:
            raise InputError(f"{system.name} has no actuators, so it takes no controller")
        if not isinstance(self.gains, Mapping) or not self.gains:
            raise InputError(f"feedback: gains are given by name, such as theta and dtheta, got {self.gains!r}")
        nested = [isinstance(value, Mapping) for value in self.gains.values()]
        if all(nested):
            for name in self.gains:
                if name not in actuators:
                    raise unknown_name("actuator", name, actuators, system.name)
            return dict(self.gains)
        if any(nested) or len(actuators) > 1:
            raise InputError(
                f"feedback: {system.name} has the actuators {', '.join(actuators)}; give a mapping of gains for each "
                "of them that is to act"
            )
        return {actuators[0]: self.gains}

    def _limits(self, system: HybridSystem) -> list[float]:
        """What the law itself cuts off; beyond the actuators' own limits the engine does, and notes it."""
        names = list(system.mechanism.actuators)
        if self.limit is None:
            return [math.inf] * len(names)
        told = self.limit if isinstance(self.limit, Mapping) else names
        values = dict(zip(names, per_actuator(system, self.limit, "feedback: limit"), strict=True))
        if any(values[name] <= 0 for name in told):
            raise InputError(f"feedback: a limit must be positive, got {self.limit!r}")
        return [values[name] if name in told else math.inf for name in names]


def _law_of(system: HybridSystem, names: list[str]) -> tuple[dict[str, int], Any, int]:
    """Where each quantity is found, the law that sees what must be computed, and how many these are."""
    places, seen = _places(system, names)
    return places, law if seen is None else seeing(law, system, "feedback", seen), 0 if seen is None else seen.numel()


def _places(system: HybridSystem, names: list[str]) -> tuple[dict[str, int], Any]:
    """Where each quantity is found, and what must be computed of the state (None if nothing)."""
    d, readings = system.dynamics, system.mechanism.readings
    states = {name: k for k, name in enumerate(system.state_names)}
    known: dict[str, Any] = {}
    for name, reading in readings.items():
        known[name] = reading.expression
        known[f"d{name}"] = ca.jtimes(reading.expression, d.q, d.qdot)
    places, seen = {}, []
    for name in names:
        if name in states:
            places[name] = states[name]
        elif name in known:
            seen.append(known[name])
            places[name] = -len(seen)
        else:
            raise unknown_name("coordinate, velocity or reading", name, [*states, *known], system.name)
    return places, ca.vertcat(*seen) if seen else None


CONTROLLER = Feedback
EXAMPLE = {"gains": {"theta": 150.0, "dtheta": 1.5}}
