"""The equations of motion of a mechanism, derived: M a + h = S u + J^T lambda.

Notation: [featherstone2008]; h is written body by body as the sum of J^T m (Jdot v + g), which
makes shorter code than the Lagrange form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.mechanism._mechanism import Mechanism
from saltus.mechanism._recursion import in_space


@dataclass(frozen=True)
class Velocity:
    """A row of a contact by its velocity, linear in the velocities, and what its rate is while these do not change.

    Rolling in space has no position that would stand still: where there is none, ``position`` is None.
    """

    velocity: Any
    drift: Any
    position: Any = None


def position_of(row: Any) -> Any:
    """Where a row is: an expression of the coordinates, or zero for one that only has a velocity."""
    if isinstance(row, Velocity):
        return ca.SX(0) if row.position is None else row.position
    return row


def has_position(row: Any) -> bool:
    """Whether a row stands for a position, not for a velocity alone."""
    return not isinstance(row, Velocity) or row.position is not None


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Dynamics:
    """Symbols and expressions of one mechanism.

    ``qdot`` are the rates of the coordinates, ``N`` the matrix that makes them of the velocities. ``leaves_first`` says
    in which order the mass matrix is factored.
    """

    t: Any
    q: Any
    v: Any
    u: Any
    p: Any
    M: Any
    h: Any
    damping: Any
    S: Any
    kinetic: Any
    potential: Any
    qdot: Any
    N: Any
    leaves_first: bool = False

    @property
    def x(self) -> Any:
        """The state: coordinates, then velocities."""
        return ca.vertcat(self.q, self.v)

    @property
    def force(self) -> Any:
        """Generalised forces without contact: S u - h - damping."""
        return self.S @ self.u - self.h - self.damping

    @cached_property
    def solver(self) -> MassSolver:
        """The factored mass matrix."""
        return MassSolver(self.M, leaves_first=self.leaves_first)

    @cached_property
    def free_acceleration(self) -> Any:
        """Acceleration with nothing closed."""
        return self.solver.solve(self.force)

    @property
    def actuator_power(self) -> Any:
        """Power that the inputs put in."""
        return ca.dot(self.S @ self.u, self.v)

    @property
    def damping_power(self) -> Any:
        """Power that viscous damping takes out (not negative)."""
        return ca.dot(self.damping, self.v)

    def row(self, position: Any) -> tuple[Any, Any]:
        """Jacobian J of a scalar or vector of the coordinates, or of a velocity, and Jdot v."""
        if isinstance(position, Velocity):
            return ca.jacobian(position.velocity, self.v), ca.SX(position.drift)
        J = ca.jacobian(position, self.q)
        J = J @ self.N if self.q.numel() != self.v.numel() else J
        return J, ca.jtimes(ca.jtimes(position, self.q, self.qdot), self.q, self.qdot)


class MassSolver:
    """Solve M x = b by an unrolled L D L^T that skips structural zeros; two by two by one division.

    The pivots are positive exactly where M is positive definite. A tree that is factored from its leaves to its root
    keeps the zeros between its branches [featherstone2008, 6.5]; the other way round they fill.
    """

    def __init__(self, M: Any, *, leaves_first: bool = False):
        self.n = n = M.shape[0]
        self.order = list(range(n))
        if leaves_first and n > 2:
            self.order.reverse()
            M = M[self.order, self.order]
        self.M = M
        self.inverse: list[Any] = []
        if n == 2:
            det = M[0, 0] * M[1, 1] - M[0, 1] * M[0, 1]
            self.pivots = ca.vertcat(M[0, 0], det)
            self.inverse.append(1 / det)
            return
        L: list[list[Any]] = [[ca.SX(0)] * n for _ in range(n)]
        D: list[Any] = []
        for j in range(n):
            d = M[j, j] - sum((L[j][k] * L[j][k] * D[k] for k in range(j)), ca.SX(0))
            D.append(d)
            self.inverse.append(1 / d)
            for i in range(j + 1, n):
                rest = M[i, j] - sum((L[i][k] * L[j][k] * D[k] for k in range(j)), ca.SX(0))
                L[i][j] = rest * self.inverse[j]
        self.L = L
        self.pivots = ca.vertcat(*D) if n else ca.SX.zeros(0)

    def solve(self, b: Any) -> Any:
        """The solution, as an expression; columns of b are solved one by one."""
        columns = [self._column(b[:, k]) for k in range(b.shape[1])]
        return ca.horzcat(*columns) if columns else ca.SX.zeros(self.n, 0)

    def _column(self, b: Any) -> Any:
        if self.n == 2:
            M, scale = self.M, self.inverse[0]
            # parts first, so that the division is made once
            return ca.vertcat(M[1, 1] * b[0] - M[0, 1] * b[1], M[0, 0] * b[1] - M[0, 1] * b[0]) * scale
        n, L, b = self.n, self.L, b[self.order]
        y: list[Any] = []
        for i in range(n):
            y.append(b[i] - sum((L[i][k] * y[k] for k in range(i)), ca.SX(0)))
        z = [y[i] * self.inverse[i] for i in range(n)]
        for i in reversed(range(n)):
            z[i] = z[i] - sum((L[k][i] * z[k] for k in range(i + 1, n)), ca.SX(0))
        return ca.vertcat(*(z[k] for k in self.order)) if n else ca.SX.zeros(0)


def derive(mechanism: Mechanism, damping: Sequence[tuple[int, Any]] = ()) -> Dynamics:
    """Derive the equations of motion and the energies of a mechanism, with more damping than its own."""
    q, v, N = mechanism.q, mechanism.v, mechanism.tangent
    u = ca.vertcat(*(ca.SX.sym(name) for name in mechanism.actuators)) if mechanism.actuators else ca.SX.zeros(0)
    M, h, kinetic, potential = (in_plane if mechanism.dimension == 2 else in_space)(mechanism)
    h += (ca.jacobian(mechanism.stored, q) @ N).T
    potential += mechanism.stored
    resistance = ca.SX.zeros(mechanism.nv)
    for index, coefficient in (*mechanism.viscous, *damping):
        resistance[index] += coefficient * v[index]
    S, t, p = mechanism.input_directions(), mechanism.t, mechanism.p
    leaves_first = mechanism.dimension == 3
    return Dynamics(t, q, v, u, p, M, h, resistance, S, kinetic, potential, mechanism.qdot, N, leaves_first)


def in_plane(mechanism: Mechanism) -> tuple[Any, Any, Any, Any]:
    """Mass matrix, forces of motion and gravity, and both energies, body by body."""
    q, v, nv = mechanism.q, mechanism.v, mechanism.nv
    M = ca.SX.zeros(nv, nv)
    h = ca.SX.zeros(nv)
    kinetic = potential = ca.SX(0)
    for body in mechanism.bodies.values():
        mass, inertia = ca.SX(body.mass), ca.SX(body.inertia)
        if mass.is_zero() and inertia.is_zero():
            continue
        centre = body.pose.point(body.com)
        J = ca.jacobian(centre, q)
        velocity = J @ v
        bias = ca.jtimes(velocity, q, v)
        turn = ca.jacobian(body.pose.angle, q)
        spin = turn @ v
        M += mass * (J.T @ J) + inertia * (turn.T @ turn)
        h += mass * (J.T @ (bias + ca.vertcat(0, mechanism.gravity)))
        kinetic += mass * ca.dot(velocity, velocity) / 2 + inertia * spin**2 / 2
        potential += mass * mechanism.gravity * centre[1]
    return M, h, kinetic, potential
