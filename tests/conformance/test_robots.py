"""What every registered robot must satisfy: mechanics, kinematics, energy, and a run that can be trusted."""

from __future__ import annotations

import math
import pickle
from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import simulate
from saltus.robots import find_robot, robot_names

EVERY_ROBOT = pytest.mark.parametrize("name", robot_names())
FEW = settings(max_examples=25, deadline=None)
SHORT = 0.6


@cache
def expressions(name):
    """Numerical functions of (q, v, u) of one robot with its default parameters."""
    system = find_robot(name)
    d = system.dynamics
    points = ca.vertcat(*(point.position for point in system.mechanism.points.values()))
    # every point is a possible contact: those of the units alone may move in straight lines, which shows little
    rows = ca.vertcat(points, *(position for unit in system.units for _, position in unit.rows))
    J, drift = d.row(rows)
    # d/dt (T + V) along the free flow: a directional derivative that the derivation never forms
    rates = ca.vertcat(d.qdot, d.free_acceleration)
    made = {
        "M": d.M,
        "kinetic": d.kinetic,
        "rows": rows,
        "J": J,
        "drift": drift,
        "points": points,
        "point_velocities": d.row(points)[0] @ d.v,
        "energy_rate": ca.jtimes(d.kinetic + d.potential, d.x, rates),
        "put_in": ca.dot(d.u, d.S.T @ d.v) - ca.dot(d.damping, d.v),
        "damped": d.damping * d.v,
        "power_scale": ca.sum1(ca.fabs(d.force * d.v))
        + ca.sum1(ca.fabs(d.S @ d.u * d.v))
        + ca.sum1(ca.fabs(d.h * d.v)),
    }
    functions = {}
    for key, expression in made.items():
        functions[key] = ca.Function(key, [d.q, d.v, d.u, d.p], [ca.SX(expression)])
    return system, functions


def evaluate(name, key, q, v, u=None, parameters=None):
    system, functions = expressions(name)
    u = np.zeros(len(system.mechanism.actuators)) if u is None else u
    p = system.parameter_values if parameters is None else parameters
    return np.array(functions[key](q, v, u, p))


def numbers(count, size):
    return st.lists(st.floats(-size, size), min_size=count, max_size=count).map(np.array)


def coordinates(name):
    units = find_robot(name).mechanism.coordinates.values()
    ranges = [st.floats(-math.pi, math.pi) if unit == "rad" else st.floats(-2, 2) for unit in units]
    return st.tuples(*ranges).map(np.array)


def velocities(name):
    return numbers(find_robot(name).mechanism.nv, 10.0)


