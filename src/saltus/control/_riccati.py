"""Optimal gains of a linear system: continuous, or for inputs that are held between samples."""

from __future__ import annotations

import numpy as np

# A loop decays if it does so by more than this share of the size of A in each second, or of 1 in each period: below
# that an eigenvalue cannot be told from zero, since rounding parts a double one by the root of what it does to others.
DECAYS = 1e-7

# What is below this share of the size of a loop is rounding of its eigenvalues.
_ROUNDING = 1e-13

# Over one period a difference may grow or decay by a factor of e to this; beyond, rounding is all that is left of it.
_LONGEST = 30.0


def longest_period(A: np.ndarray) -> float:
    """The longest period over which inputs may be held, s: differences must not grow or decay beyond all numbers."""
    rate = float(np.max(np.abs(np.linalg.eigvals(A).real), initial=0.0))
    # eigenvalues at zero have differences that grow with the period, and rounding that does so with its powers
    return min(_LONGEST / rate if rate > 0 else np.inf, 1e6 / max(_size(A), 1e-300))


def held(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """The map of states over a period in which the inputs are held: x' = F x + G u."""
    from scipy.linalg import expm

    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A * period, B * period
    grown = expm(block)
    return grown[:n, :n], grown[:n, n:]


def held_cost(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, period: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What x'Qx + u'Ru amounts to over a period in which the inputs are held, exactly [vanloan1978].

    Returns the weights of states, of inputs, and of both together.
    """
    from scipy.linalg import expm

    n, m = B.shape
    size = n + m
    system, weights = np.zeros((size, size)), np.zeros((size, size))
    system[:n, :n], system[:n, n:] = A, B
    weights[:n, :n], weights[n:, n:] = Q, R
    block = np.zeros((2 * size, 2 * size))
    block[:size, :size], block[:size, size:], block[size:, size:] = -system.T, weights, system
    grown = expm(block * period)
    total = grown[size:, size:].T @ grown[:size, size:]
    total = 0.5 * (total + total.T)
    return total[:n, :n], total[n:, n:], total[:n, n:]


def gains(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, period: float | None) -> np.ndarray | None:
    """Gains K of u = -K x with the least cost, or None where there are none that make the system stable."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    try:
        if period is None:
            P = solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ P)
            loop = A - B @ K
            margin = max(DECAYS * _size(A), _ROUNDING * _size(loop))
            stable = np.max(np.linalg.eigvals(loop).real, initial=-np.inf) < -margin
        else:
            F, G = held(A, B, period)
            Qd, Rd, S = held_cost(A, B, Q, R, period)
            P = solve_discrete_are(F, G, Qd, Rd, s=S)
            K = np.linalg.solve(Rd + G.T @ P @ G, G.T @ P @ F + S.T)
            loop = F - G @ K
            margin = max(DECAYS * min(1.0, _size(A) * period), _ROUNDING * _size(loop))
            stable = np.max(np.abs(np.linalg.eigvals(loop)), initial=0.0) < 1 - margin
    except (np.linalg.LinAlgError, ValueError):
        return None
    return K if stable and np.isfinite(K).all() else None


def _size(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0
