"""Bad input of every kind is refused before any work, naming the value and the rule."""

import math

import numpy as np
import pytest

import saltus
from saltus.contact import chatterjee, find_law, newton
from saltus.control import PD, Constant, Sampled, Schedule, Sine, find_controller
from saltus.errors import InputError, RunFailed, UnknownName
from saltus.robots import find_robot


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        (lambda: find_robot("hoper"), "hopper"),
        (lambda: saltus.robots.hopper(mue=0.3), "mu"),
        (lambda: saltus.simulate(saltus.robots.hopper(), {"tetha1": 1.0}), "theta1"),
        (lambda: find_controller("shedule"), "schedule"),
        (lambda: find_law("neuton"), "newton"),
        (lambda: saltus.robots.hopper().with_guards(hight_Q="record"), "height_Q"),
        (lambda: saltus.simulate(saltus.robots.pendulum(), method="dopri"), "dopri5"),
        (lambda: saltus.robots.hopper().with_guards(height_Q="stop"), "Known: ignore, record, terminal"),
    ],
)
def test_unknown_names_come_with_the_nearest(wrong, near):
    with pytest.raises(UnknownName, match=near):
        wrong()


def test_unknown_robot_as_attribute():
    with pytest.raises(AttributeError, match="hopper"):
        saltus.robots.hoper  # noqa: B018


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("m", -1.0),
        ("m", 0.0),
        ("m", math.nan),
        ("l", math.inf),
        ("mu", -0.1),
        ("e_n", 1.5),
        ("tau_max", -1.0),
        ("m", "heavy"),
    ],
)
def test_parameters_out_of_range(name, value):
    with pytest.raises(InputError, match=name):
        saltus.robots.hopper(**{name: value})


def test_masses_and_inertias_that_no_body_has():
    with pytest.raises(InputError, match="inertia"):
        saltus.robots.pendulum(inertia=-0.1)
    m = saltus.Mechanism("wrong")
    m.body("body", saltus.mechanism.Revolute("angle"), mass=-2.0)
    with pytest.raises(InputError, match="mass must be finite and not negative"):
        saltus.HybridSystem(m)
    m = saltus.Mechanism("wrong")
    m.body("body", saltus.mechanism.Revolute("angle"), mass=0.0, inertia=1.0)
    with pytest.raises(InputError, match="no mass"):
        saltus.HybridSystem(m)


@pytest.mark.parametrize(
    "state",
    [
        {"theta1": math.nan},
        {"theta1": math.inf},
        {"theta1": "upright"},
        [1.0, 2.0],
        np.zeros(9),
        np.zeros((8, 1)),
        ["a"] * 8,
    ],
)
def test_states_that_are_none(state):
    with pytest.raises(InputError):
        saltus.simulate(saltus.robots.hopper(), state)


def test_start_below_the_ground():
    with pytest.raises(InputError, match=r"P is 0\.01 m below the ground"):
        saltus.simulate(saltus.robots.hopper(), {"y": -0.01})


def test_start_beyond_a_terminal_guard():
    with pytest.raises(InputError, match="height_Q"):
        saltus.simulate(saltus.robots.hopper(), {"theta1": -0.5, "y": 0.1})


@pytest.mark.parametrize(
    "options",
    [
        {"until": -1.0},
        {"until": math.nan},
        {"until": math.inf},
        {"until": "soon"},
        {"start": 5.0, "until": 1.0},
        {"until": 1.0, "rtol": 0.0},
        {"until": 1.0, "rtol": -1e-9},
        {"until": 1.0, "atol": 0.0},
        {"until": 1.0, "max_step": 0.0},
        {"until": 1.0, "output_step": -0.1},
        {"until": 1.0, "output_step": 0.0},
    ],
)
def test_numbers_of_a_run(options):
    with pytest.raises(InputError):
        saltus.simulate(saltus.robots.pendulum(), **options)


