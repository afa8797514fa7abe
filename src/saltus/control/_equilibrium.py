"""Equilibria: where a mode of a robot stays at rest, with which inputs; and in which mode a robot is at a state."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import GRIP
from saltus.contact._ground import OPEN, STICK
from saltus.contact._joint import FREE, MINUS, PLUS, STUCK
from saltus.contact._unit import GROUND, JOINT, SPACE
from saltus.control._independent import Flow, arrays, direction_names, flow_at, readings
from saltus.control._protocol import finite
from saltus.control.constant import Constant
from saltus.engine import simulate
from saltus.engine._simulate import _check_start
from saltus.errors import InputError, RunFailed, unknown_name
from saltus.hybrid import HybridSystem, find_statuses
from saltus.hybrid._readings import state_by_readings

# Newton steps towards an equilibrium, the longest (m or rad), and the acceleration at which it is one.
_STEPS, _LONGEST, STILL = 60, 0.5, 1e-9

# A metre counts as so many radians in the least step, where lengths must change at all: a robot that leans stands up
# where it is.
_METRE = 1e3

# For how long a robot is simulated to see in which mode it is, s.
_INSTANT = 1e-9


@equal_by_content
@dataclass(frozen=True, eq=False)
class Place:
    """A state, its inputs and the statuses of its mode."""

    x: np.ndarray
    u: np.ndarray
    statuses: tuple[int, ...]


def held_values(system: HybridSystem, at: Mapping[str, float]) -> dict[str, float]:
    """Coordinates and readings that are told, checked."""
    known = [*system.mechanism.coordinates, *readings(system)]
    for name, value in at.items():
        if name not in known:
            raise unknown_name("coordinate", name, known, system.name)
        finite(value, f"{name} of {system.name}")
    return {name: float(value) for name, value in at.items()}


def statuses_at(system: HybridSystem, x: np.ndarray, u: np.ndarray, wanted: Sequence[int] | None = None) -> Any:
    """Statuses that the engine takes at a state, by simulating an instant; grips are as at the start or as wanted."""
    grips = {
        unit.name: unit.statuses[status]
        for unit, status in zip(system.units, wanted if wanted is not None else system.start_statuses(), strict=True)
        if unit.kind == GRIP
    }
    limits = system.input_limits
    hold = Constant(np.clip(u, -limits, limits).tolist()) if len(u) else None
    try:
        run = simulate(system, x, until=_INSTANT, controller=hold, mode=grips)
    except RunFailed as error:
        raise InputError(f"{error}; name the mode") from None
    return tuple(int(status) for status in run.arc_statuses[-1])


def find_equilibrium(system: HybridSystem, x: np.ndarray, u: np.ndarray, mode: Any, at: Mapping[str, float]) -> Place:
    """The equilibrium that Newton's method comes to from a state.

    Without a mode, that of the state is tried, and then those in which points stand on the ground; the
    first is taken in which the robot, put there, stays in the mode. Inputs stay as they are where coordinates alone
    can do; else both are moved as little as possible.
    """
    nq = system.mechanism.nq
    start = x.copy()
    start[nq:] = 0.0
    places = {name: value for name, value in at.items() if name in system.mechanism.coordinates}
    for name, value in places.items():
        start[system.mechanism.index(name)] = value
    seen = {name: value for name, value in at.items() if name not in places}
    if seen:
        with contextlib.suppress(InputError):  # the search may yet come there
            start = state_by_readings(system, start, seen, list(places))
    if mode is not None:
        reason = ""
        for free in (False, True):
            found = _newton(system, flow_at(system, find_statuses(system, mode), start), start, u, at, inputs=free)
            if found is not None and not (reason := _refusal(system, found.x) or _without_friction(system, found)):
                return found
        raise InputError(_no_equilibrium(system, [system.mode_name(find_statuses(system, mode))], at, reason))
    tried, reason = [], ""
    for statuses in _candidates(system, start, u):
        tried.append(system.mode_name(statuses))
        for begin in _beginnings(system, statuses, start, u, at):
            for free in (False, True):
                found = _newton(system, flow_at(system, statuses, begin), begin, u, at, inputs=free)
                if found is None or not _stays(system, found):
                    continue
                slips = on_the_edge(system, found)
                if not slips:
                    return found
                reason = reason or slips
    raise InputError(_no_equilibrium(system, tried, at, reason))


def _beginnings(
    system: HybridSystem, statuses: tuple[int, ...], x: np.ndarray, u: np.ndarray, at: Mapping[str, float]
) -> Iterator[np.ndarray]:
    """Where the search begins: at the start, and, if a joint sticks, where it would rest without its friction."""
    yield x
    kinds = [unit.kind for unit in system.units]
    loose = tuple(FREE if kind == JOINT and s == STUCK else s for kind, s in zip(kinds, statuses, strict=True))
    if loose != statuses:
        rest = _newton(system, flow_at(system, loose, x), x, u, at, inputs=False)
        if rest is not None:
            yield rest.x


def _no_equilibrium(system: HybridSystem, modes: Sequence[str], at: Mapping[str, float], reason: str) -> str:
    told = "".join(f", {name} = {value:g}" for name, value in at.items())
    where = f" ({reason})" if reason else ""
    return (
        f"{system.name}: no equilibrium near the start in mode {' or '.join(modes)}{told}{where}; name another mode, "
        "start elsewhere, hold other coordinates, or linearize at a state"
    )


def _candidates(system: HybridSystem, x: np.ndarray, u: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Modes in which the robot may stand: that of the state, and all in which one or two points are held by the ground.

    Joints with dry friction are stuck in all of them.
    """
    base = tuple(system.start_statuses())
    with contextlib.suppress(InputError):  # it cannot begin there, but may stand near by
        base = statuses_at(system, x, u)
    sliding = [unit.kind == JOINT and status in (PLUS, MINUS) for unit, status in zip(system.units, base, strict=True)]
    base = tuple(STUCK if slides else status for slides, status in zip(sliding, base, strict=True))
    ground = [k for k, unit in enumerate(system.units) if unit.kind in (GROUND, SPACE)]
    combinations = itertools.chain.from_iterable(itertools.combinations(ground, count) for count in (1, 2))
    seen = [base]
    yield base
    for held in combinations:
        statuses = tuple((STICK if k in held else OPEN) if k in ground else status for k, status in enumerate(base))
        if statuses not in seen:
            seen.append(statuses)
            yield statuses


