"""The farthest jump of the hopper: its start, and an angle of the knee that its motor follows [oh_huang, item 5].

The motor is strong beside the links, so that the knee follows almost any angle within milliseconds: what is searched
for is that angle over time, not the torque. After the landing a torque and a spring take over. What is to bear mixes
goes by what it sees, not by time: see `_sure`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from saltus.control import Compiled
from saltus.engine import Batch, Figures, Trajectory
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.optimize._collocation import Arc, Motion, collocate, cut
from saltus.optimize._mixes import Mixes
from saltus.optimize._problem import Problem, Stage, Trial
from saltus.optimize.problems import _sure
from saltus.robots.hopper import HEIGHT_R, JUMP_IN_TIME, TOUCH

ROBOT = "hopper"

Judge = Callable[[Batch], np.ndarray]

# Until when the posture must be held: to the end, or until the first impact.
READINGS = ("strict", "until-impact")

POSTURE = ("posture", "folded", "Q_above_P", "R_above_Q")

# How long each piece of the knee's angle may last, s: those of the run-up, of the push, and of the flight.
RUN_UP, QUICK, FLIGHT = [(0.05, 0.16)] * 4, [(0.01, 0.08)] * 3, [(0.02, 0.2)] * 5

# A foot that leaves the ground sooner, s, had no run-up.
EARLY = 0.6

# Intervals of collocation, s, ever finer, and what part of the time each may take.
SPACINGS, SHARES = (0.008, 0.004, 0.002), (0.1, 0.4, 0.5)

# How high the knee or the head is, m, when the other strikes the ground.
APART = 0.01

# What may be off: torque by 2 %, friction by 10 %, both angles at the start by a degree.
MIXES = Mixes({"gain": 0.02, "mu": 0.1}, {"theta1": math.radians(1), "theta2": math.radians(1)}, count=64)

# Pushes, flights and ends of which the best is gone on with.
TRIES = 3

# Numbers of how the turning in the air is held: a gain, and the angle and speed of the line from foot to head.
TRIM = ("trim", "lean", "turn")

# Numbers of what is done after the landing.
AFTER = ("torque", "root_stiffness", "rest", "root_damping")

# How long a run may last, s: until a link is on the ground, or else it is not a jump to its end.
UNTIL = 3.0

# What a time without the posture costs, m/s at first, and never more than so many m.
COST, AT_MOST = 15.0, 5.0


def follow(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Knots of one spline before the jump, of another in the air, under a stiff spring; then the last four numbers.

    In the air the knee is trimmed by how far the line from foot to head is off what it should be.
    """
    n, m = int(data[0]), int(data[1])
    if status[0] != 0 and t > data[3 + n]:
        c = 7 + 2 * n + 2 * m
        u[0] = data[c] + data[c + 1] * (data[c + 2] - x[3]) - data[c + 3] * x[7]
        return 0
    first, count = (4, n) if status[0] != 0 else (4 + 2 * n, m)
    k = 0
    while k < count - 2 and t >= data[first + 1 + k]:
        k += 1
    i, j = first + k, first + count + k
    a, b, va, vb = data[i], data[i + 1], data[j], data[j + 1]
    ma = (vb - data[j - 1]) / (b - data[i - 1]) if k > 0 else 0.0
    mb = (data[j + 2] - va) / (data[i + 2] - a) if k < count - 2 else 0.0
    h = b - a
    r = min(max((t - a) / h, 0.0), 1.0)
    s = 1 - r
    goal = s * s * ((1 + 2 * r) * va + r * h * ma) + r * r * ((1 + 2 * s) * vb - s * h * mb)
    rate = 6 * r * s * (vb - va) / h + (1 - 4 * r + 3 * r * r) * ma + (3 * r * r - 2 * r) * mb
    if status[0] == 0:
        # the more it is folded, the faster the line from foot to head turns
        c = 4 + 2 * n + 2 * m
        goal += data[c] * (data[c + 1] + data[c + 2] * (t - data[first]) - x[2] - 0.5 * x[3])
    u[0] = data[2] * (goal - x[3]) + data[3] * (rate - x[7])
    return 0


