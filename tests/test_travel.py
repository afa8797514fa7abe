"""What a run leaves behind travels: pickled, copied, sent to other processes, and read there as here."""

import collections
import copy
import multiprocessing
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import travellers
import xarray
from hypothesis import given
from hypothesis import strategies as st

import saltus
from saltus import _content as content
from saltus import registry
from saltus.control import PD, Sampled
from saltus.errors import BatchInterrupted, NotSendable, RunFailed, RunInterrupted, SaltusError
from saltus.hybrid import Guard
from saltus.mechanism import Prismatic


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


class Late(travellers.Locked):
    """A controller with a lock, which fails."""

    def __call__(self, t, state, mode, memory):
        if t > 0.05:
            raise ValueError("too late")
        return 0.0


def locked():
    saltus.simulate(saltus.robots.pendulum(), controller=Late(1.0), until=0.1)


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
        with pytest.raises(RunFailed, match="too far") as failed:
            pool.apply_async(failing, ("too far",)).get(timeout=120)
        assert failed.value.run.status.name == "controller_failed"
        # a lock cannot be sent: the run stays behind, and the error says so
        with pytest.raises(RunFailed, match=r"too late.*run stayed in the process that made it.*lock") as failed:
            pool.apply_async(locked).get(timeout=120)
        assert failed.value.run is None


def test_failed_and_interrupted_runs_keep_what_they_carry():
    run = saltus.simulate(saltus.robots.pendulum(), until=0.1)
    for kind in (RunFailed, RunInterrupted, BatchInterrupted):
        error = kind("no further", run)
        there = pickle.loads(pickle.dumps(error))
        assert there == error == copy.deepcopy(error) != kind("no further", None)
        assert type(there) is kind
        assert str(there) == "no further"
        same(run, there.batch if kind is BatchInterrupted else there.run)


class Wordless(Exception):
    """An error that cannot say what it is."""

    def __repr__(self):
        raise ValueError("no words")


def test_an_error_that_cannot_be_shown_is_a_failed_run_like_others():
    def law(t, state, mode, memory):
        raise Wordless

    with pytest.raises(RunFailed, match="Wordless, which fails to say what it is") as failed:
        travellers.one_run(controller=law)
    assert isinstance(failed.value.__cause__, Wordless)
    assert failed.value.run == copy.copy(failed.value.run)
    batch = saltus.simulate_many(saltus.robots.pendulum(), {"theta": [0.1, 0.2]}, controllers=law, until=0.1)
    assert "Wordless" in batch.reasons[1]
    assert pickle.loads(pickle.dumps(batch)).reasons == batch.reasons


def test_a_copy_of_a_failure_keeps_its_run_also_where_that_cannot_be_sent():
    with pytest.raises(RunFailed) as failed:
        locked()
    assert copy.copy(failed.value).run is failed.value.run
    assert copy.deepcopy(failed.value).run == failed.value.run
    assert copy.deepcopy(failed.value) == failed.value == copy.copy(failed.value)


# -- every kind of result, every way ----------------------------------------------------------------


