"""What every registered paper must satisfy."""

from __future__ import annotations

from saltus import registry
from saltus.conformance._violation import require, require_documented
from saltus.robots import find_robot
from saltus.studies import find_paper


def file_can_be_loaded(name: str) -> None:
    """The file runs and defines what its kind needs."""
    registry.load("papers", name)


def file_says_what_it_is(name: str) -> None:
    """The file opens with a sentence."""
    require_documented("papers", name)


def holds_a_paper(name: str) -> None:
    """PAPER says what the paper is, under the name of its file, and which robot it is about."""
    paper = find_paper(name)
    require(paper.key == name, f"its key is {paper.key!r}, and the name of its file {name!r}")
    require(paper.title and paper.citation, "it needs a title and a citation")
    require(callable(paper.make), f"make is a function, got {paper.make!r}")
    find_robot(paper.robot)


CHECKS = (file_can_be_loaded, file_says_what_it_is, holds_a_paper)
