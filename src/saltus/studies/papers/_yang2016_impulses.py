"""Section 7.3 of [yang2016]: torque impulses by a committee of nets, its figures 7.20 to 7.25, and a better inverse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus.control import Impulse
from saltus.engine import Trajectory
from saltus.studies import Correction, Drawing, Number
from saltus.studies._compare import STARTS, TARGETS, Queries, queried
from saltus.studies._compare_figures import figures_of_impulses
from saltus.studies._compare_learning import SPACING, Effort, Impulses
from saltus.studies._compare_runs import Shown, nominal, to_targets
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, Chapter, Progress, near, reached, stands
from saltus.studies.papers._yang2016_learned import effort_of, impulses_of

KINDS = {"committee": "committee", "polished": "polished"}
# Targets of figure 7.21, m; a hand that ends so near to its target hits it, m.
SHOWN, HIT = (0.40, 0.45, 0.50, 0.55), 0.025
# Asked of an inverse: the share of queries that it hits, on time and begun 5 % off; mean residual, J.
RIGHT, BORNE, SOFT = 0.95, 0.80, 1.0


@dataclass(frozen=True, eq=False)
class Found:
    """All that is computed of 7.3, by kind of inverse."""

    effort: Effort
    impulses: Impulses
    queries: Mapping[str, Queries]
    answers: Mapping[str, Impulse]
    swing: Mapping[str, Shown]
    strobes: Mapping[str, Trajectory]


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; with little detail there are so few trials that nothing good comes of them."""
    impulses = impulses_of(detail, lambda doing, share: progress(doing, 0.5 * share))
    inverses: dict[str, Any] = {"committee": impulses.nets, "polished": impulses.good}
    progress("queries", 0.5)
    queries = {kind: queried(impulses, inverse) for kind, inverse in inverses.items()}
    progress("swings", 0.9)
    answers = {kind: inverse.impulse(-SPACING, SPACING) for kind, inverse in inverses.items()}
    return Found(
        effort_of(detail), impulses, queries, answers,
        {kind: nominal("brachiator", "swing", answer) for kind, answer in answers.items()},
        to_targets("brachiator", impulses.good, SHOWN),
    )  # fmt: skip


def at_published_start(found: Found, kind: str) -> int:
    """How many targets the hand hits from 55 cm behind, where it comes to its level again."""
    row = int(np.argmin(np.abs(STARTS + SPACING)))
    return int((np.abs(found.queries[kind].ends[row] - TARGETS) <= HIT).sum())


def elsewhere(found: Found, kind: str) -> float:
    """The share of all others that it hits."""
    row = int(np.argmin(np.abs(STARTS + SPACING)))
    others = np.delete(found.queries[kind].ends, row, axis=0)
    return float((np.abs(others - TARGETS) <= HIT).mean())


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_data(found), *_answers(found), *_swings(found))


def _data(found: Found) -> list[Number]:
    one, e = found.impulses, found.effort
    share, spent = one.kept / e.trials, one.seconds["trials"] + one.seconds["committee"]
    return [
        Number(
            "7.3.2", "share of random trials that come to their level again", 32 / 165, share,
            stands(near(share, 32 / 165)), note=f"{one.kept} of {e.trials}; ranges of the impulses are not printed",
        ),
        Number(
            "7.3.2", "trials that are kept for training", "approximately 3000", one.soft, reached(near(one.soft, 3000)),
            note="the softest seven of each of 21 x 21 bins",
        ),
        Number(
            "7.3.2", "training", "12 h", spent, "corrected", unit="s",
            note=f"trials {one.seconds['trials']:.2f} s, {e.members} nets {one.seconds['committee']:.2f} s, on this "
            "machine",
        ),
    ]  # fmt: skip


