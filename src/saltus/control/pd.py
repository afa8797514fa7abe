"""Proportional-derivative control of actuated coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.control._protocol import per_actuator
from saltus.engine import Control, ControlParameter
from saltus.errors import InputError
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):
    for k in range(int(data[0])):
        d = 1 + 5 * k
        u[k] = data[d + 2] * (data[d + 4] - x[int(data[d])]) - data[d + 3] * x[int(data[d + 1])]
    return 0


@equal_by_content
@dataclass(frozen=True)
class PD:
    """Input = kp (target - coordinate) - kd rate, for every actuator that drives a coordinate.

    Gains and targets: one for all, by actuator, or in order. Continuous, or sampled with a period.
    """

    kp: float | Mapping[str, float] | Sequence[float] = 1.0
    kd: float | Mapping[str, float] | Sequence[float] = 0.1
    target: float | Mapping[str, float] | Sequence[float] = 0.0
    period: float | None = None

    def bind(self, system: HybridSystem) -> Control:
        mechanism = system.mechanism
        gains = (per_actuator(system, value, name) for name, value in (("kp", self.kp), ("kd", self.kd)))
        targets = per_actuator(system, self.target, "target")
        data: list[float] = [len(targets)]
        named: list[ControlParameter] = []
        for actuator, kp, kd, target in zip(mechanism.actuators.values(), *gains, targets, strict=True):
            if actuator.coordinate is None:
                raise InputError(f"pd: actuator {actuator.name} of {system.name} does not drive a coordinate")
            index = mechanism.index(actuator.coordinate)
            named += [
                ControlParameter(f"{number}.{actuator.name}", (len(data) + 2 + k,))
                for k, number in enumerate(("kp", "kd", "target"))
            ]
            rate = mechanism.nq + mechanism.velocity_index(actuator.coordinate)
            data += [index, rate, kp, kd, target]
        return bind_compiled(law, data, self.period, name="pd", parameters=named)


CONTROLLER = PD
