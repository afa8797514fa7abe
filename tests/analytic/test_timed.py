"""Hands exchanged by the clock: against cycles of a gait, against schedules, and what is refused."""

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.control import Schedule, Timed
from saltus.errors import InputError, UnknownName
from saltus.gaits import Gait, Phase, find_gait, run_cycle

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
SIMPLE = {"swap_t": 0.4, "cycle_t": 0.9, "motor_t": 0.03, "torque": 0.7}


@cache
def robot():
    return saltus.robots.monkeybot()


@cache
def swing():
    return run_cycle(find_gait("swing", robot()), **TIGHT)


@cache
def flip():
    d = robot().dynamics
    return ca.Function("flip", [d.x, d.p], [robot().symmetry.map(robot().mechanism)])


def renamed(x, times):
    """A state after a number of exchanges, seen from the hand that holds."""
    for _ in range(times):
        x = np.array(flip()(x, robot().parameter_values)).ravel()
    return x


def breaks(controller):
    return controller.bind(robot()).breaks


# -- the whole robot and the cycles of a gait ------------------------------------------------------------


def test_five_cycles_of_the_whole_robot_are_those_of_the_gait():
    """Four coordinates and grips against two coordinates and an explicit projection."""
    cycle = swing()
    run = saltus.simulate(robot(), controller=Timed.of(cycle), until=5 * cycle.period, method="dop853", **TIGHT)
    assert run.check().ok
    by_clock, state, along = find_gait("swing", robot()).timed(cycle.durations), cycle.start, np.zeros(2)
    for k in range(1, 6):
        one = run_cycle(by_clock, state, **TIGHT)
        seen = renamed(run.at(k * cycle.period), k)
        assert seen[[2, 3, 6, 7]] == pytest.approx(list(one.final.values()), rel=0, abs=1e-9)
        along += one.travel
        assert seen[:2] == pytest.approx(along, rel=0, abs=1e-9)
        state = one.final
    assert [event.guard for event in run.events] == ["command"] * 5
    assert [event.energy_lost > 0 for event in run.events] == [True] * 5


def test_one_cycle_of_the_whole_robot_is_the_state_driven_one():
    cycle = swing()
    run = saltus.simulate(robot(), controller=Timed.of(cycle), until=cycle.period, method="dop853", **TIGHT)
    assert renamed(run.at(cycle.period), 1)[[2, 3, 6, 7]] == pytest.approx(list(cycle.final.values()), abs=1e-9)
    (event,) = run.events
    assert event.energy_lost == pytest.approx(cycle.losses["switch"], rel=1e-9)
    # the motor gives back what the impact took
    energy = run.samples.kinetic + run.samples.potential
    assert energy[-1] == pytest.approx(energy[0], abs=1e-10)


@pytest.mark.parametrize("friction", [{"elbow_viscous": 0.003}, {"elbow_dry": 0.02}])
def test_with_friction_at_the_elbow(friction):
    rough = robot().with_parameters(**friction)
    gait = find_gait("swing", rough).timed({"switch": 0.427, "motor": 0.05, "vertical": 0.38})
    one = run_cycle(gait, {"dtheta1": 0.902, "dtheta2": 11.2}, **TIGHT)
    run = saltus.simulate(rough, one.start, controller=Timed.of(one), until=2 * one.period, method="dop853", **TIGHT)
    assert run.check().ok
    assert ("theta2.turn" in [event.guard for event in run.events]) == ("elbow_dry" in friction)
    two = run_cycle(gait, one.final, **TIGHT)
    for k, cycle in ((1, one), (2, two)):
        seen = renamed(run.at(k * one.period), k)
        assert seen[[2, 3, 6, 7]] == pytest.approx(list(cycle.final.values()), rel=0, abs=1e-9)


