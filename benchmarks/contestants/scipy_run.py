"""SciPy: `solve_ivp` by RK45 with the equations of motion in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from contestants.problem import END, TOLERANCE, Contestant, make_flow, start, times


def contestants() -> list[Contestant]:
    """SciPy with output each millisecond from its dense output."""
    from scipy.integrate import solve_ivp

    flow, first, wanted = make_flow(), start(), times()

    def solve(given: None) -> Any:
        return solve_ivp(flow, (0.0, END), first, method="RK45", t_eval=wanted, rtol=TOLERANCE, atol=TOLERANCE)

    def states(solution: Any) -> np.ndarray:
        rows: np.ndarray = solution.y.T
        return rows

    return [Contestant("SciPy, RK45", lambda: None, solve, states, slow=True)]
