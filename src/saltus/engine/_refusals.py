"""Which of many runs cannot start, and why: one sentence each, that of the error which the run alone would raise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from saltus.errors import InputError, SaltusError, UnknownName

# A number that stands by itself, not a digit of a name such as theta1.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


class Refusals:
    """Runs that cannot start: ``refused`` marks them, ``reasons`` has the first reason of each by its number."""

    def __init__(self, count: int):
        self.refused = np.zeros(count, dtype=bool)
        self.reasons: dict[int, str] = {}

    def check(self, suspects: np.ndarray, explain: Callable[[int], Any]) -> None:
        """Refuse those of the suspects for which ``explain``, the check of a run alone, raises an error."""
        for run in np.flatnonzero(suspects & ~self.refused).tolist():
            self.attempt(run, explain)

    def attempt(self, run: int, action: Callable[[int], Any]) -> Any:
        """What an action gives for a run; a run for which it raises an error is refused, and nothing is given.

        A name that does not exist is a mistake of the caller, not of the run: the error is raised.
        """
        try:
            return action(run)
        except UnknownName as error:
            raise UnknownName(f"run {run}: {error}") from None
        except SaltusError as error:
            self.refused[run], self.reasons[run] = True, str(error)
            return None

    def raise_first(self) -> None:
        """Raise the reason of the first run, where it is that of all."""
        if self.refused[0]:
            raise InputError(self.reasons[0])


def kinds_of(sentences: Iterable[str]) -> dict[str, Counter[str]]:
    """Sentences that are the same but for their numbers, by a sentence for each kind, the most frequent kind first.

    A kind whose numbers differ has dots in their places.
    """
    kinds: dict[str, Counter[str]] = {}
    for sentence, count in Counter(sentences).items():
        kinds.setdefault(_NUMBER.sub("...", sentence), Counter())[sentence] = count
    named = {(next(iter(alike)) if len(alike) == 1 else kind): alike for kind, alike in kinds.items()}
    return dict(sorted(named.items(), key=lambda item: (-item[1].total(), item[0])))


def tally(sentences: Iterable[str]) -> dict[str, int]:
    """How many sentences there are of each kind, the most frequent first."""
    return {kind: alike.total() for kind, alike in kinds_of(sentences).items()}
