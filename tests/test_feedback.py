"""Linear feedback on any quantities, the robot's own controllers, and how the command line finds them."""

from __future__ import annotations

import json
import math

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

from saltus import robots, simulate
from saltus.cli import app
from saltus.control import PD, Feedback
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Prismatic, Revolute

runner = CliRunner()


def said(*words: str) -> dict:
    result = runner.invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_feedback_on_its_own_coordinate_is_a_pd():
    system = robots.pendulum()
    name = next(iter(system.mechanism.coordinates))
    pd = simulate(system, controller=PD(5.0, 0.7, 0.3), until=1.0)
    same = simulate(system, controller=Feedback({name: -5.0, f"d{name}": -0.7}, {name: 0.3}), until=1.0)
    assert same.final == pytest.approx(pd.final, rel=1e-12, abs=1e-14)
    sampled = simulate(system, controller=Feedback({name: -5.0}, period=0.05), until=1.0)
    assert sampled.control.period == 0.05
    assert len(np.unique(sampled.samples.inputs)) == 20


@pytest.mark.parametrize("name", ["claptrap", "claptrap_arms", "claptrap_two_wheels"])
def test_a_pd_damps_the_rate_of_its_own_coordinate_in_space(name):
    """A free-flyer has one velocity less than coordinates, so that rates do not stand as far apart as coordinates."""
    system = robots.find_robot(name)
    pairs = [actuator.coordinate for actuator in system.mechanism.actuators.values()]
    start = {f"d{coordinate}": 0.3 + 0.2 * k for k, coordinate in enumerate(pairs)} | {"z": 2.0}
    run = simulate(system, start, controller=PD(2.0, 0.5, 0.1), until=0.2)
    states = dict(zip(system.state_names, run.samples.x.T, strict=True))
    for k, coordinate in enumerate(pairs):
        expected = 2.0 * (0.1 - states[coordinate]) - 0.5 * states[f"d{coordinate}"]
        np.testing.assert_allclose(run.samples.inputs[:, k], expected, rtol=1e-12, atol=1e-12)


def test_inputs_are_the_sum_and_are_cut_off():
    system = robots.segway_rolled()
    run = simulate(system, controller=Feedback({"theta": 150, "psi": 2, "dpsi": -3}, {"psi": 1.0}), until=0.2)
    x, u = run.samples.x, run.samples.inputs[:, 0]
    np.testing.assert_allclose(u, 150 * x[:, 0] + 2 * (x[:, 1] - 1) - 3 * x[:, 3], rtol=0, atol=1e-12)
    assert not run.saturated
    own = simulate(system, controller=Feedback({"theta": 150}, limit=20.0), until=0.2)
    assert own.samples.inputs.max() == 20.0
    assert not own.saturated
    limited = simulate(system.with_parameters(torque_limit=20.0), controller=Feedback({"theta": 150}), until=0.2)
    assert limited.samples.inputs.max() == 20.0
    assert limited.saturated
    # steps end where an actuator's limit cuts an input, and go over where the controller does so itself
    assert limited.final == pytest.approx(own.final, rel=1e-8)


def test_gains_by_actuator_and_of_readings():
    m = Mechanism("two carts")
    for name in ("left", "right"):
        m.body(name, Prismatic(name), mass=1.0)
        m.actuator(f"push {name}", name)
    m.reading("apart", m.q[1] - m.q[0], "m")
    system = HybridSystem(m, start={"left": -1.0, "right": 2.0, "dright": 0.5})
    gains = {"push left": {"apart": 4.0, "dapart": 0.5}, "push right": {"apart": -4.0, "dapart": -0.5, "right": -1.0}}
    run = simulate(system, controller=Feedback(gains, {"apart": 1.0}), until=1.0)
    x = run.samples.x
    apart, rate = x[:, 1] - x[:, 0], x[:, 3] - x[:, 2]
    np.testing.assert_allclose(run.samples.inputs[:, 0], 4 * (apart - 1) + 0.5 * rate, atol=1e-12)
    np.testing.assert_allclose(run.samples.inputs[:, 1], -4 * (apart - 1) - 0.5 * rate - x[:, 1], atol=1e-12)
    assert run.jacobian("control").shape == (4, 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gains": {"thta": 1.0}}, "Did you mean 'theta'"),
        ({"gains": {}}, "gains are given by name"),
        ({"gains": 3.0}, "gains are given by name"),
        ({"gains": {"theta": math.nan}}, "gain of theta must be a finite number"),
        ({"gains": {"theta": 1.0}, "reference": {"psi": 1.0}}, "unknown quantity with a gain"),
        ({"gains": {"theta": 1.0}, "reference": 1.0}, "the reference is given by name"),
        ({"gains": {"theta": 1.0}, "limit": -1.0}, "a limit must be positive"),
        ({"gains": {"theta": 1.0}, "period": 0.0}, "period must be a positive time"),
        ({"gains": {"motr": {"theta": 1.0}}}, "unknown actuator"),
        ({"gains": {"motor": {"theta": 1.0}, "theta": 2.0}}, "give a mapping of gains for each"),
    ],
)
def test_what_feedback_refuses(options, said):
    with pytest.raises(InputError, match=said):
        Feedback(**options).bind(robots.segway_rolled())


