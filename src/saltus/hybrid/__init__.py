"""Hybrid systems: a mechanism with its units and guards, everything the engine compiles."""

from saltus.hybrid._system import Guard, HybridSystem, Profile

__all__ = ["Guard", "HybridSystem", "Profile"]
