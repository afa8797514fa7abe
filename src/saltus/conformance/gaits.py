"""What every registered gait must satisfy."""

from __future__ import annotations

from saltus import registry
from saltus.conformance._violation import require_documented


def file_can_be_loaded(name: str) -> None:
    """The file runs and defines what its kind needs."""
    registry.load("gaits", name)


def file_says_what_it_is(name: str) -> None:
    """The file opens with a sentence."""
    require_documented("gaits", name)


CHECKS = (file_can_be_loaded, file_says_what_it_is)
