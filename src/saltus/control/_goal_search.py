"""Whether a goal lies on a grid at all: looked for among many states, and around the best of them, before any work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

# States at which a goal is looked for, and how many of the best of them are looked around.
LOOKED_AT, LOOKED_AROUND = 20_000, 6

# Steps of that, at most.
STEPS = 400

Ends = Sequence[tuple[float, float]]


def least(goal: Callable[[np.ndarray], np.ndarray], ends: Ends) -> float:
    """The least value of a goal between the ends of four axes, as far as it is found; 0 or less ends the search.

    ``goal`` takes states in columns.
    """
    low, high = np.array(ends).T
    draw = np.random.default_rng(0)
    shares = draw.uniform(size=(LOOKED_AT, 4))
    # half of them slowly: most goals are places, or are met at rest
    shares[::2, 2:] = 0.5 + 0.05 * (shares[::2, 2:] - 0.5)
    shares[0] = 0.5
    states = low + (high - low) * shares
    found = _numbers(goal(states.T))
    best = np.argsort(found)[:LOOKED_AROUND]
    lowest = float(found[best[0]])
    for k in best:
        if lowest <= 0 or not math.isfinite(found[k]):
            break
        lowest = min(lowest, _closer(goal, states[k], low, high))
    return lowest


def _closer(goal: Callable[[np.ndarray], np.ndarray], state: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    from scipy.optimize import minimize

    def value(shares: np.ndarray) -> float:
        inside = low + (high - low) * np.clip(shares, 0.0, 1.0)
        return float(_numbers(goal(inside[:, None]))[0])

    start = (state - low) / (high - low)
    simplex = np.vstack([start, start + 0.02 * np.eye(4)])
    made = minimize(value, start, method="Nelder-Mead", options={"maxiter": STEPS, "initial_simplex": simplex})
    return float(made.fun)


def _numbers(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(values, dtype=float).ravel(), nan=math.inf)
