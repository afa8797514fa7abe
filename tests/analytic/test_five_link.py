"""The five-link brachiator and its swing-up: kinematics both ways, its frequency, its mirror image, and the catch."""

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.contact import ladder, rope
from saltus.control import ArmSwing
from saltus.control.arm_swing import JOINTS, REST, natural_frequency, pose_angles
from saltus.errors import InputError
from saltus.mechanism._dh import Link, chain, hanging, two_link_angles

ELBOWS = ("down", "up")


@cache
def robot(distance=1.3):
    return saltus.robots.five_link_brachiator(world=ladder(distance, 2))


def place(system, name, q):
    m = system.mechanism
    at = ca.Function("at", [m.q, m.p], [m.points[name].position])
    return np.array(at(q, system.parameter_values)).ravel()


def catches(run):
    return [event for event in run.events if "B.catch" in event.guards]


def tries(run):
    """How often the free hand began to reach."""
    return sum("B:reaching" in e.mode_after and "B:reaching" not in e.mode_before for e in run.events)


# -- kinematics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("elbow", ELBOWS)
def test_the_holding_arm_puts_the_shoulder_where_it_is_wanted(elbow):
    system, random = robot(), np.random.default_rng(3)
    fore, upper = (system.values[name] for name in ("L_fore", "L_upper"))
    for _ in range(20):
        far, way = random.uniform(0.05, 0.69), random.uniform(-math.pi, math.pi)
        wanted = far * np.array([math.cos(way), math.sin(way)])
        first, second = two_link_angles(*map(float, wanted), fore, upper, elbow)
        q = np.array([0.2, -0.1, hanging(first), second, *random.uniform(-2, 2, 3)])
        np.testing.assert_allclose(place(system, "shoulder", q), wanted + q[:2], atol=1e-12)


@pytest.mark.parametrize("elbow", ELBOWS)
def test_the_free_arm_puts_its_hand_on_the_bar(elbow):
    system, random = robot(), np.random.default_rng(4)
    m = system.mechanism
    shoulder, body = ca.SX.sym("shoulder", 2), ca.SX.sym("body")
    solve = ca.Function("solve", [shoulder, body, m.p], pose_angles(system, 1, shoulder, body, elbow))
    bar = np.array([system.values["bar1_x"], system.values["bar1_y"]])
    bends = set()
    for _ in range(20):
        # anywhere from which the arm reaches the bar
        theta1, elbow_a, shoulder_a = random.uniform(0.2, 2.0), random.uniform(-1, 1), random.uniform(-2, 2)
        q = np.array([0.0, 0.0, theta1, elbow_a, shoulder_a, 0.0, 0.0])
        far, way = random.uniform(0.05, 0.69), random.uniform(-math.pi, math.pi)
        q[:2] = bar + far * np.array([math.cos(way), math.sin(way)]) - place(system, "shoulder", q)
        angles = solve(place(system, "shoulder", q), q[2:5].sum(), system.parameter_values)
        q[5:] = [float(angle) for angle in angles]
        bends.add(np.sign(q[6]))
        np.testing.assert_allclose(place(system, "B", q), bar, atol=1e-12)
    assert bends == {1.0 if elbow == "down" else -1.0}


def test_a_bar_too_far_is_pointed_at():
    system = robot()
    q = np.zeros(7)
    shoulder, bar = place(system, "shoulder", q), np.array([1.3, 0.0])
    found = ca.Function("found", [system.mechanism.p], pose_angles(system, 1, ca.DM(shoulder), 0.0))
    q[5:] = [float(angle) for angle in found(system.parameter_values)]
    way = (bar - shoulder) / np.linalg.norm(bar - shoulder)
    np.testing.assert_allclose(place(system, "B", q), shoulder + 0.7 * way, atol=2e-3)


def test_points_are_those_of_denavit_and_hartenberg():
    system, random = robot(), np.random.default_rng(5)
    for _ in range(10):
        q = np.array([0.0, 0.0, *random.uniform(-2, 2, 5)])
        # the shoulder turns twice in one place; arm B points along y, half a turn from arm A's links
        angles = [q[2] - math.pi / 2, q[3], q[4] + q[5] + math.pi, q[6]]
        frames = chain([Link(0.35, theta=angle) for angle in angles])
        for name, frame in zip(("elbow_A", "shoulder", "elbow_B", "B"), frames, strict=True):
            np.testing.assert_allclose(place(system, name, q), np.array(ca.DM(frame[:2, 3])).ravel(), atol=1e-12)


