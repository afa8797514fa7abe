"""The work of sweeps: a table in the making, calls of compiled sweeps, and threads that share a sweep."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from saltus._native import pointer_to
from saltus.control._grid import Axis, grid_numbers
from saltus.control._reach import Reach
from saltus.engine._single import BLOCK, Block
from saltus.errors import SaltusError
from saltus.optimize import _sweeps as W
from saltus.optimize._recipes import Discounted, RandomActions, Sweep

# Sweeps go four ways, and what changes little in one may change in the next.
WAYS = 4

# Progress is told after so many slices.
EVERY = 5

# A table in the making is written after so long, s, and after so many times what writing takes.
OFTEN, SHARE = 120.0, 30.0


@dataclass
class Work:
    """A table in the making: sweeps that are done and the last one's residual; slices and change of another."""

    task: Reach
    recipe: Discounted | RandomActions
    axes: tuple[Axis, ...]
    values: np.ndarray
    actions: np.ndarray | None
    done: int = 0
    residual: float = math.inf
    slices: int = 0
    change: float = 0.0

    @property
    def limit(self) -> float:
        """The largest input."""
        return float(self.task.robot.input_limits[0])

    @property
    def counts(self) -> list[int]:
        """How many places each axis has."""
        return [axis.count for axis in self.axes]

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        recipe = self.recipe
        if isinstance(recipe, Discounted) and self.done >= WAYS and self.residual <= recipe.tolerance:
            return True
        return self.done >= recipe.sweeps

    def end_sweep(self, residual: float) -> None:
        """One more is done."""
        self.done, self.residual, self.slices, self.change = self.done + 1, residual, 0, 0.0


class Caller:
    """Calls of a compiled sweep with all that it needs, each with its own room."""

    def __init__(self, work: Work):
        mode, recipe = work.task.mode, work.recipe
        thesis = isinstance(recipe, RandomActions)
        inputs, worths = ([0.0], [1.0]) if isinstance(recipe, RandomActions) else _inputs(recipe, work.limit)
        aim, values = work.task.aim(costs=thesis)
        self.block = Block(mode, aim, "euler" if thesis else "leapfrog", stops=work.task.stops)
        self.sweep, self._entry = W.sweeper("random_actions" if thesis else "reach")
        whole, real = grid_numbers(work.axes)
        self.whole = np.zeros(W.WHOLE, dtype=np.int64)
        self.whole[: len(whole)] = whole
        self.whole[[W.STEPS, W.INPUTS, W.SIDES]] = recipe.steps, len(inputs), recipe.sides
        self.whole[W.SEED] = recipe.seed if isinstance(recipe, RandomActions) else 0
        self.real = np.zeros(W.FIRST_INPUT + 2 * len(inputs), dtype=np.float32)
        self.real[: len(real)] = real
        self.real[W.LENGTH], self.real[W.LIMIT] = recipe.step / recipe.steps, work.limit
        self.real[W.DISCOUNT] = 1 / recipe.patience if isinstance(recipe, Discounted) else recipe.effort
        self.real[W.LEFT] = 1 - recipe.reversal if isinstance(recipe, Discounted) else 1
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


class Kept:
    """Keeps a table in the making in a file: when it is asked to, and from time to time."""

    def __init__(self, save: Callable[[], object]):
        self._save, self._last, self._took = save, time.monotonic(), 0.0

    def save(self) -> None:
        """Now."""
        begin = time.monotonic()
        self._save()
        self._last = time.monotonic()
        self._took = self._last - begin

    def from_time_to_time(self) -> None:
        """If it is long since the last one: writing takes a small share of the time."""
        if time.monotonic() - self._last > max(OFTEN, SHARE * self._took):
            try:
                self.save()
            except SaltusError as error:  # no reason to lose what is being made
                warnings.warn(f"not kept: {error}", stacklevel=2)
                self._last = time.monotonic()


@dataclass(frozen=True)
class Watch:
    """Who is told of sweeps, who stops them, and what keeps them."""

    progress: Callable[[Sweep], None] | None
    stopped: Callable[[], bool]
    kept: Kept | None

    def tell(self, sweep: Sweep, k: int) -> None:
        """After a slice."""
        if self.progress is not None and k % EVERY == EVERY - 1:
            self.progress(sweep)
        if self.stopped():
            raise KeyboardInterrupt

    def keep(self) -> None:
        """Where what there is can be gone on with."""
        if self.kept is not None:
            self.kept.from_time_to_time()


def _inputs(recipe: Discounted, limit: float) -> tuple[list[float], list[float]]:
    """Inputs that are tried, and what is left of a value after each."""
    worths = [math.exp(-recipe.effort * recipe.step * share * share) for share in recipe.inputs]
    return [share * limit for share in recipe.inputs], worths


def reach_sweeps(work: Work, call: Caller, threads: int, watch: Watch) -> None:
    """Sweeps of `Discounted`: slice after slice, each shared by all threads; it can be stopped after any slice."""
    recipe, counts = work.recipe, work.counts
    assert isinstance(recipe, Discounted)
    values = work.values.reshape(recipe.sides, *counts)
    with ThreadPoolExecutor(threads) as pool:
        while not work.over:
            # both axes in turn, up and then down
            axis, down = work.done % 2, work.done % 4 >= 2
            across, slices = counts[1 - axis], counts[axis]
            out = np.empty((recipe.sides, across, *counts[2:]), dtype=np.float32)
            parts = np.linspace(0, across, threads + 1).astype(int).tolist()
            for k in range(work.slices, slices):
                number = slices - 1 - k if down else k
                jobs = [
                    pool.submit(call, values, out, out, axis=axis, slice=number, first=first, last=last)
                    for first, last in itertools.pairwise(parts)
                ]
                work.change = max(work.change, *(job.result() for job in jobs))
                values[(slice(None),) * (1 + axis) + (number,)] = out
                work.slices = k + 1
                watch.tell(Sweep(work.done, recipe.sweeps, work.slices / slices, work.change), k)
                watch.keep()
            work.end_sweep(work.change)


def random_sweeps(work: Work, call: Caller, threads: int, watch: Watch) -> None:
    """Sweeps of `RandomActions`: all slices at once, since all states see those of the last sweep.

    A sweep that was stopped is begun anew, and comes to the same: inputs that were found then are found no worse. How
    many were new then is remembered.
    """
    recipe, counts = work.recipe, work.counts
    new = np.empty_like(work.values)
    actions, states = work.actions, math.prod(counts)
    assert actions is not None
    with ThreadPoolExecutor(threads) as pool:
        while not work.over:
            jobs = [
                pool.submit(call, work.values, new, actions, slice=k, first=0, last=counts[1], sweep=work.done)
                for k in range(counts[0])
            ]
            told = 0
            try:
                for k, job in enumerate(jobs):
                    work.change += job.result()
                    told = k + 1
                    watch.tell(Sweep(work.done, recipe.sweeps, told / counts[0], work.change / states), k)
            except KeyboardInterrupt:
                work.change += sum(job.result() for job in jobs[told:] if not job.cancel())
                raise
            work.values, new = new, work.values
            work.end_sweep(work.change / states)
            watch.keep()
