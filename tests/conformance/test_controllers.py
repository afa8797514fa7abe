"""What holds however a controller is written: it acts at the same instants, is limited, and fails aloud."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saltus import registry, robots, simulate
from saltus.conformance.controllers import bound_example
from saltus.control import (
    PD,
    Compiled,
    Constant,
    Continuous,
    Sampled,
    Schedule,
)
from saltus.errors import RunFailed

MILLISECOND = 1e-3


def same_trajectory(one, other, tolerance=1e-9):
    """Compare two runs: how they end, their events by name and time, and their states between events."""
    assert one.status.name == other.status.name
    assert [e.guard for e in one.events] == [e.guard for e in other.events]
    assert [e.mode_after for e in one.events] == [e.mode_after for e in other.events]
    np.testing.assert_allclose([e.t for e in one.events], [e.t for e in other.events], rtol=0, atol=tolerance)
    assert one.end_time == pytest.approx(other.end_time, rel=0, abs=tolerance)
    times = np.linspace(one.start_time, min(one.end_time, other.end_time), 301)
    for event in one.events:  # an impact at slightly different times is not a difference in state
        times = times[np.abs(times - event.t) > 10 * tolerance]
    a, b = one.at(times), other.at(times)
    scale = np.maximum(1e-3, np.abs(a).max(axis=0))
    np.testing.assert_array_less(np.abs(a - b) / scale, tolerance)


def pd_function(coordinate, kp, kd, target):
    def pd(t, state, mode, memory):
        return kp * (target - state[coordinate]) - kd * state[f"d{coordinate}"]

    return pd


MACHINES = {
    "pendulum": (robots.pendulum, "theta", {"kp": 6.0, "kd": 0.4, "target": 0.7}, 2.0),
    "double_pendulum": (robots.double_pendulum, "theta2", {"kp": 8.0, "kd": 0.5, "target": -0.4}, 1.0),
    # stick, slip and flight, then a knee on the ground
    "hopper": (robots.hopper, "theta2", {"kp": 4.0, "kd": 0.05, "target": -0.6}, 0.6),
    "block": (robots.block, "s", {"kp": 40.0, "kd": 0.5, "target": 0.4}, 1.5),
}

EVERY_MACHINE = pytest.mark.parametrize("name", MACHINES)


# -- compiled and Python controllers are the same ----------------------------------------------------


@EVERY_MACHINE
def test_continuous_pd_in_python_is_the_compiled_one(name):
    robot, coordinate, gains, until = MACHINES[name]
    compiled = simulate(robot(), controller=PD(**gains), until=until)
    python = simulate(robot(), controller=Continuous(pd_function(coordinate, **gains)), until=until)
    same_trajectory(compiled, python)
    assert np.abs(compiled.samples.inputs).max() > 1.0, "the controller must matter"


@EVERY_MACHINE
def test_sampled_pd_in_python_is_the_compiled_one(name):
    robot, coordinate, gains, until = MACHINES[name]
    compiled = simulate(robot(), controller=PD(**gains, period=MILLISECOND), until=until)
    python = simulate(robot(), controller=Sampled(pd_function(coordinate, **gains), period=MILLISECOND), until=until)
    bare = simulate(robot(), controller=pd_function(coordinate, **gains), until=until)
    same_trajectory(compiled, python)
    same_trajectory(compiled, bare)


def test_sampling_is_not_continuous_control():
    """The comparisons above could not tell if a period were ignored; a coarse one must change the motion."""
    robot, _, gains, until = MACHINES["pendulum"]
    continuous = simulate(robot(), controller=PD(**gains), until=until)
    coarse = simulate(robot(), controller=PD(**gains, period=0.05), until=until)
    assert abs(continuous.final["theta"] - coarse.final["theta"]) > 1e-4
    # held between samples
    inputs = coarse.samples.inputs[:, 0]
    assert len(np.unique(inputs)) <= 1 + round(until / 0.05)


@pytest.mark.parametrize("name", ["pendulum", "hopper"])
def test_constant_in_python_is_the_compiled_one(name):
    robot, _, _, until = MACHINES[name]
    compiled = simulate(robot(), controller=Constant(0.9), until=until)
    same_trajectory(compiled, simulate(robot(), controller=Continuous(lambda t, s, m, k: 0.9), until=until))
    same_trajectory(compiled, simulate(robot(), controller=Compiled(constant_law, data=[0.9]), until=until))
    assert compiled.samples.inputs == pytest.approx(0.9)


def constant_law(t, x, status, memory, p, data, piece, u, request):
    u[0] = data[0]
    return 0


STARTS = (0.0, 0.06, 0.25, 0.35)


def smooth_pieces(t, state, mode, memory):
    """The hopper's printed torque, each piece in its local time."""
    if t < 0.06:
        return 3.2 - 1500 * (t - 0.04) ** 2
    if t < 0.25:
        return -0.6 + 3 * (t - 0.06)
    if t < 0.35:
        return 0.9 - 15 * (t - 0.25)
    return 0.0


