"""Fixed steps of one mode for many lanes at once: check everything, run the lanes in threads, hand back the states."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._native import pointer_to
from saltus.engine._lanes import BLOCK, block_rows, roller, stage_address
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem, find_statuses

# Steps times lanes that one call makes: some hundredths of a second, so that Ctrl-C is heard.
_BUDGET = 1_000_000


@equal_by_content
@dataclass(frozen=True)
class Rollout:
    """What became of many lanes.

    ``states`` are the last ones, a row for each lane; ``finite`` says which lanes consist of finite
    numbers, and the others are worthless. ``history`` has a table like ``states`` for each time in
    ``t``; where nothing was kept it is None, and ``t`` is the end alone.
    """

    states: np.ndarray
    finite: np.ndarray
    t: np.ndarray
    history: np.ndarray | None
    mode: str


def rollout(
    system: HybridSystem,
    states: np.ndarray,
    *,
    step: float,
    steps: int,
    inputs: Any = None,
    parameters: Mapping[str, Any] | None = None,
    mode: Any = None,
    every: int = 0,
    threads: int | None = None,
) -> Rollout:
    """Integrate many lanes of one mode by fixed steps of the classical method of order four; no event is watched.

    Nothing ends the mode: a foot may sink into the ground, a contact may pull. Closed contacts hold in
    acceleration only, so the start should lie on them and at rest relative to them. Inputs are refused
    beyond their limits, not clipped. The bits of a lane depend neither on the other lanes nor on the
    number of threads. A lane becomes NaN where its mass matrix is singular, its closed rows are not
    independent, or an angle leaves 1e6 rad.

    Parameters
    ----------
    states
        Start of each lane, (lanes, states) in the order of ``system.state_names``.
    step, steps
        Length of a step, s, and their number.
    inputs
        None for zero, or held over each step: (inputs), (lanes, inputs), (steps, inputs) or (steps, lanes,
        inputs); where there are as many steps as lanes, (1, lanes, inputs) or (steps, 1, inputs).
    parameters
        Values that replace the system's own: a number for all lanes or one for each.
    mode
        Statuses by unit, the name of a mode, or status numbers; None where no unit exerts a force.
    every
        Keep every so many steps, the start among them; 0 keeps the last states only.
    threads
        How many to use; as many as there are processors if not given.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"rollout needs a robot, such as saltus.robots.double_pendulum(), got {system!r}")
    if not isinstance(step, Real) or not 0 < step < math.inf:
        raise InputError(f"step must be a positive, finite number, got {step!r}")
    steps = _whole("steps", steps, 1)
    every = _whole("every", every, 0)
    threads = os.cpu_count() or 1 if threads is None else _whole("threads", threads, 1)
    X = _states(system, states)
    lanes, nx = X.shape
    statuses = find_statuses(system, mode)
    P, own = _parameters(system, parameters, lanes)
    U = _inputs(system, inputs, steps, lanes, P)
    nu = U.shape[2]
    kept = np.empty((steps // every + 1 if every else 0, lanes, nx))
    kept[:1] = X
    step_stride = U.shape[1] * nu if U.shape[0] > 1 else 0
    lane_stride = nu if U.shape[1] > 1 else 0
    # so few lanes a call that all threads have some and none runs for long
    most = min(_BUDGET // steps, -(-lanes // threads))
    chunk = max(1, -(-most // BLOCK)) * BLOCK
    address, (roll, _) = stage_address(system, statuses, lane_parameters=own), roller()
    sizes = [nx, nu, P.shape[1] if own else 0, lanes]
    rows = block_rows(*sizes[:3])

    def run(first: int) -> None:
        last = min(first + chunk, lanes)
        numbers = np.array([*sizes, first, last, steps, every, step_stride, lane_stride], dtype=np.int64)
        block = _aligned(rows * BLOCK)
        roll(address, pointer_to(numbers), float(step), *map(pointer_to, (X, P, U, kept, block)))

    _in_threads(run, range(0, lanes, chunk), threads)
    times = step * (every * np.arange(len(kept)) if every else np.array([steps]))
    finite = np.isfinite(X).all(axis=1)
    return Rollout(X, finite, times, kept if every else None, system.mode_name(statuses))


def _in_threads(run: Any, firsts: range, threads: int) -> None:
    if threads == 1 or len(firsts) == 1:
        for first in firsts:
            run(first)
        return
    pool = ThreadPoolExecutor(min(threads, len(firsts)))
    try:
        for _ in pool.map(run, firsts):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def _aligned(count: int) -> np.ndarray:
    """Room for numbers that begins with a cache line, which vector loads would else cross."""
    room = np.zeros(count + 8)
    skip = -pointer_to(room) % 64 // 8
    return room[skip : skip + count]


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def _numbers(what: str, values: Any) -> np.ndarray:
    """Finite numbers, without gaps between them."""
    try:
        array = np.asarray(values, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be numbers, got {values!r}") from None
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = tuple(int(k) for k in wrong[0])
        raise InputError(f"{what} must be finite, got {array[place]} at {list(place)}")
    return array


def _states(system: HybridSystem, states: Any) -> np.ndarray:
    X = _numbers(f"states of {system.name}", states)
    names = system.state_names
    if X.ndim != 2 or X.shape[1] != len(names) or not len(X):
        raise InputError(
            f"states of {system.name} must have a row for each lane and {len(names)} columns "
            f"({', '.join(names)}), got an array of shape {X.shape}"
        )
    return X.copy()


def _parameters(system: HybridSystem, given: Any, lanes: int) -> tuple[np.ndarray, bool]:
    """Values of all parameters, in one row, or in a row for each lane where some are given so; and which it is."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise InputError(f"parameters are given by name, got {given!r}")
    declared = system.mechanism.parameters
    arrays = {}
    for name, values in given.items():
        if name not in declared:
            raise unknown_name("parameter", name, declared, system.name)
        arrays[name] = array = _numbers(f"parameter {name!r}", values)
        if array.shape not in ((), (lanes,)):
            raise InputError(f"parameter {name!r} must be a number or one for each of {lanes} lanes, got {array.shape}")
        for value in (array.min(), array.max()):
            declared[name].check(value)
    own = any(array.ndim for array in arrays.values())
    P = np.tile(system.parameter_values, (lanes if own else 1, 1))
    for k, name in enumerate(declared):
        if name in arrays:
            P[:, k] = arrays[name]
    # masses and inertias that no body has: the system made of the first such lane says what is wrong
    masses, inertias, _, _ = (np.array(group, dtype=float) for group in system._constants(P.T))
    for lane in np.flatnonzero(~(np.isfinite(masses + inertias) & (masses >= 0) & (inertias >= 0)).all(axis=0))[:1]:
        system.with_parameters(**dict(zip(declared, P[lane], strict=True)))
    return P, own


def _inputs(system: HybridSystem, given: Any, steps: int, lanes: int, P: np.ndarray) -> np.ndarray:
    """Inputs with axes for steps, lanes and actuators; the first two may have length one."""
    names = list(system.mechanism.actuators)
    nu = len(names)
    U = np.zeros(nu) if given is None else _numbers(f"inputs of {system.name}", given)
    if U.ndim == 0 and nu == 1:
        U = U.reshape(1)
    shape = U.shape
    if shape[-1:] == (nu,) and U.ndim == 2:
        if steps == lanes == shape[0]:
            raise InputError(
                f"inputs of shape {shape} with {steps} steps and lanes could be either: give "
                f"{(1, lanes, nu)} or {(steps, 1, nu)}"
            )
        U = U[None] if shape[0] == lanes else U[:, None]
    if U.ndim == 1:
        U = U[None, None]
    if U.ndim != 3 or U.shape[0] not in (1, steps) or U.shape[1] not in (1, lanes) or U.shape[2] != nu:
        allowed = f"({nu}), ({lanes}, {nu}), ({steps}, {nu}) or ({steps}, {lanes}, {nu})"
        raise InputError(f"inputs of {system.name} ({', '.join(names)}) must have shape {allowed}, got {shape}")
    limits = np.array(system._constants(P.T)[3], dtype=float).reshape(nu, len(P)).T
    wrong = np.argwhere(np.abs(U) > limits)
    if len(wrong):
        k, lane, which = wrong[0]
        limit, value = limits[min(lane, len(limits) - 1), which], U[k, min(lane, U.shape[1] - 1), which]
        raise InputError(f"input {names[which]} of {system.name} must lie within {limit:g}, got {value:g}")
    return U
