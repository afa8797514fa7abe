"""Many runs of one mode side by side: a loop over lanes that the compiler turns into vector instructions.

A block of lanes lives in one piece of memory that fits into the nearest cache, a row of `BLOCK`
numbers for each quantity: stage, state and sum of the method (a row for each state), inputs, and
parameters where they differ between lanes. A block is always full, so every lane goes through the
same instructions, and its bits do not depend on its place or its neighbours.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any

import casadi as ca
from numba import types

from saltus._native import (
    DOUBLES,
    INTEGERS,
    STAGE_OF_LANES,
    call_stage,
    compile_entry,
    ctypes_entry,
    whole_above,
    whole_below,
)
from saltus._sincos import lane_sincos
from saltus.engine._emit import straight_line
from saltus.hybrid import HybridSystem, SymbolicMode, symbolic_mode

BLOCK = 64

# One row after the other: stage, state and sum, then inputs, then parameters.
STAGE, STATE, SUM, INPUT = range(4)


def block_rows(nx: int, nu: int, lane_parameters: int) -> int:
    """How many rows a block has."""
    return INPUT * nx + nu + lane_parameters


def stage_source(mode: SymbolicMode, *, lane_parameters: bool) -> str:
    """Python source of ``stage(t, a, b, W, p)`` for a block of lanes.

    With k the flow at the stage: sum += b k, then stage = state + a k. Parameters are read from p, or
    from the block where each lane has its own. A lane whose pivots are not positive gets NaN.
    """
    d = mode.dynamics
    nq, nx, nu = d.q.numel(), d.x.numel(), d.u.numel()
    first = {1: STAGE * nx, 2: INPUT * nx, 3: INPUT * nx + nu}

    def at(row: int) -> str:
        return f"W[l + {row * BLOCK}]"

    def read(argument: int, element: int) -> str:
        if argument == 0:
            return "t"
        if argument == 3 and not lane_parameters:
            return f"p{element}"
        return at(first[argument] + element)

    inputs = (d.t, d.x, d.u, d.p)
    rates = ca.vertcat(d.qdot, mode.acceleration)
    body, results = straight_line(inputs, ca.vertcat(ca.densify(rates), mode.pivots), read)
    # no `and`: lanes do not take branches
    checks = [f"({pivot} > 0.0)" for pivot in results[nx:]]
    if checks:
        body.append(f"good = {' & '.join(checks)}")
    for k, rate in enumerate(results[:nx]):
        body.append(f"k{k} = {rate}" if k < nq or not checks else f"k{k} = {rate} if good else math.nan")
    for k in range(nx):
        body.append(f"{at(SUM * nx + k)} = {at(SUM * nx + k)} + b * k{k}")
        body.append(f"{at(STAGE * nx + k)} = {at(STATE * nx + k)} + a * k{k}")
    # read before the loop: inside it the compiler could not know that W is not p
    common = [] if lane_parameters else [f"p{k} = p[{k}]" for k in range(d.p.numel())]
    lines = [
        "def stage(t, a, b, W, p):",
        *(f"    {line}" for line in common),
        f"    for l in range({BLOCK}):",
        *(f"        {line}" for line in body),
        "    return 0",
    ]
    return "\n".join(lines) + "\n"


def roll(stage, sizes, h, X, P, U, H, W):
    """Runge and Kutta's method of order four [hairer1993, II.1] for some lanes, block by block.

    ``X`` holds the states, a row for each lane, and is overwritten by the last ones; ``P`` the
    parameters, one row or, if their number ``own`` is not zero, a row for each lane; ``U`` the
    inputs, found by strides; ``H`` receives the states that are kept, a table for each instant.
    """
    nx, nu, own, lanes = sizes[0], sizes[1], sizes[2], sizes[3]
    first, last, steps, every = sizes[4], sizes[5], sizes[6], sizes[7]
    step_stride, lane_stride = sizes[8], sizes[9]
    inputs = INPUT * nx
    for begin in range(first, last, BLOCK):
        count = min(BLOCK, last - begin)
        # what is missing from a block is filled with copies of its last lane
        for l in range(BLOCK):
            lane = begin + min(l, count - 1)
            for i in range(nx):
                value = X[lane * nx + i]
                for copy in range(3):
                    W[(copy * nx + i) * BLOCK + l] = value
            for i in range(own):
                W[(inputs + nu + i) * BLOCK + l] = P[lane * own + i]
        for step in range(steps):
            if step == 0 or step_stride != 0:
                for l in range(BLOCK):
                    source = step * step_stride + (begin + min(l, count - 1)) * lane_stride
                    for i in range(nu):
                        W[(inputs + i) * BLOCK + l] = U[source + i]
            t = step * h
            call_stage(stage, t, 0.5 * h, h / 6.0, W, P)
            call_stage(stage, t + 0.5 * h, 0.5 * h, h / 3.0, W, P)
            call_stage(stage, t + 0.5 * h, h, h / 3.0, W, P)
            call_stage(stage, t + h, 0.0, h / 6.0, W, P)
            for k in range(nx * BLOCK):
                value = W[SUM * nx * BLOCK + k]
                W[STAGE * nx * BLOCK + k] = value
                W[STATE * nx * BLOCK + k] = value
            if every > 0 and (step + 1) % every == 0:
                table = (step + 1) // every * lanes
                for l in range(count):
                    for i in range(nx):
                        H[(table + begin + l) * nx + i] = W[i * BLOCK + l]
        for l in range(count):
            for i in range(nx):
                X[(begin + l) * nx + i] = W[i * BLOCK + l]
    return 0


@lru_cache(maxsize=1)
def roller() -> tuple[Any, Any]:
    """The compiled `roll` as a Python callable, and what must be kept for it."""
    signature = types.int32(types.int64, INTEGERS, types.float64, *[DOUBLES] * 5)
    entry = compile_entry(roll, signature, "roll")
    kinds = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 5]
    return ctypes_entry(entry, ctypes.c_int32, kinds), entry


# What emitted stages call.
SCOPE: dict[str, Any] = {
    "__name__": __name__, "math": math, "sincos": lane_sincos, "whole_below": whole_below, "whole_above": whole_above,
}  # fmt: skip


@lru_cache(maxsize=64)
def _compiled_stage(name: str, source: str) -> Any:
    scope = dict(SCOPE)
    exec(compile(source, f"<lanes of {name}>", "exec"), scope)
    return compile_entry(scope["stage"], STAGE_OF_LANES, f"{name}-lanes")


def stage_address(system: HybridSystem, statuses: tuple[int, ...], *, lane_parameters: bool) -> int:
    """Where the machine code of a mode's stage is."""
    known = system.once("stages", dict)
    key = (statuses, lane_parameters)
    if key not in known:
        source = stage_source(symbolic_mode(system, statuses), lane_parameters=lane_parameters)
        known[key] = _compiled_stage(system.name, source)
    return int(known[key].place)
