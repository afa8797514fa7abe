"""What controllers that swing from hand to hand ask of a robot: two grips and one motor."""

from __future__ import annotations

from collections.abc import Sequence

from saltus.contact import GRIP
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem


def one_motor(system: HybridSystem, what: str) -> str:
    """The name of the only actuator."""
    names = list(system.mechanism.actuators)
    if len(names) != 1:
        raise InputError(f"{what} is for robots with one motor; {system.name} has {', '.join(names) or 'none'}")
    return names[0]


def two_hands(system: HybridSystem, given: Sequence[str], what: str) -> tuple[str, str]:
    """The two grips that are named, or the only two, the one that a run begins with first."""
    grips = [unit for unit in system.units if unit.kind == GRIP]
    names = [unit.name for unit in grips]
    if isinstance(given, str):
        raise InputError(f"{what}: hands are the names of two grips, got {given!r}")
    for name in given:
        if name not in names:
            raise unknown_name("grip", name, names, system.name)
    if given and (len(given) != 2 or given[0] == given[1]):
        raise InputError(f"{what}: hands are two different grips, got {', '.join(given)}")
    if not given and len(names) != 2:
        raise InputError(f"{what} is for robots with two grips; {system.name} has {', '.join(names) or 'none'}")
    if given:
        return given[0], given[1]
    first, second = sorted(grips, key=lambda unit: not unit.closed)  # type: ignore[attr-defined]
    return first.name, second.name


def sign_of(system: HybridSystem, hands: Sequence[str]) -> float:
    """Sign of torques as seen from the first of two hands: that of the robot itself is seen from its first grip."""
    names = [unit.name for unit in system.units]
    return 1.0 if names.index(hands[0]) < names.index(hands[1]) else -1.0
