"""The one family of errors: what was given, what is allowed, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltus.engine._batch import Batch
    from saltus.engine._trajectory import Trajectory


class SaltusError(Exception):
    """Base of every error that saltus raises on purpose."""


class InputError(SaltusError, ValueError):
    """A value was refused before any work was done."""


class UnknownName(InputError):
    """A name is not among those allowed."""


class RunFailed(SaltusError):
    """A run ended in a status other than success; the trajectory so far is in ``run``."""

    def __init__(self, message: str, run: Trajectory):
        super().__init__(message)
        self.run = run


# Whoever presses Ctrl-C wants all to stop: what catches errors, to try elsewhere, must not catch these.


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; the trajectory so far is in ``run``."""

    def __init__(self, message: str, run: Trajectory):
        super().__init__(message)
        self.run = run


class BatchInterrupted(KeyboardInterrupt):
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
