"""The verb about regions of attraction: from which starts a controlled robot returns, in one quantity or in two."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._contacts import axis_of
from saltus.cli._experiment import (
    METHOD,
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
    experiment,
)
from saltus.cli._intervals import emit_intervals
from saltus.cli._report import asked_report, told
from saltus.cli._words import Json, Out, Progress, Robot, folder, numbers, print_json, print_reasons, print_table
from saltus.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from saltus.cli._report import Report
    from saltus.gaits import Region
    from saltus.hybrid import HybridSystem
    from saltus.show import Document


@app.command("region")
def region_command(
    context: typer.Context,
    robot: Robot,
    x: Annotated[str, typer.Option("--x", help="A quantity, from, to and how many values: theta=-1.5:1.5:61.")],
    y: Annotated[
        str | None, typer.Option("--y", help="Another, for a map; without it, the intervals of the first that return.")
    ] = None,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    within: Annotated[
        list[str] | None,
        typer.Option("--within", help="How near a quantity must be at the end, name=value; both varied ones, 0.05."),
    ] = None,
    target: Annotated[list[str] | None, typer.Option("--target", help="Where that is, name=value; zero.")] = None,
    random: Annotated[int | None, typer.Option("--random", help="So many points at random in place of a grid.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the random points.")] = 0,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help="Without --y: how far the two sides of an edge may be apart; 0.001 steps."),
    ] = None,
    rtol: RelativeTolerance = 1e-8,
    atol: AbsoluteTolerance = 1e-10,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Find from which starts a controlled robot returns, and from which it falls, slips or is too weak."""
    report = asked_report(context)
    axes = [axis_of(text, option) for text, option in ((x, "--x"), (y, "--y")) if text is not None]
    if len(axes) == 1 and random is not None:
        raise InputError("--random draws points of a map: give --y too, or leave it out")
    if len(axes) == 2 and tolerance is not None:
        raise InputError("--tolerance is that of edges in one quantity: leave out --y, or leave it out")
    one = experiment(changed_robot(robot, set_, law, guard), controller, control, profile, x0, until)
    for name, _ in axes:
        if name in numbers(x0, "--x0"):
            raise InputError(f"{name} is varied by --x or --y, so --x0 cannot give it")
    options: dict[str, Any] = {
        "controller": one.controller, "until": one.until, "target": numbers(target, "--target"),
        "within": numbers(within, "--within") if within else None, "rtol": rtol, "atol": atol, "method": method,
    }  # fmt: skip
    options["start"] = {name: value for name, value in one.start.items() if name not in dict(axes)}
    by = controller or profile or "no controller"
    if len(axes) == 1:
        options["tolerance"] = tolerance
        emit_intervals(robot, one.system, axes[0], options, controller=by, out=out, report=report, as_json=as_json)
    else:
        options |= {"count": random, "seed": seed}
        _emit_map(robot, one.system, axes, options, controller=by, out=out, report=report, as_json=as_json)


def _emit_map(
    robot: str, system: HybridSystem, axes: list[tuple[str, np.ndarray]], options: dict[str, Any], *,
    controller: str, out: Path, report: Report | None, as_json: bool,
) -> None:  # fmt: skip
    """Make a map over two quantities, write it, and print it."""
    from saltus.gaits import region

    folder(out)
    with Progress(1.0, quiet=as_json, doing="mapping") as show:
        audits = Audits()
        found = audits.during(lambda: region(system, *axes, progress=lambda n, of: show(n / of), **options))
        found = dataclasses.replace(found, controller=controller)
    with Progress(quiet=as_json, doing="drawing"):
        files = _write(found, out, f"{robot}-region")
        if report is not None:
            _report(report.begin(f"{robot}: from where it comes back"), found)
    if as_json:
        print_json(found.to_dict() | {"files": [str(path) for path in files]})
        audits.exit()
        return
    rows = [(name, str(runs), f"{runs / found.outcome.size:.2%}") for name, runs in found.counts.items()]
    print_table(("outcome", "runs", "share"), rows, f"{robot}, {found.controller}: {found.outcome.size} starts")
    print_reasons(found.reason_counts, found.outcome.size, "starts")
    for path in files:
        print(f"wrote {path}")
    audits.exit()


def _write(found: Region, out: Path, name: str) -> list[Path]:
    from saltus.show import region_figure, save_figure

    return [found.save(out / f"{name}.nc"), *save_figure(region_figure(found), out, name)]


def _report(document: Document, found: Region) -> None:
    from saltus.show import region_figure

    document.facts("Key figures", told({key: value for key, value in found.to_dict().items() if key != "outcomes"}))
    document.figures("Map", [(region_figure(found), "What becomes of each start")])
    document.table("Outcomes", ["outcome", "runs"], list(found.counts.items()))
    parameters = found.system.mechanism.parameters
    rows = [(name, value, parameters[name].unit) for name, value in found.system.values.items()]
    document.facts("What was run", [("robot", f"{found.system.name}: {found.system.about}", ""), *rows])