def _refusal(system: HybridSystem, x: np.ndarray) -> str:
    """Why no run can begin at a state, if so."""
    if not system.units and not system.guards:
        return ""
    try:
        _check_start(system, *system.kinematics(0.0, x))
    except InputError as error:
        return str(error)
    return ""


def _stays(system: HybridSystem, place: Place) -> bool:
    """Whether the engine takes the same statuses there."""
    try:
        return bool(statuses_at(system, place.x, place.u, place.statuses) == place.statuses)
    except InputError:
        return False


def on_the_edge(system: HybridSystem, place: Place) -> str:
    """Which contact holds at the edge of its friction, so that it slips beside the place; nothing if none does."""
    flow = flow_at(system, place.statuses, place.x)
    nq = system.mechanism.nq
    forces = arrays(flow.linear, 0.0, place.x[:nq], place.x[nq:], place.u, system.parameter_values)[6].ravel()
    for k, mu in _holding(system, place.statuses):
        along, press = _shares(forces[system.first_rows[k] : system.first_rows[k + 1]])
        if mu * press - along <= 1e-9 * max(1.0, abs(press)):
            return _slips(system, k, mu)
    return ""


def _without_friction(system: HybridSystem, place: Place) -> str:
    """Which contact is to hold in a mode though the ground has no friction at all."""
    return next((_slips(system, k, mu) for k, mu in _holding(system, place.statuses) if mu == 0), "")


def _holding(system: HybridSystem, statuses: Sequence[int]) -> list[tuple[int, float]]:
    """Contacts that friction keeps from moving along the ground, and how much of it they have, if not all."""
    return [
        (k, system.unit_coefficients[k][0])
        for k, (unit, status) in enumerate(zip(system.units, statuses, strict=True))
        if unit.kind in (GROUND, SPACE)
        and status == STICK
        and system.unit_coefficients[k][0] < np.inf
        and any(ca.sparsify(system.dynamics.row(row)[0]).nnz() for direction, row in unit.rows if direction != "n")
    ]


def _shares(forces: np.ndarray) -> tuple[float, float]:
    """What acts along the ground, and what presses on it, which is the second."""
    return float(np.linalg.norm(np.delete(forces, 1))), float(forces[1])


