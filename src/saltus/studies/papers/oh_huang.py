"""Oh and Huang's jump of the two-link hopper [oh_huang]: its figures, its corrections, and where 0.1336 m came from."""

from __future__ import annotations

from collections.abc import Callable

from saltus.robots import find_robot
from saltus.studies import Paper, Report
from saltus.studies.papers._oh_huang_corrections import corrections
from saltus.studies.papers._oh_huang_drawings import drawings
from saltus.studies.papers._oh_huang_found import find
from saltus.studies.papers._oh_huang_numbers import numbers


def make(paper: Paper, detail: int, progress: Callable[[str, float], None]) -> Report:
    found = find(find_robot(paper.robot), detail, progress)
    judged = numbers(found)
    progress("formulas as printed", 0.8)
    corrected = corrections(found)
    progress("figures", 0.9)
    return Report(paper, ABOUT, judged, corrected, drawings(found))


ABOUT = (
    "The paper prints its parameters and torque; the start, θ1 = 109° and θ2 = -108°, is in the authors' program, "
    "which it names (github.com/garlicbutter/HybridDynamicsFinal, its last version of 17 July 2021 and those before "
    "it). Nothing was fitted. Events are found exactly. Values as printed are by the formula or rule as it stands in "
    "the paper, all else being right, or by the program where that is said. Where 0.1336 m came from was found with "
    "that program: its steps were written anew, and give the entries of its log. Published values that are read from "
    "its figures are rough. What is not printed, and is given here for the first time, counts as corrected."
)

PAPER = Paper(
    key="oh_huang",
    title="Hybrid dynamics of a robotic hopper",
    citation="Jonathan Oh and Xingkun Huang, final project of the course Hybrid Dynamics in Mechanical Systems, 2021.",
    robot="hopper",
    make=make,
)
