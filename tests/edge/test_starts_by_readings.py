"""Starts told by readings: what is told holds exactly, or is refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import saltus
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.hybrid._closed import slipping
from saltus.mechanism import Mechanism, Prismatic


@pytest.mark.parametrize("mu", [0.5, math.inf])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claptrap", {"dx": 1.0}),
        ("claptrap", {"dy": 1.0, "yaw": 1.0}),
        ("claptrap", {"dx": 1.0, "pitch": 0.2, "dwheel": 0.0}),
        ("claptrap_two_wheels", {"dleft_wheel": 1.0}),
        ("claptrap_two_wheels", {"dleft_wheel": 1.0, "dright_wheel": -1.0}),
        ("coin", {"dx": 1.0}),
    ],
)
def test_a_velocity_that_is_told_is_kept_and_what_is_on_the_ground_rolls(name: str, told: dict, mu: float) -> None:
    robot = saltus.robots.find_robot(name).with_parameters(mu=mu)
    x = robot.state(told)
    for key, value in told.items():
        if key in robot.state_names:
            assert x[robot.state_names.index(key)] == pytest.approx(value, abs=1e-12)
    assert slipping(robot, x, ideal=False) == {}


@pytest.mark.parametrize(
    "told",
    [
        {"dx": 1.0, "dpsi": 3.0},
        {"dz": 1.0, "pitch": 0.1},
        {"psi": 5.0, "x": 1.0, "y": 0.0},
        {"z": 0.15, "roll": 0.3},
        {"qw": 0.9, "pitch": 0.1},
    ],
)
def test_what_contradicts_itself_is_refused_and_not_averaged(told: dict) -> None:
    with pytest.raises(InputError, match="cannot be"):
        saltus.robots.claptrap().state(told)


def test_a_posture_told_by_its_quaternion_is_not_that_of_the_default_start() -> None:
    x = saltus.robots.claptrap().state({"qw": math.cos(0.05), "qy": math.sin(0.05)})
    assert x[3:7] == pytest.approx([math.cos(0.05), 0.0, math.sin(0.05), 0.0], abs=1e-12)


def test_where_all_rates_are_told_nothing_else_moves():
    told = {
        "z": 0.5, "roll": -0.6064545, "dyaw": 1.56636199, "dpitch": 20.56702818, "droll": -3.276885, "dx": -1.72941147,
        "dy": -1.50483141,
    }  # fmt: skip
    coin = saltus.robots.coin(mu=1.5)
    x = dict(zip(coin.state_names, coin.state(told), strict=True))
    assert (x["dx"], x["dy"], x["z"]) == pytest.approx((told["dx"], told["dy"], told["z"]), abs=1e-12)


@pytest.mark.parametrize(
    "told",
    [
        {"x": 1.0, "yaw": 1.2},
        {"x": 1.0, "y": 0.0, "yaw": math.pi / 2},
        {"x": 1.0, "y": 2.0, "yaw": 0.7, "roll": 0.2},
        {"y": 2.0, "dyaw": 0.3},
    ],
)
def test_a_robot_turned_where_it_is_told_to_be_neither_moves_away_nor_drives(told: dict) -> None:
    """Its place along the heading, psi, is what comes out of it."""
    robot = saltus.robots.claptrap_two_wheels() if "dyaw" in told else saltus.robots.claptrap()
    x = dict(zip(robot.state_names, robot.state(told), strict=True))
    place = (told.get("x", 0.0), told.get("y", 0.0))
    assert (x["x"], x["y"]) == pytest.approx(place, abs=1e-12)
    assert x["z"] == pytest.approx(0.15 * math.cos(told.get("roll", 0.0)), abs=1e-12)
    assert math.hypot(x["dx"], x["dy"]) < 1e-12


def test_many_runs_take_readings_as_one_does() -> None:
    claptrap = saltus.robots.claptrap()
    pitch, r = np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.15, 0.2])
    batch = saltus.simulate_many(claptrap, {"pitch": pitch, "dpsi": 1.0}, until=0.01)
    assert np.array_equal(batch.cases.states, [claptrap.state({"pitch": one, "dpsi": 1.0}) for one in pitch])
    batch = saltus.simulate_many(claptrap, {"dx": pitch}, until=0.01)
    assert np.array_equal(batch.cases.states, [claptrap.state({"dx": one}) for one in pitch])
    batch = saltus.simulate_many(claptrap, {"pitch": pitch}, parameters={"r": r}, until=0.01)
    each = [claptrap.with_parameters(r=b).state({"pitch": a}) for a, b in zip(pitch, r, strict=True)]
    assert np.array_equal(batch.cases.states, each)
    reasons = saltus.simulate_many(claptrap, {"pitch": [0.1, math.inf]}, until=0.01).reasons
    assert reasons == {1: "state of claptrap: pitch must be finite, got inf"}
    with pytest.raises(InputError, match="unknown coordinate, velocity or reading"):
        saltus.simulate_many(claptrap, {"pich": pitch})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_reading_that_is_not_finite_is_refused_without_a_warning(value: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="pitch must be finite"):
            saltus.robots.claptrap().state({"pitch": value})


@pytest.mark.parametrize(
    "robot", [saltus.robots.coin(radius=0.1), saltus.robots.claptrap(r=0.1), saltus.robots.claptrap_two_wheels(r=0.3)]
)
def test_default_starts_are_on_the_ground_whatever_the_radius(robot: HybridSystem) -> None:
    gaps, _ = robot.kinematics(0.0, robot.state())
    assert np.abs(gaps).max() < 1e-12


def test_a_start_depends_on_parameters_only() -> None:
    m = Mechanism("falls")
    m.body("ball", Prismatic("y", axis=(0, 1)), mass=1.0)
    with pytest.raises(InputError, match="parameters only"):
        HybridSystem(m, start={"y": m.q[0]}).state()
