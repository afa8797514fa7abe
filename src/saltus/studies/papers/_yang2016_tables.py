"""Section 7.2 of [yang2016]: dynamic programming, its figures 7.3 to 7.14, by its own recipe and by ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from saltus.studies import Correction, Drawing, Number
from saltus.studies._compare_figures import figures_of_tables
from saltus.studies._compare_learning import Effort, Tables
from saltus.studies._compare_mixes import DISTURBANCES, Rate, rate
from saltus.studies._compare_runs import TASKS, Shown, nominal
from saltus.studies._compare_torque import torque_use
from saltus.studies._swing_tasks import _below
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, Chapter, Progress, near, reached, stands
from saltus.studies.papers._yang2016_learned import SEED, effort_of, mixes_of, tables_of
from saltus.studies.papers._yang2016_pendulum import Pendulum

KINDS = {"thesis": "thesis' recipe", "ours": "ours"}
RUNS = {"free": "swing-up without joint limits", "stopped": "swing-up with joint limits", "swing": "swing of 0.55 m"}
# What is published of each run: time, s, and residual kinetic energy, J.
PUBLISHED = {"free": (5.5, 15.0), "stopped": (8.0, None), "swing": (None, 7.0)}
# For which chatter is told, s, and what is off in the mixes.
FIRST = 4.0
OFF = ("torque ±10 %", "friction not trained for", "torque and friction")
# Asked of a policy that is called robust here, and of one that does not chatter, reversals per second.
ROBUST, CALM = 0.97, 3.0


@dataclass(frozen=True, eq=False)
class Found:
    """All that is computed of 7.2; runs by what they are and by recipe."""

    effort: Effort
    tables: Tables
    runs: Mapping[str, Mapping[str, Shown]]
    gentle: Shown
    rates: tuple[Rate, ...]

    def share(self, controller: str, off: str) -> tuple[int, int]:
        """How many of how many mixes were caught, of both tasks together."""
        rows = [one for one in self.rates if one.controller == controller and one.disturbance == off]
        return sum(one.good for one in rows), sum(one.count for one in rows)


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; with little detail tables are so coarse that nothing good comes of them."""
    tables = tables_of(detail, lambda doing, share: progress(doing, 0.7 * share))
    progress("runs", 0.7)
    robot = "brachiator"
    runs = {
        "free": {
            "thesis": nominal(robot, "swing-up", tables.of(tables.thesis_free), stops=False),
            "ours": nominal(robot, "swing-up", tables.of(tables.free), stops=False),
        },
        "stopped": {
            "thesis": nominal(robot, "swing-up", tables.of(tables.thesis)),
            "ours": nominal(robot, "swing-up", tables.policy()),
        },
        "swing": {
            "thesis": nominal(robot, "swing", tables.of(tables.thesis)),
            "ours": nominal(robot, "swing", tables.policy()),
        },
    }
    gentle = nominal(robot, "swing", tables.of(tables.gentle))
    acting = {"ours": tables.policy(), "thesis": tables.of(tables.thesis)}
    rates = []
    for k, off in enumerate(OFF):
        progress(off, 0.8 + 0.2 * k / len(OFF))
        what = next(one for one in DISTURBANCES if one.name == off)
        for name, controller in acting.items():
            for task in TASKS:
                made = rate(robot, name, lambda *_, c=controller: c, what, task, mixes_of(detail), SEED)
                assert made is not None
                rates.append(made[0])
    return Found(effort_of(detail), tables, runs, gentle, tuple(rates))


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_training(found), *_swings(found), *_chatter(found), *_robust(found))


def _training(found: Found) -> list[Number]:
    e, s = found.effort, found.tables.seconds
    ours = [value for name, value in s.items() if " to " in name]
    rate_here = e.thesis_grid**4 * e.thesis_sweeps / s["thesis"]
    return [
        Number(
            "7.2.3", "states updated in a second, the thesis' recipe", 1e8 / 28, rate_here,
            stands(near(rate_here, 1e8 / 28)), unit="1/s",
            note=f"28 s for a sweep of 100⁴ states; here {e.thesis_grid}⁴, {e.thesis_sweeps} sweeps, on this machine",
        ),
        Number(
            "7.2.3", "training for a bar, ours", "8 h", float(np.mean(ours)), "corrected", unit="s",
            note=f"{e.grid}⁴ states, {found.tables.ours[0].sweeps} sweeps, mean of {len(ours)} tables on this machine",
        ),
        Number(
            "7.2.3", "memory of a table of 100⁴ numbers of double precision", "roughly 0.8 GB", 8e8 / 1e9, "reproduced",
            unit="GB", note=f"ours: {found.tables.ours[0].memory / 1e6:.3g} MB, {e.grid}⁴ numbers of single precision",
        ),
    ]  # fmt: skip


def _swings(found: Found) -> list[Number]:
    made = []
    for key, what in RUNS.items():
        time, left = PUBLISHED[key]
        for kind, name in KINDS.items():
            one = found.runs[key][kind]
            note = _told(one)
            took = one.swing.time if one.caught and one.swing is not None else math.nan
            residual = one.swing.residual if one.caught and one.swing is not None else None
            value = math.nan if residual is None else residual
            if time is not None:
                made.append(_number("7.2.4", f"{what}, {name}: time", f"{time:g} s", took, time, kind, "s", note))
            if left is not None:
                made.append(
                    _number("7.2.4, 7.5", f"{what}, {name}: residual", f"{left:g} J", value, left, kind, "J", note)
                )
    for label, one, printed, kind in (
        ("thesis' recipe", found.runs["swing"]["thesis"], 5.99, "thesis"),
        ("ours", found.runs["swing"]["ours"], 5.99, "ours"),
        ("ours with a cost on torque", found.gentle, 3.33, "ours"),
    ):
        what = f"swing of 0.55 m, {label}: mean size of the torque"
        made.append(_number("7.5", what, f"{printed:g} N m", one.torque.mean, printed, kind, "N m", _told(one)))
    return made


