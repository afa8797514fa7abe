"""Chains told by Denavit and Hartenberg's four numbers a link, and where two links put their end, back and forth.

[yang2016, 3.2], after [spong2005]. Angles of the chain are from the x-axis; robots that hang measure theirs from the
vertical, `hanging`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from saltus.errors import InputError

ELBOWS = ("down", "up")


@dataclass(frozen=True)
class Link:
    """A row of a Denavit-Hartenberg table: length and twist along x, offset and angle along z; m and rad."""

    a: Any
    alpha: Any = 0.0
    d: Any = 0.0
    theta: Any = 0.0

    @property
    def transform(self) -> Any:
        """Where this link's frame is in that of the one before: a matrix of four rows and columns."""
        ct, st, ca_, sa = ca.cos(self.theta), ca.sin(self.theta), ca.cos(self.alpha), ca.sin(self.alpha)
        return ca.vertcat(
            ca.horzcat(ct, -st * ca_, st * sa, self.a * ct),
            ca.horzcat(st, ct * ca_, -ct * sa, self.a * st),
            ca.horzcat(0, sa, ca_, self.d),
            ca.horzcat(0, 0, 0, 1),
        )


def chain(table: Sequence[Link]) -> list[Any]:
    """Frames of all links in the base, one after the other: matrices of four rows and columns."""
    if not table:
        raise InputError("a chain has at least one link")
    frames = []
    now: Any = ca.SX.eye(4)
    for link in table:
        now = now @ link.transform
        frames.append(now)
    return frames


def two_link_angles(x: Any, y: Any, l1: Any, l2: Any, elbow: str = "down") -> tuple[Any, Any]:
    """Both angles of two links, from the x-axis and of the second to the first, that put their end at a place, rad.

    For numbers and for expressions; a number that cannot be reached is refused.

    Parameters
    ----------
    elbow
        ``down``: the elbow is to the right of the way to the place, so that it hangs below a place straight ahead;
        ``up``, to the left.
    """
    if elbow not in ELBOWS:
        raise InputError(f"an elbow is {' or '.join(ELBOWS)}, got {elbow!r}")
    numbers = all(isinstance(value, (int, float)) for value in (x, y, l1, l2))
    if numbers:
        away = math.hypot(x, y)
        if not abs(l1 - l2) <= away <= l1 + l2:
            raise InputError(f"two links of {l1:g} and {l2:g} m do not reach ({x:g}, {y:g}), {away:.6g} m away")
    lib: Any = math if numbers else ca
    # the printed pi - arccos(c / -(2 l1 l2)) is arccos(c / (2 l1 l2))
    second = lib.acos((x * x + y * y - l1 * l1 - l2 * l2) / (2 * l1 * l2))
    if elbow == "up":
        second = -second
    first = lib.atan2(y, x) - lib.atan2(l2 * lib.sin(second), l1 + l2 * lib.cos(second))
    return first, second


def hanging(first: Any) -> Any:
    """An angle from the x-axis as one from the vertical, zero straight down, within half a turn of it."""
    turned = first + math.pi / 2
    if isinstance(turned, float):
        return math.remainder(turned, 2 * math.pi)
    return ca.atan2(ca.sin(turned), ca.cos(turned))
