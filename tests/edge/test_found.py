"""What attacks on the engine once found, each in its smallest form."""

import math

import casadi as ca
import numpy as np
import pytest
from machines import Guard, particle, plank

import saltus
from saltus import GroundPoint, HybridSystem, Mechanism
from saltus._native import compiled
from saltus.contact import chatterjee, newton
from saltus.control import Compiled, Continuous, Sampled, Schedule, Sine
from saltus.errors import CompileError, InputError
from saltus.mechanism import Prismatic, Revolute


@pytest.fixture(scope="module")
def ball_on_any_ground():
    m = Mechanism("ball_on_any_ground")
    m.gravity = 9.81
    slope, height = m.parameter("slope", 0.0, "rad"), m.parameter("height", 0.0, "m")
    mu, e = m.parameter("mu", 0.0, "1"), m.parameter("e", 0.5, "1")
    rail = m.body("rail", Prismatic("x"))
    body = m.body("body", Prismatic("y", axis=(0, 1)), parent=rail, mass=1.0)
    point = m.point("ball", body)
    return HybridSystem(m, units=(GroundPoint(point, mu, newton(e), slope, (0, height)),))


def test_bouncing_ends_on_slopes(ball_on_any_ground):
    generator = np.random.default_rng(3)
    for _ in range(30):
        robot = ball_on_any_ground.with_parameters(
            slope=generator.uniform(-1, 1), e=generator.uniform(0, 0.6), mu=generator.uniform(0, 3)
        )
        run = saltus.simulate(robot, {"y": 5.0, "dx": generator.uniform(-2, 2)}, until=30.0)
        assert len(run.events) < 1000
        assert run.arc_modes[-1] != "open"
        assert run.check().ok


@pytest.mark.parametrize("height", [-3.0, 0.7, 100.0])
def test_bouncing_ends_in_time_on_raised_ground(ball_on_any_ground, height):
    run = saltus.simulate(ball_on_any_ground.with_parameters(height=height), {"y": height + 1.0}, until=5.0)
    speed = math.sqrt(2 * 9.81)
    rest = next(event for event in run.events if event.mode_after != "open")
    # the position is known to its rounding, the time of rest to what that takes to fall
    assert rest.t == pytest.approx(speed / 9.81 * 3, abs=1e-6)


@pytest.mark.parametrize(
    ("height", "options"), [(100.0, {"rtol": 1e-13, "atol": 1e-15}), (1e5, {}), (100.0, {"atol": 1e-15})]
)
def test_motion_between_events_is_that_of_the_shortened_step(height, options):
    first = math.sqrt(2 * height / 9.81)
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.5), {"y": height}, until=1.9 * first, **options)
    after = 0.2 * first
    exact = 0.5 * 9.81 * first * after - 0.5 * 9.81 * after**2
    assert run.at(first + after)[1] == pytest.approx(exact, rel=1e-10)
    assert run.check().ok


@pytest.mark.parametrize("excess", [0.0, 1e-15, 1e-13, 1e-12, 1e-11, 1e-6])
def test_push_that_grazes_the_limit_of_friction(excess):
    block = saltus.robots.block(slope=0.0, mu=0.3, g=10.0)
    run = saltus.simulate(block, controller=Sine(amplitude=3.0 * (1 + excess)), until=2.0)
    assert run.status.good
    assert abs(run.final["s"]) < 1e-8
    assert run.check().ok


@pytest.mark.parametrize("restitution", [0.5, 0.9, 1.0])
def test_chatterjee_at_two_strikes_together(restitution):
    run = saltus.simulate(plank(restitution=0.0).with_law(chatterjee(restitution, 0.0)), {"y": 1.0}, until=0.5)
    event = run.events[0]
    assert event.state_after["dy"] == pytest.approx(-restitution * event.state_before["dy"], rel=1e-12)
    assert event.energy_lost == pytest.approx(2 * 9.81 * (1 - restitution**2), abs=1e-10)


