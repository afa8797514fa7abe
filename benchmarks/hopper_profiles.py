"""Ten thousand random torque profiles on the hopper: each ends in a named status and passes its audit."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import saltus
from saltus.control import Schedule

UNTIL = 0.6
SECOND = 1.0
PIECES = 20
LIMITS = (3.0, 10.0)
COUNT = 10_000
SEED = 2009


@dataclass
class Outcome:
    """What became of many runs: how they ended, which audits did not close, and how long it took.

    ``worst_residual`` is that of the energy balance, J; ``worst_share`` the largest part of its
    limit, which grows with the energies of the run.
    """

    limit: float
    count: int
    statuses: Counter[str] = field(default_factory=Counter)
    failed_checks: Counter[str] = field(default_factory=Counter)
    open_audits: list[int] = field(default_factory=list)
    worst_residual: float = 0.0
    worst_share: float = 0.0
    events: int = 0
    steps: int = 0
    simulate_seconds: float = 0.0
    check_seconds: float = 0.0

    @property
    def runs_per_second(self) -> float:
        """Rate of the simulate calls alone."""
        return self.count / self.simulate_seconds


def profiles(count: int, limit: float, seed: int = SEED) -> np.ndarray:
    """Torques of all pieces of all profiles, N m, uniform within the limit; a profile is a row."""
    return np.random.default_rng(seed).uniform(-limit, limit, (count, PIECES))


def run_profiles(count: int, limit: float, seed: int = SEED) -> Outcome:
    """Run random piecewise-constant torques on the hopper and audit every run.

    Parameters
    ----------
    count
        How many profiles.
    limit
        Largest torque, N m.
    seed
        Of the random numbers: the same profiles each time.
    """
    hopper = saltus.robots.hopper()
    starts = np.arange(PIECES) * (UNTIL / PIECES)
    # the first run loads compiled code, which is not what is measured here
    saltus.simulate(
        hopper, controller=Schedule.steps(starts, np.zeros(PIECES)), until=UNTIL, raise_errors=False
    ).check()
    outcome = Outcome(limit, count)
    for number, torques in enumerate(profiles(count, limit, seed)):
        controller = Schedule.steps(starts, torques)
        begin = time.thread_time()
        run = saltus.simulate(hopper, controller=controller, until=UNTIL, raise_errors=False)
        between = time.thread_time()
        audit = run.check()
        outcome.check_seconds += time.thread_time() - between
        outcome.simulate_seconds += between - begin
        outcome.statuses[run.status.name] += 1
        outcome.events += len(run.event_rows)
        outcome.steps += run.steps
        # a residual that is not a number must not pass unseen, so it is compared by what it is not
        energy = audit["energy balance"]
        if not energy.value <= outcome.worst_residual:
            outcome.worst_residual = energy.value
        if not energy.value / energy.limit <= outcome.worst_share:
            outcome.worst_share = energy.value / energy.limit
        if not audit.ok:
            outcome.open_audits.append(number)
            outcome.failed_checks.update(check.name for check in audit.checks if not check.ok)
    return outcome


@dataclass
class Together:
    """What became of many runs made by one call: how they ended, and the time on the clock, best of several.

    ``missed`` is the number of runs whose energy balance is missed by more than 1e-10 J.
    """

    method: str
    limit: float
    held: bool
    statuses: Counter[str]
    events: int
    steps: int
    worst_residual: float
    missed: int
    seconds: float
    longest: float

    @property
    def row(self) -> list[str]:
        """A line of the table."""
        ends = ", ".join(f"{number:,} {name}" for name, number in self.statuses.most_common())
        held = "1e-10 J" if self.held else "not held"
        return [
            self.method, f"{self.limit:g}", held, ends, f"{self.events:,}", f"{self.steps:,}",
            f"{self.worst_residual:.1e}", f"{self.missed:,}", f"{self.seconds:.1f}", f"{self.longest:.1f}",
        ]  # fmt: skip


def run_together(count: int, limit: float, *, method: str, held: bool = False, turns: int = 3) -> Together:
    """Run random piecewise-constant torques for a whole second by one call of `simulate_many`.

    The time is that of making the schedules and of the call, at the default tolerances.
    """
    hopper = saltus.robots.hopper()
    torques = np.random.default_rng(SEED).uniform(-limit, limit, (count, PIECES))
    starts = np.arange(PIECES) * (SECOND / PIECES)
    tolerance = None if held else math.inf
    saltus.simulate_many(hopper, until=0.01, method=method, controllers=[Schedule.steps(starts, torques[0])])
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        controllers = [Schedule.steps(starts, row) for row in torques]
        batch = saltus.simulate_many(
            hopper, controllers=controllers, until=SECOND, method=method, energy_tolerance=tolerance
        )
        times.append(time.perf_counter() - begin)
    worst = batch.energy_worst
    return Together(
        method, limit, held, Counter(batch.status.tolist()), int(batch.event_count.sum()), int(batch.steps.sum()),
        float(worst.max()), int((~(worst <= 1e-10)).sum()), min(times), max(times),
    )  # fmt: skip


def report_together(count: int = COUNT, turns: int = 3) -> str:
    """Make all profiles at once, by both methods, with the energy balance held and not."""
    from tables import table

    rows = [
        run_together(count, limit, method=method, held=held, turns=1 if held else turns).row
        for held in (False, True)
        for limit in LIMITS
        for method in ("dopri5", "dop853")
    ]
    head = [
        "method", "within, N m", "energy", "ended", "events", "steps", "worst residual, J", "above 1e-10 J", "best, s",
        "worst, s",
    ]  # fmt: skip
    text = (
        f"{count:,} profiles of {PIECES} constant pieces over {SECOND:g} s, by one call of `saltus.simulate_many` at\n"
        "the default tolerances, from making the schedules to all summaries: time on the clock, best and worst of\n"
        f"{turns} (once where the energy balance is held)."
    )
    return "\n\n".join(["## Hopper, random torques at once", text, table(head, rows)])


def report(count: int = COUNT) -> str:
    """Run all profiles within each limit and tell how they went."""
    from tables import table

    outcomes = [run_profiles(count, limit) for limit in LIMITS]
    statuses = sorted({name for outcome in outcomes for name in outcome.statuses})
    lines = [
        ["runs", *(f"{o.count:,}" for o in outcomes)],
        *([f"ended as `{name}`", *(f"{o.statuses[name]:,}" for o in outcomes)] for name in statuses),
        ["audits that do not close", *(f"{len(o.open_audits):,}" for o in outcomes)],
        ["worst energy residual, J", *(f"{o.worst_residual:.1e}" for o in outcomes)],
        ["worst share of what its audit allows", *(f"{o.worst_share:.2f}" for o in outcomes)],
        ["events", *(f"{o.events:,}" for o in outcomes)],
        ["integration steps", *(f"{o.steps:,}" for o in outcomes)],
        ["processor time of all `simulate` calls, s", *(f"{o.simulate_seconds:.2f}" for o in outcomes)],
        ["runs per second", *(f"{o.runs_per_second:,.0f}" for o in outcomes)],
        ["processor time of all audits, s", *(f"{o.check_seconds:.2f}" for o in outcomes)],
    ]
    parts = [
        report_together(count),
        "## Hopper, random torques",
        f"{count:,} profiles of {PIECES} constant pieces over {UNTIL} s, uniform within the limit (seed {SEED}), each\n"
        "run by `saltus.simulate` from Python, one after the other, and audited by `run.check()`.",
        table(["", *(f"within {limit:g} N m" for limit in LIMITS)], lines),
    ]
    for o in outcomes:
        if o.open_audits:
            checks = ", ".join(f"{name} ({number})" for name, number in o.failed_checks.most_common())
            numbers = ", ".join(map(str, o.open_audits[:20]))
            parts.append(f"Within {o.limit:g} N m these checks did not hold: {checks}; first in profiles {numbers}.")
    return "\n\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="profiles within each limit")
    parser.add_argument("--together", action="store_true", help="only those made by one call")
    parser.add_argument("--turns", type=int, default=3, help="how often each is timed")
    given = parser.parse_args()
    print(report_together(given.count, given.turns) if given.together else report(given.count))
