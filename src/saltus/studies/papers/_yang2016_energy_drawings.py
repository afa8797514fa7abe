"""Figures 7.26 to 7.39 of [yang2016], made again, and scans of buffers and inclines."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from saltus.control import Energy
from saltus.engine import Trajectory
from saltus.show import snapshots_figure
from saltus.show._figure import BLACK, SKY
from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies import Drawing, Swing
from saltus.studies.papers._yang2016_chapter import near, reached, stands
from saltus.studies.papers._yang2016_energy_found import KINDS, Found
from saltus.studies.papers._yang2016_energy_numbers import (
    FASTEST,
    TRACKED,
    caught,
    disturbance,
    fastest,
    single,
    tracked,
)
from saltus.studies.papers._yang2016_runs import BUFFER, Told, total

INJECT, POSE = "inject", "pose"


def drawings(found: Found) -> tuple[Drawing, ...]:
    return (*_injection(found), *_up(found), *_swing(found), _steep(found), _buffers(found), _inclines(found))


def _energies(run: Trajectory, aim: float | None = None) -> list[Panel]:
    """Total energy, with the required one, and its parts."""
    t, energy = total(run)
    kinetic = run.samples.kinetic
    return [
        Panel("total energy (J)", [Curve("total", t, energy)], [] if aim is None else [_required(aim)]),
        Panel("its parts (J)", [Curve("kinetic", t, kinetic), Curve("potential", t, energy - kinetic)]),
    ]


def _required(aim: float) -> Level:
    return Level(aim, "required", SKY)


def _injection(found: Found) -> list[Drawing]:
    free, stopped = tracked(found)
    falls = bool(np.diff(total(found.passive)[1]).max() <= 1e-9)
    bent, _ = _angles(found.stopped)
    return [
        Drawing(
            "figure-7.26", timeline(_energies(found.passive), "Figure 7.26: viscous friction, no torque"),
            "Figure 7.26: energies with viscous friction and no torque, from level at rest.", reached(falls),
        ),
        Drawing(
            "figure-7.27",
            timeline(
                [*_energies(found.free, found.aim_up), Panel("elbow angle (degrees)", [_angles(found.free)[0]])],
                "Figure 7.27: injection without joint limits",
            ),
            f"Figure 7.27: injection without joint limits; the elbow goes round and round. The energy stays within "
            f"{free:.2f} J of the required one.", reached(free <= TRACKED),
        ),
        Drawing(
            "figure-7.28",
            timeline(
                [
                    *_energies(found.stopped, found.aim_up),
                    Panel("elbow angle (degrees)", [bent], [Level(170.0), Level(-170.0, "stop")]),
                ],
                "Figure 7.28: injection with joint limits",
            ),
            f"Figure 7.28: injection with joint limits, at which torque fades: the energy falls up to {stopped:.2f} J "
            "below the required one.", reached(stopped > free),
        ),
        Drawing(
            "figure-7.29", timeline(_posed(found), "Figure 7.29: pose control only"),
            f"Figure 7.29: pose control only, from level at rest: the motor's work ranges over "
            f"{disturbance(found):.2f} J.", reached(near(disturbance(found), 7.0)),
        ),
    ]  # fmt: skip


def _posed(found: Found) -> list[Panel]:
    s = found.posed.samples
    return [
        *_energies(found.posed),
        Panel("motor's work (J)", [Curve("work", s.t, s.integrals[:, 0])]),
        Panel("elbow angle (degrees)", [_angles(found.posed)[0]]),
    ]


def _angles(run: Trajectory) -> tuple[Curve, Curve]:
    s = run.samples
    return Curve(r"$\theta_2$", s.t, np.degrees(s.x[:, 3])), Curve(r"$\theta_1$", s.t, np.degrees(s.x[:, 2]))


def _coloured(one: Told, aim: float, buffer: float | None, kind: str) -> Panel:
    """The total energy, in two colours by what the controller does."""
    t, energy = total(one.run, _pivot(one.run))
    state = one.during(t)
    names = Energy.states()
    now = t < one.end
    inject = np.isin(state, [names.index("release"), names.index(INJECT)]) & now
    # a sample more, so that no gap is between them
    pose = ~inject & now
    curves = [
        Curve(INJECT, t[now], np.where(inject | np.roll(inject, 1), energy, np.nan)[now]),
        Curve(POSE, t[now], np.where(pose | np.roll(pose, 1), energy, np.nan)[now]),
    ]
    levels = [_required(aim)] if buffer is None else [_required(aim), Level(aim + buffer, "with buffer", BLACK)]
    return Panel(f"{kind}\nenergy (J)", curves, levels, named=True, gaps=True)


def _pivot(run: Trajectory) -> float:
    """Height of the bar that hand A holds."""
    return float(run.samples.x[0, 1])


def _panels(pairs: dict[str, Told], made: Callable[[Told, str], Panel]) -> list[Panel]:
    return [made(one, kind) for kind, one in pairs.items()]


def _cut(one: Told, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = one.run.samples.t
    before = t < one.end  # after it, it stands still
    return t[before], values[before]


def _angle_panel(one: Told, kind: str) -> Panel:
    x = np.degrees(one.run.samples.x)
    curves = [Curve(name, *_cut(one, x[:, k])) for name, k in ((r"$\theta_1$", 2), (r"$\theta_2$", 3))]
    return Panel(f"{kind}\nangle (degrees)", curves)


def _rate_panel(one: Told, kind: str) -> Panel:
    x = np.degrees(one.run.samples.x)
    curves = [Curve(name, *_cut(one, x[:, k])) for name, k in ((r"$\dot\theta_1$", 6), (r"$\dot\theta_2$", 7))]
    return Panel(f"{kind}\nrate (degrees/s)", curves, [Level(FASTEST), Level(-FASTEST, "150 rpm")])


def _torque_panel(one: Told, kind: str) -> Panel:
    return Panel(f"{kind}\ntorque (N m)", [Curve("torque", *_cut(one, one.run.samples.inputs[:, 0]))], [Level(0.0)])


def _short(pairs: dict[str, Told]) -> dict[str, Told]:
    """By names that fit beside an axis."""
    return {{"thesis": "thesis", "ours": "ours"}[kind]: one for kind, one in pairs.items()}


def _up(found: Found) -> list[Drawing]:
    pairs, own = _short(found.up), found.up["thesis"]
    good = caught(own.swing)

    def energies(one: Told, kind: str) -> Panel:
        return _coloured(one, found.aim_up, BUFFER if kind == "thesis" else None, kind)

    within = bool(np.abs(own.run.samples.x[:, 3]).max() < math.pi)
    slow = fastest(own)[1] < FASTEST
    told = f"{own.swing.time:.2f} s by the thesis' own controller, {found.up['ours'].swing.time:.2f} s by ours"
    return [
        Drawing(
            "figure-7.30", timeline(_panels(pairs, energies), "Figure 7.30: swing-up, energy"),
            f"Figure 7.30: energy of a swing-up to a bar 0.568 m away, by state; {told}. The thesis' own fails "
            f"{own.posed() - 1} times before.", reached(good and near(own.swing.time, 6.0)),
        ),
        Drawing(
            "figure-7.31", timeline(_panels(pairs, _angle_panel), "Figure 7.31: swing-up, angles"),
            "Figure 7.31: angles of the swing-up.", reached(within),
        ),
        Drawing(
            "figure-7.32", timeline(_panels(pairs, _rate_panel), "Figure 7.32: swing-up, rates"),
            "Figure 7.32: rates of the swing-up, largest where the elbow is straight.", reached(slow),
        ),
        Drawing(
            "figure-7.33", timeline(_panels(pairs, _torque_panel), "Figure 7.33: swing-up, torque"),
            "Figure 7.33: torque of the swing-up; dark where it changes its sign every sample or so.",
            reached(good and _full(own)),
        ),
    ]  # fmt: skip


def _full(one: Told) -> bool:
    """Whether all of the torque is used where energy is injected."""
    return bool(np.abs(one.run.samples.inputs).max() >= 10.0 - 1e-9)


def _swing(found: Found) -> list[Drawing]:
    pairs, own, ours = _short(found.swing), found.swing["thesis"], found.swing["ours"]

    def energies(one: Told, kind: str) -> Panel:
        return _coloured(one, found.aim, BUFFER if kind == "thesis" else None, kind)

    residual = own.swing.residual or math.nan
    figures = [
        Drawing(
            "figure-7.34", timeline(_panels(pairs, energies), "Figure 7.34: swing of 0.55 m, energy"),
            f"Figure 7.34: energy of a swing of 0.55 m, by state: {own.swing.time:.2f} s and {residual:.2f} J are left "
            f"by the thesis' own controller, {ours.swing.time:.2f} s and {ours.swing.residual or math.nan:.2f} J by "
            "ours.", stands(single(own.swing) and near(residual, 1.0)),
        ),
        *(
            Drawing(
                "figure-7.35" if kind == "thesis" else "figure-7.35-ours",
                snapshots_figure(one.run, _instants(one), title=f"Figure 7.35: swing of 0.55 m, {KINDS[kind]}"),
                f"Figure 7.35: snapshots of the swing, every 100 ms from 50 ms on and at the catch, {KINDS[kind]}.",
                reached(single(one.swing)),
            )
            for kind, one in found.swing.items()
        ),
        Drawing(
            "figure-7.36", timeline(_panels(pairs, _angle_panel), "Figure 7.36: swing of 0.55 m, angles"),
            "Figure 7.36: angles of the swing.", reached(single(own.swing)),
        ),
        Drawing(
            "figure-7.37", timeline(_panels(pairs, _rate_panel), "Figure 7.37: swing of 0.55 m, rates"),
            "Figure 7.37: rates of the swing: with our controller they are small at the catch, as published.",
            stands(fastest(own)[0] < FASTEST),
        ),
        Drawing(
            "figure-7.38", timeline(_panels(pairs, _torque_panel), "Figure 7.38: swing of 0.55 m, torque"),
            f"Figure 7.38: torque of the swing, printed as a second 7.37: {own.swing.mean_torque:.2f} N m in the mean, "
            f"ours {ours.swing.mean_torque:.2f} N m.", reached(near(own.swing.mean_torque, 8.07)),
        ),
    ]  # fmt: skip
    return figures


def _instants(one: Told) -> list[float]:
    return [*np.arange(0.05, one.end - 0.03, 0.1).tolist(), one.end]


def _steep(found: Found) -> Drawing:
    one = found.steep
    return Drawing(
        "figure-7.39",
        timeline(
            [_coloured(one, found.aim_steep, None, "ours"), _angle_panel(one, "ours")],
            "Figure 7.39: a bar too high for one forward swing",
        ),
        f"Figure 7.39: a bar too high for one forward swing: {one.swing.back_swings} back-swing by itself, caught "
        f"after {one.swing.time:.2f} s, by ours.", reached(caught(one.swing) and one.swing.back_swings > 0),
    )  # fmt: skip


def _value(swing: Swing | None, name: str) -> float:
    """A number of a swing that ended in a catch; else none."""
    if swing is None or not swing.caught:
        return math.nan
    return float(getattr(swing, name))


def dots(name: str, x: np.ndarray, y: np.ndarray) -> Curve:
    """Values that are drawn as dots: nothing is known between them."""
    apart = np.full(2 * len(x), np.nan)
    apart[::2] = y
    return Curve(name, np.repeat(x, 2), apart)


def dotted(figure: Figure) -> None:
    """Room for the first and the last dot, and dots in the legends."""
    for axes in figure.axes:
        legend = axes.get_legend()
        for handle in () if legend is None else legend.legend_handles:
            if isinstance(handle, Line2D):
                handle.set(linestyle="", marker="o", markersize=3.0)
    low, high = figure.axes[-1].get_xlim()
    figure.axes[-1].set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))


def _buffers(found: Found) -> Drawing:
    at = np.array(list(found.buffers))
    panels = []
    for what, name in (("residual (J)", "residual"), ("time (s)", "time")):
        curves = [
            dots(label, at, np.array([_value(pair[k], name) for pair in found.buffers.values()]))
            for k, label in ((0, "swing-up"), (1, "swing of 0.55 m"))
        ]
        panels.append(Panel(what, curves, gaps=True))
    figure = timeline(panels, "The thesis' own controller by its energy buffer")
    dotted(figure)
    figure.axes[-1].set_xlabel("buffer (J); no dot: nothing was caught")
    return Drawing(
        "buffers", figure,
        "Kinetic energy left and time by the buffer, of the thesis' own controller: success comes and goes with it.",
        "corrected",
    )  # fmt: skip


def _inclines(found: Found) -> Drawing:
    panels = []
    for what, name in (("residual (J)", "residual"), ("back-swings", "back_swings"), ("time (s)", "time")):
        curves = []
        for kind, label in (("thesis", "thesis"), ("ours", "ours")):
            row = {at: swing for (one, at), swing in found.inclines.items() if one == kind}
            curves.append(dots(label, np.array(list(row)), np.array([_value(swing, name) for swing in row.values()])))
        panels.append(Panel(what, curves, gaps=True))
    figure = timeline(panels, "Swings of 0.55 m by incline")
    dotted(figure)
    figure.axes[-1].set_xlabel("incline (degrees); no dot: nothing was caught")
    return Drawing(
        "inclines", figure,
        "Kinetic energy left, back-swings and time of a swing of 0.55 m by incline, ideal hands.", "corrected",
    )  # fmt: skip
