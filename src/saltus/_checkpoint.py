"""When the state of long work goes to its file: at least every 10 s, unless writing took over 5 % of the time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from saltus.errors import SaltusError

# After so long at most a checkpoint is written, s; and never more often than writing takes this share of the time.
LONGEST, SHARE = 10.0, 0.05


class Checkpoint:
    """The file of long work; ``save`` writes all that is needed to resume it."""

    def __init__(self, save: Callable[[], object]):
        self._save, self._took = save, 0.0
        self._last = self._looked = time.monotonic()
        self._pause = 0.0

    def save(self) -> None:
        """Write it now."""
        begin = time.monotonic()
        self._save()
        self._last = self._looked = time.monotonic()
        self._took = self._last - begin

    def due(self) -> bool:
        """Whether it is time: by the next look, which comes after as long as this one did, it would be late."""
        now = time.monotonic()
        self._pause, self._looked = max(now - self._looked, 0.5 * self._pause), now
        since = now - self._last
        return since + self._pause > LONGEST and since * SHARE >= (1 - SHARE) * self._took

    def try_to_save(self) -> None:
        """Write it now. A disk that is full is no reason to lose the work: a warning says so."""
        try:
            self.save()
        except SaltusError as error:
            warnings.warn(f"no checkpoint: {error}", stacklevel=2)
            self._last = time.monotonic()
