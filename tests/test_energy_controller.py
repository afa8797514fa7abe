"""The energy controller: swings, swing-ups and ladders, its model beside the mechanism, and what it refuses."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numba import types

from saltus import robots, simulate, simulate_many
from saltus._native import DOUBLES, compile_entry
from saltus.contact import World, ladder, rope
from saltus.control import Compiled, Encoder, Energy, Gripper, Hardware, Imu, Motor
from saltus.control import _energy_gains as G
from saltus.control import _energy_law as W
from saltus.control import _energy_states as E
from saltus.control import _look_ahead as A
from saltus.control import _swing_model as S
from saltus.control._observer import COULOMB_SEEN, GAIN_SEEN, OBSERVER, VISCOUS_SEEN
from saltus.engine._layout import MEM
from saltus.errors import InputError, UnknownName
from saltus.robots._bars import between
from saltus.studies import swings
from saltus.studies._swings import swings_to_dict

UNEVEN = (0.5, 0.65, 0.55)
SWING = ladder(0.55, 3)
UP = World(((0.0, 0.0), (0.568, 0.0)))


def hanging(world, **parameters):
    """Straight down from the first bar, at rest."""
    robot = robots.brachiator(world=world, **parameters)
    return replace(robot, start=between(robot, 0))


def swung_up(controller, until=4.0, **parameters):
    return simulate(hanging(UP, **parameters), controller=controller, mode={"B": "open"}, until=until)


def told(run):
    """The first places of the controller's memory at the end of a run."""
    first = run.integers[MEM]
    return run.doubles[first : first + 6]


# -- what it does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("law", G.LAWS)
def test_swing_up(law):
    run = swung_up(Energy(law=law))
    (swing,) = swings(run)
    assert swing.caught
    assert swing.bar == 1
    assert swing.time <= 2.5
    assert swing.residual <= 1.0
    assert run.check().ok
    # on the last bar it rests
    assert Energy.states()[int(told(run)[E.STATE])] == "rest"
    assert run.samples.inputs[run.samples.t > swing.time + 2e-3] == pytest.approx(0.0, abs=0)


@pytest.mark.parametrize("law", G.LAWS)
def test_a_swing_of_55_centimetres(law):
    run = simulate(robots.brachiator(world=SWING), controller=Energy(law=law), until=2.0)
    (swing,) = swings(run)
    assert swing.caught
    assert swing.bar == 2
    assert swing.residual <= 0.6
    assert swing.mean_torque <= 5.0
    assert swing.back_swings == 0
    assert run.check().ok


def test_links_that_are_heavy_at_the_elbow_have_their_own_gains():
    run = swung_up(Energy(law="momentum", tuned="heavy"), until=6.0, r1=0.28, r2=0.12)
    (swing,) = swings(run)
    assert swing.caught
    assert swing.residual <= 1.0


def test_an_uneven_ladder_is_climbed():
    run = simulate(robots.brachiator(world=ladder(UNEVEN)), controller=Energy(release_delay=0.1), until=4.0)
    found = swings(run)
    assert [swing.bar for swing in found] == [2, 3]
    assert [swing.hand for swing in found] == ["A", "B"]
    assert all(swing.back_swings == 0 and swing.residual <= 1.0 for swing in found)
    assert run.check().ok
    summary = swings_to_dict(run)
    assert summary["reached"]
    assert not summary["fell"]
    # hands are let go no sooner than the delay after both hold; the first release is at its first sample
    assert found[0].start == pytest.approx(0.1, abs=1e-9)
    for one, two in itertools.pairwise(found):
        assert 0.1 - 1e-9 <= two.start - one.start - one.time <= 0.1 + 2e-3


def test_to_the_left_it_is_the_mirror_image():
    right, left = (ladder(UNEVEN), World(tuple((-x, y) for x, y in ladder(UNEVEN).bars)))
    runs = [simulate(robots.brachiator(world=world), controller=Energy(), until=2.5) for world in (right, left)]
    one, two = (swings(run) for run in runs)
    assert len(one) == 2
    for a, b in zip(one, two, strict=True):
        assert (a.hand, a.bar) == (b.hand, b.bar)
        assert a.time == pytest.approx(b.time, abs=1e-8)
        assert a.residual == pytest.approx(b.residual, abs=1e-6)
        assert a.back_swings == b.back_swings


