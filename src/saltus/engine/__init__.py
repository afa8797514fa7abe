"""The engine: kernels, the hybrid integration loop, events, trajectories."""

from saltus.engine._audit import Audit, Check
from saltus.engine._batch import Batch
from saltus.engine._control import Command, Control, ControlParameter, Mode, State
from saltus.engine._event import Event
from saltus.engine._figures import Figures
from saltus.engine._files import check_target
from saltus.engine._listen import every_result
from saltus.engine._live import Live
from saltus.engine._needed import NeededFriction
from saltus.engine._rollout import Rollout, rollout
from saltus.engine._simulate import simulate
from saltus.engine._simulate_many import simulate_many
from saltus.engine._status import STATUSES, Status
from saltus.engine._tableau import Tableau, find_method, method_names
from saltus.engine._trajectory import Trajectory

__all__ = [
    "STATUSES",
    "Audit",
    "Batch",
    "Check",
    "Command",
    "Control",
    "ControlParameter",
    "Event",
    "Figures",
    "Live",
    "Mode",
    "NeededFriction",
    "Rollout",
    "State",
    "Status",
    "Tableau",
    "Trajectory",
    "check_target",
    "every_result",
    "find_method",
    "method_names",
    "rollout",
    "simulate",
    "simulate_many",
]
