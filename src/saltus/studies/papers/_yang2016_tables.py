"""Section 7.2 of [yang2016]: dynamic programming, its figures 7.3 to 7.14, by its own recipe and by ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from saltus.studies import Correction, Drawing, Number
from saltus.studies._compare import mixes_for
from saltus.studies._compare_figures import figures_of_tables
from saltus.studies._compare_learning import SPACING, UP, Effort, Tables
from saltus.studies._compare_mixes import DISTURBANCES, Rate, rate
from saltus.studies._compare_printed import printed, said
from saltus.studies._compare_runs import TASKS, Shown, nominal
from saltus.studies._compare_torque import TorqueUse, chatters_until, torque_use
from saltus.studies._swing_tasks import _below
from saltus.studies.papers._yang2016_catches import above_required, hand_rate, leeway, parted, turns
from saltus.studies.papers._yang2016_chapter import (
    BORNE,
    NOT_PRINTED,
    Chapter,
    Progress,
    borne,
    judged,
    near,
    reached,
    robustness,
    stands,
    yes,
)
from saltus.studies.papers._yang2016_learned import SEED, effort_of, mixes_of, tables_of, tried
from saltus.studies.papers._yang2016_pendulum import Pendulum

KINDS = {"thesis": "thesis' recipe", "ours": "ours"}
RUNS = {"free": "swing-up without joint limits", "stopped": "swing-up with joint limits", "swing": "swing of 0.55 m"}
# What is published of each run: time, s, and residual kinetic energy, J.
PUBLISHED = {"free": (5.5, 15.0), "stopped": (8.0, None), "swing": (None, 7.0)}
FIGURES = {"free": 3, "stopped": 7, "swing": 11}
AWAY = {"free": UP, "stopped": UP, "swing": SPACING}
# For which chatter is told, s; a pause that ends it, s; from how much on it is chatter, 1/s.
FIRST, PAUSE, CALM = 4.0, 0.5, 1.0
# Energies that differ by more are not the same, J.
SAME_ENERGY = 0.5
# What is off in the mixes; controllers of the comparison, by kind; the run of each task with nothing off.
OFF = ("torque ±10 %", "friction not trained for", "torque and friction")
NAMES = {"thesis": "dp_thesis", "ours": "dp"}
NOTHING_OFF = {"swing": "swing", "swing-up": "stopped"}
FAMILY = "dynamic programming"


@dataclass(frozen=True, eq=False)
class Found:
    """All that is computed of 7.2; runs by what they are and by recipe."""

    effort: Effort
    tables: Tables
    runs: Mapping[str, Mapping[str, Shown]]
    gentle: Shown
    rates: tuple[Rate, ...]

    @property
    def tried(self) -> str:
        """With how much less than the thesis its own recipe was tried."""
        return tried(self.effort)

    def note(self, kind: str, one: Shown) -> str:
        """What became of a run, and how its recipe was tried."""
        return f"{one.told}; {self.tried}" if kind == "thesis" else one.told


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
                # as many as in 7.5, so that both tell the same
                count = mixes_for(NAMES[name], mixes_of(detail))
                made = rate(robot, name, lambda *_, c=controller: c, what, task, count, SEED)
                assert made is not None
                rates.append(made[0])
    return Found(effort_of(detail), tables, runs, gentle, tuple(rates))


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_training(found), *_swings(found), *_seen(found), *_chatter(found), *_robust(found))


def _training(found: Found) -> list[Number]:
    e, s, own = found.effort, found.tables.seconds, found.tables.thesis
    ours = [value for name, value in s.items() if " to " in name]
    rate_here = e.thesis_grid**4 * e.thesis_sweeps / s["thesis"]
    five, memory = 5 * 1e8 * 1000 / rate_here / 3600, found.tables.ours[0].memory
    return [
        Number(
            "7.2.3", "states updated in a second, the thesis' recipe", 1e8 / 28, rate_here,
            stands(near(rate_here, 1e8 / 28)), unit="1/s",
            note=f"28 s for a sweep of 100⁴ states; here {e.thesis_grid}⁴, {e.thesis_sweeps} sweeps, on this machine",
        ),
        Number(
            "7.2.3", "states with new inputs in the last sweep, the thesis' recipe", "less than 0.001 %",
            100 * own.residual, reached(own.residual < 1e-5), unit="%", note=found.tried,
        ),
        Number(
            "7.2.3", "training for a bar, ours", "8 h", float(np.mean(ours)), "corrected", unit="s",
            note=f"{e.grid}⁴ states, {found.tables.ours[0].sweeps} sweeps, mean of {len(ours)} tables on this machine",
        ),
        Number(
            "7.2.3", "training for five bars, the thesis' recipe", "40 h", five, stands(near(five, 40.0)), unit="h",
            note="reckoned for 100⁴ states and 1000 sweeps from how fast it is on this machine; ours: "
            f"{5 * float(np.mean(ours)):.0f} s",
        ),
        Number(
            "7.2.3", "memory of a table of 100⁴ numbers of double precision", "roughly 0.8 GB", 8e8 / 1e9, "reproduced",
            unit="GB", note=f"ours: {memory / 1e6:.3g} MB, {e.grid}⁴ numbers of single precision",
        ),
        Number(
            "7.2.3", "memory of five such tables", "4 GB", 5 * 8e8 / 1e9, "reproduced", unit="GB",
            note=f"ours: {5 * memory / 1e6:.3g} MB",
        ),
    ]  # fmt: skip


def _swings(found: Found) -> list[Number]:
    made = []
    for key, what in RUNS.items():
        time, left = PUBLISHED[key]
        for kind, name in KINDS.items():
            one = found.runs[key][kind]
            for word, where, printed_one, value, unit in (
                ("time", "7.2.4", time, one.time, "s"), ("residual", "7.2.4, 7.5", left, one.residual, "J"),
            ):  # fmt: skip
                if printed_one is not None:
                    made.append(_number(found, where, f"{what}, {name}: {word}", printed_one, value, kind, unit, one))
    for label, one, mean, kind in (
        ("thesis' recipe", found.runs["swing"]["thesis"], 5.99, "thesis"),
        ("ours", found.runs["swing"]["ours"], 5.99, "ours"),
        ("ours with a cost on torque", found.gentle, 3.33, "ours"),
    ):
        what = f"swing of 0.55 m, {label}: mean size of the torque"
        made.append(_number(found, "7.5", what, mean, one.torque.mean, kind, "N m", one))
    return made


def _number(
    found: Found, where: str, what: str, published: float, value: float | None, kind: str, unit: str, one: Shown
) -> Number:
    met = value is not None and near(value, published)
    told: float | str = "not caught" if value is None else value if one.caught else f"{value:.3g} {unit}, not caught"
    return Number(
        where, what, f"{published:g} {unit}", told, judged(met, done=one.caught, own=kind == "thesis"),
        unit=unit, note=found.note(kind, one),
    )  # fmt: skip


def _seen(found: Found) -> list[Number]:
    """What is read off the curves."""
    made = []
    for kind, name in KINDS.items():
        own = kind == "thesis"
        for key, what in RUNS.items():
            one = found.runs[key][kind]
            more = above_required(one, AWAY[key])
            made.append(
                Number(
                    f"7.2.4, figure 7.{FIGURES[key] + 2}",
                    f"{what}, {name}: potential energy at the catch above that of rest there", "roughly the same",
                    "not caught" if more is None else more,
                    judged(more is not None and abs(more) <= leeway(one), done=one.caught, own=own), unit="J",
                    note=f"up to {leeway(one):.2f} J is the weight on the 2.5 cm of leeway; {found.note(kind, one)}",
                )
            )  # fmt: skip
        free, stopped, swing = (found.runs[key][kind] for key in RUNS)
        over, apart, rate_there = turns(free), parted(free, stopped, SAME_ENERGY), hand_rate(swing)
        passes = over[0] if over else free.end
        made += [
            Number(
                "7.2.4, figure 7.3", f"{RUNS['free']}, {name}: when the elbow last goes past 180 degrees",
                "5.5 s, overhand", over[-1] if over else "never",
                judged(bool(over) and near(over[-1], 5.5), done=free.caught, own=own), unit="s",
                note=f"{len(over)} times in all; {found.note(kind, free)}",
            ),
            Number(
                "7.2.4, figure 7.7", f"{RUNS['stopped']}, {name}: how often the elbow goes past 180 degrees",
                "never", len(turns(stopped)), judged(not turns(stopped), done=stopped.caught, own=own),
                note=found.note(kind, stopped),
            ),
            Number(
                "7.2.4, figures 7.5, 7.9", f"energy with and without joint limits the same until, {name}", "5.5 s",
                apart, judged(apart >= passes - 0.02, done=free.caught and stopped.caught, own=own), unit="s",
                note=f"without limits {'the elbow goes past 180 degrees' if over else 'it ends'} at {passes:.2f} s; "
                f"more than {SAME_ENERGY:g} J is not the same; with limits {found.note(kind, stopped)}",
            ),
            Number(
                "7.2.5, figure 7.12", f"{RUNS['swing']}, {name}: rate of the hand that holds at the catch", "negative",
                "not caught" if rate_there is None else rate_there,
                judged(rate_there is not None and rate_there < 0, done=swing.caught, own=own), unit="degrees/s",
                note=f"negative is falling back; {found.note(kind, swing)}",
            ),
        ]  # fmt: skip
    return made


def chatter(found: Found, key: str, kind: str) -> TorqueUse:
    """The use of torque in the first seconds of a swing-up."""
    one = found.runs[key][kind]
    return torque_use(one.run, 0.0, min(FIRST, one.end))


def _chatter(found: Found) -> list[Number]:
    made = []
    for key, where in (("free", "figures 7.3, 7.6"), ("stopped", "figures 7.7, 7.10")):
        for kind, name in KINDS.items():
            one, used, own = found.runs[key][kind], chatter(found, key, kind), kind == "thesis"
            until = chatters_until(one.run, one.end, PAUSE)
            made += [
                Number(
                    f"7.2.4, {where}", f"{RUNS[key]}, {name}: chatter of the torque in its first 4 s", "chattering",
                    used.chatter, judged(used.chatter > CALM, done=one.caught, own=own), unit="1/s",
                    note=f"of {used.reversals:.2f} reversals/s, those within 60 ms of the one before; more than "
                    f"{CALM:g}/s is chatter; {found.note(kind, one)}",
                ),
                Number(
                    f"7.2.4, {where}", f"{RUNS[key]}, {name}: chatters from the start until", "4 s", until,
                    judged(near(until, FIRST), done=one.caught, own=own), unit="s",
                    note=f"until it pauses for {PAUSE:g} s; {found.note(kind, one)}",
                ),
            ]  # fmt: skip
    return made


def _robust(found: Found) -> list[Number]:
    made = []
    for off in OFF:
        for task in TASKS:
            # 7.2.5 is about swings
            claim = said(off, FAMILY) if task == "swing" else None
            for kind, name in KINDS.items():
                (one,) = (r for r in found.rates if (r.controller, r.disturbance, r.task) == (kind, off, task))
                plain = found.runs[NOTHING_OFF[task]][kind]
                verdict = robustness(claim, one.good, one.count, done=plain.caught, own=kind == "thesis")
                made.append(
                    Number(
                        "7.2.5", f"{off}: {task}s caught, {name}",
                        NOT_PRINTED if claim is None else printed(off, FAMILY), f"{one.good} of {one.count}", verdict,
                        note=f"at least {BORNE:.0%}: {yes(borne(one.good, one.count))}; with nothing off: "
                        f"{found.note(kind, plain)}",
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
    theirs, ours = (chatter(found, "stopped", kind).chatter for kind in ("thesis", "ours"))
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
            f"cells are {width:.1f} degrees wide, and {theirs:.1f} reversals/s, each within 60 ms of the one before, "
            "come of it",
            f"{ours:.1f} such reversals/s with values between states",
        ),
    )  # fmt: skip


def drawings(found: Found) -> tuple[Drawing, ...]:
    named = {key: {KINDS[kind]: one for kind, one in pair.items()} for key, pair in found.runs.items()}
    made = []
    for name, (figure, caption) in figures_of_tables(named).items():
        key = _run_of(int(name.rpartition(".")[2]))
        made.append(Drawing(name, figure, f"{caption} The thesis' recipe was {found.tried}.", _verdict(found, key)))
    return tuple(made)


def _run_of(number: int) -> str:
    return next(key for key, first in reversed(FIGURES.items()) if number >= first)


def _verdict(found: Found, key: str) -> str:
    """By its own recipe as published, time or residual as that is told; else by ours; else not at all."""
    own, ours = (found.runs[key][kind] for kind in KINDS)
    time, left = PUBLISHED[key]
    told = [(time, own.time)] if time is not None else [(left, own.residual)]
    if all(value is not None and printed is not None and near(value, printed) for printed, value in told):
        return "reproduced"
    return "corrected" if ours.caught else "not reproducible"


CHAPTER = Chapter("7.2", find, numbers, corrections, drawings, share=6.0)
