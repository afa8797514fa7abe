"""Grips, joints and wheels at their edges: at once, at zero, at the limit exactly, huge, tiny, wrong."""

import math

import numpy as np
import pytest
from machines import particle_with_hand, slider

import saltus
from saltus import Command, GroundPoint, HybridSystem, Mechanism
from saltus.contact import Bar, Grip, JointUnit, Line, Wall, newton
from saltus.control import PD, Constant, Continuous, Sampled, Schedule, Sine
from saltus.errors import InputError, RunFailed
from saltus.mechanism import Floating, Prismatic, Revolute


def asks(period=0.01, **when):
    """A controller that asks grips to close or open: hand=[(time, wish), ...]; the last wish stands."""

    def function(t, state, mode, memory):
        wishes = {name: [wish for time, wish in entries if t >= time] for name, entries in when.items()}
        return Command(requests={name: said[-1] for name, said in wishes.items() if said})

    return Sampled(function, period=period)


def modes(run):
    return [(event.guard, event.mode_after) for event in run.events]


# -- grips within reach and at its edge ----------------------------------------------------------------


@pytest.fixture(scope="module")
def at_a_bar():
    return particle_with_hand("at_a_bar", Bar((1.0, 0.0), 0.25))


REACHING = {"hand": "reaching"}


@pytest.mark.parametrize("place", [1.0, 0.9, 0.75])
@pytest.mark.parametrize("speed", [1.0, 0.0])
def test_reaching_from_the_start_within_reach_is_caught_at_once(at_a_bar, place, speed):
    run = saltus.simulate(at_a_bar, {"x": place, "dx": speed}, mode=REACHING, until=1.0)
    assert modes(run) == [("hand.catch", "closed")]
    assert run.events[0].t == 0.0
    assert (run.final["x"], run.final["dx"]) == (place, 0.0)
    assert run.check().ok


@pytest.mark.parametrize("speed", [1.0, 0.0, -1.0])
def test_close_at_the_edge_exactly(at_a_bar, speed):
    run = saltus.simulate(at_a_bar, {"x": 0.75, "dx": speed}, controller=asks(hand=[(0, "close")]), until=1.0)
    assert modes(run) == [("command", "closed")]


def test_close_on_the_surface_of_a_wall():
    wall = particle_with_hand("at_a_wall", Wall((0.1, 0.0), math.pi / 2))
    run = saltus.simulate(wall, {"x": 0.1, "dy": 1.0}, controller=asks(hand=[(0.3, "close")]), until=1.0)
    assert modes(run) == [("command", "closed")]
    assert run.final["y"] == pytest.approx(0.3, rel=1e-12)


def test_let_go_at_the_centre_of_a_bar(at_a_bar):
    # the distance from the centre has no gradient there
    run = saltus.simulate(at_a_bar, {"x": 1.0}, mode={"hand": "closed"}, controller=asks(hand=[(0.1, "open")]), until=1)
    assert modes(run) == [("command", "released")]


def test_released_from_the_start(at_a_bar):
    inside = saltus.simulate(at_a_bar, {"x": 1.0, "dx": 1.0}, mode={"hand": "released"}, until=1.0)
    assert modes(inside) == [("hand.leave", "open")]
    assert inside.events[0].t == pytest.approx(0.25, abs=1e-12)
    outside = saltus.simulate(at_a_bar, {"x": 2.0, "dx": 1.0}, mode={"hand": "released"}, until=1.0)
    assert (outside.events, outside.arc_modes) == ([], ["open"])
    assert outside.check().ok


@pytest.mark.parametrize("status", ["reaching", "released"])
def test_hand_that_can_hold_anything_has_nothing_to_reach_for_or_leave(status):
    with pytest.raises(InputError, match="hand"):
        saltus.simulate(particle_with_hand("holds_anything"), {"dx": 1.0}, mode={"hand": status}, until=1.0)


@pytest.mark.parametrize(
    ("inside", "caught"), [(0.0, None), (1e-14, None), (1e-9, True), (1e-4, True), (-1e-9, False), (-1e-4, False)]
)
def test_grazing_a_capture_circle(at_a_bar, inside, caught):
    run = saltus.simulate(at_a_bar, {"y": 0.25 - inside, "dx": 1.0}, mode=REACHING, until=2.0)
    if caught is not None:
        assert bool(run.events) == caught
    if caught:
        enters = 1.0 - math.sqrt(0.25**2 - (0.25 - inside) ** 2)
        assert run.events[0].t == pytest.approx(enters, abs=1e-9 if inside < 1e-6 else 1e-11)
    assert run.check().ok


