"""The same input all the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.control._protocol import check_limit, per_actuator
from saltus.engine import Control, ControlParameter
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):
    for k in range(int(data[0])):
        u[k] = data[1 + k]
    return 0


@equal_by_content
@dataclass(frozen=True)
class Constant:
    """Hold each actuator at a value: one for all, by name, or in order."""

    value: float | Mapping[str, float] | Sequence[float] = 0.0

    def bind(self, system: HybridSystem) -> Control:
        values = per_actuator(system, self.value, "constant input")
        for k, value in enumerate(values):
            check_limit(system, k, value, "constant input")
        named = [ControlParameter(name, (1 + k,)) for k, name in enumerate(system.mechanism.actuators)]
        return bind_compiled(law, [len(values), *values], name="constant", parameters=named)


CONTROLLER = Constant