def test_feedback_needs_an_actuator():
    with pytest.raises(InputError, match="has no actuators"):
        Feedback({"y": 1.0}).bind(robots.bouncing_ball())


def test_a_clockwise_joint_is_a_joint_whose_coordinate_is_turned_round():
    for sense in (1, -1):
        m = Mechanism("joint")
        m.gravity = 9.81
        arm = m.body("arm", Revolute("a", offset=0.3, sense=sense), mass=1.0, inertia=0.1, com=(0.5, 0))
        tip = m.body("tip", Floating("x", "y", "b", sense=sense), parent=arm, mass=1.0, inertia=0.1)
        function = ca.Function("f", [m.q], [arm.pose.angle, tip.pose.angle])
        a, b = (float(angle) for angle in function.call([[0.2, 1.0, 2.0, 0.5]]))
        assert (a, b) == pytest.approx((0.3 + sense * 0.2, 0.3 + sense * 0.7))
    for joint in (lambda: Revolute("a", sense=2), lambda: Floating("x", "y", "a", sense=0)):
        with pytest.raises(InputError, match=r"sense is 1 .* or -1"):
            joint()


# -- the command line ------------------------------------------------------------------------------


def test_the_robot_s_own_controller_comes_before_the_registered_one():
    own = said("run", "segway", "--controller", "pd", "--until", "1")
    profile = said("run", "segway", "--profile", "pd", "--until", "1")
    assert own["final"] == profile["final"]
    assert own["status"] == "finished"
    needed = own["needed_friction"]["axle"]
    assert needed["value"] == pytest.approx(1.215136, rel=1e-6)
    assert needed["t"] == 0.0
    other = said("run", "pendulum", "--controller", "pd", "--until", "1")
    assert other["status"] == "finished"


def test_none_is_no_controller():
    fallen = said("run", "segway", "--controller", "none", "--x0", "theta=0.2")
    assert fallen["status"] == "terminal"
    assert fallen["final"] == said("run", "segway")["final"]
    with pytest.raises(InputError, match="none takes no --control"):
        runner.invoke(app, ["run", "segway", "--controller", "none", "--control", "kp=1"], catch_exceptions=False)


def test_options_change_the_robot_s_own_controller():
    changed = said(
        "run", "segway", "--controller", "pd", "--control", 'gains={"theta": 100, "dtheta": 5}', "--until", "1"
    )
    assert changed["final"] != said("run", "segway", "--controller", "pd", "--until", "1")["final"]


def test_friction_turns_slip_on():
    slips = said("run", "segway", "--controller", "pd", "--set", "mu=0.8", "--until", "1")
    assert "needed_friction" not in slips
    assert {event["to"] for event in slips["events"]} >= {"roll"}
    ideal = said("run", "segway", "--controller", "pd", "--set", "mu=inf", "--until", "1")
    assert ideal["events"] == []
    printed = runner.invoke(app, ["run", "segway", "--controller", "pd", "--until", "0.1"])
    assert "friction needed by axle 1.21514 at t = 0 s" in printed.stdout


def test_an_unknown_controller_is_told_with_the_robot_s_own():
    with pytest.raises(InputError, match=r"controller of segway: 'pid'. Did you mean 'pd'\?"):
        runner.invoke(app, ["run", "segway", "--controller", "pid"], catch_exceptions=False)


def test_what_is_told_of_a_robot_names_its_controllers():
    told = said("list", "segway")
    assert "pd" in told["controllers"]
    assert told["parameters"]["mu"]["value"] is None  # JSON has no infinity