@pytest.mark.parametrize(("centre", "speed"), [(1.0, 1e3), (1000.0, 1e3), (1.0, 1e6)])
def test_fast_through_a_small_circle(centre, speed):
    m = particle_with_hand(f"fast{centre:g}", Bar((centre, 0.0), 1e-3))
    run = saltus.simulate(m, {"x": -3.0, "y": 6e-4, "dx": speed}, mode=REACHING, until=3.0)
    assert modes(run) == [("hand.catch", "closed")]
    assert run.final["x"] == pytest.approx(centre - 8e-4, abs=1e-12 * centre)


def test_caught_and_let_go_at_one_sample(at_a_bar):
    def opens(t, state, mode, memory):
        return Command(requests={"hand": "open" if t >= 0.75 else "keep"})

    run = saltus.simulate(at_a_bar, {"dx": 1.0}, mode=REACHING, controller=Sampled(opens, 0.25), until=2.0)
    # the impact comes first, and the controller sees what it left
    assert modes(run) == [("hand.catch", "closed"), ("command", "released")]
    assert [event.t for event in run.events] == [0.75, 0.75]
    assert run.final["dx"] == 0.0


def test_continuous_wish_at_the_edge_does_not_catch_what_leaves(at_a_bar):
    def always(t, state, mode, memory):
        return Command(requests={"hand": "close"})

    run = saltus.simulate(
        at_a_bar, {"x": 1.0, "dx": 1.0}, mode={"hand": "released"}, controller=Continuous(always), until=1.0
    )
    assert modes(run) == [("hand.leave", "open"), ("command", "reaching")]
    assert run.final["x"] == pytest.approx(2.0, rel=1e-14)


def test_wishes_that_change_their_mind_at_every_sample():
    free = particle_with_hand("fickle")

    def turns(t, state, mode, memory):
        return Command(requests={"hand": "open" if mode["hand"] == "closed" else "close"})

    sampled = saltus.simulate(free, {"dx": 1.0}, controller=Sampled(turns, 1e-3), until=0.01)
    assert [event.t for event in sampled.events] == [k * 1e-3 for k in range(11)]
    # a continuous one is heard once an instant, and here there is one instant only
    continuous = saltus.simulate(free, {"dx": 1.0}, controller=Continuous(turns), until=0.01)
    assert modes(continuous) == [("command", "closed")]


# -- grips that say the same twice ----------------------------------------------------------------------


def test_two_hands_at_one_place():
    m = Mechanism("twin")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "a"), mass=1.0, inertia=0.1)
    units = tuple(Grip(m.point(name, body, (0, 0.3))) for name in ("p", "q"))
    robot = HybridSystem(m, units=units, start={"a": 0.4})
    hold_one = saltus.simulate(robot, mode={"p": "closed"}, until=1.0)
    both = asks(q=[(0.1, "close")], p=[(0.3, "open")])
    hold_two = saltus.simulate(robot, mode={"p": "closed"}, controller=both, until=1.0)
    assert hold_two.redundant
    assert hold_two.final == pytest.approx(hold_one.final, abs=1e-9)
    assert hold_two.check().ok


def test_hands_on_a_body_that_only_turns():
    m = Mechanism("turner")
    m.gravity = 9.81
    body = m.body("body", Revolute("a"), mass=1.0, inertia=0.1, com=(0, -0.5))
    units = (
        Grip(m.point("base", body)),
        Grip(m.point("tip", body, (0, -1))),
        JointUnit(m.coordinate("a"), coulomb=0.2),
    )
    robot = HybridSystem(m, units=units, start={"a": 1.0})
    free = saltus.simulate(robot, until=1.0)
    # a hand at the axis holds nothing
    base = saltus.simulate(robot, controller=asks(base=[(0.1, "close")]), until=1.0)
    assert base.final == pytest.approx(free.final, abs=1e-8)
    for names in (("tip",), ("tip", "base")):
        held = saltus.simulate(robot, controller=asks(**{name: [(0.1, "close")] for name in names}), until=1.0)
        assert held.events[0].energy_lost == pytest.approx(0.5 * 0.35 * held.events[0].state_before["da"] ** 2)
        assert held.final["a"] == held.events[0].state_after["a"]
        assert held.arc_modes[-1].endswith("a:stuck")


