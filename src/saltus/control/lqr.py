"""Linear-quadratic regulation: hold an equilibrium, or drive along a coordinate, by the gains that cost least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.control._independent import direction_names, rate_name, readings
from saltus.control._linear import Linear
from saltus.control._linearize import linearize
from saltus.control._protocol import finite, per_actuator
from saltus.engine import Control, ControlParameter
from saltus.engine._control import seeing
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Inputs that hold the equilibrium, and gains times the difference from where the robot is to be."""
    n, m = int(data[0]), int(data[1])
    origin, rate, round_ = 2 + n, 2 + 2 * n, 2 + 3 * n
    hold, limit, gain = 2 + 4 * n, 2 + 4 * n + m, 2 + 4 * n + 2 * m
    for j in range(m):
        wish = data[hold + j]
        for i in range(n):
            # a place in the state, or one in what is seen of it
            place = int(data[2 + i])
            value = x[place] if place >= 0 else memory[-1 - place]
            off = value - data[origin + i] - data[rate + i] * t
            if data[round_ + i] > 0.0:  # an angle that comes round: the shorter way
                off -= data[round_ + i] * math.floor(off / data[round_ + i] + 0.5)
            wish -= data[gain + j * n + i] * off
        u[j] = min(max(wish, -data[limit + j]), data[limit + j])
    return 0


@equal_by_content
@dataclass(frozen=True)
class LQR:
    """Bring a robot back to an equilibrium: u = u0 - K (z - z0 - reference), with the gains of `Linear.lqr`.

    The equilibrium, the independent states z of its mode and the gains are found when the robot is known.

    Parameters
    ----------
    weights
        What a difference in a state costs, by name: 1 for what is not named, or that of the empty name.
    effort
        What an input at its limit costs (an input of 1 where it has no limit); or, for each input, what one of 1 costs.
    at
        Coordinates of the equilibrium that are told; the others are found from the robot's start.
    mode
        As for `saltus.control.linearize`; found if None.
    keep
        Coordinates or readings that are to be states, where contacts leave fewer than there are: names, or one text
        with commas between them.
    states
        Feed back these coordinates and their velocities alone, if they are a system of their own; all if empty.
    reference
        Where a coordinate is to be, by name, in place of where the equilibrium has it: one that may rest anywhere.
    speed
        With what constant velocity it is to go on from there, by name of the coordinate, 1/s times its unit.
    limit
        Largest input, below the actuator's own limit: one for all or by actuator.
    period
        Sampled with this period, s, with the gains that are best for it; continuous if None.
    """

    weights: Mapping[str, float] | None = None
    effort: float | Sequence[float] = 1.0
    at: Mapping[str, float] | None = None
    mode: str | Mapping[str, str] | None = None
    keep: str | Sequence[str] = ()
    states: str | Sequence[str] = ()
    reference: Mapping[str, float] | None = None
    speed: Mapping[str, float] | None = None
    limit: float | Mapping[str, float] | None = None
    period: float | None = None

    def linear(self, system: HybridSystem) -> Linear:
        """The equilibrium and the linear system that the gains are for."""
        wanted = [*_names(self.keep), *_names(self.states), *(self.reference or {}), *(self.speed or {})]
        keep = list(dict.fromkeys(wanted))
        found = linearize(system, mode=self.mode, at=self.at or "equilibrium", keep=keep)
        return found.subsystem(keep) if self.states else found

    def bind(self, system: HybridSystem) -> Control:
        mechanism = system.mechanism
        if not mechanism.actuators:
            raise InputError(f"{system.name} has no actuators, so it takes no controller")
        limits = self._limits(system)
        targets = {name: finite(value, f"lqr: {name}") for name, value in (self.reference or {}).items()}
        speeds = {name: finite(value, f"lqr: speed of {name}") for name, value in (self.speed or {}).items()}
        linear = self.linear(system)
        K = self._gains(linear)
        hold = np.array(list(linear.input_values.values()))
        for name, value, most in zip(mechanism.actuators, hold, limits, strict=True):
            if abs(value) > most * (1 + 1e-12):
                raise InputError(
                    f"lqr: {system.name} needs {value:.6g} of actuator {name} at its equilibrium, beyond the limit of "
                    f"{most:g}"
                )
        seen, places, origin = _seen(system, linear)
        for name in {**targets, **speeds}:
            own = float(origin[linear.states.index(name)])
            _check_free(linear, name, own, targets.get(name, own), speeds.get(name, 0.0))
        half = next((k for k, name in enumerate(linear.states) if name in mechanism.velocities), len(linear.states))
        rates = np.zeros(len(places))
        for name, value in targets.items():
            origin[linear.states.index(name)] = value
        for name, value in speeds.items():
            k = linear.states.index(name)
            rates[k] = value
            if rate_name(name) not in linear.states:
                raise InputError(f"lqr: {name} of {system.name} has no rate among the states, so it cannot be driven")
            origin[linear.states.index(rate_name(name))] += value
        # beyond the actuators' own limits the engine cuts off, and notes it
        cut = np.where(limits < system.input_limits, limits, 1e300)
        wraps = {name for name, reading in mechanism.readings.items() if reading.wraps}
        rounds = [2 * math.pi if name in wraps else 0.0 for name in linear.states]
        data = [len(places), len(hold), *places, *origin, *rates, *rounds, *hold, *cut, *K.ravel()]
        named = [
            ControlParameter(f"reference.{name}", (2 + len(places) + linear.states.index(name),))
            for name in linear.states[:half]
        ]
        chosen = law if seen is None else seeing(law, system, "lqr", seen)
        count = 0 if seen is None else seen.numel()
        return bind_compiled(chosen, data, self.period, memory=count, name="lqr", parameters=named)

    def _gains(self, linear: Linear) -> np.ndarray:
        try:
            return linear.lqr(self.weights, self.effort, period=self.period)
        except InputError as error:
            if self.states or linear.controllable:
                raise
            raise InputError(f"{error}; states=... feeds back a part of the robot alone") from None

    def _limits(self, system: HybridSystem) -> np.ndarray:
        own = np.asarray(system.input_limits, dtype=float)
        if self.limit is None:
            return np.minimum(own, 1e300)
        given = self.limit
        if isinstance(given, Mapping):
            given = {**dict(zip(system.mechanism.actuators, np.minimum(own, 1e300), strict=True)), **given}
        values = np.array(per_actuator(system, given, "lqr: limit"))
        if (values <= 0).any():
            raise InputError(f"lqr: a limit must be positive, got {self.limit!r}")
        return np.minimum(own, values)


