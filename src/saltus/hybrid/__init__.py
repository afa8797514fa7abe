"""Hybrid systems: a mechanism with its units and guards, everything the engine compiles."""

from saltus.hybrid._modes import SymbolicMode, find_statuses, symbolic_mode
from saltus.hybrid._system import Guard, HybridSystem, Profile

__all__ = ["Guard", "HybridSystem", "Profile", "SymbolicMode", "find_statuses", "symbolic_mode"]
