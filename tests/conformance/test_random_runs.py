"""A few hundred random runs of every robot; `verification/plain.py` makes more of them."""

import numpy as np
import pytest

from saltus import registry
from saltus.conformance._draw import draw
from saltus.conformance._judge import Fault, faults, friction_decides, shares
from saltus.robots import find_robot

RUNS, BATCHES = 100, 3


@pytest.mark.parametrize("name", registry.names("robots"))
def test_random_runs_end_as_their_states_bear_out(name):
    found = []
    for number in range(BATCHES):
        batch = draw(find_robot(name), RUNS, 1, number).make()
        found += [f"batch {number}, {fault}" for fault in faults(batch, every=50)]
    assert found == []


@pytest.mark.parametrize("name", ["arm", "hopper"])
def test_draws_depend_on_the_seed_alone(name):
    one, two, other = (draw(find_robot(name), 50, seed) for seed in (1, 1, 2))
    assert one.states.tobytes() == two.states.tobytes()
    assert one.options == two.options
    assert one.make(20).doubles.tobytes() == two.make(20).doubles.tobytes()
    assert one.states.tobytes() != other.states.tobytes()


def test_what_is_wrong_is_told():
    batch = draw(find_robot("rod"), 50, 1).make()
    assert faults(batch) == []
    run = int(np.flatnonzero(batch.good & (batch.steps > 0))[0])
    for change in (np.nan, 1e9):  # an energy balance that is none, and one that is far off
        batch.energy_worst[run] = change
        assert [fault.run for fault in faults(batch, every=1000)] == [run]
        assert shares(batch)[run] > 1.0
    assert str(Fault(3, "stalled")) == "run 3: stalled"


def test_weak_friction_leaves_no_doubt():
    rod = find_robot("rod")
    start = {"y": 0.5 * np.sin(0.5), "theta": 0.5}
    for mu, doubt in ((0.0, False), (0.3, False), (5.0, True)):
        batch = _single(rod.with_parameters(mu=mu), start)
        assert friction_decides(batch, 0) is doubt


def _single(system, start):
    from saltus import simulate_many

    return simulate_many(system, [start], until=0.0)
