"""The current sensor of a motor driver: what its converter reads for a torque, and what torque that tells of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus.control._protocol import finite
from saltus.errors import InputError

# In data: the torque of a step of the converter, and its largest reading.
QUANTUM, TOP, CURRENT = range(3)


@equal_by_content
@dataclass(frozen=True)
class Current:
    """The sense pin of a driver, a resistor from it to ground, and the converter that reads the voltage.

    The pin gives a share of the motor's current, 1/11370 of it, into 1500 ohm [yang2016, 5.3.3]; the converter of ten
    bits at 5 V is that of the boards used there, by their data sheet. The current has no sign at the pin; its
    direction is that which the driver was told.

    Parameters
    ----------
    torque_per_ampere
        Torque at the joint for a current of 1 A, N m. [yang2016] does not say it of its motors.
    sense
        Current at the pin over that of the motor.
    resistor
        Ohm.
    bits
        Of the converter.
    reference
        Voltage at its largest reading, V.
    """

    torque_per_ampere: float
    sense: float = 1 / 11370
    resistor: float = 1500.0
    bits: int = 10
    reference: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = finite(getattr(self, field.name), f"current: {field.name}")
            if not value > 0:
                raise InputError(f"current: {field.name} must be positive, got {value:g}")
        if not isinstance(self.bits, int) or self.bits > 32:
            raise InputError(f"current: bits is a whole number up to 32, got {self.bits!r}")

    @property
    def quantum(self) -> float:
        """The torque of a step of the converter, N m."""
        return self.reference / 2**self.bits / self.resistor / self.sense * self.torque_per_ampere

    @property
    def top(self) -> int:
        """The largest reading, of that current and any beyond."""
        return int(2**self.bits - 1)

    def reading(self, torque: Any) -> Any:
        """What the converter reads while a motor gives some torque (N m), or each of several."""
        steps = np.floor(np.abs(np.asarray(torque, dtype=float)) / self.quantum)
        return np.minimum(steps, self.top).astype(np.int64)[()]

    def torque(self, reading: Any) -> Any:
        """The size of the torque that a reading tells of, N m."""
        return (np.asarray(reading) * self.quantum)[()]

    def measured(self, torque: Any) -> Any:
        """A torque as the sensor tells it, with the sign that the driver knows, N m."""
        return (np.sign(torque) * self.torque(self.reading(torque)))[()]


@compiled
def told(torque, quantum, top):
    """A torque as the sensor tells it."""
    size = min(float(int(abs(torque) / quantum)), top) * quantum
    return -size if torque < 0.0 else size
