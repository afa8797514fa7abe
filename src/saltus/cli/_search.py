"""Verbs that search: stable gaits by the clock, gaits that lose nothing, families."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import save_record, write_json
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._gaits import (
    GAIT_FORMAT,
    GaitType,
    Values,
    _complex,
    _gait,
    _print_content,
    _print_files,
    _values,
    report_gait,
)
from saltus.cli._report import asked_report, forced, told
from saltus.cli._words import Json, Progress, Robot, folder, plain, print_json, print_table
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.gaits import Family
    from saltus.show import Document

# Points of a family in each direction at most.
MOST = 200


@app.command("search")
def search_command(
    context: typer.Context,
    robot: Robot,
    type_: GaitType = None,
    set_: Values = None,
    radius: Annotated[float, typer.Option(help="The largest spectral radius that will do.")] = 0.8,
    rise: Annotated[float, typer.Option(help="By how much the hold shall rise in a cycle, m.")] = 0.0,
    climb: Annotated[float | None, typer.Option(help="Then follow it to larger rises, up to this one, m.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
    starts: Annotated[int, typer.Option(help="How many random starts at most.")] = 200,
    cycles: Annotated[int, typer.Option(help="Cycles in which differences must die out.")] = 500,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted in the folder.")] = False,
    out: Annotated[Path | None, typer.Option(help="A folder for a file of the gait, for `saltus gait --from`.")] = None,
    as_json: Json = False,
) -> None:
    """Search for a gait that is stable by the clock alone, with times in whole milliseconds."""
    from saltus import gaits

    report = asked_report(context)
    if not math.isfinite(rise):
        raise InputError(f"--rise must be finite, got {rise:g} m")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if climb is not None and not climb > rise:
        raise InputError(f"--climb must be above --rise, got {climb:g} and {rise:g} m")
    if not 0 < radius <= 1:
        raise InputError(f"--radius must be above 0 and at most 1, got {radius:g}")
    for option, value in (("--starts", starts), ("--cycles", cycles)):
        if value < 1:
            raise InputError(f"{option} must be a positive whole number, got {value}")
    made = _gait(robot, type_ or _timed_type(robot), set_)
    drawn = [name for name in _values(set_, "--set") if name in made.knobs]
    if drawn:
        raise InputError(f"a search draws {drawn[0]} itself, so that it cannot be set")
    part = None if out is None else folder(out) / f"{robot}-{made.name}-found.part.json"
    if resume and part is None:
        raise InputError("--resume goes on with what is in a folder: name it with --out")
    resume = resume and part is not None and part.exists()
    if part is not None and part.exists() and not resume:
        if not forced(context):
            raise InputError(f"{part} exists already; --resume goes on with it, --force begins anew")
        part.unlink()
    try:
        with Progress(starts, quiet=as_json, doing="searching") as show:
            found = gaits.find_stable(
                made, radius=radius, rise=rise, seed=seed, starts=starts, cycles=cycles, checkpoint=part,
                resume=resume, progress=lambda k, _: show(k),
            )  # fmt: skip
        if climb is not None:
            with Progress(climb - rise, quiet=as_json, doing="climbing") as show:
                found = gaits.climb(
                    found, most=climb, cycles=cycles, checkpoint=part, resume=resume,
                    progress=lambda now, size: show(now - rise, f"{now:.3f} m, radius {size:.2f}"),
                )  # fmt: skip
    except KeyboardInterrupt:
        if part is not None:
            print(f"saltus: stored in {part}; the same with --resume goes on", file=sys.stderr)
        raise
    content = {"robot": robot, "seed": seed, **found.to_dict(), "multipliers_timed": _complex(found.fixed.multipliers)}
    if report is not None:
        report_gait(report.begin(f"{robot}, {made.name}: a gait by the clock"), content, found.fixed.cycle, found.fixed)
    if out is not None:
        parameters = {name: value for name, value in _values(set_, "--set").items() if name not in made.knobs}
        path = out / f"{robot}-{made.name}-found.json"
        save_record(path, GAIT_FORMAT, plain({**content, "parameters": parameters}))
        content["file"] = str(path)
        assert part is not None
        part.unlink(missing_ok=True)
    print_json(content) if as_json else _print_content(content)
    audits = Audits()
    audits.cycle(found.fixed.cycle)
    audits.exit()


def _timed_type(robot: str) -> str | None:
    """The first gait type of a robot that can draw starts of its own."""
    from saltus.gaits import find_gait, gait_names
    from saltus.robots import find_robot

    system = find_robot(robot)
    drawing = [name for name in gait_names(robot) if find_gait(name, system).draw is not None]
    return "pieces" if "pieces" in drawing else next(iter(drawing), None)


@app.command("collisionless")
def collisionless_command(
    context: typer.Context, robot: Robot, type_: GaitType = None, set_: Values = None, as_json: Json = False
) -> None:
    """Find all gaits of a type that lose nothing, by shooting from rest."""
    from saltus.gaits import collisionless

    report = asked_report(context)
    rows: list[dict[str, Any]] = []
    cycles: dict[str, Any] = {}
    with Progress(1.0, quiet=as_json, doing="shooting") as show:
        gaits = collisionless(_gait(robot, type_, set_), progress=lambda done, total: show(done / total))
    for found in gaits:
        fixed = found.fixed
        cycles[f"gait {len(cycles) + 1}"] = fixed.cycle
        rows.append(
            fixed.to_dict() | {
                "rest": found.rest,
                "miss": found.miss,
                "error": fixed.cycle.error,
                "grazing": True,
                "multipliers": None,
                "multipliers_timed": _complex(fixed.multipliers),
            }
        )  # fmt: skip
    if report is not None:
        document = report.begin(f"{robot}: gaits that lose nothing")
        for name, row in zip(cycles, rows, strict=True):
            document.facts(name, told(row))
        if cycles:
            document.cycles("Motion", cycles)
        else:
            document.text("There are none.")
    audits = Audits()
    for name, cycle in cycles.items():
        audits.cycle(cycle, name)
    if as_json:
        print_json({"robot": robot, "gaits": rows})
        audits.exit()
        return
    for row in rows:
        _print_content(row)
    if not rows:
        print("none")
    audits.exit()


@app.command("family")
def family_command(
    context: typer.Context,
    robot: Robot,
    knob: Annotated[str, typer.Option(help="Which knob, from where to where: motor_torque=2.4:5.")],
    guess: Annotated[list[str] | None, typer.Option(help="Near where to begin: dtheta1=0.75,dtheta2=11.1.")] = None,
    type_: GaitType = None,
    set_: Values = None,
    out: Annotated[Path | None, typer.Option(help="A folder for figures and a file of all points.")] = None,
    as_json: Json = False,
) -> None:
    """Follow a gait that repeats in a knob, with its multipliers, folds and other bifurcations."""
    from saltus import gaits

    report = asked_report(context)
    name, _, span = knob.partition("=")
    try:
        low, high = (float(part) for part in span.split(":"))
    except ValueError:
        raise InputError(f"--knob takes name=from:to, such as motor_torque=2.4:5, got {knob!r}") from None
    made = _gait(robot, type_, set_)
    name, begin = name.strip(), _values(guess, "--guess")
    made.state(begin)
    gaits.check_span(made, name, (low, high))
    if out is not None:
        folder(out)
    with Progress(quiet=as_json, doing="solving"):
        fixed = gaits.solve(made, begin)
    with Progress(2 * MOST, quiet=as_json, doing=f"following {name}") as show:
        made_points = itertools.count(1)
        family = gaits.follow(fixed, name, (low, high), most=MOST, progress=lambda *_: show(next(made_points)))
    with Progress(quiet=as_json, doing="drawing"):
        files = _write_family(family, out, f"{robot}-{made.name}-family-{name}") if out is not None else []
        if report is not None:
            _report_family(report.begin(f"{robot}, {made.name}: family in {name}"), family)
    audits = Audits()
    for value, point in zip(family.values, family.points, strict=True):
        audits.cycle(point.cycle, f"{name} = {value:.6g}")
    if as_json:
        print_json({"robot": robot, **_family(family), "files": [str(path) for path in files]})
        audits.exit()
        return
    lines = [
        (f"{value:.6g}", *(f"{point.start[free]:.6g}" for free in made.free), f"{radius:.4g}", f"{_clock(point):.4g}")
        for value, radius, point in zip(family.values, family.radii, family.points, strict=True)
    ]
    print_table((name, *made.free, "largest multiplier", "by the clock"), lines, f"{robot}, {made.name}")
    for change in family.changes:
        print(f"{change.kind}: {change.about}")
    print(f"ends: {family.ends[0]}; {family.ends[1]}")
    print(f"resolution: {_resolution(family)}")
    _print_files(files)
    audits.exit()


def _family(family: Family) -> dict[str, Any]:
    rows = [
        point.to_dict()
        | {"multipliers": _complex(point.multipliers), "multipliers_timed": _complex(point.multipliers_timed)}
        for point in family.points
    ]
    return {
        "knob": family.knob, "points": rows, "changes": [change.to_dict() for change in family.changes],
        "ends": list(family.ends), "resolution": family.resolution.to_dict(),
    }  # fmt: skip


def _resolution(family: Family) -> str:
    """How narrow a window between two changes may be and still be found."""
    found = family.resolution
    return (
        f"no window between two changes is missed that is wider than {found.length:.3g} of the size of unknowns and "
        f"knob, along the family, or {found.value:.3g} in {family.knob}; in doubt it was looked for down to "
        f"{found.finest:.2g}"
    )


def _report_family(document: Document, family: Family) -> None:
    from saltus.show import family_figure

    rows: list[tuple[str, Any, str]] = [
        ("gaits", len(family.points), ""), ("ends", "; ".join(family.ends), ""),
        ("resolution", _resolution(family), ""),
    ]  # fmt: skip
    document.facts("Key figures", rows)
    document.figures("Family", [(family_figure(family), f"Solid where stable, dashed where not, over {family.knob}")])
    document.table("Changes", ("kind", family.knob, "what"), [(c.kind, c.value, c.about) for c in family.changes])
    free = family.points[0].gait.free
    lines = [
        (float(value), *(point.start[one] for one in free), float(radius), _clock(point))
        for value, radius, point in zip(family.values, family.radii, family.points, strict=True)
    ]
    document.table("Gaits", (family.knob, *free, "largest multiplier", "by the clock"), lines)


def _write_family(family: Family, out: Path, name: str) -> list[Path]:
    from saltus.show import family_figure, save_figure

    files = [write_json(out / f"{name}.json", plain(_family(family)))]
    return files + save_figure(family_figure(family), out, name)


def _clock(point: Any) -> float:
    return float(abs(point.multipliers_timed[0]))
