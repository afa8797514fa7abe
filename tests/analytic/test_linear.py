"""Linear analysis against closed forms, differences of the engine's own flow, and SciPy."""

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad_vec
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.signal import cont2discrete

from saltus import robots, simulate
from saltus.control import LQR, Constant, controllability_determinant, linearize, linearize_along, symbolic_linear
from saltus.control._linear import Linear
from saltus.control._riccati import held_cost
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Fixed, Mechanism, Prismatic, Revolute
from saltus.mechanism._mechanism import Actuator

positive = st.floats(0.2, 3.0)


@pytest.fixture(scope="module")
def cart():
    path = Path(__file__).parents[2] / "examples" / "plugins" / "cart.py"
    scope = {"__name__": "cart"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["build"]()


# -- closed forms --------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(mass=positive, length=positive, inertia=positive, damping=positive, angle=st.floats(-1.4, 1.4))
def test_pendulum(mass, length, inertia, damping, angle):
    pendulum = robots.pendulum().with_parameters(
        mass=mass, length=length, inertia=inertia, damping=damping, torque_limit=1e3
    )
    found = linearize(pendulum, at={"theta": angle})
    about = inertia + mass * length**2
    stiffness = mass * 9.81 * length
    assert found.equilibrium
    # an equilibrium accelerates by no more than 1e-9 rad/s^2
    assert found.input_values["pivot"] == pytest.approx(stiffness * math.sin(angle), abs=1e-9 * max(1.0, about))
    np.testing.assert_allclose(found.A, [[0, 1], [-stiffness * math.cos(angle) / about, -damping / about]], atol=1e-12)
    np.testing.assert_allclose(found.B, [[0], [1 / about]], rtol=1e-13)


def test_cart_with_its_pendulum_upright(cart):
    found = linearize(cart, at={"theta": math.pi})
    M, m, l, g, c = 2.0, 0.5, 0.8, 9.81, 0.1
    # a point on a massless rod: M s'' + c s' = u + m g e, l e'' = g e + s''
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, m * g / M, -c / M, 0], [0, (M + m) * g / (M * l), -c / (M * l), 0]])
    B = np.array([[0], [0], [1 / M], [1 / (M * l)]])
    assert found.states == ("s", "theta", "ds", "dtheta")
    np.testing.assert_allclose(found.A, A, atol=1e-12)
    np.testing.assert_allclose(found.B, B, atol=1e-12)
    assert found.controllable
    assert found.rank == 4
    np.testing.assert_allclose(np.sort_complex(found.eigenvalues), np.sort_complex(np.linalg.eigvals(A)), atol=1e-9)
    np.testing.assert_allclose(found.A @ found.eigenvectors, found.eigenvectors * found.eigenvalues, atol=1e-9)


