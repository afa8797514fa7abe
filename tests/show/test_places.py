"""Positions and velocities of points, and the world, against what the robots' files say."""

import math

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.contact import Bar, Grip, Line, Wall
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism
from saltus.registry import names
from saltus.robots import find_robot
from saltus.show import _points
from saltus.show._points import Circle, GroundLine, Place, Points, Rail

ROBOTS = sorted(names("robots"))


def some_states(system, count=20, seed=3):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, len(system.state_names)))


def test_hopper_is_where_its_angles_say():
    system = find_robot("hopper")
    points = Points(system)
    assert points.names == ["P", "Q", "R"]
    assert points.skeleton == [(0, 1), (1, 2)]
    x = some_states(system)
    P = x[:, :2]
    Q = P + 0.3 * np.stack([np.cos(x[:, 2]), np.sin(x[:, 2])], axis=1)
    R = Q + 0.3 * np.stack([np.cos(x[:, 2] + x[:, 3]), np.sin(x[:, 2] + x[:, 3])], axis=1)
    assert points.positions(x) == pytest.approx(np.stack([P, Q, R], axis=1), abs=1e-14)


def test_parameters_are_those_of_the_system_at_hand():
    short = find_robot("hopper").with_parameters(l=0.05)
    x = some_states(short)
    places = Points(short).positions(x)
    assert np.hypot(*(places[:, 1] - places[:, 0]).T) == pytest.approx(0.1)


@pytest.mark.parametrize("robot", ROBOTS)
def test_velocities_are_differences_of_positions(robot):
    system = find_robot(robot)
    points, x, nq = Points(system), some_states(system), system.mechanism.nq
    step = np.zeros_like(x)
    m = system.mechanism
    rates = ca.Function("rates", [ca.vertcat(m.q, m.v)], [m.qdot])
    step[:, :nq] = 1e-6 * np.array(rates(x.T)).T
    expected = (points.positions(x + step) - points.positions(x - step)) / 2e-6
    assert expected.any()
    assert points.velocities(x) == pytest.approx(expected, abs=1e-8)


def test_none_one_and_nan():
    points = Points(find_robot("hopper"))
    assert points.positions(np.zeros((0, 8))).shape == (0, 3, 2)
    assert points.velocities(np.zeros((1, 8))).shape == (1, 3, 2)
    x = np.zeros((2, 8))
    x[1, 2] = math.nan
    places = points.positions(x)
    assert np.isfinite(places[0]).all()
    assert np.isfinite(places[1, 0]).all()
    assert np.isnan(places[1, 1:]).all()
    with pytest.raises(InputError, match="rows of 8 numbers"):
        points.positions(np.zeros((3, 5)))
    with pytest.raises(InputError, match="unknown point of hopper: 'toe'"):
        points.index("toe")


def test_a_lone_point():
    assert Points(find_robot("bouncing_ball")).skeleton == [(0, 0)]


def test_grounds_slope_as_the_parameters_say():
    assert _points.ground_lines(find_robot("hopper")) == [GroundLine(0.0, 0.0, 0.0)]
    # eight feet, one ground
    assert _points.ground_lines(find_robot("rimless_wheel").with_parameters(slope=-0.3)) == [GroundLine(0, 0, -0.3)]
    assert _points.ground_lines(find_robot("pendulum")) == []


def test_wheels_have_their_radius():
    disc = find_robot("disc").with_parameters(radius=0.35)
    assert _points.wheels(disc) == [Circle(Points(disc).index("centre"), 0.35)]
    assert _points.wheels(find_robot("hopper")) == []


def test_bars_lines_and_walls_to_hold():
    m = Mechanism("climber")
    gap = m.parameter("gap", 0.4, "m", "between bars")
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    hand, foot = m.point("hand", body, (0, 0.3)), m.point("foot", body, (0, -0.3))
    two = (Bar((0, 1), 0.05), Bar((gap, 1), 0.05))
    rail, wall = Line((0, 0), (gap, 0), 0.01), Wall((1, 2), math.pi / 2)
    system = HybridSystem(m, units=(Grip(hand, (*two, rail)), Grip(foot, (*two, wall))), values={"gap": 0.7})
    assert _points.bars(system) == [Place(0.0, 1.0, 0.05), Place(0.7, 1.0, 0.05)]
    line, surface = _points.rails(system)
    assert line == Rail((0.0, 0.0), (0.7, 0.0), endless=False)
    assert surface.endless
    assert np.subtract(surface.end, surface.start) == pytest.approx([0.0, 1.0])


def test_forces_of_a_rolling_disc_act_at_its_rim_and_bear_its_weight():
    """Rolling on a slope without a torque: the ground's force, the weight and the motion agree."""
    disc = find_robot("disc")
    slope, radius, g = -0.2, 0.2, 9.81
    start = {"x": -radius * math.sin(slope), "y": radius * math.cos(slope)}
    run = saltus.simulate(disc, start, until=0.5)
    (contact,) = _points.contacts(disc)
    assert contact.kind == "ground"
    force = contact.forces(run.samples.forces)[-1]
    # along the slope a third of the weight's share is friction, by inertia m r²/2
    along, normal = np.array([math.cos(slope), math.sin(slope)]), np.array([-math.sin(slope), math.cos(slope)])
    expected = g * math.cos(slope) * normal - g * math.sin(-slope) / 3 * along
    assert force == pytest.approx(expected, rel=1e-6)
    places = contact.places(Points(disc).positions(run.x))
    assert places @ normal == pytest.approx(np.zeros(len(places)), abs=1e-9)
    assert _points.closed(run.arc_statuses, contact).all()


def test_force_of_a_hanging_arm_holds_it():
    arm = find_robot("arm")
    run = saltus.simulate(arm, {"theta1": 0.0, "theta2": 0.0}, until=0.1)
    hand, tip = _points.contacts(arm)
    assert (hand.kind, tip.kind) == ("grip", "grip")
    assert hand.forces(run.samples.forces)[-1] == pytest.approx([0.0, 2 * 9.81])
    assert _points.closed(run.arc_statuses, hand).all()
    assert not _points.closed(run.arc_statuses, tip).any()
