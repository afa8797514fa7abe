"""Controllability of a linear system: the rank, how near it is to being less, and which mode is the weak one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content

# A direction belongs to what the inputs reach if it grows by more than this share of the system's size.
_REACHED = 1e-9

# What is below this share of the largest element of A is rounding.
_ROUNDING = 1e-13

# Eigenvalues are the same if they differ by less than this share of the largest: rounding parts those of a chain.
_TOGETHER = 1e-6


@equal_by_content
@dataclass(frozen=True, eq=False)
class WeakMode:
    """The eigenvalue that the inputs reach least, how far they reach it, and which states move in its mode.

    Of several that they reach as little, or not at all, it is the one that grows fastest.

    ``margin`` is the smallest singular value of (A - eigenvalue, B), in the units of `controllability`; zero where the
    inputs cannot reach it at all. ``states`` are the shares of the states in the mode, largest first, adding up to 1.
    """

    eigenvalue: complex
    margin: float
    states: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        value = [float(self.eigenvalue.real), float(self.eigenvalue.imag)]
        return {"eigenvalue": value, "margin": self.margin, "states": self.states}


@equal_by_content
@dataclass(frozen=True, eq=False)
class Controllability:
    """The rank of the controllability matrix, its smallest singular value, and the margin of each eigenvalue."""

    rank: int
    smallest: float
    margins: np.ndarray
    weak: WeakMode | None


def controllability(
    A: np.ndarray, B: np.ndarray, names: tuple[str, ...], limits: np.ndarray, eigenvalues: np.ndarray
) -> Controllability:
    """How the inputs reach the states, in units in which numbers can be compared.

    States are measured in the units that balance A (`scipy.linalg.matrix_balance`), inputs in their limits where these
    are finite (one with the limit 0 does nothing), time in the inverse of A's norm, and B is divided by its own.
    The rank is counted by orthogonal steps B, A B, A A B, ..., since the matrix [B, A B, ...] itself says little about
    many states; the margins are those of Popov, Belevitch and Hautus: the smallest singular value of (A - eigenvalue,
    B).
    """
    n = len(A)
    if not n:
        return Controllability(0, 0.0, np.zeros(0), None)
    a, b, rate = _scaled(A, B, limits)
    margins = np.array([_margin(a, b, value / rate)[0] for value in eigenvalues])
    krylov = [b]
    for _ in range(n - 1):
        krylov.append(a @ krylov[-1])
    values = np.linalg.svd(np.hstack(krylov), compute_uv=False) if b.size else np.zeros(n)
    # of several that are reached as little, or not at all, the one that grows fastest matters most
    little = max(_REACHED, (1 + _TOGETHER) * float(margins.min()))
    worst = max(np.flatnonzero(margins <= little), key=lambda k: (eigenvalues[k].real, eigenvalues[k].imag))
    states = _moved(a, b, eigenvalues[worst] / rate)
    order = np.argsort(-states, kind="stable")
    shares = {names[k]: float(states[k]) for k in order if states[k] > 1e-6}
    weak = WeakMode(complex(eigenvalues[worst]), float(margins[worst]), shares)
    return Controllability(_rank(a, b), float(values[n - 1]), margins, weak)


def _scaled(A: np.ndarray, B: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    from scipy.linalg import matrix_balance

    # rounding is no coupling: balanced, it would come to be as large as the rest
    clean = np.where(np.abs(A) > _ROUNDING * np.abs(A).max(initial=0.0), A, 0.0)
    a, (units, _) = matrix_balance(clean, permute=False, separate=True)
    rate = float(np.linalg.norm(a, 2)) or 1.0
    # what may not push at all reaches nothing
    b = B * np.where(np.isfinite(limits), limits, 1.0) / units[:, None]
    size = float(np.linalg.norm(b, 2)) if b.size else 0.0
    return a / rate, b / (size or 1.0), rate


def _margin(a: np.ndarray, b: np.ndarray, value: complex) -> tuple[float, np.ndarray]:
    """The smallest singular value of (a - value, b), and the combination of states that belongs to it."""
    left, sizes, _ = np.linalg.svd(np.hstack([a - value * np.eye(len(a)), b]))
    return float(sizes[-1]), left[:, -1]


def _moved(a: np.ndarray, b: np.ndarray, value: complex) -> np.ndarray:
    """Shares of the states in the mode of an eigenvalue, of several with the same the one that is reached least."""
    from scipy.linalg import eig, orth

    values, vectors = eig(a)
    alike = vectors[:, np.abs(values - value) < _TOGETHER * max(1.0, float(np.abs(values).max()))]
    space = orth(alike, rcond=1e-4)
    _, least = _margin(a, b, value)
    mode = space @ (space.conj().T @ least)
    if np.linalg.norm(mode) < 1e-6:  # of a chain: the mode itself is at right angles to what is not reached
        mode = space[:, 0]
    shares: np.ndarray = np.abs(mode) ** 2 / np.linalg.norm(mode) ** 2
    return shares


def _rank(a: np.ndarray, b: np.ndarray) -> int:
    """The dimension of what the inputs reach, each new direction at right angles to those before."""
    basis, new = np.zeros((len(a), 0)), b
    while new.size and basis.shape[1] < len(a):
        new = new - basis @ (basis.T @ new)
        left, sizes, _ = np.linalg.svd(new, full_matrices=False)
        fresh = left[:, sizes > _REACHED]
        fresh = fresh - basis @ (basis.T @ fresh)
        basis, new = np.hstack([basis, fresh]), a @ fresh
    return min(basis.shape[1], len(a))