def test_disc_that_rolls_has_one_coordinate_and_tells_the_others():
    disc, slope, radius = robots.disc(), -0.2, 0.2
    found = linearize(disc)
    about = 0.5 * radius**2 + radius**2
    assert found.mode == "roll"
    assert found.states == ("angle", "dangle")
    # downhill is to the right, where a disc turns clockwise; the torque holds it against that
    assert found.input_values["torque"] == pytest.approx(9.81 * radius * math.sin(-slope), rel=1e-12)
    np.testing.assert_allclose(found.A, [[0, 1], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(found.B, [[0], [1 / about]], rtol=1e-12)
    assert found.dropped["x"]["angle"] == pytest.approx(-radius * math.cos(slope))
    assert found.dropped["dy"]["dangle"] == pytest.approx(-radius * math.sin(slope))
    along = linearize(disc, keep=("x",))
    assert along.states == ("x", "dx")
    np.testing.assert_allclose(along.B, [[0], [-radius * math.cos(slope) / about]], rtol=1e-12)


def test_a_rod_balanced_on_its_end_is_found_among_the_modes():
    found = linearize(robots.rod())
    assert found.mode == "A:stick B:open"
    assert found.state["theta"] == pytest.approx(math.pi / 2)
    # about its end: 3 g / 2 l
    np.testing.assert_allclose(found.eigenvalues, [math.sqrt(1.5 * 9.81), -math.sqrt(1.5 * 9.81)], rtol=1e-12)
    assert found.forces["A.n"] == pytest.approx(9.81)
    assert not found.controllable


def test_a_joint_with_dry_friction_rests_stuck():
    found = linearize(robots.arm())
    assert found.mode == "hand:closed tip:open theta2:stuck"
    assert found.states == ("theta1", "dtheta1")
    assert found.rank == 0


def test_hopper_balances_over_its_foot():
    found = linearize(robots.hopper(), at={"theta2": math.radians(-90)})
    l, theta1 = 0.15, found.state["theta1"]
    # the centre of mass of both links is above the foot: l (3 cos a + cos(a + b)) / 2 = 0
    assert 3 * math.cos(theta1) + math.cos(theta1 - math.pi / 2) == pytest.approx(0, abs=1e-9)
    assert found.input_values["knee"] == pytest.approx(0.3 * 10 * l * math.cos(theta1 - math.pi / 2), rel=1e-9)
    assert found.mode == "stick"


# -- against differences of the engine's own flow ------------------------------------------------------


def _grown(system, arc, end, size=1e-6):
    """How differences of the states grow from the first time of an arc to the last, by simulating neighbours."""
    T = arc.full[0]
    inputs = Constant(arc.u[0].tolist())
    names = system.state_names
    rows = [names.index(name) for name in arc.states]
    columns = []
    for k in range(T.shape[1]):
        ends = []
        for sign in (1, -1):
            x = arc.x[0] + sign * size * T[:, k]
            x = system.consistent(x)  # a neighbour along the tangent is one to first order
            ends.append(simulate(system, x, until=end, controller=inputs).at(end)[rows])
        columns.append((ends[0] - ends[1]) / (2 * size))
    return np.array(columns).T


def _carried(arc):
    """The same by integrating Phi' = A(t) Phi with the classical Runge-Kutta method, two intervals a step."""
    Phi, t = np.eye(len(arc.states)), arc.t
    for k in range(0, len(t) - 1, 2):
        h = t[k + 2] - t[k]
        one = arc.A[k] @ Phi
        two = arc.A[k + 1] @ (Phi + h / 2 * one)
        three = arc.A[k + 1] @ (Phi + h / 2 * two)
        four = arc.A[k + 2] @ (Phi + h * three)
        Phi = Phi + h / 6 * (one + 2 * two + 2 * three + four)
    return Phi


CASES = {
    "hopper sticks": (robots.hopper, {"theta1": 1.9, "theta2": -1.7, "dtheta1": 0.3, "dtheta2": -0.4}, 0.4, "stick"),
    "hopper slips": (robots.hopper, {"dx": 0.5, "theta1": 1.9, "theta2": -1.7, "dtheta2": -0.4}, 0.4, "slip+"),
    "monkeybot swings": (robots.monkeybot, {"theta1": 0.3, "dtheta1": 0.9, "dtheta2": 6.0}, 0.5, "A:closed"),
    "disc rolls": (robots.disc, {"y": 0.2 / math.cos(0.2), "dangle": 0.0}, 0.1, "roll"),
    "pendulum with a torque": (robots.pendulum, {"dtheta": 2.0}, 3.0, "free"),
}


@pytest.mark.parametrize("case", CASES)
def test_along_a_run_differences_grow_as_the_engine_has_it(case):
    build, state, torque, mode = CASES[case]
    system, end = build(), 0.02
    run = simulate(system, state, until=end, controller=Constant(torque))
    (arc,) = linearize_along(run, np.linspace(0, end, 41))
    assert arc.mode == mode
    assert arc.A.shape == (41, len(arc.states), len(arc.states))
    assert arc.B.shape == (41, len(arc.states), 1)
    np.testing.assert_allclose(_carried(arc), _grown(system, arc, end), rtol=0, atol=3e-7)


@pytest.mark.parametrize("case", CASES)
def test_inputs_act_as_the_engine_has_it(case):
    build, state, torque, _ = CASES[case]
    system, end, size = build(), 1e-3, 1e-4
    run = simulate(system, state, until=end, controller=Constant(torque))
    (arc,) = linearize_along(run, [0.0, end / 2, end])
    rows = [system.state_names.index(name) for name in arc.states]
    more, less = (
        simulate(system, state, until=end, controller=Constant(torque + sign * size)).at(end)[rows] for sign in (1, -1)
    )
    n, A, B = len(arc.states), arc.A[1], arc.B[1][:, 0]
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n] = A * end, B * end
    np.testing.assert_allclose(expm(block)[:n, n], (more - less) / (2 * size), rtol=1e-4, atol=1e-9)


def test_along_a_run_of_many_modes_each_has_its_own_states():
    hopper = robots.hopper()
    run = simulate(hopper, controller=hopper.profiles["paper"].controller, until=0.4)
    arcs = linearize_along(run)
    assert [arc.mode for arc in arcs] == [run.arc_modes[arc.arc] for arc in arcs]
    sizes = {arc.mode: len(arc.states) for arc in arcs}
    assert sizes == {"stick": 4, "slip-": 6, "flight": 8, "slip+": 6}
    assert sum(len(arc.t) for arc in arcs) == len(run.t)


# -- controllability -----------------------------------------------------------------------------------


def system_of(A, B, limits=np.inf):
    """A linear system by its matrices."""
    A, B = np.array(A, dtype=float), np.array(B, dtype=float)
    names = tuple(f"x{k}" for k in range(len(A)))
    m = B.shape[1]
    return Linear(
        "made", "free", (), names, tuple(f"u{k}" for k in range(m)), A, B, dict.fromkeys(names, 0.0), {}, {}, {},
        np.eye(len(A)), names, np.broadcast_to(limits, m),
    )  # fmt: skip


def test_a_chain_is_controlled_from_its_end_only():
    chain = [[-1, 1, 0], [0, -1, 1], [0, 0, -1]]
    good, bad = system_of(chain, [[0], [0], [1]]), system_of(chain, [[1], [0], [0]])
    assert good.controllable
    assert not bad.controllable
    assert bad.rank == 1
    assert bad.weak_mode.margin < 1e-4
    assert bad.weak_mode.eigenvalue == pytest.approx(-1, abs=1e-4)


def test_the_weak_mode_is_named():
    A = np.diag([1.0, 2.0, -3.0])
    found = system_of(A, [[1], [1e-6], [1]])
    assert found.controllable
    assert found.weak_mode.eigenvalue == pytest.approx(2)
    assert list(found.weak_mode.states) == ["x1"]
    lost = system_of(A, [[1], [0], [1]])
    assert (lost.controllable, lost.rank) == (False, 2)
    assert lost.smallest_singular_value == pytest.approx(0, abs=1e-12)
    with pytest.raises(InputError, match=r"no inputs can stabilise the eigenvalues 2.*x1"):
        lost.lqr()
    # one that decays by itself does no harm
    assert system_of(np.diag([1.0, -2.0]), [[1], [0]]).lqr()[0, 1] == pytest.approx(0, abs=1e-12)


def test_of_equal_eigenvalues_the_one_that_is_not_reached_is_named():
    found = system_of(np.eye(2), [[1], [1]])
    assert found.rank == 1
    # the difference of the two cannot be changed
    assert found.weak_mode.states == pytest.approx({"x0": 0.5, "x1": 0.5})
    assert list(system_of(np.eye(2), [[1], [0]]).weak_mode.states) == ["x1"]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(0, 4), st.integers(1, 2), st.integers(0, 10**6))
