"""Numba seen through a keyhole: raw pointers, calls by address, and a disk cache that is never stale."""

from __future__ import annotations

import contextlib
import ctypes
import dis
import hashlib
import inspect
import os
import pickle
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import compiler, serialize
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from saltus.errors import CompileError

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

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}

# What every entry point is compiled with, as it was when this was loaded.
_OWN_SOURCE = Path(__file__).read_text()

_INT32 = ir.IntType(32)
_INT64 = ir.IntType(64)
_DOUBLE = ir.DoubleType()


def compiled(function: Callable[..., Any]) -> Any:
    """Mark a function as part of compiled code; it compiles when an entry point that uses it does."""
    dispatcher = numba.njit(**OPTIONS)(function)
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
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result

    def keep(result: Any) -> None:
        dispatcher.overloads[tuple(result.signature.args)] = result

    dispatcher._compiler._customize_flags = flags_for
    dispatcher._compiler.compile = compile_for_linking
    dispatcher.add_overload = keep


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


def cache_folder() -> Path:
    """Where compiled code is kept: ``SALTUS_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("SALTUS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "saltus"


def files_digest(folders: list[Path]) -> str:
    """Hash the names and contents of the Python files in some folders, not in folders below them."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def function_digest(function: Callable[..., Any], *, files_too: bool = True) -> str | None:
    """Hash a function and everything it reaches; None where that cannot be known.

    Reached are the values of its globals and closure cells and, with ``files_too``, the source files of the functions
    it names. What it reaches through a module other than math and numpy is not followed.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    files: set[str] = set()

    def visit(thing: Any) -> bool:
        thing = getattr(thing, "py_func", getattr(thing, "__wrapped__", thing))
        if id(thing) in seen:
            return True
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            # its code as it runs, and its file as it is: if that was edited since, both count
            digest.update(repr(_code_key(thing.__code__)).encode())
            with contextlib.suppress(OSError, TypeError):
                files.add(inspect.getsourcefile(thing) or "")
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            defaults = [thing.__defaults__, *sorted((thing.__kwdefaults__ or {}).items())]
            named = [thing.__globals__[name] for name in sorted(_names(thing.__code__)) if name in thing.__globals__]
            return all(visit(reached) for reached in (*cells, *defaults, *named))
        if isinstance(thing, ModuleType):
            return thing.__name__ in ("math", "numpy")
        if isinstance(thing, (int, float, complex, str, bytes, bool, type(None))):
            digest.update(repr(thing).encode())
            return True
        if isinstance(thing, (tuple, list)):
            return all(visit(item) for item in thing)
        if isinstance(thing, np.ndarray):
            digest.update(thing.tobytes() + repr((thing.shape, thing.dtype)).encode())
            return True
        if isinstance(thing, type) or callable(thing):
            digest.update(repr(getattr(thing, "__qualname__", thing)).encode())
            return getattr(thing, "__module__", "") in ("builtins", "math", "numpy")
        return False

    known = visit(function)
    for path in sorted(files) if files_too else ():
        if Path(path).exists():
            digest.update(Path(path).read_bytes())
    return digest.hexdigest() if known else None


def _names(code: Any) -> set[str]:
    """All global names that a function's code, and code inside it, may look up."""
    inner = (_names(constant) for constant in code.co_consts if hasattr(constant, "co_code"))
    return set(code.co_names).union(*inner)


