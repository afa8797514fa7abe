"""Claptrap with the contact of the paper: straight below the centre of the wheel, as if it never leaned."""

from __future__ import annotations

from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import claptrap


def build() -> HybridSystem:
    return claptrap(
        "claptrap_upright", about="Claptrap that touches the ground straight below its wheel", contact="upright"
    )
