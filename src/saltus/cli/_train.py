"""The verb that trains: tables by dynamic programming for one or several bars, and impulses from random trials."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._write import write
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._experiment import Parameters, changed_robot
from saltus.cli._report import asked_report, forced, told
from saltus.cli._train_impulses import (
    ASKED,
    COLUMNS,
    Ask,
    Begins,
    Lengths,
    Softness,
    Starts,
    Targets,
    Time,
    Trials,
    asked_rows,
    impulse_job,
)
from saltus.cli._train_told import TableProgress, learned_rows, of_table, queries_told, tables_rows
from saltus.cli._words import Json, Out, Progress, Robot, folder, number, print_json, print_table
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.control import Reach, Table
    from saltus.hybrid import HybridSystem
    from saltus.optimize import Discounted, RandomActions

METHODS = ("dp", "impulse")

# What is trained if nothing is said.
GRID, TARGET, RECIPE = 50, "0.55,0", "saltus"


@app.command("train")
def train_command(
    context: typer.Context,
    robot: Robot,
    method: Annotated[
        str,
        typer.Option("--method", help="dp: tables by dynamic programming; impulse: one impulse for a swing."),
    ] = "dp",
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help=f"dp: x,y of a bar from the one held, m; several, a table each. {TARGET}."),
    ] = None,
    grid: Annotated[int | None, typer.Option("--grid", help=f"dp: places along each of four axes. {GRID}.")] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="dp: saltus, or thesis as [yang2016, 7.2] has it.")
    ] = None,
    hand: Annotated[
        list[str] | None, typer.Option("--hand", help="dp: the hand that holds; several, a table each. The first one.")
    ] = None,
    sweeps: Annotated[int | None, typer.Option("--sweeps", help="dp: how many at most.")] = None,
    effort: Annotated[float | None, typer.Option("--effort", help="dp: what the full torque costs.")] = None,
    reversal: Annotated[
        float | None, typer.Option("--reversal", help="dp: share of a value that a reversal of the torque costs. 0.12.")
    ] = None,
    stops: Annotated[
        bool | None, typer.Option("--stops/--no-stops", help="dp: with the stops of joints, or turning freely.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option("--radius", help="dp: how near a bar counts, m; the robot's own capture.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="dp: go on with what was interrupted; what is done is not made again.")
    ] = False,
    trials: Trials = None,
    starts: Starts = None,
    targets: Targets = None,
    begins: Begins = None,
    lengths: Lengths = None,
    softness: Softness = None,
    time_: Time = None,
    ask: Ask = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of random inputs or trials. 0.")] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="How many; one for each core.")] = None,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Learn to swing to a bar: tables of what states are worth, or which torque impulse leads where."""
    report = asked_report(context)
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    system = changed_robot(robot, set_, None, None)
    if threads is not None and threads < 1:
        raise InputError(f"--threads must be a positive whole number, got {threads}")
    only_dp = {
        "--target": target, "--grid": grid, "--recipe": recipe, "--hand": hand, "--sweeps": sweeps, "--effort": effort,
        "--reversal": reversal, "--stops": stops, "--radius": radius, "--resume": resume or None,
    }  # fmt: skip
    pairs = {"starts": starts, "targets": targets, "begins": begins, "lengths": lengths}
    only_impulse = {
        "--trials": trials, "--softness": softness, "--time": time_, "--ask": ask or None,
        **{f"--{name}": pair for name, pair in pairs.items()},
    }  # fmt: skip
    _refuse(method, {"dp": only_impulse, "impulse": only_dp})
    audits = Audits()
    if method == "dp":
        given = {"sweeps": sweeps, "effort": effort, "reversal": reversal, "seed": seed}
        made_by = _recipe(RECIPE if recipe is None else recipe, given)
        jobs = _jobs(
            system, made_by, target or [TARGET], hand, GRID if grid is None else grid, radius, stops=stops is not False
        )
        for job in jobs:
            job.check(out, resume=resume, force=forced(context))
        folder(out)
        content, rows = audits.during(lambda: _tables(jobs, out, threads, resume=resume, quiet=as_json))
        columns: tuple[str, ...] = ("table", "sweeps", "residual", "time, s", "GB", "file")
        title = f"{robot}: recipe {made_by.name}"
    else:
        learning = impulse_job(
            system, robot, set_, trials=trials, seed=seed, softness=softness, time=time_, pairs=pairs, ask=ask,
            threads=threads,
        )  # fmt: skip
        learning.check(out, force=forced(context))
        folder(out)
        content = audits.during(lambda: learning.made(out, quiet=as_json))
        rows, columns = learned_rows(content), COLUMNS
        title = f"{robot}: {content['trials']} impulses, {queries_told(content)}"
    content = {"robot": robot, "method": method, **content}
    if report is not None:
        document = report.begin(title)
        document.table("What came out", columns, rows)
        if content.get("asked"):
            document.table("What was asked", ASKED, asked_rows(content))
        document.facts("What was trained", told(content))
        values = [(name, value, system.mechanism.parameters[name].unit) for name, value in system.values.items()]
        document.facts("What it was trained for", [("robot", f"{system.name}: {system.about}", ""), *values])
    if as_json:
        print_json(content)
        audits.exit()
        return
    print_table(columns, rows, title)
    for one in content.get("asked", []):
        print(one["command"] + ("" if one["hit"] else "  # misses"))
    for path in content["files"]:
        print(f"wrote {path}")
    audits.exit()


