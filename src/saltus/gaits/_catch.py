"""How hands come to where they catch: from above, from below, through the line on which they will hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.engine._cases import columns
from saltus.gaits._cycle import Cycle
from saltus.gaits._gait import Gait


@equal_by_content
@dataclass(frozen=True)
class Catch:
    """One catch of a cycle.

    ``speed`` is the hand's just before, m/s; ``highest`` how far above the place of the catch the hand was at most
    since the catch before, m.
    """

    phase: str
    speed: tuple[float, float]
    highest: float

    @property
    def about(self) -> str:
        """How the hand comes, in words."""
        fast = float(np.hypot(*self.speed))
        way = "down from above" if self.speed[1] < 0 else "up from below"
        if self.highest <= 1e-3:
            return f"{way} at {fast:.2f} m/s, never above where it catches before"
        through = "after passing through that height, " if self.speed[1] >= 0 else ""
        return f"{way} at {fast:.2f} m/s, {through}up to {self.highest:.3f} m above where it catches before"

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain numbers and words."""
        return {"phase": self.phase, "speed": list(self.speed), "highest": self.highest, "about": self.about}


def catches(cycle: Cycle) -> list[Catch]:
    """Every catch of a cycle, in order."""
    gait, found = cycle.gait, []
    since = 0
    for k, phase in enumerate(gait.phases):
        hand = _caught(gait, k)
        if hand is None:
            continue
        heights = np.concatenate([_motion(cycle, j, hand)[0] for j in range(since, k + 1)])
        last, speed = _motion(cycle, k, hand)
        found.append(Catch(phase.name, (float(speed[-1, 0]), float(speed[-1, 1])), float(heights.max() - last[-1])))
        since = k + 1
    return found


def _caught(gait: Gait, k: int) -> str | None:
    """The hand that closes as a phase ends, under the names that it has until then."""
    after = gait.phases[(k + 1) % len(gait.phases)]
    if after.holds is None or not (after.relabel or after.holds != gait.phases[k].holds):
        return None
    if after.relabel and gait.robot.symmetry is not None:
        return next((old for old, new in gait.robot.symmetry.units.items() if new == after.holds), after.holds)
    return after.holds


def _motion(cycle: Cycle, k: int, hand: str) -> tuple[np.ndarray, np.ndarray]:
    """Heights of a hand along a phase, and its velocities."""
    held, run, whole = cycle.gait.held(k), cycle.runs[k], cycle.gait.robot.mechanism
    position = whole.points[hand].position
    speed = ca.jtimes(position, whole.q, whole.v)
    x, p = ca.vertcat(held.mechanism.q, held.mechanism.v), held.mechanism.p
    function = ca.Function("hand", [x, p], [held.seen(position), held.seen(speed)])
    places, speeds = columns(function, run.mesh.x, np.tile(run.system.parameter_values, (len(run.mesh.x), 1)))
    return places[:, 1], speeds
