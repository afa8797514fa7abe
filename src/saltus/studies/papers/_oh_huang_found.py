"""All that the reproduction of [oh_huang] computes before anything is judged: the jump, its variants, its model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus.control import Schedule
from saltus.engine import Event, Trajectory, simulate
from saltus.engine._trajectory import Samples
from saltus.hybrid import HybridSystem, Painleve, painleve
from saltus.studies import compare_laws
from saltus.studies.papers._oh_huang_program import Program, W, matrices, turning

THEIR_GRAVITY = 9.8
POSTURE = ("posture", "folded", "Q_above_P", "R_above_Q")
TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}
# How densely the run is sampled for what is largest or smallest along it, s.
SAMPLE = 1e-4

Gravities = tuple[float, float, float]


class Model:
    """The derived equations of motion, as numbers: M a + h = S u + J^T lambda."""

    def __init__(self, robot: HybridSystem) -> None:
        d = robot.dynamics
        self._parts = ca.Function("parts", [d.x, d.p], [d.M, d.h, d.potential])
        self._values = robot.parameter_values

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M, h, _ = self._parts(x, self._values)
        return np.array(M), np.array(h).ravel()

    def potential(self, x: np.ndarray) -> float:
        """Potential energy, J."""
        return float(self._parts(x, self._values)[2])

    def accelerations(self, x: np.ndarray, tau: float, forces: np.ndarray) -> np.ndarray:
        """What the model says to a state, a torque and forces of the ground."""
        M, h = self(x)
        return np.linalg.solve(M, W.T @ forces + np.array([0, 0, 0, tau]) - h)


@dataclass(frozen=True)
class Found:
    """All that is computed before anything is judged."""

    robot: HybridSystem
    model: Model
    run: Trajectory
    samples: Samples
    recorded: Trajectory
    laws: dict[str, Trajectory]
    alpha: Painleve
    program: Program
    later: Program
    tight: Program
    # distances by the gravity before, in and after the flight, and by the inertia in the impact
    ladder: dict[tuple[Gravities, float], float]

    @property
    def slip(self) -> Event:
        return self.run.events[0]

    @property
    def lift(self) -> Event:
        return self.run.events[1]

    @property
    def impact(self) -> Event:
        return self.run.events[2]

    @property
    def end(self) -> Event:
        return self.run.events[-1]


def find(robot: HybridSystem, detail: int, progress: Callable[[str, float], None]) -> Found:
    """Compute everything; ``detail`` and ``progress`` as in `saltus.studies.Paper`."""
    controller = robot.profiles["paper"].controller
    model = Model(robot)
    progress("the jump", 0.0)
    run = simulate(robot, controller=controller, **TIGHT)
    recorded = simulate(robot.with_guards(**dict.fromkeys(POSTURE, "record")), controller=controller, **TIGHT)
    progress("laws", 0.3)
    laws = compare_laws(robot, controller=controller)
    progress("alpha", 0.5)
    turn = np.linspace(-math.pi, math.pi, detail)
    alpha = painleve(robot, ("theta1", turn), ("theta2", turn))
    progress("the published distance", 0.6)
    both = (robot.values["g"], THEIR_GRAVITY)
    choices = itertools.product(itertools.product(both, both, both), (1.0, 2.0))
    ladder = {(gravities, times): jump_with(robot, gravities, times) for gravities, times in choices}
    times = np.arange(run.start_time, run.end_time, SAMPLE)
    return Found(
        robot, model, run, run.everything_at(times), recorded, laws, alpha,
        Program(2.0).run(), Program(1.0).run(), Program(2.0, slip_tolerance=1e-12).run(), ladder,
    )  # fmt: skip


def jump_with(robot: HybridSystem, gravities: Gravities, times: float) -> float:
    """The distance with a gravity before, in and after the flight, and in the impact so many times the inertia."""
    on_ground, aloft, landed = (robot.with_parameters(g=g) for g in gravities)
    options = {"controller": robot.profiles["paper"].controller, **TIGHT}
    run = simulate(on_ground, **options)
    lift = next(event for event in run.events if event.mode_after == "flight")
    flight = simulate(aloft, list(lift.state_after.values()), start=lift.t, **options)
    impact = next(event for event in flight.events if event.guard == "P.touch")
    x = np.array(list(impact.state_before.values()))
    M = Model(robot)(x)[0] + (times - 1) * turning()
    impulse, info = [0.0, 0.0], [0.0, 0.0, 0.0]
    law = robot.units[0].law
    assert law is not None
    compliance = (W @ np.linalg.solve(M, W.T)).ravel()
    law.impulse(compliance, x[4:6], x[4:6], robot.unit_coefficients[0], impulse, info)
    x[4:] += np.linalg.solve(M, W.T @ impulse)
    x[1] = x[5] = 0.0
    after = simulate(landed, x, start=impact.t, **options)
    knee = after.final["x"] + 2 * robot.values["l"] * math.cos(after.final["theta1"])
    return float(min(after.x[:, 0].min(), knee) - run.figures["x_start"])


def outcome(run: Trajectory) -> str:
    """What became of a run, in words."""
    d = run.figures["jump_distance"]
    told = "no jump" if d is None or math.isnan(d) else f"{d:.6f} m"
    modes = " → ".join(mode for mode, _ in itertools.groupby(run.arc_modes))
    why = run.events[-1].guard if run.events[-1].ended else "the end of the run"
    return f"{told}: {modes} until {run.end_time:.4f} s ({why})"


def global_time(robot: HybridSystem) -> Trajectory:
    """The jump with the printed pieces as functions of the time since its start."""
    profile = robot.profiles["paper"].controller
    pieces = []
    for k, (start, piece) in enumerate(zip(profile.starts, profile.pieces, strict=True)):
        shifted = np.polynomial.Polynomial(piece)(np.polynomial.Polynomial([start, 1.0]))
        pieces.append(list(piece) if k == 0 else [float(value) for value in shifted.coef])
    return simulate(robot, controller=Schedule(profile.starts, pieces), raise_errors=False)


def first_state(found: Found) -> np.ndarray:
    """The state at the start of the jump."""
    return found.samples.x[0]


def printed_force(found: Found, x: np.ndarray) -> np.ndarray:
    """λ as printed, without the torque."""
    M, B, G = matrices(x, found.robot.values["g"])
    made: np.ndarray = np.linalg.solve(W @ np.linalg.solve(M, W.T), W @ np.linalg.solve(M, B + G))
    return made


def state_after(event: Event) -> np.ndarray:
    """The state after an event."""
    return np.array(list(event.state_after.values()))


def forces_by_model(found: Found, event: Event) -> tuple[np.ndarray, float]:
    """After an event: forces of a foot that would stick, and the normal force of one that slides as it does."""
    x = state_after(event)
    tau = float(found.run.everything_at([event.t]).inputs[0, 0])
    M, h = found.model(x)
    rest = np.linalg.solve(M, h - np.array([0, 0, 0, tau]))
    slide = np.linalg.solve(M, [-math.copysign(found.alpha.friction, x[4]), 1, 0, 0])
    return np.linalg.solve(W @ np.linalg.solve(M, W.T), W @ rest), float(rest[1] / slide[1])
