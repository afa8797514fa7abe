"""Long work in a thread of its own, which ends it in order at Ctrl-C: at a place where all that is done can be kept."""

from __future__ import annotations

import threading
from collections.abc import Callable

# Ctrl-C is heard after so long, s: a thread that waits does not, if another one was given the signal.
PAUSE = 0.1


def stoppable(work: Callable[[Callable[[], bool]], None]) -> None:
    """Do work, which asks by what it is given whether it shall stop, and then raises KeyboardInterrupt.

    Only the main thread hears Ctrl-C, perhaps several times; so the work, and what it does to be gone on with, is never
    broken off in the middle.
    """
    stop, over = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work(stop.is_set)
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            raised.append(error)
        finally:
            over.set()

    worker = threading.Thread(target=run)
    worker.start()
    while True:
        try:
            while not over.wait(PAUSE):
                pass
            break
        except KeyboardInterrupt:
            stop.set()
    if raised:
        raise raised[0]
    if stop.is_set():  # it came when all was done
        raise KeyboardInterrupt
