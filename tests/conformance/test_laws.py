"""What saltus's own impact laws promise beyond what every law must: their restitution, and Coulomb friction."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from saltus import registry
from saltus.conformance.laws import Contact, strike
from saltus.contact import find_law
from saltus.engine._program import law_address

EVERY_LAW = pytest.mark.parametrize("name", registry.names("laws", own=True))
MANY = settings(max_examples=150, deadline=None)


@st.composite
def contacts(draw):
    """Symmetric positive definite matrices up to strong coupling, any sliding, a normal velocity inwards."""
    tangential, normal = draw(st.floats(0.05, 20)), draw(st.floats(0.05, 20))
    coupling = draw(st.floats(-0.97, 0.97)) * np.sqrt(tangential * normal)
    A = np.array([[tangential, coupling], [coupling, normal]])
    before = np.array([draw(st.floats(-5, 5)), -draw(st.floats(1e-3, 5))])
    friction = draw(st.floats(0, 3))
    stopping = np.linalg.solve(A, -before)
    if stopping[1] > 0 and draw(st.booleans()):
        # laws err where sticking and sliding meet: near the friction that is just enough to stop the point
        friction = min(5.0, abs(stopping[0]) / stopping[1] * draw(st.floats(0.5, 2)))
    return Contact(A, before, friction)


def any_coefficients(name):
    # zero itself or well away from it: a restitution of 1e-200 rebounds by less than rounding
    return st.tuples(*(st.floats(c.lower, c.upper).map(lambda x: round(x, 3)) for c in find_law(name).declared))


def without_restitution(name):
    """The coefficients nearest to zero: nothing bounces and nothing springs back."""
    return [min(max(0.0, c.lower), c.upper) for c in find_law(name).declared]


# A rod that strikes at a slant with much friction: the frictionless and the sticking impulse differ widely.
SLANTED = Contact(np.array([[3.0, 2.0], [2.0, 2.5]]), np.array([-2.0, -1.0]), 1.0)


# -- the normal velocity that each law promises -----------------------------------------------------

RESTITUTION = {
    "plastic": lambda coefficients: 0.0,
    "newton": lambda coefficients: coefficients[0],
    "chatterjee": lambda coefficients: coefficients[0],
}


@pytest.mark.parametrize("name", RESTITUTION)
@MANY
@given(data=st.data())
def test_normal_velocity_is_reversed_by_the_restitution(name, data):
    contact, coefficients = data.draw(contacts()), data.draw(any_coefficients(name))
    outcome = strike(find_law(name), contact, coefficients)
    size = (np.abs(contact.A) @ np.abs(outcome.impulse)).max() + np.abs(contact.before).max()
    assert outcome.after[1] == pytest.approx(
        -RESTITUTION[name](coefficients) * contact.before[1], rel=0, abs=1e-11 * size
    )


@EVERY_LAW
@MANY
@given(contact=contacts())
@example(contact=SLANTED)
def test_without_restitution_the_contact_stays_and_energy_does_not_grow(name, contact):
    outcome = strike(find_law(name), contact, without_restitution(name))
    size = (np.abs(contact.A) @ np.abs(outcome.impulse)).max() + np.abs(contact.before).max()
    assert outcome.after[1] == pytest.approx(0, abs=1e-11 * size)
    gained = outcome.impulse @ (contact.before + outcome.after) / 2
    assert gained <= 1e-10 * contact.energy_scale


# -- the tangential velocity -------------------------------------------------------------------------


@EVERY_LAW
@MANY
@given(contact=contacts())
@example(contact=SLANTED)
def test_friction_opposes_the_sliding_that_remains(name, contact):
    """Coulomb's law for what is left after an impact without restitution: stick inside the cone, slide on its edge."""
    outcome = strike(find_law(name), contact, without_restitution(name))
    tangential, normal = outcome.impulse
    size = (np.abs(contact.A) @ np.abs(outcome.impulse)).max() + np.abs(contact.before).max()
    if abs(outcome.after[0]) > 1e-9 * size:
        direction = np.sign(outcome.after[0])
        assert tangential == pytest.approx(-direction * contact.friction * normal, rel=1e-9, abs=1e-12 * normal)


def test_a_rebound_through_coupling_does_not_leave_the_point_still():
    """A tangential restitution of zero is no promise: the normal rebound moves a coupled contact sideways."""
    contact = Contact(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.0, -1.0]), 1.0)
    outcome = strike(find_law("chatterjee"), contact, (1.0, 0.0))
    assert abs(outcome.after[0]) > 0.1
    assert not outcome.tangential_stops


@EVERY_LAW
@MANY
@given(contact=contacts())
def test_friction_without_bound_stops_the_point(name, contact):
    """With friction above every ratio that coupling can ask for, no restitution means no velocity at all."""
    stopping = np.linalg.solve(contact.A, -contact.before)
    assume(stopping[1] > 1e-3 * abs(stopping[0]))
    sticky = Contact(contact.A, contact.before, 2 * abs(stopping[0]) / stopping[1] + 0.1)
    outcome = strike(find_law(name), sticky, without_restitution(name))
    np.testing.assert_allclose(outcome.impulse, stopping, rtol=0, atol=1e-10 * np.abs(stopping).max())
    assert outcome.normal_stops
    assert outcome.tangential_stops


@EVERY_LAW
@MANY
@given(contact=contacts())
def test_without_friction_there_is_no_tangential_impulse(name, contact):
    smooth = Contact(contact.A, contact.before, 0.0)
    outcome = strike(find_law(name), smooth, without_restitution(name))
    assert outcome.impulse[0] == pytest.approx(0, abs=1e-12 * outcome.impulse[1])
    assert outcome.impulse[1] == pytest.approx(-contact.before[1] / contact.A[1, 1], rel=1e-12)


