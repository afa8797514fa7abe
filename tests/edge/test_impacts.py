"""Impulses of several contacts beside an independent checker: `benchmarks/impacts.py` makes more of them."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus.contact import GroundPoint, JointUnit, chatterjee, newton, plastic
from saltus.engine import _layout as L
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Revolute


def benchmark(name: str) -> ModuleType:
    """A benchmark's module."""
    folder = Path(__file__).parents[2] / "benchmarks"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(str(folder))
    return module


@pytest.mark.parametrize(
    ("dimension", "law", "parents", "bodies"),
    [
        (2, "plastic", (0, 1), (1, 2)),
        (2, "chatterjee", (0, 0, 1, 2), (1, 3, 4)),
        (3, "newton", (0, 1), (0, 2)),
    ],
)
def test_random_impacts_hold_to_rounding(
    dimension: int, law: str, parents: tuple[int, ...], bodies: tuple[int, ...]
) -> None:
    impacts = benchmark("impacts")
    machine = impacts.build(dimension, law, parents, bodies)
    tallies = impacts.measure(120, 3, [machine])
    tally = tallies[dimension, len(bodies), law]
    assert tally.count == 120
    assert tally.none < 10
    assert not tally.bad
    assert 0 < tally.missed.worst <= 1e-12


def test_the_checker_sees_what_is_wrong() -> None:
    """An impulse that is off by a part in a million, and one that pulls."""
    impacts = benchmark("impacts")
    machine = impacts.build(2, "plastic", (0, 1), (1, 2))
    case = impacts.draw(machine, np.random.default_rng(1))
    run = saltus.simulate(machine.robot, case.state, parameters=case.parameters, until=1e-12)
    event = run.events[0]
    assert impacts.judge(case, event).worst <= 1e-12
    name = max(event.impulse, key=lambda one: abs(event.impulse[one]))
    wrong = dataclasses.replace(event, impulse=event.impulse | {name: event.impulse[name] * (1 + 1e-6)})
    assert impacts.judge(case, wrong).momentum > 1e-9
    pulled = dataclasses.replace(event, impulse={name: -abs(value) for name, value in event.impulse.items()})
    assert impacts.judge(case, pulled).adhesive > 1e-3


def plank() -> HybridSystem:
    m = Mechanism("four_feet")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.83)
    feet = [m.point(f"foot{k}", body, (x, -0.2)) for k, x in enumerate((-0.562, 0.515, -0.55, 0.436))]
    laws = [newton(0.115), plastic(), newton(0.115), plastic()]
    return HybridSystem(
        m, units=tuple(GroundPoint(foot, friction=0.6, law=law) for foot, law in zip(feet, laws, strict=True))
    )


def test_a_body_that_rocks_to_rest_is_never_pulled() -> None:
    """The end of infinitely many impacts is no impulse of a contact; its energy is lost all the same."""
    run = saltus.simulate(plank(), {"y": 1.0, "angle": 0.4, "dangle": 1.0}, until=3.0)
    assert run.final["dangle"] == pytest.approx(0.0, abs=1e-12)
    closing = run.event_rows[:, L.E_CLOSED] > 0
    assert closing.any()
    for event in run.events:
        largest = max(map(abs, event.impulse.values()))
        for k in range(4):
            t, n = event.impulse[f"foot{k}.t"], event.impulse[f"foot{k}.n"]
            assert n >= -1e-12 * largest
            assert abs(t) <= 0.6 * n + 1e-12 * largest
    audit = run.check()
    assert audit.ok, str(audit)
    assert audit["impulses push"].limit <= 1e-12


@pytest.mark.parametrize("change", [{"foot0.n": -1e-9}, {"foot0.t": 0.61}, {"missed": 1e-9}])
def test_the_audit_sees_impulses_that_are_wrong_by_little(change: dict[str, float]) -> None:
    run, other = (saltus.simulate(plank(), {"y": 1.0, "angle": 0.4}, until=0.6) for _ in range(2))
    assert other.check()["impulses push"].ok
    first = L.E_VECTORS + 2 * (6 + 3) + 2 * 8
    row = next(row for row in run.event_rows if row[first : first + 8].any())
    largest = np.abs(row[first : first + 8]).max()
    for name, value in change.items():
        if name == "missed":
            row[L.E_MISSED] = value
        else:
            row[first : first + 2] = 0.0, largest
            row[first + run.system.row_names.index(name)] = value * largest
    assert not run.check()["impulses push"].ok


@pytest.mark.parametrize(("e", "et"), [(0.0, 0.0), (0.3, 0.3), (0.9, 0.9), (0.9, 0.0), (0.5, -0.5), (0.0, 0.8)])
def test_a_law_sees_how_the_robot_moves_while_a_stop_holds_a_joint(e: float, et: float) -> None:
    """An arm that rests at a stop strikes with its tip, as if it were one piece with the body [chatterjee1998]."""
    m = Mechanism("arm_at_a_stop")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.05)
    arm = m.body("arm", Revolute("q", at=(0.3, 0)), parent=body, mass=0.3, inertia=0.01, com=(0.1, 0))
    tip = m.point("tip", arm, (0.3, 0))
    stop = JointUnit(m.coordinate("q"), upper=0.2)
    robot = HybridSystem(m, units=(GroundPoint(tip, friction=50.0, law=chatterjee(e, et)), stop))
    start = {"y": 0.5, "q": 0.2, "dx": 0.3, "dy": -2.0, "dangle": 0.0}
    run = saltus.simulate(robot, start, until=2.0, max_events=1, raise_errors=False)
    event = run.events[0]
    assert event.impulse["q.q"] < 0.0
    J = ca.vertcat(ca.jacobian(tip.position, m.q), ca.jacobian(stop.rows[0][1], m.q))
    values = ca.Function("values", [robot.dynamics.x, m.p], [robot.dynamics.M, J, J @ m.v])
    (M, J0, before), (_, _, after) = (
        [np.array(value) for value in values(list(state.values()), robot.parameter_values)]
        for state in (event.state_before, event.state_after)
    )
    A = J0 @ np.linalg.solve(M, J0.T)
    A -= np.outer(A[:, 2], A[2]) / A[2, 2]
    (t, n), aside = before[:2, 0], A[0, 1] / A[1, 1]
    np.testing.assert_allclose(after[:, 0], [-et * t - (e - et) * aside * n, -e * n, 0.0], atol=1e-12)
    assert event.energy_lost > 0.0
