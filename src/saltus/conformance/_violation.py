"""How a check says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus import registry


class Violation(AssertionError):
    """Something registered does not do what its kind promises."""


def require(holds: Any, otherwise: str) -> None:
    """Raise a violation unless a condition holds."""
    if not holds:
        raise Violation(otherwise)


def require_close(actual: Any, expected: Any, tolerance: float, what: str) -> None:
    """Raise a violation where two arrays differ by more than an absolute tolerance."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    apart = np.abs(actual - expected).max(initial=0.0)
    if not apart <= tolerance:
        raise Violation(f"{what}: off by {apart:.3g}, at most {tolerance:.3g} is allowed")


def require_documented(kind: str, name: str) -> None:
    """A file opens with a sentence that says what it is for."""
    text = registry.load(kind, name).__doc__
    require(text and text.strip(), f"{registry.where(kind, name)} has no docstring; say in one sentence what it is")
