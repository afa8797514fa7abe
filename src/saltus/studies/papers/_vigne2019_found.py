"""All that the reproduction of [vigne2019] computes before anything is judged: runs, matrices, linear systems, maps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from saltus.control import Linear, controllability_determinant, linearize
from saltus.engine import Trajectory, simulate
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot
from saltus.studies import RecoverableIntervals, Region, recoverable_intervals, region
from saltus.studies.papers import _vigne2019_printed as printed

CONTROLLERS = ("none", "pd", "lqr")
PLANAR = ("segway", "segway_reduced", "segway_rolled")
TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}
# How long forms of the robot are compared, s, and the limit of the motor where it has one, N m.
COMPARED, LIMIT = 2.0, 20.0
# Random states and parameters that matrices are compared at.
STATES = 200
# A lean at which the contact of the paper and that of a disc are told apart, rad.
LEAN = 0.1
# Up to which pitch returns are sought, rad: the top of the body meets the floor at 1.7214. How long they may take, s.
HIGHEST, RETURN_TIME = 1.7, 20.0
# The steps of that scan at the finest detail, and how narrowly its edges are bracketed, rad.
PITCH_STEP, PITCH_TOLERANCE = 1e-3, 1e-6
# The ground of the maps on which the wheel may slip; rubber on dry concrete has about as much.
FRICTION = 1.0
# What the maps are of: a robot, and what else it is given.
GROUNDS: dict[str, tuple[str, dict[str, float]]] = {
    "rolls": ("segway_rolled", {}),
    "lifts": ("segway", {}),
    "slips": ("segway", {"mu": FRICTION}),
}
# Maps and scans are no finer than at this detail: each cell is a run of ten seconds or more.
FINEST = 60
LETTERS = ("m", "l", "I", "m_w", "J", "r", "g")


@dataclass(frozen=True)
class Leaning:
    """A wheel at rest that leans, its contact at the rim or straight below its centre, as the paper has it."""

    height: tuple[float, float]
    roll_acceleration: tuple[float, float]


@dataclass(frozen=True)
class Found:
    """All that is computed before anything is judged."""

    values: dict[str, float]
    # in space and in the plane, by controller: tightly, over 10 s or until it falls
    space: dict[str, Trajectory]
    planar: dict[str, Trajectory]
    # in space, with a limited motor
    limited: dict[str, Trajectory]
    rest_force: tuple[float, float]
    rows_apart: float
    rates_apart: float
    matrices_apart: dict[str, float]
    # the largest difference of any form from the planar one with its contact, by controller and form
    forms_apart: dict[tuple[str, str], float]
    leaning: Leaning
    upright: Linear
    rolled: Linear
    equal: Linear
    equal_values: dict[str, float]
    determinants: dict[str, tuple[float, float]]
    linear_apart: float
    pd_loop: np.ndarray
    lqr_loop: np.ndarray
    ninety: float
    # pitches at rest from which the body comes upright, by robot, controller and limit
    pitches: dict[tuple[str, str, float], RecoverableIntervals]
    # by controller and ground
    maps: dict[tuple[str, str], Region]


def find(robot: HybridSystem, detail: int, progress: Callable[[str, float], None]) -> Found:
    """Compute everything; ``detail`` and ``progress`` as in `saltus.studies.Paper`."""
    progress("runs", 0.0)
    segway, rolled = find_robot("segway"), find_robot("segway_rolled")
    space, planar = ({name: _run(one, name, 10.0) for name in CONTROLLERS} for one in (robot, segway))
    weak = robot.with_parameters(wheel_effort=LIMIT)
    limited = {name: _run(weak, name, 20.0) for name in ("pd", "lqr")}
    progress("matrices", 0.2)
    draw = np.random.default_rng(2019)
    rows, rates = _contact_apart(find_robot("claptrap_upright"), draw)
    values = {name: segway.values[name] for name in LETTERS}
    # J at which the printed condition of controllability is not met
    equal = {**values, "J": values["J"] - printed.difference_printed(values)}
    progress("forms", 0.3)
    linear = linearize(rolled, at={"theta": 0.0})
    unlucky = linearize(rolled.with_parameters(J=equal["J"]), at={"theta": 0.0})
    return Found(
        values=values,
        space=space,
        planar=planar,
        limited=limited,
        rest_force=_rest(robot),
        rows_apart=rows,
        rates_apart=rates,
        matrices_apart=_matrices_apart(draw),
        forms_apart=_forms_apart(robot),
        leaning=_leaning(),
        upright=linearize(robot, at={"pitch": 0.0}),
        rolled=linear,
        equal=unlucky,
        equal_values=equal,
        determinants={
            "values": (_determinant(linear), printed.determinant(values)),
            "equal": (_determinant(unlucky), printed.determinant(equal)),
        },
        linear_apart=_linear_apart(linear, values),
        # what is fed back is u = -K z
        pd_loop=linear.closed_loop(np.array([[-150.0, 0.0, -1.5, 0.0]])),
        lqr_loop=linear.closed_loop(linear.lqr(None, [[0.01]])),
        ninety=_ninety(planar["none"]),
        pitches=_pitches(detail, progress),
        maps=_maps(detail, progress),
    )


def _run(system: HybridSystem, controller: str, until: float) -> Trajectory:
    return simulate(system, controller=system.controllers.get(controller), until=until, **TIGHT)


def _rest(robot: HybridSystem) -> tuple[float, float]:
    """The normal force on the robot that stands: by (7) as printed, and with its sign right."""
    M, h, J, _ = printed.Derived(robot)(robot.state({"pitch": 0.0}))
    forces = []
    for sign in (1.0, -1.0):
        whole = np.block([[M, sign * J.T], [J, np.zeros((3, 3))]])
        forces.append(float(np.linalg.solve(whole, [*-h, 0, 0, 0])[len(h) + 1]))
    return forces[0], forces[1]


def _contact_apart(robot: HybridSystem, draw: np.random.Generator) -> tuple[float, float]:
    """Largest differences of (9) from the derived rows, and of what (10) adds from the derived drift, when it rolls."""
    derived, r = printed.Derived(robot), robot.values["r"]
    rows = rates = 0.0
    for _ in range(STATES):
        q = np.concatenate([[0, 0, r], draw.normal(size=4), [draw.uniform(-3, 3)]])
        q[3:7] /= np.linalg.norm(q[3:7])
        R, spin, wheel = _rotation(q[3:7]), draw.uniform(-3, 3, 3), draw.uniform(-10, 10)
        J, rate = printed.contact_rows(R, r), printed.contact_rates(R, spin, r)
        # the axle moves so that the point below it stands still, by (9)
        still = -J[:, 3:] @ [*spin, wheel]
        ours, drift = derived(np.concatenate([q, R @ still, spin, [wheel]]))[2:]
        # forward, sideways and up, in the axes of the body
        forward = np.cross(R[:, 1], [0, 0, 1]) / np.hypot(R[0, 1], R[1, 1])
        axes = R.T @ np.column_stack([forward, [0, 0, 1], np.cross([0, 0, 1], forward)])
        change = np.eye(7)
        change[:3, :3] = R.T
        rows = max(rows, float(np.abs(axes @ ours - J @ change).max()))
        # velocities in turning axes change though nothing is accelerated
        turned = rate @ [*still, *spin, wheel] - np.cross(spin, still)
        rates = max(rates, float(np.abs(axes @ drift - turned).max()))
    return rows, rates


def _rotation(q: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion of length 1, by the vector product."""
    turn = printed.skew(q[1:])
    made: np.ndarray = np.eye(3) + 2 * q[0] * turn + 2 * turn @ turn
    return made


