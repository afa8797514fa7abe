"""What robots with contacts carry along beside their parameters."""

import pickle

import pytest

from saltus import registry, robots, simulate

WITH_CONTACTS = [
    name for name in registry.names("robots", own=True) if any(unit.law for unit in robots.find_robot(name).units)
]


@pytest.mark.parametrize("name", WITH_CONTACTS)
def test_another_law_travels_between_processes(name):
    changed = robots.find_robot(name).with_parameters(g=3.0).with_law("plastic")
    copy = pickle.loads(pickle.dumps(changed))
    one, two = simulate(changed, until=0.3), simulate(copy, until=0.3)
    assert one.step_rows.tobytes() == two.step_rows.tobytes()
    assert one.event_rows.tobytes() == two.event_rows.tobytes()
