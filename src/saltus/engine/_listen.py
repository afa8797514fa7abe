"""Who wants to see every run and every batch that is made, such as a verb that answers for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltus.engine._batch import Batch
    from saltus.engine._trajectory import Trajectory

    Listener = Callable[[Trajectory | Batch], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def every_result(listener: Listener) -> Iterator[None]:
    """Call a function with each run and each batch that is made meanwhile, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def was_made(result: Trajectory | Batch) -> None:
    """Show a result to who wants to see it."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(result)
