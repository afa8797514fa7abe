"""Training of impulses on the command line: its options, its files, and the commands that give an impulse."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus._records import write_json
from saltus.cli._words import Progress, number, plain
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem
    from saltus.optimize import GoodTrials
    from saltus.optimize._learn import Plan

Trials = Annotated[int | None, typer.Option("--trials", help="impulse: how many. 165000.")]
Starts = Annotated[
    str | None, typer.Option("--starts", help="impulse: from where the hand swings, m; behind is negative. -0.6:-0.4.")
]
Targets = Annotated[str | None, typer.Option("--targets", help="impulse: to where, m ahead. 0.4:0.6.")]
Begins = Annotated[str | None, typer.Option("--begins", help="impulse: when random ones begin, s. 0:0.6.")]
Lengths = Annotated[str | None, typer.Option("--lengths", help="impulse: how long random ones last, s. 0.02:0.5.")]
Softness = Annotated[
    str | None, typer.Option("--softness", help="impulse: by what the nets' trials are chosen, residual or force.")
]
Time = Annotated[float | None, typer.Option("--time", help="impulse: how long a trial lasts, s. 1.2.")]
Ask = Annotated[
    list[str] | None,
    typer.Option("--ask", help="impulse: START,TARGET, m: tell the polished impulse for it; several, if you like."),
]

COLUMNS = ("inverse", "within reach", "left at the catch, J", "within reach, T1 +-5 %")
ASKED = ("from, m", "to, m", "begin, s", "size, N m", "length, s", "within reach")


@dataclass(frozen=True)
class ImpulseJob:
    """What is to be learned, what is to be told of it, and the words that make the robot."""

    plan: Plan
    queries: tuple[tuple[float, float], ...]
    marks: tuple[str, ...]
    words: tuple[str, ...]

    def files(self, out: Path) -> tuple[Path, Path]:
        """Of trials, and of what came out."""
        plan = self.plan
        name = "-".join([plan.swinger.robot.name, "impulses", str(plan.count), f"seed{plan.seed}", *self.marks])
        return out / f"{name}.npz", out / f"{name}.json"

    def check(self, out: Path, *, force: bool) -> None:
        """Refuse to lose what was made before."""
        for path in self.files(out):
            if path.exists() and not force:
                raise InputError(f"{path} exists already; --force makes it anew")

    def made(self, out: Path, *, quiet: bool) -> dict[str, Any]:
        """Make trials and both inverses, count their hits, answer what was asked, and write it all."""
        from saltus.optimize import save_trials
        from saltus.optimize._learn import learned

        with Progress(1.0, quiet=quiet, doing="learning:") as show:
            made = learned(self.plan, lambda share, what: show(share, what))
        files = self.files(out)
        content = {
            **made.to_dict(),
            "seed": self.plan.seed,
            "asked": [self._asked(made.polished, *one) for one in self.queries],
            "files": [str(path) for path in files],
        }
        save_trials(files[0], made.swinger, made.trials)
        write_json(files[1], plain(content))
        return content

    def _asked(self, inverse: GoodTrials, start: float, target: float) -> dict[str, Any]:
        """The impulse for a query, whether it hits, and the command that makes this swing."""
        one = inverse.impulse(start, target)
        numbers = {"begin": one.begin, "size": one.size, "length": one.length}
        made = inverse.swinger.swing(start, *numbers.values(), bar=target)
        options = [f"--control {name}={value!r}" for name, value in numbers.items()]
        world = f"--world ladder --spacing {-start!r},{target!r}"
        command = " ".join(["saltus run", shlex.join(self.words), world, "--controller impulse", *options])
        return {"start": start, "target": target, **numbers, "hit": bool(made.reached[0]), "command": command}


def impulse_job(
    system: HybridSystem, robot: str, set_: list[str] | None, *, trials: int | None, seed: int | None,
    softness: str | None, time: float | None, pairs: dict[str, str | None], ask: list[str] | None, threads: int | None,
) -> ImpulseJob:  # fmt: skip
    """What the options ask for; refused if it cannot be."""
    from saltus.optimize._learn import plan_impulses
    from saltus.optimize._trial_files import of_world

    given: dict[str, Any] = {name: _pair(text, f"--{name}") for name, text in pairs.items() if text is not None}
    marks = [f"{name}{low:g}_{high:g}" for name, (low, high) in given.items()]
    marks += [f"time{time:g}"] if time is not None else []
    marks += [softness] if softness is not None else []
    chosen = {"count": trials, "seed": seed, "softness": softness, "time": time}
    given |= {name: value for name, value in chosen.items() if value is not None}
    plan = plan_impulses(system, **given, threads=threads)
    queries = tuple(plan.swinger.check_query(*_query(text)) for text in ask or [])
    # where bars are is told by a query
    own = [text for text in set_ or [] if not of_world(text)]
    return ImpulseJob(plan, queries, tuple(marks), (robot, *(word for text in own for word in ("--set", text))))


def asked_rows(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of what was asked for people."""
    return [
        (
            f"{one['start']:g}", f"{one['target']:g}", f"{one['begin']:.4f}", f"{one['size']:.4f}",
            f"{one['length']:.4f}", "yes" if one["hit"] else "no",
        )
        for one in content.get("asked", [])
    ]  # fmt: skip


def _pair(text: str, option: str) -> tuple[float, float]:
    parts = [number(part, option) for part in text.split(":")]
    if len(parts) != 2:
        raise InputError(f"{option} takes from:to in m or s, such as 0.4:0.6 or -0.6:-0.4, got {text!r}")
    return parts[0], parts[1]


def _query(text: str) -> tuple[float, float]:
    parts = [number(part, "--ask") for part in text.split(",")]
    if len(parts) != 2:
        raise InputError(f"--ask takes START,TARGET, such as -0.5,0.55, got {text!r}")
    return parts[0], parts[1]