def _answers(found: Found) -> list[Number]:
    made = []
    for kind, name in KINDS.items():
        one = found.queries[kind]
        count, share = at_published_start(found, kind), elsewhere(found, kind)
        good = count == len(TARGETS)
        made += [
            Number(
                "7.3.3, figure 7.20", f"from -55 cm: targets hit within 2.5 cm, {name}", "approximately all",
                f"{count} of {len(TARGETS)}", reached(good) if kind == "committee" else stands(good),
            ),
            Number(
                "7.3.3, figure 7.20", f"from elsewhere, {name}", "loses the ability", f"{share:.1%}",
                reached(share < RIGHT) if kind == "committee" else stands(share < RIGHT),
            ),
            Number(
                "7.3.3", f"a bar caught, {len(STARTS)} starts x {len(TARGETS)} targets, {name}", NOT_PRINTED,
                f"{one.good} of {one.count}", "corrected", note=f"mean residual {one.residual:.2f} J; at least "
                f"{RIGHT:.0%} with less than {SOFT:g} J: {_yes(_asked(one))}",
            ),
            Number(
                "7.3.3", f"the same, begun 5 % too early or too late, {name}", "fails",
                f"{one.good_off} of {one.count_off}",
                reached(one.good_off < one.good * 2) if kind == "committee" else stands(one.good_off < one.good * 2),
                note=f"at least {BORNE:.0%}: {_yes(one.good_off >= BORNE * one.count_off)}",
            ),
        ]  # fmt: skip
    return made


def _asked(one: Queries) -> bool:
    return one.good >= RIGHT * one.count and one.residual < SOFT


def _yes(met: bool) -> str:
    return "yes" if met else "no"


def _swings(found: Found) -> list[Number]:
    made = []
    for kind, name in KINDS.items():
        one, asked = found.swing[kind], found.answers[kind]
        caught = one.caught and one.swing is not None
        residual = one.swing.residual if caught and one.swing is not None else None
        value = math.nan if residual is None else residual
        met = near(value, 5.0) if caught else False
        made += [
            Number(
                "7.3.3, 7.5", f"from -55 to 55 cm, residual kinetic energy, {name}", "5 J", value,
                reached(met) if kind == "committee" else stands(met), unit="J", note=_told(one),
            ),
            Number(
                "7.3.3, 7.5", f"from -55 to 55 cm, size of the impulse, {name}", "9.83 N m", abs(asked.size),
                reached(near(abs(asked.size), 9.83)) if kind == "committee" else stands(near(abs(asked.size), 9.83)),
                unit="N m", note=f"from {asked.begin:.3f} s for {asked.length:.3f} s; the mean over the whole swing is "
                f"{one.torque.mean:.2f} N m, and 9.83 N m cannot be that of an impulse",
            ),
        ]  # fmt: skip
    return made


def _told(one: Shown) -> str:
    if not one.caught or one.swing is None:
        return "not caught"
    return f"caught after {one.swing.time:.2f} s with {one.swing.residual:.2f} J, from {one.swing.approach}"


def corrections(found: Found) -> tuple[Correction, ...]:
    committee, polished = found.queries["committee"], found.queries["polished"]
    return (
        Correction(
            "7.3.2", "a net tells the impulse from start and end",
            "several impulses are right: their mean is not; the nearest good trials, each made better by simulation",
            f"{committee.good} of {committee.count} bars caught", f"{polished.good} of {polished.count}",
            stands(committee.good >= polished.good),
        ),
    )  # fmt: skip


def drawings(found: Found) -> tuple[Drawing, ...]:
    verdicts = {
        "figure-7.20": reached(elsewhere(found, "committee") < RIGHT),
        "figure-7.21": reached(all("missed" not in name for name in found.strobes)),
    }
    own, ours = (found.swing[kind].caught for kind in KINDS)
    swing = "reproduced" if own else "corrected" if ours else "not reproducible"
    told = "; ".join(f"{name}: {_told(found.swing[kind])}" for kind, name in KINDS.items())
    made = figures_of_impulses(
        {name: found.queries[kind] for kind, name in KINDS.items()}, found.strobes,
        {name: found.swing[kind] for kind, name in KINDS.items()},
    )  # fmt: skip
    return tuple(
        Drawing(name, figure, caption if name in verdicts else f"{caption} {told[0].upper()}{told[1:]}.",
                verdicts.get(name, swing))
        for name, (figure, caption) in made.items()
    )  # fmt: skip


CHAPTER = Chapter("7.3", find, numbers, corrections, drawings, share=2.0)