def _matrices_apart(draw: np.random.Generator) -> dict[str, float]:
    """Largest differences of the printed matrices from the derived ones, at random states and parameters."""
    full, reduced, rolled = (printed.Derived(find_robot(name)) for name in PLANAR)
    apart = dict.fromkeys(("(11)", "(13)", "(14), (15)", "(17)", "(18)"), 0.0)
    for _ in range(STATES):
        p = dict(zip(LETTERS, draw.uniform(0.1, 3.0, len(LETTERS)).tolist(), strict=True))
        theta, rate, phi, other = draw.uniform(-3, 3, 4)
        M, h, J, _ = full([0, 0, theta, phi, p["r"] * (rate + other), 0, rate, other], **p)
        H, rest, row = printed.three_coordinates(p, theta, rate)
        keep = [0, 2, 3]
        apart["(11)"] = max(apart["(11)"], _off(J[0, keep], row))
        apart["(13)"] = max(apart["(13)"], _off(M[np.ix_(keep, keep)], H), _off(h[keep], rest))
        M, h, *_ = reduced([theta, phi, rate, other], **p)
        H, rest = printed.two_coordinates(p, theta, rate)
        apart["(14), (15)"] = max(apart["(14), (15)"], _off(M, H), _off(h, rest))
        apart["(17)"] = max(apart["(17)"], _off(reduced([0, phi, 0, 0], **p)[0], printed.two_coordinates(p, 0, 0)[0]))
        apart["(18)"] = max(apart["(18)"], _off(rolled([0, phi, 0, 0], **p)[0], printed.rolled(p)))
    return apart


def _off(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / (1 + np.abs(theirs).max()))


