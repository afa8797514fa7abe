"""Swings by one impulse: against SciPy and the engine, bins of soft ones, both inverses, and files of trials."""

import itertools
import math

import numpy as np
import pytest
from records import rewritten
from scipy.integrate import solve_ivp

import saltus
from saltus import robots
from saltus.contact import World
from saltus.control import Impulse, Schedule
from saltus.errors import InputError
from saltus.optimize import (
    GoodTrials,
    Ranges,
    Swinger,
    committee,
    hit_rates,
    hits,
    learn_impulses,
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


def by_hand(p, x, u):
    """Rates of two links that hang by hand A, written down anew; angles from straight down."""
    q1, q2, v1, v2 = x
    a = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    b, c = p["I2"] + p["m2"] * p["r2"] ** 2, p["m2"] * p["L1"] * p["r2"]
    g1, g2 = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"], p["m2"] * p["r2"] * p["g"]
    M = np.array([[a + b + 2 * c * math.cos(q2), b + c * math.cos(q2)], [b + c * math.cos(q2), b]])
    bent = g2 * math.sin(q1 + q2)
    swing = c * math.sin(q2) * (2 * v1 * v2 + v2 * v2) - g1 * math.sin(q1) - bent
    return [v1, v2, *np.linalg.solve(M, [swing, u - c * math.sin(q2) * v1 * v1 - bent])]


def exact_hand(p, trials, k, until):
    """The way of the free hand, x and y at many times, of one trial by SciPy; and its largest bend."""
    start, begin, size, length = (float(getattr(trials, name)[k]) for name in ("start", "begin", "size", "length"))
    # both links are as long, so that the elbow hangs below the middle between the hands
    lean, bend = math.asin(-start / (p["L1"] + p["L2"])), 2 * math.acos(-start / (p["L1"] + p["L2"]))
    x, parts = [-lean, -bend, 0.0, 0.0], []
    on, off = round(begin, 3), round(begin + length, 3)  # with steps of 1 ms
    times = sorted({0.0, min(on, until), min(off, until), until})
    for t0, t1 in itertools.pairwise(times):
        u = size if on <= t0 < off else 0.0
        run = solve_ivp(lambda t, x, u=u: by_hand(p, x, u), (t0, t1), x, rtol=1e-8, atol=1e-9, max_step=2e-3)
        parts, x = [*parts, run.y], run.y[:, -1]
    q1, q2 = np.concatenate(parts, axis=1)[:2]
    y = -p["L1"] * np.cos(q1) - p["L2"] * np.cos(q1 + q2)
    return p["L1"] * np.sin(q1) + p["L2"] * np.sin(q1 + q2), y, np.abs(q2).max()


def test_trials_end_where_the_hand_comes_up_to_the_level_ahead(swinger, trials):
    """By SciPy: on the level and upward, and not earlier; a hand that comes over the top is not on it."""
    p, checked = swinger.robot.values, 0
    for k in np.flatnonzero(trials.reached)[:120]:
        x, y, bend = exact_hand(p, trials, k, float(trials.time[k]))
        if bend > p["elbow_stop"] - 0.02 or trials.time[k] > 0.9:
            continue  # at a stop, and after long, small differences have grown
        checked += 1
        assert x[-1] == pytest.approx(trials.x[k], abs=1e-3)
        assert abs(y[-1]) < 6e-3  # no more than it moves in a step, and what steps are off
        assert y[-1] > y[-2]
        up = (y[:-1] < 0) & (y[1:] >= 0) & (x[1:] >= 0.21)
        assert not up[: -max(8, len(up) // 50)].any()
    assert checked > 40


def test_where_a_hand_can_be(swinger):
    """The elbow bends by 170 degrees at most."""
    nearest, farthest = swinger.distances
    assert nearest == pytest.approx(0.8 * math.cos(math.radians(85)))
    assert farthest == pytest.approx(0.8)
    theta2 = swinger.angles(np.array([-nearest, nearest]))[1]
    np.testing.assert_allclose(np.abs(theta2), math.radians(170))
    with pytest.raises(InputError, match=r"from 0.06972 to 0.8 m away, and a start is at -0.06 m"):
        swinger.angles(np.array([-0.5, -0.06]))
    stiff = Swinger(robots.brachiator(elbow_stop=math.radians(90)))
    assert stiff.distances[0] == pytest.approx(0.4 * math.sqrt(2))
    with pytest.raises(InputError, match=r"from 0.5657 to 0.8 m away, and a start is at -0.5 m"):
        stiff.swing(-0.5, 0.1, 1.0, 0.1)
    assert Swinger(robots.monkeybot()).distances[0] == 0.0  # it has no stops


def test_only_what_is_possible_is_asked():
    stiff = robots.brachiator(elbow_stop=math.radians(80))  # 0.613 m at least
    made = learn_impulses(stiff, count=4000, starts=(-0.7, -0.5), targets=(0.55, 0.7))
    told = made.to_dict()
    assert (told["queries"], told["left_out"]) == (5 * 4, 77 - 5 * 4)
    assert made.trials.start.max() <= -made.swinger.distances[0]
    assert {answer["start"] for answer in told["answers"]} == {-0.7, -0.68, -0.66, -0.64, -0.62}
    assert min(answer["target"] for answer in told["answers"]) == 0.625
    with pytest.raises(InputError, match=r"no query is possible: .* from 0.6128 to 0.8 m behind"):
        learn_impulses(stiff, count=4000)


def test_a_small_robot_learns_with_its_own_starts_and_targets(monkeypatch):
    monkeypatch.setattr("saltus.optimize._learn.QUERIES", (11, 2))
    small = robots.brachiator(L1=0.2, L2=0.2, r1=0.1, r2=0.1, torque_limit=3.0)
    with pytest.raises(InputError, match="no query is possible"):
        learn_impulses(small)
    made = learn_impulses(small, count=8000, starts=(-0.3, -0.2), targets=(0.2, 0.3), softness="force", time=0.9)
    assert made.trials.time[made.trials.reached].max() <= 0.9
    assert made.trials.begin.max() <= 0.45
    assert (made.softest.x >= 0.2).all()
    assert (made.softest.x <= 0.3).all()
    np.testing.assert_array_equal(
        made.softest.force, softest(made.trials, "force", reach=(0.2, 0.3)).force
    )  # fmt: skip
    told = made.to_dict()
    assert told["inverses"]["polished"]["rate"] > 0.8
    answer = told["answers"][2]
    assert (answer["start"], answer["target"]) == (-0.29, 0.2)
    begin, size, length = made.polished.best(-0.29, 0.2)
    assert answer["polished"] == {"begin": begin, "size": size, "length": length, "hit": True}
    bar = made.swinger.swing(-0.29, begin, size, length, bar=0.2)
    assert bar.reached[0]


def test_low_gravity_needs_longer_trials():
    moon = robots.brachiator(g=1.62)
    still = {"count": 2000, "ranges": Ranges(begin=(0.0, 0.5))}
    short, long = random_impulses(Swinger(moon), **still), random_impulses(Swinger(moon, 3.0), **still)
    assert long.reached.sum() > 1.2 * short.reached.sum()
    assert long.time[long.reached].max() > 1.2
    again = random_impulses(Swinger(moon), **still, time=3.0)
    np.testing.assert_array_equal(again.x, long.x)
    # polished and judged in as long a time
    slow = Swinger(moon, 3.0)
    good = GoodTrials(slow, random_impulses(slow, 4000, ranges=Ranges(begin=(0.0, 1.5), length=(0.05, 1.2))))
    asked = hits(slow, good, (-0.5,), (0.5,))
    assert asked.hit.all()


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
    nets = committee(softest(trials), swinger, members=2, seed=3)
    same = committee(softest(trials), swinger, members=2, seed=3)
    places = np.array([[-0.5, 0.5], [-0.6, 0.4]])
    np.testing.assert_array_equal(nets.predict(places), same.predict(places))
    assert (np.abs(nets.predict(places)[:, 1]) <= swinger.limit).all()
    assert hit_rates(hits(swinger, nets, starts, targets))["rate"] <= polished["rate"]
    for inverse in (nets, GoodTrials(swinger, trials)):
        for query, match in [
            ((math.nan, 0.5), "a start is a finite number, got nan"),
            ((-0.5, math.inf), "a target is a finite number, got inf"),
            ((0.5, 0.5), "a start is behind, negative, got 0.5 m"),
            ((-0.5, -0.5), "a target is ahead, positive, got -0.5 m"),
            ((-0.05, 0.5), "from 0.06972 to 0.8 m away, and a start is at -0.05 m"),
            ((-0.5, 0.9), "from 0.06972 to 0.8 m away, and a target is at 0.9 m"),
            ((-0.5, 0.1), "a target is at least 0.2 m ahead, got 0.1 m"),
        ]:
            with pytest.raises(InputError, match=match):
                inverse.impulse(*query)
    with pytest.raises(InputError, match="ahead, positive"):
        GoodTrials(swinger, trials).best(-0.5, -0.5)


def test_rates_of_queries_know_which_shares_were_tried(swinger, trials):
    good = GoodTrials(swinger, trials)
    asked = hits(swinger, good, (-0.5,), (0.5,), begins=(1.0, 3.0))
    assert asked.made.reached.shape == (1, 1, 2)
    rates = hit_rates(asked)
    assert (rates["rate"], rates["rate_off"]) == (1.0, 0.0)  # so late it comes nowhere
    assert rates["residual"] == asked.made.residual[0, 0, 0]
    assert math.isnan(hit_rates(hits(swinger, good, (-0.5,), (0.5,), begins=(1.0,)))["rate_off"])


def test_trials_are_the_same_from_any_number_of_threads_and_from_a_file(swinger, trials, tmp_path):
    again = random_impulses(swinger, 20_000, seed=1, threads=1)
    np.testing.assert_array_equal(again.x, trials.x)
    path = save_trials(tmp_path / "trials.npz", swinger, trials)
    read = read_trials(path, robots.brachiator())
    for name, array in vars(trials).items():
        assert getattr(read, name).tobytes() == array.tobytes()
    query = (-0.52, 0.47)
    assert GoodTrials(swinger, read).impulse(*query) == GoodTrials(swinger, trials).impulse(*query)
    with pytest.raises(InputError, match=r"m1 = 1.77705, and here m1 = 2"):
        read_trials(path, robots.brachiator(m1=2.0))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged"):
        read_trials(path, robots.brachiator())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda head, arrays: None, None),
        (lambda head, arrays: arrays.update(x=arrays["x"][:-1]), "rows of one length, and x"),
        (lambda head, arrays: arrays.update(x=arrays["x"][:, None]), "rows of one length, and x"),
        (lambda head, arrays: arrays.update(reached=arrays["x"]), "reached is of truth values"),
        (lambda head, arrays: arrays.update(size=arrays["size"].astype(int)), "size is of numbers, not of int64"),
        (lambda head, arrays: arrays.pop("force"), "trials are start"),
        (lambda head, arrays: arrays.update(other=arrays["x"]), "or damaged: its parts are .* other"),
        (lambda head, arrays: head.pop("robot"), "does not name its robot"),
        (lambda head, arrays: head.pop("holds"), "does not name its holds"),
        (lambda head, arrays: head.pop("parameters"), "not numbers by name"),
        (lambda head, arrays: head["parameters"].update(g="9.81"), "not numbers by name"),
        (lambda head, arrays: head.pop("format"), "no file of saltus, or damaged"),
        (lambda head, arrays: head.update(format="saltus table 1"), "another kind, 'saltus table 1'"),
    ],
)
def test_a_file_of_what_is_no_trials_is_refused(swinger, trials, tmp_path, change, match):
    path = save_trials(tmp_path / "some.npz", swinger, trials[:200])
    bad = rewritten(path, tmp_path / "bad.npz", change, whole=True)
    if match is None:
        assert len(read_trials(bad, swinger.robot)) == 200
        return
    with pytest.raises(InputError, match=match):
        read_trials(bad, swinger.robot)


