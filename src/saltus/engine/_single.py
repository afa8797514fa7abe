"""Lanes in single precision: a block of copies of a mode of two coordinates, moved on until each has reached a goal.

A block is rows of `BLOCK` numbers: both coordinates, both rates, the input, when the goal was reached (negative while
it was not), what that was worth, what the first state costs, the last accelerations, and the largest value of what is
watched. Loops over a row become vector instructions.
"""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from saltus._native import FLOATS, always_inline, compile_entry, compiled, ctypes_entry, whole_above, whole_below
from saltus.engine._emit import straight_line
from saltus.engine._reduced import Reduced
from saltus.errors import InputError

BLOCK = 64
Q0, Q1, V0, V1, U, HIT, WORTH, COST, A0, A1, PEAK, ROWS = range(12)

MOVE = types.int32(FLOATS, FLOATS, types.float32, types.int64)
"""move(W, p, h, steps) -> 0: a block of lanes moved on by steps of h seconds, each until it has reached the goal."""


@intrinsic
def call_move(typingctx, address, W, p, h, steps):  # type: ignore[no-untyped-def]
    """Move a block of lanes on, by address."""
    signature = types.int32(types.int64, *MOVE.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        floats = ir.FloatType().as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [floats, floats, ir.FloatType(), ir.IntType(64)])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), rest)

    return signature, codegen


# Steps: half a step of the coordinates on either side of one of the rates, or first the rates and then the coordinates
# ("semi-implicit Euler"), as [yang2016, 6.2] has it.
METHODS = ("leapfrog", "euler")

single = np.float32

_NUMBER = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)")


@compiled
def sincos_single(x):
    """Sine and cosine by polynomials on an eighth of a turn: off by 2e-7 at most up to some thousand turns."""
    always_inline()
    shift = single(12582912.0)  # leaves no room for a fraction
    k = x * single(0.63661977) + shift - shift
    # a quarter of a turn in three parts, of which the first two have so few digits that multiples of them are exact
    y = ((x - k * single(1.5703125)) - k * single(4.837512969970703e-4)) - k * single(7.549789954891882e-8)
    z = y * y
    # least squares at Chebyshev's points, all below one unit in the last place
    sine = y + y * z * (single(-1.6666654611e-1) + z * (single(8.3321608736e-3) + z * single(-1.9515295891e-4)))
    cosine = (
        single(1.0)
        - single(0.5) * z
        + z * z * (single(4.166664568e-2) + z * (single(-1.388731625e-3) + z * single(2.443315712e-5)))
    )
    quadrant = np.int32(k)
    odd = (quadrant & 1) != 0
    s = cosine if odd else sine
    c = sine if odd else cosine
    s = -s if (quadrant & 2) != 0 else s
    c = -c if ((quadrant + 1) & 2) != 0 else c
    return s, c


@dataclass(frozen=True)
class Aim:
    """What lanes are moved towards.

    Parameters
    ----------
    goal
        Not positive where it is reached: an expression in the symbols of a `Reduced`, or a function of both
        coordinates and both rates that numba can compile.
    worth
        Of reaching it there: likewise.
    cost
        Of the state in which a lane begins: likewise, or None.
    watched
        Whose largest value on the way is kept, an expression, or None.
    symbols
        Further parameters of these expressions; their values come after the mode's own.
    """

    goal: Any
    worth: Any
    cost: Any = None
    watched: Any = None
    symbols: Any = field(default_factory=lambda: ca.SX.zeros(0))


class Block:
    """The compiled motion of a block of lanes of one mode towards one aim."""

    def __init__(self, mode: Reduced, aim: Aim, method: str, *, stops: bool = True):
        source, scope = _source(mode, aim, method, stops=stops)
        exec(compile(source, f"<lanes of {mode.system.name}>", "exec"), scope)
        self._entry = compile_entry(scope["move"], MOVE, f"{mode.system.name}-single")
        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int64]
        self.move = ctypes_entry(self._entry, ctypes.c_int32, kinds)

    @property
    def place(self) -> int:
        """The address of its machine code."""
        return self._entry.place


