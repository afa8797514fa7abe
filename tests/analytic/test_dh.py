"""Denavit and Hartenberg's chains and the angles of two links, beside the mechanism's own points."""

import math

import casadi as ca
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import robots
from saltus.errors import InputError
from saltus.mechanism import Link, chain, hanging, two_link_angles


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-2.9, 2.9))
def test_chain_of_the_brachiator_ends_at_its_hand(theta1, theta2):
    system = robots.brachiator()
    table = [Link(0.4, theta=theta1 - math.pi / 2), Link(0.4, theta=theta2)]
    end = ca.DM(chain(table)[-1][:2, 3])
    d = system.dynamics
    hand = ca.Function("hand", [d.x, d.p], [system.mechanism.points["B"].position])
    x = [0, 0, theta1, theta2, 0, 0, 0, 0]
    assert [float(v) for v in (hand(x, system.parameter_values) - end).elements()] == pytest.approx([0, 0], abs=1e-14)


@settings(deadline=None)
@given(st.floats(-0.79, 0.79), st.floats(-0.79, 0.79), st.sampled_from(["down", "up"]))
def test_angles_put_the_end_where_it_is_wanted(x, y, elbow):
    if not 1e-3 < math.hypot(x, y) < 0.8:
        return
    first, second = two_link_angles(x, y, 0.4, 0.4, elbow)
    end = (0.4 * (math.cos(first) + math.cos(first + second)), 0.4 * (math.sin(first) + math.sin(first + second)))
    assert end == pytest.approx((x, y), abs=1e-12)
    # the elbow is to the right of the way there, or to the left
    side = x * math.sin(first) - y * math.cos(first)
    assert side <= 1e-12 if elbow == "down" else side >= -1e-12


def test_twists_and_offsets():
    """A turn of the frame about x takes the next offset out of the plane."""
    end = ca.DM(chain([Link(1.0, alpha=math.pi / 2), Link(0.0, d=2.0)])[-1][:3, 3])
    assert [float(v) for v in end.elements()] == pytest.approx([1.0, -2.0, 0.0], abs=1e-15)


def test_printed_angle_is_the_same():
    """[yang2016, 3.2.2] prints pi - arccos(c / -(2 l1 l2))."""
    x, y, l1, l2 = 0.5, -0.2, 0.4, 0.35
    printed = math.pi - math.acos((x * x + y * y - l1 * l1 - l2 * l2) / (-2 * l1 * l2))
    assert two_link_angles(x, y, l1, l2)[1] == pytest.approx(printed, abs=1e-15)


def test_what_cannot_be_reached_is_refused():
    with pytest.raises(InputError, match=r"do not reach \(0.9, 0\), 0.9 m away"):
        two_link_angles(0.9, 0.0, 0.4, 0.4)
    with pytest.raises(InputError, match="do not reach"):
        two_link_angles(0.05, 0.0, 0.4, 0.3)
    with pytest.raises(InputError, match="down or up"):
        two_link_angles(0.5, 0.0, 0.4, 0.4, "left")
    with pytest.raises(InputError, match="at least one link"):
        chain([])


def test_angles_from_the_vertical():
    assert hanging(-math.pi / 2) == pytest.approx(0.0, abs=1e-15)
    assert hanging(math.pi) == pytest.approx(-math.pi / 2, abs=1e-15)
