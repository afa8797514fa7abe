"""Numba seen through a keyhole: raw pointers, calls by address, entry points by what they are made of."""

from __future__ import annotations

import contextlib
import ctypes
import dis
import hashlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from types import CellType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from saltus._cache import DiskCache
from saltus._closure import Closure, code_key, own_math
from saltus.errors import CompileError, InputError

DOUBLES = types.CPointer(types.float64)
FLOATS = types.CPointer(types.float32)
INTEGERS = types.CPointer(types.int64)

KERNEL = types.int32(types.float64, DOUBLES, DOUBLES, DOUBLES, DOUBLES)
"""kernel(t, x, u, p, out) -> 0, or 1 where the mass matrix is not positive definite."""

CONTROL = types.int32(types.float64, DOUBLES, INTEGERS, DOUBLES, DOUBLES, DOUBLES, types.int64, DOUBLES, INTEGERS)
"""control(t, x, status, memory, p, data, piece, u, request) -> 0, or not 0 to end the run."""

LAW = types.int32(DOUBLES, DOUBLES, DOUBLES, DOUBLES, DOUBLES, DOUBLES)
"""law(A, v_free, v_before, coefficients, impulse, info) -> 0; see `saltus.contact.laws`."""

FIGURES = types.int32(types.int64, types.float64, DOUBLES, DOUBLES, DOUBLES, DOUBLES, types.int64, DOUBLES, DOUBLES)
"""figures(moment, t, before, after, old, new, guard, p, out) -> 0; see `saltus.Figures`."""

ADVANCE = types.int64(INTEGERS, DOUBLES, DOUBLES, DOUBLES)
"""advance(I, D, steps, events) -> status: the loop."""

PART = types.int64(INTEGERS, DOUBLES, types.float64, types.float64, types.int64, types.int64, types.int64)
"""part(I, D, t, h, a, b, c): a part of the engine, compiled on its own and called by address."""

LANES = types.int32(DOUBLES, DOUBLES, types.int64)
"""kernel(B, p, offset): on a block of lanes, of which it reads and writes rows."""

STEP_OF_LANES = types.int32(DOUBLES, DOUBLES, types.int64, types.float64, types.float64)
"""step(B, p, flow, rtol, atol): one step of every lane of a block, by the flow at that address."""

STAGE_OF_LANES = types.int32(types.float64, types.float64, types.float64, DOUBLES, DOUBLES)
"""stage(t, a, b, W, p) -> 0: a stage of a block of lanes, see `saltus.engine._lanes`."""

# No product is contracted with a sum: then one program gives the same bits on every processor.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": False}

_INT32 = ir.IntType(32)
_INT64 = ir.IntType(64)
_DOUBLE = ir.DoubleType()


def compiled(function: Callable[..., Any]) -> Any:
    """Mark a function as part of compiled code; it compiles when an entry point that uses it does.

    In compiled code `math` is `saltus._math`, whose functions have the same bits on every processor.
    """
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher.of_saltus = True
    _only_for_linking(dispatcher)
    return dispatcher


def _only_for_linking(dispatcher: Any) -> None:
    """Keep a function's LLVM code for its callers and skip its machine code.

    Numba would make every function callable from Python, which costs most of the compile time.
    """
    compile_it = dispatcher._compiler.compile

    def flags_for(flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def compile_for_linking(args: Any, return_type: Any) -> Any:
        # the entry point is only a key here, and must be one of a kind
        result = compile_it(args, return_type)._replace(entry_point=_Key())
        result.library.finalize = partial(_link_only, result.library)
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result

    def keep(result: Any) -> None:
        dispatcher.overloads[tuple(result.signature.args)] = result

    fold = dispatcher._compiler.fold_argument_types

    def fold_without_literals(args: Any, kws: Any) -> Any:
        # numba would compile a function again for every constant that it is called with
        signature, folded = fold(args, kws)
        return signature, tuple(types.unliteral(kind) for kind in folded)

    function = dispatcher.py_func
    dispatcher._compiler.fold_argument_types = fold_without_literals
    # when it is compiled, and not before: by then all that it names is there
    dispatcher._compiler._get_implementation = lambda args, kws: _with_own_math(function)
    dispatcher._compiler._customize_flags = flags_for
    dispatcher._compiler.compile = compile_for_linking
    dispatcher.add_overload = keep


def _link_only(library: Any) -> None:
    """Make a library ready for its callers: optimised and turned into machine code as a part of them, not alone."""
    for other in dict.fromkeys(library._linking_libraries):
        library._reload_init.update(other._reload_init)
        library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    library._finalize_dynamic_globals()
    library._finalized = True


class _Key:
    """A name for a compiled function inside compiled code."""


def _attribute(name: str) -> Any:
    """An intrinsic that gives an LLVM attribute to the function that calls it."""

    @intrinsic
    def mark(typingctx):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            builder.function.attributes.add(name)
            return context.get_dummy_value()

        return types.void(), codegen

    return mark


# Called at the top of a function: keep it out of its callers, which then compile faster, or
# always put it into them, which the compiler's own estimate of its cost would not do.
never_inline = _attribute("noinline")
always_inline = _attribute("alwaysinline")


def _same_bits(given: Any, wanted: Any, kind: Any) -> Any:
    """An intrinsic that reads the bits of a number of one type as those of another."""

    @intrinsic
    def read(typingctx, value):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], kind)

        return wanted(given), codegen

    return read


