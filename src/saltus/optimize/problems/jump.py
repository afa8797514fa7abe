"""The farthest jump of the hopper: its start, and an angle of the knee that its motor follows [oh_huang, item 5].

The motor is strong beside the links, so that the knee follows almost any angle within milliseconds: what is searched
for is that angle over time, not the torque. After the landing a torque and a spring take over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from saltus.control import Compiled
from saltus.engine import Batch, Figures, Trajectory
from saltus.errors import unknown_name
from saltus.hybrid import HybridSystem
from saltus.optimize._problem import Problem, Stage, Trial
from saltus.robots.hopper import HEIGHT_R, JUMP_IN_TIME, TOUCH

ROBOT = "hopper"

# Until when the posture must be held: to the end, or until the first impact.
READINGS = ("strict", "until-impact")

POSTURE = ("posture", "folded", "Q_above_P", "R_above_Q")

# Pieces of the knee's angle, and how long each may last, s.
PIECES, SHORTEST, LONGEST = 11, 0.01, 0.12

# How stiffly the knee follows, N m/rad and N m s/rad.
STIFFNESS, DAMPING = 30.0, 0.35

# Pieces after which a contact is that after the landing.
PUSH = 6

# How long a run may last, s: until a link is on the ground, or else it is not a jump to its end.
UNTIL = 3.0

# What a second without the posture costs, m: to the end more, since a run that breaks it may end soon.
PENALTY = {"strict": 15.0, "until-impact": 3.0}


def follow(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """A spline through knots under a stiff spring; after the landing what the last four numbers say."""
    n = int(data[0])
    if status[0] != 0 and t > data[3]:
        c = 4 + 2 * n
        u[0] = data[c] + data[c + 1] * (data[c + 2] - x[3]) - data[c + 3] * x[7]
        return 0
    k = 0
    while k < n - 2 and t >= data[5 + k]:
        k += 1
    a, b = data[4 + k], data[5 + k]
    va, vb = data[4 + n + k], data[5 + n + k]
    ma = (vb - data[3 + n + k]) / (b - data[3 + k]) if k > 0 else 0.0
    mb = (data[6 + n + k] - va) / (data[6 + k] - a) if k < n - 2 else 0.0
    h = b - a
    r = min((t - a) / h, 1.0)
    s = 1 - r
    goal = s * s * ((1 + 2 * r) * va + r * h * ma) + r * r * ((1 + 2 * s) * vb - s * h * mb)
    rate = 6 * r * (1 - r) * (vb - va) / h + (1 - 4 * r + 3 * r * r) * ma + (3 * r * r - 2 * r) * mb
    u[0] = data[1] * (goal - x[3]) + data[2] * (rate - x[7])
    return 0


def make(robot: HybridSystem, reading: str = "strict") -> Problem:
    if reading not in READINGS:
        raise unknown_name("reading", reading, READINGS)
    whole = (math.radians(-170), math.radians(170))
    variables = {"theta1": (0.0, math.pi), "theta2": whole}
    variables |= {f"angle{k}": (math.radians(-165), math.radians(165)) for k in range(1, PIECES + 1)}
    # logarithms, since short pieces matter as much as long ones
    variables |= {f"log_t{k}": (math.log(SHORTEST), math.log(LONGEST)) for k in range(1, PIECES + 1)}
    variables |= {"torque": (-5.0, 5.0), "root_stiffness": (0.0, 2.2), "rest": (-2.5, 2.5), "root_damping": (0.0, 0.7)}

    def judge(batch: Batch) -> np.ndarray:
        return _judge(batch, reading)

    def binding(run: Trajectory) -> float:
        landing = JUMP_IN_TIME(run)["t_landing"]
        return run.end_time if reading == "strict" or landing is None else landing

    return Problem(
        f"jump of {robot.name}, {reading}",
        robot.with_guards(**dict.fromkeys(POSTURE, "record")),
        variables,
        trial,
        lacks,
        judge,
        JUMP_IN_TIME,
        "jump_distance",
        UNTIL,
        rules=POSTURE,
        binding=binding,
        stages=stages(robot, judge),
        about=__doc__.split(": ")[0],
    )


def stages(robot: HybridSystem, judge: Any) -> tuple[Stage, ...]:
    """First how to leave the ground, judged by how far that can lead; then how to fly and land."""
    push = ["theta1", "theta2", *(f"{name}{k}" for k in range(1, PUSH + 1) for name in ("angle", "log_t"))]
    rest = [f"{name}{k}" for k in range(PUSH + 1, PIECES + 1) for name in ("angle", "log_t")]
    rest += ["torque", "root_stiffness", "rest", "root_damping"]

    def far(batch: Batch) -> np.ndarray:
        return _potential(batch, robot)

    return (
        Stage(push, far, LIFT, 0.45, candidates=60),
        Stage(rest, judge, JUMP_IN_TIME, UNTIL, width=0.2),
    )


def lift(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
    """Where and how the foot leaves the ground, and when the posture was first violated before."""
    if moment == 0:
        out[1], out[3] = before[0], math.inf
        return 0
    if out[0] == 0:
        out[1] = max(out[1], before[0])
        if moment == 1 and guard > HEIGHT_R and t < out[3]:
            out[3] = t
        if moment == 1 and new[0] == 0 and (old[0] != 0 or guard == TOUCH):
            out[0], out[2] = 1.0, t
            for i in range(8):
                out[4 + i] = after[i]
    return 0


LIFT = Figures(
    ("lifted", "x_start", "t_lift", "t_violation", "x", "y", "theta1", "theta2", "dx", "dy", "dtheta1", "dtheta2"), lift
)

# How the hopper lands in the estimate of how far a push can lead: its centre of mass behind and above its foot, m.
BEHIND, ABOVE = 0.26, 0.15


def _potential(batch: Batch, robot: HybridSystem) -> np.ndarray:
    """How far a push leads if the links are stretched in flight, which turns them least, and land leaning back."""
    f = batch.figures
    m, l, g = (robot.values[name] for name in ("m", "l", "g"))
    lower, upper = f["theta1"], f["theta1"] + f["theta2"]
    w1, w2 = f["dtheta1"], f["dtheta1"] + f["dtheta2"]
    c1, s1, c2, s2 = np.cos(lower), np.sin(lower), np.cos(upper), np.sin(upper)
    x, y = f["x"] + l * (1.5 * c1 + 0.5 * c2), f["y"] + l * (1.5 * s1 + 0.5 * s2)
    vx, vy = f["dx"] - l * (1.5 * s1 * w1 + 0.5 * s2 * w2), f["dy"] + l * (1.5 * c1 * w1 + 0.5 * c2 * w2)
    # angular momentum: of each link about its own centre, and of both centres about their middle
    rx, ry, ux, uy = l * (c1 + c2), l * (s1 + s2), -l * (s1 * w1 + s2 * w2), l * (c1 * w1 + c2 * w2)
    own = m * l * l / 3
    momentum = own * (w1 + w2) + 0.5 * m * (rx * uy - ry * ux)
    flight = (vy + np.sqrt(vy**2 + 2 * g * np.maximum(y - ABOVE, 0.0))) / g
    middle = f["theta1"] + f["theta2"] / 2
    turned = momentum * flight / (2 * own + 2 * m * l * l)
    over = np.maximum(0.0, np.maximum(middle + turned - math.radians(149), math.radians(31) - middle - turned))
    late = np.maximum(0.0, f["t_lift"] - f["t_violation"])
    far = np.clip(x + vx * flight + BEHIND - f["x_start"], -2, 5) - 0.6 * over - PENALTY["until-impact"] * late
    far = np.where(vy < 0.3, -3.0 + np.minimum(vy, 0.3), far)
    return np.where(f["lifted"] > 0, far, -6.0 + np.minimum(np.minimum(batch.t_end, f["t_violation"]), 1.0))


def trial(values: Mapping[str, float]) -> Trial:
    """The run of a candidate."""
    times = np.concatenate([[0.0], np.cumsum([math.exp(values[f"log_t{k}"]) for k in range(1, PIECES + 1)])])
    angles = [values["theta2"], *(values[f"angle{k}"] for k in range(1, PIECES + 1))]
    after = (values["torque"], values["root_stiffness"] ** 2, values["rest"], values["root_damping"] ** 2)
    data = (PIECES + 1, STIFFNESS, DAMPING, times[PUSH], *times, *angles, *after)
    return Trial({name: values[name] for name in ("theta1", "theta2")}, Compiled(follow, data=data))


def lacks(values: Mapping[str, float]) -> float:
    """By how much the first posture is not allowed, rad."""
    lower, upper = values["theta1"], values["theta1"] + values["theta2"]
    middle = values["theta1"] + values["theta2"] / 2
    over = [-lower, lower - math.pi, -upper, upper - math.pi, math.radians(30) - middle, middle - math.radians(150)]
    return sum(max(0.0, value) for value in over)


def _judge(batch: Batch, reading: str) -> np.ndarray:
    """The jump, less what it takes for the time in which its posture is not held."""
    d, landing = batch["jump_distance"], batch["t_landing"]
    violated = np.where(np.isnan(batch["t_violation"]), math.inf, batch["t_violation"])
    until = batch.t_end - 1e-9 if reading == "strict" else landing
    score = d - PENALTY[reading] * np.maximum(until - violated, 0.0) - (batch.status == "finished")
    return np.where(
        np.isnan(landing), -6.0 + np.minimum(np.minimum(violated, batch.t_end), 1.0), np.maximum(score, -4.0)
    )


PROBLEM = make