def _refuse(method: str, foreign: dict[str, dict[str, Any]]) -> None:
    """Options that do not go with a method."""
    for option, value in foreign[method].items():
        if value is not None:
            raise InputError(f"--method {method} takes no {option}")


def _recipe(name: str, given: dict[str, Any]) -> Discounted | RandomActions:
    from saltus.optimize import find_recipe

    kind = find_recipe(name)
    fields = {field.name for field in dataclasses.fields(kind)}
    for option, value in given.items():
        if value is not None and option not in fields:
            raise InputError(f"--recipe {name} takes no --{option}")
    chosen: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    return kind(**chosen)


@dataclasses.dataclass(frozen=True)
class _Job:
    """One table to be made."""

    task: Reach
    recipe: Discounted | RandomActions

    @property
    def name(self) -> str:
        """Robot, hand, goal, grid and recipe, as they stand in the file's name."""
        place, recipe = self.task.place, self.recipe
        assert place is not None
        goal = f"to-{place.x:.12g}_{place.y:.12g}"
        words = [self.task.robot.name, self.task.holds, goal, f"grid{self.task.grid}", recipe.name]
        words += [f"effort{recipe.effort:g}"] if recipe.effort else []
        reversal = getattr(recipe, "reversal", None)
        words += [f"reversal{reversal:g}"] if reversal != getattr(type(recipe), "reversal", None) else []
        words += ["no-stops"] if not self.task.stops else []
        return "-".join(str(word) for word in words)

    def file(self, out: Path) -> Path:
        """Of the whole table."""
        return out / f"{self.name}.npz"

    def checkpoint(self, out: Path) -> Path:
        """Of what there is when it is interrupted."""
        return out / f"{self.name}.part.npz"

    def check(self, out: Path, *, resume: bool, force: bool) -> None:
        """Refuse what cannot be made, before anything is; and to lose what was."""
        from saltus.optimize import check_training

        for path in (self.file(out), self.checkpoint(out)):
            if path.exists() and not resume and not force:
                raise InputError(f"{path} exists already; --resume goes on with it, --force makes it anew")
        check_training(self.task, self.recipe, self.begun(out) if resume else None)

    def begun(self, out: Path) -> Path | None:
        """What can be gone on with: what was interrupted, or a whole table."""
        return next((path for path in (self.checkpoint(out), self.file(out)) if path.exists()), None)


def _jobs(
    system: HybridSystem, recipe: Discounted | RandomActions, targets: list[str], hands: list[str] | None, grid: int,
    radius: float | None, *, stops: bool,
) -> list[_Job]:  # fmt: skip
    """A table for every hand and every target."""
    from saltus.control import Reach
    from saltus.control._hands import two_hands

    both = two_hands(system, (), "saltus train")
    jobs = []
    for hand in dict.fromkeys(hands or both[:1]):
        if hand not in both:
            raise unknown_name("hand", hand, both, system.name)
        free = both[1] if hand == both[0] else both[0]
        for place in dict.fromkeys(_two(text) for text in targets):
            jobs.append(_Job(Reach(system, (free, place), hand, radius=radius, grid=grid, stops=stops), recipe))
    return jobs


def _two(text: str) -> tuple[float, float]:
    parts = [number(part, "--target") for part in text.split(",")]
    if len(parts) != 2:
        raise InputError(f"--target takes x,y, such as {TARGET}, got {text!r}")
    return parts[0], parts[1]


def _tables(
    jobs: list[_Job], out: Path, threads: int | None, *, resume: bool, quiet: bool
) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Make all tables, each written as soon as it is done."""
    made = []
    for k, job in enumerate(jobs):
        doing = "training" if len(jobs) == 1 else f"training {k + 1} of {len(jobs)}:"
        begin = time.perf_counter()
        with Progress(1.0, quiet=quiet, doing=doing) as show:
            try:
                table = _train(job, out, threads, TableProgress(job.recipe, show), resume=resume)
            except KeyboardInterrupt:
                _say_how_to_go_on(job, out, k)
                raise
        if table.actions is None and not table.values.max() > 0:
            print(f"saltus: {job.name}: no state was seen to reach the goal; a finer grid may do", file=sys.stderr)
        made.append(of_table(table, job.file(out), time.perf_counter() - begin))
    return {"recipe": jobs[0].recipe.name, "tables": made, "files": [one["file"] for one in made]}, tables_rows(made)


def _train(job: _Job, out: Path, threads: int | None, progress: TableProgress, *, resume: bool) -> Table:
    from saltus.optimize import train_table
    from saltus.optimize._stoppable import stoppable

    begun = job.begun(out) if resume else None
    checkpoint = job.checkpoint(out)
    if begun == job.file(out):
        # a whole table; one that is to have more sweeps must stay whole while it gets them
        write(checkpoint, begun.read_bytes())
    table = train_table(
        job.task, job.recipe, threads=threads, progress=progress, checkpoint=checkpoint, resume=begun is not None
    )
    stoppable(lambda _: _finish(table, job.file(out), checkpoint))
    return table


def _finish(table: Table, path: Path, checkpoint: Path) -> None:
    table.save(path)
    checkpoint.unlink(missing_ok=True)


def _say_how_to_go_on(job: _Job, out: Path, done: int) -> None:
    kept = [f"{done} whole table{'s' if done > 1 else ''}"] if done else []
    kept += [f"what there is of the next in {job.checkpoint(out).name}"] if job.checkpoint(out).exists() else []
    if kept:
        print(f"saltus: kept in {out}: {' and '.join(kept)}; the same with --resume goes on", file=sys.stderr)
