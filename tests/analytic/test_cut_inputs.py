"""Continuous inputs that their actuators' limits cut: beside SciPy, which stops where an input meets a limit."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus
from saltus import robots
from saltus.control import PD


def reference(system, x, pd, until):  # type: ignore[no-untyped-def]
    """The end of a run, and how often its input met a limit."""
    d, p, limit = system.dynamics, system.parameter_values, float(system.input_limits[0])
    rate = ca.Function("rate", [d.t, d.x, d.u, d.p], [ca.vertcat(d.qdot, d.free_acceleration)])

    def asked(y):  # type: ignore[no-untyped-def]
        return pd.kp * (pd.target - y[0]) - pd.kd * y[1]

    def meets(bound, direction):  # type: ignore[no-untyped-def]
        def event(_, y):  # type: ignore[no-untyped-def]
            return asked(y) - bound

        event.terminal, event.direction = True, direction  # type: ignore[attr-defined]
        return event

    t, y, met = 0.0, np.array(x, dtype=float), 0
    side = int(np.sign(asked(y))) if abs(asked(y)) > limit else 0
    while True:
        events = [meets(side * limit, -side)] if side else [meets(limit, 1), meets(-limit, -1)]

        def of(now, state, side=side):  # type: ignore[no-untyped-def]
            return np.array(rate(now, state, side * limit if side else asked(state), p)).ravel()

        answer = solve_ivp(of, (t, until), y, method="DOP853", rtol=1e-13, atol=1e-15, events=events)
        t, y = answer.t[-1], answer.y[:, -1]
        if answer.status == 0:
            return y, met
        side, met = 0 if side else int(np.sign(asked(y))), met + 1


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
@pytest.mark.parametrize("rtol", [1e-10, 1e-7])
def test_limits_cost_no_accuracy(method: str, rtol: float) -> None:
    """Neither of the end nor of its derivatives: steps end where an input meets a limit."""
    random = np.random.default_rng(3)
    bends = 0
    for _ in range(8):
        pd = PD(10.0 ** random.uniform(0.5, 1.5), 10.0 ** random.uniform(-0.5, 0.5), random.uniform(-2, 2))
        system = robots.pendulum(torque_limit=pd.kp * random.uniform(0.3, 0.8))
        x = random.uniform(-2, 2, 2)
        run = saltus.simulate(system, x, controller=pd, until=2.0, rtol=rtol, atol=rtol / 100, method=method)
        end, met = reference(system, x, pd, 2.0)
        bends += met
        assert run.saturated == (met > 0)
        slope = run.jacobian()
        columns = [reference(system, x + s * 1e-5 * unit, pd, 2.0)[0] for unit in np.eye(2) for s in (1, -1)]
        expected = np.array([columns[0] - columns[1], columns[2] - columns[3]]).T / 2e-5
        size = max(1.0, float(np.linalg.norm(expected, 2)))
        assert list(run.final.values()) == pytest.approx(end, abs=50 * rtol * size)
        assert slope == pytest.approx(expected, abs=(50 * rtol + 1e-9) * size)
        alone = saltus.simulate_many(
            system, [x], controllers=[pd], until=2.0, rtol=rtol, atol=rtol / 100, method=method
        )
        assert alone.states[0].tolist() == list(run.final.values())
    assert bends > 5


def test_derivatives_by_what_an_input_is_cut_by_and_by_gains() -> None:
    """Over a step that ends at a limit, inputs are on one side, also at its very ends."""
    system, pd, start = robots.pendulum(torque_limit=4.0), PD(10.0, 1.0, 0.5), [-1.0, 0.0]
    run = saltus.simulate(system, start, controller=pd, until=1.0)
    assert run.saturated
    found = run.sensitivity()
    for name, changed in (
        ("torque_limit", lambda e: (system.with_parameters(torque_limit=4.0 + e), pd)),
        ("pd.kp.pivot", lambda e: (system, PD(10.0 + e, 1.0, 0.5))),
        ("pd.target.pivot", lambda e: (system, PD(10.0, 1.0, 0.5 + e))),
    ):
        ends = [reference(changed(e)[0], start, changed(e)[1], 1.0)[0] for e in (1e-5, -1e-5)]
        column = found.matrix[:, found.names.index(name)]
        assert column == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7, abs=1e-8)


def test_an_input_that_meets_its_limit_just_before_the_end() -> None:
    """A step there is neither made longer to reach the end, nor is it made again and again."""
    system, pd = robots.pendulum(torque_limit=4.0), PD(10.0, 1.0, 0.5)
    run = saltus.simulate(system, [-1.0, 0.0], controller=pd, until=1.0)
    t = run.mesh.t
    inputs = run.everything_at(t).inputs[:, 0]
    meets = t[np.flatnonzero(np.diff((np.abs(inputs) >= 4.0 - 1e-6).astype(int)))[0] + 1]
    for later in (1e-3, 1e-6, 1e-9, 1e-12, -1e-9):
        until = float(meets) * (1 + later)
        short = saltus.simulate(system, [-1.0, 0.0], controller=pd, until=until)
        assert short.status.good
        assert short.steps < run.steps + 10
        assert list(short.final.values()) == pytest.approx(run.at([until])[0], abs=1e-8)
