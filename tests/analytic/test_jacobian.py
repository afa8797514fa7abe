"""Derivatives of runs against finite differences of whole runs, through events of every kind."""

import math

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.contact import GroundPoint, newton
from saltus.control import PD, Command, Compiled, Sampled, Schedule, Sine, Timed
from saltus.errors import InputError, SaltusError, UnknownName
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Prismatic

TIGHT = {"rtol": 1e-12, "atol": 1e-13, "method": "dop853"}


def differences(function, at, step=1e-6):
    """Derivative by central differences of fourth order; NaN where a neighbour is not allowed."""
    columns = []
    for k, value in enumerate(at):
        h = step * max(1.0, abs(value))

        def near(d, k=k):
            return function(np.array([*at[:k], at[k] + d, *at[k + 1 :]]))

        try:
            columns.append((8 * (near(h) - near(-h)) - (near(2 * h) - near(-2 * h))) / (12 * h))
        except InputError:
            columns.append(np.full_like(near(0.0), math.nan))
    return np.array(columns).T


def agree(found, expected, tolerance=1e-6):
    known = ~np.isnan(expected).any(axis=0)
    assert known.any()
    np.testing.assert_allclose(
        found[:, known], expected[:, known], rtol=0, atol=tolerance * (1 + np.abs(expected[:, known]).max())
    )


def final(run):
    return np.array(list(run.final.values()))


def seeking_hand(t, x, status, memory, p, data, piece, u, request):
    u[0] = data[0] * math.sin(3 * t) - 0.1 * x[7]
    request[0] = 1 if t > 0.05 else 0
    return 0


def bent_hand(t, x, status, memory, p, data, piece, u, request):
    """The same with feedback whose slope is another in every state."""
    u[0] = data[0] * math.sin(3 * t) - 0.1 * x[7] - 0.2 * x[3] * x[7]
    request[0] = 1 if t > 0.05 else 0
    return 0


CASES = {
    # robot, start, until, controller, mode at the start, guards that must be met
    "ball, two bounces": (
        lambda: saltus.robots.bouncing_ball(mu=0.2), {"dx": 0.7}, 1.6, None, None, {"ball.touch"},
    ),
    "rod: strikes, turns, falls flat": (
        saltus.robots.rod, {"dx": 0.3}, 0.6, None, None, {"A.touch", "A.turn", "B.touch"},
    ),
    "rod: infinitely many bounces": (
        lambda: saltus.robots.rod(restitution=0.3, mu=0.2), {"dtheta": 0.3}, 0.9, None, None, {"A.touch", "B.touch"},
    ),
    "disc: slips, rolls": (
        lambda: saltus.robots.disc(mu=0.15), {"dangle": -15}, 0.9, Sine(amplitude=0.1), None,
        {"centre.touch", "centre.turn"},
    ),
    "wheel: three steps": (
        saltus.robots.rimless_wheel, {"y": 1.05}, 1.5, None, None, {"foot0.touch", "foot1.touch", "foot2.touch"},
    ),
    "hopper: lands, slips, lifts off, past breaks": (
        lambda: saltus.robots.hopper().with_guards(height_Q="record", height_R="record"),
        {"y": 0.1, "theta1": 1.9, "theta2": -1.9, "dx": 0.2}, 0.33,
        Schedule((0.0, 0.2, 0.27), ((0.3,), (0.5, 2.0), (-0.4,))), None, {"P.touch", "P.cone+", "P.lift"},
    ),
    "arm: catches, dry friction": (
        saltus.robots.arm, {"theta2": 2.0, "dtheta2": 3.0, "dx": 0.2}, 1.0, Compiled(seeking_hand, [1.5], period=0.1),
        {"hand": "open"}, {"command", "theta2.turn"},
    ),
    "arm: catches, hits a stop, leaves it": (
        lambda: saltus.robots.arm(coulomb=0.0), {"theta2": 2.0, "dtheta2": 6.0, "dx": 0.2}, 1.0,
        Compiled(seeking_hand, [1.5], period=0.1), {"hand": "open"}, {"command", "theta2.upper", "theta2.push"},
    ),
    "arm: catches at a sample that sees its state": (
        saltus.robots.arm, {"theta2": 2.0, "dtheta2": 3.0, "dx": 0.2}, 0.5, Compiled(bent_hand, [1.5], period=0.1),
        {"hand": "open"}, {"command"},
    ),
    "monkeybot: exchanges hands twice": (
        saltus.robots.monkeybot, {}, 1.5, Timed(swap_t=0.4, cycle_t=0.9, motor_t=0.03, torque=0.7), None, {"command"},
    ),
    "monkeybot: rubs at its hands": (
        lambda: saltus.robots.monkeybot(hand_dry=0.05, hand_viscous=0.01, elbow_viscous=0.002),
        {"dtheta1": 3.0, "dtheta2": 2.0}, 1.2, Timed(swap_t=0.6, cycle_t=1.0, motor_t=0.03, torque=0.7), None,
        {"command", "A_pivot.turn"},
    ),
}  # fmt: skip