def test_back_swings_are_those_away_from_the_bar():
    found = []
    for side in (1, -1):
        robot = hanging(World(((0.0, 0.0), (side * 0.568, 0.0))))
        (swing,) = swings(simulate(robot, controller=Energy(), mode={"B": "open"}, until=4.0))
        found.append(swing)
    # it swings forth, back and forth again: to the left as to the right
    assert found[0].back_swings == found[1].back_swings == 2
    assert found[0].time == pytest.approx(found[1].time, abs=1e-8)


def test_hand_b_does_as_hand_a_of_the_robot_turned_round():
    """Held by hand B, the robot moves as the one with its links exchanged does held by hand A."""
    robot = robots.brachiator(world=SWING)
    other = robots.brachiator(world=SWING, **{
        name: value for name, value in robot.symmetry.other(robot.mechanism, robot.values).items() if "bar" not in name
    })  # fmt: skip
    assert other.values["m1"] == robot.values["m2"]
    seen = ca.Function("seen", [robot.dynamics.x, robot.dynamics.p], [robot.symmetry.map(robot.mechanism)])
    start = other.state()
    turned = np.array(seen(start, other.parameter_values)).ravel()  # hand B on the bar ahead
    one = simulate(other, start, controller=Energy(), until=1.5)
    two = simulate(robot, turned, controller=Energy(), until=1.5)
    (a,), (b,) = swings(one), swings(two)
    assert (a.hand, b.hand) == ("A", "B")
    assert b.time == pytest.approx(a.time, abs=1e-8)
    assert b.residual == pytest.approx(a.residual, abs=1e-6)
    assert b.mean_torque == pytest.approx(a.mean_torque, abs=1e-6)
    again, here = np.array(seen(one.at(0.5), other.parameter_values)).ravel(), two.at(0.5)
    here[2] += 2 * math.pi * round((again[2] - here[2]) / (2 * math.pi))  # whole turns apart
    assert here == pytest.approx(again, abs=1e-7)


def test_on_a_rope_it_goes_by_strides():
    robot = robots.brachiator(world=rope(0.05))
    run = simulate(robot, controller=Energy(stride=0.5), mode={"B": "open"}, until=5.0)
    found = [swing for swing in swings(run) if swing.caught]
    assert len(found) >= 3
    catches = [event for event in run.events if event.guard.endswith("catch")]
    second = ca.Function("second", [robot.dynamics.q, robot.dynamics.p], [robot.units[1].point.position])
    assert len(catches) >= 3
    for event in catches:
        q = np.array(list(event.state_after.values())[:4])
        place = np.array(second(q, robot.parameter_values)).ravel()
        assert np.linalg.norm(place - q[:2]) == pytest.approx(0.5, abs=0.03)


def test_who_begins_on_the_last_bar_has_reached_it():
    run = simulate(robots.brachiator(world=ladder(0.55, 2)), controller=Energy(), until=0.1)
    assert swings_to_dict(run) == {"swings": [], "caught": 0, "reached": True, "fell": False}
    begun = swings_to_dict(simulate(hanging(UP), controller=Energy(), mode={"B": "open"}, until=0.1))
    assert not begun["reached"]


def test_bars_at_the_very_reach_are_caught():
    run = simulate(robots.brachiator(world=ladder(0.8, 4)), controller=Energy(), until=6.0)
    assert swings_to_dict(run)["reached"]


def test_on_a_rope_a_swing_that_the_end_cuts_short_is_no_failure():
    robot = robots.brachiator(world=rope())
    run = simulate(robot, controller=Energy(stride=-0.5), mode={"B": "open"}, until=2.6)
    told = swings_to_dict(run)
    assert [swing["caught"] for swing in told["swings"]] == [True, True, False]
    assert told["reached"]
    assert not told["fell"]
    early = swings_to_dict(simulate(robot, controller=Energy(stride=-0.5), mode={"B": "open"}, until=0.5))
    assert not early["reached"]


def test_who_lets_go_of_a_rope_falls():
    robot = robots.brachiator(world=rope(0.3))
    run = simulate(robot, mode={"A": "open", "B": "open"}, until=5.0)
    assert run.events[-1].guard == "fell"
    # hand A, from rest, until it is 0.1 m below the rope
    assert run.end_time == pytest.approx(math.sqrt(2 * 0.1 / math.cos(0.3) / 9.81), abs=1e-9)
    assert swings_to_dict(run)["fell"]
    assert not swings_to_dict(run)["reached"]


