"""Linear analysis: how small differences from a state of a robot grow, and what its inputs can do about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control._controllability import Controllability, WeakMode, controllability
from saltus.control._independent import rate_name
from saltus.control._protocol import check_period
from saltus.control._riccati import DECAYS, gains, held, longest_period
from saltus.errors import InputError, unknown_name

# Where the largest rate of a state is below this, the state is an equilibrium, m/s^2 or rad/s^2.
STILL = 1e-8

# An eigenvalue is out of reach where its margin is below this.
_REACHED = 1e-7


@equal_by_content
@dataclass(frozen=True, eq=False)
class Linear:
    """A mode about one of its states: d/dt of a small difference z is A z + B times a difference of the inputs.

    Where contacts are closed only independent states are left, coordinates first; ``dropped`` tells what follows from
    them. A velocity is named ``d`` + coordinate, as everywhere.

    Parameters
    ----------
    robot, mode, statuses
        The robot, and the mode by name and by the number of each unit's status.
    states, inputs
        Names of the rows of A and of the columns of B.
    A, B
        Derivatives of the rates of the states by states and by inputs, exact to rounding.
    state, input_values
        The whole state and the inputs about which they are taken, by name.
    acceleration
        Of each velocity there: zero at an equilibrium.
    forces
        Of the contacts there, by unit and direction, N or N m.
    full, full_names
        Differences of all coordinates and velocities are the matrix ``full`` times those of the states.
    limits
        Largest magnitude of each input.
    """

    robot: str
    mode: str
    statuses: tuple[int, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    state: dict[str, float]
    input_values: dict[str, float]
    acceleration: dict[str, float]
    forces: dict[str, float]
    full: np.ndarray
    full_names: tuple[str, ...]
    limits: np.ndarray

    # -- the point ------------------------------------------------------------------------------

    @property
    def residual(self) -> float:
        """The largest acceleration there, m/s^2 or rad/s^2."""
        return max((abs(value) for value in self.acceleration.values()), default=0.0)

    @property
    def equilibrium(self) -> bool:
        """Whether nothing moves there, and nothing begins to, with inputs that the actuators can give."""
        still = all(abs(self.state[name]) < STILL for name in self.acceleration)
        return still and self.residual < STILL and not self.beyond

    @property
    def beyond(self) -> dict[str, tuple[float, float]]:
        """Inputs there that the actuators cannot give, by name: what is needed, and the limit."""
        return {
            name: (value, float(limit))
            for (name, value), limit in zip(self.input_values.items(), self.limits, strict=True)
            if abs(value) > limit * (1 + 1e-12)
        }

    @property
    def dropped(self) -> dict[str, dict[str, float]]:
        """What each coordinate and velocity that is no state follows from: its difference, by those of the states."""
        return {
            name: {state: float(value) for state, value in zip(self.states, row, strict=True) if abs(value) > 1e-12}
            for name, row in zip(self.full_names, self.full, strict=True)
            if name not in self.states
        }

    # -- eigenvalues ----------------------------------------------------------------------------

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eig(self.A) if len(self.A) else (np.zeros(0), np.zeros((0, 0)))
        order = np.lexsort((values.imag, values.real))[::-1]
        return values[order].astype(complex), vectors[:, order].astype(complex)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of A, 1/s, the fastest growing first."""
        return self._modes[0]

    @property
    def eigenvectors(self) -> np.ndarray:
        """A column for each eigenvalue."""
        return self._modes[1]

    # -- controllability ------------------------------------------------------------------------

    @cached_property
    def _reach(self) -> Controllability:
        return controllability(self.A, self.B, self.states, self.limits, self.eigenvalues)

    @property
    def controllable(self) -> bool:
        """Whether the inputs can bring every difference to zero."""
        return self.rank == len(self.states)

    @property
    def rank(self) -> int:
        """How many independent directions of the states the inputs reach."""
        return self._reach.rank

    @property
    def smallest_singular_value(self) -> float:
        """Of the controllability matrix [B, A B, ...]: states in the units that balance A, inputs in their limits, time
        in the inverse of A's norm, and B over its own norm, so that it hardly depends on the units of anything."""
        return self._reach.smallest

    @property
    def margins(self) -> np.ndarray:
        """Smallest singular value of (A - eigenvalue, B) for each eigenvalue, in the same units; 0 if not reached."""
        return self._reach.margins

    @property
    def weak_mode(self) -> WeakMode | None:
        """The eigenvalue of the least margin, and the states that move in its mode."""
        return self._reach.weak

    # -- feedback -------------------------------------------------------------------------------

    def weights(self, given: Any = None) -> np.ndarray:
        """The matrix of what differences cost: by name of state, 1 for what is not named or that of the empty name."""
        n = len(self.states)
        if given is None or isinstance(given, Mapping):
            return np.diag(self._by_name(given or {}))
        return _square(given, n, f"weights of {self.robot}'s states")

    def _by_name(self, given: Mapping[str, float]) -> list[float]:
        for name, value in given.items():
            if name and name not in self.states:
                raise unknown_name("state", name, self.states, f"{self.robot} in mode {self.mode}")
            if not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
                raise InputError(f"the weight of {name or 'the others'} must be finite and not negative, got {value!r}")
        named = {"": 1.0, **given}
        return [float(named.get(name, named[""])) for name in self.states]

    def efforts(self, given: Any = None) -> np.ndarray:
        """The matrix of what inputs cost: a number is that of an input at its limit (of 1 where it has none)."""
        m = len(self.inputs)
        if given is None or isinstance(given, (int, float, np.number)):
            value = 1.0 if given is None else float(given)
            if not 0 < value < np.inf:
                raise InputError(f"what an input costs must be positive, got {given!r}")
            units = np.where(np.isfinite(self.limits) & (self.limits > 0), self.limits, 1.0)
            return np.diag(value / units**2)
        R = _square(given, m, f"costs of {self.robot}'s inputs")
        if m and np.linalg.eigvalsh(R).min() <= 0:
            raise InputError(f"every input must cost something, got {given!r}")
        return R

    def lqr(self, Q: Any = None, R: Any = None, *, period: float | None = None) -> np.ndarray:
        """Gains K of u = -K z with the least integral of z'Qz + u'Ru.

        Parameters
        ----------
        Q
            Weights by name of state (1 for others, or that of the empty name), a vector or a matrix; 1 each if None.
        R
            A number, the cost of an input at its limit (1 if None), a vector or a matrix.
        period
            The inputs are held for this long, s: the same integral, exactly, over each period [vanloan1978].
        """
        if not self.inputs:
            raise InputError(f"{self.robot} has no actuators, so there are no gains")
        weights, efforts = self.weights(Q), self.efforts(R)
        held_for = None if period is None else self._check_period(period)
        # what may not push at all gets no gains
        B = self.B * (self.limits > 0)
        K = None if self._lost() else gains(self.A, B, weights, efforts, held_for)
        if K is None:
            raise InputError(self._no_gains())
        return K

    def _check_period(self, period: float) -> float:
        length, longest = check_period(period), longest_period(self.A)
        if length > longest:
            raise InputError(
                f"a period of {length:g} s is too long for {self.robot}: with inputs held, differences change beyond "
                f"all numbers in it; at most {longest:.3g} s"
            )
        return length

    def _lost(self) -> list[complex]:
        """Eigenvalues that do not decay by themselves and that the inputs do not reach."""
        least = max(STILL, DECAYS * float(np.linalg.norm(self.A, 2))) if len(self.A) else STILL
        return [
            complex(value)
            for value, margin in zip(self.eigenvalues, self.margins, strict=True)
            if value.real > -least and margin < _REACHED
        ]

    def _no_gains(self) -> str:
        lost = self._lost()
        where = f"{self.robot} in mode {self.mode}"
        if lost and self.weak_mode is not None:
            told = ", ".join(dict.fromkeys(map(shown, lost)))
            moves = ", ".join(name for name, share in self.weak_mode.states.items() if share > 0.05)
            return f"{where}: no inputs can stabilise the eigenvalues {told} 1/s (the weakest moves {moves})"
        return f"{where}: no gains were found; every state that does not decay by itself needs a weight"

    def closed_loop(self, K: Any, *, period: float | None = None) -> np.ndarray:
        """Eigenvalues under u = -K z: 1/s, or with a period the multipliers from sample to sample; largest first."""
        gain = np.asarray(K, dtype=float)
        if gain.shape != (len(self.inputs), len(self.states)):
            raise InputError(
                f"gains of {self.robot} are {len(self.inputs)} inputs by {len(self.states)} states, got {gain.shape}"
            )
        if period is None:
            values = np.linalg.eigvals(self.A - self.B @ gain).astype(complex)
            return values[np.lexsort((values.imag, values.real))[::-1]]
        F, G = held(self.A, self.B, self._check_period(period))
        values = np.linalg.eigvals(F - G @ gain).astype(complex)
        return values[np.argsort(-np.abs(values), kind="stable")]

    # -- parts ----------------------------------------------------------------------------------

    def subsystem(self, names: Sequence[str]) -> Linear:
        """Some of the states alone, if the others do not act on them.

        Parameters
        ----------
        names
            Coordinates; their velocities come with them. A state named by itself is taken too.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self.states:
                raise unknown_name("state", name, self.states, f"{self.robot} in mode {self.mode}")
        rates = [rate_name(one) for one in wanted]
        chosen = [k for k, name in enumerate(self.states) if name in wanted or name in rates]
        others = [k for k in range(len(self.states)) if k not in chosen]
        across = np.abs(self.A[np.ix_(chosen, others)])
        if across.size and across.max() > 1e-9 * max(1.0, np.abs(self.A).max()):
            row, column = np.unravel_index(int(across.argmax()), across.shape)
            raise InputError(
                f"{', '.join(wanted)} of {self.robot} are no system of their own: {self.states[others[column]]} acts "
                f"on {self.states[chosen[row]]} ({across.max():.3g}); take it in"
            )
        return replace(
            self, states=tuple(self.states[k] for k in chosen), A=self.A[np.ix_(chosen, chosen)], B=self.B[chosen],
            full=self.full[:, chosen],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is here, without gains."""
        return {
            "robot": self.robot,
            "mode": self.mode,
            "at": self.state,
            "inputs": self.input_values,
            "states": list(self.states),
            "dropped": self.dropped,
            "A": self.A.tolist(),
            "B": self.B.tolist(),
            "eigenvalues": as_pairs(self.eigenvalues),
            "controllable": self.controllable,
            "rank": self.rank,
            "smallest_singular_value": self.smallest_singular_value,
            "margins": self.margins.tolist(),
            "weak_mode": None if self.weak_mode is None else self.weak_mode.to_dict(),
            "equilibrium": self.equilibrium,
            "beyond_limits": {name: {"needed": one, "limit": most} for name, (one, most) in self.beyond.items()},
            "residual": self.residual,
            "forces": self.forces,
        }

    def __repr__(self) -> str:
        kind = "an equilibrium" if self.equilibrium else "a state"
        return f"<Linear: {self.robot} about {kind} in mode {self.mode}, states {', '.join(self.states)}>"


def shown(value: complex) -> str:
    """An eigenvalue in few digits, without rounding about zero."""
    real, imaginary = (0.0 if abs(part) < STILL else part for part in (value.real, value.imag))
    return f"{real:.6g}" + (f"{imaginary:+.6g}i" if imaginary else "")


def as_pairs(values: np.ndarray) -> list[list[float]]:
    """Complex numbers as pairs of real and imaginary parts."""
    return [[float(value.real), float(value.imag)] for value in values]


def _square(given: Any, size: int, what: str) -> np.ndarray:
    """A vector, as a diagonal, or a symmetric matrix that is nowhere negative."""
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} are numbers: by name, a vector or a matrix, got {given!r}") from None
    if matrix.shape == (size,):
        matrix = np.diag(matrix)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise InputError(f"{what} are {size} numbers or a symmetric matrix of {size} by {size}, got {given!r}")
    if size and np.linalg.eigvalsh(matrix).min() < -1e-12 * max(1.0, np.abs(matrix).max()):
        raise InputError(f"{what} must not be negative, got {given!r}")
    return matrix
