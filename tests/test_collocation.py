"""Collocation: what it finds is made again by the simulator, and a bang-bang answer is known."""

import json
import math
import shlex
from dataclasses import replace

import casadi as ca
import pytest

import saltus
from saltus import optimize, robots
from saltus.cli._optimize import _Result
from saltus.control import Constant, Schedule
from saltus.errors import InputError
from saltus.optimize import Arc, Trial, collocate, cut


def test_the_largest_swing_is_all_the_torque_there_is():
    hopper = robots.hopper(g=0.0)
    start = {"y": 1.0, "theta1": math.pi / 2, "theta2": 0.0}
    guess = saltus.simulate(hopper, start, controller=Constant(1.0), until=0.05)
    found = collocate(
        hopper, [Arc("flight", 20, times=(0.05, 0.05))], guess, maximise=lambda begins, ends: ends[0][3],
        start={**dict.fromkeys(("x", "dx", "dy", "dtheta1", "dtheta2"), 0.0), **start},
    )  # fmt: skip
    assert found.solved
    assert found.violation < 1e-6
    most = saltus.simulate(hopper, start, controller=Constant(10.0), until=0.05)
    assert found.value == pytest.approx(most.final["theta2"], rel=1e-5)


def test_a_landing_is_made_again_by_the_simulator():
    hopper = robots.hopper(mu=0.1)
    # bent by 60 degrees at most
    bent = [ca.cos(hopper.mechanism.q[3]) - 0.5]
    start = {"y": 0.05, "theta1": math.radians(100), "theta2": math.radians(-30), "dx": 1.5}
    guess = saltus.simulate(hopper, start, controller=Constant(0.0), until=0.16)
    arcs = [replace(arc, times=(0.03, 0.12), keep=bent) for arc in cut(guess, 0.005, bent)]
    assert [arc.mode for arc in arcs] == ["flight", "slip+"]
    found = collocate(
        hopper, arcs, guess, maximise=lambda begins, ends: ends[-1][0],
        start={"x": 0.0, **start, "dy": 0.0, "dtheta1": 0.0, "dtheta2": 0.0}, smooth=1e-3,
    )  # fmt: skip
    assert found.violation < 1e-5
    length = sum(t[-1] - t[0] for t in found.times)
    again = saltus.simulate(hopper, found.start, controller=found.controller(), until=length)
    assert again.arc_modes[0] == "flight"
    assert again.final["x"] == pytest.approx(found.value, abs=1e-4)
    assert found.value > guess.final["x"] + 0.01


def test_what_collocation_refuses():
    hopper = robots.hopper()
    guess = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    with pytest.raises(InputError, match="goes through stick, slip-, flight"):
        collocate(hopper, [Arc("flight", 4)], guess, maximise=lambda begins, ends: ends[0][0], start={})
    bouncing = robots.hopper(e_n=0.5)
    run = saltus.simulate(bouncing, controller=hopper.profiles["paper"].controller, until=0.37)
    with pytest.raises(InputError, match="plastic impacts only"):
        collocate(bouncing, cut(run, 0.02), run, maximise=lambda begins, ends: ends[0][0], start={})


def test_a_motion_is_a_trial():
    hopper = robots.hopper()
    guess = saltus.simulate(hopper, {"y": 1.0}, controller=Constant(0.0), until=0.1)
    found = collocate(
        hopper, cut(guess, 0.05), guess, maximise=lambda begins, ends: -(ends[0][6] ** 2), start={"y": 1.0}
    )
    trial = Trial(found.start, found.controller())
    assert set(trial.start) == set(hopper.state_names)


def test_finer_intervals_begin_where_coarse_ones_ended():
    hopper = robots.hopper(g=0.0)
    start = {"y": 1.0, "theta1": math.pi / 2, "theta2": 0.0}
    guess = saltus.simulate(hopper, start, controller=Constant(1.0), until=0.05)
    told = {
        "maximise": lambda begins, ends: ends[0][3],
        "start": {**dict.fromkeys(("x", "dx", "dy", "dtheta1", "dtheta2"), 0.0), **start},
    }
    coarse = collocate(hopper, [Arc("flight", 20, times=(0.05, 0.05))], guess, **told)
    arcs = coarse.finer(0.00125)
    assert [arc.intervals for arc in arcs] == [40]
    ((t, x, u),) = coarse.sampled(arcs)
    again = saltus.simulate(hopper, coarse.start, controller=coarse.controller(), until=0.05)
    assert x[:, :4] == pytest.approx(again.at(t)[:, :4], abs=1e-3)
    assert u.shape == (40, 1)
    fine = collocate(hopper, arcs, coarse, **told)
    assert fine.solved
    assert fine.value == pytest.approx(coarse.value, rel=1e-4)
    with pytest.raises(InputError, match="other modes"):
        coarse.sampled([Arc("stick")])


