"""Claptrap beside pinocchio under SciPy: 10 s of the paper's PD at equal accuracy, and a plain Python controller.

``python benchmarks/claptrap.py [--seconds 10] [--turns 5]`` prints a table; both sides run in turn, best of several.
The accuracy of each side is its largest difference, in position and pitch, from a run of saltus at tolerances near
rounding.
"""

from __future__ import annotations

import argparse
import math
import time
from importlib.resources import files

import numpy as np
import pinocchio as pin
from scipy.integrate import ode

import saltus

RADIUS, GAIN, RATE_GAIN = 0.15, 150.0, 1.5
UP = np.array([0.0, 0.0, 1.0])


class Pinocchio:
    """Free-flyer and wheel with the rolling constraint solved as KKT on pinocchio's mass matrix and bias forces.

    The contact is straight below the wheel's centre, which is exact here: the wheel does not lean. Coordinates are
    integrated in the rate of pinocchio's own configuration.
    """

    def __init__(self) -> None:
        text = (files("saltus.robots") / "urdf" / "claptrap.urdf").read_text()
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.data = self.model.createData()

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        model, data, nq, nv = self.model, self.data, self.model.nq, self.model.nv
        q, v = y[:nq], y[nq:]
        x, yq, z, w = q[3:7] / np.linalg.norm(q[3:7])
        R = pin.Quaternion(w, x, yq, z).toRotationMatrix()
        M = pin.crba(model, data, q)
        nle = pin.nonLinearEffects(model, data, q, v)
        pitch = np.arctan2(-R[2, 0], R[2, 2])
        tau = np.zeros(nv)
        tau[6] = GAIN * pitch + RATE_GAIN * v[4]
        below = R.T @ (RADIUS * UP)
        C = np.array([[0, -below[2], below[1]], [below[2], 0, -below[0]], [-below[1], below[0], 0]])
        J = np.hstack([np.eye(3), C, C[:, 1:2]])
        spin = v[3:6]
        turned = -np.cross(spin, below)
        D = np.array([[0, -turned[2], turned[1]], [turned[2], 0, -turned[0]], [-turned[1], turned[0], 0]])
        # the velocity of the contact turns with the body's axes
        drift = D @ spin + D[:, 1] * v[6] + np.cross(spin, J @ v)
        kkt = np.zeros((nv + 3, nv + 3))
        kkt[:nv, :nv] = np.triu(M) + np.triu(M, 1).T
        kkt[:nv, nv:], kkt[nv:, :nv] = -J.T, J
        solution = np.linalg.solve(kkt, np.concatenate([tau - nle, -drift]))
        rates = np.empty(nq + nv)
        rates[:3] = R @ v[:3]
        a, b, c = spin
        rates[3:7] = 0.5 * np.array([
            q[6] * a + q[4] * c - q[5] * b, q[6] * b + q[5] * a - q[3] * c,
            q[6] * c + q[3] * b - q[4] * a, -q[3] * a - q[4] * b - q[5] * c,
        ])  # fmt: skip
        rates[7:9] = v[6] * np.array([-q[8], q[7]])
        rates[nq:] = solution[:nv]
        return rates

    def run(self, seconds: float, rtol: float, atol: float) -> tuple[float, float]:
        """Position and pitch at the end."""
        q = pin.neutral(self.model)
        q[2] = RADIUS
        q[4], q[6] = np.sin(0.1), np.cos(0.1)
        q[7:9] = np.cos(-0.2), np.sin(-0.2)
        solver = ode(self.rate).set_integrator("dopri5", rtol=rtol, atol=atol, nsteps=10**6)
        solver.set_initial_value(np.concatenate([q, np.zeros(self.model.nv)]), 0.0)
        y = solver.integrate(seconds)
        return float(y[0]), float(2 * np.arctan2(y[4], y[6]))


def saltus_run(robot, seconds: float, start: np.ndarray, **options):  # type: ignore[no-untyped-def]
    """Position and pitch at the end of a run of saltus."""
    # the peer watches no energy either
    run = saltus.simulate(robot, start, until=seconds, energy_tolerance=math.inf, **options)
    return run.final["x"], 2 * float(np.arctan2(run.final["qy"], run.final["qw"]))


def error(one: tuple[float, float], exact: tuple[float, float]) -> float:
    """The larger of both differences."""
    return max(abs(a - b) for a, b in zip(one, exact, strict=True))


def best(turns: int, *functions):  # type: ignore[no-untyped-def]
    """The least time of each, in turn."""
    times = [[] for _ in functions]
    for _ in range(turns):
        for k, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            times[k].append(time.perf_counter() - begin)
    return [min(each) for each in times]


def python_pd(t, state, mode, memory):  # type: ignore[no-untyped-def]
    """The paper's PD, as anyone would write it."""
    pitch = 2 * np.arctan2(state["qy"], state["qw"])
    return GAIN * pitch + RATE_GAIN * state["wy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    robot = saltus.robots.claptrap()
    pd, start = robot.controllers["pd"], robot.state({"pitch": 0.2})
    exact = saltus_run(robot, given.seconds, start, controller=pd, rtol=1e-13, atol=1e-14, method="dop853")
    peer = Pinocchio()
    print(f"{'':40}{'time, s':>10}{'error':>12}{'ratio':>9}")
    for rtol in (1e-6, 1e-9):
        theirs = error(peer.run(given.seconds, rtol, rtol), exact)
        for method in ("dopri5", "dop853"):
            # the loosest tolerance with which saltus is no less accurate
            own, ours = 10 * rtol, math.inf
            while ours > theirs and own > 1e-13:
                own /= 10**0.5
                options = {"controller": pd, "rtol": own, "atol": own, "method": method}
                ours = error(saltus_run(robot, given.seconds, start, **options), exact)
            one, two = best(
                given.turns,
                lambda options=options: saltus_run(robot, given.seconds, start, **options),
                lambda rtol=rtol: peer.run(given.seconds, rtol, rtol),
            )
            print(f"{f'saltus, compiled PD, {method}, rtol {own:.0e}':40}{one:10.5f}{ours:12.1e}")
            print(f"{f'pinocchio + SciPy dopri5, rtol {rtol:.0e}':40}{two:10.5f}{theirs:12.1e}{two / one:9.0f}")
    (alone,) = best(given.turns, lambda: saltus_run(robot, given.seconds, start, controller=python_pd))
    print(f"{'saltus, Python PD at 1 kHz':40}{alone:10.5f}{'':12}{given.seconds / alone:9.0f} times real time")


if __name__ == "__main__":
    main()