def distance(found, expected):
    """Largest difference over the columns that could be compared, over the size of what is expected."""
    known = ~np.isnan(expected).any(axis=0)
    assert known.any()
    return float(np.abs(found[:, known] - expected[:, known]).max() / (1 + np.abs(expected[:, known]).max()))


def errors_of(case):
    """How far the derivatives of a case are from finite differences: by state, by parameters."""
    make, start, until, controller, mode, guards = CASES[case]
    system = make()

    def run(robot, state):
        return saltus.simulate(robot, state, until=until, controller=controller, mode=mode, **TIGHT)

    nominal = run(system, start)
    assert guards <= {event.guard for event in nominal.events}
    by_state = distance(nominal.jacobian(), differences(lambda x: final(run(system, x)), system.state(start)))
    names = list(system.mechanism.parameters)

    def with_values(values):
        return final(run(system.with_parameters(**dict(zip(names, values, strict=True))), start))

    return by_state, distance(nominal.jacobian("parameters"), differences(with_values, system.parameter_values))


@pytest.mark.parametrize("case", CASES)
def test_state_and_parameters(case):
    assert max(errors_of(case)) < 1e-6


def test_controllers_numbers():
    pendulum, start = saltus.robots.double_pendulum(), {"theta1": 0.8}

    def run(values, period=None):
        controller = PD(kp=values[0], kd=values[1], target=values[2], period=period)
        return saltus.simulate(pendulum, start, until=1.5, controller=controller, **TIGHT)

    at = np.array([3.0, 0.4, 0.3])
    for period in (None, 0.05):
        found = run(at, period).jacobian(["pd.kp.elbow", "pd.kd.elbow", "pd.target.elbow"])
        agree(found, differences(lambda v, period=period: final(run(v, period)), at))
    assert run(at).jacobian("control").shape == (4, 3)


def test_times_and_coefficients_of_a_schedule():
    """A break that moves takes the motion with it, whether or not it changes the mode."""
    hopper = saltus.robots.hopper().with_guards(height_Q="record", height_R="record")
    start = {"y": 0.1, "theta1": 1.9, "theta2": -1.9, "dx": 0.2}

    def run(v):
        schedule = Schedule((v[0], v[1]), ((v[2], v[3]), (v[4],)))
        return saltus.simulate(hopper, start, until=0.3, controller=schedule, **TIGHT)

    at = np.array([0.05, 0.2, 0.3, 2.0, -0.5])
    names = ["start1", "start2", "knee.piece1.c0", "knee.piece1.c1", "knee.piece2.c0"]
    agree(run(at).jacobian([f"schedule.{name}" for name in names]), differences(lambda v: final(run(v)), at))


