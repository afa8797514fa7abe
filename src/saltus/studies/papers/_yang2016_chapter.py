"""What a chapter of [yang2016] is made of here, and how what comes of it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saltus.studies import Correction, Drawing, Number

NOT_PRINTED = "not printed: given here"

# Up to what difference a printed formula is the derived one.
SAME = 1e-10

# A number that the thesis has read off a graph, or tells with "roughly", is met within this share of it.
ROUGH = 0.25

# Who bears something does it in at least this share of the mixes; who bears less is not robust. One for all chapters.
BORNE = 0.97

# From this detail on scans are fine and samples are large.
FINE = 100

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Chapter:
    """A chapter, or some in a row: what is computed of it, and what is made of that.

    Parameters
    ----------
    find
        ``find(detail, progress)`` computes everything; both as in `saltus.studies.Paper`, of this chapter alone.
    numbers, corrections, drawings
        Each of what was found.
    share
        How long it takes beside the others.
    """

    name: str
    find: Callable[[int, Progress], Any]
    numbers: Callable[[Any], tuple[Number, ...]]
    corrections: Callable[[Any], tuple[Correction, ...]]
    drawings: Callable[[Any], tuple[Drawing, ...]]
    share: float = 1.0


def stands(right: bool) -> str:
    """The verdict on what is printed: it stands, or what is derived takes its place."""
    return "reproduced" if right else "corrected"


def reached(met: bool) -> str:
    """The verdict on what is claimed: it comes out, or it does not."""
    return "reproduced" if met else "not reproducible"


def judged(met: bool, *, done: bool, own: bool) -> str:
    """The verdict on what is told of a run: a claim, if it is by the thesis' own way; else ours takes its place.

    A run that did not do what it was to do is no ground for anything.
    """
    if not done:
        return "not reproducible"
    return reached(met) if own else stands(met)


def robustness(said: bool | None, good: int, count: int, *, done: bool, own: bool) -> str:
    """The verdict on what is said of robustness, if anything is; ``done`` tells whether it is done with nothing off.

    Who does not do it then has nothing to lose when something is off.
    """
    if said is None:
        return "corrected" if done else "not reproducible"
    return judged(borne(good, count) == said, done=done, own=own)


def borne(good: int, count: int) -> bool:
    """Whether so many of so many are borne."""
    return good >= BORNE * count


def yes(met: bool) -> str:
    """In a word."""
    return "yes" if met else "no"


def near(found: float, published: float, share: float = ROUGH) -> bool:
    """Whether a number is that which is told roughly."""
    return abs(found - published) <= share * abs(published)


def equals(printed: float, right: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(printed - right) <= SAME * max(1.0, abs(right))
