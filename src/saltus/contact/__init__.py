"""Contacts: units that can hold or let go, and the laws of impact; none of them knows a robot."""

from saltus.contact._equations import Equations
from saltus.contact._ground import GUARD_NAMES, GroundPoint, guard_values_of
from saltus.contact._law import MOST_COEFFICIENTS, Law, chatterjee, find_law, law_names, newton, plastic

__all__ = [
    "GUARD_NAMES",
    "MOST_COEFFICIENTS",
    "Equations",
    "GroundPoint",
    "Law",
    "chatterjee",
    "find_law",
    "guard_values_of",
    "law_names",
    "newton",
    "plastic",
]
