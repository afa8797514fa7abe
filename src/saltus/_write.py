"""Files written all or nothing: they are on the disk, whole, before they take their name."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from saltus.errors import InputError, SaltusError, unknown_name

# What nobody writes to for so long, and no process holds, is left over, s.
LEFT_OVER = 60.0


def check_path(path: Path, endings: Iterable[str], *, force: bool = True) -> None:
    """Refuse a path that could not be written, whose ending is not allowed, or an existing file without ``force``."""
    if path.suffix not in endings:
        raise unknown_name("file type", path.suffix, endings, str(path.name))
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: the folder {path.parent} is not writable")
    if path.exists() and not force:
        raise InputError(f"{path} exists already; take another name, or write over it by force (--force)")


def write(path: Path, content: bytes) -> Path:
    """Write a file; a failed write leaves nothing behind, and an older file as it was."""
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise SaltusError(f"cannot write {path}: {error.strerror or error}") from error
    return path


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of another at the end, and only if nothing failed.

    Parameters
    ----------
    private
        Nobody but the user may read or write it.
    lasting
        It survives a loss of power as soon as it has its name. What can be made anew in a moment does without.
    """
    if lasting:
        _remove_leftovers(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".new-{path.name[:100]}-", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file)
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        if not private:
            os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if lasting:
        _sync_folder(path.parent)


def _lock(file: IO[bytes]) -> bool:
    """Mark a file as one that a living process writes; whether it was not marked so."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they wrote this file have left: it may be large."""
    for left in path.parent.glob(f".new-{glob.escape(path.name[:100])}-*"):
        with contextlib.suppress(OSError):
            # a younger one may be about to be marked
            if time.time() - left.stat().st_mtime < LEFT_OVER or left.is_symlink():
                continue
            with left.open("rb") as file:
                if _lock(file):
                    left.unlink()


def _sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    except OSError:  # some network file systems sync no folders
        pass
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
