"""One run under several impact laws, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltus.contact import Law, find_law, law_names
from saltus.engine import Trajectory, simulate
from saltus.errors import InputError
from saltus.hybrid import HybridSystem


def law_of(text: str) -> Law:
    """A law by its name and, after a colon, its coefficients: ``newton:restitution=0.3``."""
    name, _, words = text.partition(":")
    values = {}
    for word in filter(None, words.split(",")):
        key, _, value = word.partition("=")
        try:
            values[key] = float(value)
        except ValueError:
            raise InputError(f"a law is told as newton:restitution=0.3, got {text!r}") from None
    return find_law(name, values)


def compare_laws(
    system: HybridSystem,
    start: Mapping[str, float] | None = None,
    laws: Iterable[str] | None = None,
    **options: Any,
) -> dict[str, Trajectory]:
    """The same run under each of some impact laws (all, with their defaults), and under the robot's own.

    Options are those of `saltus.simulate`. Runs that fail come back with the status in which they ended.
    """
    wanted = law_names() if laws is None else list(laws)
    systems = {"its own": system} | {text: system.with_law(law_of(text)) for text in wanted}
    return {name: simulate(one, start, raise_errors=False, **options) for name, one in systems.items()}