def test_python_controllers_with_memory():
    """What a sampled function remembers depends on the states that it saw."""
    pendulum, start = saltus.robots.double_pendulum(), {"theta1": 0.8}

    def integral(t, state, mode, memory):
        memory[0] += 0.05 * (0.2 - state["theta2"])
        return Command(2.0 * memory[0] - 0.3 * state["dtheta2"])

    def run(x):
        return saltus.simulate(pendulum, x, until=1.0, controller=Sampled(integral, 0.05, memory=2), **TIGHT)

    at = pendulum.state(start)
    agree(run(at).jacobian(), differences(lambda x: final(run(x)), at))


def test_saturated_inputs_follow_the_limit():
    system, start = saltus.robots.double_pendulum(torque_limit=1.0), {"theta1": 0.8, "theta2": 1.5}

    def run(limit):
        robot = system.with_parameters(torque_limit=limit)
        return saltus.simulate(robot, start, until=0.3, controller=PD(kp=50, kd=0), **TIGHT)

    nominal = run(1.0)
    assert nominal.saturated
    agree(nominal.jacobian(["torque_limit"]), differences(lambda v: final(run(v[0])), np.array([1.0])))


def test_a_terminal_guard_is_reached_by_every_neighbour():
    """The end of such a run moves in time, and its derivative with it."""
    hopper = saltus.robots.hopper()
    start = {"y": 0.15, "theta1": 1.9, "theta2": -1.9, "dx": 0.2}

    def run(x):
        return saltus.simulate(hopper, x, until=1.0, **TIGHT)

    nominal = run(start)
    assert nominal.status.name == "terminal"
    at = hopper.state(start)
    agree(nominal.jacobian(), differences(lambda x: final(run(x)), at))
    agree(nominal.event_times_jacobian(), differences(lambda x: np.array([e.t for e in run(x).events]), at))


def test_transition_matrices_multiply():
    rod = saltus.robots.rod(restitution=0.4)
    run = saltus.simulate(rod, {"dx": 0.3}, until=0.7, **TIGHT)
    for middle in (0.2, run.events[0].t, run.events[1].t, 0.53):
        product = run.jacobian(since=middle) @ run.jacobian(until=middle)
        np.testing.assert_allclose(product, run.jacobian(), rtol=0, atol=1e-8)
    between = 0.5 * (run.events[0].t + run.events[1].t)
    before, after = run.events[0].t - 1e-9, run.events[0].t + 1e-9
    np.testing.assert_allclose(run.jacobian(since=before, until=after), run.saltation(0), atol=1e-6)
    np.testing.assert_allclose(run.jacobian(since=between, until=between), np.eye(6), atol=0)


@pytest.mark.parametrize("values", [{}, {"slope": -0.12, "shape": 0.3}, {"length": 0.6, "mass": 3.0, "g": 3.7}])
def test_rimless_wheel_multiplier(values):
    assert max(wheel_errors(values)) < 1e-9


def wheel_errors(values):
    """Errors of fixed point and multiplier, eta^2, of one step [mcgeer1990, coleman1998], by saltation matrices."""
    wheel = saltus.robots.rimless_wheel(mu=2.0, **values)
    p = wheel.values
    alpha, inertia = math.pi / 8, p["shape"] * p["mass"] * p["length"] ** 2
    about_foot = inertia + p["mass"] * p["length"] ** 2
    eta = (inertia + p["mass"] * p["length"] ** 2 * math.cos(2 * alpha)) / about_foot
    gain = 4 * p["mass"] * p["g"] * p["length"] * math.sin(alpha) * math.sin(-p["slope"]) / about_foot
    omega = math.sqrt(eta**2 * gain / (1 - eta**2))
    # right after an impact foot 0 stands behind by alpha from the normal of the slope
    lean, spin = alpha + p["slope"], -omega
    x, y = -p["length"] * math.sin(lean), p["length"] * math.cos(lean)
    start = {"x": x, "y": y, "theta": lean, "dx": -spin * y, "dy": spin * x, "dtheta": spin}
    run = saltus.simulate(wheel, start, until=4.0, **TIGHT)
    steps = [event for event in run.events if event.guard.endswith("touch")]
    assert [event.guard for event in steps[:2]] == ["foot1.touch", "foot2.touch"]
    speed = max(abs(event.state_after["dtheta"] / spin - 1) for event in steps)
    # along the flow and along the slope nothing decays; what the impact forbids is gone after one step
    period = steps[0].t
    multipliers = np.linalg.eigvals(run.jacobian(since=0.4 * period, until=1.4 * period))
    expected = [0, 0, 0, eta**2, 1, 1]
    np.testing.assert_allclose(sorted(np.abs(multipliers)), expected, atol=1e-4)
    return speed, abs(sorted(np.abs(multipliers))[3] - eta**2)