@pytest.mark.parametrize("bend", [1e-3, 2.3288662e-3, 1e-2, 0.5])
@pytest.mark.parametrize("coulomb", [0.0, 0.1])
def test_nearly_straight_arm_held_at_both_ends_stays(bend, coulomb):
    robot = saltus.robots.arm(coulomb=coulomb)
    start = {"theta1": 0.7, "theta2": bend, "dtheta1": 1.0, "dtheta2": 1.0}
    run = saltus.simulate(robot, start, controller=asks(tip=[(0.0, "close")]), until=0.5)
    assert run.arc_modes[-1] in ("hand:closed tip:closed theta2:stuck", "hand:closed tip:closed theta2:free")
    assert run.final["theta2"] == pytest.approx(bend, abs=1e-9)
    assert run.events[0].energy_lost >= 0


def test_straight_arm_held_at_both_ends_is_named_as_what_cannot_be_solved():
    run = saltus.simulate(
        saltus.robots.arm(coulomb=0.0),
        {"theta1": 0.7, "theta2": 0.0},
        mode={"hand": "closed", "tip": "closed"},
        until=1.0,
        raise_errors=False,
    )
    assert run.status.name == "redundant_contacts"


@pytest.mark.parametrize("seed", range(3))
def test_any_wishes_and_torques_keep_the_books(seed):
    generator = np.random.default_rng(seed)
    for _ in range(12):
        stop = generator.uniform(0.3, 2.5)
        robot = saltus.robots.arm(
            m1=generator.uniform(0.2, 3), L2=generator.uniform(0.2, 1), coulomb=generator.choice([0.0, 0.1, 1.0]),
            upper_stop=stop, lower_stop=-stop,
        )  # fmt: skip
        torques, wishes = generator.normal(size=300) * 5, generator.integers(0, 4, (300, 2))

        def wild(t, state, mode, memory, torques=torques, wishes=wishes):
            k = round(t / 0.013)
            words = ("close", "open", "keep", "keep")
            return Command(torques[k], {name: words[w] for name, w in zip(("hand", "tip"), wishes[k], strict=True)})

        start = {"theta1": generator.uniform(-3, 3), "theta2": generator.uniform(-stop, stop)}
        run = saltus.simulate(robot, start, controller=Sampled(wild, 0.013), until=2.0)
        assert run.check().ok, run.check()


# -- grips, ground and joints in one impact ---------------------------------------------------------------


@pytest.fixture(scope="module")
def climber():
    """Two links that hang by a hand above the ground."""
    m = Mechanism("climber")
    m.gravity = 9.81
    mu, e = m.parameter("mu", 0.5, "1", lower=0), m.parameter("e", 0.0, "1", lower=0, upper=1)
    upper = m.body("upper", Floating("x", "y", "a"), mass=1.0, inertia=0.02, com=(0, -0.25))
    lower = m.body("lower", Revolute("b", at=(0, -0.5)), parent=upper, mass=1.0, inertia=0.02, com=(0, -0.25))
    hand, foot = m.point("hand", upper), m.point("foot", lower, (0, -0.5))
    return HybridSystem(
        m,
        units=(
            Grip(hand, closed=True),
            GroundPoint(foot, friction=mu, law=newton(e)),
            JointUnit(m.coordinate("b"), coulomb=0.1, lower=-2, upper=2),
        ),
    )


def pinned_foot(a, b):
    """Mass matrix of the pinned arm in (a, b), and the Jacobian of its foot."""
    c = a + b
    inner = np.array([[0.25 * math.cos(a), 0], [0.25 * math.sin(a), 0]])
    elbow, swing = 2 * inner, np.array([[math.cos(c)] * 2, [math.sin(c)] * 2])
    outer = elbow + 0.25 * swing
    M = inner.T @ inner + outer.T @ outer + 0.02 * (np.diag([1.0, 0]) + np.ones((2, 2)))
    return M, elbow + 0.5 * swing


