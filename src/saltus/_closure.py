"""The digest of compiled code: all functions that it is made of, and all values that they read.

The program finds both itself, from the bytecode of the functions: a comment, a docstring, a line number or the name of
a file does not count, and an edit anywhere in what is really used does. What cannot be followed gives no digest.
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.typing.templates import Signature, builtin_registry

# Libraries whose versions are part of every key: what is found in them by its name counts by that name.
LIBRARIES = ("_operator", "ast", "builtins", "cmath", "enum", "llvmlite", "math", "numba", "numpy", "operator")

_LOAD_GLOBAL, _EXTENDED_ARG = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
_LOAD_DEREF = dis.opmap["LOAD_DEREF"]
_ATTRIBUTES = {dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap}
# From Python 3.12 on, the lowest bit says whether an attribute is called as a method.
_ATTRIBUTE_SHIFT = 0 if sys.version_info < (3, 12) else 1
_CONSTANTS = set(dis.hasconst)
_CACHE = dis.opmap["CACHE"]

_CONTAINERS = {tuple, list, dict, set, frozenset, np.ndarray}
# Plain values, and types of numba that are nothing but what their text says.
_PLAIN = {int, float, complex, bool, str, bytes, type(None), type(Ellipsis)}
_TYPES = (types.Number, types.Boolean, types.NoneType, types.CPointer, types.RawPointer, types.Array, types.BaseTuple)
# What a class has besides its own: none of it is part of what its methods do.
_OF_EVERY_CLASS = {
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__static_attributes__",
    "__weakref__",
}  # fmt: skip


def closure_digest(*functions: Callable[..., Any]) -> str | None:
    """Digest of functions, of all that they call and of all values that they read; None where that cannot be known.

    It follows global names, attributes of modules, closure cells, default values, compiled functions and intrinsics.
    Where compiled code gets a function of its own in place of one of `math`, that function counts.
    """
    return Closure(*functions).digest


def functions_reached(function: Callable[..., Any]) -> list[FunctionType]:
    """The functions whose code is part of the digest of a function, itself first."""
    return [thing for thing in _Walk(function).alive if isinstance(thing, FunctionType)]


class Closure:
    """What functions are made of at this moment.

    ``digest`` is None where some of it cannot be followed; ``missing`` names functions of `math` that compiled code has
    not; ``dispatchers`` are the functions of others that numba has compiled or will.
    """

    def __init__(self, *functions: Callable[..., Any]):
        walk = _Walk(*functions)
        self.digest = walk.digest if walk.known else None
        self.missing, self.dispatchers = tuple(walk.missing), tuple(walk.dispatchers)
        self._reads, self._cells, self._codes, self._contents = walk.reads, walk.cells, walk.codes, walk.contents

    def holds(self) -> bool:
        """Whether all that was found is still the same: a look at each value instead of a way through all of them.

        Files of saltus do not change while they run, and are not looked at.
        """
        return (
            all(scope.get(name, _ABSENT) is value for scope, name, value in self._reads)
            and all(_in_cell(cell) is value for cell, value in self._cells)
            and all(all(map(is_, _parts(function), parts)) for function, parts in self._codes)
            and all(_digest_of(thing) == digest for thing, digest in self._contents)
        )


_ABSENT = object()


def _in_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing in it yet
        return _ABSENT


def _parts(function: FunctionType) -> tuple[Any, ...]:
    """What can be put into a function later."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