def test_what_cannot_be_differentiated_is_refused():
    ball = saltus.robots.bouncing_ball()
    run = saltus.simulate(ball, until=1.0)
    with pytest.raises(UnknownName, match="restitution"):
        run.jacobian("restitutoin")
    with pytest.raises(InputError, match="between"):
        run.jacobian(until=2.0)
    with pytest.raises(InputError, match="forward"):
        run.jacobian(since=0.6, until=0.3)
    with pytest.raises(InputError, match="no event 7"):
        run.saltation(7)
    failed = saltus.simulate(ball, until=1.0, max_steps=1, raise_errors=False)
    with pytest.raises(InputError, match="step_limit"):
        failed.jacobian()
    grazing = saltus.simulate(ball, {"y": 1.0, "dy": 0.0}, until=0.2, controller=None)
    assert np.isfinite(grazing.jacobian()).all()
    assert issubclass(InputError, SaltusError)


def test_a_slip_in_space_is_refused():
    run = saltus.simulate(saltus.robots.claptrap_upright().with_parameters(mu=0.1), {"wy": 5.0}, until=0.05)
    assert any("slip" in mode for mode in run.arc_modes)
    for derivative in (run.sensitivity, run.jacobian):
        with pytest.raises(InputError, match="slips, strikes or leaves the ground in space"):
            derivative()


def test_the_end_of_infinitely_many_impacts():
    """Of a foot that slides: the last of its impacts does not rebound, and neither do those of neighbours."""
    m = Mechanism("skater")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    system = HybridSystem(m, units=(GroundPoint(m.point("foot", body, (0.1, -0.3)), 0.2, newton(0.3)),))

    def at(**moved):
        start = {"y": 0.35 + moved.get("y", 0.0), "dx": 2.0, "angle": moved.get("angle", 0.0)}
        return saltus.simulate(system, start, until=0.45)

    run, step = at(), 1e-5
    assert run.events[-1].mode_after == "slip+"
    assert len(run.events) > 10
    for name in ("y", "angle"):
        far = {k: np.array(list(at(**{name: k * step}).final.values())) for k in (-2, -1, 1, 2)}
        expected = (far[-2] - 8 * far[-1] + 8 * far[1] - far[2]) / (12 * step)
        column = run.jacobian()[:, system.state_names.index(name)]
        np.testing.assert_allclose(column, expected, atol=1e-8 * np.abs(expected).max())


def test_starts_in_contact():
    """Neighbours of a start that sticks come to rest at once; those of one that slips lose speed along it too."""
    block = saltus.robots.block()
    stuck = saltus.simulate(block, until=1.0, controller=Sine(amplitude=0.5), **TIGHT).jacobian()
    np.testing.assert_allclose(stuck, np.diag([1.0, 0.0, 0.0, 0.0]), atol=1e-12)
    level = saltus.robots.block(slope=0.0, mu=0.3)
    slipping = saltus.simulate(level, {"ds": 0.7}, until=2.3, controller=Sine(amplitude=5.0), **TIGHT).jacobian()
    # a small hop gains what friction did not take meanwhile: mu times its speed
    assert slipping[0, 3] == pytest.approx(0.3 * slipping[0, 2], rel=1e-6)