def _number(
    where: str, what: str, published: str, value: float, printed: float, kind: str, unit: str, note: str
) -> Number:
    met = math.isfinite(value) and near(value, printed)
    verdict = reached(met) if kind == "thesis" else stands(met)
    return Number(where, what, published, value, verdict, unit=unit, note=note)


def _told(one: Shown) -> str:
    if not one.caught or one.swing is None:
        return f"not caught within {one.run.end_time:g} s"
    return (
        f"caught after {one.swing.time:.2f} s with {one.swing.residual:.2f} J, from {one.swing.approach}, "
        f"{one.swing.back_swings} back-swings"
    )


def reversals(found: Found) -> tuple[float, float]:
    """Of the torque in the first seconds of a swing-up with stops, 1/s: thesis' recipe, ours."""
    made = []
    for kind in KINDS:
        one = found.runs["stopped"][kind]
        made.append(torque_use(one.run, 0.0, min(FIRST, one.end)).reversals)
    return made[0], made[1]


def _chatter(found: Found) -> list[Number]:
    theirs, ours = reversals(found)
    return [
        Number(
            "7.2.4, figures 7.6, 7.10", "reversals of the torque in the first 4 s of a swing-up, thesis' recipe",
            "chattering", theirs, reached(theirs > CALM), unit="1/s", note=f"more than {CALM:g} is chatter here",
        ),
        Number(
            "7.2.4", "the same, ours", "chattering", ours, stands(ours >= CALM), unit="1/s",
            note="until the catch; tables are read between states, and a reversal costs a share of the value",
        ),
    ]  # fmt: skip


def _robust(found: Found) -> list[Number]:
    published = {"torque ±10 %": "fails", "friction not trained for": "sometimes fails"}
    made = []
    for off in OFF:
        for kind, name in KINDS.items():
            good, count = found.share(kind, off)
            fails = good < count
            verdict = "corrected" if off not in published else reached(fails) if kind == "thesis" else stands(fails)
            made.append(
                Number(
                    "7.2.5", f"{off}: swings of 0.55 m and swing-ups caught, {name}", published.get(off, NOT_PRINTED),
                    f"{good} of {count}", verdict,
                    note=f"at least {ROBUST:.0%}: {'yes' if good >= ROBUST * count else 'no'}",
                )
            )  # fmt: skip
    return made


def corrections(found: Found) -> tuple[Correction, ...]:
    robot = found.tables.robot
    of = Pendulum.of(robot.values)
    p = robot.values
    first, second = _below(0.55, 0.0, p["L1"], p["L2"])
    weight = float(
        p["g"]
        * ((p["m1"] * p["r1"] + p["m2"] * p["L1"]) * math.sin(first) + p["m2"] * p["r2"] * math.sin(first + second))
    )
    table = found.tables.thesis
    known = table.values[table.values < 0.5 * float(table.values.max())]
    theirs, ours = reversals(found)
    elbow = np.linalg.solve(of.mass(0.0), [0.0, float(robot.input_limits[0])])[1]
    width = math.degrees(table.axes[1].spacing)
    return (
        Correction(
            "7.2.2, weight of the future = 1", "costs are added up for ever", "the goal absorbs: costs end there",
            f"at the bar gravity turns the robot about its hand with {weight:.2f} N m, where no motor is: it cannot "
            "stay, and every sum of costs is without bound",
            f"{known.size} of {table.values.size} states have a cost, up to {known.max(initial=0.0):.3g} m²",
        ),
        Correction(
            "7.2.4, 7.2.6", "a coarser grid where θ₂ = 0", "a finer one, or values between states",
            f"the full torque turns a straight elbow by {math.degrees(0.5 * elbow * 0.02**2):.1f} degrees in 20 ms, "
            f"cells are {width:.1f} degrees wide, and {theirs:.1f} reversals/s come of it",
            f"{ours:.1f} reversals/s with values between states",
        ),
    )  # fmt: skip


def drawings(found: Found) -> tuple[Drawing, ...]:
    named = {key: {KINDS[kind]: one for kind, one in pair.items()} for key, pair in found.runs.items()}
    made = []
    for name, (figure, caption) in figures_of_tables(named).items():
        pair = found.runs[_run_of(int(name.rpartition(".")[2]))]
        told = "; ".join(f"{KINDS[kind]}: {_told(one)}" for kind, one in pair.items())
        made.append(Drawing(name, figure, f"{caption.rstrip('.')}. {told[0].upper()}{told[1:]}.", _verdict(pair)))
    return tuple(made)


def _run_of(number: int) -> str:
    return "free" if number < 7 else "stopped" if number < 11 else "swing"


def _verdict(pair: Mapping[str, Shown]) -> str:
    """By its own recipe as published; else by ours; else not at all."""
    return "reproduced" if pair["thesis"].caught else "corrected" if pair["ours"].caught else "not reproducible"


CHAPTER = Chapter("7.2", find, numbers, corrections, drawings, share=6.0)
