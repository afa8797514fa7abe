"""Claptrap on two wheels, each with a motor: it stands by itself sideways, and can turn."""

from __future__ import annotations

from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import claptrap


def build() -> HybridSystem:
    return claptrap("claptrap_two_wheels", "Claptrap on two wheels; it can turn", file="claptrap_two_wheels")
