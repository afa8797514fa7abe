"""Linear analysis in space: a wheel that rolls under a body, whose closed forms are known, and neighbours simulated."""

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from saltus import robots, simulate
from saltus.contact import SpatialWheel
from saltus.control import LQR, Constant, linearize, linearize_along
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import FreeFlyer, Hinge, Mechanism

BODY, WHEEL, LENGTH, RADIUS, G = 3.0, 1.0, 0.5, 0.15, 9.81
ANGLES = ("yaw", "roll", "pitch", "phi")


@cache
def balancer():
    """A body over one wheel; its numbers are those of Claptrap [vigne2019]."""
    m = Mechanism("balancer", dimension=3)
    m.gravity = m.parameter("g", G, "m/s^2", "gravity")
    body = m.body("body", FreeFlyer(), mass=BODY, inertia=(1.0, 1.0, 1.0), com=(0, 0, LENGTH))
    wheel = m.body("wheel", Hinge("phi", (0, 1, 0)), parent=body, mass=WHEEL, inertia=(0.5, 0.1, 0.5))
    m.actuator("motor", "phi", limit=20.0)
    m.reading("psi", m.readings["pitch"].expression + m.coordinate("phi").symbol, "rad")
    centre = m.point("centre", wheel)
    return HybridSystem(m, units=(SpatialWheel(centre, wheel, RADIUS),), start={"z": RADIUS, "pitch": 0.2})


def test_the_upright_balancer_has_two_ways_to_fall():
    found = linearize(balancer())
    assert found.equilibrium
    assert found.mode == "roll"
    # six coordinates are free, but only four velocities: the wheel neither slides along nor aside
    assert found.states == ("x", "y", "turn_wx", "turn_wy", "turn_wz", "phi", "wx", "wy", "wz", "dphi")
    assert found.dropped["dx"] == pytest.approx({"wy": RADIUS, "dphi": RADIUS})
    assert found.dropped["dy"] == pytest.approx({"wx": -RADIUS})
    moment = 1.0 + BODY * (LENGTH + RADIUS) ** 2 + 0.5 + WHEEL * RADIUS**2
    sideways = math.sqrt((BODY * (LENGTH + RADIUS) + WHEEL * RADIUS) * G / moment)
    H = _inertias()
    forward = math.sqrt(np.linalg.inv(H)[0, 0] * BODY * LENGTH * G)
    np.testing.assert_allclose(found.eigenvalues[:2], [forward, sideways], rtol=1e-9)
    assert not found.controllable
    # what the motor cannot do is to keep it from falling sideways
    assert found.weak_mode.eigenvalue == pytest.approx(sideways)
    assert set(list(found.weak_mode.states)[:2]) == {"turn_wx", "wx"}
    with pytest.raises(InputError, match="no inputs can stabilise"):
        found.lqr()


def _inertias():
    """H of (theta, psi) [vigne2019, eq. 18]."""
    across = BODY * LENGTH * RADIUS
    return np.array([[BODY * LENGTH**2 + 1.0, across], [across, (BODY + WHEEL) * RADIUS**2 + 0.1]])


def test_in_its_plane_it_is_the_segway():
    found = linearize(balancer(), keep=("pitch", "psi")).subsystem(("pitch", "psi"))
    assert found.states == ("pitch", "psi", "dpitch", "dpsi")
    inverse = np.linalg.inv(_inertias())
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[:2, 2:], A[2:, 0] = np.eye(2), inverse[:, 0] * BODY * LENGTH * G
    B[2:, 0] = inverse @ [-1, 1]
    np.testing.assert_allclose(found.A, A, atol=1e-12)
    np.testing.assert_allclose(found.B, B, atol=1e-12)
    assert found.controllable


@pytest.mark.parametrize("pitch", [0.0, math.pi])
def test_it_stands_or_hangs_where_it_was(pitch):
    found = linearize(balancer(), at={"pitch": pitch, "yaw": 0.5})
    assert found.equilibrium
    assert (found.state["x"], found.state["y"]) == pytest.approx((0, 0), abs=1e-6)
    # the wheel has rolled back by as much as the body has come up
    before = balancer().state(None)[7]
    rolled = found.state["phi"] - (before + 0.2 - pitch)
    assert math.remainder(rolled, 2 * math.pi) == pytest.approx(0, abs=1e-6)
    assert (found.eigenvalues.real.max() > 1) == (pitch == 0)
    assert found.forces["centre.n"] == pytest.approx((BODY + WHEEL) * G)


def test_two_wheels_on_one_axle_say_the_same_sideways():
    two = robots.find_robot("claptrap_two_wheels")
    found = linearize(two, keep=("pitch", "psi", "yaw"))
    assert found.mode == "left_wheel:roll right_wheel:roll"
    assert found.states[-3:] == ("dpitch", "dpsi", "dyaw")
    turning = found.subsystem(("pitch", "psi", "yaw"))
    assert turning.controllable
    # both motors act alike on pitch, and against each other on yaw
    pitch, yaw = turning.B[3], turning.B[5]
    assert pitch[0] == pytest.approx(pitch[1])
    assert yaw[0] == pytest.approx(-yaw[1])
    assert turning.closed_loop(turning.lqr()).real.max() < 0


