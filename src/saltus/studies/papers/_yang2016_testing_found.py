"""All that is computed of chapter 8 of [yang2016]: chatter, masses not known, releases, inclines, noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus.contact._unit import RELEASE
from saltus.control import Compiled, Encoder, Energy, Gripper, Hardware, Imu, Motor
from saltus.engine import Trajectory, simulate
from saltus.robots import put
from saltus.studies import Swing, fell, swings
from saltus.studies._swings import _back_swings
from saltus.studies.papers._yang2016_chapter import FINE, Progress
from saltus.studies.papers._yang2016_energy_numbers import caught
from saltus.studies.papers._yang2016_runs import OPEN, ROUGHLY, SWING, UP, hanging, inclined, swung, thesis

# Of the robot beside the model that its controller has [8.2], and what is taken off the aim.
HEAVIER, REDUCTION = 1.15, 0.25
REDUCTIONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
# Delays before torque, s [8.3].
DELAYS = (0.0, 0.1, 0.2, 0.3, 0.4)
# Slack of the claws, m [8.4], how long a droop may take, s; friction: viscous, N m s/rad, and dry, N m; chosen here.
SLACK, DROOPS = 0.01, 0.05
RUBBED = {"elbow_viscous": 0.06, "hand_viscous": 0.06, "elbow_coulomb": 0.3, "hand_coulomb": 0.3}
CONDITIONS = ("no droop", "droop of 1 cm", "droop, friction, motor curve, 15 % heavier")
# Buffers with which the thesis' own controller may try an incline, J.
BUFFERS = (0.0, 1.0, 2.0, 3.0, 5.0)
# How a try of an incline ends.
SINGLE, BACK, FELL, MISSED = "one forward swing", "back-swing", "fell", "missed"
# Noise of the inertial unit: root mean square of the angle, degrees; of the rate five times that, degrees/s [8.5].
NOISES = (0.0, 0.5, 1.0, 2.0, 4.0)
# Time to close of a claw, s.
CLOSES = 0.18
# In which time reversals of the torque are counted, s.
FIRST = 0.2


@dataclass(frozen=True)
class Release:
    """Torque that comes before the claw is open: how long it is, the work it does, and its pull at a bar."""

    opened: float
    work: float
    force: float


@dataclass(frozen=True)
class Found:
    """All that is computed of chapter 8."""

    # reversals of the torque in the first moments of a swing-up with noisy sensors: plain, hysteresis, bootstrap
    reversals: dict[str, int]
    # by what is taken off the aim, with masses that are not known: swing-up; ours, with nothing taken off
    reduced: dict[float, Swing | None]
    ahead: Swing | None
    # by delay: what the torque does before the hand is open; the swing of a controller that sees the hand
    released: dict[float, Release]
    delayed: dict[float, Swing | None]
    # by kind of controller, condition and incline, degrees: how it ends
    inclines: dict[tuple[str, str, float], str]
    # how long the hand stays within reach of the bar on its way past, s: by kind
    windows: dict[str, float]
    # by noise and whether the state is estimated: caught, of how many
    noisy: dict[tuple[float, bool], tuple[int, int]]


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; scans are finer, and samples larger, with more ``detail``."""
    progress("swing-up", 0.0)
    reversals, (reduced, ahead) = _reversals(), _reduced(REDUCTIONS if detail >= FINE else (0.0, REDUCTION))
    progress("release", 0.15)
    swinger = put("brachiator", SWING)
    delayed = {delay: swung(swinger, _claws(Energy(close_time=CLOSES, release_delay=delay)), 3.0) for delay in DELAYS}
    return Found(
        reversals=reversals,
        reduced=reduced,
        ahead=ahead,
        released={delay: _release(delay) for delay in DELAYS},
        delayed=delayed,
        inclines=_inclines(detail, progress),
        windows={"thesis": _window(thesis(gains={"close_energy": 0.0})), "ours": _window(_never_closing())},
        noisy=_noisy(detail, progress),
    )


def _never_closing() -> Energy:
    return Energy(gains={"close_energy": 0.0})


def _claws(controller: Energy) -> Hardware:
    return Hardware(controller, gripper=Gripper())


def _reversals() -> dict[str, int]:
    kinds = {"plain": thesis(), "hysteresis": thesis(hysteresis=0.1), "bootstrap": thesis(bootstrap=0.8)}
    made = {}
    for name, controller in kinds.items():
        seen = Hardware(controller, imu=_imu(1.0), encoder=Encoder(), seed=8)
        run = simulate(hanging(), controller=seen, mode=OPEN, until=FIRST, output_step=1e-3, **ROUGHLY)
        torque = run.samples.inputs[:, 0]
        made[name] = int((np.diff(np.sign(torque[torque != 0])) != 0).sum())
    return made


def _imu(degrees: float) -> Imu:
    return Imu(angle_noise=math.radians(degrees), rate_noise=math.radians(5 * degrees))


def _reduced(shares: Sequence[float]) -> tuple[dict[float, Swing | None], Swing | None]:
    """Swing-ups of a robot that is heavier than its controller believes, by what is taken off the aim; and ours."""
    nominal = hanging()
    heavy = hanging(UP, **{name: HEAVIER * nominal.values[name] for name in ("m1", "m2")})
    made = {share: swung(heavy, thesis(reduction=share, model=nominal.values), 15.0, OPEN) for share in shares}
    return made, swung(heavy, Energy(model=nominal.values), 15.0, OPEN)


