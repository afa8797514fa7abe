"""The numbers of [oh_huang]: published, as printed and corrected, each with its verdict."""

from __future__ import annotations

import math

import numpy as np

from saltus.studies import Number
from saltus.studies.papers._oh_huang_found import (
    POSTURE,
    THEIR_GRAVITY,
    Found,
    first_state,
    forces_by_model,
    global_time,
    outcome,
    printed_force,
    state_after,
)
from saltus.studies.papers._oh_huang_program import matrices

DISTANCE = 0.1336
# What the authors' program wrote into its log for the same start and torque, before and after its impact law was
# corrected [oh_huang_program].
LOGGED, LOGGED_LATER = 0.13360367930436, 0.1316393111688825


def numbers(found: Found) -> tuple[Number, ...]:
    """All numbers, in the order of the paper."""
    return (
        *_distance(found), *_events(found), *_forces(found), *_energy(found), *_statements(found),
        *_postures(found), *_relation(found),
    )  # fmt: skip


def _distance(found: Found) -> list[Number]:
    own, theirs, program = (found.robot.values["g"],) * 3, (THEIR_GRAVITY,) * 3, found.program
    d, ladder = found.run.figures["jump_distance"], found.ladder
    here = "where 0.1336 came from"
    same = [key for key, value in ladder.items() if round(value, 4) == DISTANCE]
    nearest = min((value for key, value in ladder.items() if key not in same), key=lambda one: abs(one - DISTANCE))
    return [
        Number(
            "5", "distance of the jump", DISTANCE, d, "corrected",
            printed=outcome(global_time(found.robot)), unit="m",
            note="as printed: with t in f2 to f4 from the start of the jump; corrected: from the start of each piece",
        ),
        Number(
            here, "with gravity 9.8 everywhere", None, ladder[theirs, 1.0], "corrected", unit="m",
            note=f"{ladder[theirs, 1.0] - ladder[own, 1.0]:+.6f} m. The program sets 10 in some files, but its "
            "function of the contact forces sets the shared variable to 9.8 at the start and after every step, before "
            "each use",
        ),
        Number(
            here, "with moments of inertia twice as large in the impact law", None, ladder[own, 2.0], "corrected",
            unit="m", note=f"{ladder[own, 2.0] - ladder[own, 1.0]:+.6f} m; its M has 2/3 m l² for 1/3 m l², in the "
            "impact law only",
        ),
        Number(
            here, "with both", DISTANCE, ladder[theirs, 2.0], "reproduced", unit="m",
            note=f"exact events. Of {len(ladder)} combinations (10 or 9.8 before, in and after the flight; inertia "
            f"once or twice) {len(same)} rounds to the published digits; the nearest other one is {nearest:.6f} m",
        ),
        Number(
            here, "the program's steps again", LOGGED, program.distance, "reproduced", unit="m",
            note=f"published: from the log in the authors' repository, missed by {abs(program.distance - LOGGED):.1g} "
            f"m. The {abs(program.distance - ladder[theirs, 2.0]):.2g} m between exact events and these are the "
            f"tolerance of 1e-6 while the foot slides: {found.tight.distance:.9f} m with 1e-12",
        ),
        Number(
            here, "the program with its impact law corrected", LOGGED_LATER, found.later.distance, "reproduced",
            unit="m", note=f"published: the last entries of the log, missed by "
            f"{abs(found.later.distance - LOGGED_LATER):.1g} m; the paper was not changed. Gravity is still 9.8",
        ),
    ]  # fmt: skip