def test_the_published_jump_leads_to_one_five_times_as_far():
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = Trial({}, robots.hopper().profiles["paper"].controller)
    told = optimize.verdict(jump, paper)
    motion = next(iter(jump.polish(told.run, 300.0)))
    assert motion.solved
    assert motion.value > 0.67


def test_a_polish_takes_only_what_is_better_and_clean():
    jump = optimize.find_problem("jump", reading="until-impact")
    paper = Trial({}, robots.hopper().profiles["paper"].controller)
    told = optimize.verdict(jump, paper)
    seen = []
    # so short that nothing is finished
    done = optimize.polish(jump, paper, told, 1.0, seen.append)
    assert done.passes == seen[-1].passes
    assert [len(one.passes) for one in seen] == [1, 2, 3]
    assert done.verdict.clean
    assert done.verdict.value >= told.value
    assert done.taken == any(one["taken"] for one in done.passes)
    assert seen[-1].trial is done.trial
    with pytest.raises(InputError, match="does not say how it is polished"):
        optimize.polish(replace(jump, polish=None), paper, told, 1.0)
    hop = saltus.simulate(jump.robot, controller=Constant(0.0), until=0.05)
    with pytest.raises(InputError, match="leaves the ground and lands"):
        next(iter(jump.polish(hop, 1.0)))


def test_a_profile_is_polished_on_the_command_line(call, tmp_path):
    words = ("optimize", "hopper", "--profile", "paper", "--reading", "until-impact", "--out", "o")
    code, out, _ = call(*words, "--polish", "1", "--json")
    assert code == 0
    content = json.loads(out)
    assert content["value"] >= 0.1254
    assert len(content["passes"]) == 3
    kept = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    assert {f"jump-of-hopper-until-impact-paper{end}" for end in (".csv", "-verdict.json")} < set(kept)
    code, _, error = call(*words, "--polish", "1")
    assert (code, "--force" in error) == (2, True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == kept
    for more, word in (
        ((), "polished alone"),
        (("--polish", "1", "--resume"), "polished alone"),
        (("--polish", "1", "--mixes", "1"), "bears no mixes"),
    ):
        code, _, error = call(*words, *more)
        assert code == 2
        assert word in error
    code, _, error = call("optimize", "hopper", "--profile", "papre", "--polish", "1")
    assert code == 2
    assert "paper" in error


def test_a_motion_of_steps_is_made_again_from_its_table(call_json, tmp_path):
    hopper = robots.hopper()
    jump = optimize.find_problem("jump", hopper, reading="until-impact")
    motion = Trial({"theta1": 1.9, "theta2": -1.88}, Schedule.steps((0.0, 0.041, 0.06, 0.3), (3.1, 2.9, -0.6, 0.0)))
    told = optimize.verdict(jump, motion)
    assert optimize.steps_table(hopper.profiles["paper"].controller) is None
    assert optimize.steps_table(Constant(1.0)) is None
    assert optimize.steps_table(Schedule.steps((0.0, 1.0), (1.0, 1.0))) is None
    result = _Result(jump, "hopper", ["mu=0.3"], tmp_path / "it.json")
    content = result.write(motion, told)
    code, again = call_json(*shlex.split(content["again"])[1:], "--method", "dop853")
    assert code == 0
    assert again["t_end"] == pytest.approx(told.run.end_time, abs=1e-11)
    assert again["final"] == pytest.approx(told.run.final, abs=1e-10)
    assert again["jump_distance"] == pytest.approx(told.value, abs=1e-11)
    assert json.loads((tmp_path / "it-verdict.json").read_text())["clean"] == told.clean


def test_what_is_kept_is_kept_at_the_start():
    pendulum = robots.pendulum()
    theta = pendulum.mechanism.q[0]
    guess = saltus.simulate(pendulum, {"theta": 0.1}, controller=Constant(0.0), until=0.2)
    found = collocate(
        pendulum, [Arc(guess.arc_modes[0], 8, keep=[theta], times=(0.2, 0.2))], guess,
        maximise=lambda begins, ends: -begins[0][0], start={"dtheta": 0.0},
    )  # fmt: skip
    assert found.start["theta"] >= 0