def test_the_thesis_transition_swings_up_too():
    run = swung_up(Energy(lookahead=False, law="momentum", buffer=1.0), until=15.0)
    assert told(run)[E.LOOKS] == 0
    assert swings(run)[-1].caught


def test_from_rest_it_begins_with_the_bootstrap():
    run = swung_up(Energy(bootstrap_torque=2.5, bootstrap_time=0.2), until=0.4)
    early = run.samples.t < 0.2 - 1e-6
    assert run.samples.inputs[early] == pytest.approx(2.5, abs=1e-12)
    assert abs(run.samples.inputs[run.samples.t > 0.21][0] - 2.5) > 0.5


def test_where_there_is_no_bar_ahead_it_hangs():
    robot = robots.brachiator(world=SWING)
    run = simulate(robot, between(robot, 2), controller=Energy(), mode={"B": "open"}, until=0.2)
    assert not run.samples.inputs.any()
    assert Energy.states()[int(told(run)[E.STATE])] == "rest"


# -- its model ------------------------------------------------------------------------------------


def called(function, *arrays, out):
    """A function of pointers, compiled and called; what it writes to the last one."""
    entry = compile_entry(function, types.int32(*[DOUBLES] * (len(arrays) + 1)), function.__name__)
    given = [*(np.ascontiguousarray(array, dtype=float) for array in arrays), np.zeros(out)]
    pointer = ctypes.POINTER(ctypes.c_double)
    ctypes.CFUNCTYPE(ctypes.c_int32, *[pointer] * len(given))(entry.place)(*(a.ctypes.data_as(pointer) for a in given))
    return given[-1]


def both_energies(x, s, out):
    out[0], out[1] = S.energies(x, s)
    return 0


def pose(s, out):
    out[0], out[1] = S.pose_at(s)
    return 0


def straight_look(o, s, g, goals, out):
    A.look_ahead(o, s, g, goals[0], goals[1], 0.0, 0.0, 0.0, out)
    return 0


def held(robot, hand, phi, w):
    """The state of a robot whose hand is at rest, by the angles and rates that are seen from there."""
    d = robot.dynamics
    if hand == 0:
        return np.array([0.3, -0.2, *phi, 0, 0, *w])
    q = np.array([0.3, -0.2, phi[0] - math.pi + phi[1], -phi[1]])
    rate = np.array([0, 0, w[0] + w[1], -w[1]])
    place = robot.units[1].point.position
    J = np.array(ca.Function("J", [d.q, d.p], [ca.jacobian(place, d.q)])(q, robot.parameter_values))
    rate[:2] = -J[:, 2:] @ rate[2:]
    return np.concatenate([q, rate])


@pytest.mark.parametrize("hand", [0, 1])
def test_energies_and_momentum_are_those_of_the_mechanism(hand):
    """Also of links with other masses, lengths and centres, seen from both hands."""
    robot = robots.brachiator(world=SWING, r1=0.25, r2=0.1, L2=0.37, m2=2.4)
    data = Energy().bind(robot).data
    model = data[W.MODELS + S.MODEL * hand : W.MODELS + S.MODEL * (hand + 1)]
    d, generator = robot.dynamics, np.random.default_rng(3)
    truth = ca.Function("truth", [d.x, d.p], [d.kinetic, d.potential, robot.units[hand].point.position])
    weight, p = robot.values["g"] * (robot.values["m1"] + robot.values["m2"]), robot.parameter_values
    for _ in range(3):
        phi, w = generator.uniform(-2, 2, 2), generator.normal(size=2)
        kinetic, potential, place = (np.array(v).ravel() for v in truth(held(robot, hand, phi, w), p))
        found = called(both_energies, [*phi, *w], model, out=2)
        assert found[0] == pytest.approx(kinetic[0], rel=1e-10)
        assert found[1] == pytest.approx(kinetic[0] + potential[0] - weight * place[1], rel=1e-9)
        # momentum of the elbow: how the kinetic energy changes with its rate, a quadratic
        up, down = (float(truth(held(robot, hand, phi, (w[0], w[1] + e)), p)[0]) for e in (0.5, -0.5))
        momentum = (model[S.A3] + model[S.A2] * math.cos(phi[1])) * w[0] + model[S.A3] * w[1]
        assert momentum == pytest.approx(up - down, rel=1e-9)


