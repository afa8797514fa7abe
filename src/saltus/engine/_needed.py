"""The friction that contacts needed: the largest ratio of tangential to normal force, or impulse, of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._content import equal_by_content
from saltus.contact._unit import GROUNDS
from saltus.engine import _layout as L

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory

# Where forces are read on each step; at its beginning and its end they are those of either side of an event.
FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)

# Normal forces below this share of the largest are none: there the ratio is one of roundings. So are impulses, of which
# the last of a row of bounces stands for all that would follow.
LEAST, LEAST_IMPULSE = 1e-9, 1e-6


@equal_by_content
@dataclass(frozen=True)
class NeededFriction:
    """The least coefficient with which a contact would have held as it did, when it was needed, and whether at an
    impact.
    """

    value: float
    t: float
    impact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "t": self.t, "impact": self.impact}


def needed_friction(run: Trajectory) -> dict[str, NeededFriction]:
    """What each ground contact that ever bore a force needed, by its name."""
    steps = len(run.step_rows)
    index, fraction = np.repeat(np.arange(steps), len(FRACTIONS)), np.tile(FRACTIONS, steps)
    times = run.step_rows[index, L.S_TIME] + fraction * run.step_rows[index, L.S_LENGTH]
    forces = run._everything(times, index, fraction).forces
    nx, nr = len(run.system.state_names), run.system.first_rows[-1]
    first = L.E_VECTORS + 2 * (nx + 3) + 2 * nr
    impulses = run.event_rows[:, first : first + nr]
    found = {}
    for k, unit in enumerate(run.system.units):
        if unit.kind not in GROUNDS:
            continue
        rows = slice(run.system.first_rows[k], run.system.first_rows[k + 1])
        candidates = [
            _largest(times, forces[:, rows], impact=False),
            _largest(run.event_rows[:, L.E_TIME], impulses[:, rows], impact=True),
        ]
        known = [one for one in candidates if one is not None]
        if known:
            found[unit.name] = max(known, key=lambda one: one.value)
    return found


def _largest(times: np.ndarray, rows: np.ndarray, *, impact: bool) -> NeededFriction | None:
    """The largest ratio of what acts along the ground to what presses on it, the second column."""
    along, normal = np.linalg.norm(np.delete(rows, 1, axis=1), axis=1), rows[:, 1]
    acting = normal > (LEAST_IMPULSE if impact else LEAST) * np.abs(normal[np.isfinite(normal)]).max(initial=0.0)
    if not acting.any():
        return None
    ratio = np.divide(along, normal, out=np.full(len(normal), -math.inf), where=acting)
    k = int(np.argmax(ratio))
    return NeededFriction(float(ratio[k]), float(times[k]), impact)
