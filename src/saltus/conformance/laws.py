"""What every registered impact law must satisfy, called through its compiled address on many contacts.

A law may say ``MAY_CREATE_ENERGY = True`` where that is known of it; all others must not.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus import registry
from saltus.conformance._violation import require, require_close, require_documented
from saltus.contact import Law, find_law
from saltus.engine._program import law_address

CONTACTS = 400
# What lies behind the places that a law may write to.
_UNTOUCHED = -7.25e77
_CALL = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)


@dataclass(frozen=True)
class Contact:
    """One contact about to strike: Delassus matrix, velocity (t, n) before, friction."""

    A: np.ndarray
    before: np.ndarray
    friction: float

    @property
    def energy_scale(self) -> float:
        """Energy it takes to stop the contact altogether, in J."""
        return float(0.5 * self.before @ np.linalg.solve(self.A, self.before))

    def __str__(self) -> str:
        matrix, velocity = (", ".join(f"{x:.3g}" for x in array) for array in (self.A.flat, self.before))
        return f"A = ({matrix}), velocity ({velocity}), friction {self.friction:.3g}"


@dataclass(frozen=True)
class Outcome:
    """What a law answered, and the velocity that follows from it."""

    status: int
    impulse: np.ndarray
    after: np.ndarray
    normal_stops: bool
    tangential_stops: bool
    figure: float
    speed: float


def strike(law: Law, contact: Contact, coefficients: Any, free: Any = None) -> Outcome:
    """Ask a law for its impulse; ``free`` is the velocity as changed by other contacts, if there are any."""
    free = contact.before if free is None else np.asarray(free, dtype=float)
    numbers = np.array([contact.friction, *coefficients], dtype=float)
    given = [contact.A.ravel().copy(), free.copy(), contact.before.copy(), numbers]
    kept = [array.copy() for array in given]
    impulse, info = np.array([np.nan, np.nan, _UNTOUCHED]), np.array([np.nan, np.nan, np.nan, _UNTOUCHED])
    status = _CALL(law_address(law))(*(array.ctypes.data for array in (*given, impulse, info)))
    same = all((a == b).all() for a, b in zip(given, kept, strict=True))
    require(same, f"it writes to its arguments; only out and info are its own ({contact})")
    require(impulse[2] == info[3] == _UNTOUCHED, f"it writes beyond out[1] or info[2] ({contact})")
    impulse = impulse[:2]
    after = free + contact.A @ impulse
    speed = float((np.abs(contact.A) @ np.abs(impulse)).max() + np.abs(contact.before).max())
    return Outcome(status, impulse, after, info[0] == 1.0, info[1] == 1.0, float(info[2]), speed)


def contacts() -> Iterator[Contact]:
    """Symmetric positive definite matrices up to strong coupling, any sliding, a normal velocity inwards."""
    random = np.random.default_rng(3)
    for k in range(CONTACTS):
        tangential, normal = np.exp(random.uniform(np.log(0.05), np.log(20), 2))
        coupling = random.uniform(-0.97, 0.97) * np.sqrt(tangential * normal)
        A = np.array([[tangential, coupling], [coupling, normal]])
        before = np.array([random.uniform(-5, 5) * (k % 7 > 0), -np.exp(random.uniform(np.log(1e-3), np.log(5)))])
        friction = random.uniform(0, 3) * (k % 11 > 0)
        stopping = np.linalg.solve(A, -before)
        if stopping[1] > 0 and k % 2:
            # laws err where sticking and sliding meet: near the friction that is just enough to stop the point
            friction = min(5.0, abs(stopping[0]) / stopping[1] * random.uniform(0.5, 2))
        yield Contact(A, before, float(friction))


def cases(law: Law) -> Iterator[tuple[Contact, list[float], Outcome]]:
    """Contacts with coefficients over their whole ranges, the ends included, and what the law answers."""
    random = np.random.default_rng(4)
    for contact in contacts():
        # zero itself or well away from it: a restitution of 1e-200 rebounds by less than rounding
        chosen = [
            float(random.choice([c.lower, c.upper, c.default, round(random.uniform(c.lower, c.upper), 3)]))
            for c in law.declared
        ]
        yield contact, chosen, strike(law, contact, chosen)


def _case(contact: Contact, coefficients: list[float]) -> str:
    return f"{contact}, coefficients {coefficients}" if coefficients else str(contact)


# -- the description ---------------------------------------------------------------------------------


def law_can_be_compiled(name: str) -> None:
    """Its coefficients are accepted and its impulse becomes machine code."""
    law_address(find_law(name))


def description_is_complete(name: str) -> None:
    """It says what it is, and its coefficients have names and sensible ranges."""
    require_documented("laws", name)
    declared = find_law(name).declared
    require(len({c.name for c in declared}) == len(declared), "two coefficients have the same name")
    for c in declared:
        require(isinstance(c.name, str) and c.name, f"a coefficient needs a name, got {c.name!r}")
        bounds = f"{c.default:g} is not between {c.lower:g} and {c.upper:g}"
        require(c.lower <= c.default <= c.upper, f"coefficient {c.name!r}: its default {bounds}")
        require(np.isfinite([c.lower, c.upper]).all(), f"coefficient {c.name!r} needs finite bounds")


# -- the impulse -------------------------------------------------------------------------------------


def impulse_pushes_and_stays_in_the_friction_cone(name: str) -> None:
    """Contacts do not pull, and friction is bounded by Coulomb's cone."""
    for contact, coefficients, outcome in cases(find_law(name)):
        where = _case(contact, coefficients)
        require(outcome.status == 0, f"it found no impulse, though this contact has one: {where}")
        require(np.isfinite(outcome.impulse).all(), f"its impulse is {outcome.impulse}: {where}")
        tangential, normal = outcome.impulse
        require(normal >= 0, f"it pulls: its normal impulse is {normal:.6g} N s: {where}")
        bound = contact.friction * normal + 1e-11 * np.abs(outcome.impulse).max()
        require(
            abs(tangential) <= bound,
            f"its tangential impulse {tangential:.6g} N s leaves the friction cone, at most {bound:.6g}: {where}",
        )


