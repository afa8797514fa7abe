"""One run under several impact laws, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from saltus.contact import law_names
from saltus.engine import Trajectory, simulate
from saltus.engine._refusals import none_of
from saltus.errors import SaltusError, UnknownName
from saltus.hybrid import HybridSystem


class LawRuns(dict[str, Trajectory]):
    """Runs by their laws; ``reasons`` says of each law without a run why it has none."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}


def compare_laws(
    system: HybridSystem,
    start: Mapping[str, float] | None = None,
    laws: Iterable[str] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> LawRuns:
    """The same run under the robot's own impact law and under each of some others (all).

    Runs are named by their laws with the coefficients that acted, ``newton:restitution=0.5``; that of the robot's
    own comes first, as ``own chatterjee:normal=0,tangential=0``. Coefficients that are not told are the robot's
    where its own law has some of the same name, and else the law's defaults (see `HybridSystem.with_law`).

    ``progress`` is called before each run with how many are behind, and of how many. Other options are those of
    `saltus.simulate`. Runs that fail come back with the status in which they ended. A law that cannot act, since a
    coefficient is out of its range or since it cannot be compiled, spoils no other: its reason is in ``reasons``. It is
    an error, before any work, if no law can act.
    """
    system = system.with_parameters(**(parameters or {}))
    wanted = law_names() if laws is None else list(laws)
    runs, own = LawRuns(), f"own {laws_in_words(system)}"
    systems = {own: system}
    for text in wanted:
        try:
            one = system.with_law(text)
        except UnknownName:
            raise
        except SaltusError as error:
            runs.reasons[text] = str(error)
        else:
            systems[laws_in_words(one)] = one
    if wanted and len(runs.reasons) == len(set(wanted)):
        raise none_of("laws can act", list(runs.reasons.values()))
    for made, (name, one) in enumerate(systems.items()):
        if progress is not None:
            progress(made, len(systems))
        try:
            runs[name] = simulate(one, start, raise_errors=False, **options)
        except SaltusError as error:
            if name == own:  # what its run refuses, each would
                raise
            runs.reasons[name] = str(error)
    return runs


def laws_in_words(system: HybridSystem) -> str:
    """The impact law that acts, with its coefficients; where units differ, that of each; nothing without any."""
    told = {unit: str(law) for unit, law in system.laws.items()}
    same = set(told.values())
    return " ".join(same) if len(same) < 2 else " ".join(f"{unit} {law}" for unit, law in told.items())
