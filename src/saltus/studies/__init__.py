"""Studies: papers reproduced, one file each; one run under several laws; regions of attraction."""

from __future__ import annotations

from saltus import registry
from saltus.contact import law_of
from saltus.errors import InputError
from saltus.gaits import Largest, Region, largest, region
from saltus.studies._laws import compare_laws, laws_in_words
from saltus.studies._paper import Correction, Drawing, Number, Paper, Report, Value
from saltus.studies._swings import Swing, fell, swings, swings_to_dict

__all__ = [
    "Correction",
    "Drawing",
    "Largest",
    "Number",
    "Paper",
    "Region",
    "Report",
    "Swing",
    "Value",
    "compare_laws",
    "fell",
    "find_paper",
    "largest",
    "law_of",
    "laws_in_words",
    "paper_names",
    "region",
    "swings",
    "swings_to_dict",
]


def paper_names() -> list[str]:
    """Names of all papers that can be reproduced."""
    return registry.names("papers")


def find_paper(name: str) -> Paper:
    """The paper of that name."""
    module = registry.load("papers", name)
    if not isinstance(module.PAPER, Paper):
        raise InputError(f"PAPER of {module.__file__} must be a saltus.studies.Paper, got {module.PAPER!r}")
    return module.PAPER
