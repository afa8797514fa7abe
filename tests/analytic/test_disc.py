"""The disc against closed forms: rolling and slipping on slopes, from slip to roll, bouncing with friction, lifting."""

import math

import pytest

import saltus
from saltus import HybridSystem, Mechanism
from saltus.contact import Wheel, chatterjee
from saltus.control import Constant, Schedule
from saltus.mechanism import Floating

G, R = 9.81, 0.2


def down(slope, shape, mu):
    """Accelerations down a slope, of the centre and of the turning, and whether it slips."""
    pull = G * math.sin(slope)
    if mu >= math.tan(slope) / (1 + 1 / shape):
        return pull / (1 + shape), pull / (1 + shape) / R, False
    grip = mu * G * math.cos(slope)
    return pull - grip, grip / (shape * R), True


def on_slope(slope, **velocities):
    return {"x": 0.0, "y": R / math.cos(slope), **velocities}


@pytest.mark.parametrize("shape", [0.01, 0.4, 0.5, 1.0])
@pytest.mark.parametrize("slope", [0.01, 0.2, 0.9, 1.4])
@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999, 1.001, 3.0])
@pytest.mark.parametrize("side", [1, -1])
def test_down_a_slope(shape, slope, factor, side):
    mu = factor * math.tan(slope) / (1 + 1 / shape)
    robot = saltus.robots.disc(shape=shape, slope=-side * slope, mu=mu, radius=R)
    run = saltus.simulate(robot, on_slope(slope), until=2.0)
    a, alpha, slips = down(slope, shape, mu)
    assert run.arc_modes == [("slip+" if side > 0 else "slip-") if slips else "roll"]
    assert run.final["x"] == pytest.approx(side * 0.5 * a * 4 * math.cos(slope), rel=1e-11)
    assert run.final["dy"] == pytest.approx(-a * 2 * math.sin(slope), rel=1e-11)
    assert run.final["dangle"] == pytest.approx(-side * alpha * 2, rel=1e-11, abs=1e-12)
    assert run.check().ok


@pytest.mark.parametrize(
    ("speed", "spin"), [(2.0, 0.0), (-2.0, 0.0), (0.0, 30.0), (0.0, -30.0), (1.0, 40.0), (3.0, -1.0), (1.0, -5.1)]
)
@pytest.mark.parametrize("shape", [0.4, 0.5, 1.0])
def test_from_slip_to_roll(speed, spin, shape):
    mu = 0.3
    robot = saltus.robots.disc(slope=0.0, mu=mu, shape=shape, radius=R, mass=2.5)
    run = saltus.simulate(robot, {"y": R, "dx": speed, "dangle": spin}, until=12.0)
    slip = speed + R * spin
    time = abs(slip) / (mu * G * (1 + 1 / shape))
    final = speed - slip * shape / (1 + shape)
    assert [(event.guard, event.mode_after) for event in run.events] == [("centre.turn", "roll")]
    assert run.events[0].t == pytest.approx(time, abs=1e-12)
    assert run.final["dx"] == pytest.approx(final, abs=1e-12)
    assert run.final["dangle"] == pytest.approx(-final / R, abs=1e-11)
    way = speed * time - math.copysign(0.5 * mu * G * time**2, slip) + final * (12.0 - time)
    assert run.final["x"] == pytest.approx(way, abs=1e-11)
    lost = 0.5 * 2.5 * slip**2 / (1 + 1 / shape)
    assert float(run.dataset.friction_loss[-1]) == pytest.approx(lost, rel=1e-10)


def test_backspin_that_just_stops_it():
    # v0 = -k r w0: the slip and the motion end together, and it stays
    robot = saltus.robots.disc(slope=0.0, mu=0.3, shape=0.5, radius=0.25, g=8.0)
    run = saltus.simulate(robot, {"y": 0.25, "dx": 1.0, "dangle": 8.0}, until=5.0)
    assert [event.mode_after for event in run.events] == ["roll"]
    assert abs(run.final["dx"]) < 1e-14
    assert run.final["x"] == pytest.approx(1.0 / (2 * 0.3 * 8.0), rel=1e-12)


@pytest.mark.parametrize("slope", [0.1, -0.3])
def test_uphill_and_back_without_an_event(slope):
    robot = saltus.robots.disc(slope=slope, mu=1.0, radius=R)
    speed = math.copysign(2.0, slope)
    velocities = {"dx": speed * math.cos(slope), "dy": speed * math.sin(slope), "dangle": -speed / R}
    back = 2 * abs(speed) * 1.5 / (G * math.sin(abs(slope)))
    run = saltus.simulate(robot, on_slope(slope, **velocities), until=back)
    assert run.events == []
    assert run.final["x"] == pytest.approx(0.0, abs=1e-10)
    assert run.final["dx"] == pytest.approx(-velocities["dx"], rel=1e-11)
    assert run.final["dangle"] == pytest.approx(speed / R, rel=1e-11)
    highest = run.at(back / 2)
    assert highest[1] - R / math.cos(slope) == pytest.approx(0.75 * speed**2 / G, rel=1e-11)


