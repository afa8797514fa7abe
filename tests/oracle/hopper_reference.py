"""The printed equations of the hopper in one contact mode, for SciPy, and the walk along a run's arcs with them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import test_printed_matrices as printed
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


class Reference:
    """The printed equations in one contact mode under a torque, a function of time."""

    def __init__(self, values, mode, torque):
        self.m, self.l, self.g, self.mu = (values[name] for name in ("m", "l", "g", "mu"))
        self.mode, self.torque = mode, torque

    def force(self, t, x):
        torque = self.torque(t)
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


def assert_arcs_follow(run, start, starts, pieces):
    """From each event to the next, SciPy on the printed equations finds the event where the run did.

    ``pieces[k]`` is the torque from ``starts[k]`` on, a function of the time since then.
    """
    t, x, mode = 0.0, run.system.state(start), run.arc_modes[0]
    for event in run.events:
        stops = [t, *(s for s in starts if t < s < event.t - 1e-12), event.t]
        for begin, end in itertools.pairwise(stops):
            k = sum(s <= begin + 1e-14 for s in starts) - 1
            reference = Reference(run.system.values, mode, lambda s, k=k: pieces[k](s - starts[k]))
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
        assert x == pytest.approx(np.array(list(event.state_before.values())), rel=1e-8, abs=1e-6)
        t, x, mode = event.t, np.array(list(event.state_after.values())), event.mode_after