# -- the equations -----------------------------------------------------------------------------


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_mass_matrix_is_symmetric_and_positive_definite(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    M = evaluate(name, "M", q, v)
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-14 * np.abs(M).max())
    eigenvalues = np.linalg.eigvalsh(M)
    assert eigenvalues[0] > 1e-9 * eigenvalues[-1] > 0


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_kinetic_energy_is_that_of_the_mass_matrix(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    half = 0.5 * v @ evaluate(name, "M", q, v) @ v
    assert evaluate(name, "kinetic", q, v).item() == pytest.approx(half, rel=1e-10, abs=1e-10)


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_power_balance_along_the_free_flow(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    u = data.draw(numbers(len(find_robot(name).mechanism.actuators), 5.0))
    # damping is zero by default in some robots: give every parameter that is zero a value
    system = find_robot(name)
    parameters = np.where(system.parameter_values == 0, 0.3, system.parameter_values)
    rate, put_in, scale = (
        evaluate(name, key, q, v, u, parameters).item() for key in ("energy_rate", "put_in", "power_scale")
    )
    assert rate == pytest.approx(put_in, rel=0, abs=1e-11 * (1 + scale))
    assert (evaluate(name, "damped", q, v, u, parameters) >= 0).all(), "damping must take energy out"


# -- kinematics --------------------------------------------------------------------------------


def central_difference(function, step):
    """Rate of change at zero, from both sides, with Richardson's extrapolation."""
    coarse = (function(step) - function(-step)) / (2 * step)
    fine = (function(step / 2) - function(-step / 2)) / step
    return (4 * fine - coarse) / 3


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_contact_rows_against_finite_differences(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    J = evaluate(name, "J", q, v)
    for k, direction in enumerate(np.eye(len(q))):
        column = central_difference(lambda s, along=direction: evaluate(name, "rows", q + s * along, v).ravel(), 1e-3)
        np.testing.assert_allclose(J[:, k], column, rtol=0, atol=1e-9)


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_drift_of_contact_rows_against_finite_differences(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    drift = evaluate(name, "drift", q, v).ravel()
    along_the_motion = central_difference(lambda s: evaluate(name, "J", q + s * v, v) @ v, 1e-4)
    np.testing.assert_allclose(
        drift, along_the_motion.ravel(), rtol=0, atol=1e-6 * (1 + np.abs(drift).max(initial=0.0))
    )


@EVERY_ROBOT
@FEW
@given(data=st.data())
def test_velocity_of_every_point_is_the_rate_of_its_position(name, data):
    q, v = data.draw(coordinates(name)), data.draw(velocities(name))
    moved = central_difference(lambda s: evaluate(name, "points", q + s * v, v).ravel(), 1e-4)
    velocity = evaluate(name, "point_velocities", q, v).ravel()
    np.testing.assert_allclose(velocity, moved, rtol=0, atol=1e-8 * (1 + np.abs(velocity).max()))


# -- the description ---------------------------------------------------------------------------


@EVERY_ROBOT
def test_every_parameter_has_a_unit_and_says_what_it_is(name):
    for parameter in find_robot(name).mechanism.parameters.values():
        assert parameter.unit.strip(), f"{parameter.name} has no unit"
        assert parameter.about.strip(), f"{parameter.name} says nothing about itself"


@EVERY_ROBOT
def test_description_is_complete(name):
    system = find_robot(name)
    assert system.name == name
    assert system.about
    assert system.skeleton, "nothing to draw"
    points = set(system.mechanism.points)
    assert {end for line in system.skeleton for end in line} <= points


@EVERY_ROBOT
def test_default_start_is_accepted(name):
    system = find_robot(name)
    run = simulate(system, until=0.0)
    assert run.status.name == "finished"
    assert list(run.final.values()) == system.state().tolist()


# -- runs --------------------------------------------------------------------------------------


def experiments():
    """Every robot by itself, and every profile it brings."""
    for name in robot_names():
        yield pytest.param(name, None, id=name)
        for profile in find_robot(name).profiles:
            yield pytest.param(name, profile, id=f"{name}-{profile}")


@cache
def experiment(name, profile, repetition=0):
    """A run; ``repetition`` only tells otherwise equal runs apart."""
    system = find_robot(name)
    if profile is None:
        return simulate(system, until=min(SHORT, system.until))
    chosen = system.profiles[profile]
    return simulate(system, chosen.start, controller=chosen.controller, until=chosen.until)


EVERY_EXPERIMENT = pytest.mark.parametrize(("name", "profile"), list(experiments()))


@EVERY_EXPERIMENT
def test_run_ends_well_and_passes_its_own_audit(name, profile):
    run = experiment(name, profile)
    assert run.status.good, run
    assert run.end_time == run.requested_end or run.status.name == "terminal"
    audit = run.check()
    assert audit.ok, f"\n{audit}"


@EVERY_EXPERIMENT
def test_runs_are_deterministic(name, profile):
    one, two = experiment(name, profile), experiment(name, profile, repetition=1)
    assert one is not two
    assert one.steps > 0
    # as bytes, since events hold numbers that are not numbers where a law has no figure of its own
    assert one.step_rows.tobytes() == two.step_rows.tobytes()
    assert one.event_rows.tobytes() == two.event_rows.tobytes()
    assert one.final == two.final


@EVERY_EXPERIMENT
def test_recorded_velocities_are_the_rates_of_recorded_positions(name, profile):
    run = experiment(name, profile)
    nq, width = run.system.mechanism.nq, 1e-4
    jumps = [run.start_time, *(event.t for event in run.events), run.end_time]
    compared = 0
    for t in np.linspace(run.start_time, run.end_time, 41):
        if min(abs(t - jump) for jump in jumps) <= 2 * width:
            continue
        rate = central_difference(lambda s, t=t: run.at(t + s)[:nq], width)
        velocity = run.at(t)[nq:]
        np.testing.assert_allclose(rate, velocity, rtol=0, atol=1e-6 * (1 + np.abs(velocity).max()))
        compared += 1
    assert compared > 10


@EVERY_ROBOT
def test_robots_travel_between_processes(name):
    robot = find_robot(name)
    gravity = robot.with_parameters(g=3.0)
    changed = gravity.with_law("plastic") if any(unit.law for unit in gravity.units) else gravity
    copy = pickle.loads(pickle.dumps(changed))
    one, two = simulate(changed, until=0.3), simulate(copy, until=0.3)
    assert one.step_rows.tobytes() == two.step_rows.tobytes()
    assert one.event_rows.tobytes() == two.event_rows.tobytes()
