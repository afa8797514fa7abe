"""Swings by the clock alone: the motor's torque is constant in each of a few pieces, then hands are exchanged."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from saltus.errors import InputError
from saltus.gaits._gait import Gait, duration_knob
from saltus.gaits._phase import Phase
from saltus.hybrid import HybridSystem
from saltus.mechanism import Parameter

ROBOT = "monkeybot"

# Shortest duration of a piece in a search, and the longest of a piece and of a whole swing, s.
SHORTEST, LONGEST, WHOLE = 0.04, 0.8, 1.6

# A search takes differences of torques: it needs room for them, N m.
LEAST_TORQUE = 1e-3


def make(robot: HybridSystem, pieces: int = 3, flights: int = 0, swings: int = 1, torque_limit: float = 2.0) -> Gait:
    """The gait of so many pieces in each swing, the last ``flights`` of them without a hold, and so many swings.

    A search keeps torques below ``torque_limit``, N m, and below that of the robot.
    """
    _check(pieces, flights, swings, torque_limit)
    largest = min(torque_limit, float(robot.input_limits[list(robot.mechanism.actuators).index("elbow")]))
    longest = max(LONGEST, WHOLE / pieces)
    phases: list[Phase] = []
    knobs: dict[str, Parameter] = {}
    symbols: dict[str, Any] = {}
    for swing in range(swings):
        for k in range(pieces):
            name = f"piece{k + 1}" if swings == 1 else f"swing{swing + 1}_piece{k + 1}"
            torque = f"{name}_torque"
            symbols |= {torque: ca.SX.sym(torque), f"{name}_t": ca.SX.sym(f"{name}_t")}
            knobs[torque] = Parameter(torque, 0.0, "N m", f"of the motor in {name}", lower=-largest, upper=largest)
            knobs[f"{name}_t"] = duration_knob(name, 0.3, SHORTEST, longest)
            holds = None if k >= pieces - flights else "A"
            phases.append(Phase(name, holds, inputs={"elbow": symbols[torque]}, relabel=k == 0))

    def draw(random: np.random.Generator) -> dict[str, float]:
        if largest < LEAST_TORQUE:
            raise InputError(f"a search needs a motor of at least {LEAST_TORQUE:g} N m; it has {largest:g} N m")
        # hands level at the start, one swing more or less in a time as a pendulum of this size needs
        lean, side = random.uniform(0.25, 1.35), random.choice([-1.0, 1.0])
        start = {"theta1": -lean, "theta2": 2 * lean + side * math.pi}
        if flights or swings > 1:  # hands need not be level
            start = {name: angle + random.normal(0.0, 0.4) for name, angle in start.items()}
        start |= dict(zip(("dtheta1", "dtheta2"), random.normal(0.0, 3.0, 2), strict=True))
        whole = random.uniform(0.4, 1.4) * swings
        shares = 0.7 * random.dirichlet(np.full(len(phases), 3.0)) + 0.3 / len(phases)
        for phase, share in zip(phases, shares, strict=True):
            start[f"{phase.name}_t"] = float(np.clip(whole * share, SHORTEST, longest))
            drawn = torque_limit * float(np.clip(random.normal(0.0, 0.25), -1.0, 1.0))
            start[f"{phase.name}_torque"] = float(np.clip(drawn, -largest, largest))
        return start

    return Gait(
        "pieces",
        robot,
        tuple(phases),
        section={},
        start={"theta1": -0.8, "theta2": 1.6 - math.pi},  # hands level, at rest
        knobs=knobs,
        symbols=symbols,
        draw=draw,
        about=__doc__.split(": ")[1],
    )


def _check(pieces: Any, flights: Any, swings: Any, torque_limit: Any) -> None:
    for name, value, least in (("pieces", pieces, 1), ("flights", flights, 0), ("swings", swings, 1)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"gait pieces: {name} must be a whole number of at least {least}, got {value!r}")
    if flights >= pieces:
        raise InputError(f"gait pieces: a swing begins with a hold: of {pieces} pieces {flights} cannot be flights")
    if not isinstance(torque_limit, (int, float)) or not 0 < torque_limit < math.inf:
        raise InputError(f"gait pieces: torque_limit must be positive and finite, got {torque_limit!r}")


GAIT = make
