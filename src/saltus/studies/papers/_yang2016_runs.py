"""Runs of the brachiator of [yang2016]: its worlds, the thesis' own controller and ours, and states over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus.contact import World, ladder
from saltus.control import Energy
from saltus.engine import Trajectory, simulate
from saltus.engine._layout import MEM
from saltus.hybrid import HybridSystem
from saltus.mechanism._dh import hanging as from_vertical
from saltus.mechanism._dh import two_link_angles
from saltus.robots import hang, put
from saltus.studies import Swing, swings
from saltus.studies.papers._yang2016_pendulum import Pendulum

UP, SWING = World(((0.0, 0.0), (0.568, 0.0))), ladder(0.55, 3)
OPEN = {"B": "open"}
# How long after a catch runs go on that are drawn, s.
AFTER = 0.1
# Runs of scans need not be as exact as those that are drawn.
ROUGHLY: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10}

# The thesis' own controller: all of the torque, by the sign of the momentum; a plain PID; the transition by energy.
# None of these numbers is printed but the torque. With this buffer, J, both of its runs come out much as published;
# with others they need not: the report scans it.
BUFFER = 5.0
OWN: dict[str, float] = {
    "torque": 10.0, "energy_scale": 0.05, "elbow_speed": 1e3, "amplitude": 2.6, "second_amplitude": 2.6, "brake": 0.0,
    "feedforward": 0.0, "blend_energy": 3.0,
}  # fmt: skip


def thesis(
    buffer: float = BUFFER, *, gains: Mapping[str, float] | None = None, bootstrap: float = 0.0,
    hysteresis: float = 0.0, reduction: float = 0.0, model: Mapping[str, float] | None = None,
) -> Energy:  # fmt: skip
    """The controller of the thesis, with a buffer, J."""
    return Energy(
        lookahead=False, law="momentum", buffer=buffer, hysteresis=hysteresis, fade=0.3, bootstrap_time=bootstrap,
        bootstrap_torque=3.0, kp=400.0, kd=36.0, reduction=reduction, model=model, gains={**OWN, **(gains or {})},
    )  # fmt: skip


def hanging(world: World = UP, **parameters: float) -> HybridSystem:
    """The robot straight down from the first bar, at rest."""
    return hang("brachiator", put("brachiator", world, **parameters))


def inclined(degrees: float, **parameters: float) -> HybridSystem:
    """The robot on a ladder of 0.55 m that rises."""
    return put("brachiator", ladder(0.55, 3, math.radians(degrees)), **parameters)


@dataclass(frozen=True)
class Told:
    """A run, and in which state its controller was over time: numbers of `Energy.states`, each until its time."""

    run: Trajectory
    times: np.ndarray
    states: np.ndarray

    @property
    def swing(self) -> Swing:
        """Its first swing."""
        return swings(self.run)[0]

    @property
    def end(self) -> float:
        """When the swing was over, s."""
        return self.swing.start + self.swing.time

    def during(self, t: np.ndarray) -> np.ndarray:
        """The states at some times."""
        place = np.searchsorted(self.times, t - 1e-9)
        made: np.ndarray = self.states[np.minimum(place, len(self.states) - 1)]
        return made

    def _poses(self) -> np.ndarray:
        return np.isin(self.states, [Energy.states().index(name) for name in ("blend", "pose", "catch")])

    def posed(self) -> int:
        """How often it turned to pose."""
        pose = self._poses()
        return int((np.diff(pose.astype(int)) > 0).sum() + pose[0])

    def first_pose(self) -> float:
        """When it first did, s."""
        pose = np.flatnonzero(self._poses())
        return float(self.times[pose[0]]) if pose.size else math.inf


def told(system: HybridSystem, controller: Energy, until: float, mode: Mapping[str, str] | None = None) -> Told:
    """Run until a little after the catch, and note after each step what the controller says that it does."""
    first = swings(simulate(system, controller=controller, mode=mode, until=until))[0]
    until = min(until, first.start + first.time + AFTER) if first.caught else until
    times: list[float] = []
    states: list[int] = []

    def see(live: Any) -> None:
        record = live.record()
        times.append(live.t)
        states.append(int(record.doubles[record.integers[MEM]]))

    run = simulate(system, controller=controller, mode=mode, until=until, output_step=1e-3, watch=see)
    return Told(run, np.array(times), np.array(states))


def swung(system: HybridSystem, controller: Any, until: float, mode: Mapping[str, str] | None = None) -> Swing | None:
    """The first swing of a run that is longer than a droop, roughly; None if there is none."""
    run = simulate(system, controller=controller, mode=mode, until=until, **ROUGHLY)
    return next((swing for swing in swings(run) if swing.time > 0.1), None)


def pose_at(system: HybridSystem, away: tuple[float, float]) -> tuple[float, float]:
    """Both angles with the free hand at a place from the one that holds, the elbow below."""
    first, second = two_link_angles(*away, system.values["L1"], system.values["L2"], elbow="down")
    return from_vertical(first), second


def rest_energy(system: HybridSystem, away: tuple[float, float]) -> float:
    """Energy of rest there, J."""
    return float(Pendulum.of(system.values).energy(np.array([*pose_at(system, away), 0.0, 0.0])))


def total(run: Trajectory, pivot: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Times and total energy of the samples, heights from that of the bar that is held, J."""
    s = run.samples
    weight = run.system.values["g"] * (run.system.values["m1"] + run.system.values["m2"])
    return s.t, s.kinetic + s.potential - weight * pivot
