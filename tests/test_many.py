"""Many runs at once: each is, bit by bit, the run alone, whatever the threads; and nothing is lost or let through."""

from __future__ import annotations

import math
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

import saltus
from saltus import Figures, Guard, robots, simulate, simulate_many
from saltus.control import PD, Compiled, Constant, Continuous, Sampled, Schedule, Sine
from saltus.engine import STATUSES, _simulate_many
from saltus.errors import BatchInterrupted, CompileError, InputError, UnknownName


def watched_pendulum():
    """Two links, with a guard that is recorded whenever the upper one hangs."""
    robot = robots.double_pendulum()
    return replace(robot, guards=(Guard("hanging", robot.mechanism.q[0], "record", "both"),))


def random_schedules(count, limit=3.0, seed=5):
    """Torque profiles of different lengths, so that the controllers' tables differ in size."""
    rng = np.random.default_rng(seed)
    pieces = rng.integers(1, 15, count)
    return [Schedule.steps(np.arange(n) * 0.04, rng.uniform(-limit, limit, n)) for n in pieces]


def pendulum_starts(count, seed=3):
    rng = np.random.default_rng(seed)
    starts = np.column_stack([rng.uniform(-2, 2, (count, 2)), rng.uniform(-3, 3, (count, 2))])
    starts[: count // 4, 0] = 0.0  # the guard begins at zero
    return starts


def hopper_case():
    return robots.hopper(), {"controllers": random_schedules(24), "until": 0.6}


def ball_case():
    rng = np.random.default_rng(8)
    states = {"y": rng.uniform(0.1, 2.0, 24), "dx": rng.uniform(-1, 1, 24), "dy": -0.3}
    return robots.bouncing_ball(), {"states": states, "parameters": {"restitution": np.linspace(0, 0.9, 24), "mu": 0.2}}


def block_case():
    rng = np.random.default_rng(9)
    controllers = [Sine(amplitude=a, omega=w) for a, w in rng.uniform(2, 9, (24, 2))]
    parameters = {"mu": rng.uniform(0.1, 0.6, 24), "slope": rng.uniform(-0.2, 0.2, 24)}
    return robots.block(), {"controllers": controllers, "parameters": parameters, "until": 2.0}


def pendulum_case():
    options = {"states": pendulum_starts(24), "until": 2.0, "rtol": 1e-9, "atol": 1e-9, "lanes": False}
    return watched_pendulum(), options


def lanes_case():
    return watched_pendulum(), {"states": pendulum_starts(333), "until": 2.0, "rtol": 1e-9, "atol": 1e-9}


def dop853_case():
    return watched_pendulum(), {"states": pendulum_starts(12), "until": 2.0, "method": "dop853"}


def sampled_case():
    controllers = [PD(kp=8.0, kd=0.5, target=0.1 * k, period=0.001 * (1 + k)) for k in range(8)]
    return robots.pendulum(), {"controllers": controllers, "until": 1.1, "start": 0.05}


def held_case():
    """Tolerances become tighter on the way, by the energy balance."""
    return robots.hopper(), {"controllers": random_schedules(24), "until": 0.6, "energy_tolerance": 1e-11}


def mixed_case():
    """Passive runs integrate no energies, driven ones do: their steps differ."""
    controllers = [None, Constant(0.5), PD(kp=2.0), None, Sine(0.3), Schedule((0.2,), ((1.0,),))]
    return watched_pendulum(), {"controllers": controllers, "until": 2.0}


CASES = {
    case.__name__: case
    for case in (hopper_case, held_case, ball_case, block_case, pendulum_case, dop853_case, sampled_case, mixed_case)
}


def alone(system, options, run):
    """The same run by `simulate`."""
    options = {"energy_tolerance": math.inf} | {name: value for name, value in options.items() if name != "lanes"}
    states, controllers = options.pop("states", None), options.pop("controllers", None)
    parameters = options.pop("parameters", {})

    def of(value):
        return value if np.ndim(value) == 0 else value[run]

    if isinstance(states, dict):
        states = {name: of(value) for name, value in states.items()}
    elif states is not None:
        states = states[run]
    return simulate(
        system,
        states,
        controller=None if controllers is None else controllers[run],
        parameters={name: of(value) for name, value in parameters.items()},
        raise_errors=False,
        **options,
    )


def assert_same_run(batch, k, run):
    """Nothing differs, not in the last bit."""
    assert batch.status[k] == run.status.name
    assert batch.t_end[k] == run.end_time
    assert batch.final(k) == run.final
    assert batch.steps[k] == run.steps
    assert batch.rejected[k] == run.rejected
    assert batch.event_count[k] == len(run.events)
    assert batch.modes[k] == run.arc_modes[-1]
    kept = min(batch.events_kept, len(run.events))
    assert batch.event_times[k, :kept].tolist() == [event.t for event in run.events[:kept]]
    assert batch.event_guards[k, :kept].tolist() == [event.guard for event in run.events[:kept]]
    assert np.isnan(batch.event_times[k, kept:]).all()
    assert not batch.event_guards[k, kept:].any()


# -- the same bits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_each_run_is_the_run_alone(name):
    system, options = CASES[name]()
    batch = simulate_many(system, **options)
    assert batch.good.all()
    for k in range(batch.n):
        run = alone(system, options, k)
        assert_same_run(batch, k, run)
        energy = run.check()["energy balance"]
        assert batch.energy_limit[k] == pytest.approx(energy.limit, rel=1e-6)
        # of a balance held this tightly, not much is left but rounding
        assert batch.energy_worst[k] == pytest.approx(
            energy.value, rel=1e-3, abs=1e-13 if name == "held_case" else 1e-14
        )
        assert batch.tightened[k] == run.tightened
    assert batch.tightened.any() == (name == "held_case")
    assert batch.event_count.sum() > 0 or name == "sampled_case"
    assert batch.check()


@pytest.mark.parametrize("name", robots.robot_names())
def test_every_robot_and_profile(name):
    robot = robots.find_robot(name)
    for profile in (saltus.Profile(), *robot.profiles.values()):
        options = {"until": profile.until, "states": [dict(profile.start)] * 2, "controllers": [profile.controller] * 2}
        assert_same_run(simulate_many(robot, **options), 1, alone(robot, options, 1))


def ranges(count, size):
    """Chunks of one size."""
    return [(first, min(first + size, count)) for first in range(0, count, size)]


@pytest.mark.parametrize("name", ["hopper_case", "ball_case", "block_case", "pendulum_case", "lanes_case"])
@pytest.mark.parametrize(("threads", "chunk"), [(2, 1), (3, 5), (8, 1000)])
def test_threads_do_not_matter(monkeypatch, name, threads, chunk):
    system, options = (CASES | {"lanes_case": lanes_case})[name]()
    one = simulate_many(system, threads=1, **options)
    monkeypatch.setattr(_simulate_many, "_chunks", lambda count, threads, lanes: ranges(count, chunk))
    other = simulate_many(system, threads=threads, **options)
    assert np.array_equal(one.integers, other.integers)
    assert np.array_equal(one.doubles, other.doubles, equal_nan=True)


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
@pytest.mark.parametrize("varied", [False, True])
def test_lanes_are_the_runs_alone_but_for_rounding(method, varied):
    """Side by side or one by one: the same steps, events and energies, to what rounding makes of them."""
    system, options = lanes_case()
    options |= {"method": method, "until": 1.0, "rtol": 1e-10, "atol": 1e-10}
    if varied:
        options["parameters"] = {"m1": np.linspace(0.5, 2.0, 333), "r2": np.linspace(0.3, 0.7, 333)}
    wide, narrow = simulate_many(system, **options), simulate_many(system, lanes=False, **options)
    assert wide.good.all()
    assert wide.check()
    assert wide.event_count.sum() > 300
    np.testing.assert_allclose(wide.states, narrow.states, rtol=0, atol=1e-7)
    assert np.array_equal(wide.event_count, narrow.event_count)
    np.testing.assert_allclose(wide.event_times, narrow.event_times, rtol=0, atol=1e-8)
    assert abs(wide.steps - narrow.steps).max() <= 3
    few = simulate_many(system, **(options | {"states": options["states"][5:6], "parameters": None, "lanes": True}))
    if not varied:  # what a lane computes does not depend on the others
        assert few.states[0].tolist() == wide.states[5].tolist()


def test_lanes_stop_at_guards_and_limits():
    pendulum = robots.double_pendulum()
    end = replace(pendulum, guards=(Guard("hanging", pendulum.mechanism.q[0], "terminal", "both"),))
    starts = pendulum_starts(100)
    starts[:, 0] = np.abs(starts[:, 0]) + 0.1
    batch = simulate_many(end, starts, until=5.0)
    assert (batch.status == "terminal").sum() > 90
    assert np.abs(batch.states[batch.status == "terminal", 0]).max() < 1e-12
    short = simulate_many(end, starts, until=5.0, max_steps=7)
    assert (short.status == "step_limit").all()
    assert (short.steps == 7).all()
    assert (simulate_many(pendulum, starts, until=0.0).t_end == 0.0).all()
    with pytest.raises(InputError, match="lanes are for"):
        simulate_many(robots.hopper(), lanes=True)


def test_a_run_can_be_made_again_with_its_record():
    system, options = block_case()
    batch = simulate_many(system, **options)
    run = batch.run(-1)
    assert_same_run(batch, 23, run)
    assert run.system.values["mu"] == batch.parameters["mu"][23]
    assert run.check()


def test_records():
    system, options = hopper_case()
    batch = simulate_many(system, keep="records", threads=2, **options)
    assert len(batch.runs) == batch.n
    for k, run in enumerate(batch.runs):
        assert_same_run(batch, k, run)


def test_python_functions_are_bound_to_each_run():
    calls = set()

    def count(t, state, mode, memory):
        memory[0] += 1
        calls.add(threading.current_thread().name)
        return 0.01 * memory[0] - 0.5 * state["dtheta"]

    robot = robots.pendulum()
    states = {"theta": np.linspace(0, 1, 6)}
    batch = simulate_many(robot, states, controllers=Sampled(count, period=0.01), until=0.5, threads=2)
    assert calls
    for k in range(6):
        assert_same_run(
            batch, k, simulate(robot, {"theta": states["theta"][k]}, controller=Sampled(count, 0.01), until=0.5)
        )


# -- events ------------------------------------------------------------------------------------------


def test_events_beyond_the_room_are_counted_and_kept():
    clock = robots.pendulum()
    clock = replace(clock, guards=(Guard("tick", saltus_sine(clock.mechanism.t), "record", "both"),))
    batch = simulate_many(clock, {"theta": [0.1, 0.2]}, until=10.0, events_kept=300)
    assert (batch.event_count == 200).all()
    np.testing.assert_allclose(batch.event_times[:, :199], np.tile(np.arange(1, 200) / 20, (2, 1)), atol=1e-12)
    assert_same_run(batch, 1, simulate(clock, {"theta": 0.2}, until=10.0))
    few = simulate_many(clock, {"theta": [0.1, 0.2]}, until=10.0, events_kept=0)
    assert few.event_times.shape == few.event_guards.shape == (2, 0)
    assert (few.event_count == 200).all()


def saltus_sine(t):
    import casadi as ca

    return ca.sin(20 * math.pi * t)


def test_limits_are_those_of_a_run_alone():
    ball = robots.bouncing_ball(restitution=0.9)
    for limits in ({"max_events": 5}, {"max_events": 70}, {"max_steps": 3}):
        batch = simulate_many(ball, {"y": [0.5, 1.0]}, until=20.0, **limits)
        run = simulate(ball, {"y": 1.0}, until=20.0, raise_errors=False, **limits)
        assert not batch.good.any() or run.status.good
        assert_same_run(batch, 1, run)


# -- figures -----------------------------------------------------------------------------------------


def jump_by_hand(run):
    """The same rule, read off the events of a run: where the foot is on the ground, and where a link strikes it."""
    events = run.events
    left = -1 if run.arc_modes[0] == "flight" else next(
        (k for k, e in enumerate(events) if e.mode_after == "flight"), None
    )  # fmt: skip
    if left is None:
        return None
    landed = next((k for k in range(left + 1, len(events)) if events[k].guard == "P.touch"), None)
    if landed is None:
        return None
    x_start = max([run.x[0, 0], *(e.state_before["x"] for e in events[: left + 1])])
    after = [events[landed].state_before["x"]]
    contact = events[landed].mode_after != "flight"
    for event in events[landed + 1 :]:
        if contact:
            after.append(event.state_before["x"])
        contact = contact and event.mode_after != "flight"
    if contact:
        after.append(run.final["x"])
    last = events[-1]
    if last.guard in ("height_Q", "height_R"):
        s, half = last.state_before, run.system.values["l"]
        after.append(s["x"] + 2 * half * math.cos(s["theta1"]))
        if last.guard == "height_R":
            after[-1] += 2 * half * math.cos(s["theta1"] + s["theta2"])
    return min(after) - x_start


def test_the_hoppers_jump_as_a_figure():
    hopper = robots.hopper()
    paper = hopper.profiles["paper"].controller
    controllers = [paper, *random_schedules(60, seed=11)]
    batch = simulate_many(hopper, controllers=controllers, figures=hopper.figures)
    jumped = 0
    for k, controller in enumerate(controllers):
        run = simulate(hopper, controller=controller, energy_tolerance=math.inf)
        expected, found = jump_by_hand(run), run.figures
        assert math.isnan(batch["jump_distance"][k]) == (expected is None) == (found["jump_distance"] is None)
        if expected is not None:
            jumped += 1
            assert found["jump_distance"] == pytest.approx(expected, rel=0, abs=1e-15)
            for name, value in found.items():
                assert batch.figures[name][k] == pytest.approx(value, rel=0, abs=1e-15)
    assert jumped > 5
    assert set(batch.figures) == {"jump_distance", "x_start", "x_end", "jump_over"}


def count_events(moment, t, before, after, old, new, guard, p, out):
    if moment == 1:
        out[0] += 1
        out[1] += 0.5 * p[0] * (before[3] ** 2 - after[3] ** 2)
    return 1 if out[0] > 60 else 0


def test_figures_are_told_of_every_event_and_may_fail():
    ball = robots.bouncing_ball(mass=2.0)
    batch = simulate_many(
        ball, parameters={"restitution": [0.0, 0.5, 0.9]}, until=9.0, figures=Figures(("events", "lost"), count_events)
    )
    assert batch["events"][:2].tolist() == batch.event_count[:2].tolist()
    assert batch.event_count[2] > 60
    assert np.isnan(batch["events"][2])
    lost = [sum(event.energy_lost for event in batch.run(k).events) for k in range(2)]
    np.testing.assert_allclose(batch["lost"][:2], lost, rtol=1e-12)


def with_functions(moment, t, before, after, old, new, guard, p, out):
    out[0] = math.exp(3.0 * math.sin(after[0])) + math.pow(abs(after[1]) + 0.1, 1.7)
    return 0


def test_figures_of_one_run_are_those_of_many_to_the_bit():
    """Python's own functions differ from those of compiled code in the last place."""
    figures = Figures(("a",), with_functions)
    starts = np.random.default_rng(8).uniform(-2.0, 2.0, (40, 4))
    batch = simulate_many(robots.double_pendulum(), starts, until=0.2, figures=figures, lanes=False)
    assert [figures(batch.run(k))["a"] for k in range(40)] == batch["a"].tolist()


def test_figures_from_expressions():
    robot = watched_pendulum()
    m = robot.mechanism
    tip = m.points["tip"].position
    figures = {"height": tip[1], "product": m.t * m.p[0] * m.v[0]}
    batch = simulate_many(robot, pendulum_starts(5), parameters={"m1": np.arange(1.0, 6.0)}, until=0.5, figures=figures)
    th1, th2, dth1, _ = batch.states.T
    np.testing.assert_allclose(batch["height"], -np.cos(th1) - np.cos(th1 + th2), atol=1e-14)
    np.testing.assert_allclose(batch["product"], 0.5 * np.arange(1.0, 6.0) * dth1, rtol=1e-15)


# -- what may be given -------------------------------------------------------------------------------


def test_forms_of_states():
    robot = robots.double_pendulum()
    rows = np.array([[1.0, 0.5, 0.0, 0.2], [1.0, 0.5, 0.0, 0.4]])
    by_name = {"dtheta2": np.array([0.2, 0.4])}
    forms = [rows, rows.tolist(), tuple(map(tuple, rows)), by_name, [{"dtheta2": 0.2}, rows[1]]]
    ends = [simulate_many(robot, form, until=0.3).states for form in forms]
    assert all(np.array_equal(end, ends[0]) for end in ends)
    for one in (None, rows[0], {"dtheta2": 0.2}):
        batch = simulate_many(robot, one, parameters={"m1": [1.0, 2.0]}, until=0.3)
        assert batch.n == 2
        assert np.array_equal(batch.states[1], alone_end(robot, one, {"m1": 2.0}))
    assert simulate_many(robot, until=0.3).n == 1


def alone_end(robot, state, parameters):
    return np.array(list(simulate(robot, state, parameters=parameters, until=0.3).final.values()))


TWO = np.array([1.0, 2.0])

BAD = [
    (robots.pendulum, {"states": {"theta": TWO}, "parameters": {"mass": [1.0, 2.0, 3.0]}}, r"3 runs.* 2|2 runs.* 3"),
    (robots.pendulum, {"states": {"theta": TWO, "dtheta": [1, 2, 3]}}, "2 runs.* 3"),
    (robots.pendulum, {"states": {"theta": TWO}, "controllers": [None] * 5}, "2 runs.* 5"),
    (robots.pendulum, {"states": np.zeros((3, 5))}, r"\(3, 5\)"),
    (robots.pendulum, {"states": np.zeros((0, 2))}, "no run"),
    (robots.pendulum, {"states": []}, "no run"),
    (robots.pendulum, {"states": "upright"}, "numbers"),
    (robots.pendulum, {"states": {"thata": TWO}}, "Did you mean 'theta'"),
    (robots.pendulum, {"states": {"theta": math.nan}, "parameters": {"mass": TWO}}, "finite"),
    (robots.pendulum, {"states": [{"theta": 0}, {"thata": 1}]}, "run 1.*Did you mean 'theta'"),
    (robots.pendulum, {"parameters": {"maas": TWO}}, "Did you mean 'mass'"),
    (robots.pendulum, {"parameters": {"mass": [[1.0]]}}, "one for each run"),
    (robots.pendulum, {"parameters": {"mass": -1.0}}, "greater than 0"),
    (robots.pendulum, {"parameters": [1.0]}, "by name"),
    (robots.bouncing_ball, {"states": {"y": -0.5}, "controllers": [None] * 3}, "0.5 m below the ground"),
    (robots.pendulum, {"parameters": {"mass": TWO, "length": -1.0}}, "greater than 0"),
    (robots.hopper, {"controllers": [Constant(1.0), "hold"]}, "run 1.*controller"),
    (robots.pendulum, {"until": -1.0}, "time runs forward"),
    (robots.pendulum, {"rtol": 2.0}, "rtol"),
    (robots.pendulum, {"events_kept": -1}, "events_kept"),
    (robots.pendulum, {"threads": 0}, "threads"),
    (robots.pendulum, {"keep": "all"}, "keep"),
    (robots.pendulum, {"method": "euler"}, "method"),
    (robots.pendulum, {"figures": ["height"]}, "figures"),
    (robots.pendulum, {"figures": {"height": "tip"}}, "expression"),
    (robots.pendulum, {"figures": {"other": robots.block().mechanism.q[0]}}, "made of"),
]


@pytest.mark.parametrize(("robot", "options", "message"), BAD)
def test_bad_input_is_refused_with_its_run(robot, options, message):
    with pytest.raises(InputError, match=message):
        simulate_many(robot(), **options)


def test_constants_made_of_parameters_are_checked():
    m = saltus.Mechanism("scale")
    load = m.parameter("load", 1.0, "kg")
    m.body("pan", saltus.mechanism.Prismatic("y", axis=(0, 1)), mass=load - 0.5)
    batch = simulate_many(saltus.HybridSystem(m), parameters={"load": [1.0, 0.2, 0.1]}, until=0.1)
    assert batch.status.tolist() == ["finished", "not_started", "not_started"]
    assert all("mass must be finite and not negative" in reason for reason in batch.reasons.values())


def test_only_values_that_are_run_are_checked():
    """A number for all may need the other values of the runs, not the robot's own."""
    m = saltus.Mechanism("tank")
    full, drained = m.parameter("full", 1.0, "kg"), m.parameter("drained", 0.0, "kg")
    m.body("tank", saltus.mechanism.Prismatic("y", axis=(0, 1)), mass=full - drained)
    batch = simulate_many(saltus.HybridSystem(m), parameters={"full": [3.0, 4.0], "drained": 2.0}, until=0.1)
    assert batch.good.all()
    assert batch.run(1).system.values == {"full": 4.0, "drained": 2.0}


def test_what_is_given_may_change_afterwards():
    starts, masses = pendulum_starts(3), np.array([1.0, 2.0, 3.0])
    batch = simulate_many(watched_pendulum(), starts, parameters={"m1": masses}, until=0.5)
    starts[:], masses[:] = 0.1, 5.0
    assert_same_run(batch, 2, batch.run(2))


def test_bad_figures():
    with pytest.raises(InputError, match="names"):
        Figures([], count_events)
    with pytest.raises(InputError, match="function"):
        Figures(["a"], 3)
    with pytest.raises(CompileError):
        simulate_many(robots.pendulum(), figures=Figures(["a"], lambda *given: given[0].nothing))
    batch = simulate_many(robots.pendulum(), until=0.1)
    with pytest.raises(UnknownName, match="theta"):
        batch["thata"]
    with pytest.raises(InputError, match="from 0 to 0"):
        batch.run(1)


def test_a_start_on_a_terminal_guard_going_up():
    """Guards that count upwards may not begin above zero."""
    robot = robots.pendulum()
    robot = replace(robot, guards=(Guard("high", robot.mechanism.q[0] - 1.0, "terminal", "up"),))
    batch = simulate_many(robot, {"theta": [0.0, 1.0], "dtheta": 5.0}, until=1.0)
    assert (batch.status == "terminal").all()
    batch = simulate_many(robot, {"theta": [0.0, 1.1]}, until=0.1)
    assert list(batch.reasons) == [1]
    assert "not be positive" in batch.reasons[1]


# -- nothing is lost, nothing slips through ----------------------------------------------------------


def wild(t, x, status, memory, p, data, piece, u, request):
    u[0] = math.nan if t > data[0] else 0.0
    return 0


def test_bad_ends_are_recorded_by_run():
    robot = robots.pendulum()

    def stumble(t, state, mode, memory):
        raise RuntimeError("no torque today")

    controllers = [None, Compiled(wild, [0.5]), Sampled(stumble), Continuous(lambda t, s, m, y: 0.0)]
    batch = simulate_many(robot, {"theta": 1.0}, controllers=controllers, until=1.0)
    assert batch.status.tolist() == ["finished", "controller_not_finite", "controller_failed", "finished"]
    assert batch.good.tolist() == [True, False, False, True]
    assert list(batch.errors) == [2]
    assert "no torque today" in str(batch.errors[2])
    assert_same_run(batch, 1, batch.run(1))


def test_a_good_end_is_finite():
    """Speeds from small to absurd: whatever ends well has a finite state and a closed audit."""
    rng = np.random.default_rng(4)
    size = 10.0 ** rng.uniform(-3, 160, 60)
    states = {"dtheta1": size * rng.choice([-1, 1], 60), "theta1": size[::-1]}
    batch = simulate_many(watched_pendulum(), states, until=0.5, max_steps=3000)
    ball = simulate_many(robots.bouncing_ball(), {"dy": size, "dx": -size[::-1]}, until=0.5, max_steps=300)
    for one in (batch, ball):
        assert one.good.any()
        assert np.isfinite(one.states[one.good]).all()
        assert np.isfinite(one.t_end).all()
    assert not batch.good.all()


def test_a_strike_at_the_start_is_in_the_balance():
    batch = simulate_many(robots.bouncing_ball(), {"y": 0.0, "dy": [-1.0, -2.0]}, until=0.3)
    assert (batch.event_times[:, 0] == 0.0).all()
    assert (batch.energy_worst < 1e-14).all()
    assert batch.check()


def test_check_names_a_balance_that_does_not_close():
    batch = simulate_many(watched_pendulum(), pendulum_starts(6), until=0.5)
    assert batch.check().ok
    assert (np.abs(batch.energy_residual) <= batch.energy_worst).all()
    for wrong in (1e-3, math.nan):
        doubles = batch.doubles.copy()
        doubles[2, 2] = wrong
        audit = replace(batch, doubles=doubles).check()
        assert not audit.ok
        assert audit["runs that miss it"].value == 1


def test_ctrl_c_keeps_the_runs_made():
    ends = []

    def press(t, state, mode, memory):
        if not ends and state["theta"] > 0.5:
            ends.append(t)
            os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    robot, states = robots.pendulum(), {"theta": np.linspace(0, 0.4, 400)}
    states["theta"][200] = 0.6
    controllers = [None] * 400
    controllers[200] = Sampled(press)
    controllers[201:] = [Sampled(lambda t, s, m, y: 0.0)] * 199
    with pytest.raises(KeyboardInterrupt) as stopped:
        simulate_many(robot, states, controllers=controllers, until=3.0, threads=2)
    assert isinstance(stopped.value, BatchInterrupted)
    batch = stopped.value.batch
    assert (batch.status[:200] == "finished").sum() >= 150  # a thread may have been late with its chunk
    assert "running" in batch.status
    assert np.isnan(batch.states[~batch.begun]).all()
    assert np.isfinite(batch.states[batch.begun]).all()
    made = int(np.flatnonzero(batch.good)[-1])
    assert_same_run(batch, made, batch.run(made))
    assert batch.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_long_run_is_interrupted_within():
    simulate_many(robots.double_pendulum(), until=0.1)  # compiles, which is not what is interrupted here
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(BatchInterrupted) as stopped:
        simulate_many(robots.double_pendulum(), until=1e6)
    assert stopped.value.batch.status.tolist() == ["interrupted"]
    assert 0 < stopped.value.batch.t_end[0] < 1e6


def test_progress_is_told_and_its_errors_come_through():
    told = []
    simulate_many(robots.pendulum(), {"theta": np.linspace(0, 1, 50)}, progress=lambda made, n: told.append((made, n)))
    assert told[-1] == (50, 50)

    def fail(made, n):
        raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen"):
        simulate_many(robots.pendulum(), until=2000.0, progress=fail, states={"theta": np.linspace(0, 1, 500)})


def test_in_a_thread_of_its_own():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(simulate_many(robots.pendulum(), {"theta": [0.1, 0.2]})))
    thread.start()
    thread.join()
    assert answers[0].good.all()


# -- reading -----------------------------------------------------------------------------------------


def test_reading_by_name():
    system, options = ball_case()
    batch = simulate_many(system, figures={"height": system.mechanism.q[1]}, **options)
    assert len(batch) == batch.n == 24
    assert set(batch.status) <= {status.name for status in STATUSES.values()}
    assert np.array_equal(batch["y"], batch.figures["height"])
    assert batch.final(3)["x"] == batch["x"][3]
    assert repr(batch).startswith("<Batch of 24 runs of bouncing_ball: 24 finished")
    data = batch.to_dataset()
    assert data.sizes["run"] == 24
    assert data.attrs["robot"] == "bouncing_ball"
    assert float(data.q.sel(run=3, coordinate="x")) == batch["x"][3]
    assert np.array_equal(data.parameters.sel(parameter="restitution"), options["parameters"]["restitution"])
    assert np.array_equal(data.figure_height, batch["height"])
