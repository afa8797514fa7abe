"""What every registered integration method must satisfy: its tableau, its observed order, its dense output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import numpy as np

from saltus.conformance._violation import require, require_close, require_documented
from saltus.engine import Tableau, Trajectory, find_method, simulate
from saltus.robots import find_robot

SLACK = 0.4
START = {"theta": 1.5}
UNTIL = 4.0

# Conditions are sums of products of coefficients; beyond this order their number grows without telling more.
HIGHEST_CONDITIONS = 8


# -- the tableau -------------------------------------------------------------------------------------


def method_is_a_tableau(name: str) -> None:
    """Its rows have the lengths that explicit stages need."""
    tableau = find_method(name)
    require(isinstance(tableau.order, int) and tableau.order >= 1, f"order must be 1 or more, got {tableau.order!r}")
    require(len(tableau.nodes) >= 2, "a method has two stages at least: the start and the end of the step")
    _require_rows(tableau.nodes, tableau.stages, 0, "stages")
    _require_rows(tableau.extra_nodes, tableau.extra_stages, tableau.count, "extra_stages")
    for what, rows, most in (
        ("error", (tableau.error, tableau.second_error), tableau.count),
        ("dense", tableau.dense, tableau.evaluations),
    ):
        longest = max((len(row) for row in rows), default=0)
        require(longest <= most, f"{what} has {longest} weights for {most} stages")


def _require_rows(nodes: tuple[float, ...], rows: tuple[tuple[float, ...], ...], first: int, what: str) -> None:
    require(len(nodes) == len(rows), f"{what}: {len(rows)} rows need as many nodes, got {len(nodes)}")
    for k, row in enumerate(rows, first):
        require(len(row) <= k, f"{what}: row {k} uses {len(row)} stages, but only {k} come before it")


def description_is_complete(name: str) -> None:
    """It has its file's name and says what it is."""
    require_documented("methods", name)
    given = find_method(name).name
    require(given == name, f"its file is {name}.py but its tableau is named {given!r}")


def stages_lie_at_their_nodes(name: str) -> None:
    """The weights of a stage add up to its node."""
    tableau = find_method(name)
    rows = (*tableau.stages, *tableau.extra_stages)
    for k, (node, row) in enumerate(zip((*tableau.nodes, *tableau.extra_nodes), rows, strict=True)):
        size = 1 + sum(map(abs, row))
        require_close(
            sum(row), node, 1e-13 * size, f"weights of stage {k} add up to {sum(row):.12g}, its node is {node:.12g}"
        )


def last_stage_is_the_end_of_the_step(name: str) -> None:
    """It serves as the first stage of the next step, and its contact forces are those of the new state."""
    tableau = find_method(name)
    require(tableau.nodes[0] == 0.0, f"the first stage is the start of the step: its node is 0, not {tableau.nodes[0]}")
    require(tableau.nodes[-1] == 1.0, f"the last stage is the end of the step: its node is 1, not {tableau.nodes[-1]}")


Tree = tuple[Any, ...]


@lru_cache(maxsize=16)
def _trees(order: int) -> tuple[Tree, ...]:
    """All rooted trees with that many nodes, each as the sorted tuple of the trees on its root."""
    if order == 1:
        return ((),)
    return tuple(sorted({tuple(sorted(branches)) for branches in _forests(order - 1, order - 1)}))


