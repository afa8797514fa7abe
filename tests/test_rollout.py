"""Rollouts: the scalar kernels' own steps, of order four, with bits that nothing but the lane decides."""

import ctypes
import math

import numpy as np
import pytest

import saltus
from saltus.control import Constant
from saltus.engine._lanes import BLOCK
from saltus.engine._program import program
from saltus.errors import InputError, UnknownName
from saltus.robots import find_robot, robot_names


@pytest.fixture(scope="module")
def pendulum():
    return saltus.robots.double_pendulum()


def starts(system, lanes, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (lanes, len(system.state_names)))


def scalar_steps(system, x, step, inputs, p=None):
    """The same method on the scalar kernel of the system with nothing closed; a row of inputs for each step."""
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, *[ctypes.c_void_p] * 4)(program(system).address("free"))
    p = system.parameter_values if p is None else p
    nx = x.size

    def flow(t, y, u):
        out = np.zeros(nx + 2)
        assert kernel(t, y.ctypes.data, u.ctypes.data, p.ctypes.data, out.ctypes.data) == 0
        return out[:nx]

    for n, u in enumerate(inputs):
        t = n * step
        k1 = flow(t, x, u)
        k2 = flow(t + step / 2, x + step / 2 * k1, u)
        k3 = flow(t + step / 2, x + step / 2 * k2, u)
        k4 = flow(t + step, x + step * k3, u)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


@pytest.mark.parametrize("name", robot_names())
def test_lanes_step_as_the_scalar_kernel_does(name):
    system = find_robot(name)
    states, inputs = starts(system, 5), np.full((50, len(system.mechanism.actuators)), 0.3)
    made = saltus.rollout(system, states, step=0.002, steps=50, inputs=inputs)
    assert made.finite.all()
    for x, got in zip(states, made.states, strict=True):
        np.testing.assert_allclose(got, scalar_steps(system, x, 0.002, inputs), rtol=0, atol=1e-12)


def test_order_four(pendulum):
    states = starts(pendulum, 8)
    exact = saltus.rollout(pendulum, states, step=1 / 6400, steps=6400).states
    errors = [np.abs(saltus.rollout(pendulum, states, step=1 / n, steps=n).states - exact).max() for n in (50, 100)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.2)


def test_sticking_foot_as_simulated():
    hopper = saltus.robots.hopper(mu=10.0)
    run = saltus.simulate(hopper, controller=Constant(0.5), until=0.05, rtol=1e-12)
    assert not run.events
    made = saltus.rollout(hopper, hopper.state()[None], step=1e-4, steps=500, inputs=0.5, mode={"P": "stick"})
    assert made.mode == "stick"
    np.testing.assert_allclose(made.states[0], list(run.final.values()), rtol=0, atol=1e-10)


@pytest.mark.parametrize("mode", ["stick", "slip+", "slip-", "flight"])
def test_bits_depend_on_the_lane_alone(mode):
    hopper = saltus.robots.hopper()
    states = starts(hopper, 5 * BLOCK + 3)
    torques = np.random.default_rng(1).uniform(-1, 1, (30, len(states), 1))
    frictions = np.linspace(0.1, 0.5, len(states))

    def roll(chosen, threads=1):
        parameters = {"mu": frictions[chosen]}
        return saltus.rollout(
            hopper, states[chosen], step=1e-3, steps=30, inputs=torques[:, chosen], parameters=parameters,
            mode=mode, threads=threads,
        ).states  # fmt: skip

    whole = roll(slice(None))
    assert np.isfinite(whole).all()
    for threads in (2, 3):
        assert np.array_equal(roll(slice(None), threads), whole)
    for chosen in (slice(0, 1), slice(7, 8), slice(1, BLOCK), slice(3, BLOCK + 4), slice(None, None, -1)):
        assert np.array_equal(roll(chosen, 2), whole[chosen])


@pytest.mark.parametrize("name", robot_names())
def test_every_place_in_a_block_gives_the_same_bits(name):
    system = find_robot(name)
    made = saltus.rollout(system, np.tile(starts(system, 1), (2 * BLOCK, 1)), step=0.01, steps=100)
    assert (made.states == made.states[0]).all()


def test_lanes_that_are_no_numbers_are_flagged(pendulum):
    states = starts(pendulum, 2 * BLOCK)
    states[5, 2] = 1e200  # so fast that its square is infinite
    states[70, 0] = 2e6  # beyond what sine and cosine of lanes can reduce
    made = saltus.rollout(pendulum, states, step=0.01, steps=10)
    assert list(np.flatnonzero(~made.finite)) == [5, 70]
    good = np.delete(np.arange(len(states)), [5, 70])
    alone = saltus.rollout(pendulum, states[good], step=0.01, steps=10)
    assert alone.finite.all()
    assert np.array_equal(alone.states, made.states[good])


