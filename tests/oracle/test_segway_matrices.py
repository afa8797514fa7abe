"""The Segway's derived equations against the printed matrices of [vigne2019], written here anew, and its forms against
each other."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from saltus import robots, simulate
from saltus.hybrid import symbolic_mode

random = np.random.default_rng(20)
NUMBERS = [
    {},
    {"m": 2.2, "l": 0.31, "I": 0.4, "m_w": 0.7, "J": 0.05, "r": 0.2, "g": 3.7},
    {"m": 0.4, "l": 1.3, "I": 2.0, "m_w": 5.0, "J": 0.9, "r": 0.5, "g": 9.81},
]
STATES = [random.uniform([-3, -3, -8, -8], [3, 3, 8, 8]) for _ in range(20)]  # theta, phi and their rates


def letters(system):
    return (system.values[name] for name in ("m", "l", "I", "m_w", "J", "r", "g"))


def numeric(system, expressions, x, u=0.0):
    d = system.dynamics
    function = ca.Function("f", [d.x, d.u, d.p], [ca.densify(ca.SX(e)) for e in expressions])
    return [np.array(out, dtype=float) for out in function.call([x, u, system.parameter_values])]


def printed_13(system, theta, rate):
    m, l, I, m_w, J, r, g = letters(system)
    c, s = math.cos(theta), math.sin(theta)
    M = np.array([[m + m_w, l * m * c, 0], [l * m * c, l**2 * m + I + J, J], [0, J, J]])
    h = np.array([-(rate**2) * l * m * s, -g * l * m * s, 0])
    return M, h, np.array([1, -r, -r])


def printed_14(system, theta, rate):
    m, l, I, m_w, J, r, g = letters(system)
    c, s = math.cos(theta), math.sin(theta)
    both = (m + m_w) * r**2 + J
    H = np.array([[2 * l * m * r * c + l**2 * m + both + I, l * m * r * c + both], [l * m * r * c + both, both]])
    return H, -np.array([(rate**2 * l * m * r + g * l * m) * s, rate**2 * l * m * r * s])


def printed_18(system, theta, rate):
    """(18) is printed at theta = 0; away from it the coupling has cos(theta), and h what (14) has."""
    m, l, I, m_w, J, r, g = letters(system)
    c, s = math.cos(theta), math.sin(theta)
    H = np.array([[m * l**2 + I, l * m * r * c], [l * m * r * c, (m + m_w) * r**2 + J]])
    return H, -np.array([m * g * l * s, rate**2 * l * m * r * s])


@pytest.mark.parametrize("values", NUMBERS)
def test_the_three_coordinate_model_is_equation_13(values):
    system = robots.segway(**values)
    keep = [0, 2, 3]  # x, theta, phi: y is held by the ground
    rows = [system.dynamics.row(position)[0] for _, position in system.units[0].rows]
    for theta, phi, dtheta, dphi in STATES:
        x = [0.3, 0.0, theta, phi, 0.7, 0.0, dtheta, dphi]
        d = system.dynamics
        M, h, S, along, normal = numeric(system, [d.M, d.h, d.S, *rows], x)
        printed_M, printed_h, printed_J = printed_13(system, theta, dtheta)
        np.testing.assert_allclose(M[np.ix_(keep, keep)], printed_M, rtol=0, atol=1e-14)
        np.testing.assert_allclose(h[keep, 0], printed_h, rtol=0, atol=1e-13)
        np.testing.assert_allclose(along[0, keep], printed_J, rtol=0, atol=1e-15)
        assert along[0, 1] == 0.0
        assert S.ravel().tolist() == [0, 0, 0, 1]
        assert normal.ravel().tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("values", NUMBERS)
@pytest.mark.parametrize(("name", "printed", "torque"), [
    ("segway_reduced", printed_14, [0, 1]), ("segway_rolled", printed_18, [-1, 1]),
])  # fmt: skip
def test_the_two_coordinate_models_are_equations_14_and_18(values, name, printed, torque):
    system = getattr(robots, name)(**values)
    for theta, other, dtheta, dother in STATES:
        d = system.dynamics
        M, h, S = numeric(system, [d.M, d.h, d.S], [theta, other, dtheta, dother])
        H, rest = printed(system, theta, dtheta)
        np.testing.assert_allclose(M, H, rtol=0, atol=1e-14)
        np.testing.assert_allclose(h.ravel(), rest, rtol=0, atol=1e-13)
        assert S.ravel().tolist() == torque


@pytest.mark.parametrize("values", NUMBERS)
def test_all_forms_accelerate_alike_and_the_ground_pushes_the_right_way(values):
    full, reduced, rolled = (getattr(robots, name)(**values) for name in ("segway", "segway_reduced", "segway_rolled"))
    mode = symbolic_mode(full, "roll")
    r = full.values["r"]
    for theta, phi, dtheta, dphi in STATES:
        for tau in (0.0, 17.0, -40.0):
            x = [0.0, 0.0, theta, phi, r * (dtheta + dphi), 0.0, dtheta, dphi]
            a, forces = numeric(full, [mode.acceleration, mode.forces], x, tau)
            (b,) = numeric(reduced, [reduced.dynamics.free_acceleration], [theta, phi, dtheta, dphi], tau)
            (c,) = numeric(
                rolled, [rolled.dynamics.free_acceleration], [theta, theta + phi, dtheta, dtheta + dphi], tau
            )
            # (6) with the sign of (7) corrected: H a - J^T lambda = tau - h, J a = 0
            M, h, J = printed_13(full, theta, dtheta)
            system = np.block([[M, -J[:, None]], [J, np.zeros((1, 1))]])
            solved = np.linalg.solve(system, [*(np.array([0, 0, tau]) - h), 0.0])
            size = 1 + np.abs(solved).max()
            np.testing.assert_allclose(a[[0, 2, 3], 0], solved[:3], rtol=0, atol=1e-12 * size)
            np.testing.assert_allclose(forces[0, 0], solved[3], rtol=0, atol=1e-12 * size)
            np.testing.assert_allclose(b.ravel(), solved[1:3], rtol=0, atol=1e-12 * size)
            np.testing.assert_allclose(c.ravel(), [solved[1], solved[1] + solved[2]], rtol=0, atol=1e-12 * size)
            # by momentum: what moves all mass forwards, and what bears it, is the ground
            m, l, _, m_w, _, _, g = letters(full)
            push = (m + m_w) * solved[0] + m * l * (solved[1] * math.cos(theta) - dtheta**2 * math.sin(theta))
            lift = (m + m_w) * g - m * l * (solved[1] * math.sin(theta) + dtheta**2 * math.cos(theta))
            np.testing.assert_allclose(forces.ravel(), [push, lift], rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("controller", ["none", "pd"])
def test_runs_of_all_forms_agree(controller):
    runs = {}
    for name in ("segway", "segway_reduced", "segway_rolled"):
        system = robots.find_robot(name).with_guards(fall="ignore")
        runs[name] = simulate(system, controller=system.controllers.get(controller), until=2.0, rtol=1e-12, atol=1e-13)
    t = np.linspace(0, 2, 41)
    full, reduced, rolled = (run.at(t) for run in runs.values())
    if controller == "none":  # once the body hangs down it swings fast enough to lift the wheel
        lifts = [event.t for event in runs["segway"].events]
        seen = t < (lifts[0] if lifts else 2.1)
        t, full, reduced, rolled = t[seen], full[seen], reduced[seen], rolled[seen]
        assert t[-1] > 0.9
    np.testing.assert_allclose(full[:, [2, 6]], reduced[:, [0, 2]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(full[:, [2, 6]], rolled[:, [0, 2]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(full[:, 0] / 0.15, rolled[:, 1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(full[:, 3] - 0.2, reduced[:, 1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(full[:, 4] / 0.15, rolled[:, 3], rtol=0, atol=1e-9)


def test_zero_torque_falls_and_the_paper_s_pd_holds():
    """90 degrees at 0.92 s; the PD needs a friction of 1.22 at the start."""
    system = robots.segway()
    fallen = simulate(system)
    assert fallen.events[-1].guard == "fall"
    t = np.linspace(0, fallen.end_time, 20001)
    assert t[np.argmax(fallen.at(t)[:, 2] > math.pi / 2)] == pytest.approx(0.92, abs=0.005)
    assert math.cos(fallen.final["theta"]) == pytest.approx(-0.15, abs=1e-9)
    held = simulate(system, controller=system.controllers["pd"])
    needed = held.needed_friction()["axle"]
    assert needed.t == 0.0
    assert needed.value == pytest.approx(1.22, abs=0.005)
    # at rest, by hand: (13) with the constraint put in
    H, h = printed_14(system, 0.2, 0.0)
    theta2, phi2 = np.linalg.solve(H, np.array([0.0, 30.0]) - h)
    push = 4.0 * 0.15 * (theta2 + phi2) + 1.5 * theta2 * math.cos(0.2)
    lift = 4.0 * 9.81 - 1.5 * theta2 * math.sin(0.2)
    assert needed.value == pytest.approx(abs(push) / lift, rel=1e-12)
    assert abs(held.final["theta"]) < 1e-4


def test_the_paper_s_pd_leaves_two_eigenvalues_at_zero_and_drifts():
    """Position and speed of rolling are not fed back: the loop does not see where it is, nor how fast it goes on."""
    system = robots.segway_rolled()
    d = system.dynamics
    law = 150.0 * d.x[0] + 1.5 * d.x[2]
    closed = ca.substitute(ca.vertcat(d.qdot, d.free_acceleration), d.u, law)
    (A,) = numeric(system, [ca.jacobian(closed, d.x)], np.zeros(4))
    eigenvalues = sorted(np.linalg.eigvals(A), key=abs)
    assert np.abs(eigenvalues[:2]).max() < 1e-6  # a double zero, as exact as a double root can be
    assert max(value.real for value in eigenvalues[2:]) < -0.5
    run = simulate(system, controller=system.controllers["pd"])
    assert run.final["dpsi"] * 0.15 == pytest.approx(0.0158, abs=1e-4)  # m/s, for ever
    assert np.linalg.matrix_rank(A[:, [0, 2]]) == 2
    assert not A[:, 1].any()  # psi itself moves nothing
    assert np.abs(A[2:, 3]).max() == 0.0  # nor does its rate


def test_with_little_friction_the_paper_s_pd_slips():
    system = robots.segway(mu=0.8)
    run = simulate(system, controller=system.controllers["pd"], until=3.0)
    assert run.arc_modes[0] in ("slip+", "slip-")
    assert "roll" in run.arc_modes
    assert run.check().ok
    assert run.needed_friction()["axle"].value == pytest.approx(0.8, rel=1e-9)


def test_energy_of_a_hanging_body_that_rolls_is_kept():
    system = robots.segway(height=0.01).with_guards(fall="ignore")
    run = simulate(system, {"theta": math.pi + 0.5}, until=60.0)
    energy = run.samples.kinetic + run.samples.potential
    assert np.ptp(energy) < 1e-9
    assert np.abs(run.samples.speeds[:, 0]).max() < 1e-10
    assert np.ptp(run.samples.positions[:, 0]) < 1e-10
