"""Where friction can leave a sliding contact without a motion, or with two: Painleve's paradox over postures.

A contact that slides has the normal force -(free normal acceleration) / alpha. Where alpha is not positive there is
no such force, or one besides separation. Notation: [oh_huang, item 1], alpha = W_n M^-1 (W_n - sigma mu W_t)^T.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact._unit import GROUND
from saltus.errors import InputError, unknown_name
from saltus.hybrid._system import HybridSystem

Axis = tuple[str, Sequence[float] | np.ndarray]


@equal_by_content
@dataclass(frozen=True)
class Posture:
    """A value, and the posture at which it is taken."""

    value: float
    at: dict[str, float]
    sliding: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "at": dict(self.at), "sliding": self.sliding}


@equal_by_content
@dataclass(frozen=True)
class Painleve:
    """Alpha of one contact over two coordinates: a row for each value of ``y``, a column for each of ``x``.

    ``plus`` and ``minus`` are for sliding either way, in 1/kg; ``critical`` is the friction from which one of them is
    not positive any more. ``possible`` says where no guard that postures must respect is violated. Of all possible
    postures, ``smallest`` is the least alpha with the robot's own friction, ``least_critical`` the least friction that
    is critical.
    """

    system: HybridSystem
    unit: str
    x_name: str
    x: np.ndarray
    y_name: str
    y: np.ndarray
    plus: np.ndarray
    minus: np.ndarray
    critical: np.ndarray
    possible: np.ndarray
    friction: float
    smallest: Posture
    least_critical: Posture

    @property
    def alpha(self) -> np.ndarray:
        """The smaller one of both directions."""
        return np.minimum(self.plus, self.minus)

    @property
    def free(self) -> bool:
        """Whether no possible posture has the paradox."""
        return self.smallest.value > 0

    def to_dict(self) -> dict[str, Any]:
        """In short, for JSON."""
        return {
            "robot": self.system.name, "unit": self.unit, "friction": self.friction,
            "smallest_alpha": self.smallest.to_dict(), "critical_friction": self.least_critical.to_dict(),
            "paradox": not self.free, "postures": int(self.possible.size), "possible": int(self.possible.sum()),
        }  # fmt: skip


def painleve(
    system: HybridSystem,
    x: Axis | None = None,
    y: Axis | None = None,
    *,
    unit: str | None = None,
    within: Sequence[str] | None = None,
    state: Mapping[str, float] | None = None,
) -> Painleve:
    """Alpha of a ground contact over the postures of a robot.

    Parameters
    ----------
    x, y
        A coordinate and its values, in increasing order; the first two angles, all around, if not given.
    unit
        Which ground contact; the first.
    within
        Guards that a posture must respect; all of the robot's that count in one direction.
    state
        The other coordinates; those of the robot's start.
    """
    contacts = {one.name: k for k, one in enumerate(system.units) if one.kind == GROUND}
    if not contacts:
        raise InputError(f"{system.name} has no contacts with the ground")
    name = next(iter(contacts)) if unit is None else unit
    if name not in contacts:
        raise unknown_name("ground contact", name, contacts, system.name)
    friction = system.unit_coefficients[contacts[name]][0]
    if friction == math.inf:
        raise InputError(f"{name} of {system.name} never slides: its friction is infinite; give it a finite one")
    axes = _axes(system, x, y)
    guards = {guard.name: guard for guard in system.guards}
    names = [n for n, g in guards.items() if g.direction != "both"] if within is None else list(within)
    for one in names:
        if one not in guards:
            raise unknown_name("guard", one, guards, system.name)
    function = _function(system, contacts[name], [guards[one] for one in names])
    q0 = system.state(state)[: system.mechanism.nq]
    places = [list(system.mechanism.coordinates).index(axis[0]) for axis in axes]

    def at(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Normal compliance, its coupling with the tangent, and the least guard, at many postures."""
        q = np.tile(q0, (first.size, 1))
        q[:, places[0]], q[:, places[1]] = first, second
        out = np.array(function.map(first.size)(q.T, np.tile(system.parameter_values[:, None], (1, first.size))))
        return out[0], out[1], out[2:].min(axis=0, initial=np.inf)

    X, Y = np.meshgrid(axes[0][1], axes[1][1])
    normal, coupling, least = at(X.ravel(), Y.ravel())
    possible = least >= 0
    if not possible.any():
        raise InputError(f"{system.name}: no posture of the map respects {', '.join(names)}")
    with np.errstate(divide="ignore"):
        critical = normal / np.abs(coupling)
    alpha = normal - friction * np.abs(coupling)
    found = []
    for values, measure in (
        (alpha, lambda n, c: n - friction * abs(c)),
        (critical, lambda n, c: n / abs(c) if c else math.inf),
    ):
        found.append(_least(np.where(possible, values, np.inf), X.ravel(), Y.ravel(), axes, at, measure))
    shape = X.shape
    return Painleve(
        system, name, axes[0][0], axes[0][1], axes[1][0], axes[1][1],
        (normal - friction * coupling).reshape(shape), (normal + friction * coupling).reshape(shape),
        critical.reshape(shape), possible.reshape(shape), float(friction), *found,
    )  # fmt: skip