def test_the_rank_is_that_of_what_is_reached(reached, lost, m, seed):
    rng = np.random.default_rng(seed)
    n = reached + lost
    A = rng.normal(size=(n, n))
    A[reached:, :reached] = 0
    B = rng.normal(size=(n, m))
    B[reached:] = 0
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    found = system_of(turn @ A @ turn.T, turn @ B)
    assert found.rank == reached
    assert found.controllable == (lost == 0)
    if lost:
        least = np.sort(found.margins)[:lost]
        assert least.max() < 1e-9
        assert min(abs(found.weak_mode.eigenvalue - np.linalg.eigvals(A[reached:, reached:]))) < 1e-6


def test_part_of_a_system_is_taken_only_if_the_rest_leaves_it_alone():
    A = np.array([[0, 1, 0], [2, 0, 0], [5, 0, 1.0]])
    found = system_of(A, [[0], [1], [0]])
    part = found.subsystem(("x0", "x1"))
    np.testing.assert_array_equal(part.A, A[:2, :2])
    with pytest.raises(InputError, match="x0 acts on x2"):
        found.subsystem(("x2",))


# -- gains ---------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 2), st.integers(0, 10**6))
def test_gains_solve_the_riccati_equation(n, m, seed):
    rng = np.random.default_rng(seed)
    found = system_of(rng.normal(size=(n, n)), rng.normal(size=(n, m)))
    Q, R = np.diag(rng.uniform(0.5, 2, n)), np.diag(rng.uniform(0.5, 2, m))
    K = found.lqr(Q, R)
    loop = found.A - found.B @ K
    P = solve_continuous_lyapunov(loop.T, -(Q + K.T @ R @ K))
    rest = found.A.T @ P + P @ found.A - P @ found.B @ np.linalg.solve(R, found.B.T @ P) + Q
    np.testing.assert_allclose(rest, 0, atol=1e-8 * max(1, np.abs(P).max() ** 2))
    assert found.closed_loop(K).real.max() < 0


