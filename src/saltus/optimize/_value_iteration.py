"""Dynamic programming for modes of two degrees of freedom: two recipes, and the tables that they make."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from saltus._native import pointer_to
from saltus.control._protocol import finite
from saltus.control._reach import Reach
from saltus.control._table import Axis, Table, grid_numbers
from saltus.engine._reduced import Reduced
from saltus.engine._single import BLOCK, Aim, Block
from saltus.errors import InputError
from saltus.optimize import _sweeps as W

Progress = Callable[["Sweep"], None]


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
    before it; within one all states see the old ones, so that threads make no difference.

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
    tolerance: float = 0.03
    sweeps: int = 40

    name = "saltus"

    def __post_init__(self) -> None:
        _check_inputs(self.inputs)
        _positive(self, "step", "patience")
        _whole(self, "steps", "sweeps")
        if finite(self.effort, "recipe: effort") < 0 or finite(self.tolerance, "recipe: tolerance") < 0:
            raise InputError("recipe: effort and tolerance must not be negative")


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

    def __post_init__(self) -> None:
        _positive(self, "step")
        _whole(self, "steps", "sweeps")
        if finite(self.effort, "recipe: effort") < 0:
            raise InputError("recipe: effort must not be negative")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            raise InputError(f"recipe: seed is a whole number from 0 to less than 2^32, got {self.seed!r}")


RECIPES = {"saltus": Discounted, "thesis": RandomActions}


def _positive(recipe: Any, *names: str) -> None:
    for name in names:
        if not finite(getattr(recipe, name), f"recipe: {name}") > 0:
            raise InputError(f"recipe: {name} must be positive, got {getattr(recipe, name):g} s")


def _whole(recipe: Any, *names: str) -> None:
    for name in names:
        value = getattr(recipe, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"recipe: {name} must be a positive whole number, got {value!r}")


def _check_inputs(inputs: Sequence[float]) -> None:
    if not len(inputs):
        raise InputError("recipe: no inputs to try; give shares of the limit, such as (-1, 0, 1)")
    for share in inputs:
        if not abs(finite(share, "recipe: an input")) <= 1:
            raise InputError(f"recipe: inputs are shares of the actuator's limit, from -1 to 1, got {share:g}")
    if not any(inputs):
        raise InputError("recipe: all inputs are zero, and nothing would be controlled")


@dataclass
class _Work:
    """A table in the making."""

    task: Reach
    recipe: Discounted | RandomActions
    axes: tuple[Axis, ...]
    values: np.ndarray
    actions: np.ndarray | None
    done: int = 0
    residual: float = math.inf
    limit: float = field(init=False)

    def __post_init__(self) -> None:
        self.limit = float(self.task.robot.input_limits[0])
        if not 0 < self.limit < math.inf:
            name = next(iter(self.task.robot.mechanism.actuators), "none")
            raise InputError(
                f"reach: the actuator of {self.task.robot.name} ({name}) needs a positive, finite limit, "
                f"it is {self.limit:g}"
            )

    def table(self) -> Table:
        """What there is so far."""
        mode, (aim, _) = self.task.mode, self.task.aim(costs=False)
        return Table(
            axes=self.axes, values=self.values, actions=self.actions, robot=self.task.robot.name, holds=self.task.holds,
            parameters=_used(mode, aim, stops=self.task.stops), goal=self.task.place,
            recipe={"name": self.recipe.name, **asdict(self.recipe), "stops": self.task.stops, "soft": self.task.soft},
            sweeps=self.done, residual=self.residual, task=self.task,
        )  # fmt: skip


def _used(mode: Reduced, aim: Aim, *, stops: bool) -> dict[str, float]:
    """Values of all parameters that count in a mode and its aim."""
    parts = [mode.acceleration, *(ca.SX(part) for part in (aim.goal, aim.worth) if not callable(part))]
    for _, lower, upper in mode.stops if stops else ():
        parts += [lower, upper]
    whole = ca.vertcat(*parts)
    names = list(mode.system.values)
    used = {name for k, name in enumerate(names) if ca.depends_on(whole, mode.p[k])}
    limit = next(iter(mode.system.mechanism.actuators.values())).limit
    used |= {name for k, name in enumerate(names) if ca.depends_on(ca.SX(limit), mode.p[k])}
    return {name: mode.system.values[name] for name in names if name in used}


def train_table(
    task: Reach,
    recipe: Discounted | RandomActions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Table:
    """Make a table by dynamic programming; Ctrl-C leaves what there is in the checkpoint, and goes on from there.

    Parameters
    ----------
    recipe
        `Discounted` or `RandomActions`; the first if None.
    threads
        How many; one for each core if None. The table does not depend on it.
    progress
        Called with a `Sweep` some times in each.
    checkpoint
        A file, .npz, for the table when it is interrupted.
    resume
        Go on from the checkpoint.
    """
    recipe = Discounted() if recipe is None else recipe
    if not isinstance(task, Reach) or not isinstance(recipe, (Discounted, RandomActions)):
        raise InputError(f"train_table takes a Reach and a Discounted or RandomActions, got {task!r} and {recipe!r}")
    axes = task.check()
    check_memory(axes, recipe)
    work = _begun(task, recipe, axes, checkpoint if resume else None)
    try:
        threads = threads or os.cpu_count() or 1
        with ThreadPoolExecutor(threads) as pool:
            if isinstance(recipe, Discounted):
                _reach(work, recipe, pool, threads, progress)
            else:
                _random(work, recipe, pool, progress)
    except KeyboardInterrupt:
        if checkpoint is not None:
            work.table().save(checkpoint)
        raise
    return work.table()


def _begun(task: Reach, recipe: Discounted | RandomActions, axes: tuple[Axis, ...], path: str | Path | None) -> _Work:
    """A new table, or one that was interrupted."""
    shape = tuple(axis.count for axis in axes)
    thesis = isinstance(recipe, RandomActions)
    if path is None:
        values = np.full(shape, W.NEVER if thesis else 0.0, dtype=np.float32)
        return _Work(task, recipe, axes, values, np.zeros(shape, dtype=np.float32) if thesis else None)
    old = Table.load(path, task.robot)
    work = _Work(task, recipe, axes, old.values, old.actions, old.sweeps, old.residual)
    new = work.table()
    for what in ("axes", "holds", "goal"):
        if getattr(old, what) != getattr(new, what):
            raise InputError(f"{path} has other {what}: {getattr(old, what)}, and wanted are {getattr(new, what)}")
    for name, value in new.recipe.items():
        had = old.recipe.get(name)
        if name not in ("sweeps", "tolerance") and (tuple(had) if isinstance(had, list) else had) != value:
            raise InputError(f"{path} was made with {name} = {had!r}, and wanted is {value!r}")
    return work


def check_memory(axes: tuple[Axis, ...], recipe: Discounted | RandomActions) -> int:
    """Bytes that a table needs while it is made; refused where there are not so many."""
    count = math.prod(axis.count for axis in axes)
    needed = 4 * count * (3 if isinstance(recipe, RandomActions) else 1) + 4 * count // min(a.count for a in axes[:2])
    free = _available()
    if needed > 0.9 * free:
        shape = " x ".join(str(axis.count) for axis in axes)
        raise InputError(f"a grid of {shape} needs {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are available")
    return needed


def _available() -> float:
    """Bytes of memory that are free, as far as the system tells."""
    try:
        with Path("/proc/meminfo").open() as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return math.inf


class _Caller:
    """Calls of a compiled sweep with all that it needs, each thread with its own room."""

    def __init__(self, work: _Work, name: str, inputs: Sequence[float], worths: Sequence[float], method: str):
        mode, recipe = work.task.mode, work.recipe
        costs = isinstance(recipe, RandomActions)
        aim, values = work.task.aim(costs=costs)
        self.block = Block(mode, aim, method, stops=work.task.stops)
        self.sweep, self._entry = W.sweeper(name)
        whole, real = grid_numbers(work.axes)
        self.whole = np.zeros(W.WHOLE, dtype=np.int64)
        self.whole[: len(whole)] = whole
        self.whole[[W.STEPS, W.INPUTS]] = recipe.steps, len(inputs)
        self.whole[W.SEED] = recipe.seed if isinstance(recipe, RandomActions) else 0
        self.real = np.zeros(W.FIRST_INPUT + 2 * len(inputs), dtype=np.float32)
        self.real[: len(real)] = real
        self.real[W.LENGTH], self.real[W.LIMIT] = recipe.step / recipe.steps, work.limit
        self.real[W.DISCOUNT] = 1 / recipe.patience if isinstance(recipe, Discounted) else recipe.effort
        self.real[W.FIRST_INPUT :] = [*inputs, *worths]
        self.p = np.concatenate([mode.values(), values]).astype(np.float32)
        first, second = (axis.places.astype(np.float32) for axis in work.axes[2:])
        rates = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
        # a block at the end of a tile may reach beyond it
        self.rates = np.concatenate([rates, np.repeat(rates[-1:], BLOCK, axis=0)]).ravel()

    def __call__(self, V: np.ndarray, out: np.ndarray, kept: np.ndarray, **numbers: int) -> float:
        whole = self.whole.copy()
        for name, value in numbers.items():
            whole[getattr(W, name.upper())] = value
        room, shorts = np.zeros(W.ROOM * BLOCK, dtype=np.float32), np.zeros(3 * BLOCK, dtype=np.int32)
        arrays = (V, out, kept, room, self.rates, self.p, shorts, whole, self.real)
        return float(self.sweep(self.block.place, *map(pointer_to, arrays)))


def _reach(work: _Work, recipe: Discounted, pool: ThreadPoolExecutor, threads: int, progress: Progress | None) -> None:
    """Sweeps of `Discounted`."""
    worths = [math.exp(-recipe.effort * recipe.step * share * share) for share in recipe.inputs]
    call = _Caller(work, "reach", [share * work.limit for share in recipe.inputs], worths, "leapfrog")
    counts = [axis.count for axis in work.axes]
    while work.done < recipe.sweeps and not work.residual <= recipe.tolerance:
        # both axes in turn, up and then down
        axis, down = work.done % 2, work.done % 4 >= 2
        across, slices = counts[1 - axis], counts[axis]
        out = np.empty((across, *counts[2:]), dtype=np.float32)
        parts = np.linspace(0, across, threads + 1).astype(int)
        largest = 0.0
        for k, number in enumerate(reversed(range(slices)) if down else range(slices)):
            jobs = [
                pool.submit(call, work.values, out, out, axis=axis, slice=number, first=first, last=last)
                for first, last in itertools.pairwise(parts.tolist())
            ]
            largest = max(largest, *(job.result() for job in jobs))
            work.values[(slice(None),) * axis + (number,)] = out
            if progress is not None and k % 5 == 4:
                progress(Sweep(work.done, recipe.sweeps, (k + 1) / slices, largest))
        work.done, work.residual = work.done + 1, largest


def _random(work: _Work, recipe: RandomActions, pool: ThreadPoolExecutor, progress: Progress | None) -> None:
    """Sweeps of `RandomActions`."""
    counts = [axis.count for axis in work.axes]
    call = _Caller(work, "random_actions", [0.0], [1.0], "euler")
    new = np.empty_like(work.values)
    actions = np.zeros_like(new) if work.actions is None else work.actions
    work.actions = actions
    states = math.prod(counts)
    while work.done < recipe.sweeps:
        jobs = [
            pool.submit(call, work.values, new, actions, slice=k, first=0, last=counts[1], sweep=work.done)
            for k in range(counts[0])
        ]
        changed = 0.0
        for k, job in enumerate(jobs):
            changed += job.result()
            if progress is not None and k % 5 == 4:
                progress(Sweep(work.done, recipe.sweeps, (k + 1) / counts[0], changed / states))
        work.values, new = new, work.values
        work.done, work.residual = work.done + 1, changed / states
