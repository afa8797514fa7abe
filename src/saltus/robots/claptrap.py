"""Claptrap, the rolling balancer of Vigne, in space: a body on one wheel, which may lean, slip, lift off and fall."""

from __future__ import annotations

from saltus.hybrid import HybridSystem
from saltus.robots._claptrap import claptrap


def build() -> HybridSystem:
    return claptrap(
        "claptrap", about="a body that balances on a wheel, free in space; it touches at the lowest rim point"
    )
