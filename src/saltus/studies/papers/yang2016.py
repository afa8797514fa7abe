"""Yang's brachiator [yang2016]: its model and integrators, its energy controller, what its robot was seen to do."""

from __future__ import annotations

from collections.abc import Callable

from saltus.studies import Correction, Drawing, Number, Paper, Report
from saltus.studies.papers import (
    _yang2016_comparison,
    _yang2016_design,
    _yang2016_energy,
    _yang2016_impulses,
    _yang2016_modeling,
    _yang2016_robustness,
    _yang2016_tables,
    _yang2016_testing,
)
from saltus.studies.papers._yang2016_chapter import Chapter, Progress

# In the order of the thesis; one more is one more file.
CHAPTERS = (
    _yang2016_design.CHAPTER,
    _yang2016_modeling.CHAPTER,
    _yang2016_tables.CHAPTER,
    _yang2016_impulses.CHAPTER,
    _yang2016_energy.CHAPTER,
    _yang2016_robustness.CHAPTER,
    _yang2016_comparison.CHAPTER,
    _yang2016_testing.CHAPTER,
)


def make(paper: Paper, detail: int, progress: Callable[[str, float], None]) -> Report:
    numbers: list[Number] = []
    corrections: list[Correction] = []
    drawings: list[Drawing] = []
    behind = 0.0
    for chapter in CHAPTERS:
        found = chapter.find(detail, _part(chapter, behind, progress))
        behind += chapter.share
        numbers += chapter.numbers(found)
        corrections += chapter.corrections(found)
        drawings += chapter.drawings(found)
    return Report(paper, ABOUT, tuple(numbers), tuple(corrections), tuple(drawings))


def _part(chapter: Chapter, behind: float, progress: Progress) -> Progress:
    """The progress of the whole, told by one chapter after what is behind."""
    whole = sum(one.share for one in CHAPTERS)
    return lambda doing, share: progress(f"{chapter.name}: {doing}", (behind + chapter.share * share) / whole)


ABOUT = (
    "Masses and inertias are those of 4.4, with that about the x-axis taken for the one out of the plane; links of "
    "0.4 m with their centres of mass in the middle, an elbow stop of 170 degrees, bars of one inch and a reach of "
    "2.5 cm are assumed where the thesis is silent. None of the gains of its controller is printed. What is called the "
    "thesis' own has the momentum law at full torque, a plain PID and the transition by energy, with gains chosen "
    "here so that its runs come out much as published; ours is the same state machine with a model that is run ahead, "
    "tuned. Values as printed are by the formula or rule as it stands in the thesis, all else being right. A number "
    "that the thesis tells roughly, or that was read off a graph, is reproduced within a quarter of it. Links of 1 m "
    "and 2 kg, which 7.4.4 puts into a formula, are tried in chapter 6, whose figures they explain. What is not "
    "printed, and is given here for the first time, counts as corrected. With little detail tables and trials are "
    "so few that nothing good comes of them."
)

PAPER = Paper(
    key="yang2016",
    title="Robot brachiation with energy control",
    citation="Zongyi Yang, master's thesis CMU-RI-TR-16-19, The Robotics Institute, Carnegie Mellon University, 2016.",
    robot="brachiator",
    make=make,
)
