"""All that is computed of [yang2016, 7.4]: injection, pose, swing-ups, swings, and what they depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus.contact import ladder
from saltus.control import PD, Energy
from saltus.engine import Trajectory, simulate
from saltus.robots import put
from saltus.studies import Swing
from saltus.studies.papers import _yang2016_printed as printed
from saltus.studies.papers._yang2016_blending import blending
from saltus.studies.papers._yang2016_chapter import FINE, Progress
from saltus.studies.papers._yang2016_pendulum import Pendulum
from saltus.studies.papers._yang2016_runs import (
    OPEN,
    SWING,
    UP,
    Told,
    hanging,
    inclined,
    pose_at,
    rest_energy,
    swung,
    thesis,
    told,
)

KINDS = {"thesis": "the thesis' own", "ours": "ours, which looks ahead"}
# Viscous friction at both joints in the figures of 7.4.7, N m s/rad, and dry friction beside it, N m; chosen here.
VISCOUS, COULOMB = 0.06, 0.3
# How long swing-ups and swings may take, s; where the next bar is, m.
LONG, SHORT = 15.0, 6.0
AWAY_UP, AWAY = (0.568, 0.0), (0.55, 0.0)
# A bar that is too high for one forward swing: on a ladder that rises so steeply, degrees.
STEEP = 36.0
# Random states, and as many random hits of a stop.
STATES = 20_000
# What is changed, by name: parameters of the robot.
CHANGES: dict[str, dict[str, float]] = {
    "torque -10 %": {"torque_gain": 0.9},
    "torque +10 %": {"torque_gain": 1.1},
    "viscous friction": {"elbow_viscous": VISCOUS, "hand_viscous": VISCOUS},
    "dry friction": {"elbow_coulomb": COULOMB, "hand_coulomb": COULOMB},
}


@dataclass(frozen=True)
class Laws:
    """What the injection law and the joint stop do at random states."""

    # shares of states in which the sign of the law is not that of the power, by how states are drawn
    momentum: dict[str, float]
    as_printed: dict[str, float]
    # difference of the bracket from the momentum: as printed, and with the first rate in it
    bracket: tuple[float, float]
    # share of hits that gain energy: with the elbow's rate set to zero, and by a plastic impact
    zeroed: dict[str, float]
    plastic: dict[str, float]
    # largest gain, J
    gain: float


@dataclass(frozen=True)
class Found:
    """All that is computed of 7.4."""

    passive: Trajectory
    free: Trajectory
    stopped: Trajectory
    posed: Trajectory
    aim_up: float
    aim: float
    # by kind of controller
    up: dict[str, Told]
    swing: dict[str, Told]
    steep: Told
    aim_steep: float
    # by kind, and what is changed: swing-up and swing
    changed: dict[tuple[str, str], tuple[Swing | None, Swing | None]]
    # by buffer, J, of the thesis' own: swing-up and swing
    buffers: dict[float, tuple[Swing | None, Swing | None]]
    # by kind and incline, degrees
    inclines: dict[tuple[str, float], Swing | None]
    # by buffer, J: transition by the potential energy, by the total energy
    blends: dict[float, tuple[Swing | None, Swing | None]]
    laws: Laws


def controllers() -> dict[str, Energy]:
    """Both, by kind."""
    return {"thesis": thesis(), "ours": Energy()}


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; the scans are finer with more ``detail``."""
    progress("injection", 0.0)
    robot, swinger = hanging(), put("brachiator", SWING)
    rubbed = robot.with_parameters(elbow_viscous=VISCOUS, hand_viscous=VISCOUS)
    aim = rest_energy(robot, AWAY_UP)
    free, stopped = (
        simulate(system, controller=only_injection(wide), mode=OPEN, until=10.0, output_step=2e-3)
        for wide, system in ((True, rubbed.with_parameters(elbow_stop=1e6)), (False, rubbed))
    )
    level = {"theta1": -math.pi / 2}
    pose = PD(kp=20.0, kd=1.8, target=pose_at(robot, AWAY_UP)[1])
    progress("swings", 0.1)
    steep = put("brachiator", ladder(0.55, 3, math.radians(STEEP)))
    both = controllers()
    return Found(
        passive=simulate(rubbed, level, mode=OPEN, until=10.0),
        free=free,
        stopped=stopped,
        posed=simulate(rubbed, level, controller=pose, mode=OPEN, until=5.0),
        aim_up=aim,
        aim=rest_energy(robot, AWAY),
        up={kind: told(robot, controller, LONG, OPEN) for kind, controller in both.items()},
        swing={kind: told(swinger, controller, 2.0) for kind, controller in both.items()},
        steep=told(steep, Energy(), SHORT),
        aim_steep=rest_energy(steep, _way(STEEP)),
        changed=_changed(list(CHANGES) if detail >= FINE else list(CHANGES)[:2]),
        buffers=_buffers(detail, progress),
        inclines=_inclines(detail, progress),
        blends=_blends(detail),
        laws=_laws(),
    )