@pytest.mark.parametrize(("speed", "spin"), [(1.0, 0.0), (-4.0, 2.0), (0.0, 60.0), (0.3, -1.5), (5.0, 5.0)])
@pytest.mark.parametrize("mu", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("restitution", [0.3, 1.0])
def test_bounce(speed, spin, mu, restitution):
    mass, shape, fall = 1.7, 0.5, math.sqrt(2 * G * 0.5)
    robot = saltus.robots.disc(slope=0.0, mu=mu, radius=R, mass=mass, shape=shape, restitution=restitution)
    run = saltus.simulate(robot, {"y": 0.5 + R, "dx": speed, "dangle": spin}, until=0.35)
    event = run.events[0]
    normal = (1 + restitution) * mass * fall
    stop = -(speed + R * spin) * mass / (1 + 1 / shape)
    along = max(-mu * normal, min(mu * normal, stop))
    assert event.t == pytest.approx(fall / G, abs=1e-12)
    assert event.impulse["centre.n"] == pytest.approx(normal, rel=1e-11)
    assert event.impulse["centre.t"] == pytest.approx(along, abs=1e-11)
    after = event.state_after
    assert after["dx"] == pytest.approx(speed + along / mass, abs=1e-11)
    assert after["dy"] == pytest.approx(restitution * fall, rel=1e-11)
    assert after["dangle"] == pytest.approx(spin + along * R / (shape * mass * R**2), abs=1e-10)
    assert event.mode_after == "open"


def test_tangential_restitution_turns_the_spin_round():
    # a super ball: e_t = 1 and enough friction reverse the velocity of the rim
    robot = saltus.robots.disc(slope=0.0, mu=10.0, radius=R).with_law(chatterjee(1.0, 1.0))
    run = saltus.simulate(robot, {"y": 1.0, "dx": 1.0, "dangle": -20.0}, until=1.0)
    event = run.events[0]
    before, after = (state["dx"] + R * state["dangle"] for state in (event.state_before, event.state_after))
    assert before == pytest.approx(-3.0)
    assert after == pytest.approx(3.0, rel=1e-12)
    assert event.energy_lost == pytest.approx(0.0, abs=1e-12)


def test_dropped_on_a_slope_it_ends_rolling_as_momentum_about_the_contact_says():
    slope, height = 0.3, 0.6
    robot = saltus.robots.disc(slope=-slope, mu=2.0, radius=R)
    run = saltus.simulate(robot, {"y": R / math.cos(slope) + height}, until=1.0)
    fall = math.sqrt(2 * G * height)
    event = run.events[0]
    assert event.mode_after == "roll"
    # angular momentum about the contact: m r v sin(slope) = (m r^2 + I) w
    assert event.state_after["dangle"] == pytest.approx(-fall * math.sin(slope) / R / 1.5, rel=1e-11)
    assert math.hypot(event.state_after["dx"], event.state_after["dy"]) == pytest.approx(
        fall * math.sin(slope) / 1.5, rel=1e-11
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_torque_that_grows_breaks_the_grip_in_time(sign):
    mu, mass, rate = 0.4, 1.5, 2.0
    robot = saltus.robots.disc(slope=0.0, mu=mu, mass=mass, radius=R, torque_limit=100.0)
    controller = Schedule((0.0, 3.0), ((0.0, sign * rate), (0.0,)))
    run = saltus.simulate(robot, {"y": R}, controller=controller, until=2.0)
    breaks = mu * mass * G * R * 1.5 / rate
    event = run.events[0]
    assert event.mode_after == ("slip+" if sign > 0 else "slip-")
    assert event.t == pytest.approx(breaks, abs=1e-11)
    assert event.state_after["dx"] == pytest.approx(-sign * 0.5 * rate * breaks**2 / (R * mass * 1.5), rel=1e-11)
    # it then drives with all the friction there is
    assert run.final["dx"] == pytest.approx(event.state_after["dx"] - sign * mu * G * (2.0 - breaks), rel=1e-11)


def test_torque_just_below_and_above_the_limit():
    mu, mass = 0.4, 1.5
    robot = saltus.robots.disc(slope=0.0, mu=mu, mass=mass, radius=R)
    for factor, mode in ((1 - 1e-6, "roll"), (1 + 1e-6, "slip+")):
        torque = factor * mu * mass * G * R * 1.5
        run = saltus.simulate(robot, {"y": R}, controller=Constant(torque), until=1.0)
        assert run.arc_modes == [mode]


@pytest.fixture(scope="module")
def lifted():
    m = Mechanism("lifted_disc")
    m.gravity = 9.81
    mass = m.parameter("mass", 2.0, "kg", positive=True)
    body = m.body("disc", Floating("x", "y", "angle"), mass=mass, inertia=0.5 * mass * R**2)
    centre = m.point("centre", body)
    m.thruster("lift", centre, (0, 1))
    return HybridSystem(m, units=(Wheel(centre, body, R, friction=0.8),))


@pytest.mark.parametrize(("speed", "spin"), [(0.0, 0.0), (1.0, -5.0), (1.0, 3.0)])
def test_lifted_off(lifted, speed, spin):
    rate, mass = 10.0, 2.0
    controller = Schedule((0.0, 10.0), ((0.0, rate), (0.0,)))
    run = saltus.simulate(lifted, {"y": R, "dx": speed, "dangle": spin}, controller=controller, until=3.0)
    event = run.events[-1]
    leaves = mass * G / rate
    assert (event.guard, event.mode_after) == ("centre.lift", "open")
    assert event.t == pytest.approx(leaves, abs=1e-11)
    assert run.final["y"] == pytest.approx(R + rate * (3.0 - leaves) ** 3 / (6 * mass), rel=1e-11)
    if spin > 0:
        # while it slipped, friction fell with the load: the slip lost is mu (1 + 1/k) times the integral of g - c t / m
        lost = 0.8 * 3 * (G * event.t - rate * event.t**2 / (2 * mass))
        slip = max(0.0, speed + R * spin - lost)
        assert event.state_after["dx"] + R * event.state_after["dangle"] == pytest.approx(slip, abs=1e-11)
    else:
        assert run.final["x"] == pytest.approx(3.0 * speed, rel=1e-12)
    assert run.check().ok
