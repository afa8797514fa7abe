"""Gaits: return maps made of phases, their fixed points, multipliers, families and maps."""

from saltus.gaits._cycle import Cycle, Cycles, run_cycle, run_many
from saltus.gaits._gait import Gait
from saltus.gaits._phase import Phase

__all__ = ["Cycle", "Cycles", "Gait", "Phase", "run_cycle", "run_many"]
