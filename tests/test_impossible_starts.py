"""Of many runs, those that cannot start carry their reasons, and the others are as if these were not there."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import Guard, robots, simulate, simulate_many
from saltus.control import Compiled, Constant, Continuous, Schedule
from saltus.engine import STATUSES
from saltus.engine._cases import columns
from saltus.engine._refusals import kinds_of, none_of, tally
from saltus.errors import CompileError, InputError, SaltusError

BALL, PENDULUM = robots.bouncing_ball(), robots.double_pendulum()
WATCHED = replace(PENDULUM, guards=(Guard("folded", PENDULUM.mechanism.q[1] + 3.0, "terminal", "down"),))


def ball_starts(count, seed=1):
    """Starts above the ground: x, y, dx, dy."""
    random = np.random.default_rng(seed)
    return np.column_stack([np.zeros(count), random.uniform(0.1, 2, count), random.uniform(-1, 1, (count, 2))])


def assert_same_rows(batch, rows, other):
    """The rows of a batch are those of another, bit by bit."""
    assert np.array_equal(batch.integers[rows], other.integers)
    assert np.array_equal(batch.doubles[rows], other.doubles, equal_nan=True)
    for name, values in other.figures.items():
        assert np.array_equal(batch.figures[name][rows], values, equal_nan=True)


def test_one_in_a_hundred_impossible_starts():
    """A thousand rows, ten of them impossible in several ways; the guide's benchmark has ten thousand."""
    count, random = 1000, np.random.default_rng(4)
    states, restitution = ball_starts(count), random.uniform(0, 0.9, count)
    bad = np.sort(random.choice(count, 10, replace=False))
    spoiled, other = states.copy(), restitution.copy()
    spoiled[bad[:3], 1] = -0.5
    spoiled[bad[3], 0], spoiled[bad[4], 2], spoiled[bad[5], 3] = math.nan, math.inf, -math.inf
    other[bad[6:9]] = 1.5
    other[bad[9]] = math.nan
    figures = {"height": BALL.mechanism.q[1], "bounce": BALL.mechanism.p[1] * 2.0}
    good = np.setdiff1d(np.arange(count), bad)
    batch = simulate_many(BALL, spoiled, parameters={"restitution": other}, until=0.4, figures=figures)
    without = simulate_many(
        BALL, states[good], parameters={"restitution": restitution[good]}, until=0.4, figures=figures
    )
    assert_same_rows(batch, good, without)
    assert list(batch.reasons) == bad.tolist()
    assert (batch.status[bad] == "not_started").all()
    for run in bad:
        with pytest.raises(InputError) as alone:
            simulate(BALL, spoiled[run], parameters={"restitution": other[run]}, until=0.4)
        assert batch.reasons[run] == str(alone.value)
        with pytest.raises(InputError) as again:
            batch.run(run)
        assert str(again.value) == str(alone.value)
    for values in (batch.states, batch.t_end, batch.energy_worst, batch.event_times, *batch.figures.values()):
        assert np.isnan(values[bad]).all()
    assert not batch.good[bad].any()
    assert not batch.begun[bad].any()
    assert batch.begun[good].all()
    assert batch.modes[bad].tolist() == [""] * 10
    assert batch.check()
    assert batch.check()["energy balance"].value == without.check()["energy balance"].value
    assert "10 not_started" in repr(batch)
    assert sum(batch.reason_counts.values()) == 10
    data = batch.to_dataset()
    assert (data["reason"].values != "").nonzero()[0].tolist() == bad.tolist()
    assert data["reason"].values[bad[0]] == batch.reasons[bad[0]]


@pytest.mark.parametrize("rows", [[0], [4], [0, 1, 2, 3, 4], [1, 3]], ids=["first", "last", "all", "some"])
@pytest.mark.parametrize("lanes", [False, True])
def test_where_the_impossible_starts_are(rows, lanes):
    random = np.random.default_rng(2)
    states = np.column_stack([random.uniform(-1, 1, (5, 2)), random.uniform(-2, 2, (5, 2))])
    spoiled = states.copy()
    spoiled[rows, 1] = -3.5  # beyond the guard
    told = []
    batch = simulate_many(WATCHED, spoiled, until=0.5, lanes=lanes, progress=lambda *at: told.append(at))
    assert list(batch.reasons) == rows
    assert told[-1] == (5, 5)
    good = np.setdiff1d(np.arange(5), rows)
    if good.size:
        assert_same_rows(batch, good, simulate_many(WATCHED, states[good], until=0.5, lanes=lanes))
    else:
        assert len(batch.check().checks) == 0
        assert (batch.status == "not_started").all()


