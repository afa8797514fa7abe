"""The corrections to [oh_huang]: what is printed, what is right, and what comes out by either."""

from __future__ import annotations

import math

import numpy as np

from saltus.control import Schedule
from saltus.engine import Trajectory, simulate
from saltus.hybrid import HybridSystem
from saltus.studies import Correction
from saltus.studies.papers._oh_huang_found import (
    THEIR_GRAVITY,
    Found,
    first_state,
    forces_by_model,
    global_time,
    outcome,
    printed_force,
    state_after,
)
from saltus.studies.papers._oh_huang_program import W


def corrections(found: Found) -> tuple[Correction, ...]:
    run, impact, lift, mu = found.run, found.impact, found.lift, found.alpha.friction
    g, d = found.robot.values["g"], run.figures["jump_distance"]
    own, theirs = (g,) * 3, (THEIR_GRAVITY,) * 3
    first = found.samples.forces[0]
    printed = printed_force(found, first_state(found))
    tau = float(found.samples.inputs[0, 0])
    slides = [found.model.accelerations(first_state(found), tau, forces)[:2] for forces in (printed, first)]
    top = found.samples.x[int(np.argmax(found.samples.x[:, 1]))]
    height = found.model.potential(top) / (2 * found.robot.values["m"] * g)
    mirrored = _mirrored(found.robot)
    other = mirrored.events[0]
    ground = found.samples.t < lift.t
    normal = found.samples.forces[ground, 1]
    free = found.model.accelerations(state_after(lift), float(run.everything_at([lift.t]).inputs[0, 0]), np.zeros(2))[1]
    x, v = (
        np.array(list(impact.state_before.values())),
        np.array([impact.state_before["dx"], impact.state_before["dy"]]),
    )
    test = -np.linalg.solve(W @ np.linalg.solve(found.model(x)[0], W.T), v)
    least, largest = float(run.samples.inputs.min()), float(run.samples.inputs.max())
    stuck, pressed = forces_by_model(found, impact)
    return (
        Correction(
            "1, contact force", "λ = (W M⁻¹ Wᵀ)⁻¹ (W M⁻¹ (B + G) - Ẇ q̇), and β likewise",
            "(W M⁻¹ Wᵀ)⁻¹ (W M⁻¹ (B + G - F_q) - Ẇ q̇), β = W_n M⁻¹ (B + G - F_q) - Ẇ_n q̇",
            f"at the start ({printed[0]:.6f}, {printed[1]:.6f}) N, and the foot that sticks is accelerated by "
            f"({slides[0][0]:.4g}, {slides[0][1]:.4g}) m/s²",
            f"({first[0]:.6f}, {first[1]:.6f}) N; it stays, to {np.abs(slides[1]).max():.0e} m/s²",
        ),
        Correction(
            "1, centre of mass", "its height is 3/2 l s₁ + 1/2 l s₁₂", "y + 3/2 l s₁ + 1/2 l s₁₂",
            f"{height - top[1]:.6f} m where the foot is highest", f"{height:.6f} m, as V says",
        ),
        Correction(
            "1, stick", "λ_t ≤ μ λ_n", "|λ_t| ≤ μ λ_n and λ_n ≥ 0",
            f"the mirrored jump, with λ_t = {other.forces_before['P.t']:.4f} N at {other.t:.6f} s, would stick on",
            f"it is the same jump to the other side: {other.mode_before} → {other.mode_after}, at last "
            f"{mirrored.final['x']:.6f} m for {run.final['x']:.6f} m",
        ),
        Correction(
            "1, transitions", "no slip to stick, no reversal of slip; separation where λ_n = 0, λ̇_n < 0",
            "both exist; at a jump of the torque contact also ends at once, from slip or stick, if the free "
            "acceleration of the foot is upwards",
            f"λ_n is never zero before the separation: at least {normal.min():.4f} N",
            f"flight at {lift.t:.6f} s: λ_n = {lift.forces_before['P.n']:.4f} N before the jump of the torque, free "
            f"acceleration {free:.4g} m/s² after it",
        ),
        Correction(
            "3, κ", "tests Λ̂, which is not defined, with e_r", "Λ̂ = (1 + e_n) Λᴵ + (1 + e_t) (Λᴵᴵ - Λᴵ), e_t",
            "no value", f"Λ̂ = ({test[0]:.6f}, {test[1]:.6f}) N s is outside of the cone: κ = {impact.kappa:.9f}",
        ),
        Correction(
            "configuration, torque", "τ ≤ τ_max", "|τ| ≤ τ_max", "no bound where the knee is pulled in",
            f"both hold here: {least:.4g} to {largest:.4g} N m",
        ),
        Correction(
            "5, profile", "f2 to f4 of t", "of t - t_i, the time since each piece began",
            outcome(global_time(found.robot)), outcome(run),
        ),
        Correction(
            "4, Painlevé's paradox", "a negative normal force at the landing is resolved by flying on",
            f"at μ = {mu:g} there is no paradox: alpha is at least {found.alpha.smallest.value:.6g} 1/kg, whatever "
            "the posture. Stick is not consistent, slip is. Where alpha < 0 there is "
            "no motion if the free acceleration is downwards, and two if it is upwards",
            f"λ_n = {stuck[1]:.4f} N of stick taken for the answer: the foot would take off again",
            f"it slips on with λ_n = {pressed:.4f} N until Q strikes",
        ),
        Correction(
            "configuration, gravity", "g = 10, but 9.8 in the program", "10 everywhere",
            f"{found.ladder[theirs, 1.0]:.6f} m", f"{d:.6f} m",
        ),
        Correction(
            "3, inertia", "I_c = 2/3 m l² in the impact law of the program", "1/3 m l², as in M",
            f"{found.ladder[own, 2.0]:.6f} m", f"{d:.6f} m",
        ),
    )  # fmt: skip


def _mirrored(robot: HybridSystem) -> Trajectory:
    """The jump to the other side."""
    profile = robot.profiles["paper"].controller
    start = {"theta1": math.pi - robot.start["theta1"], "theta2": -robot.start["theta2"]}
    pieces = [tuple(-value for value in piece) for piece in profile.pieces]
    return simulate(robot, start, controller=Schedule(profile.starts, pieces))
