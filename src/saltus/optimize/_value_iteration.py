"""Dynamic programming for modes of two degrees of freedom: tables by one of two recipes, also in several goes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from saltus._checkpoint import Checkpoint
from saltus.control._grid import Axis
from saltus.control._hands import one_motor
from saltus.control._reach import Reach
from saltus.control._table import Table, refuse_other
from saltus.engine._reduced import Reduced
from saltus.engine._single import Aim
from saltus.errors import InputError
from saltus.optimize import _sweeps as W
from saltus.optimize._memory import check_memory
from saltus.optimize._recipes import Discounted, RandomActions, Sweep
from saltus.optimize._stoppable import stoppable
from saltus.optimize._sweeping import Caller, Watch, Work, random_sweeps, reach_sweeps

Progress = Callable[[Sweep], None]


def train_table(
    task: Reach,
    recipe: Discounted | RandomActions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Table:
    """Make a table by dynamic programming; Ctrl-C leaves what there is in the checkpoint, to be gone on with.

    Parameters
    ----------
    recipe
        `Discounted` or `RandomActions`; the first if None.
    threads
        How many; one for each core if None. The table does not depend on it.
    progress
        Called with a `Sweep` some times in each, from a thread of its own.
    checkpoint
        A file, .npz, for the table when it is interrupted; also written every 10 s, in case it is killed, or less
        often where that would take more than 5 % of the time.
    resume
        Go on from the checkpoint, or from a whole table; what comes out is what would have without a break.
    """
    recipe = Discounted() if recipe is None else recipe
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise InputError(f"threads must be a positive whole number, got {threads!r}")
    if resume and checkpoint is None:
        raise InputError("train_table: to go on, say from which checkpoint")
    if checkpoint is not None and Path(checkpoint).suffix != ".npz":
        raise InputError(f"train_table: a checkpoint is a file that ends with .npz, got {checkpoint}")
    work = check_training(task, recipe, checkpoint if resume else None)
    if work.over:
        return _table(work)
    call = Caller(work)
    count = threads or os.cpu_count() or 1
    stored = None if checkpoint is None else Checkpoint(lambda: _table(work).save(checkpoint))
    sweeps = reach_sweeps if isinstance(recipe, Discounted) else random_sweeps
    try:
        stoppable(lambda stopped: sweeps(work, call, count, Watch(progress, stopped, stored)))
    except KeyboardInterrupt:
        if stored is not None:
            stoppable(lambda _: stored.save())
        raise
    _check_values(work)
    return _table(work)


def _check_values(work: Work) -> None:
    """Refuse what came of a worth or a cost that is none."""
    if not np.isfinite(work.values).all():
        raise InputError("reach: the goal, its worth or the cost of a state is not a number somewhere on the grid")
    least, most = float(work.values.min()), float(work.values.max())
    if work.actions is None and not -1e-3 <= least <= most <= 1 + 1e-3:
        raise InputError(
            f"reach: what the goal is worth is from 0 to 1, and values of {least:.4g} to {most:.4g} came of it"
        )


def check_training(task: Reach, recipe: Discounted | RandomActions, begun: str | Path | None = None) -> Work:
    """Refuse what cannot be trained, or gone on with; else an empty table, or the one that was begun."""
    if not isinstance(task, Reach) or not isinstance(recipe, (Discounted, RandomActions)):
        raise InputError(
            f"tables are trained by a Reach and a Discounted or RandomActions, got {task!r} and {recipe!r}"
        )
    task.mode  # noqa: B018 - refuses robots with other than two degrees of freedom
    _check_limit(task)
    axes = task.axes()
    check_memory(axes, recipe)
    task.check()
    return _begun(task, recipe, axes, begun)


def _check_limit(task: Reach) -> None:
    name = one_motor(task.robot, "reach")
    limit = float(task.robot.input_limits[0])
    if not 0 < limit < math.inf:
        raise InputError(
            f"reach: the limit of {task.robot.name}'s motor ({name}) must be positive and finite, it is {limit:g}; "
            "there are no inputs to choose from"
        )


def _table(work: Work) -> Table:
    """What there is so far."""
    task, recipe = work.task, work.recipe
    return Table(
        axes=work.axes, values=work.values, actions=work.actions, robot=task.robot.name, holds=task.holds,
        parameters=_used(task), goal=task.place,
        recipe=_settings(task, recipe),
        sweeps=work.done, residual=work.residual, begun=(work.slices, work.change),
        ahead=work.ahead[: work.slices] if work.ahead is not None and work.slices else None, told=task.told, task=task,
    )  # fmt: skip


def _settings(task: Reach, recipe: Discounted | RandomActions) -> dict[str, Any]:
    return {"name": recipe.name, **asdict(recipe), "stops": task.stops, "soft": task.soft}


def _used(task: Reach) -> dict[str, float]:
    """Values of all parameters that count in a mode and its aim."""
    mode: Reduced = task.mode
    aim: Aim = task.aim(costs=task.cost is not None)[0]
    told = [part for part in (aim.goal, aim.worth, aim.cost) if part is not None and not callable(part)]
    parts = [mode.acceleration, *map(ca.SX, told)]
    for _, lower, upper in mode.stops if task.stops else ():
        parts += [lower, upper]
    parts.append(ca.SX(next(iter(mode.system.mechanism.actuators.values())).limit))
    whole = ca.vertcat(*parts)
    values = mode.system.values
    return {name: value for k, (name, value) in enumerate(values.items()) if ca.depends_on(whole, mode.p[k])}


def _begun(task: Reach, recipe: Discounted | RandomActions, axes: tuple[Axis, ...], path: str | Path | None) -> Work:
    """A new table, or one that was interrupted."""
    shape = tuple(axis.count for axis in axes)
    thesis = isinstance(recipe, RandomActions)
    if path is None:
        values = np.full(
            (*shape,) if recipe.sides == 1 else (recipe.sides, *shape), W.NEVER if thesis else 0.0, dtype=np.float32
        )
        return Work(task, recipe, axes, values, np.zeros(shape, dtype=np.float32) if thesis else None)
    old = Table.load(path, task.robot)
    _refuse_other(old, task, recipe, axes, path)
    ahead = None
    if old.ahead is not None:
        ahead = np.empty_like(old.values)
        ahead[: len(old.ahead)] = old.ahead
    return Work(task, recipe, axes, old.values, old.actions, old.sweeps, old.residual, *old.begun, ahead)


def _refuse_other(
    old: Table, new: Reach, recipe: Discounted | RandomActions, axes: tuple[Axis, ...], path: str | Path
) -> None:
    """Refuse to go on with a table of other settings, and say which."""
    for name, value in _settings(new, recipe).items():
        had = old.recipe.get(name)
        if name not in ("sweeps", "tolerance") and (tuple(had) if isinstance(had, list) else had) != value:
            raise InputError(f"{path} was made with {name} = {_told(had)}, and wanted is {_told(value)}")
    refuse_other(old.told, new.told, str(path))
    if old.holds != new.holds:
        raise InputError(f"{path} is of a robot held by {old.holds}, and wanted is {new.holds}")
    if old.goal != new.place:
        raise InputError(f"{path} has the goal {_told(old.goal)}, and wanted is {_told(new.place)}")
    for one, two in zip(old.axes, axes, strict=True):
        if one != two:
            raise InputError(f"{path} has another grid: {_told(one)}, and wanted is {_told(two)}")


def _told(value: object) -> str:
    if isinstance(value, Axis):
        return f"{value.name} from {value.lower:.4g} to {value.upper:.4g} at {value.count} places"
    return str(value)
