"""The corrections to [vigne2019]: what is printed, what is right, and what comes out by either."""

from __future__ import annotations

from saltus.studies import Correction
from saltus.studies.papers import _vigne2019_printed as printed
from saltus.studies.papers._vigne2019_found import LEAN, Found
from saltus.studies.papers._vigne2019_numbers import equals, stands


def corrections(found: Found) -> tuple[Correction, ...]:
    by_printed, right = found.rest_force
    rim, upright = found.leaning.roll_acceleration
    needed = found.space["pd"].needed_friction()["wheel"]
    equal, p = found.equal, found.values
    inverse = printed.linear(p)[1]
    return (
        Correction(
            "2.2, (7)", "[H Jᵀ; J 0]", "[H -Jᵀ; J 0]: (6) has Jᵀ f_g on the other side",
            f"at rest the ground pulls, with {by_printed:.6g} N", f"it bears the robot, with {right:.6g} N",
            stands(equals(by_printed, right)),
        ),
        Correction(
            "2.2, contact point", "always r below the centre of the wheel",
            "so for an upright wheel; a leaning disc touches at its lowest rim point, and a ball at the printed one",
            f"at a lean of {LEAN:g} rad and at rest the roll accelerates by {upright:.6g} rad/s²",
            f"by {rim:.6g} rad/s²", stands(equals(upright, rim)),
        ),
        Correction(
            "2.2, rolling", "no friction given, the wheel never slips",
            "ideal rolling, with the friction that it needs told",
            "no value", f"the PD needs {needed.value:.6g} at {needed.t:g} s",
        ),
        Correction(
            "2.2, the floor", "the body has no end", "its top meets the floor, which ends the run",
            f"with zero torque the body passes 90° at {found.ninety:.6f} s and swings below the ground",
            f"the run ends at {found.space['none'].end_time:.6f} s",
        ),
        Correction("3.1, (12)", "m_r in K, which is not defined", "m_w", "no value", "(13) to (18), as printed"),
        Correction(
            "3.2, (21)", "-H₁⁻¹ + H₂⁻¹ read as a difference that may vanish", "H₂⁻¹ = -m l r / det(H) < 0: a sum",
            "zero where J + (m + m_w) r² = m l r", f"{inverse[1, 0]:.6g} and {inverse[3, 0]:.6g} 1/(kg m²) here",
        ),
        Correction(
            "3.2, controllability", "J + (m + m_w) r² ≠ m l r; with a heavy body, l ≠ r",
            "no condition: det C = g² l² m² (J + m l r + (m + m_w) r²)² / det(H)⁴ > 0",
            f"not controllable with J = {found.equal_values['J']:.3g} kg m²",
            f"rank {equal.rank} of 4, det C = {found.determinants['equal'][0]:.6g}",
            stands(not equal.controllable),
        ),
    )  # fmt: skip
