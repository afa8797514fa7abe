"""Symbolic modes against the engine's own accelerations and forces, in every mode."""

import ctypes
import itertools
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import GroundPoint, HybridSystem, Mechanism
from saltus._native import PART, compile_entry
from saltus.contact import Equations, Grip, Pivot
from saltus.engine import _layout as L
from saltus.engine._flow import flow
from saltus.engine._forces import make_plan
from saltus.engine._program import arenas
from saltus.errors import InputError, UnknownName
from saltus.hybrid import find_statuses, symbolic_mode
from saltus.mechanism import Floating, Revolute


def scissors():
    """Two links with a foot at each end, free in the plane: both feet can stick at once."""
    m = Mechanism("scissors")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    mu = m.parameter("mu", 0.4, "1", lower=0)
    left = m.body("left", Floating("x", "y", "angle"), mass=1.0, inertia=0.1, com=(0.5, 0))
    right = m.body("right", Revolute("bend", at=(1, 0)), parent=left, mass=1.5, inertia=0.2, com=(0.4, 0.1))
    m.actuator("hip", "bend")
    feet = (m.point("left", left), m.point("right", right, (1, 0)))
    return HybridSystem(m, units=tuple(GroundPoint(foot, friction=mu) for foot in feet))


def rod():
    """A rod that rubs at the hand by which it hangs."""
    m = Mechanism("rod")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    body = m.body("rod", Floating("x", "y", "angle"), mass=1.3, inertia=0.05, com=(0.1, -0.4))
    hand = Grip(m.point("hand", body), closed=True)
    return HybridSystem(m, units=(hand, Pivot(hand, m.coordinate("angle").symbol, coulomb=0.3, viscous=0.2)))


ROBOTS = {name: getattr(saltus.robots, name) for name in ("hopper", "block", "disc", "arm")} | {
    "scissors": scissors,
    "rod": rod,
}


def plan_and_flow(I, D, t, h, y, dy, lam):
    make_plan(I, D)
    return flow(I, D, t, y, dy, lam)


@pytest.fixture(scope="module")
def engine_flow():
    """Accelerations and forces of a mode, by the code that the engine runs."""
    entry = compile_entry(plan_and_flow, PART, "plan-and-flow")
    kinds = [ctypes.c_void_p] * 2 + [ctypes.c_double] * 2 + [ctypes.c_int64] * 3
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(entry.place)

    def evaluate(system, statuses, x, u):
        I, D = arenas(system, "dopri5", 0, 0, 0, True)
        I[I[L.STATUS] : I[L.STATUS] + len(statuses)] = statuses
        D[I[L.Y] : I[L.Y] + x.size] = x
        D[I[L.U] : I[L.U] + u.size] = u
        assert function(I.ctypes.data, D.ctypes.data, 0.0, 0.0, I[L.Y], I[L.K], I[L.LAM]) == 0
        nv = system.mechanism.nv
        return D[I[L.K] + nv : I[L.K] + 2 * nv].copy(), D[I[L.LAM] : I[L.LAM] + I[L.NROW]].copy()

    return evaluate


def numbers(system, mode, x, u):
    d = system.dynamics
    function = ca.Function("mode", [d.t, d.x, d.u, d.p], [mode.acceleration, mode.forces, mode.pivots])
    return [np.array(out).ravel() for out in function(0.0, x, u, system.parameter_values)]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_mode_is_the_engines(name, engine_flow):
    system = ROBOTS[name]()
    random = np.random.default_rng(7)
    for statuses in itertools.product(*(range(len(unit.statuses)) for unit in system.units)):
        held = sum(len(unit.equations(s).closed) for unit, s in zip(system.units, statuses, strict=True))
        if held > system.mechanism.nv:
            continue  # more rows than there are motions: their forces are not unique
        if name == "rod" and statuses[0] != 1 and statuses[1] != 0:
            continue  # an open hand does not rub
        mode = symbolic_mode(system, statuses)
        assert mode.name == system.mode_name(statuses)
        for _ in range(5):
            x = random.uniform(-1, 1, len(system.state_names))
            u = random.uniform(-2, 2, len(system.mechanism.actuators))
            acceleration, forces = engine_flow(system, statuses, x, u)
            got, got_forces, pivots = numbers(system, mode, x, u)
            assert (pivots > 0).all()
            size = 1 + np.abs(acceleration).max() + np.abs(forces).max()
            np.testing.assert_allclose(got, acceleration, rtol=0, atol=1e-11 * size)
            np.testing.assert_allclose(got_forces, forces, rtol=0, atol=1e-11 * size)


