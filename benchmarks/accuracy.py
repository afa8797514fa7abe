"""How exact the engine is where closed forms or checked figures exist, with the figures that the tests only bound."""

from __future__ import annotations

import sys
from pathlib import Path

from tables import table

import saltus

# the tests hold the closed forms and are no package; here the distances from them are told
for _folder in ("analytic", "convergence", "papers"):
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / _folder))

import test_ball  # noqa: E402
import test_block  # noqa: E402
import test_oh_huang  # noqa: E402
import test_order  # noqa: E402


def report() -> str:
    """Measure, and tell how far off everything is."""
    rows = [*_jump(), *_ball(), *_block(), *_orders()]
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


_INTRODUCTION = """\
Distances from closed forms and from the hopper's checked figures, at the default tolerances (rtol 1e-10, atol 1e-12);
orders by halving a fixed step."""


if __name__ == "__main__":
    print(report())
