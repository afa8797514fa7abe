"""What a verb does where an audit fails: it says on standard error what failed, and ends with a code of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from saltus.engine import Audit, Batch, Trajectory
    from saltus.gaits import Cycle

AUDIT_FAILED = 3

# How many failed audits are said one by one.
_SHOWN = 8

Result = TypeVar("Result")


class Audits:
    """The audits of all that a verb made: those that failed, by what they are of."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def run(self, run: Trajectory, what: str = "", *, deep: bool = False) -> None:
        """Audit a run."""
        self.add(run.check(deep=deep), what)

    def runs(self, runs: Mapping[str, Trajectory]) -> None:
        """Audit several runs."""
        for what, run in runs.items():
            self.run(run, what)

    def batch(self, batch: Batch, what: str = "") -> None:
        """Audit many runs at once."""
        self.add(batch.check(), what or f"{batch.n} runs of {batch.system.name}")

    def cycle(self, cycle: Cycle, what: str = "") -> None:
        """Audit the run of each phase of a cycle; one that takes no time has none."""
        for number, (guard, run) in enumerate(zip(cycle.guards, cycle.runs, strict=True), 1):
            phase = f"phase {guard or number}"
            self.run(run, f"{what}, {phase}" if what else phase)

    def add(self, audit: Audit, what: str) -> None:
        """Note what an audit found."""
        wrong = [f"{c.name} {c.value:.3g} (limit {c.limit:.2g}) {c.unit}".strip() for c in audit.checks if not c.ok]
        if wrong:
            self.failed.append(f"{what}{': ' if what else ''}{', '.join(wrong)}")

    def during(self, make: Callable[[], Result]) -> Result:
        """Audit every batch that something makes, and every run but those that failed, which it answers for itself."""
        from saltus.engine import Trajectory, every_result

        def see(result: Trajectory | Batch) -> None:
            if not isinstance(result, Trajectory):
                self.batch(result)
            elif result.status.good:
                self.run(result, f"a run of {result.system.name}")

        with every_result(see):
            return make()

    def exit(self) -> None:
        """End the verb with the code of a failed audit, if one failed."""
        if not self.failed:
            return
        for line in self.failed[:_SHOWN]:
            print(f"saltus: the audit failed: {line}", file=sys.stderr)
        if len(self.failed) > _SHOWN:
            print(f"saltus: and {len(self.failed) - _SHOWN} more audits failed", file=sys.stderr)
        raise typer.Exit(AUDIT_FAILED)