@pytest.mark.parametrize(
    "controller",
    [
        Constant(11.0),
        Constant(math.nan),
        Constant([1.0, 2.0]),
        Constant({"ankle": 1.0}),
        Sine(amplitude=6.0, offset=5.0),
        Schedule((0.0, 0.1), ((1.0,),)),
        Schedule((0.1, 0.0), ((1.0,), (2.0,))),
        Schedule((), ()),
        Schedule((0.0,), ((math.nan,),)),
        Schedule((0.0, 1.0), ((0.0, 0.0, 20.0), (0.0,))),
        Schedule((0.0,), ((0.0, 1.0),)),
        Schedule((0.0,), (((1.0,), (1.0,)),)),
        PD(kp=math.inf),
        PD(period=0.0),
        Sampled(lambda *_: 0.0, period=-1.0),
        "pd",
        42,
    ],
)
def test_controllers_that_cannot_be(controller):
    with pytest.raises(InputError):
        saltus.simulate(saltus.robots.hopper(), controller=controller, until=0.1)


def test_schedule_within_its_limit_by_a_hair():
    # the largest value of a piece is inside it: 10 - (t - 0.5)^2 touches the limit and is allowed
    saltus.simulate(saltus.robots.hopper(), controller=Schedule((0.0, 1.0), ((9.75, 1.0, -1.0), (0.0,))), until=0.01)


@pytest.mark.parametrize("power", [2, 3, 5])
@pytest.mark.parametrize("slight", [5e-324, 4.5e-309, -1e-200, 1e-30])
def test_a_schedule_whose_last_power_is_next_to_nothing(power, slight):
    row = (0.0, 9.0, *[0.0] * (power - 2), slight)
    hopper = saltus.robots.hopper()
    saltus.simulate(hopper, controller=Schedule((0.0, 1.0), (row, (0.0,))), until=0.01)
    with pytest.raises(InputError, match=r"21 N m.* beyond"):
        saltus.simulate(hopper, controller=Schedule((0.0, 1.0), ((12.0, *row[1:]), (0.0,))), until=0.01)


def test_robot_without_actuators_takes_no_controller():
    for controller in (Constant(1.0), lambda *_: 0.0):
        with pytest.raises(InputError, match="no actuators"):
            saltus.simulate(saltus.robots.bouncing_ball(), controller=controller)


def test_something_else_than_a_robot():
    with pytest.raises(InputError, match="needs a robot"):
        saltus.simulate("hopper")


def test_law_coefficients():
    with pytest.raises(InputError, match="restitution"):
        newton(1.5)
    with pytest.raises(InputError, match="normal"):
        chatterjee(normal=-0.1)


def test_laws_can_be_exchanged():
    hopper = saltus.robots.hopper()
    torque = hopper.profiles["paper"].controller
    plastic = saltus.simulate(hopper.with_law(find_law("plastic")), controller=torque)
    own = saltus.simulate(hopper, controller=torque)
    # with no restitution at all, both are the same law
    assert plastic.figures["jump_distance"] == pytest.approx(own.figures["jump_distance"], abs=1e-12)
    bouncing = saltus.simulate(hopper.with_law(newton(0.5)), controller=torque)
    assert bouncing.figures["jump_distance"] != pytest.approx(own.figures["jump_distance"], abs=1e-3)


def test_motion_that_blows_up_ends_in_a_status():
    m = saltus.Mechanism("runaway")
    body = m.body("body", saltus.mechanism.Prismatic("x"), mass=1.0)
    m.point("body", body)
    m.actuator("push", "x")
    robot = saltus.HybridSystem(m, start={"x": 1.0})

    def away(t, x, status, memory, p, data, piece, u, request):
        u[0] = x[0] * x[0] * x[0]
        return 0

    run = saltus.simulate(robot, controller=saltus.control.Compiled(away), until=10.0, raise_errors=False)
    assert run.status.name in ("step_collapse", "not_finite")
    assert run.end_time < 10.0


def test_singular_mass_matrix():
    m = saltus.Mechanism("point on a rod")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    length = m.parameter("length", 0.0, "m")
    m.body("rod", saltus.mechanism.Revolute("angle"), mass=1.0, com=(length, 0))
    robot = saltus.HybridSystem(m)
    with pytest.raises(RunFailed, match="not positive definite"):
        saltus.simulate(robot, {"angle": 1.0}, until=1.0)