@pytest.mark.parametrize(("mu", "e"), [(0.0, 0.0), (0.5, 0.0), (5.0, 0.0), (0.3, 0.5), (0.1, 1.0)])
def test_foot_strikes_while_the_hand_holds(climber, mu, e):
    generator = np.random.default_rng(4)
    robot = climber.with_parameters(mu=mu, e=e)
    done = 0
    while done < 60:
        a, b = generator.uniform(-1.2, 1.2), generator.uniform(-1.9, 1.9)
        rates = generator.normal(size=2) * 4
        M, J = pinned_foot(a, b)
        v = J @ rates
        W = J @ np.linalg.solve(M, J.T)
        if v[1] > -0.1 or min(W[1, 1] - s * mu * W[1, 0] for s in (1, -1)) < 0.05 or np.linalg.det(W) < 1e-3:
            continue
        done += 1
        height = 0.5 * math.cos(a) + 0.5 * math.cos(a + b)
        state = {"y": height, "a": a, "b": b, "da": rates[0], "db": rates[1]}
        run = saltus.simulate(robot, state, until=1e-9)
        event = run.events[0]
        assert not run.redundant or (mu > 0 and e == 0)  # hand and foot say different things, unless the foot sticks
        impulse = np.linalg.solve(W, np.array([0, -e * v[1]]) - v)
        if abs(impulse[0]) > mu * impulse[1]:
            sign = -math.copysign(1.0, impulse[0])
            normal = -(1 + e) * v[1] / (W[1, 1] - sign * mu * W[1, 0])
            impulse = np.array([-sign * mu * normal, normal])
        after = rates + np.linalg.solve(M, J.T @ impulse)
        assert [event.state_after["da"], event.state_after["db"]] == pytest.approx(after, abs=1e-10)
        assert [event.impulse["foot.t"], event.impulse["foot.n"]] == pytest.approx(impulse, abs=1e-10)
        assert max(abs(event.state_after["dx"]), abs(event.state_after["dy"])) < 1e-13
        # the pin takes what the change of momentum leaves
        momentum = sum(_centre(a, b, link) @ (after - rates) for link in (0, 1))
        pin = np.array([event.impulse["hand.x"], event.impulse["hand.y"]])
        assert pin == pytest.approx(momentum - impulse, abs=1e-10)


def _centre(a, b, link):
    """Jacobian of a link's centre in (a, b), hand pinned; each link has 1 kg."""
    inner = np.array([[0.25 * math.cos(a), 0], [0.25 * math.sin(a), 0]])
    c = a + b
    return inner if link == 0 else 2 * inner + 0.25 * np.array([[math.cos(c)] * 2, [math.sin(c)] * 2])


def test_bounces_end_while_the_hand_holds(climber):
    run = saltus.simulate(climber.with_parameters(e=0.5), {"y": 0.9, "a": -0.6, "b": 0.9}, until=6.0)
    assert run.status.good
    assert "foot:open" not in run.arc_modes[-1]
    assert run.check()["contacts at rest"].ok
    assert run.check()["energy balance"].ok


# -- joints ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sliding():
    return slider("sliding_joint")


@pytest.fixture(scope="module")
def between_stops():
    return slider("between_stops", lower=-0.5, upper=1.0)


@pytest.mark.parametrize("excess", [0.0, 1e-14])
def test_push_exactly_at_the_limit_stays(sliding, excess):
    run = saltus.simulate(sliding, controller=Constant(0.5 * (1 + excess)), until=2.0)
    assert run.final == {"q": 0.0, "dq": 0.0}


@pytest.mark.parametrize("excess", [-1e-9, 0.0, 1e-12, 1e-9, 1e-5])
def test_push_that_grazes_the_limit(sliding, excess):
    run = saltus.simulate(sliding, controller=Sine(amplitude=0.5 * (1 + excess)), until=3.0)
    assert abs(run.final["q"]) < 1e-7
    assert run.final["dq"] == pytest.approx(0.0, abs=1e-6)
    assert run.check().ok


