"""Mass matrix, nonlinear effects and free acceleration against pinocchio's models of the same robots."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from saltus import robots

pin = pytest.importorskip("pinocchio")

SEEDS = range(12)


def flat_inertia(mass, distance, inertia):
    """A body in the plane: centre of mass at (distance, 0), turning about z only."""
    return pin.Inertia(mass, np.array([distance, 0.0, 0.0]), np.diag([inertia, inertia, inertia]))


def shift(x, angle=0.0):
    """A placement in the plane: along x, then turned about z."""
    c, s = np.cos(angle), np.sin(angle)
    return pin.SE3(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), np.array([x, 0.0, 0.0]))


def double_pendulum(p):
    model = pin.Model()
    model.gravity.linear = np.array([0, -p["g"], 0])
    first = model.addJoint(0, pin.JointModelRZ(), shift(0, -np.pi / 2), "theta1")
    model.appendBodyToJoint(first, flat_inertia(p["m1"], p["r1"], p["I1"]), pin.SE3.Identity())
    second = model.addJoint(first, pin.JointModelRZ(), shift(p["L1"]), "theta2")
    model.appendBodyToJoint(second, flat_inertia(p["m2"], p["r2"], p["I2"]), pin.SE3.Identity())
    return model


def hopper(p):
    # x, y and angle as three joints: pinocchio's own planar joint measures velocities in the body's frame
    model = pin.Model()
    model.gravity.linear = np.array([0, -p["g"], 0])
    joint = 0
    for kind, name in ((pin.JointModelPX(), "x"), (pin.JointModelPY(), "y"), (pin.JointModelRZ(), "theta1")):
        joint = model.addJoint(joint, kind, pin.SE3.Identity(), name)
    inertia = p["m"] * (2 * p["l"]) ** 2 / 12
    model.appendBodyToJoint(joint, flat_inertia(p["m"], p["l"], inertia), pin.SE3.Identity())
    joint = model.addJoint(joint, pin.JointModelRZ(), shift(2 * p["l"]), "theta2")
    model.appendBodyToJoint(joint, flat_inertia(p["m"], p["l"], inertia), pin.SE3.Identity())
    return model


ORACLES = {"double_pendulum": double_pendulum, "hopper": hopper}


def random_case(name, seed):
    """A robot with random parameters, its pinocchio model, and a random state and torque."""
    random = np.random.default_rng(seed)
    robot = getattr(robots, name)
    varied = {key: value * random.uniform(0.7, 1.4) for key, value in robot().values.items()}
    system = robot(
        **{key: varied[key] for key in varied if key in ("m1", "m2", "L1", "r1", "r2", "I1", "I2", "m", "l", "g")}
    )
    nv = system.mechanism.nv
    q, v, torque = random.uniform(-3, 3, nv), random.uniform(-8, 8, nv), random.uniform(-5, 5)
    return system, ORACLES[name](system.values), q, v, torque


def evaluate(system, expression, q, v, torque):
    d = system.dynamics
    return np.array(ca.Function("f", [d.q, d.v, d.u, d.p], [expression])(q, v, torque, system.parameter_values))


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix(name, seed):
    system, model, q, v, torque = random_case(name, seed)
    expected = pin.crba(model, model.createData(), q)
    expected = np.triu(expected) + np.triu(expected, 1).T
    np.testing.assert_allclose(evaluate(system, system.dynamics.M, q, v, torque), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_nonlinear_effects(name, seed):
    system, model, q, v, torque = random_case(name, seed)
    expected = pin.nonLinearEffects(model, model.createData(), q, v)
    np.testing.assert_allclose(
        evaluate(system, system.dynamics.h, q, v, torque).ravel(), expected, rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_free_acceleration(name, seed):
    system, model, q, v, torque = random_case(name, seed)
    # the only motor of both robots drives the last angle
    forces = np.zeros(model.nv)
    forces[-1] = torque
    expected = pin.aba(model, model.createData(), q, v, forces)
    got = evaluate(system, system.dynamics.free_acceleration, q, v, torque).ravel()
    # accelerations reach thousands of rad/s^2: the error is measured against the largest
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))
