"""The digest of compiled code: all functions that it is made of, and all values that they read.

The program finds both itself, from the bytecode of the functions: a comment, a docstring, a line number or the name of
a file does not count, and an edit anywhere in what is really used does.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

# Libraries whose versions are part of every key: their functions count by name.
LIBRARIES = ("ast", "builtins", "llvmlite", "math", "numba", "numpy", "operator")

_LOAD_GLOBAL, _EXTENDED_ARG = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
_ATTRIBUTES = {dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap}
# From Python 3.12 on, the lowest bit says whether an attribute is called as a method.
_ATTRIBUTE_SHIFT = 0 if sys.version_info < (3, 12) else 1
_CONSTANTS = set(dis.hasconst)
_CACHE = dis.opmap["CACHE"]


class _Unknown(Exception):
    """Something whose value cannot be known."""


def closure_digest(*functions: Callable[..., Any]) -> str | None:
    """Digest of functions, of all that they call and of all values that they read; None where that cannot be known.

    It follows global names, attributes of modules, closure cells, default values, compiled functions and intrinsics.
    Where compiled code gets a function of its own in place of one of `math`, that function counts.
    """
    walk = _Walk()
    try:
        for function in functions:
            walk.visit(function)
    except _Unknown:
        return None
    return walk.digest.hexdigest()


def functions_reached(function: Callable[..., Any]) -> list[FunctionType]:
    """The functions whose code is part of the digest of a function, itself first."""
    walk = _Walk()
    walk.visit(function)
    return [thing for thing in walk.alive if isinstance(thing, FunctionType)]


def own_math(thing: Any) -> Any:
    """What compiled code gets in place of `math` or of one of its functions; anything else is itself."""
    if thing is math:
        return _own()
    if isinstance(thing, BuiltinFunctionType) and thing.__module__ == "math":
        return getattr(_own(), thing.__name__)
    return thing


def _own() -> ModuleType:
    # it is compiled code itself, so that it can only be loaded after this file
    return importlib.import_module("saltus._math")


class _Walk:
    """One way through all that a function reaches, in the order of its code."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        # numbers by identity; what was visited stays alive, so that no other thing gets its identity
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []

    def add(self, *words: Any) -> None:
        self.digest.update(repr(words).encode())

    def new(self, thing: Any) -> bool:
        """Whether a thing is met for the first time; if not, its number is what counts."""
        if id(thing) in self.numbers:
            self.add("again", self.numbers[id(thing)])
            return False
        self.numbers[id(thing)] = len(self.numbers)
        self.alive.append(thing)
        return True

    def visit(self, thing: Any) -> None:
        thing = own_math(thing)
        # numba's compiled functions and intrinsics
        thing = getattr(thing, "py_func", getattr(thing, "_defn", thing))
        if isinstance(thing, FunctionType) and not _of_a_library(thing):
            if self.new(thing):
                self.function(thing)
        elif thing is None or thing is Ellipsis or isinstance(thing, (int, float, complex, str, bytes)):
            self.add(type(thing).__qualname__, thing)
        elif isinstance(thing, (tuple, list)):
            self.add(type(thing).__qualname__, len(thing))
            for item in thing:
                self.visit(item)
        elif isinstance(thing, dict):
            self.add("dict", len(thing))
            for key, value in thing.items():
                self.visit(key)
                self.visit(value)
        elif isinstance(thing, (set, frozenset)):
            self.add("set", sorted(map(repr, thing)))
        elif isinstance(thing, (np.ndarray, np.generic)):
            if thing.dtype.hasobject:
                raise _Unknown
            self.add("array", thing.shape, str(thing.dtype), thing.tobytes())
        elif isinstance(thing, type) and not _of_a_library(thing):
            if self.new(thing):
                self.add("class", thing.__qualname__)
                for name, part in sorted(vars(thing).items()):
                    if isinstance(part, FunctionType):
                        self.add(name)
                        self.visit(part)
        elif _of_a_library(thing):
            named = isinstance(thing, (type, ModuleType)) or (callable(thing) and hasattr(thing, "__qualname__"))
            self.add("library", f"{thing.__module__}.{thing.__qualname__}" if named else str(thing))
        else:
            raise _Unknown

    def function(self, function: FunctionType) -> None:
        self.add("function", code_key(function.__code__))
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # nothing in it yet
                raise _Unknown from None
            self.visit(value)
        self.visit(function.__defaults__)
        self.visit(sorted((function.__kwdefaults__ or {}).items()))
        for name, *attributes in _references(function.__code__):
            self.read(function.__globals__, name, attributes)

    def read(self, scope: dict[str, Any], name: str, attributes: list[str]) -> None:
        """A global name, and attributes of it as long as it is a module."""
        if name not in scope:
            if not hasattr(builtins, name):
                raise _Unknown
            self.add("builtin", name)
            return
        value, path = own_math(scope[name]), [name]
        for attribute in attributes:
            if not isinstance(value, ModuleType):
                break
            path.append(attribute)
            try:
                value = own_math(getattr(value, attribute))
            except AttributeError:
                raise _Unknown from None
        if isinstance(value, ModuleType):
            raise _Unknown  # a module in a variable may lead anywhere
        self.add(*path)
        self.visit(value)


def _of_a_library(thing: Any) -> bool:
    where = getattr(thing, "__module__", None) or type(thing).__module__
    return isinstance(where, str) and where.partition(".")[0] in LIBRARIES


def _instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    """Operations and arguments, as `dis` has them, but fast."""
    raw, more = code.co_code, 0
    for k in range(0, len(raw), 2):
        operation = raw[k]
        if operation == _CACHE:
            continue
        argument = raw[k + 1] | more
        if operation == _EXTENDED_ARG:
            more = argument << 8
        else:
            more = 0
            yield operation, argument


@lru_cache(maxsize=4096)
def code_key(code: CodeType) -> str:
    """Digest of a function's code without docstrings, line numbers and names of files."""
    steps: list[int] = []
    constants: dict[int, int] = {}
    for operation, argument in _instructions(code):
        if operation in _CONSTANTS:
            # numbered by first use: a docstring is a constant that nothing uses
            argument = constants.setdefault(argument, len(constants))
        steps += (operation, argument)
    used = [_constant(code.co_consts[place]) for place in constants]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    whole = repr((steps, used, counts, names, code.co_exceptiontable))
    return hashlib.sha256(whole.encode()).hexdigest()


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return ("code", code_key(value))
    if isinstance(value, frozenset):
        return ("set", sorted(map(repr, value)))
    if isinstance(value, tuple):
        return ("tuple", [_constant(item) for item in value])
    return repr(value)


@lru_cache(maxsize=4096)
def _references(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Global names that a code reads, each with the attributes that are read from it at once."""
    found: dict[tuple[str, ...], None] = {}
    path: list[str] = []
    for operation, argument in _instructions(code):
        if path and operation in _ATTRIBUTES:
            path.append(code.co_names[argument >> _ATTRIBUTE_SHIFT])
            continue
        if path:
            found[tuple(path)] = None
        path = [code.co_names[argument >> 1]] if operation == _LOAD_GLOBAL else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(dict.fromkeys(_references(constant)))
    return tuple(found)