# -- hanging -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kp", [None, (5.0, 3.0, 2.0, 1.0)], ids=["loose", "springs"])
def test_the_lowest_frequency_is_that_of_the_mass_matrix_and_the_weight(kp):
    system = robot()
    d, x = system.dynamics, system.state()
    M = np.array(ca.Function("M", [d.q, d.p], [d.M])(x[:7], system.parameter_values))[2:, 2:]
    stiffness = ca.Function("K", [d.q, d.p], [ca.hessian(d.potential, d.q)[0]])
    K = np.array(stiffness(x[:7], system.parameter_values))[2:, 2:] + np.diag([0.0, *(kp or [0.0] * 4)])
    lowest = math.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min())
    assert natural_frequency(system, kp) == pytest.approx(lowest, rel=1e-9)


def test_with_stiff_joints_it_hangs_as_one_body():
    # rods of an arm above the shoulder, body and the other arm below it; all about the hand
    rods = [(0.8, 0.175), (0.8, 0.525), (1.6, 0.875), (0.8, 0.875), (0.8, 1.225)]
    inertia = sum(m * (0.35**2 / 12 + r * r) for m, r in rods)
    alone = math.sqrt(9.81 * sum(m * r for m, r in rods) / inertia)
    assert natural_frequency(robot(), [1e6] * 4, [1e3] * 4) == pytest.approx(alone, rel=1e-4)


def test_dry_friction_does_not_hide_the_frequency():
    system = robot().with_parameters(joint_coulomb=0.3, hand_coulomb=0.3)
    assert natural_frequency(system) == pytest.approx(natural_frequency(robot()), rel=1e-12)


def test_the_other_hand_sees_the_same_robot():
    system = robot().with_guards(fell="ignore")
    m = system.mechanism
    flip = ca.Function("flip", [ca.vertcat(m.q, m.v), m.p], [system.symmetry.map(m)])

    def other(x):
        return np.array(flip(x, system.parameter_values)).ravel()

    start = system.state({"theta1": 0.4, "elbow_a": 0.3, "shoulder_a": -0.5, "shoulder_b": -2.8, "elbow_b": 0.7})
    np.testing.assert_allclose(other(other(start)), start, atol=1e-14)
    one = saltus.simulate(system, start, until=0.5, rtol=1e-11, atol=1e-12)
    # the hand that holds is where it was; now it is the other one
    two = saltus.simulate(system, other(start), until=0.5, mode={"A": "open", "B": "closed"}, rtol=1e-11, atol=1e-12)
    final = [np.array(list(run.final.values())) for run in (one, two)]
    np.testing.assert_allclose(other(final[0]), final[1], atol=1e-7)


def test_worlds_beyond_its_reach_are_refused():
    with pytest.raises(InputError, match=r"bar 1 is out of reach: 1.5 m"):
        saltus.robots.five_link_brachiator(world=ladder(1.5, 2))
    hung = saltus.robots.five_link_brachiator(world=rope(height=0.4))
    assert hung.start["y"] == 0.4


# -- the swing-up ------------------------------------------------------------------------------------


@cache
def swing_up():
    return saltus.simulate(robot(), controller=ArmSwing(), until=15.0)


def test_it_swings_up_to_a_bar_at_its_arms_reach_and_catches_it():
    run = swing_up()
    (catch,) = catches(run)
    assert 5.0 < catch.t < 12.0
    assert run.check().ok
    assert not [event for event in run.events if any("meets" in name for name in event.guards)]
    after = run.at(run.end_time)
    for hand, bar in (("A", (0.0, 0.0)), ("B", (1.3, 0.0))):
        assert math.dist(place(robot(), hand, after[:7]), bar) <= 0.025 + 1e-9
    before = run.everything_at([catch.t - 1e-9])
    assert before.kinetic[0] < 1.0
    assert 0 < catch.energy_lost <= before.kinetic[0] + 1e-6
    assert np.abs(run.samples.inputs).max() <= 10.0


