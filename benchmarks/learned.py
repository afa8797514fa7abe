"""Learned brachiation beside C: sweeps of dynamic programming by both recipes, tables, and impulses.

``python benchmarks/learned.py [--turns 3] [--big]`` prints times per transition (a state under one input) of one thread
beside `learned.c` on one thread, a sweep of the thesis' recipe over 100^4 states on all cores, training by ours at 50^4
with how many of 300 random starts reach the bar, and the impulse method; with ``--big`` also training at 100^4.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe
from tables import table

import saltus
from saltus.contact import World
from saltus.control import Policy, Reach
from saltus.optimize import (
    Discounted,
    RandomActions,
    Swinger,
    check_training,
    learn_impulses,
    random_impulses,
    train_table,
)
from saltus.optimize._sweeping import Caller
from saltus.robots._bars import between

COMMAND = ("gcc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
SOURCE = Path(__file__).parent / "learned.c"
TARGET = (0.55, 0.0)
STARTS = 300


def task(grid: int) -> Reach:
    """The hand to a bar 0.55 m ahead."""
    return Reach(saltus.robots.brachiator(), ("B", TARGET), holds="A", grid=grid)


def library() -> Any:
    """The C code; it stays loaded after the folder is gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learned.so"
        subprocess.run([*COMMAND, str(SOURCE), "-o", str(path), "-lm"], check=True)
        return ctypes.CDLL(str(path))


def numbers_for_c(reach: Reach) -> tuple[Any, Any]:
    """The robot and the grid as `learned.c` has them."""
    p = reach.robot.values
    a = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    b, c = p["I2"] + p["m2"] * p["r2"] ** 2, p["m2"] * p["L1"] * p["r2"]
    g1, g2 = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"], p["m2"] * p["r2"] * p["g"]
    place = reach.place
    assert place is not None
    robot = [a, b, c, g1, g2, p["L1"], p["L2"], p["elbow_stop"], place.x, place.y, place.radius, reach.soft]
    axes = reach.axes()
    grid = np.array([axis.count for axis in axes], dtype=np.int64).tobytes()
    grid += np.array([axis.lower for axis in axes] + [axis.spacing for axis in axes], dtype=np.float32).tobytes()
    return np.array([*robot, p["torque_limit"]], dtype=np.float32).tobytes(), grid


def best(turns: int, *runs: Callable[[], Any]) -> list[float]:
    """The least time of each, in turns, s."""
    times = [math.inf] * len(runs)
    for _ in range(turns):
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            times[k] = min(times[k], time.perf_counter() - begin)
    return times


def beside_c(turns: int, grid: int = 50, slices: int = 10) -> list[list[str]]:
    """Some slices by both recipes, one thread each; how far apart what comes out is."""
    code, rows = library(), []
    robot, axes = numbers_for_c(task(grid))
    last = ctypes.c_int64(slices)
    for recipe, inputs in ((RandomActions(), 2), (Discounted(), 3)):
        work = check_training(task(grid), recipe)
        call = Caller(work)
        places = np.meshgrid(*(np.linspace(0, 2 * math.pi, grid, endpoint=False) for _ in range(4)), indexing="ij")
        V = (0.5 + 0.1 * sum(np.cos(x) for x in places)).astype(np.float32)
        V = V if recipe.sides == 1 else np.stack([V, np.float32(0.9) * V])
        new, kept, mine, room = np.zeros_like(V), np.zeros_like(V), np.zeros_like(V), np.zeros_like(V)
        length = (ctypes.c_float(recipe.step / recipe.steps), ctypes.c_int64(recipe.steps))

        def ours(call: Any = call, recipe: Any = recipe, V: Any = V, new: Any = new, kept: Any = kept) -> None:
            kept[:] = 0
            for k in reversed(range(slices)):
                call(V, new, kept, slice=k, first=0, last=grid, axis=0, sweep=0)

        def by_hand(recipe: Any = recipe, V: Any = V, mine: Any = mine, room: Any = room, length: Any = length) -> None:
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (V, mine, room)]
            first = ctypes.c_int64(0)
            if isinstance(recipe, RandomActions):
                room[:] = 0
                code.thesis(robot, axes, *pointers, first, last, first, *length)
            else:
                np.copyto(mine, V)
                rest = ctypes.c_float(recipe.patience), ctypes.c_float(1 - recipe.reversal)
                code.reach(robot, axes, pointers[1], pointers[2], first, last, *length, *rest)

        one, other = best(turns, ours, by_hand)
        if isinstance(recipe, RandomActions):
            apart = np.abs(new[:slices] - mine[:slices])
        else:
            # ours has room for one slice, the first of all; those after it see in place what was before them
            apart = np.abs(new.ravel()[: 2 * grid**3].reshape(2, -1) - mine[:, 0].reshape(2, -1))
        transitions = slices * grid**3 * inputs
        figures = [f"{1e9 * seconds / transitions:.1f}" for seconds in (one, other)]
        rows.append(
            [f"{recipe.name}, {recipe.steps} steps", *figures, f"{one / other:.2f}", f"{np.quantile(apart, 0.99):.1e}"]
        )
    return rows