@pytest.mark.parametrize(
    "change",
    [
        lambda head, arrays: arrays.update(size=-arrays["size"]),
        lambda head, arrays: head["parameters"].update(g=1.62),
        lambda head, arrays: arrays.update(x=arrays["x"].copy().view(np.int64)),
    ],
)
def test_a_file_that_was_changed_is_refused(swinger, trials, tmp_path, change):
    path = save_trials(tmp_path / "some.npz", swinger, trials[:200])
    with pytest.raises(InputError, match="not those that were written"):
        read_trials(rewritten(path, tmp_path / "bad.npz", change, whole=False), swinger.robot)


@pytest.fixture(scope="module")
def few(swinger):
    return random_impulses(swinger, 500)


WHOLE = "whole number of at least"


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, bar=0.5, radius=0), "radius must be a positive finite number, got 0"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, bar=0.5, radius=math.nan), "radius must be a positive"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, radius=0.1), "a radius is one about a bar"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, bar=-0.5), "bar must be a positive finite number, got -0.5"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, bar=math.inf), "bar must be a positive finite number, got inf"),
        (lambda s, t: s.swing(-0.5, -0.1, 1, 0.1), "a begin must not be negative, got -0.1 s"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, [0.1, -0.2]), "a length must not be negative, got -0.2 s"),
        (lambda s, t: s.swing([], 0.1, 1, 0.1), r"start is a number or an array of one dimension, its shape is \(0,\)"),
        (lambda s, t: s.swing([[-0.5]], 0.1, 1, 0.1), r"one dimension, its shape is \(1, 1\)"),
        (lambda s, t: s.swing([-0.5] * 2, [0.1] * 3, 1, 0.1), "arrays must be of one length, got .*'start': 2"),
        (lambda s, t: s.swing(-0.5, "soon", 1, 0.1), "begin is a number or an array of numbers, got 'soon'"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, threads=0), "threads is a whole number of at least 1, got 0"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, time=0), "time must be a positive"),
        (lambda s, t: s.swing(-0.5, 0.1, 1, 0.1, time=0.1, step=0.2), "step of 0.2 s is longer than the trial"),
        (lambda s, t: Swinger(s.robot, time=-1), "time must be a positive"),
        (lambda s, t: random_impulses(s, 10, ranges=Ranges(start=(-0.9, -0.5))), "a start is at -0.9 m"),
        (lambda s, t: random_impulses(s, 10.0), WHOLE),
        *((lambda s, t, seed=seed: random_impulses(s, 10, seed), WHOLE) for seed in (-1, True, 1.5, None)),
        *((lambda s, t, seed=seed: learn_impulses(s.robot, seed=seed), WHOLE) for seed in (-1, True, 1.5, None)),
        *((lambda s, t, seed=seed: GoodTrials(s, t, seed=seed), WHOLE) for seed in (-1, True, 1.5, None)),
        *((lambda s, t, seed=seed: committee(t, s, seed=seed), WHOLE) for seed in (-1, True, 1.5, None)),
        (lambda s, t: learn_impulses(s.robot, count=0), WHOLE),
        (lambda s, t: learn_impulses(s.robot, threads=0), WHOLE),
        (lambda s, t: learn_impulses(s.robot, softness="forse"), "Did you mean 'force'"),
        (lambda s, t: learn_impulses(s.robot, starts=(0.4, 0.6)), "starts are behind"),
        (lambda s, t: learn_impulses(s.robot, targets=(-0.6, -0.4)), "targets are ahead, positive"),
        (lambda s, t: learn_impulses(s.robot, targets=0.5), "targets is a pair of finite numbers, got 0.5"),
        (lambda s, t: committee(t, s, members=0), WHOLE),
        (lambda s, t: committee(t, s, units=0), WHOLE),
        (lambda s, t: GoodTrials(s, t, candidates=0), WHOLE),
        (lambda s, t: GoodTrials(s, t, offspring=0), WHOLE),
        (lambda s, t: GoodTrials(s, t, rounds=0), WHOLE),
        (lambda s, t: GoodTrials(s, t, sure=0), "sure must be a positive"),
        (lambda s, t: GoodTrials(s, t, sure=1.1), "sure is a share of up to 1, got 1.1"),
        (lambda s, t: softest(t, starts=0), WHOLE),
        (lambda s, t: softest(t, targets=0), WHOLE),
        (lambda s, t: softest(t, each=0), WHOLE),
        (lambda s, t: softest(t, reach=(0.6, 0.4)), "reach must rise, got 0.6 to 0.4"),
        (lambda s, t: Ranges(start=-0.5), "start is a pair of finite numbers, got -0.5"),
        (lambda s, t: Ranges(length=(0.1, math.nan)), "length is a pair of finite numbers"),
        (lambda s, t: hits(s, GoodTrials(s, t), [], []), "starts is a number or an array of one dimension"),
        (lambda s, t: hits(s, GoodTrials(s, t), [-0.5], [0.9]), "a target is at 0.9 m"),
        (lambda s, t: hits(s, GoodTrials(s, t), [-0.5], [0.5], begins=(0.9, 1.1)), "1 is among them"),
    ],
)  # fmt: skip
def test_what_is_given_is_checked(swinger, few, make, match):
    with pytest.raises(InputError, match=match):
        make(swinger, few)


