"""A brushed motor with its gearbox: what torque it can give at which speed, and the play between it and the joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus.control._protocol import finite
from saltus.errors import InputError

# 150 rpm: two gearboxes of 75 rpm with one shaft between them [yang2016, 4.2.2].
FREE_SPEED = 150 * 2 * math.pi / 60

# Of each joint, in data: its actuator, where its angle and its rate are in the state, the motor, half the play and the
# speed at which it is crossed. In memory: where the motor is in the play, and where it is going.
ACTUATOR, ANGLE, RATE, STALL, FREE, LIMIT, PLAY, CROSSING, JOINT = range(9)
OFFSET, WAY, JOINT_MEMORY = range(3)


@equal_by_content
@dataclass(frozen=True)
class Motor:
    """A motor whose torque falls with its speed, to nothing at ``free_speed``.

    At a joint speed w > 0 the torque lies between -limit and min(limit, max(0, stall (1 - w / free_speed))), and the
    other way round for w < 0. The speed is the true one of the joint at the sample; the torque is held until the next,
    as by a driver that is told a current every period. The defaults are those of two PG71 gearmotors, each fast to
    one arm, with one shaft between them [yang2016, 4.2.2], and the limit that is used there [yang2016, 7.4.4].

    Parameters
    ----------
    stall
        Torque at rest, N m.
    free_speed
        At which there is no torque left, rad/s.
    limit
        Largest torque that the driver gives, N m.
    """

    stall: float = 22.5
    free_speed: float = FREE_SPEED
    limit: float = 10.0

    def __post_init__(self) -> None:
        for name in ("stall", "free_speed", "limit"):
            value = finite(getattr(self, name), f"motor: {name}")
            if not value > 0:
                raise InputError(f"motor: {name} must be positive, got {value:g}")

    def range(self, speed: float) -> tuple[float, float]:
        """The least and the largest torque at a speed of the joint, N m."""
        low, high = torque_range.py_func(speed, self.stall, self.free_speed, self.limit)
        return float(low), float(high)


@compiled
def torque_range(speed, stall, free, limit):
    """The least and the largest torque at a speed."""
    ahead = min(limit, max(0.0, stall * (1.0 - abs(speed) / free)))
    if speed > 0.0:
        return -limit, ahead
    if speed < 0.0:
        return -ahead, limit
    return -ahead, ahead


@compiled
def cross_play(data, joints, count, memory, places, elapsed):
    """Move each motor through the play of its gears as it was driven since the last sample."""
    for k in range(count):
        d, m = joints + JOINT * k, places + JOINT_MEMORY * k
        moved = memory[m + OFFSET] + memory[m + WAY] * data[d + CROSSING] * elapsed
        memory[m + OFFSET] = min(max(moved, -data[d + PLAY]), data[d + PLAY])


@compiled
def drive(data, joints, count, memory, places, x, u):
    """Cut the torques that are asked for to what the motors can do, and let through what reaches the joints."""
    for k in range(count):
        d, m = joints + JOINT * k, places + JOINT_MEMORY * k
        actuator = int(data[d + ACTUATOR])
        low, high = torque_range(x[int(data[d + RATE])], data[d + STALL], data[d + FREE], data[d + LIMIT])
        if u[actuator] > high:
            u[actuator] = high
        elif u[actuator] < low:
            u[actuator] = low
        way = 1.0 if u[actuator] > 0.0 else (-1.0 if u[actuator] < 0.0 else 0.0)
        memory[m + WAY] = way
        if way * memory[m + OFFSET] < data[d + PLAY] and way != 0.0:
            u[actuator] = 0.0