def _forests(nodes: int, largest: int) -> Iterator[Tree]:
    if nodes == 0:
        yield ()
    for size in range(min(nodes, largest), 0, -1):
        for count in range(1, nodes // size + 1):
            for same in combinations_with_replacement(_trees(size), count):
                for rest in _forests(nodes - size * count, size - 1):
                    yield (*same, *rest)


def _size(tree: Tree) -> int:
    return 1 + sum(map(_size, tree))


def _density(tree: Tree) -> int:
    return _size(tree) * prod(map(_density, tree))


def _elementary(tree: Tree, A: np.ndarray) -> np.ndarray:
    """The elementary weight of a tree at each stage."""
    result = np.ones(len(A))
    for branch in tree:
        result = result * (A @ _elementary(branch, A))
    return result


def _matrix(tableau: Tableau) -> np.ndarray:
    A = np.zeros((tableau.count, tableau.count))
    for k, row in enumerate(tableau.stages):
        A[k, : len(row)] = row
    return A


def _padded(row: tuple[float, ...], count: int) -> np.ndarray:
    return np.array([*row, *[0.0] * (count - len(row))])


def weights_satisfy_the_order_conditions(name: str) -> None:
    """One equation for each rooted tree with as many nodes as the order, or fewer [hairer1993, II.2]."""
    tableau = find_method(name)
    A = _matrix(tableau)
    weights = A[-1]
    for order in range(1, min(tableau.order, HIGHEST_CONDITIONS) + 1):
        for tree in _trees(order):
            terms = weights * _elementary(tree, A)
            size = 1 + np.abs(weights) @ np.abs(_elementary(tree, np.abs(A)))
            what = f"the last stage breaks a condition of order {order}, sum {terms.sum():.12g}"
            require_close(terms.sum(), 1 / _density(tree), 1e-13 * size, f"{what} should be 1/{_density(tree)}")


def error_estimate_is_there(name: str) -> None:
    """It compares two methods, so its weights add up to nothing; and it sees errors of the declared order."""
    tableau = find_method(name)
    A = _matrix(tableau)
    for weights in filter(None, (tableau.error, tableau.second_error)):
        size = sum(map(abs, weights))
        require_close(sum(weights), 0.0, 1e-13 * (1 + size), "weights of an error estimate must add up to zero")
    error = _padded(tableau.error, tableau.count)
    size = np.abs(error).sum()
    require(size > 0, "error has no weights, so steps cannot be controlled")
    trees = [tree for order in range(1, min(tableau.order, HIGHEST_CONDITIONS) + 1) for tree in _trees(order)]
    seen = max(abs(error @ _elementary(tree, A)) for tree in trees)
    require(
        seen > 1e-9 * size,
        f"the error estimate vanishes to order {tableau.order}: it must come from a method of lower order",
    )


# -- what it does ------------------------------------------------------------------------------------


def _fixed(name: str, count: int) -> Trajectory:
    """A run whose every step has the same length: tolerances too loose to matter, a cap on the step."""
    h = UNTIL / count
    return simulate(
        find_robot("pendulum"), START, until=UNTIL, rtol=0.1, atol=1e6, max_step=h * (1 + 1e-12), first_step=h,
        method=name,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _exact() -> Trajectory:
    return simulate(find_robot("pendulum"), START, until=UNTIL, rtol=1e-14, atol=1e-15, method="dop853", max_step=0.01)


def _slope(counts: list[int], errors: list[float]) -> float:
    return float(-np.polyfit(np.log(counts), np.log(errors), 1)[0])


def _observed(errors_at: Callable[[int], float]) -> float:
    """The order seen where steps are short enough to show it and long enough to stand out from rounding."""
    counts: list[int] = []
    errors: list[float] = []
    for k in range(20):
        counts.append(round(6 * 2 ** (k / 2)))
        errors.append(errors_at(counts[-1]))
        if errors[-1] < 1e-11:
            break
    # the last of them: a high order shows only just above rounding, a low one only with many steps
    return _slope(counts[-3:], errors[-3:])


def observed_order_is_the_declared_one(name: str) -> None:
    """Halving the step divides the error of a pendulum's final state by two to that power."""
    order = find_method(name).order
    exact = _exact().at(UNTIL)

    def error(count: int) -> float:
        run = _fixed(name, count)
        require(run.steps == count, f"{count} equal steps became {run.steps}")
        return float(np.abs(run.at(UNTIL) - exact).max())

    seen = _observed(error)
    require(abs(seen - order) <= SLACK, f"declared order {order}, observed {seen:.2f}, at most {SLACK} apart")


def dense_output_joins_the_steps(name: str) -> None:
    """Between steps the motion has no jump, and neither has its rate."""
    run = _fixed(name, 40)
    ends = run.mesh.t[2:-1]
    small = 1e-9 * UNTIL
    before, at, after = (run.at(ends + shift) for shift in (-small, 0.0, small))
    rates = 1 + np.abs(run.mesh.x).max() + 9.81
    require_close(before, at, 2 * small * rates, "the dense output just before the end of a step")
    require_close(after, at, 2 * small * rates, "the dense output just after the start of a step")
    wide = 1e-5 * UNTIL
    middle, left, right = (run.at(ends + shift) for shift in (0.0, -wide, wide))
    require_close((right - middle) / wide, (middle - left) / wide, 100 * wide * rates, "its rate at the end of a step")


def dense_output_is_as_accurate_as_the_steps(name: str) -> None:
    """Its polynomial may be one order lower than the method: over one step only, it then errs by no more."""
    order = find_method(name).order
    times = np.linspace(0, UNTIL, 301)
    exact = _exact().at(times)
    seen = _observed(lambda count: float(np.abs(_fixed(name, count).at(times) - exact).max()))
    require(
        seen >= order - SLACK,
        f"between steps the error falls with the power {seen:.2f} of the step, at their ends with {order}; "
        f"dense needs rows that make its polynomial of order {order - 1}",
    )


def tolerance_is_kept(name: str) -> None:
    """A tighter tolerance gives a smaller error, of about its size."""
    exact = _exact().at(UNTIL)
    for rtol in (1e-5, 1e-8):
        run = simulate(
            find_robot("pendulum"), START, until=UNTIL, rtol=rtol, atol=rtol * 1e-2, method=name, raise_errors=False
        )
        require(run.status.good, f"rtol {rtol:g}: {run.failure_message()}")
        require_close(run.at(UNTIL), exact, 300 * rtol, f"the final state at rtol {rtol:g}")


CHECKS = (
    method_is_a_tableau,
    description_is_complete,
    stages_lie_at_their_nodes,
    last_stage_is_the_end_of_the_step,
    weights_satisfy_the_order_conditions,
    error_estimate_is_there,
    observed_order_is_the_declared_one,
    dense_output_joins_the_steps,
    dense_output_is_as_accurate_as_the_steps,
    tolerance_is_kept,
)
