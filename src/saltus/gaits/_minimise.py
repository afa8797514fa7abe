"""The smallest error near a guess by the simplex of Nelder and Mead, as [ufford2009, 4.2] looked for gaits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from saltus._content import equal_by_content
from saltus.errors import InputError, SaltusError
from saltus.gaits._cycle import Cycle, run_cycle
from saltus.gaits._gait import Gait


@equal_by_content
@dataclass(frozen=True)
class Minimised:
    """Where the simplex came to rest."""

    start: dict[str, float]
    error: float
    evaluations: int
    converged: bool
    cycle: Cycle


def minimise(
    gait: Gait,
    guess: Mapping[str, float] | None = None,
    knobs: Mapping[str, float] | None = None,
    *,
    tolerance: float = 1e-4,
    most: int = 2000,
    **options: Any,
) -> Minimised:
    """The smallest error near a guess.

    The search ends when the corners of the simplex agree to the tolerance both in place and in error;
    1e-4 is what the paper's program used. A gait that repeats is found by `solve`, to rounding.
    """
    if not 0 < tolerance < math.inf:
        raise InputError(f"the tolerance must be positive and finite, got {tolerance!r}")
    wanted = [name for name in gait.unknowns or gait.free if name in gait.free]
    begin = gait.state(guess)
    fixed = {name: value for name, value in begin.items() if name in gait.free and name not in wanted}
    run_cycle(gait, {n: begin[n] for n in gait.free}, knobs, **options)

    def error(place: np.ndarray) -> float:
        try:
            return run_cycle(gait, fixed | dict(zip(wanted, place.tolist(), strict=True)), knobs, **options).error
        except InputError:
            raise
        except SaltusError:
            return math.inf

    found = minimize(
        error,
        [begin[name] for name in wanted],
        method="Nelder-Mead",
        options={"xatol": tolerance, "fatol": tolerance, "maxfev": most, "maxiter": most},
    )
    start = fixed | dict(zip(wanted, found.x.tolist(), strict=True))
    cycle = run_cycle(gait, start, knobs, **options)
    return Minimised(cycle.start, cycle.error, int(found.nfev), bool(found.success), cycle)
