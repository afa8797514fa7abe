"""The verb that optimises: it searches for a time, keeps the best at all times, and judges it exactly."""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import write_json
from saltus._write import write
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._experiment import Parameters, changed_robot, experiment
from saltus.cli._report import asked_report, forced, told
from saltus.cli._runs import draw_run
from saltus.cli._words import Json, Out, Progress, Robot, folder, plain, print_json, print_tree
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus import optimize
    from saltus.hybrid import HybridSystem


@app.command("optimize")
def optimize_command(
    context: typer.Context,
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
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Search for the best motion of a robot, polish it if asked to, and make it again exactly."""
    from saltus import optimize
    from saltus.show import add_runs

    report = asked_report(context)
    if not 0 < time < math.inf:
        raise InputError(f"--time must be positive, got {time:g} s")
    if not (0 <= mixes < math.inf and 0 <= polish < math.inf):
        raise InputError(f"--mixes and --polish must be finite and not negative, got {mixes:g} and {polish:g}")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if mixes and polish:
        raise InputError("--polish makes a motion in time, which bears no mixes: give --polish or --mixes")
    if resume and forced(context):
        raise InputError("--resume goes on from what --force would write over: give one of them")
    if profile is not None and (not polish or mixes or resume):
        raise InputError("--profile is polished alone: give --polish with it, and neither --mixes nor --resume")
    system, name = _named(robot, problem, set_)
    chosen = optimize.find_problem(name, system, reading, mixes)
    ready = None if profile is None else experiment(system, None, None, profile, None, None)
    folder(out)
    file = out / f"{chosen.name.replace(',', '').replace(' ', '-')}{'' if profile is None else f'-{profile}'}.json"
    result = _Result(chosen, robot, set_, file)
    older = file if ready is None else result.verdict_file
    if older.exists() and not (resume or forced(context)):
        how = "go on with --resume, or begin anew with --force" if ready is None else "--force writes over it"
        raise InputError(f"{older} holds what was found before: {how}")
    if ready is None:
        with Progress(time, quiet=as_json, doing="searching") as show:
            best = optimize.search(
                chosen, seconds=time, seed=seed, file=file, resume=resume,
                progress=lambda now: show(now.seconds, f"best {now.best:.4f}, {now.runs:,} runs"),
            )  # fmt: skip
        trial = chosen.trial(best.values)
        result.spent = {"seed": seed, "runs": best.runs, "seconds": best.seconds, "file": str(file)}
    else:
        trial = optimize.Trial(ready.start, ready.controller)
    with Progress(quiet=as_json, doing="making it again"):
        verdict = optimize.verdict(chosen, trial)
        content = result.write(trial, verdict)
    if polish and (verdict.value is not None or ready is not None):
        try:
            polished = _polish(chosen, trial, verdict, polish, as_json, result)
        except InputError as error:
            if ready is not None:
                raise
            result.spent["not_polished"] = str(error)  # what was searched for is not lost
            content = result.write(trial, verdict)
        else:
            trial, verdict = polished.trial, polished.verdict
            content = result.write(trial, verdict, polished)
    with Progress(quiet=as_json, doing="drawing"):
        draw_run(verdict.run, out)
    if not verdict.clean:
        print("saltus: what was found breaks rules or is not complete: it is not to be relied on", file=sys.stderr)
    if report is not None:
        with Progress(quiet=as_json, doing="reporting"):
            document = report.begin(f"{chosen.name}: {_value(verdict)}", f"the best found; {chosen.objective}")
            document.facts("Verdict", told({name: value for name, value in content.items() if name != "modes"}))
            add_runs(document, {"": verdict.run})
    print_json(content) if as_json else print_tree(content)
    audits = Audits()
    audits.run(verdict.run, "the best found")
    audits.exit()


@dataclasses.dataclass
class _Result:
    """Where the best motion goes: its verdict, its torque as a table, and how it is made again."""

    problem: optimize.Problem
    robot: str
    parameters: list[str] | None
    file: Path
    spent: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def verdict_file(self) -> Path:
        """The file of the verdict."""
        return self.file.with_name(f"{self.file.stem}-verdict.json")

    def write(
        self, trial: optimize.Trial, verdict: optimize.Verdict, polished: optimize.Polished | None = None
    ) -> dict[str, Any]:
        """Write verdict and table; what the verdict says."""
        from saltus import optimize

        steps = optimize.steps_table(trial.controller)
        rows = optimize.torque_table(verdict.run) if steps is None else steps
        lines = [["t", *self.problem.robot.mechanism.actuators], *(map(repr, row) for row in rows.tolist())]
        table = write(self.file.with_suffix(".csv"), "\n".join(map(",".join, lines)).encode())
        content: dict[str, Any] = {"problem": self.problem.name, "objective": self.problem.objective}
        content |= {**verdict.to_dict(), "start": dict(trial.start), **self.spent, "table": str(table)}
        if steps is not None:
            content["again"] = self._command(trial, table)
        if polished is not None:
            content |= {"polished": polished.taken, "passes": polished.passes}
        if self.problem.mixes is not None:
            kept = optimize.robustness(self.problem, trial, self.problem.mixes.held_out())
            content["robustness"] = kept.to_dict()
        write_json(self.verdict_file, plain(content))
        return content

    def _command(self, trial: optimize.Trial, table: Path) -> str:
        """The command that makes a motion of steps again, from its table."""
        robot = self.problem.robot
        usual = dict(zip(robot.state_names, robot.state().tolist(), strict=True))
        words = ["saltus", "run", self.robot, "--controller", "points", "--control", f"file={table}"]
        words += ["--control", "kind=steps", "--until", f"{self.problem.until:g}"]
        for text in self.parameters or []:
            words += ["--set", text]
        for name, value in trial.start.items():
            words += ["--x0", f"{name}={value!r}"] if value != usual[name] else []
        return shlex.join(words)


def _value(verdict: optimize.Verdict) -> str:
    return "no value" if verdict.value is None else f"{verdict.value:.6g}"


def _polish(
    problem: optimize.Problem,
    trial: optimize.Trial,
    verdict: optimize.Verdict,
    seconds: float,
    quiet: bool,
    result: _Result,
) -> optimize.Polished:
    """Polish a motion; what is better is written as soon as it is found."""
    from saltus import optimize

    with Progress(seconds, quiet=quiet, doing="polishing", by_clock=True) as show:

        def tell(now: optimize.Polished) -> None:
            done = now.passes[-1]
            if done["taken"]:
                result.write(now.trial, now.verdict, now)
            show(0.0, f"promised {done['promised']:.4f}, made again {done['value']}")

        return optimize.polish(problem, trial, verdict, seconds, tell)


@app.command("trade")
def trade_command(
    context: typer.Context,
    robot: Robot,
    problem: Annotated[str | None, typer.Option(help="Which problem; the robot's first.")] = None,
    reading: Annotated[str | None, typer.Option(help="How its rules are read: strict or until-impact.")] = None,
    sizes: Annotated[str, typer.Option(help="Sizes of the mixes to search with.")] = "0,0.5,1",
    time: Annotated[float, typer.Option(help="How long to search for each, s.")] = 200.0,
    seed: Annotated[int, typer.Option(help="Of the random candidates.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the best of each size in the folder.")] = False,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Search for the best motion that bears more and more, and draw length against robustness."""
    from saltus import optimize, show
    from saltus.engine._refusals import none_of

    report = asked_report(context)
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
    files = {size: out / f"trade-{size:g}.json" for size in chosen}
    older = [str(file) for file in files.values() if file.exists()]
    if older and not (resume or forced(context)):
        raise InputError(f"{', '.join(older)}: found before; go on with --resume, or begin anew with --force")
    points: dict[float, optimize.Robustness] = {}
    reasons: dict[float, str] = {}
    held = optimize.find_problem(name, system, reading, 1.0).mixes
    audits = Audits()
    with Progress(time * len(chosen), quiet=as_json, doing="searching") as shown:
        for k, size in enumerate(chosen):

            def tell(now: optimize.Progress, done: float = k * time, size: float = size) -> None:
                shown(done + now.seconds, f"size {size:g}: best {now.best:.4f}")

            one = optimize.find_problem(name, system, reading, size)
            go_on = resume and files[size].exists()
            best = optimize.search(one, seconds=time, seed=seed, file=files[size], resume=go_on, progress=tell)
            if held is not None:
                trial, mixes = one.trial(best.values), held.held_out()
                try:
                    points[size] = audits.during(partial(optimize.robustness, one, trial, mixes))
                except InputError as error:  # what the search of one size came to spoils no other
                    reasons[size] = str(error)
    if reasons and not points:
        raise none_of("sizes have a motion that can start", list(reasons.values()))
    content = {"problem": name, "seed": seed, "points": [{"size": s, **p.to_dict()} for s, p in points.items()]}
    content |= {"not_started": [{"size": s, "reason": why} for s, why in reasons.items()]} if reasons else {}
    write_json(out / "trade.json", plain(content))
    figure = show.trade_figure(points)
    show.save_figure(figure, out, "trade")
    if report is not None:
        document = report.begin(f"{name}: length against robustness")
        document.facts("What was run", [("robot", robot, ""), ("seed", seed, ""), ("search for each", time, "s")])
        document.figures("Trade", [(figure, "What each optimum keeps under mixes that it has not seen")])
        rows = [{"size": size, **point.to_dict()} for size, point in points.items()]
        rows = [{name: value for name, value in row.items() if name != "reasons"} for row in rows]
        why_not = [(size, count, why) for size, point in points.items() for why, count in point.reasons.items()]
        told_why = [f"Size {size:g}: {count} mixes leave no start: {why}." for size, count, why in why_not]
        document.warnings([*told_why, *(f"Size {size:g}: {why}." for size, why in reasons.items())])
        document.table("Points", list(rows[0]) if rows else [], [list(row.values()) for row in rows])
    print_json(content) if as_json else print_tree(content)
    audits.exit()


def _named(robot: str, problem: str | None, given: Parameters) -> tuple[HybridSystem, str]:
    """The robot with its parameters, and the problem that is meant: the robot's first if none is named."""
    from saltus import optimize

    system = changed_robot(robot, given, None, None)
    names = optimize.problem_names(robot)
    if not names:
        raise InputError(f"{robot} has no problems")
    return system, problem or names[0]
