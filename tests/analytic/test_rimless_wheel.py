"""The rimless wheel against McGeer's closed forms: loss at each impact, time of each step, and its steady walk."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import saltus

N, G = 8, 9.81


class Wheel:
    """One spoke after another as an inverted pendulum; angles from the upright, positive downhill."""

    def __init__(self, slope, shape, length):
        self.slope, self.half = slope, math.pi / N
        self.inertia = (1 + shape) * length  # about the foot, over mass and length
        self.ratio = (shape + math.cos(2 * self.half)) / (1 + shape)

    def squared_rate(self, squared, start, end):
        """Square of the rate at an angle, from that at another: energy."""
        return squared + 2 * G / self.inertia * (math.cos(start) - math.cos(end))

    def step_time(self, squared):
        """Time of a step that begins with a square of the rate."""
        begin, end = self.slope - self.half, self.slope + self.half
        inverse = lambda angle: 1 / math.sqrt(self.squared_rate(squared, begin, angle))  # noqa: E731
        return quad(inverse, begin, end, epsabs=1e-13, epsrel=1e-13)[0]

    def next_square(self, squared):
        """Square of the rate with which the next step begins."""
        begin, end = self.slope - self.half, self.slope + self.half
        return self.ratio**2 * self.squared_rate(squared, begin, end)

    @property
    def fixed_square(self):
        gain = 4 * G / self.inertia * math.sin(self.slope) * math.sin(self.half)
        return self.ratio**2 / (1 - self.ratio**2) * gain


def upright_start(slope, rate, length):
    """Standing on spoke 0, perpendicular to the ground, and turning downhill (clockwise)."""
    return {
        "x": length * math.sin(slope),
        "y": length * math.cos(slope),
        "theta": -slope,
        "dx": rate * length * math.cos(slope),
        "dy": -rate * length * math.sin(slope),
        "dtheta": -rate,
    }


@pytest.mark.parametrize(("slope", "shape", "length"), [(0.08, 0.1, 1.0), (0.15, 0.5, 0.4), (0.1, 0.001, 2.0)])
def test_walk(slope, shape, length):
    wheel = Wheel(slope, shape, length)
    robot = saltus.robots.rimless_wheel(slope=-slope, shape=shape, length=length, mass=3.0, mu=3.0)
    rate = 1.4 * math.sqrt(wheel.fixed_square)
    until = 60 * wheel.step_time(wheel.fixed_square)
    run = saltus.simulate(robot, upright_start(slope, rate, length), until=until, rtol=1e-12, atol=1e-13)
    assert len(run.events) >= 50
    assert run.check().ok
    # the start is in mid step: perpendicular to the ground
    squared = wheel.squared_rate(rate**2, slope, slope + wheel.half) * wheel.ratio**2
    for count, event in enumerate(run.events):
        assert event.guard == f"foot{(count + 1) % N}.touch"
        assert event.mode_after == f"foot{(count + 1) % N}:stick"
        before, after = event.state_before["dtheta"], event.state_after["dtheta"]
        assert after == pytest.approx(wheel.ratio * before, rel=1e-13)
        assert after == pytest.approx(-math.sqrt(squared), rel=1e-9)
        assert event.energy_lost == pytest.approx(
            0.5 * 3.0 * (1 + shape) * length**2 * (before**2 - after**2), rel=1e-11
        )
        if count + 1 < len(run.events):
            assert run.events[count + 1].t - event.t == pytest.approx(wheel.step_time(squared), abs=1e-9)
        squared = wheel.next_square(squared)
    assert after == pytest.approx(-math.sqrt(wheel.fixed_square), abs=1e-9)


def test_errors_fall_by_the_multiplier():
    # squares of rates approach the fixed one by the square of the ratio each step
    wheel = Wheel(0.08, 0.1, 1.0)
    rate = 1.1 * math.sqrt(wheel.fixed_square)
    run = saltus.simulate(
        saltus.robots.rimless_wheel(mu=3.0), upright_start(0.08, rate, 1.0), until=10.0, rtol=1e-12, atol=1e-13
    )
    away = np.array([event.state_after["dtheta"] ** 2 - wheel.fixed_square for event in run.events])
    assert away[1:] / away[:-1] == pytest.approx(wheel.ratio**2, rel=1e-6)


def test_too_slow_it_falls_back():
    # not over the upright: it rocks between two spokes, ever less, and comes to rest on both
    robot = saltus.robots.rimless_wheel(slope=-0.05, mu=3.0)
    run = saltus.simulate(robot, upright_start(0.05, 0.05, 1.0), until=30.0)
    assert run.status.good
    assert run.arc_modes[-1] == "foot0:stick foot1:stick"
    assert max(abs(run.final[name]) for name in ("dx", "dy", "dtheta")) < 1e-12
    assert run.check().ok
