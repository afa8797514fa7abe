"""The drawings of [oh_huang], made again from the corrected jump."""

from __future__ import annotations

from saltus.show import (
    coordinates_figure,
    force_ratio_figure,
    normal_force_figure,
    painleve_figure,
    side_by_side_figure,
    snapshots_figure,
)
from saltus.studies import Drawing
from saltus.studies.papers._oh_huang_found import Found


def drawings(found: Found) -> tuple[Drawing, ...]:
    run = found.run
    return (
        Drawing(
            "positions", coordinates_figure(run, ["x", "y"]),
            "Item 4: x and y of the foot. As published but for the gravity, 9.8 there: it is in the air for "
            f"{found.impact.t - found.lift.t:.4f} s, {found.program.times[2] - found.program.times[1]:.4f} s there.",
            "corrected",
        ),
        Drawing("angles", coordinates_figure(run, ["theta1", "theta2"]), "Item 4: θ1 and θ2; likewise.", "corrected"),
        Drawing(
            "normal-force", normal_force_figure(run),
            "Item 4: normal force. The published one jumps where slip begins, by friction of the wrong direction.",
            "corrected",
        ),
        Drawing(
            "force-ratio", force_ratio_figure(run),
            "Item 4: ratio of forces. It is ±μ while the foot slips; the published one is not.", "corrected",
        ),
        Drawing(
            "snapshots", snapshots_figure(run),
            "Item 4: the links at the eight instants that the task names. The published one has others, every 25 ms.",
            "corrected",
        ),
        Drawing(
            "laws", side_by_side_figure(found.laws), "Not in the paper: the same jump under other impact laws.",
            "corrected",
        ),
        Drawing(
            "alpha", painleve_figure(found.alpha),
            "Not in the paper: alpha over all postures, positive wherever no rule is broken.", "corrected",
        ),
    )  # fmt: skip