def test_schedule_in_python_is_the_compiled_one_on_the_hopper():
    hopper = robots.hopper()
    compiled = simulate(hopper, controller=hopper.profiles["paper"].controller)
    python = simulate(hopper, controller=Continuous(smooth_pieces, breaks=STARTS[1:]))
    same_trajectory(compiled, python)


def test_schedule_in_python_is_the_compiled_one_on_the_pendulum():
    compiled = simulate(robots.pendulum(), controller=Schedule.steps((0.0, 0.3, 0.7), (4.0, -4.0, 1.0)), until=1.2)

    def steps(t, state, mode, memory):
        return 4.0 if t < 0.3 else -4.0 if t < 0.7 else 1.0

    python = simulate(robots.pendulum(), controller=Continuous(steps, breaks=(0.3, 0.7)), until=1.2)
    same_trajectory(compiled, python)
    # left limits before a break, right limits after: a jump inside a step would cost many rejections
    assert python.rejected <= compiled.rejected + 3


@pytest.mark.parametrize("name", registry.names("controllers", own=True))
def test_runs_name_their_controller(name):
    system, controller, _ = bound_example(name)
    run = simulate(system, controller=controller, until=0.1)
    assert run.control.name == name


# -- when sampled controllers are asked -----------------------------------------------------------------


class Recorder:
    """A controller that remembers when it was asked, and what it saw."""

    def __init__(self, answer=0.0):
        self.answer = answer
        self.times = []
        self.states = []
        self.modes = []

    def __call__(self, t, state, mode, memory):
        self.times.append(t)
        self.states.append(state)
        self.modes.append(str(mode))
        return self.answer


def multiples(period, until):
    """Products, not sums: adding up a period drifts."""
    return [k * period for k in range(math.ceil(until / period) + 2) if k * period <= until]


@pytest.mark.parametrize(("period", "until"), [(1e-3, 0.5), (0.1, 0.75), (0.01, 1.0), (0.3, 1.0), (1 / 3, 1.0)])
def test_samples_are_at_exact_multiples_of_the_period(period, until):
    asked = Recorder()
    simulate(robots.pendulum(), controller=Sampled(asked, period=period), until=until)
    assert asked.times == multiples(period, until)


def test_a_bare_function_is_asked_every_millisecond():
    asked = Recorder()
    simulate(robots.pendulum(), controller=asked, until=0.1)
    assert asked.times == multiples(1e-3, 0.1)


def test_events_between_samples_do_not_ask_again():
    asked = Recorder(answer=0.9)
    run = simulate(robots.hopper(), controller=Sampled(asked, period=0.01), until=0.2)
    # some of the events must lie between samples for this to mean anything
    assert any(abs(event.t / 0.01 - round(event.t / 0.01)) > 1e-6 for event in run.events)
    assert asked.times == multiples(0.01, run.end_time)


def test_a_run_that_starts_late_samples_on_the_same_grid():
    asked = Recorder()
    simulate(robots.pendulum(), controller=Sampled(asked, period=0.01), start=0.105, until=0.15)
    assert asked.times == [0.105, *(k * 0.01 for k in (11, 12, 13, 14, 15))]


def counting_law(t, x, status, memory, p, data, piece, u, request):
    u[0] = 1e-3 * memory[0]
    memory[0] += 1.0
    return 0


def test_compiled_samples_are_as_many_and_memory_is_kept():
    def counting(t, state, mode, memory):
        answer = 1e-3 * memory[0]
        memory[0] += 1.0
        return answer

    runs = [
        simulate(robots.pendulum(), controller=controller, until=0.5)
        for controller in (Compiled(counting_law, period=0.01), Sampled(counting, period=0.01))
    ]
    same_trajectory(*runs)
    for run in runs:
        expected = 1e-3 * np.floor(run.samples.t / 0.01 + 1e-9)
        inside = np.abs(run.samples.t / 0.01 - np.round(run.samples.t / 0.01)) > 1e-6
        assert run.samples.inputs[inside, 0] == pytest.approx(expected[inside], abs=1e-12)