def test_sampled_gains_come_to_the_continuous_ones(cart):
    found = linearize(cart, at={"theta": math.pi})
    K = found.lqr()
    off = [np.abs(found.lqr(period=h) - K).max() for h in (1e-3, 5e-4)]
    assert off[0] < 0.03 * np.abs(K).max()
    assert off[0] / off[1] == pytest.approx(2, abs=0.1)
    sampled = found.lqr(period=1e-3)
    F, G, *_ = cont2discrete((found.A, found.B, np.eye(4), np.zeros((4, 1))), 1e-3)
    values = np.linalg.eigvals(F - G @ sampled)
    np.testing.assert_allclose(
        np.sort(np.abs(found.closed_loop(sampled, period=1e-3))), np.sort(np.abs(values)), atol=1e-12
    )


def test_the_cost_of_held_inputs_is_the_integral(cart):
    found = linearize(cart, at={"theta": math.pi})
    Q, R, h = np.diag([1.0, 2, 3, 4]), np.array([[0.5]]), 0.3
    Qd, Rd, S = held_cost(found.A, found.B, Q, R, h)
    block = np.zeros((5, 5))
    block[:4, :4], block[:4, 4:] = found.A, found.B
    weights = np.diag([1.0, 2, 3, 4, 0.5])
    total = quad_vec(lambda t: expm(block * t).T @ weights @ expm(block * t), 0, h, epsabs=1e-12)[0]
    np.testing.assert_allclose(np.block([[Qd, S], [S.T, Rd]]), total, atol=1e-10)


def test_weights_that_are_none_are_refused():
    found = system_of([[0, 1], [0, 0]], [[0], [1]], limits=2.0)
    for wrong, words in (
        ({"y": 1}, "unknown state"),
        ({"x0": -1}, "not negative"),
        ([1, 2, 3], "2 numbers or a symmetric matrix"),
        ([[1, 2], [0, 1]], "symmetric"),
        ("heavy", "are numbers"),
    ):
        with pytest.raises(InputError, match=words):
            found.lqr(wrong)
    with pytest.raises(InputError, match="must be positive"):
        found.lqr(R=0)
    with pytest.raises(InputError, match="positive time"):
        found.lqr(period=0)
    with pytest.raises(InputError, match="1 inputs by 2 states"):
        found.closed_loop(np.ones((2, 2)))
    with pytest.raises(InputError, match="needs a weight"):
        found.lqr({"x0": 0, "x1": 1})
    np.testing.assert_allclose(found.lqr(R=4.0), found.lqr(R=[[1.0]]))  # an effort is that of an input at its limit


# -- what cannot be ------------------------------------------------------------------------------------


def test_what_cannot_be_linearised_is_said():
    hopper = robots.hopper()
    for arguments, words in (
        ({"at": "somewhere"}, "unknown place"),
        ({"at": {"thta1": 1.0}}, "unknown coordinate"),
        ({"at": {"theta1": math.inf}}, "finite"),
        ({"keep": ("z",)}, "unknown coordinate to keep"),
        ({"keep": ("theta1", "theta1")}, "each once"),
        ({"keep": ("x",)}, "2 independent coordinates"),
        ({"mode": "flight"}, "no equilibrium near the start in mode flight"),
        ({"mode": "stick", "at": {"theta1": 1.0, "theta2": 0.0}}, "no equilibrium"),
        ({"inputs": {"hip": 1.0}}, "unknown actuator"),
    ):
        with pytest.raises(InputError, match=words):
            linearize(hopper, **arguments)
    with pytest.raises(InputError, match="cannot move at all"):
        linearize(robots.block())
    with pytest.raises(InputError, match="cannot move at all"):  # though its ends say the same thing twice
        linearize(robots.rod(), {"y": 0, "theta": 0}, mode="A:stick B:stick", at="state")
    with pytest.raises(InputError, match="needs a robot"):
        linearize("hopper")
    with pytest.raises(InputError, match="needs a run"):
        linearize_along(hopper)


