"""Where a search for gaits is, so that it can be resumed: places in its descents, and the file that has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from saltus._checkpoint import Checkpoint
from saltus._records import load_record, save_record
from saltus.errors import InputError
from saltus.gaits._gait import Gait

FORMAT = "saltus gait search 1"


@dataclass
class Place:
    """A point of a descent: which of several it is, how many of its steps are done, and the ends of those before."""

    z: np.ndarray
    descent: int = 0
    done: int = 0
    best: float | None = None
    way: np.ndarray | None = None
    length: float = 0.2
    ends: list[np.ndarray] = field(default_factory=list)

    def next(self) -> None:
        """The next descent begins where this one ends."""
        self.ends.append(self.z)
        self.descent, self.done, self.best, self.way, self.length = self.descent + 1, 0, None, None, 0.2


@dataclass
class Searching:
    """A search: at which random start it is, and where a start led to that is stable."""

    asked: Mapping[str, Any]
    number: int = 1
    place: Place | None = None
    found: np.ndarray | None = None


@dataclass
class Climbing:
    """A climb: the last gait and its rise, the next step, where it is on its way, and what led to the last gait."""

    asked: Mapping[str, Any]
    z: np.ndarray
    rise: float
    step: float
    place: Place | None = None
    reached: np.ndarray | None = None


class SearchFile:
    """The checkpoint of a search and of the climb after it; without a path, nothing is written."""

    def __init__(self, gait: Gait, path: str | Path | None, *, resume: bool = False):
        if resume and path is None:
            raise InputError("to resume a search, say from which checkpoint")
        self._path = None if path is None else Path(path)
        self._about = {
            "robot": gait.robot.name, "gait": gait.name, "parameters": dict(gait.robot.values),
            "knobs": {name: [knob.lower, knob.upper] for name, knob in gait.knobs.items()},
        }  # fmt: skip
        self.searching: Searching | None = None
        self.climbing: Climbing | None = None
        self._stored: Checkpoint | None = None
        self._snapshot: dict[str, Any] = {}
        if resume and self._path is not None:
            self._read(self._path)

    def search(self, asked: Mapping[str, float]) -> Searching:
        """Where a search is; one with other settings than the file's is refused."""
        if self.searching is None:
            self.searching = Searching(asked)
        self._check(self.searching.asked, asked)
        return self.searching

    def climb(self, begin: Climbing, *, resume: bool) -> Climbing:
        """Where a climb is, or where it begins."""
        if self.climbing is None or not resume:
            self.climbing = begin
        self._check(self.climbing.asked, begin.asked)
        return self.climbing

    @contextlib.contextmanager
    def stored(self) -> Iterator[None]:
        """While it works, its place is stored from time to time, and at the end or at Ctrl-C."""
        self._stored = Checkpoint(self._save)
        self._snapshot = self._content()
        try:
            yield
            self._snapshot = self._content()
        except KeyboardInterrupt:
            self._save()
            raise
        self._save()

    def look(self) -> None:
        """Remember a place from which the search can be resumed; store it if it is time."""
        self._snapshot = self._content()
        if self._stored is not None and self._stored.due():
            self._stored.try_to_save()

    def _save(self) -> None:
        # Ctrl-C may come between any two statements: what is stored is what was remembered whole
        if self._path is not None:
            save_record(self._path, FORMAT, self._snapshot)

    def _content(self) -> dict[str, Any]:
        parts = {"searching": self.searching, "climbing": self.climbing}
        return {"about": self._about, **{name: _plain(part) for name, part in parts.items()}}

    def _read(self, path: Path) -> None:
        content = load_record(path, FORMAT)
        try:
            self._check(content["about"], self._about)
            self.searching = _made(Searching, content["searching"])
            self.climbing = _made(Climbing, content["climbing"])
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"cannot resume from {path}: {type(error).__name__}: {error}") from None

    def _check(self, had: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        for name, value in wanted.items():
            if had.get(name) != value:
                raise InputError(f"{self._path} holds a search with {name} = {had.get(name)}, and wanted is {value}")


def _plain(value: Any) -> Any:
    """For JSON."""
    if isinstance(value, (Place, Searching, Climbing)):
        return {name: _plain(one) for name, one in vars(value).items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _made(kind: type[Any], content: dict[str, Any] | None) -> Any:
    """The same from JSON."""
    if content is None:
        return None
    values = {name: np.array(one, dtype=float) if isinstance(one, list) else one for name, one in content.items()}
    if "place" in content:
        values["place"] = _made(Place, content["place"])
    if "ends" in content:
        values["ends"] = list(values["ends"])
    return kind(**values)
