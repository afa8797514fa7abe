"""How exact the engine is where closed forms or checked figures exist, with the figures that the tests only bound."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from tables import table

import saltus
from saltus.control import Constant

# the tests hold the closed forms and are no package; here the distances from them are told
for _folder in ("analytic", "convergence", "papers"):
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / _folder))

import test_ball  # noqa: E402
import test_block  # noqa: E402
import test_jacobian  # noqa: E402
import test_oh_huang  # noqa: E402
import test_order  # noqa: E402


def report() -> str:
    """Measure, and tell how far off everything is."""
    rows = [*_jump(), *_ball(), *_block(), *_orders(), *_held(), *_wheel(), *_derivatives(), *_hits()]
    return "\n\n".join(["## Accuracy", _INTRODUCTION, table(["what", "wanted", "measured"], rows)])


def _jump() -> list[list[str]]:
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    late = max(abs(event.t - t) for event, (t, _, _) in zip(run.events, test_oh_huang.EVENTS, strict=True))
    off = abs(run.figures["jump_distance"] - test_oh_huang.DISTANCE)
    modes = ", ".join([run.arc_modes[0], *(event.mode_after for event in run.events)])
    return [
        [f"hopper's published jump ({modes}): event times, s", "1e-10", f"{late:.1e}"],
        ["its length, m", "1e-9", f"{off:.1e}"],
        ["its energy audit, J", "1e-10", f"{run.check()['energy balance'].value:.1e}"],
    ]


def _ball() -> list[list[str]]:
    drop = {"y": 1.0}
    run = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.8), drop, until=4.05)
    expected = test_ball.bounce_times(1.0, 0.8, 9.81, 20)
    late = max(abs(event.t - t) for event, t in zip(run.events[:20], expected, strict=True))
    rest = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.3), drop, until=3.0).events[-1]
    off = abs(rest.t - test_ball.rest_time(1.0, 0.3, 9.81))
    return [
        ["twenty bounces, e = 0.8: times, s", "1e-11", f"{late:.1e}"],
        [f"e = 0.3 comes to rest ({rest.mode_after}): time, s", "", f"{off:.1e}"],
    ]


def _block() -> list[list[str]]:
    rows = []
    for words, block in (("sticks", test_block.STICKING), ("reverses without sticking", test_block.REVERSING)):
        run, expected, late = test_block.difference(*block)
        same = [event.mode_after for event in run.events] == [mode for _, mode in expected]
        rows.append(
            [
                f"pushed block that {words}: {len(expected)} event times, s",
                "1e-9",
                f"{late:.1e}" if same else "modes differ",
            ]
        )
    return rows


def _orders() -> list[list[str]]:
    rows = []
    for method, wanted in (("dopri5", "5 +- 0.2"), ("dop853", "8 +- 0.4")):
        rows.append([f"{method}: observed order of the state", wanted, f"{test_order.order_of_the_state(method):.2f}"])
        rows.append(
            [f"{method}: observed order of event times", wanted, f"{test_order.order_of_event_times(method):.2f}"]
        )
    return rows


def _held() -> list[list[str]]:
    """How far pins move in a minute, how well energy is kept, and how still dry friction holds a joint."""
    rows = []
    arm = saltus.robots.arm(coulomb=0.0)
    for hand, other in (("hand", "tip"), ("tip", "hand")):
        mode = {hand: "closed", other: "open"}
        start = arm.consistent({"theta1": 1.2, "theta2": 1.0}, mode)
        run = saltus.simulate(arm, start, mode=mode, until=60.0, rtol=1e-9)
        first = arm.row_names.index(f"{hand}.x")
        moved = np.abs(run.mesh.positions[:, first : first + 2] - run.mesh.positions[0, first : first + 2]).max()
        rows.append([f"arm pinned by its {hand}, 60 s at rtol 1e-9: the pin moves, m", "1e-12", f"{moved:.1e}"])
    run = saltus.simulate(
        saltus.robots.double_pendulum(), {"theta1": 0.5, "theta2": 0.3}, until=60.0, rtol=1e-12, method="dop853"
    )
    energy = run.mesh.kinetic + run.mesh.potential
    rows.append(
        [
            "double pendulum, 60 s, dop853 at rtol 1e-12: energy, relative",
            "1e-10",
            f"{np.abs(energy - energy[0]).max() / abs(energy[0]):.1e}",
        ]
    )
    stuck = saltus.simulate(saltus.robots.arm(g=0.0), controller=Constant(0.29), until=10.0)
    moved = np.abs(stuck.mesh.x[:, 3] - stuck.system.start["theta2"]).max()
    rows.append(["dry joint under a torque below its friction, 10 s: it moves, rad", "0", f"{moved:.1e}"])
    return rows


def _wheel() -> list[list[str]]:
    speed, multiplier = test_jacobian.wheel_errors({})
    return [
        ["rimless wheel: speed at its fixed point, relative", "1e-9", f"{speed:.1e}"],
        ["rimless wheel: multiplier, by saltation matrices", "1e-9", f"{multiplier:.1e}"],
    ]


def _derivatives() -> list[list[str]]:
    rows = []
    for case in test_jacobian.CASES:
        state, parameters = test_jacobian.errors_of(case)
        rows.append([f"jacobian, {case}: state, parameters", "1e-6", f"{state:.1e}, {parameters:.1e}"])
    return rows


def _hits() -> list[list[str]]:
    """Ten thousand random hits of an elbow against its stop while the hand is pinned: by how much energy grows."""
    random = np.random.default_rng(3)
    count = 10_000
    angles = random.uniform(-np.pi, np.pi, count)
    rates = random.normal(size=(count, 2)) * 5
    stop = np.radians(150)
    starts = np.zeros((count, 8))
    starts[:, 2], starts[:, 3] = angles, stop
    starts[:, 6], starts[:, 7] = rates[:, 0], np.abs(rates[:, 1]) + 1e-3
    lost = saltus.Figures(("lost", "pin"), _energy_lost)
    batch = saltus.simulate_many(saltus.robots.arm(coulomb=0.0), starts, until=1e-9, figures=lost)
    grown = float(max(0.0, -(batch.figures["lost"]).min()))
    return [
        [f"{count:,} hits of the elbow's stop with the hand pinned: energy grows, J", "0", f"{grown:.1e}"],
    ]


def _energy_lost(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
    """Kinetic energy of the pinned arm before its first event less that after it, from m1, m2, L1, L2."""
    if moment == 1 and out[1] == 0.0:
        out[1] = 1.0
        for sign, x in ((1.0, before), (-1.0, after)):
            c = math.cos(x[3])
            a, b = x[6], x[6] + x[7]
            first = p[0] * p[2] * p[2] / 3.0 * a * a
            second = p[1] * (p[2] * p[2] * a * a + p[3] * p[3] / 3.0 * b * b + p[2] * p[3] * c * a * b)
            out[0] += sign * 0.5 * (first + second)
    return 0


_INTRODUCTION = """\
Distances from closed forms and from the hopper's checked figures, at the default tolerances (rtol 1e-10, atol 1e-12);
orders by halving a fixed step."""


if __name__ == "__main__":
    print(report())
