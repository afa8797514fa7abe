"""Files that saltus writes to read them again: each has a format, what made it, and a digest that is checked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus._provenance import provenance
from saltus._reading import parse_json, read_text
from saltus._write import replacing, write
from saltus.errors import InputError, SaltusError

if TYPE_CHECKING:
    import numpy as np

# The words of a file of arrays take at most so many bytes.
MOST_WORDS = 8_000_000

# Names that every record has besides its content.
_OWN = ("format", "made_with", "digest")


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Write results for other programs: their content, and what made it."""
    return write(path, _json({"made_with": provenance(), **content}))


def save_record(path: Path, kind: str, content: Mapping[str, Any]) -> Path:
    """Write a record as JSON, all or nothing; ``kind`` is its format, such as ``saltus gait 1``."""
    whole = {**content, "format": kind, "made_with": provenance()}
    return write(path, _json({**whole, "digest": _digest_of_words(whole)}))


def load_record(path: Path, kind: str) -> dict[str, Any]:
    """The content of a record; refused if it is of another kind, or is not what was written."""
    try:
        content = parse_json(read_text(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path} is no JSON, or damaged: {error}") from None
    _check_kind(path, content, kind)
    if content.pop("digest", None) != _digest_of_words(content):
        raise InputError(
            f"{path} is damaged or was edited: its numbers are not those that were written; options of the command "
            "change numbers"
        )
    return {name: value for name, value in content.items() if name not in _OWN}


def save_arrays(path: Path, kind: str, head: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write words and arrays to a file, .npz, all or nothing. Nothing in it is compressed: it never expands."""
    import numpy as np

    words = json.dumps({**head, "format": kind, "made_with": provenance()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.savez(file, head=np.array(words), digest=np.array(_digest(words, arrays)), **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise SaltusError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def load_arrays(path: Path, kind: str, names: Collection[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Words and arrays of a file; refused before anything is expanded if they would take more room than the file."""
    try:
        if path.exists() and not path.is_file():  # one without end would be read to its end
            raise InputError("it is no plain file")
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            if max(sizes.get(f"{name}.npy", 0) for name in ("head", "digest")) > MOST_WORDS:
                raise InputError(f"its words take more than {MOST_WORDS // 1_000_000} MB")
            words, digest = (str(_array(archive, name)) for name in ("head", "digest"))
            head = parse_json(words)
            _check_kind(path, head, kind)
            _check_sizes(archive, os.fstat(file.fileno()).st_size, names)
            arrays = {name: _array(archive, name) for name in names if f"{name}.npy" in sizes}
    except _OtherKind:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001 - a damaged archive fails in many ways
        raise InputError(f"{path} is not a file of {kind!r}, or damaged: {error}") from None
    if digest != _digest(words, arrays):
        raise InputError(f"{path} is damaged: its numbers are not those that were written")
    return {name: value for name, value in head.items() if name not in _OWN}, arrays


class _OtherKind(InputError):
    """A file of another kind, or of another version."""


def _check_kind(path: Path, content: Any, kind: str) -> None:
    given = content.get("format") if isinstance(content, dict) else None
    if not isinstance(given, str):
        raise _OtherKind(f"{path} is no file of saltus, or damaged: it does not name its format; this is for {kind!r}")
    if given != kind:
        raise _OtherKind(f"{path} is a file of another kind, {given!r}; this is for {kind!r}")


def _check_sizes(archive: zipfile.ZipFile, size: int, names: Collection[str]) -> None:
    """Refuse parts that are not to be there, or that would take more room in memory than on disk."""
    parts = archive.infolist()
    given = [part.filename.removesuffix(".npy") for part in parts]
    if not {"head", "digest"} <= set(given) <= {"head", "digest", *names}:
        raise InputError(f"its parts are {', '.join(given[:20])}")
    whole = sum(part.file_size for part in parts)
    if whole > size:
        raise InputError(f"it would expand from {size:,} to {whole:,} bytes; saltus writes no such file")


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of an archive; its shape is compared with its size before there is room for it."""
    import numpy as np

    part = archive.getinfo(f"{name}.npy")
    with archive.open(part) as stream:
        version = np.lib.format.read_magic(stream)  # type: ignore[no-untyped-call]
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, kind = readers[version](stream)  # type: ignore[no-untyped-call]
        if kind.hasobject or stream.tell() + math.prod(shape) * kind.itemsize != part.file_size:
            raise InputError(f"{name} has not the size that it says")
    with archive.open(part) as stream:
        made: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)  # type: ignore[no-untyped-call]
    return made


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=1).encode()


def _digest_of_words(content: Mapping[str, Any]) -> str:
    """Of all that a record says, in whatever order and layout."""
    return _digest(json.dumps(content, sort_keys=True), {})


def _digest(words: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Of all that a file says: words, kinds and shapes of arrays, and their numbers."""
    import numpy as np

    digest = hashlib.blake2b(words.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {arrays[name].flags.f_contiguous} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
