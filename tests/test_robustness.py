"""Swings under random mixes: what is drawn, what became of each run, how sure that is, and tuning."""

import json
import math
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import saltus
from saltus import studies
from saltus.cli import main
from saltus.control import Constant, Energy, Gripper, Motor
from saltus.errors import BatchInterrupted, InputError, SaltusError
from saltus.studies import SwingMixes, SwingSetting, TrialsInterrupted, try_settings, try_swings, tune
from saltus.studies import _tuning as tuning


@pytest.fixture(scope="module")
def swung():
    return try_swings("brachiator", "swing", mixes=SwingMixes(count=6, seed=3))


# -- mixes ----------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(0, 10), st.integers(0, 2**40))
def test_a_mix_is_that_of_its_number_however_many_are_drawn(count, first, seed):
    many, one = SwingMixes(count=first + count, seed=seed), SwingMixes(count=1, first=first, seed=seed)
    for name, values in many.draw().items():
        assert values[first] == one.draw()[name][0]
    assert np.array_equal(many.draw_gaps(5)[first], one.draw_gaps(5)[0])
    assert many.noise_seed(first) == one.noise_seed(first)


@given(st.floats(0.0, 2.0), st.floats(0.0, 2.0))
def test_what_is_drawn_is_within_its_range(a, b):
    low, high = sorted((a, b))
    drawn = SwingMixes(coulomb=(low, high), count=50).draw()["coulomb"]
    assert ((drawn >= low) & (drawn <= np.nextafter(high, math.inf))).all()


def test_ranges_are_filled_and_do_not_go_together():
    drawn = SwingMixes(count=4000, seed=1, start_offset=(-0.05, 0.05)).draw()
    table = np.column_stack(list(drawn.values()))
    share = (table - table.min(axis=0)) / np.ptp(table, axis=0)
    assert np.abs(share.mean(axis=0) - 0.5).max() < 0.03
    assert np.abs(np.corrcoef(share.T) - np.eye(table.shape[1])).max() < 0.07


def test_held_out_mixes_are_others():
    mixes = SwingMixes(count=50)
    assert not np.isin(mixes.draw()["mass"], mixes.held_out().draw()["mass"]).any()
    assert mixes.held_out(7).count == 7


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 0}, "count is a whole number from 1"),
        ({"count": 2.5}, "count"),
        ({"count": True}, "count"),
        ({"seed": -1}, "seed"),
        ({"viscous": (-0.1, 0.1)}, "viscous must not be negative"),
        ({"mass": (1.2, 0.9)}, "in that order, got 1.2 and 0.9"),
        ({"coulomb": (0, math.nan)}, "coulomb needs finite numbers"),
        ({"spacing": 0.5}, "spacing is a lowest and a highest value"),
        ({"spacing": "ab"}, "spacing is a lowest and a highest value"),
        ({"incline": (-2, 0)}, "right angle"),
        ({"encoder": 1}, "encoder is True or False"),
        ({"angle_noise": -1}, "angle_noise must not be negative"),
    ],
)
def test_wrong_mixes_are_refused(changes, words):
    with pytest.raises(InputError, match=words):
        SwingMixes(**changes)


# -- what became of runs --------------------------------------------------------------------


def test_figures_of_many_are_those_of_each_run_alone(swung):
    assert swung.success.all()
    for k in (0, 5):
        run = swung.run(k)
        alone = try_swings("brachiator", "swing", mixes=swung.mixes.only(k))
        assert run.end_time == swung.time[k] == alone.time[0]
        kinetic = saltus.simulate_many(  # the last state's energy, by an expression of the user's own
            run.system, run.x[-1], until=1e-9, mode={"B": "open"}, figures={"kinetic": run.system.dynamics.kinetic}
        )["kinetic"][0]
        assert swung.residual[k] == pytest.approx(kinetic, rel=1e-6)
        assert run.system.values["m1"] == pytest.approx(1.77705 * swung.drawn["mass"][k])
        places = studies._swing_tasks.hand_places(run.system)(run.x[-1], run.system.parameter_values)
        hand = places[0].full().ravel()[2:]
        bar = run.system.values["bar2_x"], run.system.values["bar2_y"]
        assert math.dist(hand, bar) == pytest.approx(0.025, abs=1e-6)


def test_interval_is_wilsons(swung):
    wrong = replace(swung, outcome=np.where(np.arange(6) < 2, "fell", swung.outcome))
    bounds = binomtest(4, 6).proportion_ci(method="wilson")
    assert wrong.interval == pytest.approx((4 / 6, bounds.low, bounds.high))
    assert {run["number"] for run in wrong.worst(2)} == {0, 1}
    assert wrong.to_dict()["outcomes"] == {"fell": 2, "caught": 4}


