"""Joints with dry friction, viscous friction and stops against closed forms: one coordinate, a motor, nothing else."""

import math

import pytest

import saltus
from saltus import HybridSystem, Mechanism
from saltus.contact import JointUnit
from saltus.control import PD, Constant, Schedule, Sine
from saltus.mechanism import Prismatic, Revolute


def one_joint(joint, name, **stops):
    m = Mechanism(name)
    inertia = m.parameter("inertia", 2.0, "kg m^2", positive=True)
    c = m.parameter("coulomb", 0.5, "N m", lower=0)
    d = m.parameter("viscous", 0.0, "N m s/rad", lower=0)
    stops = {key: m.parameter(key, value, "rad") for key, value in stops.items()}
    m.body("body", joint, mass=inertia, inertia=inertia if isinstance(joint, Revolute) else 0)
    m.actuator("motor", "q")
    return HybridSystem(m, units=(JointUnit(m.coordinate("q"), coulomb=c, viscous=d, **stops),))


@pytest.fixture(scope="module", params=["turning", "sliding"])
def joint(request):
    """No stops."""
    return one_joint(Revolute("q") if request.param == "turning" else Prismatic("q"), request.param)


@pytest.fixture(scope="module")
def stopped():
    """Stops at -0.5 and 1."""
    return one_joint(Revolute("q"), "stopped", lower=-0.5, upper=1.0)


def causes(run):
    return [(event.guard, event.mode_after) for event in run.events]


# -- dry friction ------------------------------------------------------------------------------


@pytest.mark.parametrize("torque", [0.0, 0.3, -0.3, 0.4999, -0.4999999])
def test_below_the_limit_nothing_moves_at_all(joint, torque):
    start = math.pi / 7
    run = saltus.simulate(joint, {"q": start}, controller=Constant(torque), until=10.0)
    assert run.arc_modes == ["stuck"]
    assert set(run.x[:, 0]) == {start}
    assert set(run.x[:, 1]) == {0.0}
    assert run.samples.forces[:, 0] == pytest.approx(-torque, abs=1e-15)


def test_shaken_below_the_limit_nothing_moves_at_all(joint):
    run = saltus.simulate(joint, {"q": 0.1}, controller=Sine(amplitude=0.49, omega=17.0), until=10.0)
    assert (run.events, run.final) == ([], {"q": 0.1, "dq": 0.0})


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rate", [0.01, 0.7, 1e3])
def test_breakaway_under_a_ramp(joint, rate, sign):
    breaks = 0.5 / rate
    ramp = Schedule((0.0, 10 * breaks), ((0.0, sign * rate), (0.0,)))
    run = saltus.simulate(joint, controller=ramp, until=3 * breaks)
    assert causes(run) == [("q.limit+" if sign > 0 else "q.limit-", "free+" if sign > 0 else "free-")]
    assert run.events[0].t == pytest.approx(breaks, rel=1e-12)
    # from then on the rest of the ramp drives it: s^3 and s^2
    assert run.final["q"] == pytest.approx(sign * rate * (2 * breaks) ** 3 / 12, rel=1e-10)
    assert run.final["dq"] == pytest.approx(sign * rate * (2 * breaks) ** 2 / 4, rel=1e-10)


@pytest.mark.parametrize(("speed", "torque"), [(3.0, 0.0), (-3.0, 0.0), (1e-3, 0.0), (1e3, 0.0), (2.0, 0.4)])
def test_stops_in_time(joint, speed, torque):
    run = saltus.simulate(joint, {"dq": speed}, controller=Constant(torque), until=1e5)
    slowing = 0.5 - torque if speed > 0 else 0.5 + torque
    assert causes(run) == [("q.turn", "stuck")]
    assert run.events[0].t == pytest.approx(abs(speed) * 2.0 / slowing, rel=1e-12)
    assert run.final["q"] == pytest.approx(math.copysign(speed**2 / slowing, speed), rel=1e-12)
    assert run.final["dq"] == 0.0
    assert float(run.dataset.friction_loss[-1]) == pytest.approx(0.5 * abs(run.final["q"]), rel=1e-10)


