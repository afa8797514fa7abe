"""Words of the command line: name=value options, progress, JSON."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from saltus.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Out = Annotated[Path, typer.Option(help="The folder to write files to.")]
Robot = Annotated[str, typer.Argument(help="Which robot; see `saltus list`.")]

# A progress bar comes after so long, and is told something new after so long, s.
AFTER, LEAST_PAUSE = 1.0, 0.1


class Progress:
    """A progress bar on standard error, from one second on, where a person watches; it says how long is left.

    Without a total it says how long it has been; ``by_clock`` the total is a time, s, that passes by itself. What is
    compiled meanwhile, once for all, is told instead.
    """

    def __init__(self, total: float | None = None, *, quiet: bool, doing: str = "simulating", by_clock: bool = False):
        self._total, self._doing, self._text, self._done = total, doing, doing, -math.inf
        self._by_clock = by_clock
        self._wanted = not quiet and sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
        self._began, self._told = time.monotonic(), 0.0
        self._bar: Any = None
        self._lock, self._over = threading.Lock(), False
        self._with = contextlib.ExitStack()

    def __enter__(self) -> Callable[..., None]:
        if self._wanted:
            from saltus._native import compiling_told

            self._with.enter_context(compiling_told(self._compiling))
            timer = threading.Timer(AFTER, self._open)
            timer.daemon = True
            timer.start()
            self._with.callback(timer.cancel)
        return self._show

    def __exit__(self, *_: object) -> None:
        self._with.close()
        self.close()

    def close(self) -> None:
        """Remove the bar; it does not come again."""
        with self._lock:
            self._over = True
            bar, self._bar = self._bar, None
        if bar is not None:
            try:
                bar.stop()
            finally:  # whatever Ctrl-C left undone
                print("\x1b[?25h", end="", file=sys.stderr, flush=True)

    def _open(self) -> None:
        from saltus.cli._bar import bar

        with self._lock:
            if not self._over:
                self._bar = bar(self._text, self._total, self._began, by_clock=self._by_clock)
                self._update()

    def _show(self, done: float, found: str = "") -> None:
        self._done, self._text = done, " ".join(filter(None, (self._doing, found)))
        self._update_now_and_then()

    def _compiling(self, name: str) -> None:
        self._text = f"compiling {name}, once"
        self._update_now_and_then()

    def _update_now_and_then(self) -> None:
        if self._wanted and time.monotonic() - self._told >= LEAST_PAUSE:
            self._told = time.monotonic()
            with self._lock:
                if self._bar is not None:
                    self._update()

    def _update(self) -> None:
        known = {"completed": self._done} if math.isfinite(self._done) else {}
        self._bar.update(self._bar.task_ids[0], description=self._text, **known)


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Options given as name=value."""
    found: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} takes name=value, got {text!r}")
        if name.strip() in found:
            raise InputError(f"{option}: {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found


def numbers(given: list[str] | None, option: str) -> dict[str, float]:
    """Options given as name=number."""
    return {name: number(value, f"{option} {name}") for name, value in pairs(given, option).items()}


def number(text: str, where: str) -> float:
    """A number, or one in degrees."""
    scale = 1.0
    digits = text
    if text.endswith("deg"):
        digits, scale = text[:-3], math.pi / 180
    try:
        return float(digits) * scale
    except ValueError:
        raise InputError(f"{where} must be a number (or one in degrees, such as 30deg), got {text!r}") from None


def print_json(content: Any) -> None:
    """Print one JSON object on one line."""
    print(json.dumps(plain(content), allow_nan=False))


def plain(value: Any) -> Any:
    """JSON has no NaN or infinity: they become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_tree(content: Mapping[str, Any], indent: str = "") -> None:
    """Print names and values, indented by their depth."""
    for key, value in content.items():
        if isinstance(value, Mapping) and {"value", "unit", "about"} <= set(value):
            default = "(needed)" if value.get("needed") else _shown(value["value"])
            words = (default, value["unit"], f" {value['about']}")
            print(f"{indent}{key:<16} {' '.join(word for word in words if word.strip())}")
        elif isinstance(value, Mapping):
            print(f"{indent}{key}")
            print_tree(value, indent + "  ")
        elif isinstance(value, list):
            print(f"{indent}{key:<16} {', '.join(map(str, value))}")
        else:
            print(f"{indent}{key:<16} {value}")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(json.dumps(plain(value), default=str))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table on standard output."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for name in columns:
        table.add_column(name, overflow="fold")  # a number that is cut off is none
    for row in rows:
        table.add_row(*row)
    # where no person watches, lines are as long as they need to be
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 400).print(table)


# How many reasons are printed, the most frequent ones.
_REASONS = 8


def print_reasons(counts: Mapping[str, int], of: int, what: str) -> None:
    """Print how many of something have no result and why, the most frequent reason first."""
    for reason, count in list(counts.items())[:_REASONS]:
        print(f"{count} of {of} {what}: {reason}")
    others = list(counts.values())[_REASONS:]
    if others:
        print(f"{sum(others)} of {of} {what}: {len(others)} other reasons")


def folder(path: Path) -> Path:
    """A folder to write to, made if it is not there."""
    if path.exists() and not path.is_dir():
        raise InputError(f"cannot write to {path}: it is not a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"cannot write to {path}: the folder is not writable")
    return path
