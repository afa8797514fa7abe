"""The inertial unit on the first link: its angle in the world and its rate, with noise, bias and delay."""

from __future__ import annotations

from dataclasses import dataclass, fields

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus.control._noise import normal_pair
from saltus.control._protocol import finite
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Revolute

# In data: where angle and rate are in the state, their noise and bias, and the delay in samples.
PLACE, PLACE_RATE, NOISE, NOISE_RATE, BIAS, BIAS_RATE, DELAY, IMU = range(8)


@equal_by_content
@dataclass(frozen=True)
class Imu:
    """Noise, bias and delay of the angle and the rate of the first link in the world.

    That is the link at the root of the robot: theta1 of the brachiator, the link of hand A. Positions in the world
    pass as they are: where the bars are is known [yang2016, 5.1], and so is where the hand that holds one is. Noise is
    white: normal, and another at every sample. What is measured is told ``delay`` later; until then, at the start of a
    run, the first sample is.

    Parameters
    ----------
    angle_noise, rate_noise
        Root mean square, rad and rad/s.
    angle_bias, rate_bias
        What is added always, rad and rad/s.
    delay
        From the motion until it is told, s: a whole number of samples.
    """

    angle_noise: float = 0.0
    rate_noise: float = 0.0
    angle_bias: float = 0.0
    rate_bias: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = finite(getattr(self, field.name), f"imu: {field.name}")
            if value < 0 and not field.name.endswith("bias"):
                raise InputError(f"imu: {field.name} must not be negative, got {value:g}")

    def samples(self, period: float) -> int:
        """The delay in samples."""
        count = round(self.delay / period)
        if abs(self.delay / period - count) > 1e-6:
            raise InputError(
                f"imu: a delay of {self.delay:g} s is {self.delay / period:.6g} samples of {period:g} s; it must be a "
                f"whole number, such as {count * period:g} s"
            )
        if count > 100_000:
            raise InputError(f"imu: a delay of {self.delay:g} s is {count} samples; at most 100000 are possible")
        return count


def angle_in_world(system: HybridSystem) -> str:
    """The coordinate that is the angle of the first link in the world."""
    bodies = list(system.mechanism.bodies.values())
    joint = next((body.joint for body in bodies if body.joint is not None), None)
    if isinstance(joint, Floating):
        return joint.angle
    if isinstance(joint, Revolute):
        return joint.name
    raise InputError(f"imu: the first link of {system.name} has no angle in the plane that an imu could measure")


@compiled
def read_imu(number, data, imu, memory, ring, measured, seed):
    """Put what the unit tells in place of the angle and its rate; the ring holds what it has yet to tell."""
    angle, rate, size = int(data[imu + PLACE]), int(data[imu + PLACE_RATE]), int(data[imu + DELAY]) + 1
    one, two = normal_pair(seed, 2 * number)
    now, past = ring + 2 * (number % size), ring + 2 * (max(number - size + 1, 0) % size)
    memory[now] = measured[angle] + data[imu + BIAS] + data[imu + NOISE] * one
    memory[now + 1] = measured[rate] + data[imu + BIAS_RATE] + data[imu + NOISE_RATE] * two
    measured[angle], measured[rate] = memory[past], memory[past + 1]
