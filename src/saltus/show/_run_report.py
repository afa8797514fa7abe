"""The report of one run, or of several beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._document import Document, check_html, versions
from saltus.show._phase import phase_figure
from saltus.show._snapshots import snapshots_figure

# A controller with more numbers than these is not written out.
MOST_NUMBERS = 40


def report(
    runs: Trajectory | Mapping[str, Trajectory],
    path: Path | str,
    *,
    title: str = "",
    series: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write a run, or several by name, as one HTML file that needs nothing else: motion, plots, events, audit.

    Parameters
    ----------
    series
        Quantities of your own, ``{"height (m)": values}``, a value for each of ``run.t``; of a single run.
    force
        Write over an existing file.
    """
    check_html(path, force=force)
    named = {"": runs} if isinstance(runs, Trajectory) else runs
    if not isinstance(named, Mapping) or not named or not all(isinstance(run, Trajectory) for run in named.values()):
        raise InputError(f"a report is made of a run, or of runs by name, got {runs!r}")
    document = Document(title or default_title(named))
    add_runs(document, named, series=series)
    document.facts("Made with", versions())
    return document.save(path, force=force)


def default_title(runs: Mapping[str, Trajectory]) -> str:
    """What is shown: the robots, and how many runs."""
    names = dict.fromkeys(run.system.name for run in runs.values())
    many = f": {len(runs)} runs" if len(runs) > 1 else ""
    return ", ".join(name.replace("_", " ") for name in names) + many


def add_runs(
    document: Document,
    runs: Mapping[str, Trajectory],
    *,
    series: Mapping[str, Any] | None = None,
    figures: Sequence[tuple[Figure, str]] | None = None,
) -> None:
    """Everything about some runs: how they went, their motion, figures, audits, warnings and what was run.

    Parameters
    ----------
    figures
        Figures with their captions, in place of snapshots and phase portraits of each run.
    """
    _add_outcome(document, runs)
    document.runs("Motion", runs, series=series)
    shown = _figures(runs) if figures is None else list(figures)
    if shown:
        document.figures("Figures", shown)
    for name, run in runs.items():
        _add_audit(document, _of("Audit", name), run)
    document.warnings([_of(text, name) for name, run in runs.items() for text in warnings(run)])
    for name, run in runs.items():
        document.facts(_of("What was run", name), _setting(run))


def warnings(run: Trajectory) -> list[str]:
    """What a reader of a run should know before they trust it."""
    found = []
    if not run.status.good:
        found.append(f"The run ended before its time: {run.status.meaning} ({run.status.name}).")
    failed = [check.name for check in run.check().checks if not check.ok]
    if failed:
        found.append(f"The audit failed: {', '.join(failed)}.")
    if run.saturated:
        found.append("The controller asked for more than an actuator's limit, and got the limit.")
    if run.redundant:
        found.append("Closed contacts said the same thing twice: their forces were not unique and were shared.")
    if run.tightened:
        found.append(f"The tolerances were made a tenth {run.tightened} times to hold the energy balance.")
    return found


def _of(text: str, name: str) -> str:
    return f"{text}: {name}" if name else text


def _add_outcome(document: Document, runs: Mapping[str, Trajectory]) -> None:
    rows = {name: _outcome(run) for name, run in runs.items()}
    if len(runs) == 1:
        document.facts("Key figures", next(iter(rows.values())))
        return
    rows = {name: [("ended", runs[name].status.name, ""), *row[1:]] for name, row in rows.items()}
    keys = list(dict.fromkeys((what, unit) for row in rows.values() for what, _, unit in row))
    table = []
    for name, row in rows.items():
        values = {(what, unit): value for what, value, unit in row}
        table.append([name, *(values.get(key) for key in keys)])
    columns = [f"{what} ({unit})" if unit else what for what, unit in keys]
    document.table("Key figures", ["run", *columns], table)


def _outcome(run: Trajectory) -> list[tuple[str, Any, str]]:
    return [
        ("ended", f"{run.status.name}: {run.status.meaning}", ""),
        ("end", run.end_time, "s"),
        *((name.replace("_", " "), value, "") for name, value in run.figures.items()),
        ("events", len(run.events), ""),
        ("energy lost in impacts", sum(event.energy_lost for event in run.events), "J"),
        ("steps", f"{run.steps} and {run.rejected} rejected", ""),
    ]


def _figures(runs: Mapping[str, Trajectory]) -> list[tuple[Figure, str]]:
    made = []
    for name, run in runs.items():
        if run.system.skeleton:
            made.append((snapshots_figure(run), _of("The robot at the instants that matter", name)))
        if len(runs) == 1:
            made.append((phase_figure(run), _of("Phase portraits", name)))
    return made


def _add_audit(document: Document, title: str, run: Trajectory) -> None:
    checks: Sequence[Any] = run.check().checks
    document.checks(title, [(c.ok, c.name, f"{c.value:.3g} {c.unit}", f"{c.limit:.1g} {c.unit}") for c in checks])


def _controller(run: Trajectory) -> list[tuple[str, Any, str]]:
    """The numbers of a controller that have names, or how many they are."""
    known = run.control.parameters
    if len(known) > MOST_NUMBERS:
        return [("controller's numbers", len(known), "")]
    return [(f"controller's {one.name}", float(run.control.data[one.places[0]]), "") for one in known]


def _setting(run: Trajectory) -> list[tuple[str, Any, str]]:
    system = run.system
    start = dict(zip(system.state_names, run.at(run.start_time).tolist(), strict=True))
    units = {**system.mechanism.coordinates, **system.mechanism.velocities}
    return [
        ("robot", f"{system.name}: {system.about}" if system.about else system.name, ""),
        ("controller", run.control.name, ""),
        *_controller(run),
        ("method", f"{run.method}, rtol {run.rtol:g}, atol {run.atol:g}", ""),
        ("from and until", f"{run.start_time:g} and {run.requested_end:g}", "s"),
        *((f"law of {unit}", str(law), "") for unit, law in system.laws.items()),
        *((f"guard {guard.name}", guard.action, "") for guard in system.guards),
        *((name, value, system.mechanism.parameters[name].unit) for name, value in system.values.items()),
        *((f"{name} at the start", value, units[name]) for name, value in start.items()),
    ]
