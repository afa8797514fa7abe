"""The verb that compares controllers: the table of [yang2016, 7.5] made again, thesis beside ours."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import write_json
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._experiment import Parameters, changed_robot
from saltus.cli._report import asked_report, may_overwrite
from saltus.cli._words import Json, Out, Progress, Robot, folder, plain, print_json, print_reasons, print_table
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.show import Document
    from saltus.studies import Comparison


@app.command("compare")
def compare_command(
    context: typer.Context,
    robot: Robot,
    seed: Annotated[int, typer.Option("--seed", help="Of all random numbers; only times differ for the same one.")] = 0,
    mixes: Annotated[int, typer.Option("--mixes", help="Held-out runs for each thing that is off.")] = 200,
    grid: Annotated[int, typer.Option("--grid", help="Places along each axis of a table.")] = 50,
    thesis_grid: Annotated[
        int, typer.Option("--thesis-grid", help="The same by the thesis' recipe; it takes 100.")
    ] = 30,
    thesis_sweeps: Annotated[
        int, typer.Option("--thesis-sweeps", help="Sweeps of the thesis' recipe; it takes 1000.")
    ] = 100,
    trials: Annotated[int, typer.Option("--trials", help="Random impulses.")] = 165_000,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Compare dynamic programming, impulses and energy control: softness, torque, training, scope, robustness."""
    from saltus.studies import Effort, compare_controllers
    from saltus.studies._compare import check
    from saltus.studies._compare_figures import comparison_figures
    from saltus.studies._compare_learning import check_robot

    effort = Effort(grid=grid, thesis_grid=thesis_grid, thesis_sweeps=thesis_sweeps, trials=trials)
    check(seed, mixes, effort)
    system = changed_robot(robot, set_, None, None)
    # all that can be refused is refused before any work
    check_robot(system, effort)
    _can_write(folder(out))
    file = _file(out, robot)
    if file.exists() and not may_overwrite(context, file):
        raise InputError(f"{file} exists already; --force writes over it")
    report = asked_report(context)
    if report is not None:
        _can_write(report.path.parent)
    with Progress(1.0, quiet=as_json, doing="comparing:") as show:
        audits = Audits()
        found = audits.during(
            lambda: compare_controllers(
                system, seed=seed, mixes=mixes, effort=effort, progress=lambda doing, share: show(share, doing)
            )
        )
    with Progress(quiet=as_json, doing="drawing"):
        figures = comparison_figures(found)
        files = _write(found, figures, file)
        if report is not None:
            _report(report.begin(f"{robot}: three controllers compared"), found, figures)
    if as_json:
        print_json(found.to_dict() | {"files": [str(path) for path in files]})
        audits.exit()
        return
    _print(found, robot)
    for path in files:
        print(f"wrote {path}")
    audits.exit()


def _file(out: Path, robot: str) -> Path:
    return out / f"{robot}-compare.json"


def _can_write(where: Path) -> None:
    """Refuse a folder in which no file can be made, whatever its rights say."""
    try:
        with tempfile.NamedTemporaryFile(dir=where, prefix=".saltus-"):
            pass
    except OSError as error:
        raise InputError(f"cannot write to {where}: {error.strerror}") from None


def _print(found: Comparison, robot: str) -> None:
    from saltus.studies._compare_table import NOTE, RATES_TITLE, rates, reasons, summary

    print_table(*summary(found), f"{robot}: thesis | ours, seed {found.seed}")
    print(f"{NOTE}\n")
    print_table(*rates(found), RATES_TITLE)
    without = reasons(found)
    print_reasons(without, sum(without.values()) + sum(one.count for one in found.rates), "runs under mixes")


def _write(found: Comparison, figures: Mapping[str, tuple[Any, str]], file: Path) -> list[Path]:
    from saltus.show import save_figure

    write_json(file, plain(found.to_dict()))
    return [
        file,
        *(
            path
            for what, (figure, _) in figures.items()
            for path in save_figure(figure, file.parent, f"{file.stem}-{what}")
        ),
    ]


def _report(document: Document, found: Comparison, figures: Mapping[str, tuple[Any, str]]) -> None:
    from saltus.studies._compare_table import NOTE, RATES_TITLE, rates, reasons, summary

    document.table("Thesis | ours", *summary(found), note=NOTE)
    document.table(RATES_TITLE, *rates(found))
    document.figures("Figures", list(figures.values()))
    document.warnings([f"{count} runs under mixes cannot start: {why}." for why, count in reasons(found).items()])
    parameters = found.tables.robot.mechanism.parameters
    values = [(name, value, parameters[name].unit) for name, value in found.tables.robot.values.items()]
    document.facts("What was run", [("seed", found.seed, ""), ("mixes", found.mixes, ""), *values])