def test_chatterjee_without_sliding_sticks_at_once():
    block = saltus.robots.block(slope=0.0).with_law(chatterjee(0.0, 0.5))
    run = saltus.simulate(block, {"n": 1.0}, until=2.0)
    assert [(event.guard, event.mode_after) for event in run.events] == [("block.touch", "stick")]


def test_audit_of_several_impacts_at_one_time():
    generator = np.random.default_rng(1)
    for _ in range(25):
        start = {"y": 1.0, "angle": generator.uniform(-0.5, 0.5), "dangle": generator.uniform(-2, 2)}
        run = saltus.simulate(plank(friction=0.4), start, until=2.0, raise_errors=False)
        assert run.check().ok


def test_nothing_acts_before_a_schedule_starts():
    block = saltus.robots.block(mu=0.1, slope=0.0)
    early = saltus.simulate(block, controller=Schedule((0.5,), ((5.0,),)), until=0.4)
    assert early.final["s"] == 0.0
    late = saltus.simulate(block, start=-5.0, until=-1.0, controller=Schedule((0.0, 1.0), ((0.0, 1.0), (1.0,))))
    assert late.final["s"] == 0.0


def test_guard_that_is_not_a_number_ends_the_run():
    run = saltus.simulate(
        particle(lambda x, y: [Guard("root", 1 + ca.sqrt(5.3 - x))]), {"dx": 1.0}, until=10.0, raise_errors=False
    )
    assert run.status.name == "not_finite"
    assert run.end_time == pytest.approx(5.3, abs=1e-9)
    with pytest.raises(InputError, match="not a number"):
        saltus.simulate(particle(lambda x, y: [Guard("root", ca.log(x))]), {"x": -1.0, "dx": 1.0}, until=1.0)


@pytest.mark.parametrize(("scale", "elsewhere"), [(1e-15, 0.0), (1e-8, 1e8), (1e12, 0.0)])
def test_guards_of_any_scale(scale, elsewhere):
    run = saltus.simulate(
        particle(lambda x, y: [Guard("one", scale * (1 - x))]), {"dx": 1.0, "y": elsewhere}, until=9.0
    )
    assert run.end_time == pytest.approx(1.0, abs=1e-12)


