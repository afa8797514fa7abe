"""Things made of expressions, as bytes: their expressions go in one stream, in which a symbol remains one symbol."""

from __future__ import annotations

import copyreg
import hashlib
import io
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import cloudpickle

from saltus._content import stream
from saltus._reading import read_bytes
from saltus.errors import InputError, NotSendable, SaltusError


@dataclass(frozen=True)
class Packed:
    """A thing as bytes, and the stream of its expressions.

    The first expression may be an anchor: the symbols of something that goes another way, to be found on arrival.
    """

    content: bytes
    expressions: str
    anchored: bool = False


def pack(thing: Any, what: str, anchor: Any = None) -> Packed:
    """A thing as it is sent; ``what`` it is, for the error where that cannot be."""
    file = io.BytesIO()
    packer = _Packer(file, [] if anchor is None else [anchor])
    try:
        packer.dump(thing)
    except NotSendable:
        raise
    except Exception as error:
        raise not_sendable(what, error) from error
    return Packed(file.getvalue(), stream(packer.expressions), anchor is not None)


def unpack(packed: Packed, anchor: Any = None) -> Any:
    """The thing again; with an anchor, in the symbols that this is made of."""
    expressions = ca.StringDeserializer(packed.expressions).unpack()
    if packed.anchored:
        old, *rest = expressions
        if old.shape != anchor.shape:
            raise SaltusError(
                f"what was sent has {old.numel()} symbols of its robot, and the robot has {anchor.numel()} here: use "
                "the same version of the robot in both processes"
            )
        expressions = [anchor, *(ca.substitute(rest, [old], [anchor]) if rest else [])]
    return _Unpacker(io.BytesIO(packed.content), expressions).load()


def sendable(thing: Any, what: str) -> Any:
    """A thing that pickle can send: itself, or packed, where functions and classes of a user's own go by value.

    Names of the script that runs go along with their values: another script has others.
    """
    try:
        by_name = pickle.dumps(thing)
    except Exception:  # noqa: BLE001 - things of a user's own may fail in any way
        return _OnItsWay(unpack, pack(thing, what))
    if not any(name in by_name for name in _SCRIPTS):
        return thing
    try:
        return _OnItsWay(_of_a_script, _script(), by_name, pack(thing, what))
    except NotSendable:  # only where the same script runs
        return thing


# What pickle calls the script that runs, and processes that were spawned by it do.
_SCRIPTS = (b"__main__", b"__mp_main__")


def _script() -> str | None:
    """What is in the script that runs; None where there is none, as in a notebook."""
    try:
        return hashlib.sha256(read_bytes(Path(sys.modules["__main__"].__file__))).hexdigest()  # type: ignore[arg-type]
    except (AttributeError, KeyError, TypeError, OSError, InputError):
        return None


def _of_a_script(script: str | None, by_name: bytes, by_value: Packed) -> Any:
    """A thing by its name where the same script runs, else by its value."""
    if script is not None and script == _script():
        try:
            return pickle.loads(by_name)
        except (AttributeError, ImportError):
            pass
    return unpack(by_value)


def not_sendable(what: str, error: BaseException) -> NotSendable:
    """Why something cannot be sent, and what to do."""
    return NotSendable(
        f"{what} cannot be sent to another process: {type(error).__name__}: {error}; keep open files, locks, threads "
        "and the like out of it, or open them where they are used"
    )


class _OnItsWay:
    """Stands for something that is made anew on arrival."""

    def __init__(self, make: Callable[..., Any], *parts: Any):
        self.made = make, parts

    def __reduce__(self) -> tuple[Any, ...]:
        return self.made


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    """Puts expressions into a list; functions of a user's own go by value, with the expressions that they use."""

    def __init__(self, file: Any, expressions: list[Any]):
        super().__init__(file, protocol=5)
        self.expressions = expressions
        self.places: dict[int, int] = {}

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, ca.SX):
            return None
        # the list holds what is in it, so that no other expression comes to have its id
        if id(thing) not in self.places:
            self.places[id(thing)] = len(self.expressions)
            self.expressions.append(thing)
        return self.places[id(thing)]

    def reducer_override(self, thing: Any) -> Any:
        # what packs itself when it goes alone shares symbols with what it is part of
        if getattr(type(thing), "shares_symbols", False):
            state = thing.parts() if hasattr(thing, "parts") else vars(thing)
            return copyreg.__newobj__, (type(thing),), state  # type: ignore[attr-defined]
        return super().reducer_override(thing)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: Any, expressions: list[Any]):
        super().__init__(file)
        self.expressions = expressions

    def persistent_load(self, place: Any) -> Any:
        return self.expressions[place]
