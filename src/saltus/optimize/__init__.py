"""Optimisation: a search on the compiled simulator, whose best is made again exactly and held to every rule."""

from __future__ import annotations

from typing import Any

from saltus import registry
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._problem import Problem, Stage, Trial
from saltus.optimize._search import Best, Progress, read_best, search
from saltus.optimize._verdict import Verdict, torque_table, verdict
from saltus.robots import find_robot

__all__ = [
    "Best",
    "Problem",
    "Progress",
    "Stage",
    "Trial",
    "Verdict",
    "find_problem",
    "problem_names",
    "read_best",
    "search",
    "torque_table",
    "verdict",
]


def problem_names(robot: str | None = None) -> list[str]:
    """Names of all problems, or of those of one robot."""
    names = registry.names("problems")
    return [n for n in names if robot is None or getattr(registry.load("problems", n), "ROBOT", None) == robot]


def find_problem(name: str, robot: HybridSystem | None = None, reading: str | None = None) -> Problem:
    """The problem of that name, for its robot or for one with other parameters, as it is read."""
    module = registry.load("problems", name)
    meant: Any = getattr(module, "ROBOT", None)
    system = find_robot(meant) if robot is None else robot
    if meant not in (system.origin, system.name):
        raise InputError(f"problem {name} is for {meant}, not for {system.name}")
    made = module.PROBLEM(system) if reading is None else module.PROBLEM(system, reading)
    if not isinstance(made, Problem):
        raise InputError(f"PROBLEM of {module.__file__} must make a saltus.optimize.Problem, got {made!r}")
    return made