def test_results_do_not_depend_on_threads_and_are_plain_data(swung):
    one = try_swings("brachiator", "swing", mixes=swung.mixes, threads=1)
    assert np.array_equal(one.time, swung.time)
    told = json.loads(json.dumps(one.to_dict()))
    assert told["good"] == 6
    assert len(told["runs"]) == 6
    assert told["runs"][2]["mix"]["mass"] == one.drawn["mass"][2]


def test_what_does_nothing_catches_nothing_and_what_lets_go_falls():
    def idle(t, state, mode, memory):
        return 0.0

    def let_go(t, state, mode, memory):
        return saltus.Command(0.0, {"A": "open", "B": "open"})

    few = SwingMixes(count=2).without_sensors()
    late = try_swings("brachiator", "swing", saltus.control.Sampled(idle, 0.05), few, limit=0.5)
    fell = try_swings("brachiator", "swing", saltus.control.Sampled(let_go, 0.05), few, limit=2.0)
    assert late.outcome.tolist() == ["too late"] * 2
    assert late.share == 0
    assert fell.outcome.tolist() == ["fell"] * 2
    assert np.isnan(late.time).all()
    assert math.isnan(late.quantiles()["0.5"])


def test_a_controller_for_each_mix_is_told_of_the_nominal_robot():
    seen = []

    def made(system, number):
        seen.append((number, system.values["m1"], system.values["bar0_x"], system.values["bar2_x"]))
        return Energy(model=system.values)

    mixes = SwingMixes.none(3, spacing=(0.5, 0.6), mass=(1.1, 1.1), start_offset=(0.02, 0.03), behind=(0.5, 0.5))
    trials = try_swings("brachiator", "swing", made, replace(mixes, first=4))
    assert [number for number, *_ in seen] == [4, 5, 6]
    assert all(mass == 1.77705 and behind == -0.5 for _, mass, behind, _ in seen)
    assert [ahead for *_, ahead in seen] == trials.drawn["spacing"].tolist()
    assert (trials.batch.parameters["bar0_x"] > -0.481).all()
    assert trials.batch.parameters["m1"] == pytest.approx(1.1 * 1.77705)


def test_runs_with_claws_come_out_the_same_however_long_they_are_made():
    mixes = SwingMixes(count=2, seed=5)
    robot = saltus.robots.brachiator()
    fitted = studies.fitted_energy(Energy(), robot, mixes, Motor(), Gripper())
    options = {"motor": Motor(), "gripper": Gripper()}
    long = try_swings(robot, "swing", fitted, mixes, limit=4.0, **options)
    # a third of this is too short for any, so that these are made twice or more
    short = try_swings(robot, "swing", fitted, mixes, limit=2.0, torques=True, **options)
    assert long.success.all()
    assert np.array_equal(long.time, short.time)
    (swing,) = studies.swings(short.run(1))
    assert swing.start + swing.time == pytest.approx(short.time[1])
    assert swing.bar == 2
    assert short.residual[1] == pytest.approx(swing.residual, rel=1e-6, abs=1e-9)
    assert short.mean_torque[1] == pytest.approx(swing.mean_torque)


def test_ladders_have_gaps_of_their_own_and_end_on_their_last_bar():
    trials = try_swings("brachiator", "ladder", mixes=SwingMixes(count=2, incline=(0.0, 0.0)), bars=3, limit=4.0)
    gaps = trials.mixes.draw_gaps(3)
    assert trials.batch.parameters["bar2_x"] == pytest.approx(gaps.sum(axis=1))
    assert trials.success.all()
    assert trials.catches.tolist() == [1, 1]
    assert trials.drawn["spacing"] == pytest.approx(gaps.mean(axis=1))


@pytest.mark.parametrize("task", ["swing", "swing-up", "ladder"])
def test_links_too_short_for_usual_gaps_swing_over_their_own(task):
    small = saltus.robots.brachiator(L1=0.2, L2=0.2, r1=0.1, r2=0.1)
    made = try_swings(small, task, mixes=SwingMixes(count=2, spacing=(0.25, 0.3)), bars=3, limit=0.3)
    one, two = ([made.batch.parameters[f"bar{k}_{axis}"] for axis in "xy"] for k in (0, 1))
    gaps = np.hypot(*np.subtract(two, one))
    assert np.all((gaps >= 0.25) & (gaps <= 0.3))
    assert set(made.status) <= {"finished", "terminal"}


