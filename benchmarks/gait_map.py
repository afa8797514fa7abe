"""An error map of a gait, 40,000 cycles with events and impacts: saltus on all cores against SciPy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import ratio, table

import saltus
from saltus.gaits import find_gait, run_many

SIDE, SAMPLE, ROUNDS, SEED = 200, 60, 9, 4
SPANS = {"dtheta1": (0.0, 4.0), "dtheta2": (6.0, 14.0)}
TOLERANCE, LONGEST, TORQUE = 1e-9, 5.0, 0.66


def starts() -> tuple[np.ndarray, np.ndarray]:
    """Both rates at the vertical, for each cell of the map."""
    a, b = np.meshgrid(*(np.linspace(*span, SIDE) for span in SPANS.values()), indexing="ij")
    return a.ravel(), b.ravel()


def by_hand() -> Callable[..., float]:
    """The same cycle for SciPy: two coordinates, floats and `math` only, three runs with terminal events."""
    from scipy.integrate import solve_ivp

    p = saltus.robots.monkeybot().values
    m, L, r1, r2, inertia, g = (p[name] for name in ("m1", "L1", "r1", "r2", "I1", "g"))
    a0 = 2 * inertia + m * r1 * r1 + m * L * L + m * r2 * r2
    c, b = m * r2 * L, inertia + m * r2 * r2
    g1, g2 = g * (m * r1 + m * L), g * m * r2

    def flow(torque: float) -> Callable[[float, Any], list[float]]:
        def rates(t: float, y: Any) -> list[float]:
            q1, q2, v1, v2 = y.tolist()
            cos2, sin2, s12 = math.cos(q2), math.sin(q2), math.sin(q1 + q2)
            M11, M12 = a0 + 2 * c * cos2, b + c * cos2
            f1 = c * sin2 * v2 * (2 * v1 + v2) - g1 * math.sin(q1) - g2 * s12
            f2 = torque - c * sin2 * v1 * v1 - g2 * s12
            det = M11 * b - M12 * M12
            return [v1, v2, (b * f1 - M12 * f2) / det, (M11 * f2 - M12 * f1) / det]

        return rates

    def energy(y: Any) -> float:
        q1, q2, v1, v2 = y
        M11, M12 = a0 + 2 * c * math.cos(q2), b + c * math.cos(q2)
        kinetic = 0.5 * (M11 * v1 * v1 + 2 * M12 * v1 * v2 + b * v2 * v2)
        return float(kinetic - g1 * math.cos(q1) - g2 * math.cos(q1 + q2))

    def level(t: float, y: Any) -> float:
        return -L * math.cos(y[0]) - L * math.cos(y[0] + y[1])

    def vertical(t: float, y: Any) -> float:
        return float(y[0])

    level.terminal, level.direction = True, 1.0  # type: ignore[attr-defined]
    vertical.terminal = True  # type: ignore[attr-defined]
    passive, driven = flow(0.0), flow(TORQUE)

    def switched(y: np.ndarray) -> np.ndarray:
        """Change hands: flip, and stop the hand that holds."""
        q1, q2, v1, v2 = y
        x = L * math.cos(q1) * v1 + L * math.cos(q1 + q2) * (v1 + v2)
        z = L * math.sin(q1) * v1 + L * math.sin(q1 + q2) * (v1 + v2)
        p1 = math.remainder(math.pi + q1 + q2, 2 * math.pi)
        p2 = -q2
        w = m * r1 + m * L
        c1, s1, c12, s12 = math.cos(p1), math.sin(p1), math.cos(p1 + p2), math.sin(p1 + p2)
        # momenta about the joints carry over; those of the two coordinates gain what the hand's speed was worth
        h1 = (w * c1 + m * r2 * c12) * x + (w * s1 + m * r2 * s12) * z
        h2 = m * r2 * c12 * x + m * r2 * s12 * z
        M11, M12 = a0 + 2 * c * math.cos(p2), b + c * math.cos(p2)
        det = M11 * b - M12 * M12
        return np.array([p1, p2, v1 + v2 + (b * h1 - M12 * h2) / det, -v2 + (M11 * h2 - M12 * h1) / det])

    def error(one: float, two: float, method: str, tolerance: float) -> float:
        options: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance}
        start = np.array([0.0, 0.0, one, two])
        run = solve_ivp(passive, (0.0, LONGEST), start, events=level, **options)
        if run.status != 1:
            return math.nan
        goal, y = energy(start), switched(run.y[:, -1])

        def restored(t: float, y: Any) -> float:
            return energy(y) - goal

        restored.terminal, restored.direction = True, 1.0  # type: ignore[attr-defined]
        run = solve_ivp(driven, (0.0, LONGEST), y, events=restored, **options)
        if run.status != 1:
            return math.nan
        run = solve_ivp(passive, (0.0, LONGEST), run.y[:, -1], events=vertical, **options)
        if run.status != 1:
            return math.nan
        _, q2, v1, v2 = run.y[:, -1]
        return float(q2**2 + (v1 - one) ** 2 + (v2 - two) ** 2)

    return error


def report() -> str:
    """Make the map, and a sample of it by SciPy, and tell."""
    one, two = starts()
    gait = find_gait("swing", saltus.robots.monkeybot())
    sample = np.random.default_rng(SEED).choice(len(one), SAMPLE, replace=False)
    error = by_hand()

    def by_scipy(method: str, tolerance: float) -> np.ndarray:
        return np.array([error(one[k], two[k], method, tolerance) for k in sample])

    exact = by_scipy("DOP853", 1e-12)
    rows, times, misses = [], {}, {}
    for method in ("dopri5", "dop853"):
        best, cycles = math.inf, None
        for _ in range(ROUNDS + 1):  # the first call loads compiled code
            begin = time.perf_counter()
            cycles = run_many(
                gait,
                {"dtheta1": one, "dtheta2": two},
                {"motor_torque": TORQUE},
                rtol=TOLERANCE,
                atol=TOLERANCE,
                method=method,
            )
            best = min(best, time.perf_counter() - begin)
        assert cycles is not None
        times[method] = best / len(one)
        misses[method], odd = _miss(cycles.error[sample], exact)
        rows.append(_row(f"saltus, {method}", TOLERANCE, times[method], misses[method], odd))
    for method, like in (("RK45", "dopri5"), ("DOP853", "dop853"), ("LSODA", "dop853")):
        tolerance, tries = TOLERANCE, [TOLERANCE]
        while _miss(by_scipy(method, tolerance), exact)[0] > misses[like] and tolerance > 1e-12:
            tolerance /= 2
        tries += [tolerance] if tolerance < TOLERANCE else []
        for one_of_them in tries:
            found, best = np.zeros(0), math.inf
            for _ in range(ROUNDS):
                begin = time.thread_time()
                found = by_scipy(method, one_of_them)
                best = min(best, time.thread_time() - begin)
            name = method if one_of_them == TOLERANCE else f"{method} as exact"
            times[name] = best / SAMPLE
            rows.append(_row(f"SciPy, {method}", one_of_them, times[name], *_miss(found, exact)))
        times.setdefault(f"{method} as exact", times[method])
    targets = [["the whole map, s", "under 5", f"{min(times['dopri5'], times['dop853']) * len(one):.2f}"]]
    for ours, theirs in (("dopri5", "RK45"), ("dop853", "DOP853")):
        for name, how in ((f"{theirs} as exact", "same accuracy"), (theirs, "same tolerance")):
            gain = ratio(times[name] / times[ours])
            targets.append([f"{ours} faster than SciPy, {theirs}, {how}, times", "at least 500", gain])
    return "\n\n".join(
        [
            "## A map of a gait",
            _INTRODUCTION.format(side=SIDE, cells=SIDE * SIDE, sample=SAMPLE, rounds=ROUNDS, longest=LONGEST),
            table(["who", "tolerance", "per cycle, us", "whole map, s", "largest error"], rows),
            table(["target", "wanted", "measured"], targets),
        ]
    )


def _row(who: str, tolerance: float, seconds: float, miss: float, odd: int) -> list[str]:
    told = f"{miss:.1e}" + (f", {odd} cells differ" if odd else "")
    return [who, f"{tolerance:.1e}", f"{1e6 * seconds:.1f}", f"{seconds * SIDE * SIDE:.2f}", told]


def _miss(found: np.ndarray, exact: np.ndarray) -> tuple[float, int]:
    """Largest difference, as a part of the value or of one; cells that differ in whether there is a value at all."""
    both = np.isfinite(found) & np.isfinite(exact)
    worst = float((np.abs(found - exact) / np.maximum(np.abs(exact), 1.0))[both].max())
    return worst, int((np.isfinite(found) != np.isfinite(exact)).sum())


_INTRODUCTION = """\
The error of the gait `swing` of the MonkeyBot for {side} by {side} starts ({cells:,} cycles of three phases with their
events and one impact each; starts that do not reach the other hand's height are given up after {longest:g} s). saltus
makes them by one call of `saltus.gaits.run_many`: time on the clock, best of {rounds}. SciPy's `solve_ivp` has the
equations of the pinned robot in plain Python, and terminal events: processor time over {sample} random cells, best of
{rounds}, at saltus's tolerance (rtol = atol) and at the first of its halves at which SciPy is as exact as saltus is by
the method that is most like it. Errors of those cells are against DOP853 at 1e-12."""


if __name__ == "__main__":
    print(report())
