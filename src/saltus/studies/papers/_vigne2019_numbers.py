"""The numbers and claims of [vigne2019], each with its verdict."""

from __future__ import annotations

import itertools
import math

import numpy as np

from saltus.studies import Number, RecoverableIntervals
from saltus.studies.papers._vigne2019_found import COMPARED, HIGHEST, LEAN, LIMIT, STATES, Found, sagittal_end

NOT_PRINTED = "not printed: given here"
NAMES = {"none": "zero torque", "pd": "PD", "lqr": "LQR"}
FORMS = {"claptrap": "in space", "segway_reduced": "theta and phi, (14)", "segway_rolled": "theta and psi, (18)"}


# Up to what difference a printed matrix is the derived one, and forms of the robot move alike.
SAME_MATRIX, SAME_MOTION = 1e-10, 1e-8


def stands(right: bool) -> str:
    """The verdict on what is printed: it stands, or what is derived takes its place."""
    return "reproduced" if right else "corrected"


def equals(printed: float, right: float) -> bool:
    """Whether two numbers are the same but for rounding; nothing is the same as what is no number."""
    return abs(printed - right) <= SAME_MATRIX * max(1.0, abs(right))


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_contact(found), *_matrices(found), *_linear(found), *_motions(found), *_pitches(found))


def _contact(found: Found) -> list[Number]:
    by_printed, right = found.rest_force
    weight = (found.values["m"] + found.values["m_w"]) * found.values["g"]
    rim, upright = found.leaning.roll_acceleration
    low, high = found.leaning.height
    states = f"{STATES} random states, at any lean"
    return [
        Number(
            "2.2, (7)", "normal force on the robot that stands", NOT_PRINTED, right,
            stands(equals(by_printed, right)), by_printed, "N",
            f"its weight, (m + m_w) g = {weight:g} N: as printed the ground pulls. Accelerations are right either way",
        ),
        Number(
            "2.2, (9)", "J of the contact point: largest difference from the derived one", "0", found.rows_apart,
            stands(found.rows_apart <= SAME_MATRIX), note=f"{states}, contact straight below the axle",
        ),
        Number(
            "2.2, (10)", "the rate of J: largest difference of what it adds, while it rolls", "0", found.rates_apart,
            stands(found.rates_apart <= SAME_MATRIX), unit="m/s^2", note=states,
        ),
        Number(
            "2.2, contact point", f"acceleration of the roll of a robot at rest that leans by {LEAN:g} rad",
            "r below the centre", rim, stands(equals(upright, rim)), upright, "rad/s^2",
            f"a disc touches at its lowest rim point: its axle is {low:.6f} m high and not {high:.6f} m",
        ),
        Number(
            "2.2", "rate at which the upright robot falls sideways", NOT_PRINTED, _roll_rate(found), "corrected",
            unit="1/s", note="on one wheel; its motor does not reach that mode",
        ),
    ]  # fmt: skip


def _roll_rate(found: Found) -> float:
    """The unstable eigenvalue that is not one of the sagittal plane."""
    sideways = [value.real for value in found.upright.eigenvalues if abs(value.real - _pitch_rate(found)) > 1e-6]
    return float(max(sideways))


def _pitch_rate(found: Found) -> float:
    return float(found.rolled.eigenvalues.real.max())


def _matrices(found: Found) -> list[Number]:
    note = f"relative, {STATES} random states and parameters"
    printed = [
        Number(
            f"3.1, {where}",
            "largest difference from the derived one",
            "0",
            apart,
            stands(apart <= SAME_MATRIX),
            note=note,
        )
        for where, apart in found.matrices_apart.items()
    ]
    alike = [
        Number(
            "3.1", f"{FORMS[form]}: difference from the planar robot with its contact, "
            f"{NAMES[controller]}",
            "0", apart, "reproduced" if apart <= SAME_MOTION else "not reproducible", unit="rad, rad/s",
            note=f"largest in pitch, angle rolled and their rates in {COMPARED:g} s, the floor left out",
        )
        for (controller, form), apart in found.forms_apart.items()
    ]  # fmt: skip
    return [*printed, *alike]


def _linear(found: Found) -> list[Number]:
    of, equal = found.rolled, found.equal
    right, closed = found.determinants["equal"]
    return [
        Number(
            "3.2, (21)", "A and B: largest difference from the derived ones", "0", found.linear_apart,
            stands(found.linear_apart <= SAME_MATRIX),
            note="H₂⁻¹ is negative, so that the two terms of each entry of B add up",
        ),
        Number(
            "3.2", "rate at which the upright robot falls forwards", NOT_PRINTED, _pitch_rate(found), "corrected",
            unit="1/s",
        ),
        Number(
            "3.2", "is the robot controllable?", "yes", f"{'yes' if of.controllable else 'no'}, rank {of.rank} of 4, "
            f"smallest singular value {of.smallest_singular_value:.6g} (scaled)", stands(of.controllable),
        ),
        Number(
            "3.2", f"smallest singular value where J + (m + m_w) r² = m l r, J = {found.equal_values['J']:.3g} kg m²",
            "0: not controllable", equal.smallest_singular_value, stands(not equal.controllable),
            note=f"rank {equal.rank} of 4; {of.smallest_singular_value:.6g} with the values above; scaled",
        ),
        Number(
            "3.2, (23)", "determinant of the controllability matrix there", "0", right, stands(equals(0.0, right)),
            note=f"g² l² m² (J + m l r + (m + m_w) r²)² / det(H)⁴ = {closed:.6g}: positive for all positive parameters",
        ),
        Number(
            "PD", "eigenvalues of its loop", NOT_PRINTED, _told(found.pd_loop), "corrected", unit="1/s",
            note="two at zero: nothing feeds back where it is or how fast it goes on",
        ),
        Number("LQR", "eigenvalues of its loop", NOT_PRINTED, _told(found.lqr_loop), "corrected", unit="1/s"),
    ]  # fmt: skip


