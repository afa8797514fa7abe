"""The verb that optimises: it searches for a time, keeps the best at all times, and judges it exactly."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._write import write
from saltus.cli._app import app
from saltus.cli._runs import Parameters, changed_robot, draw_run, experiment
from saltus.cli._words import Json, Out, Progress, Robot, folder, plain, print_json, print_tree
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

if TYPE_CHECKING:
    from saltus import optimize


@app.command("optimize")
def optimize_command(
    robot: Robot,
    problem: Annotated[str | None, typer.Option(help="Which problem; the robot's first.")] = None,
    reading: Annotated[str | None, typer.Option(help="How its rules are read: strict or until-impact.")] = None,
    time: Annotated[float, typer.Option(help="How long to search, s.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Of the random candidates.")] = 0,
    mixes: Annotated[
        float,
        typer.Option(help="Judge by what is kept when everything is off at random, so many times its usual size."),
    ] = 0.0,
    polish: Annotated[float, typer.Option(help="Then polish by collocation for about so long, s.")] = 0.0,
    profile: Annotated[
        str | None, typer.Option(help="Polish the robot's ready experiment of that name; nothing is searched for.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the best in the folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Begin anew over what is in the folder.")] = False,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Search for the best motion of a robot, polish it if asked to, and make it again exactly."""
    from saltus import optimize

    if not 0 < time < math.inf:
        raise InputError(f"--time must be positive, got {time:g} s")
    if not (0 <= mixes < math.inf and 0 <= polish < math.inf):
        raise InputError(f"--mixes and --polish must be finite and not negative, got {mixes:g} and {polish:g}")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if mixes and polish:
        raise InputError("--polish makes a motion in time, which bears no mixes: give --polish or --mixes")
    if profile is not None and (not polish or mixes or resume):
        raise InputError("--profile is polished alone: give --polish with it, and neither --mixes nor --resume")
    system, name = _named(robot, problem, set_)
    chosen = optimize.find_problem(name, system, reading, mixes)
    ready = None if profile is None else experiment(system, None, None, profile, None, None)
    folder(out)
    file = out / f"{chosen.name.replace(',', '').replace(' ', '-')}{'' if profile is None else f'-{profile}'}.json"
    if ready is None and file.exists() and not (resume or force):
        raise InputError(f"{file} holds the best of a search: go on with --resume, or begin anew with --force")
    content: dict[str, Any] = {"problem": chosen.name, "objective": chosen.objective}
    if ready is None:
        with Progress(time, quiet=as_json, doing="searching") as show:
            best = optimize.search(
                chosen, seconds=time, seed=seed, file=file, resume=resume,
                progress=lambda now: show(now.seconds, f"best {now.best:.4f}, {now.runs:,} runs"),
            )  # fmt: skip
        trial = chosen.trial(best.values)
        spent: dict[str, Any] = {"runs": best.runs, "seconds": best.seconds, "file": str(file)}
    else:
        trial, spent = optimize.Trial(ready.start, ready.controller), {}
    with Progress(quiet=as_json, doing="making it again"):
        verdict = optimize.verdict(chosen, trial)
    if polish and (verdict.value is not None or ready is not None):
        try:
            polished = _polish(chosen, trial, verdict, polish, as_json)
        except InputError as error:
            if ready is not None:
                raise
            spent["not_polished"] = str(error)  # what was searched for is not lost
        else:
            trial, verdict = polished.trial, polished.verdict
            spent |= {"polished": polished.taken, "passes": polished.passes}
    content |= {**verdict.to_dict(), "start": dict(trial.start), **spent}
    if chosen.mixes is not None:
        with Progress(quiet=as_json, doing="trying mixes"):
            kept = optimize.robustness(chosen, trial, chosen.mixes.held_out())
        content["robustness"] = kept.to_dict()
    rows = optimize.torque_table(verdict.run)
    lines = [["t", *chosen.robot.mechanism.actuators], *(map(repr, row) for row in rows.tolist())]
    write(file.with_suffix(".csv"), "\n".join(map(",".join, lines)).encode())
    write(file.with_name(f"{file.stem}-verdict.json"), json.dumps(plain(content), indent=1).encode())
    with Progress(quiet=as_json, doing="drawing"):
        draw_run(verdict.run, out)
    if as_json:
        print_json(content)
        return
    print_tree(content)


def _polish(
    problem: optimize.Problem, trial: optimize.Trial, verdict: optimize.Verdict, seconds: float, quiet: bool
) -> optimize.Polished:
    from saltus import optimize

    with Progress(seconds, quiet=quiet, doing="polishing", by_clock=True) as show:

        def tell(done: dict[str, Any]) -> None:
            show(0.0, f"promised {done['promised']:.4f}, made again {done['value']}")

        return optimize.polish(problem, trial, verdict, seconds, tell)


@app.command("trade")
def trade_command(
    robot: Robot,
    problem: Annotated[str | None, typer.Option(help="Which problem; the robot's first.")] = None,
    reading: Annotated[str | None, typer.Option(help="How its rules are read: strict or until-impact.")] = None,
    sizes: Annotated[str, typer.Option(help="Sizes of the mixes to search with.")] = "0,0.5,1",
    time: Annotated[float, typer.Option(help="How long to search for each, s.")] = 200.0,
    seed: Annotated[int, typer.Option(help="Of the random candidates.")] = 0,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Search for the best motion that bears more and more, and draw length against robustness."""
    from saltus import optimize, show

    try:
        chosen = sorted({float(word) for word in sizes.split(",")})
    except ValueError:
        raise InputError(f"--sizes are numbers with commas between them, got {sizes!r}") from None
    if not all(0 <= size < math.inf for size in chosen):
        raise InputError(f"--sizes must be finite and not negative, got {sizes!r}")
    if not time > 0:
        raise InputError(f"--time must be positive, got {time:g} s")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    system, name = _named(robot, problem, set_)
    folder(out)
    points: dict[float, optimize.Robustness] = {}
    held = optimize.find_problem(name, system, reading, 1.0).mixes
    with Progress(time * len(chosen), quiet=as_json, doing="searching") as shown:
        for k, size in enumerate(chosen):

            def tell(now: optimize.Progress, done: float = k * time, size: float = size) -> None:
                shown(done + now.seconds, f"size {size:g}: best {now.best:.4f}")

            one = optimize.find_problem(name, system, reading, size)
            best = optimize.search(one, seconds=time, seed=seed, file=out / f"trade-{size:g}.json", progress=tell)
            if held is not None:
                points[size] = optimize.robustness(one, one.trial(best.values), held.held_out())
    content = {"problem": name, "points": [{"size": s, **p.to_dict()} for s, p in points.items()]}
    write(out / "trade.json", json.dumps(plain(content), indent=1).encode())
    show.save_figure(show.trade_figure(points), out, "trade")
    print_json(content) if as_json else print_tree(content)


def _named(robot: str, problem: str | None, given: Parameters) -> tuple[HybridSystem, str]:
    """The robot with its parameters, and the problem that is meant: the robot's first if none is named."""
    from saltus import optimize

    system = changed_robot(robot, given, None, None)
    names = optimize.problem_names(robot)
    if not names:
        raise InputError(f"{robot} has no problems")
    return system, problem or names[0]
