"""What inverses of impulses are asked, and how well they answer [yang2016, 7.3.3]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control import Impulse
from saltus.studies._compare_learning import FAR, NEAR, SPACING, Impulses
from saltus.studies._compare_mixes import NOTHING, TIMING
from saltus.studies._compare_runs import to_bars

# What inverses are asked [yang2016, 7.3.3], m: starts at every centimetre, targets at every 2.5 cm. Nets answer at
# once, and are asked all of it; polishing takes its time, and is asked from every other start, and from -55 cm, of
# which the thesis tells most.
TARGETS = np.round(np.arange(NEAR, 0.5501, 0.025), 4)
STARTS = {
    "committee": np.round(np.linspace(-FAR, -NEAR, 21), 4),
    "impulse": np.union1d(np.round(np.linspace(-FAR, -NEAR, 11), 4), [-SPACING]),
}

# Shares of the begin that answers are to bear.
BEGINS = (1 - TIMING, 1.0, 1 + TIMING)


@equal_by_content
@dataclass(frozen=True)
class Queries:
    """How well an inverse of impulses answers: every start with every target, on time, and begun early and late.

    Parameters
    ----------
    starts
        That were asked for, m, each with every target.
    count, good
        How many answers there were, and how many of them caught a bar at the target.
    count_off, good_off
        The same, begun too early and too late, of those that were good on time.
    slight
        Of those, how many begin so near to letting go that a share of that is nothing.
    residual
        The mean of what is left at good catches, J; None if there was none.
    ends
        Where the hand ended, m, a row for each start: where it caught the bar; where it came to its level again, had
        there been none, if it did not; not a number where it did neither.
    """

    starts: tuple[float, ...]
    count: int
    good: int
    count_off: int
    good_off: int
    slight: int
    residual: float | None
    ends: np.ndarray = field(repr=False, compare=False)

    def hits(self, near: float) -> np.ndarray:
        """Whether the hand ended so near to its target, m, a row for each start."""
        return np.asarray(np.abs(self.ends - TARGETS) <= near)

    def row(self, start: float) -> int:
        """The row of a start that was asked for."""
        return self.starts.index(start)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "starts": list(self.starts), "targets": TARGETS.tolist(), "count": self.count, "good": self.good,
            "mean_residual": self.residual, "begun_5_percent_off": {
                "count": self.count_off, "good": self.good_off, "by_less_than_1_ms": self.slight
            },
            "ends": self.ends.tolist(),
        }  # fmt: skip


def queried(impulses: Impulses, name: str) -> Queries:
    """Ask an inverse, by its name in `STARTS`, and run what it answers exactly, to a bar at the target."""
    starts = tuple(STARTS[name].tolist())
    pairs = [(start, target) for start in starts for target in TARGETS.tolist()]
    asked = answered(impulses, name, pairs)
    caught, residual, ends = to_bars(impulses.robot, impulses.swinger, pairs, asked, BEGINS)
    given = np.array([(start, one.begin, one.size, one.length) for (start, _), one in zip(pairs, asked, strict=True)])
    ends = np.where(np.isfinite(ends), ends, impulses.swinger.swing(*given.T).x)
    right = caught[:, 1]
    off, soft = caught[right][:, [0, 2]], residual[right, 1]
    slight = 2 * sum(TIMING * one.begin < NOTHING for one, good in zip(asked, right, strict=True) if good)
    return Queries(
        starts, right.size, int(right.sum()), off.size, int(off.sum()), slight,
        float(soft.mean()) if soft.size else None, ends.reshape(len(starts), len(TARGETS)),
    )  # fmt: skip


def answered(impulses: Impulses, name: str, pairs: list[tuple[float, float]]) -> list[Impulse]:
    """The impulses by an inverse for some pairs of start and target."""
    if name == "committee":
        # all at once: nets are slow to call
        found = impulses.nets.predict(np.array(pairs)).tolist()
        return [Impulse(begin=begin, size=size, length=length) for begin, size, length in found]
    return [impulses.good.impulse(*pair) for pair in pairs]
