"""Equality by content: two things are equal where all that they hold is, arrays bit for bit and NaN equal to NaN."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
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
            masks = _masks(one), _masks(two)
            return self.same(*masks) and _same_numbers(np.asarray(one), np.asarray(two), self)
        casadi = sys.modules.get("casadi")  # where it was not loaded there is nothing of it
        if casadi is not None and isinstance(one, casadi.SX):
            self.ones.append(one)
            self.twos.append(two)
            return True
        if casadi is not None and isinstance(one, (casadi.DM, casadi.Function)):
            return bool(one.serialize() == two.serialize())
        if isinstance(one, (list, tuple, dict)) and not self.same(_own(one), _own(two)):
            return False
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
        return self._same_as_they_say(one, two)

    def _same_as_they_say(self, one: Any, two: Any) -> bool:
        """What ``==`` says, or their state where it says neither yes nor no, as tables and queues of arrays do."""
        try:
            answer = one == two
        except Exception:  # noqa: BLE001 - things of a user's own may fail in any way
            answer = None
        return bool(answer) if isinstance(answer, (bool, np.bool_)) else self._same_state(one, two)

    def _same_state(self, one: Any, two: Any) -> bool:
        """Whether two things consist of the same, as pickle would take them apart."""
        try:
            states = _state(one), _state(two)
        except Exception:  # noqa: BLE001 - a lock, an open file: what they are cannot be known
            return False
        return self.same(*states)

    def _same_by(self, one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
        return all(map(self.same, one, two))


def _parts(thing: Any) -> tuple[Any, ...]:
    """What a function, a method or an error consists of."""
    if isinstance(thing, FunctionType):
        read = {name: thing.__globals__[name] for name in _reads(thing.__code__) if name in thing.__globals__}
        return thing.__code__, thing.__defaults__, thing.__kwdefaults__, thing.__closure__, read
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


def _reads(code: CodeType) -> Iterator[str]:
    """Names that a function, or one inside it, reads outside of it."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)


def _own(thing: Any) -> Any:
    """What a list, a tuple or a dictionary of a user's own kind has beside its elements."""
    return getattr(thing, "__dict__", None)


def _masks(thing: Any) -> Any:
    """Which numbers of an array do not count, where it can say so."""
    return np.ma.getmaskarray(thing) if isinstance(thing, np.ma.MaskedArray) else None  # type: ignore[no-untyped-call]


def _state(thing: Any) -> Any:
    """How pickle would take a thing apart: what it would be called with, its state and its elements."""
    state = thing.__reduce_ex__(4)
    if isinstance(state, str):
        return state
    return tuple(list(part) if isinstance(part, Iterator) else part for part in state)


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