def _events(found: Found) -> list[Number]:
    program = found.program.times
    shown = "not printed; published: read from the figures, which are at gravity 9.8"
    rows = [
        ("stick ends, slip- begins", found.slip.t, 0.045, program[0], found.slip),
        ("slip- ends, flight begins", found.lift.t, 0.06, program[1], found.lift),
        ("flight ends, slip+ begins", found.impact.t, 0.364, program[2], found.impact),
        ("Q strikes the ground", found.end.t, 0.415, found.later.times[3], found.end),
    ]
    numbers = [
        Number(
            "4, figures", what, published, t, "reproduced" if event is found.lift else "corrected", unit="s",
            note=f"{event.mode_before} → {event.mode_after} by {event.guard}; {by:.6f} s by the authors' program; "
            f"{shown}",
        )
        for what, t, published, by, event in rows
    ]  # fmt: skip
    flights = found.run.arc_modes.count("flight")
    kappa = Number(
        "3", "kappa of the impact", None, found.impact.kappa, "corrected",
        note=f"not printed; {found.program.kappa:.6f} by the authors' program, {found.later.kappa:.6f} after they "
        f"corrected its inertia. Impulse ({found.impact.impulse['P.t']:.6f}, {found.impact.impulse['P.n']:.6f}) N s",
    )  # fmt: skip
    once = Number("4", "how often it leaves the ground", 1, flights, "reproduced", note=" → ".join(found.run.arc_modes))
    return [*numbers, kappa, once]


def _forces(found: Found) -> list[Number]:
    first = found.samples.forces[0]
    stuck = found.samples.t < found.slip.t
    # samples end before the event, where the ratio is largest
    last = abs(found.slip.forces_before["P.t"] / found.slip.forces_before["P.n"])
    ratio = max(last, np.abs(found.samples.forces[stuck, 0] / found.samples.forces[stuck, 1]).max())
    program, mu = found.program, found.robot.values["mu"]
    t, x = program.times[0], program.states[1]
    stick, wrong = program.forces(t, x, 1.0)
    wrong_end = program.forces(program.times[1] - 1e-9, program.states[2], 1.0)[1]
    landed, normal = found.later.forces(found.later.times[2], found.later.states[3], 1.0)
    return [
        Number(
            "4, figure", "contact force at the start", None, tuple(map(float, first)), "corrected",
            printed=tuple(map(float, printed_force(found, first_state(found)))), unit="N",
            note="(along, normal). As printed: without the torque in λ; the authors' program has it",
        ),
        Number(
            "4, figure", "largest ratio of forces while it sticks", "between ±μ", float(ratio), "reproduced",
            note=f"reaches {mu:g} where slip begins, {found.slip.forces_before['P.t']:.6f} over "
            f"{found.slip.forces_before['P.n']:.6f} N",
        ),
        Number(
            "4, figure", "normal force where slip begins", "jumps from 21.5 to 32", found.slip.forces_after["P.n"],
            "corrected", printed=wrong, unit="N",
            note=f"published: read from the figure. It does not jump. As printed: friction of the other direction, "
            f"which their plot took from the last slip ({wrong:.3f} N, and {wrong_end:.3f} N where it ends)",
        ),
        Number(
            "4, figure", "ratio of forces while it slips", "0.20 to 0.25, then 0.21 to 0.25", f"{mu:g}, then -{mu:g}",
            "corrected", printed=(float(stick[0] / wrong), float(0.05 * landed[0] / normal)),
            note="published: read from the figure. As printed: at the start of either slip, by their plot: the force "
            "of a foot that sticks over that of one that slides, times 0.05 where it would leave the cone",
        ),
    ]  # fmt: skip


def _energy(found: Found) -> list[Number]:
    mesh = found.run.mesh
    total = mesh.kinetic + mesh.potential
    work, _, friction = (float(mesh.integrals[-1, k]) for k in range(3))
    check = found.run.check()["energy balance"]
    pushed = float(found.run.everything_at([found.lift.t]).integrals[0, 0])
    weight = 2 * found.robot.values["m"] * found.robot.values["g"]
    limit, fold = found.robot.values["tau_max"], abs(found.run.system.start["theta2"])
    return [
        Number(
            "energy", "work of the motor", None, work, "corrected", unit="J", note="not printed, nor are the next three"
        ),
        Number("energy", "lost to friction", None, friction, "corrected", unit="J"),
        Number("energy", "lost in the impact", None, float(found.impact.energy_lost), "corrected", unit="J"),
        Number(
            "energy", "gained by the robot until Q strikes", None, float(total[-1] - total[0]), "corrected", unit="J",
            note=f"work less losses, missed by at most {check.value:.1g} J along the run",
        ),
        Number(
            "6", "how far it can go at least", round(5 * DISTANCE, 3),
            f"{2 * pushed / weight:.3f} m by the work of the push, {2 * limit * fold / weight:.3f} m by that of the "
            "largest torque", "not reproducible", unit="m",
            note="five times the published distance, by conservation of energy; no calculation is printed. Corrected: "
            f"the range v²/g of a point that gets all the work before the flight ({pushed:.4f} J here; at most "
            f"{limit:g} N m over the {math.degrees(fold):g}° of the knee). It is no jump that respects the rules, and "
            "neither proves nor excludes the claim",
        ),
    ]  # fmt: skip


