"""Independent states of a mode: which coordinates and velocities are left free, and how all others follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus.contact._joint import LOWER, UPPER
from saltus.contact._unit import GROUND, SPACE
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem, symbolic_mode
from saltus.mechanism import Velocity, position_of

# A coordinate is given up if it moves the closed rows at least by this share of what the best one does: of near equals
# the first goes, which is where the base is.
_NEAR = 0.1

# What components of a rotation vector are named by, before the angular velocity that is their rate.
TURN = "turn_"

# Rows say the same as others where what is left of them is below this share of their size.
_SAME = 1e-9


def has_position(row: Any) -> bool:
    """Whether a row of a unit is a length or angle; else it has a velocity only, as rolling in space has."""
    return not isinstance(row, Velocity) or row.position is not None


def readings(system: HybridSystem) -> dict[str, Any]:
    """Expressions of what is read off the coordinates, such as a pitch, by name."""
    return {name: reading.expression for name, reading in system.mechanism.readings.items()}


def rate_name(name: str) -> str:
    """The name of the rate of a coordinate, a reading or a component of a rotation."""
    return name.removeprefix(TURN) if name.startswith(TURN) else f"d{name}"


def direction_names(system: HybridSystem) -> list[str]:
    """A name for each direction in which the coordinates can differ: the coordinate's, or else the velocity's."""
    mechanism = system.mechanism
    if mechanism.nq == mechanism.nv:
        return list(mechanism.coordinates)
    return list(system.once("names of directions", lambda: _direction_names(system)))


def _direction_names(system: HybridSystem) -> list[str]:
    coordinates, velocities = list(system.mechanism.coordinates), list(system.mechanism.velocities)
    N = ca.sparsify(system.dynamics.N)
    names = []
    for k, velocity in enumerate(velocities):
        rows = N[:, k].row()
        plain = len(rows) == 1 and N[rows[0], :].nnz() == 1 and N[rows[0], k].is_constant()
        # components of a rotation vector have no coordinate; they are told apart from their rates by this word
        names.append(coordinates[rows[0]] if plain else f"{TURN}{velocity}")
    return names


@dataclass(frozen=True, eq=False)
class Flow:
    """What CasADi makes of a mode: functions of (t, q, v, u, p), in the directions N of the coordinates.

    ``linear`` gives the derivatives of the rates of directions and velocities by these and by inputs, the rows of the
    closed contacts on directions and on velocities, how the latter's speeds depend on directions, accelerations, forces
    and pivots. ``rest`` gives what vanishes at an equilibrium, and its derivatives. ``seen`` has the same of readings.
    """

    name: str
    statuses: tuple[int, ...]
    linear: Any
    rest: Any
    targets: tuple[tuple[int, int | None], ...]
    seen: Any
    reading_names: tuple[str, ...]


def flow_at(system: HybridSystem, statuses: tuple[int, ...], x: np.ndarray) -> Flow:
    """The functions of a mode, made once; rows that say the same as others at a state get no force."""
    without = _repeated(system, statuses, x)
    made: Flow = system.once(f"linear flow {statuses} {without}", lambda: _flow(system, statuses, without))
    return made


def _repeated(system: HybridSystem, statuses: tuple[int, ...], x: np.ndarray) -> tuple[int, ...]:
    """Numbers of closed rows that follow from others: two wheels of one axle cannot both be held from sliding aside."""
    d, closed = system.dynamics, _closed(system, statuses)
    if len(closed) < 2:
        return ()
    numbers = [system.first_rows[unit] + row for (unit, row), _ in closed]
    tied = {
        system.first_rows[k] + to
        for k, (unit, status) in enumerate(zip(system.units, statuses, strict=True))
        for _, to, _ in unit.equations(status).ties
    }
    stacked = ca.vertcat(*(d.row(position)[0] for _, position in closed))
    function = system.once(f"closed rows {statuses}", lambda: ca.Function("rows", [d.x, d.p], [stacked]))
    (J,) = arrays(function, x, system.parameter_values)
    basis: list[np.ndarray] = []
    again = []
    # what friction is a share of must keep its force
    for k in sorted(range(len(numbers)), key=lambda k: numbers[k] not in tied):
        size = np.linalg.norm(J[k])
        rest = J[k] - sum((vector * (vector @ J[k]) for vector in basis), np.zeros(J.shape[1]))
        if np.linalg.norm(rest) > _SAME * size:
            basis.append(rest / np.linalg.norm(rest))
        elif numbers[k] not in tied:
            again.append(numbers[k])
    return tuple(sorted(again))


def _flow(system: HybridSystem, statuses: tuple[int, ...], without: tuple[int, ...]) -> Flow:
    d, mode = system.dynamics, symbolic_mode(system, statuses, without)
    N, a, nv = d.N, mode.acceleration, d.v.numel()
    closed = _closed(system, statuses)
    rows = [d.row(position)[0] for _, position in closed]
    J = ca.vertcat(*rows) if rows else ca.SX(0, nv)
    held = [k for k, (_, position) in enumerate(closed) if has_position(position)]
    gaps = ca.vertcat(*(position_of(closed[k][1]) for k in held)) if held else ca.SX(0, 1)
    w = ca.SX.sym("w", nv)
    # d(direction)/dt = dv + N^+ (d(N v)/dq N - dN/dt) direction, which is dv in the plane
    carried = ca.SX.zeros(nv, nv)
    if not N.is_constant():
        moving = ca.jacobian(d.qdot, d.q) @ N - ca.jacobian(ca.jtimes(N @ w, d.q, d.qdot), w)
        carried = ca.solve(N.T @ N, N.T @ moving)
    A = ca.blockcat([[carried, ca.SX.eye(nv)], [ca.jacobian(a, d.q) @ N, ca.jacobian(a, d.v)]])
    B = ca.vertcat(ca.SX.zeros(nv, d.u.numel()), ca.jacobian(a, d.u))
    inputs = [d.t, d.q, d.v, d.u, d.p]
    dense = [ca.densify(part) for part in (
        A, B, J[held, :], J, ca.jacobian(J @ d.v, d.q) @ N, a, mode.forces, mode.pivots, N,
    )]  # fmt: skip
    named = readings(system)
    seen = ca.vertcat(*named.values()) if named else ca.SX(0, 1)
    rolling = J[[k for k in range(len(closed)) if k not in held], :]
    rest = [
        a, gaps, seen, ca.jacobian(a, d.q) @ N, ca.jacobian(a, d.u), ca.jacobian(gaps, d.q) @ N,
        ca.jacobian(seen, d.q) @ N, rolling, N,
    ]  # fmt: skip
    rate = ca.jtimes(seen, d.q, d.qdot) if named else ca.SX(0, 1)
    second = ca.jtimes(rate, d.q, d.qdot) + ca.jacobian(rate, d.v) @ a if named else ca.SX(0, 1)
    watched = [ca.jacobian(seen, d.q) @ N, ca.jacobian(rate, d.q) @ N, ca.jacobian(second, d.q) @ N,
               ca.jacobian(second, d.v), ca.jacobian(second, d.u), seen, rate]  # fmt: skip
    return Flow(
        mode.name, statuses, ca.Function("linear", inputs, dense),
        ca.Function("rest", inputs, [ca.densify(part) for part in rest]),
        tuple(_target(system, statuses, closed[k][0]) for k in held),
        ca.Function("seen", inputs, [ca.densify(part) for part in watched]), tuple(named),
    )  # fmt: skip


def _closed(system: HybridSystem, statuses: Sequence[int]) -> list[tuple[tuple[int, int], Any]]:
    """Unit, row and position of each closed row that can move at all."""
    d = system.dynamics
    return [
        ((k, row), unit.rows[row][1])
        for k, (unit, status) in enumerate(zip(system.units, statuses, strict=True))
        for row in unit.equations(status).closed
        if ca.sparsify(d.row(unit.rows[row][1])[0]).nnz()
    ]


def _target(system: HybridSystem, statuses: Sequence[int], place: tuple[int, int]) -> tuple[int, int | None]:
    """Where a closed row is at rest: unit, and which of its coefficients; -1 for zero, None for where it was."""
    k, row = place
    unit, status = system.units[k], statuses[k]
    if unit.kind in (GROUND, SPACE) and unit.rows[row][0] == "n":
        return k, -1
    if unit.coordinate is not None and status in (LOWER, UPPER):
        return k, 1 if status == LOWER else 2
    return k, None


@dataclass(frozen=True, eq=False)
class Choice:
    """The independent states of a mode by name: directions and readings, then velocities and rates of readings.

    A number that is not below the count of directions stands for a reading.
    """

    positions: tuple[int, ...]
    velocities: tuple[int, ...]
    names: tuple[str, ...]


def choose(system: HybridSystem, J: np.ndarray, Jv: np.ndarray, gradients: np.ndarray, keep: Sequence[str]) -> Choice:
    """Independent states, by pivoting on the rows of closed contacts.

    Parameters
    ----------
    J, Jv
        Rows that closed contacts put on differences of directions, and on velocities.
    gradients
        Those of all readings.
    keep
        Coordinates and readings that must stay.
    """
    directions, rates = direction_names(system), list(system.mechanism.velocities)
    named = list(readings(system))
    known = [*directions, *named]
    if isinstance(keep, str):
        keep = tuple(name for name in keep.replace(",", " ").split())
    for name in keep:
        if name not in known:
            raise unknown_name("coordinate to keep", name, known, system.name)
    if len(set(keep)) != len(keep):
        raise InputError(f"keep of {system.name} names {', '.join(keep)}; each once is enough")
    nv, wanted = len(directions), [known.index(name) for name in keep]
    seen = [k for k in wanted if k >= nv]
    G = gradients[[k - nv for k in seen]]
    free = [k for k in range(nv) if k not in wanted]
    gone = _pivots(np.vstack([J, G]), free, ())
    count = _rank(J)
    if len(gone) < count + len(seen):
        left = nv - count
        raise InputError(
            f"keep: {', '.join(keep)} do not vary independently in this mode of {system.name}, which has {left} "
            f"independent coordinates; leave out one, or keep none to have them chosen"
        )
    positions = tuple(wanted) + tuple(k for k in free if k not in gone)
    velocities = _velocities(Jv, gradients, positions, gone, wanted)
    words = [*rates, *(f"d{name}" for name in named)]
    return Choice(positions, velocities, tuple([known[k] for k in positions] + [words[k] for k in velocities]))


def _velocities(
    Jv: np.ndarray, gradients: np.ndarray, positions: Sequence[int], gone: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...]:
    """Those of the positions that stay, but for as many as rows without a position take away, wanted ones last."""
    nv = Jv.shape[1]
    stacked: np.ndarray = Jv
    seen: list[int] = []
    for k in positions:
        if k >= nv and _rank(np.vstack([stacked, gradients[k - nv]])) > _rank(stacked):
            stacked, seen = np.vstack([stacked, gradients[k - nv]]), [*seen, k]
    lost = _pivots(stacked, [k for k in range(nv) if k not in gone and k not in wanted], gone)
    lost = _pivots(stacked, range(nv), lost)
    return tuple(k for k in positions if k in seen or (k < nv and k not in lost)) + tuple(
        k for k in range(nv) if k not in lost and k not in positions
    )


def _rank(rows: np.ndarray) -> int:
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > 0] / sizes[sizes > 0, None]
    return int(np.linalg.matrix_rank(rows, tol=_SAME)) if rows.size else 0


def _pivots(rows: np.ndarray, candidates: Sequence[int], first: Sequence[int]) -> list[int]:
    """Columns on which the rows are independent, some given and the others as early as is sound."""
    sizes = np.linalg.norm(rows, axis=1)
    left = rows[sizes > 0] / sizes[sizes > 0, None]
    chosen: list[int] = []
    given = list(first)
    while len(left):
        lengths = np.linalg.norm(left, axis=0)
        if given:
            column = given.pop(0)
        else:
            open_ = [k for k in candidates if k not in chosen]
            best = max((lengths[k] for k in open_), default=0.0)
            if best <= _SAME:
                break
            column = next(k for k in open_ if lengths[k] >= _NEAR * best)
        if lengths[column] <= _SAME:
            continue
        chosen.append(column)
        direction = left[:, column] / lengths[column]
        left = left - np.outer(direction, direction @ left)
    return chosen


def tangent(
    choice: Choice, J: np.ndarray, Jv: np.ndarray, drift: np.ndarray, gradients: np.ndarray, turns: np.ndarray
) -> np.ndarray:
    """The matrix that gives differences of all directions and velocities from those of the independent states.

    Parameters
    ----------
    drift
        How the speeds of the rows of velocities depend on directions.
    gradients, turns
        Of readings, and how the rates of readings depend on directions.
    """
    nv, n, m = J.shape[1], len(choice.positions), len(choice.velocities)
    every = np.vstack([np.eye(nv), gradients])
    spun = np.vstack([np.zeros((nv, nv)), turns])
    P = _solve(np.vstack([J, every[list(choice.positions)]]), np.vstack([np.zeros((len(J), n)), np.eye(n)]))
    picked = list(choice.velocities)
    right = np.vstack([np.hstack([-drift @ P, np.zeros((len(Jv), m))]), np.hstack([-spun[picked] @ P, np.eye(m)])])
    V = _solve(np.vstack([Jv, every[picked]]), right)
    return np.vstack([np.hstack([P, np.zeros((nv, m))]), V])


def _solve(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.lstsq(rows, right, rcond=1e-12)[0]
    return found


def read_choice(
    choice: Choice, values: Sequence[np.ndarray], watched: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B of the chosen states, and the matrix that gives all differences from theirs.

    Parameters
    ----------
    values, watched
        Of the functions ``linear`` and ``seen`` of the mode.
    """
    A, B, J, Jv, drift = values[:5]
    gradients, turns, second_q, second_v, second_u = watched[:5]
    nv = J.shape[1]
    T = tangent(choice, J, Jv, drift, gradients, turns)
    first = np.vstack([A[:nv], np.hstack([turns, gradients])])[list(choice.positions)]
    second = np.vstack([A[nv:], np.hstack([second_q, second_v])])[list(choice.velocities)]
    by_inputs = np.vstack([B[nv:], second_u])[list(choice.velocities)]
    return np.vstack([first, second]) @ T, np.vstack([np.zeros((len(first), B.shape[1])), by_inputs]), T


def arrays(function: Any, *arguments: Any) -> list[np.ndarray]:
    """All outputs of a function as matrices."""
    found = function(*arguments)
    return [np.array(part, dtype=float) for part in (found if isinstance(found, (tuple, list)) else [found])]