@pytest.fixture(scope="module")
def worker():
    """A spawned process, which knows of this one what it is sent."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("name", travellers.RESULTS)
def test_every_result_is_what_it_was_after_pickle_and_copy(name):
    thing = travellers.made(name)
    assert pickle.loads(pickle.dumps(thing)) == thing
    assert copy.deepcopy(thing) == thing


def test_every_result_is_used_in_another_process_as_here(worker):
    results = travellers.everything()
    things, uses = worker.apply_async(travellers.back, (results,)).get(timeout=300)
    for name, thing in results.items():
        assert content.same(things[name], thing), name
        assert content.same(uses[name], travellers.used(thing)), name
    # what has been used can still be sent, and is the same
    for name, thing in pickle.loads(pickle.dumps(results)).items():
        assert content.same(thing, results[name]), name


# a few that need everything: code by value, expressions, code to be compiled
FEW = ("run of a nested function", "run by hand", "batch of nested functions", "gait", "fixed point")


def few():
    things = {name: travellers.made(name) for name in FEW}
    return things, travellers.back(things)


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A Dask worker in a process of its own, on this machine."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    local = {"host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, local_directory=folder, **local
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        assert {worker["host"] for worker in client.scheduler_info()["workers"].values()} == {"127.0.0.1"}
        yield client


def through_spawn(function, things, request):
    return request.getfixturevalue("worker").apply_async(function, (things,)).get(timeout=300)


def through_fork(function, things, request):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(function, (things,)).get(timeout=300)


def through_joblib(function, things, request):
    joblib = pytest.importorskip("joblib")
    try:
        with joblib.parallel_config("loky", n_jobs=2):
            (found,) = joblib.Parallel()([joblib.delayed(function)(things)])
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    return found


def through_dask(function, things, request):
    return request.getfixturevalue("dask").submit(function, things, pure=False).result(timeout=300)


@pytest.mark.parametrize("through", [through_fork, through_joblib, through_dask])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_results_travel_every_way(through, request):
    things, here = few()
    found = through(travellers.back, things, request)
    assert content.same(found[0], here[0])
    assert content.same(found[1], here[1])


@pytest.fixture(scope="module")
def pairs():
    """A run of every robot with every controller that it takes."""
    runs = travellers.pairs()
    assert len(runs) > 100
    assert {name.split(" with ")[0] for name in runs} == set(registry.names("robots", own=True))
    assert {name.split(" with ")[1] for name in runs} == set(registry.names("controllers", own=True))
    return runs


def nearly(one, two):
    """Whether two runs are the same but for rounding."""
    same_way = one.status == two.status and [e.guard for e in one.events] == [e.guard for e in two.events]
    return same_way and one.final == pytest.approx(two.final, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("through", [through_spawn, through_joblib, through_dask])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_robot_with_every_controller_runs_elsewhere_as_here(through, pairs, request):
    arrived, read, again = through(travellers.again, pairs, request)
    for name, run in pairs.items():
        assert arrived[name] == run, name
        assert content.same(read[name], travellers.read(run)), name
        # others let linear algebra use one thread only, which rounds the gains that it finds in another way
        assert again[name] == run or (through is not through_spawn and nearly(again[name], run)), name


# -- scripts -------------------------------------------------------------------------------------------

WRITES = """
import pickle, sys
import saltus

GAIN = 2.0

def law(t, state, mode, memory):
    return -GAIN * state["theta"]

class Law:
    def __call__(self, t, state, mode, memory):
        return law(t, state, mode, memory)

class Late(Exception):
    pass

def late(t, state, mode, memory):
    raise Late("too late")

robot, things = saltus.robots.pendulum(), []
for controller in (law, Law(), Law().__call__):
    things.append(saltus.simulate(robot, {"theta": 0.3}, controller=controller, until=0.1))
    assert pickle.loads(pickle.dumps(things[-1])) == things[-1]
assert pickle.loads(pickle.dumps(things[0])).controller is law
things.append(saltus.simulate_many(robot, {"theta": [0.1, 0.3]}, controllers=late, until=0.1))
try:
    saltus.simulate(robot, controller=late, until=0.1)
except saltus.errors.RunFailed as error:
    things.append(error)
with open(sys.argv[1], "wb") as file:
    pickle.dump(things, file)
"""

READS = """
import pickle, sys
import numpy as np
import saltus

def law(t, state, mode, memory):
    return 100.0

with open(sys.argv[1], "rb") as file:
    *runs, batch, error = pickle.load(file)
for run in runs:
    assert run.check()
    assert run.everything_at([0.05]).inputs.shape == (1, 1)
    again = saltus.simulate(run.system, {"theta": 0.3}, controller=run.controller, until=0.1)
    np.testing.assert_array_equal(again.x, run.x)
