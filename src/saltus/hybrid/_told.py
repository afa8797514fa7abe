"""Starts told by readings, some of which follow from the others: a place along a heading, for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus.hybrid._readings import state_by_readings

if TYPE_CHECKING:
    from saltus.hybrid._system import HybridSystem


def told_state(
    system: HybridSystem, start: np.ndarray, told: Mapping[str, float], kept: Sequence[str], given: Sequence[str]
) -> np.ndarray:
    """The state nearest to a start in which readings are as told, as `state_by_readings` finds it.

    Where some readings follow from others, bodies are first turned in place as told. What follows and is not told is
    what it has come to be there, and its rate is what turning makes of it.
    """
    m = system.mechanism
    follow = [name for name, one in m.readings.items() if one.follows]
    postures = {name: told[name] for name in m.readings if name in told and name not in follow}
    places, turning = system.once("places that readings follow", lambda: _parts(system, follow)) if follow else ([], [])
    held = [name for name in kept if name in m.coordinates and m.index(name) not in places]
    if postures and follow and not {m.index(name) for name in held} & set(turning):
        found = state_by_readings(system, start, postures, held, ())
        found[places], found[m.nq :] = start[places], start[m.nq :]
        start = found
    x = state_by_readings(system, start, told, kept, given)
    if not follow:
        return x
    turned = np.array(system.once("rates by turning", lambda: _turned(system, follow))(x, system.parameter_values))
    rates = {f"d{name}": float(rate) for name, rate in zip(follow, turned.ravel(), strict=True)}
    rates = {name: rate for name, rate in rates.items() if name not in told and abs(rate) > 1e-12}
    return state_by_readings(system, start, {**told, **rates}, kept, given) if rates else x


def _parts(system: HybridSystem, follow: Sequence[str]) -> tuple[list[int], list[int]]:
    """Places of the coordinates that readings which follow are made of, without those of rotations; and the latter."""
    m = system.mechanism
    turning = [k for place in m.quaternions for k in range(place, place + 4)]
    parts = ca.vertcat(*(m.readings[name].expression for name in follow))
    used = set(ca.sparsify(ca.jacobian(parts, m.q)).sparsity().get_col())
    return sorted(used - set(turning)), turning


def _turned(system: HybridSystem, follow: Sequence[str]) -> Any:
    """How fast readings which follow change by turning alone."""
    d, m = system.dynamics, system.mechanism
    rates = ca.SX(d.qdot)
    for k in _parts(system, follow)[0]:
        rates[k] = 0
    parts = ca.vertcat(*(m.readings[name].expression for name in follow))
    return ca.Function("turned", [d.x, d.p], [ca.jtimes(parts, d.q, rates)])
