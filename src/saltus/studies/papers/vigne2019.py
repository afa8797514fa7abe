"""Vigne's rolling balancer Claptrap [vigne2019]: its equations beside derived ones, its claims, its controllers."""

from __future__ import annotations

from collections.abc import Callable

from saltus.robots import find_robot
from saltus.studies import Paper, Report
from saltus.studies.papers._vigne2019_corrections import corrections
from saltus.studies.papers._vigne2019_drawings import drawings
from saltus.studies.papers._vigne2019_found import find
from saltus.studies.papers._vigne2019_numbers import numbers


def make(paper: Paper, detail: int, progress: Callable[[str, float], None]) -> Report:
    found = find(find_robot(paper.robot), detail, progress)
    progress("figures", 0.9)
    return Report(paper, ABOUT, numbers(found), corrections(found), drawings(found))


ABOUT = (
    "The paper prints equations and claims, and no numbers: masses, inertias and the PD, a wheel torque of "
    "150 (pitch + 0.01 pitch rate), are those that go with its author's program. The height of the body, 1 m above the "
    "axle, and the weights of the LQR were chosen here. Printed matrices were written anew and are compared with "
    "those that are derived from the robots' bodies and joints; nobody typed the latter. Values as printed are by the "
    "formula or rule as it stands in the paper, all else being right. What is not printed, and is given here for the "
    "first time, counts as corrected; so do all figures, since the paper shows no run. A wheel that always rolls is "
    "the paper's assumption, and what comes out by it counts as printed; one that may lift off is the robot with its "
    "contact, also with ideal rolling, and one that may slip has a friction that was chosen here."
)

PAPER = Paper(
    key="vigne2019",
    title="Claptrap simulation and control",
    citation="Matthieu Vigne, 13 November 2019.",
    robot="claptrap",
    make=make,
)
