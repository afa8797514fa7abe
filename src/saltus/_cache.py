"""Machine code on disk: one file for one key, whole or absent; a fault of the folder costs time, never a run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import pickle
import platform
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
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

from saltus._write import replacing
from saltus.errors import CacheWarning

# What a file begins with; its digest and the code follow.
_HEAD = b"saltus machine code 3\n"
_DIGEST = hashlib.sha256().digest_size

# How long a process waits for another that compiles the same, s: some ten times what the largest part takes.
LONGEST_WAIT = 300.0

# After so long a warning says which process is waited for, s: few parts take as long.
LONG_WAIT = 60.0

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
        base = _home() / "Library" / "Caches"
    else:
        # whoever defined the variable says that a relative one is not valid, and is ignored
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = named if named.is_absolute() else _home() / ".cache"
    return base / "saltus"


def _home() -> Path:
    if os.environ.get("HOME") != "":
        return Path.home()
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise RuntimeError("Could not determine home directory.") from None


def _make(folder: Path) -> None:
    """Make a folder into which nobody else may write, whatever the user's mask is."""
    for place in reversed(folder.absolute().parents):
        if not place.exists():
            place.mkdir(mode=0o755, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _whose(status: os.stat_result) -> str:
    """Who else may have written a file or folder, in words; nothing if nobody but this user and the system."""
    if not hasattr(os, "getuid"):
        return ""
    # where users of a computer are mapped, the system's is that of the root folder
    if status.st_uid not in (os.getuid(), 0, Path(os.sep).stat().st_uid):
        return "belongs to another user"
    others = 0o002 if _alone_in(status.st_gid) else 0o022
    return "may be written by others" if stat.S_IMODE(status.st_mode) & others else ""


@lru_cache(maxsize=64)
def _alone_in(group: int) -> bool:
    """Whether a group is the user's own, which nobody else is in: such groups have the user's name."""
    import grp
    import pwd

    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return found.gr_gid == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _foreign(folder: Path) -> str:
    """Which folder or link on the way to a folder others may exchange, in words; nothing if none.

    In a folder such as /tmp, where all may write and each removes only what is theirs, others exchange nothing.
    """
    places = list(_way(folder.absolute()))
    for k, place in enumerate(places):
        status = place.lstat()
        link, last = stat.S_ISLNK(status.st_mode), k == len(places) - 1
        if not link and not stat.S_ISDIR(status.st_mode):
            return ""  # nothing can lie in it
        shared = status.st_mode & stat.S_ISVTX and not last
        mode = status.st_mode & ~0o022 if link or shared else status.st_mode
        if whose := _whose(os.stat_result((mode, *status[1:]))):
            return f"{place} {whose}"
    return ""


def _way(folder: Path) -> Iterator[Path]:
    """Every folder and link that is passed on the way to a folder."""
    at, rest = Path(folder.anchor), list(reversed(folder.parts[1:]))
    yield at
    for _ in range(1000):
        if not rest:
            return
        step = rest.pop()
        if step == "..":
            at = at.parent
            yield at
            continue
        place = at / step
        yield place
        if not place.is_symlink():
            at = place
            continue
        target = place.readlink()
        if target.is_absolute():
            at = Path(target.anchor)
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))


def _say_once(kind: str, text: str) -> None:
    """Warn of a fault of the cache, once in a process for each kind of fault."""
    if kind not in _SAID:
        _SAID.add(kind)
        warnings.warn(text, CacheWarning, stacklevel=2)


def _say_foreign(what: str) -> None:
    _say_once(
        "foreign",
        f"{what}: machine code that others may have written is not used, and saltus compiles again. Set SALTUS_CACHE "
        "to a folder of your own, or take the permission to write from others (chmod go-w)",
    )


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
        if not self._own(path.parent):
            return None
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        with path.open("rb") as file:
            if whose := _whose(os.fstat(file.fileno())):
                _say_foreign(f"{path} {whose}")
                return None
            return file.read()

    @staticmethod
    def _own(folder: Path) -> bool:
        """Whether nobody else may change what is in a folder."""
        foreign = _foreign(folder)
        if foreign:
            _say_foreign(foreign)
        return not foreign

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
        place, held = lock
        with held:
            try:
                yield
            finally:
                # those who wait for this file find what was made; who comes later finds it without waiting
                place.unlink(missing_ok=True)

    def _locked(self, wait: Callable[[], None]) -> Any:
        import fcntl

        def taken() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        _make(cache_folder())
        if not self._own(cache_folder()):
            return None
        digest = hashlib.sha256(self._key.encode()).hexdigest()[:40]
        # never through a link, and nothing that is there is cut off
        how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        place = cache_folder() / f".lock-{digest}"
        lock = os.fdopen(os.open(place, how, 0o600), "r+b", buffering=0)
        try:
            if not taken():
                wait()
                self._wait_for(taken, lock)
            lock.truncate(0)
            lock.write(str(os.getpid()).encode())
        except TimeoutError:
            lock.close()
            return None
        except BaseException:
            lock.close()
            raise
        return place, lock

    def _wait_for(self, taken: Callable[[], bool], lock: Any) -> None:
        """Wait for another process, but not for ever; after a while a warning says for which."""
        began = time.monotonic()
        while not taken():
            waited = time.monotonic() - began
            if waited > LONGEST_WAIT:
                _say_once(
                    "lock",
                    f"another process has been compiling {self._name} for {LONGEST_WAIT:g} s; saltus compiles it "
                    "too, and goes on",
                )
                raise TimeoutError
            if waited > LONG_WAIT:
                _say_once(
                    "wait",
                    f"{_holder(lock)} has been compiling {self._name} for {LONG_WAIT:g} s; saltus waits for it, at "
                    f"most {LONGEST_WAIT:g} s. If it was stopped, let it go on or end it",
                )
            time.sleep(0.05)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._saved:
            return
        self._saved = True
        parts = data._reduce()
        payload = serialize.dumps((called_symbols(parts[0]), _portable(parts)))
        path = self.path(data.codegen)
        try:
            _make(path.parent)
            if self._own(path.parent):
                # what a loss of power cuts off is seen by its digest, and compiled again
                with replacing(path, private=True, lasting=False) as file:
                    file.write(_HEAD + hashlib.sha256(payload).digest() + payload)
        except OSError as error:
            _say_once(
                "write",
                f"machine code cannot be stored in {path.parent} ({error}); saltus runs, and compiles again next time. "
                "Set SALTUS_CACHE to a folder that can be written",
            )


def _holder(lock: Any) -> str:
    """The process that holds a lock, as it wrote itself into it."""
    lock.seek(0)
    number = lock.read(20).decode(errors="replace")
    return f"process {number}" if number.isdigit() else "another process"
