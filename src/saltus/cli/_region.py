"""The verb about regions of attraction: from which starts a controlled robot comes back, and how far."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli._app import app
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
from saltus.cli._report import asked_report, told
from saltus.cli._words import Json, Out, Progress, Robot, folder, number, numbers, pairs, print_json, print_table
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.gaits import Largest, Region
    from saltus.show import Document


@app.command("region")
def region_command(
    context: typer.Context,
    robot: Robot,
    x: Annotated[str, typer.Option("--x", help="A quantity, from, to and how many values: theta=-1.5:1.5:61.")],
    y: Annotated[str, typer.Option("--y", help="Another: a start value or a parameter.")],
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
    largest: Annotated[
        list[str] | None,
        typer.Option("--largest", help="Also find how far a quantity may be at the start, name=from:to."),
    ] = None,
    rtol: RelativeTolerance = 1e-8,
    atol: AbsoluteTolerance = 1e-10,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Map from which starts a controlled robot comes back, and from which it falls, slips or is too weak."""
    from saltus.gaits import largest as find_largest
    from saltus.gaits import region

    report = asked_report(context)
    axes = axis_of(x, "--x"), axis_of(y, "--y")
    spans = [_span(text) for text in largest or []]
    one = experiment(changed_robot(robot, set_, law, guard), controller, control, profile, x0, until)
    for name, _ in axes:
        if name in numbers(x0, "--x0"):
            raise InputError(f"{name} is varied by --x or --y, so --x0 cannot give it")
    options: dict[str, Any] = {
        "controller": one.controller, "until": one.until, "target": numbers(target, "--target"),
        "within": numbers(within, "--within") if within else None, "rtol": rtol, "atol": atol, "method": method,
    }  # fmt: skip
    folder(out)
    with Progress(1.0, quiet=as_json, doing="mapping") as show:
        start = {name: value for name, value in one.start.items() if name not in (axes[0][0], axes[1][0])}
        found = region(
            one.system, *axes, start=start, count=random, seed=seed, progress=lambda n, of: show(n / of), **options
        )
        found = dataclasses.replace(found, controller=controller or profile or "no controller")
    with Progress(quiet=as_json, doing="searching"):
        farthest = [
            find_largest(one.system, name, *span, start={n: v for n, v in one.start.items() if n != name}, **options)
            for name, span in spans
        ]
    with Progress(quiet=as_json, doing="drawing"):
        files = _write(found, out, f"{robot}-region")
        if report is not None:
            _report(report.begin(f"{robot}: from where it comes back"), found, farthest)
    if as_json:
        content = found.to_dict() | {"largest": [far.to_dict() for far in farthest]}
        print_json(content | {"files": [str(path) for path in files]})
        return
    rows = [(name, str(runs), f"{runs / found.outcome.size:.2%}") for name, runs in found.counts.items()]
    print_table(("outcome", "runs", "share"), rows, f"{robot}, {found.controller}: {found.outcome.size} starts")
    for far in farthest:
        print(_in_words(far, found.unit(far.name)))
    for path in files:
        print(f"wrote {path}")


def _span(text: str) -> tuple[str, tuple[float, float]]:
    ((name, words),) = pairs([text], "--largest").items()
    parts = words.split(":")
    if len(parts) != 2:
        raise InputError(f"--largest takes name=from:to, such as theta=0:1.5, got {text!r}")
    low, high = (number(part, f"--largest {name}") for part in parts)
    return name, (low, high)


def _in_words(far: Largest, unit: str) -> str:
    if far.lost is None:
        return f"every {far.name} up to {far.returned:.6g} {unit} comes back"
    return f"largest {far.name} {far.returned:.6g} {unit}; at {far.lost:.6g} {unit}: {far.outcome}"


def _write(found: Region, out: Path, name: str) -> list[Path]:
    from saltus.show import region_figure, save_figure

    return [found.save(out / f"{name}.nc"), *save_figure(region_figure(found), out, name)]


def _report(document: Document, found: Region, farthest: list[Largest]) -> None:
    from saltus.show import region_figure

    document.facts("Key figures", told({key: value for key, value in found.to_dict().items() if key != "outcomes"}))
    document.figures("Map", [(region_figure(found), "What becomes of each start")])
    document.table("Outcomes", ["outcome", "runs"], list(found.counts.items()))
    if farthest:
        ends = [(far.name, far.returned, far.lost, far.outcome) for far in farthest]
        document.table("How far", ["quantity", "comes back from", "not from", "what becomes of it"], ends)
    parameters = found.system.mechanism.parameters
    rows = [(name, value, parameters[name].unit) for name, value in found.system.values.items()]
    document.facts("What was run", [("robot", f"{found.system.name}: {found.system.about}", ""), *rows])
