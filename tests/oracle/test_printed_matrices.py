"""The hopper's printed matrices and contact forces, typed in from the paper, against the derived equations."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from saltus import robots, simulate

# Notation: [oh_huang, item 1]; q = (x, y, theta1, theta2), l is half a link's length, I_c = m (2l)^2 / 12.

NAMES = ("m", "l", "g")
SEEDS = range(12)


def printed_M(q, m, l):
    s1, c1, c2 = math.sin(q[2]), math.cos(q[2]), math.cos(q[3])
    s12, c12 = math.sin(q[2] + q[3]), math.cos(q[2] + q[3])
    return np.array(
        [
            [2 * m, 0, -l * m * (s12 + 3 * s1), -l * m * s12],
            [0, 2 * m, l * m * (c12 + 3 * c1), l * m * c12],
            [
                -l * m * (s12 + 3 * s1),
                l * m * (c12 + 3 * c1),
                4 / 3 * l**2 * m * (3 * c2 + 5),
                2 / 3 * m * l**2 * (3 * c2 + 2),
            ],
            [-l * m * s12, l * m * c12, 2 / 3 * m * l**2 * (3 * c2 + 2), 4 / 3 * m * l**2],
        ]
    )


def printed_B(q, v, m, l):
    s1, c1, s2 = math.sin(q[2]), math.cos(q[2]), math.sin(q[3])
    s12, c12 = math.sin(q[2] + q[3]), math.cos(q[2] + q[3])
    w1, w2 = v[2], v[3]
    return np.array(
        [
            -l * m * (w1**2 * c12 + w2**2 * c12 + 3 * w1**2 * c1 + 2 * w1 * w2 * c12),
            -l * m * (w1**2 * s12 + w2**2 * s12 + 3 * w1**2 * s1 + 2 * w1 * w2 * s12),
            -2 * m * l**2 * w2 * s2 * (2 * w1 + w2),
            2 * m * l**2 * w1**2 * s2,
        ]
    )


def printed_G(q, m, l, g):
    c1, c12 = math.cos(q[2]), math.cos(q[2] + q[3])
    return np.array([0, 2 * m * g, l * g * m * (c12 + 3 * c1), l * g * m * c12])


PRINTED_W = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])


def corrected_stick_force(q, v, torque, m, l, g):
    """lambda = (W M^-1 W^T)^-1 (W M^-1 (B + G - F_q) - Wdot qdot); Wdot is zero. The print lacks F_q."""
    M, F = printed_M(q, m, l), np.array([0, 0, 0, torque])
    W = PRINTED_W
    rest = W @ np.linalg.solve(M, printed_B(q, v, m, l) + printed_G(q, m, l, g) - F)
    return np.linalg.solve(W @ np.linalg.solve(M, W.T), rest)


def corrected_slip_force(q, v, torque, sigma, mu, m, l, g):
    """lambda_n = beta / alpha and lambda_t = -sigma mu lambda_n, with F_q in beta; the print lacks it."""
    M, F = printed_M(q, m, l), np.array([0, 0, 0, torque])
    W_t, W_n = PRINTED_W
    beta = W_n @ np.linalg.solve(M, printed_B(q, v, m, l) + printed_G(q, m, l, g) - F)
    alpha = W_n @ np.linalg.solve(M, W_n - sigma * mu * W_t)
    return np.array([-sigma * mu * beta / alpha, beta / alpha])


def random_case(seed):
    """A state and parameters of no special kind, in the order m, l, g."""
    random = np.random.default_rng(seed)
    q, v = random.uniform(-3, 3, 4), random.uniform(-8, 8, 4)
    values = {"m": random.uniform(0.1, 2), "l": random.uniform(0.05, 0.5), "g": random.uniform(1, 12)}
    return q, v, values


def evaluate(system, expression, q, v):
    d = system.dynamics
    return np.array(ca.Function("f", [d.q, d.v, d.p], [expression])(q, v, system.parameter_values))


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix(seed):
    q, v, values = random_case(seed)
    system = robots.hopper(**values)
    np.testing.assert_allclose(
        evaluate(system, system.dynamics.M, q, v), printed_M(q, values["m"], values["l"]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_and_velocity_forces(seed):
    q, v, values = random_case(seed)
    system = robots.hopper(**values)
    gravity = evaluate(system, system.dynamics.h, q, np.zeros(4)).ravel()
    both = evaluate(system, system.dynamics.h, q, v).ravel()
    B, G = printed_B(q, v, values["m"], values["l"]), printed_G(q, **values)
    np.testing.assert_allclose(gravity, G, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(both, B + G, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_constraint_matrix_and_its_rate(seed):
    q, v, values = random_case(seed)
    system = robots.hopper(**values)
    foot = system.units[0]
    J, drift = system.dynamics.row(ca.vertcat(foot.slide, foot.gap))
    np.testing.assert_allclose(evaluate(system, J, q, v), PRINTED_W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(evaluate(system, drift, q, v), 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_printed_potential_energy(seed):
    q, v, values = random_case(seed)
    system = robots.hopper(**values)
    m, l, g = (values[name] for name in NAMES)
    printed = 2 * m * g * (q[1] + l * math.sin(q[2] + q[3]) / 2 + 3 * l * math.sin(q[2]) / 2)
    assert evaluate(system, system.dynamics.potential, q, v).item() == pytest.approx(printed, rel=1e-12, abs=1e-12)


def paper_jump():
    hopper = robots.hopper()
    return simulate(hopper, controller=hopper.profiles["paper"].controller)


def test_contact_force_at_the_start_of_the_paper_jump():
    reference = [0.7142825015991597, 7.884463248314713]
    q, still = np.array([0, 0, math.radians(109), math.radians(-108)]), np.zeros(4)
    # the reference figure was read a picosecond after the start, where the torque is 1.2e-10 N m larger
    a_moment_later = corrected_stick_force(q, still, 3.2 - 1500 * (1e-12 - 0.04) ** 2, 0.3, 0.15, 10.0)
    np.testing.assert_allclose(a_moment_later, reference, rtol=1e-12)
    force = paper_jump().samples.forces[0]
    np.testing.assert_allclose(force, reference, rtol=1e-9)
    np.testing.assert_allclose(force, corrected_stick_force(q, still, 0.8, 0.3, 0.15, 10.0), rtol=1e-12)


def test_corrected_contact_forces_along_the_paper_jump():
    run = paper_jump()
    mesh, values = run.mesh, run.system.values
    m, l, g = (values[name] for name in NAMES)
    checked = dict.fromkeys(("stick", "slip+", "slip-"), 0)
    printed_formula_is_off = 0.0
    for x, force, torque, arc in zip(mesh.x, mesh.forces, mesh.inputs[:, 0], mesh.arc, strict=True):
        mode = run.arc_modes[arc]
        q, v = x[:4], x[4:]
        if mode == "stick":
            expected = corrected_stick_force(q, v, torque, m, l, g)
            as_printed = corrected_stick_force(q, v, 0.0, m, l, g)
            printed_formula_is_off = max(printed_formula_is_off, np.abs(as_printed - force).max())
        elif mode in checked:
            expected = corrected_slip_force(q, v, torque, 1 if mode == "slip+" else -1, values["mu"], m, l, g)
        else:
            expected = np.zeros(2)
        np.testing.assert_allclose(force, expected, rtol=1e-11, atol=1e-11, err_msg=mode)
        if mode in checked:
            checked[mode] += 1
    assert all(checked.values()), checked
    # the paper's own formula, without the actuator, misses by newtons: the test can tell them apart
    assert printed_formula_is_off > 1.0