def _code_key(code: Any) -> tuple[Any, ...]:
    inner = tuple(_code_key(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts)
    return (code.co_code, code.co_names, code.co_varnames, inner)


class _DiskCache(NullCache):
    """One compiled function under one key; a damaged or missing file means compiling anew."""

    def __init__(self, name: str, key: str):
        self._name = name
        self._key = key
        self._saved = False

    def _path(self, codegen: Any) -> Path:
        stamp = (
            self._key,
            numba.__version__,
            llvmlite.__version__,
            sys.version,
            platform.machine(),
            codegen.magic_tuple(),
        )
        digest = hashlib.sha256(repr(stamp).encode()).hexdigest()[:40]
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", self._name)[:60]
        return cache_folder() / f"{safe}-{digest}.bin"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        try:
            content = self._path(target_context.codegen()).read_bytes()
        except OSError:
            return None
        check, payload = content[:32], content[32:]
        if hashlib.sha256(payload).digest() != check:
            return None
        try:
            made = compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))
            self._saved = True
            return made
        except Exception:  # noqa: BLE001 - whatever is wrong with a cached file, compiling anew mends it
            return None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process compiles the same; without such a promise where files cannot be locked."""
        try:
            import fcntl

            cache_folder().mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256(self._key.encode()).hexdigest()[:40]
            lock = (cache_folder() / f".lock-{digest}").open("w")
        except (ImportError, OSError):
            yield
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # those who wait for this file find what was made; who comes later finds it without waiting
                Path(lock.name).unlink(missing_ok=True)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._saved:
            return
        self._saved = True
        payload = serialize.dumps(data._reduce())
        path = self._path(data.codegen)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        except OSError:
            return  # an unwritable cache costs time, never a run
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


_TELL: ContextVar[Callable[[str], None]] = ContextVar("who is told what is being compiled", default=lambda name: None)


@contextlib.contextmanager
def compiling_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell someone the name of what is compiled, before it is; what is found in the cache is not told."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


def _renamed(function: Callable[..., Any], key: str) -> Callable[..., Any]:
    """The same function under a name of its own.

    Numba numbers functions of one name in each process from the start, so that two of them from the cache, compiled by
    two processes, may have the same symbol: the second would be taken for the first.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    code, scope = function.__code__, function.__globals__
    twin = FunctionType(code, scope, function.__name__, function.__defaults__, function.__closure__)
    twin.__module__, twin.__qualname__ = function.__module__, f"{function.__qualname__}_{digest}"
    return twin


class Entry(CFunc):  # type: ignore[type-arg]
    """A compiled C function, loaded from the cache where it has a key."""

    def __init__(self, function: Callable[..., Any], signature: Any, name: str, key: str | None):
        if key is not None:
            function = _renamed(function, key)
        super().__init__(function, (signature.args, signature.return_type), {}, dict(OPTIONS))
        self._told = name
        self._cache: Any = NullCache() if key is None else _DiskCache(name, f"{key}:{signature}:{_OWN_SOURCE}")

    def _compile_uncached(self) -> Any:
        with self._cache.alone() if isinstance(self._cache, _DiskCache) else contextlib.nullcontext():
            # another process may have made it while this one waited
            signature, target = self._sig, self._targetdescr.target_context  # type: ignore[attr-defined]
            made = self._cache.load_overload(signature, target)
            if made is None:
                _TELL.get()(self._told)
                made = super()._compile_uncached()  # type: ignore[misc]
                self._cache.save_overload(signature, made)
        return made

    @property
    def place(self) -> int:
        """The address of the machine code."""
        return int(self.address or 0)


def compile_entry(function: Callable[..., Any], signature: Any, name: str, key: str | None) -> Entry:
    """Compile a function to a C entry point, through the cache where a key is given.

    The result must be kept alive as long as its address is in use.
    """
    if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(function)):
        raise CompileError(f"cannot compile {name!r}: compiled code cannot raise; return 1 to say that it failed")
    entry = Entry(function, signature, name, key)
    try:
        entry.compile()
    except (NumbaError, TypeError) as error:
        raise CompileError(f"cannot compile {name!r} to machine code: {error}") from error
    return entry


def double_bits(bits: int) -> float:
    """The number whose bits these are, as compiled code reads addresses among numbers."""
    return ctypes.c_double.from_buffer(ctypes.c_int64(bits)).value


def pointer_to(array: np.ndarray) -> int:
    """The address of a contiguous array's memory, for a compiled entry point."""
    return array.ctypes.data


def ctypes_entry(entry: Entry, result: Any, arguments: list[Any]) -> Any:
    """A compiled entry point as a Python callable that lets other threads run meanwhile."""
    return ctypes.CFUNCTYPE(result, *arguments)(entry.place)
