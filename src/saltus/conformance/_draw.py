"""Random runs of any robot, drawn from its description: parameters, starts, controllers, methods and tolerances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus import registry
from saltus.contact import GRIP, Unit
from saltus.contact._unit import GROUNDS
from saltus.control import PD, Compiled, Constant, Schedule, Sine
from saltus.engine import Batch, simulate_many
from saltus.engine._cases import columns
from saltus.hybrid import HybridSystem
from saltus.hybrid._closed import grip_rows, grip_speeds, ground_motion, slipping

# Runs drawn together: they share method, tolerances, modes of grips and actions of guards.
BATCH = 250

MAX_STEPS, MAX_EVENTS = 20_000, 2_000

# What is asked at most of actuators without a limit, N or N m.
UNLIMITED = 10.0


@dataclass(frozen=True, eq=False)
class Draw:
    """Random runs, ready to be made: what is given for each of them, and the options that they share."""

    system: HybridSystem
    states: np.ndarray
    parameters: dict[str, np.ndarray]
    controllers: list[Any]
    options: dict[str, Any]

    def make(self, count: int | None = None) -> Batch:
        """The first ``count`` of the runs, or all."""
        return simulate_many(
            self.system,
            self.states[:count],
            parameters={name: values[:count] for name, values in self.parameters.items()},
            controllers=self.controllers[:count],
            **self.options,
        )


def draw(system: HybridSystem, count: int, *seed: int) -> Draw:
    """Draw runs; the same seed gives the same."""
    random = np.random.default_rng(seed)
    system = _guarded(system, random)
    p = _parameters(system, count, random)
    mode = {
        unit.name: str(random.choice(["closed", "open", "reaching"] if unit.holds else ["closed", "open"]))  # type: ignore[attr-defined]
        for unit in system.units
        if unit.kind == GRIP and random.random() < 0.5
    }
    x, p = _starts(system, p, mode, random)
    options: dict[str, Any] = {
        "mode": mode,
        "until": float(random.choice([0.3, 1.0, 1.0, 2.0])),
        "rtol": float(10.0 ** random.uniform(-11, -6)),
        "atol": float(10.0 ** random.uniform(-13, -8)),
        "method": str(random.choice(registry.names("methods"))),
        "max_steps": MAX_STEPS,
        "max_events": MAX_EVENTS,
    }
    limits = np.array(_values(system, [actuator.limit for actuator in system.mechanism.actuators.values()], p))
    limits[limits == math.inf] = UNLIMITED
    controllers = [_controller(system, limit, options["until"], random) for limit in limits]
    names = system.mechanism.parameters
    return Draw(system, x, dict(zip(names, p.T.copy(), strict=True)), controllers, options)


def _guarded(system: HybridSystem, random: np.random.Generator) -> HybridSystem:
    """The robot's own guards with other actions, half of the time."""
    if random.random() < 0.5:
        return system
    actions = {guard.name: str(random.choice(["ignore", "record", "terminal"])) for guard in system.guards}
    _, own = system.kinematics(0.0, system.state())
    for guard, value in zip(system.guards, own, strict=True):
        if not (value < 0.0 if guard.direction == "up" else value > 0.0):
            actions[guard.name] = "record"  # no start to fall back on
    return system.with_guards(**actions)


def _values(system: HybridSystem, expressions: list[Any], p: np.ndarray) -> np.ndarray:
    """Values of expressions of the parameters, a row for each run."""
    if not expressions:
        return np.zeros((len(p), 0))
    made = ca.Function("values", [system.mechanism.p], [ca.vertcat(*map(ca.SX, expressions))])
    return columns(made, p)[0]


# -- parameters ------------------------------------------------------------------------------


def _parameters(system: HybridSystem, count: int, random: np.random.Generator) -> np.ndarray:
    """Values within their bounds, now and then at one or zero; the robot's own where they do not fit together."""
    p = np.empty((count, len(system.values)))
    for k, parameter in enumerate(system.mechanism.parameters.values()):
        p[:, k] = _parameter(parameter, system.values[parameter.name], count, random)
    usual = random.random(count) < 0.1
    fits = np.ones(count, dtype=bool)
    for unit in system.units:
        fits &= unit.allowed(_values(system, list(unit.coefficients), p))
    p[usual | ~fits] = system.parameter_values
    return p