# -- laws against each other ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "coefficients"), [("chatterjee", (0.0, 0.0)), ("newton", (0.0,))])
@MANY
@given(contact=contacts())
@example(contact=SLANTED)
def test_laws_without_restitution_are_the_plastic_law(name, coefficients, contact):
    # both put the impulse on the line from the frictionless to the sticking one, as far as the cone lets them
    one, other = strike(find_law("plastic"), contact, ()), strike(find_law(name), contact, coefficients)
    np.testing.assert_allclose(other.impulse, one.impulse, rtol=0, atol=1e-9 * np.abs(one.impulse).max())


def chatterjee_formula(contact, e_n, e_t):
    """Impulse and kappa, typed in from the paper [oh_huang, item 3] with the test impulse of the corrected page."""
    A, before, mu = contact.A, contact.before, contact.friction
    one = np.array([0.0, -before[1] / A[1, 1]])
    two = -np.linalg.solve(A, before)
    trial = (1 + e_n) * one + (1 + e_t) * (two - one)
    if abs(trial[0]) <= mu * trial[1]:
        kappa = 1 + e_t
    else:
        kappa = mu * (1 + e_n) * one[1] / (abs(two[0]) - mu * (two[1] - one[1]))
    return (1 + e_n) * one + kappa * (two - one), kappa


@MANY
@given(contact=contacts(), coefficients=any_coefficients("chatterjee"))
@example(contact=Contact(np.array([[3.0, 0.5], [0.5, 2.0]]), np.array([4.0, -1.0]), 0.2), coefficients=(0.3, 0.4))
@example(contact=Contact(np.array([[3.0, 0.5], [0.5, 2.0]]), np.array([0.3, -1.0]), 0.8), coefficients=(0.3, 0.4))
# sliding that only the right test impulse tells from sticking: both restitutions and the coupling matter
@example(contact=Contact(np.array([[2.0, 1.2], [1.2, 1.0]]), np.array([1.0, -1.0]), 0.8), coefficients=(0.0, 0.8))
@example(contact=Contact(np.array([[2.0, -1.2], [-1.2, 1.0]]), np.array([0.2, -1.0]), 0.2), coefficients=(1.0, -0.5))
def test_chatterjee_is_the_corrected_formula(contact, coefficients):
    expected, kappa = chatterjee_formula(contact, *coefficients)
    outcome = strike(find_law("chatterjee"), contact, coefficients)
    np.testing.assert_allclose(outcome.impulse, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    if abs(expected[0]) > 1e-6 * expected[1]:  # else both impulses of the formula are one, and kappa is anything
        assert outcome.figure == pytest.approx(kappa, rel=1e-6)


def test_newton_bounces_from_the_velocity_before_the_event():
    """When another contact's impulse has already changed this one, the rebound is still that of what came in."""
    contact = Contact(np.array([[2.0, 0.1], [0.1, 1.0]]), np.array([0.5, -1.0]), 0.4)
    outcome = strike(find_law("newton"), contact, (0.6,), free=[0.4, 0.2])
    assert outcome.after[1] == pytest.approx(0.6, rel=1e-13)


# -- in space and in the plane ------------------------------------------------------------------------


IN_SPACE = [name for name in registry.names("laws", own=True) if find_law(name).impulse_in_space is not None]
CALL = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)


def strike_in_space(law, contact, coefficients, free, angle):
    """Impulse along, normal and across, and what the law says, of a contact that slides at an angle to the rows."""
    c, s = math.cos(angle), math.sin(angle)
    (tangential, coupling), (_, normal) = contact.A
    # the mobility across the plane of motion is another one; rows are (t, n, s)
    turn = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    A = turn @ np.array([[tangential, coupling, 0], [coupling, normal, 0], [0, 0, tangential]]) @ turn.T
    given = [turn @ np.array([v[0], v[1], 0.0]) for v in (free, contact.before)]
    numbers = np.array([contact.friction, *coefficients], dtype=float)
    impulse, info = np.full(3, np.nan), np.full(3, np.nan)
    arrays = [np.ascontiguousarray(a) for a in (A, *given, numbers)]
    status = CALL(law_address(law, in_space=True))(*(a.ctypes.data for a in (*arrays, impulse, info)))
    return status, turn.T @ impulse, info


@pytest.mark.parametrize("name", IN_SPACE)
@MANY
@given(data=st.data(), contact=contacts(), angle=st.sampled_from([0.0, 0.7, 2.0, math.pi, -1.2]), lifted=st.booleans())
def test_a_law_in_space_is_that_of_the_plane_where_nothing_moves_sideways(name, data, contact, angle, lifted):
    """The impulse, and whether it says that the contact stays and sticks; also where another contact lifts it."""
    law = find_law(name)
    edges = [st.sampled_from([max(c.lower, min(0.0, c.upper)), c.upper]) for c in law.declared]
    coefficients = data.draw(st.one_of(st.tuples(*edges), any_coefficients(name)))
    free = contact.before * [1.0, -0.5 if lifted else 1.0]
    flat = strike(law, contact, coefficients, free=free)
    status, impulse, info = strike_in_space(law, contact, coefficients, free, angle)
    assert status == flat.status
    if status == 0:
        size = max(np.abs(flat.impulse).max(), 1e-300)
        np.testing.assert_allclose(impulse, [flat.impulse[0], flat.impulse[1], 0.0], rtol=0, atol=1e-7 * size)
        edge = abs(abs(flat.impulse[0]) - contact.friction * flat.impulse[1]) < 1e-6 * size
        assert not np.isnan(info[:2]).any()
        assert (info[0] == 1.0) == flat.normal_stops
        assert edge or (info[1] == 1.0) == flat.tangential_stops