def only_injection(wide: bool) -> Energy:
    """The thesis' injection, never posing; without any limit of the elbow if ``wide``."""
    gains = {"gate": -1e9, "torque": 10.0, "energy_scale": 0.05, "brake": 0.0, "elbow_speed": 1e6}
    gains |= dict.fromkeys(("amplitude", "second_amplitude"), 1e9 if wide else 2.6)
    return Energy(law="momentum", buffer=0.0, hysteresis=0.0, fade=0.3, bootstrap_time=0.0, gains=gains)


def _way(degrees: float) -> tuple[float, float]:
    return 0.55 * math.cos(math.radians(degrees)), 0.55 * math.sin(math.radians(degrees))


def _changed(names: Sequence[str]) -> dict[tuple[str, str], tuple[Swing | None, Swing | None]]:
    made = {}
    for kind, controller in controllers().items():
        for name in names:
            values = CHANGES[name]
            up = swung(hanging(UP, **values), controller, LONG, OPEN)
            made[kind, name] = up, swung(put("brachiator", SWING, **values), controller, SHORT)
    return made


def _buffers(detail: int, progress: Progress) -> dict[float, tuple[Swing | None, Swing | None]]:
    values = np.linspace(0.0, 8.0, 33 if detail >= FINE else 5).tolist()
    robot, swinger = hanging(), put("brachiator", SWING)
    made = {}
    for k, value in enumerate(values):
        progress("buffers", 0.3 + 0.3 * k / len(values))
        made[value] = swung(robot, thesis(value), LONG, OPEN), swung(swinger, thesis(value), SHORT)
    return made


def _inclines(detail: int, progress: Progress) -> dict[tuple[str, float], Swing | None]:
    degrees = np.arange(-30, 46, 1 if detail >= FINE else 15).tolist()
    made = {}
    for k, value in enumerate(degrees):
        progress("inclines", 0.6 + 0.35 * k / len(degrees))
        for kind, controller in controllers().items():
            made[kind, float(value)] = swung(inclined(value), controller, SHORT)
    return made


def _blends(detail: int) -> dict[float, tuple[Swing | None, Swing | None]]:
    swinger = put("brachiator", SWING)
    made = {}
    for value in np.linspace(0.0, 8.0, 17).tolist() if detail >= FINE else (0.0, 3.0, 5.0):
        one, two = (blending(swinger, AWAY, value, potential=kind) for kind in (True, False))
        made[value] = swung(swinger, one, SHORT), swung(swinger, two, SHORT)
    return made


def _laws() -> Laws:
    robot, draw = hanging(), np.random.default_rng(74)
    of = Pendulum.of(robot.values)
    t2 = draw.uniform(-robot.values["elbow_stop"], robot.values["elbow_stop"], STATES)
    drawn = {
        "all rates alike": draw.uniform(-10, 10, (2, STATES)),
        "elbow twice as fast": draw.uniform(-10, 10, (2, STATES)) * [[1.0], [2.0]],
    }
    momentum, as_printed = {}, {}
    for name, (w1, w2) in drawn.items():
        bent = of.a3 + of.a2 * np.cos(t2)
        momentum[name] = float(((bent * w1 + of.a3 * w2) * w2 < 0).mean())
        as_printed[name] = float((printed.bracket(t2, w1, w2) * w2 < 0).mean())
    w1, w2 = drawn["all rates alike"]
    # 2 kg and 1 m as in 7.4.4: the bracket is the momentum there
    true = 0.5 * (w1 + w2) + w1 * np.cos(t2)
    metre = Pendulum.of({"m1": 2, "m2": 2, "L1": 1, "L2": 1, "r1": 0.5, "r2": 0.5, "I1": 0, "I2": 0, "g": 9.81})
    right = (metre.a3 + metre.a2 * np.cos(t2)) * w1 + metre.a3 * w2
    hits = {name: _stops(of, robot.values["elbow_stop"], rates) for name, rates in drawn.items()}
    return Laws(
        momentum=momentum,
        as_printed=as_printed,
        bracket=(float(np.abs(printed.bracket(t2, w1, w2) - right).max()), float(np.abs(true - right).max())),
        zeroed={name: hit[0] for name, hit in hits.items()},
        plastic={name: hit[1] for name, hit in hits.items()},
        gain=max(hit[2] for hit in hits.values()),
    )


def _stops(of: Pendulum, stop: float, rates: np.ndarray) -> tuple[float, float, float]:
    """Shares of hits of a stop that gain energy: with the elbow's rate set to zero, and plastic; the most, J."""
    M = of.mass(stop)
    before = np.vstack([rates[0], np.abs(rates[1])])
    hit = np.linalg.solve(M, [0.0, 1.0])
    zero, right = before * [[1.0], [0.0]], before - np.outer(hit / hit[1], before[1])
    energies = [0.5 * np.einsum("ik,ij,jk->k", w, M, w) for w in (before, zero, right)]
    gained, plastic = (energies[k] - energies[0] for k in (1, 2))
    return float((gained > 0).mean()), float((plastic > 1e-9).mean()), float(gained.max())