def _names(given: Sequence[str] | str) -> list[str]:
    """Names in a sequence, or in one text with commas as the command line has it."""
    return given.replace(",", " ").split() if isinstance(given, str) else list(given)


def _check_free(linear: Linear, name: str, origin: float, target: float, speed: float) -> None:
    """Refuse to hold or drive what the equilibrium fixes: elsewhere, forces would drive the robot on."""
    if target == origin and speed == 0.0:
        return
    k = linear.states.index(name)
    if np.abs(linear.A[:, k]).max() > 1e-9 * max(1.0, float(np.abs(linear.A).max())):
        raise InputError(
            f"lqr: {name} of {linear.robot} is fixed by its equilibrium, {origin:g}, and stays nowhere else by "
            f"itself: it takes no reference and no speed; at={{'{name}': ...}} looks for an equilibrium there"
        )


def _seen(system: HybridSystem, linear: Linear) -> tuple[Any, list[int], np.ndarray]:
    """What must be computed of the state (None if nothing), where each value is found, and what it is at the point."""
    mechanism, d = system.mechanism, system.dynamics
    plain, named = {name: k for k, name in enumerate(system.state_names)}, readings(system)
    x = np.array(list(linear.state.values()))
    expressions: list[Any] = []
    places: list[int] = []
    for name in linear.states:
        if name in plain:
            places.append(plain[name])
            continue
        if name in named:
            expressions.append(named[name])
        elif name[1:] in named:
            expressions.append(ca.jtimes(ca.SX(named[name[1:]]), d.q, d.qdot))
        elif name in direction_names(system):
            expressions.append(_turned(d, system, x[: mechanism.nq], direction_names(system).index(name)))
        else:
            raise unknown_name("state", name, plain, system.name)
        places.append(-len(expressions))
    if not expressions:
        return None, places, x[places]
    stacked = ca.vertcat(*expressions)
    values = np.array(
        ca.Function("seen", [d.t, d.x, d.u, d.p], [stacked])(0, x, 0, system.parameter_values), dtype=float
    ).ravel()
    return stacked, places, np.array([x[k] if k >= 0 else values[-1 - k] for k in places])


def _turned(d: Any, system: HybridSystem, q: np.ndarray, direction: int) -> Any:
    """How far the coordinates are from others in one direction, to first order."""
    N = np.array(ca.Function("N", [d.q, d.p], [d.N])(q, system.parameter_values), dtype=float)
    return ca.DM(np.linalg.pinv(N)[direction]).T @ (d.q - q)


CONTROLLER = LQR
