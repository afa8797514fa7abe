"""A mechanism with one of its points pinned to the world, in fewer coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca

from saltus.errors import InputError
from saltus.mechanism._joints import Pose
from saltus.mechanism._mechanism import Mechanism, Point

PIN = ("pin_x", "pin_y")


class Pinned:
    """A mechanism that hangs by a point, and how its state is that of the whole mechanism.

    The coordinates that carry the whole mechanism along are left out: they follow from the others
    and from where the pin is, two new parameters. All other symbols are shared with the whole.
    """

    def __init__(self, whole: Mechanism, point: Point):
        self.whole, self.point = whole, point
        if whole.dimension != 2:
            raise InputError(f"{whole.name}: only mechanisms in the plane can be hung by a point")
        gone = _carriers(whole, point)
        self.kept = [i for i in range(whole.nq) if i not in gone]
        self.mechanism = made = Mechanism(f"{whole.name}-{point.name}")
        for name, value in vars(whole).items():
            if name not in ("name", "world"):
                made.__dict__[name] = dict(value) if isinstance(value, dict) else value
        pin = ca.vertcat(*(made.parameter(name, 0.0, "m", f"where {point.name} is held") for name in PIN))
        names = list(whole.coordinates)
        made.coordinates = {names[i]: whole.coordinates[names[i]] for i in self.kept}
        made.velocities = {f"d{name}": f"{unit}/s" for name, unit in made.coordinates.items()}
        made._q, made._v = [whole._q[i] for i in self.kept], [whole._v[i] for i in self.kept]
        made._rates = list(made._v)
        carried = ca.vertcat(*(whole._q[i] for i in gone))
        place = pin - ca.substitute(point.position, carried, ca.SX.zeros(2))
        speed = ca.jtimes(place, made.q, made.v)
        self._from = ca.vertcat(carried, *(whole._v[i] for i in gone))
        self._to = ca.vertcat(place, speed)
        made.bodies = {
            name: replace(body, pose=Pose(self.seen(body.pose.position), self.seen(body.pose.angle)))
            for name, body in whole.bodies.items()
        }
        made.points = {name: replace(p, position=self.seen(p.position)) for name, p in whole.points.items()}
        made.actuators = {name: replace(a, along=self.seen(a.along)) for name, a in whole.actuators.items()}
        made.stored = self.seen(whole.stored)
        for name, _ in whole._damping:
            if name not in made.coordinates:
                raise InputError(f"{whole.name}: {name} is damped, so that nothing can take its place")

    def seen(self, expression: Any) -> Any:
        """An expression of the whole mechanism's state in the coordinates that are left."""
        return ca.substitute(ca.SX(expression), self._from, self._to)

    @property
    def state(self) -> Any:
        """The whole state, as expressions of what is left of it, and of the pin."""
        return self.seen(ca.vertcat(self.whole.q, self.whole.v))


def _carriers(mechanism: Mechanism, point: Point) -> list[int]:
    """The two coordinates that move the point, and everything, along x and along y."""
    J = ca.sparsify(ca.jacobian(point.position, mechanism.q))
    found = []
    for axis in ([1.0, 0.0], [0.0, 1.0]):
        for i, unit in enumerate(mechanism.coordinates.values()):
            column = ca.densify(J[:, i])
            if unit == "m" and column.is_constant() and list(map(float, ca.vertsplit(column))) == axis:
                found.append(i)
                break
    if len(found) != 2:
        raise InputError(
            f"{mechanism.name}: {point.name} can be pinned only where two coordinates carry all bodies along"
        )
    return found
