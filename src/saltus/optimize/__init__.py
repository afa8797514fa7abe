"""Optimisation: a search on the compiled simulator, whose best is made again exactly and held to every rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from saltus import registry
from saltus._lazy import loaded_later
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem
    from saltus.optimize._collocation import Arc, Motion, collocate, cut
    from saltus.optimize._impulses import Ranges, Swinger, Trials, random_impulses
    from saltus.optimize._inverse import Asked, Committee, GoodTrials, committee, hits, softest
    from saltus.optimize._learn import Learned, hit_rates, learn_impulses
    from saltus.optimize._mixes import Mixes, Robustness, robustness
    from saltus.optimize._polish import Polished, polish
    from saltus.optimize._problem import Problem, Stage, Trial
    from saltus.optimize._recipes import RECIPES, Discounted, RandomActions, Sweep, find_recipe
    from saltus.optimize._search import Best, Progress, read_best, search
    from saltus.optimize._trial_files import read_trials, save_trials
    from saltus.optimize._value_iteration import check_training, train_table
    from saltus.optimize._verdict import Verdict, steps_table, torque_table, verdict

__all__ = [
    "RECIPES",
    "Arc",
    "Asked",
    "Best",
    "Committee",
    "Discounted",
    "GoodTrials",
    "Learned",
    "Mixes",
    "Motion",
    "Polished",
    "Problem",
    "Progress",
    "RandomActions",
    "Ranges",
    "Robustness",
    "Stage",
    "Sweep",
    "Swinger",
    "Trial",
    "Trials",
    "Verdict",
    "check_training",
    "collocate",
    "committee",
    "cut",
    "find_problem",
    "find_recipe",
    "hit_rates",
    "hits",
    "learn_impulses",
    "polish",
    "problem_names",
    "random_impulses",
    "read_best",
    "read_trials",
    "robustness",
    "save_trials",
    "search",
    "softest",
    "steps_table",
    "torque_table",
    "train_table",
    "verdict",
]

__getattr__ = loaded_later(__name__)


def problem_names(robot: str | None = None) -> list[str]:
    """Names of all problems, or of those of one robot."""
    names = registry.names("problems")
    return [n for n in names if robot is None or getattr(registry.load("problems", n), "ROBOT", None) == robot]


def find_problem(
    name: str, robot: HybridSystem | None = None, reading: str | None = None, mixes: float = 0.0
) -> Problem:
    """The problem of that name, for its robot or for one with other parameters, as it is read.

    With ``mixes`` candidates are judged by what they keep if everything is off at random, so many times its own mixes.
    """
    from saltus.optimize._problem import Problem
    from saltus.robots import find_robot

    module = registry.load("problems", name)
    meant: Any = getattr(module, "ROBOT", None)
    system = find_robot(meant) if robot is None else robot
    if meant not in (system.origin, system.name):
        raise InputError(f"problem {name} is for {meant}, not for {system.name}")
    words: dict[str, Any] = {} if reading is None else {"reading": reading}
    if mixes:
        own: Any = getattr(module, "MIXES", None)
        if own is None:
            raise InputError(f"problem {name} does not say what may be off: it has no MIXES")
        words["mixes"] = replace(own, size=mixes)
    made = module.PROBLEM(system, **words)
    if not isinstance(made, Problem):
        raise InputError(f"PROBLEM of {module.__file__} must make a saltus.optimize.Problem, got {made!r}")
    return made
