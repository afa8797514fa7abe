"""Straight-line Python lowered to LLVM at once: numba's type inference takes most of the time of long kernels."""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from saltus._closure import own_math
from saltus._native import DOUBLES
from saltus.errors import CompileError

_ARITHMETIC = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
_CALLED = re.compile(r"([a-z][a-z0-9_.]*)\(")
_CONSTANTS = {"inf": math.inf, "nan": math.nan}
_DOUBLE, _INT64 = ir.DoubleType(), ir.IntType(64)


def straight(source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of a source as `saltus.engine._emit.emit` writes it, for `compile_entry` or `compiled`.

    Its body is one intrinsic that writes LLVM instructions. Numba sees a single call, with the same bits as result.
    """
    # the text is searched, not parsed: most kernels come from the cache, and parsing would be most of their time
    own, *names = dict.fromkeys(_CALLED.findall(source))
    functions = tuple(_value(name, scope) for name in names)

    @intrinsic
    def body(typingctx, t, x, u, p, out):  # type: ignore[no-untyped-def]
        tree = ast.parse(source).body[0]
        counts = {ast.unparse(node.func): len(node.args) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        calls = {}
        for name, function in zip(names, functions, strict=True):
            # this compiles what is called
            kind = typingctx.resolve_value_type(function)
            calls[name] = (kind, kind.get_call_type(typingctx, (types.float64,) * counts[name], {}))

        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _Lowering(context, builder, calls).function(tree, arguments)

        return types.int64(types.float64, DOUBLES, DOUBLES, DOUBLES, DOUBLES), codegen

    def kernel(t, x, u, p, out):  # type: ignore[no-untyped-def]
        return body(t, x, u, p, out)

    kernel.__name__ = kernel.__qualname__ = own
    return kernel


def _value(name: str, scope: dict[str, Any]) -> Any:
    first, *attributes = name.split(".")
    value = scope[first] if first in scope else getattr(builtins, first)
    for attribute in attributes:
        value = own_math(getattr(value, attribute))
    return value


class _Lowering:
    """The instructions of one function; every name stands for one number."""

    def __init__(self, context: Any, builder: Any, calls: dict[str, tuple[Any, Any]]):
        self.context, self.builder, self.calls = context, builder, calls
        self.known: dict[str, Any] = {}

    def function(self, tree: Any, arguments: Any) -> Any:
        """Lower a whole function: assignments, at most one check, and what is written out."""
        self.known = dict(zip((argument.arg for argument in tree.args.args), arguments, strict=True))
        failed: Any = ir.Constant(ir.IntType(1), 0)
        written = []
        for step in tree.body:
            if isinstance(step, ast.If):
                failed = self.flag(step.test)
            elif isinstance(step, ast.Assign):
                target, value = step.targets[0], self.value(step.value)
                if isinstance(target, ast.Name):
                    self.known[target.id] = value
                else:
                    written.append((target, value))
        with self.builder.if_then(self.builder.not_(failed), likely=True):
            for target, value in written:
                self.builder.store(value, self.place(target))
        return self.builder.zext(failed, _INT64)

    def place(self, node: Any) -> Any:
        """The address of an element of an array."""
        return self.builder.gep(self.known[node.value.id], [ir.Constant(_INT64, node.slice.value)])

    def value(self, node: Any) -> Any:
        """The number that an expression is; a pair for `sincos`."""
        builder = self.builder
        if isinstance(node, ast.Name):
            return self.known[node.id]
        if isinstance(node, ast.Constant):
            return ir.Constant(_DOUBLE, float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            return getattr(builder, _ARITHMETIC[type(node.op)])(self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return builder.fneg(self.value(node.operand))
        if isinstance(node, ast.Compare):
            return builder.uitofp(self.flag(node), _DOUBLE)
        if isinstance(node, ast.IfExp):
            return builder.select(self.flag(node.test), self.value(node.body), self.value(node.orelse))
        if isinstance(node, ast.Attribute):
            return ir.Constant(_DOUBLE, _CONSTANTS[node.attr])
        if isinstance(node, ast.Subscript):
            source = self.known[node.value.id]  # type: ignore[attr-defined]
            if isinstance(source.type, ir.PointerType):
                return builder.load(self.place(node))
            return builder.extract_value(source, node.slice.value)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            return self.call(ast.unparse(node.func), [self.value(argument) for argument in node.args])
        raise CompileError(f"a kernel has an expression that saltus cannot lower: {ast.unparse(node)}")

    def call(self, name: str, arguments: list[Any]) -> Any:
        kind, signature = self.calls[name]
        result = self.context.get_function(kind, signature)(self.builder, arguments)
        if isinstance(signature.return_type, types.Number):
            return self.context.cast(self.builder, result, signature.return_type, types.float64)
        return result

    def flag(self, node: Any) -> Any:
        """A condition as one bit; both sides of ``and`` and ``or`` are known, so that no branch is needed."""
        builder = self.builder
        if isinstance(node, ast.BoolOp):
            join = builder.and_ if isinstance(node.op, ast.And) else builder.or_
            flags = [self.flag(part) for part in node.values]
            whole = flags[0]
            for part in flags[1:]:
                whole = join(whole, part)
            return whole
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return builder.not_(self.flag(node.operand))
        left, right, order = self.value(node.left), self.value(node.comparators[0]), type(node.ops[0])
        if order is ast.NotEq:
            return builder.fcmp_unordered("!=", left, right)
        return builder.fcmp_ordered(_ORDER[order], left, right)
