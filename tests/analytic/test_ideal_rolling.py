"""Infinite friction: what touches the ground sticks or rolls, never slips, and tells what friction it needed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from saltus import simulate, simulate_many
from saltus.contact import GroundPoint, Wheel, chatterjee, newton, plastic
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, mode_graph, painleve
from saltus.mechanism import Floating, Mechanism

SLOPE, RADIUS, G = -0.2, 0.2, 9.81


def disc(law=None, friction=math.inf) -> HybridSystem:
    m = Mechanism("ideal disc")
    mu = m.parameter("mu", friction, "1", "friction", lower=0, infinite=True)
    m.gravity = m.parameter("g", G, "m/s^2", "gravity")
    body = m.body("disc", Floating("x", "y", "angle"), mass=1, inertia=0.5 * RADIUS**2)
    m.actuator("torque", "angle")
    centre = m.point("centre", body)
    wheel = Wheel(centre, body, RADIUS, friction=mu, law=law or plastic(), slope=SLOPE)
    return HybridSystem(m, units=(wheel,), start={"y": RADIUS / math.cos(SLOPE)}, until=1.0)


def test_a_disc_rolls_down_a_slope_and_needs_a_third_of_its_tangent():
    run = simulate(disc())
    assert run.arc_modes == ["roll"]
    assert run.events == []
    along = G * math.sin(-SLOPE) / 1.5  # m/s^2, of a uniform disc
    assert run.final["dx"] == pytest.approx(along * math.cos(SLOPE), rel=1e-12)
    assert run.final["dangle"] == pytest.approx(-along / RADIUS, rel=1e-12)
    needed = run.needed_friction()["centre"]
    assert needed.value == pytest.approx(math.tan(-SLOPE) / 3, rel=1e-12)
    assert not needed.impact
    assert run.check().ok


def test_friction_between_needed_and_infinite_makes_no_difference():
    ideal, rough = simulate(disc()), simulate(disc(), parameters={"mu": math.tan(-SLOPE) / 3 + 1e-6})
    slick = simulate(disc(), parameters={"mu": math.tan(-SLOPE) / 3 - 1e-6})
    assert rough.final == pytest.approx(ideal.final, rel=1e-12, abs=1e-13)
    assert slick.arc_modes == ["slip+"]
    assert slick.needed_friction()["centre"].value == pytest.approx(math.tan(-SLOPE) / 3 - 1e-6, rel=1e-12)


def test_a_driven_disc_never_slips_however_strong_the_torque():
    run = simulate(disc(), controller=lambda t, state, mode, memory: -200.0 * t, until=0.5)
    assert run.arc_modes == ["roll"] * len(run.arc_modes)
    assert run.needed_friction()["centre"].value > 20
    assert run.needed_friction()["centre"].t == pytest.approx(0.5, abs=2e-3)
    assert np.abs(run.samples.speeds[:, 0]).max() < 1e-12


def test_the_impulse_of_a_touchdown_needs_friction_too():
    start = {"y": 0.5, "dx": 3.0, "dy": -1.0}
    run = simulate(disc(), start, until=0.4)
    touch = run.events[0]
    assert (touch.mode_before, touch.mode_after) == ("open", "roll")
    ratio = abs(touch.impulse["centre.t"]) / touch.impulse["centre.n"]
    assert run.needed_friction()["centre"].value == ratio
    assert run.needed_friction()["centre"].impact
    # momentum about the contact is kept: a uniform disc keeps two thirds of its sliding speed
    before, after = touch.state_before, touch.state_after
    slide = before["dx"] * math.cos(SLOPE) + before["dy"] * math.sin(SLOPE)
    assert -after["dangle"] * RADIUS == pytest.approx(2 / 3 * slide, rel=1e-12)
    same = simulate(disc(), start, until=0.4, parameters={"mu": 1.01 * ratio})
    assert same.final == pytest.approx(run.final, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("law", [newton(0.5), chatterjee(0.5, 0.0), chatterjee(0.3, 0.4)], ids=str)
def test_bounces_of_every_law_end_in_rolling(law):
    run = simulate(disc(law), {"y": 0.5, "dx": 1.0, "dangle": 4.0}, until=2.0)
    assert set(run.arc_modes) == {"open", "roll"}
    assert run.arc_modes[-1] == "roll"
    assert run.check().ok


def test_a_wheel_lifts_off_where_the_ground_would_have_to_pull():
    m = Mechanism("thrown")
    m.gravity = m.parameter("g", G, "m/s^2", "gravity")
    body = m.body("disc", Floating("x", "y", "angle"), mass=1, inertia=0.02)
    centre = m.point("centre", body)
    m.thruster("up", centre, (0, 1))
    system = HybridSystem(m, units=(Wheel(centre, body, RADIUS, friction=math.inf),), start={"y": RADIUS})
    run = simulate(system, {"dx": 1.0, "dangle": -1.0 / RADIUS}, controller=Rising(20.0), until=1.0)
    assert [event.guard for event in run.events] == ["centre.lift"]
    assert run.events[0].t == pytest.approx(G / 20.0, abs=1e-9)


class Rising:
    """A force that grows with time."""

    def __init__(self, rate: float):
        self.rate = rate

    def bind(self, system):
        from saltus.control import Schedule

        return Schedule((0.0,), (((0.0, self.rate),),)).bind(system)


def test_only_open_and_rolling_are_possible():
    ideal, rough = mode_graph(disc()), mode_graph(disc(friction=0.5))
    assert {node.name for node in ideal.nodes} == {"open", "roll"}
    assert {node.name for node in rough.nodes} == {"open", "roll", "slip+", "slip-"}
    assert {(edge.source, edge.label, edge.target) for edge in ideal.edges} >= {
        ("open", "centre.touch", "roll"),
        ("roll", "centre.lift", "open"),
    }


def test_a_start_that_slips_is_refused_with_its_speed():
    slips = {"dx": 1.0 * math.cos(SLOPE), "dy": 1.0 * math.sin(SLOPE)}
    with pytest.raises(InputError, match=r"centre is on the ground and slips at 1 m/s, but its friction is infinite"):
        simulate(disc(), slips)
    reasons = simulate_many(disc(), [{}, slips], until=0.01).reasons
    assert list(reasons) == [1]
    assert "slips at 1 m/s" in reasons[1]
    reasons = simulate_many(disc(), slips, parameters={"mu": [math.inf, 0.3]}, until=0.01).reasons
    assert list(reasons) == [0]
    assert "slips at 1 m/s" in reasons[0]
    assert simulate_many(disc(), slips, parameters={"mu": [0.5, 0.3]}).good.all()
    simulate(disc(), {**slips, "y": 0.3})  # in the air it may turn as it likes
    simulate(disc(), {**slips, "dy": -0.5})  # what strikes is stopped


def test_the_nearest_start_that_rolls_keeps_what_is_told():
    slips = {"dx": 1.0 * math.cos(SLOPE), "dy": 1.0 * math.sin(SLOPE)}
    system = disc()
    kept = system.consistent(slips, keep=["dx", "dy"])
    assert kept[5] == pytest.approx(-1.0 / RADIUS, rel=1e-14)
    assert kept[3:5].tolist() == [slips["dx"], slips["dy"]]
    nearest = system.consistent(slips)
    assert -nearest[5] * RADIUS == pytest.approx(2 / 3, rel=1e-14)  # as an impact of the tangent would leave it
    simulate(system, kept, until=0.1)
    simulate(system, nearest, until=0.1)
    with pytest.raises(InputError, match="still moves at 1 m/s; keep fewer"):
        system.consistent(slips, keep=["dx", "dy", "dangle"])
    with pytest.raises(InputError, match="unknown velocity"):
        system.consistent(slips, keep=["angle"])


def test_two_ideal_wheels_of_one_cart_share_the_load():
    m = Mechanism("cart")
    m.gravity = m.parameter("g", G, "m/s^2", "gravity")
    body = m.body("cart", Floating("x", "y", "angle"), mass=2.0, inertia=0.5)
    feet = [m.point(name, body, (side, -0.3)) for name, side in (("left", -0.5), ("right", 0.5))]
    system = HybridSystem(m, units=tuple(GroundPoint(foot, friction=math.inf) for foot in feet), start={"y": 0.3})
    run = simulate(system, until=1.0)
    assert run.arc_modes[-1] == "left:stick right:stick"
    forces = dict(zip(system.row_names, run.samples.forces[-1], strict=True))
    assert forces["left.n"] == pytest.approx(G, rel=1e-12)
    assert forces["right.n"] == pytest.approx(G, rel=1e-12)
    assert run.redundant
    # dropped on one foot it turns over it and comes down on the other
    turned = simulate(system, {"y": 0.5, "angle": 0.2}, until=1.5)
    assert turned.status.good
    assert np.isfinite(list(turned.final.values())).all()


def test_derivatives_by_friction_that_is_infinite_are_zero():
    run = simulate(disc(newton(0.5)), {"y": 0.4, "dx": 1.0}, until=0.3)
    assert len(run.events) >= 1
    found = run.sensitivity()
    column = found.matrix[:, found.columns("mu")]
    assert np.abs(column).max() < 1e-300
    assert np.isfinite(found.matrix).all()


def test_only_parameters_that_say_so_are_infinite():
    assert disc().with_parameters(mu=math.inf).values["mu"] == math.inf
    with pytest.raises(InputError, match="'g' must be finite"):
        disc().with_parameters(g=math.inf)
    for wrong in (math.nan, -math.inf, -0.1):
        with pytest.raises(InputError, match="'mu'"):
            disc().with_parameters(mu=wrong)
        batch = simulate_many(disc(), parameters={"mu": [0.1, wrong]})
        assert list(batch.reasons) == [1]
        assert "'mu'" in batch.reasons[1]
    batch = simulate_many(disc(), parameters={"mu": [math.inf, 0.01]})
    assert batch.modes.tolist() == ["roll", "slip+"]


def test_what_slides_only_has_no_map_of_the_paradox():
    with pytest.raises(InputError, match="never slides: its friction is infinite"):
        painleve(disc())


def test_pictures_and_records_know_infinite_friction(tmp_path):
    from saltus.show import force_ratio_figure, report

    run = simulate(disc())
    figure = force_ratio_figure(run)
    low, high = figure.axes[0].get_ylim()
    assert -1 < low < -math.tan(-SLOPE) / 3
    assert 1 > high > math.tan(-SLOPE) / 3
    page = report(run, tmp_path / "run.html").read_text()
    assert "inf" in page
    run.save(tmp_path / "run.nc")
    json.dumps(run.to_dict(), allow_nan=False)
