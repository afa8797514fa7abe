"""A CasADi expression graph, written out as straight-line Python that numba compiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca

from saltus._native import always_inline, compiled, where, whole_above, whole_below
from saltus._sincos import sincos
from saltus.errors import CompileError

_BINARY = {
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0} * {1}",
    ca.OP_DIV: "{0} / {1}",
    ca.OP_POW: "math.pow({0}, {1})",
    ca.OP_CONSTPOW: "math.pow({0}, {1})",
    ca.OP_FMIN: "min({0}, {1})",
    ca.OP_FMAX: "max({0}, {1})",
    ca.OP_ATAN2: "math.atan2({0}, {1})",
    ca.OP_LT: "(1.0 if {0} < {1} else 0.0)",
    ca.OP_LE: "(1.0 if {0} <= {1} else 0.0)",
    ca.OP_EQ: "(1.0 if {0} == {1} else 0.0)",
    ca.OP_NE: "(1.0 if {0} != {1} else 0.0)",
    ca.OP_AND: "(1.0 if {0} != 0.0 and {1} != 0.0 else 0.0)",
    ca.OP_OR: "(1.0 if {0} != 0.0 or {1} != 0.0 else 0.0)",
    ca.OP_IF_ELSE_ZERO: "({1} if {0} != 0.0 else 0.0)",
    ca.OP_HYPOT: "math.hypot({0}, {1})",
    ca.OP_COPYSIGN: "math.copysign({0}, {1})",
}

_UNARY = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "{0} + {0}",
    ca.OP_INV: "1.0 / {0}",
    ca.OP_SQRT: "math.sqrt({0})",
    ca.OP_EXP: "math.exp({0})",
    ca.OP_LOG: "math.log({0})",
    ca.OP_TAN: "math.tan({0})",
    ca.OP_ASIN: "math.asin({0})",
    ca.OP_ACOS: "math.acos({0})",
    ca.OP_ATAN: "math.atan({0})",
    ca.OP_SINH: "math.sinh({0})",
    ca.OP_COSH: "math.cosh({0})",
    ca.OP_TANH: "math.tanh({0})",
    ca.OP_ASINH: "math.asinh({0})",
    ca.OP_ACOSH: "math.acosh({0})",
    ca.OP_ATANH: "math.atanh({0})",
    ca.OP_LOG1P: "math.log1p({0})",
    ca.OP_EXPM1: "math.expm1({0})",
    ca.OP_ERF: "math.erf({0})",
    ca.OP_FABS: "abs({0})",
    ca.OP_FLOOR: "whole_below({0})",
    ca.OP_CEIL: "whole_above({0})",
    ca.OP_SIGN: "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0))",
    ca.OP_NOT: "(1.0 if {0} == 0.0 else 0.0)",
}

# Whole powers that are written out.
_POWERS = {"3.0": "{0} * {0} * {0}", "4.0": "({0} * {0}) * ({0} * {0})"}


@compiled
def _least(a, b):  # type: ignore[no-untyped-def]
    always_inline()
    return min(a, b)


@compiled
def _greatest(a, b):  # type: ignore[no-untyped-def]
    always_inline()
    return max(a, b)


# What emitted code calls; numba's own min and max take any number of arguments, and are called in another way.
SCOPE: dict[str, Any] = {
    "math": math, "sincos": sincos, "where": where, "min": _least, "max": _greatest, "whole_below": whole_below,
    "whole_above": whole_above,
}  # fmt: skip

# The same without branches: a kernel of many choices, such as the nearest of many bars, then compiles in a fraction of
# the time. Code for several lanes has its own way with branches.
_UNBRANCHED = {
    ca.OP_LT: "({0} < {1}) * 1.0",
    ca.OP_LE: "({0} <= {1}) * 1.0",
    ca.OP_EQ: "({0} == {1}) * 1.0",
    ca.OP_NE: "({0} != {1}) * 1.0",
    ca.OP_NOT: "({0} == 0.0) * 1.0",
    ca.OP_IF_ELSE_ZERO: "where({0}, {1})",
}

_COMMUTE = {ca.OP_ADD, ca.OP_MUL, ca.OP_FMIN, ca.OP_FMAX}


class _Tape:
    """Value numbering over a tape: equal expressions get one name, unused ones none."""

    def __init__(self, *, branches: bool = True) -> None:
        self.words = {**_BINARY, **_UNARY, **({} if branches else _UNBRANCHED)}
        self.text: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.known: dict[tuple[Any, ...], int] = {}
        self.before: dict[int, str] = {}

    def add(self, key: tuple[Any, ...], text: str, operands: tuple[int, ...] = ()) -> int:
        if key in self.known:
            return self.known[key]
        self.known[key] = len(self.text)
        self.text.append(text)
        self.operands.append(operands)
        return len(self.text) - 1

    def apply(self, op: int, operands: tuple[int, ...]) -> int:
        key_operands = tuple(sorted(operands)) if op in _COMMUTE else operands
        if op == ca.OP_ASSIGN:
            return operands[0]
        if op in (ca.OP_SIN, ca.OP_COS):
            pair = self.add(("sincos", operands[0]), f"sincos(a{operands[0]})", operands)
            half = 0 if op == ca.OP_SIN else 1
            return self.add((op, operands[0]), f"a{pair}[{half}]", (pair,))
        names = [f"a{k}" for k in operands]
        if op in (ca.OP_POW, ca.OP_CONSTPOW) and self.text[operands[1]] in _POWERS:
            text = _POWERS[self.text[operands[1]]].format(names[0])
            return self.add((op, *operands), text, operands[:1])
        if op in self.words:
            return self.add((op, *key_operands), self.words[op].format(*names), operands)
        raise CompileError(f"an expression uses operation {op} of CasADi, which saltus cannot compile")

    def divide_once(self, alive: list[bool]) -> None:
        """Several divisions by one number become one division and products."""
        by: dict[int, list[int]] = {}
        for (op, *operands), k in self.known.items():
            if op == ca.OP_DIV and alive[k]:
                by.setdefault(operands[1], []).append(k)
        for divisor, quotients in by.items():
            if len(quotients) > 1:
                first = min(quotients)
                for k in quotients:
                    above = self.operands[k][0]
                    self.text[k] = f"a{above} * i{divisor}"
                self.before[first] = f"i{divisor} = 1.0 / a{divisor}"

    def live(self, roots: list[int]) -> list[bool]:
        alive = [False] * len(self.text)
        stack = list(roots)
        while stack:
            k = stack.pop()
            if not alive[k]:
                alive[k] = True
                stack.extend(self.operands[k])
        return alive


def straight_line(
    inputs: tuple[Any, ...], output: Any, read: Callable[[int, int], str], *, branches: bool = True
) -> tuple[list[str], list[str]]:
    """Lines that compute a dense vector, and the names of its elements.

    Parameters
    ----------
    read
        How an element of an input is read: text from the number of the input and of the element.
    branches
        Whether choices are branches; else `where` must be in scope.
    """
    function = ca.Function("straight_line", list(inputs), [ca.densify(output)])
    tape = _Tape(branches=branches)
    where: dict[int, int] = {}
    results: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        source, target = function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CONST:
            value = function.instruction_constant(k)
            where[target[0]] = tape.add(("const", repr(value)), _literal(value))
        elif op == ca.OP_INPUT:
            where[target[0]] = tape.add(("input", *source), read(*source))
        elif op == ca.OP_OUTPUT:
            results[target[1]] = where[source[0]]
        else:
            where[target[0]] = tape.apply(op, tuple(where[s] for s in source))
    alive = tape.live(list(results.values()))
    tape.divide_once(alive)
    lines = []
    for k, text in enumerate(tape.text):
        if alive[k]:
            lines += [line for line in (tape.before.get(k), f"a{k} = {text}") if line]
    return lines, [f"a{results[k]}" for k in range(output.numel())]


def emit(name: str, inputs: tuple[Any, Any, Any, Any], output: Any, pivots: Any = None) -> str:
    """Python source of ``name(t, x, u, p, out)``, which writes a dense output vector; `SCOPE` is what it needs.

    It returns 1 where one of ``pivots`` is not positive (the outputs are then worthless), else 0.
    """
    pivots = ca.SX.zeros(0) if pivots is None else pivots

    def read(argument: int, element: int) -> str:
        return "t" if argument == 0 else f"{'txup'[argument]}[{element}]"

    body, results = straight_line(inputs, ca.vertcat(ca.densify(ca.vec(output)), pivots), read, branches=False)
    n_out = output.numel()
    checks = [f"{result} > 0.0" for result in results[n_out:]]
    if checks:
        body += [f"if not ({' and '.join(checks)}):", "    return 1"]
    body += [f"out[{k}] = {result}" for k, result in enumerate(results[:n_out])]
    lines = [f"def {name}(t, x, u, p, out):", *(f"    {line}" for line in (*body, "return 0"))]
    return "\n".join(lines) + "\n"


def _literal(value: float) -> str:
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(float(value))