# In data: which unit is to open, and when torque begins.
UNIT, BEGINS = range(2)


def early(t, x, status, memory, p, data, piece, u, request):
    """Ask a hand to open at once, and begin with all of the torque after a while, whatever the hand does."""
    request[int(data[UNIT])] = RELEASE
    u[0] = 10.0 if t >= data[BEGINS] - 1e-9 else 0.0
    return 0


def _release(delay: float) -> Release:
    system = put("brachiator", SWING)
    free = next(k for k, unit in enumerate(system.units) if unit.name == "B")
    controller = Hardware(Compiled(early, [free, delay], period=1e-3), gripper=Gripper(), seed=8)
    run = simulate(system, controller=controller, until=0.6, output_step=1e-3)
    opened = next((event.t for event in run.events if "B:closed" not in event.mode_after), run.end_time)
    s = run.samples
    held = s.t < opened - 1e-9
    rows = [system.first_rows[k] for k, unit in enumerate(system.units) if unit.name in ("A", "B")]
    forces = [np.hypot(*s.forces[held, row : row + 2].T) for row in rows]
    return Release(opened, float(np.abs(s.integrals[held, 0]).max()), float(np.max(forces)))


def _inclines(detail: int, progress: Progress) -> dict[tuple[str, str, float], str]:
    """How bars of ladders that rise are reached; by the thesis' own controller with the best of some buffers."""
    fine = detail >= FINE
    made = {}
    for k, condition in enumerate(CONDITIONS):
        progress("inclination", 0.25 + 0.35 * k / len(CONDITIONS))
        for degrees in range(0, 41, 2 if fine else 20):
            made["ours", condition, float(degrees)] = _try(condition, degrees, None)
        for degrees in range(0, 21, 1 if fine else 10):
            tries = [_try(condition, degrees, buffer) for buffer in (BUFFERS if fine else BUFFERS[:1])]
            ends = (SINGLE, BACK, MISSED, FELL)
            made["thesis", condition, float(degrees)] = min(tries, key=ends.index)
    return made


def _try(condition: str, degrees: float, buffer: float | None) -> str:
    """How an incline goes: by ours, or by the thesis' own with a buffer and hands that close at once."""
    nominal = inclined(degrees)
    masses = {name: nominal.values[name] for name in ("m1", "m2")}
    worst = condition == CONDITIONS[2]
    changes = {**RUBBED, **{name: HEAVIER * mass for name, mass in masses.items()}} if worst else {}
    motor = Motor() if worst else None
    slack = 0.0 if condition == CONDITIONS[0] else SLACK
    if buffer is None:
        controller, gripper = Energy(close_time=CLOSES, motor=motor, model=masses), Gripper(slack=slack)
    else:
        controller, gripper = thesis(buffer, model=masses), Gripper(close_time=0.0, slack=slack)
    run = simulate(
        nominal.with_parameters(**changes), controller=Hardware(controller, gripper=gripper, motor=motor),
        until=2.0 if buffer is not None else 4.0,
        output_step=2e-3, **ROUGHLY,
    )  # fmt: skip
    return _ends(run)


def _ends(run: Trajectory) -> str:
    """How a try ends; what the centre of mass does during a droop is no back-swing."""
    if fell(run):
        return FELL
    swing = next((one for one in swings(run) if one.time > DROOPS), None)
    if swing is None or not swing.caught:
        return MISSED
    s = run.samples
    now = (s.t > swing.start + DROOPS) & (s.t < swing.start + swing.time)
    hand = next(k for k, unit in enumerate(run.system.units) if unit.name == swing.hand)
    return BACK if _back_swings(run.system, s.x[now], run.system.first_rows[hand]) else SINGLE


def _window(controller: Energy) -> float:
    """How long the free hand is within reach of the bar at its first pass, s, if it never closes."""
    run = simulate(put("brachiator", SWING), controller=controller, until=2.0, output_step=5e-4)
    away = _distance(run)
    inside = np.flatnonzero(away <= run.system.values["capture"])
    if not inside.size:
        return 0.0
    after = np.flatnonzero(np.diff(inside) > 1)
    last = inside[after[0]] if after.size else inside[-1]
    return float(run.samples.t[last] - run.samples.t[inside[0]])


def _distance(run: Trajectory) -> np.ndarray:
    """Of hand B from the last bar, m."""
    row = run.system.first_rows[next(k for k, unit in enumerate(run.system.units) if unit.name == "B")]
    made: np.ndarray = np.linalg.norm(run.samples.positions[:, row : row + 2] - SWING.bars[2], axis=1)
    return made


def _noisy(detail: int, progress: Progress) -> dict[tuple[float, bool], tuple[int, int]]:
    count = 40 if detail >= FINE else 3
    robot = put("brachiator", SWING)
    made = {}
    for k, noise in enumerate(NOISES):
        progress("noise", 0.6 + 0.4 * k / len(NOISES))
        for observer in (True, False):
            inner = Energy(close_time=CLOSES, observer=observer)
            runs = (
                swung(robot, Hardware(inner, gripper=Gripper(), imu=_imu(noise), encoder=Encoder(), seed=seed), 3.0)
                for seed in range(count)
            )
            made[noise, observer] = sum(map(caught, runs)), count
    return made
