"""Drawings of the runs of [vigne2019], which prints none of its own but of the robot."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from saltus.show import force_ratio_figure, forces_figure, intervals_figure, region_figure
from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies import Drawing
from saltus.studies.papers._vigne2019_found import FRICTION, LIMIT, Found, pitch_and_place
from saltus.studies.papers._vigne2019_numbers import NAMES

WHEELS = {
    "rolls": "a wheel that always rolls",
    "lifts": "a wheel that may lift off",
    "slips": f"a wheel that may slip, friction {FRICTION:g}",
}


def drawings(found: Found) -> tuple[Drawing, ...]:
    pd = found.planar["pd"]
    needed = pd.needed_friction()["axle"]
    return (
        Drawing(
            "motions", _motions(found),
            f"Pitch, place and torque from a pitch of 0.2 rad in space, motor of {LIMIT:g} N m: with zero torque the "
            "body meets the floor, the PD stands and drifts, LQR comes back.", "corrected",
        ),
        Drawing(
            "forces", forces_figure(pd), "Forces of the ground on the wheel under the PD, without a limit.", "corrected"
        ),
        Drawing(
            "friction", force_ratio_figure(pd),
            f"Tangential over normal force under the PD: rolling needs a friction of {needed.value:.4f}.", "corrected",
        ),
        *(
            Drawing(
                f"region-{name}-{ground}", region_figure(one, title=f"{NAMES[name]}, {LIMIT:g} N m, {WHEELS[ground]}"),
                f"From where the body comes upright in {one.until:g} s under the {NAMES[name]}, {WHEELS[ground]}: "
                f"{one.returned.mean():.0%} of {one.outcome.size} starts.",
                "corrected",
            )
            for (name, ground), one in found.maps.items()
        ),
        Drawing(
            "recoverable-pitches", _pitches(found),
            "From which pitches at rest the body comes upright: starts beyond a lost one may return again.",
            "corrected",
        ),
    )  # fmt: skip


def _pitches(found: Found) -> Figure:
    names = {
        f"{NAMES[kind]}, {f'{limit:g} N m' if math.isfinite(limit) else 'no limit'},\n{wheel}": (form, kind, limit)
        for kind in ("pd", "lqr")
        for limit in (LIMIT, math.inf)
        for form, wheel in (("segway", "may lift off"), ("segway_rolled", "always rolls"))
    }
    parts = [found.pitches[key] for key in names.values()]
    step, until = parts[0].resolution, parts[0].until
    title = f"Which pitches at rest return in {until:g} s, at a resolution of {step:.2g} rad"
    return intervals_figure(*parts, labels=list(names), title=title)


def _motions(found: Found) -> Figure:
    runs = {"none": found.space["none"], **found.limited}
    pitch: list[Curve] = []
    place: list[Curve] = []
    torque: list[Curve] = []
    for name, run in runs.items():
        seen = run.t <= 10.0
        t, theta, x = (part[seen] for part in pitch_and_place(run))
        inputs = np.clip(run.samples.inputs[seen, 0], -LIMIT, LIMIT)
        for curves, values in ((pitch, theta), (place, x), (torque, inputs)):
            curves.append(Curve(NAMES[name], t, values))
    return timeline(
        [
            Panel("pitch (rad)", pitch, [Level(0.0)]),
            Panel("place (m)", place, [Level(0.0)]),
            Panel("torque (N m)", torque, [Level(LIMIT), Level(-LIMIT)]),
        ],
        "claptrap from a pitch of 0.2 rad",
    )