def test_torque_beyond_friction_turns_it_round_without_a_rest(joint):
    run = saltus.simulate(joint, {"dq": 2.0}, controller=Constant(-1.5), until=5.0)
    # 2 kg m^2 at 2 rad/s against 1.5 + 0.5, then driven by 1.5 - 0.5
    assert causes(run) == [("q.turn", "free-")]
    assert run.events[0].t == pytest.approx(2.0, abs=1e-12)
    assert run.final["q"] == pytest.approx(2.0 - 0.25 * 9, abs=1e-11)


@pytest.mark.parametrize(("friction", "start"), [(0.5, 1.0), (0.5, -2.03), (0.1, 0.77), (2.0, 0.3), (0.05, 1.0)])
def test_spring_against_dry_friction(joint, friction, start):
    # each half period the amplitude falls by 2 F / k; it rests where the spring is weaker than friction
    k, inertia = 8.0, 2.0
    robot = joint.with_parameters(coulomb=friction)
    half = math.pi * math.sqrt(inertia / k)
    run = saltus.simulate(robot, {"q": start}, controller=PD(kp=k, kd=0.0), until=25 * half)
    reach, turns = abs(start), []
    while reach > friction / k:
        reach -= 2 * friction / k
        turns.append(reach)
        reach = abs(reach)
    side = math.copysign(1.0, start)
    assert len(run.events) == min(len(turns), 25)
    for count, (event, place) in enumerate(zip(run.events, turns, strict=False)):
        side = -side
        assert event.t == pytest.approx((count + 1) * half, abs=1e-9)
        assert event.state_after["q"] == pytest.approx(side * place, abs=1e-9)
    if turns and len(turns) < 25:
        assert run.arc_modes[-1] == "stuck"
        assert abs(run.final["q"]) <= friction / k * (1 + 1e-9)
        assert run.final["q"] == run.events[-1].state_after["q"]
    if not turns:
        assert run.final == {"q": start, "dq": 0.0}
    assert run.check().ok


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_viscous_decay(joint, friction):
    d, inertia, speed = 1.7, 2.0, 3.0
    run = saltus.simulate(joint.with_parameters(viscous=d, coulomb=friction), {"dq": speed}, until=2.0)
    if friction == 0.0:
        assert run.arc_modes == ["free"]
        assert run.final["dq"] == pytest.approx(speed * math.exp(-d * 2.0 / inertia), rel=1e-10)
        assert run.final["q"] == pytest.approx(speed * inertia / d * (1 - math.exp(-d * 2.0 / inertia)), rel=1e-10)
        assert float(run.dataset.damping_loss[-1]) == pytest.approx(speed**2 - run.final["dq"] ** 2, rel=1e-10)
    else:
        # v + c/d decays, to c/d
        run = saltus.simulate(run.system, {"dq": speed}, until=5.0)
        assert run.events[0].t == pytest.approx(inertia / d * math.log(1 + speed * d / friction), abs=1e-10)
        assert run.final["dq"] == 0.0


def test_no_friction_at_all_is_free(joint):
    run = saltus.simulate(joint.with_parameters(coulomb=0.0), {"dq": 1.0}, controller=Sine(amplitude=3.0), until=4.0)
    assert (run.arc_modes, run.events) == (["free"], [])
    assert run.final["dq"] == pytest.approx(1.0, abs=1e-9)


