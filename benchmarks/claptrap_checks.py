"""How near Claptrap is to pinocchio, to the plane and to conservation laws: ``python benchmarks/claptrap_checks.py``.

The same comparisons are tests with limits; this prints the figures themselves.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

import saltus

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "oracle"))
from test_rolling_pinocchio import ROBOTS, largest_differences
from test_urdf import PUBLISHED, standing_differences


def conserved(run: saltus.Trajectory) -> tuple[float, float, float]:
    """How far energy, J, and the rolling contact, m and m/s, drift."""
    mesh = run.mesh
    energy = mesh.kinetic + mesh.potential
    normal = np.abs(mesh.positions[:, 1::3]).max()
    return float(np.ptp(energy)), float(normal), float(np.abs(mesh.speeds).max())


def precession(lean: float, turn: float) -> float:
    """How far a coin strays that leans and turns as the moments about its centre ask for, at r = 0.2 m."""
    r, g, across, about = 0.2, 9.81, 0.25, 0.5
    whole = (across * turn**2 * math.sin(lean) * math.cos(lean) - g / r * math.sin(lean)) / (
        (about + 1) * turn * math.cos(lean)
    )
    start = {"roll": lean, "dyaw": turn, "dpitch": whole - turn * math.sin(lean)}
    seen = saltus.simulate(saltus.robots.coin(across=across, about=about), start, until=5.0).readings
    return float(max(np.abs(seen["roll"] - lean).max(), np.abs(seen["dyaw"] - turn).max()))


def main() -> None:
    for name in ROBOTS:
        accelerations, forces = largest_differences(name, seed=11)
        print(f"{name} beside pinocchio: accelerations {accelerations:.1e}, forces {forces:.1e}")
    for name in PUBLISHED:
        print(f"{name} on its feet beside pinocchio: {standing_differences(name):.1e}")
    hanging = saltus.simulate(saltus.robots.claptrap(height=0.1), {"pitch": 2.8}, until=60.0)
    print("hanging, 60 s: energy {:.1e} J, gap {:.1e} m, slip {:.1e} m/s".format(*conserved(hanging)))
    coin = saltus.simulate(saltus.robots.coin(), {"roll": 0.4, "dyaw": 1.0, "dpitch": 9.0}, until=5.0)
    print("leaning coin, 5 s: energy {:.1e} J, gap {:.1e} m, slip {:.1e} m/s".format(*conserved(coin)))
    print(f"steady precession, 5 s: lean and turn within {precession(0.4, -2.0):.1e} rad, rad/s")
    norms = [np.abs(np.linalg.norm(run.mesh.x[:, 3:7], axis=1) - 1).max() for run in (hanging, coin)]
    print(f"quaternions: {max(norms):.1e}")
    robot = saltus.robots.claptrap(wheel_effort=20.0)
    back = saltus.simulate(robot, {"pitch": 0.2}, controller=robot.controllers["lqr"], until=20.0)
    print(f"LQR, 20 N m, from 0.2 rad: x = {back.final['x']:.1e} m after 20 s, saturated {back.saturated}")
    for gains, torque in (((0.0, 0.0), "no torque"), ((150.0, 1.5), "PD"), ((90.0, 4.0), "another PD")):
        print(f"3-D beside the plane, {torque}, 2 s: {in_the_plane(*gains):.1e}")


def in_the_plane(gain: float, rate: float) -> float:
    """Largest difference of pitch and way between the robot in space and its model in the plane."""
    space, plane = saltus.robots.claptrap(), saltus.robots.segway()
    runs = []
    for robot, angle in ((space, "pitch"), (plane, "theta")):
        law = saltus.control.Feedback({angle: gain, f"d{angle}": rate}) if gain else None
        # without torque the body would reach the floor before
        runs.append(saltus.simulate(robot.with_guards(fall="ignore"), {angle: 0.2}, controller=law, until=2.0))
    times = np.linspace(0.0, min(run.end_time for run in runs), 201)
    ours, theirs = runs[0].at(times), runs[1].at(times)
    pitch = 2 * np.arctan2(ours[:, 5], ours[:, 3])
    theta = theirs[:, plane.state_names.index("theta")]
    off = np.abs((pitch - theta + math.pi) % (2 * math.pi) - math.pi).max()
    way = np.abs(ours[:, 0] - theirs[:, plane.state_names.index("x")]).max()
    return float(max(off, way))


if __name__ == "__main__":
    main()
