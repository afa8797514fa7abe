"""The verbs about contacts: where friction leaves them without a motion, and what impact laws make of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._experiment import (
    ATOL,
    METHOD,
    RTOL,
    AbsoluteTolerance,
    ControllerName,
    ControllerOptions,
    GuardActions,
    Method,
    Parameters,
    ProfileName,
    RelativeTolerance,
    Start,
    Until,
    changed_robot,
    experiment,
)
from saltus.cli._report import asked_report, told
from saltus.cli._runs import run_facts
from saltus.cli._words import Json, Out, Progress, Robot, folder, number, pairs, print_json, print_table
from saltus.errors import InputError


@app.command("painleve")
def painleve_command(
    context: typer.Context,
    robot: Robot,
    x: Annotated[str | None, typer.Option("--x", help="A coordinate: theta1=0:180deg:181.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Another.")] = None,
    unit: Annotated[str | None, typer.Option(help="Which contact; the first.")] = None,
    within: Annotated[str | None, typer.Option(help="Guards that a posture must respect; all.")] = None,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Map the alpha of a sliding contact over postures; where it is not positive there is no motion, or two."""
    from saltus.hybrid import painleve

    report = asked_report(context)
    system = changed_robot(robot, set_, None, None)
    axes = [axis_of(text, option) if text is not None else None for text, option in ((x, "--x"), (y, "--y"))]
    names = None if within is None else [name for name in within.split(",") if name]
    folder(out)
    with Progress(quiet=as_json, doing="mapping"):
        from saltus.show import painleve_figure, save_figure

        found = painleve(system, *axes, unit=unit, within=names)
        figure = painleve_figure(found)
        files = save_figure(figure, out, f"{robot}-painleve")
    if report is not None:
        document = report.begin(f"{robot}: where friction leaves {found.unit} without a motion")
        document.facts("Key figures", told(found.to_dict()))
        document.figures("Map", [(figure, "alpha over the postures; not positive: there is no motion, or two")])
    if as_json:
        print_json(found.to_dict() | {"files": [str(path) for path in files]})
        return
    rows = [
        (what, f"{one.value:.9g}", ", ".join(f"{n} = {np.degrees(v):.6g} deg" for n, v in one.at.items()), one.sliding)
        for what, one in (
            (f"least alpha at friction {found.friction:g} (1/kg)", found.smallest),
            ("least critical friction", found.least_critical),
        )
    ]
    print_table(("what", "value", "posture", "sliding"), rows, f"{robot}, contact {found.unit}")
    print("there is no paradox in any possible posture" if found.free else "there are postures with the paradox")
    for path in files:
        print(f"wrote {path}")


@app.command("laws")
def laws_command(
    context: typer.Context,
    robot: Robot,
    law: Annotated[
        list[str] | None,
        typer.Option(
            "--law",
            help="newton:restitution=0.3; may be repeated; all. What is not told is as in the robot's own law, by "
            "name.",
        ),
    ] = None,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    rtol: RelativeTolerance = RTOL,
    atol: AbsoluteTolerance = ATOL,
    method: Method = METHOD,
    guard: GuardActions = None,
    out: Annotated[Path | None, typer.Option(help="A folder for a figure.")] = None,
    as_json: Json = False,
) -> None:
    """Make one run under each of several impact laws, and put what becomes of it side by side."""
    report = asked_report(context)
    if out is not None:
        folder(out)
    one = experiment(changed_robot(robot, set_, None, guard), controller, control, profile, x0, until)
    with Progress(1.0, quiet=as_json, doing="simulating") as show:
        from saltus.show import add_runs, save_figure, side_by_side_figure
        from saltus.studies import compare_laws

        runs = compare_laws(
            one.system, one.start, law, controller=one.controller, until=one.until, rtol=rtol, atol=atol,
            method=method, progress=lambda done, total: show(done / total),
        )  # fmt: skip
    if out is not None:
        with Progress(quiet=as_json, doing="drawing"):
            save_figure(side_by_side_figure(runs), out, f"{robot}-laws")
    if report is not None:
        with Progress(quiet=as_json, doing="reporting"):
            document = report.begin(f"{robot} under several impact laws")
            add_runs(document, runs, figures=[(side_by_side_figure(runs), "The same run under each law")])
            if runs.reasons:
                document.warnings([f"{name} has no run: {why}." for name, why in runs.reasons.items()])
    lost = {name: sum(event.energy_lost for event in run.events) for name, run in runs.items()}
    audits = Audits()
    audits.runs(runs)
    if as_json:
        facts = {
            name: run_facts(run) | {"impact_loss": lost[name], "audit": run.check().to_dict()}
            for name, run in runs.items()
        }
        print_json(facts | {name: {"status": "not_started", "reason": why} for name, why in runs.reasons.items()})
        audits.exit()
        return
    figures = list(next(iter(runs.values())).figures)
    rows = [
        (
            name,
            run.status.name,
            f"{run.end_time:.9g}",
            f"{lost[name]:.6g}",
            " ".join(run.arc_modes),
            *("" if value is None else f"{value:.9g}" for value in run.figures.values()),
        )
        for name, run in runs.items()
    ]
    rows += [(name, "not_started", *[""] * (3 + len(figures))) for name in runs.reasons]
    print_table(("law", "status", "end (s)", "lost in impacts (J)", "modes", *figures), rows, one.system.name)
    for name, why in runs.reasons.items():
        print(f"{name} has no run: {why}")
    audits.exit()


# How many values of one quantity a map may have.
MOST_VALUES = 5000


def axis_of(text: str, option: str) -> tuple[str, np.ndarray]:
    """A quantity and its values, from name=from:to:count."""
    ((name, words),) = pairs([text], option).items()
    parts = words.split(":")
    if len(parts) != 3 or not parts[2].isdigit():
        raise InputError(f"{option} takes name=from:to:count, such as theta1=0:180deg:181, got {text!r}")
    if not 2 <= int(parts[2]) <= MOST_VALUES:
        raise InputError(f"{option} {name}: the count must be from 2 to {MOST_VALUES}, got {parts[2]}")
    low, high = (number(part, f"{option} {name}") for part in parts[:2])
    return name, np.linspace(low, high, int(parts[2]))
