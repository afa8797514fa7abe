"""The two-link hopper of Oh and Huang: foot P, knee Q, head R, one motor at the knee."""

from __future__ import annotations

import math

import casadi as ca

from saltus.contact import GroundPoint, chatterjee
from saltus.control import Schedule
from saltus.engine import Figures
from saltus.hybrid import Guard, HybridSystem, Profile
from saltus.mechanism import Floating, Mechanism, Revolute


def build() -> HybridSystem:
    m = Mechanism("hopper")
    source = "oh_huang"
    mass = m.parameter("m", 0.3, "kg", "mass of each link", source=source, positive=True)
    l = m.parameter("l", 0.15, "m", "half the length of a link", source=source, positive=True)
    m.gravity = m.parameter("g", 10.0, "m/s^2", "gravity", source=source)
    mu = m.parameter("mu", 0.3, "1", "friction of the ground", source=source, lower=0)
    limit = m.parameter("tau_max", 10.0, "N m", "largest torque that the knee can be asked for", source=source, lower=0)
    gain = m.parameter("gain", 1.0, "1", "torque of the knee over what is asked of it", lower=0)
    e_n = m.parameter("e_n", 0.0, "1", "normal restitution of the foot", source=source, lower=0, upper=1)
    e_t = m.parameter("e_t", 0.0, "1", "tangential restitution of the foot", source=source, lower=-1, upper=1)
    inertia = mass * (2 * l) ** 2 / 12
    lower = m.body("lower", Floating("x", "y", "theta1"), mass=mass, inertia=inertia, com=(l, 0))
    upper = m.body("upper", Revolute("theta2", at=(2 * l, 0)), parent=lower, mass=mass, inertia=inertia, com=(l, 0))
    m.actuator("knee", "theta2", limit=limit, gain=gain)
    foot = m.point("P", lower)
    knee = m.point("Q", upper)
    head = m.point("R", upper, (2 * l, 0))
    line = head.position - foot.position
    theta2 = m.q[3]
    return HybridSystem(
        m,
        units=(GroundPoint(foot, friction=mu, law=chatterjee(e_n, e_t), open_name="flight"),),
        guards=(
            Guard("height_Q", knee.position[1], about="height of the knee"),
            Guard("height_R", head.position[1], about="height of the head"),
            Guard(
                "posture", line[1] - 0.5 * ca.norm_2(line), "ignore", about="line PR within 60 degrees of the vertical"
            ),
            Guard("folded", ca.cos(theta2 / 2), "ignore", "both", "links fold", no_start=True),
            Guard("Q_above_P", knee.position[1] - foot.position[1], "ignore", about="knee above foot"),
            Guard("R_above_Q", head.position[1] - knee.position[1], "ignore", about="head above knee"),
        ),
        start={"theta1": math.radians(109), "theta2": math.radians(-108)},
        until=1.0,
        profiles={"paper": Profile(paper_torque(), about="the torque printed by Oh and Huang")},
        figures=JUMP,
        skeleton=(("P", "Q"), ("Q", "R")),
        about="two links that jump by one motor: stick, slip, flight and frictional impact",
    )


def paper_torque() -> Schedule:
    """The printed profile, each piece in its local time [oh_huang, item 5].

    f1 = 3.2 - 1500 (t - 0.04)^2, f2 = -0.6 + 3 t, f3 = 0.9 - 15 t, f4 = 0, from t = 0, 0.06, 0.25, 0.35 s.
    """
    f1 = (3.2 - 1500 * 0.04**2, 1500 * 2 * 0.04, -1500.0)
    return Schedule((0.0, 0.06, 0.25, 0.35), (f1, (-0.6, 3.0), (0.9, -15.0), (0.0,)))


