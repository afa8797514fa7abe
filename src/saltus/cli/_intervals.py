"""A region of attraction in one quantity on the command line: its intervals as a table, as files and in a report."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.cli._audited import Audits
from saltus.cli._report import Report, told
from saltus.cli._words import Progress, folder, print_json, print_reasons, print_table

if TYPE_CHECKING:
    from saltus.gaits import Interval, RecoverableIntervals
    from saltus.hybrid import HybridSystem
    from saltus.show import Document


def emit_intervals(
    robot: str, system: HybridSystem, axis: tuple[str, np.ndarray], options: dict[str, Any], *,
    controller: str, out: Path, report: Report | None, as_json: bool,
) -> None:  # fmt: skip
    """Find the intervals of one quantity, write them, and print them."""
    from saltus.gaits import recoverable_intervals

    name, values = axis
    span = float(values[0]), float(values[-1])
    folder(out)
    with Progress(1.0, quiet=as_json, doing="scanning") as show:
        audits = Audits()
        found = audits.during(
            lambda: recoverable_intervals(
                system, name, span, resolution=abs(span[1] - span[0]) / (len(values) - 1),
                progress=lambda n, of: show(n / of), **options,
            )
        )  # fmt: skip
        found = dataclasses.replace(found, controller=controller)
    with Progress(quiet=as_json, doing="drawing"):
        files = _write(found, out, f"{robot}-intervals")
        if report is not None:
            _report(report.begin(f"{robot}: from which {name} it returns"), found)
    if as_json:
        print_json(found.to_dict() | {"files": [str(path) for path in files]})
        audits.exit()
        return
    title = f"{robot}, {found.controller}: {found.name} in {found.unit}, {found.runs} runs"
    print_table(("from", "to", "returns", "outcomes of the scan"), [_row(part) for part in found.intervals], title)
    for line in (first_lost(found), largest_returning(found), limits(found)):
        print(line)
    print_reasons(found.reason_counts, int(found.scanned.sum()), "starts of the scan")
    for path in files:
        print(f"wrote {path}")
    audits.exit()


def first_lost(found: RecoverableIntervals) -> str:
    """The first number of a region in one quantity, as a line."""
    lost = found.first_lost
    if lost is None:
        return "first lost at: none in the span"
    late = f", in {found.until:g} s" if lost.outcome == "not back in time" else ""
    return f"first lost at: {lost.value:.6g} {found.unit} ({lost.outcome}{late})"


def largest_returning(found: RecoverableIntervals) -> str:
    """The second number, as a line."""
    most = found.largest_returning
    return f"largest that returns in the span: {'none' if most is None else f'{most:.6g} {found.unit}'}"


def limits(found: RecoverableIntervals) -> str:
    """What the numbers depend on, as a line."""
    return (
        f"span {found.span[0]:g} to {found.span[1]:g} {found.unit}, resolution {found.resolution:.3g} {found.unit}: "
        f"narrower gaps may be missed; edges to {found.tolerance:.1g} {found.unit}"
    )


def _row(part: Interval) -> tuple[str, str, str, str]:
    kinds = ", ".join(f"{number} {name}" for name, number in part.outcomes.items())
    return f"{part.low:.6g}", f"{part.high:.6g}", "yes" if part.returns else "no", kinds


def _write(found: RecoverableIntervals, out: Path, name: str) -> list[Path]:
    from saltus.show import intervals_figure, save_figure

    return [found.save(out / f"{name}.nc"), *save_figure(intervals_figure(found), out, name)]


def _report(document: Document, found: RecoverableIntervals) -> None:
    from saltus.show import intervals_figure

    long = ("intervals", "edges", "outcomes")
    document.facts("Key figures", told({key: value for key, value in found.to_dict().items() if key not in long}))
    document.figures("Intervals", [(intervals_figure(found), limits(found))])
    document.table("Intervals", ["from", "to", "returns", "outcomes of the scan"], [_row(o) for o in found.intervals])
    edges = [(edge.returned, edge.lost, edge.outcome) for edge in found.edges]
    document.table("Edges", ["returns", "does not return", "how its run ends"], edges)
    parameters = found.system.mechanism.parameters
    rows = [(name, value, parameters[name].unit) for name, value in found.system.values.items()]
    document.facts("What was run", [("robot", f"{found.system.name}: {found.system.about}", ""), *rows])