def test_the_pose_is_at_the_bar():
    robot = robots.brachiator(world=SWING, L2=0.37)
    data = Energy().bind(robot).data
    s = np.zeros(S.SWING)
    s[: S.MODEL] = data[W.MODELS : W.MODELS + S.MODEL]
    place = ca.Function("place", [robot.dynamics.q, robot.dynamics.p], [robot.units[1].point.position])
    for target in ((0.5, 0.1), (0.6, -0.2), (0.3, 0.3)):
        s[S.TX], s[S.TY] = target
        one, two = called(pose, s, out=2)
        found = np.array(place([0, 0, one, two], robot.parameter_values)).ravel()
        assert found == pytest.approx(target, abs=1e-12)
        assert two > 0  # the elbow is below


def posing(t, x, status, memory, p, data, piece, u, request):
    """Computed torque towards a pose, at every stage, as the look-ahead has it."""
    a1, a2, a3, g1, g2 = data[0], data[1], data[2], data[3], data[4]
    q1, q2, w1, w2 = x[2], x[3], x[6], x[7]
    M11, M12 = a1 + 2 * a2 * math.cos(q2), a3 + a2 * math.cos(q2)
    n1 = -a2 * math.sin(q2) * w2 * (2 * w1 + w2) + g1 * math.sin(q1) + g2 * math.sin(q1 + q2)
    n2 = a2 * math.sin(q2) * w1 * w1 + g2 * math.sin(q1 + q2)
    e = data[5] - q2
    wanted = 400.0 * min(max(e, -1.5), 1.5) - 36.0 * w2
    u[0] = min(max((a3 - M12 * M12 / M11) * wanted + n2 - M12 / M11 * n1, -10.0), 10.0)
    return 0


def test_a_look_ahead_is_what_the_engine_does():
    """Energy, distance and time of the nearest pass beside a run of the engine under the same law of pose."""
    robot = robots.brachiator(world=SWING)
    data = Energy(gains={"look_step": 0.002}).bind(robot).data
    swing = np.concatenate([data[W.MODELS : W.MODELS + S.MODEL], [0.55, 0.0], data[W.FIXED : W.MODELS]])
    goals = called(pose, swing, out=2)
    beliefs = np.zeros(OBSERVER)
    beliefs[:4] = -0.6, 0.4, 4.2, 1.0
    beliefs[[GAIN_SEEN, VISCOUS_SEEN, COULOMB_SEEN]] = 1.0, 0.03, 0.0
    found = called(straight_look, beliefs, swing, data[W.GAINS : W.BAR_PLACES], goals, out=A.FOUND)
    start = {"x": 0.55, "y": 0.0, "theta1": -0.6, "theta2": 0.4, "dtheta1": 4.2, "dtheta2": 1.0}
    run = simulate(
        robot, start, controller=Compiled(posing, [*swing[:5], goals[1]]), mode={"B": "open"}, until=0.8,
        parameters={"elbow_viscous": 0.03, "hand_viscous": 0.03}, output_step=1e-4,
    )  # fmt: skip
    t, x = run.samples.t, run.samples.x
    both = x[:, 2] + x[:, 3]
    away = np.hypot(0.4 * (np.sin(x[:, 2]) + np.sin(both)) - 0.55, -0.4 * (np.cos(x[:, 2]) + np.cos(both)))
    k = int(np.flatnonzero(np.diff(away) > 0)[0])  # the first pass
    assert away[k] < 0.2
    assert found[A.WHEN] == pytest.approx(t[k], abs=3e-4)
    assert found[A.MISS] == pytest.approx(away[k], abs=2e-4)
    assert found[A.RESIDUAL] == pytest.approx(run.samples.kinetic[k], abs=2e-2)


def test_in_pose_it_expects_what_comes():
    """The residual that is expected shortly before the catch is that of the catch, to the way within reach."""
    world = SWING
    whole = simulate(robots.brachiator(world=world), controller=Energy(), until=1.0)
    (swing,) = swings(whole)
    run = simulate(robots.brachiator(world=world), controller=Energy(), until=swing.start + swing.time - 0.01)
    state, _, energy, residual, miss, looks = told(run)
    assert Energy.states()[int(state)] in ("pose", "catch")
    assert miss < 0.025
    assert residual < swing.residual + 0.05
    assert looks > 100
    assert energy == pytest.approx(run.samples.kinetic[-1] + run.samples.potential[-1], abs=0.2)