def test_states_that_others_act_on_are_no_system():
    with pytest.raises(InputError, match=r"acts on"):
        linearize(balancer(), keep=("pitch", "x")).subsystem(("x",))


def test_it_is_balanced_by_its_readings_and_driven():
    law = LQR(states=("pitch", "psi"), limit=15.0, weights={"psi": 4.0})
    run = simulate(balancer(), controller=law, until=8)
    assert run.arc_modes == ["roll"]
    assert abs(run.final["qy"]) < 1e-4
    assert run.final["x"] == pytest.approx(0, abs=1e-3)  # where it was
    assert np.abs(run.samples.inputs).max() <= 15
    drive = LQR(states=("pitch", "psi"), speed={"psi": 2.0})
    run = simulate(balancer(), {"pitch": 0.0}, controller=drive, until=8)
    assert run.final["dx"] == pytest.approx(2.0 * RADIUS, abs=1e-3)


def _seen(names):
    """The states as a function of the whole state."""
    system = balancer()
    d, m = system.dynamics, system.mechanism
    known = {name: reading.expression for name, reading in m.readings.items()}
    known |= {f"d{name}": ca.jtimes(value, d.q, d.qdot) for name, value in known.items()}
    known |= dict(zip(system.state_names, ca.vertsplit(d.x), strict=True))
    return ca.Function("seen", [d.x], [ca.vertcat(*(known[name] for name in names))])


def _grown(arc, end, measure, spread, size=1e-6):
    """How differences grow, by simulating neighbours along the directions in which the wheel can roll."""
    columns = []
    for k in range(len(arc.states)):
        ends = [
            simulate(balancer(), arc.x[0] + sign * size * spread[:, k], until=end, controller=Constant(2.0)).at(end)
            for sign in (1, -1)
        ]
        columns.append(measure(ends) / (2 * size))
    return np.array(columns).T


@pytest.mark.parametrize("keep", [ANGLES, ()])
def test_along_a_leaning_roll_differences_grow_as_the_engine_has_it(keep):
    system, end = balancer(), 0.02
    d = system.dynamics
    turn = ca.Function("N", [d.q], [d.N])
    run = simulate(system, _rolling(system), until=end, controller=Constant(2.0))
    (arc,) = linearize_along(run, np.linspace(0, end, 41), keep=keep)
    nq, nv = system.mechanism.nq, system.mechanism.nv
    assert len(arc.states) == 10
    spread = np.zeros((nq + nv, len(arc.states)))
    spread[:nq] = np.array(turn(arc.x[0][:nq])) @ arc.full[0][:nv]
    spread[nq:] = arc.full[0][nv:]
    if keep:
        assert arc.states == (*ANGLES, "x", "y", "dyaw", "droll", "dpitch", "dphi")
        seen = _seen(arc.states)
        grown = _grown(arc, end, lambda ends: np.array(seen(ends[0]) - seen(ends[1])).ravel(), spread)
    else:
        back = np.linalg.pinv(np.array(turn(run.at(end)[:nq])))
        chosen = [["x", "y", "z", "turn_wx", "turn_wy", "turn_wz", "phi"].index(name) for name in arc.states[:6]]
        speeds = [system.state_names.index(name) for name in arc.states[6:]]

        def measure(ends):
            difference = ends[0] - ends[1]
            return np.concatenate([(back @ difference[:nq])[chosen], difference[speeds]])

        grown = _grown(arc, end, measure, spread)
    Phi, t = np.eye(10), arc.t
    for k in range(0, 40, 2):  # the classical Runge-Kutta method
        h = t[k + 2] - t[k]
        one = arc.A[k] @ Phi
        two = arc.A[k + 1] @ (Phi + h / 2 * one)
        three = arc.A[k + 1] @ (Phi + h / 2 * two)
        Phi = Phi + h / 6 * (one + 2 * two + 2 * three + arc.A[k + 2] @ (Phi + h * three))
    np.testing.assert_allclose(Phi, grown, atol=1e-6)


def _rolling(system):
    """A leaning state that rolls: the centre as high as the rim has it, and its velocity as the rows want it."""
    lean = 0.2
    turns = Rotation.from_euler("ZXY", [0.4, lean, 0.3]).as_quat()
    x = np.array([0.1, 0.2, RADIUS * math.cos(lean), turns[3], *turns[:3], 1.0, 0, 0, 0, 0.5, -0.4, 1.0, 3.0])
    d, (unit,) = system.dynamics, system.units
    rows = ca.Function("rows", [d.x, d.p], [ca.vertcat(*(d.row(row)[0] for _, row in unit.rows))])
    J, v = np.array(rows(x, system.parameter_values)), x[system.mechanism.nq :]
    v[:3] = -np.linalg.solve(J[:, :3], J[:, 3:] @ v[3:])
    return x