@pytest.mark.parametrize(("torque", "after"), [(0.0, "stuck"), (0.5, "stuck"), (-3.0, "free-"), (3.0, "free+")])
def test_comes_to_rest_at_the_instant_of_a_break(sliding, torque, after):
    # 2 kg at 0.5 m/s against 0.5 N: at rest after 2 s, when the force changes
    controller = Schedule.steps((0.0, 2.0), (0.0, torque))
    run = saltus.simulate(sliding, {"dq": 0.5}, controller=controller, until=3.0)
    assert [(e.t, e.mode_after) for e in run.events] == [(2.0, after)]
    gain = math.copysign(max(0.0, abs(torque) - 0.5), torque) / 2
    assert run.final["q"] == pytest.approx(0.5 + gain / 2, abs=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_strikes_a_stop_at_the_instant_of_a_break(between_stops, friction):
    robot = between_stops.with_parameters(coulomb=friction)
    speed = 1.0 + friction / 4  # so that 1 m takes 1 s
    run = saltus.simulate(robot, {"dq": speed}, controller=Schedule.steps((0.0, 1.0), (0.0, -2.0)), until=1.5)
    assert len(run.events) == 1
    assert run.events[0].t == pytest.approx(1.0, abs=1e-15)
    assert run.events[0].mode_after == ("free-" if friction else "free")
    assert run.final["q"] == pytest.approx(1.0 - 0.5 * (2.0 - friction) / 2 * 0.25, rel=1e-12)


def test_stays_at_a_stop_without_a_force(between_stops):
    # neither pressed nor pulled
    run = saltus.simulate(between_stops.with_parameters(coulomb=0.0), {"q": 1.0}, until=5.0)
    assert (run.events, run.final) == ([], {"q": 1.0, "dq": 0.0})


def test_pulled_from_a_stop_by_exactly_friction(between_stops):
    run = saltus.simulate(between_stops, {"q": 1.0}, controller=Constant(-0.5), until=5.0)
    assert run.final == {"q": 1.0, "dq": 0.0}


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-12])
def test_play_as_small_as_it_may_be(between_stops, gap):
    # thrown to and fro in a narrow play: two hits a period
    robot = between_stops.with_parameters(lower=-gap / 2, upper=gap / 2, coulomb=0.0)
    run = saltus.simulate(robot, controller=Sine(amplitude=10.0), until=3.2)
    hits = [event for event in run.events if any(event.impulse.values())]
    assert len(hits) == 7
    assert abs(run.final["q"]) <= gap / 2
    assert run.check().ok


@pytest.mark.parametrize("inertia", [1e-9, 1e12])
def test_light_and_heavy(sliding, inertia):
    run = saltus.simulate(sliding.with_parameters(mass=inertia), {"dq": 1.0}, until=10 * inertia)
    assert run.events[0].t == pytest.approx(2 * inertia, rel=1e-12)
    assert run.final["q"] == pytest.approx(inertia, rel=1e-12)


@pytest.mark.parametrize("coulomb", [1e-300, 1e-12, 1e300])
def test_hardly_any_friction_and_more_than_enough(coulomb):
    reference = 0.0 if coulomb < 1 else 1e3
    runs = [saltus.simulate(saltus.robots.arm(coulomb=c), until=1.0) for c in (coulomb, reference)]
    assert runs[0].final == pytest.approx(runs[1].final, abs=1e-8)
    assert runs[0].check().ok


def test_spring_pulls_to_the_stop_itself(between_stops):
    run = saltus.simulate(between_stops, controller=PD(kp=10.0, kd=0.0, target=1.0), until=5.0)
    assert modes(run) == [("q.upper", "upper")]
    assert run.final == {"q": 1.0, "dq": 0.0}


def test_late_in_time(between_stops):
    early, late = (saltus.simulate(between_stops, {"dq": 2.0}, start=t, until=t + 10.0) for t in (0.0, 1e6))
    assert late.events[0].t - 1e6 == pytest.approx(early.events[0].t, abs=1e-9)
    assert late.final == early.final


