"""Verbs that search: stable gaits by the clock, gaits that lose nothing, families."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from saltus.cli._app import app
from saltus.cli._gaits import GaitType, Values, _complex, _gait, _print_content, _values
from saltus.cli._words import Json, Progress, Robot, print_json, print_table
from saltus.errors import InputError


@app.command("search")
def search_command(
    robot: Robot,
    type_: GaitType = None,
    set_: Values = None,
    radius: Annotated[float, typer.Option(help="The largest spectral radius that will do.")] = 0.8,
    rise: Annotated[float, typer.Option(help="By how much the hold shall rise in a cycle, m.")] = 0.0,
    climb: Annotated[float | None, typer.Option(help="Then follow it to larger rises, up to this one, m.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
    starts: Annotated[int, typer.Option(help="How many random starts at most.")] = 200,
    cycles: Annotated[int, typer.Option(help="Cycles in which differences must die out.")] = 500,
    as_json: Json = False,
) -> None:
    """Search for a gait that is stable by the clock alone, with times in whole milliseconds."""
    from saltus import gaits

    if climb is not None and not climb > rise:
        raise InputError(f"--climb must be above --rise, got {climb:g} and {rise:g} m")
    if not 0 < radius <= 1:
        raise InputError(f"--radius must be above 0 and at most 1, got {radius:g}")
    for option, value in (("--starts", starts), ("--cycles", cycles)):
        if value < 1:
            raise InputError(f"{option} must be a positive whole number, got {value}")
    made = _gait(robot, type_ or _timed_type(robot), set_)
    with Progress(starts, quiet=as_json, doing="searching") as show:
        found = gaits.find_stable(
            made, radius=radius, rise=rise, seed=seed, starts=starts, cycles=cycles, progress=lambda k, _: show(k)
        )
    if climb is not None:
        found = gaits.climb(found, most=climb, cycles=cycles)
    content = {"robot": robot, **found.to_dict(), "multipliers_timed": _complex(found.fixed.multipliers)}
    if as_json:
        print_json(content)
    else:
        _print_content(content)


def _timed_type(robot: str) -> str | None:
    """The first gait type of a robot that can draw starts of its own."""
    from saltus.gaits import find_gait, gait_names
    from saltus.robots import find_robot

    system = find_robot(robot)
    drawing = [name for name in gait_names(robot) if find_gait(name, system).draw is not None]
    return "pieces" if "pieces" in drawing else next(iter(drawing), None)


@app.command("collisionless")
def collisionless_command(robot: Robot, type_: GaitType = None, set_: Values = None, as_json: Json = False) -> None:
    """Find all gaits of a type that lose nothing, by shooting from rest."""
    from saltus.gaits import collisionless

    rows: list[dict[str, Any]] = []
    for found in collisionless(_gait(robot, type_, set_)):
        fixed = found.fixed
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
    if as_json:
        print_json({"robot": robot, "gaits": rows})
        return
    for row in rows:
        _print_content(row)
    if not rows:
        print("none")


@app.command("family")
def family_command(
    robot: Robot,
    knob: Annotated[str, typer.Option(help="Which knob, from where to where: motor_torque=2.4:5.")],
    guess: Annotated[list[str] | None, typer.Option(help="Near where to begin: dtheta1=0.75,dtheta2=11.1.")] = None,
    type_: GaitType = None,
    set_: Values = None,
    as_json: Json = False,
) -> None:
    """Follow a gait that repeats in a knob, with its multipliers, folds and changes of stability."""
    from saltus import gaits

    name, _, span = knob.partition("=")
    try:
        low, high = (float(part) for part in span.split(":"))
    except ValueError:
        raise InputError(f"--knob takes name=from:to, such as motor_torque=2.4:5, got {knob!r}") from None
    if not low < high:
        raise InputError(f"--knob: {name} must go from a smaller to a greater value, got {low:g} to {high:g}")
    made = _gait(robot, type_, set_)
    fixed = gaits.solve(made, _values(guess, "--guess"))
    family = gaits.follow(fixed, name.strip(), (low, high))
    if as_json:
        rows = [
            point.to_dict()
            | {"multipliers": _complex(point.multipliers), "multipliers_timed": _complex(point.multipliers_timed)}
            for point in family.points
        ]
        changes = [{"kind": c.kind, "value": c.value, "about": c.about} for c in family.changes]
        print_json({"robot": robot, "knob": name, "points": rows, "changes": changes, "ends": list(family.ends)})
        return
    lines = [
        (f"{value:.6g}", *(f"{point.start[free]:.6g}" for free in made.free), f"{radius:.4g}", f"{_clock(point):.4g}")
        for value, radius, point in zip(family.values, family.radii, family.points, strict=True)
    ]
    print_table((name, *made.free, "largest multiplier", "by the clock"), lines, f"{robot}, {made.name}")
    for change in family.changes:
        print(f"{change.kind}: {change.about}")
    print(f"ends: {family.ends[0]}; {family.ends[1]}")


def _clock(point: Any) -> float:
    return float(abs(point.multipliers_timed[0]))
