"""Claptrap in space beside its planar model, its long runs, and its controllers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import saltus
from saltus.control import LQR, Feedback
from saltus.hybrid._closed import slipping
from saltus.hybrid._readings import readings_of

START = 0.2


def in_space(name: str, controller, until: float, mu: float = np.inf, **options):  # type: ignore[no-untyped-def]
    """Position and pitch of the robot in space, with their rates, at a few times."""
    robot = saltus.robots.find_robot(name).with_guards(fall="ignore").with_parameters(mu=mu)
    run = saltus.simulate(robot, {"pitch": START}, until=until, controller=controller, **options)
    x = run.at(np.linspace(0, until, 21))
    seen = np.array([np.array(readings_of(robot)(row, robot.parameter_values)).ravel() for row in x])
    place = {name: k for k, name in enumerate(robot.state_names)}
    return run, np.column_stack([x[:, place["x"]], np.unwrap(seen[:, 2]), x[:, place["dx"]], seen[:, 6]])


def in_plane(controller, until: float, mu: float = np.inf, **options):  # type: ignore[no-untyped-def]
    robot = saltus.robots.segway(mu=mu).with_guards(fall="ignore")
    run = saltus.simulate(robot, {"theta": START}, until=until, controller=controller, **options)
    x = run.at(np.linspace(0, until, 21))
    place = {name: k for k, name in enumerate(robot.state_names)}
    return run, x[:, [place[name] for name in ("x", "theta", "dx", "dtheta")]]


@pytest.mark.parametrize("name", ["claptrap", "claptrap_upright"])
@pytest.mark.parametrize("gains", [None, (150.0, 1.5), (90.0, 4.0)])
def test_in_the_sagittal_plane_the_robot_in_space_moves_as_the_planar_one(name: str, gains) -> None:  # type: ignore[no-untyped-def]
    kp, kd = gains or (0.0, 0.0)
    ours = None if gains is None else Feedback({"pitch": kp, "dpitch": kd})
    theirs = None if gains is None else Feedback({"theta": kp, "dtheta": kd})
    run, one = in_space(name, ours, 2.0)
    _, two = in_plane(theirs, 2.0)
    assert np.abs(one - two).max() < 1e-8
    assert run.check().ok


@pytest.mark.parametrize("name", ["claptrap", "claptrap_upright"])
@pytest.mark.parametrize("mu", [np.inf, 0.9])
@pytest.mark.parametrize("limit", [None, 20.0])
def test_the_same_lqr_does_the_same_in_space_and_in_the_plane(name: str, mu: float, limit: float | None) -> None:
    """Where it slips, too: psi is where the robot is, in radii of its wheel, in both."""
    own, theirs = (robots.controllers["lqr"] for robots in (saltus.robots.claptrap(), saltus.robots.segway()))
    tight = {"rtol": 1e-11, "atol": 1e-12}
    run, one = in_space(name, replace(own, limit=limit), 2.0, mu, **tight)
    _, two = in_plane(replace(theirs, limit=limit), 2.0, mu, **tight)
    assert np.abs(one - two).max() < 1e-8
    assert ("slip" in run.arc_modes) == (mu < 1)


def test_lqr_that_slips_comes_back_to_where_it_began() -> None:
    robot = saltus.robots.claptrap(mu=0.9)
    run = saltus.simulate(robot, {"pitch": START}, until=20.0, controller=robot.controllers["lqr"])
    assert "slip" in run.arc_modes
    assert abs(run.final["x"]) < 1e-6


def test_psi_goes_on_where_the_body_turns_over() -> None:
    """The pitch jumps from pi to -pi there; nothing that is fed back may."""
    robot = saltus.robots.claptrap(height=0.1)
    run = saltus.simulate(robot, {"pitch": 3.0, "dpitch": 1.0}, until=0.5)
    t = np.linspace(0.0, 0.5, 501)
    x = run.at(t)
    seen = np.array([np.array(readings_of(robot)(row, robot.parameter_values)).ravel() for row in x])
    names = [*robot.mechanism.readings, *(f"d{name}" for name in robot.mechanism.readings)]
    pitch, psi, rate = (seen[:, names.index(name)] for name in ("pitch", "psi", "dpsi"))
    assert np.abs(np.diff(pitch)).max() > 6
    assert np.abs(np.diff(psi) - 1e-3 * (rate[1:] + rate[:-1]) / 2).max() < 1e-6
    plane = saltus.robots.segway(height=0.1)
    begin = {"pitch": 3.0, "dpitch": 1.0}, {"theta": 3.0, "dtheta": 1.0, "dphi": -1.0}
    ends = []
    for one, start, at in zip((robot, plane), begin, ("pitch", "theta"), strict=True):
        hanging = replace(one.controllers["lqr"], at={at: np.pi})
        held = saltus.simulate(one, start, until=5.0, controller=hanging, rtol=1e-11, atol=1e-12)
        assert np.abs(held.samples.inputs).max() < 20
        ends.append([held.final["x"], held.final["dx"]])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_a_body_that_hangs_rolls_for_a_minute_and_keeps_its_energy() -> None:
    robot = saltus.robots.claptrap().with_guards(fall="ignore")
    run = saltus.simulate(robot, {"pitch": np.pi - 0.5}, until=60.0, rtol=1e-12, atol=1e-13, method="dop853")
    s = run.mesh
    energy = s.kinetic + s.potential
    assert np.abs(energy - energy[0]).max() < 1e-9
    assert np.abs(s.speeds).max() < 1e-10
    assert np.abs(s.positions[:, 1]).max() < 1e-10
    assert run.events == []


@pytest.mark.parametrize("limit", [None, 20.0])
def test_lqr_comes_back_to_where_it_began(limit: float | None) -> None:
    robot = saltus.robots.claptrap()
    own = robot.controllers["lqr"]
    lqr = LQR(effort=own.effort, at=own.at, states=own.states, limit=limit)
    run = saltus.simulate(robot, {"pitch": START}, until=20.0, controller=lqr)
    assert abs(run.final["x"]) < 1e-6
    assert abs(run.final["qy"]) < 1e-6
    assert np.abs(run.samples.inputs).max() <= (limit or 100.0) + 1e-12


def test_the_pd_stands_but_drifts() -> None:
    robot = saltus.robots.claptrap()
    run = saltus.simulate(robot, {"pitch": START}, until=20.0, controller=robot.controllers["pd"])
    assert abs(run.final["qy"]) < 1e-6
    x = run.at([10.0, 20.0])[:, 0]
    assert abs(x[1] - x[0]) > 0.01
    assert run.needed_friction()["wheel"].value == pytest.approx(1.215, abs=2e-3)


def test_two_wheels_drive_and_turn() -> None:
    robot = saltus.robots.claptrap_two_wheels()
    run = saltus.simulate(robot, {"pitch": 0.0}, until=20.0, controller=robot.controllers["drive"])
    last = np.array(readings_of(robot)(run.x[-1], robot.parameter_values)).ravel()
    names = [*robot.mechanism.readings, *(f"d{name}" for name in robot.mechanism.readings)]
    seen = dict(zip(names, last, strict=True))
    assert seen["dyaw"] == pytest.approx(0.2, abs=1e-3)
    assert np.hypot(run.final["dx"], run.final["dy"]) == pytest.approx(4.0 * 0.15, abs=1e-4)
    # 4 rad in 20 s: round more than half a circle
    assert seen["yaw"] == pytest.approx(0.2 * 20 - 2 * np.pi, abs=0.02)
    assert run.redundant
    assert run.check().ok


def test_a_wheel_that_is_pushed_too_hard_slips_and_rolls_again() -> None:
    robot = saltus.robots.claptrap(mu=0.8)
    run = saltus.simulate(robot, {"pitch": START}, until=3.0, controller=robot.controllers["pd"])
    modes = {(event.mode_before, event.mode_after) for event in run.events}
    assert ("slip", "roll") in modes
    assert run.check().ok


def test_what_falls_ends_on_the_floor() -> None:
    run = saltus.simulate(saltus.robots.claptrap(), {"pitch": START})
    assert run.status.name == "terminal"
    assert run.events[-1].guard == "fall"
    assert run.end_time == pytest.approx(0.95306, abs=1e-4)


def test_a_start_is_told_by_readings() -> None:
    robot = saltus.robots.claptrap()
    x = robot.state({"pitch": 0.1, "roll": 0.3, "dyaw": 0.5, "dpsi": 2.0})
    seen = np.array(readings_of(robot)(x, robot.parameter_values)).ravel()
    assert seen[:3] == pytest.approx([0.0, 0.3, 0.1], abs=1e-12)
    # the wheel leans, and still touches
    assert x[2] == pytest.approx(0.15 * np.cos(0.3), abs=1e-12)
    assert slipping(robot, x) == {}
    with pytest.raises(saltus.errors.InputError, match="pich"):
        robot.state({"pich": 0.1})
    with pytest.raises(saltus.errors.InputError, match="quaternion"):
        robot.state([0.0] * len(robot.state_names))