# -- stops -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("speed", "name", "place"), [(2.0, "upper", 1.0), (-2.0, "lower", -0.5), (1e4, "upper", 1.0)])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_hit_without_rebound(stopped, speed, name, place, friction):
    run = saltus.simulate(stopped.with_parameters(coulomb=friction), {"dq": speed}, until=10.0)
    assert causes(run) == [(f"q.{name}", name)]
    event = run.events[0]
    striking = math.copysign(math.sqrt(speed**2 - friction * abs(place)), speed)
    assert event.t == pytest.approx(2 * place / (speed + striking), rel=1e-12)
    assert event.state_before["dq"] == pytest.approx(striking, rel=1e-10)
    assert event.impulse["q.q"] == pytest.approx(-2.0 * striking, rel=1e-10)
    assert event.energy_lost == pytest.approx(striking**2, rel=1e-10)
    assert run.final == {"q": place, "dq": 0.0}
    assert run.check().ok


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("side", [1, -1])
def test_leaves_when_the_torque_has_turned(stopped, friction, side):
    # pressed by 2 - t: leaves at 2 without friction, and 0.5 s later with it
    place = 1.0 if side > 0 else -0.5
    ramp = Schedule((0.0, 50.0), ((2.0 * side, -1.0 * side), (0.0,)))
    run = saltus.simulate(stopped.with_parameters(coulomb=friction), {"q": place}, controller=ramp, until=3.0)
    away = ("free-" if side > 0 else "free+") if friction else "free"
    assert causes(run) == [("q.push", away)]
    assert run.arc_modes[0] == ("upper" if side > 0 else "lower")
    assert run.events[0].t == pytest.approx(2.0 + friction, abs=1e-11)
    assert run.final["q"] == pytest.approx(place - side * (1.0 - friction) ** 3 / 12, abs=1e-12)
    assert run.at(1.9).tolist() == [place, 0.0]


def test_starts_at_a_stop(stopped):
    hit = saltus.simulate(stopped, {"q": 1.0, "dq": 3.0}, until=1.0)
    assert causes(hit) == [("q.upper", "upper")]
    assert hit.events[0].t == 0.0
    assert hit.final == {"q": 1.0, "dq": 0.0}
    leaving = saltus.simulate(stopped, {"q": 1.0, "dq": -3.0}, until=0.2)
    assert leaving.arc_modes == ["free-"]
    assert leaving.final["q"] == pytest.approx(1.0 - 0.6 + 0.5 * 0.25 * 0.04, rel=1e-12)
    resting = saltus.simulate(stopped, {"q": -0.5}, until=1.0)
    assert (resting.events, resting.final) == ([], {"q": -0.5, "dq": 0.0})


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_from_stop_to_stop(stopped, friction):
    # thrown to and fro by a torque that changes sign every two seconds
    times = tuple(2.0 * k for k in range(6))
    controller = Schedule.steps(times, [3.0 * (-1) ** k for k in range(6)])
    run = saltus.simulate(stopped.with_parameters(coulomb=friction), {"q": -0.5}, controller=controller, until=12.0)
    hits = [event for event in run.events if any(event.impulse.values())]
    travel = math.sqrt(2 * 1.5 * 2.0 / (3.0 - friction))
    assert [event.t for event in hits] == pytest.approx([t + travel for t in times], abs=1e-11)
    assert [event.guard for event in hits] == ["q.upper", "q.lower"] * 3
    assert [event.t for event in run.events if event.guard == "break"] == list(times[1:])


def test_arrives_at_the_stop_with_nothing_left(stopped):
    # v^2 = 2 (c / inertia) 1: friction alone brings it to rest at the stop itself
    run = saltus.simulate(stopped.with_parameters(coulomb=0.5), {"dq": math.sqrt(0.5)}, until=10.0)
    assert run.final["q"] == pytest.approx(1.0, abs=1e-12)
    assert abs(run.final["dq"]) < 1e-12
    assert run.status.good


