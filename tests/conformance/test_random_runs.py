"""A few hundred random runs of every robot, of which `benchmarks/million.py` makes a million."""

import pytest

from saltus import registry, robots
from saltus.conformance._draw import draw
from saltus.conformance._judge import faults


@pytest.mark.parametrize("name", registry.names("robots", own=True))
def test_random_runs_end_as_they_should(name):
    batch = draw(robots.find_robot(name), 300, 3, 0).make()
    assert [str(fault) for fault in faults(batch, 100)] == []
