"""Polishing: collocation near a run, ever finer, and only what is better when it is made again exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from saltus._content import equal_by_content
from saltus.errors import InputError
from saltus.optimize._problem import Problem, Trial
from saltus.optimize._verdict import Verdict, verdict


@equal_by_content
@dataclass(frozen=True, eq=False)
class Polished:
    """The best of a trial and of what collocation made of it; ``passes`` tell of each."""

    trial: Trial
    verdict: Verdict
    passes: list[dict[str, Any]] = field(default_factory=list)
    taken: bool = False


def polish(
    problem: Problem,
    trial: Trial,
    judged: Verdict,
    seconds: float,
    progress: Callable[[Polished], None] | None = None,
) -> Polished:
    """The best motion near a trial, through the modes of its run; after each pass ``progress`` is told the best so far.

    A motion is taken if it is made again exactly, breaks no rule, and is better than all before; a first trial that
    breaks rules is only where the search begins.
    """
    if problem.polish is None:
        raise InputError(f"{problem.name} does not say how it is polished")
    if judged.value is None:
        raise InputError(f"{problem.name}: the run to polish has no {problem.objective}")
    best, taken, passes = (trial, judged), False, []
    for motion in problem.polish(judged.run, seconds):
        other = Trial(motion.start, motion.controller())
        found = verdict(problem, other)
        better = found.clean and (not best[1].clean or (found.value or 0.0) > (best[1].value or 0.0))
        if better:
            best, taken = (other, found), True
        passes.append({
            "intervals": sum(arc.intervals for arc in motion.arcs), "message": motion.message,
            "promised": motion.value, "missed": motion.violation, "value": found.value,
            "violations": found.broken, "integration_error": found.error, "taken": better,
        })  # fmt: skip
        if progress is not None:
            progress(Polished(*best, list(passes), taken))
    return Polished(*best, passes, taken)