def _slips(system: HybridSystem, unit: int, mu: float) -> str:
    what = "has no friction" if mu == 0 else f"is at the edge of its friction of {mu:g}"
    return f"{system.units[unit].name} {what}, and slips at the least push; name a mode in which it slips"


def _newton(
    system: HybridSystem, flow: Flow, x: np.ndarray, u: np.ndarray, at: Mapping[str, float], *, inputs: bool
) -> Place | None:
    """Newton's method in least steps: no acceleration, closed rows where they are to be, told values held."""
    nq, nv, nu = system.mechanism.nq, system.mechanism.nv, len(u)
    if inputs and not nu:
        return None
    q, u, p = x[:nq].copy(), u.copy(), system.parameter_values
    coordinates, named = list(system.mechanism.coordinates), list(flow.reading_names)
    units = [system.mechanism.coordinates.get(name, "rad") for name in direction_names(system)]
    scale = np.array([1 / _METRE if unit == "m" else 1.0 for unit in units] + [1.0] * (nu if inputs else 0))
    goals: np.ndarray | None = None
    best, found = np.inf, None
    for _ in range(_STEPS):
        a, gaps, seen, aq, au, gq, sq, rolling, N = arrays(flow.rest, 0.0, q, np.zeros(nv), u, p)
        if goals is None:
            goals = _goals(system, flow, gaps.ravel())
        told = [
            q[coordinates.index(name)] - value if name in coordinates
            else _around(system, name, seen[named.index(name), 0] - value)
            for name, value in at.items()
        ]  # fmt: skip
        slopes = [N[coordinates.index(name)] if name in coordinates else sq[named.index(name)] for name in at]
        off = np.concatenate([a.ravel(), gaps.ravel() - goals, told])
        if not np.isfinite(off).all():
            return None
        worst = float(np.max(np.abs(off), initial=0.0))
        if worst < best:
            best, found = worst, Place(np.concatenate([q, np.zeros(nv)]), u.copy(), flow.statuses)
        if worst < 1e-3 * STILL or (best < STILL and worst > best):
            break
        # what rolls without a position of its own rolls on the way, too
        rows = np.vstack([aq, gq, *slopes, rolling])
        if inputs:
            rows = np.hstack([rows, np.vstack([au, np.zeros((len(rows) - nv, nu))])])
        wanted = np.concatenate([-off, np.zeros(len(rolling))])
        step = _least(rows, wanted, scale)
        step *= min(1.0, _LONGEST / max(float(np.max(np.abs(step[:nv]), initial=0.0)), 1e-300))
        q = moved(system, q, N @ step[:nv])
        if inputs:
            u = u + step[nv:]
    return found if best < STILL else None


def _least(rows: np.ndarray, wanted: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The least step that does what is wanted, without lengths if it can do as well."""
    step = scale * np.linalg.lstsq(rows * scale, wanted, rcond=1e-10)[0]
    stay = np.where(scale < 1.0, 0.0, 1.0)
    other = stay * np.linalg.lstsq(rows * stay, wanted, rcond=1e-10)[0]
    missed, missed_too = (float(np.linalg.norm(rows @ one - wanted)) for one in (step, other))
    better: np.ndarray = other if missed_too <= missed + 1e-12 * float(np.linalg.norm(wanted)) else step
    return better


def _around(system: HybridSystem, name: str, off: float) -> float:
    """A difference of readings; angles come round."""
    if system.mechanism.readings[name].unit != "rad":
        return off
    return float((off + np.pi) % (2 * np.pi) - np.pi)


def moved(system: HybridSystem, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Coordinates after a step along their rates; quaternions turn by all of it, and keep their length."""
    after = q + step
    for first in system.mechanism.quaternions:
        part = slice(first, first + 4)
        length, turn = np.linalg.norm(q[part]), np.linalg.norm(step[part])
        angle = turn / length
        if turn > 0:
            after[part] = np.cos(angle) * q[part] + np.sin(angle) * length / turn * step[part]
    return after


def _goals(system: HybridSystem, flow: Flow, gaps: np.ndarray) -> np.ndarray:
    """Where the closed rows are to be: points on the ground, joints at their stops, others where they are."""
    goals = gaps.copy()
    for k, (unit, which) in enumerate(flow.targets):
        if which is not None:
            goals[k] = 0.0 if which < 0 else system.unit_coefficients[unit][which]
    return goals
