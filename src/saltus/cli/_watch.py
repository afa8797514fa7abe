"""A run drawn in the terminal while it goes on: when a frame is due, and a screen that is left as it was found."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from saltus.engine import Live, Trajectory
from saltus.hybrid import HybridSystem
from saltus.show._terminal import Scene, View, frame, nice

# Frames in a second, and how long one that is late may be awaited, s.
RATE, LATE = 25.0, 0.1
# How long a run that is watched takes at least and at most, s, where no speed is given.
SHORT, LONG = 5.0, 20.0
# Another screen without a cursor, and back.
OPEN, CLOSE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?25h\x1b[?1049l"


def unable(stream: TextIO) -> str:
    """Why nothing can be drawn on a stream; empty if it can."""
    if not stream.isatty():
        return "standard error is not a terminal"
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return f"this terminal cannot move its cursor (TERM={os.environ.get('TERM', '')})"
    try:
        "⣿●◆○…".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return f"this terminal has no braille signs ({stream.encoding})"
    return ""


def usual_speed(duration: float) -> float:
    """Simulated seconds in one that passes: real time, slower for what is soon over and faster for what is long."""
    if duration <= 0:
        return 1.0
    if duration < SHORT:
        return 1.0 / nice(SHORT / duration)
    return max(1.0, nice(duration / LONG))


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and rows that can be drawn on; the last column stays empty, so that no line wraps."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns, rows = 0, 0
    return max(1, (columns or 80) - 1), max(1, (rows or 24) - 1)


class Watcher:
    """Draws a run while it is computed, at its speed where that is fast enough, and else as soon as there is news."""

    def __init__(self, system: HybridSystem, start: float, speed: float, stream: TextIO, before: Callable[[], None]):
        self._scene = Scene(system)
        self._view = View(self._scene)
        self._stream, self._before, self._speed = stream, before, speed
        self._due = self._shown = start
        self._began = self._drawn = -math.inf
        self._open = False
        self._colour = not os.environ.get("NO_COLOR")

    def __call__(self, live: Live) -> None:
        """Show every frame that is due up to where the run is; a run that is slower is shown as far as it is."""
        if not self._open:
            self._enter()
            self._began = time.monotonic() - self._due / self._speed
        late = live.t > self._shown and time.monotonic() - self._drawn > LATE
        if (live.t < self._due and not late) or live.interrupted():
            return
        run = live.record()
        while self._due <= live.t and not live.interrupted():
            self._wait(live)
            self._draw(run, self._due)
            # frames that are too late already are left out
            now = (time.monotonic() - self._began) * self._speed
            self._due = max(self._due + self._speed / RATE, min(now, live.t))
        if live.t > self._shown and time.monotonic() - self._drawn > LATE:
            self._draw(run, live.t)
            self._due = live.t + self._speed / RATE
        # what took long to compute is not made up for
        self._began = max(self._began, time.monotonic() - self._due / self._speed)

    def _wait(self, live: Live) -> None:
        """Until the next frame is due by the clock, or the run is to end."""
        while not live.interrupted():
            left = self._began + self._due / self._speed - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.05))

    def _draw(self, run: Trajectory, t: float) -> None:
        lines = self._frame(run, t, *size_of(self._stream))
        self._stream.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J")
        self._stream.flush()
        self._shown, self._drawn = t, time.monotonic()

    def _frame(self, run: Trajectory, t: float, columns: int, rows: int) -> list[str]:
        moment = self._scene.moment(run, t)
        note = f"speed {self._speed:g}"
        return frame(self._scene, moment, self._view, columns, rows, colour=self._colour, note=note)

    def _enter(self) -> None:
        self._before()
        self._open = True
        self._stream.write(OPEN)
        self._stream.flush()

    def leave(self) -> None:
        """Give the screen back as it was."""
        if self._open:
            self._open = False
            self._stream.write(CLOSE)
            self._stream.flush()

    def stop(self, number: int, frame: Any) -> None:
        """Ctrl-Z: give the screen back for as long as the run is stopped."""
        was = self._open
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        if was:
            self._open = True
            self._stream.write(OPEN)
            self._began += time.monotonic() - self._drawn

    def last(self, run: Trajectory) -> None:
        """The end of the run, to stay on the ordinary screen."""
        columns, rows = size_of(self._stream)
        lines = self._frame(run, run.end_time, columns, min(rows, max(8, rows // 2)))
        self._stream.write("\n".join(line.rstrip() for line in lines) + "\n")
        self._stream.flush()


@contextlib.contextmanager
def watching(watcher: Watcher) -> Iterator[Watcher]:
    """A watcher whose screen is closed whatever happens, also where the command is stopped or ended from outside."""
    kept: dict[Any, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name, act in (("SIGTSTP", watcher.stop), ("SIGTERM", _end)):
            if hasattr(signal, name):
                kept[getattr(signal, name)] = signal.signal(getattr(signal, name), act)
    try:
        yield watcher
    finally:
        watcher.leave()
        for number, before in kept.items():
            signal.signal(number, before)


def _end(number: int, frame: Any) -> None:
    sys.exit(128 + number)