def jump(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
    """The jump by the paper's rule [oh_huang, item 5].

    From the largest x of the foot in the first contact phase to the smallest in the contact phase
    after the first impact, or to the knee's or head's if that strikes the ground behind it, which ends the jump: to
    whatever lies farthest back. A run that ends before that has the distance so far, and ``jump_over`` 0. In
    every contact mode the foot stands or moves one way, so both are reached at events. A foot that is in the air at the
    start, or leaves the ground with a speed that it was given, comes to its first contact phase when it touches.
    """
    x = before[0]
    if moment == 0:
        out[1] = x
        out[PHASE] = ON_GROUND if abs(before[1]) <= 1e-9 and before[5] == 0 else BEFORE
        out[LANDING], out[VIOLATION], out[BACK], out[LAST] = math.nan, math.nan, math.inf, math.inf
        # what is violated at the start is not crossed later
        lower, upper = math.sin(before[2]), math.sin(before[2] + before[3])
        along = math.cos(before[2]) + math.cos(before[2] + before[3])
        if lower < 0 or upper < 0 or 2 * (lower + upper) < math.hypot(along, lower + upper):
            out[VIOLATION] = t
        return 0
    struck = guard in (HEIGHT_Q, HEIGHT_R)
    touched = moment == 1 and guard == TOUCH and old[0] == 0
    lifts = moment == 1 and new[0] == 0 and old[0] != 0 and not struck
    if out[PHASE] == BEFORE and (old[0] != 0 or (touched and new[0] != 0)):
        out[PHASE], out[1] = ON_GROUND, x
    elif out[PHASE] == ON_GROUND and moment == 1 and old[0] == 0:  # torn off at once
        out[PHASE] = ALOFT
    if out[PHASE] == ON_GROUND:
        out[1] = max(out[1], x)
        if lifts:
            out[PHASE] = ALOFT
    elif out[PHASE] == ALOFT:
        if touched:
            out[PHASE], out[LANDING], out[LAST] = AGAIN if new[0] == 0 else LANDED, t, x
    elif out[PHASE] == LANDED:
        out[LAST] = min(out[LAST], x)
        if lifts:
            out[PHASE] = AGAIN
    if struck and out[PHASE] >= LANDED:
        other = x + 2 * p[1] * math.cos(before[2])
        if guard == HEIGHT_R:
            other += 2 * p[1] * math.cos(before[2] + before[3])
        out[BACK] = min(out[BACK], other)
        if out[PHASE] < OVER:
            out[PHASE], out[LAST] = OVER, min(out[LAST], other)
    if out[PHASE] >= LANDED and (old[0] != 0 or guard == TOUCH):
        out[BACK] = min(out[BACK], x)
    if guard > HEIGHT_R and math.isnan(out[VIOLATION]):
        out[VIOLATION] = t
    if moment == 2:
        out[2] = out[LAST]
        out[0] = out[2] - out[1]
        out[ENDED] = 1.0 if out[PHASE] == OVER else 0.0
        if out[PHASE] < LANDED:
            out[0], out[1], out[2] = math.nan, math.nan, math.nan
    return 0


# What the law of the jump keeps: whether a link has struck the ground, which ends it; when the foot landed; when the
# posture was first violated; the smallest x of all that touched the ground since; the phase; the last x.
ENDED, LANDING, VIOLATION, BACK, PHASE, LAST = range(3, 9)

# The phases of a jump.
BEFORE, ON_GROUND, ALOFT, LANDED, AGAIN, OVER = range(6)

# Numbers of guards: three of the foot, of which the first is its touch, then those of the robot.
TOUCH, HEIGHT_Q, HEIGHT_R = 0, 3, 4

JUMP = Figures(("jump_distance", "x_start", "x_end", "jump_over"), jump, memory=5)

# The same, when the foot landed, when the posture was first violated, if its guards are recorded, and the smallest x of
# all that has touched the ground since the landing: the paper's rule does not look at a foot that comes down once more.
JUMP_IN_TIME = Figures((*JUMP.names, "t_landing", "t_violation", "x_back"), jump, memory=2)
