"""What a run leaves behind travels: pickled, copied, sent to other processes, and read there as here."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import saltus
from saltus import registry
from saltus.conformance.controllers import bound_example
from saltus.control import PD, Sampled
from saltus.errors import BatchInterrupted, RunFailed, RunInterrupted
from saltus.robots import robot_names


def gravity(t, state, mode, memory):
    """A controller that fails for one of the runs."""
    if state["theta"] > 0.9:
        raise Peculiar("too high", 1)
    return -2.0 * state["theta"]


class Peculiar(Exception):
    """An error that pickle cannot make again."""

    def __init__(self, what, number):
        super().__init__(what)


def same(one, two):
    """Whether two runs say the same, by what was recorded and by what is read off with compiled code."""
    assert two.status == one.status
    assert two.final == one.final
    assert [event.to_dict() for event in two.events] == [event.to_dict() for event in one.events]
    times = np.linspace(one.start_time, one.end_time, 7)
    for left, right in zip(
        vars(one.everything_at(times)).values(), vars(two.everything_at(times)).values(), strict=True
    ):
        np.testing.assert_array_equal(left, right)
    assert two.check().to_dict() == one.check().to_dict()


@pytest.mark.parametrize("name", robot_names())
def test_runs_of_every_robot_are_read_after_pickle(name):
    run = saltus.simulate(saltus.robots.find_robot(name), until=0.05)
    same(run, pickle.loads(pickle.dumps(run)))


@pytest.mark.parametrize("name", registry.names("controllers", own=True))
def test_runs_with_every_controller_are_read_after_pickle(name):
    system, controller, _ = bound_example(name)
    run = saltus.simulate(system, controller=controller, until=0.1)
    same(run, pickle.loads(pickle.dumps(run)))
    same(run, copy.deepcopy(run))


@pytest.mark.parametrize("controllers", [None, PD(kp=5.0), Sampled(gravity)], ids=["none", "compiled", "python"])
def test_batches_are_read_and_run_again_after_pickle(controllers):
    given = {"controllers": controllers} if controllers is not None else {}
    batch = saltus.simulate_many(saltus.robots.pendulum(), {"theta": np.linspace(0.5, 1.0, 4)}, until=0.2, **given)
    there = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(there.states, batch.states)
    assert there.reasons == batch.reasons
    assert there.check().to_dict() == batch.check().to_dict()
    same(batch.run(2), there.run(2))


def job(name, until):
    """Runs in another process."""
    return saltus.simulate(saltus.robots.find_robot(name), until=until)


def failing(message):
    """A run that fails in another process."""

    def controller(t, state, mode, memory):
        if t > 0.05:
            raise ValueError(message)
        return 0.0

    saltus.simulate(saltus.robots.pendulum(), controller=controller, until=0.1)


class Balance:
    """A controller of a user's own, which pickle finds by its name."""

    def __call__(self, t, state, mode, memory):
        return -4.0 * state["theta"]


def balanced():
    return saltus.simulate(saltus.robots.pendulum(), {"theta": 0.2}, controller=Balance(), until=0.1)


def test_runs_come_from_spawned_processes_and_failures_too():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name in ("pendulum", "hopper", "brachiator"):
            same(job(name, 0.1), pool.apply(job, (name, 0.1)))
        same(balanced(), pool.apply(balanced))
        # a function inside another cannot be sent: the run stays behind, and the error says so
        with pytest.raises(RunFailed, match=r"too far.*run stayed in the process that made it") as failed:
            pool.apply_async(failing, ("too far",)).get(timeout=120)
        assert failed.value.run is None


def test_failed_and_interrupted_runs_keep_what_they_carry():
    run = saltus.simulate(saltus.robots.pendulum(), until=0.1)
    for kind in (RunFailed, RunInterrupted, BatchInterrupted):
        there = pickle.loads(pickle.dumps(kind("no further", run)))
        assert type(there) is kind
        assert str(there) == "no further"
        same(run, there.batch if kind is BatchInterrupted else there.run)
