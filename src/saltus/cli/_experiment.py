"""What a run is made of, from the words of the command line: robot, controller, start, tolerances."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

import saltus
from saltus._reading import parse_json
from saltus.cli._audited import Audits
from saltus.cli._words import Progress, number, numbers, pairs
from saltus.errors import InputError, RunFailed, RunInterrupted, unknown_name

if TYPE_CHECKING:
    from saltus.engine import Trajectory
    from saltus.hybrid import HybridSystem

# What verbs that run a robot have in common.
ControllerName = Annotated[
    str | None,
    typer.Option("--controller", help="Which controller: none, one of the robot's own, or of `saltus list`."),
]
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
Failure = RunFailed | RunInterrupted
RTOL, ATOL, METHOD = 1e-10, 1e-12, "dopri5"
MOST_SAMPLES = 20_000_000


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """What to run: a robot, its start, its controller and how long."""

    system: HybridSystem
    start: Mapping[str, float]
    controller: Any
    until: float | None
    mode: Mapping[str, str] | None = None

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

    def simulate(self, *, quiet: bool, **options: Any) -> tuple[Trajectory, Failure | None]:
        """Run it with a progress bar; a run that failed comes back with its failure."""
        with Progress(self.end, quiet=quiet) as progress:
            return self._simulate(progress=progress, **options)

    def _simulate(self, **options: Any) -> tuple[Trajectory, Failure | None]:
        try:
            run = saltus.simulate(
                self.system, self.start, until=self.until, controller=self.controller, mode=self.mode, **options
            )
        except (RunFailed, RunInterrupted) as error:
            return error.run, error
        return run, None

    def watched(self, speed: float | None, *, quiet: bool, **options: Any) -> tuple[Trajectory, Failure | None]:
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

    return with_actions(find_robot(robot).with_parameters(**numbers(set_, "--set")), law, guard)


def with_actions(system: HybridSystem, law: str | None, guard: list[str] | None) -> HybridSystem:
    """A robot with another impact law and other actions of guards."""
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
        acting = find_acting(system, controller, pairs(control, "--control"))
    elif control:
        raise InputError("--control needs --controller")
    return _Experiment(system, start | numbers(x0, "--x0"), acting, until)


def exit_after(failure: Failure | None, run: Trajectory, *, deep: bool = False) -> None:
    """End a verb that made one run: a code for each way in which it may have gone wrong."""
    if failure is not None:
        raise typer.Exit(130 if isinstance(failure, RunInterrupted) else 1)
    audits = Audits()
    audits.run(run, deep=deep)
    audits.exit()


def find_acting(system: HybridSystem, name: str, options: Mapping[str, str]) -> Any:
    """The controller of that name: none, one of the robot's own, or a registered one."""
    from saltus.control import controller_names, find_controller

    if name == "none":
        if options:
            raise InputError("--controller none takes no --control options")
        return None
    if name in system.controllers:
        own = system.controllers[name]
        return dataclasses.replace(own, **_options(type(own), name, options)) if options else own
    if name not in controller_names():
        raise unknown_name("controller", name, {"none", *system.controllers, *controller_names()}, system.name)
    kind = find_controller(name)
    values = _options(kind, name, options)
    lacking = [
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in values and field.default is field.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise InputError(
            f"controller {name} needs {', '.join(lacking)}, as --control {lacking[0]}=...; its options are "
            f"{', '.join(sorted(field.name for field in dataclasses.fields(kind)))}"
        )
    return kind(**values)


def _options(kind: Any, name: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Options of a controller, as values."""
    fields = {field.name: field.type for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for key, text in options.items():
        if key not in fields:
            raise unknown_name("option", key, fields, f"controller {name}")
        if fields[key] in (str, "str"):
            values[key] = text
            continue
        try:
            values[key] = parse_json(text)
        except json.JSONDecodeError:
            values[key] = _worded(text, str(fields[key]), f"--control {key}")
    return values


def _worded(text: str, kind: str, where: str) -> Any:
    """What is no JSON: words where there may be words, several with commas between where there may be several."""
    if "str" not in [part.strip() for part in kind.split("|")]:
        return number(text, where)
    several = [part.strip() for part in text.split(",")]
    return several if "Sequence[" in kind and len(several) > 1 else text
