"""Rolling and slipping in space beside closed forms: the coin's steady precession, the billiard ball, conservation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus
from saltus.contact import SpatialPoint, SpatialWheel, newton
from saltus.hybrid import HybridSystem
from saltus.hybrid._readings import reading_names, readings_of
from saltus.mechanism import FreeFlyer, Mechanism


def readings(run, times=None):  # type: ignore[no-untyped-def]
    """Readings of a run by name, at its samples or at other times."""
    states = run.x if times is None else run.at(times)
    function = readings_of(run.system).map(len(states))
    p = np.tile(run.system.parameter_values, (len(states), 1))
    values = np.array(function(states.T, p.T))
    return dict(zip(reading_names(run.system), values, strict=True))


@pytest.mark.parametrize(
    ("lean", "turn", "shape"), [(0.2, 1.5, 0.5), (0.4, -2.0, 0.5), (1.0, 3.0, 0.5), (-0.7, 5.0, 1.0)]
)
def test_a_coin_that_leans_and_turns_steadily_goes_on_so(lean: float, turn: float, shape: float) -> None:
    """Moments about the centre: A W^2 sin a cos a - (C + 1) W w cos a = (g / r) sin a, with w = n + W sin a."""
    r, g, across = 0.2, 9.81, shape / 2
    whole = (across * turn**2 * math.sin(lean) * math.cos(lean) - g / r * math.sin(lean)) / (
        (shape + 1) * turn * math.cos(lean)
    )
    spin = whole - turn * math.sin(lean)
    coin = saltus.robots.coin(across=across, about=shape)
    run = saltus.simulate(coin, {"roll": lean, "dyaw": turn, "dpitch": spin}, until=5.0)
    seen = readings(run)
    assert np.abs(seen["roll"] - lean).max() < 1e-6
    assert np.abs(seen["dyaw"] - turn).max() < 1e-6
    assert np.abs(seen["dpitch"] - spin).max() < 1e-6


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_a_free_leaning_coin_keeps_energy_rolls_exactly_and_its_quaternion_one(method: str) -> None:
    coin = saltus.robots.coin()
    run = saltus.simulate(coin, {"roll": 0.3, "dyaw": 1.0, "dpitch": 8.0}, until=5.0, method=method)
    s = run.mesh
    energy = s.kinetic + s.potential
    assert np.abs(energy - energy[0]).max() < 1e-9
    assert np.abs(s.speeds).max() < 1e-10
    assert np.abs(s.positions[:, 1]).max() < 1e-10
    q = run.at(np.linspace(0, 5, 2001))[:, 3:7]
    assert np.abs(np.linalg.norm(q, axis=1) - 1).max() < 1e-12


def ball(mu: float = 0.2, restitution: float = 0.5) -> HybridSystem:
    m = Mechanism("ball", dimension=3)
    mass, r = m.parameter("mass", 0.17, "kg", positive=True), m.parameter("radius", 0.0286, "m", positive=True)
    friction = m.parameter("mu", mu, "1", lower=0, infinite=True)
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    made = m.body("ball", FreeFlyer(), mass=mass, inertia=(0.4 * mass * r**2,) * 3)
    wheel = SpatialWheel(
        m.point("centre", made), made, r, contact="upright", friction=friction, law=newton(restitution)
    )
    return HybridSystem(m, units=(wheel,), start={"z": 0.0286})


def test_a_billiard_ball_slides_in_one_direction_until_it_rolls() -> None:
    """Slip slows down by 7/2 mu g in its own direction; the path is a parabola, then straight."""
    r, mu, g = 0.0286, 0.2, 9.81
    v, w = np.array([2.0, 0.5]), np.array([30.0, -40.0, 10.0])
    run = saltus.simulate(ball(), {"dx": v[0], "dy": v[1], "wx": w[0], "wy": w[1], "wz": w[2]}, until=2.0)
    slip = v + np.array([-w[1] * r, w[0] * r])
    along, t = slip / np.linalg.norm(slip), 2 * np.linalg.norm(slip) / (7 * mu * g)
    assert [(event.guard, event.mode_after) for event in run.events] == [("centre.turn", "roll")]
    assert run.events[0].t == pytest.approx(t, abs=1e-8)
    last = v - mu * g * t * along
    place = v * t - mu * g * t**2 / 2 * along + last * (2 - t)
    assert [run.final["dx"], run.final["dy"]] == pytest.approx(last, abs=1e-8)
    assert [run.final["x"], run.final["y"]] == pytest.approx(place, abs=1e-8)
    assert run.check().ok


def test_a_ball_that_bounces_with_spin_comes_to_roll() -> None:
    run = saltus.simulate(ball(), {"z": 0.3, "dx": 1.0, "wx": 50.0, "dy": -0.3, "wy": 20.0}, until=2.0)
    assert run.events[0].t == pytest.approx(math.sqrt(2 * (0.3 - 0.0286) / 9.81), abs=1e-10)
    assert run.events[-1].mode_after == "roll"
    assert run.check().ok
    # about the point of contact nothing turns the ball: v + 2/5 r (w x z) is kept, but for rebounds
    kept = run.final["dx"] + 0.4 * 0.0286 * _spin(run, 1), run.final["dy"] - 0.4 * 0.0286 * _spin(run, 0)
    assert kept == pytest.approx((1.0 + 0.4 * 0.0286 * 20.0, -0.3 - 0.4 * 0.0286 * 50.0), abs=1e-9)


def _spin(run, axis):  # type: ignore[no-untyped-def]
    w, x, y, z = run.x[-1][3:7]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return float((R @ run.x[-1][10:13])[axis])


def test_a_disc_that_slips_upright_moves_as_the_one_in_the_plane() -> None:
    coin = saltus.robots.coin(mu=0.1)
    flat = saltus.robots.disc(mu=0.1, slope=0.0)
    x = coin.state({"roll": 0.0, "dpitch": 0.0, "dyaw": 0.0})
    x[7:13] = [1.0, 0.0, 0.0, 0.0, 12.0, 0.0]
    run = saltus.simulate(coin, x, until=1.0)
    other = saltus.simulate(flat, {"y": 0.2, "dx": 1.0, "dangle": -12.0}, until=1.0)
    assert [event.t for event in run.events] == pytest.approx([event.t for event in other.events], abs=1e-8)
    assert run.final["x"] == pytest.approx(other.final["x"], abs=1e-8)
    assert run.final["wy"] == pytest.approx(-other.final["dangle"], abs=1e-8)


def test_what_slips_slows_down_along_its_way_and_stands() -> None:
    m = Mechanism("puck", dimension=3)
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    puck = m.body("puck", FreeFlyer(), mass=1.0, inertia=(1e3, 1e3, 1e3))
    foot = SpatialPoint(m.point("foot", puck), puck, friction=m.parameter("mu", 0.3, "1", lower=0))
    run = saltus.simulate(HybridSystem(m, units=(foot,)), {"dx": 1.2, "dy": -1.6}, until=1.5)
    t = 2.0 / (0.3 * 9.81)
    assert [(event.guard, event.mode_after) for event in run.events] == [("foot.turn", "stick")]
    assert run.events[0].t == pytest.approx(t, rel=1e-9)
    assert [run.final["x"], run.final["y"]] == pytest.approx([0.6 * t, -0.8 * t], rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.3, 0.6])
def test_coins_that_lean_roll_slip_and_roll_again_pass_their_audit(mu: float) -> None:
    random = np.random.default_rng(5)
    coin, seen = saltus.robots.coin(mu=mu), set()
    for _ in range(20):
        told = {"roll": random.uniform(-0.8, 0.8), "dyaw": 3 * random.normal(), "dpitch": 15 * random.normal()}
        x = coin.state(told)
        x[7:9] += random.normal(size=2)
        run = saltus.simulate(coin, x, until=1.0, max_events=500)
        assert run.check().ok, run.check()
        seen |= {(event.mode_before, event.mode_after) for event in run.events}
    assert {("slip", "roll"), ("roll", "slip")} <= seen
