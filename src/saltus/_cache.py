"""Machine code on disk: one file for one key, whole or absent; a fault of the folder costs time, never a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import re
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import compiler, serialize
from numba.core.caching import NullCache
from numba.core.environment import Environment, _rebuild_env
from numba.core.runtime import rtsys

from saltus.errors import CacheWarning

# What a file begins with; its digest and the code follow.
_HEAD = b"saltus machine code 3\n"
_DIGEST = hashlib.sha256().digest_size

# How long a process waits for another that compiles the same, s: some ten times what the largest part takes.
LONGEST_WAIT = 300.0

_SAID: set[str] = set()


def cache_folder() -> Path:
    """Where compiled code is stored: ``SALTUS_CACHE`` or the user's cache folder; nowhere if the user has no home."""
    try:
        return _chosen_folder()
    except RuntimeError as error:
        # of the same kind as a folder that cannot be written, so that it is said once
        _say_once(
            "write",
            f"machine code is not stored ({error}); saltus runs, and compiles again next time. Set SALTUS_CACHE to a "
            "folder that can be written",
        )
        return Path(os.devnull) / "saltus"


def _chosen_folder() -> Path:
    # a variable that is set to nothing is not set
    chosen = os.environ.get("SALTUS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "saltus"


def _make(folder: Path) -> None:
    """Make a folder into which nobody else may write, whatever the user's mask is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _whose(status: os.stat_result) -> str:
    """Who else may have written a file or folder, in words; nothing if nobody but this user and the system."""
    if not hasattr(os, "getuid"):
        return ""
    if status.st_uid not in (os.getuid(), 0):
        return "belongs to another user"
    return "may be written by others" if stat.S_IMODE(status.st_mode) & 0o022 else ""


def _say_once(kind: str, text: str) -> None:
    """Warn of a fault of the cache, once in a process for each kind of fault."""
    if kind not in _SAID:
        _SAID.add(kind)
        warnings.warn(text, CacheWarning, stacklevel=2)


def called_symbols(library: Any) -> list[str] | None:
    """Names that the code of a serialised library uses and does not define; None where that cannot be known."""
    try:
        _, _, (_, bitcode) = library
        module = binding.parse_bitcode(bitcode)
        things = [*module.functions, *module.global_variables]
        return [thing.name for thing in things if thing.is_declaration and not thing.name.startswith("llvm.")]
    except Exception:  # noqa: BLE001 - another version of numba may serialise in another way
        return None


def _define(names: list[str] | None, target_context: Any) -> None:
    """Define what loaded code calls; a symbol that is missing would end the process.

    Numba's runtime has most of them. Where one is still missing, or nothing is known, the target is refreshed, which
    imports all of numba's library: half a second that most code does without.
    """
    try:
        rtsys.initialize(target_context)
    except AttributeError:  # another version of numba
        names = None
    if names is None or any(not binding.address_of_symbol(name) for name in names):
        target_context.refresh()


class _Portable:
    """An environment of numba as a file holds it: without the module of its function.

    Numba would import that module to load the code. Where the file has moved since, or is a plugin, there is none.
    """

    def __init__(self, environment: Environment):
        self._environment = environment

    def __reduce__(self) -> Any:
        return _rebuild_env, (__name__, self._environment.consts, self._environment.env_name)


def _portable(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_portable(item) for item in part)
    return _Portable(part) if isinstance(part, Environment) else part


class DiskCache(NullCache):
    """One compiled function under one key; a damaged or missing file means compiling again."""

    def __init__(self, name: str, key: str):
        self._name = name
        self._key = key
        self._saved = False

    def path(self, codegen: Any) -> Path:
        """The file of this function for a processor and for the versions in use."""
        stamp = (
            _HEAD,
            self._key,
            numba.__version__,
            llvmlite.__version__,
            np.__version__,
            sys.version,
            platform.machine(),
            codegen.magic_tuple(),
        )
        digest = hashlib.sha256(repr(stamp).encode()).hexdigest()[:40]
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", self._name)[:60]
        return cache_folder() / f"{safe}-{digest}.bin"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        path = self.path(target_context.codegen())
        try:
            content = self._content(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            _say_once("read", f"the cache of machine code cannot be read ({error}); saltus compiles again")
            return None
        if content is None:
            return None
        payload = content[len(_HEAD) + _DIGEST :]
        if content[: len(_HEAD) + _DIGEST] != _HEAD + hashlib.sha256(payload).digest():
            _say_once("damaged", f"{path} is damaged or of another version; saltus compiles again and replaces it")
            return None
        try:
            names, parts = pickle.loads(payload)
            _define(names, target_context)
            made = compiler.CompileResult._rebuild(target_context, *parts)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a stored file, compiling again mends it
            _say_once("damaged", f"{path} cannot be used ({error}); saltus compiles again and replaces it")
            return None
        self._saved = True
        return made

    def _content(self, path: Path) -> bytes | None:
        """What is in a file; None where somebody else may have put it there, for it would be executed."""
        with path.open("rb") as file:
            for place, status in ((path.parent, path.parent.stat()), (path, os.fstat(file.fileno()))):
                if whose := _whose(status):
                    _say_once(
                        "foreign",
                        f"{place} {whose}: machine code in it is not used, and saltus compiles again. Set SALTUS_CACHE "
                        "to a folder of your own, or take the permission to write from others (chmod go-w)",
                    )
                    return None
            return file.read()

    @contextlib.contextmanager
    def alone(self, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """While no other process compiles the same; ``wait`` is called before waiting for one that does, and may raise.

        Where files cannot be locked, or the other process takes too long, two processes may compile the same, and the
        last one's file stays.
        """
        try:
            lock = self._locked(wait)
        except (ImportError, OSError):
            lock = None
        if lock is None:
            yield
            return
        with lock:
            try:
                yield
            finally:
                # those who wait for this file find what was made; who comes later finds it without waiting
                Path(lock.name).unlink(missing_ok=True)

    def _locked(self, wait: Callable[[], None]) -> Any:
        import fcntl

        def taken() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        _make(cache_folder())
        digest = hashlib.sha256(self._key.encode()).hexdigest()[:40]
        lock = (cache_folder() / f".lock-{digest}").open("w")
        try:
            if taken():
                return lock
            wait()
            latest = time.monotonic() + LONGEST_WAIT
            while not taken():
                if time.monotonic() > latest:
                    _say_once(
                        "lock",
                        f"another process has been compiling {self._name} for {LONGEST_WAIT:g} s; saltus compiles it "
                        "too, and goes on",
                    )
                    lock.close()
                    return None
                time.sleep(0.05)
        except BaseException:
            lock.close()
            raise
        return lock

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._saved:
            return
        self._saved = True
        parts = data._reduce()
        payload = serialize.dumps((called_symbols(parts[0]), _portable(parts)))
        path = self.path(data.codegen)
        temporary = None
        try:
            _make(path.parent)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(_HEAD + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
            _say_once(
                "write",
                f"machine code cannot be stored in {path.parent} ({error}); saltus runs, and compiles again next time. "
                "Set SALTUS_CACHE to a folder that can be written",
            )
