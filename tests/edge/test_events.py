"""Events in awkward places: together, at once, several in a step, grazing, at breaks and samples."""

import math

import casadi as ca
import numpy as np
import pytest
from machines import Guard, lifter, particle, plank

import saltus
from saltus.control import Constant, Sampled, Schedule
from saltus.engine import _layout as L


def times(run, guard):
    return [event.t for event in run.events if guard in event.guards]


def test_two_feet_strike_together():
    run = saltus.simulate(plank(restitution=0.5), {"y": 1.0}, until=0.6)
    first = run.events[0]
    assert first.guards == ("left.touch", "right.touch")
    assert first.t == pytest.approx(math.sqrt(2 / 9.81), abs=1e-12)
    # both feet reverse with half the speed, so the plank does not begin to turn
    assert first.state_after["dy"] == pytest.approx(-0.5 * first.state_before["dy"], rel=1e-13)
    assert first.state_after["dangle"] == pytest.approx(0.0, abs=1e-13)
    assert first.impulse["left.n"] == pytest.approx(first.impulse["right.n"], rel=1e-13)
    assert len(run.events) == 1


def test_robot_guard_and_strike_at_one_instant_are_both_on_record():
    ball = saltus.robots.bouncing_ball()
    watched = saltus.HybridSystem(
        ball.mechanism, units=ball.units, guards=(Guard("level", ball.mechanism.q[1], "record", "both"),)
    )
    run = saltus.simulate(watched, {"y": 1.0}, until=0.5)
    assert run.events[0].guards == ("ball.touch", "level")


def test_strike_at_the_very_start():
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.5), {"y": 0.0, "dy": -2.0}, until=0.15)
    assert run.events[0].t == 0.0
    assert run.events[0].state_after["dy"] == pytest.approx(1.0, rel=1e-14)
    assert len(run.events) == 1


def test_leaving_the_ground_at_the_start_is_no_event():
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.5), {"y": 0.0, "dy": 2.0}, until=0.41)
    assert [event.t for event in run.events] == [pytest.approx(4 / 9.81, abs=1e-12)]


def test_robot_guard_that_is_zero_at_the_start():
    def guards(x, y):
        return [Guard("here", x, "record", "both"), Guard("there", x - 1, "terminal", "both")]

    leaving = saltus.simulate(particle(guards), {"dx": 1.0}, until=3.0)
    assert times(leaving, "here") == []
    assert leaving.end_time == pytest.approx(1.0, abs=1e-12)


def test_terminal_guard_violated_from_the_first_instant_on():
    def guards(x, y):
        return [Guard("wall", -x)]

    run = saltus.simulate(particle(guards), {"dx": 1.0}, until=3.0)
    assert run.status.name == "terminal"
    assert run.end_time == pytest.approx(0.0, abs=1e-9)


def test_three_roots_in_one_step():
    def guards(x, y):
        return [Guard("cubic", (x - 1) * (x - 2) * (x - 3), "record", "both")]

    run = saltus.simulate(particle(guards), {"dx": 1.0}, until=10.0, first_step=10.0)
    assert times(run, "cubic") == [pytest.approx(k, abs=1e-12) for k in (1.0, 2.0, 3.0)]
    # the motion is uniform, so that no step is needed but those that end in events
    assert run.steps <= 6


def test_two_roots_between_the_ends_of_a_step():
    def guards(x, y):
        return [Guard("dip", (x - 5) ** 2 - 0.01, "record", "both")]

    run = saltus.simulate(particle(guards), {"dx": 1.0}, until=10.0, first_step=10.0)
    assert times(run, "dip") == [pytest.approx(4.9, abs=1e-12), pytest.approx(5.1, abs=1e-12)]


def test_many_roots_of_an_oscillating_guard():
    def guards(x, y):
        return [Guard("comb", ca.sin(20 * x), "record", "both")]

    run = saltus.simulate(particle(guards), {"x": 0.05, "dx": 1.0}, until=1.0, first_step=1.0)
    expected = [k * math.pi / 20 - 0.05 for k in range(1, 7)]
    assert times(run, "comb") == [pytest.approx(t, abs=1e-12) for t in expected]


@pytest.mark.parametrize("miss", [1e-9, 1e-6, 1e-3])
def test_grazing_from_both_sides(miss):
    def guards(x, y):
        return [Guard("ceiling", 1.0 - y, "record", "both")]

    thrown = particle(guards, gravity=10.0)
    below = saltus.simulate(thrown, {"dy": math.sqrt(20 * (1 - miss))}, until=0.8)
    assert times(below, "ceiling") == []
    above = saltus.simulate(thrown, {"dy": math.sqrt(20 * (1 + miss))}, until=0.8)
    speed, half = math.sqrt(20 * (1 + miss)), math.sqrt(20 * miss)
    # a root of multiplicity nearly two: its place is known to the square root of a rounding
    assert times(above, "ceiling") == [
        pytest.approx((speed - half) / 10, abs=1e-9),
        pytest.approx((speed + half) / 10, abs=1e-9),
    ]


def test_touching_the_ground_without_a_strike():
    # a ball carried down so that it arrives with no speed: rests at once, without an impulse
    run = saltus.simulate(saltus.robots.bouncing_ball(), {"y": 0.0}, until=1.0)
    assert run.arc_modes == ["stick"]
    assert run.events == []


