"""Chapters 2 to 5 of [yang2016]: the five-link robot, kinematics, dynamics, motor and encoder, printed and derived."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import casadi as ca
import numpy as np

from saltus.control import ArmSwing, Motor
from saltus.control._encoder import Encoder, _levels
from saltus.engine import Trajectory, simulate
from saltus.hybrid import HybridSystem
from saltus.mechanism._dh import Link, chain, hanging, two_link_angles
from saltus.robots import find_robot
from saltus.show import snapshots_figure
from saltus.show._timeline import Curve, Level, Panel, timeline
from saltus.studies import Correction, Drawing, Number, Swing, swings
from saltus.studies.papers import _yang2016_printed as printed
from saltus.studies.papers._vigne2019_printed import Derived
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, SAME, Chapter, Progress, reached, stands
from saltus.studies.papers._yang2016_pendulum import Pendulum

# Random states that formulas are compared at.
STATES = 200
# Where the elbow-heavy robot has its centres of mass, m: where r1 and r2 differ, misprints show.
HEAVY = {"r1": 0.28, "r2": 0.12}
PRINTS = {
    "as printed, r1 = r2": (printed.Choices(one_radius=True), {}),
    "as printed, r1 ≠ r2": (printed.Choices(one_radius=True), HEAVY),
    "with r2": (printed.Choices(), HEAVY),
    "elbow at 1": (printed.Choices(elbow_at_one=True), {}),
    "hat": (printed.Choices(hat=True), HEAVY),
    "o_n for all": (printed.Choices(end_for_all=True), {}),
}


@dataclass(frozen=True)
class Found:
    """All that is computed of chapters 2 to 5."""

    five: Trajectory
    swing: Swing
    # largest differences of the chain's end from the mechanism's hand, and of both ways back, m
    forward: float
    back: dict[str, float]
    # largest differences of mass matrix and of Coriolis terms with gravity from the derived ones, by kind of misprint
    apart: dict[str, tuple[float, float]]
    # of the hat matrix from the vector product
    hat: tuple[float, float]
    # of the energy along a swing without losses: how much it changes as printed and as derived, J
    energy: tuple[float, float]
    # of what accelerations add to the kinetic energy: as printed and with the joint at l1, W
    change: tuple[float, float]
    # counts after a turn ahead and back: as printed and right
    counts: tuple[int, int]
    motor: Motor
    # above which speed it cannot give the torque of 7.4.4, rad/s, and what it gives at 900 degrees/s, N m
    full_below: float
    at_most: float


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; ``detail`` does not matter here."""
    progress("formulas", 0.0)
    robot, draw = find_robot("brachiator@1"), np.random.default_rng(2016)
    motor = Motor()
    forward, back = _kinematics(robot, draw)
    apart = {name: _apart(robot.with_parameters(**values), choices, draw) for name, (choices, values) in PRINTS.items()}
    energy, change = _energies(robot, draw)
    vectors = draw.normal(size=(STATES, 2, 3))
    hats = [
        max(float(np.abs(np.array(ca.DM(printed.hat(ca.DM(a), wrong))) @ b - np.cross(a, b)).max()) for a, b in vectors)
        for wrong in (True, False)
    ]
    progress("five links", 0.3)
    five = simulate(find_robot("five_link_brachiator"), controller=ArmSwing(), until=15.0)
    return Found(
        five=five,
        swing=swings(five)[0],
        forward=forward,
        back=back,
        apart=apart,
        hat=(hats[0], hats[1]),
        energy=energy,
        change=change,
        counts=_counts(),
        motor=motor,
        full_below=motor.free_speed * (1 - motor.limit / motor.stall),
        at_most=motor.range(math.radians(900.0))[1],
    )


def _kinematics(robot: HybridSystem, draw: np.random.Generator) -> tuple[float, dict[str, float]]:
    """The chain's end and both inverse solutions beside the mechanism's own hand."""
    d, values = robot.dynamics, robot.values
    hand = ca.Function("hand", [d.q, d.p], [robot.mechanism.points["B"].position])
    forward, back = 0.0, dict.fromkeys(("down", "up"), 0.0)
    for _ in range(STATES):
        q1, q2 = draw.uniform(-math.pi, math.pi, 2)
        there = np.array(hand([0, 0, q1, q2], robot.parameter_values)).ravel()
        # angles of the chain are from the x-axis
        table = [Link(values["L1"], theta=q1 - math.pi / 2), Link(values["L2"], theta=q2)]
        end = np.array(ca.DM(chain(table)[-1]))[:2, 3]
        forward = max(forward, float(np.abs(end - there).max()))
        for elbow in back:
            first, second = two_link_angles(float(there[0]), float(there[1]), values["L1"], values["L2"], elbow)
            again = np.array(hand([0, 0, hanging(first), second], robot.parameter_values)).ravel()
            back[elbow] = max(back[elbow], float(np.abs(again - there).max()))
    return forward, back


