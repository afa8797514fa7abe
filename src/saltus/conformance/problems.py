"""What every registered problem of optimisation must satisfy."""

from __future__ import annotations

import numpy as np

from saltus import registry
from saltus.conformance._violation import require, require_documented
from saltus.optimize import find_problem
from saltus.optimize._problem import WORST


def file_can_be_loaded(name: str) -> None:
    """The file runs and defines what its kind needs."""
    registry.load("problems", name)


def file_says_what_it_is(name: str) -> None:
    """The file opens with a sentence."""
    require_documented("problems", name)


def rules_are_guards_of_its_robot(name: str) -> None:
    """In every reading, what must not be crossed is seen by the robot."""
    for reading in getattr(registry.load("problems", name), "READINGS", (None,)):
        problem = find_problem(name, reading=reading)
        seen = {guard.name for guard in problem.robot.guards if guard.action != "ignore"}
        missing = set(problem.rules) - seen
        require(not missing, f"{', '.join(sorted(missing))} is no guard that is recorded")


def candidates_can_be_judged(name: str) -> None:
    """Random candidates have scores, and the same ones the next time."""
    problem = find_problem(name)
    drawn = np.random.default_rng(0).random((40, len(problem.variables)))
    for stage in (*problem.stages, problem.whole):
        scores = problem.scores(drawn, stage)
        require(np.isfinite(scores).all(), "a score is not a number")
        require((scores > WORST).any(), "none of 40 random candidates could be run")
        require(np.array_equal(scores, problem.scores(drawn, stage)), "scores are not the same the next time")


CHECKS = (file_can_be_loaded, file_says_what_it_is, rules_are_guards_of_its_robot, candidates_can_be_judged)