def test_rejected_step_over_an_event_leaves_no_trace():
    robot = saltus.robots.pendulum()
    watched = saltus.HybridSystem(robot.mechanism, guards=(Guard("vertical", robot.mechanism.q[0], "record", "both"),))
    careful = saltus.simulate(watched, {"theta": 2.0}, until=3.0, rtol=1e-12, atol=1e-13)
    bold = saltus.simulate(watched, {"theta": 2.0}, until=3.0, first_step=3.0)
    assert bold.rejected > 0
    assert times(bold, "vertical") == pytest.approx(times(careful, "vertical"), abs=1e-9)


def test_directions_of_guards():
    def guards(x, y):
        return [Guard(f"{way}", 1.0 - y, "record", way) for way in ("down", "up", "both")]

    run = saltus.simulate(particle(guards, gravity=10.0), {"dy": 6.0}, until=1.1)
    rise, fall = (6 - 4) / 10, (6 + 4) / 10
    assert times(run, "down") == [pytest.approx(rise, abs=1e-12)]
    assert [e.t for e in run.events if e.guard == "up"] == [pytest.approx(fall, abs=1e-12)]
    assert times(run, "both") == [pytest.approx(rise, abs=1e-12), pytest.approx(fall, abs=1e-12)]


def test_guard_actions_can_be_changed():
    hopper = saltus.robots.hopper()
    torque = hopper.profiles["paper"].controller
    noted = hopper.with_guards(posture="record", height_Q="record", height_R="record")
    run = saltus.simulate(noted, controller=torque, until=0.5)
    assert "height_Q" in {event.guard for event in run.events}
    assert "posture" in {event.guard for event in run.events}
    assert run.status.name == "finished"


def test_torque_jump_lifts_the_foot():
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    lift = run.events[1]
    assert (lift.t, lift.guard, lift.mode_before, lift.mode_after) == (0.06, "break", "slip-", "flight")
    # left limits of the forces before the jump, none after
    assert lift.forces_before["P.n"] == pytest.approx(18.74154600363304, rel=1e-8)
    assert lift.forces_after == {"P.t": 0.0, "P.n": 0.0}


def test_break_without_the_jump_keeps_the_foot_down():
    # the same torque cut into two equal pieces: the break itself must change nothing
    hopper = saltus.robots.hopper()
    whole = saltus.simulate(hopper, controller=Constant(1.0), until=0.03)
    cut = saltus.simulate(hopper, controller=Schedule.steps((0.0, 0.01), (1.0, 1.0)), until=0.03)
    assert whole.events == cut.events == []
    assert np.allclose(list(whole.final.values()), list(cut.final.values()), rtol=1e-9, atol=1e-12)


def test_push_that_lifts_a_resting_ball_off_at_a_sample():
    robot = lifter(gravity=10.0, restitution=0.0)
    pushed = Sampled(lambda t, state, mode, memory: 15.0 if 0.2 <= t < 0.3 - 1e-9 else 0.0, period=0.1)
    run = saltus.simulate(robot, controller=pushed, until=1.0)
    assert [(event.guard, event.mode_after) for event in run.events] == [("sample", "open"), ("foot.touch", "stick")]
    # 0.1 s at 5 m/s^2 up, then thrown with 0.5 m/s from 0.025 m
    assert run.events[0].t == 0.2
    assert run.events[1].t == pytest.approx(0.3 + (0.5 + math.sqrt(0.25 + 0.5)) / 10, abs=1e-12)


def test_event_exactly_at_the_end():
    run = saltus.simulate(saltus.robots.bouncing_ball(g=8.0), {"y": 1.0}, until=0.5)
    assert run.end_time == 0.5
    assert len(run.events) <= 1


def test_strike_exactly_at_a_sample_shows_the_state_after_it():
    robot = lifter(gravity=8.0, restitution=0.5)
    seen = {}

    def watch(t, state, mode, memory):
        seen[t] = state["dy"]
        return 0.0

    # falls 1 m at 8 m/s^2: strikes at 0.5 s with 4 m/s
    saltus.simulate(robot, {"y": 1.0}, controller=Sampled(watch, period=0.25), until=0.6)
    assert seen[0.5] == pytest.approx(2.0, abs=1e-9)


def test_event_limit_and_step_limit_are_statuses():
    ball = saltus.robots.bouncing_ball(restitution=1.0)
    run = saltus.simulate(ball, {"y": 1.0}, until=100.0, max_events=10, raise_errors=False)
    assert run.status.name == "event_limit"
    assert len(run.events) == 10
    run = saltus.simulate(saltus.robots.pendulum(), until=100.0, max_steps=50, raise_errors=False)
    assert run.status.name == "step_limit"
    assert run.steps == 50


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
@pytest.mark.parametrize(("middle", "half"), [(0.52, 1e-4), (0.53, 1e-5), (0.515, 1e-2)])
def test_a_guard_that_begins_at_zero_and_dips_within_the_same_step(middle, half, method):
    """It leaves zero, and is armed from there on: the dip is found although the step is the whole run."""
    one = particle(lambda x, y: [Guard("dip", x * ((x - middle) ** 2 - half**2), "record")])
    run = saltus.simulate(one, {"dx": 1.0}, until=1.0, method=method, first_step=1.0)
    assert run.step_rows[0, L.S_LENGTH] > 0.5  # nothing has seen it positive before
    assert [event.guard for event in run.events] == ["dip"]
    assert run.events[0].t == pytest.approx(middle - half, abs=1e-12)
