"""Equality by content: two things are equal where all that they hold is, arrays bit for bit and NaN equal to NaN."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind", bound=type)


def equal_by_content(kind: Kind) -> Kind:
    """A class whose objects are equal where their content is: the fields of a dataclass, or what ``_content`` gives."""
    kind.__eq__ = _equal  # type: ignore[assignment, method-assign]
    if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
        kind.__hash__ = _hash  # type: ignore[assignment, method-assign]
    return kind


def _equal(self: Any, other: object) -> Any:
    return same(self, other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    """Of the words and the shapes in it: equal things have equal ones, and these are quickly read."""
    values = [getattr(self, one.name) for one in fields(self)]
    shapes = [value.shape for value in values if isinstance(value, np.ndarray)]
    return hash((type(self).__qualname__, *(value for value in values if isinstance(value, str)), *shapes))


def same(one: Any, two: Any) -> bool:
    """Whether two things have the same content."""
    comparison = _Comparison(one)
    return comparison.same(one, two) and comparison.expressions_agree()


def stream(expressions: list[Any]) -> str:
    """Expressions as text, in which a symbol that several of them hold is one."""
    import casadi as ca

    serializer = ca.StringSerializer()
    serializer.pack(expressions)
    return str(serializer.encode())


class _Comparison:
    """One comparison: expressions are compared all together, since a symbol is known by where else it is.

    What ``stands_alone`` shares no symbols with others, and has a comparison of its own.
    """

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.ones: list[Any] = []
        self.twos: list[Any] = []
        self.under_way: set[tuple[int, int]] = set()

    def expressions_agree(self) -> bool:
        """Whether the expressions that were met are the same, up to which object a symbol is."""
        return not self.ones or stream(self.ones) == stream(self.twos)

    def same(self, one: Any, two: Any) -> bool:
        if one is two:
            return True
        if type(one) is not type(two):
            return False
        if getattr(type(one), "stands_alone", False) and one is not self.whole:
            return same(one, two)
        pair = (id(one), id(two))
        if pair in self.under_way:  # a thing that holds itself
            return True
        self.under_way.add(pair)
        try:
            return self._same(one, two)
        finally:
            self.under_way.discard(pair)

    def _same(self, one: Any, two: Any) -> bool:
        if isinstance(one, (float, complex, np.generic, np.ndarray)):
            return _same_numbers(np.asarray(one), np.asarray(two), self)
        casadi = sys.modules.get("casadi")  # where it was not loaded there is nothing of it
        if casadi is not None and isinstance(one, casadi.SX):
            self.ones.append(one)
            self.twos.append(two)
            return True
        if casadi is not None and isinstance(one, (casadi.DM, casadi.Function)):
            return bool(one.serialize() == two.serialize())
        if isinstance(one, Mapping):
            return one.keys() == two.keys() and all(self.same(one[key], two[key]) for key in one)
        if isinstance(one, (list, tuple)):
            return len(one) == len(two) and all(map(self.same, one, two))
        if isinstance(one, (FunctionType, CellType, MethodType, partial, BaseException)) or hasattr(one, "py_func"):
            return self._same_by(_parts(one), _parts(two))
        if hasattr(type(one), "_content"):
            return self.same(one._content(), two._content())
        if is_dataclass(one) and not isinstance(one, type):
            names = [field.name for field in fields(one) if field.compare]
            return all(self.same(getattr(one, name), getattr(two, name)) for name in names)
        if type(one).__eq__ is object.__eq__ and not isinstance(one, (type, BuiltinFunctionType)):
            return self._same_state(one, two)
        return bool(one == two)

    def _same_state(self, one: Any, two: Any) -> bool:
        """Whether two things that know no equality of their own consist of the same."""
        if hasattr(one, "__dict__"):
            return self.same(vars(one), vars(two))
        try:
            return self.same(one.__reduce_ex__(4), two.__reduce_ex__(4))
        except TypeError:  # a lock, an open file
            return False

    def _same_by(self, one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
        return all(map(self.same, one, two))


def _parts(thing: Any) -> tuple[Any, ...]:
    """What a function, a method or an error consists of."""
    if isinstance(thing, FunctionType):
        return thing.__code__, thing.__defaults__, thing.__kwdefaults__, thing.__closure__
    if isinstance(thing, CellType):
        try:
            return (thing.cell_contents,)
        except ValueError:  # not filled yet
            return ()
    if isinstance(thing, MethodType):
        return thing.__func__, thing.__self__
    if isinstance(thing, partial):
        return thing.func, thing.args, thing.keywords
    if isinstance(thing, BaseException):
        return thing.args, vars(thing)
    return (thing.py_func,)


def _same_numbers(one: np.ndarray, two: np.ndarray, comparison: _Comparison) -> bool:
    """Whether two arrays are the same bit for bit, where NaN is NaN whatever its bits."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if one.dtype == object:
        return all(map(comparison.same, one.ravel().tolist(), two.ravel().tolist()))
    if one.dtype.kind == "c":
        parts = one.dtype.type(0).real.dtype
        one, two = (np.ascontiguousarray(array).reshape(-1).view(parts) for array in (one, two))
    if one.tobytes() == two.tobytes():
        return True
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    differ = (one != two) | (np.signbit(one) != np.signbit(two))
    return not (differ & ~(np.isnan(one) & np.isnan(two))).any()