def make(robot: HybridSystem, reading: str = "strict", mixes: Mixes | None = None) -> Problem:
    if reading not in READINGS:
        raise unknown_name("reading", reading, READINGS)
    if not robot.values["g"] > 0:
        raise InputError(f"a jump needs a gravity above 0 that ends it, got g = {robot.values['g']:g} m/s^2")
    after = {"torque": (-5.0, 5.0), "root_stiffness": (0.0, 2.2), "rest": (-2.5, 2.5), "root_damping": (0.0, 0.7)}
    variables = {**(_in_time() if mixes is None else {**_sure.JUMP, **_sure.AIM, **_sure.SIGHT}), **after}

    def judge(batch: Batch) -> np.ndarray:
        return _judge(batch, reading)

    def binding(run: Trajectory) -> float:
        landing = JUMP_IN_TIME(run)["t_landing"]
        return run.end_time if reading == "strict" or landing is None else landing

    return Problem(
        f"jump of {robot.name}, {reading}" + ("" if mixes is None else f", mixes {mixes.size:g}"),
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
        complete=lambda run: JUMP_IN_TIME(run)["jump_over"] == 1.0,
        stages=stages(robot, reading, judge) if mixes is None else sure_stages(judge),
        mixes=mixes,
        lengths=lambda batch: _lengths(batch, reading),
        polish=lambda run, seconds: polish(robot, reading, run, seconds),
    )


def _in_time() -> dict[str, tuple[float, float]]:
    """The start and the knots of the knee's angle; logarithms of times: short pieces matter as much as long ones."""
    whole, angle = (math.radians(-170), math.radians(170)), (math.radians(-165), math.radians(165))
    variables = {"theta1": (0.0, math.pi), "theta2": whole}
    for k, (low, high) in enumerate((*RUN_UP, *QUICK), 1):
        variables |= {f"push{k}": angle, f"log_push{k}": (math.log(low), math.log(high))}
    variables |= {"fly0": angle}
    for k, (low, high) in enumerate(FLIGHT, 1):
        variables |= {f"fly{k}": angle, f"log_fly{k}": (math.log(low), math.log(high))}
    return variables | {"trim": (-4.0, 4.0), "lean": (0.4, 2.4), "turn": (-2.0, 6.0)}


def stages(robot: HybridSystem, reading: str, judge: Judge) -> tuple[Stage, ...]:
    """How to leave the ground, judged by how far that can lead; how to come down and what to do then."""
    push = [
        "theta1",
        "theta2",
        *(f"{name}{k + 1}" for k in range(len(RUN_UP + QUICK)) for name in ("push", "log_push")),
    ]
    flight = ["fly0", *(f"{name}{k + 1}" for k in range(len(FLIGHT)) for name in ("fly", "log_fly"))]

    def far(lean: float) -> Judge:
        return lambda batch: _potential(batch, robot, lean)

    goals = (MOST,) if LEAN[reading] == MOST else (MOST, LEAN[reading])
    return (
        Stage(push, far(MOST), LIFT, 1.3, candidates=60, gain=0.02, patience=20, tries=2 * TRIES),
        *(Stage(push, far(goal), LIFT, 1.3, candidates=60, patience=60, width=0.05, drawn=0) for goal in goals),
        Stage(
            [*flight, *TRIM, *AFTER], judge, JUMP_IN_TIME, UNTIL, candidates=60, patience=80, tries=TRIES, drawn=0,
        ),
    )  # fmt: skip


