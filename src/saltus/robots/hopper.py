"""The two-link hopper of Oh and Huang: foot P, knee Q, head R, one motor at the knee."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from saltus.contact import GroundPoint, chatterjee
from saltus.control import Schedule
from saltus.hybrid import Guard, HybridSystem, Profile
from saltus.mechanism import Floating, Mechanism, Revolute


def build() -> HybridSystem:
    m = Mechanism("hopper")
    source = "oh_huang"
    mass = m.parameter("m", 0.3, "kg", "mass of each link", source=source, positive=True)
    l = m.parameter("l", 0.15, "m", "half the length of a link", source=source, positive=True)
    m.gravity = m.parameter("g", 10.0, "m/s^2", "gravity", source=source)
    mu = m.parameter("mu", 0.3, "1", "friction of the ground", source=source, lower=0)
    limit = m.parameter("tau_max", 10.0, "N m", "largest torque of the knee", source=source, lower=0)
    e_n = m.parameter("e_n", 0.0, "1", "normal restitution of the foot", source=source, lower=0, upper=1)
    e_t = m.parameter("e_t", 0.0, "1", "tangential restitution of the foot", source=source, lower=-1, upper=1)
    inertia = mass * (2 * l) ** 2 / 12
    lower = m.body("lower", Floating("x", "y", "theta1"), mass=mass, inertia=inertia, com=(l, 0))
    upper = m.body("upper", Revolute("theta2", at=(2 * l, 0)), parent=lower, mass=mass, inertia=inertia, com=(l, 0))
    m.actuator("knee", "theta2", limit=limit)
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
        figures=jump,
        skeleton=(("P", "Q"), ("Q", "R")),
        about="two links that jump by one motor: stick, slip, flight and frictional impact",
    )


def paper_torque() -> Schedule:
    """The printed profile, each piece in its local time [oh_huang, item 5].

    f1 = 3.2 - 1500 (t - 0.04)^2, f2 = -0.6 + 3 t, f3 = 0.9 - 15 t, f4 = 0, from t = 0, 0.06, 0.25, 0.35 s.
    """
    f1 = (3.2 - 1500 * 0.04**2, 1500 * 2 * 0.04, -1500.0)
    return Schedule((0.0, 0.06, 0.25, 0.35), (f1, (-0.6, 3.0), (0.9, -15.0), (0.0,)))


def jump(run: Any) -> dict[str, Any]:
    """The jump by the paper's rule [oh_huang, item 5].

    From the largest x of the foot in the first contact phase to the smallest in the contact phase
    after the first impact, or to the knee's or head's if that strikes the ground behind it. In
    every contact mode the foot stands or moves one way, so both are reached at events.
    """
    events = run.events
    left = next((k for k, e in enumerate(events) if e.mode_after == "flight"), None)
    landed = None
    if left is not None:
        landed = next((k for k in range(left + 1, len(events)) if events[k].guard == "P.touch"), None)
    if left is None or landed is None:
        return {"jump_distance": None, "x_start": None, "x_end": None}
    first = [run.at(run.start_time)[0], *(e.state_before["x"] for e in events[: left + 1])]
    after = [events[landed].state_before["x"]]
    lifted = False
    for event in events[landed + 1 :]:
        after.append(event.state_before["x"])
        if event.mode_after == "flight":
            lifted = True
            break
    if not lifted:
        after.append(run.final["x"])
    x_start, x_end = max(first), min(after)
    last = events[-1]
    if last.guard in ("height_Q", "height_R"):
        s, half = last.state_before, run.system.values["l"]
        other = s["x"] + 2 * half * math.cos(s["theta1"])
        if last.guard == "height_R":
            other += 2 * half * math.cos(s["theta1"] + s["theta2"])
        x_end = min(x_end, other)
    return {"jump_distance": float(x_end - x_start), "x_start": float(x_start), "x_end": float(x_end)}
