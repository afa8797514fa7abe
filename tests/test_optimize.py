"""Optimisation: searches that begin anew and go on, and what their best is really worth."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from records import reworded

import saltus
from saltus import Figures, optimize, robots
from saltus.control import Compiled, Constant, Schedule
from saltus.errors import InputError
from saltus.optimize import Problem, Robustness, Stage, Trial
from saltus.optimize._search import judged_as_whole
from saltus.optimize.problems._sure import SIGHT, aimed

EXAMPLES = Path(__file__).parents[1] / "examples"


def height(moment, t, before, after, old, new, guard, p, out):
    """The angle at the end."""
    if moment == 2:
        out[0] = before[0]
    return 0


HIGHEST = Figures(["highest"], height)


@pytest.fixture
def problem():
    """Push a pendulum and let it go: the best is the largest torque, from the highest start."""
    pendulum = robots.pendulum()

    def trial(values):
        push = Schedule.steps((0.0, values["time"]), (values["torque"], 0.0))
        return Trial({"theta": values["theta"]}, push)

    return Problem(
        "swing up",
        pendulum,
        {"theta": (-0.5, 0.5), "torque": (0.0, 0.2), "time": (0.01, 0.1)},
        trial,
        lambda values: max(0.0, -values["theta"]),
        lambda batch: batch["highest"],
        HIGHEST,
        "highest",
        0.2,
        stages=(Stage(("torque",), lambda batch: batch["highest"], HIGHEST, 0.1, patience=5),),
    )


def test_the_best_is_at_the_bounds(problem):
    best = optimize.search(problem, runs=12_000, seed=1)
    assert best.values["theta"] == pytest.approx(0.5, abs=5e-3)
    assert best.values["torque"] == pytest.approx(0.2, abs=5e-3)
    assert best.score == pytest.approx(problem.figures(problem.run(problem.trial(best.values)))["highest"], abs=1e-5)
    again = optimize.search(problem, runs=12_000, seed=1)
    assert again.values == best.values
    assert [row[2] for row in best.history] == sorted(row[2] for row in best.history)


def test_a_search_goes_on_from_its_file(problem, tmp_path):
    file = tmp_path / "best.json"
    first = optimize.search(problem, runs=4000, file=file)
    assert json.loads(file.read_text())["score"] == first.score
    second = optimize.search(problem, runs=2000, file=file, resume=True)
    assert second.score >= first.score
    assert second.runs >= first.runs + 2000
    assert optimize.read_best(problem, file).values == pytest.approx(second.values)


def test_a_search_that_is_soon_over_tells_what_it_has(problem, tmp_path):
    best = optimize.search(problem, runs=1, file=tmp_path / "best.json")
    assert best.score == problem.scores(best.unit[None])[0]
    assert (tmp_path / "best.json").exists()


def test_what_a_search_refuses(problem, tmp_path):
    with pytest.raises(InputError, match="no file to go on from"):
        optimize.search(problem, runs=100, file=tmp_path / "none.json", resume=True)
    for text in ("{", "{}", "[]", json.dumps({"problem": "swing up", "values": {"theta": "x"}})):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match="cannot go on"):
            optimize.read_best(problem, tmp_path / "bad.json")
    with pytest.raises(InputError, match="positive time"):
        optimize.search(problem, seconds=0.0)
    with pytest.raises(InputError, match="positive time"):
        optimize.search(problem)
    with pytest.raises(InputError, match="finite bounds"):
        Problem(
            "none", problem.robot, {"a": (1.0, 0.0)}, problem.trial, problem.lacks, problem.judge, HIGHEST, "a", 1.0
        )


def test_another_problems_file_is_refused(problem, tmp_path):
    optimize.search(problem, runs=4000, file=tmp_path / "best.json")
    reworded(tmp_path / "best.json", problem="another")
    with pytest.raises(InputError, match="a search for another"):
        optimize.read_best(problem, tmp_path / "best.json")


def test_a_file_with_other_parameters_or_wrong_numbers_is_refused(problem, tmp_path):
    file = tmp_path / "best.json"
    optimize.search(problem, runs=4000, file=file)
    content = json.loads(file.read_text())
    name = next(iter(content["parameters"]))
    other = replace(problem, robot=problem.robot.with_parameters(**{name: 2 * content["parameters"][name]}))
    with pytest.raises(InputError, match="other parameters"):
        optimize.search(other, runs=10, file=file, resume=True)
    far = {"values": {**content["values"], "theta": 9.0}}
    odd = ({"runs": "a"}, {"runs": -5}, {"seconds": None}, {"seconds": math.inf}, {"runs": 10**400}, {"runs": math.inf})
    for change in (*odd, {"values": []}, {"history": [[0, 1]]}, far):
        reworded(file, **{**content, **change})
        with pytest.raises(InputError, match="cannot go on"):
            optimize.read_best(problem, file)


def test_what_is_not_clean_is_not_gone_on_from(problem, tmp_path):
    file = tmp_path / "best.json"
    drawn = np.random.default_rng(0).random((200, len(problem.variables)))
    rough = next(one for one in (judged_as_whole(problem, unit) for unit in drawn) if not one.clean)
    rough.save(file)
    assert not optimize.read_best(problem, file).clean
    assert optimize.search(problem, runs=6000, file=file, resume=True).clean


def test_a_search_that_goes_on_loses_nothing(tmp_path):
    jump = optimize.find_problem("jump", reading="until-impact")
    file = tmp_path / "best.json"
    first = optimize.search(jump, runs=3600, seed=0, file=file)
    assert first.clean == optimize.verdict(jump, jump.trial(first.values)).clean
    again = optimize.search(jump, runs=200, seed=0, file=file, resume=True)
    assert not first.better_than(again)
    assert json.loads(file.read_text())["score"] == again.score


def test_a_search_has_something_on_disk_before_it_has_anything_clean(tmp_path):
    jump = optimize.find_problem("jump", reading="strict")
    file = tmp_path / "best.json"

    def stop(now):
        if file.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize.search(jump, seconds=600.0, seed=0, file=file, progress=stop)
    best = optimize.read_best(jump, file)
    assert best.clean == json.loads(file.read_text())["clean"]


def test_a_file_is_not_believed_but_judged(problem, tmp_path):
    file = tmp_path / "best.json"
    best = optimize.search(problem, runs=4000, file=file)
    reworded(file, score=99.0, clean=False)
    again = optimize.read_best(problem, file)
    assert (again.score, again.clean) == (best.score, best.clean)


def test_a_file_that_was_edited_is_refused(problem, tmp_path):
    file = tmp_path / "best.json"
    optimize.search(problem, runs=4000, file=file)
    content = json.loads(file.read_text())
    for change in ({"values": {**content["values"], "theta": 0.0}}, {"history": []}, {"digest": None}):
        file.write_text(json.dumps({**content, **change}))
        with pytest.raises(InputError, match="its numbers are not those that were written"):
            optimize.read_best(problem, file)
    file.write_text(json.dumps(dict(reversed(content.items()))))  # another layout says the same
    assert optimize.read_best(problem, file).runs == content["runs"]


# -- the hopper's jump ----------------------------------------------------------------------------------


def test_the_papers_jump_is_judged():
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = robots.hopper().profiles["paper"].controller
    told = optimize.verdict(jump, Trial({}, paper))
    assert told.value == pytest.approx(0.125418416157, abs=1e-9)
    assert told.error < 1e-10
    assert set(told.margins) == {"posture", "folded", "Q_above_P", "R_above_Q"}
    # the line from foot to head leans by more than 60 degrees when it lands, as the margin says
    assert (min(told.margins.values()) < 0) == bool(told.broken)
    assert told.clean == (not told.broken)


def test_a_jump_that_did_not_come_to_its_end_has_no_value():
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = Trial({}, robots.hopper().profiles["paper"].controller)
    soon = optimize.verdict(replace(jump, until=0.36), paper)
    assert (soon.value, soon.clean) == (None, False)
    assert soon.to_dict()["status"] == "finished"


def test_a_start_out_of_posture_breaks_a_rule_from_the_start():
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = robots.hopper().profiles["paper"].controller
    # the head is below the knee
    start = {"theta1": math.radians(109), "theta2": math.radians(-111)}
    told = optimize.verdict(jump, Trial(start, paper))
    assert told.broken["R_above_Q"] == 0
    assert not told.clean
    assert jump.figures(told.run)["t_violation"] == 0
    starts = {name: [value] for name, value in start.items()}
    batch = saltus.simulate_many(jump.robot, starts, controllers=[paper], until=1.0, figures=jump.figures)
    assert np.isnan(jump.lengths(batch)[0])


def test_a_start_that_is_not_allowed_is_not_run():
    jump = optimize.find_problem("jump")
    values = {name: 0.5 * (low + high) for name, (low, high) in jump.variables.items()}
    assert jump.lacks({**values, "theta1": math.radians(90), "theta2": 0.0}) == 0
    assert jump.lacks({**values, "theta1": math.radians(10), "theta2": 0.0}) == pytest.approx(math.radians(20))
    scores = jump.scores(np.array([jump.unit({**values, "theta1": math.radians(10), "theta2": 0.0})]))
    assert scores[0] < -20


def test_a_push_is_found_that_leads_far():
    # the first stage alone
    jump = optimize.find_problem("jump", reading="until-impact")
    stage = jump.stages[0]
    first = Problem(
        "push", jump.robot, {name: jump.variables[name] for name in stage.names},
        lambda values: jump.trial({**dict.fromkeys(jump.variables, 0.1), **values}), jump.lacks, stage.judge,
        stage.figures, "lifted", stage.until, stages=(replace(stage, tries=1),),
    )  # fmt: skip
    # nine of ten searches come there; which ones, the last bits of NumPy decide, and these depend on the processor
    assert any(optimize.search(first, runs=9_000, seed=seed).score > 0.6 for seed in (3, 4, 5))


def test_what_lands_again_farther_back_counts():
    # by the paper's rule the first contact after the landing decides; what comes down later is seen by the judge
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = robots.hopper().profiles["paper"].controller
    figures = jump.figures(jump.run(Trial({}, paper)))
    assert figures["x_back"] == figures["x_end"]
    bouncing = optimize.find_problem("jump", robots.hopper(e_n=0.6), "until-impact")
    figures = bouncing.figures(bouncing.run(Trial({}, paper)))
    assert figures["x_back"] <= figures["x_end"]


# -- mixes ----------------------------------------------------------------------------------------------


def test_mixes_are_drawn_within_their_bounds():
    hopper = robots.hopper()
    mixes = optimize.Mixes({"mu": 0.1, "gain": 0.02}, {"theta1": 0.01}, count=500, seed=3, size=2.0)
    values, amounts = mixes.draw(hopper)
    assert values["mu"][0] == hopper.values["mu"]
    assert amounts["theta1"][0] == 0
    assert 0.18 < np.abs(values["mu"] / hopper.values["mu"] - 1).max() <= 0.2
    assert 0.035 < np.abs(values["gain"] - 1).max() <= 0.04
    assert 0.018 < np.abs(amounts["theta1"]).max() <= 0.02
    other, _ = mixes.held_out(500).draw(hopper)
    assert not set(other["mu"][1:]) & set(values["mu"][1:])
    for wrong in (optimize.Mixes({"nu": 0.1}), optimize.Mixes({}, {"theta9": 0.1})):
        with pytest.raises(InputError, match="unknown"):
            wrong.draw(hopper)
    with pytest.raises(InputError, match="positive count"):
        optimize.Mixes(count=0)


def test_even_mixes_fill_their_box():
    hopper = robots.hopper()
    mixes = optimize.Mixes({"mu": 0.1, "gain": 0.02}, count=64)
    values, _ = mixes.draw(hopper)
    shares = [(values[name][1:] / hopper.values[name] - 1) / share for name, share in mixes.shares.items()]
    # in each of 8 by 8 cells one
    cells = np.floor(4 * (1 + np.array(shares).T)).astype(int)
    assert {tuple(cell) for cell in cells.tolist()} == {(a, b) for a in range(8) for b in range(8)}
    assert not mixes.held_out().evenly


def aim(t, x, status, memory, p, data, piece, u, request):
    u[0] = 30.0 * (aimed(x, p, data[0], data[1], 0.05) - x[3]) - 0.35 * x[7]
    return 0


@pytest.mark.parametrize(
    ("parameters", "knee", "place"),
    [
        ({}, 0.0, 0.53),
        ({}, 0.0, 0.55),
        ({}, 0.5, 0.50),
        ({}, 0.5, 0.55),
        ({"m": 0.5, "l": 0.14}, 0.0, 0.55),
        ({"m": 0.5, "l": 0.14}, 0.5, 0.50),
        ({"g": 8.0}, 0.0, 0.67),
        ({"g": 8.0}, 0.5, 0.62),
    ],
)
def test_a_flight_with_an_aim_comes_down_there(parameters, knee, place):
    hopper = robots.hopper(**parameters)
    start = {"y": 0.05, "theta1": 2.0, "theta2": -0.9, "dx": 1.3, "dy": 2.2, "dtheta1": 1.5}
    run = saltus.simulate(hopper, start, controller=Compiled(aim, data=(place, knee)), until=2.0)
    landed = next(event for event in run.events if event.guard == "P.touch").state_before
    assert landed["x"] == pytest.approx(place, abs=0.004)
    assert landed["theta2"] == pytest.approx(knee, abs=0.004)


def test_a_jump_by_what_is_seen_does_not_chatter_at_its_contacts():
    jump = optimize.find_problem("jump", reading="until-impact", mixes=1.0)
    random = np.random.default_rng(5)
    for _ in range(40):
        values = jump.values(random.random(len(jump.variables)))
        if jump.lacks(values) > 0:
            continue
        run = jump.run(jump.trial({**values, **dict.fromkeys(SIGHT, 0.0)}), max_events=80)
        assert run.status.name in ("terminal", "finished")


def test_a_long_jump_bears_the_mixes():
    jump = optimize.find_problem("jump", reading="until-impact", mixes=1.0)
    best = optimize.read_best(jump, EXAMPLES / "jump-that-bears-mixes.json")
    trial = jump.trial(best.values)
    told = optimize.verdict(jump, trial)
    assert told.clean
    assert told.value > 0.42
    kept = optimize.robustness(jump, trial, jump.mixes.held_out())
    assert kept.kept >= 0.9
    assert kept.fell < 0.06


def test_what_is_told_of_was_judged_under_all_mixes():
    jump = optimize.find_problem("jump", reading="until-impact", mixes=1.0)
    assert [stage.mixes for stage in jump.stages] == [16, 32]
    few = replace(jump, stages=(replace(jump.stages[0], drawn=600),))
    best = optimize.search(few, runs=1200, seed=3)
    assert best.score == pytest.approx(jump.scores(best.unit[None])[0], abs=1e-6)


def test_a_torque_gain_is_a_torque():
    hopper = robots.hopper()
    half = saltus.simulate(hopper, controller=Constant(1.0), parameters={"gain": 0.5}, until=0.05)
    same = saltus.simulate(hopper, controller=Constant(0.5), until=0.05)
    assert half.final["theta2"] == pytest.approx(same.final["theta2"], rel=1e-9)
    assert half.check().ok


def test_robustness_counts_what_is_kept():
    jump = optimize.find_problem("jump", reading="until-impact", mixes=1.0)
    paper = robots.hopper().profiles["paper"].controller
    kept = optimize.robustness(jump, Trial({}, paper), jump.mixes.held_out(60))
    assert kept.value == pytest.approx(0.125418416, abs=1e-6)
    assert len(kept.values) == 60
    good = np.nan_to_num(kept.values, nan=-1.0) >= 0.9 * kept.value
    assert kept.kept == good.mean()
    assert 0 <= kept.fell <= 1 - kept.kept


def test_on_the_command_line(call, tmp_path):
    words = ("optimize", "hopper", "--reading", "until-impact", "--seed", "4", "--out", "o")
    code, out, _ = call(*words, "--time", "3", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["integration_error"] is None or content["integration_error"] < 1e-6
    assert content["problem"] == "jump of hopper, until-impact"
    assert (tmp_path / content["file"]).exists()
    table = np.genfromtxt(tmp_path / content["file"].replace(".json", ".csv"), delimiter=",", names=True)
    assert np.abs(table["knee"]).max() <= 10.0
    code, _, error = call(*words, "--time", "2")
    assert code == 2
    assert "--resume" in error
    code, out, _ = call(*words, "--time", "2", "--resume", "--json")
    assert code == 0
    assert json.loads(out)["runs"] > content["runs"]
    code, out, _ = call("trade", "hopper", "--sizes", "1", "--time", "2", "--out", "t", "--json")
    assert code == 0
    assert json.loads(out)["points"][0]["size"] == 1
    assert (tmp_path / "t" / "trade.png").exists()
    kept = (tmp_path / "t" / "trade-1.json").read_bytes()
    code, _, error = call("trade", "hopper", "--sizes", "1", "--time", "3", "--out", "t")
    assert (code, "--resume" in error, "--force" in error) == (2, True, True)
    assert (tmp_path / "t" / "trade-1.json").read_bytes() == kept
    code, _, error = call("trade", "hopper", "--sizes", "1", "--time", "1", "--out", "t", "--resume", "--json")
    assert code == 0
    code, _, error = call(*words, "--resume", "--force")
    assert (code, "give one of them" in error) == (2, True)
    code, _, error = call("optimize", "hopper", "--set", "g=0")
    assert (code, "needs a gravity" in error) == (2, True)
    for words in (("--sizes", "a"), ("--sizes", "-1"), ("--time", "0")):
        assert call("trade", "hopper", *words)[0] == 2
    code, _, err = call("optimize", "pendulum")
    assert (code, "no problems" in err) == (2, True)
    code, _, err = call("optimize", "hopper", "--reading", "loose")
    assert (code, "strict" in err) == (2, True)


def test_a_size_whose_best_cannot_start_spoils_no_other(call, monkeypatch):
    def best(problem, **options):
        return SimpleNamespace(values=problem.values(np.full(len(problem.variables), 0.5)))

    def kept(problem, trial, mixes):
        if problem.mixes.size < 1:
            raise InputError("its hand is below the ground")
        return Robustness(0.1, np.array([0.1, math.nan]), 0.9, {1: "y is 1 m below"})

    monkeypatch.setattr(optimize, "search", best)
    monkeypatch.setattr(optimize, "robustness", kept)
    words = ("trade", "hopper", "--time", "1", "--out", "t", "--json", "--sizes")
    code, out, _ = call(*words, "0.5,1")
    content = json.loads(out)
    assert code == 0
    assert [point["size"] for point in content["points"]] == [1]
    assert (content["points"][0]["not_started"], content["points"][0]["reasons"]) == (1, {"y is 1 m below": 1})
    assert content["not_started"] == [{"size": 0.5, "reason": "its hand is below the ground"}]
    code, _, error = call(*words, "0.25,0.5", "--report", "page.html")
    assert code == 2
    assert "none of 2 sizes have a motion that can start; 2: its hand is below the ground" in error


def test_a_constant_torque_is_a_trial_too():
    jump = optimize.find_problem("jump")
    assert optimize.verdict(jump, Trial({}, Constant(0.0))).value is None
