"""The encoder on a motor's shaft: angles as counts, rates as differences of counts, and how counts come about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus.control._motor import ANGLE, JOINT, JOINT_MEMORY, OFFSET, RATE
from saltus.control._protocol import finite
from saltus.errors import InputError

# In data: counts in a radian, samples over which rates are taken.
COUNTS, WINDOW, ENCODER = range(3)

# By the last and the new levels of the channels A and B: how the count changes.
_TABLE = {
    (0, 0, 1, 0): 1,
    (0, 0, 0, 1): -1,
    (0, 1, 0, 0): 1,
    (0, 1, 1, 1): -1,
    (1, 0, 1, 1): 1,
    (1, 0, 0, 0): -1,
    (1, 1, 0, 1): 1,
    (1, 1, 1, 0): -1,
}


def decode(before: tuple[int, int], after: tuple[int, int]) -> int:
    """How the count changes as the levels of the channels A and B do, by the table of [yang2016, 5.3.1].

    The row from 1 0 to 0 0 is printed there as +1; it is -1, or a shaft that turns to and fro would count up. Where
    nothing or both changed, nothing is counted.
    """
    return _TABLE.get((*before, *after), 0)


@equal_by_content
@dataclass(frozen=True)
class Encoder:
    """An incremental quadrature encoder on the motor's side of a joint.

    The angle is read as whole counts, from zero at a joint angle of zero, where the counter is reset; the rate is the
    difference of counts over the time of the last ``window`` samples (those that there are, at the start of a run).
    The default is 28 counts on the motor's shaft behind gears of 71.164 [yang2016, 5.3.1].

    Parameters
    ----------
    counts
        In a turn of the joint.
    window
        Samples over which the rate is taken.
    """

    counts: float = 1992.592
    window: int = 10

    def __post_init__(self) -> None:
        if not finite(self.counts, "encoder: counts") > 0:
            raise InputError(f"encoder: counts in a turn must be positive, got {self.counts:g}")
        if not isinstance(self.window, int) or isinstance(self.window, bool) or not 1 <= self.window <= 100_000:
            raise InputError(f"encoder: window is a number of samples from 1 to 100000, got {self.window!r}")

    @property
    def step(self) -> float:
        """The angle of a count, rad."""
        return 2 * math.pi / self.counts

    def count(self, angles: Sequence[float] | np.ndarray) -> Any:
        """The count at each of some angles that the shaft passes one after the other, rad, as the channels tell it.

        The shaft comes from zero and every change of a channel is seen. The same as the angle in counts, rounded
        down.
        """
        counts, place, total, before = [], 0.0, 0, _levels(0.0)
        for angle in np.asarray(angles, dtype=float):
            target = float(angle) / self.step
            # less than a count each, so that no change is missed
            for now in np.linspace(place, target, 2 + math.ceil(2 * abs(target - place)))[1:]:
                after = _levels(float(now))
                total += decode(before, after)
                before = after
            place = target
            counts.append(total)
        return np.array(counts, dtype=np.int64)


def _levels(place: float) -> tuple[int, int]:
    """Levels of the channels at a place in counts: square waves of four counts, B a quarter behind A."""
    phase = place / 4 - math.floor(place / 4)
    return int(0.25 <= phase < 0.75), int(phase >= 0.5)


@compiled
def read_encoders(t, number, data, encoder, ring, joints, count, memory, places, measured):
    """Put what the encoders tell in place of the joints' angles and rates.

    The ring holds the times of the last samples, then the counts of each joint.
    """
    size = int(data[encoder + WINDOW]) + 1
    now, past = number % size, max(number - size + 1, 0) % size
    memory[ring + now] = t
    for k in range(count):
        d, first = joints + JOINT * k, ring + size * (k + 1)
        angle, rate = int(data[d + ANGLE]), int(data[d + RATE])
        turned = math.floor((measured[angle] + memory[places + JOINT_MEMORY * k + OFFSET]) * data[encoder + COUNTS])
        memory[first + now] = turned
        measured[angle] = turned / data[encoder + COUNTS]
        measured[rate] = 0.0
        if number > 0:
            change = (turned - memory[first + past]) / data[encoder + COUNTS]
            measured[rate] = change / (t - memory[ring + past])
