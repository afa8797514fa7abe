"""A sinusoidal input: offset + amplitude sin(omega t + phase)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus.control._function import bind_compiled
from saltus.control._protocol import check_limit, finite, per_actuator
from saltus.engine import Control, ControlParameter
from saltus.hybrid import HybridSystem


def law(t, x, status, memory, p, data, piece, u, request):
    for k in range(int(data[0])):
        u[k] = data[4 + 2 * k] + data[3 + 2 * k] * math.sin(data[1] * t + data[2])
    return 0


@equal_by_content
@dataclass(frozen=True)
class Sine:
    """Push and pull in turn: ``omega`` in rad/s, ``phase`` in rad."""

    amplitude: float | Mapping[str, float] | Sequence[float] = 1.0
    omega: float = 2 * math.pi
    phase: float = 0.0
    offset: float | Mapping[str, float] | Sequence[float] = 0.0

    def bind(self, system: HybridSystem) -> Control:
        amplitudes = per_actuator(system, self.amplitude, "amplitude")
        offsets = per_actuator(system, self.offset, "offset")
        data = [len(amplitudes), finite(self.omega, "omega"), finite(self.phase, "phase")]
        for k, (amplitude, offset) in enumerate(zip(amplitudes, offsets, strict=True)):
            check_limit(system, k, abs(amplitude) + abs(offset), "sinusoidal input")
            data += [amplitude, offset]
        named = [ControlParameter("omega", (1,)), ControlParameter("phase", (2,))]
        for k, name in enumerate(system.mechanism.actuators):
            named += [
                ControlParameter(f"amplitude.{name}", (3 + 2 * k,)),
                ControlParameter(f"offset.{name}", (4 + 2 * k,)),
            ]
        return bind_compiled(law, data, name="sine", parameters=named)


CONTROLLER = Sine
