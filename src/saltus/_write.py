"""Files written all or nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from saltus.errors import InputError, SaltusError, unknown_name


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
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".saltus-", suffix=path.suffix)
    except OSError as error:
        raise SaltusError(f"cannot write {path}: {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise SaltusError(f"cannot write {path}: {error}") from error
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
