"""The work of sweeps: a table in the making, calls of compiled sweeps, and threads that share a sweep."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from saltus._checkpoint import Checkpoint
from saltus._native import pointer_to
from saltus.control._grid import Axis, grid_numbers
from saltus.control._reach import Reach
from saltus.engine._single import BLOCK, Block
from saltus.optimize import _sweeps as W
from saltus.optimize._recipes import Discounted, RandomActions, Sweep

# Sweeps go four ways, and what changes little in one may change in the next.
WAYS = 4

# Progress is told after so many slices.
EVERY = 5

# So many slices are under way for each thread: none waits for work, and all are soon done.
UNDER_WAY = 2


@dataclass
class Work:
    """A table in the making: sweeps that are done and the last one's residual; slices and change of another.

    ``ahead`` has the values of these slices where others must still see those of the sweep before.
    """

    task: Reach
    recipe: Discounted | RandomActions
    axes: tuple[Axis, ...]
    values: np.ndarray
    actions: np.ndarray | None
    done: int = 0
    residual: float = math.inf
    slices: int = 0
    change: float = 0.0
    ahead: np.ndarray | None = None

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

    def end_slice(self, under_way: deque[Future[float]]) -> None:
        """The next slice is done, and what changed in it."""
        self.change += under_way.popleft().result()
        self.slices += 1

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


@dataclass(frozen=True)
class Watch:
    """Who follows sweeps, who stops them, and the file from which they can be resumed."""

    progress: Callable[[Sweep], None] | None
    stopped: Callable[[], bool]
    checkpoint: Checkpoint | None

    def tell(self, sweep: Sweep, k: int) -> None:
        """After a slice."""
        if self.progress is not None and k % EVERY == EVERY - 1:
            self.progress(sweep)
        if self.stopped():
            raise KeyboardInterrupt

    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.checkpoint is not None and self.checkpoint.due()

    def store(self) -> None:
        """Write the checkpoint, where what there is can be resumed."""
        if self.checkpoint is not None:
            self.checkpoint.try_to_save()


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
                if watch.due():
                    watch.store()
            work.end_sweep(work.change)


def random_sweeps(work: Work, call: Caller, threads: int, watch: Watch) -> None:
    """Sweeps of `RandomActions`: many slices at once, since all states see those of the last sweep.

    Slices end in order. Where a sweep can be resumed, none is under way, and those that are done are ``ahead``.
    """
    recipe, counts = work.recipe, work.counts
    new = np.empty_like(work.values) if work.ahead is None else work.ahead
    work.ahead = new
    actions, states = work.actions, math.prod(counts)
    assert actions is not None
    with ThreadPoolExecutor(threads) as pool:

        def begun(k: int) -> Future[float]:
            return pool.submit(call, work.values, new, actions, slice=k, first=0, last=counts[1], sweep=work.done)

        while not work.over:
            rest, under_way = iter(range(work.slices, counts[0])), deque[Future[float]]()
            try:
                while True:
                    under_way += map(begun, itertools.islice(rest, UNDER_WAY * threads - len(under_way)))
                    if not under_way:
                        break
                    work.end_slice(under_way)
                    share, change = work.slices / counts[0], work.change / states
                    watch.tell(Sweep(work.done, recipe.sweeps, share, change), work.slices - 1)
                    if watch.due():
                        while under_way:
                            work.end_slice(under_way)
                        watch.store()
            except KeyboardInterrupt:
                for job in reversed(under_way):
                    job.cancel()
                while under_way and not under_way[0].cancelled():
                    work.end_slice(under_way)
                raise
            work.values, work.ahead = new, work.values
            new = work.ahead
            work.end_sweep(work.change / states)
