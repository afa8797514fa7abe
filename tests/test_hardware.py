"""Motors, play and sensors between a controller and a robot, each beside a computation of its own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from saltus import Command, HybridSystem, Mechanism, robots, simulate, simulate_many
from saltus.control import (
    PD,
    Compiled,
    Constant,
    Current,
    Encoder,
    Gripper,
    Hardware,
    Imu,
    Motor,
    Passive,
    Sampled,
    SwapAtLevel,
)
from saltus.control._encoder import decode
from saltus.engine import _layout as L
from saltus.errors import InputError, RunFailed, UnknownName
from saltus.mechanism import Floating, Prismatic, Revolute

PERIOD = 1e-3


def noting(log, act, period=PERIOD):
    """A Python controller that notes what it sees."""

    def function(t, state, mode, memory):
        log.append((t, state.x.copy(), dict(mode)))
        return act(t, state)

    return Sampled(function, period=period)


def seen(log):
    """Times and measured states."""
    return np.array([t for t, _, _ in log]), np.array([x for _, x, _ in log])


def inputs_of(run, times, period=PERIOD):
    """What was held after each of some samples."""
    return run.everything_at(np.asarray(times) + period / 2).inputs


def swinging(t, state):
    return 3.0 * math.sin(7.0 * t)


# -- the controller behind it ---------------------------------------------------------------------


def turn_back(t, x, status, memory, p, data, piece, u, request):
    memory[0] += 1.0
    u[0] = data[0] if x[int(data[1])] < 0.2 else -data[0]
    return 0


def turn_back_in_python(place):
    def function(t, state, mode, memory):
        memory[0] += 1.0
        return 4.0 if state.x[place] < 0.2 else -4.0

    return Sampled(function, period=PERIOD)


PARTS = {
    "motor": Motor(stall=6.0, free_speed=5.0, limit=4.0),
    "encoder": Encoder(window=5),
    "backlash": 0.01,
    "seed": 3,
}


@pytest.mark.parametrize("controller", [PD(5.0, 0.7, 0.3, period=PERIOD), turn_back_in_python(0)])
def test_ideal_parts_change_nothing(controller):
    robot = robots.pendulum()
    alone, behind = (simulate(robot, controller=one, until=0.5) for one in (controller, Hardware(controller)))
    assert behind.step_rows.tobytes() == alone.step_rows.tobytes()
    assert behind.control.period == PERIOD


def test_ideal_parts_change_no_wishes_of_grips():
    robot = robots.monkeybot()
    controller = SwapAtLevel(0.5)
    alone, behind = (simulate(robot, controller=one, until=0.5) for one in (controller, Hardware(controller)))
    assert any(event.guard == "command" for event in alone.events)
    assert behind.event_rows.tobytes() == alone.event_rows.tobytes()


def test_compiled_and_python_controllers_are_the_same_behind_it():
    robot = robots.pendulum()
    compiled = Compiled(turn_back, (4.0, 0.0), period=PERIOD)
    one, two = (
        simulate(robot, controller=Hardware(inner, **PARTS), until=1.0) for inner in (compiled, turn_back_in_python(0))
    )
    assert one.step_rows.tobytes() == two.step_rows.tobytes()
    bare = simulate(robot, controller=compiled, until=1.0)
    assert bare.final != one.final
    # each was asked once a sample, with memory of its own
    for run in (one, two):
        first = run.integers[L.MEM] + run.control.memory.size - 8
        assert run.doubles[first] == 1001.0


def test_a_function_is_sampled_with_the_period_given():
    run = simulate(robots.pendulum(), controller=Hardware(lambda t, s, m, memory: t, period=0.1), until=0.45)
    np.testing.assert_allclose(inputs_of(run, [0.0, 0.1, 0.2, 0.3, 0.4], 0.1)[:, 0], [0.0, 0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("nobody", [None, Passive()])
def test_nobody_behind_it_leaves_the_robot_to_itself(nobody):
    robot = robots.pendulum()
    run = simulate(robot, controller=Hardware(nobody, motor=Motor(), encoder=Encoder()), until=1.0)
    assert run.final == pytest.approx(simulate(robot, until=1.0).final, abs=1e-8)
    assert not run.samples.inputs.any()


def test_hardware_stands_behind_hardware():
    robot, inner = robots.pendulum(), Compiled(turn_back, (4.0, 0.0), period=PERIOD)
    split = Hardware(Hardware(inner, encoder=PARTS["encoder"]), motor=PARTS["motor"])
    whole = Hardware(inner, motor=PARTS["motor"], encoder=PARTS["encoder"])
    one, two = (simulate(robot, controller=controller, until=0.5) for controller in (split, whole))
    assert one.step_rows.tobytes() == two.step_rows.tobytes()


def test_numbers_of_the_controller_keep_their_names_and_derivatives():
    robot, pd = robots.pendulum(), PD(5.0, 0.7, 0.3, period=0.01)
    alone, behind = (simulate(robot, controller=one, until=0.3) for one in (pd, Hardware(pd)))
    control = behind.control
    assert {one.name: control.data[one.places[0]] for one in control.parameters} == {
        "kp.pivot": 5.0,
        "kd.pivot": 0.7,
        "target.pivot": 0.3,
    }
    np.testing.assert_allclose(behind.jacobian("control"), alone.jacobian("control"), rtol=1e-6, atol=1e-9)


def test_what_a_python_controller_raises_is_told():
    def fails(t, state, mode, memory):
        if t > 0.0995:
            raise ValueError("no more")
        return 0.0

    robot = robots.pendulum()
    with pytest.raises(RunFailed, match="no more") as caught:
        simulate(robot, controller=Hardware(fails, encoder=Encoder()), until=1.0)
    assert isinstance(caught.value.__cause__, ValueError)
    batch = simulate_many(robot, controllers=[Hardware(fails), Hardware(lambda t, s, m, memory: 0.0)], until=0.2)
    assert list(batch.errors) == [0]
    assert isinstance(batch.errors[0], ValueError)


# -- motors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", [9.0, -9.0])
def test_a_motor_gives_what_it_can_at_the_speed_of_the_sample(wish):
    stall, free, limit = 6.0, 5.0, 4.0
    motor = Motor(stall, free, limit)
    robot = robots.pendulum()
    controller = Sampled(lambda t, s, m, memory: wish if math.sin(5 * t) > 0 else -wish, period=0.01)
    run = simulate(robot, {"theta": 2.8}, controller=Hardware(controller, motor=motor), until=4.0)
    times = np.arange(400) * 0.01
    w = run.at(times)[:, 1]
    asked = np.where(np.sin(5 * times) > 0, wish, -wish)
    ahead = np.minimum(limit, np.maximum(0, stall * (1 - np.abs(w) / free)))
    high, low = np.where(w > 0, ahead, limit), np.where(w < 0, -ahead, -limit)
    high, low = np.where(w == 0, ahead, high), np.where(w == 0, -ahead, low)
    expected = np.clip(asked, low, high)
    np.testing.assert_allclose(inputs_of(run, times, 0.01)[:, 0], expected, atol=1e-9)
    # all parts of the curve were met
    assert np.abs(w).max() > free
    assert (expected == 0).any()
    assert (np.abs(expected) == limit).any()
    assert ((np.abs(expected) > 0) & (np.abs(expected) < limit)).any()


def test_the_default_motor_is_that_of_the_thesis():
    motor = Motor()
    assert motor.free_speed == pytest.approx(15.708, abs=1e-4)
    # ten newton metres below about 8.7 rad/s only
    assert motor.range(8.7)[1] == 10.0
    assert motor.range(8.8)[1] == pytest.approx(22.5 * (1 - 8.8 / 15.70796), rel=1e-6)
    assert motor.range(8.8)[1] < 10.0
    assert motor.range(-8.8) == (-motor.range(8.8)[1], 10.0)
    assert motor.range(20.0) == (-10.0, 0.0)
    assert motor.range(0.0) == (-10.0, 10.0)


def test_motors_by_actuator():
    m = Mechanism("two wheels and a cart")
    for name in ("left", "right"):
        m.body(name, Revolute(name), mass=1.0, inertia=0.1)
        m.actuator(f"turn {name}", name)
    m.body("cart", Prismatic("x"), mass=1.0)
    m.actuator("push", "x")
    system = HybridSystem(m)
    for motor, expected in (
        (Motor(2.0, 1e9, 1.5), [1.5, 1.5, 5.0]),
        ({"turn right": Motor(2.0, 1e9, 1.0)}, [5.0, 1.0, 5.0]),
    ):
        asked = Sampled(lambda t, s, m, memory: (5.0, 5.0, 5.0))
        run = simulate(system, controller=Hardware(asked, motor=motor), until=0.01)
        assert list(run.samples.inputs[-1]) == expected
    with pytest.raises(UnknownName, match="turn left"):
        simulate(system, controller=Hardware(asked, motor={"turn lef": Motor()}), until=0.01)


# -- encoders -------------------------------------------------------------------------------------


def test_quadrature_decoding():
    states = [(0, 0), (1, 0), (1, 1), (0, 1)]
    for k in range(4):
        assert decode(states[k], states[(k + 1) % 4]) == 1
        assert decode(states[(k + 1) % 4], states[k]) == -1
        assert decode(states[k], states[k]) == 0
        assert decode(states[k], states[(k + 2) % 4]) == 0
    # as printed, this is +1
    assert decode((1, 0), (0, 0)) == -1
    # whatever the way there, what comes back to where it was counts nothing
    generator = np.random.default_rng(2)
    for _ in range(50):
        way = np.cumsum(generator.choice([-1, 1], 30))
        way = [0, *way, *way[::-1], 0]
        assert sum(decode(states[a % 4], states[b % 4]) for a, b in itertools.pairwise(way)) == 0


@pytest.mark.parametrize("counts", [1992.592, 7.0, 64.3])
def test_counts_are_the_angle_rounded_down(counts):
    encoder = Encoder(counts)
    generator = np.random.default_rng(1)
    small = np.cumsum(generator.normal(0, 0.4, 300)) * encoder.step  # to and fro about an edge
    large = np.cumsum(generator.normal(0, 60, 40)) * encoder.step
    for angles in (small, large, -np.abs(large), np.array([0.5, -0.5, 0.5, -0.5]) * encoder.step):
        assert encoder.count(angles).tolist() == np.floor(angles * counts / (2 * math.pi)).astype(int).tolist()
    assert encoder.count([]).size == 0


@pytest.mark.parametrize("window", [1, 7])
def test_encoders_tell_whole_counts_and_their_differences(window):
    robot, log = robots.pendulum(), []
    encoder = Encoder(500.0, window)
    run = simulate(robot, controller=Hardware(noting(log, swinging), encoder=encoder), until=0.3)
    times, measured = seen(log)
    counts = encoder.count(run.at(times)[:, 0])
    step = 2 * math.pi / 500
    np.testing.assert_allclose(measured[:, 0], counts * step, atol=1e-12)
    past = np.maximum(np.arange(len(times)) - window, 0)
    taken = times - times[past]
    rates = np.divide((counts - counts[past]) * step, taken, out=np.zeros(len(times)), where=taken > 0)
    np.testing.assert_allclose(measured[:, 1], rates, atol=1e-9)
    assert len(np.unique(counts)) > 10


def test_encoders_read_what_is_driven_and_nothing_else():
    robot, log = robots.brachiator(), []
    simulate(robot, controller=Hardware(noting(log, lambda t, s: 0.0), encoder=Encoder()), until=0.005)
    x, start = log[0][1], robot.state()
    names = robot.state_names
    place = names.index("theta2")
    assert x[place] == math.floor(start[place] / Encoder().step) * Encoder().step
    others = [k for k, name in enumerate(names) if name not in ("theta2", "dtheta2")]
    assert (x[others] == start[others]).all()


# -- the inertial unit ----------------------------------------------------------------------------


def mixed(seed, place):
    """The generator, written with whole numbers of any size."""
    full = 2**64 - 1
    z = (seed * 0xD1342543DE82EF95 + place * 0x9E3779B97F4A7C15) & full
    for _ in range(2):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
        z = ((z ^ (z >> 31)) + 0x9E3779B97F4A7C15) & full
    return (z >> 11) / 2**53


def noise(seed, samples, robot, **imu):
    """What is added to angle and rate."""
    log = []
    run = simulate(
        robot, controller=Hardware(noting(log, lambda t, s: 0.0), imu=Imu(**imu), seed=seed), until=samples * PERIOD
    )
    times, measured = seen(log)
    return measured - run.at(times)


def test_noise_has_the_mean_and_the_size_asked_for():
    robot = robots.pendulum()
    one, two = (noise(seed, 4000, robot, angle_noise=0.02, rate_noise=0.3) for seed in (1, 2))
    count = len(one)
    for added in (one, two):
        for k, size in ((0, 0.02), (1, 0.3)):
            values = added[:, k] / size
            assert abs(values.mean()) < 4 / math.sqrt(count)
            assert np.sqrt((values**2).mean()) == pytest.approx(1.0, abs=4 / math.sqrt(2 * count))
            assert (values**4).mean() == pytest.approx(3.0, abs=0.5)
            # white: no sample knows the last
            assert abs((values[1:] * values[:-1]).mean()) < 4 / math.sqrt(count)
        assert abs(np.corrcoef(added[:, 0], added[:, 1])[0, 1]) < 4 / math.sqrt(count)
    assert abs(np.corrcoef(one[:, 0], two[:, 0])[0, 1]) < 4 / math.sqrt(count)
    for k in range(5):
        size, angle = math.sqrt(-2 * math.log(1 - mixed(1, 2 * k))), 2 * math.pi * mixed(1, 2 * k + 1)
        assert one[k, 0] == pytest.approx(0.02 * size * math.cos(angle), abs=1e-12)
        assert one[k, 1] == pytest.approx(0.3 * size * math.sin(angle), abs=1e-12)


def test_bias_and_delay():
    robot, log = robots.pendulum(), []
    imu = Imu(angle_bias=0.1, rate_bias=-0.2, delay=0.005)
    run = simulate(robot, controller=Hardware(noting(log, swinging), imu=imu), until=0.1)
    times, measured = seen(log)
    told = run.at(np.maximum(times - 0.005, 0.0))
    np.testing.assert_allclose(measured, told + np.array([0.1, -0.2]), atol=1e-10)


def test_only_the_first_link_has_an_imu():
    robot = robots.brachiator()
    added = noise(4, 20, robot, angle_noise=0.02, rate_noise=0.3)
    names = robot.state_names
    for k, name in enumerate(names):
        assert (np.abs(added[:, k]) > 1e-9).all() == (name in ("theta1", "dtheta1"))
        assert name in ("theta1", "dtheta1") or np.abs(added[:, k]).max() < 1e-12


# -- current --------------------------------------------------------------------------------------


def test_readings_of_the_current_sensor():
    current = Current(2.0)
    # one ampere, two newton metres, is 1.5 / 11.37 V at the pin
    assert current.reading(2.0) == math.floor(1500 / 11370 / 5 * 1024)
    assert current.reading(-2.0) == current.reading(2.0)
    assert current.reading(1e6) == 1023
    torques = np.linspace(-20, 20, 401)
    assert (np.abs(current.measured(torques)) <= np.abs(torques) + 1e-12).all()
    assert np.abs(current.measured(torques) - torques).max() <= current.quantum
    assert (np.sign(current.measured(torques)) * np.sign(torques) >= 0).all()
    assert current.torque(current.reading(7.0)) == pytest.approx(7.0, abs=current.quantum)
    assert current.quantum == pytest.approx(5 / 1024 / 1500 * 11370 * 2)


def keep_what_was_read(t, x, status, memory, p, data, piece, u, request):
    k = int(memory[0])
    memory[0] = k + 1.0
    memory[1 + k] = u[0]
    u[0] = 0.37 * k - 3.0
    return 0


def test_a_compiled_controller_finds_the_torque_that_was_measured():
    inner, current = Compiled(keep_what_was_read, period=PERIOD, memory=32), Current(1.3)
    motor = Motor(limit=2.5)
    for sensor in (current, None):
        run = simulate(robots.pendulum(), controller=Hardware(inner, motor=motor, current=sensor), until=20.5 * PERIOD)
        first = run.integers[L.MEM] + run.control.memory.size - 32 + 1
        read = run.doubles[first : first + 21]
        given = np.concatenate([[0.0], np.clip(0.37 * np.arange(20) - 3.0, -2.5, 2.5)])
        np.testing.assert_allclose(read, given if sensor is None else current.measured(given), atol=1e-12)


# -- backlash -------------------------------------------------------------------------------------


def test_play_is_crossed_before_torque_passes():
    play, log = 0.05, []

    def act(t, state):
        return (0.0, 2.0, -2.0, -2.0, 1.0, 0.0)[round(t / PERIOD) // 8 % 6]

    robot = robots.pendulum()
    hardware = Hardware(noting(log, act), encoder=Encoder(1e9, 1), motor=Motor(free_speed=6.0), backlash=play)
    run = simulate(robot, {"theta": 0.3}, controller=hardware, until=0.2)
    times, measured = seen(log)
    ahead, passed = 0.0, []
    places = []
    for t in times:
        places.append(ahead)
        wish = act(t, None)
        side = np.sign(wish)
        passed.append(wish if side != 0 and side * ahead >= play / 2 else 0.0)
        ahead = float(np.clip(ahead + side * 6.0 * PERIOD, -play / 2, play / 2))
    np.testing.assert_allclose(measured[:, 0], run.at(times)[:, 0] + places, atol=2e-8)
    np.testing.assert_allclose(inputs_of(run, times[:-1])[:, 0], passed[:-1], atol=1e-12)
    assert {0.0, 2.0, -2.0} <= set(passed)
    assert max(places) == play / 2
    assert min(places) == -play / 2


def test_play_without_a_motor_is_crossed_at_the_default_speed():
    log = []
    hardware = Hardware(noting(log, lambda t, s: 1.0), encoder=Encoder(1e9, 1), backlash=1.0)
    run = simulate(robots.pendulum(), controller=hardware, until=0.1)
    times, measured = seen(log)
    ahead = np.minimum(times * 5 * math.pi, 0.5)
    np.testing.assert_allclose(measured[:, 0] - run.at(times)[:, 0], ahead, atol=2e-8)
    expected = np.where(ahead == 0.5, 1.0, 0.0)
    assert (inputs_of(run, times[:-1])[:, 0] == expected[:-1]).all()


# -- many runs ------------------------------------------------------------------------------------


def everything(seed, inner):
    return Hardware(
        inner,
        motor=Motor(),
        encoder=Encoder(),
        imu=Imu(0.017, 0.087, 0.01, -0.02, 0.003),
        current=Current(1.0),
        gripper=Gripper(close_time=0.02, open_time=(0.02, 0.06), impact_limit=50.0, slack=0.002),
        backlash=0.01,
        seed=seed,
    )


def let_go_and_swing(t, x, status, memory, p, data, piece, u, request):
    u[0] = 5.0 if x[3] < data[0] else -5.0
    request[1] = -1 if t < 0.3 else 1
    return 0


def let_go_in_python(t, state, mode, memory):
    return Command(5.0 if state.x[3] < 0.5 else -5.0, {"B": "open" if t < 0.3 else "close"})


def test_a_batch_is_its_runs_whatever_the_threads():
    robot = robots.brachiator()
    inner = Compiled(let_go_and_swing, (0.5,), period=PERIOD)
    controllers = [everything(seed, inner) for seed in range(6)]
    controllers += [everything(2, Sampled(let_go_in_python, period=PERIOD)), everything(2, inner), inner]
    one, two = (simulate_many(robot, controllers=controllers, until=0.6, threads=n) for n in (1, 2))
    assert one.states.tobytes() == two.states.tobytes()
    for k, controller in enumerate(controllers):
        run = simulate(robot, controller=controller, until=0.6, raise_errors=False)
        assert list(run.final.values()) == one.states[k].tolist()
    # each seed is another run; the same seed is the same one, compiled or not
    assert len(np.unique(one.states[:6], axis=0)) == 6
    assert (one.states[6] == one.states[2]).all()
    assert (one.states[7] == one.states[2]).all()


def test_the_books_balance_behind_all_of_it():
    run = simulate(
        robots.brachiator(), controller=everything(1, Compiled(let_go_and_swing, (0.5,), period=PERIOD)), until=0.6
    )
    assert [check.name for check in run.check().checks if not check.ok] == []
    assert any(event.energy_lost > 0 for event in run.events)


def test_one_hardware_for_runs_of_different_parameters():
    robot = robots.brachiator()
    hardware = everything(1, Compiled(let_go_and_swing, (0.5,), period=PERIOD))
    values = np.array([1.5, 1.9, 2.3])
    batch = simulate_many(robot, parameters={"m1": values}, controllers=hardware, until=0.4)
    for k, value in enumerate(values):
        run = simulate(robot, parameters={"m1": value}, controller=hardware, until=0.4, raise_errors=False)
        assert list(run.final.values()) == batch.states[k].tolist()


# -- what is refused ------------------------------------------------------------------------------

SAMPLED = PD(1.0, period=PERIOD)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Motor(stall=0.0), "stall must be positive, got 0"),
        (lambda: Motor(free_speed=-1.0), "free_speed must be positive"),
        (lambda: Motor(limit=math.nan), "limit must be a finite number"),
        (lambda: Encoder(counts=0.0), "counts in a turn must be positive"),
        (lambda: Encoder(window=0), "window is a number of samples"),
        (lambda: Encoder(window=2.5), "window is a number of samples"),
        (lambda: Imu(angle_noise=-0.1), "angle_noise must not be negative, got -0.1"),
        (lambda: Imu(delay=math.inf), "delay must be a finite number"),
        (lambda: Current(0.0), "torque_per_ampere must be positive"),
        (lambda: Current(1.0, bits=10.5), "bits is a whole number"),
        (lambda: Hardware(SAMPLED, motor=3.0), "motor is a saltus.control.Motor"),
        (lambda: Hardware(SAMPLED, motor={"pivot": 3.0}), "motor is a saltus.control.Motor"),
        (lambda: Hardware(SAMPLED, encoder=Motor()), "encoder is a saltus.control.Encoder"),
        (lambda: Hardware(SAMPLED, imu=0.1), "imu is a saltus.control.Imu"),
        (lambda: Hardware(SAMPLED, backlash=-0.1), "backlash is an angle"),
        (lambda: Hardware(SAMPLED, backlash=math.pi), "backlash is an angle"),
        (lambda: Hardware(SAMPLED, seed=-1), "seed is a whole number"),
        (lambda: Hardware(SAMPLED, seed=1.5), "seed is a whole number"),
        (lambda: Hardware(SAMPLED, period=0.0), "period must be a positive time"),
    ],
)
def test_wrong_parts_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def cart():
    m = Mechanism("cart")
    m.body("cart", Prismatic("x"), mass=1.0)
    m.actuator("push", "x")
    return HybridSystem(m)


def floating():
    m = Mechanism("float")
    m.body("plate", Floating("x", "y", "angle"), mass=1.0, inertia=1.0)
    return HybridSystem(m)


@pytest.mark.parametrize(
    ("system", "hardware", "said"),
    [
        (robots.pendulum, Hardware(PD(1.0)), "pd is continuous: give it a period"),
        (robots.pendulum, Hardware(Constant(1.0)), "constant is continuous"),
        (robots.pendulum, Hardware(PD), "is a kind of controller"),
        (robots.pendulum, Hardware(3.0), "a controller is a function or has a bind method"),
        (robots.pendulum, Hardware(SAMPLED, imu=Imu(delay=0.0015)), "1.5 samples of 0.001 s"),
        (robots.pendulum, Hardware(SAMPLED, imu=Imu(), encoder=Encoder()), "has an encoder and an imu"),
        (robots.pendulum, Hardware(SAMPLED, gripper=Gripper()), "pendulum has no grips"),
        (cart, Hardware(None, motor=Motor()), "no actuator of cart drives an angle"),
        (cart, Hardware(None, encoder=Encoder()), "no actuator of cart drives an angle"),
        (cart, Hardware(None, backlash=0.1), "no actuator of cart drives an angle"),
        (cart, Hardware(None, imu=Imu()), "no angle in the plane"),
        (floating, Hardware(None, motor=Motor()), "no actuator of float drives an angle"),
    ],
)
def test_hardware_that_does_not_fit_is_refused(system, hardware, said):
    with pytest.raises(InputError, match=said):
        simulate(system(), controller=hardware, until=0.01)


# -- derivatives ----------------------------------------------------------------------------------


def swing_back(**parts):
    controller = Hardware(PD(4.0, 0.4, 0.0, period=5e-3), seed=2, **parts)
    return robots.pendulum(), controller, {"theta": 0.4, "dtheta": -0.3}, {"until": 0.1}


@pytest.mark.parametrize("parts", [{"encoder": Encoder()}, {"current": Current(2.0)}])
def test_what_is_read_in_steps_has_no_derivative(parts):
    robot, controller, start, options = swing_back(**parts)
    run = simulate(robot, start, controller=controller, **options)
    with pytest.raises(InputError, match=r"has no derivative: .* in steps"):
        run.jacobian()
    with pytest.raises(InputError, match="in steps"):
        run.sensitivity(until=0.05)
    # with no controller that would see it, it has one
    free = simulate(robot, start, controller=Hardware(None, **parts), **options)
    assert np.isfinite(free.jacobian()).all()


def test_noise_of_one_seed_is_the_same_in_neighbouring_runs():
    robot, controller, start, options = swing_back(imu=Imu(0.02, 0.1, delay=0.01))
    run = simulate(robot, start, controller=controller, **options)
    size, columns = 1e-4, ("theta", "dtheta")
    exact = run.jacobian(columns)
    for k, name in enumerate(columns):
        ends = [
            np.array(list(simulate(robot, {**start, name: start[name] + way * size}, controller=controller, **options)
                          .final.values()))
            for way in (2, 1, -1, -2)
        ]  # fmt: skip
        slope = (-ends[0] + 8 * ends[1] - 8 * ends[2] + ends[3]) / (12 * size)
        np.testing.assert_allclose(exact[:, k], slope, rtol=1e-6, atol=1e-7)
