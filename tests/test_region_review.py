"""Regions over angular velocities of a free body, targets of angles that come round, and tolerances below rounding."""

from __future__ import annotations

import math

import numpy as np

from saltus import robots
from saltus.control import LQR
from saltus.gaits import largest, region


def test_an_angular_velocity_of_a_free_body_is_the_rate_of_no_coordinate():
    two = robots.claptrap_two_wheels()
    axes = ("wz", np.linspace(-0.2, 0.2, 3)), ("pitch", np.linspace(-0.1, 0.1, 3))
    found = region(two, *axes, controller=two.controllers["lqr"])
    assert set(found.within) == {"wz", "pitch", "dpitch"}
    assert found.returned.all()


def test_a_target_of_an_angle_is_near_from_both_sides():
    two = robots.claptrap_two_wheels()
    turn = LQR(effort=[0.01, 0.01], at={"pitch": 0.0}, states=("pitch", "psi", "yaw"), reference={"yaw": math.pi})
    axes = ("yaw", np.linspace(2.5, 3.5, 5)), ("pitch", np.linspace(-0.1, 0.1, 3))
    found = region(
        two, *axes, controller=turn, target={"yaw": math.pi}, within={"yaw": 0.05, "pitch": 0.05}
    )  # fmt: skip
    assert found.returned.all()


def test_the_largest_value_is_found_where_the_tolerance_is_below_rounding():
    weak = robots.segway_rolled(torque_limit=20.0)
    far = largest(weak, "theta", 0.0, 1.5, controller=weak.controllers["lqr"], until=5.0, tolerance=1e-300)
    assert far.lost is not None
    assert abs(far.lost - far.returned) < 1e-14
