"""Contacts in space that slip, stop and hold each other together: wheels on one axle, feet of one body."""

import math

import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.contact import SpatialPoint
from saltus.hybrid import HybridSystem
from saltus.mechanism import FreeFlyer, Mechanism


@pytest.fixture(scope="module")
def tripod():
    m = Mechanism("tripod", dimension=3)
    m.gravity = 9.81
    body = m.body("body", FreeFlyer(), mass=1, inertia=(0.02, 0.03, 0.04))
    mu = m.parameter("mu", 0.05, "1", "friction of all feet", lower=0)
    feet = ((0.2, 0, -0.1), (-0.1, -0.15, -0.1), (-0.1, 0.15, -0.1))
    units = tuple(SpatialPoint(m.point(f"foot{k}", body, foot), body, friction=mu) for k, foot in enumerate(feet))
    return HybridSystem(m, units=units, skeleton=(("foot0", "foot1"),))


@pytest.mark.parametrize("mu", [0.9, 1.1])
def test_two_wheels_that_begin_to_slip_together_move_as_the_one_in_the_plane(mu):
    two, plane = robots.claptrap_two_wheels(mu=mu), robots.segway(mu=mu)
    ours = saltus.simulate(two, {"pitch": 0.2}, controller=two.controllers["pd"], until=0.3)
    flat = saltus.simulate(plane, {"theta": 0.2}, controller=plane.controllers["pd"], until=0.3)
    assert ours.check().ok
    kinds = [[event.guard.split(".")[-1].rstrip("+-") for event in run.events] for run in (ours, flat)]
    assert set(kinds[0]) == set(kinds[1])
    assert ours.final["x"] == pytest.approx(flat.final["x"], abs=1e-8)


def test_wheels_on_one_axle_slip_where_no_share_of_their_forces_holds_both():
    start = {"pitch": 0.02514604, "dpitch": -0.13210486, "dyaw": 0.25616906}
    run = saltus.simulate(robots.claptrap_two_wheels(mu=0.05), start, until=2.0)
    assert run.status.good
    assert run.check().ok
    first = next(event for event in run.events if event.guard.endswith(".cone"))
    forces = [[first.forces_before[f"{wheel}_wheel.{row}"] for row in "tns"] for wheel in ("left", "right")]
    # both bear all they can, so that no other share would have held
    for along, normal, side in forces:
        assert math.hypot(along, side) == pytest.approx(0.05 * normal, rel=2e-3)


def test_feet_that_stop_together_all_stick(tripod):
    run = saltus.simulate(tripod, {"z": 0.1, "dy": 0.5, "wz": 1.0}, until=3.0)
    assert run.check().ok
    assert [event.guard.split(".")[-1] for event in run.events][-1] == "turn"
    assert run.arc_modes[-1] == "foot0:stick foot1:stick foot2:stick"
    assert np.abs(run.x[-1, 7:]).max() < 1e-12


def test_a_slip_without_a_steady_direction_comes_to_an_end():
    start = {
        "z": 0.5171, "roll": 0.803, "dyaw": -1.803, "dpitch": -14.5655, "droll": -3.4081, "dx": 0.4211, "dy": -1.0548,
    }  # fmt: skip
    run = saltus.simulate(robots.coin(mu=1.0), start, until=0.5, max_steps=20_000)
    assert run.status.name == "finished"
    assert run.check().ok
    assert any(event.guard.endswith(".turn") for event in run.events)