def test_lanes_are_those_of_the_runs_that_start():
    """Whether runs go in lanes, and with which others, is as without the impossible ones."""
    random = np.random.default_rng(3)
    states = np.column_stack([random.uniform(-1, 1, (300, 2)), random.uniform(-2, 2, (300, 2))])
    for count, every in ((300, 7), (40, 3)):  # the second has too few left for lanes
        bad = np.arange(0, count, every)
        spoiled = states[:count].copy()
        spoiled[bad, 2] = math.nan
        good = np.setdiff1d(np.arange(count), bad)
        assert_same_rows(
            simulate_many(WATCHED, spoiled, until=1.0), good, simulate_many(WATCHED, states[good], until=1.0)
        )


def test_a_batch_of_one():
    batch = simulate_many(BALL, [[0.0, -1.0, 0.0, 0.0]], until=0.1)
    assert batch.n == 1
    assert "1 m below the ground" in batch.reasons[0]
    with pytest.raises(InputError, match="1 m below the ground"):  # given for all, it is not one of many
        simulate_many(BALL, {"y": -1.0}, until=0.1)


@pytest.mark.parametrize("spoiled", [[0.1], [0.1, 0, 0, 0, 0], "high", [0.0, "high", 0.0, 0.0], 1.0, None], ids=repr)
@pytest.mark.parametrize("place", [0, 1])
def test_a_state_that_is_none_among_vectors(spoiled, place):
    good = [[0.0, 1.0, 0.0, 0.0], [0.0, 0.5, 1.0, 0.0]]
    given = [*good[:place], spoiled, *good[place:]]
    batch = simulate_many(BALL, iter(given), until=0.4)
    others = [k for k in range(3) if k != place]
    assert_same_rows(batch, others, simulate_many(BALL, good, until=0.4))
    if spoiled is None:  # the robot's own start
        assert batch.good.all()
        return
    assert list(batch.reasons) == [place]
    with pytest.raises(InputError) as alone:
        simulate(BALL, spoiled, until=0.4)
    assert batch.reasons[place] == str(alone.value)


@pytest.mark.parametrize("given", [[[1.0], [2.0]], [[1.0], [1.0, 2.0]], ["ab", "cd"], np.array("high"), [[]]], ids=repr)
def test_states_of_which_none_is_one_are_an_error(given):
    with pytest.raises(InputError, match="states of bouncing_ball"):
        simulate_many(BALL, given, until=0.4)


def test_parameters_of_the_first_run_may_be_impossible():
    batch = simulate_many(PENDULUM, {"theta1": 0.3}, parameters={"m1": [-1.0, 2.0, 3.0]}, until=0.2)
    assert list(batch.reasons) == [0]
    assert batch.system.values["m1"] == 2.0
    alone = simulate(PENDULUM, {"theta1": 0.3}, parameters={"m1": 3.0}, until=0.2, energy_tolerance=math.inf)
    assert batch.final(2) == alone.final
    assert batch.run(2).final == alone.final


def test_records_of_what_did_not_start_are_none():
    batch = simulate_many(BALL, {"y": [1.0, -1.0]}, until=0.1, keep="records")
    assert batch.runs[0].status.name == "finished"
    assert batch.runs[1] is None


def test_controllers_refuse_their_own_runs():
    robot = robots.hopper()
    batch = simulate_many(robot, controllers=[Constant(1.0), Constant(11.0), Constant(2.0)], until=0.01)
    assert list(batch.reasons) == [1]
    assert "11 N m on actuator knee is beyond its limit of 10 N m" in batch.reasons[1]
    assert_same_rows(batch, [0, 2], simulate_many(robot, controllers=[Constant(1.0), Constant(2.0)], until=0.01))
    limits = simulate_many(robot, controllers=Constant(5.0), parameters={"tau_max": [9.0, 4.0]}, until=0.01)
    assert list(limits.reasons) == [1]
    with pytest.raises(InputError, match="run 1: a controller is"):  # a mistake of the caller, not of the run
        simulate_many(robot, controllers=[None, "hold"], until=0.01)


