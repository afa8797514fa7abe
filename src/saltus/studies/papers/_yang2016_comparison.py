"""Section 7.5 of [yang2016]: the table that compares three controllers, made again with numbers for its words."""

from __future__ import annotations

from collections.abc import Callable

from saltus.studies import Comparison, Correction, Drawing, Number
from saltus.studies._compare import USED_WITH, compared
from saltus.studies._compare_figures import RATES_CAPTION, rates_figure, torque_figure, torques_caption
from saltus.studies._compare_mixes import DISTURBANCES, timing_note
from saltus.studies._compare_printed import FAMILIES, NOTHING, printed, said
from saltus.studies._compare_runs import TASKS, Shown
from saltus.studies._compare_table import NOTE
from saltus.studies._compare_torque import TorqueUse
from saltus.studies.papers._yang2016_chapter import (
    NOT_PRINTED,
    Chapter,
    Progress,
    judged,
    near,
    robustness,
)
from saltus.studies.papers._yang2016_learned import SEED, effort_of, impulses_of, mixes_of, tables_of, tried
from saltus.studies.papers._yang2016_tables import CALM

WHERE = "7.5, table"
RESIDUAL = {"dynamic programming": 7.0, "impulses": 5.0, "energy": 1.0}
# What the thesis' words on torques ask of one.
COMPLEX: dict[str, Callable[[TorqueUse], bool]] = {
    "dynamic programming": lambda one: one.chatter > CALM,
    "impulses": lambda one: one.reversals == 0,
    "energy": lambda one: near(one.mean, 8.07),
}


def find(detail: int, progress: Progress) -> Comparison:
    """Compute everything, with what 7.2 and 7.3 have learned."""
    tables = tables_of(detail, lambda doing, share: progress(doing, 0.2 * share))
    impulses = impulses_of(detail, lambda doing, share: progress(doing, 0.2 + 0.1 * share))
    return compared(
        "brachiator", tables, impulses, seed=SEED, mixes=mixes_of(detail), effort=effort_of(detail),
        progress=lambda doing, share: progress(doing, 0.3 + 0.7 * share),
    )  # fmt: skip


def numbers(found: Comparison) -> tuple[Number, ...]:
    return (*_residuals(found), *_scopes(found), *_rates(found), *_complexity(found))


def _residuals(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, own) in FAMILIES.items():
        for name in filter(None, (ours, own)):
            one = found.runs[name, "swing"]
            left = one.residual
            met = left is not None and near(left, RESIDUAL[family])
            made.append(
                Number(
                    WHERE, f"residual kinetic energy, {family}{_way(name)}", printed("residual", family),
                    "not caught" if left is None else left, judged(met, done=one.caught, own=name == own), unit="J",
                    note=_told(found, name, one),
                )
            )  # fmt: skip
    return made


def _told(found: Comparison, name: str, one: Shown) -> str:
    """What became of a run, and how the thesis' recipe was tried."""
    return f"{one.told}; {tried(found.effort)}" if name == "dp_thesis" else one.told


def _way(name: str) -> str:
    return {"dp_thesis": ", the thesis' recipe", "committee": ", committee of nets"}.get(name, ", ours")


def _scopes(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, own) in FAMILIES.items():
        for name in filter(None, (ours, own)):
            for what, one in found.scope.get(name, {}).items():
                claim = said(what, family)
                verdict = "corrected"
                if claim is not None:
                    # who does not even swing does not show that it cannot do more
                    done = one.done or (not claim and found.runs[name, "swing"].caught)
                    verdict = judged(one.done == claim, done=done, own=name == own)
                made.append(
                    Number(
                        WHERE, f"scope of {family}{_way(name)}: {what}", _published(what, family),
                        "yes" if one.done else "no", verdict, note=one.told,
                    )
                )  # fmt: skip
    return made


def _published(row: str, family: str) -> str:
    words = printed(row, family)
    return NOT_PRINTED if words == NOTHING else words


def _rates(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, own) in FAMILIES.items():
        for what in DISTURBANCES:
            for name in filter(None, (ours, own)):
                for task in what.tasks():
                    one = found.rate(name, what.name, task)
                    if one is None:
                        continue
                    # the table is about swings
                    claim = said(what.name, family) if task == "swing" else None
                    plain, (share, low, high) = found.runs[name, task], one.interval
                    notes = [
                        f"{share:.1%}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %",
                        timing_note(what, found.answers.get(name)), f"with nothing off: {_told(found, name, plain)}",
                    ]  # fmt: skip
                    made.append(
                        Number(
                            WHERE, f"{what.name}, {task}: caught, {family}{_way(name)}",
                            NOT_PRINTED if claim is None else printed(what.name, family), f"{one.good} of {one.count}",
                            robustness(claim, one.good, one.count, done=plain.caught, own=name == own),
                            note="; ".join(filter(None, notes)),
                        )
                    )  # fmt: skip
    return made


def _complexity(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, own) in FAMILIES.items():
        for name in filter(None, (ours, own)):
            for task in TASKS:
                if (name, task) not in found.runs:
                    continue
                one, swing = found.torque.get((name, task)), task == "swing"
                met = one is not None and COMPLEX[family](one)
                verdict = judged(met, done=one is not None, own=name == own)
                made.append(
                    Number(
                        WHERE, f"torque complexity, {task}: switches, {family}{_way(name)}",
                        printed("complexity", family) if swing else NOT_PRINTED,
                        "not caught" if one is None else one.switches,
                        verdict if swing or one is None else "corrected", unit="1/s",
                        note="" if one is None else f"{one.reversals:.2f} reversals/s, of them {one.chatter:.2f} "
                        f"chatter/s; total variation {one.variation:.0f} N m/s; mean of caught runs, {USED_WITH}",
                    )
                )  # fmt: skip
    return made


def corrections(found: Comparison) -> tuple[Correction, ...]:
    return ()


def drawings(found: Comparison) -> tuple[Drawing, ...]:
    return (
        Drawing(
            "comparison-rates", rates_figure(found),
            f"Table 7.5, robustness: the same mixes for all controllers. {RATES_CAPTION} {NOTE}",
            _verdict(found, _rates(found)),
        ),
        Drawing(
            "comparison-torques", torque_figure(found), f"Table 7.5, torque complexity. {torques_caption(found)}",
            _verdict(found, _complexity(found)),
        ),
    )  # fmt: skip


def _verdict(found: Comparison, rows: list[Number]) -> str:
    """As the table says, if every row does of which it says something; else corrected, if ours do all swings."""
    if all(one.verdict == "reproduced" for one in rows if one.published != NOT_PRINTED):
        return "reproduced"
    ours = (found.runs[name, "swing"].caught for name, _ in FAMILIES.values())
    return "corrected" if all(ours) else "not reproducible"


CHAPTER = Chapter("7.5", find, numbers, corrections, drawings, share=4.0)
