"""Recipes of dynamic programming for modes of two degrees of freedom: what is tried in each state, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from saltus.control._protocol import finite
from saltus.errors import InputError, unknown_name


@dataclass(frozen=True)
class Sweep:
    """What is told of a sweep: its number and those that are to come at most, the share of it that is done, changes."""

    number: int
    of: int
    share: float
    residual: float


@dataclass(frozen=True)
class Discounted:
    """The value of reaching the goal, discounted by the time it takes, in place, slice after slice.

    W(x) = max over inputs of e^(-dt/T) W(x'), and where the goal is met on the way e^(-t/T) times what that is worth.
    Values between states are interpolated. Slices lie across both coordinates in turn, up and down, and each sees those
    before it; within one all states see the old ones, so that threads make no difference. If reversals of the input
    cost something, every state counts twice: after an input to one side, and after one to the other.

    Parameters
    ----------
    inputs
        That are tried, as shares of the actuator's limit.
    step, steps
        Length of a motion, s, and of how many steps it is made.
    patience
        T, s: time that is worth as much as a factor of e.
    effort
        What the full input costs, 1/s: its worth falls by e^(-effort dt), and with the square of the share of it.
    reversal
        Share of a value that an input costs whose sign is not that of the last one, whatever zeros are between.
    tolerance
        Sweeps end when no value changes by more.
    sweeps
        At most.
    """

    inputs: tuple[float, ...] = (-1.0, 0.0, 1.0)
    step: float = 0.04
    steps: int = 8
    patience: float = 1.0
    effort: float = 0.0
    reversal: float = 0.12
    tolerance: float = 0.03
    sweeps: int = 40

    name = "saltus"

    def __post_init__(self) -> None:
        _check_inputs(self.inputs)
        object.__setattr__(self, "inputs", tuple(float(share) for share in self.inputs))
        _positive(self, "step", "patience")
        _whole(self, "steps", "sweeps")
        if finite(self.effort, "recipe: effort") < 0 or finite(self.tolerance, "recipe: tolerance") < 0:
            raise InputError("recipe: effort and tolerance must not be negative")
        if not 0 <= finite(self.reversal, "recipe: reversal") < 1:
            raise InputError(f"recipe: reversal is a share from 0 to less than 1, got {self.reversal:g}")
        _plain(self)

    @property
    def sides(self) -> int:
        """How often each state counts: once, or for each sign of the last input."""
        return 2 if self.reversal > 0 else 1


@dataclass(frozen=True)
class RandomActions:
    """The recipe of [yang2016, 7.2]: costs added up, one random input for each state and sweep, nearest states.

    Motions are held for 20 ms and made of steps of 1 ms; the cost is the square of the hand's distance from the bar.
    The input that was best so far is tried again beside the random one. All states see those of the last sweep.

    Parameters
    ----------
    step, steps
        Length of a motion, s, and of how many steps it is made.
    effort
        Cost of the square of the full input, in the unit of the cost of a state.
    sweeps, seed
        How many, and of which random numbers.
    """

    step: float = 0.02
    steps: int = 20
    effort: float = 0.0
    sweeps: int = 1000
    seed: int = 0

    name = "thesis"
    sides = 1

    def __post_init__(self) -> None:
        _positive(self, "step")
        _whole(self, "steps", "sweeps")
        if finite(self.effort, "recipe: effort") < 0:
            raise InputError("recipe: effort must not be negative")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            raise InputError(f"recipe: seed is a whole number from 0 to less than 2^32, got {self.seed!r}")
        _plain(self)


RECIPES: dict[str, Any] = {"saltus": Discounted, "thesis": RandomActions}


def _positive(recipe: Any, *names: str) -> None:
    for name in names:
        if not finite(getattr(recipe, name), f"recipe: {name}") > 0:
            raise InputError(f"recipe: {name} must be positive, got {getattr(recipe, name):g} s")


def _whole(recipe: Any, *names: str) -> None:
    for name in names:
        value = getattr(recipe, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"recipe: {name} must be a positive whole number, got {value!r}")


def _plain(recipe: Any) -> None:
    """Numbers of numpy are not written to files."""
    for field in fields(recipe):
        if field.type == "float":
            object.__setattr__(recipe, field.name, float(getattr(recipe, field.name)))


def _check_inputs(inputs: Sequence[float]) -> None:
    if not len(inputs):
        raise InputError("recipe: no inputs to try; give shares of the limit, such as (-1, 0, 1)")
    for share in inputs:
        if not abs(finite(share, "recipe: an input")) <= 1:
            raise InputError(f"recipe: inputs are shares of the actuator's limit, from -1 to 1, got {share:g}")
    if not any(inputs):
        raise InputError("recipe: all inputs are zero, and nothing would be controlled")


def find_recipe(name: str) -> type[Discounted] | type[RandomActions]:
    """The recipe of that name."""
    if name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    found: type[Discounted] | type[RandomActions] = RECIPES[name]
    return found