def test_whole_numbers_of_numpy_will_do(swinger, few):
    again = random_impulses(swinger, np.int64(500), np.int32(0))
    np.testing.assert_array_equal(again.x, few.x)
    assert GoodTrials(swinger, few, seed=np.uint8(3), rounds=np.int16(2)).rounds == 2


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Swinger(robots.brachiator(torque_limit=0)), "it is 0: there are no impulses"),
        (lambda: Swinger(robots.pendulum()), "two grips"),
        (
            lambda: Swinger(robots.brachiator()).swing(-0.9, 0, 1, 0.1),
            "from 0.06972 to 0.8 m away, and a start is at -0.9 m",
        ),
        (lambda: Swinger(robots.brachiator()).swing(-0.5, math.nan, 1, 0.1), "finite"),
        (lambda: Swinger(robots.brachiator()).swing(-0.5, 0, 11, 0.1), "beyond the limit of 10 N m"),
        (
            lambda: random_impulses(Swinger(robots.brachiator()), 0),
            "number of trials is a whole number of at least 1, got 0",
        ),
        (lambda: Impulse(begin=-1), "begin must not be negative"),
        (lambda: Impulse(size=20).bind(robots.brachiator()), "limit"),
        (lambda: Impulse(free="C").bind(robots.brachiator()), "unknown grip"),
    ],
)
def test_what_cannot_be_is_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
