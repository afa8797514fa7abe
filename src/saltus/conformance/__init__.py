"""What everything registered must satisfy, as checks that anyone can run on files of their own.

One file a kind. A check is a function of the name of a thing; it raises `Violation` with the reason.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from saltus import registry
from saltus.conformance._violation import Violation
from saltus.errors import SaltusError

__all__ = ["Result", "Violation", "check", "checks"]


@dataclass(frozen=True)
class Result:
    """How one check went: ``reason`` is empty where it holds."""

    check: str
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether the check holds."""
        return not self.reason


def checks(kind: str) -> tuple[Callable[[str], None], ...]:
    """The checks of a kind; each relies on the first, which says whether there is anything to check."""
    registry.names(kind)
    found: tuple[Callable[[str], None], ...] = importlib.import_module(f"{__name__}.{kind}").CHECKS
    return found


def check(kind: str, name: str) -> Iterator[Result]:
    """Run all checks on one thing; none but the first if that fails."""
    registry.load(kind, name)
    for position, one in enumerate(checks(kind)):
        result = _run(one, name)
        yield result
        if position == 0 and not result.ok:
            return


def _run(one: Callable[[str], None], name: str) -> Result:
    title = one.__name__.replace("_", " ")
    try:
        one(name)
    except (Violation, SaltusError) as error:
        return Result(title, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a file raises is a fault of the file, told with the others
        return Result(title, f"{type(error).__name__}: {error}")
    return Result(title)