def sure_stages(judge: Judge) -> tuple[Stage, ...]:
    """The jump without looking at how the push goes, from the best of many, under few mixes; then with all numbers."""
    names = (*_sure.JUMP, *_sure.AIM, *AFTER)
    return (
        Stage(names, judge, JUMP_IN_TIME, UNTIL, candidates=24, gain=2e-3, drawn=6000, tries=TRIES, mixes=16),
        Stage([*names, *_sure.SIGHT], judge, JUMP_IN_TIME, UNTIL, width=0.08, candidates=24, drawn=0, mixes=32),
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

# The line from foot to head at the landing, rad: as far back as it may lean or, if it must be held to the end, less,
# since it goes on turning. Folded links turn so many times faster than stretched ones.
MOST, FOLDED = math.radians(149), 2.2
LEAN = {"strict": math.radians(120), "until-impact": MOST}


def _potential(batch: Batch, robot: HybridSystem, lean: float) -> np.ndarray:
    """How far a push leads if the links, stretched or folded in flight, come down on a foot that is well ahead.

    The line from foot to head turns by the angular momentum over an inertia that depends on the knee alone, since the
    links are alike.
    """
    f = batch.figures
    m, l, g = (robot.values[name] for name in ("m", "l", "g"))
    x, y, vx, vy, (c1, s1, c2, s2, w1, w2) = _centre(f, l)
    # angular momentum: of each link about its own centre, and of both centres about their middle
    rx, ry, ux, uy = l * (c1 + c2), l * (s1 + s2), -l * (s1 * w1 + s2 * w2), l * (c1 * w1 + c2 * w2)
    own = m * l * l / 3
    momentum = own * (w1 + w2) + 0.5 * m * (rx * uy - ry * ux)
    middle = f["theta1"] + f["theta2"] / 2
    flight = (vy + np.sqrt(vy**2 + 2 * g * np.maximum(y - l, 0.0))) / g
    turned = momentum * flight / (2 * own + 2 * m * l * l)
    last = middle + np.clip(lean - middle, np.minimum(turned, FOLDED * turned), np.maximum(turned, FOLDED * turned))
    over = np.maximum(0.0, np.maximum(last - lean, math.pi - MOST - last))
    last = np.clip(last, math.pi - MOST, lean)
    flight = (vy + np.sqrt(vy**2 + 2 * g * np.maximum(y - 2 * l * np.sin(last), 0.0))) / g
    far = np.clip(x + vx * flight - 2 * l * np.cos(last) - f["x_start"], -2, 5)
    far = far - 0.6 * over - _cost(f["t_lift"] - f["t_violation"])
    far = np.where(vy < 0.3, -3.0 + np.minimum(vy, 0.3), far)
    lifted = f["lifted"] > 0
    stood = np.minimum(np.where(lifted, f["t_lift"], batch.t_end), f["t_violation"])
    return np.where(lifted & (stood >= EARLY), far, -6.0 + np.minimum(stood, 1.0))


def _centre(f: Mapping[str, np.ndarray], l: float) -> tuple[Any, ...]:
    """Where the centre of mass is and how it moves; cosines, sines and speeds of the links."""
    lower, upper = f["theta1"], f["theta1"] + f["theta2"]
    w1, w2 = f["dtheta1"], f["dtheta1"] + f["dtheta2"]
    c1, s1, c2, s2 = np.cos(lower), np.sin(lower), np.cos(upper), np.sin(upper)
    x, y = f["x"] + l * (1.5 * c1 + 0.5 * c2), f["y"] + l * (1.5 * s1 + 0.5 * s2)
    vx, vy = f["dx"] - l * (1.5 * s1 * w1 + 0.5 * s2 * w2), f["dy"] + l * (1.5 * c1 * w1 + 0.5 * c2 * w2)
    return x, y, vx, vy, (c1, s1, c2, s2, w1, w2)


def polish(robot: HybridSystem, reading: str, run: Trajectory, seconds: float) -> Iterator[Motion]:
    """The best jump near a run, through the same modes, to the foot or to the knee or head that struck; ever finer."""
    rules = {guard.name: guard.expression for guard in robot.guards}
    whole = cut(run, SPACINGS[0])
    modes = [arc.mode for arc in whole]
    if "flight" not in modes[:-1]:
        raise InputError(f"a jump leaves the ground and lands, and this run goes through {', '.join(modes)} only")
    flight = modes.index("flight")
    struck, other = ("height_R", "height_Q") if "height_R" in run.events[-1].guards else ("height_Q", "height_R")
    # what strikes first must do so well before the other, or else a hair decides where the jump ends
    ground, landing = [rules[struck], rules[other]], [rules[struck], rules[other] - APART]
    posture = [rules[name] for name in POSTURE]

    def kept(arcs: list[Arc], to: int) -> list[Arc]:
        last = len(arcs) - 1
        return [
            replace(arc, keep=[*(landing if k == last else ground), *(posture if k < to else ())])
            for k, arc in enumerate(arcs)
        ]

    joint = robot.mechanism.points[struck[-1]].position[0]
    d = robot.dynamics
    place = ca.Function("place", [d.x], [ca.substitute(joint, d.p, robot.parameter_values)])

    def lengths(begins: list[Any], ends: list[Any]) -> list[Any]:
        first = [begins[k][0] for k in range(flight)] + [ends[flight - 1][0]]
        landed = [k for k in range(flight + 1, len(modes)) if modes[k] != "flight"]
        last = [at[k][0] for k in landed for at in (begins, ends)] + [place(ends[-1])]
        return [end - begin for end in last for begin in first]

    rest = dict.fromkeys(("x", "y", "dx", "dy", "dtheta1", "dtheta2"), 0.0)

    def found(arcs: list[Arc], guess: Trajectory | Motion, share: float) -> Motion:
        return collocate(
            robot, arcs, guess, maximise=lengths, start=rest, finish=[rules[struck]], margin=1e-4, smooth=1e-4,
            max_seconds=share * seconds,
        )  # fmt: skip

    # the posture of the landing is asked for only when there is a jump
    motion = found(kept(whole, flight + 1), run, SHARES[0])
    yield motion
    if reading == "strict":
        motion = found(kept(whole, len(whole)), motion, SHARES[0])
        yield motion
    for spacing, share in zip(SPACINGS[1:], SHARES[1:], strict=True):
        motion = found(motion.finer(spacing), motion, share)
        yield motion


def trial(values: Mapping[str, float]) -> Trial:
    """The run of a candidate."""
    after = (values["torque"], values["root_stiffness"] ** 2, values["rest"], values["root_damping"] ** 2)
    if "crouch" in values:
        return _sure.trial(values, after)
    push, push_times = _knots(values, "push", len(RUN_UP + QUICK), values["theta2"], 0.0)
    flight, flight_times = _knots(values, "fly", len(FLIGHT), values["fly0"], push_times[-1])
    trim = tuple(values[name] for name in TRIM)
    knots = (*push_times, *push, *flight_times, *flight)
    data = (len(push), len(flight), _sure.STIFFNESS, _sure.DAMPING, *knots, *trim, *after)
    return Trial({name: values[name] for name in ("theta1", "theta2")}, Compiled(follow, data=data))


def _knots(
    values: Mapping[str, float], name: str, count: int, first: float, begin: float
) -> tuple[list[float], list[float]]:
    """Angles and times of a spline."""
    angles, times = [first], [begin]
    for k in range(1, count + 1):
        angles.append(values[f"{name}{k}"])
        times.append(times[-1] + math.exp(values[f"log_{name}{k}"]))
    return angles, times


def lacks(values: Mapping[str, float]) -> float:
    """By how much the first posture is not allowed, rad."""
    start = _sure.start(values) if "crouch" in values else values
    lower, upper = start["theta1"], start["theta1"] + start["theta2"]
    middle = start["theta1"] + start["theta2"] / 2
    over = [-lower, lower - math.pi, -upper, upper - math.pi, math.radians(30) - middle, middle - math.radians(150)]
    return sum(max(0.0, value) for value in over)


def _cost(late: np.ndarray) -> np.ndarray:
    return AT_MOST * -np.expm1(-COST / AT_MOST * np.maximum(late, 0.0))


def _judge(batch: Batch, reading: str) -> np.ndarray:
    """The jump to the farthest back that anything ever lands, less what it takes for the time without posture."""
    d, late = _jumped(batch, reading)
    score = d - _cost(late) - (batch.status == "finished")
    stood = np.minimum(batch.t_end - np.maximum(late, 0.0), 1.0)
    return np.where(np.isnan(batch["t_landing"]), -6.0 + stood, score)


def _jumped(batch: Batch, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """How far, and how long before the posture need not be held any more it was lost."""
    d, landing = np.minimum(batch["x_end"], batch["x_back"]) - batch["x_start"], batch["t_landing"]
    violated = np.where(np.isnan(batch["t_violation"]), math.inf, batch["t_violation"])
    held = reading == "until-impact"
    until = np.where(np.isnan(landing), batch.t_end, landing) if held else batch.t_end - 1e-9
    return d, until - violated


def _lengths(batch: Batch, reading: str) -> np.ndarray:
    d, late = _jumped(batch, reading)
    return np.where((late > 0) | ~np.isin(batch.status, ("terminal",)), math.nan, d)


PROBLEM = make
