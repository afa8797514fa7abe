"""The comparison of controllers: its record, what it counts, its figures and its verb, with tables far too coarse."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from saltus.cli import main
from saltus.contact import ladder
from saltus.control import Impulse
from saltus.errors import InputError
from saltus.robots import find_robot, put
from saltus.show import wilson_interval
from saltus.studies import Effort, compare_controllers
from saltus.studies._compare import CONTROLLERS, mixes_for
from saltus.studies._compare_figures import comparison_figures, rates_figure, rest_energy, swing_figure
from saltus.studies._compare_learning import _wanted
from saltus.studies._compare_mixes import DISTURBANCES, KICKED, Disturbance, Rate, Wrong, makers, rate, timing_note
from saltus.studies._compare_printed import printed, said
from saltus.studies._compare_queries import STARTS, TARGETS, queried
from saltus.studies._compare_runs import FORWARD, impulse_on_ladder, impulse_up, nominal, shown
from saltus.studies._compare_table import rates, summary
from saltus.studies._compare_torque import TorqueUse, measured
from saltus.studies._paper import VERDICTS, Drawing, _shown
from saltus.studies.papers import _yang2016_catches as catches
from saltus.studies.papers import _yang2016_chapter as chapter_of
from saltus.studies.papers import _yang2016_comparison as comparison
from saltus.studies.papers import _yang2016_impulses as impulses
from saltus.studies.papers import _yang2016_learned as learned
from saltus.studies.papers import _yang2016_tables as tables

LITTLE = learned.effort_of(20)


@pytest.fixture(scope="module")
def found():
    """A comparison from so little that only its form can be good."""
    return comparison.find(20, lambda *_: None)


@pytest.fixture(scope="module")
def of_tables():
    return tables.find(20, lambda *_: None)


@pytest.fixture(scope="module")
def of_impulses():
    return impulses.find(20, lambda *_: None)


# -- the record -----------------------------------------------------------------------------------


def test_every_controller_meets_every_disturbance_that_is_for_it(found):
    kicks = {"impulse", "committee"}
    for what in DISTURBANCES:
        for task in what.tasks():
            there = {name for name in CONTROLLERS if found.rate(name, what.name, task) is not None}
            if what.of_impulse:
                assert there == kicks
            else:
                assert there == (set(CONTROLLERS) if task == "swing" else set(CONTROLLERS) - kicks)
            for name in there:
                one = found.rate(name, what.name, task)
                assert one.count == mixes_for(name, found.mixes)


def test_what_is_learned_is_told(found):
    # after a negative torque and after a positive one
    assert found.memory["dp per table"] == 2 * 4 * LITTLE.grid**4
    assert found.memory["dp"] == len(found.tables.ours) * 2 * 4 * LITTLE.grid**4
    assert found.memory["dp_thesis"] == 8 * LITTLE.thesis_grid**4
    # two inputs, 20 hidden units and three outputs, each unit with its own constant
    assert found.memory["committee"] == 8 * LITTLE.members * (2 * 20 + 20 + 20 * 3 + 3)
    assert all(value >= 0 for value in found.seconds.values())


def test_energy_control_does_what_the_thesis_says_of_it(found):
    # it needs no training, so that it is as good here as ever
    assert all(found.scope["energy"][what].done for what in ("swing-up", "ladder", "rope"))
    for off in ("torque ±10 %", "friction not trained for", "sensor noise"):
        one = found.rate("energy", off)
        assert one.good == one.count
    assert found.runs["energy", "swing"].swing.residual < 1.0


def test_impulses_do_neither_swing_up_nor_climb(found):
    for name in ("impulse", "committee"):
        assert not found.scope[name]["swing-up"].done
        assert not found.scope[name]["ladder"].done
    assert "swings of 0.55 m caught in 6 s" in found.scope["dp"]["rope"].told


def test_scope_of_impulses_is_tried():
    # a robot that hangs in arm's reach of nothing else does not move without torque; nor does it get far on a ladder
    assert not impulse_up("brachiator", Impulse(size=0.0)).done
    assert impulse_on_ladder("brachiator", Impulse(size=0.0)).told == "0 of 4 bars further"
    good = next(
        one for one in (Impulse(begin=begin, size=10.0, length=0.027) for begin in (0.0, 0.005, 0.01))
        if nominal("brachiator", "swing", one).caught
    )  # fmt: skip
    assert impulse_on_ladder("brachiator", good).told == "1 of 4 bars further"


def test_rates_and_queries_are_the_same_for_the_same_seed(found):
    acting = makers(found.tables, found.answers)
    what = next(one for one in DISTURBANCES if one.name == "all of it")
    for name in ("dp", "impulse", "energy"):
        again = rate("brachiator", name, acting[name], what, "swing", found.mixes, found.seed)[0]
        assert json.dumps(again.to_dict()) == json.dumps(found.rate(name, "all of it").to_dict())
    other = rate("brachiator", "energy", acting["energy"], what, "swing", found.mixes, found.seed + 5)[0]
    assert other.time != found.rate("energy", "all of it").time
    again = queried(found.impulses, "committee")
    assert again == found.queries["committee"]
    assert np.array_equal(again.ends, found.queries["committee"].ends, equal_nan=True)


def test_learning_is_the_same_for_the_same_seed_and_another_for_another():
    effort = replace(LITTLE, grid=8, thesis_grid=8, thesis_sweeps=2, trials=2000, members=1)
    quiet = lambda *_: None  # noqa: E731 - said three times below
    made = [learned.learn_impulses("brachiator", effort, seed, quiet) for seed in (1, 1, 2)]
    answers = [(one.good.best(-0.5, 0.5).tolist(), one.nets.predict(np.array([[-0.5, 0.5]])).tolist()) for one in made]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2]


def test_the_record_is_json_and_has_every_part(found):
    content = found.to_dict()
    json.dumps(content)
    assert content["parameters"]["L1"] == found.tables.robot.values["L1"]
    assert {"runs", "scope", "rates", "torque", "queries", "memory_bytes", "seconds", "seed"} <= set(content)
    assert set(content["controllers"]) == set(CONTROLLERS)
    assert "seconds" not in found.to_dict(seconds=False)


def test_mixes_that_cannot_start_are_counted_apart():
    what = Disturbance("bars", {"spacing": (0.6, 0.85), "behind": (0.55, 0.55)})
    never = Disturbance("far bars", {"spacing": (0.85, 0.9), "behind": (0.55, 0.55)})
    kick = makers(None, {"impulse": Impulse(size=1.0)})["impulse"]
    one, trials = rate("brachiator", "impulse", kick, what, "swing", 12, 0)
    assert one.count == sum(trial.count for trial in trials)
    assert one.count + sum(one.to_dict()["reasons"].values()) == 12
    assert 0 < one.count < 12
    none, _ = rate("brachiator", "impulse", kick, never, "swing", 3, 0)
    assert (none.good, none.count, sum(none.reasons.values())) == (0, 0, 3)
    assert math.isnan(none.interval[0])
    assert none.interval[1:] == (0.0, 1.0)


def test_a_run_that_fails_is_shown_with_its_status():
    system = put("brachiator", ladder(0.55, 3))

    def fails(t, state, mode, memory):
        raise ValueError("no torque")

    one = shown(system, fails, 1.0)
    assert not one.caught
    assert one.told == "not caught: the controller raised an error at 0 s"


def test_a_comparison_travels(found):
    there = pickle.loads(pickle.dumps(found))
    assert there == found
    assert copy.deepcopy(found) == found
    assert json.dumps(there.to_dict()) == json.dumps(found.to_dict())
    assert there != replace(found, seed=found.seed + 1)


# -- what is counted ------------------------------------------------------------------------------


@given(st.integers(1, 400), st.data())
@settings(max_examples=30, deadline=None)
def test_intervals_of_rates_are_wilsons(count, data):
    good = data.draw(st.integers(0, count))
    share, low, high = Rate("dp", "torque ±10 %", "swing", good, count, 1.0, 0.1).interval
    right = binomtest(good, count).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((right.low, right.high), abs=1e-9)
    assert share == good / count
    assert (share, low, high) == wilson_interval(good, count)


def test_torque_of_a_square_wave():
    # 10 Hz for two seconds, 5 N m to either side: a switch and a reversal every 50 ms, by 10 N m
    lengths, inputs = np.full(40, 0.05), 5.0 * np.tile([1.0, -1.0], 20)
    made = measured(lengths, inputs, limit=10.0)
    assert made == TorqueUse(mean=5.0, switches=39 / 2, reversals=39 / 2, chatter=38 / 2, variation=39 * 10 / 2)


@pytest.mark.parametrize(("length", "chatter"), [(0.06, 38), (0.061, 0), (0.25, 0)])
def test_reversals_that_are_far_apart_are_no_chatter(length, chatter):
    made = measured(np.full(40, length), 5.0 * np.tile([1.0, -1.0], 20), limit=10.0)
    assert made.reversals == pytest.approx(39 / (40 * length))
    assert made.chatter == pytest.approx(chatter / (40 * length))


def test_zeros_between_are_no_reversal_and_small_steps_no_switch():
    made = measured(np.full(5, 0.2), np.array([5.0, 0.0, 5.0, 5.05, -5.0]), limit=10.0)
    assert made.reversals == 1.0
    assert made.switches == 3.0
    assert made.variation == pytest.approx(5 + 5 + 0.05 + 10.05)
    with pytest.raises(InputError, match="not zero"):
        measured(np.zeros(0), np.zeros(0), limit=10.0)


def test_torque_of_an_impulse_is_that_of_its_product():
    one = nominal("brachiator", "swing", Impulse(begin=0.1, size=-4.0, length=0.2))
    assert one.torque.mean * (one.end - one.swing.start) == pytest.approx(0.8, rel=1e-6)
    assert one.torque.switches * (one.end - one.swing.start) == pytest.approx(2.0)
    assert one.torque.reversals == 0.0


def test_errors_of_impulses_are_those_of_their_mix_and_within_bounds():
    right = Impulse(begin=0.2, size=9.5, length=0.1)
    wrong = Wrong(right, 0.05, 0.0, seed=3)
    made = [wrong(None, number) for number in range(200)]
    assert made == [wrong(None, number) for number in range(200)]
    begins, lengths = np.array([one.begin for one in made]), np.array([one.length for one in made])
    for values, meant in ((begins, 0.2), (lengths, 0.1)):
        off = np.abs(values / meant - 1).max()
        assert off <= 0.05 < 1.2 * off
    assert {one.size for one in made} == {9.5}


def test_what_would_come_before_letting_go_is_lost():
    right = Impulse(begin=0.004, size=10.0, length=0.03)
    made = [Wrong(right, 0.0, 0.015, seed=3)(None, number) for number in range(400)]
    ends = np.array([one.begin + one.length for one in made])
    # its end is early and late alike; its begin is never before letting go
    assert ends.min() == pytest.approx(0.019, abs=5e-4)
    assert ends.max() == pytest.approx(0.049, abs=5e-4)
    assert min(one.begin for one in made) == 0.0
    assert Wrong(replace(right, begin=0.0, length=0.001), 0.0, 0.015, seed=3)(None, 0).length >= 0.0
    # both hands hold still whatever the motor does: letting go too late is the same
    early = next(one for one in made if one.begin == 0.0)
    assert early.length < right.length


def test_the_size_of_an_impulse_is_off_to_both_sides_even_at_the_limit(found):
    what = next(one for one in DISTURBANCES if one.of_size)
    (mixes,) = what.mixes(300, 0)
    gains = mixes.draw()["torque_gain"]
    assert gains.min() < 0.91
    assert gains.max() > 1.09
    assert makers(found.tables, found.answers)["impulse"](what, mixes, "swing") == found.answers["impulse"]


def test_a_begin_of_which_a_share_is_nothing_is_told():
    what = next(one for one in DISTURBANCES if one.timing)
    assert timing_note(what, Impulse(begin=0.004)) == "5% of its begin is 0.2 ms"
    assert timing_note(what, Impulse(begin=0.03)) == ""
    late = next(one for one in DISTURBANCES if one.late)
    assert timing_note(late, Impulse(begin=0.0)) == "what would come before letting go is lost"
    assert timing_note(late, Impulse(begin=0.02)) == timing_note(late, None) == ""


def test_an_impulse_has_one_forward_swing(found):
    for name in KICKED:
        assert found.runs[name, "swing"].run.end_time <= FORWARD
        what = next(one for one in DISTURBANCES if one.name == "torque ±10 %")
        _, (trials,) = rate("brachiator", name, makers(found.tables, found.answers)[name], what, "swing", 2, 0)
        assert trials.batch.options["until"] == FORWARD


def test_starts_are_off_by_one_to_five_centimetres_to_either_side():
    what = next(one for one in DISTURBANCES if one.name.startswith("start"))
    off = np.concatenate([mixes.draw()["start_offset"] for mixes in what.mixes(101, 0)])
    assert len(off) == 101
    assert (np.abs(off) >= 0.01).all()
    assert (np.abs(off) <= 0.05).all()
    assert (off > 0).sum() == 51


def test_required_energy_is_that_of_rest_at_the_bar(found):
    run = found.runs["energy", "swing"].run
    # at the start it rests between bars, as far apart as they are ahead; its mirror image has the same energy
    assert rest_energy(run.system, -0.55) == pytest.approx(float(run.samples.potential[0]), abs=1e-9)


def test_ends_over_starts_have_a_row_for_each_start(found):
    for name, one in found.queries.items():
        assert one.starts == tuple(STARTS[name])
        assert one.ends.shape == (len(one.starts), len(TARGETS))
        assert one.starts[one.row(-0.55)] == -0.55
        assert one.count == one.ends.size
        assert 0 <= one.good <= one.count
        # those that are right on time, early and late
        assert one.count_off == 2 * one.good
        assert 0 <= one.good_off <= one.count_off
        assert 0 <= one.slight <= one.count_off
    assert STARTS["committee"] == pytest.approx(np.arange(-60, -39) / 100)
    assert pytest.approx([0.4, 0.425, 0.45, 0.475, 0.5, 0.525, 0.55]) == TARGETS


def test_nets_learn_from_trials_of_least_force(found):
    soft, force = found.impulses.soft, found.impulses.trials.force[found.impulses.trials.reached]
    assert len(soft) < found.impulses.kept
    assert np.median(soft.force) < np.median(force)


def test_other_distances_are_left_out_where_hands_do_not_reach():
    effort = replace(LITTLE, others=(0.50, 0.60, 0.9))
    names = [name for name, *_ in _wanted(find_robot("brachiator"), effort, 0)]
    assert names[:6] == [f"{hand} to {away:g} m" for away in (0.55, 0.50, 0.60) for hand in "AB"]
    assert len(names) == 10


# -- tables and figures ---------------------------------------------------------------------------


def test_tables_have_the_thesis_beside_ours(found):
    columns, rows = summary(found)
    named = {row[0]: row[1:] for row in rows}
    assert len(columns) == 4
    assert named["residual, swing of 0.55 m"][0].startswith("7 J | ")
    assert named["mean torque, swing"][2].startswith("8.07 N m | ")
    assert named["the same with a torque cost"][0].startswith("3.33 N m | ")
    assert named["rope"][1].startswith("yes | ")
    columns, rows = rates(found)
    assert all(len(row) == len(columns) for row in rows)
    assert [row[2] for row in rows if row[0].startswith("impulse")] == ["-"] * 3
    assert columns[2:4] == ("DP (4)", "DP, thesis (2)")


def _missed(one):
    """The same run as if it had not been caught."""
    return replace(one, swing=replace(one.swing, caught=False, residual=None))


def test_what_was_not_caught_is_told_so_and_is_never_a_number(found, of_tables, of_impulses):
    runs = {key: _missed(one) if one.swing else one for key, one in found.runs.items()}
    missed = replace(found, runs=runs)
    named = {row[0]: row[1:] for row in summary(missed)[1]}
    assert all("N m, not caught" in cell for cell in named["mean torque, swing"])
    assert "N m, not caught" in named["the same with a torque cost"][0]
    empty = {"committee": replace(of_impulses.queries["committee"], good=0, count_off=0, good_off=0, residual=None)}
    told = [
        *(number for each in (found, missed) for number in comparison.numbers(each)), *tables.numbers(of_tables),
        *impulses.numbers(of_impulses),
        *impulses.numbers(replace(of_impulses, queries={**of_impulses.queries, **empty})),
    ]  # fmt: skip
    cells = [
        cell for each in (found, missed) for table in (summary(each), rates(each)) for row in table[1] for cell in row
    ]
    cells += [text for one in told for text in (_shown(one.corrected, one.unit), one.note)]
    assert not [cell for cell in cells if "nan" in cell.replace("nance", "")]
    for one in comparison.numbers(missed):
        if "caught," in one.what or "residual" in one.what:
            assert one.verdict == "not reproducible"


def test_back_at_the_bar_that_it_left_is_not_caught(found):
    one = found.runs["energy", "swing"]
    back = replace(one, swing=replace(one.swing, bar=0))
    assert one.caught
    assert not back.caught
    assert back.time is back.residual is None
    assert back.told.startswith("not caught, but back at the bar that it left")


def test_torques_are_drawn_up_to_the_limit_of_the_motor():
    strong = find_robot("brachiator").with_parameters(torque_limit=20.0)
    one = nominal(strong, "swing", Impulse(size=15.0))
    assert swing_figure("torque", {"strong": one}, 0.55, "").axes[0].get_ylim() == (-22.0, 22.0)


def test_every_figure_is_there(found):
    made = comparison_figures(found)
    wanted = [f"figure-7.{k}" for k in (*range(3, 15), 17, 18, *range(20, 26))]
    assert set(wanted) | {"rates", "torques"} == set(made)
    for name in wanted:
        figure, caption = made[name]
        assert figure.axes
        assert caption.startswith(f"Figure {name.removeprefix('figure-')}")
    free = found.runs["free_thesis", "swing-up"]
    assert f"Thesis' recipe: {free.told}" in made["figure-7.3"][1]
    assert found.runs["committee", "swing"].told in made["figure-7.25"][1]


# -- chapters of the thesis -----------------------------------------------------------------------


def test_chapters_give_numbers_corrections_and_drawings(found, of_tables, of_impulses):
    for chapter, each in ((tables, of_tables), (impulses, of_impulses), (comparison, found)):
        numbers, corrections = chapter.CHAPTER.numbers(each), chapter.CHAPTER.corrections(each)
        drawings = chapter.CHAPTER.drawings(each)
        assert numbers
        assert all(one.verdict in VERDICTS for one in (*numbers, *corrections, *drawings))
        assert all(isinstance(one, Drawing) and one.figure.axes for one in drawings)
        whats = [(one.where, one.what) for one in numbers]
        assert len(whats) == len(set(whats))
    names = [one.name for one in (*tables.drawings(of_tables), *impulses.drawings(of_impulses))]
    assert names == [f"figure-7.{k}" for k in (*range(3, 15), 17, 18, *range(20, 26))]


def test_words_of_the_thesis_and_what_they_claim():
    assert said("sensor noise", "impulses") is False
    assert said("torque ±10 %", "energy") is True
    assert said("impulse begun ±15 ms", "impulses") is None
    assert printed("impulse begun ±15 ms", "impulses") == "-"


@pytest.mark.parametrize(
    ("claim", "good", "done", "own", "verdict"),
    [
        (False, 10, True, True, "reproduced"),
        (False, 97, True, True, "not reproducible"),
        (False, 97, True, False, "corrected"),
        (False, 96, True, False, "reproduced"),
        (True, 97, True, False, "reproduced"),
        # it fails with nothing off too
        (False, 10, False, True, "not reproducible"),
        (False, 10, False, False, "not reproducible"),
        (None, 10, False, False, "not reproducible"),
        (None, 10, True, False, "corrected"),
    ],
)
def test_robustness_is_judged_by_one_threshold_and_only_of_who_does_it(claim, good, done, own, verdict):
    assert chapter_of.robustness(claim, good, 100, done=done, own=own) == verdict


def test_chapters_do_not_contradict_each_other(found, of_tables):
    words = {"the thesis' recipe": "thesis' recipe", "ours": "ours"}
    there = {(one.what, one.corrected): one.verdict for one in tables.numbers(of_tables)}
    seen = 0
    for one in comparison.numbers(found):
        off, _, rest = one.what.partition(", ")
        if off not in tables.OFF or "dynamic programming" not in rest:
            continue
        task, way = rest.partition(":")[0], rest.rpartition("dynamic programming, ")[2]
        assert there[f"{off}: {task}s caught, {words[way]}", one.corrected] == one.verdict
        seen += 1
    assert seen == 12


def test_figures_are_reproduced_only_as_published(of_tables):
    ours = of_tables.runs["stopped"]["ours"]

    def verdict(time, caught=True):
        swing = replace(ours.swing, caught=caught, time=time)
        own = replace(ours, swing=swing)
        runs = {**of_tables.runs, "stopped": {"thesis": own, "ours": replace(ours, swing=replace(swing, caught=True))}}
        return tables._verdict(replace(of_tables, runs=runs), "stopped")

    assert verdict(8.5) == "reproduced"
    assert verdict(1.3) == "corrected"
    assert verdict(8.5, caught=False) == "corrected"


def test_a_mean_torque_that_fits_is_not_reproduced_without_a_catch(of_tables):
    one = _missed(of_tables.runs["swing"]["ours"])
    one = replace(one, torque=replace(one.torque, mean=5.99))
    runs = {**of_tables.runs, "swing": {"thesis": one, "ours": one}}
    told = [n for n in tables.numbers(replace(of_tables, runs=runs)) if "mean size" in n.what][:2]
    assert [n.verdict for n in told] == ["not reproducible"] * 2
    assert [n.corrected for n in told] == ["5.99 N m, not caught"] * 2


def test_what_is_read_off_curves(found):
    one = found.runs["energy", "swing"]
    # a soft catch: hardly above rest at the bar, hardly moving
    assert abs(catches.above_required(one, 0.55)) < catches.leeway(one)
    assert abs(catches.hand_rate(one)) < 60.0
    assert catches.turns(one) == []
    assert catches.hand_rate(_missed(one)) is None
    assert catches.parted(one, one, 0.5) == pytest.approx(one.end, abs=2e-3)
    other = found.runs["impulse", "swing"]
    assert 0 < catches.parted(one, other, 0.5) < one.end


def test_a_robot_at_the_bar_cannot_stay(of_tables):
    absorbing = next(one for one in tables.corrections(of_tables) if "future" in one.where)
    told = float(absorbing.by_printed.split(" with ")[1].split(" N m")[0])
    # the moment of both weights about the hand that holds, by places of the centres of mass
    p = of_tables.tables.robot.values
    bend = math.acos(0.275 / 0.4)
    first, second = 0.2 * math.cos(bend), 0.55 - 0.2 * math.cos(bend)
    assert told == pytest.approx(p["g"] * (p["m1"] * first + p["m2"] * second), abs=6e-3)


# -- the verb, and bad input ----------------------------------------------------------------------


def _run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_the_verb_writes_json_and_figures(capsys, tmp_path, monkeypatch, found):
    monkeypatch.setattr("saltus.studies.compare_controllers", lambda *_, **__: found)
    drawn = {"rates": (rates_figure(found), "Rates.")}
    monkeypatch.setattr("saltus.studies._compare_figures.comparison_figures", lambda _: drawn)
    code, out, _ = _run(capsys, "compare", "brachiator", "--mixes", "4", "--json", "--out", str(tmp_path))
    assert code == 0
    told = json.loads(out)
    assert told["seed"] == learned.SEED
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"brachiator-compare{end}" for end in (".json", "-rates.png", "-rates.svg")}
    assert set(told["files"]) == {str(path) for path in tmp_path.iterdir()}
    page = tmp_path / "page.html"
    code, out, _ = _run(capsys, "compare", "brachiator", "--out", str(tmp_path), "--report", str(page))
    assert code == 2  # what is there is not lost
    assert not page.exists()
    words = ("--out", str(tmp_path), "--report", str(page), "--force")
    code, out, _ = _run(capsys, "compare", "brachiator", *words)
    assert code == 0
    assert "thesis | ours" in out
    assert "torque ±10 %" in out
    assert "Rates." in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hopper",), "swing from bars"),
        (("brachiatr",), "brachiator"),
        (("brachiator", "--mixes", "0"), "mixes is a whole number from 2"),
        (("brachiator", "--grid", "2"), "grid is a whole number of at least 8"),
        (("brachiator", "--seed", "-1"), "seed is a whole number from 0"),
        (("brachiator", "--trials", "10"), "trials is a whole number of at least 2000"),
        (("brachiator", "--out", "/dev/null"), "not a folder"),
        (("brachiator", "--out", "/proc"), "cannot write"),
        (("brachiator", "--report", "/proc/page.html"), "cannot write"),
        (("brachiator", "--set", "L1=0.3", "--set", "L2=0.3"), "places 0.4 to 0.6 m away"),
        (("brachiator", "--set", "elbow_stop=100deg"), "can be from"),
    ],
)
def test_bad_words_are_refused_before_any_work(capsys, monkeypatch, tmp_path, words, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = _run(capsys, "compare", *words)
    assert code == 2
    assert message in err


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="effort is a"):
        compare_controllers(effort=12)
    with pytest.raises(InputError, match="members is a whole number of at least 1"):
        Effort(members=0)
    with pytest.raises(InputError, match="seed"):
        compare_controllers(seed=1.5)


def test_a_grid_too_large_is_refused_before_any_work(capsys, monkeypatch):
    monkeypatch.setattr("saltus.optimize._memory.available", lambda: 1e18)
    code, _, err = _run(capsys, "compare", "brachiator", "--grid", "300")
    assert code == 2
    assert "8.1e+09" in err
    monkeypatch.setattr("saltus.optimize._memory.available", lambda: 1e6)
    code, _, err = _run(capsys, "compare", "brachiator", "--grid", "50")
    assert code == 2
    assert "needs 0.051 GB, and 0.001 GB are available" in err