def raises(t, x, status, memory, p, data, piece, u, request):
    raise ValueError


def pushes(t, x, status, memory, p, data, piece, u, request):
    u[0] = 0.125
    return 0


CANNOT_BE_BOUND = {
    "raises": (Compiled(raises), "compiled code cannot raise"),
    "no function": (Compiled(3), "what is compiled is a function, got 3"),
    "data": (Compiled(pushes, data=["a"]), "data of a controller are numbers in a row"),
    "no row": (Compiled(pushes, data=5.0), "data of a controller are numbers in a row"),
    "breaks": (Compiled(pushes, breaks="ab"), "breaks of a controller are numbers in a row"),
    "memory": (Compiled(pushes, memory=-1), "memory of a controller is a number of places, got -1"),
    "breaks of Python": (Continuous(lambda *given: 0.0, breaks=["a"]), "breaks of a controller are numbers in a row"),
    "requests": (Schedule([0.0], [[1.0]], requests=5), "requests are a list of what grips do"),
    "array of requests": (Schedule([0.0], [[1.0]], requests=np.array([])), "requests are a list of what grips do"),
    "no requests": (Schedule([0.0], [[1.0]], requests=[5]), "requests are a list of what grips do"),
}


@pytest.mark.parametrize("name", CANNOT_BE_BOUND)
def test_a_controller_that_cannot_be_bound_is_the_reason_of_its_run(name):
    controller, why = CANNOT_BE_BOUND[name]
    robot = robots.pendulum()
    batch = simulate_many(robot, controllers=[controller, None], until=0.01)
    assert batch.status.tolist() == ["not_started", "finished"]
    assert why in batch.reasons[0]
    with pytest.raises(SaltusError, match=re.escape(why)):
        simulate(robot, controller=controller, until=0.01)
    # what is given for all is an error
    with pytest.raises(SaltusError, match=re.escape(why)):
        simulate_many(robot, controllers=controller, until=0.01)


def test_a_law_that_does_not_compile_is_an_error_where_it_is_for_all():
    with pytest.raises(CompileError, match="compiled code cannot raise"):
        simulate_many(robots.hopper(), controllers=Compiled(raises), parameters={"tau_max": [9.0, 4.0]}, until=0.01)


@pytest.mark.parametrize("odd", [[0.1, 0.0], ["a", 0.0, 0.0, 0.0], "state", 3.0, [[0.1, 0.0, 0.0, 0.0]]])
def test_a_state_of_the_wrong_length_is_the_reason_of_its_run(odd):
    states = [[0.1, 0.0, 0.0, 0.0], [0.2, 0.0, 0.5, 0.0]]
    batch = simulate_many(PENDULUM, [states[0], odd, states[1]], until=0.1)
    assert list(batch.reasons) == [1]
    with pytest.raises(InputError) as alone:
        simulate(PENDULUM, odd, until=0.1)
    assert batch.reasons[1] == str(alone.value)
    assert_same_rows(batch, [0, 2], simulate_many(PENDULUM, states, until=0.1))


def test_states_of_which_none_fits_are_an_error():
    with pytest.raises(InputError, match="states of double_pendulum"):
        simulate_many(PENDULUM, [[0.1, 0.0], [0.1, 0.0, 0.5]], until=0.1)


def test_a_python_function_runs_for_those_that_start():
    calls = []

    def push(t, state, mode, memory):
        calls.append(t)
        if state["theta"] > 0.9:
            raise ValueError("too far")
        return 0.1

    options = {"controllers": push, "until": 0.005, "threads": 1}
    batch = simulate_many(robots.pendulum(), {"theta": [math.nan, 0.1, 1.0, 0.2]}, **options)
    assert batch.status.tolist() == ["not_started", "finished", "controller_failed", "finished"]
    assert list(batch.errors) == [2]
    assert "too far" in batch.reasons[2]
    assert "controller raised an error" in batch.reasons[2]
    states = {"theta": [0.1, 1.0, 0.2]}
    assert_same_rows(
        batch, [1, 2, 3], simulate_many(robots.pendulum(), states, controllers=push, until=0.005, threads=1)
    )


