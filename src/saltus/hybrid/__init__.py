"""Hybrid systems: a mechanism with its units and guards, everything the engine compiles."""

from typing import TYPE_CHECKING

from saltus._lazy import loaded_later
from saltus.hybrid._modes import SymbolicMode, find_statuses, symbolic_mode
from saltus.hybrid._readings import read_off
from saltus.hybrid._symmetry import Symmetry, wrapped
from saltus.hybrid._system import Guard, HybridSystem, Profile

if TYPE_CHECKING:
    from saltus.hybrid._graph import ENDINGS, ModeGraph, check_graph_form, check_graph_target, mode_graph
    from saltus.hybrid._painleve import Painleve, Posture, painleve
    from saltus.hybrid._urdf_write import Urdf, as_urdf, write_urdf

__all__ = [
    "ENDINGS",
    "Guard",
    "HybridSystem",
    "ModeGraph",
    "Painleve",
    "Posture",
    "Profile",
    "SymbolicMode",
    "Symmetry",
    "Urdf",
    "as_urdf",
    "check_graph_form",
    "check_graph_target",
    "find_statuses",
    "mode_graph",
    "painleve",
    "read_off",
    "symbolic_mode",
    "wrapped",
    "write_urdf",
]

__getattr__ = loaded_later(__name__)
