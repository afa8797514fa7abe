"""Verbs about gaits: one cycle, a fixed point, many cycles by the clock, maps of the error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import load_record
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._report import asked_report, told
from saltus.cli._words import (
    Json,
    Out,
    Progress,
    Robot,
    folder,
    numbers,
    pairs,
    print_json,
    print_reasons,
    print_table,
)
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    import numpy as np

    from saltus.gaits import Cycle, ErrorMap, FixedPoint, Gait, Iterates, Minimised
    from saltus.show import Document

GaitType = Annotated[str | None, typer.Option("--type", help="Which gait type; see `saltus list`.")]
Values = Annotated[list[str] | None, typer.Option("--set", help="Knobs of the gait, parameters of the robot: a=1,b=2.")]

# Of files of gaits that a search found.
GAIT_FORMAT = "saltus gait 1"

GRAZING = (
    "phase {phase} ends by touching its guard without crossing it: the state-driven map has no derivative there, "
    "and so no multipliers; those by the clock are multipliers_timed"
)

TOUCHED = "s into a phase its guard was touched and not crossed: a cycle a little faster would have ended it there"


@app.command("gait")
def gait_command(
    context: typer.Context,
    robot: Robot,
    type_: GaitType = None,
    start: Annotated[list[str] | None, typer.Option(help="Where the cycle begins: dtheta1=0.9,dtheta2=11.")] = None,
    guess: Annotated[list[str] | None, typer.Option(help="Near where to search; with --solve or --minimise.")] = None,
    set_: Values = None,
    from_: Annotated[Path | None, typer.Option("--from", help="A gait that `saltus search --out` wrote.")] = None,
    solve: Annotated[bool, typer.Option("--solve", help="Find a gait that repeats, and its multipliers.")] = False,
    minimise: Annotated[bool, typer.Option("--minimise", help="Find the least error by Nelder and Mead.")] = False,
    iterate: Annotated[int | None, typer.Option(help="Repeat it by the clock this many times.")] = None,
    period: Annotated[float | None, typer.Option(help="The clock acts at multiples of it only, s.")] = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Run one cycle of a gait, find one that repeats, or repeat it by the clock."""
    from saltus import gaits

    report = asked_report(context)
    if solve and minimise:
        raise InputError("give --solve or --minimise, not both")
    if guess and not (solve or minimise):
        raise InputError("--guess needs --solve or --minimise; a cycle begins at --start")
    if start and (solve or minimise):
        raise InputError("--start is for one cycle; a search begins at --guess")
    if period is not None and iterate is None:
        raise InputError("--period needs --iterate")
    made = _gait(robot, type_, set_) if from_ is None else _found(robot, type_, set_, from_)
    begin = _values(guess if solve or minimise else start, "--guess" if solve or minimise else "--start")
    made.state(begin)
    if iterate is not None:
        gaits.check_iteration(iterate, period)
        folder(out)
    repeated: Gait | FixedPoint
    fixed: FixedPoint | None = None
    if solve:
        with Progress(quiet=as_json, doing="solving"):
            fixed = gaits.solve(made, begin)
        content, repeated, cycle = _solved(fixed), fixed, fixed.cycle
    elif minimise:
        with Progress(quiet=as_json, doing="minimising"):
            least = gaits.minimise(made, begin)
        content, repeated, cycle = _least(least), made.with_start(**_free(made, least.start)), least.cycle
    else:
        with Progress(quiet=as_json, doing="one cycle"):
            cycle = gaits.run_cycle(made, begin)
        content, repeated = _cycle(cycle), made.with_start(**begin)
    repeats, audits = None, Audits()
    if iterate is not None:
        with Progress(iterate, quiet=as_json, doing="repeating") as show:
            repeats = audits.during(
                lambda: gaits.iterate(repeated, iterate, period, progress=lambda done, _: show(done))
            )
    if report is not None:
        with Progress(quiet=as_json, doing="reporting"):
            report_gait(report.begin(f"{robot}, {made.name}"), content, cycle, fixed, repeats)
    if repeats is not None:
        _print_iterates(repeats, robot, out, as_json)
    elif as_json:
        print_json(content)
    else:
        _print_content(content)
    audits.cycle(cycle)
    audits.exit()