def contact_does_not_go_on_into_the_ground(name: str) -> None:
    """The normal velocity afterwards is not negative."""
    for contact, coefficients, outcome in cases(find_law(name)):
        require(
            outcome.after[1] >= -1e-11 * outcome.speed,
            f"it goes on into the ground at {-outcome.after[1]:.6g} m/s: {_case(contact, coefficients)}",
        )


def energy_is_not_created(name: str) -> None:
    """An impact never adds energy, unless the law says that it may."""
    if getattr(registry.load("laws", name), "MAY_CREATE_ENERGY", False):
        return
    for contact, coefficients, outcome in cases(find_law(name)):
        gained = outcome.impulse @ (contact.before + outcome.after) / 2
        require(
            gained <= 1e-10 * contact.energy_scale,
            f"it creates {gained:.6g} J: {_case(contact, coefficients)}; if that is known of the law, "
            "say MAY_CREATE_ENERGY = True",
        )


def flags_tell_which_velocities_vanish(name: str) -> None:
    """What the law says of the velocities afterwards is what they are."""
    for contact, coefficients, outcome in cases(find_law(name)):
        where = _case(contact, coefficients)
        slow = 1e-11 * outcome.speed
        if outcome.normal_stops:
            require(abs(outcome.after[1]) <= slow, f"info[0] says that the normal velocity vanishes: {where}")
        else:
            require(outcome.after[1] > 0, f"info[0] says that the contact parts, but it does not: {where}")
        if outcome.tangential_stops:
            require(abs(outcome.after[0]) <= slow, f"info[1] says that the tangential velocity vanishes: {where}")


def contact_that_parts_gets_no_impulse(name: str) -> None:
    """Nothing happens to a contact that is already leaving."""
    law = find_law(name)
    for contact, coefficients, _ in cases(law):
        parting = Contact(contact.A, contact.before * [1, -1], contact.friction)
        outcome = strike(law, parting, coefficients)
        where = _case(parting, coefficients)
        require(outcome.status == 0 and not outcome.impulse.any(), f"impulse {outcome.impulse} on parting: {where}")
        require(not outcome.normal_stops, f"info[0] says that a parting contact stops: {where}")


def without_friction_there_is_no_tangential_impulse(name: str) -> None:
    """A smooth ground pushes along its normal only."""
    law = find_law(name)
    for contact, coefficients, _ in cases(law):
        smooth = Contact(contact.A, contact.before, 0.0)
        tangential, normal = strike(law, smooth, coefficients).impulse
        where = _case(smooth, coefficients)
        require(abs(tangential) <= 1e-12 * normal, f"a tangential impulse of {tangential:.6g} N s: {where}")


def impulse_scales_with_the_velocity_and_mirrors_with_it(name: str) -> None:
    """Twice as fast is twice the impulse, and left is as right."""
    law = find_law(name)
    flip = np.array([-1.0, 1.0])
    for factor, (contact, coefficients, outcome) in zip(np.geomspace(1e-3, 1e3, CONTACTS), cases(law), strict=True):
        faster = strike(law, Contact(contact.A, factor * contact.before, contact.friction), coefficients)
        turned = Contact(contact.A * np.outer(flip, flip), flip * contact.before, contact.friction)
        mirrored = strike(law, turned, coefficients)
        scale, where = np.abs(outcome.impulse).max(), _case(contact, coefficients)
        require_close(
            faster.impulse / factor, outcome.impulse, 1e-9 * scale, f"impulse at {factor:.3g} times the speed: {where}"
        )
        require_close(flip * mirrored.impulse, outcome.impulse, 1e-9 * scale, f"impulse of the mirror image: {where}")


def impulse_is_the_same_every_time(name: str) -> None:
    """A law has no memory."""
    law = find_law(name)
    for contact, coefficients, outcome in cases(law):
        again = strike(law, contact, coefficients)
        require(again.impulse.tobytes() == outcome.impulse.tobytes(), f"two answers: {_case(contact, coefficients)}")


CHECKS = (
    law_can_be_compiled,
    description_is_complete,
    impulse_pushes_and_stays_in_the_friction_cone,
    contact_does_not_go_on_into_the_ground,
    energy_is_not_created,
    flags_tell_which_velocities_vanish,
    contact_that_parts_gets_no_impulse,
    without_friction_there_is_no_tangential_impulse,
    impulse_scales_with_the_velocity_and_mirrors_with_it,
    impulse_is_the_same_every_time,
)