# -- rocking and bouncing to rest --------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_rod_that_clatters_comes_to_rest(restitution, mu):
    generator = np.random.default_rng(7)
    for _ in range(8):
        robot = saltus.robots.rod(mu=mu, restitution=restitution, shape=generator.uniform(0.05, 0.2))
        start = {"theta": generator.uniform(-3, 3), "dx": generator.normal(), "dtheta": generator.normal() * 4}
        run = saltus.simulate(robot, start, until=20.0)
        assert run.arc_modes[-1] in ("A:slip+ B:slip+", "A:slip- B:slip-", "A:stick B:stick")
        assert max(abs(run.final[name]) for name in ("y", "dy", "dtheta")) < 1e-10
        for name in ("contacts at rest", "contacts closed", "energy balance", "gaps and slip"):
            assert run.check()[name].ok, run.check()


@pytest.mark.parametrize("slope", [0.0, 0.05, -0.05])
def test_a_wheel_without_rim_rocks_to_rest_on_two_feet(slope):
    robot = saltus.robots.rimless_wheel(slope=slope, mu=3.0)
    height = math.cos(math.pi / 8) / math.cos(slope) + 0.2
    run = saltus.simulate(
        robot, {"y": height, "theta": math.pi / 8 + slope + 0.1, "dx": 0.0, "dtheta": 0.0}, until=20.0
    )
    assert run.arc_modes[-1].count("stick") == 2
    assert max(abs(run.final[name]) for name in ("dx", "dy", "dtheta")) < 1e-12
    assert run.check().ok


# -- wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Bar((1.0, 0.0), 0.0), "positive"),
        (lambda: Bar((1.0, 0.0), -0.1), "positive"),
        (lambda: Bar((1.0, math.nan), 0.1), "finite"),
        (lambda: Line((0.0, 0.0), (1.0, 0.0), 0.0), "positive"),
        (lambda: Line((1.0, 0.0), (1.0, 0.0), 0.1), "two different points"),
        (lambda: Wall((math.inf, 0.0), 0.0), "finite"),
        (lambda: slider("bad", viscous=-1.0), "viscous"),
        (lambda: slider("bad", viscous=math.nan), "viscous"),
        (lambda: slider("bad", lower=math.nan), "lower stop"),
        (lambda: saltus.robots.arm(coulomb=-1.0), "coulomb"),
        (lambda: saltus.robots.arm(lower_stop=1.0, upper_stop=1.0), "below the upper"),
        (lambda: saltus.simulate(saltus.robots.arm(), {"theta2": 3.0}), "beyond a stop"),
        (lambda: saltus.simulate(saltus.robots.arm(), {"dx": 1.0}), "moves at"),
        (lambda: saltus.simulate(saltus.robots.arm(), mode={"theta2": "stuck"}), "follows from the state"),
        (lambda: saltus.simulate(saltus.robots.arm(), mode={"hand": "shut"}), "closed"),
    ],
)
def test_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        wrong()


@pytest.mark.parametrize(
    ("requests", "near"), [({"hnad": "close"}, "hand"), ({"hand": "clsoe"}, "close"), ({"theta2": "close"}, "hand")]
)
def test_wishes_that_nobody_can_grant(requests, near):
    with pytest.raises(RunFailed, match=near):
        saltus.simulate(saltus.robots.arm(), controller=lambda *_: Command(0.0, requests), until=0.1)


def test_two_units_on_one_coordinate():
    m = Mechanism("twice")
    m.body("body", Prismatic("q"), mass=1.0)
    with pytest.raises(InputError, match="different names"):
        HybridSystem(m, units=(JointUnit(m.coordinate("q")), JointUnit(m.coordinate("q"))))


def test_no_start_behind_a_wall():
    wall = particle_with_hand("before_a_wall", Wall((0.1, 0.0), math.pi / 2, 0.05))
    assert saltus.simulate(wall, {"x": 0.1}, until=0.1).status.name == "finished"
    with pytest.raises(InputError, match=r"hand is 0\.2 m behind the surface of a wall"):
        saltus.simulate(wall, {"x": 0.3}, until=0.1)
    reasons = saltus.simulate_many(wall, {"x": [0.0, 0.3]}, until=0.1).reasons
    assert list(reasons) == [1]
    assert "hand is 0.2 m behind the surface of a wall" in reasons[1]
    # a hand that is not asked to hold may pass through, and be caught from behind
    through = saltus.simulate(wall, {"x": 0.0, "dx": 1.0}, controller=asks(hand=[(0.5, "close")]), until=1.0)
    assert modes(through) == [("command", "closed")]
    assert through.final["x"] == pytest.approx(0.5)