def test_singular_mass_matrix_and_rows_that_say_the_same_are_flagged():
    m = saltus.Mechanism("rod")
    length = m.parameter("length", 1.0, "m")
    body = m.body("rod", saltus.mechanism.Revolute("angle"), mass=1.0, com=(length, 0))
    rod = saltus.HybridSystem(m)
    made = saltus.rollout(rod, np.ones((2, 2)), step=0.1, steps=1, parameters={"length": [1.0, 0.0]})
    assert list(made.finite) == [True, False]
    m = saltus.Mechanism("plank")
    body = m.body("plank", saltus.mechanism.Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    feet = [m.point(name, body, (side, 0)) for name, side in (("left", -0.5), ("right", 0.5))]
    plank = saltus.HybridSystem(m, units=tuple(saltus.GroundPoint(foot) for foot in feet))
    # at these angles rounding makes the rows look independent, and forces would come out as huge numbers
    states = starts(plank, 1000)
    for mode, finite in (("left:stick right:stick", False), ("left:stick right:slip+", True)):
        made = saltus.rollout(plank, states, step=1e-3, steps=1, mode=mode)
        assert (made.finite == finite).all()


def test_parameters_of_each_lane(pendulum):
    states, masses = starts(pendulum, 70), np.linspace(0.5, 2.0, 70)
    made = saltus.rollout(pendulum, states, step=0.01, steps=40, parameters={"m2": masses, "g": 3.0})
    for lane in (0, 33, 69):
        p = pendulum.with_parameters(m2=masses[lane], g=3.0).parameter_values
        expected = scalar_steps(pendulum, states[lane], 0.01, np.zeros((40, 1)), p)
        np.testing.assert_allclose(made.states[lane], expected, rtol=0, atol=1e-12)


def test_inputs_of_every_shape(pendulum):
    lanes, steps = 70, 12
    states = starts(pendulum, lanes)
    torques = np.random.default_rng(2).uniform(-5, 5, (steps, lanes, 1))

    def roll(inputs, steps=steps):
        return saltus.rollout(pendulum, states, step=0.01, steps=steps, inputs=inputs).states

    varied = roll(torques)
    for lane in (0, 66):
        expected = scalar_steps(pendulum, states[lane], 0.01, torques[:, lane])
        np.testing.assert_allclose(varied[lane], expected, rtol=0, atol=1e-12)
    same = np.full((steps, lanes, 1), 2.0)
    for constant in (2.0, [2.0], same[0], same[:, 0], same[:1], same[:, :1]):
        assert np.array_equal(roll(constant), roll(same))
    assert np.array_equal(roll(torques[0]), roll(np.repeat(torques[:1], steps, axis=0)))
    assert np.array_equal(roll(torques[:, 0]), roll(np.repeat(torques[:, :1], lanes, axis=1)))
    assert np.array_equal(roll(np.asfortranarray(torques)), varied)
    assert not np.array_equal(roll(None), varied)


def test_history(pendulum):
    states = starts(pendulum, 67)
    kept = saltus.rollout(pendulum, states, step=0.01, steps=10, every=3)
    assert kept.history.shape == (4, 67, 4)
    np.testing.assert_allclose(kept.t, [0.0, 0.03, 0.06, 0.09], rtol=1e-15)
    for n, table in zip((3, 6, 9), kept.history[1:], strict=True):
        assert np.array_equal(table, saltus.rollout(pendulum, states, step=0.01, steps=n).states)
    assert np.array_equal(kept.history[0], states)
    last = saltus.rollout(pendulum, states, step=0.01, steps=10)
    assert last.history is None
    assert last.t == pytest.approx([0.1])
    assert np.array_equal(last.states, kept.states)


def test_the_start_is_left_alone(pendulum):
    states = starts(pendulum, 3)
    before = states.copy()
    saltus.rollout(pendulum, states, step=0.01, steps=3)
    assert np.array_equal(states, before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"states": np.zeros(4)},
        {"states": np.zeros((3, 5))},
        {"states": np.zeros((0, 4))},
        {"states": np.full((3, 4), math.nan)},
        {"states": [["a"] * 4]},
        {"step": 0.0},
        {"step": -0.1},
        {"step": math.inf},
        {"step": math.nan},
        {"step": "small"},
        {"steps": 0},
        {"steps": 2.5},
        {"steps": True},
        {"every": -1},
        {"every": 0.5},
        {"threads": 0},
        {"inputs": [1.0, 2.0]},
        {"inputs": math.nan},
        {"inputs": 11.0},
        {"inputs": np.zeros((4, 1))},
        {"inputs": np.zeros((5, 4, 1))},
        {"inputs": np.zeros((1, 5, 3, 1))},
        {"inputs": np.zeros((3, 1)), "steps": 3},
        {"inputs": 6.0, "parameters": {"torque_limit": [10.0, 5.0, 10.0]}},
        {"parameters": {"m1": [1.0, 2.0]}},
        {"parameters": {"m1": [1.0, -2.0, 1.0]}},
        {"parameters": {"m1": math.nan}},
        {"parameters": {"m1": "heavy"}},
        {"parameters": [1.0]},
    ],
)
def test_bad_input(pendulum, wrong):
    with pytest.raises(InputError):
        saltus.rollout(pendulum, **{"states": np.zeros((3, 4)), "step": 0.1, "steps": 5, **wrong})


def test_unknown_names(pendulum):
    for wrong in ({"parameters": {"mass": 1.0}}, {"mode": "stick"}):
        with pytest.raises(UnknownName):
            saltus.rollout(pendulum, np.zeros((3, 4)), step=0.1, steps=5, **wrong)
    with pytest.raises(InputError, match="needs a robot"):
        saltus.rollout("pendulum", np.zeros((3, 4)), step=0.1, steps=5)


def test_masses_that_no_body_has():
    m = saltus.Mechanism("difference")
    whole, part = m.parameter("whole", 2.0, "kg"), m.parameter("part", 1.0, "kg")
    m.body("body", saltus.mechanism.Prismatic("x"), mass=whole - part)
    robot = saltus.HybridSystem(m)
    with pytest.raises(InputError, match="mass must be finite and not negative"):
        saltus.rollout(robot, np.zeros((2, 2)), step=0.1, steps=1, parameters={"part": [1.0, 3.0]})
