"""Verbs about one robot and its runs: list, check, run, graph."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import saltus
from saltus import registry
from saltus.cli._app import app
from saltus.cli._facts import facts
from saltus.cli._report import asked_report, may_overwrite, told
from saltus.cli._words import Json, Progress, Robot, folder, number, numbers, pairs, print_json, print_tree
from saltus.errors import InputError, RunFailed, RunInterrupted, SaltusError, unknown_name

if TYPE_CHECKING:
    from saltus.engine import Trajectory
    from saltus.hybrid import HybridSystem, ModeGraph
    from saltus.show import Document

# What verbs that run a robot have in common.
ControllerName = Annotated[str | None, typer.Option("--controller", help="Which controller; see `saltus list`.")]
ControllerOptions = Annotated[list[str] | None, typer.Option("--control", help="A controller's option, name=value.")]
ProfileName = Annotated[str | None, typer.Option("--profile", help="A ready experiment of this robot.")]
Parameters = Annotated[list[str] | None, typer.Option("--set", help="A parameter, name=value.")]
Start = Annotated[list[str] | None, typer.Option("--x0", help="A start value, name=value; 30deg is allowed.")]
Until = Annotated[float | None, typer.Option("--until", help="End time, s.")]
RelativeTolerance = Annotated[float, typer.Option("--rtol", help="Relative tolerance.")]
AbsoluteTolerance = Annotated[float, typer.Option("--atol", help="Absolute tolerance.")]
Method = Annotated[str, typer.Option("--method", help="Integration method.")]
LawName = Annotated[
    str | None,
    typer.Option(
        "--law",
        help="Impact law in place of the robot's own: plastic, newton:restitution=0.3. What is not told is as in the "
        "robot's own law, by name.",
    ),
]
GuardActions = Annotated[
    list[str] | None, typer.Option("--guard", help="What a guard does, name=ignore|record|terminal.")
]
_Failure = RunFailed | RunInterrupted
RTOL, ATOL, METHOD = 1e-10, 1e-12, "dopri5"
MOST_SAMPLES = 20_000_000


@app.command("list")
def list_command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show one thing in detail: a name, or gaits/name.")] = None,
    as_json: Json = False,
) -> None:
    """List all that can be used by name, or what one of them takes."""
    report = asked_report(context)
    with Progress(quiet=as_json, doing="looking"):
        content = _everything() if name is None else facts(*_target(name))
    if report is not None:
        report.begin(name or "All that can be used by name").facts("What there is", told(content))
    if as_json:
        print_json(content)
    else:
        print_tree({key: value for key, value in content.items() if value not in ({}, [])})


def _everything() -> dict[str, Any]:
    """All that can be used by name, which file each plugin is, and what is wrong with the others."""
    from saltus.contact import find_law
    from saltus.control import find_controller
    from saltus.engine import find_method
    from saltus.robots import find_robot

    finders = {"robots": find_robot, "controllers": find_controller, "laws": find_law, "methods": find_method}
    problems = {str(path): reason for path, reason in registry.problems().items()}
    usable: dict[str, dict[str, Any]] = {kind: {} for kind in registry.KINDS}
    for kind, found in usable.items():
        for name in registry.names(kind):
            try:
                found[name] = finders.get(kind, partial(registry.load, kind))(name)
            except SaltusError as error:
                problems[str(registry.where(kind, name))] = str(error)
    return {
        "robots": {name: system.about for name, system in usable.pop("robots").items()},
        **{kind: list(found) for kind, found in usable.items()},
        "plugins": {
            f"{entry.kind}/{entry.name}": str(entry.path)
            for entry in registry.plugins()
            if str(entry.path) not in problems
        },
        "problems": problems,
    }


@app.command("check")
def check_command(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="A file, a name, or robots/name and the like.")],
    as_json: Json = False,
) -> None:
    """Hold a robot, controller, law or method to what every one of its kind must satisfy."""
    from saltus.conformance import check

    report = asked_report(context)
    kind, name = _target(target)
    results: list[Any] = []
    going = check(kind, name)
    while True:
        with Progress(quiet=as_json, doing=f"check {len(results) + 1}"):
            result = next(going, None)
        if result is None:
            break
        results.append(result)
        if not as_json:
            print(f"ok   {result.check}" if result.ok else f"FAIL {result.check}: {result.reason}", flush=True)
    failed = sum(not result.ok for result in results)
    content = {
        "status": "failed" if failed else "ok",
        "kind": kind,
        "name": name,
        "file": str(registry.where(kind, name)),
        "checks": [{"check": result.check, "ok": result.ok, "reason": result.reason} for result in results],
    }
    if report is not None:
        document = report.begin(f"{kind}/{name}: {len(results)} checks, {failed or 'none'} failed")
        document.checks("Checks", [(result.ok, result.check, result.reason, "") for result in results])
    if as_json:
        print_json(content)
    else:
        print(f"{kind}/{name} ({content['file']}): {len(results)} checks, {failed or 'none'} failed")
    if failed:
        raise typer.Exit(1)


def _target(text: str) -> tuple[str, str]:
    """Kind and name of what a file, a name, or a name with its kind stands for."""
    kind, slash, name = text.partition("/")
    if slash and kind in registry.KINDS and not text.endswith(".py"):
        return registry.find(kind, name).kind, name
    if slash or text.endswith(".py"):
        entry = registry.add_file(text)
        return entry.kind, entry.name
    kinds = [kind for kind in registry.KINDS if text in registry.names(kind)]
    if len(kinds) > 1:
        raise InputError(f"{text!r} is ambiguous; say {' or '.join(f'{kind}/{text}' for kind in kinds)}")
    if kinds:
        return kinds[0], text
    for path, reason in registry.problems().items():
        if path.stem == text:
            raise InputError(f"cannot use {path}: {reason}")
    raise unknown_name("name", text, {name for kind in registry.KINDS for name in registry.names(kind)})


@app.command("run")
def run_command(
    context: typer.Context,
    robot: Robot,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    rtol: RelativeTolerance = RTOL,
    atol: AbsoluteTolerance = ATOL,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    output_step: Annotated[float | None, typer.Option(help="Spacing of the samples, s.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the samples: .nc, .mat or .csv.")] = None,
    figures: Annotated[Path | None, typer.Option(help="A folder for figures of the run.")] = None,
    animation: Annotated[Path | None, typer.Option(help="Write the motion as a film: .html, .gif or .mp4.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Draw the robot in the terminal while it runs.")] = False,
    speed: Annotated[
        float | None,
        typer.Option(help="Of --watch and --animation: simulated seconds in one that passes; by the run's length."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a robot and report how it went."""
    from saltus.engine import check_target
    from saltus.show import add_runs, check_animation, save_animation

    report = asked_report(context)
    if out is not None:
        check_target(out)
    if figures is not None:
        folder(figures)
    if animation is not None:
        check_animation(animation, force=may_overwrite(context, animation))
    one = experiment(changed_robot(robot, set_, law, guard), controller, control, profile, x0, until)
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
    if animation is not None:
        with Progress(1.0, quiet=as_json, doing="filming") as show:
            save_animation(run, animation, speed=speed, force=True, progress=lambda done, all_: show(done / all_))
    if report is not None:
        with Progress(quiet=as_json, doing="reporting"):
            add_runs(report.begin(f"{robot.replace('_', ' ')}{f', {profile}' if profile else ''}"), {"": run})
    _print_run(run, failure, {"out": out, "figures": figures, "animation": animation}, as_json)
    _exit_after(failure)


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