def _told(values: np.ndarray) -> str:
    return ", ".join(f"{v.real:.4g}" + (f"{v.imag:+.4g}i" if abs(v.imag) > 1e-9 else "") for v in values)


def _motions(found: Found) -> list[Number]:
    fall, pd, lqr = (found.space[name] for name in ("none", "pd", "lqr"))
    needed, most = (run.needed_friction()["wheel"] for run in (pd, lqr))
    place, speed = sagittal_end(pd)
    here = {"published": NOT_PRINTED, "verdict": "corrected"}
    limited = {name: sagittal_end(run)[0] for name, run in found.limited.items()}
    return [
        Number(
            where="zero torque", what="the body passes 90°", corrected=found.ninety, unit="s",
            note="from a pitch of 0.2 rad; nothing in the paper would stop it at the floor", **here,
        ),
        Number(
            where="zero torque", what="the top of the body meets the floor", corrected=fall.end_time, unit="s",
            note="1 m above the axle, chosen here; the run ends", **here,
        ),
        Number(
            where="PD", what="friction that ideal rolling needs", corrected=needed.value,
            note=f"largest at {needed.t:g} s, with "
            f"{abs(float(pd.samples.inputs[0, 0])):.4g} N m. LQR without a limit: {most.value:.4g}", **here,
        ),
        Number(
            where="PD", what="place after 10 s", corrected=place, unit="m",
            note=f"it goes on at {speed:.4g} m/s, for ever", **here,
        ),
        Number(
            where="LQR", what="distance from the start after 10 s", corrected=abs(sagittal_end(lqr)[0]), unit="m",
            note="it comes back", **here,
        ),
        Number(
            where="LQR", what=f"distance from the start after 20 s with {LIMIT:g} N m",
            corrected=abs(limited["lqr"]), unit="m", note=f"the PD with that limit: {limited['pd']:.4g} m", **here,
        ),
    ]  # fmt: skip


def _pitches(found: Found) -> list[Number]:
    cases = itertools.product(("pd", "lqr"), (LIMIT, math.inf))
    return [row for kind, limit in cases for row in _recoverable(found, kind, limit)]


def _recoverable(found: Found, kind: str, limit: float) -> list[Number]:
    """Of the pitches at rest from which the body comes upright: the first that is lost, the largest that returns."""
    always, contact = (found.pitches[form, kind, limit] for form in ("segway_rolled", "segway"))
    lost, lost_always = _first_lost(contact), _first_lost(always)
    most, most_always = _largest(contact), _largest(always)
    motor = f"{limit:g} N m" if math.isfinite(limit) else "no limit of the motor"
    scan = f"(up to {HIGHEST:g} rad, at a resolution of {contact.resolution:.2g} rad)"
    edges = f"edges to {contact.tolerance:g} rad, runs of {contact.until:g} s; narrower gaps may be missed"
    return [
        Number(
            NAMES[kind], f"pitch at rest, {motor}: first lost at {scan}", NOT_PRINTED, lost,
            stands(lost == lost_always), lost_always, "rad",
            f"{_then(contact)}; larger ones may return again. As printed, the wheel always rolls and cannot lift off: "
            f"{_then(always)}. {edges}",
        ),
        Number(
            NAMES[kind], f"pitch at rest, {motor}: largest that returns {scan}", NOT_PRINTED, most,
            stands(most == most_always), most_always, "rad",
            f"{_parts(contact)}; {_parts(always)} if the wheel always rolls. {edges}",
        ),
    ]  # fmt: skip


def _first_lost(one: RecoverableIntervals) -> float | str:
    return f"none up to {HIGHEST:g}" if one.first_lost is None else one.first_lost.value


def _largest(one: RecoverableIntervals) -> float | str:
    """The largest that returns; where it is the end of the scan, larger ones may return too."""
    most = one.largest_returning
    return "none" if most is None else f">= {HIGHEST:g}" if most == one.span[1] else most


def _parts(one: RecoverableIntervals) -> str:
    count = sum(part.returns for part in one.intervals)
    return f"{count} interval{'' if count == 1 else 's'} of pitches that return"


def _then(one: RecoverableIntervals) -> str:
    """How the first run that is lost ends."""
    lost = one.first_lost
    if lost is None:
        return f"all that were tried return, up to {HIGHEST:g} rad, where the body nearly lies"
    if lost.outcome == "no motion":
        return "there the wheel would have to pull at the ground, which ideal rolling cannot"
    return f"there it is {lost.outcome}" if lost.outcome == "not back in time" else f"there it {lost.outcome}"