def test_spring_into_a_stop_rests_there_or_comes_back(stopped):
    # a spring that pulls beyond the stop keeps it there; one that turns before does not reach it
    beyond = saltus.simulate(stopped, controller=PD(kp=8.0, kd=0.0, target=2.0), until=20.0)
    assert beyond.arc_modes[-1] == "upper"
    assert beyond.final == {"q": 1.0, "dq": 0.0}
    short = saltus.simulate(stopped, controller=PD(kp=8.0, kd=0.0, target=0.5), until=20.0)
    # from 0 about 0.5 with 2 F / k = 0.125 less each half swing: turns at 0.875, 0.25, ... inside the stops
    assert [event.state_after["q"] for event in short.events[:2]] == pytest.approx([0.875, 0.25], abs=1e-9)
    assert short.arc_modes[-1] == "stuck"


# -- two joints --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain():
    """Two masses on a line: the first slides on the ground with dry friction, the second in it between stops."""
    m = Mechanism("chain")
    f1 = m.parameter("f1", 1.0, "N", lower=0)
    first = m.body("first", Prismatic("q1"), mass=2.0)
    m.body("second", Prismatic("q2"), parent=first, mass=1.0)
    m.actuator("pull", "q1")
    return HybridSystem(
        m, units=(JointUnit(m.coordinate("q1"), coulomb=f1), JointUnit(m.coordinate("q2"), lower=-0.5, upper=0.5))
    )


def test_stuck_joint_is_moved_by_an_impact_elsewhere(chain):
    run = saltus.simulate(chain, {"dq2": 3.0}, until=10.0)
    first = run.events[0]
    # 1 kg at 3 m/s against a stop of 2 kg at rest: 1 m/s together, dry friction gives no impulse
    assert first.t == pytest.approx(0.5 / 3.0, abs=1e-12)
    assert first.mode_before == "q1:stuck q2:free"
    assert first.state_after["dq1"] == pytest.approx(1.0, rel=1e-13)
    assert first.state_after["dq2"] == 0.0
    assert first.impulse["q2.q"] == pytest.approx(-2.0, rel=1e-13)
    assert first.impulse["q1.q"] == 0.0
    # the second presses on, and friction stops both as one
    assert first.mode_after == "q1:free+ q2:upper"
    assert run.events[1].t == pytest.approx(first.t + 3.0, abs=1e-12)
    assert run.arc_modes[-1] == "q1:stuck q2:upper"
    assert run.final["q1"] == pytest.approx(1.5, rel=1e-12)
    assert run.check().ok


def test_pressed_against_a_stop_the_pair_brakes_as_one(chain):
    # the second mass hangs back at its lower stop while the first is pulled
    run = saltus.simulate(chain, {"q2": -0.5}, controller=Constant({"pull": 4.0}), until=1.0)
    assert run.arc_modes == ["q1:free+ q2:lower"]
    assert run.final["q1"] == pytest.approx(0.5 * 1.0, rel=1e-12)
    assert run.samples.forces[-1].tolist() == pytest.approx([-1.0, 1.0], rel=1e-12)


def test_masses_exchange_momentum_until_both_rest(chain):
    run = saltus.simulate(chain.with_parameters(f1=0.0), {"dq2": 2.0}, until=100.0)
    # without friction the pair ends together, at a third of the speed, after one inelastic hit
    assert run.final["dq1"] == pytest.approx(2.0 / 3.0, rel=1e-12)
    assert run.final["dq2"] == 0.0
    assert len(run.events) == 1


@pytest.mark.parametrize("coulomb", [0.0, 0.5])
@pytest.mark.parametrize("lower", [-math.inf, -1.0])
@pytest.mark.parametrize("upper", [math.inf, 1.0])
def test_statuses_that_a_joint_can_have_are_those_of_its_friction_and_stops(coulomb, lower, upper):
    unit = saltus.robots.arm().units[2]
    words = {unit.statuses[k] for k in unit.possible([coulomb, lower, upper])}
    expected = {"stuck", "free+", "free-"} if coulomb else {"free"}
    expected |= ({"lower"} if lower > -math.inf else set()) | ({"upper"} if upper < math.inf else set())
    assert words == expected