def _statements(found: Found) -> list[Number]:
    alpha, run = found.alpha, found.run
    (along, normal), slides = forces_by_model(found, found.impact)
    M = found.model(state_after(found.impact))[0]
    mu = alpha.friction
    landing = float(np.linalg.solve(M, [-mu, 1, 0, 0])[1])
    inputs = run.samples.inputs[:, 0]
    most = int(np.argmax(inputs))
    lift = float(run.everything_at([found.lift.t - 1e-12]).inputs[0, 0])
    states = [found.samples.x[k] for k in range(0, len(found.samples.t), 50)]
    off = max(_differ(found, x) for x in states)
    return [
        Number(
            "1", "M, B and G as printed, against the derived model", "the same", off, "reproduced",
            note=f"largest difference at {len(states)} states of the jump, in SI units",
        ),
        Number(
            "4", "least alpha of all postures at μ = 0.3", "Painlevé's paradox is met and resolved by separation",
            alpha.smallest.value, "corrected", unit="1/kg",
            note="of postures that respect the rules; positive, so that there is no paradox. At the landing a foot "
            f"that stuck would be pulled ({along:.4f}, {normal:.4f} N), but one that slides is pressed with "
            f"{slides:.4f} N, alpha = {landing:.4f} 1/kg",
        ),
        Number(
            "4", "friction from which there is a paradox", None, alpha.least_critical.value, "corrected",
            note=", ".join(f"{name} = {math.degrees(value):.2f}°" for name, value in alpha.least_critical.at.items())
            + f", {alpha.least_critical.sliding}",
        ),
        Number(
            "5", "when the torque is largest", "at the separation", float(run.samples.t[most]), "corrected", unit="s",
            note=f"f1 is largest at 0.04 s ({inputs[most]:.4g} N m); {lift:.4g} N m are left at the separation, which "
            f"the end of f1 brings about. It is positive, against the text: it opens a knee whose θ2 is negative",
        ),
    ]  # fmt: skip


def _differ(found: Found, x: np.ndarray) -> float:
    M, h = found.model(x)
    printed, B, G = matrices(x, found.robot.values["g"])
    return float(max(np.abs(M - printed).max(), np.abs(h - B - G).max()))


def _postures(found: Found) -> list[Number]:
    x = found.run.mesh.x
    line, one, both, knee = (
        np.degrees(values) for values in (x[:, 2] + x[:, 3] / 2, x[:, 2], x[:, 2] + x[:, 3], x[:, 3])
    )
    broken = [event for event in found.recorded.events if event.guard in POSTURE]
    note = (
        f"no rule is broken before Q strikes, at {found.end.t:.6f} s"
        if not broken
        else "; ".join(f"{event.guard} at {event.t:.6f} s" for event in broken)
    )
    aloft = x[(found.run.mesh.t >= found.lift.t) & (found.run.mesh.t <= found.impact.t)]
    trend = np.degrees(aloft[:, 2] + aloft[:, 3] / 2)
    return [
        Number(
            "5", "θ1 + θ2/2 along the jump", "30 to 150", (float(line.min()), float(line.max())), "reproduced",
            unit="deg", note=f"{note}. The inequality is right where |θ2| < 180°: PR is along θ1 + θ2/2, the triangle "
            "being isosceles, not equilateral",
        ),
        Number(
            "5", "θ1 along the jump", "0 to 180", (float(one.min()), float(one.max())), "reproduced", unit="deg",
            note="180° is where Q strikes the ground, with P on it",
        ),
        Number(
            "5", "θ1 + θ2 along the jump", "0 to 180", (float(both.min()), float(both.max())), "reproduced", unit="deg"
        ),
        Number("5", "θ2 along the jump", "not ±180", (float(knee.min()), float(knee.max())), "reproduced", unit="deg"),
        Number(
            "5", "θ1 + θ2/2 only grows in flight", "hard to revert",
            f"from {trend[0]:.2f}° to {trend[-1]:.2f}°, {'never' if (np.diff(trend) >= -1e-9).all() else 'not always'} "
            + ("falling" if (np.diff(trend) >= -1e-9).all() else "growing"), "reproduced",
        ),
    ]  # fmt: skip