@pytest.mark.parametrize("gravity", [1.0, 8.0, 9.81, 10.0])
@pytest.mark.parametrize(("period", "count"), [(0.125, 4), (0.1, 3), (0.05, 7), (0.01, 5), (0.001, 7), (0.25, 1)])
def test_a_sample_at_an_impact_sees_the_state_after_it(gravity, period, count):
    """A block dropped from where it lands, plastically, on a sample."""
    moment = count * period
    asked = Recorder(answer=0.5)
    system = robots.block(slope=0.0, g=gravity)
    run = simulate(
        system,
        {"n": gravity * moment**2 / 2},
        controller=Sampled(asked, period=period),
        until=moment + 2.5 * period,
    )
    assert asked.times == multiples(period, moment + 2.5 * period)
    assert [event.guard for event in run.events][:1] == ["block.touch"]
    assert run.events[0].t == pytest.approx(moment, rel=1e-14)
    before, after = asked.states[count - 1], asked.states[count]
    assert before["dn"] == pytest.approx(-gravity * (count - 1) * period, rel=1e-9, abs=1e-12)
    assert after["dn"] == 0.0
    assert after["n"] == pytest.approx(0.0, abs=1e-12)


def test_the_first_sample_sees_the_mode_it_acts_in():
    asked = Recorder()
    simulate(robots.hopper(), controller=Sampled(asked), until=0.01)
    assert asked.modes == ["stick"] * 11


# -- limits ---------------------------------------------------------------------------------------------

STIFF = {"kp": 60.0, "kd": 2.0, "target": 0.0}


@pytest.mark.parametrize("period", [None, MILLISECOND])
def test_torque_is_clipped_to_the_limit_and_the_run_says_so(period):
    run = simulate(robots.pendulum(torque_limit=3.0), controller=PD(**STIFF, period=period), until=1.0)
    assert run.saturated
    assert np.abs(run.samples.inputs).max() == 3.0
    assert run.check().ok


@pytest.mark.parametrize("period", [None, MILLISECOND])
def test_a_torque_within_the_limit_is_not_called_saturated(period):
    run = simulate(robots.pendulum(torque_limit=100.0), controller=PD(**STIFF, period=period), until=1.0)
    assert not run.saturated
    assert np.abs(run.samples.inputs).max() > 3.0


def test_clipping_is_what_the_controller_could_have_done_itself():
    limit, wish = 3.0, pd_function("theta", **STIFF)

    def clipped(t, state, mode, memory):
        return min(limit, max(-limit, wish(t, state, mode, memory)))

    cut = simulate(robots.pendulum(torque_limit=limit), controller=PD(**STIFF, period=MILLISECOND), until=1.0)
    own = simulate(robots.pendulum(torque_limit=limit), controller=Sampled(clipped, period=MILLISECOND), until=1.0)
    same_trajectory(cut, own)
    assert cut.saturated
    assert not own.saturated


def test_each_side_of_the_limit_clips():
    for sign in (1, -1):
        function = Recorder(answer=50.0 * sign)
        run = simulate(robots.pendulum(torque_limit=2.5), controller=Sampled(function), until=0.05)
        assert (run.samples.inputs == 2.5 * sign).all()
        assert run.saturated


# -- failures -------------------------------------------------------------------------------------------

FAILS_AFTER = 0.2


def raises(t, state, mode, memory):
    if t > FAILS_AFTER:
        raise ZeroDivisionError("by no means")
    return 1.0


def returns_nan(t, state, mode, memory):
    return math.nan if t > FAILS_AFTER else 1.0


def returns_infinity(t, state, mode, memory):
    return math.inf if t > FAILS_AFTER else 1.0


def refusing_law(t, x, status, memory, p, data, piece, u, request):
    u[0] = 1.0
    return 1 if t > 0.2 else 0


def nan_law(t, x, status, memory, p, data, piece, u, request):
    u[0] = math.nan if t > 0.2 else 1.0
    return 0


FAILURES = {
    "sampled-raises": (Sampled(raises), "controller_failed"),
    "sampled-nan": (Sampled(returns_nan), "controller_not_finite"),
    "sampled-infinity": (Sampled(returns_infinity), "controller_not_finite"),
    "sampled-compiled-refuses": (Compiled(refusing_law, period=1e-3), "controller_failed"),
    "sampled-compiled-nan": (Compiled(nan_law, period=1e-3), "controller_not_finite"),
    "continuous-raises": (Continuous(raises), "controller_failed"),
    "continuous-nan": (Continuous(returns_nan), "controller_not_finite"),
    "continuous-infinity": (Continuous(returns_infinity), "controller_not_finite"),
    "continuous-compiled-refuses": (Compiled(refusing_law), "controller_failed"),
    "continuous-compiled-nan": (Compiled(nan_law), "controller_not_finite"),
}

