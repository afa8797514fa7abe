"""What a part of the verification has done so far: a line for each chunk in a file, so that it can be interrupted."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import saltus

SOURCE = Path(saltus.__file__).parent


@dataclass(frozen=True)
class Chunk:
    """Some runs of one robot, drawn together: the seed and the number say which."""

    part: str
    robot: str
    seed: int
    number: int
    count: int

    @property
    def name(self) -> str:
        """How it is named on the command line."""
        return f"{self.part}:{self.robot}:{self.number}"


@dataclass
class Outcome:
    """What a chunk found: counts by name, what disagreed and what was set aside, a line each."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreed: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Put another one's findings to these."""
        self.counts.update(other.counts)
        self.disagreed += other.disagreed
        self.listed += other.listed


def version() -> str:
    """Digest of the whole program and of this suite: results of another version are not resumed."""
    digest = hashlib.sha256()
    for folder in (SOURCE, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Ledger:
    """The file of a run of the suite."""

    def __init__(self, path: Path):
        self.path = path
        self.version = version()
        self.known = self._read()

    def _read(self) -> dict[str, Outcome]:
        known = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:  # the last line of a process that was killed
                continue
            if entry["version"] == self.version:
                known[self._key(Chunk(**entry["chunk"]))] = Outcome(
                    Counter(entry["counts"]), entry["disagreed"], entry["listed"]
                )
        return known

    @staticmethod
    def _key(chunk: Chunk) -> str:
        return json.dumps(asdict(chunk), sort_keys=True)

    def work(self, chunks: Iterable[Chunk], do: Callable[[Chunk], Outcome], until: float) -> tuple[Outcome, int]:
        """Do the chunks that are not yet done, until a time: their findings, and how many are left."""
        total, left = Outcome(), 0
        wanted = list(chunks)
        begin = time.monotonic()
        for k, chunk in enumerate(wanted):
            key = self._key(chunk)
            if key not in self.known:
                if time.monotonic() > until:
                    left += 1
                    continue
                self.known[key] = do(chunk)
                self._write(chunk, self.known[key])
            total.add(self.known[key])
            self._show(chunk, k + 1, len(wanted), total, time.monotonic() - begin)
        print(file=sys.stderr)
        return total, left

    def _write(self, chunk: Chunk, outcome: Outcome) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"version": self.version, "chunk": asdict(chunk), **vars(outcome)}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    @staticmethod
    def _show(chunk: Chunk, done: int, of: int, total: Outcome, seconds: float) -> None:
        words = f"{chunk.part}: {done} of {of} chunks, {seconds:.0f} s, {len(total.disagreed)} disagreed"
        print(f"\r{words:<70}", end="", file=sys.stderr, flush=True)