def test_masses_of_a_batch_are_not_known_but_its_bars_are():
    robot = robots.brachiator(world=SWING)
    controller, other = Energy(model=robot.values), robot.with_parameters(m1=2.0, bar2_x=1.15)
    one, two = controller.bind(robot), controller.bind(other)
    assert one.data.tobytes() == two.data.tobytes()
    assert Energy().bind(other).data[W.MODELS] != one.data[W.MODELS]
    places = np.array([1.05, 1.1, 1.2])
    made = simulate_many(
        robot.with_guards(**{"B.catch": "terminal"}), parameters={"bar2_x": places, "m2": [1.95, 2.0, 2.2]},
        controllers=controller, until=3.0,
    )  # fmt: skip
    assert (made.status == "terminal").all()
    q = made.states
    hand = q[:, 0] + 0.4 * (np.sin(q[:, 2]) + np.sin(q[:, 2] + q[:, 3]))
    assert np.abs(hand - places).max() <= 0.0251


# -- with hardware --------------------------------------------------------------------------------

SENSORS = {"imu": Imu(angle_noise=math.radians(1), rate_noise=math.radians(5)), "encoder": Encoder()}


def test_a_ladder_with_real_claws_and_sensors():
    controller = Hardware(Energy(observer=True, close_time=0.18), gripper=Gripper(), seed=5, **SENSORS)
    run = simulate(robots.brachiator(world=ladder(UNEVEN)), controller=controller, until=4.0)
    found = swings(run)
    assert [swing.bar for swing in found if swing.caught] == [2, 3]
    # they are there when the claws close, and nearly at rest
    assert all(swing.residual < 0.5 for swing in found)
    assert run.check().ok


def test_noise_is_seen_through_by_the_observer():
    ends = []
    for observer in (True, False):
        controller = Hardware(Energy(observer=observer), seed=1, **SENSORS)
        run = simulate(robots.brachiator(world=SWING), controller=controller, until=3.0)
        ends.append(swings(run)[0])
    assert ends[0].caught
    assert ends[0].residual < 0.8
    assert not ends[1].caught or ends[1].mean_torque > ends[0].mean_torque


def test_the_motor_curve_is_kept():
    motor = Motor()
    run = simulate(hanging(UP), controller=Hardware(Energy(motor=motor), motor=motor), mode={"B": "open"}, until=4.0)
    assert swings(run)[0].caught
    data = Energy(motor=motor).bind(hanging(UP)).data
    assert data[W.FIXED + 1] == motor.stall