def test_closed_rows_stand_still_and_ties_hold():
    system = scissors()
    d, random = system.dynamics, np.random.default_rng(8)
    mode = symbolic_mode(system, {"left": "stick", "right": "slip-"})
    x, u = random.uniform(-1, 1, 8), random.uniform(-2, 2, 1)
    acceleration, forces, _ = numbers(system, mode, x, u)
    assert forces[2] == pytest.approx(0.4 * forces[3], rel=1e-12)
    for row, position in enumerate(p for unit in system.units for _, p in unit.rows):
        J, drift = (np.array(ca.Function("f", [d.x], [e])(x)).ravel() for e in d.row(position))
        if row != 2:
            assert J @ acceleration + drift == pytest.approx(0.0, abs=1e-11)


def test_rows_that_say_the_same_are_known():
    m = Mechanism("plank")
    body = m.body("plank", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    feet = [m.point(name, body, (side, 0)) for name, side in (("left", -0.5), ("right", 0.5))]
    plank = HybridSystem(m, units=tuple(GroundPoint(foot, friction=0.5) for foot in feet))
    x = np.array([0.3, 0.1, 0.2, 1.0, -0.5, 0.7])
    for mode, independent in ((["stick", "stick"], False), (["stick", "slip+"], True), (["slip+", "slip-"], True)):
        assert (numbers(plank, symbolic_mode(plank, mode), x, np.zeros(0))[2] > 0).all() == independent


def test_given_forces():
    """A unit of one row, such as a joint with friction: it slides under a known force, or is stuck."""
    arm = saltus.robots.double_pendulum()
    d = arm.dynamics
    sliding, stuck = Equations(given=((0, -0.7),)), Equations(closed=(0,))
    unit = SimpleNamespace(
        name="elbow",
        statuses=("sliding", "stuck"),
        rows=(("q", d.q[1]),),
        equations=(sliding, stuck).__getitem__,
        gate=None,
    )
    system = SimpleNamespace(
        name="arm", dynamics=d, units=(unit,), mode_name=lambda s: "", parameter_values=arm.parameter_values
    )
    x, u = np.array([0.3, -0.4, 1.0, 2.0]), np.array([1.5])
    acceleration, forces, _ = numbers(system, symbolic_mode(system, ["sliding"]), x, u)
    expected = numbers(arm, symbolic_mode(arm), x, u - 0.7)[0]
    np.testing.assert_allclose(acceleration, expected, rtol=1e-13)
    assert list(forces) == [-0.7]
    assert numbers(system, symbolic_mode(system, ["stuck"]), x, u)[0][1] == pytest.approx(0.0, abs=1e-13)
    with pytest.raises(InputError, match="in every status"):
        symbolic_mode(system)


def test_modes_by_name_and_number():
    hopper, two = saltus.robots.hopper(), scissors()
    assert find_statuses(hopper, None) == find_statuses(hopper, "flight") == find_statuses(hopper, [0]) == (0,)
    assert find_statuses(hopper, {"P": "slip-"}) == find_statuses(hopper, np.array([3])) == (3,)
    for statuses in itertools.product(range(4), repeat=2):
        assert find_statuses(two, two.mode_name(statuses)) == statuses
    assert find_statuses(saltus.robots.pendulum(), "free") == ()


@pytest.mark.parametrize("mode", ["stik", {"Q": "stick"}, {"P": "fly"}, "open"])
def test_unknown_modes(mode):
    with pytest.raises(UnknownName):
        find_statuses(saltus.robots.hopper(), mode)


@pytest.mark.parametrize("mode", [{}, {"left": "stick"}, [1], [1, 4], [1, 1.5], [True, 0], 3, "left:stick", "stick"])
def test_modes_that_are_none(mode):
    with pytest.raises(InputError):
        find_statuses(scissors(), mode)
