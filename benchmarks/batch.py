"""Ten thousand short runs of a two-link pendulum with an event: saltus on all cores against SciPy."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from contestants.problem import TOLERANCE, make_flow, robot
from tables import ratio, table

import saltus

COUNT, SAMPLE = 10_000, 100
END = 1.0
SEED = 2009
ROUNDS = 15
SALTUS_METHODS = ("dopri5", "dop853")
SCIPY_METHODS = ("RK45", "DOP853", "LSODA")


@dataclass
class Result:
    """A way to make the runs: s for each, at its best, the largest error of a last state, and events found.

    ``open_audits`` counts the runs whose energy balance does not close.
    """

    name: str
    seconds: float
    error: float
    events: int
    open_audits: int | None = None


def watched() -> saltus.HybridSystem:
    """The pendulum, with every passage of the upper link through the vertical recorded."""
    made = robot()
    guard = saltus.Guard("hanging", made.mechanism.q[0], "record", "both")
    return replace(made, guards=(guard,))


def starts(count: int) -> np.ndarray:
    """Random first states: angles within 2 rad, rates within 3 rad/s."""
    rng = np.random.default_rng(SEED)
    return np.column_stack([rng.uniform(-2, 2, (count, 2)), rng.uniform(-3, 3, (count, 2))])


def _hanging(t: float, y: Any) -> float:
    return float(y[0])


def _scipy(method: str, rows: np.ndarray, tolerance: float) -> tuple[np.ndarray, int, float]:
    """Last states, number of events and processor time of SciPy."""
    from scipy.integrate import solve_ivp

    flow, ends, events = make_flow(), [], 0
    begin = time.thread_time()
    for row in rows:
        run = solve_ivp(flow, (0.0, END), row, method=method, rtol=tolerance, atol=tolerance, events=_hanging)
        ends.append(run.y[:, -1])
        events += len(run.t_events[0])
    return np.array(ends), events, time.thread_time() - begin


def scipy_results(rows: np.ndarray, exact: np.ndarray) -> list[Result]:
    """SciPy by each of its methods, on a sample; the best of as many times."""
    results = []
    for method in SCIPY_METHODS:
        times = [_scipy(method, rows, TOLERANCE) for _ in range(ROUNDS)]
        ends, events, _ = times[0]
        seconds = min(seconds for _, _, seconds in times) / len(rows)
        results.append(Result(f"SciPy, {method}", seconds, float(np.abs(ends - exact).max()), events))
    return results


def saltus_results(count: int, threads: list[int], exact: np.ndarray) -> tuple[list[Result], bool]:
    """saltus by each method and number of threads, in turn; and whether all threads gave the same bits."""
    system, rows, sample = watched(), starts(count), len(exact)

    def make(method: str, number: int) -> Callable[[], saltus.Batch]:
        return lambda: saltus.simulate_many(
            system, rows, until=END, rtol=TOLERANCE, atol=TOLERANCE, method=method, threads=number
        )

    ways = {(method, number): make(method, number) for method in SALTUS_METHODS for number in threads}
    batches = {way: run() for way, run in ways.items()}  # the first call loads compiled code
    best = dict.fromkeys(ways, np.inf)
    for _ in range(ROUNDS):
        for way, run in ways.items():
            begin = time.perf_counter()
            run()
            best[way] = min(best[way], time.perf_counter() - begin)
    same, results = True, []
    for (method, number), batch in batches.items():
        if not batch.good.all():
            raise RuntimeError(f"{batch!r} by {method}: not all runs are good")
        first = batches[method, threads[0]]
        same = same and np.array_equal(first.integers, batch.integers)
        same = same and np.array_equal(first.doubles, batch.doubles, equal_nan=True)
        name = f"saltus, {method}, {number} thread{'s' if number > 1 else ''}"
        error = float(np.abs(batch.states[:sample] - exact).max())
        events, missed = int(batch.event_count[:sample].sum()), int(batch.check()["runs that miss it"].value)
        results.append(Result(name, best[method, number] / count, error, events, missed))
    return results, same


def report(count: int = COUNT) -> str:
    """Make the runs in all ways and tell how they went."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = sorted({1, min(2, cores), cores})
    rows = starts(count)[:SAMPLE]
    exact, _, _ = _scipy("DOP853", rows, 1e-13)
    ours, same = saltus_results(count, threads, exact)
    theirs = scipy_results(rows, exact)
    lines = [
        [r.name, f"{1e6 * r.seconds:.1f}", f"{r.error:.1e}", str(r.events), _number(r.open_audits)]
        for r in (*ours, *theirs)
    ]
    fastest, default = min(ours, key=lambda r: r.seconds), min(ours[: len(threads)], key=lambda r: r.seconds)
    targets = []
    # like for like first: the methods that both use if nothing is said
    for one, rival in ((default, theirs[0]), (fastest, min(theirs, key=lambda r: r.seconds))):
        gain = rival.seconds / one.seconds
        targets.append([f"{one.name}, faster than {rival.name}, times", "at least 500", ratio(gain), met(gain >= 500)])
    if cores > 1:
        for k, method in enumerate(SALTUS_METHODS):
            second = ours[len(threads) * k].seconds / ours[len(threads) * k + 1].seconds
            targets.append([f"second core, {method}, times", "at least 1.7", ratio(second), met(second >= 1.7)])
    targets.append(["same bits by any number of threads", "yes", "yes" if same else "no", met(same)])
    return "\n\n".join(
        [
            "## Many short runs",
            _INTRODUCTION.format(count=count, end=END, rounds=ROUNDS, sample=len(rows)),
            table(["who", "per run, us", "largest error", "events", "audits that do not close"], lines),
            table(["target", "wanted", "measured", "met"], targets),
        ]
    )


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def met(yes: bool) -> str:
    return "yes" if yes else "no"


_INTRODUCTION = """\
{count:,} runs of {end:g} s of `saltus.robots.double_pendulum()` from random states, rtol = atol = 1e-9, with every
passage of the upper link through the vertical located. saltus makes them by one call of `saltus.simulate_many`, from
checking its input to the summaries and energy audits of all runs: time on the clock over the number of runs, best of
{rounds} turns. SciPy's `solve_ivp` has the equations in plain Python and one thread: processor time over {sample} of
these runs, best of {rounds}. Errors of last states, against DOP853 at 1e-13, and events are those of the same
{sample}."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many runs")
    print(report(parser.parse_args().count))