def test_several_cycles_by_the_state_are_one_by_the_clock():
    """Each ends where the guards say: hands are exchanged at one height, with the energy of the start."""
    gait, row = find_gait("swing", robot()), [swing()]
    for _ in range(2):
        final = {name: row[-1].final[name] for name in gait.free}
        row.append(run_cycle(gait, final, **TIGHT))
    watched = robot().with_guards(vertical_A="record", vertical_B="record")
    controller = Timed.of(row, cycles=1)
    run = saltus.simulate(watched, controller=controller, until=controller.cycle_t + 0.01, method="dop853", **TIGHT)
    swaps = [event for event in run.events if event.guard == "command"]
    assert [event.t for event in swaps] == list(controller.swap_t)
    ends = np.cumsum([cycle.period for cycle in row])
    for event, cycle, end in zip(swaps, row, ends, strict=True):
        place = run.mesh.positions[run.mesh.t.searchsorted(event.t)]
        assert place[3] == pytest.approx(place[1], abs=1e-10)
        assert event.energy_lost == pytest.approx(cycle.losses["switch"], rel=1e-8)
        assert min(abs(other.t - end) for other in run.events if "vertical" in other.guard) < 1e-10
    energy = run.mesh.kinetic + run.mesh.potential
    assert energy[run.mesh.t.searchsorted(ends)] == pytest.approx(energy[0], abs=1e-9)


def test_hundreds_of_cycles():
    cycle = swing()
    run = saltus.simulate(robot(), controller=Timed.of(cycle), until=300 * cycle.period)
    assert len(run.events) == 300
    assert [event.mode_after for event in run.events] == ["B:closed", "A:closed"] * 150
    assert run.check().ok
    # the last exchange is where it belongs: times are products, not sums
    assert run.events[-1].t == pytest.approx(299 * cycle.period + cycle.durations["switch"], rel=1e-15)


def test_after_the_last_cycle_the_motor_rests():
    run = saltus.simulate(robot(), controller=Timed(**SIMPLE, cycles=2), until=3.0)
    assert len(run.events) == 2
    assert not run.samples.inputs[run.samples.t > 1.4].any()
    assert run.arc_modes[-1] == "A:closed"


# -- the same by a schedule --------------------------------------------------------------------------------


def same(one, other, until=1.7):
    a, b = (saltus.simulate(robot(), controller=controller, until=until, **TIGHT) for controller in (one, other))
    times = np.linspace(0, until, 103)
    np.testing.assert_allclose(a.at(times), b.at(times), rtol=0, atol=1e-9)
    assert [event.t for event in a.events] == pytest.approx([event.t for event in b.events], rel=1e-15)


def test_torques_change_their_sign_with_the_hand():
    starts = (0.4, 0.43, 0.9 + 0.4, (1300 + 30) * 1e-3)
    swaps = ({"A": "open", "B": "close"}, {}, {"A": "close", "B": "open"}, {})
    schedule = Schedule(starts, ((-0.7,), (0.0,), (0.7,), (0.0,)), requests=swaps)
    same(Timed(**SIMPLE, period=None), schedule)
    same(Timed(**SIMPLE), schedule)


def test_torques_at_several_times():
    """The one that goes on as hands are exchanged acts on the joint as seen from the new hand."""
    given = ((0.0, 0.2), (0.1, 0.0), (0.3, -0.4), (0.5, 0.0))
    timed = Timed(swap_t=0.4, cycle_t=0.9, torques=given, period=None)
    starts = (0.0, 0.1, 0.3, 0.4, 0.5, 0.9, 1.0, 1.2, 1.3, 1.4)
    values = (0.2, 0.0, -0.4, 0.4, 0.0, -0.2, 0.0, 0.4, -0.4, 0.0)
    wishes = [{} for _ in starts]
    wishes[3], wishes[8] = {"B": "close", "A": "open"}, {"A": "close", "B": "open"}
    same(timed, Schedule(starts, [(value,) for value in values], requests=wishes))
    simple = Timed(swap_t=0.4, cycle_t=0.9, torques=((0.4, 0.7), (0.43, 0.0)))
    same(simple, Timed(**SIMPLE))


def test_hands_are_exchanged_several_times_in_a_cycle():
    twice = Timed(swap_t=(0.4, 1.3), cycle_t=1.8, motor_t=0.03, torque=0.7)
    same(twice, Timed(**SIMPLE), until=3.0)


def test_the_motor_may_act_until_the_next_exchange():
    always = Timed(swap_t=(0.0, 0.4), cycle_t=0.9, motor_t=0.4, torque=0.5)
    inputs = saltus.simulate(robot(), controller=always, until=0.9).samples.inputs[:, 0]
    assert set(np.unique(inputs)) == {-0.5, 0.0, 0.5}


def test_a_motor_that_acts_for_no_time_does_not_act():
    run = saltus.simulate(robot(), controller=Timed(swap_t=0.4, cycle_t=0.9, torque=0.7), until=1.5)
    assert not run.samples.inputs.any()


