"""Studies: papers reproduced, one file each; one run under several laws; regions of attraction; swings under mixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltus import registry
from saltus._lazy import loaded_later
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.contact import law_of
    from saltus.gaits import RecoverableIntervals, Region, recoverable_intervals, region
    from saltus.studies._compare import Comparison, compare_controllers
    from saltus.studies._compare_learning import Effort
    from saltus.studies._laws import compare_laws, laws_in_words
    from saltus.studies._paper import Correction, Drawing, Number, Paper, Report, Value
    from saltus.studies._swing_mixes import SwingMixes
    from saltus.studies._swing_settings import SwingSetting, all_settings, try_settings
    from saltus.studies._swing_trials import SwingTrials, TrialsInterrupted, fitted_energy, try_swings
    from saltus.studies._swings import Swing, fell, swings, swings_to_dict
    from saltus.studies._tuning import Tuned, tune

__all__ = [
    "Comparison",
    "Correction",
    "Drawing",
    "Effort",
    "Number",
    "Paper",
    "RecoverableIntervals",
    "Region",
    "Report",
    "Swing",
    "SwingMixes",
    "SwingSetting",
    "SwingTrials",
    "TrialsInterrupted",
    "Tuned",
    "Value",
    "all_settings",
    "compare_controllers",
    "compare_laws",
    "fell",
    "find_paper",
    "fitted_energy",
    "law_of",
    "laws_in_words",
    "paper_names",
    "recoverable_intervals",
    "region",
    "swings",
    "swings_to_dict",
    "try_settings",
    "try_swings",
    "tune",
]

__getattr__ = loaded_later(__name__)


def paper_names() -> list[str]:
    """Names of all papers that can be reproduced."""
    return registry.names("papers")


def find_paper(name: str) -> Paper:
    """The paper of that name."""
    from saltus.studies._paper import Paper

    module = registry.load("papers", name)
    if not isinstance(module.PAPER, Paper):
        raise InputError(f"PAPER of {module.__file__} must be a saltus.studies.Paper, got {module.PAPER!r}")
    return module.PAPER