bits_of = _same_bits(types.float64, types.int64, _INT64)
double_of = _same_bits(types.int64, types.float64, _DOUBLE)


def _rounding(name: str) -> Any:
    """An intrinsic that rounds to a whole number, which stays a double: as an integer it might have no room."""

    @intrinsic
    def rounded(typingctx, value):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [_DOUBLE]), arguments)

        return types.float64(types.float64), codegen

    return rounded


whole_below, whole_above = _rounding("floor"), _rounding("ceil")


@intrinsic
def where(typingctx, flag, value):  # type: ignore[no-untyped-def]
    """A value where a flag is not zero, else zero: one instruction, where a branch would cost the compiler a block."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zero = ir.Constant(_DOUBLE, 0.0)
        return builder.select(builder.fcmp_unordered("!=", arguments[0], zero), arguments[1], zero)

    return types.float64(types.float64, types.float64), codegen


def _pointer(builder: Any, base: Any, offset: Any) -> Any:
    return builder.gep(base, [offset])


def _function(builder: Any, address: Any, result: Any, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(result, arguments)
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def call_kernel(typingctx, address, t, D, x, u, p, out):  # type: ignore[no-untyped-def]
    """Call a kernel by address; x, u, p and out are offsets into D."""
    i8 = types.int64
    signature = types.int32(i8, types.float64, DOUBLES, i8, i8, i8, i8)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, t, base, *offsets = arguments
        pointer = _DOUBLE.as_pointer()
        function = _function(builder, address, _INT32, [_DOUBLE] + [pointer] * 4)
        return builder.call(function, [t, *(_pointer(builder, base, o) for o in offsets)])

    return signature, codegen


@intrinsic
def call_control(typingctx, address, t, I, D, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Call a controller by address; status and request are offsets into I, the others into D."""
    i8 = types.int64
    signature = types.int32(i8, types.float64, INTEGERS, DOUBLES, i8, i8, i8, i8, i8, i8, i8, i8)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, t, I, D, x, status, memory, p, data, piece, u, request = arguments
        doubles, integers = _DOUBLE.as_pointer(), _INT64.as_pointer()
        kinds = [_DOUBLE, doubles, integers, doubles, doubles, doubles, _INT64, doubles, integers]
        function = _function(builder, address, _INT32, kinds)
        at = _pointer
        return builder.call(
            function,
            [
                t,
                at(builder, D, x),
                at(builder, I, status),
                at(builder, D, memory),
                at(builder, D, p),
                at(builder, D, data),
                piece,
                at(builder, D, u),
                at(builder, I, request),
            ],
        )

    return signature, codegen