def _parameter(parameter: Any, value: float, count: int, random: np.random.Generator) -> np.ndarray:
    lower, upper = parameter.lower, parameter.upper
    if math.isfinite(lower) and math.isfinite(upper):
        drawn = random.uniform(lower, upper, count)
    else:
        usual = value if 0.0 < abs(value) < math.inf else 0.3
        drawn = usual * 10.0 ** (random.uniform(-1, 1, count) * random.choice([0.4, 1.0], count))
        if lower == -math.inf:
            drawn *= np.where(random.random(count) < 0.05, -1.0, 1.0)
    edges = [edge for edge in (lower, upper) if math.isfinite(edge) and not (parameter.strict and edge == lower)]
    if lower < 0.0 < upper:
        edges.append(0.0)
    if edges:
        drawn = np.where(random.random(count) < 0.1, random.choice(edges, count), drawn)
    drawn = np.where(random.random(count) < 0.3, value, drawn)
    return np.clip(drawn, lower, upper)


# -- starts ----------------------------------------------------------------------------------


def _starts(
    system: HybridSystem, p: np.ndarray, mode: dict[str, str], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """States above the ground, within stops and guards, some at rest, some touching; and their parameters."""
    m, count = system.mechanism, len(p)
    q = np.empty((count, m.nq))
    for k, unit in enumerate(m.coordinates.values()):
        if unit == "rad":
            q[:, k] = random.uniform(-math.pi, math.pi, count)
            q[:, k] = np.where(random.random(count) < 0.2, np.round(q[:, k] * 8 / math.pi) * math.pi / 8, q[:, k])
            q[:, k] *= np.where(random.random(count) < 0.01, 100.0, 1.0)
        else:
            q[:, k] = random.normal(size=count) * np.where(random.random(count) < 0.02, 100.0, 1.0)
    x = np.hstack([q, _velocities(count, m.nv, random)])
    touching = random.random(count) < 0.4
    x, admissible = _lifted(system, x, p, touching, random)
    admissible &= _begun(system, x, p)
    x[~admissible], p[~admissible] = system.state(), system.parameter_values
    _let_slide(system, x, p, random)
    _let_roll(system, x, p)
    _hold(system, x, p, mode)
    return x, p


def _velocities(count: int, nv: int, random: np.random.Generator) -> np.ndarray:
    """Mostly moderate; some none at all, tiny or very large."""
    v = random.normal(size=(count, nv)) * 10.0 ** random.uniform(-1, 1, (count, 1))
    choice = random.random(count)
    v[choice < 0.15] = 0.0
    tiny, large, absurd = choice > 0.98, choice > 0.993, choice > 0.999
    v[tiny] *= 10.0 ** random.uniform(-13, -6, (int(tiny.sum()), 1))
    v[large] = random.normal(size=(int(large.sum()), nv)) * 10.0 ** random.uniform(1.5, 3, (int(large.sum()), 1))
    v[absurd] *= 10.0 ** random.uniform(1, 6, (int(absurd.sum()), 1))
    v[random.random((count, nv)) < 0.1] = 0.0
    return v


def _blocks(unit: Unit) -> bool:
    """Whether there is somewhere that it must not start: of grips, those that hold on to walls."""
    return unit.kind != GRIP or not ca.SX(unit.clearance).is_constant()


def _clearances(system: HybridSystem, guards: bool) -> Any:
    """Clearances of units, and terminal guards, with their gradients: functions of state and parameters."""
    d = system.dynamics
    parts = [unit.clearance for unit in system.units if _blocks(unit)]
    if guards:
        sign = {"down": 1, "up": -1}
        parts += [
            sign[guard.direction] * ca.SX(guard.expression)
            for guard in system.guards
            if guard.action == "terminal" and guard.direction in sign
        ]
    if not parts:
        return None
    values = ca.substitute(ca.vertcat(*parts), d.t, 0)
    by = ca.jacobian(values, d.q)
    return ca.Function("clearances", [d.x, d.p], [values, *(ca.vec(ca.densify(rows).T) for rows in (by, by @ d.N))])


def _begun(system: HybridSystem, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Where no guard is zero at which no run begins."""
    guards = [ca.SX(guard.expression) for guard in system.guards if guard.no_start]
    if not guards:
        return np.ones(len(x), dtype=bool)
    d = system.dynamics
    function = ca.Function("guards", [d.x, d.p], [ca.substitute(ca.vertcat(*guards), d.t, 0)])
    return np.asarray((np.abs(columns(function, x, p)[0]) > 1e-8).all(axis=1))


def _lifted(
    system: HybridSystem, x: np.ndarray, p: np.ndarray, touching: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """States moved out of the ground and off stops, along the gradient of what is least clear, or exactly onto it."""
    function, nq = _clearances(system, True), system.mechanism.nq
    if function is None:
        return x, np.ones(len(x), dtype=bool)
    contacts = sum(map(_blocks, system.units))
    height = np.where(touching, 0.0, 10.0 ** random.uniform(-6, 0.3, len(x)))
    for _ in range(40):
        values, gradients, _ = columns(function, x, p)
        k, rows = np.argmin(values, axis=1), np.arange(len(x))
        least, along = values[rows, k], gradients.reshape(len(x), -1, nq)[rows, k]
        wrong = np.where(touching & (k < contacts), np.abs(least) > 1e-10, least < 0.0) & np.isfinite(least)
        size = (along**2).sum(axis=1)
        beyond = np.where(k < contacts, height, np.maximum(height, 1e-6))
        change = np.where(wrong & (size > 1e-9), (beyond - least) / np.maximum(size, 1e-9), 0.0)
        x[:, :nq] += change[:, None] * along
        for place in system.mechanism.quaternions:
            x[:, place : place + 4] /= np.linalg.norm(x[:, place : place + 4], axis=1)[:, None]
        if not wrong.any():
            break
    values = columns(function, x, p)[0]
    floor = np.where(np.arange(values.shape[1]) < contacts, -5e-10, 1e-12)
    return x, np.asarray((values >= floor).all(axis=1) & np.isfinite(x).all(axis=1))


def _let_slide(system: HybridSystem, x: np.ndarray, p: np.ndarray, random: np.random.Generator) -> None:
    """Where something touches, let it neither strike nor leave, half of the time."""
    function, nv = _clearances(system, False), system.mechanism.nv
    if function is None:
        return
    values, _, gradients = columns(function, x, p)
    gradients = gradients.reshape(len(x), -1, nv)
    for run in np.flatnonzero((np.abs(values) < 1e-9).any(axis=1) & (random.random(len(x)) < 0.5)):
        J = gradients[run, np.abs(values[run]) < 1e-9]
        for _ in range(2):
            x[run, -nv:] -= np.linalg.pinv(J) @ (J @ x[run, -nv:])


def _let_roll(system: HybridSystem, x: np.ndarray, p: np.ndarray) -> None:
    """Let nothing slip on the ground that never does; bring it to rest where rounding still would."""
    grounded = [unit for unit in system.units if unit.kind in GROUNDS]
    if not grounded or not (_values(system, [unit.coefficients[0] for unit in grounded], p) == math.inf).any():
        return
    gaps = columns(ground_motion(system), x, p)[0].reshape(len(x), -1, 3)[:, :, 0]
    for run in np.flatnonzero((gaps <= 1e-9).any(axis=1)):
        one = system.with_parameters(**dict(zip(system.values, p[run].tolist(), strict=True)))
        if slipping(one, x[run]):
            x[run] = one.consistent(x[run])
        if slipping(one, x[run]):
            x[run, -system.mechanism.nv :] = 0.0


def _hold(system: HybridSystem, x: np.ndarray, p: np.ndarray, mode: dict[str, str]) -> None:
    """Let no closed grip move."""
    statuses = system.start_statuses(mode)
    if not grip_speeds(system, statuses, x[0]):
        return
    nv = system.mechanism.nv
    rows = columns(grip_rows(system, statuses), x, p)[1].reshape(len(x), nv, -1)  # CasADi stores columns
    for run, J in enumerate(rows.transpose(0, 2, 1)):
        for _ in range(3):
            x[run, -nv:] -= np.linalg.pinv(J, rcond=1e-12) @ (J @ x[run, -nv:])
        if (np.abs(J) @ np.abs(x[run, -nv:])).max() > 1e5:  # beyond this the rounding of it moves
            x[run, -nv:] = 0.0


# -- controllers -----------------------------------------------------------------------------


def _commands(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Inputs and requests from a table, a row for each sample, again from the first after the last."""
    rows, inputs, units = int(data[0]), int(data[1]), int(data[2])
    place = 3 + (int(memory[0]) % rows) * (inputs + units)
    for k in range(inputs):
        u[k] = data[place + k]
    for k in range(units):
        request[k] = int(data[place + inputs + k])
    memory[0] += 1.0
    return 0


def _controller(system: HybridSystem, limits: np.ndarray, until: float, random: np.random.Generator) -> Any:
    """Any kind of controller that the robot takes, within its limits."""
    grips = np.array([unit.kind == GRIP for unit in system.units], dtype=bool)
    if grips.any() and random.random() < 0.5:
        return _commanding(limits, grips, random)
    if not limits.size:
        return None
    period = float(10.0 ** random.uniform(-2.5, -0.5))
    kind = random.integers(8)
    if kind == 0:
        return None
    if kind == 1:
        return Constant(_levels(limits, random))
    if kind in (2, 3):
        starts = np.unique(np.concatenate([[0.0], random.uniform(0, until, random.integers(1, 7))]))
        levels = [_levels(limits, random) for _ in starts]
        return Schedule.steps(starts, levels) if kind == 2 else _ramps(starts, np.array(levels))  # type: ignore[arg-type]
    beyond = any(actuator.coordinate is None for actuator in system.mechanism.actuators.values())
    if kind == 4 or beyond:  # a PD is for actuators that drive a coordinate each
        shares = random.uniform(0, 1, limits.size)
        phase, omega = random.uniform(-math.pi, math.pi), 10.0 ** random.uniform(-1, 2)
        return Sine(list(0.999 * shares * limits), float(omega), float(phase), list(0.999 * (1 - shares) * limits))
    kp = limits * 10.0 ** random.uniform(-1.5, 1)
    target, damping = random.uniform(-3, 3, limits.size), 10.0 ** random.uniform(-3, 0)
    return PD(list(kp), list(damping * kp), list(target), period if kind == 7 else None)


def _levels(limits: np.ndarray, random: np.random.Generator) -> list[float]:
    share = random.choice([-1.0, 0.0, 1.0]) if random.random() < 0.3 else random.uniform(-1, 1, limits.size)
    return list(share * limits)


def _ramps(starts: np.ndarray, levels: np.ndarray) -> Schedule:
    """Straight lines from each level to the next; the last level is held."""
    slopes = np.diff(levels, axis=0) / np.diff(starts)[:, None]
    slopes *= 0.999  # rounding must not carry a line beyond the limit
    pieces = [
        [[level, slope] for level, slope in zip(*rows, strict=True)] for rows in zip(levels, slopes, strict=False)
    ]
    return Schedule(starts, [*pieces, [[level] for level in levels[-1]]])  # type: ignore[arg-type]


def _commanding(limits: np.ndarray, grips: np.ndarray, random: np.random.Generator) -> Compiled:
    """Torques, and wishes for the grips, that change at samples."""
    rows = int(random.integers(1, 12))
    torques = np.array([_levels(limits, random) for _ in range(rows)]).reshape(rows, -1)
    wishes = random.choice([-1, 0, 1], (rows, grips.size), p=[0.35, 0.3, 0.35]) * grips
    table = np.hstack([torques, wishes])
    period = float(random.choice([0.01, 0.05, 0.1, 0.25]))
    return Compiled(_commands, (rows, limits.size, grips.size, *table.ravel()), period)
