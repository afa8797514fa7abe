"""Grips against independent mechanics: held for a minute, struck through, closed in flight, within reach of bars."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import saltus
from saltus import Command, Guard, HybridSystem, Mechanism
from saltus.contact import Bar, Grip, JointUnit, Line, Wall
from saltus.control import Continuous, Sampled
from saltus.mechanism import Floating, Prismatic

OPEN = {"hand": "open"}


class Arm:
    """The two-link arm written out by hand: mass matrix, hands, momenta."""

    def __init__(self, p):
        self.p = p

    def parts(self, q):
        """For each link: mass, inertia, and Jacobians of its centre and its angle."""
        p, a = self.p, q[2]
        b = a + q[3]
        l1, l2 = p["L1"], p["L2"]
        first = np.array([[1, 0, l1 / 2 * math.cos(a), 0], [0, 1, l1 / 2 * math.sin(a), 0]])
        elbow = np.array([[1, 0, l1 * math.cos(a), 0], [0, 1, l1 * math.sin(a), 0]])
        swing = np.array([[0, 0, math.cos(b), math.cos(b)], [0, 0, math.sin(b), math.sin(b)]])
        self.elbow, self.tip = elbow, elbow + l2 * swing
        spin1, spin2 = np.array([[0, 0, 1, 0]]), np.array([[0, 0, 1, 1]])
        return (
            (p["m1"], p["m1"] * l1**2 / 12, first, spin1),
            (p["m2"], p["m2"] * l2**2 / 12, elbow + l2 / 2 * swing, spin2),
        )

    def mass_matrix(self, q):
        return sum(m * J.T @ J + i * w.T @ w for m, i, J, w in self.parts(q))

    def rows(self, q, names):
        """Jacobian of what is stopped: hand, tip, elbow."""
        self.parts(q)
        known = {"hand": np.eye(4)[:2], "tip": self.tip, "elbow": np.eye(4)[3:]}
        return np.vstack([known[name] for name in names])

    def stop(self, q, v, names):
        """Velocities after, and the impulses of, a plastic impact that stops all of it at once."""
        M, G = self.mass_matrix(q), self.rows(q, names)
        impulse = -np.linalg.solve(G @ np.linalg.solve(M, G.T), G @ v)
        return v + np.linalg.solve(M, G.T @ impulse), impulse

    def energy(self, q, v):
        return 0.5 * v @ self.mass_matrix(q) @ v

    def centres(self, q):
        a, b, l1, l2 = q[2], q[2] + q[3], self.p["L1"], self.p["L2"]
        hand = np.array(q[:2])
        elbow = hand + l1 * np.array([math.sin(a), -math.cos(a)])
        along = np.array([math.sin(b), -math.cos(b)])
        return hand, elbow, elbow + l2 * along, ((hand + elbow) / 2, elbow + l2 / 2 * along)

    def angular_momentum(self, q, v, about, links=(0, 1)):
        centres, total = self.centres(q)[3], 0.0
        for k in links:
            m, i, J, w = self.parts(q)[k]
            arm, speed = centres[k] - about, J @ v
            total += m * (arm[0] * speed[1] - arm[1] * speed[0]) + i * float((w @ v)[0])
        return total


def split(state):
    x = np.array(list(state.values()))
    return x[:4], x[4:]


def random_arm(generator):
    names = ("m1", "m2", "L1", "L2")
    values = dict(zip(names, generator.uniform(0.2, 3.0, 4), strict=True))
    return saltus.robots.arm(**values, coulomb=generator.uniform(0, 1)), Arm(values)


# -- holding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [(1.2, 0.8), (3.0, 0.1)])
@pytest.mark.parametrize("pin", ["hand", "tip"])
def test_a_minute_of_swinging_moves_the_pin_by_nothing(start, pin):
    # the hand's place is two of the coordinates, the tip's is a function of all
    robot, first = saltus.robots.arm(coulomb=0.0), 0 if pin == "hand" else 2
    mode = {"hand": "open", "tip": "open", pin: "closed"}
    begin = {"x": 0.3, "y": -0.7, "theta1": start[0], "theta2": start[1]}
    run = saltus.simulate(robot, begin, mode=mode, until=60.0, rtol=1e-9)
    drift = run.mesh.positions[:, first : first + 2] - run.mesh.positions[0, first : first + 2]
    assert np.abs(drift).max() < 1e-12
    between = run.samples.positions[:, first : first + 2] - run.mesh.positions[0, first : first + 2]
    assert np.abs(between).max() < 1e-7  # by dense output, to the tolerance of the run
    assert run.check().ok


def test_pin_forces_carry_the_weight():
    # hanging straight down, stuck: the pin carries it all, and the elbow nothing
    run = saltus.simulate(saltus.robots.arm(m1=1.5, m2=0.7), {"theta1": 0.0, "theta2": 0.0}, until=1.0)
    assert run.samples.forces[-1] == pytest.approx([0, 2.2 * 9.81, 0, 0, 0], abs=1e-12)


# -- struck through --------------------------------------------------------------------------------


def hits(count, seed, closed):
    """Random arms that start at a stop of the elbow and move into it."""
    generator = np.random.default_rng(seed)
    for k in range(count):
        if k % 50 == 0:
            robot, arm = random_arm(generator)
            stop = generator.uniform(0.1, 3.0)
            robot = robot.with_parameters(lower_stop=-stop, upper_stop=stop)
        side = 1.0 if generator.random() < 0.5 else -1.0
        q = np.array([0.0, 0.0, generator.uniform(-3, 3), side * stop])
        v = np.array([*(generator.normal(size=2) * (not closed)), *generator.normal(size=2) * 5])
        v[3] = side * abs(v[3])
        yield robot, arm, q, v


def strike(robot, q, v, closed):
    run = saltus.simulate(robot, np.concatenate([q, v]), until=1e-12, mode={"hand": "closed" if closed else "open"})
    return run.events[0]


@pytest.mark.parametrize("closed", [True, False])
def test_elbow_that_hits_its_stop(closed):
    for robot, arm, q, v in hits(1000, 1, closed):
        event = strike(robot, q, v, closed)
        after, impulse = arm.stop(q, v, ("hand", "elbow") if closed else ("elbow",))
        assert event.guard == ("theta2.upper" if q[3] > 0 else "theta2.lower")
        size = np.abs(v).max()
        assert split(event.state_after)[1] == pytest.approx(after, abs=1e-12 * size)
        measured = [event.impulse[name] for name in ("hand.x", "hand.y", "theta2.q")[0 if closed else 2 :]]
        assert measured == pytest.approx(impulse, abs=1e-12 * np.abs(impulse).max())
        assert event.energy_lost == pytest.approx(arm.energy(q, v) - arm.energy(q, after), abs=1e-11 * size**2)
        assert event.energy_lost >= -1e-13 * arm.energy(q, v)


def test_ten_thousand_hits_make_no_energy():
    worst = math.inf
    every = list(hits(10_000, 2, closed=True))
    for k in range(0, len(every), 50):  # those of one arm
        fifty = every[k : k + 50]
        robot, arm = fifty[0][:2]
        starts = np.array([np.concatenate([q, v]) for _, _, q, v in fifty])
        ends = saltus.simulate_many(robot, starts, until=1e-12).states
        for start, end in zip(starts, ends, strict=True):
            before, after = (arm.energy(x[:4], x[4:]) for x in (start, end))
            worst = min(worst, (before - after) / before)
    assert worst > -1e-13


def test_stop_is_hit_in_full_swing():
    robot = saltus.robots.arm(coulomb=0.0, upper_stop=1.0, lower_stop=-1.0)
    run = saltus.simulate(robot, {"theta1": 1.5, "theta2": 0.9}, until=5.0)
    arm = Arm(robot.values)
    struck = [event for event in run.events if any(event.impulse.values())]
    assert len(struck) > 3
    for event in struck:
        q, v = split(event.state_before)
        after, impulse = arm.stop(q, v, ("hand", "elbow"))
        assert split(event.state_after)[1] == pytest.approx(after, abs=1e-11)
        assert (event.impulse["hand.x"], event.impulse["hand.y"]) == pytest.approx(impulse[:2], abs=1e-11)
    assert run.check().ok


# -- closing and opening ---------------------------------------------------------------------------


def asks(**when):
    """A controller that asks grips to close or open: hand=[(time, wish), ...]; the last wish stands."""

    def function(t, state, mode, memory):
        wishes = {name: [wish for time, wish in entries if t >= time] for name, entries in when.items()}
        return Command(requests={name: said[-1] for name, said in wishes.items() if said})

    return Sampled(function, period=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_closed_in_flight(seed):
    generator = np.random.default_rng(seed)
    robot, arm = random_arm(generator)
    q, v = generator.uniform(-2, 2, 4), generator.normal(size=4) * 4
    run = saltus.simulate(robot, [*q, *v], mode=OPEN, controller=asks(hand=[(0.04, "close")]), until=0.05)
    (event,) = (e for e in run.events if e.guard == "command")
    assert event.t == 4 * 0.01
    assert event.mode_after.startswith("hand:closed tip:open")
    (q, v), (q_after, after) = split(event.state_before), split(event.state_after)
    assert q_after.tolist() == q.tolist()
    expected, impulse = arm.stop(q, v, ("hand",))
    assert after == pytest.approx(expected, abs=1e-12)
    assert (event.impulse["hand.x"], event.impulse["hand.y"]) == pytest.approx(impulse, abs=1e-11)
    # laws that the solution did not use: momentum about the hand, and of the outer link about the elbow
    hand, elbow, _, _ = arm.centres(q)
    for about, links in ((hand, (0, 1)), (elbow, (1,))):
        before = arm.angular_momentum(q, v, about, links)
        assert arm.angular_momentum(q, after, about, links) == pytest.approx(before, rel=1e-11, abs=1e-12)
    assert run.at(0.05)[:2] == pytest.approx(q[:2], abs=1e-14)


def test_both_hands_closed_hold_everything():
    run = saltus.simulate(
        saltus.robots.arm(),
        [0, 0, 1.2, 0.8, 0.3, -0.2, 2.0, -3.0],
        mode=OPEN,
        controller=asks(hand=[(0.0, "close")], tip=[(0.0, "close")]),
        until=2.0,
    )
    event = run.events[0]
    assert np.abs(split(event.state_after)[1]).max() < 1e-14
    assert event.mode_after == "hand:closed tip:closed theta2:stuck"
    assert list(run.final.values())[:4] == pytest.approx([0, 0, 1.2, 0.8], abs=1e-14)
    total = run.samples.forces[-1]
    assert total[0] + total[2] == pytest.approx(0.0, abs=1e-11)
    assert total[1] + total[3] == pytest.approx(2 * 9.81, abs=1e-11)


def test_tip_closes_while_the_hand_holds():
    robot = saltus.robots.arm(coulomb=0.0)
    run = saltus.simulate(robot, controller=asks(tip=[(0.2, "close")]), until=0.5)
    event = next(e for e in run.events if e.guard == "command")
    q, v = split(event.state_before)
    arm = Arm(robot.values)
    assert event.energy_lost == pytest.approx(arm.energy(q, v), rel=1e-12)
    assert np.abs(split(event.state_after)[1]).max() < 1e-13


def test_let_go_flies():
    robot = saltus.robots.arm()
    run = saltus.simulate(robot, controller=asks(hand=[(0.3, "open")]), until=1.0)
    event = next(e for e in run.events if e.guard == "command")
    assert event.t == 30 * 0.01
    assert event.state_after == event.state_before
    assert event.energy_lost == 0.0
    assert (event.forces_after["hand.x"], event.forces_after["hand.y"]) == (0.0, 0.0)
    arm = Arm(robot.values)

    def centre(q, v):
        return sum(arm.centres(q)[3]) / 2, sum(J @ v for _, _, J, _ in arm.parts(q)) / 2

    (r0, v0), (r1, v1), t = centre(*split(event.state_after)), centre(*split(run.final)), 0.7
    assert v1 == pytest.approx(v0 - [0, 9.81 * t], abs=1e-9)
    assert r1 == pytest.approx(r0 + v0 * t - [0, 0.5 * 9.81 * t**2], abs=1e-9)
    before, after = (arm.angular_momentum(*split(x), r) for x, r in ((event.state_after, r0), (run.final, r1)))
    assert after == pytest.approx(before, abs=1e-9)


def test_from_hand_to_tip_and_back():
    # let go and caught by the other end at one instant: the momentum about the new pin is kept
    robot = saltus.robots.arm(coulomb=0.0)
    controller = asks(hand=[(0.3, "open"), (0.6, "close")], tip=[(0.3, "close"), (0.6, "open")])
    run = saltus.simulate(robot, controller=controller, until=1.0)
    arm = Arm(robot.values)
    commands = [e for e in run.events if e.guard == "command"]
    assert [e.t for e in commands] == [30 * 0.01, 60 * 0.01]
    for event, closing, which in zip(commands, ("tip", "hand"), (2, 0), strict=True):
        (q, v), (_, after) = split(event.state_before), split(event.state_after)
        assert after == pytest.approx(arm.stop(q, v, (closing,))[0], abs=1e-11)
        about = arm.centres(q)[which]
        assert arm.angular_momentum(q, after, about) == pytest.approx(
            arm.angular_momentum(q, v, about), rel=1e-10, abs=1e-11
        )
    assert run.check().ok


# -- reaching --------------------------------------------------------------------------------------


def particle(name, *holds, gravity=0.0, guards=()):
    m = Mechanism(name)
    m.gravity = m.parameter("g", gravity, "m/s^2")
    rail = m.body("rail", Prismatic("x"))
    body = m.body("body", Prismatic("y", axis=(0, 1)), parent=rail, mass=2.0)
    watched = tuple(Guard(name, m.q[0] - place, "record", "both") for name, place in guards)
    return HybridSystem(m, units=(Grip(m.point("hand", body), holds),), guards=watched)


REACH = {
    "bar": (Bar((1.0, 0.2), 0.25), lambda x, y: math.hypot(x - 1, y - 0.2) - 0.25),
    "piece": (Line((1.0, 0.3), (1.4, 2.0), 0.2), lambda x, y: math.hypot(x - 1, y - 0.3) - 0.2),
    "line": (
        Line((1.0, 0.3), (1.4, 2.0), 0.2, endless=True),
        lambda x, y: abs((x - 1) * 1.7 - (y - 0.3) * 0.4) / math.hypot(0.4, 1.7) - 0.2,
    ),
    "wall": (Wall((1.0, 0.0), 2.0, 0.1), lambda x, y: math.cos(2.0) * y - math.sin(2.0) * (x - 1) - 0.1),
}


@pytest.fixture(scope="module", params=list(REACH))
def reaching(request):
    hold, reach = REACH[request.param]
    return particle(request.param, hold, gravity=0.3), reach


def test_caught_where_it_comes_within_reach(reaching):
    robot, reach = reaching
    speed, lift = 1.3, 0.25

    def path(t):
        return speed * t, lift * t - 0.15 * t * t

    if reach(*path(0.0)) < 0:
        # the wall is held from the left of its direction: come from there
        speed = -speed
    start = {"x": 0.0 if speed > 0 else 2.0, "dx": speed, "dy": lift}
    offset = start["x"]
    inside = next(t for t in np.linspace(0, 2, 4000) if reach(offset + path(t)[0], path(t)[1]) <= 0)
    enters = brentq(lambda t: reach(offset + path(t)[0], path(t)[1]), inside - 2 / 3999, inside, xtol=1e-15)
    run = saltus.simulate(robot, start, controller=asks(hand=[(0.1, "close")]), until=3.0)
    assert [(e.guard, e.mode_after) for e in run.events] == [("command", "reaching"), ("hand.catch", "closed")]
    event = run.events[1]
    assert event.t == pytest.approx(enters, abs=1e-11)
    # held where it is, not moved to the middle
    place = offset + path(enters)[0], path(enters)[1]
    assert (run.final["x"], run.final["y"]) == pytest.approx(place, abs=1e-11)
    assert (run.final["dx"], run.final["dy"]) == (0.0, 0.0)
    assert (event.impulse["hand.x"], event.impulse["hand.y"]) == pytest.approx(
        (-2 * speed, -2 * (lift - 0.3 * enters)), abs=1e-11
    )
    assert run.check().ok


def test_passes_what_it_is_not_asked_to_hold(reaching):
    robot, _ = reaching
    run = saltus.simulate(robot, {"dx": 1.0}, until=2.0)
    assert (run.events, run.arc_modes) == ([], ["open"])


@pytest.fixture(scope="module")
def two_bars():
    """Bars at the origin and 2 m below it."""
    bars = (Bar((0.0, 0.0), 0.5), Bar((0.0, -2.0), 0.25))
    return particle("two_bars", *bars, gravity=10.0)


def test_released_it_is_armed_again_when_it_has_left(two_bars):
    # let go at 0.2 at the centre, asked to close ever after: falls 0.5 m to the edge in sqrt(0.1) s
    controller = asks(hand=[(0.0, "close"), (0.2, "open"), (0.21, "close")])
    run = saltus.simulate(two_bars, controller=controller, until=2.0)
    modes = [(e.guard, e.mode_after) for e in run.events]
    assert modes == [
        ("command", "closed"),
        ("command", "released"),
        ("hand.leave", "open"),
        ("command", "reaching"),
        ("hand.catch", "closed"),
    ]
    times = [e.t for e in run.events]
    assert times[:2] == [0.0, 20 * 0.01]
    # the wish of the last sample stands, so it reaches again where it has left
    assert times[2] == times[3] == pytest.approx(0.2 + math.sqrt(0.1), abs=1e-11)
    assert times[4] == pytest.approx(0.2 + math.sqrt(0.35), abs=1e-11)
    assert run.final["y"] == pytest.approx(-1.75, abs=1e-11)


def test_caught_at_the_edge_and_let_go_it_falls_in_without_being_caught_again(two_bars):
    # caught at the upper edge of the lower bar's circle, then let go: it falls through all of it
    controller = asks(hand=[(0.0, "close"), (1.0, "open"), (1.01, "close")])
    run = saltus.simulate(two_bars, {"y": -1.0}, controller=controller, until=2.0)
    assert run.events[0].mode_after == "reaching"
    assert run.events[1].mode_after == "closed"
    assert run.events[1].t == pytest.approx(math.sqrt(0.15), abs=1e-11)
    after = [(e.guard, e.mode_after) for e in run.events[2:]]
    assert after[0] == ("command", "released")
    assert after[1] == ("hand.leave", "open")
    # half a metre from top to bottom
    assert run.events[3].t == pytest.approx(1.0 + math.sqrt(0.1), abs=1e-9)


def test_open_withdraws_a_reach(two_bars):
    controller = asks(hand=[(0.0, "close"), (0.1, "open")])
    run = saltus.simulate(two_bars, {"y": -1.0}, controller=controller, until=1.0)
    assert [(e.guard, e.mode_after) for e in run.events] == [("command", "reaching"), ("command", "open")]
    assert run.final["y"] == pytest.approx(-6.0, rel=1e-12)


def test_asked_again_it_closes_where_it_let_go(two_bars):
    # held at the centre, let go at 0.2 and asked again at 0.3: it has fallen 0.05 m, and has not left
    controller = asks(hand=[(0.0, "close"), (0.2, "open"), (0.3, "again")])
    run = saltus.simulate(two_bars, controller=controller, until=1.0)
    assert [(e.guard, e.mode_after) for e in run.events] == [
        ("command", "closed"),
        ("command", "released"),
        ("command", "closed"),
    ]
    assert run.events[2].t == pytest.approx(0.3, abs=1e-15)
    assert run.final["y"] == pytest.approx(-0.05, abs=1e-12)
    assert run.events[2].energy_lost == pytest.approx(0.5 * 2.0 * 1.0**2, rel=1e-9)
    visited = {(edge.source, edge.target) for edge in run.mode_graph().edges} - {("start", "open"), ("closed", "end")}
    assert ("released", "closed") in visited
    assert visited <= {(edge.source, edge.target) for edge in saltus.mode_graph(two_bars).edges}


def test_asked_again_out_of_reach_nothing_happens(two_bars):
    # out of the upper circle after sqrt(0.1) s; in the lower from 1.75 m on, after sqrt(0.35) s
    controller = asks(hand=[(0.0, "close"), (0.1, "open"), (0.5, "again"), (0.68, "keep"), (0.8, "again")])
    run = saltus.simulate(two_bars, controller=controller, until=1.0)
    assert [(e.guard, e.mode_after) for e in run.events] == [
        ("command", "closed"),
        ("command", "released"),
        ("hand.leave", "open"),
    ]
    caught = asks(hand=[(0.0, "close"), (0.1, "open"), (0.5, "again")])
    run = saltus.simulate(two_bars, controller=caught, until=1.0)
    last = run.events[-1]
    # at the first sample within reach of the lower bar, not at its edge
    assert (last.guard, last.mode_before, last.mode_after) == ("command", "open", "closed")
    assert last.t == pytest.approx(0.7, abs=1e-15)


# -- when requests act -----------------------------------------------------------------------------


@pytest.mark.parametrize("period", [0.1, 1 / 3, 0.007, 1e-3])
def test_sampled_requests_act_at_exact_multiples(period):
    robot = particle("free_hand")
    count = math.ceil(0.5 / period)

    def late(t, state, mode, memory):
        return Command(requests={"hand": "close" if t > (count - 0.5) * period else "keep"})

    run = saltus.simulate(robot, {"dx": 1.0}, controller=Sampled(late, period=period), until=2.0)
    assert [(e.t, e.guard) for e in run.events] == [(count * period, "command")]
    assert run.final["x"] == pytest.approx(count * period, rel=1e-14)


def test_continuous_requests_act_at_events_and_breaks():
    robot = particle("watched_hand", guards=[("half", 0.5)])

    def late(t, state, mode, memory):
        return Command(requests={"hand": "close" if t >= 0.35 else "keep"})

    at_the_guard = saltus.simulate(robot, {"dx": 1.0}, controller=Continuous(late), until=2.0)
    assert [e.guard for e in at_the_guard.events] == ["half", "command"]
    assert at_the_guard.final["x"] == pytest.approx(0.5, abs=1e-12)
    at_the_break = saltus.simulate(robot, {"dx": 1.0}, controller=Continuous(late, breaks=(0.35,)), until=2.0)
    assert [(e.guard, e.t) for e in at_the_break.events] == [("command", 0.35)]
    assert at_the_break.final["x"] == pytest.approx(0.35, abs=1e-14)


# -- together --------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [0.3, -0.3])
def test_catch_and_stop_at_one_instant(height):
    # a bar that flies to the right and down: its end comes to the wall as its middle comes to the stop
    m = Mechanism("flying_bar")
    bar = m.body("bar", Floating("x", "y", "angle"), mass=2.0, inertia=0.1)
    hand = m.point("hand", bar, (0.4, 0.3))
    robot = HybridSystem(m, units=(Grip(hand, (Wall((1.4, 0.0), math.pi / 2),)), JointUnit(m.coordinate("y"), lower=0)))
    start = {"x": 0.0, "y": 1.0, "dx": 1.0, "dy": -1.0}
    run = saltus.simulate(robot, start, mode={"hand": "reaching"}, until=2.0)
    (event,) = run.events
    assert set(event.guards) == {"hand.catch", "y.lower"}
    assert event.t == pytest.approx(1.0, abs=1e-12)
    M = np.diag([2.0, 2.0, 0.1])
    v = np.array([1.0, -1.0, 0.0])
    G = np.array([[1, 0, -0.3], [0, 1, 0.4], [0, 1, 0]])
    impulse = -np.linalg.solve(G @ np.linalg.solve(M, G.T), G @ v)
    if impulse[2] < 0:  # the stop cannot pull
        G = G[:2]
        impulse = np.array([*-np.linalg.solve(G @ np.linalg.solve(M, G.T), G @ v), 0.0])
    after = v + np.linalg.solve(M, G.T @ impulse[: len(G)])
    assert [event.state_after[name] for name in ("dx", "dy", "dangle")] == pytest.approx(after, abs=1e-12)
    assert [event.impulse[name] for name in ("hand.x", "hand.y", "y.q")] == pytest.approx(impulse, abs=1e-12)
    assert run.check().ok
