"""The one family of errors: what was given, what is allowed, what to do."""

from __future__ import annotations

import copy
import difflib
import pickle
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.engine._batch import Batch
    from saltus.engine._trajectory import Trajectory


class SaltusError(Exception):
    """Base of every error that saltus raises on purpose."""


class InputError(SaltusError, ValueError):
    """A value was refused before any work was done."""


class NotSendable(SaltusError, pickle.PicklingError):
    """Something cannot be sent to another process; raised where it is sent."""


class UnknownName(InputError):
    """A name is not among those allowed."""


class _Carries:
    """An error that carries what was made so far.

    Where that cannot be sent to another process, or not be read there, the error arrives without it and says so: a
    pool of processes would wait for ever for an error that cannot be read.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __copy__(self) -> Any:
        return _remade(type(self), str(self), vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _remade(type(self), str(self), {name: _copied(value, memo) for name, value in vars(self).items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (type(self), str(self), {name: _sent(value) for name, value in self.__dict__.items()})


def _sent(value: Any) -> bytes | str:
    """A value as pickle sends it, or why it cannot."""
    try:
        return pickle.dumps(value)
    except Exception as error:  # noqa: BLE001 - things of a user's own may fail in any way
        return f"{type(error).__name__}: {error}"


def _received(kind: type[BaseException], message: str, sent: dict[str, bytes | str]) -> BaseException:
    carried: dict[str, Any] = {}
    lost: list[str] = []
    for name, value in sent.items():
        carried[name] = None
        try:
            if isinstance(value, str):
                lost.append(f"{name} stayed in the process that made it ({value})")
            else:
                carried[name] = pickle.loads(value)
        except Exception as error:  # noqa: BLE001 - as above
            lost.append(f"{name} cannot be read here ({type(error).__name__}: {error})")
    return _remade(kind, "; ".join([message, *lost]), carried)


def _remade(kind: type[Any], message: str, carried: Mapping[str, Any]) -> Any:
    made: Any = kind.__new__(kind, message)
    made.__dict__.update(carried)
    return made


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A copy, or the thing itself where it cannot be copied, as with a lock in it."""
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001 - things of a user's own may fail in any way
        return value


def words(error: BaseException) -> str:
    """An error as Python would show it; its kind alone where it cannot say what it is."""
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - as above
        return f"{type(error).__name__}, which fails to say what it is"


class RunFailed(_Carries, SaltusError):
    """A run ended in a status other than success; the trajectory so far is in ``run``."""

    def __init__(self, message: str, run: Trajectory):
        super().__init__(message)
        self.run = run


# Whoever presses Ctrl-C wants all to stop: what catches errors, to try elsewhere, must not catch these.


class RunInterrupted(_Carries, KeyboardInterrupt):
    """A run was stopped by Ctrl-C; the trajectory so far is in ``run``."""

    def __init__(self, message: str, run: Trajectory):
        super().__init__(message)
        self.run = run


class BatchInterrupted(_Carries, KeyboardInterrupt):
    """Many runs were stopped by Ctrl-C; those made so far are in ``batch``."""

    def __init__(self, message: str, batch: Batch):
        super().__init__(message)
        self.batch = batch


class CompileError(SaltusError):
    """A controller, law or model could not be turned into machine code."""


class CacheWarning(UserWarning):
    """The cache of machine code could not be used; the run goes on and costs more time."""


def unknown_name(kind: str, given: object, allowed: Iterable[str], owner: str = "") -> UnknownName:
    """Build the error for a name that does not exist, naming the nearest that does."""
    names = sorted(allowed)
    text = str(given)
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.4)
    if not near:
        near = [name for name in names if name.lower() == text.lower()]
    where = f" of {owner}" if owner else ""
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(names) if names else "none"
    return UnknownName(f"unknown {kind}{where}: {text!r}.{hint} Known: {known}.")
