"""Whether the audit can be trusted: runs of all robots beside references, at tolerances from 1e-2 to 1e-10.

    python verification/trust.py --runs 1000

A run counts where references at 1e-12 and 1e-13 agree to a tenth of the run's distance from the second. The table says
how often `error_estimate` is exceeded, how far it is above the error, how often `check(deep=True)` passes a run whose
error is above a tenth of the state's range, and how often `check()` fails a good run at the default tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from generated import MACHINES, machine

import saltus
from saltus import registry
from saltus.conformance._draw import draw
from saltus.conformance._judge import may_create_energy
from saltus.robots import find_robot

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from tables import table

RUNS, SEED = 1000, 35

# The tolerances of the references, and how near they are to each other where a run counts.
COARSE, FINE, NEAR = 1e-12, 1e-13, 0.1

DEFAULT = {"rtol": 1e-10, "atol": 1e-12}


@dataclass
class Tally:
    """How many runs of each kind there were, ratios of estimate and error, and what was wrong, to reproduce it."""

    counts: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    fooled: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)


def run_of(drawn: Any, k: int, **options: Any) -> saltus.Trajectory:
    """One of the drawn runs with other options."""
    shared = {name: value for name, value in drawn.options.items() if name not in ("max_steps",)}
    parameters = {name: float(values[k]) for name, values in drawn.parameters.items()}
    controller = drawn.controllers[k] if drawn.controllers else None
    given = {**shared, **options, "energy_tolerance": np.inf}
    return saltus.simulate(
        drawn.system, drawn.states[k], parameters=parameters, controller=controller, raise_errors=False, **given
    )


def end(run: saltus.Trajectory) -> np.ndarray:
    """The last state."""
    return np.array(list(run.final.values()))


def judge(name: str, drawn: Any, k: int, rtol: float, tally: Tally) -> None:
    """One run at a tolerance, beside its references."""
    label = f"{name}, run {k}, rtol {rtol:.1e}, {drawn.options['method']}"
    run = run_of(drawn, k, rtol=rtol, atol=rtol / 100)
    if not run.status.good or run.steps == 0:
        tally.counts["did not end well"] += 1
        return
    references = [run_of(drawn, k, rtol=tight, atol=tight / 100, method="dop853") for tight in (COARSE, FINE)]
    if not all(one.status.good for one in references):
        tally.counts["a reference did not end well"] += 1
        return
    wrong, apart = np.abs(end(run) - end(references[1])), np.abs(end(references[0]) - end(references[1]))
    if not wrong.max() > 0.0:
        tally.counts["no error at all"] += 1
        return
    if not apart.max() <= NEAR * wrong.max():
        tally.counts["references do not agree"] += 1
        return
    tally.counts["count"] += 1
    estimate = run.error_estimate()
    if not float(wrong.max()) <= float(estimate):
        tally.exceeded.append(f"{label}: {wrong.max():.3g} beside {float(estimate):.3g}")
    tally.ratios.append(float(estimate) / float(wrong.max()))
    covered = np.maximum(np.ptp(references[1].x, axis=0), 1e-12)
    if (wrong > 0.1 * covered).any():
        tally.counts["more than 10 % wrong"] += 1
        if run.check(deep=True).ok:
            tally.counts["passed although wrong"] += 1
            tally.fooled.append(f"{label}: {(wrong / covered).max():.3g} of the range")


def false_alarm(name: str, drawn: Any, k: int, tally: Tally) -> None:
    """One run at the default tolerance: does its audit fail?"""
    run = run_of(drawn, k, **DEFAULT, method="dopri5")
    if not run.status.good:
        return
    tally.counts["at the default tolerance"] += 1
    failed = [c for c in run.check().checks if not c.ok]
    if may_create_energy(run):
        failed = [c for c in failed if c.name != "impacts create energy"]
    if failed:
        tally.alarms.append(f"{name}, run {k}: " + "; ".join(map(str, failed)))


def share(part: int, whole: int) -> str:
    """A part in percent, and both numbers."""
    return f"{100 * part / max(1, whole):.2f} % ({part} of {whole})"


def report(tally: Tally) -> tuple[str, bool]:
    """The table, and whether every bound holds."""
    counts, ratios = tally.counts, np.array(tally.ratios or [np.nan])
    count, wrong = counts["count"], counts["more than 10 % wrong"]
    rows = [
        ["runs that count", "", f"{count}", ""],
        *([name, "", f"{counts[name]}", ""] for name in (
            "references do not agree", "no error at all", "did not end well", "a reference did not end well")),
    ]  # fmt: skip
    median = float(np.median(ratios))
    judged = [
        ("estimate not exceeded", "at least 99 %", share(count - len(tally.exceeded), count),
         len(tally.exceeded) <= 0.01 * count),
        ("median of estimate over error", "at most 30", f"{median:.1f}", median <= 30),
        ("deep check passes a run more than 10 % wrong", "at most 1 %", share(len(tally.fooled), wrong),
         len(tally.fooled) <= 0.01 * wrong),
        ("false alarms at the default tolerance", "below 2 %",
         share(len(tally.alarms), counts["at the default tolerance"]),
         len(tally.alarms) < 0.02 * counts["at the default tolerance"]),
    ]  # fmt: skip
    rows += [[name, bound, found, "yes" if met else "NO"] for name, bound, found, met in judged]
    lines = [table(["what", "wanted", "measured", "met"], rows)]
    for title, found in (("Exceeded", tally.exceeded), ("Fooled", tally.fooled), ("False alarms", tally.alarms)):
        lines += [f"{title}:", *found[:40]] if found else []
    return "\n".join(lines), all(met for *_, met in judged)


def main() -> int:
    """Judge runs of every robot in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="how many")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    chosen = parser.parse_args()
    robots = {name: find_robot(name) for name in registry.names("robots")}
    robots |= {f"machine{k}": machine(k) for k in range(MACHINES)}
    each = -(-chosen.runs // len(robots))
    tally = Tally()
    random = np.random.default_rng(chosen.seed)
    for name, system in robots.items():
        drawn = draw(system, each, chosen.seed, 1)
        for k in range(each):
            judge(name, drawn, k, float(10 ** random.uniform(-10, -2)), tally)
            false_alarm(name, drawn, k, tally)
        print(f"\r{name:<30} {tally.counts['count']} count", end="", file=sys.stderr, flush=True)
    text, good = report(tally)
    print("\n" + text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
