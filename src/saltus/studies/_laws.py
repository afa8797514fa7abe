"""One run under several impact laws, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from saltus.contact import law_names
from saltus.engine import Trajectory, simulate
from saltus.hybrid import HybridSystem


def compare_laws(
    system: HybridSystem,
    start: Mapping[str, float] | None = None,
    laws: Iterable[str] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> dict[str, Trajectory]:
    """The same run under the robot's own impact law and under each of some others (all).

    Runs are named by their laws with the coefficients that acted, ``newton:restitution=0.5``; that of the robot's
    own comes first, as ``own chatterjee:normal=0,tangential=0``. Coefficients that are not told are the robot's
    where its own law has some of the same name, and else the law's defaults (see `HybridSystem.with_law`).

    ``progress`` is called before each run with how many are behind, and of how many. Other options are those of
    `saltus.simulate`. Runs that fail come back with the status in which they ended.
    """
    system = system.with_parameters(**(parameters or {}))
    wanted = law_names() if laws is None else list(laws)
    changed = [system.with_law(text) for text in wanted]
    systems = {f"own {laws_in_words(system)}": system} | {laws_in_words(one): one for one in changed}
    runs: dict[str, Trajectory] = {}
    for name, one in systems.items():
        if progress is not None:
            progress(len(runs), len(systems))
        runs[name] = simulate(one, start, raise_errors=False, **options)
    return runs


def laws_in_words(system: HybridSystem) -> str:
    """The impact law that acts, with its coefficients; where units differ, that of each; nothing without any."""
    told = {unit: str(law) for unit, law in system.laws.items()}
    same = set(told.values())
    return " ".join(same) if len(same) < 2 else " ".join(f"{unit} {law}" for unit, law in told.items())
