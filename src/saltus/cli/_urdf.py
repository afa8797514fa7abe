"""URDF files on the command line: the verb export, and what check says of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli._app import app
from saltus.cli._experiment import Parameters, changed_robot
from saltus.cli._report import asked_report, may_overwrite
from saltus.cli._words import Json, Progress, Robot, print_json, print_table

if TYPE_CHECKING:
    from saltus.robots._from_urdf import UrdfName

COLUMNS = ("level", "line", "where", "what", "value", "what to do")


@app.command("export")
def export_command(
    context: typer.Context,
    robot: Robot,
    urdf: Annotated[Path, typer.Option("--urdf", help="The URDF file to write.")],
    set_: Parameters = None,
    dummy_mass: Annotated[
        float, typer.Option(help="Mass of links without any, kg, for tools that refuse these; it changes the motion.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Write a robot as URDF, for other tools, with the values that its parameters have."""
    from saltus._write import check_path
    from saltus.hybrid import write_urdf

    report = asked_report(context)
    check_path(urdf, (".urdf",), force=may_overwrite(context, urdf))
    with Progress(quiet=as_json, doing="writing"):
        system = changed_robot(robot, set_, None, None)
        left_out = write_urdf(system, urdf, dummy_mass=dummy_mass)
    if report is not None:
        document = report.begin(f"{system.name} as URDF")
        document.facts("File", [("file", str(urdf), ""), ("dummy mass", dummy_mass, "kg")])
        document.warnings([f"left out: {what}" for what in left_out])
    if as_json:
        print_json({"status": "ok", "robot": system.name, "file": str(urdf), "left_out": left_out})
        return
    print(f"wrote {urdf}")
    for what in left_out:
        print(f"left out: {what}")


def check_urdf(context: typer.Context, file: UrdfName, as_json: bool) -> None:
    """Say what the linter finds in a file; errors are a failure."""
    from saltus.mechanism import lint_urdf

    report = asked_report(context)
    with Progress(quiet=as_json, doing="checking"):
        found = lint_urdf(file.path, free_flyer=file.free_flyer)
    counts = {level: sum(finding.level == level for finding in found) for level in ("error", "warning", "note")}
    summary = ", ".join(f"{count or 'no'} {level}{'' if count == 1 else 's'}" for level, count in counts.items())
    rows = [
        [finding.level, str(finding.line or ""), finding.where, finding.what, finding.value, finding.advice]
        for finding in found
    ]
    if report is not None:
        report.begin(f"{file.path.name}: {summary}").table("Findings", COLUMNS, rows)
    if as_json:
        print_json(_content(file, found, failed=counts["error"] > 0))
    else:
        if rows:
            print_table(COLUMNS, rows)
        print(f"{file.path}: {summary}")
    if counts["error"]:
        raise typer.Exit(1)


def _content(file: UrdfName, found: list[Any], *, failed: bool) -> dict[str, Any]:
    keys = ("level", "where", "what", "value", "advice", "line")
    findings = [{key: getattr(finding, key) for key in keys} for finding in found]
    return {"status": "failed" if failed else "ok", "kind": "urdf", "file": str(file.path), "findings": findings}