def test_the_first_hand_holds_when_the_schedule_begins():
    other = {"A": "open", "B": "closed"}
    start = {"theta1": 0.3, "theta2": 0.4, "dtheta1": 0.0, "dtheta2": 0.0}
    late = Timed(swap_t=0.2, cycle_t=0.5, initial_t=0.1)
    run = saltus.simulate(robot(), start, mode=other, controller=late, until=0.5)
    assert [(e.t, e.mode_after) for e in run.events] == [(0.1, "A:closed"), (0.3, "B:closed")]
    named = Timed(swap_t=0.2, cycle_t=0.5, initial_t=0.1, hands=("B", "A"))
    run = saltus.simulate(robot(), start, mode=other, controller=named, until=0.5)
    assert [(e.t, e.mode_after) for e in run.events] == [(pytest.approx(0.3), "A:closed")]


def test_other_robots_with_two_hands():
    run = saltus.simulate(saltus.robots.arm(), controller=Timed(swap_t=0.3, cycle_t=0.7), until=2.0)
    assert sum(event.guard == "command" for event in run.events) == 3
    assert run.check().ok


# -- times ---------------------------------------------------------------------------------------------------


def test_times_are_rounded_to_the_period():
    rounded = Timed(swap_t=0.42709, cycle_t=0.861128, motor_t=0.02493, torque=0.66, initial_t=0.0996, cycles=3)
    counts = [100 + 861 * k + j for k in range(3) for j in (0, 427, 452)] + [100 + 3 * 861]
    assert breaks(rounded).tolist() == [n * 1e-3 for n in counts]


@pytest.mark.parametrize("period", [None, 0])
def test_exact_times(period):
    exact = Timed(swap_t=0.42709, cycle_t=0.861128, motor_t=0.02493, torque=0.66, period=period, cycles=2)
    expected = [
        0,
        0.42709,
        0.42709 + 0.02493,
        0.861128,
        0.861128 + 0.42709,
        0.861128 + (0.42709 + 0.02493),
        2 * 0.861128,
    ]
    assert breaks(exact).tolist() == expected


def test_runs_can_be_differentiated_by_the_torque():
    until, torque = 1.5, 0.7
    options = {"until": until, "method": "dop853", **TIGHT}
    run = saltus.simulate(robot(), controller=Timed(**SIMPLE), **options)
    found = run.sensitivity()
    column = found.matrix[:, found.names.index("timed.torque")]
    ends = [
        saltus.simulate(robot(), controller=Timed(**{**SIMPLE, "torque": torque + step}), **options).at(until)
        for step in (-1e-5, 1e-5)
    ]
    assert column == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-6, abs=1e-6)


def test_many_runs():
    torques = np.linspace(0, 1, 5)
    batch = saltus.simulate_many(
        robot(), controllers=[Timed(**{**SIMPLE, "torque": torque, "cycles": 5}) for torque in torques], until=2.0
    )
    for k, torque in enumerate(torques):
        controller = Timed(**{**SIMPLE, "torque": torque, "cycles": 5})
        alone = saltus.simulate(robot(), controller=controller, until=2.0, energy_tolerance=math.inf)
        assert batch.states[k].tolist() == list(alone.final.values())


# -- what is refused -----------------------------------------------------------------------------------------