def _apart(robot: HybridSystem, choices: printed.Choices, draw: np.random.Generator) -> tuple[float, float]:
    """Largest differences of the printed matrices from those of the robot, held at its hand."""
    derived, formula = Derived(robot), printed.dynamics(choices)
    mass = force = 0.0
    for _ in range(STATES):
        q, w = draw.uniform(-math.pi, math.pi, 2), draw.normal(size=2)
        M, h, _, _ = derived([0, 0, *q, 0, 0, *w])
        ours = [np.array(one) for one in formula([q[0] - math.pi / 2, q[1]], w, printed.letters(robot.values))]
        mass = max(mass, float(np.abs(ours[0] - M[2:, 2:]).max()))
        force = max(force, float(np.abs((ours[1] + ours[2]).ravel() - h[2:]).max()))
    return mass, force


def _energies(robot: HybridSystem, draw: np.random.Generator) -> tuple[tuple[float, float], tuple[float, float]]:
    """The printed energy along a swing without losses; and what accelerations add to it."""
    of = Pendulum.of(robot.values)
    run = simulate(robot, {"theta1": 1.0}, mode={"A": "closed"}, until=2.0)
    x = run.x[:, [2, 3, 6, 7]]
    spans = [float(np.ptp(made)) for made in (printed.energy(robot.values, x), of.energy(x))]
    # two point masses as in 7.4.4, but with the robot's lengths
    point = Pendulum.of({**robot.values, "I1": 0.0, "I2": 0.0})
    wrong = right = 0.0
    for _ in range(STATES):
        t2, w, a = draw.uniform(-3, 3), draw.normal(size=2), draw.normal(size=2)
        true = float(w @ point.mass(t2) @ a)
        wrong = max(wrong, abs(printed.energy_change(robot.values, t2, w, a) - true))
        held = [[0.0, t2, *(w + e * a)] for e in (0.5, -0.5)]  # a quadratic: its difference is exact
        right = max(right, abs(float(np.diff(-point.energy(np.array(held)))[0]) - true))
    return (spans[0], spans[1]), (wrong, right)


def _counts() -> tuple[int, int]:
    """Counts of a shaft that goes a turn ahead and back, by the printed table and by the right one."""
    encoder = Encoder()
    way = np.linspace(0.0, encoder.counts, 8 * math.ceil(encoder.counts))
    levels = [_levels(float(place)) for place in (*way, *way[::-1])]
    total = sum(printed.ENCODER_TABLE.get((*one, *two), 0) for one, two in itertools.pairwise(levels))
    return total, int(encoder.count([2 * math.pi, 0.0])[-1])


def numbers(found: Found) -> tuple[Number, ...]:
    states = f"{STATES} random states"
    swing = found.swing
    return (
        Number(
            "2.2.1", "five links: swing-up to a bar at the arms' reach, then a catch", "done, no figures",
            f"caught after {swing.time:.3f} s" if swing.caught else "not caught", reached(swing.caught),
            note="sinusoids at the natural frequency, then the arm that inverse kinematics gives; our masses and "
            f"lengths, {find_robot('five_link_brachiator').values['bar1_x']:g} m to the bar, {swing.back_swings} "
            "back-swings",
        ),
        Number(
            "2.2.1", "kinetic energy that this catch costs", NOT_PRINTED, swing.residual, "corrected", unit="J",
        ),
        Number(
            "3.2.1", "hand by Denavit and Hartenberg: largest difference from the mechanism's", "0", found.forward,
            stands(found.forward <= SAME), unit="m", note=states,
        ),
        *(
            Number(
                "3.2.2", f"hand at the inverse solution, elbow {elbow}: largest difference", "0", apart,
                stands(apart <= 1e-7), unit="m",
                note=f"{states}; the printed one is elbow down. Near the straight arm arccos loses half of the digits",
            )
            for elbow, apart in found.back.items()
        ),
        *(
            Number(
                "3.3.1", f"M, {name}: largest difference from the derived one", "0", found.apart[name][0],
                stands(found.apart[name][0] <= SAME), unit="kg m^2",
                note=f"{states}; C and N together: {found.apart[name][1]:.3g} N m",
            )
            for name in ("as printed, r1 = r2", "as printed, r1 ≠ r2", "with r2")
        ),
        Number(
            "4.2.2", "torque of the motors at 150 rpm", "10 N m in simulation", found.at_most,
            stands(found.at_most >= found.motor.limit), unit="N m",
            note=f"{found.motor.stall:g} N m at rest, none at 150 rpm: {found.motor.limit:g} N m only below "
            f"{found.full_below:.3f} rad/s, {math.degrees(found.full_below):.0f} degrees/s",
        ),
        Number(
            "5.3.1", "counts of a turn of the elbow", 1992.592, 28 * 71.164, stands(abs(28 * 71.164 - 1992.592) < 1e-3),
        ),
    )  # fmt: skip


