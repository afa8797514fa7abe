"""A run that goes on, as one who watches sees it: how far it is, and its record so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saltus.engine._trajectory import Trajectory


@dataclass(frozen=True)
class Live:
    """A run between two of its steps.

    Parameters
    ----------
    t
        The time that it has reached, s.
    record
        Gives everything up to there, as a trajectory whose status is ``running``. Its states and events can be
        read freely; reading forces and inputs asks the controller again, which may remember it.
    interrupted
        Says whether Ctrl-C was pressed: then the run ends as soon as the watcher returns.
    """

    t: float
    record: Callable[[], Trajectory]
    interrupted: Callable[[], bool]