assert "too late" in batch.reasons[0], batch.reasons
assert error.run.status.name == "controller_failed", error
assert "too late" in str(error)
"""


def test_what_a_script_defines_is_read_by_another_that_defines_something_else(tmp_path):
    for name, text in (("writes", WRITES), ("reads", READS)):
        (tmp_path / name).mkdir()
        script = tmp_path / name / f"{name}.py"
        script.write_text(text)
        command = [sys.executable, str(script), str(tmp_path / "things")]
        done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_shallow_copy_of_a_batch_is_the_batch():
    def law(t, state, mode, memory):
        raise ValueError("no")

    batch = saltus.simulate_many(saltus.robots.pendulum(), {"theta": [0.1]}, controllers=law, until=0.1)
    assert copy.copy(batch) == batch == copy.deepcopy(batch)
    assert copy.copy(batch).errors[0] is batch.errors[0]
    assert isinstance(copy.deepcopy(batch).errors[0], ValueError)


# -- what cannot travel says so ------------------------------------------------------------------------


def test_what_belongs_to_a_process_says_so_when_it_is_sent():
    run = travellers.one_run(controller=Sampled(travellers.Locked(1.0)))
    for thing in (run, saltus.simulate_many(run.system, {"theta": [0.1]}, controllers=run.controller, until=0.1)):
        with pytest.raises(NotSendable, match=r"controller of pendulum.*lock.*keep open files, locks"):
            pickle.dumps(thing)
    assert copy.copy(run) == run
    with pytest.raises(NotSendable, match="send the controller itself, and bind it there"):
        pickle.dumps(run.control)
    system = replace(travellers.gibbon(), figures=travellers.Locked(1.0).__call__)
    with pytest.raises(NotSendable, match=r"the robot gibbon cannot be sent.*lock"):
        pickle.dumps(system)


def test_changed_robots_of_the_registry_travel_as_they_are():
    hopper = saltus.robots.hopper()
    fewer = replace(hopper, guards=hopper.guards[:1])
    assert len(pickle.loads(pickle.dumps(fewer)).guards) == 1
    for changed in (
        fewer,
        replace(hopper, units=()),
        replace(hopper, units=(replace(hopper.units[0], friction=0.9),)),
        replace(hopper, guards=(replace(hopper.guards[0], direction="both"), *hopper.guards[1:])),
        replace(hopper, until=9.0),
        replace(hopper, guards=(*hopper.guards, Guard("own", hopper.mechanism.q[0] - 0.1, "record"))),
        hopper.with_law("newton"),
        hopper.with_start({"y": hopper.mechanism.p[0]}),
    ):
        there = pickle.loads(pickle.dumps(changed))
        assert there == changed
        assert there != hopper
        here, elsewhere = (saltus.simulate(one, {"y": 1.0}, until=0.05) for one in (changed, there))
        assert here == elsewhere


def test_one_system_arrives_once():
    system = travellers.kangaroo()
    one, two = (pickle.loads(pickle.dumps(system.with_parameters(mass=value))) for value in (1.0, 2.0))
    assert one.mechanism is two.mechanism  # so that it is derived once
    assert one != two


PLUGIN = """
from saltus.robots.pendulum import build as made
from dataclasses import replace

def build():
    return replace(made(), about="of my own")
