"""A brake: every actuator that drives a coordinate works against its rate."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.control import Compiled
from saltus.engine import Control
from saltus.errors import InputError
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):
    for k in range(int(data[1])):
        u[k] = -data[0] * x[int(data[2 + k])]
    return 0


@dataclass(frozen=True)
class Brake:
    """Input = -gain times the coordinate's rate; continuous, or sampled with a period in s."""

    gain: float = 0.5
    period: float | None = None

    def bind(self, system: HybridSystem) -> Control:
        m = system.mechanism
        driven = [actuator.coordinate for actuator in m.actuators.values() if actuator.coordinate]
        if not driven or len(driven) < len(m.actuators):
            raise InputError(f"brake needs actuators that drive coordinates, {system.name} has not only such")
        rates = [m.nq + m.index(coordinate) for coordinate in driven]
        return Compiled(law, [self.gain, len(rates), *rates], period=self.period).bind(system)


CONTROLLER = Brake