def test_a_given_mode_and_closed_grips_that_move():
    robot, mode = robots.brachiator(), {"B": "open"}
    states = [{}, {"dx": 0.5}, {"dtheta1": 0.2}]
    batch = simulate_many(robot, states, mode=mode, until=0.01)
    assert list(batch.reasons) == [1]
    with pytest.raises(InputError) as alone:
        simulate(robot, states[1], mode=mode, until=0.01)
    assert batch.reasons[1] == str(alone.value)
    assert "is closed but moves at 0.5 m/s" in batch.reasons[1]
    assert_same_rows(batch, [0, 2], simulate_many(robot, [states[0], states[2]], mode=mode, until=0.01))
    with pytest.raises(InputError, match="unknown grip"):
        simulate_many(robot, states, mode={"C": "open"})


@settings(max_examples=25, deadline=None)
@given(
    heights=st.lists(
        st.one_of(st.floats(0.05, 2.0), st.floats(-5.0, -0.1), st.sampled_from([math.nan, math.inf, -math.inf])),
        min_size=1, max_size=40,
    ),
    masses=st.lists(st.one_of(st.floats(0.5, 2.0), st.just(-1.0), st.just(math.nan)), min_size=40, max_size=40),
)  # fmt: skip
def test_what_cannot_start_changes_no_other(heights, masses):
    count = len(heights)
    states = np.zeros((count, 4))
    states[:, 1] = heights
    m = np.array(masses[:count])
    batch = simulate_many(BALL, states, parameters={"mass": m}, until=0.3)
    able = np.isfinite(states[:, 1]) & (states[:, 1] > 0) & (m > 0)
    assert sorted(batch.reasons) == np.flatnonzero(~able).tolist()
    assert (batch.status == "not_started").tolist() == (~able).tolist()
    if able.any():
        assert_same_rows(batch, able, simulate_many(BALL, states[able], parameters={"mass": m[able]}, until=0.3))


def test_rows_that_share_a_call_have_the_same_bits():
    """Of many rows, CasADi evaluates several by one call; of few, each by its own."""
    function = WATCHED.once("kinematics", WATCHED._kinematics)
    random = np.random.default_rng(6)
    x, p = random.normal(size=(1500, 4)), random.uniform(0.5, 2, (1500, WATCHED.parameter_values.size))
    t = np.zeros(1500)
    (many,) = columns(function, t, x, p)
    few = np.vstack([columns(function, t[k : k + 300], x[k : k + 300], p[k : k + 300])[0] for k in range(0, 1500, 300)])
    assert np.array_equal(many, few)


def test_reasons_that_differ_in_numbers_are_one_kind():
    texts = ["ball is 0.5 m below", "ball is 1e-3 m below", "theta1 must be finite", "theta1 must be finite", "at 5 s"]
    assert tally(texts) == {"ball is ... m below": 2, "theta1 must be finite": 2, "at 5 s": 1}
    assert kinds_of(texts)["ball is ... m below"].total() == 2
    # numbers that are the same in all of a kind stay
    assert tally(["bars 1 and 2 reach 0.8 m", "bars 4 and 2 reach 0.8 m"]) == {"bars ... and 2 reach 0.8 m": 2}


def test_an_error_counts_the_reasons_of_all():
    error = none_of("runs can start", ["too low: 1 m", "too fast", "too low: 2 m"])
    assert str(error) == "none of 3 runs can start; 2: too low: ... m; 1: too fast"
    assert str(none_of("runs can start", ["too fast"])) == "too fast"
    many = none_of("runs can start", [letter * k for k, letter in enumerate("abcdefghijkl", 1)])
    assert str(many).endswith("; 4: other reasons")


def test_the_status_has_a_meaning():
    status = next(status for status in STATUSES.values() if status.name == "not_started")
    assert not status.good