"""


def test_robots_of_plugins_travel_where_their_file_is(worker, tmp_path, monkeypatch):
    worker.apply(len, ([],))  # it began before it could know the folder
    monkeypatch.setenv("SALTUS_PLUGINS", "")
    (tmp_path / "metronome.py").write_text(PLUGIN)
    registry.add_folder(tmp_path)
    robot = saltus.robots.find_robot("metronome").with_parameters(length=0.5)
    run = saltus.simulate(robot, until=0.1)
    assert worker.apply(travellers.back, ({"robot": robot, "run": run},))[0] == {"robot": robot, "run": run}
    sent = pickle.dumps(robot)
    monkeypatch.setenv("SALTUS_PLUGINS", "")
    (tmp_path / "metronome.py").unlink()
    with pytest.raises(SaltusError, match=r"robot metronome was sent here .*metronome.py: copy that file"):
        pickle.loads(sent)


# -- equality ---------------------------------------------------------------------------------------------


def test_results_differ_where_anything_in_them_does():
    run = travellers.one_run()
    assert run == travellers.one_run()
    assert hash(run) == hash(travellers.one_run())
    assert run != saltus.simulate(run.system, {"theta": np.nextafter(0.3, 1)}, until=0.1)
    assert run != saltus.simulate(run.system.with_parameters(length=0.5), {"theta": 0.3}, until=0.1)
    assert run != travellers.one_run(rtol=1e-8)
    assert run != "run"
    one, two, three = (travellers.one_run(controller=travellers.nested(gain)) for gain in (1.0, 1.0, 2.0))
    assert one == two
    assert one != three
    assert PD(kp=1.0) == PD(kp=1.0) != PD(kp=2.0)
    assert travellers.kangaroo() == travellers.kangaroo()
    assert travellers.kangaroo().mechanism == travellers.kangaroo().mechanism
    assert travellers.kangaroo() != travellers.kangaroo().with_parameters(mass=2.0)
    fixed = travellers.point()
    assert fixed != replace(fixed, steps=fixed.steps + 1)
    assert fixed != replace(fixed, cycle=replace(fixed.cycle, jacobian=fixed.cycle.jacobian + 1e-15))


def test_which_symbol_is_where_counts_in_equality():
    def swapped(first, second):
        m = saltus.Mechanism("two")
        q = {name: m.body(name, Prismatic(name), mass=1.0) and m.coordinate(name).symbol for name in ("a", "b")}
        return saltus.HybridSystem(m, guards=(Guard("one", q[first]), Guard("two", q[second])))

    assert swapped("a", "b") == swapped("a", "b")
    assert swapped("a", "b") != swapped("b", "a")
    assert swapped("a", "b") != swapped("a", "a")


numbers = st.floats() | st.integers() | st.none() | st.text(max_size=3)
arrays = st.lists(st.floats(), max_size=4).map(np.array)
things = st.recursive(
    numbers | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(things)
def test_anything_is_the_same_after_pickle(thing):
    assert content.same(thing, pickle.loads(pickle.dumps(thing)))
    assert not content.same([thing, 1.0], [thing, np.nextafter(1.0, 2.0)])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (0.0, -0.0), (1, 1.0), (1.0, True), ([1], (1,)), (np.zeros(2), np.zeros((2, 1))), (np.nan, 0.0), ({}, {1: 1}),
        (np.zeros(2), np.zeros(2, dtype=np.float32)), (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
        (complex(0.0, np.nan), complex(1.0, np.nan)), (lambda: 1, lambda: 2), (ValueError("a"), ValueError("b")),
    ],
)  # fmt: skip
def test_what_differs_is_not_the_same(one, two):
    assert not content.same(one, two)
    assert content.same(one, one)
    assert content.same(copy.deepcopy(two), two)


class Odd:
    """Holds something whose ``==`` does not answer with yes or no, or fails."""

    def __init__(self, held):
        self.held = held


class Fails(Odd):
    def __eq__(self, other):
        raise OSError("not now")

    __hash__ = None


class Slot:
    __slots__ = ("gain",)


class SlotAndMore(Slot):
    def __init__(self, gain):
        self.gain = gain


class Named(list):
    """A list with something of its own."""


def named(name):
    made = Named([1])
    made.name = name
    return made


def of_globals(gain):
    """A function that reads a global."""
    scope = {"GAIN": gain, "other": gain}
    exec("def law():\n    return (lambda: GAIN)()", scope)
    return scope["law"]


@pytest.mark.parametrize(
    "make",
    [
        lambda k: Odd(xarray.DataArray([k, 2.0])), lambda k: Odd(xarray.Dataset({"a": ("t", [k, 2.0])})),
        lambda k: Odd(collections.deque([np.array([k, 1.0])])),
        lambda k: Odd(pytest.importorskip("pandas").Series([k])),
        lambda k: Odd(pytest.importorskip("pandas").DataFrame({"a": [k, np.nan]})), SlotAndMore, of_globals, named,
        lambda k: np.ma.array([1.0, 2.0], mask=[k == 1.0, False]),
    ],
)  # fmt: skip
def test_whatever_a_user_s_own_things_hold_they_are_compared(make):
    assert content.same(make(1.0), make(1.0))
    assert not content.same(make(1.0), make(2.0))


def test_things_that_fail_to_compare_are_compared_by_what_they_hold(tmp_path):
    assert content.same(Fails(1), Fails(1))
    assert not content.same(Fails(1), Fails(2))
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    with (tmp_path / "a").open() as first, (tmp_path / "b").open() as second:
        assert not content.same(first, second)


def test_nan_is_nan_whatever_its_bits():
    one = np.array([np.nan, 1.0])
    two = one.copy()
    two.view(np.uint64)[0] ^= 1
    assert one.tobytes() != two.tobytes()
    assert content.same(one, two)
