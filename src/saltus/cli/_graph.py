"""The verb that draws mode graphs."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import saltus
from saltus.cli._app import app
from saltus.cli._experiment import (
    ATOL,
    METHOD,
    RTOL,
    AbsoluteTolerance,
    ControllerName,
    ControllerOptions,
    GuardActions,
    LawName,
    Method,
    Parameters,
    ProfileName,
    RelativeTolerance,
    Start,
    Until,
    changed_robot,
    exit_after,
    experiment,
)
from saltus.cli._report import asked_report
from saltus.cli._words import Json, Progress, Robot, print_json
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.hybrid import ModeGraph
    from saltus.show import Document


@app.command("graph")
def graph_command(
    context: typer.Context,
    robot: Robot,
    visited: Annotated[bool, typer.Option("--visited", help="What a run visits, not all that is possible.")] = False,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    rtol: RelativeTolerance = RTOL,
    atol: AbsoluteTolerance = ATOL,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    by_unit: Annotated[bool, typer.Option("--by-unit", help="Show the statuses of each unit alone.")] = False,
    form: Annotated[str | None, typer.Option("--format", help="mermaid (the default), dot, json or svg.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the graph: .mmd, .dot, .json or .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Draw a robot's mode graph: what is possible, or what a run visits."""
    report = asked_report(context)
    form = _form(form, out, as_json)
    system = changed_robot(robot, set_, law, guard)
    run, failure = None, None
    if visited:
        if by_unit:
            raise InputError("--by-unit is about what is possible; leave out --visited")
        one = experiment(system, controller, control, profile, x0, until)
        run, failure = one.simulate(quiet=as_json, rtol=rtol, atol=atol, method=method)
        graph = run.mode_graph()
    else:
        about_run = {
            "--controller": controller, "--control": control, "--profile": profile, "--x0": x0, "--until": until,
            "--rtol": rtol != RTOL, "--atol": atol != ATOL, "--method": method != METHOD,
        }  # fmt: skip
        given = [option for option, value in about_run.items() if value is not None and value is not False]
        if given:
            raise InputError(f"{', '.join(given)}: only a run has such options; add --visited")
        with Progress(quiet=as_json, doing="looking"):
            graph = saltus.mode_graph(system, by_unit=by_unit)
    if out is not None:
        graph.save(out)
    if report is not None:
        _report_graph(
            report.begin(f"{robot}: modes {'of a run' if visited else 'and what leads from one to another'}"), graph
        )
    if as_json:
        content = graph.to_dict() | {"out": None if out is None else str(out)}
        print_json(content if failure is None else content | {"error": str(failure)})
    elif out is not None:
        print(f"wrote {out}")
    else:
        print(graph.text(form), end="")
    if failure is not None and not as_json:
        print(f"saltus: {failure}", file=sys.stderr)
    if run is not None:
        exit_after(failure, run)


def _report_graph(document: Document, graph: ModeGraph) -> None:
    with contextlib.suppress(InputError):  # there is no Graphviz to draw it
        document.figures("Graph", [(graph.svg(), graph.title)])
    for title, records in (("Modes", graph.nodes), ("Changes", graph.edges)):
        rows = [record.to_dict() for record in records]
        document.table(title, list(rows[0]) if rows else [], [list(row.values()) for row in rows])
    document.command(graph.mermaid(), title="As Mermaid text")


def _form(form: str | None, out: Path | None, as_json: bool) -> str:
    """In which form a graph is wanted; a file's ending, --format and --json may not contradict each other."""
    from saltus.hybrid import ENDINGS, check_graph_form, check_graph_target

    if form is not None:
        check_graph_form(form)
    if out is not None:
        check_graph_target(out)
        if form not in (None, ENDINGS[out.suffix]):
            raise InputError(f"--format {form} and --out {out} contradict each other; the ending of the file decides")
        return ENDINGS[out.suffix]
    if as_json and form not in (None, "json"):
        raise InputError(f"give --format {form} or --json, not both, or write the graph to a file by --out")
    return form or "mermaid"