@app.command("graph")
def graph_command(
    context: typer.Context,
    robot: Robot,
    visited: Annotated[bool, typer.Option("--visited", help="What a run visits, not all that is possible.")] = False,
    controller: ControllerName = None,
    control: ControllerOptions = None,
    profile: ProfileName = None,
    set_: Parameters = None,
    x0: Start = None,
    until: Until = None,
    rtol: RelativeTolerance = RTOL,
    atol: AbsoluteTolerance = ATOL,
    method: Method = METHOD,
    law: LawName = None,
    guard: GuardActions = None,
    by_unit: Annotated[bool, typer.Option("--by-unit", help="Show the statuses of each unit alone.")] = False,
    form: Annotated[str | None, typer.Option("--format", help="mermaid (the default), dot, json or svg.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the graph: .mmd, .dot, .json or .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Draw a robot's mode graph: what is possible, or what a run visits."""
    report = asked_report(context)
    form = _form(form, out, as_json)
    system = changed_robot(robot, set_, law, guard)
    failure = None
    if visited:
        if by_unit:
            raise InputError("--by-unit is about what is possible; leave out --visited")
        one = experiment(system, controller, control, profile, x0, until)
        run, failure = one.simulate(quiet=as_json, rtol=rtol, atol=atol, method=method)
        graph = run.mode_graph()
    else:
        about_run = {
            "--controller": controller, "--control": control, "--profile": profile, "--x0": x0, "--until": until,
            "--rtol": rtol != RTOL, "--atol": atol != ATOL, "--method": method != METHOD,
        }  # fmt: skip
        given = [option for option, value in about_run.items() if value is not None and value is not False]
        if given:
            raise InputError(f"{', '.join(given)}: only a run has such options; add --visited")
        with Progress(quiet=as_json, doing="looking"):
            graph = saltus.mode_graph(system, by_unit=by_unit)
    if out is not None:
        graph.save(out)
    if report is not None:
        _report_graph(
            report.begin(f"{robot}: modes {'of a run' if visited else 'and what leads from one to another'}"), graph
        )
    if as_json:
        content = graph.to_dict() | {"out": None if out is None else str(out)}
        print_json(content if failure is None else content | {"error": str(failure)})
    elif out is not None:
        print(f"wrote {out}")
    else:
        print(graph.text(form), end="")
    if failure is not None and not as_json:
        print(f"saltus: {failure}", file=sys.stderr)
    _exit_after(failure)


def _report_graph(document: Document, graph: ModeGraph) -> None:
    with contextlib.suppress(InputError):  # there is no Graphviz to draw it
        document.figures("Graph", [(graph.svg(), graph.title)])
    for title, records in (("Modes", graph.nodes), ("Changes", graph.edges)):
        rows = [record.to_dict() for record in records]
        document.table(title, list(rows[0]) if rows else [], [list(row.values()) for row in rows])
    document.command(graph.mermaid(), title="As Mermaid text")


def _form(form: str | None, out: Path | None, as_json: bool) -> str:
    """In which form a graph is wanted; a file's ending, --format and --json may not contradict each other."""
    from saltus.hybrid import ENDINGS, check_graph_form, check_graph_target

    if form is not None:
        check_graph_form(form)
    if out is not None:
        check_graph_target(out)
        if form not in (None, ENDINGS[out.suffix]):
            raise InputError(f"--format {form} and --out {out} contradict each other; the ending of the file decides")
        return ENDINGS[out.suffix]
    if as_json and form not in (None, "json"):
        raise InputError(f"give --format {form} or --json, not both, or write the graph to a file by --out")
    return form or "mermaid"


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """What to run: a robot, its start, its controller and how long."""

    system: HybridSystem
    start: Mapping[str, float]
    controller: Any
    until: float | None

    @property
    def end(self) -> float:
        """When the run ends at the latest, s."""
        return self.system.until if self.until is None else self.until

    def check_samples(self, spacing: float | None) -> None:
        """Refuse a spacing of the samples of which no machine could hold so many."""
        if spacing is not None and spacing > 0 and self.end / spacing > MOST_SAMPLES:
            raise InputError(
                f"--output-step {spacing:g} means {self.end / spacing:.3g} samples until {self.end:g} s, and at most "
                f"{MOST_SAMPLES} are possible: give at least {self.end / MOST_SAMPLES:.3g} s"
            )

    def simulate(self, *, quiet: bool, **options: Any) -> tuple[Trajectory, _Failure | None]:
        """Run it with a progress bar; a run that failed comes back with its failure."""
        with Progress(self.end, quiet=quiet) as progress:
            return self._simulate(progress=progress, **options)

    def _simulate(self, **options: Any) -> tuple[Trajectory, _Failure | None]:
        try:
            run = saltus.simulate(self.system, self.start, until=self.until, controller=self.controller, **options)
        except (RunFailed, RunInterrupted) as error:
            return error.run, error
        return run, None

    def watched(self, speed: float | None, *, quiet: bool, **options: Any) -> tuple[Trajectory, _Failure | None]:
        """Run it while it is drawn on standard error; where it cannot be, say why and run it."""
        bar = Progress(quiet=False, doing="starting")
        with bar:
            from saltus.cli._watch import Watcher, unable, usual_speed, watching

            reason = unable(sys.stderr)
            if not reason:
                chosen = usual_speed(self.end) if speed is None else speed
                watcher = Watcher(self.system, 0.0, chosen, sys.stderr, bar.close)
                with watching(watcher) as watch:
                    run, failure = self._simulate(watch=watch, **options)
        if reason:
            print(f"saltus: --watch draws nothing: {reason}", file=sys.stderr)
            return self.simulate(quiet=quiet, **options)
        watcher.last(run)
        return run, failure


def changed_robot(robot: str, set_: list[str] | None, law: str | None, guard: list[str] | None) -> HybridSystem:
    from saltus.robots import find_robot

    system = find_robot(robot).with_parameters(**numbers(set_, "--set"))
    if law is not None:
        system = system.with_law(law)
    if guard:
        system = system.with_guards(**pairs(guard, "--guard"))
    return system


def experiment(
    system: HybridSystem,
    controller: str | None,
    control: list[str] | None,
    profile: str | None,
    x0: list[str] | None,
    until: float | None,
) -> _Experiment:
    acting: Any = None
    start: dict[str, float] = {}
    if until is not None and until <= 0:
        raise InputError(f"time runs forward: --until must be greater than 0 s, got {until:g}")
    if profile is not None:
        if profile not in system.profiles:
            if profile.lower().endswith(".csv"):
                raise InputError(f"a profile in a file is read by --controller points --control file={profile}")
            raise unknown_name("profile", profile, system.profiles, system.name)
        if controller is not None or control:
            raise InputError("give --profile or --controller with its --control options, not both")
        chosen = system.profiles[profile]
        acting, start, until = chosen.controller, dict(chosen.start), until if until is not None else chosen.until
    elif controller is not None:
        acting = _controller(controller, pairs(control, "--control"))
    elif control:
        raise InputError("--control needs --controller")
    return _Experiment(system, start | numbers(x0, "--x0"), acting, until)


def _exit_after(failure: _Failure | None) -> None:
    if failure is not None:
        raise typer.Exit(130 if isinstance(failure, RunInterrupted) else 1)


def run_facts(run: Trajectory) -> dict[str, Any]:
    """A run in short, for JSON, with the impact law of each unit that has one."""
    return run.to_dict() | {"laws": {unit: law.to_dict() for unit, law in run.system.laws.items()}}


def _print_run(run: Trajectory, failure: _Failure | None, written: Mapping[str, Path | None], as_json: bool) -> None:
    from saltus.studies import laws_in_words

    with Progress(quiet=as_json, doing="checking"):
        audit = run.check()
    if as_json:
        content = run_facts(run) | {"audit": audit.to_dict()}
        content |= {what: None if path is None else str(path) for what, path in written.items()}
        if failure is not None:
            content["error"] = str(failure)
        print_json(content)
        return
    print(f"{run.system.name}: {run.status.name} ({run.status.meaning}) at t = {run.end_time:.9g} s")
    print(f"  {run.steps} steps, {run.rejected} rejected, {len(run.events)} events")
    if run.system.laws:
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
    print("audit")
    print("\n".join(f"  {line}" for line in str(audit).splitlines()))
    for path in filter(None, written.values()):
        print(f"wrote {path}")
    if failure is not None:
        print(f"saltus: {failure}", file=sys.stderr)


def _controller(name: str, options: Mapping[str, str]) -> Any:
    from saltus.control import find_controller

    kind = find_controller(name)
    fields = {field.name: field.type for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for key, text in options.items():
        if key not in fields:
            raise unknown_name("option", key, fields, f"controller {name}")
        if fields[key] in (str, "str"):
            values[key] = text
            continue
        try:
            values[key] = json.loads(text)
        except json.JSONDecodeError:
            values[key] = number(text, f"--control {key}")
    lacking = [
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in values and field.default is field.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise InputError(
            f"controller {name} needs {', '.join(lacking)}, as --control {lacking[0]}=...; its options are "
            f"{', '.join(sorted(fields))}"
        )
    return kind(**values)