def test_memory_goes_back_further_than_the_beginning():
    def law(t, x, status, memory, p, data, piece, u, request):
        memory[0] += data[0]
        u[0] = memory[0] * x[1] - 0.3 * x[3]
        return 0

    pendulum = saltus.robots.double_pendulum()
    controller = Compiled(law, [0.5], period=0.05, memory=1)
    run = saltus.simulate(pendulum, {"theta1": 0.8}, until=1.0, controller=controller, **TIGHT)
    for middle in (0.5, 0.52):
        product = run.jacobian(since=middle) @ run.jacobian(until=middle)
        if middle == 0.5:  # at a sample nothing that is held goes across
            np.testing.assert_allclose(product, run.jacobian(), atol=1e-6)


def test_forces_that_change_with_time():
    m = saltus.Mechanism("weighed")
    g, mu = m.parameter("g", 9.81, "m/s^2"), m.parameter("mu", 0.3, "1", lower=0)
    m.gravity = g * (1 + 0.5 * ca.sin(5 * m.t))
    rail = m.body("rail", Prismatic("s"))
    block = m.body("block", Prismatic("n", axis=(0, 1)), parent=rail, mass=1.0)
    m.actuator("push", "s")
    system = saltus.HybridSystem(m, units=(saltus.GroundPoint(m.point("foot", block), friction=mu),))

    def run(mu):
        return saltus.simulate(
            system.with_parameters(mu=mu), until=0.9, controller=Schedule((0.0,), ((2.0,),)), **TIGHT
        )

    nominal = run(0.3)
    assert [event.guard for event in nominal.events] == ["foot.cone-"]
    agree(nominal.jacobian(["mu"]), differences(lambda v: final(run(v[0])), np.array([0.3])))
    times = differences(lambda v: np.array([run(v[0]).events[0].t]), np.array([0.3]))
    agree(nominal.event_times_jacobian(["mu"]), times)


def box_with_a_knob():
    """Its foot is the second of two points; the first is 1 m above."""
    m = Mechanism("box")
    m.gravity = 9.81
    box = m.body("box", Prismatic("y", axis=(0, 1)), parent=m.body("rail", Prismatic("x")), mass=1.0)
    points = m.point("knob", box, (0, 1)), m.point("foot", box)
    return HybridSystem(m, units=tuple(GroundPoint(point, 0.1, newton(0.5)) for point in points))


@pytest.mark.parametrize("speed", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("made", [lambda: saltus.robots.bouncing_ball(restitution=0.5, mu=0.1), box_with_a_knob])
def test_slow_strikes(speed, made):
    ball, start = made(), {"y": 1e-14, "dy": -speed, "dx": 1.0}
    matrix = saltus.simulate(ball, start, until=0.05 * speed, **TIGHT).saltation(0)
    assert matrix[3, 3] == pytest.approx(-0.5, abs=1e-8)
    assert matrix[2, 3] == pytest.approx(0.15, abs=1e-8)


def test_fast_inputs_are_differentiated_on_their_own_scale():
    pendulum, start = saltus.robots.pendulum(), {"theta": 0.3}

    def run(omega):
        return saltus.simulate(pendulum, start, until=10.0, controller=Sine(1.0, omega=omega, phase=0.1), **TIGHT)

    agree(run(20.0).jacobian(["sine.omega"]), differences(lambda v: final(run(v[0])), np.array([20.0])))


def test_commands_at_other_times_have_matrices_of_their_own():
    make, start, until, controller, mode, _ = CASES["monkeybot: exchanges hands twice"]
    run = saltus.simulate(make(), start, until=until, controller=controller, mode=mode, **TIGHT)
    assert [event.guard for event in run.events] == ["command", "command"]
    for k, event in enumerate(run.events):
        around = run.jacobian(since=event.t - 1e-9, until=event.t + 1e-9)
        np.testing.assert_allclose(run.saltation(k), around, atol=1e-6)
        np.testing.assert_array_equal(run.saltation(k), run.saltation(k - 2))
