"""A progress bar in one line of any width: what is done, a bar, the share and the time left."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn
from rich.text import Text

# Longest bar, shortest bar, and how many characters of what is done are kept beside it, in a narrow terminal.
LONGEST, SHORTEST, WORD = 40, 4, 8


def bar(doing: str, total: float | None, began: float, *, by_clock: bool = False) -> Any:
    """A bar that is on the screen until it is stopped, and leaves nothing behind; ``began`` by the monotonic clock."""
    console = Console(stderr=True, highlight=False)
    shown = Progress(
        _Line(console, began, by_clock), console=console, transient=True, refresh_per_second=8, redirect_stdout=False,
        redirect_stderr=False,
    )  # fmt: skip
    shown.start()
    shown.add_task(doing, total=total)
    return shown


class _Line(ProgressColumn):
    """The whole line, made anew for the width that the terminal has now."""

    max_refresh = None

    def __init__(self, console: Console, began: float, by_clock: bool):
        super().__init__()
        self._console, self._began, self._by_clock = console, began, by_clock

    def render(self, task: Any) -> Text:
        passed = time.monotonic() - self._began
        done, left = (passed, task.total - passed) if self._by_clock else (task.completed, task.time_remaining)
        share = min(1.0, done / task.total) if task.total and done > 0 else None
        line = bar_line(task.description, share, left, passed, self._console.width - 1)
        text = Text(line, no_wrap=True, overflow="crop")
        text.highlight_regex("[━#]+", "cyan")
        text.highlight_regex("[─]+", "bright_black")
        return text


def bar_line(doing: str, share: float | None, left: float | None, elapsed: float, width: int) -> str:
    """What is done, how much of it and for how much longer; in a narrow line with less of the words and of the bar."""
    if share is None:
        right = clock(elapsed)
    else:
        right = f"{100 * share:3.0f} %" + (f" {clock(left)} left" if left is not None else "")
        right = right if width >= 40 else right.removesuffix(" left").replace(" %", "%")
    if len(right) >= width:
        return right[: max(0, width)]
    room = width - len(right) - 1
    length = (
        0 if share is None else min(LONGEST, max(SHORTEST, room - len(doing) - 1), room - min(WORD, len(doing)) - 1)
    )
    length = length if length >= SHORTEST else 0
    words = room - length - (1 if length else 0)
    told = doing if len(doing) <= words else doing[: max(0, words - 1)] + "…"[: max(0, words)]
    full = 0 if share is None else math.floor(length * share)
    signs = "━─" if _draws("━─") else "#-"
    return " ".join(filter(None, (told, signs[0] * full + signs[1] * (length - full), right)))


def clock(seconds: float) -> str:
    """Minutes and seconds, and hours where there are any."""
    whole = math.ceil(min(max(seconds, 0.0), 359999))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _draws(signs: str) -> bool:
    try:
        signs.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