def _source(mode: Reduced, aim: Aim, method: str, *, stops: bool) -> tuple[str, dict[str, Any]]:
    """Python source of ``move``, and what it names."""
    if mode.u.numel() != 1:
        raise InputError(f"{mode.system.name}: lanes of two coordinates have one input, not {mode.u.numel()}")
    scope: dict[str, Any] = {
        "__name__": __name__, "math": math, "sincos": sincos_single, "single": single, "whole_below": whole_below,
        "whole_above": whole_above,
    }  # fmt: skip
    outputs = [mode.acceleration]
    ends = mode.stops if stops else ()
    for which, lower, upper in ends:
        outputs += [lower, upper, mode.stopped(which)]
    if aim.watched is not None:
        outputs.append(ca.SX(aim.watched))
    if not callable(aim.goal):
        outputs.append(ca.SX(aim.goal))
    lines, results = _lines(mode, aim, ca.vertcat(*outputs))
    goal = results[-1]
    if callable(aim.goal):
        goal = "goal(q0, q1, v0, v1)"
        scope["goal"] = compiled(aim.goal)
    body = _step(lines, results, [which for which, *_ in ends], goal, method)
    if aim.watched is not None:
        watched = results[2 + 4 * len(ends)]
        body += [f"peak = {_at(PEAK)}", f"{_at(PEAK)} = peak if stay else max(peak, {watched})"]
    begins: list[str] = []
    if aim.cost is not None:
        begins = _only(mode, aim, aim.cost, "cost", COST, scope)
    worth = _only(mode, aim, aim.worth, "worth", WORTH, scope)
    read = sorted({int(k) for line in (*body, *worth, *begins) for k in re.findall(r"\bp(\d+)\b", line)})
    source = [
        "def move(W, p, h, steps):",
        *(f"    p{k} = p[{k}]" for k in read),
        "    half = single(0.5) * h",
        "    zero = single(0.0)",
        *([f"    for l in range({BLOCK}):"] if begins else []),
        *(f"        {line}" for line in begins),
        "    for step in range(steps):",
        f"        now = (single(step) + single({0.5 if method == 'leapfrog' else 0.0})) * h",
        f"        for l in range({BLOCK}):",
        *(f"            {line}" for line in body),
        f"    for l in range({BLOCK}):",
        f"        if {_at(HIT)} >= zero:",
        *(f"            {line}" for line in worth),
        "    return 0",
    ]
    return "\n".join(source) + "\n", scope


def _only(mode: Reduced, aim: Aim, what: Any, name: str, row: int, scope: dict[str, Any]) -> list[str]:
    """Lines that put one number of a lane's state into a row: an expression, or a function by a name."""
    if callable(what):
        scope[name] = compiled(what)
        return [*_load(), f"{_at(row)} = {name}(q0, q1, v0, v1)"]
    lines, (result,) = _lines(mode, aim, ca.SX(what))
    return [*_load(), *lines, f"{_at(row)} = {result}"]


def _at(row: int) -> str:
    return f"W[{row * BLOCK} + l]"


def _load() -> list[str]:
    return [f"{name} = {_at(row)}" for name, row in (("q0", Q0), ("q1", Q1), ("v0", V0), ("v1", V1), ("u0", U))]


def _lines(mode: Reduced, aim: Aim, output: Any) -> tuple[list[str], list[str]]:
    """Straight-line code in single precision."""
    letters, p = "qvup", ca.vertcat(mode.p, aim.symbols)
    lines, names = straight_line((mode.q, mode.v, mode.u, p), output, lambda a, k: f"{letters[a]}{k}")
    return [_NUMBER.sub(r"single(\1)", line) for line in lines], names


def _step(lines: list[str], results: list[str], ends: list[int], goal: str, method: str) -> list[str]:
    """One step of one lane."""
    leap = method == "leapfrog"
    body = [*_load(), f"hit = {_at(HIT)}", "b0, b1, c0, c1 = q0, q1, v0, v1"]
    if leap:
        # coordinates and rates in the middle of the step, where the flow is evaluated
        body += [f"a0, a1 = {_at(A0)}, {_at(A1)}", "q0 = q0 + half * v0", "q1 = q1 + half * v1"]
        body += ["v0 = v0 + half * a0", "v1 = v1 + half * a1"]
    body += lines
    body += [
        f"there = ({goal} <= zero) & (hit < zero)",
        "stay = hit >= zero",
        f"x0 = c0 + h * {results[0]}",
        f"x1 = c1 + h * {results[1]}",
    ]
    length = "half" if leap else "h"
    body += [f"y0 = q0 + {length} * x0", f"y1 = q1 + {length} * x1"]
    for k, which in enumerate(ends):
        lower, upper, *added = results[2 + 4 * k : 6 + 4 * k]
        y, x = f"y{which}", f"x{which}"
        body += [
            f"over = (({y} > {upper}) & ({x} > zero)) | (({y} < {lower}) & ({x} < zero))",
            f"lost = {x} if over else zero",
            f"x0 = x0 + lost * {added[0]}",
            f"x1 = x1 + lost * {added[1]}",
            f"{y} = min(max({y}, {lower}), {upper})",
        ]
    for new, middle, old, row in (
        ("y0", "q0", "b0", Q0), ("y1", "q1", "b1", Q1), ("x0", "v0", "c0", V0), ("x1", "v1", "c1", V1)
    ):  # fmt: skip
        body += [f"{new} = {middle} if there else {new}", f"{_at(row)} = {old} if stay else {new}"]
    if leap:
        body += [f"{_at(A0)} = {results[0]}", f"{_at(A1)} = {results[1]}"]
    return [*body, f"{_at(HIT)} = now if there else hit"]