# -- expressions ---------------------------------------------------------------------------------------


def segway():
    """The Segway in the coordinates (theta, psi) of [vigne2019, eq. 18]; angles here are counter-clockwise."""
    m = Mechanism("segway")
    mass, wheel_mass, l, r, inertia, J = (
        m.parameter(name, 1.0, "1", positive=True) for name in ("m", "m_w", "l", "r", "I", "J")
    )
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    carriage = m.body("carriage", Prismatic("psi", axis=(r, 0)))
    psi = m.coordinate("psi").symbol
    m.body("wheel", Fixed(offset=-psi), parent=carriage, mass=wheel_mass, inertia=J)
    m.body("body", Revolute("lean"), parent=carriage, mass=mass, inertia=inertia, com=(0, l))
    # the motor turns the wheel forwards and the body backwards: theta = -lean
    m.actuators["motor"] = Actuator("motor", psi + m.coordinate("lean").symbol, math.inf, "N m")
    return HybridSystem(m)


def test_the_segway_is_controllable_for_all_positive_parameters():
    system = segway()
    found = symbolic_linear(system, at={"lean": 0.0})
    assert found.residual.is_zero()
    # the paper's order (theta, theta', psi, psi')
    turn = np.array([[0, -1, 0, 0], [0, 0, 0, -1], [1, 0, 0, 0], [0, 0, 1, 0.0]])
    A, B = turn @ found.A @ turn.T, turn @ found.B
    numbers = ca.Function("det", [system.dynamics.p], [controllability_determinant(A, B)])
    rng = np.random.default_rng(7)
    for _ in range(50):
        m, m_w, l, r, inertia, J, g = p = rng.uniform(0.1, 3.0, 7)
        H = np.array([[m * l**2 + inertia, m * l * r], [m * l * r, (m + m_w) * r**2 + J]])
        corrected = g**2 * l**2 * m**2 * (J + m * l * r + (m + m_w) * r**2) ** 2 / np.linalg.det(H) ** 4
        assert float(numbers(p)) == pytest.approx(corrected, rel=1e-9)
        assert corrected > 0
    values = dict(zip(("m", "m_w", "l", "r", "I", "J", "g"), p, strict=True))
    exact = linearize(system.with_parameters(**values), at={"lean": 0.0})
    known = ca.Function("AB", [system.dynamics.p], [found.A, found.B])(p)
    np.testing.assert_allclose(np.array(known[0]), exact.A, atol=1e-12)
    np.testing.assert_allclose(np.array(known[1]), exact.B, atol=1e-12)


def test_expressions_need_independent_coordinates():
    with pytest.raises(InputError, match="needs independent coordinates"):
        symbolic_linear(robots.hopper(), mode="stick")
    # the mode is found, as linearize finds it
    with pytest.raises(InputError, match="segway in mode roll"):
        symbolic_linear(robots.segway(), {"theta": 0.0})
    assert len(symbolic_linear(robots.segway(), {"theta": 0.0}, mode="open").states) == 8
    assert len(symbolic_linear(robots.segway(), {"theta": 0.0, "y": 1.0}).states) == 8
    with pytest.raises(InputError, match="needs a robot"):
        symbolic_linear(3)
    with pytest.raises(InputError, match="unknown coordinate"):
        symbolic_linear(segway(), at={"x": 0})
    with pytest.raises(InputError, match="one column"):
        controllability_determinant(np.eye(2), np.eye(2))


def test_it_can_be_said_in_json():
    import json

    said = json.loads(json.dumps(linearize(robots.hopper()).to_dict()))
    assert np.array(said["A"]).shape == (4, 4)
    assert said["states"] == ["theta1", "theta2", "dtheta1", "dtheta2"]
    assert said["eigenvalues"][0][0] > 0
    assert LQR().linear(robots.pendulum()).mode == "free"
