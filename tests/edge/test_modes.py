"""Choice of the next mode: ties, none and several consistent modes, and what each status says."""

import math

import numpy as np
import pytest
from machines import rod, rod_on_foot

import saltus
from saltus.contact import GroundPoint
from saltus.control import Constant, Continuous
from saltus.errors import RunFailed
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Prismatic


def slip_alpha(angle, mu, sign):
    """Normal acceleration per normal force of the sliding rod of unit mass and length [genot1999]."""
    c, s = math.cos(angle), math.sin(angle)
    return 1 + 3 * c * (c + sign * mu * s)


def test_no_consistent_mode():
    # sliding so that friction drives the foot into the ground: alpha < 0 and no lift without contact
    angle, mu = math.radians(60), 2.0
    assert slip_alpha(angle, mu, -1) < 0 < slip_alpha(angle, mu, 1)
    with pytest.raises(RunFailed, match="no contact mode is consistent") as failure:
        saltus.simulate(rod(mu), rod_on_foot(angle, speed=-1.0), until=0.1)
    assert failure.value.run.status.name == "no_consistent_mode"
    assert "angle" in str(failure.value)


@pytest.mark.parametrize("slides", [0.0, 1.0])
def test_a_controller_that_pulls_up_on_the_ground_and_not_above_it_leaves_no_consistent_mode(slides):
    """It lifts 1 kg off as it bears 10 N, at 0.5 s, and then lets it fall: neither contact nor flight go on."""
    m = Mechanism("balloon")
    m.gravity = 10.0
    rail = m.body("rail", Prismatic("x"))
    box = m.body("box", Prismatic("y", axis=(0, 1)), parent=rail, mass=1.0)
    m.actuator("lift", "y")
    system = HybridSystem(m, units=(GroundPoint(m.point("foot", box), 0.1),))

    def lift(t, state, mode, memory):
        return 20.0 * t if mode["foot"] != "open" else 5.0

    run = saltus.simulate(system, {"dx": slides}, controller=Continuous(lift), until=1.0, raise_errors=False)
    assert run.status.name == "no_consistent_mode"
    assert run.end_time == pytest.approx(0.5, abs=1e-9)
    assert len(run.events) < 100
    assert run.check().ok


def test_two_consistent_modes():
    # the same, turning so fast that the foot would lift by itself: sliding and leaving are both possible
    angle, mu = math.radians(60), 2.0
    run = saltus.simulate(rod(mu), rod_on_foot(angle, speed=-1.0, spin=8.0), until=0.1, raise_errors=False)
    assert run.status.name == "several_consistent_modes"


def test_below_the_critical_friction_there_is_always_one_mode():
    # the paradox needs mu > 4/3 [genot1999]
    generator = np.random.default_rng(1)
    for _ in range(200):
        angle = generator.uniform(0.1, math.pi - 0.1)
        start = rod_on_foot(angle, speed=generator.uniform(-3, 3), spin=generator.uniform(-8, 8))
        run = saltus.simulate(rod(1.2), start, until=0.02, raise_errors=False)
        assert run.status.good, run.failure_message()
        assert run.check().ok


@pytest.mark.parametrize(("push", "expected"), [(2.0, "stick"), (2.9, "stick"), (3.1, "slip+"), (-3.1, "slip-")])
def test_rest_on_level_ground(push, expected):
    block = saltus.robots.block(slope=0.0, mu=0.3, g=10.0)
    run = saltus.simulate(block, controller=Constant(push), until=0.5)
    assert run.arc_modes == [expected]
    gain = max(0.0, abs(push) - 3.0)
    assert run.final["s"] == pytest.approx(math.copysign(0.5 * gain * 0.25, push), abs=1e-14)


def test_push_exactly_at_the_limit_of_friction_stays():
    block = saltus.robots.block(slope=0.0, mu=0.5, g=8.0)
    run = saltus.simulate(block, controller=Constant(4.0), until=1.0)
    assert run.final["s"] == pytest.approx(0.0, abs=1e-12)
    assert run.check().ok


def test_without_friction_nothing_holds():
    block = saltus.robots.block(slope=0.1, mu=0.0)
    run = saltus.simulate(block, until=1.0)
    assert run.arc_modes == ["slip-"]
    assert run.final["s"] == pytest.approx(-0.5 * 9.81 * math.sin(0.1), rel=1e-12)


def test_without_friction_on_level_ground_it_rests():
    run = saltus.simulate(saltus.robots.block(slope=0.0, mu=0.0), until=1.0)
    assert run.final["s"] == 0.0
    assert len(run.events) == 0


def test_sliding_block_comes_to_rest_and_stays():
    run = saltus.simulate(saltus.robots.block(slope=0.0, mu=0.25, g=8.0), {"ds": 3.0}, until=10.0)
    assert [(event.guard, event.mode_after) for event in run.events] == [("block.turn", "stick")]
    assert run.events[0].t == pytest.approx(1.5, abs=1e-12)
    assert run.final["s"] == pytest.approx(2.25, abs=1e-12)
    # a minute of sticking moves nothing
    assert run.at(10.0)[0] == pytest.approx(run.events[0].state_after["s"], abs=1e-15)
