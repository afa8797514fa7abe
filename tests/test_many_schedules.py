"""Many torque profiles are bound at once as a table: the same numbers, refusals and runs as one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus
from saltus.control import Schedule
from saltus.engine._control import ControlTable
from saltus.engine._refusals import Refusals

HOPPER = saltus.robots.hopper()
TWO_INPUTS = saltus.robots.five_link_brachiator()
NUMBERS = st.floats(-12.0, 12.0)


@st.composite
def schedules(draw, actuators=1):
    """Some schedules of one shape; now and then one is beyond the limit, or its times do not increase."""
    pieces, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    made = []
    for _ in range(draw(st.integers(1, 6))):
        waits = draw(st.lists(st.sampled_from([0.01, 0.1, 0.5, 0.0]), min_size=pieces, max_size=pieces))
        rows = draw(st.lists(NUMBERS, min_size=pieces * actuators * width, max_size=pieces * actuators * width))
        table = np.reshape(rows, (pieces, actuators, width))
        table[-1, :, 1:] = 0.0
        made.append(Schedule(tuple(np.cumsum(waits).tolist()), table.tolist()))
    return made


def bound(robot, profiles):
    """The table of some profiles with reasons for those refused; and the same one by one."""
    table, alone = Refusals(len(profiles)), Refusals(len(profiles))
    found = Schedule.bind_all(profiles, lambda run: robot, robot.input_limits)
    one_by_one = [alone.attempt(run, lambda run: profiles[run].bind(robot)) for run in range(len(profiles))]
    if found is not None:
        table.check(found[1], lambda run: profiles[run].bind(robot))
    return found, table, one_by_one, alone


@pytest.mark.parametrize("robot", [HOPPER, TWO_INPUTS], ids=lambda robot: robot.name)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_table_has_the_numbers_and_reasons_of_each_alone(robot, data):
    profiles = data.draw(schedules(len(robot.mechanism.actuators)))
    found, refusals, alone, wanted = bound(robot, profiles)
    if found is None:
        return
    assert refusals.reasons == wanted.reasons
    for made, control in zip(found[0], alone, strict=True):
        if control is not None:
            assert made.data.tobytes() == control.data.tobytes()
            assert made.breaks.tobytes() == control.breaks.tobytes()
            assert (made.kind, made.address, made.parameters) == (control.kind, control.address, control.parameters)


def profiles(count):
    rng = np.random.default_rng(3)
    return [Schedule.steps(np.arange(5) * 0.05, rng.uniform(-3, 3, 5)) for _ in range(count)]


def test_plain_profiles_become_a_table():
    batch = saltus.simulate_many(HOPPER, controllers=profiles(5), until=0.2)
    assert isinstance(batch.cases.controls, ControlTable)
    for run in range(5):
        alone = batch.run(run)
        assert alone.final == batch.final(run)
        assert alone.steps == batch.steps[run]


def test_each_run_has_limits_of_its_own():
    made = profiles(4)
    made[1] = made[3] = Schedule.steps([0.0], [5.0])
    made[0] = made[2] = Schedule.steps([0.0], [2.0])
    limits = {"tau_max": np.array([20.0, 20.0, 20.0, 4.0])}
    batch = saltus.simulate_many(HOPPER, controllers=made, parameters=limits, until=0.2)
    assert list(batch.reasons) == [3]
    assert "beyond its limit of 4" in batch.reasons[3]


def test_a_profile_beyond_the_limit_takes_only_its_own_run():
    made = profiles(6)
    without = saltus.simulate_many(HOPPER, controllers=[*made[:2], *made[3:]], until=0.2)
    made[2] = Schedule.steps([0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 99.0, 0.0, 0.0])
    batch = saltus.simulate_many(HOPPER, controllers=made, until=0.2)
    assert list(batch.reasons) == [2]
    assert np.delete(batch.doubles, 2, axis=0).tobytes() == without.doubles.tobytes()


@pytest.mark.parametrize(
    "other",
    [
        Schedule.steps([0.0, 0.1], [1.0, 2.0]),
        Schedule([0.0], [[0.0, 1.0]]),
        saltus.control.Constant(0.5),
        None,
        replace(Schedule.steps(np.arange(5) * 0.05, np.ones(5)), requests=({},) * 5),
    ],
    ids=["fewer pieces", "a ramp for ever", "another kind", "none", "requests"],
)
def test_what_is_not_alike_is_bound_one_by_one(other):
    made = [*profiles(3), other]
    batch = saltus.simulate_many(HOPPER, controllers=made, until=0.2)
    assert not isinstance(batch.cases.controls, ControlTable)
    for run in np.flatnonzero(batch.begun).tolist():
        assert batch.run(run).final == batch.final(run)


def test_a_kind_that_binds_otherwise_is_asked_itself():
    class Halved(Schedule):
        def bind(self, system):
            return Schedule(self.starts, (0.5 * np.array(self.pieces)).tolist()).bind(system)

    whole = profiles(3)
    halved = [Halved(one.starts, one.pieces) for one in whole]
    batch = saltus.simulate_many(HOPPER, controllers=halved, until=0.2)
    wanted = saltus.simulate_many(HOPPER, controllers=whole, until=0.2)
    assert not np.array_equal(batch.states, wanted.states)
    assert batch.run(0).final == batch.final(0)
