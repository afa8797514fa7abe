"""The verb that makes every figure and number of a paper again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._report import asked_report
from saltus.cli._words import Json, Out, Progress, folder, print_json, print_table


@app.command("reproduce")
def reproduce_command(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(help="Which paper; see `saltus list`.")],
    detail: Annotated[int, typer.Option(help="Cells along each side of a map.")] = 200,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Make every figure and every number of a paper again, and write a report with verdicts."""
    from saltus.studies import find_paper

    wanted = asked_report(context)
    found = find_paper(paper)
    found.check_detail(detail)
    folder(out)
    with Progress(1.0, quiet=as_json, doing=paper) as show:
        audits = Audits()
        report = audits.during(lambda: found.reproduce(detail=detail, progress=lambda doing, share: show(share, doing)))
    with Progress(quiet=as_json, doing="writing"):
        files = [str(path) for path in report.save(out)]
        if wanted is not None:
            report.fill(wanted.begin(report.title))
    if as_json:
        print_json(report.to_dict() | {"files": files})
        audits.exit()
        return
    columns, rows = report.number_table()
    print_table(columns[:-1], [row[:-1] for row in rows], found.title)
    print(f"wrote {files[0]} and {len(files) - 1} more files in {out}")
    audits.exit()
