"""How complex a torque is: its mean size, and how often and how far it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from saltus.engine import Trajectory
from saltus.engine import _layout as L
from saltus.errors import InputError

# A change of the input by less than this share of its limit is none.
LEAST = 0.01


@dataclass(frozen=True)
class TorqueUse:
    """Of the torque over some time: its mean size, N m; switches and reversals, 1/s; total variation, N m/s.

    A switch is a change from one step to the next by more than a hundredth of the limit; a reversal a change of the
    sign, whatever zeros are between.
    """

    mean: float
    switches: float
    reversals: float
    variation: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)

    @staticmethod
    def average(several: Sequence[TorqueUse]) -> TorqueUse:
        """The mean of several."""
        if not several:
            raise InputError("there is no use of torque to be averaged")
        return TorqueUse(
            *(float(np.mean([getattr(one, field.name) for one in several])) for field in fields(TorqueUse))
        )


def torque_use(run: Trajectory, begin: float | None = None, end: float | None = None) -> TorqueUse:
    """The use of the first input of a run, of all of it or of a part."""
    rows = run.step_rows
    begin, end = run.start_time if begin is None else begin, run.end_time if end is None else end
    steps = np.flatnonzero((rows[:, L.S_TIME] >= begin - 1e-12) & (rows[:, L.S_TIME] < end - 1e-12))
    lengths, inputs = rows[steps, L.S_LENGTH], run.mesh.inputs[steps + 1, 0]
    return measured(lengths, inputs, float(run.system.input_limits[0]))


def measured(lengths: np.ndarray, inputs: np.ndarray, limit: float) -> TorqueUse:
    """The use of a torque that is told step by step: lengths of steps, s, and the torque in each, N m."""
    spent = float(lengths.sum())
    if not spent > 0:
        raise InputError("torque is measured over a time that is not zero")
    changes = np.abs(np.diff(inputs))
    signs = np.sign(inputs[np.abs(inputs) > LEAST * limit])
    return TorqueUse(
        mean=float(np.abs(inputs) @ lengths) / spent,
        switches=float((changes > LEAST * limit).sum()) / spent,
        reversals=float((np.diff(signs) != 0).sum()) / spent,
        variation=float(changes.sum()) / spent,
    )
