"""The numbers, claims and corrections of [yang2016, 7.4], each with its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from saltus.studies import Correction, Number, Swing
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, SAME, near, reached, stands
from saltus.studies.papers._yang2016_energy_found import KINDS, LONG, SHORT, STATES, Found
from saltus.studies.papers._yang2016_runs import BUFFER, Told, total

# The elbow is straight, near its singularity, up to this angle, and the motor turns so fast at most, degrees and
# degrees/s.
STRAIGHT, FASTEST = 60.0, 900.0
# How well injection tracks the energy where nothing stops it, J.
TRACKED = 1.0


def numbers(found: Found) -> tuple[Number, ...]:
    return (
        *_injection(found), *_swing_up(found), *_swing(found), *_changed(found), *_buffers(found), *_inclines(found),
    )  # fmt: skip


def tracked(found: Found) -> tuple[float, float]:
    """How far the energy falls below the aim once it has been there: without stops, with them, J."""
    made = []
    for run in (found.free, found.stopped):
        _, energy = total(run)
        first = int(np.argmax(energy >= found.aim_up))
        made.append(float(found.aim_up - energy[first:].min()) if energy[first] >= found.aim_up else math.inf)
    return made[0], made[1]


def disturbance(found: Found) -> float:
    """The largest change of the energy by pose control, losses by friction apart, J."""
    return float(np.ptp(found.posed.samples.integrals[:, 0]))


def fastest(one: Told) -> tuple[float, float, float]:
    """Of a swing, the largest elbow rate, that with the elbow bent, degrees/s, and the share of time above 900."""
    s = one.run.samples
    now = s.t <= one.end
    rate, bent = np.degrees(np.abs(s.x[now, 7])), np.degrees(np.abs(s.x[now, 3])) > STRAIGHT
    return float(rate.max()), float(rate[bent].max(initial=0.0)), float((rate > FASTEST).mean())


def single(swing: Swing | None) -> bool:
    """Whether a swing ended in a catch without a back-swing."""
    return swing is not None and swing.caught and swing.back_swings == 0


def caught(swing: Swing | None) -> bool:
    """Whether it ended in a catch."""
    return swing is not None and swing.caught


def steepest(found: Found, kind: str) -> tuple[float, float]:
    """Between which inclines about level every bar is reached in one forward swing, degrees."""
    scanned = {degrees: single(swing) for (name, degrees), swing in found.inclines.items() if name == kind}
    low = high = 0.0
    for degrees in sorted(d for d in scanned if d >= 0):
        if not scanned[degrees]:
            break
        high = degrees
    for degrees in sorted((d for d in scanned if d <= 0), reverse=True):
        if not scanned[degrees]:
            break
        low = degrees
    return low, high


def _injection(found: Found) -> list[Number]:
    free, stopped = tracked(found)
    energy = total(found.passive)[1]
    return [
        Number(
            "7.4.7, figure 7.26", "does friction alone only take energy?", "yes",
            "yes" if np.diff(energy).max() <= 1e-9 else "no", reached(bool(np.diff(energy).max() <= 1e-9)),
            note=f"{energy[0] - energy[-1]:.3f} J in 10 s, viscous friction chosen here",
        ),
        Number(
            "7.4.7, figure 7.27", "injection without joint limits: energy below the aim, once there", "tracks it", free,
            reached(free <= TRACKED), unit="J", note="largest in 10 s",
        ),
        Number(
            "7.4.7, figure 7.28", "the same with joint limits", "cannot always inject", stopped,
            reached(stopped > free), unit="J",
        ),
        Number(
            "7.4.7, figure 7.29", "change of the energy by pose control", "up to 7 J", disturbance(found),
            reached(near(disturbance(found), 7.0)), unit="J", note="range of the motor's work, from level at rest",
        ),
    ]  # fmt: skip


def _swing_up(found: Found) -> list[Number]:
    own, ours = found.up["thesis"], found.up["ours"]
    most, bent, share = fastest(own)
    quick, gentle, less = fastest(ours)
    turned = float(np.degrees(np.abs(own.run.samples.x[:, 3]).max()))
    asked = ours.swing.time <= 2.5 and (ours.swing.residual or math.inf) <= 1.0
    return [
        Number(
            "7.4.8, figure 7.30", "swing-up to 0.568 m, the thesis' own controller", "around 6 s", own.swing.time,
            reached(caught(own.swing) and near(own.swing.time, 6.0)), unit="s",
            note=f"buffer {BUFFER:g} J, residual {own.swing.residual or math.nan:.2f} J; turns to pose {own.posed()} "
            "times, after failed tries as in the figure. The buffer was chosen for that; for others see under buffer",
        ),
        Number(
            "7.4.8", "swing-up to 0.568 m, ours", "around 6 s", ours.swing.time, stands(not asked), unit="s",
            note=f"residual {ours.swing.residual or math.nan:.3f} J; within 2.5 s and 1 J: {'yes' if asked else 'no'}",
        ),
        Number(
            "7.4.8, figure 7.31", "largest elbow angle", "below 180 degrees", turned, reached(turned < 180.0),
            unit="degrees",
        ),
        Number(
            "7.4.8, figure 7.32", f"largest elbow rate, bent by more than {STRAIGHT:g} degrees", "below 900 degrees/s",
            bent, reached(bent < FASTEST), unit="degrees/s",
            note=f"{most:.0f} degrees/s at all, above 900 for {share:.0%} of the time; ours: {gentle:.0f} and "
            f"{quick:.0f} degrees/s, {less:.0%}",
        ),
    ]  # fmt: skip


def _swing(found: Found) -> list[Number]:
    own, ours = found.swing["thesis"].swing, found.swing["ours"].swing
    asked = single(ours) and (ours.residual or math.inf) <= 0.6 and ours.mean_torque <= 5.0
    made = []
    for one, name in ((own, KINDS["thesis"]), (ours, KINDS["ours"])):
        residual = math.nan if one.residual is None else one.residual
        note = f"{one.time:.3f} s, {one.back_swings} back-swings, from {one.approach or 'nowhere'}"
        better = one is ours
        made += [
            Number(
                "7.4.9, 7.5", f"swing of 0.55 m, residual kinetic energy, {name}", "1 J", residual,
                stands(near(residual, 1.0)) if better else reached(near(residual, 1.0)), unit="J",
                note=note + (f"; within 0.6 J and 5 N m: {'yes' if asked else 'no'}" if better else ""),
            ),
            Number(
                "7.4.9, 7.5", f"swing of 0.55 m, mean size of the torque, {name}", "8.07 N m", one.mean_torque,
                stands(near(one.mean_torque, 8.07)) if better else reached(near(one.mean_torque, 8.07)), unit="N m",
            ),
        ]  # fmt: skip
    pose = found.swing["thesis"].first_pose()
    made += [
        Number(
            "7.4.9, figure 7.34", "it first turns to pose, the thesis' own", "180 ms", 1e3 * pose,
            reached(near(1e3 * pose, 180.0)), unit="ms",
        ),
        Number(
            "7.4.9, figure 7.34", "how often it does, the thesis' own", "2", found.swing["thesis"].posed(),
            reached(found.swing["thesis"].posed() == 2),
            note="the first time energy is lost, so that it injects again, as published",
        ),
    ]  # fmt: skip
    rate = fastest(found.swing["thesis"])[0]
    made.append(
        Number(
            "7.4.9, figure 7.37", "largest elbow rate in that swing, the thesis' own", "below 900 degrees/s", rate,
            reached(rate < FASTEST), unit="degrees/s", note=f"ours: {fastest(found.swing['ours'])[0]:.0f} degrees/s",
        )
    )  # fmt: skip
    return made


def _listed(changes: Sequence[str]) -> str:
    return ", ".join(changes).replace("torque -10 %, torque +10 %", "torque ±10 %")


def _changed(found: Found) -> list[Number]:
    made = []
    changes = [change for kind, change in found.changed if kind == "ours"]
    for kind, name in KINDS.items():
        ups, ones = ([found.changed[kind, change][k] for change in changes] for k in (0, 1))
        for what, of, most in (("swing of 0.55 m", ones, SHORT), ("swing-up to 0.568 m", ups, LONG)):
            good = sum(map(caught, of))
            failed = [change for change, swing in zip(changes, of, strict=True) if not caught(swing)]
            made.append(
                Number(
                    "7.4.9", f"{_listed(changes)}: {what} within {most:g} s, {name}",
                    "caught" if what.startswith("swing of") else NOT_PRINTED, f"{good} of {len(of)} caught",
                    reached(good == len(of)) if what.startswith("swing of") else "corrected",
                    note=f"not with {', '.join(failed)}" if failed else "",
                )
            )  # fmt: skip
    return made


def _buffers(found: Found) -> list[Number]:
    made = []
    for k, what in ((0, "swing-up to 0.568 m"), (1, "swing of 0.55 m")):
        good = {buffer: pair[k] for buffer, pair in found.buffers.items() if caught(pair[k])}
        residuals = [swing.residual for swing in good.values() if swing is not None and swing.residual is not None]
        one = [buffer for buffer, swing in good.items() if single(swing)]
        made.append(
            Number(
                "7.4.4, buffer", f"{what}, the thesis' own: caught", "with a buffer for changes of up to 7 J",
                f"{len(good)} of {len(found.buffers)} buffers from 0 to {max(found.buffers):g} J", "corrected",
                note=(f"residual {min(residuals):.2f} to {max(residuals):.2f} J" if residuals else "")
                + (f"; in one forward swing with {', '.join(f'{b:g}' for b in one)} J" if k and one else ""),
            )
        )  # fmt: skip
    return made


def _inclines(found: Found) -> list[Number]:
    made = []
    for kind, name in KINDS.items():
        low, high = steepest(found, kind)
        made.append(
            Number(
                "7.4.9", f"inclines in one forward swing of 0.55 m, {name}", NOT_PRINTED,
                f"{low:g} to {high:g} degrees", "corrected",
                note=f"without a gap about level, ideal hands, buffer {BUFFER:g} J; see 8.4 for other buffers"
                if kind == "thesis" else "without a gap about level, ideal hands",
            )
        )  # fmt: skip
    steep = found.steep.swing
    made.append(
        Number(
            "7.4.9, figure 7.39", "back-swings to a bar that is too high for one forward swing, ours", "1",
            steep.back_swings, reached(caught(steep) and steep.back_swings == 1),
            note=f"by itself; caught after {steep.time:.2f} s" if steep.caught else "not caught",
        )
    )  # fmt: skip
    return made


def corrections(found: Found) -> tuple[Correction, ...]:
    laws = found.laws
    wrong, right = laws.bracket
    pairs = found.blends.values()
    by_potential, by_total = (sum(caught(pair[k]) for pair in pairs) for k in (0, 1))
    singles = [sum(single(pair[k]) for pair in pairs) for k in (0, 1)]
    return (
        Correction(
            "7.4.4, bracket", "(θ̇₂ + θ̇₂)/2 + θ̇₁ cos θ₂", "(θ̇₁ + θ̇₂)/2 + θ̇₁ cos θ₂: the elbow's momentum",
            f"off by up to {wrong:.3g} kg m²/s at rates up to 10 rad/s", f"by {right:.1g}", stands(wrong <= SAME),
        ),
        Correction(
            "7.4.4, sign of the torque", "that of this bracket adds energy",
            "that of θ̇₂: the power into the robot is exactly τ θ̇₂",
            "wrong in " + ", ".join(f"{share:.1%} ({name})" for name, share in laws.momentum.items())
            + f" of {STATES} random states; the bracket as printed in "
            + ", ".join(f"{share:.1%}" for share in laws.as_printed.values()),
            "in none", stands(max(laws.momentum.values()) == 0.0),
        ),
        Correction(
            "7.4.6, blending", "by E_p", "by the total energy",
            f"0.55 m caught with {by_potential} of {len(pairs)} buffers from 0 to {max(found.blends):g} J, "
            f"{singles[0]} in one forward swing",
            f"with {by_total}, {singles[1]} in one forward swing", stands(singles[0] >= singles[1]),
        ),
        Correction(
            "7.4.7, joint stop", "the joint velocity is zeroed",
            "a plastic impact with the grip kept: Δv = -M⁻¹ e₂ (e₂ᵀ M⁻¹ e₂)⁻¹ θ̇₂",
            "gains energy in " + ", ".join(f"{share:.1%} ({name})" for name, share in laws.zeroed.items())
            + f" of {STATES} random hits, up to {laws.gain:.2f} J",
            "in " + ", ".join(f"{share:.1%}" for share in laws.plastic.values()),
            stands(max(laws.zeroed.values()) == 0.0),
        ),
    )  # fmt: skip
