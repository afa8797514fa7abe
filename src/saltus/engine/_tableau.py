"""An explicit Runge-Kutta method as data, and the compiled step written from it."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from saltus._native import compiled, never_inline
from saltus.engine import _layout as L
from saltus.engine import methods
from saltus.engine._flow import flow
from saltus.errors import unknown_name


@dataclass(frozen=True)
class Tableau:
    """Butcher's tableau with error weights and dense output.

    The last stage is the end of the step, so that it serves as first stage of the next and its
    contact forces are those of the new state. ``error`` are weights of the error estimate.
    Dense output is Hairer's nested form [hairer1993, II.6]:
    y0 + s (r1 + (1-s) (r2 + s (r3 + (1-s) (r4 + ...)))), where r1 = y1 - y0,
    r2 = h k_first - r1, r3 = r1 - h k_last - r2, and each row of ``dense`` gives one more.
    """

    name: str
    order: int
    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    error: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]

    @property
    def count(self) -> int:
        """Number of stages, the last included."""
        return len(self.nodes)

    @property
    def coefficients(self) -> int:
        """Number of vectors of the dense output."""
        return 4 + len(self.dense)


def method_names() -> list[str]:
    """Names of all integration methods."""
    return sorted(module.name for module in pkgutil.iter_modules(methods.__path__))


def find_method(name: str) -> Tableau:
    """The tableau of that name."""
    if name not in method_names():
        raise unknown_name("method", name, method_names())
    module = importlib.import_module(f"{methods.__name__}.{name}")
    tableau: Tableau = module.TABLEAU
    return tableau


def _combination(weights: tuple[float, ...], stride: str = "") -> str:
    return " + ".join(f"{weight!r} * D[k{j}{stride} + i]" for j, weight in enumerate(weights) if weight != 0.0)


def step_source(tableau: Tableau) -> str:
    """Python source of ``step`` and ``dense`` for one method, unrolled over its stages."""
    last = tableau.count - 1
    head = ["    n, ny, nr, y = I[L.N], I[L.NY], I[L.NROW], I[L.Y]", "    k0 = I[L.K]"]
    head += [f"    k{j} = k0 + {j} * ny" for j in range(1, tableau.count)]
    lines = ["def step(I, D, t, h):", *head, "    ys, yn, lam = I[L.YS], I[L.YN], I[L.LAM]"]
    for j in range(1, tableau.count):
        target = "yn" if j == last else "ys"
        lines += [
            "    for i in range(n):",
            f"        D[{target} + i] = D[y + i] + h * ({_combination(tableau.stages[j])})",
            f"    code = flow(I, D, t + {tableau.nodes[j]!r} * h, {target}, k{j}, lam + {j} * nr)",
            "    if code != 0:",
            "        return code",
        ]
    lines += [
        "    rtol, atol = D[L.RTOL], D[L.ATOL]",
        "    total = 0.0",
        "    for i in range(n):",
        f"        e = h * ({_combination(tableau.error)})",
        "        e /= atol + rtol * max(abs(D[y + i]), abs(D[yn + i]))",
        "        total += e * e",
        "    D[L.ERROR] = math.sqrt(total / n)",
        "    return 0",
        "",
        "",
        "def dense(I, D, h):",
        *head,
        "    yn, r = I[L.YN], I[L.DENSE]",
        "    for i in range(n):",
        "        change = D[yn + i] - D[y + i]",
        "        bend = h * D[k0 + i] - change",
        "        D[r + i] = D[y + i]",
        "        D[r + n + i] = change",
        "        D[r + 2 * n + i] = bend",
        f"        D[r + 3 * n + i] = change - h * D[k{last} + i] - bend",
    ]
    for m, weights in enumerate(tableau.dense):
        lines.append(f"        D[r + {4 + m} * n + i] = h * ({_combination(weights)})")
    return "\n".join(lines) + "\n"


def compiled_step(tableau: Tableau) -> tuple[Any, Any]:
    """The functions ``step`` and ``dense`` of a method, ready to be called from compiled code."""
    import math

    scope: dict[str, Any] = {"__name__": __name__, "L": L, "flow": flow, "math": math}
    exec(compile(step_source(tableau), f"<step of {tableau.name}>", "exec"), scope)
    return compiled(scope["step"]), compiled(scope["dense"])


@compiled
def dense_at(source, r, n, count, s, target, out):
    """The dense output at a fraction s of the step, from its coefficients at r in one memory to another."""
    never_inline()
    for i in range(n):
        total = source[r + (count - 1) * n + i]
        for m in range(count - 2, 0, -1):
            total = source[r + m * n + i] + (s if m % 2 == 0 else 1.0 - s) * total
        target[out + i] = source[r + i] + s * total
