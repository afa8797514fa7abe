"""What controllers that swing from hand to hand ask of a robot: two grips and one motor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import casadi as ca
import numpy as np

from saltus.contact import GRIP
from saltus.contact._grip import CLOSED, REACHING
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

# A hand that was caught at the edge of its reach may be beyond it by this, m: roundings of a run before.
EDGE = 1e-6


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


def must_hold(
    system: HybridSystem, what: str, some: Sequence[str] = ()
) -> Callable[[np.ndarray, Sequence[int], np.ndarray], None]:
    """What refuses a start in which a closed hand is at no bar, or in which none holds: ``some`` of them, or any."""
    return partial(_check_hold, system, what, tuple(some))


def _check_hold(
    system: HybridSystem, what: str, some: tuple[str, ...], state: np.ndarray, statuses: Sequence[int], p: np.ndarray
) -> None:
    grips = [(k, unit) for k, unit in enumerate(system.units) if unit.kind == GRIP]
    beyond = np.array(system.once("beyond reach", lambda: _beyond_reach(system))(state, p)).ravel()
    held = []
    for (k, unit), far in zip(grips, beyond.tolist(), strict=True):
        if statuses[k] == CLOSED and far > EDGE:
            raise InputError(
                f"{what}: {system.name} begins with hand {unit.name} closed where nothing is to hold: the nearest is "
                f"{far:.6g} m beyond its reach"
            )
        if statuses[k] == CLOSED or (statuses[k] == REACHING and far <= 0):
            held.append(unit.name)
    wanted = some or [unit.name for _, unit in grips]
    if not any(name in held for name in wanted):
        hands = " nor ".join(wanted) if len(wanted) < 3 else " nor ".join((", ".join(wanted[:-1]), wanted[-1]))
        raise InputError(
            f"{what}: {system.name} begins with no hand on a bar: "
            f"{f'neither {hands} holds' if len(wanted) > 1 else f'{hands} does not hold'} anything"
        )


def _beyond_reach(system: HybridSystem) -> ca.Function:
    """How far each grip is beyond its reach of the nearest thing to hold, m."""
    d = system.dynamics
    grips = [unit for unit in system.units if unit.kind == GRIP]
    return ca.Function("beyond", [d.x, d.p], [ca.vertcat(*(unit.reach for unit in grips))])  # type: ignore[attr-defined]