def test_swing_ups_begin_at_rest_below_one_bar():
    trials = try_swings("brachiator", "swing-up", mixes=SwingMixes(count=2), limit=6.0)
    assert trials.success.all()
    assert not trials.batch.starts.any()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("brachiator", "jump"), {}, "unknown task"),
        (("pendulum", "swing"), {}, "swing from bars, such as brachiator, not for pendulum"),
        (("monkeybot", "swing"), {}, "not for monkeybot"),
        (("five_link_brachiator", "swing"), {}, "five_link_brachiator has 5 links, 2 hands and 4 motors"),
        ((3, "swing"), {}, "a robot is its name or a system"),
        (("brachiator", "swing", "energy"), {}, "a controller is an object"),
        (("brachiator", "swing", Energy), {}, "a controller has a bind"),
        (
            ("brachiator", "swing", lambda system, number: None),
            {},
            "makes a controller for each mix; of mix 0 it gave None",
        ),
        (("brachiator", "swing", saltus.control.find_controller("arm_swing")()), {}, "not brachiator"),
        (("brachiator", "swing", None, 3), {}, "mixes are a saltus.studies.SwingMixes"),
        (
            ("brachiator", "swing", None, SwingMixes(spacing=(0.85, 0.95))),
            {},
            "none of 500 mixes can start; 500: bars 0 and 1 .* both links of brachiator reach 0.8 m",
        ),
        (("brachiator", "swing", None, SwingMixes(spacing=(0.01, 0.02))), {}, "none of 500 mixes .* thick"),
        (("brachiator", "swing", None, SwingMixes(spacing=(0.05, 0.06))), {}, "stay at least 0.06972 m apart"),
        (("brachiator", "swing-up", None, SwingMixes.none(1, spacing=(0.9, 0.9))), {}, "^bars 0 and 1 are 0.9 m apart"),
        (
            ("brachiator", "swing", lambda system, number: Constant(11.0), SwingMixes.none(3)),
            {},
            "none of 3 mixes can start; 3: constant input: 11 N m",
        ),
        (("brachiator", "swing"), {"motor": 3}, "motor is a saltus.control.Motor"),
        (("brachiator", "swing"), {"gripper": "real"}, "gripper is a saltus.control.Gripper"),
        (("brachiator", "swing"), {"limit": -1.0}, "limit is a time"),
        (("brachiator", "ladder"), {"bars": 2}, "3 to 60 bars"),
    ],
)
def test_what_cannot_be_tried_is_refused(arguments, options, words):
    with pytest.raises(InputError, match=words):
        try_swings(*arguments, **options)


@pytest.mark.parametrize(
    ("task", "ranges", "words"),
    [
        ("swing", {"spacing": (0.6, 0.85)}, "reach 0.8 m"),
        ("swing", {"spacing": (0.04, 0.1), "behind": (0.5, 0.5)}, "thick|stay at least"),
        ("swing", {"start_offset": (-0.5, 0.1)}, "bars 0 and 1 are .* reach 0.8 m"),
        ("swing-up", {"spacing": (0.5, 0.85)}, "bars 0 and 1 are .* reach 0.8 m"),
        ("ladder", {"spacing": (0.7, 0.83)}, "reach 0.8 m"),
    ],
)
def test_a_mix_that_cannot_start_has_its_reason_and_changes_no_other(task, ranges, words):
    mixes = SwingMixes.none(6, **ranges)
    trials = try_swings("brachiator", task, mixes=mixes, bars=3, limit=0.4)
    refused = trials.batch.cases.refused
    assert 0 < len(refused) < 6
    assert [k for k, outcome in enumerate(trials.outcome) if outcome == "no start"] == sorted(refused)
    assert trials.count == 6 - len(refused)
    assert sum(trials.refusals.values()) == len(refused)
    for k in range(6):
        if k in refused:
            assert re.search(words, refused[k])
            with pytest.raises(InputError, match="^" + re.escape(refused[k]) + "$"):
                try_swings("brachiator", task, mixes=mixes.only(k), bars=3, limit=0.4)
            continue
        alone = try_swings("brachiator", task, mixes=mixes.only(k), bars=3, limit=0.4)
        assert np.array_equal(alone.batch.doubles[0], trials.batch.doubles[k], equal_nan=True)
        assert np.array_equal(alone.batch.integers[0], trials.batch.integers[k])
        assert alone.outcome[0] == trials.outcome[k]
    content = json.loads(json.dumps(trials.to_dict()))
    assert content["reasons"] == trials.refusals
    assert [run["reason"] for run in content["runs"] if run["outcome"] == "no start"] == list(refused.values())