def thesis_sweep(turns: int) -> str:
    """One sweep of 100^4 states on all cores: the time of one more, after the first."""
    times: list[float] = []

    def tell(sweep: Any) -> None:
        if sweep.share == 1.0:
            times.append(time.perf_counter())

    made = train_table(task(100), RandomActions(sweeps=turns + 1), progress=tell)
    return (
        f"thesis recipe, 100^4: {min(np.diff(times)):.2f} s a sweep, best of {turns}; {made.memory / 1e9:.2f} GB kept"
    )


def trained(grid: int) -> str:
    """Training by our recipe, and random starts under the policy."""
    begin = time.perf_counter()
    made = train_table(task(grid))
    wall = time.perf_counter() - begin
    robot = saltus.robots.brachiator(world=World(((0.0, 0.0), TARGET)))
    robot = robot.with_start(between(robot, 0))
    draw = np.random.default_rng(1)
    stop = robot.values["elbow_stop"]
    starts = {
        "theta1": draw.uniform(-math.pi, math.pi, STARTS), "theta2": draw.uniform(-stop, stop, STARTS),
        "dtheta1": draw.uniform(-2, 2, STARTS), "dtheta2": draw.uniform(-2, 2, STARTS),
    }  # fmt: skip
    calm = robot.with_guards(**{guard.name: "ignore" for guard in robot.guards})
    many = saltus.simulate_many(
        calm, starts, controllers=Policy(made), mode={"B": "open"}, until=10.0, rtol=1e-7, atol=1e-9
    )
    x = many["x"] + 0.4 * np.sin(many["theta1"]) + 0.4 * np.sin(many["theta1"] + many["theta2"])
    y = many["y"] - 0.4 * np.cos(many["theta1"]) - 0.4 * np.cos(many["theta1"] + many["theta2"])
    reached = np.hypot(x - TARGET[0], y - TARGET[1]) <= robot.values["capture"] * 1.001
    still = np.abs(many["dtheta1"]) + np.abs(many["dtheta2"]) < 1e-6
    return (
        f"our recipe, {grid}^4: {wall:.1f} s of wall time, {made.sweeps} sweeps, residual {made.residual:.3f}; "
        f"{int((reached & still).sum())} of {STARTS} random starts hold the bar after 10 s"
    )


def peak() -> str:
    """The most memory that this process has had."""
    return f"peak memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9:.2f} GB"


def impulses(turns: int) -> list[str]:
    """165,000 trials, and the whole method."""
    swinger = Swinger(saltus.robots.brachiator())
    (seconds,) = best(turns, lambda: random_impulses(swinger))
    begin = time.perf_counter()
    learned = learn_impulses(saltus.robots.brachiator()).to_dict()
    whole = time.perf_counter() - begin
    told = "; ".join(
        f"{name}: {one['rate']:.1%}, {one['residual']:.2f} J left, {one['rate_off']:.1%} with T1 off by 5 %"
        for name, one in learned["inverses"].items()
    )
    return [
        f"165,000 impulse trials of 1.2 s at 1 ms: {seconds:.2f} s, best of {turns}",
        f"the whole impulse method, with its 77 queries: {whole:.1f} s; {told}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--big", action="store_true", help="also train at 100^4")
    chosen = parser.parse_args()
    print(describe())
    columns = ["one thread, ns a transition", "saltus", "C", "ratio", "99 % of values agree to"]
    train_table(task(5))  # whatever is compiled, is now
    print(table(columns, beside_c(chosen.turns), words=1))
    print(f"{os.cpu_count()} threads:")
    print(trained(50))
    print(peak())
    if chosen.big:
        print(trained(100))
        print(peak())
    for line in impulses(chosen.turns):
        print(line)
    print(thesis_sweep(chosen.turns))
    print(peak())


if __name__ == "__main__":
    main()
