"""The LQR controller: it holds what would fall, drives where it is told, and refuses what it cannot do."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saltus import robots, simulate
from saltus.control import LQR, Sampled, linearize
from saltus.errors import InputError

UPRIGHT = {"theta": math.pi}
SAGITTAL = {"at": {"pitch": 0.0}, "states": ("pitch", "psi")}


@pytest.fixture(scope="module")
def cart():
    path = Path(__file__).parents[1] / "examples" / "plugins" / "cart.py"
    scope = {"__name__": "cart"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["build"]()


def test_a_cart_brings_its_pendulum_upright_and_comes_back(cart):
    run = simulate(cart, {"theta": math.pi - 0.2}, controller=LQR(at=UPRIGHT), until=12)
    assert run.final["theta"] == pytest.approx(math.pi, abs=1e-5)
    assert run.final["s"] == pytest.approx(0, abs=1e-4)


def test_sampled_it_is_what_a_function_with_the_same_gains_does(cart):
    period = 0.01
    linear = linearize(cart, at=UPRIGHT)
    K = linear.lqr({"s": 5.0}, 2.0, period=period)[0]

    def function(t, state, mode, memory):
        return float(-K @ (state.x - np.array([0, math.pi, 0, 0])))

    start = {"theta": math.pi - 0.1}
    law = LQR(at=UPRIGHT, weights={"s": 5.0}, effort=2.0, period=period)
    one, two = (
        simulate(cart, start, controller=controller, until=1) for controller in (law, Sampled(function, period))
    )
    np.testing.assert_allclose(list(one.final.values()), list(two.final.values()), atol=1e-9)


def test_a_limit_below_the_actuators_own_holds(cart):
    run = simulate(cart, {"theta": math.pi - 0.2}, controller=LQR(at=UPRIGHT, limit=20.0, period=0.01), until=12)
    assert np.abs(run.samples.inputs).max() == 20.0
    assert run.final["theta"] == pytest.approx(math.pi, abs=1e-5)
    # too weak to bring it back
    weak = simulate(cart, {"theta": math.pi - 0.2}, controller=LQR(at=UPRIGHT, limit=2.0, period=0.01), until=2)
    assert abs(weak.at(1.0)[1] - math.pi) > 1


def test_it_drives_to_a_place_and_with_a_speed(cart):
    still = cart.with_parameters(damping=0.0)
    there = simulate(still, UPRIGHT, controller=LQR(at=UPRIGHT, reference={"s": 1.5}), until=15)
    assert there.final["s"] == pytest.approx(1.5, abs=1e-4)
    drive = simulate(still, UPRIGHT, controller=LQR(at=UPRIGHT, reference={"s": 0.2}, speed={"s": 0.5}), until=15)
    assert drive.final["ds"] == pytest.approx(0.5, abs=1e-5)
    assert drive.final["s"] == pytest.approx(0.2 + 0.5 * 15, abs=1e-4)


def test_a_rolling_disc_is_driven_by_a_coordinate_that_follows_from_its_angle():
    disc = robots.disc()
    start = {"y": 0.2 / math.cos(0.2)}
    run = simulate(disc, start, controller=LQR(reference={"x": 0.3}, effort=100.0), until=15)
    assert run.arc_modes == ["roll"]
    assert run.final["x"] == pytest.approx(0.3, abs=1e-4)
    # it does not turn without rolling
    assert run.final["angle"] == pytest.approx(-0.3 / math.cos(0.2) / 0.2, abs=1e-3)
    by_angle = LQR().linear(disc)
    assert by_angle.states == ("angle", "dangle")


def test_the_hopper_stands_on_its_foot():
    hopper = robots.hopper()
    law = LQR(at={"theta2": math.radians(-90)}, mode="stick", effort=1e6)
    at = law.linear(hopper).state
    run = simulate(hopper, {**at, "theta1": at["theta1"] + 0.001}, controller=law, until=4)
    assert run.arc_modes == ["stick"]
    assert run.final["theta1"] == pytest.approx(at["theta1"], abs=1e-6)


@pytest.mark.parametrize(
    ("robot", "options", "words"),
    [
        ("rod", {}, "no actuators"),
        ("pendulum", {"weights": {"phi": 1}}, "unknown state"),
        ("pendulum", {"effort": 0.0}, "must be positive"),
        ("pendulum", {"at": {"theta": 1.5}, "limit": 1.0}, "beyond the limit of 1"),
        ("pendulum", {"limit": -1.0}, "must be positive"),
        ("pendulum", {"period": -1.0}, "positive time"),
        ("pendulum", {"reference": {"phi": 1.0}}, "unknown coordinate to keep"),
        ("pendulum", {"reference": {"theta": math.nan}}, "finite"),
        ("pendulum", {"states": ("dtheta",)}, "unknown coordinate to keep"),
        ("disc", {"reference": {"x": 1.0}, "keep": ("angle",)}, "1 independent coordinates"),
        ("arm", {}, "no inputs can stabilise"),
        ("claptrap_arms", {}, r"states=\.\.\. feeds back a part"),
        (
            "claptrap",
            {"at": {"pitch": 0.0}, "states": ("pitch", "psi"), "reference": {"pitch": 0.3}},
            "is fixed by its",
        ),
        ("claptrap", {**SAGITTAL, "reference": {"pitch": 0.3}}, "is fixed by its equilibrium"),
        ("claptrap", {**SAGITTAL, "speed": {"pitch": 0.3}}, "is fixed by its equilibrium"),
    ],
)
def test_what_it_cannot_do_is_refused(robot, options, words):
    with pytest.raises(InputError, match=words):
        LQR(**options).bind(robots.find_robot(robot))


@pytest.mark.parametrize(
    ("A", "B"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0], [1.0]]),
        ([[1.0, 0.0], [0.0, 2.0]], [[1.0], [1e-12]]),
        ([[0.0, 0.0], [0.0, -1.0]], [[1e-16], [1.0]]),
    ],
)
@pytest.mark.parametrize("period", [None, 0.1])
def test_what_the_inputs_do_not_reach_gets_no_gains(A, B, period):
    linear = replace(linearize(robots.pendulum(), at=UPRIGHT), A=np.array(A), B=np.array(B))
    assert not linear.controllable
    with pytest.raises(InputError, match="no inputs can stabilise"):
        linear.lqr(period=period)
    # what decays by itself need not be reached
    decays = replace(linear, A=np.diag([1.0, -1.0]), B=np.array([[1.0], [0.0]]))
    assert decays.lqr(period=period)[0, 0] > 0