@app.command("map")
def map_command(
    context: typer.Context,
    robot: Robot,
    x: Annotated[str, typer.Option("--x", help="A quantity, from, to and how many values: dtheta1=0:4:200.")],
    y: Annotated[str, typer.Option("--y", help="Another: a start value, a knob or a parameter.")],
    type_: GaitType = None,
    set_: Values = None,
    above: Annotated[float, typer.Option(help="Errors above it are cut off in the figure.")] = 5.0,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Map the error of a gait over two quantities, and write figures and files of it."""
    from saltus.gaits import check_axes, error_map

    report = asked_report(context)
    axes = _range(x, "--x"), _range(y, "--y")
    if not above > 0:
        raise InputError(f"--above must be positive, got {above:g}")
    made = _gait(robot, type_, set_, varied=[name for name, _ in axes])
    check_axes(made, *axes)
    folder(out)
    with Progress(1.0, quiet=as_json, doing="mapping") as show:
        audits = Audits()
        found = audits.during(lambda: error_map(made, *axes, progress=lambda done, total: show(done / total)))
    with Progress(quiet=as_json, doing="drawing"):
        files = _write_map(found, out, f"{robot}-{made.name}-map", above)
        if report is not None:
            _report_map(report.begin(f"{robot}, {made.name}: error over {axes[0][0]} and {axes[1][0]}"), found, above)
    _print_map(found, files, as_json)
    audits.exit()


# -- what is asked for ----------------------------------------------------------------------------------


def _gait(robot: str, type_: str | None, set_: list[str] | None, varied: list[str] | None = None) -> Gait:
    """The gait with the knobs and parameters that are set."""
    from saltus.gaits import find_gait, gait_names
    from saltus.robots import find_robot

    system = find_robot(robot)
    known = gait_names(robot)
    if not known:
        raise InputError(f"{robot} has no gait types")
    if type_ is not None and type_ not in known:
        raise unknown_name("gait type", type_, known, robot)
    name = type_ or known[0]
    made = find_gait(name, system)
    given = _values(set_, "--set")
    parameters = {key: value for key, value in given.items() if key in system.mechanism.parameters}
    knobs = {key: value for key, value in given.items() if key in made.knobs}
    for key in given:
        if key not in parameters and key not in knobs:
            every = [*made.knobs, *system.mechanism.parameters]
            raise unknown_name("knob or parameter", key, every, f"gait {name} of {robot}")
        if key in (varied or []):
            raise InputError(f"{key} is varied, so that it cannot be set too")
    if parameters:
        made = find_gait(name, system.with_parameters(**parameters))
    return made.with_knobs(**knobs)


def _found(robot: str, type_: str | None, set_: list[str] | None, path: Path) -> Gait:
    """A gait that was found and written to a file, with its start, its knobs and the parameters of its robot."""
    try:
        content = load_record(path, GAIT_FORMAT)
        kind, start, knobs = content["gait"], content["fixed_point"], content["knobs"]
        texts = [f"{name}={value!r}" for name, value in {**content.get("parameters", {}), **knobs}.items()]
        begin = {name: float(value) for name, value in start.items()}
    except InputError as error:
        raise InputError(f"cannot read a gait from {path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"cannot read a gait from {path}: {type(error).__name__}: {error}") from None
    if content.get("robot") != robot or (type_ is not None and type_ != kind):
        raise InputError(f"{path} holds gait {kind} of {content.get('robot')}")
    given = {text.partition("=")[0].strip() for part in set_ or [] for text in part.split(",")}
    made = _gait(robot, kind, [*(text for text in texts if text.partition("=")[0] not in given), *(set_ or [])])
    if set(begin) != set(made.state_names):
        raise InputError(
            f"cannot read a gait from {path}: it begins with {', '.join(begin)}, not {', '.join(made.state_names)}"
        )
    return made.with_start(**_free(made, begin))


def _values(given: list[str] | None, option: str) -> dict[str, float]:
    return numbers([part for text in given or [] for part in text.split(",")], option)


def _range(text: str, option: str) -> tuple[str, np.ndarray]:
    import numpy as np

    ((name, words),) = pairs([text], option).items()
    parts = words.split(":")
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) > 3:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(f"{option} takes name=from:to:count, such as dtheta1=0:4:200, got {text!r}") from None
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(f"{option}: the ends of {name} must be finite, got {words}")
    if not low < high:
        raise InputError(f"{option}: {name} must go from a smaller to a greater value, got {low:g} to {high:g}")
    if count < 2:
        raise InputError(f"{option}: {name} needs at least two values, got {count}")
    if count > 1_000_000:
        raise InputError(f"{option}: {name} takes at most a million values, got {count:,}")
    return name, np.linspace(low, high, count)


def _free(gait: Gait, state: dict[str, float]) -> dict[str, float]:
    return {name: state[name] for name in gait.free}


# -- what is told ---------------------------------------------------------------------------------------


def _cycle(cycle: Cycle) -> dict[str, Any]:
    return {
        "robot": cycle.gait.robot.name,
        "gait": cycle.gait.name,
        "start": dict(cycle.start),
        "knobs": dict(cycle.knobs),
        "error": cycle.error,
        **{f"t_{name}": value for name, value in cycle.durations.items()},
        "period": cycle.period,
        "final": dict(cycle.final),
        "travel": list(cycle.travel),
        "losses": dict(cycle.losses),
        **({"touched": dict(cycle.touched), "about_touched": TOUCHED} if cycle.touched else {}),
    }


def _solved(fixed: FixedPoint) -> dict[str, Any]:
    grazes = fixed.grazing
    content = _cycle(fixed.cycle) | {
        "fixed_point": dict(fixed.start),
        "residual": fixed.residual,
        "steps": fixed.steps,
        "grazing": bool(grazes),
        "multipliers": None if grazes else _complex(fixed.multipliers),
        "multipliers_timed": _complex(fixed.multipliers_timed),
    }
    return content | ({"about_multipliers": GRAZING.format(phase=" and ".join(grazes))} if grazes else {})


def _least(found: Minimised) -> dict[str, Any]:
    return _cycle(found.cycle) | {"evaluations": found.evaluations, "converged": found.converged}


def _complex(values: np.ndarray) -> list[Any]:
    """Real numbers as they are, others as pairs."""
    return [float(v.real) if v.imag == 0 else [float(v.real), float(v.imag)] for v in values]


def _print_content(content: dict[str, Any]) -> None:
    rows = []
    for key, value in content.items():
        if isinstance(value, dict):
            rows += [(f"{key} {name}", _number(one)) for name, one in value.items()]
        elif isinstance(value, list):
            rows.append((key, ", ".join(_number(one) for one in value)))
        else:
            rows.append((key, _number(value)))
    print_table(("quantity", "value (SI units)"), rows)


def _number(value: Any) -> str:
    if isinstance(value, list):
        return f"{value[0]:.9g} {value[1]:+.9g}i"
    if isinstance(value, float):
        return f"{value:.9g}"
    return "none" if value is None else str(value)


def _print_iterates(run: Iterates, robot: str, out: Path, as_json: bool) -> None:
    name = f"{robot}-{run.gait.name}-iterate"
    files: list[Path] = []
    with Progress(1.0, quiet=as_json, doing="drawing") as show:
        from saltus.show import error_figure, height_figure, iterates_figure, kinetic_figure, save_figure

        kinds = {"error": error_figure, "kinetic": kinetic_figure, "height": height_figure, "cycles": iterates_figure}
        for number, (kind, draw) in enumerate(kinds.items() if run.count else (), 1):
            files += save_figure(draw({"": run}), out, f"{name}-{kind}")
            show(number / len(kinds))
    if as_json:
        print_json(run.to_dict() | {"files": [str(path) for path in files]})
        return
    rows = [
        (str(row["cycle"]), *(f"{row[key]:.6g}" for key in ("t", "error", "kinetic", "x", "y")))
        for row in run.to_dict()["cycles"]
    ]
    columns = ("cycle", "t (s)", "error", "kinetic energy (J)", "hold x (m)", "hold y (m)")
    print_table(columns, rows, f"{robot}, {run.gait.name}: {run.count} of {run.asked} cycles by the clock")
    if run.reason:
        print(f"lost in {run.reason}")
    _print_files(files)


def report_gait(
    document: Document, content: dict[str, Any], cycle: Cycle, fixed: FixedPoint | None, repeats: Iterates | None = None
) -> None:
    """A cycle in a report: what is told of it, its motion, its multipliers, and what became of it by the clock."""
    from saltus import show

    document.facts("Key figures, in SI units", told(content))
    document.cycles("Motion", {"": cycle})
    if fixed is not None:
        document.figures("Stability", [(show.multipliers_figure(fixed), "Multipliers in the plane of complex numbers")])
    if repeats is not None and repeats.count:
        document.figures("Repeated by the clock", [(show.iterates_figure({"": repeats}), "Cycle by cycle")])
    checks = [
        (phase.name, check)
        for phase, run in zip(cycle.gait.phases, cycle.runs, strict=False)  # one that takes no time has no run
        for check in run.check().checks
    ]
    document.checks(
        "Audit of each phase",
        [(c.ok, f"{phase}: {c.name}", f"{c.value:.3g} {c.unit}", f"{c.limit:.1g} {c.unit}") for phase, c in checks],
    )
    failed = [f"The audit failed in {phase}: {check.name}." for phase, check in checks if not check.ok]
    lost = [f"Lost in {repeats.reason}"] if repeats is not None and repeats.reason else []
    document.warnings([*failed, *lost])
    robot = cycle.gait.robot
    rows = [(name, value, robot.mechanism.parameters[name].unit) for name, value in robot.values.items()]
    document.facts("What was run", [("robot", f"{robot.name}: {robot.about}", ""), *rows])


def _report_map(document: Document, found: ErrorMap, above: float) -> None:
    from saltus import show

    document.facts(
        "Key figures", [("cells", int(found.error.size), ""), ("cells with a cycle", int(found.good.sum()), "")]
    )
    if found.good.any():
        pictures = [(show.surface_figure(found, above=above), "The error as a surface")]
        document.figures("Map", [*pictures, (show.intensity_figure(found, above=above), "The error by its colour")])
    columns = [f"{name} ({found.unit(name)})" for name in (found.x_name, found.y_name)]
    rows = [(m.x, m.y, m.error, m.edge) for m in found.minima(most=8)]
    document.table("Least errors", [*columns, "error", "where the map ends"], rows)
    document.warnings([f"{count} cells have no cycle: {reason}." for reason, count in found.reason_counts.items()])


def _write_map(found: ErrorMap, out: Path, name: str, above: float) -> list[Path]:
    from saltus.show import intensity_figure, save_figure, surface_figure

    files = [found.save(out / f"{name}.{ending}") for ending in ("nc", "mat")]
    if found.good.any():
        files += save_figure(surface_figure(found, above=above), out, f"{name}-surface")
        files += save_figure(intensity_figure(found, above=above), out, f"{name}-intensity")
    return files


def _print_map(found: ErrorMap, files: list[Path], as_json: bool) -> None:
    minima = found.minima(most=8)
    reasons = found.reason_counts
    if as_json:
        print_json(
            {
                "robot": found.gait.robot.name, "gait": found.gait.name, "knobs": found.knobs,
                "cells": int(found.error.size), "good": int(found.good.sum()), "reasons": reasons,
                "minima": [
                    {found.x_name: one.x, found.y_name: one.y, "error": one.error, "edge": one.edge} for one in minima
                ],
                "files": [str(path) for path in files],
            }
        )  # fmt: skip
        return
    rows = [(f"{m.x:.6g}", f"{m.y:.6g}", f"{m.error:.6g}", "yes" if m.edge else "") for m in minima]
    columns = [f"{name} ({found.unit(name)})" for name in (found.x_name, found.y_name)]
    print_table((*columns, "error", "where the map ends"), rows, "least errors")
    print_reasons(reasons, found.error.size, "cells")
    _print_files(files)


def _print_files(files: list[Path]) -> None:
    for path in files:
        print(f"wrote {path}")
