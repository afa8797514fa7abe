"""Swings by one impulse: against the engine, bins of soft ones, and both inverses."""

import math

import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.contact import World
from saltus.control import Impulse, Schedule
from saltus.errors import InputError
from saltus.optimize import (
    GoodTrials,
    Swinger,
    committee,
    hit_rates,
    hits,
    random_impulses,
    read_trials,
    save_trials,
    softest,
)

BEGIN, SIZE, LENGTH = 0.2, 5.0, 0.15


@pytest.fixture(scope="module")
def swinger():
    return Swinger(robots.brachiator())


@pytest.fixture(scope="module")
def trials(swinger):
    return random_impulses(swinger, 20_000, seed=1)


def between_bars(start, target):
    """Both hands hold, one on the bar at the start; the next bar is at the target."""
    return robots.brachiator(world=World(((start, 0.0), (0.0, 0.0), (target, 0.0))))


def test_an_impulse_is_a_schedule_of_one_piece():
    robot = between_bars(-0.5, 0.5)
    one = saltus.simulate(robot, controller=Impulse(BEGIN, SIZE, LENGTH), until=0.5)
    closing = [{"B": "open"}, {}, {"B": "close"}, {}]
    schedule = Schedule((0.0, BEGIN, 0.25, BEGIN + LENGTH), [[0.0], [SIZE], [SIZE], [0.0]], closing)
    other = saltus.simulate(robot, controller=schedule, until=0.5)
    assert [event.guard for event in one.events] == [event.guard for event in other.events]
    times = np.linspace(0, 0.5, 101)
    np.testing.assert_allclose(one.at(times), other.at(times), rtol=0, atol=1e-8)


def test_trials_end_as_the_engine_says(swinger, trials):
    """The hand catches the bar with the kinetic energy that the trial told."""
    good = trials[trials.reached & (np.abs(trials.x - 0.5) < 0.1) & (np.abs(trials.size) > 1)]
    assert len(good) > 50
    one = good[[3]]
    bar = float(one.x[0])
    told = swinger.swing(one.start, one.begin, one.size, one.length, bar=bar)
    assert told.reached[0]
    robot = between_bars(float(one.start[0]), bar)
    impulse = Impulse(float(one.begin[0]), float(one.size[0]), float(one.length[0]))
    run = saltus.simulate(robot, controller=impulse, until=1.2)
    catch = next(event for event in run.events if event.guard == "B.catch")
    assert catch.t == pytest.approx(told.time[0], abs=5e-3)


def test_the_force_on_the_hand_of_a_free_swing(swinger):
    free = swinger.swing(np.linspace(-0.6, -0.4, 21), 0.0, 0.0, 0.0)
    weight = (swinger.robot.values["m1"] + swinger.robot.values["m2"]) * swinger.robot.values["g"]
    assert (free.force > weight).all()  # at the bottom it carries more than it weighs
    assert np.isnan(free.x[~free.reached]).all()


def test_the_softest_of_each_bin(trials):
    kept = softest(trials, starts=4, targets=5, each=3)
    assert 0 < len(kept) <= 60
    assert kept.reached.all()
    assert (kept.x >= 0.4).all()
    assert (kept.x <= 0.6).all()
    low, high = trials.start.min(), trials.start.max()
    row = np.minimum(((kept.start - low) / (high - low) * 4).astype(int), 3)
    column = np.minimum(((kept.x - 0.4) / 0.2 * 5).astype(int), 4)
    good = trials[trials.reached & (trials.x >= 0.4) & (trials.x <= 0.6)]
    all_rows = np.minimum(((good.start - low) / (high - low) * 4).astype(int), 3)
    all_columns = np.minimum(((good.x - 0.4) / 0.2 * 5).astype(int), 4)
    for bin_ in set(zip(row.tolist(), column.tolist(), strict=True)):
        here = np.sort(good.residual[(all_rows == bin_[0]) & (all_columns == bin_[1])])[:3]
        np.testing.assert_array_equal(np.sort(kept.residual[(row == bin_[0]) & (column == bin_[1])]), here)
    by_force = softest(trials, "force", starts=4, targets=5, each=3)
    assert by_force.force.mean() < kept.force.mean()
    with pytest.raises(InputError, match="unknown softness"):
        softest(trials, "forse")


def test_good_trials_that_are_polished_hit_where_a_committee_may_not(swinger, trials):
    starts, targets = (-0.58, -0.45), (0.42, 0.55)
    polished = hit_rates(hits(swinger, GoodTrials(swinger, trials), starts, targets))
    assert polished["rate"] == 1.0
    assert polished["rate_off"] >= 0.75
    assert polished["residual"] < 1.0
    nets = committee(softest(trials), swinger.limit, members=2, seed=3)
    same = committee(softest(trials), swinger.limit, members=2, seed=3)
    places = np.array([[-0.5, 0.5], [-0.6, 0.4]])
    np.testing.assert_array_equal(nets.predict(places), same.predict(places))
    assert (np.abs(nets.predict(places)[:, 1]) <= swinger.limit).all()
    assert hit_rates(hits(swinger, nets, starts, targets))["rate"] <= polished["rate"]


def test_trials_are_the_same_from_any_number_of_threads_and_from_a_file(swinger, trials, tmp_path):
    again = random_impulses(swinger, 20_000, seed=1, threads=1)
    np.testing.assert_array_equal(again.x, trials.x)
    path = save_trials(tmp_path / "trials.npz", swinger, trials)
    read = read_trials(path, robots.brachiator())
    np.testing.assert_allclose(read.residual, trials.residual, rtol=1e-6)
    np.testing.assert_array_equal(read.reached, trials.reached)
    with pytest.raises(InputError, match=r"m1 = 1.77705, and here m1 = 2"):
        read_trials(path, robots.brachiator(m1=2.0))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged"):
        read_trials(path, robots.brachiator())


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Swinger(robots.brachiator(torque_limit=0)), "it is 0: there are no impulses"),
        (lambda: Swinger(robots.pendulum()), "two grips"),
        (lambda: Swinger(robots.brachiator()).swing(-0.9, 0, 1, 0.1), "from 0 to 0.8 m away, and a start is at -0.9 m"),
        (lambda: Swinger(robots.brachiator()).swing(-0.5, math.nan, 1, 0.1), "finite"),
        (lambda: Swinger(robots.brachiator()).swing(-0.5, 0, 11, 0.1), "beyond the limit of 10 N m"),
        (lambda: random_impulses(Swinger(robots.brachiator()), 0), "positive number of trials"),
        (lambda: Impulse(begin=-1), "begin must not be negative"),
        (lambda: Impulse(size=20).bind(robots.brachiator()), "limit"),
        (lambda: Impulse(free="C").bind(robots.brachiator()), "unknown grip"),
    ],
)
def test_what_cannot_be_is_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