@intrinsic
def call_control_at(typingctx, address, t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Call a controller by address from within another: its arguments are pointers."""
    signature = types.int32(types.int64, *CONTROL.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        doubles, integers = _DOUBLE.as_pointer(), _INT64.as_pointer()
        kinds = [_DOUBLE, doubles, integers, doubles, doubles, doubles, _INT64, doubles, integers]
        return builder.call(_function(builder, address, _INT32, kinds), rest)

    return signature, codegen


@intrinsic
def call_part(typingctx, address, I, D, t, h, a, b, c):  # type: ignore[no-untyped-def]
    """Call a part of the engine by address: its code is not compiled again into every caller."""
    signature = types.int64(types.int64, *PART.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        kinds = [_INT64.as_pointer(), _DOUBLE.as_pointer(), _DOUBLE, _DOUBLE, _INT64, _INT64, _INT64]
        return builder.call(_function(builder, address, _INT64, kinds), rest)

    return signature, codegen


@intrinsic
def call_stage(typingctx, address, t, a, b, W, p):  # type: ignore[no-untyped-def]
    """Call a stage of a block of lanes by address."""
    signature = types.int32(types.int64, *STAGE_OF_LANES.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        kinds = [_DOUBLE] * 3 + [_DOUBLE.as_pointer()] * 2
        return builder.call(_function(builder, address, _INT32, kinds), rest)

    return signature, codegen


@intrinsic
def call_advance(typingctx, address, I, D, steps, events):  # type: ignore[no-untyped-def]
    """Call the loop by address: a batch runs the very code that a single run does."""
    signature = types.int64(types.int64, *ADVANCE.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        kinds = [_INT64.as_pointer()] + [_DOUBLE.as_pointer()] * 3
        return builder.call(_function(builder, address, _INT64, kinds), rest)

    return signature, codegen


def _moved(pointer: Any) -> Any:
    """An intrinsic that moves a pointer by a number of elements."""

    @intrinsic
    def move(typingctx, base, offset):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _pointer(builder, *arguments)

        return pointer(pointer, types.int64), codegen

    return move


doubles_from = _moved(DOUBLES)
integers_from = _moved(INTEGERS)


def _at_address(pointer: Any, kind: Any) -> Any:
    """An intrinsic that makes a pointer of an address."""

    @intrinsic
    def at(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], kind.as_pointer())

        return pointer(types.int64), codegen

    return at


floats_at = _at_address(FLOATS, ir.FloatType())
integers_at = _at_address(INTEGERS, _INT64)


@intrinsic
def floats_in(typingctx, base, offset):  # type: ignore[no-untyped-def]
    """Room for numbers of single precision among doubles, from one of these on."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(_pointer(builder, *arguments), ir.FloatType().as_pointer())

    return FLOATS(DOUBLES, types.int64), codegen


@intrinsic
def call_lanes(typingctx, address, B, p, offset):  # type: ignore[no-untyped-def]
    """Call a kernel on a block of lanes by address."""
    signature = types.int32(types.int64, *LANES.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        kinds = [_DOUBLE.as_pointer()] * 2 + [_INT64]
        return builder.call(_function(builder, address, _INT32, kinds), rest)

    return signature, codegen


@intrinsic
def call_lane_step(typingctx, address, B, p, flow, rtol, atol):  # type: ignore[no-untyped-def]
    """Call a step of a block of lanes by address."""
    signature = types.int32(types.int64, *STEP_OF_LANES.args)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *rest = arguments
        kinds = [_DOUBLE.as_pointer()] * 2 + [_INT64, _DOUBLE, _DOUBLE]
        return builder.call(_function(builder, address, _INT32, kinds), rest)

    return signature, codegen


@intrinsic
def call_figures(typingctx, address, moment, t, source, before, after, old, new, guard, D, p, target, out):  # type: ignore[no-untyped-def]
    """Call a law of figures by address; states and statuses are offsets into source, p into D, out into target."""
    i8 = types.int64
    signature = types.int32(i8, i8, types.float64, DOUBLES, i8, i8, i8, i8, i8, DOUBLES, i8, DOUBLES, i8)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, moment, t, source, before, after, old, new, guard, D, p, target, out = arguments
        doubles = _DOUBLE.as_pointer()
        function = _function(builder, address, _INT32, [_INT64, _DOUBLE, *[doubles] * 4, _INT64, doubles, doubles])
        seen = [_pointer(builder, source, offset) for offset in (before, after, old, new)]
        return builder.call(
            function, [moment, t, *seen, guard, _pointer(builder, D, p), _pointer(builder, target, out)]
        )

    return signature, codegen


@intrinsic
def call_law(typingctx, address, D, A, free, before, coefficients, impulse, info):  # type: ignore[no-untyped-def]
    """Call an impact law by address; all arguments are offsets into D."""
    i8 = types.int64
    signature = types.int32(i8, DOUBLES, i8, i8, i8, i8, i8, i8)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, base, *offsets = arguments
        function = _function(builder, address, _INT32, [_DOUBLE.as_pointer()] * 6)
        return builder.call(function, [_pointer(builder, base, o) for o in offsets])

    return signature, codegen


_TELL: ContextVar[Callable[[str], None]] = ContextVar("who is told what is being compiled", default=lambda name: None)


@contextlib.contextmanager
def compiling_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell someone the name of what is compiled, before it is; what is found in the cache is not told."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


class _Busy(Exception):
    """Another process compiles this at this moment."""


_PATIENT: ContextVar[bool] = ContextVar("whether to wait for what another process compiles", default=True)


def in_any_order(*makers: Callable[[], Any]) -> None:
    """Call functions that compile; those for which another process is at work come last, and are then waited for."""
    later = []
    before = _PATIENT.set(False)
    try:
        for make in makers:
            try:
                make()
            except _Busy:
                later.append(make)
    finally:
        _PATIENT.reset(before)
    for make in later:
        make()


def _with_own_math(function: FunctionType, name: str = "") -> FunctionType:
    """The same function, with `saltus._math` in place of `math`; under another name, if one is given."""
    scope = {key: own_math(value) for key, value in function.__globals__.items()}
    empty = CellType()
    cells = [cell if cell == empty else CellType(own_math(cell.cell_contents)) for cell in function.__closure__ or ()]
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, tuple(cells) or None)
    twin.__module__, twin.__qualname__ = function.__module__, name or function.__qualname__
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


@lru_cache(maxsize=1)
def _how() -> str:
    """Digest of how functions are compiled, whatever they are."""
    ways = (compiled, _only_for_linking, _link_only, _with_own_math, own_math, Entry.__init__)
    return ":".join([repr(sorted(OPTIONS.items())), *(code_key(way.__code__) for way in ways)])


def entry_key(function: Callable[..., Any], signature: Any) -> str | None:
    """Key of the machine code of a function: what it is made of, and how; None where that cannot be known."""
    return _key_of(Closure(function), signature)


def _key_of(closure: Closure, signature: Any) -> str | None:
    return None if closure.digest is None else f"{closure.digest}:{signature}:{_how()}"


# What each function of a user that numba has compiled was made of then.
_MADE_OF: WeakKeyDictionary[Any, Closure] = WeakKeyDictionary()


def _forget_old_code(closure: Closure) -> None:
    """Let numba compile those functions anew that read other values now than when it compiled them.

    Numba compiles a function once, and takes it to be the same for ever.
    """
    for dispatcher in closure.dispatchers:
        now, before = Closure(dispatcher), _MADE_OF.get(dispatcher)
        same = before is not None and now.digest == before.digest and (now.digest is not None or before.holds())
        if dispatcher.overloads and not same:
            if dispatcher._can_compile:
                dispatcher._reset_overloads()
            else:
                dispatcher.recompile()
        _MADE_OF[dispatcher] = now


_CALL_TYPES: dict[tuple[Any, ...], Any] = {}


@contextlib.contextmanager
def _call_types_remembered() -> Iterator[None]:
    """While types of calls are inferred once for the types of their arguments: numba does it for every single sum.

    It holds for one compilation at a time, under numba's lock, and for code of saltus and its plugins only.
    """
    infer = types.BaseFunction.get_call_type

    def remembered(kind: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return infer(kind, context, args, kws)
        if (kind, args) not in _CALL_TYPES:
            _CALL_TYPES[kind, args] = infer(kind, context, args, kws)
        return _CALL_TYPES[kind, args]

    types.BaseFunction.get_call_type = remembered  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        types.BaseFunction.get_call_type = infer  # type: ignore[method-assign]


class Entry(CFunc):  # type: ignore[type-arg]
    """A compiled C function, loaded from the cache where all that it is made of is known."""

    def __init__(self, function: Callable[..., Any], signature: Any, name: str, closure: Closure | None = None):
        function = getattr(function, "py_func", function)
        self.closure = Closure(function) if closure is None else closure
        self.key = _key_of(self.closure, signature)
        # Numba numbers functions of one name in each process from the start, so that two of them from the cache,
        # compiled by two processes, may have the same symbol: the second would be taken for the first.
        own = "" if self.key is None else hashlib.sha256(self.key.encode()).hexdigest()[:16]
        twin = _with_own_math(function, f"{function.__qualname__}_{own}")  # type: ignore[arg-type]
        super().__init__(twin, (signature.args, signature.return_type), {}, dict(OPTIONS))
        self._told = name
        self._cache: Any = NullCache() if self.key is None else DiskCache(name, self.key)

    def _compile_uncached(self) -> Any:
        with self._cache.alone(self._wait) if isinstance(self._cache, DiskCache) else contextlib.nullcontext():
            # another process may have made it while this one waited
            signature, target = self._sig, self._targetdescr.target_context  # type: ignore[attr-defined]
            made = self._cache.load_overload(signature, target)
            if made is None:
                _TELL.get()(self._told)
                _forget_old_code(self.closure)
                with _call_types_remembered():
                    made = super()._compile_uncached()  # type: ignore[misc]
                # code with addresses of this process in it, as of a large table, is of no use to another
                if made.library.has_dynamic_globals:
                    self._cache = NullCache()
                self._cache.save_overload(signature, made)
        return made

    def _wait(self) -> None:
        if not _PATIENT.get():
            raise _Busy
        _TELL.get()(f"{self._told}, which another process compiles")

    @property
    def place(self) -> int:
        """The address of the machine code."""
        return int(self.address or 0)


def compile_entry(function: Callable[..., Any], signature: Any, name: str, closure: Closure | None = None) -> Entry:
    """Compile a function to a C entry point, through the cache where all that it is made of is known.

    The result must be kept alive as long as its address is in use.
    """
    if not isinstance(getattr(function, "py_func", function), FunctionType):
        raise InputError(f"cannot compile {name!r}: what is compiled is a function, got {function!r}")
    if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(function)):
        raise CompileError(f"cannot compile {name!r}: compiled code cannot raise; return 1 to say that it failed")
    entry = Entry(function, signature, name, closure)
    if entry.closure.missing:
        missing = ", ".join(f"math.{one}" for one in entry.closure.missing)
        raise CompileError(
            f"cannot compile {name!r}: {missing} would differ from processor to processor; use functions that compiled "
            "code has: those of saltus._math"
        )
    try:
        entry.compile()
    except (NumbaError, TypeError) as error:
        raise CompileError(f"cannot compile {name!r} to machine code: {error}") from error
    return entry


# Machine code of functions by what these were made of; it stays, for its address may be in use.
_ENTRIES: dict[Any, dict[Any, Entry]] = {}
# Of each function, what was found at last; and of those that cannot be compiled, what they were made of, and why not.
_LAST: dict[Any, Entry] = {}
_REFUSED: dict[Any, tuple[Closure, str]] = {}


def entry_of(function: Callable[..., Any], signature: Any, name: str) -> Entry:
    """The machine code of a function that is called again and again: compiled once, and anew where it has changed.

    A function changes where a value that it reads, or a function that it calls, is another one.
    """
    # signatures are constants of this file, and numba takes long to compare them
    place = function, id(signature)
    last = _LAST.get(place)
    if last is not None and last.closure.holds():
        return last
    refused, why = _REFUSED.get(place, (None, ""))
    if refused is not None and refused.holds():
        raise CompileError(why)  # to find that out again takes as long as to compile
    closure = Closure(getattr(function, "py_func", function))
    made, key = _ENTRIES.setdefault(place, {}), _key_of(closure, signature)
    if key is None:
        key = f"unknown {len(made)}"
    if key not in made:
        try:
            made[key] = compile_entry(function, signature, name, closure)
        except CompileError as error:
            _REFUSED[place] = closure, str(error)
            raise
    made[key].closure = closure  # the same values may be in other places
    _LAST[place] = made[key]
    return made[key]


def double_bits(bits: int) -> float:
    """The number whose bits these are, as compiled code reads addresses among numbers."""
    return ctypes.c_double.from_buffer(ctypes.c_int64(bits)).value


def pointer_to(array: np.ndarray) -> int:
    """The address of a contiguous array's memory, for a compiled entry point."""
    return array.ctypes.data


def ctypes_entry(entry: Entry, result: Any, arguments: list[Any]) -> Any:
    """A compiled entry point as a Python callable that lets other threads run meanwhile."""
    return ctypes.CFUNCTYPE(result, *arguments)(entry.place)
