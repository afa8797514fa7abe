"""What robots that swing from bars have in common: a world in their equations, links that meet bars, falls, starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from saltus.contact import World, ladder, rope
from saltus.contact._grip import distance, nearest
from saltus.contact._world import MOST_BARS, Held
from saltus.errors import InputError
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import Point
from saltus.mechanism._dh import hanging, two_link_angles

# Both hands this far below every bar, m: the robot has fallen.
FALLEN = 0.1


def default_world(shape: str, spacing: float) -> World:
    """A world of some shape, ``rope`` or a number of bars, as it is before anything is said of it."""
    if shape == "rope":
        return rope()
    if not shape.isdecimal() or not 1 <= int(shape) <= MOST_BARS:
        raise InputError(f"a world is rope or a number of bars up to {MOST_BARS}, got {shape!r}")
    return ladder(spacing, int(shape))


def clear_of(held: Held, links: Mapping[str, tuple[Point, Point]], radius: Any, capture: Any) -> tuple[Guard, ...]:
    """A guard for each link from a hand to a joint: its distance from the nearest bar's surface, m.

    What is nearer to the hand than a bar that the hand could hold does not count, so that the bar being held is no
    obstacle.
    """
    if not held.centres:
        return ()
    guards = []
    for name, (hand, joint) in links.items():

        def apart(centre: Any, a: Any = hand.position, b: Any = joint.position) -> Any:
            """Square of the distance of a bar's centre from the part of the link that counts."""
            length = ca.sqrt(ca.sumsqr(b - a))
            along, away = (b - a) / length, centre - a
            ahead = ca.dot(away, along)
            beyond = ahead - ca.fmin(ca.fmax(ahead, 1.001 * (capture + radius)), length)
            return beyond**2 + (away[0] * along[1] - away[1] * along[0]) ** 2

        centre = nearest(held.centres, [apart(ca.vertcat(*one)) for one in held.centres])
        guards.append(
            Guard(
                f"{name} meets a bar",
                distance(apart(centre)) - radius,
                "record",
                "down",
                f"{name} passes through a bar",
            )
        )
    return tuple(guards)


def fallen(held: Held, hands: Sequence[Point]) -> tuple[Guard, ...]:
    """The guard that ends a run in which every hand is below every bar, or below the rope."""
    if not held.centres:
        above = [held.holds[0].above(hand.position) for hand in hands]  # type: ignore[attr-defined]
        return (Guard("fell", _largest(above) + FALLEN, "terminal", "down", "all hands are below the rope"),)
    lowest, highest = held.centres[0][1], _largest([hand.position[1] for hand in hands])
    for centre in held.centres[1:]:
        lowest = ca.fmin(lowest, centre[1])
    return (Guard("fell", highest - lowest + FALLEN, "terminal", "down", "all hands are below all bars"),)


def _largest(values: Sequence[Any]) -> Any:
    largest = values[0]
    for value in values[1:]:
        largest = ca.fmax(largest, value)
    return largest


def between(system: HybridSystem, bar: int, other: int | None = None) -> dict[str, float]:
    """The start in which hand A of a two-link robot holds a bar at its centre, at rest.

    Hand B holds the ``other`` bar, with the elbow below both, or hangs straight down.
    """
    x, y = _centre(system, bar)
    state = {"x": x, "y": y, "theta1": 0.0, "theta2": 0.0}
    if other is not None:
        there = _centre(system, other)
        ways = []
        for elbow in ("down", "up"):
            first, second = two_link_angles(there[0] - x, there[1] - y, system.values["L1"], system.values["L2"], elbow)
            ways.append((-math.cos(hanging(first)), hanging(first), second))
        _, state["theta1"], state["theta2"] = min(ways)
    return state


def _centre(system: HybridSystem, bar: int) -> tuple[float, float]:
    count = sum(name.startswith("bar") and name.endswith("_x") for name in system.values)
    if not isinstance(bar, int) or not 0 <= bar < count:
        raise InputError(f"{system.name}'s world has bars 0 to {count - 1}, got {bar!r}")
    return system.values[f"bar{bar}_x"], system.values[f"bar{bar}_y"]