EVERY_FAILURE = pytest.mark.parametrize("kind", FAILURES)


def failed_run(kind):
    with pytest.raises(RunFailed) as caught:
        simulate(robots.pendulum(), controller=FAILURES[kind][0], until=1.0)
    return caught.value


@EVERY_FAILURE
def test_a_failing_controller_ends_the_run_in_a_named_status(kind):
    error = failed_run(kind)
    run, status = error.run, FAILURES[kind][1]
    assert run.status.name == status
    assert not run.status.good
    message = str(error)
    assert status in message
    assert f"t = {run.end_time:.9g} s" in message
    for name, value in run.final.items():
        assert f"{name} = {value:.9g}" in message


@EVERY_FAILURE
def test_the_trajectory_up_to_the_failure_is_kept(kind):
    run = failed_run(kind).run
    if kind.startswith("sampled"):
        assert run.end_time == 201 * 1e-3
    else:  # the last step that did not look beyond the failure
        assert 0.1 < run.end_time <= FAILS_AFTER
    steady = simulate(robots.pendulum(), controller=Constant(1.0), until=run.end_time)
    times = np.linspace(0, run.end_time, 51)
    np.testing.assert_allclose(run.at(times), steady.at(times), rtol=0, atol=1e-8)
    np.testing.assert_allclose(list(run.final.values()), list(steady.final.values()), rtol=0, atol=1e-8)


@EVERY_FAILURE
def test_a_failed_run_can_still_be_read_and_audited(kind):
    run = failed_run(kind).run
    assert run.samples.inputs[: len(run.t) // 2] == pytest.approx(1.0)
    assert run.check().ok, f"\n{run.check()}"
    assert run.dataset.sizes["t"] == len(run.t)


@pytest.mark.parametrize("kind", ["sampled-raises", "continuous-raises"])
def test_what_the_controller_raised_is_the_cause(kind):
    error = failed_run(kind)
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert "by no means" in str(error)


@pytest.mark.parametrize("wrap", [Sampled, Continuous])
def test_a_controller_that_fails_at_once_leaves_the_start(wrap):
    def never(t, state, mode, memory):
        raise LookupError("nothing here")

    with pytest.raises(RunFailed, match="nothing here") as caught:
        simulate(robots.pendulum(), controller=wrap(never))
    run = caught.value.run
    assert run.status.name == "controller_failed"
    assert run.end_time == 0.0
    assert run.final == {"theta": 1.0, "dtheta": 0.0}


@EVERY_FAILURE
def test_errors_may_be_kept_instead_of_raised(kind):
    controller, status = FAILURES[kind]
    assert simulate(robots.pendulum(), controller=controller, until=1.0, raise_errors=False).status.name == status


def test_a_controller_that_failed_once_can_be_used_again():
    asked = {"fail": True}

    def moody(t, state, mode, memory):
        if asked["fail"]:
            raise RuntimeError("not now")
        return 1.0

    controller = Sampled(moody)
    with pytest.raises(RunFailed):
        simulate(robots.pendulum(), controller=controller, until=0.1)
    asked["fail"] = False
    assert simulate(robots.pendulum(), controller=controller, until=0.1).status.name == "finished"


def test_a_pd_damps_the_rate_of_its_own_joint_on_a_free_body_in_space():
    """Such a body has one rate fewer than coordinates: rates are not as many places on as coordinates are."""
    robot = robots.claptrap_two_wheels()
    controller = PD(
        kp={"left_wheel": 0.0, "right_wheel": 0.3},
        kd={"left_wheel": 0.05, "right_wheel": 0.02},
        target={"left_wheel": 0.0, "right_wheel": 0.4},
    )
    run = simulate(robot, {"z": 5.0, "dleft_wheel": 2.0, "dright_wheel": -3.0}, controller=controller, until=0.3)
    place, left, right = map(robot.state_names.index, ("right_wheel", "dleft_wheel", "dright_wheel"))
    x = run.samples.x
    wanted = np.column_stack([-0.05 * x[:, left], 0.3 * (0.4 - x[:, place]) - 0.02 * x[:, right]])
    assert not run.saturated
    np.testing.assert_allclose(run.samples.inputs, wanted, atol=1e-12)
