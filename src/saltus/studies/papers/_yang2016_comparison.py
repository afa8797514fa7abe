"""Section 7.5 of [yang2016]: the table that compares three controllers, made again with numbers for its words."""

from __future__ import annotations

import math

from saltus.studies import Comparison, Correction, Drawing, Number
from saltus.studies._compare import compared
from saltus.studies._compare_figures import rates_figure, torque_figure
from saltus.studies._compare_mixes import DISTURBANCES
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, Chapter, Progress, near, reached, stands
from saltus.studies.papers._yang2016_learned import SEED, effort_of, impulses_of, mixes_of, tables_of

WHERE = "7.5, table"
# Controllers of the table, by name: ours, and its own way made again here, if there is one.
FAMILIES = {
    "dynamic programming": ("dp", "dp_thesis"), "impulses": ("impulse", "committee"), "energy": ("energy", None)
}  # fmt: skip
RESIDUAL = {"dynamic programming": 7.0, "impulses": 5.0, "energy": 1.0}
SCOPE = {
    "dynamic programming": {"swing-up": True, "ladder": True},
    "impulses": {"swing-up": False, "ladder": False, "rope": True},
    "energy": {"swing-up": True, "ladder": True},
}
# What is said of robustness: of which, and whether it bears it.
SAID = {
    ("dynamic programming", "torque ±10 %"): False,
    ("dynamic programming", "friction not trained for"): False,
    ("impulses", "start off by 1-5 cm"): False,
    ("impulses", "impulse timing ±5 %"): False,
    ("impulses", "impulse begun ±15 ms"): False,
    ("impulses", "impulse amplitude ±10 %"): False,
    ("energy", "torque ±10 %"): True,
    ("energy", "friction not trained for"): True,
}
# Share of mixes from which on something is borne.
BORNE = 0.97


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
        for name in (ours, own):
            if name is None:
                continue
            one = found.runs[name, "swing"]
            value = one.swing.residual if one.caught and one.swing is not None else None
            left = math.nan if value is None else value
            met = math.isfinite(left) and near(left, RESIDUAL[family])
            made.append(
                Number(
                    WHERE, f"residual kinetic energy, {family}{_way(name)}", f"{RESIDUAL[family]:g} J", left,
                    stands(met) if name == ours else reached(met), unit="J", note="" if one.caught else "not caught",
                )
            )  # fmt: skip
    return made


def _way(name: str) -> str:
    return {"dp_thesis": ", the thesis' recipe", "committee": ", committee of nets"}.get(name, ", ours")


def _scopes(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, _) in FAMILIES.items():
        for what, one in found.scope[ours].items():
            said = SCOPE[family].get(what)
            verdict = "corrected" if said is None else reached(one.done) if said else stands(not one.done)
            made.append(
                Number(
                    WHERE, f"scope of {family}: {what}", NOT_PRINTED if said is None else "yes" if said else "no",
                    "yes" if one.done else "no", verdict, note=one.told,
                )
            )  # fmt: skip
    return made


def _rates(found: Comparison) -> list[Number]:
    made = []
    for family, (ours, own) in FAMILIES.items():
        for what in DISTURBANCES:
            for name in (ours, own):
                for task in what.tasks():
                    one = None if name is None else found.rate(name, what.name, task)
                    if one is None or name is None:
                        continue
                    share, low, high = one.interval
                    said = SAID.get((family, what.name))
                    fits = (share >= BORNE) == said
                    verdict = "corrected" if said is None else stands(fits) if name == ours else reached(fits)
                    words = NOT_PRINTED if said is None else "robust" if said else "not robust"
                    made.append(
                        Number(
                            WHERE, f"{what.name}, {task}: caught, {family}{_way(name)}", words,
                            f"{one.good} of {one.count}", verdict,
                            note=f"{share:.1%}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %",
                        )
                    )  # fmt: skip
    return made


def _complexity(found: Comparison) -> list[Number]:
    words = {"dynamic programming": "complex", "impulses": "torque impulse", "energy": "± max torque"}
    made = []
    for family, (ours, own) in FAMILIES.items():
        for name in (ours, own):
            if name is None or name not in found.torque:
                continue
            one = found.torque[name]
            made.append(
                Number(
                    WHERE, f"torque complexity: switches, {family}{_way(name)}", words[family], one.switches,
                    "corrected", unit="1/s",
                    note=f"{one.reversals:.2f} reversals/s, total variation {one.variation:.0f} N m/s",
                )
            )  # fmt: skip
    return made


def corrections(found: Comparison) -> tuple[Correction, ...]:
    return ()


def drawings(found: Comparison) -> tuple[Drawing, ...]:
    return (
        Drawing(
            "comparison-rates", rates_figure(found),
            "Table 7.5, robustness: share of held-out mixes that were caught, with 95 % intervals; the same mixes for "
            "all controllers.", "corrected",
        ),
        Drawing(
            "comparison-torques", torque_figure(found),
            "Table 7.5, torque complexity: torque of a swing of 0.55 m by each controller.", "corrected",
        ),
    )  # fmt: skip


CHAPTER = Chapter("7.5", find, numbers, corrections, drawings, share=4.0)