def test_guard_with_a_jump():
    run = saltus.simulate(particle(lambda x, y: [Guard("jump", ca.if_else(x < 5.3, 1, -1))]), {"dx": 1.0}, until=9.0)
    assert run.end_time == pytest.approx(5.3, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_leaving_zero_is_no_event_on_either_side(sign):
    run = saltus.simulate(particle(lambda x, y: [Guard("here", sign * x, "record", "both")]), {"dx": 1.0}, until=1.0)
    assert run.events == []


def test_light_and_heavy_bodies_together():
    m = Mechanism("unequal")
    m.gravity = 9.81
    units = []
    for name, mass in (("light", 1e-6), ("heavy", 1e6)):
        rail = m.body(f"{name}_rail", Prismatic(f"x_{name}"))
        body = m.body(name, Prismatic(f"y_{name}", axis=(0, 1)), parent=rail, mass=mass)
        units.append(GroundPoint(m.point(name, body), friction=0.5))
    run = saltus.simulate(HybridSystem(m, units=tuple(units)), until=1.0)
    assert run.arc_modes == ["light:stick heavy:stick"]
    assert not run.redundant


@pytest.mark.parametrize(("start", "period"), [(1000.0, 1e-5), (0.3, 0.1), (-1.0, 0.1), (7.0, 1 / 3)])
def test_no_sample_is_asked_twice(start, period):
    asked = []

    def note(t, state, mode, memory):
        asked.append(t)
        return 0.0

    saltus.simulate(saltus.robots.pendulum(), start=start, until=start + 5.5 * period, controller=Sampled(note, period))
    assert len(asked) == 6 if start != 7.0 else len(asked) in (6, 7)
    assert np.diff(asked).min() > 0.3 * period


@pytest.mark.parametrize("breaks", [(0.7, 0.3), (math.nan,), (0.3, 0.3)])
@pytest.mark.parametrize("kind", [Compiled, Continuous])
def test_breaks_must_increase(breaks, kind):
    def law(t, x, status, memory, p, data, piece, u, request):
        u[0] = 0.0
        return 0

    function = law if kind is Compiled else lambda *_: 0.0
    with pytest.raises(InputError, match="increase"):
        saltus.simulate(saltus.robots.pendulum(), controller=kind(function, breaks=breaks))


def test_ground_does_not_move():
    m = Mechanism("lift")
    body = m.body("body", Prismatic("y", axis=(0, 1)), mass=1.0)
    with pytest.raises(InputError, match="parameters only"):
        HybridSystem(m, units=(GroundPoint(m.point("foot", body), through=(0, m.t)),))


def test_controller_that_fails_only_where_the_motion_never_goes():
    def touchy(t, state, mode, memory):
        if state["theta"] < -1.5:
            raise ValueError("out of range")
        return 0.0

    run = saltus.simulate(saltus.robots.pendulum(), controller=Continuous(touchy), until=3.0, first_step=1.0)
    assert run.status.name == "finished"
    assert run.control.failure is None


def test_compiled_code_that_raises_is_refused():
    def law(t, x, status, memory, p, data, piece, u, request):
        if t > 0.01:
            raise ValueError
        u[0] = 0.0
        return 0

    with pytest.raises(CompileError, match="return 1"):
        saltus.simulate(saltus.robots.pendulum(), controller=Compiled(law))


def test_compiled_laws_that_differ_only_in_what_they_close_over():
    # on one line and of one name: told apart by their code and what they close over
    def make(gain):
        return lambda t, x, s, m, p, d, k, u, r: _set(u, gain)

    laws = [make(1.0), make(2.0), lambda t, x, s, m, p, d, k, u, r: _set(u, 3.0)]
    inputs = [
        saltus.simulate(saltus.robots.pendulum(), controller=Compiled(law), until=0.1).samples.inputs[0, 0]
        for law in laws
    ]
    assert inputs == [1.0, 2.0, 3.0]


@compiled
def _set(u, value):
    u[0] = value
    return 0


def test_names_that_would_collide():
    m = Mechanism("twice")
    m.body("first", Prismatic("x"), mass=1.0)
    with pytest.raises(InputError, match="already has"):
        m.body("second", Prismatic("dx"), mass=1.0)


def test_what_no_body_is_made_of():
    m = Mechanism("odd")
    with pytest.raises(InputError, match="numbers or expressions"):
        m.body("body", Revolute("angle"), mass="heavy")
    m = Mechanism("odd")
    m.body("body", Revolute("angle"), mass=math.inf)
    with pytest.raises(InputError, match="finite"):
        HybridSystem(m)


@pytest.mark.parametrize("expression", ["x", ca.SX.sym("stranger"), ca.SX.zeros(2)])
def test_guards_that_are_none(expression):
    m = Mechanism("watched")
    m.body("body", Prismatic("x"), mass=1.0)
    with pytest.raises(InputError, match="guard"):
        HybridSystem(m, guards=(Guard("odd", expression),))


def test_numpy_numbers_are_numbers():
    from saltus.control import Constant

    for value in (np.float32(1.0), np.int64(1), 1):
        run = saltus.simulate(saltus.robots.pendulum(), controller=Constant(value), until=np.float64(0.1))
        assert run.samples.inputs[0, 0] == 1.0


def test_thruster_and_welded_mass():
    # a force on a point of a rod, and a mass fixed to its end: against the same by hand
    m = Mechanism("rocket")
    rod = m.body("rod", Revolute("angle"), mass=1.0, inertia=1 / 12, com=(0.5, 0))
    m.weld("tip", rod, (1.0, 0), mass=2.0)
    m.thruster("jet", m.point("nozzle", rod, (1.0, 0)), (0, 1), limit=10.0)
    run = saltus.simulate(HybridSystem(m), controller=saltus.control.Constant(3.0), until=0.5)
    inertia = 1 / 12 + 0.25 + 2.0

    # energy: the force's work is 3 N times the height of the nozzle
    angle, rate = run.final["angle"], run.final["dangle"]
    assert 0.5 * inertia * rate**2 == pytest.approx(3.0 * math.sin(angle), rel=1e-9)


@pytest.mark.parametrize("angle", [0.5, 0.7])
def test_joint_that_gives_way_right_before_a_break(angle):
    # its rate is then made of nothing but what holding the hand in its place leaves of rounding
    robot, length, turn = saltus.robots.brachiator(elbow_coulomb=0.3), 0.8, angle + math.pi
    start = {
        "theta1": turn, "theta2": 0.0, "x": 0.55 - length * math.sin(turn), "y": length * math.cos(turn),
        "dtheta1": 0.3, "dx": -0.3 * length * math.cos(turn), "dy": -0.3 * length * math.sin(turn),
    }  # fmt: skip

    def hung(*breaks):
        nothing = Schedule.steps((0.0, *breaks), [0.0] * (1 + len(breaks)))
        return saltus.simulate(robot, start, mode={"A": "open", "B": "closed"}, controller=nothing, until=1.0)

    whole = hung()
    gives_way = [event.t for event in whole.events if event.guard == "theta2.limit+"]
    assert gives_way
    for late in (1e-10, 3e-10, 1e-9, 3e-9, 1e-8, 2e-8, 9e-8, 2e-7):
        broken = hung(*(t + late for t in gives_way))
        assert causes(broken) == causes(whole)
        assert broken.final == pytest.approx(whole.final, abs=1e-11)


def causes(run):
    return [(event.guard, event.mode_after) for event in run.events]


def test_a_second_hand_closes_while_the_elbow_is_at_its_stop():
    """Both hands hold all that can move: what the stop has left of its mobility is rounding, and no impulse."""
    arm = saltus.robots.arm()
    start = {"theta1": 1.2870836816944105, "theta2": 2.6179938779914944, "dtheta1": -1.07328109669408}
    for reach in (1.0, 0.9, 1.1):
        state = arm.state({**start, "dtheta1": reach * start["dtheta1"]})
        state = arm.consistent(state, {"hand": "closed"})
        close = Sampled(lambda t, state, mode, memory: saltus.Command(0.0, {"tip": "close"}), period=0.01)
        run = saltus.simulate(arm, state, controller=close, mode={"hand": "closed"}, until=0.1)
        assert run.status.good
        assert run.check().ok
        assert np.abs(run.x[-1, 4:]).max() < 1e-9


LOOP = {
    "m_fore": 1.2693020623736901, "m_upper": 0.44507519357528963, "m_body": 0.6649787003956517,
    "L_upper": 0.30641286086076125, "L_body": 0.1868319223983764, "g": 8.407898161074124,
    "joint_coulomb": 1.1525032335023897, "joint_viscous": 0.15536727547496507,
    "hand_coulomb": 0.40550717710281164, "hand_viscous": 0.07075329940559844, "elbow_stop": 5.797358113104087,
    "shoulder_stop": 3.569396177269995, "bar_radius": 0.005473696436286128, "bar0_y": 0.16498046935746563,
}  # fmt: skip
LOOP_START = [
    189.38724039625544, -0.4392913025009348, 1.3966392608650464, 0.70932013338986, -2.356194490192345,
    0.39269908169872414, 0.39303194792140417,
]  # fmt: skip


@pytest.mark.parametrize("name", ["bar0_y", "g", "hand_coulomb", "m_body"])
def test_joints_of_a_closed_loop_turn_together_whatever_rounding_says(name):
    # both hands hold, two joints stick: what is left moves in one way only, and all its joints turn at one instant
    robot = saltus.robots.five_link_brachiator(**LOOP)
    for places in range(-4, 5):
        near = robot.with_parameters(**{name: LOOP[name] + places * math.ulp(LOOP[name])})
        run = saltus.simulate(
            near, LOOP_START + [0.0] * 7, mode={"B": "closed"}, until=1.0, rtol=6.3e-7, atol=7.5e-12, method="dop853",
            max_events=2000,
        )  # fmt: skip
        assert run.status.name == "finished"
        assert run.events[-1].t == pytest.approx(0.4864964, abs=1e-5)
        assert len(run.events) == 1
