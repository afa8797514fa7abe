"""An explicit Runge-Kutta method as data, and the compiled step written from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from saltus import registry
from saltus._native import call_part, compiled
from saltus.engine import _layout as L
from saltus.engine._flow import rate
from saltus.errors import SaltusError


@dataclass(frozen=True)
class Tableau:
    """Butcher's tableau with error weights and dense output.

    The last stage is the end of the step, so that it serves as first stage of the next and its
    contact forces are those of the new state. ``error`` are weights of the error estimate; with a
    ``second_error`` the two are combined as in [hairer1993, II.10].
    Dense output is Hairer's nested form [hairer1993, II.6]:
    y0 + s (r1 + (1-s) (r2 + s (r3 + (1-s) (r4 + ...)))), where r1 = y1 - y0,
    r2 = h k_first - r1, r3 = r1 - h k_last - r2, and each row of ``dense`` gives one more. It may
    need ``extra_stages``, made after the last for steps that are kept.
    """

    name: str
    order: int
    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    error: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]
    second_error: tuple[float, ...] = ()
    extra_nodes: tuple[float, ...] = ()
    extra_stages: tuple[tuple[float, ...], ...] = ()

    @property
    def count(self) -> int:
        """Number of stages, the last included."""
        return len(self.nodes)

    @property
    def evaluations(self) -> int:
        """Number of stages with those that only serve dense output."""
        return self.count + len(self.extra_stages)

    @property
    def coefficients(self) -> int:
        """Number of vectors of the dense output."""
        return 4 + len(self.dense)


def method_names() -> list[str]:
    """Names of all integration methods."""
    return registry.names("methods")


def find_method(name: str) -> Tableau:
    """The tableau of that name."""
    module = registry.load("methods", name)
    tableau = module.TABLEAU
    if not isinstance(tableau, Tableau):
        raise SaltusError(f"TABLEAU of {module.__file__} must be a saltus.engine.Tableau, got {tableau!r}")
    return tableau


# What a step makes: the step and, if its error is at most one, its dense output; the step alone; the
# dense output of the step just made.
IF_ACCEPTED, NO_DENSE, DENSE_ONLY = range(3)


def _combination(weights: tuple[float, ...]) -> str:
    return " + ".join(f"{weight!r} * D[k{j} + i]" for j, weight in enumerate(weights) if weight != 0.0)


def _stage(target: str, weights: tuple[float, ...], node: float, j: int, *, carried: bool = False) -> list[str]:
    change = f"h * ({_combination(weights)})"
    lines = [f"    D[{target} + i] = D[y + i] + {change}"]
    if carried:
        # what rounding takes from a sum is known exactly [knuth1998, 4.2.2], and goes into the next one [kahan1965]
        lines = [
            f"    change = {change} + D[I[L.LOW] + i]",
            "    old = D[y + i]",
            "    new = old + change",
            "    gone = new - old",
            "    D[I[L.LOWN] + i] = (old - (new - gone)) + (change - gone)",
            f"    D[{target} + i] = new",
        ]
    return [
        "for i in range(n):",
        *lines,
        f"code = rate(I, D, t + {node!r} * h, {target}, k{j}, lam + {j} * nr, simple)",
        "if code != 0:",
        "    return code",
    ]


def _error(tableau: Tableau) -> list[str]:
    lines = [
        "rtol, atol = D[L.RTOL], D[L.ATOL]",
        "total = second = 0.0",
        "for i in range(n):",
        "    scale = 1.0 / (atol + rtol * max(abs(D[y + i]), abs(D[yn + i])))",
        f"    e = h * ({_combination(tableau.error)}) * scale",
        "    total += e * e",
    ]
    if tableau.second_error:
        lines += [
            f"    e = h * ({_combination(tableau.second_error)}) * scale",
            "    second += e * e",
            "if total > 0.0:",
            "    total *= total / (total + 0.01 * second)",
            # the first estimate may be small by chance; from the second alone the error is of this size at least
            "total = max(total, (0.01 * rtol * second) ** 2 / n)",
        ]
    return [*lines, "D[L.ERROR] = math.sqrt(total / n)"]


def step_source(tableau: Tableau, n: int, *, carried: bool = False) -> str:
    """Python source of the part behind `step` for one method and one number of integrated quantities.

    Stages are unrolled and the length of the loops is a constant, which lets the compiler keep
    everything in registers. What rounding takes from the state in one step may be ``carried`` to the
    next: then it does not add up, which matters for the energy of what whirls for thousands of steps.
    """
    last = tableau.count - 1
    head = [f"n, ny, nr, y, k0 = {n}, I[L.NY], I[L.NROW], I[L.Y], I[L.K]"]
    head += [f"k{j} = k0 + {j} * ny" for j in range(1, tableau.count + len(tableau.extra_stages))]
    head += [
        "ys, yn, lam = I[L.YS], I[L.YN], I[L.LAM]",
        "simple = nr == 0 and I[L.CONTROL_KIND] != L.CONTINUOUS",
        f"if what != {DENSE_ONLY}:",
    ]
    stages: list[str] = []
    for j in range(1, tableau.count):
        target = "yn" if j == last else "ys"
        stages += _stage(target, tableau.stages[j], tableau.nodes[j], j, carried=carried and j == last)
    stages += _error(tableau)
    stages += [f"if what == {NO_DENSE} or (what == {IF_ACCEPTED} and not total <= n):", "    return 0"]
    dense: list[str] = []
    for j, (node, weights) in enumerate(zip(tableau.extra_nodes, tableau.extra_stages, strict=True), tableau.count):
        dense += _stage("ys", weights, node, j)
    dense += [
        "r = I[L.DENSE]",
        "for i in range(n):",
        "    change = D[yn + i] - D[y + i]",
        "    bend = h * D[k0 + i] - change",
        "    D[r + i] = D[y + i]",
        "    D[r + n + i] = change",
        "    D[r + 2 * n + i] = bend",
        f"    D[r + 3 * n + i] = change - h * D[k{last} + i] - bend",
    ]
    for m, weights in enumerate(tableau.dense):
        dense.append(f"    D[r + {4 + m} * n + i] = h * ({_combination(weights)})")
    body = [*head, *(f"    {line}" for line in stages), *dense, "return 0"]
    return "\n".join(["def step_part(I, D, t, h, what, b, c):", *(f"    {line}" for line in body)]) + "\n"


def step_part(tableau: Tableau, n: int, *, carried: bool = False) -> Any:
    """The part behind `step` for one method, ready to be compiled."""
    scope: dict[str, Any] = {"__name__": __name__, "L": L, "rate": rate, "math": math}
    exec(compile(step_source(tableau, n, carried=carried), f"<step of {tableau.name}>", "exec"), scope)
    return scope["step_part"]


@compiled
def step(I, D, t, h, what):
    """Make one step from Y to YN, estimate its error, and prepare its dense output; ``what`` of it, see above."""
    return call_part(I[L.STEP], I, D, t, h, what, 0, 0)


@compiled
def dense_at(source, r, n, count, s, target, out, wanted):
    """The first ``wanted`` quantities at a fraction s of a step, from its n-vectors of dense output at r."""
    one, two = s, s * (1.0 - s)
    three = two * s
    four = three * (1.0 - s)
    if count == 5:
        for i in range(r, r + wanted):
            total = source[i] + one * source[i + n] + two * source[i + 2 * n]
            target[out] = total + three * source[i + 3 * n] + four * source[i + 4 * n]
            out += 1
        return
    for i in range(wanted):
        total = source[r + i] + one * source[r + n + i] + two * source[r + 2 * n + i] + three * source[r + 3 * n + i]
        weight = four
        for m in range(4, count):
            total += weight * source[r + m * n + i]
            weight *= s if m % 2 == 0 else 1.0 - s
        target[out + i] = total
