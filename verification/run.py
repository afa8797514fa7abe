"""The verification: very many runs against their own copies, SciPy, and what must hold of any run.

    python verification/run.py                      about an hour
    python verification/run.py --sample             a fiftieth, and at most three minutes
    python verification/run.py --case copies:rod:7  one chunk once more

It can be interrupted and goes on where it was, as long as neither the program nor this folder is edited. The report
goes to the terminal and to a file: how many runs were compared, how they agreed, and of each disagreement the chunk,
the seed and the run that show it again. Exits with 1 if anything disagrees, with 2 if it was not finished.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import copies
import modes
import plain
from ledger import Chunk, Ledger, Outcome

from saltus.errors import BatchInterrupted

SEED = 2009
PARTS: dict[str, ModuleType] = {"plain": plain, "copies": copies, "modes": modes}
ABOUT = {
    "plain": "plain random runs: statuses that their states bear out, audits that close",
    "copies": "copies of runs: in other units, mirrored, shifted in time, with their parts in another order",
    "modes": "runs mode by mode against SciPy",
    "impacts": "impacts against an independent solver",
}

# Of a sample: how long each part may take, s, and one of how many chunks it takes.
SAMPLE_SECONDS, SAMPLE_EVERY = 45.0, 50

IMPACTS = 10_000
# Disagreements that are understood and not yet mended, each with the reason; a line leaves with its mending.
KNOWN = Path(__file__).parent / "known.json"
OUTPUT = Path(__file__).resolve().parents[1] / "out" / "verification"


def impacts(count: int, seed: int) -> tuple[Outcome, str]:
    """The impacts of `benchmarks/impacts.py`: how many are wrong, and its table."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
    try:
        module = importlib.import_module("impacts")
    except ModuleNotFoundError as error:
        return Outcome(listed=[f"no impacts were compared: {error}"]), ""
    finally:
        sys.path.pop(0)
    tallies = module.measure(count, seed)
    out = Outcome(Counter(impacts=count))
    wrong = sum(len(tally.bad) for tally in tallies.values())
    if wrong:
        out.disagreed.append(
            f"impacts, seed {seed}: {wrong} of {count}; benchmarks/impacts.py --count {count} --seed {seed}"
        )
    return out, module.report(tallies)


def without_known(outcome: Outcome) -> Outcome:
    """What is known already is set aside, with the reason."""
    known = {entry["run"]: entry["why"] for entry in json.loads(KNOWN.read_text())}
    out = Outcome(outcome.counts, [], list(outcome.listed))
    for line in outcome.disagreed:
        why = next((why for run, why in known.items() if line.startswith(f"{run}:")), None)
        if why is None:
            out.disagreed.append(line)
        else:
            out.listed.append(f"{line} (known: {why})")
    return out


def told(part: str, outcome: Outcome, left: int, table: str = "") -> str:
    """A section of the report."""
    lines = [f"## {part}: {ABOUT[part]}", ""]
    lines += [f"- {name}: {count:,}" for name, count in sorted(outcome.counts.items()) if count]
    lines += [f"- not done: {left} chunks"] if left else []
    lines += ["", f"{len(outcome.disagreed)} disagree.", *(f"- {line}" for line in outcome.disagreed)]
    if outcome.listed:
        lines += ["", f"Set aside, {len(outcome.listed)}:", *(f"- {line}" for line in outcome.listed)]
    return "\n".join([*lines, *(["", table] if table else [])]) + "\n"


def main() -> int:
    """Do the parts, one after the other, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(ABOUT), help="one part; may be given several times")
    parser.add_argument("--share", type=float, default=1.0, help="do this share of the runs")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    parser.add_argument("--sample", action="store_true", help="a small share, and no longer than three minutes")
    parser.add_argument("--case", help="one chunk once more: part:robot:number, as a disagreement names it")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of results and report")
    chosen = parser.parse_args()
    if chosen.case:
        return one(chosen.case, chosen.seed)
    seconds, every = (SAMPLE_SECONDS, SAMPLE_EVERY) if chosen.sample else (math.inf, 1)
    sections, disagreed, left = [], 0, 0
    try:
        for part in chosen.part or list(ABOUT):
            table, missing = "", 0
            if part == "impacts":
                outcome, table = impacts(max(1, round(chosen.share * IMPACTS / every)), chosen.seed)
            else:
                module = PARTS[part]
                wanted = module.chunks(max(1, round(chosen.share * module.COUNT)), chosen.seed)
                ledger = Ledger(chosen.output / f"{part}.jsonl")
                outcome, missing = ledger.work(wanted[::every], module.work, time.monotonic() + seconds)
            outcome = without_known(outcome)
            sections.append(told(part, outcome, missing, table))
            disagreed += len(outcome.disagreed)
            left += 0 if chosen.sample else missing
    except (KeyboardInterrupt, BatchInterrupted):
        print("\ninterrupted: what is done is stored, and the same command goes on from here", file=sys.stderr)
        left += 1
    text = "\n".join(["# Verification", "", *sections, f"In all, {disagreed} disagree."]) + "\n"
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "report.md").write_text(text)
    print(text)
    return 1 if disagreed else 2 if left else 0


def one(name: str, seed: int) -> int:
    """One chunk once more, in full, with nothing stored."""
    part, robot, number = name.split(":")
    module = PARTS[part]
    outcome = module.work(Chunk(part, robot, seed, int(number), module.BATCH))
    print(told(part, outcome, 0))
    return 1 if outcome.disagreed else 0


if __name__ == "__main__":
    sys.exit(main())