def _relation(found: Found) -> list[Number]:
    """The torque that the paper gives for a wanted acceleration of the upper link's angle θ12 = θ1 + θ2."""
    l, m = found.robot.values["l"], found.robot.values["m"]
    b = 4 * l**2 * m / 3
    s, model = found.samples, found.model
    along = 0.0
    for x, tau, forces in zip(s.x, s.inputs[:, 0], s.forces, strict=True):
        acceleration = model.accelerations(x, tau, forces)
        along = max(along, abs(_torque(found, x, acceleration) - tau))
    # for any accelerations at all: the fourth row of the equations of motion is the relation
    draw = np.random.default_rng(0)
    anywhere, size = 0.0, 0.0
    for _ in range(200):
        x, acceleration = draw.uniform(-3, 3, 8), draw.uniform(-50, 50, 4)
        M, h = model(x)
        row = float((M @ acceleration + h)[3])
        anywhere, size = max(anywhere, abs(_torque(found, x, acceleration) - row)), max(size, abs(row))
    aloft = (s.t > found.lift.t) & (s.t < found.impact.t)
    gains = [1 / np.linalg.solve(model(x)[0], [0, 0, 0, 1])[2:].sum() for x in s.x[aloft]]
    x = state_after(found.lift)
    still = model.accelerations(x, 0.0, np.zeros(2))
    asked = _torque(found, x, np.array([*still[:3], -still[2]]))
    got = float(model.accelerations(x, asked, np.zeros(2))[2:].sum())
    return [
        Number(
            "5", "τ = b θ̈12 + a along the jump: largest difference from the torque", "the same", along, "reproduced",
            unit="N m", note=f"a and b = 4 l² m/3 = {b:g} kg m² are right, in contact as in flight; with any states "
            f"and accelerations they are the fourth equation of motion to {anywhere:.1g} of {size:.2g} N m",
        ),
        Number(
            "5", "torque for an acceleration of θ12 in flight, per rad/s²", b,
            (float(min(gains)), float(max(gains))), "corrected", unit="kg m²",
            note="least and largest in this flight. a holds ẍ, ÿ and θ̈1, which the torque changes too, so that b is "
            f"not how θ12 answers. With those at no torque, as in the authors' program, asking for 0 after the "
            f"lift-off gives {got:.4g} rad/s² ({float(still[2:].sum()):.4g} without torque)",
        ),
    ]  # fmt: skip


def _torque(found: Found, x: np.ndarray, acceleration: np.ndarray) -> float:
    """τ as printed, by accelerations of x, y, θ1 and θ2."""
    l, m, g = (found.robot.values[name] for name in ("l", "m", "g"))
    s2, c2, s12, c12 = math.sin(x[3]), math.cos(x[3]), math.sin(x[2] + x[3]), math.cos(x[2] + x[3])
    ax, ay, one, two = acceleration
    a = l * m / 3 * (6 * l * s2 * x[6] ** 2 + 3 * g * c12 + 3 * ay * c12 - 3 * ax * s12 + 6 * l * one * c2)
    return float(4 * l**2 * m / 3 * (one + two) + a)
