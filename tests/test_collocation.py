"""Collocation: what it finds is made again by the simulator, and a bang-bang answer is known."""

import math
from dataclasses import replace

import casadi as ca
import pytest

import saltus
from saltus import robots
from saltus.control import Constant
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
