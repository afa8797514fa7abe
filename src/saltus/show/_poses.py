"""Where the bodies of a robot are in space, and how they are turned: those of a planar robot stand upright there."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from saltus.hybrid import HybridSystem
from saltus.show._points import Points, evaluate, stood_up

# The plane in space: its x is x, its y is z, and what points out of it towards the eye is -y.
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


class Poses:
    """The bodies of a robot in space, by name."""

    def __init__(self, system: HybridSystem) -> None:
        self.system = system
        self.names = list(system.mechanism.bodies)

    def at(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins, m, [state, body, axis], and rotations, [state, body, row, column], at some states (q, v)."""
        function = self.system.once("poses", self._make)
        numbers = evaluate(self.system, function, states, (len(self.names), 4, 3))
        # a body's axes stand in rows, so that CasADi's columns are NumPy's rows
        return numbers[:, :, 3], np.swapaxes(numbers[:, :, :3], 2, 3)

    def _make(self) -> Any:
        m = self.system.mechanism
        rows = []
        for body in m.bodies.values():
            if m.dimension == 3:
                axes, origin = ca.vec(body.pose.rotation), body.pose.position
            else:
                c, s = ca.cos(body.pose.angle), ca.sin(body.pose.angle)
                axes = ca.vertcat(c, 0, s, -s, 0, c, 0, -1, 0)
                origin = ca.vertcat(body.pose.position[0], 0, body.pose.position[1])
            rows += [axes, origin]
        return ca.Function("poses", [ca.vertcat(m.q, m.v), m.p], [ca.densify(ca.vertcat(*rows))])


def point_places(system: HybridSystem, states: np.ndarray) -> np.ndarray:
    """All named points in space at some states, m: [state, point, axis]."""
    return stood_up(Points(system).full_positions(states))


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Rotation matrices, one after the other in time, as quaternions x, y, z, w without jumps of sign."""
    found: np.ndarray = Rotation.from_matrix(rotations).as_quat()
    turned = (found[1:] * found[:-1]).sum(axis=1) < 0
    found[1:] *= np.cumprod(np.where(turned, -1.0, 1.0))[:, None]
    return found


def along(directions: np.ndarray) -> np.ndarray:
    """Rotations that turn z into each of some directions, each by the least turn from the one before."""
    made = np.empty((len(directions), 3, 3))
    axes = np.eye(3)
    for k, direction in enumerate(directions):
        size = float(np.linalg.norm(direction))
        if size > 0 and np.isfinite(size):
            axes = _least_turn(axes[:, 2], direction / size) @ axes
        made[k] = axes
    return made


def _least_turn(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The rotation about the axis across two directions of unit length that turns one into the other."""
    axis, cosine = np.cross(begin, end), float(begin @ end)
    if cosine < -1 + 1e-12:  # half a turn, about anything across
        across = np.cross(begin, np.eye(3)[np.argmin(np.abs(begin))])
        across /= np.linalg.norm(across)
        return np.asarray(2.0 * np.outer(across, across) - np.eye(3))
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + cosine))