WRONG = {
    "swap before the cycle": ({"swap_t": -0.1}, "swap_t must not be negative"),
    "swap after the cycle": ({"swap_t": 0.95}, "within a cycle of 0.9 s"),
    "swap at its end once rounded": ({"swap_t": 0.8996}, "rounded to multiples of 0.001 s"),
    "swaps in no order": ({"swap_t": (0.4, 0.2)}, "one after the other"),
    "no time": ({"swap_t": "soon"}, "swap_t is a time or several"),
    "not a number": ({"swap_t": float("nan")}, "finite number"),
    "negative motor time": ({"motor_t": -0.01}, "motor_t must not be negative"),
    "negative torque": ({"torque": -0.5}, "torque must not be negative"),
    "motor beyond the cycle": ({"motor_t": 0.6}, "the cycle ends at 0.9 s"),
    "motor beyond the next swap": ({"swap_t": (0.4, 0.42)}, "the next swap is at 0.42 s"),
    "no cycle": ({"cycle_t": 0.0}, "cycle_t must be positive"),
    "no cycle once rounded": ({"cycle_t": 0.0003, "swap_t": 0.0}, "cycle_t must be positive"),
    "late by less than nothing": ({"initial_t": -1.0}, "initial_t must not be negative"),
    "negative period": ({"period": -1e-3}, "period must be a positive time"),
    "no cycles": ({"cycles": 0}, "positive whole number"),
    "beyond the limit": ({"torque": 100.0}, "beyond its limit of 20"),
    "both kinds of torque": ({"torques": ((0.1, 0.2),)}, "not both"),
    "torques in no order": ({"motor_t": 0, "torque": 0, "torques": ((0.3, 1), (0.1, 0))}, "one after the other"),
    "torques that are none": ({"motor_t": 0, "torque": 0, "torques": (0.3, 1)}, "pairs of a time and a torque"),
    "torque after the cycle": ({"motor_t": 0, "torque": 0, "torques": ((1.3, 1),)}, "within a cycle"),
    "one hand": ({"hands": ("A",)}, "two different grips"),
    "one hand twice": ({"hands": ("A", "A")}, "two different grips"),
    "hands as a word": ({"hands": "AB"}, "names of two grips"),
    "times too near": ({"period": None, "swap_t": 1e-17, "motor_t": 0}, "too near"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options(case):
    given, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        saltus.simulate(robot(), controller=Timed(**{**SIMPLE, **given}))


def test_wrong_robots():
    with pytest.raises(UnknownName, match="hand"):
        Timed(**SIMPLE, hands=("hand", "B")).bind(robot())
    with pytest.raises(InputError, match="two grips; pendulum has none"):
        Timed(**SIMPLE).bind(saltus.robots.pendulum())
    with pytest.raises(InputError, match="one motor; bouncing_ball has none"):
        Timed(**SIMPLE).bind(saltus.robots.bouncing_ball())


def test_flight_has_no_hand_to_exchange():
    level = robot().mechanism.points["B"].position[1] - robot().mechanism.points["A"].position[1]
    gait = Gait(
        "leap", robot(), phases=(Phase("up", "A", ends=level), Phase("over", None)), section={"theta1": 0.0},
        start={"dtheta1": 0.902, "dtheta2": 10.935},
    )  # fmt: skip

    class Cycle:
        def __init__(self):
            self.gait, self.times = gait, {"up": 0.4, "over": 0.5}

    with pytest.raises(InputError, match="only if one holds at all times"):
        Timed.of(Cycle())
    with pytest.raises(InputError, match="no cycle"):
        Timed.of([])


@pytest.mark.parametrize("kind", ["ricochet", "two_swings", "pieces", "swing"])
def test_any_cycle_is_repeated_by_a_schedule(kind):
    monkeybot, random = robot(), np.random.default_rng(1)
    gait = find_gait(kind, monkeybot)
    drawn = gait.draw(random) if gait.draw else {}
    gait = gait.with_knobs(**{name: value for name, value in drawn.items() if name in gait.knobs})
    cycle = run_cycle(gait, {name: value for name, value in drawn.items() if name in gait.free})
    control, after = Schedule.of(cycle, cycles=2), cycle.period * (1 + 1e-12)
    run = saltus.simulate(monkeybot, cycle.start, controller=control, until=after, rtol=1e-12, atol=1e-13)
    x, p = np.array(list(run.final.values())), monkeybot.parameter_values
    if sum(phase.relabel for phase in gait.phases) % 2:  # its parts have other names now
        m = monkeybot.mechanism
        x = np.array(ca.Function("map", [ca.vertcat(m.q, m.v), m.p], [monkeybot.symmetry.map(m)])(x, p)).ravel()
    end = dict(zip(monkeybot.state_names, x, strict=True))
    for name, value in cycle.final.items():
        difference = end[name] - value
        if not name.startswith("d"):
            difference = math.remainder(difference, 2 * math.pi)
        assert difference == pytest.approx(0.0, abs=1e-7)
    assert (end["x"], end["y"]) == pytest.approx(cycle.travel, abs=1e-9)


def test_a_clock_that_says_nothing_is_refused():
    with pytest.raises(InputError, match="neither swaps nor torques"):
        Timed(swap_t=(), cycle_t=1.0).bind(robot())
    Timed(swap_t=(), cycle_t=1.0, torques=((0.0, 0.5),)).bind(robot())
    with pytest.raises(InputError, match="at most 10000000 pieces"):
        Timed(swap_t=0.4, cycle_t=0.8, cycles=10**8).bind(robot())