@pytest.mark.parametrize("sensors", [False, True])
def test_a_mix_whose_controller_cannot_be_made_or_bound_has_its_reason(sensors):
    def idle(t, state, mode, memory):
        return 0.5

    def made(system, number):
        if number == 1:
            raise SaltusError("no motion was found")
        if number == 5:
            raise ZeroDivisionError("division by zero")
        return Constant(11.0) if number in (0, 3) else saltus.control.Sampled(idle, 0.05)

    mixes = replace(SwingMixes.none(6), encoder=sensors)
    trials = try_swings("brachiator", "swing", made, mixes, limit=0.3)
    assert trials.outcome.tolist() == ["no start", "no start", "too late", "no start", "too late", "no start"]
    assert trials.batch.reasons[1] == "no motion was found"
    assert trials.batch.reasons[5] == "no controller was made for this mix: ZeroDivisionError('division by zero')"
    assert trials.batch.reasons[0] == trials.batch.reasons[3]
    assert "11 N m on actuator elbow" in trials.batch.reasons[0]
    alone = try_swings("brachiator", "swing", made, mixes.only(2), limit=0.3)
    assert np.array_equal(alone.batch.doubles[0], trials.batch.doubles[2], equal_nan=True)


def test_a_setting_without_a_start_spoils_no_other():
    settings = [SwingSetting("swing"), SwingSetting("swing-up")]
    mixes = SwingMixes.none(1, behind=(0.9, 0.9))  # a swing-up has no bar behind
    swing, up = try_settings("brachiator", settings, mixes).values()
    assert (swing.count, up.count) == (0, 1)
    assert swing.refusals == {"bars 0 and 1 are 0.9 m apart, and both links of brachiator reach 0.8 m": 1}
    with pytest.raises(InputError, match=r"^bars 0 and 1 are 0\.9 m apart"):
        try_settings("brachiator", settings[:1], mixes)


def test_an_interrupt_keeps_what_was_made():
    def stop(made, of):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(BatchInterrupted) as stopped:
        try_swings("brachiator", "swing-up", mixes=SwingMixes(count=600), progress=stop)
    trials = stopped.value.trials
    assert isinstance(stopped.value, TrialsInterrupted)
    assert 0 < trials.count < 600
    assert (trials.outcome == "not begun").sum() == 600 - trials.count


def test_settings_have_names_and_are_tried_under_the_same_mixes():
    told = []
    settings = [SwingSetting("swing", "heavy", "momentum", "curve"), SwingSetting()]
    made = try_settings("brachiator", settings, SwingMixes(count=3), progress=lambda *now: told.append(now))
    assert list(made) == ["swing, heavy, momentum, curve", "swing, mid, power, ideal"]
    heavy, mid = made.values()
    assert heavy.system.values["r1"] == 0.28
    assert np.array_equal(heavy.drawn["mass"], mid.drawn["mass"])
    assert heavy.success.all()
    assert mid.success.all()
    assert told[-1][:2] == (6, 6)
    assert heavy.to_dict()["law"] == "momentum"
    assert len(studies.all_settings()) == 24
    with pytest.raises(InputError, match="unknown motor"):
        SwingSetting(motor="foo")


def test_settings_that_are_interrupted_keep_those_that_are_done():
    def stop(made, of, name):
        if name.startswith("swing, heavy"):
            signal.raise_signal(signal.SIGINT)

    settings = [SwingSetting(), SwingSetting(centres="heavy")]
    with pytest.raises(TrialsInterrupted) as stopped:
        try_settings("brachiator", settings, SwingMixes(count=100), progress=stop)
    assert [(name, one.count) for name, one in stopped.value.before.items()] == [("swing, mid, power, ideal", 100)]


# -- tuning ---------------------------------------------------------------------------------


def test_a_failure_counts_more_than_any_time(swung):
    slow = replace(swung, time=np.full(6, 6.0), residual=np.full(6, 50.0))
    failed = replace(swung, outcome=np.array(["caught"] * 5 + ["fell"]))
    assert tuning.score_of([swung]) < tuning.score_of([slow]) < 1 < tuning.score_of([failed])


def test_tuning_finds_better_gains_and_judges_them_elsewhere():
    bad = Energy(gains={"enter_cost": 0.01, "first_cost": 0.01})
    found = tune(
        "brachiator", {"first_cost": (0.01, 4.0)}, energy=bad, mixes=SwingMixes(count=6), candidates=4, held_out=5
    )
    assert found.score < found.score_before
    assert found.gains["first_cost"] > 0.01
    assert found.energy.gains["first_cost"] == found.gains["first_cost"]
    assert found.energy.gains["enter_cost"] == 0.01
    assert found.held_out[0].mixes.seed != found.training[0].mixes.seed
    assert found.held_out[0].count == 5
    assert not found.interrupted
    assert json.dumps(found.to_dict())


