"""The hopper's jumps arc by arc: SciPy on the printed equations finds every event where the engine did."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import test_printed_matrices as printed
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import saltus

STARTS = (0.0, 0.06, 0.25, 0.35)
PIECES = (
    lambda s: 3.2 - 1500 * (s - 0.04) ** 2,
    lambda s: -0.6 + 3 * s,
    lambda s: 0.9 - 15 * s,
    lambda s: 0.0,
)

CASES = [
    ({"g": 9.8}, {}),
    ({"g": 9.8, "mu": 0.15}, {}),
    ({"g": 20.0, "mu": 0.05}, {}),
    ({"g": 20.0, "mu": 0.6}, {}),
    ({"g": 3.7, "mu": 0.3}, {}),
    ({"m": 0.1}, {}),
    ({"l": 0.2, "mu": 0.5}, {}),
    ({}, {"theta1": math.radians(100), "theta2": math.radians(-140)}),
    ({}, {"theta1": math.radians(120), "theta2": math.radians(-140)}),
]


class Reference:
    """The printed equations in one contact mode and one piece of the torque."""

    def __init__(self, values, mode, piece):
        self.m, self.l, self.g, self.mu = (values[name] for name in ("m", "l", "g", "mu"))
        self.mode, self.piece = mode, piece

    def force(self, t, x):
        torque = PIECES[self.piece](t - STARTS[self.piece])
        q, v = x[:4], x[4:]
        if self.mode == "flight":
            return np.zeros(2), torque
        if self.mode == "stick":
            return printed.corrected_stick_force(q, v, torque, self.m, self.l, self.g), torque
        sigma = 1 if self.mode == "slip+" else -1
        return printed.corrected_slip_force(q, v, torque, sigma, self.mu, self.m, self.l, self.g), torque

    def rate(self, t, x):
        q, v = x[:4], x[4:]
        force, torque = self.force(t, x)
        push = np.array([force[0], force[1], 0, torque])
        rest = printed.printed_B(q, v, self.m, self.l) + printed.printed_G(q, self.m, self.l, self.g)
        return np.concatenate([v, np.linalg.solve(printed.printed_M(q, self.m, self.l), push - rest)])

    def guard(self, name, t, x):
        knee = x[1] + 2 * self.l * math.sin(x[2])
        if name == "P.touch":
            return x[1]
        if name == "P.turn":
            return x[4]
        if name == "height_Q":
            return knee
        if name == "height_R":
            return knee + 2 * self.l * math.sin(x[2] + x[3])
        along, normal = self.force(t, x)[0]
        return {"P.lift": normal, "P.cone+": self.mu * normal - along, "P.cone-": self.mu * normal + along}[name]


@pytest.mark.parametrize(("values", "start"), CASES)
def test_every_event_is_where_the_printed_equations_put_it(values, start):
    hopper = saltus.robots.hopper(**values)
    run = saltus.simulate(hopper, start, controller=hopper.profiles["paper"].controller)
    assert run.check().ok
    t, x, mode = 0.0, hopper.state(start), run.arc_modes[0]
    for event in run.events:
        stops = [t, *(s for s in STARTS if t < s < event.t - 1e-12), event.t]
        for begin, end in itertools.pairwise(stops):
            reference = Reference(hopper.values, mode, sum(s <= begin + 1e-14 for s in STARTS) - 1)
            beyond = 1e-6 if end == event.t and event.guard != "break" else 0.0
            arc = solve_ivp(
                reference.rate, (begin, end + beyond), x, "DOP853", rtol=1e-12, atol=1e-14, dense_output=True
            )
            x = arc.sol(end)
        if event.guard != "break":
            zero = brentq(
                lambda s, name=event.guard, r=reference, a=arc: r.guard(name, s, a.sol(s)),
                max(begin, event.t - 1e-6),
                event.t + 1e-6,
                xtol=1e-15,
            )
            assert event.t == pytest.approx(zero, abs=1e-9)
        assert x == pytest.approx(np.array(list(event.state_before.values())), abs=1e-6)
        t, x, mode = event.t, np.array(list(event.state_after.values())), event.mode_after
    assert len(run.events) >= 2
