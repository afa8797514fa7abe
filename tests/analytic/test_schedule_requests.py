"""Schedules that tell grips what to do, at exact instants."""

import pytest

import saltus
from saltus.control import Schedule
from saltus.errors import InputError, UnknownName


def test_requests_act_at_the_breaks():
    arm = saltus.robots.arm()
    swap = Schedule((0.3, 0.8), ((0.5,), (-0.5,)), requests=({"tip": "close"}, {"hand": "open"}))
    run = saltus.simulate(arm, controller=swap, until=1.5)
    commands = [(event.t, event.mode_after.split()[:2]) for event in run.events if event.guard == "command"]
    assert commands == [(0.3, ["hand:closed", "tip:closed"]), (0.8, ["hand:open", "tip:closed"])]
    assert run.check()
    alone = Schedule((0.3,), requests=({"hand": "open"},))
    falling = saltus.simulate(arm, controller=alone, until=0.5)
    assert falling.arc_modes[-1].startswith("hand:open")


def test_requests_are_checked():
    arm = saltus.robots.arm()
    with pytest.raises(UnknownName, match="hand"):
        saltus.simulate(arm, controller=Schedule((0.1,), ((0.0,),), requests=({"hnad": "open"},)))
    with pytest.raises(UnknownName, match="close"):
        saltus.simulate(arm, controller=Schedule((0.1,), ((0.0,),), requests=({"hand": "shut"},)))
    with pytest.raises(InputError, match="as many requests"):
        saltus.simulate(arm, controller=Schedule((0.1, 0.2), ((0.0,), (0.0,)), requests=({"hand": "open"},)))
