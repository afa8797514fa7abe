"""The verb about robustness: how often a robot swings to its bar when much is off, how sure that is, and tuning."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import write_json
from saltus.cli._app import app
from saltus.cli._audited import Audits
from saltus.cli._experiment import ControllerOptions, Parameters, changed_robot, find_acting
from saltus.cli._report import asked_report, told
from saltus.cli._words import (
    Json,
    Out,
    Progress,
    Robot,
    folder,
    number,
    pairs,
    plain,
    print_json,
    print_reasons,
    print_table,
)
from saltus.errors import InputError, unknown_name

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem
    from saltus.show import Document
    from saltus.studies import SwingMixes, SwingTrials, Tuned

# Training mixes of --tune, at most: every candidate is tried under all of them.
TRAINING = 60

COLUMNS = ("setting", "done", "95 % interval", "time 50/95/100 %, s", "left at the catch 50/95/100 %, J", "else")
TORQUES = "mean torque 50/95/100 %, N m"


@app.command("robustness")
def robustness_command(
    context: typer.Context,
    robot: Robot,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="swing, swing-up or ladder; may be given several times.")
    ] = None,
    controller: Annotated[
        str, typer.Option("--controller", help="Which controller; energy is fitted to sensors, motor and gripper.")
    ] = "energy",
    control: ControllerOptions = None,
    mixes: Annotated[int, typer.Option("--mixes", help="How many random mixes.")] = 500,
    ladders: Annotated[int, typer.Option("--ladders", help="Of ladders, at most so many.")] = 100,
    first: Annotated[int, typer.Option("--first", help="Number of the first mix: a run alone by --mixes 1.")] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Of the mixes.")] = 987654,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", help="A range of the mixes, name=from:to, as coulomb=0:0.5 or incline=-5deg:5deg."),
    ] = None,
    motor: Annotated[str, typer.Option("--motor", help="ideal, or curve: weaker when it is fast.")] = "ideal",
    gripper: Annotated[
        str | None, typer.Option("--gripper", help="ideal, or real: takes its time. Real on ladders if not said.")
    ] = None,
    sensors: Annotated[
        bool, typer.Option("--sensors/--no-sensors", help="Through encoder and inertial unit, or as it is.")
    ] = True,
    bars: Annotated[int, typer.Option("--bars", help="Of a ladder.")] = 20,
    limit: Annotated[float | None, typer.Option("--limit", help="The time that a task may take, s.")] = None,
    torques: Annotated[bool, typer.Option("--torques", help="Also tell mean torques; takes as long again.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Both centres of mass, laws and motors of the energy controller, all tasks.")
    ] = False,
    tune: Annotated[
        list[str] | None,
        typer.Option("--tune", help="Tune a gain of energy first, on other mixes: name, or name=from:to."),
    ] = None,
    candidates: Annotated[int, typer.Option("--candidates", help="How many sets of gains to try.")] = 60,
    set_: Parameters = None,
    out: Out = Path("out"),
    as_json: Json = False,
) -> None:
    """Try swings, swing-ups or ladders under random mixes of torque, friction, mass, bars and noise; count catches."""
    from saltus.studies import SwingMixes, TrialsInterrupted

    report = asked_report(context)
    under = _varied(SwingMixes(count=mixes, first=first, seed=seed), vary)
    under = under if sensors else under.without_sensors()
    _refuse_bars(set_)
    system = changed_robot(robot, set_, None, None)
    asked = _Asked(
        system, controller, pairs(control, "--control"), under, ladders, motor, gripper, bars, limit, torques
    )
    tuned = None
    if every:
        _refuse_with_all(controller, control, tune, motor, gripper, limit, torques)
        folder(out)
        try:
            made = _all(asked, task, quiet=as_json)
        except TrialsInterrupted as stopped:
            if stopped.before and not as_json:
                print_table(COLUMNS, _rows(stopped.before), f"{robot}: done before it was interrupted")
            raise
    else:
        tasks = task or ["swing"]
        asked.check(tasks)
        gains = _gains(asked, tasks, tune, candidates) if tune else {}
        folder(out)
        if gains:
            tuned = _tune(asked, tasks, gains, candidates, seed, quiet=as_json)
            asked = dataclasses.replace(asked, mixes=under.held_out(), tuned=tuned.gains)
        made = _each(asked, tasks, quiet=as_json)
    with Progress(quiet=as_json, doing="drawing"):
        content = {"robot": robot, "trials": {name: one.to_dict() for name, one in made.items()}}
        content |= {"tuned": tuned.to_dict()} if tuned is not None else {}
        files = _write(made, content, out, f"{robot}-robustness")
        if report is not None:
            _report(report.begin(f"{robot}: how sure it is"), made, tuned, system)
    audits = Audits()
    for name, one in made.items():
        audits.batch(one.batch, name)
    if as_json:
        print_json(content | {"files": [str(path) for path in files]})
        audits.exit()
        return
    if tuned is not None:
        _print_tuned(tuned)
    print_table(_columns(made), _rows(made), f"{robot}: {_in_words(asked.mixes)}")
    for name, one in made.items():
        print_reasons(one.refusals, len(one.outcome), f"mixes, {name}")
    for line in _worst_in_words(made):
        print(line)
    for path in files:
        print(f"wrote {path}")
    audits.exit()


@dataclasses.dataclass(frozen=True)
class _Asked:
    """What the words of the command line ask for."""

    system: HybridSystem
    controller: str
    options: Mapping[str, str]
    mixes: SwingMixes
    ladders: int
    motor: str
    gripper: str | None
    bars: int
    limit: float | None
    torques: bool
    tuned: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def check(self, tasks: list[str]) -> None:
        """Refuse what cannot be tried, before anything is."""
        from saltus.studies._swing_settings import MOTORS
        from saltus.studies._swing_tasks import find_task, placed

        if self.motor not in MOTORS:
            raise unknown_name("motor", self.motor, MOTORS)
        if self.gripper not in (None, "ideal", "real"):
            raise unknown_name("gripper", self.gripper, ("ideal", "real"))
        if self.controller == "none":
            raise InputError("robustness is that of a controller: none is not one")
        for name in tasks:
            self.of_task(name)
            self.acting(name, placed(self.system, find_task(name), self.bars))

    def parts(self, task: str) -> dict[str, Any]:
        """Motor and gripper of a task."""
        from saltus.control import Gripper
        from saltus.studies._swing_settings import MOTORS
        from saltus.studies._swing_tasks import find_task

        claws = {None: find_task(task).gripper, "ideal": None, "real": Gripper()}[self.gripper]
        return {"motor": MOTORS[self.motor], "gripper": claws}

    def acting(self, task: str, placed: HybridSystem) -> Any:
        """The controller; that by energy fitted to what is about it, but for options that were given."""
        from saltus.control import Energy
        from saltus.studies import fitted_energy
        from saltus.studies._tuning import with_gains

        made = find_acting(placed, self.controller, self.options)
        if not isinstance(made, Energy):
            return made
        given = {name: getattr(made, name) for name in ("observer", "close_time") if name in self.options}
        fitted = fitted_energy(with_gains(made, self.tuned), placed, self.mixes, **self.parts(task))
        return dataclasses.replace(fitted, **given)

    def of_task(self, task: str) -> SwingMixes:
        """The mixes of a task: ladders are fewer."""
        from saltus.studies._swing_settings import task_mixes

        return task_mixes(task, self.mixes, self.ladders)


def _varied(mixes: SwingMixes, vary: list[str] | None) -> SwingMixes:
    """Mixes with some ranges changed."""
    changes: dict[str, Any] = {}
    for name, words in pairs(vary, "--vary").items():
        if name not in mixes.ranges():
            raise unknown_name("range", name, mixes.ranges(), "mixes")
        changes[name] = _range(words, f"--vary {name}")
    return dataclasses.replace(mixes, **changes) if changes else mixes


def _range(words: str, where: str) -> tuple[float, float]:
    parts = words.split(":")
    if len(parts) != 2:
        raise InputError(f"{where} takes from:to, such as 0:0.5, got {words!r}")
    return number(parts[0], where), number(parts[1], where)


def _refuse_bars(set_: list[str] | None) -> None:
    """Where bars are is drawn."""
    from saltus.studies._swing_tasks import of_world

    for name in pairs(set_, "--set"):
        if of_world(name):
            raise InputError(f"where bars are is drawn for each mix: --vary spacing=0.5:0.65, not --set {name}")


def _refuse_with_all(
    controller: str, control: Any, tune: Any, motor: str, gripper: Any, limit: Any, torques: bool
) -> None:
    given = {
        "--controller": controller != "energy", "--control": control, "--tune": tune, "--motor": motor != "ideal",
        "--gripper": gripper, "--limit": limit, "--torques": torques,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise InputError(f"--all tries every law and motor of the energy controller: leave out {option}")


def _all(asked: _Asked, tasks: list[str] | None, *, quiet: bool) -> dict[str, SwingTrials]:
    from saltus.studies import all_settings, try_settings

    settings = all_settings(tasks) if tasks else all_settings()
    with Progress(1.0, quiet=quiet, doing="swinging:") as show:
        return try_settings(
            asked.system, settings, asked.mixes, ladders=asked.ladders, bars=asked.bars,
            progress=lambda n, of, name: show(n / of, name),
        )  # fmt: skip


def _each(asked: _Asked, tasks: list[str], *, quiet: bool) -> dict[str, SwingTrials]:
    from saltus.studies._swing_tasks import find_task, placed
    from saltus.studies._swing_trials import refuse_none, swing_trials

    made = {}
    for name in dict.fromkeys(tasks):
        acting = asked.acting(name, placed(asked.system, find_task(name), asked.bars))
        with Progress(1.0, quiet=quiet, doing=name) as show:

            def tell(n: int, of: int, show: Any = show) -> None:
                show(n / of)

            made[name] = swing_trials(
                asked.system, name, acting, asked.of_task(name), **asked.parts(name), bars=asked.bars,
                limit=asked.limit, torques=asked.torques, progress=tell,
            )  # fmt: skip
    refuse_none(made.values())
    return made


def _gains(asked: _Asked, tasks: list[str], tune: list[str], candidates: int) -> dict[str, tuple[float, float]]:
    """The gains to tune, with their ranges."""
    from saltus.studies._tuning import gain_ranges

    if candidates < 1:
        raise InputError(f"--candidates must be positive, got {candidates}")
    if len(set(tasks)) > 1 and asked.gripper is None and "ladder" in tasks:
        raise InputError("--tune for ladders and other tasks at once needs --gripper: they have others if not said")
    gains: dict[str, tuple[float, float] | None] = {}
    for word in tune:
        name, equals, words = word.partition("=")
        gains[name] = _range(words, f"--tune {name}") if equals else None
    return gain_ranges(gains, _energy(asked))


def _tune(
    asked: _Asked, tasks: list[str], gains: dict[str, tuple[float, float]], candidates: int, seed: int, *, quiet: bool
) -> Tuned:
    from saltus.studies import tune as find

    training = dataclasses.replace(asked.mixes, count=min(asked.mixes.count, TRAINING))
    with Progress(1.0, quiet=quiet, doing="tuning") as show:
        found = find(
            asked.system, gains, task=tasks, energy=_energy(asked), mixes=training, held_out=0, candidates=candidates,
            seed=seed, **asked.parts(tasks[0]), bars=asked.bars,
            progress=lambda n, of, best: show(n / of, f"score {best:.3f}"),
        )  # fmt: skip
    if found.interrupted:
        _print_tuned(found)
        raise KeyboardInterrupt
    return found


def _energy(asked: _Asked) -> Any:
    from saltus.control import Energy

    made = find_acting(asked.system, asked.controller, asked.options)
    if not isinstance(made, Energy):
        raise InputError(f"--tune is for the gains of energy, not of {asked.controller}")
    return made


def _with_torques(made: Mapping[str, SwingTrials]) -> bool:
    return any(one.mean_torque is not None for one in made.values())


def _columns(made: Mapping[str, SwingTrials]) -> tuple[str, ...]:
    """Of the table of outcomes; torques only where they were asked for."""
    return (*COLUMNS[:-1], TORQUES, COLUMNS[-1]) if _with_torques(made) else COLUMNS


def _rows(made: Mapping[str, SwingTrials]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, one in made.items():
        _, low, high = one.interval
        others = {what: n for what, n in one.to_dict(runs=False)["outcomes"].items() if what != "caught"}
        rows.append(
            (
                name,
                f"{one.good}/{one.count}",
                f"{low:.1%} to {high:.1%}",
                _three(one.quantiles("time")),
                _three(one.quantiles("residual")),
                *((_three(one.quantiles("mean_torque")),) if _with_torques(made) else ()),
                ", ".join(f"{n} {what}" for what, n in others.items()),
            )
        )
    return rows


def _three(values: Mapping[str, float]) -> str:
    return " / ".join("-" if math.isnan(value) else f"{value:.2f}" for value in values.values())


def _in_words(mixes: SwingMixes) -> str:
    last = mixes.numbers[-1]
    return f"mixes {mixes.first} to {last} of seed {mixes.seed}, {'with' if mixes.sensors else 'without'} sensors"


def _worst_in_words(made: Mapping[str, SwingTrials]) -> list[str]:
    """What failed, and how it is made again alone."""
    lines = []
    for name, one in made.items():
        numbers = [str(run["number"]) for run in one.worst(one.count) if run["outcome"] != "caught"]
        if numbers:
            more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
            lines.append(
                f"{name}: not done by mixes {', '.join(numbers[:10])}{more}; one alone: --mixes 1 --first {numbers[0]}"
            )
    return lines


def _print_tuned(tuned: Tuned) -> None:
    rows = [(name, f"{tuned.before[name]:.6g}", f"{value:.6g}") for name, value in tuned.gains.items()]
    words = f"{tuned.candidates} candidates{', interrupted' if tuned.interrupted else ''}"
    print_table(
        ("gain", "before", "tuned"), rows, f"training score {tuned.score_before:.3f} to {tuned.score:.3f}, {words}"
    )


def _write(made: Mapping[str, SwingTrials], content: Any, out: Path, name: str) -> list[Path]:
    from saltus.show import save_figure

    file = out / f"{name}.json"
    write_json(file, plain(content))
    return [
        file,
        *(path for what, (figure, _) in _figures(made).items() for path in save_figure(figure, out, f"{name}-{what}")),
    ]


def _figures(made: Mapping[str, SwingTrials]) -> dict[str, tuple[Any, str]]:
    """Rates with their intervals, where any run was begun; means of time and residual where there are enough."""
    from saltus.show import bars_figure

    rates = {name: one.interval for name, one in made.items() if one.count}
    figures = {
        "rates": (
            bars_figure(rates, what="share of runs", percent=True, title="Caught the last bar in time"),
            "Share of runs that did it, 95 % intervals",
        )
    }
    for what, title, unit in (("time", "time of the catch", "s"), ("residual", "kinetic energy at the catch", "J")):
        samples = {name: getattr(one, what)[one.success] for name, one in made.items() if one.good > 1}
        if samples:
            figures[what] = (bars_figure(samples, what=title, unit=unit), f"Mean {title}, 95 % intervals")
    return figures


def _report(document: Document, made: Mapping[str, SwingTrials], tuned: Tuned | None, system: HybridSystem) -> None:
    document.table("Outcomes", list(_columns(made)), _rows(made))
    document.figures("How often, and how", list(_figures(made).values()))
    if tuned is not None:
        rows = [(name, tuned.before[name], value) for name, value in tuned.gains.items()]
        document.table("Tuned gains", ["gain", "before", "tuned"], rows)
    for name, one in made.items():
        worst = one.worst()
        if not worst:
            continue
        columns = ["number", "outcome", "time", "residual", *worst[0]["mix"]]
        cells = [[run.get(key, run["mix"].get(key)) for key in columns] for run in worst]
        document.table(f"Worst runs: {name}", columns, cells)
    impossible = [(name, len(one.outcome), one.refusals.items()) for name, one in made.items()]
    document.warnings(
        [f"{name}: {n} of {of} mixes leave no start: {why}." for name, of, reasons in impossible for why, n in reasons]
    )
    document.facts("Mixes", told(next(iter(made.values())).mixes.to_dict()))
    parameters = system.mechanism.parameters
    values = [(name, value, parameters[name].unit) for name, value in system.values.items()]
    document.facts("What was run", [("robot", f"{system.name}: {system.about}", ""), *values])
