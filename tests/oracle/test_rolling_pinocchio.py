"""Accelerations and contact forces of robots that roll in space, beside pinocchio's own mass matrix and bias forces."""

from __future__ import annotations

from importlib.resources import files

import casadi as ca
import numpy as np
import pytest
from _pinocchio import Twin

import saltus
from saltus.hybrid import symbolic_mode

STATES = 1000
ROBOTS = {
    "claptrap": ("claptrap", "rim"),
    "claptrap_upright": ("claptrap", "upright"),
    "claptrap_arms": ("claptrap_arms", "rim"),
}


def _states(system, rng, count):  # type: ignore[no-untyped-def]
    """Anywhere in space, leaning by less than a right angle, with velocities of a few units."""
    x = rng.normal(size=(count, len(system.state_names))) * 2
    for k, name in enumerate(("qw", "qx", "qy", "qz")):
        x[:, system.state_names.index(name)] = rng.normal(size=count) if k else 1 + rng.normal(size=count)
    first = system.mechanism.quaternions[0]
    x[:, first : first + 4] /= np.linalg.norm(x[:, first : first + 4], axis=1)[:, None]
    return x


def largest_differences(name: str, seed: int) -> np.ndarray:
    """Of accelerations and of contact forces, over random states, relative to the largest of either."""
    system = saltus.robots.find_robot(name)
    file, contact = ROBOTS[name]
    twin = Twin((files("saltus.robots") / "urdf" / f"{file}.urdf").read_text(), system)
    mode = symbolic_mode(system, [1] * len(system.units))
    d = mode.dynamics
    ours = ca.Function("ours", [d.x, d.u, d.p], [mode.acceleration, mode.forces]).map(STATES)
    rng = np.random.default_rng(seed)
    x, u = _states(system, rng, STATES), rng.normal(size=(STATES, len(system.mechanism.actuators))) * 10
    a, f = (np.array(part).T for part in ours(x.T, u.T, np.tile(system.parameter_values, (STATES, 1)).T))
    wheels = {unit.name: 0.15 for unit in system.units}
    worst = np.zeros(2)
    for k in range(STATES):
        inputs = dict(zip(system.mechanism.actuators, u[k], strict=True))
        accelerations, forces = twin.rolling(x[k], inputs, wheels, contact)
        scale = max(1.0, np.abs(accelerations).max(), np.abs(forces).max())
        worst = np.maximum(worst, [np.abs(a[k] - accelerations).max() / scale, np.abs(f[k] - forces).max() / scale])
    return worst


@pytest.mark.parametrize("name", ROBOTS)
def test_rolling_robots_accelerate_and_press_as_pinocchio_says(name: str) -> None:
    pytest.importorskip("pinocchio")
    assert largest_differences(name, 7).max() <= 1e-9


@pytest.mark.parametrize("name", ["claptrap", "claptrap_two_wheels"])
def test_the_compiled_flow_presses_as_pinocchio_says(name: str) -> None:
    """The same through the engine, where rows that say the same twice are shared evenly (two wheels on one axle)."""
    pytest.importorskip("pinocchio")
    system = saltus.robots.find_robot(name)
    twin = Twin((files("saltus.robots") / "urdf" / f"{name}.urdf").read_text(), system)
    controller = saltus.control.Constant(3.0)
    run = saltus.simulate(system, {"pitch": 0.1, "dyaw": 0.4, "dpsi": 2.0}, until=0.3, controller=controller)
    samples = run.everything_at(np.linspace(0.0, 0.3, 11))
    inputs = dict.fromkeys(system.mechanism.actuators, 3.0)
    wheels = {unit.name: 0.15 for unit in system.units}
    for x, forces in zip(samples.x, samples.forces, strict=True):
        _, expected = twin.rolling(x, inputs, wheels, "rim")
        assert forces == pytest.approx(expected, abs=1e-9 * max(1.0, np.abs(expected).max()))