def test_tuning_that_is_interrupted_keeps_the_best(monkeypatch):
    calls = []

    def tried(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return try_swings(*arguments, **options)

    monkeypatch.setattr(tuning, "try_swings", tried)
    found = tune("brachiator", ["buffer", "gate"], mixes=SwingMixes(count=2), candidates=50)
    assert found.interrupted
    assert found.candidates == 2
    assert found.held_out == ()
    assert set(found.gains) == {"buffer", "gate"}
    assert found.score <= found.score_before


@pytest.mark.parametrize(
    ("gains", "options", "words"),
    [
        ([], {}, "gains to tune"),
        ("buffer", {}, "gains to tune"),
        (["nosuch"], {}, "unknown gain"),
        (["buffer", "buffer"], {}, "named once"),
        ({"brake": (-1, 1)}, {}, "must not be negative"),
        ({"brake": (1, 0)}, {}, "lowest and a highest"),
        ({"brake": 3}, {}, "lowest and a highest"),
        ({"buffer": (100, 200)}, {}, "must be within the range"),
        (["brake"], {}, "is zero now"),
        (["buffer"], {"candidates": 0}, "candidates"),
        (["buffer"], {"task": "jump"}, "unknown task"),
        (["buffer"], {"task": ()}, "no task"),
        (["buffer"], {"energy": 3}, "saltus.control.Energy"),
    ],
)
def test_wrong_tuning_is_refused(gains, options, words):
    with pytest.raises(InputError, match=words):
        tune("brachiator", gains, **options)


# -- the verb -------------------------------------------------------------------------------


def called(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["robustness", "brachiator", *words])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_the_verb_tells_what_the_library_does(capsys, tmp_path):
    words = "--mixes 2 --first 3 --seed 8 --motor curve --control law=momentum --vary coulomb=0.1:0.2 --json"
    code, out, _ = called(capsys, *words.split(), "--out", str(tmp_path))
    told = json.loads(out)
    assert code == 0
    mixes = SwingMixes(count=2, first=3, seed=8, coulomb=(0.1, 0.2))
    fitted = studies.fitted_energy(
        Energy(law="momentum"),
        studies._swing_tasks.placed("brachiator", studies._swing_tasks.TASKS["swing"]),
        mixes,
        Motor(),
    )
    same = try_swings("brachiator", "swing", fitted, mixes, motor=Motor())
    assert [run["time"] for run in told["trials"]["swing"]["runs"]] == same.time.tolist()
    assert {path.name for path in tmp_path.iterdir()} >= {
        "brachiator-robustness.json",
        "brachiator-robustness-rates.png",
    }


def test_the_verb_prints_torques_that_were_asked_for(capsys, tmp_path):
    code, out, _ = called(capsys, "--mixes", "2", "--seed", "8", "--torques", "--out", str(tmp_path))
    made = try_swings("brachiator", mixes=SwingMixes(count=2, seed=8), torques=True)
    told = " / ".join(f"{value:.2f}" for value in made.quantiles("mean_torque").values())
    assert code == 0
    assert "N m" in out
    assert told in " ".join(out.split())


def test_the_verb_tunes_on_other_mixes(capsys, tmp_path):
    words = "--mixes 3 --tune buffer=3:7 --candidates 1 --json --no-sensors"
    code, out, _ = called(capsys, *words.split(), "--out", str(tmp_path))
    told = json.loads(out)
    assert code == 0
    assert told["tuned"]["training"][0]["mixes"]["seed"] != told["trials"]["swing"]["mixes"]["seed"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--mixes 0", "count is a whole number"),
        ("--vary coulomb=1", "takes from:to"),
        ("--vary nosuch=0:1", "unknown range"),
        ("--set bar0_x=1", "where bars are is drawn"),
        ("--controller none", "none is not one"),
        ("--motor strong", "unknown motor"),
        ("--gripper strong", "unknown gripper"),
        ("--all --motor curve", "leave out --motor"),
        ("--tune buffer --controller passive", "gains of energy"),
        ("--ladders 0 --task ladder", "ladders are a positive number"),
    ],
)
def test_wrong_words_are_refused(capsys, tmp_path, words, error):
    code, out, err = called(capsys, *words.split(), "--out", str(tmp_path / "none"))
    assert code == 2
    assert error in err
    assert out == ""
    assert not (tmp_path / "none").exists()
