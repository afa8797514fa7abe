"""Impacts in space beside their twins in the plane, and beside what friction tends to as it grows."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

import saltus
from saltus.contact import GroundPoint, Law, SpatialPoint, SpatialWheel, Wheel, chatterjee, newton, plastic
from saltus.engine._program import law_address
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, FreeFlyer, Hinge, Mechanism, Slider

LAWS = [plastic(), newton(0.3), chatterjee(0.2, 0.0), chatterjee(0.2, 0.3)]


def strike(law: Law, A: np.ndarray, before: np.ndarray, friction: float) -> tuple[int, np.ndarray]:
    """Status and impulse (t, n, s) of a law at one contact in space."""
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)(law_address(law, in_space=True))
    impulse, info = np.full(3, np.nan), np.full(3, np.nan)
    given = [np.ascontiguousarray(a, dtype=float) for a in (A, before, before, [friction, *law.coefficients])]
    return call(*(array.ctypes.data for array in (*given, impulse, info))), impulse


def thrown(law: Law) -> HybridSystem:
    m = Mechanism("thrown", dimension=3)
    m.gravity = 9.81
    body = m.body("body", FreeFlyer(), mass=1.0, inertia=(0.01,) * 3)
    return HybridSystem(m, units=(SpatialPoint(m.point("tip", body, (0.3, 0, -0.3)), body, law=law),))


def thrown_in_the_plane(law: Law) -> HybridSystem:
    m = Mechanism("flat")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "z", "angle"), mass=1.0, inertia=0.01)
    return HybridSystem(m, units=(GroundPoint(m.point("tip", body, (0.3, -0.3)), friction=math.inf, law=law),))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_infinite_friction_that_would_have_to_pull_does_what_it_does_in_the_plane(law: Law) -> None:
    start = {"z": 0.31, "dx": -3.0}
    runs = [saltus.simulate(one(law), start, until=0.06, raise_errors=False) for one in (thrown, thrown_in_the_plane)]
    assert runs[0].status == runs[1].status
    here, flat = (run.events[0].impulse for run in runs)
    assert here["tip.n"] >= 0.0
    assert [here["tip.t"], here["tip.n"], here["tip.s"]] == pytest.approx(
        [flat["tip.t"], flat["tip.n"], 0.0], abs=1e-12
    )


def test_infinite_friction_is_what_larger_friction_tends_to() -> None:
    random, seen = np.random.default_rng(1), 0
    for _ in range(200):
        J = random.normal(size=(3, 6))
        A, before = J @ J.T, J @ random.normal(size=6)
        before[1] = -0.1 * abs(before[1])
        for law in LAWS:
            status, ideal = strike(law, A, before, math.inf)
            assert status == 0
            assert ideal[1] >= 0
            other, large = strike(law, A, before, 1e8)
            if other == 0:
                assert ideal == pytest.approx(large, abs=1e-5 * np.abs(ideal).max())
                seen += ideal[1] == 0
    assert seen > 20


def cart(law: Law, mu: float) -> HybridSystem:
    """A wheel that moves in a plane of space: nothing can push it sideways."""
    m = Mechanism("cart", dimension=3)
    m.gravity = 9.81
    rail = m.body("rail", Slider("x", (1, 0, 0)))
    lift = m.body("lift", Slider("z", (0, 0, 1)), parent=rail)
    wheel = m.body("wheel", Hinge("spin", (0, 1, 0)), parent=lift, mass=1.0, inertia=(0.01, 0.02, 0.01))
    return HybridSystem(m, units=(SpatialWheel(m.point("hub", wheel), wheel, 0.2, friction=mu, law=law),))


def cart_in_the_plane(law: Law, mu: float) -> HybridSystem:
    m = Mechanism("flat")
    m.gravity = 9.81
    wheel = m.body("wheel", Floating("x", "z", "spin"), mass=1.0, inertia=0.02)
    return HybridSystem(m, units=(Wheel(m.point("hub", wheel), wheel, 0.2, friction=mu, law=law),))


@pytest.mark.parametrize("mu", [0.3, 5.0, math.inf])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_friction_acts_where_a_contact_cannot_move_sideways(law: Law, mu: float) -> None:
    runs = [saltus.simulate(one(law, mu), {"z": 0.4, "dx": 3.0}, until=0.5) for one in (cart, cart_in_the_plane)]
    here, flat = (run.events[0].impulse for run in runs)
    assert [here["hub.t"], here["hub.n"], here["hub.s"]] == pytest.approx(
        [flat["hub.t"], flat["hub.n"], 0.0], abs=1e-12
    )
    assert runs[0].final["dx"] == pytest.approx(runs[1].final["dx"], abs=1e-8)
    assert runs[0].final["dspin"] == pytest.approx(-runs[1].final["dspin"], abs=1e-7)
    assert runs[0].check().ok


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_direction_that_rounding_alone_can_move_gets_no_friction(law: Law) -> None:
    """Rails at odd angles: the Delassus matrix is singular but for rounding."""
    random = np.random.default_rng(3)
    for _ in range(100):
        J = random.normal(size=(3, 2)) @ random.normal(size=(2, 5))
        A, before = J @ J.T, J @ random.normal(size=5)
        before *= -np.sign(before[1])
        status, impulse = strike(law, A, before, math.inf)
        assert status == 0
        assert np.abs(impulse).max() < 1e4 * np.abs(before).max() / np.linalg.eigvalsh(A)[1]
        after = before + A @ impulse
        assert after[1] >= -1e-10 * np.abs(before).max()


def pulls(A, free, before, c, out, info):  # type: ignore[no-untyped-def]
    out[0] = out[1] = out[2] = info[0] = info[1] = 0.0
    if free[1] < 0.0:
        out[1] = -0.5 * free[1] / A[4] if free[1] > -1.0 else 0.1 * free[1] / A[4]
    info[2] = math.nan
    return 0


def test_the_audit_sees_a_ground_that_pulls() -> None:
    law = Law("pulls", plastic().impulse, (), (), pulls)
    run = saltus.simulate(thrown(law), {"z": 0.4}, until=0.2, raise_errors=False)
    assert run.events[0].impulse["tip.n"] < 0
    assert not run.check()["impulses push"].ok
    assert saltus.simulate(thrown(newton(0.3)), {"z": 0.4}, until=0.2).check()["impulses push"].ok


def test_a_contact_in_space_needs_no_more_than_its_own_coordinates() -> None:
    """Two rails: it falls, and slides to rest along x as on a line."""
    m = Mechanism("two", dimension=3)
    m.gravity = 10.0
    rail = m.body("rail", Slider("x", (1, 0, 0)))
    body = m.body("body", Slider("z", (0, 0, 1)), parent=rail, mass=4.0)
    two = HybridSystem(m, units=(SpatialPoint(m.point("foot", body), body, friction=0.5),))
    run = saltus.simulate(two, {"z": 0.2, "dx": 3.0}, until=1.0)
    assert [(event.guard, event.mode_after) for event in run.events] == [("foot.touch", "slip"), ("foot.turn", "stick")]
    assert [event.t for event in run.events] == pytest.approx([0.2, 0.6], abs=1e-9)
    assert run.final["x"] == pytest.approx(0.6 + 0.4, abs=1e-9)
    assert run.check().ok


def test_a_pendulum_in_space_strikes_the_ground_below_its_pivot() -> None:
    m = Mechanism("arm", dimension=3)
    m.gravity = 9.81
    arm = m.body("arm", Hinge("angle", (0, 1, 0), at=(0, 0, 0.5)), mass=1.0, com=(1, 0, 0), inertia=(0.1,) * 3)
    struck = HybridSystem(m, units=(SpatialPoint(m.point("tip", arm, (1, 0, 0)), arm, friction=0.5),))
    run = saltus.simulate(struck, until=2.0)
    assert [(event.guard, event.mode_after) for event in run.events] == [("tip.touch", "stick")]
    assert run.final["angle"] == pytest.approx(math.pi / 6, abs=1e-12)
    assert run.check().ok


@pytest.mark.parametrize("mu", [0.3, 1.0])
@pytest.mark.parametrize("law", [plastic(), newton(0.5), chatterjee(0.5, 0.0), chatterjee(0.5, 0.3)], ids=str)
def test_a_box_that_falls_flat_and_straight_on_goes_straight_on(law: Law, mu: float) -> None:
    m = Mechanism("box", dimension=3)
    m.gravity = 9.81
    body = m.body("box", FreeFlyer(), mass=1.0, inertia=(0.01, 0.02, 0.02))
    corners = [(x, y, -0.1) for x in (0.2, -0.2) for y in (0.1, -0.1)]
    points = [m.point(f"corner{k}", body, at) for k, at in enumerate(corners)]
    box = HybridSystem(m, units=tuple(SpatialPoint(point, body, friction=mu, law=law) for point in points))
    event = saltus.simulate(box, {"z": 0.3, "dx": 2.0}, until=0.21, raise_errors=False).events[0]
    assert [event.state_after[name] for name in ("dy", "wx", "wz")] == pytest.approx([0.0] * 3, abs=1e-8)
