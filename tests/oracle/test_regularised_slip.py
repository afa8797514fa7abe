"""Slips in space beside friction that is smoothed at low speeds, which SciPy integrates without any event."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus
from saltus import robots


def smoothed(system: saltus.HybridSystem, slowest: float):  # type: ignore[no-untyped-def]
    """The rate of the state on the ground; a contact's friction is that of a slip but for speeds like the slowest."""
    d, (unit,) = system.dynamics, system.units
    rows = [d.row(row) for _, row in unit.rows]
    J, drift = ca.vertcat(*(row[0] for row in rows)), ca.vertcat(*(row[1] for row in rows))
    speeds = J @ d.v
    against = -unit.friction * speeds / ca.sqrt(speeds[0] ** 2 + speeds[2] ** 2 + slowest**2)
    acts = ca.vertcat(against[0], 1, against[2])
    # what the start is above the ground by rounding may not grow
    lifts = drift[1] + J[1, :] @ d.free_acceleration + 50 * speeds[1]
    moved = ca.solve(d.M, J.T @ acts)
    normal = -lifts / (J[1, :] @ moved)
    return ca.Function("smoothed", [d.t, d.x, d.u, d.p], [ca.vertcat(d.qdot, d.free_acceleration + normal * moved)])


@pytest.mark.parametrize(
    ("mu", "start", "until", "modes"),
    [
        (0.3, {"roll": 0.25, "pitch": 0.3, "dyaw": 1.0, "dpitch": 3.0}, 0.3, ["roll", "slip"]),
        (0.9, {"roll": 0.1, "pitch": 0.1, "dx": 0.4, "dy": -0.3}, 0.3, ["slip", "roll"]),
    ],
)
def test_slips_are_what_ever_less_smoothed_friction_tends_to(mu, start, until, modes) -> None:  # type: ignore[no-untyped-def]
    system = robots.claptrap(mu=mu)
    x = system.state({name: value for name, value in start.items() if name not in ("dx", "dy")})
    x[7:9] += [start.get("dx", 0.0), start.get("dy", 0.0)]
    run = saltus.simulate(system, x, until=until, rtol=1e-5, atol=1e-7)
    assert run.arc_modes == modes
    end, apart = np.array(list(run.final.values())), []
    for slowest in (1e-2, 1e-3, 1e-4):
        rate = smoothed(system, slowest)

        def of(t, y, rate=rate):  # type: ignore[no-untyped-def]
            return np.array(rate(t, y, np.zeros(1), system.parameter_values)).ravel()

        answer = solve_ivp(of, (0.0, until), x, method="Radau", rtol=1e-8, atol=1e-10)
        apart.append(float(np.abs(answer.y[:, -1] - end).max()))
    assert apart[1] < apart[0] / 4
    assert apart[2] < apart[1] / 4
    assert apart[2] < 2e-3
