"""Ten seconds of a two-link pendulum: saltus against hand-written C, SciPy, MuJoCo and Drake, in one run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from contestants.problem import BY_HAND, COMPILED, PUBLIC, Contestant, reference, second_reference
from tables import milliseconds, ratio, table

FILES = ("c_code", "saltus_runs", "scipy_run", "mujoco_run", "drake_run")
FAST_ROUNDS, SLOW_ROUNDS, REPEATS = 15, 5, 5


@dataclass
class Result:
    """The best time of a contestant, s, and its largest error of any state at any millisecond."""

    name: str
    seconds: float
    error: float


def gather() -> tuple[list[Contestant], list[str]]:
    """All contestants, and why others are absent."""
    found: list[Contestant] = []
    absent = []
    for file in FILES:
        try:
            found += import_module(f"contestants.{file}").contestants()
        except (ImportError, OSError) as error:
            absent.append(f"{file}: {error}")
    return found, absent


def race(contestants: list[Contestant], exact: np.ndarray) -> list[Result]:
    """Time all contestants in turn, round after round, and keep the best of each.

    Other work on the machine slows whoever runs beside it; taking turns spreads that over all, and
    the best time is the one it disturbed least. Taken is the processor's time of this thread, in
    which all contestants do all their work: a slow one would hardly ever run without being
    interrupted, a fast one mostly does. The slow ones run in the first rounds only.
    """
    results = [Result(c.name, np.inf, np.nan) for c in contestants]
    for turn in range(FAST_ROUNDS):
        for contestant, result in zip(contestants, results, strict=True):
            if contestant.slow and turn >= SLOW_ROUNDS:
                continue
            for _ in range(1 if contestant.slow else REPEATS):
                given = contestant.prepare()
                begin = time.thread_time()
                answer = contestant.solve(given)
                result.seconds = min(result.seconds, time.thread_time() - begin)
            if turn == 0:
                result.error = float(np.abs(contestant.states(answer) - exact).max())
    return results


def report() -> str:
    """Run the race and tell how it went."""
    exact, other = reference(), second_reference()
    contestants, absent = gather()
    results = race(contestants, exact)
    times = {result.name: result.seconds for result in results}
    c, compiled, public = (times.get(name, np.nan) for name in (BY_HAND, COMPILED, PUBLIC))
    rows = [
        [r.name, milliseconds(r.seconds), ratio(r.seconds / c), ratio(r.seconds / compiled), f"{r.error:.1e}"]
        for r in results
    ]
    headings = ["who", "time, ms", "times C", "times saltus", "largest error"]
    parts = [
        "## Two-link pendulum, 10 s",
        _INTRODUCTION.format(fast=FAST_ROUNDS * REPEATS, slow=SLOW_ROUNDS, agree=np.abs(exact - other).max()),
        table(headings, rows),
        _NOTES,
        table(["target", "wanted", "measured", "met"], _targets(times, c, compiled, public)),
    ]
    parts += [f"Absent: {line}." for line in absent]
    return "\n\n".join(parts)


def _targets(times: dict[str, float], c: float, compiled: float, public: float) -> list[list[str]]:
    slower = compiled / c
    rows = [
        ["compiled integration, times C", "at most 1.8", ratio(slower), _met(slower <= 1.8)],
        ["the same, as a goal", "1.2", ratio(slower), _met(slower <= 1.2)],
        [
            "`simulate` and `run.x` add, ms",
            "less than 1",
            milliseconds(public - compiled),
            _met(public - compiled < 1e-3),
        ],
    ]
    for who, wanted in (("SciPy", 120), ("MuJoCo", 100), ("Drake", 100)):
        ways = [seconds for name, seconds in times.items() if name.startswith(who)]
        if not ways:
            continue
        faster = min(ways) / compiled
        rows.append(
            [f"faster than {who} at its fastest, times", f"at least {wanted}", ratio(faster), _met(faster >= wanted)]
        )
        faster = min(ways) / public
        rows.append([f"the same, public call against {who}", "", ratio(faster), ""])
    return rows


def _met(yes: bool) -> str:
    return "yes" if yes else "no"


_INTRODUCTION = """\
`saltus.robots.double_pendulum()` from theta1 = 1, theta2 = 0.5 at rest, rtol = atol = 1e-9, state wanted at each of
10,000 milliseconds. All run in one thread and take turns; each time is the thread's processor time, the best of {fast}
runs ({slow} for the slow ones). Errors are the largest of any state at any millisecond, against SciPy's DOP853 at rtol
1e-13, which agrees with an extrapolated midpoint rule in other coordinates to {agree:.0e}."""

_NOTES = """\
* C, by hand: `benchmarks/dopri5.c`, the same pair of orders 5 and 4, same error norm, dense output inside its loop.
* saltus, compiled calls: integrating, finding the step of each millisecond, evaluating the dense output there, on
  memory prepared before. The next row is all that a user waits for. "Times saltus" are by the compiled calls.
* saltus at 1e-11 is about as accurate as MuJoCo is here, for those who would compare at equal error.
* MuJoCo takes 10,000 steps of RK4, whose size is not chosen by error; all that this pendulum does not need is off.
* Drake must stop at each millisecond for its first two rows, which makes them exact and slow. Its dense output lets it
  step freely, and is the fastest; its interpolant is cubic. Its largest step is the whole run."""


if __name__ == "__main__":
    print(report())
