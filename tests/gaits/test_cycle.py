"""Cycles made of phases: figures, derivatives, batches, and the whole robot's own run."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.control import Timed
from saltus.engine._cases import columns
from saltus.errors import InputError, SaltusError
from saltus.gaits import collisionless, find_gait, gait_names, run_cycle, run_many, solve
from saltus.gaits._energy import needs_of

EXACT = {"rtol": 1e-12, "atol": 1e-13}


@pytest.fixture(scope="module")
def swing():
    return find_gait("swing", robots.monkeybot())


def test_gait_types_of_a_robot_are_found_by_name():
    assert gait_names("monkeybot")[0] == "swing"
    assert {"pieces", "ricochet", "two_swings", "two_steps", "climb"} <= set(gait_names())


def test_batches_agree_with_single_cycles(swing):
    rng = np.random.default_rng(3)
    starts = {
        "dtheta1": rng.uniform(0.5, 2.0, 40),
        "dtheta2": rng.uniform(10.0, 13.0, 40),
        "theta2": rng.normal(0, 0.05, 40),
    }
    many = run_many(swing, starts, rtol=1e-11, atol=1e-12)
    for k in np.flatnonzero(many.good)[:5]:
        one = run_cycle(swing, {name: values[k] for name, values in starts.items()}, **EXACT)
        assert many.error[k] == pytest.approx(one.error, rel=1e-6, abs=1e-9)
        assert many.period[k] == pytest.approx(one.period, abs=1e-9)
        assert many.travel[k] == pytest.approx(one.travel, abs=1e-9)


@pytest.mark.parametrize("timed", [False, True])
def test_derivatives_agree_with_differences(swing, timed):
    start = {"theta2": 0.03, "dtheta1": 0.95, "dtheta2": 10.9}
    gait = swing
    if timed:
        gait, start = swing.timed(run_cycle(swing, start).durations), {"theta1": 0.01, **start}
    cycle = run_cycle(gait, start, derivatives=True, **EXACT)
    for column, name in enumerate(cycle.names):
        if name in gait.section:
            continue

        def ends(change, name=name):
            moved, knobs = dict(start), {}
            if name in gait.free:
                moved[name] += change
            else:
                knobs[name] = gait.knobs[name].value + change
            end = run_cycle(gait, moved, knobs, **EXACT)
            return np.array([*end.final.values(), *end.durations.values(), *end.travel])

        h = 1e-5
        slope = (8 * (ends(h) - ends(-h)) - (ends(2 * h) - ends(-2 * h))) / (12 * h)
        found = np.concatenate([m[:, column] for m in (cycle.jacobian, cycle.time_jacobian, cycle.travel_jacobian)])
        assert found == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(slope).max())


def test_holding_the_other_hand_is_the_same_as_changing_names(swing):
    # the same motion without the symmetry: the last phases hold B, in the old names

    import casadi as ca

    robot = swing.robot
    m = robot.mechanism
    theta = m.coordinate("theta1").symbol + m.coordinate("theta2").symbol
    up, motor, down = swing.phases
    other = replace(
        swing,
        phases=(
            up,
            replace(motor, holds="B", relabel=False, inputs={"elbow": -swing.symbols["motor_torque"]}),
            replace(down, holds="B", ends=ca.sin((theta + math.pi) / 2)),
        ),
    )
    # the cycle is not closed by names, so the last handover is undone here: compare how phases end
    one, two = run_cycle(swing, **EXACT), run_cycle(other, **EXACT)
    assert two.durations == pytest.approx(one.durations, abs=1e-10)
    assert two.losses["switch"] == pytest.approx(one.losses["switch"], rel=1e-9)


def test_a_start_with_too_little_energy_says_so(swing):
    with pytest.raises(SaltusError, match="switch never ends within 5 s"):
        run_cycle(swing, {"dtheta1": 0.1, "dtheta2": 0.1})
    cycles = run_many(swing, {"dtheta1": np.array([0.1, 0.902]), "dtheta2": np.array([0.1, 10.935])})
    assert cycles.reason[0] == "switch never ends: too little energy"
    assert math.isnan(cycles.error[0])
    assert cycles.good.tolist() == [False, True]


@pytest.mark.parametrize("seed", range(4))
def test_too_little_energy_is_never_said_wrongly(seed):
    # of all starts near the border of what is needed, those that come to the end must not be given up before
    random = np.random.default_rng(seed)
    values = {"L1": random.uniform(0.4, 0.8), "L2": random.uniform(0.4, 0.8), "r1": random.uniform(0.1, 0.5)}
    gait = find_gait("swing", robots.monkeybot(r2=random.uniform(0.05, 0.4), m2=random.uniform(0.5, 2.0), **values))
    starts = {"dtheta1": random.uniform(-8, 8, 400), "dtheta2": random.uniform(-12, 12, 400)}
    many = run_many(gait, starts)
    given_up = np.flatnonzero([reason.endswith("too little energy") for reason in many.reason])
    assert given_up.size
    for k in random.permutation(given_up)[:10]:
        with pytest.raises(SaltusError, match="switch never ends within 5 s: it begins with too little energy"):
            run_cycle(gait, {name: column[k] for name, column in starts.items()})
    needs, held = needs_of(gait, 0), gait.held(0)
    least = needs.least(held.system.parameter_values)
    # a state at rest on the guard, anywhere, has at least that much
    places = random.uniform(-np.pi, np.pi, (200_000, 2))
    values, guards = columns(needs.place, places, np.tile(held.system.parameter_values, (len(places), 1)))
    near = np.abs(guards.ravel()) < 2e-3
    assert near.sum() > 100
    assert values.ravel()[near].min() > least - 0.1
    assert values.ravel()[near].min() < least + 0.5


def test_bad_input_is_refused(swing):
    with pytest.raises(InputError, match="dtheta3"):
        run_cycle(swing, {"dtheta3": 1.0})
    with pytest.raises(InputError, match="theta1"):
        run_cycle(swing, {"theta1": 1.0})
    with pytest.raises(InputError, match="motor_torque"):
        run_cycle(swing, knobs={"motor_torque": -1.0})
    with pytest.raises(InputError, match="beyond its limit"):
        run_cycle(swing, knobs={"motor_torque": 50.0})
    with pytest.raises(InputError, match="finite"):
        run_cycle(swing, {"dtheta1": math.nan})
    with pytest.raises(InputError, match="not the same under other names"):
        solve(find_gait("swing", robots.monkeybot(m1=2.0)))
    with pytest.raises(SaltusError, match="inputs are zero"):
        run_cycle(swing, knobs={"motor_torque": 0.0})


@pytest.mark.parametrize("kind", ["swing", "two_steps"])
def test_links_that_differ(kind):
    # the whole robot, with both of its links, changes hands by itself and knows nothing of other names
    robot = robots.monkeybot(m1=1.1, m2=0.9, L1=0.6, L2=0.65, r1=0.5, r2=0.08, I1=0.02, elbow_viscous=1e-3)
    gait = find_gait(kind, robot).with_knobs(motor_torque=2.0)
    start = {"theta2": 0.02, "dtheta1": 0.9, "dtheta2": 11.5}
    cycle = run_cycle(gait, start, **EXACT)
    run = saltus.simulate(robot, start, controller=Timed.of(cycle), until=cycle.period, **EXACT)
    end, half = run.final, kind == "swing"
    if half:  # the hand that held is now called B
        mapped = np.array(ca.Function("m", [ca.vertcat(robot.mechanism.q, robot.mechanism.v), robot.mechanism.p], [
            robot.symmetry.map(robot.mechanism)])(list(end.values()), robot.parameter_values)).ravel()  # fmt: skip
        end = dict(zip(robot.state_names, mapped, strict=True))
    for name in ("theta1", "theta2"):
        assert math.remainder(end[name] - cycle.final[name], 2 * math.pi) == pytest.approx(0.0, abs=1e-9)
    for name in ("dtheta1", "dtheta2"):
        assert end[name] == pytest.approx(cycle.final[name], abs=1e-8)
    assert (end["x"], end["y"]) == pytest.approx(cycle.travel, abs=1e-9)
    many = run_many(gait, {name: np.full(3, value) for name, value in start.items()}, rtol=1e-12, atol=1e-13)
    assert many.finals["dtheta2"] == pytest.approx(cycle.final["dtheta2"], abs=1e-8)


def test_derivatives_by_parameters_of_the_robot():
    for kind, parameter in (("swing", "g"), ("swing", "L1"), ("two_steps", "r2"), ("pieces", "m1")):
        gait = find_gait(kind, robots.monkeybot()).with_knob(parameter)
        value = gait.knobs[parameter].value
        start = {name: gait.state()[name] + 0.01 for name in gait.free}
        cycle = run_cycle(gait, start, derivatives=True, **EXACT)
        ends = []
        for change in (1e-5, -1e-5, 2e-5, -2e-5):
            end = run_cycle(gait, start, {parameter: value + change}, **EXACT)
            ends.append(np.array([*end.final.values(), *end.durations.values(), *end.travel]))
        expected = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / 12e-5
        column = cycle.names.index(parameter)
        found = [*cycle.jacobian[:, column], *cycle.time_jacobian[:, column], *cycle.travel_jacobian[:, column]]
        assert np.array(found) == pytest.approx(expected, rel=1e-5, abs=1e-5)
        both = {parameter: np.array([value, value + 1e-6])}
        many = run_many(gait, {n: np.full(2, v) for n, v in start.items()}, both, rtol=1e-12, atol=1e-13)
        assert many.finals["dtheta2"][1] == pytest.approx(
            run_cycle(gait, start, {parameter: value + 1e-6}, **EXACT).final["dtheta2"], abs=1e-8
        )


def test_a_phase_that_is_over_as_it_begins(swing):
    # nothing is lost, so that there is nothing to restore: the energy is beyond its aim, or below it, by rounding
    exact = collisionless(swing)[1].fixed.start
    crossed = []
    for k in range(-4, 5):  # which of these cross the guard that the gait itself only touches is up to rounding, too
        start = {name: exact[name] * (1 + k * 2e-16) for name in ("dtheta1", "dtheta2")}
        cycle = run_cycle(swing, start)
        if not cycle.touched:
            # to gain 1e-16 of the energy takes the root of that in seconds
            assert cycle.durations["motor"] < 1e-7
            assert cycle.error < 1e-12
            crossed.append(start)
    assert crossed
    many = run_many(swing, {name: np.full(2, crossed[0][name]) * [1.0, 1.01] for name in ("dtheta1", "dtheta2")})
    assert many.good[0]


def test_a_guard_that_was_touched_is_told(swing):
    exact = collisionless(swing)[0].fixed.start
    with pytest.raises(SaltusError, match=r"touched, to rounding, after 0\.4329"):
        run_cycle(swing, {name: exact[name] * (1 - 1e-12) for name in ("dtheta1", "dtheta2")})
    more = {"dtheta1": exact["dtheta1"] * (1 - 1e-9), "dtheta2": exact["dtheta2"], "theta2": 1e-9}
    assert run_cycle(swing.timed({"switch": 0.4, "motor": 0.1, "vertical": 0.4}), more).touched == {}
    assert run_cycle(swing).touched == {}


def test_friction_of_the_elbow_takes_part():
    free = run_cycle(find_gait("swing", robots.monkeybot()))
    rough = find_gait("swing", robots.monkeybot(elbow_viscous=0.001, elbow_dry=0.001))
    cycle = run_cycle(rough, {"dtheta1": 1.1})
    assert cycle.period != pytest.approx(free.period, abs=1e-3)
    assert all(run.check().ok for run in cycle.runs)


def test_every_phase_passes_its_own_audit(swing):
    assert all(run.check().ok for run in run_cycle(swing).runs)
    assert isinstance(run_cycle(swing).runs[0], saltus.Trajectory)


def test_cycles_that_cannot_start_carry_their_reasons(swing):
    """One bad start spoils no other cycle, whatever is wrong with it."""
    count = 40
    starts = {"dtheta1": np.linspace(0.85, 0.95, count), "dtheta2": np.linspace(10.8, 11.0, count)}
    torque = np.full(count, 0.66) + np.linspace(0, 0.01, count)
    spoiled, other = {name: row.copy() for name, row in starts.items()}, torque.copy()
    spoiled["dtheta1"][0], spoiled["dtheta2"][7], other[20], other[39] = math.nan, math.inf, -1.0, 25.0
    many = run_many(swing, spoiled, {"motor_torque": other})
    bad = [0, 7, 20, 39]
    good = np.setdiff1d(np.arange(count), bad)
    assert np.flatnonzero(many.reason != "").tolist() == bad
    for k in bad:
        with pytest.raises(InputError) as alone:
            run_cycle(swing, {name: row[k] for name, row in spoiled.items()}, {"motor_torque": other[k]})
        assert many.reason[k] == str(alone.value)
        assert not many.good[k]
        assert math.isnan(many.error[k])
    without = run_many(swing, {name: row[good] for name, row in starts.items()}, {"motor_torque": torque[good]})
    assert np.array_equal(many.error[good], without.error)
    for name, row in without.finals.items():
        assert np.array_equal(many.finals[name][good], row)
    only = run_many(swing, {"dtheta1": np.array([math.nan])})
    assert only.reason[0] == "start of gait swing: dtheta1 must be finite, got nan"
    with pytest.raises(InputError, match="beyond its limit of 20 N m"):  # given for all
        run_many(swing, starts, {"motor_torque": 25.0})


def test_a_phase_that_begins_beyond_its_end_says_so(swing):
    first, *others = swing.phases
    late = replace(
        swing, phases=(replace(first, ends=swing.robot.mechanism.coordinate("theta2").symbol - 1.0), *others)
    )
    many = run_many(late, {"theta2": np.array([0.0, 2.0])})
    assert "switch cannot start: " in many.reason[1]
    assert "violates 'switch' (the end of phase switch)" in many.reason[1]
    assert "cannot start" not in many.reason[0]
