"""The verb that runs a robot once, and all that it can tell and write of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli._app import app
from saltus.cli._experiment import (
    ATOL,
    METHOD,
    RTOL,
    AbsoluteTolerance,
    ControllerName,
    ControllerOptions,
    Failure,
    GuardActions,
    LawName,
    Method,
    Parameters,
    ProfileName,
    RelativeTolerance,
    Start,
    Until,
    exit_after,
    experiment,
    with_actions,
)
from saltus.cli._hardware import HardwareParts, behind, claws_told
from saltus.cli._report import asked_report, may_overwrite
from saltus.cli._words import Json, Progress, Robot, folder, pairs, print_json, print_table
from saltus.cli._worlds import BarCount, Incline, Spacing, Target, TaskName, WorldName, placed_robot
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.engine import NeededFriction, Trajectory
    from saltus.hybrid import HybridSystem


@app.command("run")
def run_command(
    context: typer.Context,
    robot: Robot,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    hardware: HardwareParts = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    rtol: RelativeTolerance = RTOL,
    atol: AbsoluteTolerance = ATOL,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    world: WorldName = None,
    spacing: Spacing = None,
    bars: BarCount = None,
    incline: Incline = None,
    task: TaskName = None,
    target: Target = None,
    output_step: Annotated[float | None, typer.Option(help="Spacing of the samples, s.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the samples: .nc, .mat or .csv.")] = None,
    figures: Annotated[Path | None, typer.Option(help="A folder for figures of the run.")] = None,
    animation: Annotated[Path | None, typer.Option(help="Write the motion as a film: .html, .gif or .mp4.")] = None,
    view: Annotated[
        Path | None, typer.Option(help="Write the motion in three dimensions, to be turned: an .html page.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Draw the robot in the terminal while it runs.")] = False,
    speed: Annotated[
        float | None,
        typer.Option(help="Of --watch and --animation: simulated seconds in one that passes; by the run's length."),
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Audit deeply: windows by another method, and the error of the end state.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Simulate a robot and report how it went."""
    report = asked_report(context)
    _check_files(context, out, figures, animation, view)
    system, mode = placed_robot(robot, set_, world, spacing, bars, incline, task, target)
    one = experiment(with_actions(system, law, guard), controller, control, profile, x0, until)
    acting = behind(one.controller, hardware, pairs(control, "--control"))
    one = replace(one, mode=mode, controller=acting)
    one.check_samples(output_step)
    _check_speed(speed, used=watch or animation is not None)
    simulate = partial(one.watched, speed) if watch else one.simulate
    run, failure = simulate(quiet=as_json, rtol=rtol, atol=atol, method=method, output_step=output_step)
    if out is not None:
        with Progress(quiet=as_json, doing="writing"):
            run.save(out)
    if figures is not None:
        with Progress(quiet=as_json, doing="drawing"):
            draw_run(run, figures)
    if report is not None:
        with Progress(quiet=as_json, doing="reporting"):
            from saltus.show import add_runs

            add_runs(report.begin(f"{robot.replace('_', ' ')}{f', {profile}' if profile else ''}"), {"": run})
    no_film = None if animation is None else _film(run, animation, speed, as_json)
    no_view = None if view is None else _view(run, view, as_json)
    written = {"out": out, "figures": figures}
    written |= {"animation": None if no_film else animation, "view": None if no_view else view}
    deep = deep and run.status.good
    _print_run(run, failure, written, claws_told(acting, run), as_json=as_json, deep=deep)
    for problem in dict.fromkeys(str(error) for error in (no_film, no_view) if error is not None):
        print(f"saltus: {problem}", file=sys.stderr)
    if no_film is not None or no_view is not None:  # all else is done and told
        raise typer.Exit(2)
    exit_after(failure, run, deep=deep)


def _check_files(
    context: typer.Context, out: Path | None, figures: Path | None, animation: Path | None, view: Path | None
) -> None:
    """Refuse what cannot be written, before the run."""
    if out is not None:
        from saltus.engine import check_target

        check_target(out)
    if figures is not None:
        folder(figures)
    if animation is not None:
        from saltus.show import check_animation

        check_animation(animation, force=may_overwrite(context, animation))
    if view is not None:
        from saltus.show import check_space_view

        check_space_view(view, force=may_overwrite(context, view))


def _film(run: Trajectory, path: Path, speed: float | None, quiet: bool) -> InputError | None:
    """Write a film, or say why there can be none of this run."""
    from saltus.show import save_animation

    with Progress(1.0, quiet=quiet, doing="filming") as show:
        try:
            save_animation(run, path, speed=speed, force=True, progress=lambda done, total: show(done / total))
        except InputError as error:
            return error
    return None


def _view(run: Trajectory, path: Path, quiet: bool) -> InputError | None:
    """Write a view in three dimensions, or say why there can be none of this run."""
    from saltus.show import save_space_view

    with Progress(quiet=quiet, doing="drawing in space"):
        try:
            save_space_view(run, path, force=True)
        except InputError as error:
            return error
    return None


