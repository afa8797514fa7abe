"""What the same bits on every processor cost: the same work with and without contraction of products and sums.

python benchmarks/contraction.py --rounds 7
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import milliseconds, ratio, table

SEED = 5


def work() -> dict[str, Callable[[], Any]]:
    """What is measured: one run, contacts, a robot in space, lanes, many runs, a map of gaits, dynamic programming."""
    import saltus
    from saltus.control import Reach
    from saltus.gaits import find_gait, run_many
    from saltus.optimize import train_table

    rng = np.random.default_rng(SEED)
    pendulum, hopper, ball = saltus.robots.double_pendulum(), saltus.robots.hopper(), saltus.robots.bouncing_ball()
    claptrap, monkey = saltus.robots.claptrap(), saltus.robots.monkeybot()
    drops, angles = {"y": rng.uniform(0.5, 2.0, 5000)}, {"theta1": rng.uniform(-1, 1, 5000)}
    swing = find_gait("swing", monkey)
    a, b = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 4, 40), np.linspace(6, 14, 40)))
    jump, balance = hopper.profiles["paper"], claptrap.controllers["pd"]
    lanes = rng.uniform(-1, 1, (4096, 4))
    task = Reach(saltus.robots.brachiator(), ("B", (0.55, 0.0)), "A", grid=16)
    many: dict[str, Any] = {"threads": 1}
    return {
        "double pendulum, 10 s": lambda: saltus.simulate(pendulum, {"theta1": 2.0}, until=10.0),
        "hopper, published jump": lambda: saltus.simulate(hopper, controller=jump.controller, until=jump.until),
        "claptrap with PD, 5 s": lambda: saltus.simulate(claptrap, {"pitch": 0.2}, controller=balance, until=5.0),
        "5,000 bouncing balls": lambda: saltus.simulate_many(ball, drops, until=1.0, **many),
        "5,000 double pendulums in lanes": lambda: saltus.simulate_many(pendulum, angles, until=1.0, **many),
        "4,096 lanes, fixed steps": lambda: saltus.rollout(pendulum, lanes, steps=200, step=1e-3, threads=1),
        "map of 1,600 gaits": lambda: run_many(swing, {"dtheta1": a, "dtheta2": b}),
        "dynamic programming, 16^4": lambda: train_table(task, threads=1),
    }


def measure(rounds: int) -> dict[str, float]:
    """The best processor time of each, s, in this process."""
    best = {}
    for name, run in work().items():
        run()  # the first call compiles, or loads what was compiled
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            run()
            times.append(time.process_time() - begin)
        best[name] = min(times)
    return best


def _in_this_process(contracted: bool, rounds: int) -> None:
    from saltus import _native

    if contracted:  # before any compiled function is read
        _native.OPTIONS["fastmath"] = {"contract"}
    print(json.dumps(measure(rounds)))


def _in_another(contracted: bool, rounds: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--rounds", str(rounds), "--child", "contracted" if contracted else "exact"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    return json.loads(done.stdout.splitlines()[-1])


def report(rounds: int = 7, turns: int = 3) -> str:
    """Both in turn, the best of each."""
    best: dict[bool, dict[str, float]] = {}
    for _ in range(turns):
        for contracted in (True, False):
            found = _in_another(contracted, rounds)
            before = best.setdefault(contracted, found)
            best[contracted] = {name: min(before[name], found[name]) for name in found}
    rows = [
        [name, *(milliseconds(best[way][name]) for way in (True, False)), ratio(best[False][name] / best[True][name])]
        for name in best[True]
    ]  # fmt: skip
    mean = float(np.exp(np.mean([np.log(best[False][name] / best[True][name]) for name in best[True]])))
    rows.append(["geometric mean", "", "", ratio(mean)])
    heading = ["work, one thread", "contracted, ms", "the same bits, ms", "ratio"]
    return "## What the same bits on every processor cost\n\n" + table(heading, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each is run in a process")
    parser.add_argument("--child", choices=("contracted", "exact"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        _in_this_process(asked.child == "contracted", asked.rounds)
    else:
        print(report(asked.rounds))
