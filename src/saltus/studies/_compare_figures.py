"""Figures 7.3 to 7.14, 7.17, 7.18 and 7.20 to 7.25 of [yang2016]: curves of swings, trials, stroboscopes, rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from saltus.hybrid import HybridSystem
from saltus.show._figure import STYLES, blank, look
from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies._compare import CONTROLLERS, SHORT_NAMES, Comparison, mixes_for
from saltus.studies._compare_impulse_figures import SLICE, ends_figure, forces_figure, poses_figure, strobes_figure
from saltus.studies._compare_learning import SPACING, UP, Impulses
from saltus.studies._compare_mixes import DISTURBANCES
from saltus.studies._compare_queries import Queries
from saltus.studies._compare_runs import TASKS, Shown, to_targets
from saltus.studies._swing_tasks import _below

# What is drawn of a swing, in the order of the thesis.
KINDS = ("angles", "rates", "energies", "torque")

# How long a run is drawn that came to no catch, s: a swing-up, and a swing, whose world has three bars.
LONGEST, SHORTER = 4.0, 1.6

# Targets of figure 7.21, m.
SHOWN = (0.40, 0.45, 0.50, 0.55)


def rest_energy(system: HybridSystem, away: float) -> float:
    """Energy at rest with the free hand at a bar on the same level, m ahead, heights from the bars, J."""
    p = system.values
    first, second = _below(away, 0.0, p["L1"], p["L2"])
    near = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * math.cos(first)
    return -p["g"] * (near + p["m2"] * p["r2"] * math.cos(first + second))


def swing_figure(kind: str, pairs: Mapping[str, Shown], away: float, title: str, *, stop: bool = True) -> Figure:
    """Angles, rates, energies or torque of some swings below each other, each until its catch."""
    made = {"angles": _angles, "rates": _rates, "energies": _energies, "torque": _torque}[kind]
    return timeline([made(one, name, away, stop) for name, one in pairs.items()], title)


def _cut(one: Shown, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = one.run.samples.t
    # after a catch it stands still; a run without one is all alike
    most = SHORTER if "bar2_x" in one.run.system.values else LONGEST
    before = t < (one.end if one.caught else min(one.end, most))
    return t[before], values[before]


def _around(one: Shown, which: int) -> np.ndarray:
    """An angle, degrees, within a turn; without a line where it goes round."""
    values = np.degrees(one.run.samples.x[:, which])
    wrapped = (values + 180.0) % 360.0 - 180.0
    wrapped[1:][np.abs(np.diff(wrapped)) > 180.0] = np.nan
    return np.asarray(wrapped)


def _angles(one: Shown, name: str, away: float, stop: bool) -> Panel:
    curves = [Curve(label, *_cut(one, _around(one, k))) for label, k in ((r"$\theta_1$", 2), (r"$\theta_2$", 3))]
    limit = math.degrees(one.run.system.values["elbow_stop"])
    levels = [Level(limit, "stop"), Level(-limit)] if stop and limit < 360.0 else []
    return Panel(f"{name}\nangle (degrees)", curves, levels, gaps=True)


def _rates(one: Shown, name: str, away: float, stop: bool) -> Panel:
    x = np.degrees(one.run.samples.x)
    curves = [Curve(label, *_cut(one, x[:, k])) for label, k in ((r"$\dot\theta_1$", 6), (r"$\dot\theta_2$", 7))]
    return Panel(f"{name}\nrate (degrees/s)", curves)


def _energies(one: Shown, name: str, away: float, stop: bool) -> Panel:
    s = one.run.samples
    rows = (("kinetic", s.kinetic), ("potential", s.potential), ("total", s.kinetic + s.potential))
    level = Level(rest_energy(one.run.system, away), "required")
    return Panel(f"{name}\nenergy (J)", [Curve(label, *_cut(one, row)) for label, row in rows], [level])


def _torque(one: Shown, name: str, away: float, stop: bool) -> Panel:
    return Panel(
        f"{name}\ntorque (N m)", [Curve("torque", *_cut(one, one.run.samples.inputs[:, 0]))], [Level(0.0)],
        limits=_torques(one.run.system),
    )  # fmt: skip


def _torques(system: HybridSystem) -> tuple[float, float]:
    """Ends of an axis for all torques of a robot, N m."""
    most = 1.1 * float(system.input_limits[0])
    return -most, most


def rates_figure(found: Comparison) -> Figure:
    """How often each controller bears what is off, with 95 % intervals: swings, and swing-ups."""
    rows = [what.name for what in DISTURBANCES]
    with look():
        figure = blank(9.0, 1.0 + 0.62 * len(rows))
        panels = figure.subplots(1, 2, sharey=True)
        for axes, task in zip(panels, TASKS, strict=True):
            for k, name in enumerate(CONTROLLERS):
                found_rates = [found.rate(name, row, task) for row in rows]
                at = [(j, one.interval) for j, one in enumerate(found_rates) if one is not None and one.count]
                if not at:
                    continue
                y = np.array([j for j, _ in at]) + 0.15 * (k - 2)
                middle, low, high = 100 * np.array([interval for _, interval in at]).T
                axes.errorbar(
                    middle, y, xerr=[middle - low, high - middle], fmt="osD^v"[k], ms=4.5, capsize=2.5, elinewidth=1.1,
                    color=STYLES[k]["color"], zorder=3,
                    label=f"{CONTROLLERS[name]}: {mixes_for(name, found.mixes)}",
                )  # fmt: skip
            axes.set(xlim=(-4, 104), xlabel="share of held-out mixes caught (%)")
            axes.set_title(task, fontsize=10, loc="left")
            axes.grid(visible=False, axis="y")
            for j in range(len(rows) - 1):
                axes.axhline(j + 0.5, color="#E4E4E4", lw=0.7, zorder=1)
        panels[0].set_yticks(np.arange(len(rows)), rows)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8.5)
        figure.suptitle(
            "How much each controller bears; with its name how many mixes were tried", x=0.02, ha="left", fontsize=11
        )
    return figure


def torque_figure(found: Comparison) -> Figure:
    """The torque of a swing of 0.55 m by each controller, over the same time; with a word where it missed."""
    panels = []
    for name in CONTROLLERS:
        one = found.runs[name, "swing"]
        t, told = one.run.samples.t, SHORT_NAMES[name] + ("" if one.caught else ", missed")
        now = t < min(one.end, 1.2)
        curve = Curve("torque", t[now], one.run.samples.inputs[now, 0])
        panels.append(Panel(f"{told}\n(N m)", [curve], [Level(0.0)], limits=_torques(one.run.system)))
    return timeline(panels, "Torque of a swing of 0.55 m, at most 1.2 s of it")


def told_of(runs: Mapping[str, Shown]) -> str:
    """What became of some runs, as a sentence."""
    words = "; ".join(f"{name}: {one.told}" for name, one in runs.items())
    return f"{words[0].upper()}{words[1:]}."


def figures_of_tables(runs: Mapping[str, Mapping[str, Shown]]) -> dict[str, tuple[Any, str]]:
    """Figures 7.3 to 7.14: by name, each with its caption. ``runs`` are ``free``, ``stopped`` and ``swing``."""
    plan: Sequence[tuple[str, int, float, str, bool]] = (
        ("free", 3, UP, "swing-up without joint limits", False),
        ("stopped", 7, UP, "swing-up with joint limits", True),
        ("swing", 11, SPACING, "swing of 0.55 m", True),
    )
    made = {}
    for key, first, away, what, stop in plan:
        for k, kind in enumerate(KINDS):
            title = f"Figure 7.{first + k}: {what}, {kind}"
            made[f"figure-7.{first + k}"] = (
                swing_figure(kind, runs[key], away, title, stop=stop),
                f"{title}, by dynamic programming. {told_of(runs[key])}",
            )  # fmt: skip
    return made


def figures_of_impulses(
    impulses: Impulses, queries: Mapping[str, Queries], strobes: Mapping[str, Mapping[float, Shown]],
    swing: Mapping[str, Shown],
) -> dict[str, tuple[Any, str]]:  # fmt: skip
    """Figures 7.17, 7.18 and 7.20 to 7.25: by name, each with its caption."""
    title = f"Figure 7.17: forces of trials that end near {100 * SLICE:g} cm"
    made = {"figure-7.17": (forces_figure(impulses, title), f"{title}, and those that nets have learned.")}
    title = "Figure 7.18: where trials start"
    words = "furthest, in the middle and nearest; the thesis has -60 to -50 cm, and asks up to -40 cm, as here."
    made["figure-7.18"] = (poses_figure(impulses, title), f"{title}: {words}")
    title = "Figure 7.20: end positions over starts"
    ends = "a line for each target: where it was caught, or else where the hand came to its level again."
    told = "; ".join(f"{name}: {one.good} of {one.count} bars caught" for name, one in queries.items())
    made["figure-7.20"] = (ends_figure(queries, title), f"{title}, {ends} {told[0].upper()}{told[1:]}.")
    title = "Figure 7.21: swings from -55 cm"
    told = "; ".join(
        f"{name}: {sum(one.caught for one in runs.values())} of {len(runs)} caught" for name, runs in strobes.items()
    )
    made["figure-7.21"] = (strobes_figure(strobes, title), f"{title} to several targets. {told[0].upper()}{told[1:]}.")
    for k, kind in enumerate(KINDS):
        title = f"Figure 7.{22 + k}: one swing by an impulse, {kind}"
        made[f"figure-7.{22 + k}"] = (swing_figure(kind, swing, SPACING, title), f"{title}. {told_of(swing)}")
    return made


def comparison_figures(found: Comparison) -> dict[str, tuple[Any, str]]:
    """All figures of a comparison: by name, each with its caption."""
    runs = found.runs
    tables = {
        "free": {"thesis' recipe": runs["free_thesis", "swing-up"], "ours": runs["free", "swing-up"]},
        "stopped": {"thesis' recipe": runs["dp_thesis", "swing-up"], "ours": runs["dp", "swing-up"]},
        "swing": {"thesis' recipe": runs["dp_thesis", "swing"], "ours": runs["dp", "swing"]},
    }
    both = {"committee": "committee", "polished": "impulse"}
    inverses = {"committee": found.impulses.nets, "polished": found.impulses.good}
    strobes = {label: to_targets(found.tables.robot, inverse, SHOWN) for label, inverse in inverses.items()}
    return {
        **figures_of_tables(tables),
        **figures_of_impulses(
            found.impulses, {label: found.queries[name] for label, name in both.items()}, strobes,
            {label: runs[name, "swing"] for label, name in both.items()},
        ),
        "rates": (rates_figure(found), RATES_CAPTION),
        "torques": (torque_figure(found), torques_caption(found)),
    }  # fmt: skip


RATES_CAPTION = (
    "Share of held-out mixes that were caught, 95 % intervals; how many mixes each controller was tried with is told "
    "beside its name."
)


def torques_caption(found: Comparison) -> str:
    """Of the torques, with what became of each swing."""
    swings = {SHORT_NAMES[name]: found.runs[name, "swing"] for name in CONTROLLERS}
    return f"Torque of a swing of 0.55 m by each controller. {told_of(swings)}"