def _check_speed(speed: float | None, *, used: bool) -> None:
    if speed is not None and not used:
        raise InputError("--speed needs --watch or --animation")
    if speed is not None and not 0 < speed < math.inf:
        raise InputError(f"--speed must be positive and finite, got {speed:g}")


def draw_run(run: Trajectory, out: Path) -> None:
    """Every figure of a run that its robot allows."""
    from saltus import show

    for name, figure in show.run_figures(run).items():
        show.save_figure(figure, out, f"{run.system.name}-{name}")


def run_facts(run: Trajectory) -> dict[str, Any]:
    """A run in short, for JSON, with the impact law of each unit that has one and what ideal contacts needed."""
    needed = _needed(run)
    told: dict[str, Any] = {}
    if needed:
        told["needed_friction"] = {unit: one.to_dict() for unit, one in needed.items()}
    return (
        run.to_dict() | told | _swings(run) | {"laws": {unit: law.to_dict() for unit, law in run.system.laws.items()}}
    )


def _swings(run: Trajectory) -> dict[str, Any]:
    """What became of each swing, of robots with two hands that hold bars."""
    from saltus.contact import GRIP

    if not any(unit.kind == GRIP for unit in run.system.units):  # others do without the studies
        return {}
    from saltus.studies import swings_to_dict
    from saltus.studies._swings import swings_from_bars

    return swings_to_dict(run) if swings_from_bars(run.system) else {}


def _needed(run: Trajectory) -> dict[str, NeededFriction]:
    """What contacts that never slip needed to do so."""
    ideal = {run.system.units[k].name for k in run.system.ideal_units}
    return {unit: one for unit, one in run.needed_friction().items() if unit in ideal} if ideal else {}


def _print_swings(run: Trajectory) -> None:
    told = _swings(run)
    if not told:
        return
    rows = [
        (
            f"{one['start']:.3f}", f"{one['time']:.3f}", one["hand"], "-" if one["bar"] is None else str(one["bar"]),
            "-" if one["residual"] is None else f"{one['residual']:.3f}", f"{one['mean_torque']:.2f}",
            f"{one['peak_force']:.1f}", f"{one['peak_speed']:.1f}", str(one["back_swings"]), one["approach"] or "-",
        )
        for one in told["swings"]
    ]  # fmt: skip
    names = ("start s", "time s", "holds", "caught", "left J", "torque N m", "force N", "speed rad/s", "back", "from")
    print_table(names, rows, "swings")
    print("fell" if told["fell"] else _how_far(run.system, told))


def _how_far(system: HybridSystem, told: Mapping[str, Any]) -> str:
    from saltus.studies._swings import holds_a_rope

    if holds_a_rope(system):
        return f"caught the rope {told['caught']} times"
    return "reached the last bar" if told["reached"] else "did not reach the last bar"


def _print_run(
    run: Trajectory, failure: Failure | None, written: Mapping[str, Path | None], told: Mapping[str, Any], *,
    as_json: bool, deep: bool,
) -> None:  # fmt: skip
    with Progress(quiet=as_json, doing="checking"):
        audit = run.check(deep=deep)
    if as_json:
        content = run_facts(run) | dict(told) | {"audit": audit.to_dict()}
        content |= {what: None if path is None else str(path) for what, path in written.items()}
        if failure is not None:
            content["error"] = str(failure)
        print_json(content)
        return
    print(f"{run.system.name}: {run.status.name} ({run.status.meaning}) at t = {run.end_time:.9g} s")
    print(f"  {run.steps} steps, {run.rejected} rejected, {len(run.events)} events")
    if run.system.laws:
        from saltus.studies import laws_in_words

        print(f"  impact law {laws_in_words(run.system)}")
    for name, value in run.final.items():
        print(f"  {name:<12} {value: .12g}")
    shown = run.events[:20]
    if shown:
        print("events")
    for event in shown:
        lost = f"  lost {event.energy_lost:.4g} J" if any(event.impulse.values()) else ""
        print(f"  {event.t:14.10f}  {event.guard:<12} {event.mode_before} -> {event.mode_after}{lost}")
    if len(run.events) > len(shown):
        print(f"  and {len(run.events) - len(shown)} more")
    for name, figure in run.figures.items():
        print(f"{name} {figure if figure is None else format(figure, '.12g')}")
    _print_swings(run)
    for hand, claw in told.get("claws", {}).items():
        print(f"claw {hand} {', '.join(f'{count} {what}' for what, count in claw.items() if what != 'side')}")
    for unit, needed in _needed(run).items():
        print(f"friction needed by {unit} {needed.value:.6g} at t = {needed.t:.6g} s")
    print("audit")
    print("\n".join(f"  {line}" for line in str(audit).splitlines()))
    for path in filter(None, written.values()):
        print(f"wrote {path}")
    if failure is not None:
        print(f"saltus: {failure}", file=sys.stderr)