def _axes(system: HybridSystem, x: Axis | None, y: Axis | None) -> list[tuple[str, np.ndarray]]:
    coordinates = system.mechanism.coordinates
    angles = [name for name, unit in coordinates.items() if unit == "rad"]
    given: list[tuple[str, np.ndarray]] = []
    for axis in (x, y):
        if axis is None:
            left = [name for name in angles if name not in [one[0] for one in (x, y, *given) if one is not None]]
            if not left:
                raise InputError(f"{system.name} has too few angles; name two coordinates")
            axis = left[0], np.linspace(-math.pi, math.pi, 181)
        if axis[0] not in coordinates:
            raise unknown_name("coordinate", axis[0], coordinates, system.name)
        values = np.asarray(axis[1], dtype=float)
        if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InputError(f"values of {axis[0]} must be at least two finite numbers that increase")
        given.append((axis[0], values))
    if given[0][0] == given[1][0]:
        raise InputError(f"a map needs two different coordinates, got {given[0][0]} twice")
    return given


def _function(system: HybridSystem, unit: int, guards: Sequence[Any]) -> Any:
    """A_nn, A_nt and the guards, as a function of coordinates and parameters."""
    d = system.dynamics
    J = ca.vertcat(*(d.row(position)[0] for _, position in system.units[unit].rows))
    A = J @ d.solver.solve(J.T)
    signs = {"up": -1}
    values = ca.vertcat(*(signs.get(one.direction, 1) * ca.SX(one.expression) for one in guards), ca.SX.zeros(0))
    if ca.depends_on(ca.vertcat(A[0, 1], values), ca.vertcat(d.v, d.t)):
        raise InputError(f"guards of postures of {system.name} may depend on coordinates only")
    return ca.Function("painleve", [d.q, d.p], [ca.vertcat(A[1, 1], A[0, 1], values)])


def _least(
    values: np.ndarray, X: np.ndarray, Y: np.ndarray, axes: Sequence[tuple[str, np.ndarray]], at: Any, measure: Any
) -> Posture:
    """The least value of all possible postures: that of the best cell, made smaller within and around it."""
    from scipy.optimize import minimize

    k = int(values.argmin())
    spans = [(float(axis[1][0]), float(axis[1][-1])) for axis in axes]
    step = [float(np.diff(axis[1]).max()) for axis in axes]
    best = (float(values[k]), float(X[k]), float(Y[k]))

    def value(place: np.ndarray) -> float:
        inside = all(low <= one <= high for one, (low, high) in zip(place, spans, strict=True))
        normal, coupling, least = at(place[:1], place[1:])
        return float(measure(float(normal[0]), float(coupling[0]))) if inside and least[0] >= 0 else math.inf

    # postures at the border of what is possible are among them, so that no gradient is followed
    for size in (1.0, 0.1, 0.01):
        corners = np.array([best[1:], [best[1] + size * step[0], best[2]], [best[1], best[2] + size * step[1]]])
        found = minimize(
            value, best[1:], method="Nelder-Mead",
            options={"initial_simplex": corners, "xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000},
        )  # fmt: skip
        if found.fun < best[0]:
            best = (float(found.fun), float(found.x[0]), float(found.x[1]))
    coupling = float(at(np.array(best[1:2]), np.array(best[2:]))[1][0])
    return Posture(
        best[0], dict(zip((axes[0][0], axes[1][0]), best[1:], strict=True)), "slip+" if coupling > 0 else "slip-"
    )
