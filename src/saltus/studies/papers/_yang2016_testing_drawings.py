"""Drawings of what was seen of the robot of [yang2016, 8], which shows photographs."""

from __future__ import annotations

import math

import numpy as np

from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies import Drawing
from saltus.studies.papers._yang2016_chapter import near, reached
from saltus.studies.papers._yang2016_energy_drawings import dots, dotted
from saltus.studies.papers._yang2016_testing_found import (
    BACK,
    CONDITIONS,
    FELL,
    MISSED,
    NOISES,
    REDUCTION,
    SINGLE,
    Found,
)
from saltus.studies.papers._yang2016_testing_numbers import overshoots, rate_of, steepest


def drawings(found: Found) -> tuple[Drawing, ...]:
    return (_incline_drawing(found), _noise_drawing(found), _reduction_drawing(found))


def _incline_drawing(found: Found) -> Drawing:
    heights = {FELL: 0.0, MISSED: 1.0, BACK: 2.0, SINGLE: 3.0}
    panels = []
    for kind in ("thesis", "ours"):
        curves = []
        for k, condition in enumerate(CONDITIONS):
            row = {at: end for (one, case, at), end in found.inclines.items() if (one, case) == (kind, condition)}
            values = np.array([heights[end] + 0.16 * (k - 1) for end in row.values()])
            curves.append(dots(condition, np.array(list(row)), values))
        panels.append(
            Panel(f"{kind}: 0 fell, 1 missed, 2 back-swing, 3 one swing", curves, limits=(-0.5, 3.5), gaps=True)
        )
    figure = timeline(panels, "How bars of a ladder that rises are reached, 0.55 m")
    for axes in figure.axes:
        axes.set_yticks(list(heights.values()))
    dotted(figure)
    figure.axes[-1].set_xlabel("incline (degrees)")
    droop = [steepest(found, "thesis", condition) for condition in CONDITIONS[1:]]
    return Drawing(
        "inclination", figure,
        "Section 8.4: how bars of a ladder that rises are reached, within 2 s by the thesis' own controller with the "
        f"best of some buffers, and within 4 s by ours with real claws. In one forward swing the first goes up to "
        f"{' and '.join(f'{value:g}' for value in droop)} degrees with a droop, as the robot did.",
        reached(any(near(value, 10.0) for value in droop)),
    )  # fmt: skip


def _noise_drawing(found: Found) -> Drawing:
    at = np.array(NOISES)
    panels = []
    for observer in (False, True):
        rows = np.array([rate_of(found, noise, observer) for noise in NOISES])
        curves = [Curve(name, at, rows[:, k]) for k, name in enumerate(("rate", "95 %, low", "95 %, high"))]
        panels.append(Panel("estimated\ncaught" if observer else "as told\ncaught", curves, limits=(-0.05, 1.05)))
    figure = timeline(panels, "Catches of 0.55 m by noise, with real claws")
    figure.axes[-1].set_xlabel("noise of the angle (degrees rms), five times that a second of the rate")
    worst = min(found.noisy[noise, False][0] / found.noisy[noise, False][1] for noise in NOISES[1:])
    return Drawing(
        "noise", figure,
        "Section 8.5: share of swings that are caught by the noise of the inertial unit, with the state as it is told "
        "and with an estimate.", reached(worst < 1.0),
    )  # fmt: skip


def _reduction_drawing(found: Found) -> Drawing:
    at = 100 * np.array(list(found.reduced))
    good = {share: swing for share, swing in found.reduced.items() if swing is not None and swing.caught}
    rows = [
        [getattr(good[share], name) if share in good else math.nan for share in found.reduced]
        for name in ("time", "residual")
    ]  # fmt: skip
    figure = timeline(
        [
            Panel(what, [dots("", at, np.array(row, dtype=float))], [Level(0.0)], gaps=True)
            for what, row in zip(("time (s)", "residual (J)"), rows, strict=True)
        ],
        "Swing-up of a robot 15 % heavier than believed",
    )
    dotted(figure)
    figure.axes[-1].set_xlabel("reduction of the aim (%); no dot: nothing was caught in 15 s")
    return Drawing(
        "reduction", figure,
        "Section 8.2: swing-ups by the thesis' own controller that believes in lighter links, by what is taken off "
        "the aim.", reached(not overshoots(found.reduced[REDUCTION]) and overshoots(found.reduced[0.0])),
    )  # fmt: skip