def test_the_swing_grows_until_the_arm_snaps():
    run = swing_up()
    (catch,) = catches(run)
    start = next(event.t for event in run.events if "B:reaching" in event.mode_after)
    assert 0 < catch.t - start < 1.0
    t, angle = run.samples.t, np.abs(run.samples.x[:, 2])
    sizes = [angle[(t >= a) & (t < a + 2)].max() for a in (0, 2, 4, 6)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 3 * sizes[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"m_fore": 0.84, "m_upper": 0.84, "m_body": 1.68},
        {"m_fore": 0.76, "m_upper": 0.76, "m_body": 1.52},
        {"joint_viscous": 0.05, "hand_viscous": 0.05, "joint_coulomb": 0.2, "hand_coulomb": 0.2},
    ],
    ids=["heavier", "lighter", "friction"],
)
def test_slightly_other_robots_catch_it_too(changed):
    run = saltus.simulate(robot().with_parameters(**changed), controller=ArmSwing(), until=20.0)
    assert len(catches(run)) == 1
    assert run.check().ok


def test_after_a_miss_it_tries_again():
    run = saltus.simulate(robot(), controller=ArmSwing(energy=0.6), until=30.0)
    assert tries(run) > 1
    assert len(catches(run)) == 1
    assert run.check().ok


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kp": -1.0}, "kp of elbow_a must be positive, got -1"),
        ({"kd": (1.0, 1.0, 0.0, 1.0)}, "kd of shoulder_b must be positive, got 0"),
        ({"ki": -2.0}, "ki of elbow_a must not be negative, got -2"),
        ({"amplitude": {"shoulder_a": -0.5}}, "amplitude of shoulder_a must not be negative"),
        ({"amplitude": 0.0}, "never swings"),
        ({"energy": 0.1}, "energy is a share from"),
        ({"snap": 2.0}, "snap is an angle"),
        ({"elbow": "left"}, "an elbow is down or up"),
        ({"bar": 2}, "bars 0 to 1, got 2"),
        ({"period": 0.0}, "period must be a positive time"),
    ],
)
def test_what_cannot_work_is_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        ArmSwing(**options).bind(robot())


def test_bars_all_over_its_reach_are_caught():
    places = [(0.9, -0.2), (0.9, 0.2), (1.1, 0.0), (1.35, -0.2), (1.35, 0.2), (1.4, 0.0)]
    x, y = zip(*places, strict=True)
    many = saltus.simulate_many(robot(), parameters={"bar1_x": x, "bar1_y": y}, controllers=ArmSwing(), until=12.0)
    assert many.check().ok
    for mode in many.modes:
        assert "B:closed" in str(mode)


def test_where_it_hangs_is_looked_at_before_the_run():
    with pytest.raises(InputError, match="bar 0 must be ahead of hand A"):
        saltus.simulate(robot(), controller=ArmSwing(bar=0))
    with pytest.raises(InputError, match=r"bar 1 is out of reach"):
        saltus.simulate(robot().with_parameters(bar0_x=-0.4), {"x": -0.4}, controller=ArmSwing())
    with pytest.raises(InputError, match="begins with hand A closed where nothing is to hold"):
        saltus.simulate(robot(), {"x": 0.2}, controller=ArmSwing())
    with pytest.raises(InputError, match="begins with no hand on a bar: A does not hold anything"):
        saltus.simulate(robot(), controller=ArmSwing(), mode={"A": "open"})


def test_a_bar_out_of_reach_is_refused_before_the_run():
    away = robot().with_parameters(bar1_x=1.45)
    with pytest.raises(InputError, match=r"bar 1 is out of reach: 1.45 m from hand A, and the arms reach 1.4 m"):
        saltus.simulate(away, controller=ArmSwing())


@pytest.mark.parametrize("name", ["brachiator", "pendulum"])
def test_other_robots_are_refused(name):
    with pytest.raises(InputError, match="arm_swing is for robots of two arms and a body"):
        ArmSwing().bind(saltus.robots.find_robot(name))


def test_a_rope_has_no_bar_to_catch():
    with pytest.raises(InputError, match="needs a world with bars"):
        ArmSwing().bind(saltus.robots.five_link_brachiator(world=rope()))


def test_it_begins_as_the_controller_thinks_it_hangs():
    start = robot().state()
    assert [start[robot().mechanism.index(joint)] for joint in JOINTS] == list(REST)