def _forms_apart(robot: HybridSystem) -> dict[tuple[str, str], float]:
    """Largest differences from the planar robot with its contact over 2 s; the body may turn over."""
    apart: dict[tuple[str, str], float] = {}
    times = np.linspace(0.0, COMPARED, 201)
    for controller in CONTROLLERS:
        series = {}
        for system in (robot, *map(find_robot, PLANAR)):
            run = _run(system.with_guards(fall="ignore"), controller, COMPARED)
            series[system.name] = _sagittal(run, times)
        own = series.pop("segway")
        apart |= {(controller, name): float(np.abs(one - own).max()) for name, one in series.items()}
    return apart


def _sagittal(run: Trajectory, times: np.ndarray) -> np.ndarray:
    """Pitch, angle rolled and their rates: theta, psi, and what they become each second."""
    x = dict(zip(run.system.state_names, run.at(times).T, strict=True))
    r = run.system.values["r"]
    if run.system.name == "segway":
        parts = (x["theta"], x["x"] / r, x["dtheta"], x["dx"] / r)
    elif run.system.name == "segway_reduced":
        parts = (x["theta"], x["theta"] + x["phi"], x["dtheta"], x["dtheta"] + x["dphi"])
    elif run.system.name == "segway_rolled":
        parts = (x["theta"], x["psi"], x["dtheta"], x["dpsi"])
    else:
        parts = (np.unwrap(2 * np.arctan2(x["qy"], x["qw"])), x["x"] / r, x["wy"], x["dx"] / r)
    return np.array(parts)


def pitch_and_place(run: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, pitch and place of the axle, at the samples of a run."""
    theta, psi, *_ = _sagittal(run, run.t)
    return run.t, theta, psi * run.system.values["r"]


def sagittal_end(run: Trajectory) -> tuple[float, float]:
    """Place and velocity of the axle at the end of a run, m and m/s."""
    return run.final["x"], run.final["dx"]


def _leaning() -> Leaning:
    """How high the axle is, and how fast a robot at rest begins to lean further, with either contact."""
    heights, accelerations = [], []
    for name in ("claptrap", "claptrap_upright"):
        robot = find_robot(name)
        x = robot.state({"pitch": 0.0, "roll": LEAN})
        M, h, J, drift = printed.Derived(robot)(x)
        whole = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
        solved = np.linalg.solve(whole, [*-h, *-drift])
        heights.append(float(x[2]))
        accelerations.append(float(solved[3]))
    return Leaning((heights[0], heights[1]), (accelerations[0], accelerations[1]))


def _ordered(linear: Linear) -> tuple[np.ndarray, np.ndarray]:
    """A and B in the order of the paper's states, (19)."""
    order = [linear.states.index(name) for name in ("theta", "dtheta", "psi", "dpsi")]
    return linear.A[np.ix_(order, order)], linear.B[order]


def _linear_apart(linear: Linear, values: dict[str, float]) -> float:
    pairs = zip(_ordered(linear), printed.linear(values), strict=True)
    return max(_off(ours, theirs) for ours, theirs in pairs)


def _determinant(linear: Linear) -> float:
    """Of the controllability matrix."""
    return float(controllability_determinant(*_ordered(linear)))


def _ninety(run: Trajectory) -> float:
    """When the body passes the horizontal, s."""
    theta = run.system.state_names.index("theta")
    return float(brentq(lambda t: run.at(t)[theta] - math.pi / 2, 0.0, run.end_time, xtol=1e-13))


def _pitches(detail: int, progress: Callable[[str, float], None]) -> dict[tuple[str, str, float], RecoverableIntervals]:
    """The pitches at rest from which the body comes upright, by robot, controller and limit."""
    found = {}
    step = PITCH_STEP * FINEST / min(detail, FINEST)
    cases = list(itertools.product(("segway_rolled", "segway"), ("pd", "lqr"), (LIMIT, math.inf)))
    for k, (name, kind, limit) in enumerate(cases):
        progress("recoverable pitches", 0.4 + 0.3 * k / len(cases))
        system = find_robot(name).with_parameters(torque_limit=limit)
        found[name, kind, limit] = recoverable_intervals(
            system, "theta", (0.0, HIGHEST), resolution=step, tolerance=PITCH_TOLERANCE,
            controller=system.controllers[kind], until=RETURN_TIME,
        )  # fmt: skip
    return found


def _maps(detail: int, progress: Callable[[str, float], None]) -> dict[tuple[str, str], Region]:
    cells = min(detail, FINEST)
    axes = ("theta", np.linspace(-1.6, 1.6, cells)), ("dtheta", np.linspace(-6.0, 6.0, cells))
    found = {}
    for k, (name, (ground, (form, values))) in enumerate(itertools.product(("pd", "lqr"), GROUNDS.items())):
        progress(f"region of attraction, {name}", 0.7 + 0.2 * k / (2 * len(GROUNDS)))
        system = find_robot(form).with_parameters(torque_limit=LIMIT, **values)
        found[name, ground] = region(system, *axes, controller=system.controllers[name])
    return found
