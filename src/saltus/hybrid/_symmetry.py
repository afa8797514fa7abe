"""A symmetry of a robot: another way to name its parts under which it is the same robot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.errors import unknown_name
from saltus.mechanism import Mechanism


def wrapped(angle: Any) -> Any:
    """An angle, brought between -pi and pi by whole turns."""
    return angle - 2 * math.pi * ca.floor((angle + math.pi) / (2 * math.pi))


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Symmetry:
    """The coordinates, units and parameters of a robot under other names of its parts.

    Parameters
    ----------
    state
        Each new coordinate as an expression of the old ones; those that are not named stay. Velocities follow.
    units
        New name of each unit whose name changes.
    parameters
        Each new parameter as an expression of the old ones; those that are not named stay.
    """

    state: Mapping[str, Any]
    units: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self, mechanism: Mechanism) -> None:
        """Refuse names that the mechanism does not have."""
        for name in self.state:
            mechanism.index(name)
        for name in self.parameters:
            if name not in mechanism.parameters:
                raise unknown_name("parameter", name, mechanism.parameters, mechanism.name)

    def map(self, mechanism: Mechanism) -> Any:
        """The new state, as expressions of the old."""
        q = ca.vertcat(*(ca.SX(self.state.get(c, mechanism.coordinate(c).symbol)) for c in mechanism.coordinates))
        return ca.vertcat(q, ca.jtimes(q, mechanism.q, mechanism.v))

    def other_parameters(self, mechanism: Mechanism) -> Any:
        """The parameters of the robot under its new names, as expressions of the old."""
        names = list(mechanism.parameters)
        return ca.vertcat(*(ca.SX(self.parameters.get(name, mechanism.p[k])) for k, name in enumerate(names)))

    def other(self, mechanism: Mechanism, values: Mapping[str, float]) -> dict[str, float]:
        """The same in numbers."""
        names = list(mechanism.parameters)
        function = ca.Function("other", [mechanism.p], [self.other_parameters(mechanism)])
        return dict(zip(names, np.array(function([values[n] for n in names]), dtype=float).ravel(), strict=True))

    def differences(self, mechanism: Mechanism, values: Mapping[str, float]) -> str:
        """Which parameters make the robot another one under its new names; empty if none do."""
        other = self.other(mechanism, values)
        differ = [name for name in other if not math.isclose(values[name], other[name], rel_tol=1e-12, abs_tol=1e-15)]
        return ", ".join(f"{name} = {values[name]:g} would be {other[name]:g}" for name in differ)

    def tied(self, mechanism: Mechanism, name: str) -> dict[str, Any]:
        """Parameters that must follow one that changes, if the robot is to stay the same, with their expressions."""
        symbol = mechanism.p[list(mechanism.parameters).index(name)]
        return {n: ca.SX(e) for n, e in self.parameters.items() if n != name and ca.depends_on(ca.SX(e), symbol)}
