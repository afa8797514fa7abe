"""Claptrap with two arms, each of a shoulder and an elbow: inner joints are no problem."""

from __future__ import annotations

from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import claptrap


def build() -> HybridSystem:
    return claptrap("claptrap_arms", "Claptrap with two arms of two links", file="claptrap_arms")