# -- what it refuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kp": -1.0}, "kp must not be negative, got -1"),
        ({"gains": {"watchdog": 0.0}}, "watchdog must be at least"),
        ({"gains": {"kp": 3.0}, "kp": 4.0}, "given twice"),
        ({"gains": {"kp": math.nan}}, "kp must be a finite number"),
        ({"gains": 3.0}, "gains are numbers by name"),
        ({"release_delay": -0.1}, "release_delay must not be negative, got -0.1 s"),
        ({"close_time": -0.1}, "close_time must not be negative"),
        ({"motor": 3.0}, "motor is a saltus.control.Motor"),
        ({"stride": 0.0}, "a stride of zero"),
        ({"model": 3.0}, "values of parameters by name"),
        ({"period": 0.0}, "period must be a positive time"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(InputError, match=words):
        Energy(**options)


@pytest.mark.parametrize("options", [{"law": "powr"}, {"tuned": "light"}, {"gains": {"bufer": 1.0}}])
def test_unknown_names(options):
    with pytest.raises(UnknownName):
        Energy(**options)


def test_robots_and_worlds_that_it_is_not_for():
    for name, words in (
        ("pendulum", "two grips; pendulum has 0"),
        ("monkeybot", "hold anywhere"),
        ("claptrap_arms", "one motor"),
    ):
        with pytest.raises(InputError, match=words):
            Energy().bind(robots.find_robot(name))
    with pytest.raises(InputError, match="one bar, and none ahead"):
        Energy().bind(robots.brachiator(world=ladder(0.55, 1)))
    with pytest.raises(InputError, match="give a stride"):
        Energy().bind(robots.brachiator(world=rope()))
    with pytest.raises(InputError, match=r"stride of 0.9 m is beyond the robot's reach of 0.8 m"):
        Energy(stride=0.9).bind(robots.brachiator(world=rope()))
    with pytest.raises(InputError, match="stride is for ropes"):
        Energy(stride=0.5).bind(robots.brachiator(world=SWING))
    with pytest.raises(UnknownName, match="m3"):
        Energy(model={"m3": 1.0}).bind(robots.brachiator(world=SWING))
    with pytest.raises(InputError, match="does not hang"):
        Energy().bind(robots.brachiator(world=SWING, g=0.0))


OPEN = {"A": "open", "B": "open"}
REAL = Hardware(Energy(), encoder=Encoder(), gripper=Gripper())


@pytest.mark.parametrize("controller", [Energy(), REAL])
@pytest.mark.parametrize(
    ("state", "mode", "words"),
    [
        ({"x": 0.3}, {"B": "open"}, r"hand A closed where nothing is to hold: the nearest is 0.225 m beyond its reach"),
        ({"theta2": -1.5}, None, r"hand B closed where nothing is to hold"),
        ({}, OPEN, "no hand on a bar: neither A nor B holds anything"),
        ({"x": 0.3}, {"A": "reaching", "B": "open"}, "no hand on a bar"),
    ],
)
def test_a_start_that_holds_no_bar_is_refused(controller, state, mode, words):
    robot = robots.brachiator(world=SWING)
    with pytest.raises(InputError, match=words):
        simulate(robot, state, controller=controller, mode=mode, until=0.1)
    batch = simulate_many(robot, [state] * 3, controllers=controller, mode=mode, until=0.1)
    assert list(batch.reasons) == [0, 1, 2]
    assert all(re.search(words, reason) for reason in batch.reasons.values())


def test_of_many_starts_each_is_looked_at_with_its_own_bars():
    robot, until = robots.brachiator(world=SWING), 0.01
    for options in ({"states": {"x": [0.55, 0.9]}, "mode": {"B": "open"}}, {"parameters": {"bar1_x": [0.55, 0.6]}}):
        reasons = simulate_many(robot, controllers=Energy(), until=until, **options).reasons
        assert list(reasons) == [1]
        assert "energy: brachiator begins with hand A closed" in reasons[1]
    many = simulate_many(robot, {"x": [0.55, 0.7]}, parameters={"bar1_x": [0.55, 0.7], "bar2_x": 1.2},
                         controllers=Energy(), mode={"B": "open"}, until=until)  # fmt: skip
    assert many.n == 2


def test_a_rope_that_is_not_held():
    robot = robots.brachiator(world=rope())
    with pytest.raises(InputError, match=r"0.275 m beyond its reach"):
        simulate(robot, {"y": 0.3}, controller=Energy(stride=0.5), until=0.1)


def test_a_hand_that_is_about_to_catch_at_once_holds():
    robot = hanging(SWING)
    run = simulate(robot, controller=Energy(), mode={"A": "reaching", "B": "open"}, until=0.01)
    assert str(run.events[0].mode_after).startswith("A:closed")


def test_a_run_goes_on_from_the_end_of_another():
    first = simulate(robots.brachiator(world=SWING), controller=Energy(), until=0.8)
    mode = dict.fromkeys("AB", "closed")
    assert str(first.events[-1].mode_after) in ("A:closed B:closed", "A:released B:closed")
    simulate(first.system, first.final, controller=Energy(), mode=mode, until=0.1)


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ({"bar2_x": 1.4}, "bar 2 is out of reach: 0.85 m from bar 1, and the robot reaches 0.8 m"),
        ({"bar2_x": 0.02, "bar2_y": 0.0}, "bars 0 and 2 overlap"),
        ({"bar2_x": 0.6}, "bar 2 is too near: 0.05 m from bar 1, and the robot's hands stay at least 0.06"),
        ({"L1": 0.7, "L2": 0.15}, "bar 1 is too near"),
        ({"elbow_stop": 1.3}, "bar 1 is too near"),
    ],
)
def test_bars_that_parameters_move_are_looked_at_again(moved, words):
    robot = robots.brachiator(world=SWING)
    with pytest.raises(InputError, match=words):
        Energy().bind(robot.with_parameters(**moved))
    if "L1" not in moved:
        with pytest.raises(InputError, match=words):
            robots.brachiator(world=SWING, **moved)


def test_gains_can_be_told():
    for case in G.CASES:
        for law in G.LAWS:
            assert set(Energy.gains_of(case, law)) == set(Energy.all_gains()) == set(G.NAMES)
    assert Energy.gains_of("heavy", "power")["torque"] == 3.887
    assert all(getattr(G, name.upper()) == k for k, name in enumerate(G.NAMES))
