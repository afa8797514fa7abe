"""How complex a torque is: its mean size, and how often and how far it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from saltus._content import equal_by_content
from saltus.engine import Trajectory
from saltus.engine import _layout as L
from saltus.errors import InputError

# A change of the input by less than this share of its limit is none.
LEAST = 0.01

# A reversal so soon after the one before is chatter, s: three periods of a policy [yang2016, 7.2.2].
SOON = 0.06


@equal_by_content
@dataclass(frozen=True)
class TorqueUse:
    """Of the torque over some time: its mean size, N m; switches, reversals, chatter, 1/s; total variation, N m/s.

    A switch is a change from one step to the next by more than a hundredth of the limit; a reversal a change of the
    sign, whatever zeros are between. Every swing needs some: chatter are only those within 60 ms of the one before.
    """

    mean: float
    switches: float
    reversals: float
    chatter: float
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
    begin, end = run.start_time if begin is None else begin, run.end_time if end is None else end
    return measured(*_steps(run, begin, end), float(run.system.input_limits[0]))


def measured(lengths: np.ndarray, inputs: np.ndarray, limit: float) -> TorqueUse:
    """The use of a torque that is told step by step: lengths of steps, s, and the torque in each, N m."""
    spent = float(lengths.sum())
    if not spent > 0:
        raise InputError("torque is measured over a time that is not zero")
    changes = np.abs(np.diff(inputs))
    turned = _reversals(lengths, inputs, limit)
    return TorqueUse(
        mean=float(np.abs(inputs) @ lengths) / spent,
        switches=float((changes > LEAST * limit).sum()) / spent,
        reversals=len(turned) / spent,
        chatter=float(_soon(turned).sum()) / spent,
        variation=float(changes.sum()) / spent,
    )


def chatters_until(run: Trajectory, end: float, pause: float) -> float:
    """When the torque of a run first stops to chatter for so long, s; zero if it never chatters."""
    lengths, inputs = _steps(run, run.start_time, end)
    turned = _reversals(lengths, inputs, float(run.system.input_limits[0]))
    times = turned[1:][_soon(turned)]
    if not times.size or times[0] > pause:
        return 0.0
    quiet = np.flatnonzero(np.diff(times) > pause)
    return float(times[quiet[0]] if quiet.size else times[-1])


def _steps(run: Trajectory, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the steps of a part of a run, s, and the first input in each."""
    rows = run.step_rows
    steps = np.flatnonzero((rows[:, L.S_TIME] >= begin - 1e-12) & (rows[:, L.S_TIME] < end - 1e-12))
    return rows[steps, L.S_LENGTH], run.mesh.inputs[steps + 1, 0]


def _reversals(lengths: np.ndarray, inputs: np.ndarray, limit: float) -> np.ndarray:
    """When the sign changes, s from the beginning."""
    begins = np.cumsum(lengths) - lengths
    told = np.abs(inputs) > LEAST * limit
    return np.asarray(begins[told][1:][np.diff(np.sign(inputs[told])) != 0])


def _soon(turned: np.ndarray) -> np.ndarray:
    """Which reversals, from the second on, come soon after the one before."""
    return np.asarray(np.diff(turned) <= SOON + 1e-9)
