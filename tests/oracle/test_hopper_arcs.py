"""The hopper's jumps arc by arc: SciPy on the printed equations finds every event where the engine did."""

from __future__ import annotations

import math

import pytest
from hopper_reference import assert_arcs_follow

import saltus

STARTS = (0.0, 0.06, 0.25, 0.35)
PIECES = (
    lambda s: 3.2 - 1500 * (s - 0.04) ** 2,
    lambda s: -0.6 + 3 * s,
    lambda s: 0.9 - 15 * s,
    lambda s: 0.0,
)

CASES = [
    ({"g": 9.8}, {}),
    ({"g": 9.8, "mu": 0.15}, {}),
    ({"g": 20.0, "mu": 0.05}, {}),
    ({"g": 20.0, "mu": 0.6}, {}),
    ({"g": 3.7, "mu": 0.3}, {}),
    ({"m": 0.1}, {}),
    ({"l": 0.2, "mu": 0.5}, {}),
    ({}, {"theta1": math.radians(100), "theta2": math.radians(-140)}),
    ({}, {"theta1": math.radians(120), "theta2": math.radians(-140)}),
]


@pytest.mark.parametrize(("values", "start"), CASES)
def test_every_event_is_where_the_printed_equations_put_it(values, start):
    hopper = saltus.robots.hopper(**values)
    run = saltus.simulate(hopper, start, controller=hopper.profiles["paper"].controller)
    assert run.check().ok
    assert_arcs_follow(run, start, STARTS, PIECES)
    assert len(run.events) >= 2
