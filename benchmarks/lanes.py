"""A flow evaluation of the two-link pendulum, many at once: `saltus.rollout`, the scalar kernel, NumPy."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import types
from tables import ratio, table

import saltus
from saltus._native import DOUBLES, call_kernel, compile_entry, ctypes_entry
from saltus.engine._program import program

LANES = 4096
STEPS = 250
STEP = 1e-3
ROUNDS = 15
EVALUATIONS = 4 * LANES * STEPS
ONE = "`rollout`, 1 thread"
TWO = "`rollout`, 2 threads"


@dataclass
class Result:
    """The best times of one way, s: of the processor, all threads together, and on the clock."""

    name: str
    processor: float = np.inf
    clock: float = np.inf
    difference: float = np.nan


def robot() -> saltus.HybridSystem:
    """The pendulum."""
    return saltus.robots.double_pendulum()  # type: ignore[no-any-return]


def starts() -> np.ndarray:
    """The first state of each lane."""
    return np.random.default_rng(2009).uniform(-1, 1, (LANES, 4))


# -- the ways ----------------------------------------------------------------------------------


def by_rollout(threads: int, *, own_parameters: bool = False) -> Callable[[], np.ndarray]:
    """The public call; with parameters of each lane or common ones."""
    system, states = robot(), starts()
    parameters = {"m2": np.full(LANES, system.values["m2"])} if own_parameters else None
    return lambda: saltus.rollout(system, states, step=STEP, steps=STEPS, parameters=parameters, threads=threads).states


def scalar_steps(address, lanes, steps, h, X, D):
    """The same method, a lane after the other; D holds state, stage, sum, rates, input and parameters."""
    for lane in range(lanes):
        for i in range(4):
            D[i] = D[4 + i] = D[8 + i] = X[4 * lane + i]
        for step in range(steps):
            for stage in range(4):
                late = 0.0 if stage == 0 else h if stage == 3 else 0.5 * h
                call_kernel(address, step * h + late, D, 4, 18, 19, 12)
                ahead = h if stage == 2 else 0.5 * h
                weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
                for i in range(4):
                    D[8 + i] += weight * D[12 + i]
                    D[4 + i] = D[i] + ahead * D[12 + i]
            for i in range(4):
                D[i] = D[4 + i] = D[8 + i]
        for i in range(4):
            X[4 * lane + i] = D[i]
    return 0


def by_scalar_kernel() -> Callable[[], np.ndarray]:
    """A compiled loop around the kernel that `simulate` uses."""
    system = robot()
    i8 = types.int64
    entry = compile_entry(scalar_steps, types.int64(i8, i8, i8, types.float64, DOUBLES, DOUBLES), "scalar")
    kinds = [ctypes.c_int64] * 3 + [ctypes.c_double] + [ctypes.c_void_p] * 2
    function = ctypes_entry(entry, ctypes.c_int64, kinds)
    address, memory = program(system).address("free"), np.zeros(19 + len(system.values))
    memory[19:] = system.parameter_values

    def run(keep: object = entry) -> np.ndarray:
        states = starts()
        function(address, LANES, STEPS, STEP, states.ctypes.data, memory.ctypes.data)
        return states

    return run


def by_numpy() -> Callable[[], np.ndarray]:
    """Equations written by hand, an array operation for all lanes each."""
    p = robot().values
    lower = p["I2"] + p["m2"] * p["r2"] ** 2
    upper = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    coupling = p["m2"] * p["L1"] * p["r2"]
    weight_upper = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"]
    weight_lower = p["m2"] * p["r2"] * p["g"]

    def flow(y: np.ndarray) -> np.ndarray:
        theta1, theta2, w1, w2 = y
        bend, twist = coupling * np.cos(theta2), coupling * np.sin(theta2)
        m12 = lower + bend
        m11 = upper + m12 + bend
        pull = weight_lower * np.sin(theta1 + theta2)
        f1 = twist * w2 * (w1 + w1 + w2) - weight_upper * np.sin(theta1) - pull
        f2 = -twist * w1 * w1 - pull
        inverse = 1.0 / (m11 * lower - m12 * m12)
        return np.stack([w1, w2, (lower * f1 - m12 * f2) * inverse, (m11 * f2 - m12 * f1) * inverse])

    def run() -> np.ndarray:
        y = np.ascontiguousarray(starts().T)
        for _ in range(STEPS):
            k1 = flow(y)
            k2 = flow(y + STEP / 2 * k1)
            k3 = flow(y + STEP / 2 * k2)
            k4 = flow(y + STEP * k3)
            y = y + STEP / 6 * (k1 + 2 * (k2 + k3) + k4)
        return y.T

    return run


# -- the race ----------------------------------------------------------------------------------


def race() -> list[Result]:
    """Let all ways take turns, keep the best of each, and compare what they found."""
    ways = {
        ONE: by_rollout(1),
        TWO: by_rollout(2),
        "`rollout`, parameters of each lane, 1 thread": by_rollout(1, own_parameters=True),
        "scalar kernel, compiled loop": by_scalar_kernel(),
        "NumPy, by hand, all lanes at once": by_numpy(),
    }
    results = [Result(name) for name in ways]
    found = {name: way() for name, way in ways.items()}
    for _ in range(ROUNDS):
        for result, way in zip(results, ways.values(), strict=True):
            used, begin = time.process_time(), time.perf_counter()
            way()
            result.clock = min(result.clock, time.perf_counter() - begin)
            result.processor = min(result.processor, time.process_time() - used)
    for result in results:
        result.difference = float(np.abs(found[result.name] - found[ONE]).max())
    return results


def report() -> str:
    """Run the race and tell how it went."""
    results = race()
    per = {r.name: r.processor / EVALUATIONS * 1e9 for r in results}
    rows = [
        [
            r.name,
            f"{per[r.name]:.1f}",
            ratio(per[r.name] / per[ONE]),
            f"{EVALUATIONS / r.clock / 1e6:.0f}",
            f"{r.difference:.0e}",
        ]
        for r in results
    ]
    headings = ["who", "ns per evaluation and core", "times rollout", "million evaluations per s", "difference"]
    worst = max(per[ONE], per[TWO])
    target = ["evaluation of a lane, ns and core", "at most 12", f"{worst:.1f}", "yes" if worst <= 12 else "no"]
    return "\n\n".join(
        [
            "## Lanes",
            f"{LANES:,} double pendulums, {STEPS} steps of the classical method of order four, which evaluates the\n"
            "flow four times a step. Processor time of all threads together, and rate on the clock, each the best of\n"
            f"{ROUNDS}; the ways take turns. The difference is the largest of any state from the first row's.",
            table(headings, rows),
            table(["target", "wanted", "measured", "met"], [target]),
        ]
    )


if __name__ == "__main__":
    print(report())
