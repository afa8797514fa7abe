"""Trajectories against SciPy's DOP853, with right-hand sides written by hand in other coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from saltus import robots, simulate
from saltus.control import Sine

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
AGREEMENT = 1e-8


def reference(rate, start, times):
    answer = solve_ivp(rate, (0.0, times[-1]), start, method="DOP853", t_eval=times, **TIGHT)
    assert answer.success, answer.message
    return answer.y.T


def pendulum_rate(p, torque):
    """Moment of momentum about the pivot."""
    moment = p["inertia"] + p["mass"] * p["length"] ** 2

    def rate(t, x):
        theta, omega = x
        turning = torque(t) - p["mass"] * p["g"] * p["length"] * math.sin(theta) - p["damping"] * omega
        return [omega, turning / moment]

    return rate


def double_pendulum_rate(p, torque):
    """Lagrange's equations in absolute angles (phi1, phi2) from the vertical, both links' own."""
    M11 = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    M22 = p["I2"] + p["m2"] * p["r2"] ** 2
    coupling = p["m2"] * p["L1"] * p["r2"]

    def rate(t, x):
        phi1, phi2, w1, w2 = x
        M12 = coupling * math.cos(phi1 - phi2)
        twist = coupling * math.sin(phi1 - phi2)
        # the motor turns the lower link and, by reaction, the upper one the other way
        f1 = -torque(t) - twist * w2**2 - (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"] * math.sin(phi1)
        f2 = torque(t) + twist * w1**2 - p["m2"] * p["r2"] * p["g"] * math.sin(phi2)
        determinant = M11 * M22 - M12**2
        return [w1, w2, (M22 * f1 - M12 * f2) / determinant, (M11 * f2 - M12 * f1) / determinant]

    return rate


def hopper_rate(p, torque):
    """Newton and Euler for each link by itself, with the knee's force as two more unknowns."""
    m, l, g = p["m"], p["l"], p["g"]
    inertia = m * (2 * l) ** 2 / 12

    def rate(t, x):
        _, _, a1, theta2, dx, dy, w1, dtheta2 = x
        a2, w2 = a1 + theta2, w1 + dtheta2
        e1, e2 = np.array([math.cos(a1), math.sin(a1)]), np.array([math.cos(a2), math.sin(a2)])
        n1, n2 = np.array([-e1[1], e1[0]]), np.array([-e2[1], e2[0]])
        # unknowns: centre accelerations c1, c2 (2 + 2), angular alpha1, alpha2, knee force F on link 1 (2)
        A, b = np.zeros((8, 8)), np.zeros(8)
        A[0:2, 0:2], A[0:2, 6:8], b[0:2] = m * np.eye(2), -np.eye(2), [0, -m * g]
        A[2:4, 2:4], A[2:4, 6:8], b[2:4] = m * np.eye(2), np.eye(2), [0, -m * g]
        A[4, 4], A[4, 6:8], b[4] = inertia, -l * n1, -torque(t)
        A[5, 5], A[5, 6:8], b[5] = inertia, -l * n2, torque(t)
        # the knee is the end of link 1 and the beginning of link 2
        A[6:8, 0:2], A[6:8, 2:4] = np.eye(2), -np.eye(2)
        A[6:8, 4], A[6:8, 5] = l * n1, l * n2
        b[6:8] = l * w1**2 * e1 + l * w2**2 * e2
        u = np.linalg.solve(A, b)
        foot = u[0:2] - l * (u[4] * n1 - w1**2 * e1)
        return [dx, dy, w1, dtheta2, *foot, u[4], u[5] - u[4]]

    return rate


@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_driven_damped_pendulum(damping):
    system = robots.pendulum(damping=damping, inertia=0.02, mass=1.3, length=0.8)
    torque = Sine(amplitude=1.5, omega=3.0, phase=0.4)
    run = simulate(system, {"theta": 1.2, "dtheta": -0.5}, until=5.0, controller=torque, **TIGHT)
    times = np.linspace(0, 5, 101)
    rate = pendulum_rate(system.values, lambda t: 1.5 * math.sin(3.0 * t + 0.4))
    np.testing.assert_allclose(run.at(times), reference(rate, [1.2, -0.5], times), rtol=AGREEMENT, atol=AGREEMENT)


@pytest.mark.parametrize("amplitude", [0.0, 2.0])
def test_double_pendulum(amplitude):
    system = robots.double_pendulum(m1=1.2, m2=0.8, L1=0.9, r1=0.4, r2=0.55, I1=0.1, I2=0.06)
    start = {"theta1": 1.0, "theta2": 0.5, "dtheta1": 0.3, "dtheta2": -0.8}
    torque = Sine(amplitude=amplitude, omega=4.0)
    run = simulate(system, start, until=3.0, controller=torque, **TIGHT)
    times = np.linspace(0, 3, 61)
    rate = double_pendulum_rate(system.values, lambda t: amplitude * math.sin(4.0 * t))
    phi1, phi2, w1, w2 = reference(rate, [1.0, 1.5, 0.3, -0.5], times).T
    expected = np.column_stack([phi1, phi2 - phi1, w1, w2 - w1])
    np.testing.assert_allclose(run.at(times), expected, rtol=AGREEMENT, atol=AGREEMENT)


def test_hopper_in_free_flight():
    system = robots.hopper(m=0.4, l=0.2, g=9.0)
    start = {"x": 0.1, "y": 5.0, "theta1": 1.9, "theta2": -1.8, "dx": 0.7, "dy": 1.5, "dtheta1": -3.0, "dtheta2": 5.0}
    run = simulate(system, start, until=0.7, controller=Sine(amplitude=0.5, omega=20.0), **TIGHT)
    assert run.status.name == "finished"
    assert not run.events
    times = np.linspace(0, 0.7, 71)
    rate = hopper_rate(system.values, lambda t: 0.5 * math.sin(20.0 * t))
    expected = reference(rate, [start[name] for name in system.state_names], times)
    np.testing.assert_allclose(run.at(times), expected, rtol=AGREEMENT, atol=AGREEMENT)