def corrections(found: Found) -> tuple[Correction, ...]:
    apart = {name: value[0] for name, value in found.apart.items()}

    def told(name: str) -> str:
        return f"M differs by up to {apart[name]:.3g} kg m²"

    return (
        Correction(
            "3.3.1, J₂", "r₁ for both links", "r₂ for the second", f"with r₁ ≠ r₂ {told('as printed, r1 ≠ r2')}",
            f"by {apart['with r2']:.1g}", stands(apart["as printed, r1 ≠ r2"] <= SAME),
        ),
        Correction(
            "3.3.1, q₂", "(1, 0, 0)", "(l₁, 0, 0)", told("elbow at 1"), f"by {apart['as printed, r1 = r2']:.1g}",
            stands(apart["elbow at 1"] <= SAME),
        ),
        Correction(
            "3.3.1, hat matrices", "(3, 1) = ω₂", "-ω₂",
            f"a vector product that is off by up to {found.hat[0]:.3g}; in the plane nothing changes: M differs by "
            f"{apart['hat']:.1g}",
            f"off by {found.hat[1]:.1g}", stands(found.hat[0] <= SAME),
        ),
        Correction(
            "3.3.1, general Jacobian", "o_n for all links", "each link's own centre of mass", told("o_n for all"),
            f"by {apart['as printed, r1 = r2']:.1g}", stands(apart["o_n for all"] <= SAME),
        ),
        Correction(
            "7.4.3, E", "no inertias in E_k, sines in E_p with angles from the vertical",
            "½ I₁ θ̇₁² + ½ I₂ (θ̇₁ + θ̇₂)² more, -g ((m₁ r₁ + m₂ l₁) cos θ₁ + m₂ r₂ cos(θ₁ + θ₂))",
            f"changes by {found.energy[0]:.3g} J in 2 s of a swing without losses", f"by {found.energy[1]:.1g} J",
            stands(found.energy[0] <= 1e-8),
        ),
        Correction(
            "7.4.4, ∂E", "terms in l₁ + r₁ - 1", "r₂: the second joint is at l₁",
            f"off by up to {found.change[0]:.3g} W at rates and accelerations of about 1",
            f"by {found.change[1]:.1g} W", stands(found.change[0] <= SAME),
        ),
        Correction(
            "4.2.2, motor", "10 N m up to 150 rpm",
            "for ω > 0 between -10 and min(10, max(0, 22.5 (1 - ω/ω₀))) N m, mirrored below zero",
            f"{found.motor.limit:g} N m at 900 degrees/s", f"{found.at_most:.3g} N m there, and "
            f"{found.motor.limit:g} N m below {math.degrees(found.full_below):.0f} degrees/s",
            stands(found.at_most >= found.motor.limit),
        ),
        Correction(
            "5.3.1, encoder table", "10 → 00: +1", "-1", f"{found.counts[0]} counts after a turn ahead and back",
            f"{found.counts[1]} counts", stands(found.counts[0] == found.counts[1]),
        ),
    )  # fmt: skip


def drawings(found: Found) -> tuple[Drawing, ...]:
    swing, motor = found.swing, found.motor
    end = swing.start + swing.time
    speeds = np.linspace(-1.1 * motor.free_speed, 1.1 * motor.free_speed, 400)
    low, high = np.array([motor.range(float(speed)) for speed in speeds]).T
    curve = timeline(
        [
            Panel(
                "torque (N m)", [Curve("most", np.degrees(speeds), high), Curve("least", np.degrees(speeds), low)],
                [Level(motor.limit), Level(-motor.limit, "limit of 7.4.4")],
            )
        ],
        "What two PG71 motors can do at a speed of the elbow",
    )  # fmt: skip
    curve.axes[0].set_xlabel("elbow rate (degrees/s)")
    return (
        Drawing(
            "five-links", snapshots_figure(found.five, [0.0, *np.linspace(end - 1.0, end, 5)]),
            f"The five-link robot of 2.2.1 swings up and catches after {swing.time:.2f} s: hanging, and the last "
            "second of the swing.", reached(swing.caught),
        ),
        Drawing(
            "motor", curve, "Torque over rate of the motors of 4.2.2, which 7.4 has without a curve.",
            stands(found.at_most >= motor.limit),
        ),
    )  # fmt: skip


CHAPTER = Chapter("2 to 5", find, numbers, corrections, drawings, share=0.5)