class NotOurs:
    """Stands for a function of `math` that has no version with the same bits on every processor: numba refuses it."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"math.{self.name}, which has no version that gives the same bits on every processor"


_not_ours = lru_cache(NotOurs)


def own_math(thing: Any) -> Any:
    """What compiled code gets in place of `math` or of one of its functions; anything else is itself."""
    if thing is math:
        return _own()
    if type(thing) is BuiltinFunctionType and thing.__module__ == "math":
        try:
            return getattr(_own(), thing.__name__)
        except AttributeError:
            return _not_ours(thing.__name__)
    return thing


def _own() -> ModuleType:
    # it is compiled code itself, so that it can only be loaded after this file
    return importlib.import_module("saltus._math")


class _Walk:
    """One way through all that functions reach, in the order of their code."""

    def __init__(self, *things: Any) -> None:
        self.words: list[Any] = []
        self.known = True
        # numbers by identity; what was visited stays alive, so that no other thing gets its identity
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []
        self.missing: dict[str, None] = {}
        self.dispatchers: list[Any] = []
        # what may change while the program runs, with the values that were found
        self.reads: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.codes: list[tuple[FunctionType, tuple[Any, ...]]] = []
        self.contents: list[tuple[Any, str | None]] = []
        self.ours = False
        self.overloads = _foreign_overloads()
        try:
            for thing in things:
                self.visit(thing)
        except RecursionError:  # a list in itself
            self.known = False

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.words).encode()).hexdigest()

    def add(self, *words: Any) -> None:
        self.words.append(words)

    def visit(self, thing: Any) -> None:
        """Add a value, and all that it leads to."""
        thing = own_math(thing)
        kind = type(thing)
        if kind in _PLAIN:
            self.words.append(thing)
        elif id(thing) in self.numbers:
            self.words.append(("again", self.numbers[id(thing)]))
        elif kind in _CONTAINERS:
            self.content(thing)
        elif id(thing) in self.overloads.ids:
            self.known = False
        elif (name := _name_in_library(thing)) is not None:
            self.words.append(name)
        elif kind is FunctionType or kind is _Intrinsic or isinstance(thing, (type, Dispatcher)):
            self.numbers[id(thing)] = len(self.numbers)
            self.alive.append(thing)
            self.part(thing)
        else:
            self.value(thing)

    def part(self, thing: Any) -> None:
        """A function or a class, met for the first time."""
        if isinstance(thing, FunctionType):
            self.function(thing)
        elif isinstance(thing, Dispatcher):
            self.dispatcher(thing)
        elif isinstance(thing, type):
            self.one_class(thing)
        else:
            self.add("intrinsic", thing._prefer_literal)
            self.visit(thing._defn)

    def value(self, thing: Any) -> None:
        """A value that is neither plain nor a container, a function or a class; of most kinds it cannot be known."""
        kind = type(thing)
        if isinstance(thing, np.generic):
            self.add("scalar")
            self.content(np.asarray(thing))
        elif isinstance(thing, enum.Enum):
            self.add("member", thing.name)
            self.visit(kind)
        elif _is_named_tuple(kind):
            self.visit(kind)
            self.visit(tuple(thing))
        elif isinstance(thing, Signature):
            self.visit((*thing.args, thing.return_type))
        elif isinstance(thing, (*_TYPES, ir.Type)) or (isinstance(thing, np.dtype) and not thing.hasobject):
            self.add("type", kind.__qualname__, str(thing))
        else:
            if isinstance(thing, NotOurs):
                self.missing[thing.name] = None
            self.known = False

    def content(self, thing: Any) -> None:
        """What is in a container, which may change where it is not a tuple."""
        if not self.ours and type(thing) not in (tuple, frozenset):
            self.contents.append((thing, _digest_of(thing)))
        kind = type(thing)
        if kind is np.ndarray:
            order = (thing.flags.c_contiguous, thing.flags.f_contiguous, thing.flags.aligned)
            bits = hashlib.sha256(thing.tobytes()).hexdigest()
            self.known &= not thing.dtype.hasobject
            self.add("array", thing.shape, str(thing.dtype), order, bits)
        elif kind is set or kind is frozenset:
            self.known &= all(type(item) in _PLAIN for item in thing)
            self.add(kind.__name__, sorted(map(repr, thing)))
        else:
            self.add(kind.__name__, len(thing))
            for item in thing.items() if kind is dict else thing:
                self.visit(item)

    def dispatcher(self, thing: Any) -> None:
        """A function that numba compiles, and how it does so."""
        if getattr(thing, "of_saltus", False):
            # how those are compiled is the same for all, and part of every key
            self.add("compiled")
        else:
            self.add("numba", type(thing).__qualname__, getattr(thing._compiler.pipeline_class, "__qualname__", ""))
            self.visit(dict(sorted(thing.targetoptions.items())))
            self.visit(dict(sorted(thing.locals.items())))
            if not thing._can_compile:
                self.add("only", [str(signature) for signature in thing.nopython_signatures])
        if not _is_ours(thing.py_func.__globals__):
            self.dispatchers.append(thing)
        self.visit(thing.py_func)

    def one_class(self, thing: Any) -> None:
        """A class: of enumerations and named tuples their members, of others all they have."""
        self.add("class", thing.__qualname__)
        if isinstance(thing, enum.EnumMeta):
            members: dict[str, Any] = dict(thing.__members__)
            self.visit((thing.__bases__, {name: member.value for name, member in members.items()}))
        elif _is_named_tuple(thing):
            self.visit((thing._fields, thing._field_defaults))
        elif type(thing) is not type:  # such as numba's own classes of compiled methods
            self.known = False
        else:
            self.visit(thing.__bases__)
            for name, part in sorted(vars(thing).items()):
                if name not in _OF_EVERY_CLASS and not isinstance(part, (GetSetDescriptorType, MemberDescriptorType)):
                    self.add(name)
                    for one in _functions_in(part):
                        self.visit(one)

    def function(self, function: FunctionType) -> None:
        code, before = function.__code__, self.ours
        self.ours = _is_ours(function.__globals__)
        self.add("function", code_key(code))
        if not self.ours:
            self.codes.append((function, _parts(function)))
        if not self.overloads.attributes.isdisjoint(code.co_names):
            self.known = False
        cells = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = _in_cell(cell)
            if not self.ours:
                self.cells.append((cell, value))
            if isinstance(value, ModuleType):
                cells[name] = value  # what is read of it counts
            else:
                self.visit(value)
        self.visit(function.__defaults__)
        self.visit(tuple(sorted((function.__kwdefaults__ or {}).items())))
        for kind, name, *attributes in _references(code):
            if kind == "global":
                self.read(function.__globals__, name, attributes)
            elif name in cells:
                self.attributes(cells[name], [name], attributes)
        self.ours = before

    def read(self, scope: dict[str, Any], name: str, attributes: list[str]) -> None:
        """A global name, and attributes of it as long as it is a module."""
        value = scope.get(name, _ABSENT)
        if not self.ours:
            self.reads.append((scope, name, value))
        if value is _ABSENT:
            self.visit(getattr(builtins, name, _ABSENT))
        else:
            self.attributes(value, [name], attributes)

    def attributes(self, value: Any, path: list[str], attributes: list[str]) -> None:
        value = own_math(value)
        for attribute in attributes:
            if not isinstance(value, ModuleType):
                break
            path.append(attribute)
            scope, value = vars(value), own_math(getattr(value, attribute, _ABSENT))
            if not self.ours and not _is_ours(scope) and not _is_library(scope.get("__name__")):
                self.reads.append((scope, attribute, scope.get(attribute, _ABSENT)))
            if value is _ABSENT and scope is vars(_own()):
                self.missing[attribute] = None
        self.add(*path)
        self.visit(value)  # a module in a variable may lead anywhere: it cannot be followed


def _digest_of(thing: Any) -> str | None:
    """The digest of what is in a container at this moment."""
    walk = _Walk()
    walk.ours = True  # nothing of it is written down
    try:
        walk.content(thing)
    except RecursionError:
        return None
    return walk.digest


def _functions_in(part: Any) -> tuple[Any, ...]:
    """The functions of a method or property of a class; any other value is itself."""
    if isinstance(part, (staticmethod, classmethod)):
        return (part.__func__,)
    if type(part) is property:
        return part.fget, part.fset, part.fdel
    return (part,)


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_ours(scope: dict[str, Any]) -> bool:
    """Whether a module is a file of saltus itself, not a plugin."""
    name = scope.get("__name__")
    return isinstance(name, str) and name.startswith("saltus.") and not name.startswith("saltus._plugins.")


def _is_library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in LIBRARIES


# Names in libraries, with the things that have them, so that nothing else comes to their places in memory.
_NAMES: dict[int, tuple[tuple[str, str], Any]] = {}


def _name_in_library(thing: Any) -> tuple[str, str] | None:
    """The name under which a library has this very thing: nothing else has to be known of it."""
    if id(thing) in _NAMES:
        return _NAMES[id(thing)][0]
    # functions that text was made into may have no module, or that of nothing that has them
    where = getattr(thing, "__module__", None)
    if not _is_library(where) or where not in sys.modules:
        return None
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None) or ""
    found: Any = sys.modules[where]
    if isinstance(thing, FunctionType):
        # many are decorated: under their name is what was made of them
        genuine = thing.__closure__ is None and thing.__globals__ is vars(found)
    else:
        for part in name.split("."):
            found = getattr(found, part, None)
        genuine = found is thing
    if not genuine:
        return None
    _NAMES[id(thing)] = ("library", f"{where}.{name}"), thing
    return _NAMES[id(thing)][0]


class _Overloads:
    """What others than numba itself have given numba an implementation for, which no bytecode leads to.

    ``ids`` are those of functions and classes, ``attributes`` names of methods and attributes.
    """

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self.attributes: set[str] = set()
        self._read = [0, 0]

    def read_on(self) -> _Overloads:
        """Read what was registered since the last time."""
        known = builtin_registry.globals[self._read[0] :]
        for value, kind in known:
            templates = getattr(kind, "templates", ())
            if type(value) is not _Intrinsic and (
                any(map(_is_foreign, templates)) or (type(value) is FunctionType and not _is_library(value.__module__))
            ):
                self.ids.add(id(value))
        more = builtin_registry.attributes[self._read[1] :]
        self.attributes.update(str(getattr(template, "_attr", "")) for template in more if _is_foreign(template))
        self._read = [self._read[0] + len(known), self._read[1] + len(more)]
        return self


def _is_foreign(template: Any) -> bool:
    """Whether an implementation is not of numba itself; numba makes classes and some functions without a module."""
    makers = (template, getattr(template, "_overload_func", None), getattr(template, "generic", None))
    modules = {getattr(maker, "__module__", None) for maker in makers} - {None, "abc"}
    return not all(map(_is_library, modules))


_OVERLOADS = _Overloads()


def _foreign_overloads() -> _Overloads:
    return _OVERLOADS.read_on()


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
    """Names that a code reads and does not set, each with its kind and the attributes that are read from it at once.

    The kind is ``global`` or ``free``, a variable of a function around it.
    """
    found: dict[tuple[str, ...], None] = {}
    path: list[str] = []
    for operation, argument in _instructions(code):
        if path and operation in _ATTRIBUTES:
            path.append(code.co_names[argument >> _ATTRIBUTE_SHIFT])
            continue
        if path:
            found[tuple(path)] = None
        path = []
        if operation == _LOAD_GLOBAL:
            path = ["global", code.co_names[argument >> 1]]
        elif operation == _LOAD_DEREF:
            path = ["free", code._varname_from_oparg(argument)]  # type: ignore[attr-defined]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(dict.fromkeys(_references(constant)))
    return tuple(found)
