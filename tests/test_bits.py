"""Compiled code gives the same bits on every processor: those that are written down in `bits.json`.

``python tests/test_bits.py`` writes the file anew, after a change of the engine that is meant to change bits.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

import saltus
from saltus.control import PD, Compiled, Reach, Schedule, Sine
from saltus.optimize import train_table
from saltus.robots import find_robot, robot_names

STORED = Path(__file__).parent / "bits.json"

# Plain numbers: what prepares a start (readings, projections) is not compiled, and may differ in the last bit.
STARTS = {
    "coin": [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.25, 0.0, 0.0, 0.5, 2.0, 0.5],
    "bouncing_ball": {"y": 1.0, "dx": 0.25},
    "double_pendulum": {"theta1": 2.0},
    "pendulum": {"theta": 1.0},
    "monkeybot": {},
    "segway_rolled": {"theta": 0.125},
    "segway_reduced": {"theta": 0.125},
}


def digest(*arrays):
    """Of the bits of all numbers."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return whole.hexdigest()[:16]


def of_run(run):
    return digest(run.x[-1], [event.t for event in run.events], [float(run.steps)])


def passive(name):
    robot = find_robot(name)
    return of_run(saltus.simulate(robot, robot.state(STARTS.get(name)), until=2.0))


def controlled(name, controller):
    return of_run(saltus.simulate(find_robot(name), controller=controller, until=1.5))


def long_run():
    return of_run(saltus.simulate(find_robot("double_pendulum"), {"theta1": 2.0}, until=60.0))


def many():
    drops = np.linspace(0.5, 2.0, 200)
    made = saltus.simulate_many(find_robot("bouncing_ball"), {"y": drops}, until=1.0)
    return digest(made.states, made.t_end)


def lanes():
    starts = np.linspace(-2.0, 2.0, 256).reshape(64, 4)
    pendulum = find_robot("double_pendulum")
    made = saltus.simulate_many(pendulum, starts, until=1.0, lanes=True)
    return digest(made.states, saltus.rollout(pendulum, starts, steps=100, step=1e-3).states)


def table():
    task = Reach(find_robot("brachiator"), ("B", (0.55, 0.0)), "A", grid=8)
    return hashlib.sha256(train_table(task).values.tobytes()).hexdigest()[:16]


def special(t, x, status, memory, p, data, piece, u, request):
    near, far = math.gamma(2.5 * t - 1.9987) * math.erfc(3.0 * t), math.exp2(t) * math.lgamma(0.1 + 19.0 * t)
    u[0] = 0.01 * near + 0.1 * far + math.erf(t) * math.gamma(1.0 + 30.0 * t) * 1e-50
    return 0


CASES = {
    **{f"passive {name}": (passive, name) for name in robot_names() if "claptrap" not in name},
    "double pendulum, 60 s": (long_run,),
    "block, sine": (controlled, "block", Sine(amplitude=8.0)),
    "pendulum, PD": (controlled, "pendulum", PD(kp=5.0)),
    "hopper, steps": (controlled, "hopper", Schedule.steps([0.0, 0.05, 0.2], [3.0, -1.0, 0.5])),
    "pendulum, special functions": (controlled, "pendulum", Compiled(special, period=1e-3)),
    "many runs": (many,),
    "lanes": (lanes,),
    "value table": (table,),
}


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_every_processor(name):
    function, *given = CASES[name]
    assert function(*given) == json.loads(STORED.read_text())[name]


if __name__ == "__main__":
    STORED.write_text(
        json.dumps({name: function(*given) for name, (function, *given) in CASES.items()}, indent=1) + "\n"
    )
