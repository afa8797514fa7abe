"""Files and texts from anywhere, read within limits: how long, how deep and how large they are is known before use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from saltus.errors import InputError

# No text that saltus reads is longer, bytes.
MOST_BYTES = 64_000_000

# How deep brackets or elements may lie in each other: far deeper than what saltus writes.
MOST_DEEP = 64

# Digits of a whole number: it is still a finite number of double precision.
MOST_DIGITS = 300

# What opens or closes in JSON; strings are passed over, also one that does not end.
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def read_bytes(path: Path) -> bytes:
    """All of a file that is not too long; what never ends is refused too."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{path} is longer than {MOST_BYTES // 1_000_000} MB; saltus reads no such text")
    return content


def read_text(path: Path) -> str:
    """A text in UTF-8 that is not too long; a mark at its beginning is left out."""
    return read_bytes(path).decode("utf-8-sig")


def parse_json(text: str) -> Any:
    """What a JSON text says; refused where brackets lie too deep or whole numbers are too long.

    Text that is no JSON raises `json.JSONDecodeError`.
    """
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > MOST_DEEP:
            raise InputError(f"brackets in brackets, more than {MOST_DEEP} deep, are no JSON that saltus reads")
    return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise InputError(f"a whole number has at most {MOST_DIGITS} digits, got one of {len(digits)}")
    return int(digits)
