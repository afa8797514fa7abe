"""Robustness of swinging: the same controller under many random mixes, how often it succeeds, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control import Energy, Gripper, Hardware, Motor
from saltus.engine import Batch, Trajectory, simulate_many
from saltus.engine._refusals import Impossible, Refusals, none_of, tally
from saltus.engine._simulate import bind
from saltus.errors import BatchInterrupted, InputError, SaltusError
from saltus.hybrid import HybridSystem
from saltus.studies._catches import CATCHES, Caught
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import (
    BARS,
    Task,
    bar_parameters,
    bars_of,
    ended_by_catch,
    find_task,
    given,
    last_bar,
    open_hands,
    placed,
)
from saltus.studies._swings import swings

# Shares of runs up to which quantiles are told.
QUANTILES = (0.5, 0.95, 1.0)

# Parts of the time for which runs are made that are not ended by a catch.
_PARTS = (0.34, 0.45, 1.0)

# Stands for the gripper of a task.
_OF_TASK = "of the task"

OUTCOMES = ("caught", "too late", "fell", "failed", "no start", "not begun")

# Outcomes of runs that tell nothing about the controller.
_WITHOUT_RUN = ("no start", "not begun")


@equal_by_content
@dataclass(frozen=True, eq=False)
class SwingTrials:
    """What became of a task under mixes; arrays have a row for each mix, in the order of their numbers.

    Parameters
    ----------
    task, system, mixes
        What was tried, with which robot (nominal), under which mixes; `drawn` tells each.
    outcome
        ``caught`` (the last bar, in time), ``too late``, ``fell``, ``failed`` (of the simulation: see ``status``),
        ``no start`` where the mix leaves no possible start (``batch.reasons`` says why), ``not begun`` where it was
        interrupted.
    time
        Of the catch that did it, s; not a number where there was none.
    residual
        Kinetic energy just before the catch, J; on ladders the mean over all catches, with ``worst_residual`` the
        largest.
    catches
        How many there were.
    mean_torque
        Mean size of the torque, N m, if it was asked for.
    batch
        The runs: `run` makes any of them again.
    """

    task: Task
    system: HybridSystem
    mixes: SwingMixes
    drawn: dict[str, np.ndarray]
    outcome: np.ndarray
    status: np.ndarray
    time: np.ndarray
    residual: np.ndarray
    worst_residual: np.ndarray
    catches: np.ndarray
    batch: Batch = field(repr=False)
    mean_torque: np.ndarray | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> np.ndarray:
        """Whether each run did it."""
        return np.asarray(self.outcome == "caught")

    @property
    def count(self) -> int:
        """How many runs were begun."""
        return int((~np.isin(self.outcome, _WITHOUT_RUN)).sum())

    @property
    def refusals(self) -> dict[str, int]:
        """How many mixes leave no possible start, for each kind of reason."""
        return tally(self.batch.cases.refused.values())

    @property
    def good(self) -> int:
        """How many did it."""
        return int(self.success.sum())

    @property
    def interval(self) -> tuple[float, float, float]:
        """The share that did it, and the interval in which that of all mixes is, at 95 % [wilson1927]."""
        from saltus.show import wilson_interval

        if not self.count:
            return math.nan, 0.0, 1.0
        return wilson_interval(self.good, self.count)

    @property
    def share(self) -> float:
        """The share that did it."""
        return self.good / self.count if self.count else math.nan

    def quantiles(self, what: str = "time") -> dict[str, float]:
        """Of ``time``, ``residual``, ``worst_residual`` or ``mean_torque`` of the runs that did it, by share."""
        values = getattr(self, what)
        known = values[self.success & np.isfinite(values)] if values is not None else np.array([])
        found = np.quantile(known, QUANTILES) if known.size else [math.nan] * len(QUANTILES)
        return {f"{share:g}": float(value) for share, value in zip(QUANTILES, found, strict=True)}

    def worst(self, count: int = 5) -> list[dict[str, Any]]:
        """The worst runs: those that did not do it, then the slowest; each with what makes it again alone."""
        order = np.lexsort((-np.nan_to_num(self.time, nan=math.inf), self.success))
        begun = [int(k) for k in order if self.outcome[k] not in _WITHOUT_RUN]
        return [self._told(k) for k in begun[:count]]

    def run(self, number: int) -> Trajectory:
        """Make the run of a mix again, by its number, with its whole record."""
        if number not in self.mixes.numbers:
            numbers = self.mixes.numbers
            raise InputError(f"mixes are numbered from {numbers[0]} to {numbers[-1]}, got {number!r}")
        return self.batch.run(number - self.mixes.first)

    def to_dict(self, *, runs: bool = True) -> dict[str, Any]:
        """For JSON; with every run, or without."""
        rate, low, high = self.interval
        content = {
            "task": self.task.name,
            "limit": self.batch.options["until"],
            "robot": self.system.name,
            **self.about,
            "count": self.count,
            "good": self.good,
            "share": rate,
            "interval": [low, high],
            "outcomes": dict(Counter(self.outcome.tolist())),
            "reasons": self.refusals,
            "time": self.quantiles("time"),
            "residual": self.quantiles("residual"),
            "worst_residual": self.quantiles("worst_residual"),
            "mean_torque": self.quantiles("mean_torque") if self.mean_torque is not None else None,
            "mixes": self.mixes.to_dict(),
            "worst": self.worst(),
        }
        return content | ({"runs": [self._told(k) for k in range(len(self.outcome))]} if runs else {})

    def _told(self, k: int) -> dict[str, Any]:
        numbers = {"time": self.time, "residual": self.residual, "worst_residual": self.worst_residual}
        if self.mean_torque is not None:
            numbers["mean_torque"] = self.mean_torque
        return {
            "number": self.mixes.numbers[k],
            "seed": self.mixes.seed,
            "outcome": str(self.outcome[k]),
            "status": str(self.status[k]),
            "reason": self.batch.reasons.get(k, ""),
            "catches": int(self.catches[k]),
            **{name: float(values[k]) for name, values in numbers.items()},
            "mix": {name: float(values[k]) for name, values in self.drawn.items()},
        }


def fitted_energy(
    energy: Energy, system: HybridSystem, mixes: SwingMixes, motor: Motor | None = None, gripper: Gripper | None = None
) -> Energy:
    """An energy controller as the parts about it ask for: it believes in the nominal robot, and knows those parts."""
    return replace(
        energy,
        model=dict(system.values),
        observer=mixes.sensors,
        motor=motor,
        close_time=0.0 if gripper is None else gripper.close_time,
    )


def try_swings(
    robot: str | HybridSystem = "brachiator",
    task: str = "swing",
    controller: Any = None,
    mixes: SwingMixes | None = None,
    *,
    motor: Motor | None = None,
    gripper: Gripper | str | None = _OF_TASK,
    bars: int = BARS,
    limit: float | None = None,
    torques: bool = False,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SwingTrials:
    """Try a task once under each of many random mixes.

    A mix that leaves no possible start has the outcome ``no start`` and its reason in ``batch.reasons``; the other
    runs are, bit by bit, those without it. It is an error, before any work, if that is so for every mix.

    Sensors, motor and gripper stand between robot and controller, as `saltus.control.Hardware`, with noise of each
    run's own. Mixes of one seed are the same for all controllers, so that these can be compared run by run.

    Parameters
    ----------
    robot
        Of two links with two hands, by name or with parameters of its own.
    task
        ``swing`` (to the third of three bars, within 6 s), ``swing-up`` (from hanging at rest, within 15 s) or
        ``ladder`` (to the last of its bars, each gap drawn, within 60 s).
    controller
        Any controller, for all runs; or a function ``(system, number) -> controller`` that makes one for each mix: the
        system is the nominal robot with the bars of that mix as they are told, the number that of the mix. None for
        the energy controller, fitted to sensors, motor and gripper; one that is given is taken as it is: see
        `fitted_energy`.
    motor
        What the motor can do; ideal if None.
    gripper
        The claws. Real ones on a ladder if not said; None for such that close and open at once.
    bars
        Of a ladder.
    limit
        The time that it may take, s, in place of that of the task.
    torques
        Whether the mean torque of each run is told too: every run is made once more for that, one by one.
    progress
        Called now and then with the number of runs made and that of all.
    """
    made = swing_trials(
        robot, task, controller, mixes, motor=motor, gripper=gripper, bars=bars, limit=limit, torques=torques,
        rtol=rtol, atol=atol, threads=threads, progress=progress,
    )  # fmt: skip
    refuse_none([made])
    return made


def refuse_none(made: Iterable[SwingTrials]) -> None:
    """Refuse trials where no mix of any of them leaves a possible start."""
    trials = list(made)
    if not any((one.outcome != "no start").any() for one in trials):
        raise none_of("mixes can start", [text for one in trials for text in one.batch.cases.refused.values()])


def swing_trials(
    robot: str | HybridSystem,
    task: str,
    controller: Any,
    mixes: SwingMixes | None,
    *,
    motor: Motor | None = None,
    gripper: Gripper | str | None = _OF_TASK,
    bars: int = BARS,
    limit: float | None = None,
    torques: bool = False,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SwingTrials:
    """As `try_swings`, for one of several tasks: trials also where no mix leaves a possible start."""
    meant, mixes = find_task(task), SwingMixes() if mixes is None else mixes
    _check_parts(mixes, motor, gripper, limit)
    claws = meant.gripper if isinstance(gripper, str) else gripper
    system = placed(robot, meant, bars)
    refusals = Refusals(mixes.count)
    parameters, states = given(system, meant, mixes, bars, refusals)
    controllers = _controllers(controller, system, meant, mixes, motor, claws, bars, refusals)
    ended = ended_by_catch(system, meant, claws)
    behind = _behind(controllers, {**mixes.parts, "motor": motor, "gripper": claws}, mixes, refusals)
    options: dict[str, Any] = {
        "mode": open_hands(system, meant), "until": meant.limit if limit is None else float(limit), "rtol": rtol,
        "atol": atol, "events_kept": 0, "figures": CATCHES, "threads": threads, "progress": progress,
    }  # fmt: skip
    try:
        if ended is system:
            batch = _until_done(system, states, parameters, behind, options)
        else:
            batch = simulate_many(ended, states, parameters=parameters, controllers=behind, **options)
    except BatchInterrupted as stopped:
        raise TrialsInterrupted(str(stopped), stopped.batch, _trials(meant, system, mixes, stopped.batch)) from None
    made = _trials(meant, system, mixes, batch)
    return replace(made, mean_torque=_mean_torques(batch, progress)) if torques else made


def _behind(controllers: list[Any], parts: Mapping[str, Any], mixes: SwingMixes, refusals: Refusals) -> Any:
    """Controllers behind the parts, where there are parts; one for all where all have the same."""
    real = any(part is not None for part in parts.values())
    if not real and not refusals.refused.any() and all(one is controllers[0] for one in controllers):
        return controllers[0]
    return [
        Impossible(refusals.reasons[row])
        if refusals.refused[row]
        else Hardware(one, **parts, seed=mixes.noise_seed(number))
        if real
        else one
        for row, (one, number) in enumerate(zip(controllers, mixes.numbers, strict=True))
    ]


def _until_done(
    system: HybridSystem,
    states: np.ndarray,
    parameters: dict[str, np.ndarray],
    controllers: Any,
    options: dict[str, Any],
) -> Batch:
    """All runs for a part of the time, and those that are not done by then once more for longer, up to all of it.

    A robot that has caught the last bar hangs there until the end: to leave most of that out saves most of the time,
    and a run comes out the same however long it is made.
    """
    made, rows = None, np.arange(len(states))
    for part in _PARTS:
        own = [controllers[k] for k in rows] if isinstance(controllers, list) else controllers
        now = {**options, "until": part * options["until"], "progress": _told_of(options["progress"], len(states))}
        given = {name: values[rows] for name, values in parameters.items()}
        stopped = None
        try:
            batch = simulate_many(system, states[rows], parameters=given, controllers=own, **now)
        except BatchInterrupted as caught:
            stopped, batch = caught, caught.batch
        whole = {**batch.options, "until": options["until"]}
        made = replace(batch, options=whole) if made is None else _put_into(made, rows, batch)
        if stopped is not None:
            raise BatchInterrupted(str(stopped), made)
        done = (Caught(made, system).bars == last_bar(system)).any(axis=1)
        rows = np.flatnonzero((made.status == "finished") & ~done)
        if not rows.size:
            break
    assert made is not None
    return made


def _told_of(progress: Callable[[int, int], None] | None, count: int) -> Callable[[int, int], None] | None:
    """Progress of the last runs, told as that of all."""
    return None if progress is None else lambda made, of: progress(count - of + made, count)


def _put_into(batch: Batch, rows: np.ndarray, other: Batch) -> Batch:
    """A batch in which some runs are those of another."""
    integers, doubles = batch.integers.copy(), batch.doubles.copy()
    integers[rows], doubles[rows] = other.integers, other.doubles
    figures = {name: values.copy() for name, values in batch.figures.items()}
    for name, values in figures.items():
        values[rows] = other.figures[name]
    errors = batch.errors | {int(rows[k]): error for k, error in other.errors.items()}
    return replace(batch, integers=integers, doubles=doubles, figures=figures, errors=errors)


class TrialsInterrupted(BatchInterrupted):
    """Trials were stopped by Ctrl-C; what became of those that were made is in ``trials``.

    Of several settings, those that were done before are in ``before``, by name.
    """

    def __init__(
        self, message: str, batch: Batch, trials: SwingTrials, before: Mapping[str, SwingTrials] | None = None
    ):
        super().__init__(message, batch)
        self.trials, self.before = trials, dict(before or {})


def _check_parts(mixes: Any, motor: Any, gripper: Any, limit: Any) -> None:
    if not isinstance(mixes, SwingMixes):
        raise InputError(f"mixes are a saltus.studies.SwingMixes, got {mixes!r}")
    if motor is not None and not isinstance(motor, Motor):
        raise InputError(f"motor is a saltus.control.Motor, or None for an ideal one, got {motor!r}")
    if gripper is not None and gripper is not _OF_TASK and not isinstance(gripper, Gripper):
        raise InputError(f"gripper is a saltus.control.Gripper, or None for an ideal one, got {gripper!r}")
    if limit is not None and not (isinstance(limit, (int, float)) and 0 < limit < math.inf):
        raise InputError(f"limit is a time, s, got {limit!r}")


def _controllers(
    given_one: Any, system: HybridSystem, task: Task, mixes: SwingMixes, motor: Any, claws: Any, bars: int,
    refusals: Refusals,
) -> list[Any]:  # fmt: skip
    """The controller of each mix; one for all is bound, so that it is refused before any work if it does not fit."""
    if isinstance(given_one, (str, bytes)):
        raise InputError(
            "a controller is an object, such as saltus.control.Energy(), or a function that makes one for each mix, "
            f"got {given_one!r}"
        )
    if given_one is None:
        one = fitted_energy(Energy(), system, mixes, motor, claws)
    elif hasattr(given_one, "bind") and not isinstance(given_one, type):
        one = given_one
    elif callable(given_one) and not isinstance(given_one, type):
        places = bar_parameters(bars_of(task, mixes, bars, told=True))
        return _made_for_each(given_one, system, mixes, places, refusals)
    else:
        raise InputError(
            "a controller has a bind, as those of saltus.control have, or is a function (system, number) that makes "
            f"one for each mix; got {given_one!r}"
        )
    bind(one, system)
    return [one] * mixes.count


def _made_for_each(
    make: Callable[[HybridSystem, int], Any], system: HybridSystem, mixes: SwingMixes, places: dict[str, np.ndarray],
    refusals: Refusals,
) -> list[Any]:  # fmt: skip
    """What a function makes of the nominal robot among the bars of each mix; a mix for which it raises is refused."""

    def one(row: int) -> Any:
        own = {name: float(value[row]) for name, value in places.items()}
        nominal = system.with_parameters(**own)
        try:
            return make(nominal, mixes.numbers[row])
        except SaltusError:
            raise
        except Exception as error:
            raise InputError(f"no controller was made for this mix: {error!r}") from error

    made: list[Any] = [None] * mixes.count
    for row in np.flatnonzero(~refusals.refused).tolist():
        made[row] = refusals.attempt(row, one)
        if not refusals.refused[row] and (not hasattr(made[row], "bind") or isinstance(made[row], type)):
            raise InputError(
                "the function (system, number) makes a controller for each mix; "
                f"of mix {mixes.numbers[row]} it gave {made[row]!r}"
            )
    return made


def _trials(task: Task, system: HybridSystem, mixes: SwingMixes, batch: Batch) -> SwingTrials:
    """What became of the runs of a batch."""
    caught = Caught(batch, system)
    last = caught.bars == last_bar(system)
    done = last.any(axis=1)
    rows, first = np.arange(batch.n), last.argmax(axis=1)
    until = np.arange(last.shape[1])[None, :] <= np.where(done, first, last.shape[1])[:, None]
    residuals = np.where(until, caught.residuals, np.nan)
    some = np.isfinite(residuals).any(axis=1)
    mean, most = np.full(batch.n, np.nan), np.full(batch.n, np.nan)
    mean[some], most[some] = np.nanmean(residuals[some], axis=1), np.nanmax(residuals[some], axis=1)
    outcome = np.full(batch.n, "too late", dtype="<U9")
    outcome[(caught.hold == 0) & batch.good] = "fell"
    outcome[~batch.good] = "failed"
    outcome[done] = "caught"
    outcome[~batch.begun | (batch.status == "interrupted")] = "not begun"
    outcome[batch.status == "not_started"] = "no start"
    drawn = mixes.draw()
    if task.name != "swing":
        del drawn["behind"]
    if task.name == "ladder":
        gaps = np.diff(np.stack([batch.parameters[f"bar{k}_x"] for k in range(last_bar(system) + 1)]), axis=0)
        drawn["spacing"] = gaps.mean(axis=0) / np.cos(drawn["incline"])
    return SwingTrials(
        task=task, system=system, mixes=mixes, drawn=drawn, outcome=outcome, status=batch.status,
        time=np.where(done, caught.times[rows, first], np.nan), residual=mean, worst_residual=most,
        catches=np.nan_to_num(caught.count).astype(int), batch=batch,
    )  # fmt: skip


def _mean_torques(batch: Batch, progress: Callable[[int, int], None] | None) -> np.ndarray:
    """Mean size of the torque over the swings of each run, N m."""
    found = np.full(batch.n, np.nan)
    for k in np.flatnonzero(batch.begun).tolist():
        made = [swing for swing in swings(batch.run(k)) if swing.time > 0]
        spent = sum(swing.time for swing in made)
        if spent > 0:
            found[k] = sum(swing.time * swing.mean_torque for swing in made) / spent
        if progress is not None:
            progress(k + 1, batch.n)
    return found
