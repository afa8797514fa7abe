"""What a candidate is really worth: made again exactly, by two methods, and held to every rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.control import Schedule
from saltus.engine import Trajectory
from saltus.engine._cases import columns
from saltus.optimize._problem import Problem, Trial

# The second method, and how exact it is.
AGAIN: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "method": "dopri5"}

# Places at which rules are looked at between events; crossings themselves are events.
PLACES = 4000

# So many modes of a run are told of.
MODES = 60

# A rule that is crossed this near to the end of its time, s, is crossed there.
LATE = 1e-9


@equal_by_content
@dataclass(frozen=True)
class Verdict:
    """The value of the objective, by how much two methods differ about it, and how the rules are kept.

    There is no value if the run did not come to its end: it was cut off, or the problem says that it is not complete.
    ``margins`` are the least values of the rules while they bind; ``broken`` says when each was first crossed.
    ``saturated`` says whether the controller asked for more than an actuator can give.
    """

    value: float | None
    error: float | None
    margins: dict[str, float]
    broken: dict[str, float]
    saturated: bool
    run: Trajectory

    @property
    def clean(self) -> bool:
        """Whether there is a value and no rule is broken."""
        return self.value is not None and not self.broken

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "value": self.value,
            "clean": self.clean,
            "integration_error": self.error,
            "violations": self.broken,
            "margins": self.margins,
            "saturated": self.saturated,
            "energy_residual": self.run.check()["energy balance"].value,
            "status": self.run.status.name,
            "modes": self.run.arc_modes[:MODES],
            "end": self.run.end_time,
        }


def verdict(problem: Problem, trial: Trial) -> Verdict:
    """Make the run of a trial exactly, and judge it."""
    run, again = problem.run(trial), problem.run(trial, **AGAIN)
    value, other = (
        problem.figures(one).get(problem.objective) if one.status.good and problem.complete(one) else None
        for one in (run, again)
    )
    until = problem.binding(run)
    margins, first = _margins(problem, run, until)
    broken = {name: run.start_time for name, least in first.items() if least < 0}
    for event in run.events:
        for name in event.guards:
            if name in problem.rules and event.t < until - LATE:
                broken.setdefault(name, event.t)
    error = None if value is None or other is None else abs(value - other)
    value = None if other is None else value
    return Verdict(value, error, margins, broken, run.saturated, run)


def _margins(problem: Problem, run: Trajectory, until: float) -> tuple[dict[str, float], dict[str, float]]:
    """The least values of the rules, and those at the start."""
    d = problem.robot.dynamics
    rules = [guard for guard in problem.robot.guards if guard.name in problem.rules]
    function = ca.Function("rules", [d.t, d.x, d.p], [ca.vertcat(*(ca.SX(rule.expression) for rule in rules))])
    t = np.linspace(run.start_time, until, PLACES)
    values = columns(function, t, run.at(t), np.tile(run.system.parameter_values, (len(t), 1)))[0]
    names = [rule.name for rule in rules]
    return tuple(dict(zip(names, row.tolist(), strict=True)) for row in (values.min(axis=0), values[0]))  # type: ignore[return-value]


def torque_table(run: Trajectory, spacing: float = 1e-4) -> np.ndarray:
    """Times and inputs of a run, a row each, at equal times: a record for people.

    What a controller did by what it saw, and jumps between two rows, are not made again by it; see `steps_table`.
    """
    count = max(2, int(np.ceil((run.end_time - run.start_time) / spacing)) + 1)
    t = np.linspace(run.start_time, run.end_time, count)
    return np.column_stack([t, np.clip(run.everything_at(t).inputs, -run.system.input_limits, run.system.input_limits)])


def steps_table(controller: Any) -> np.ndarray | None:
    """Times and inputs of a profile of steps, a row each, from which `saltus.control.Points` makes it again exactly.

    None for other controllers, and for a profile that does not end in nothing.
    """
    if not isinstance(controller, Schedule) or controller.requests:
        return None
    rows = [np.atleast_1d(np.array(piece, dtype=float).squeeze(-1)) for piece in controller.pieces if _constant(piece)]
    if len(rows) != len(controller.starts) or len(rows) < 2 or rows[-1].any():
        return None
    return np.column_stack([controller.starts, np.array(rows)])


def _constant(piece: Any) -> bool:
    return np.ndim(piece) >= 1 and np.shape(piece)[-1] == 1
