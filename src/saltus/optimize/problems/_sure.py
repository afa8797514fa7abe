"""A jump that bears mixes: no clock, only what is seen, tells the knee what to do.

The hopper crouches a little beyond balance, pushes once it leans enough, and stops the push by how it moves by then.
In the air it folds its knee as much as it must for the foot to come down where it should: the links are alike, so that
the line from foot to head turns by the angular momentum over an inertia that the knee alone decides, however it moves.
After the landing a torque and a spring take over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from saltus._native import compiled
from saltus.control import Compiled
from saltus.optimize._problem import Trial

# What may be chosen: the knee at the start and how far the hopper leans beyond balance, rad; the angle of the line from
# the foot to the centre of mass at which it pushes, rad; with what torque, N m; and up to which angle of the knee.
JUMP = {
    "crouch": (math.radians(-165), math.radians(-20)),
    "tip": (math.radians(0.5), math.radians(12)),
    "trigger": (math.radians(45), math.radians(92)),
    "push": (0.5, 12.0),
    "stop": (-2.5, 1.5),
}
# Where the foot is to land, m, the knee then, rad, and how long before it takes that angle, s.
AIM = {"place": (0.2, 1.0), "knee": (-2.6, 2.6), "early": (0.01, 0.15)}
# How push and stop depend on how much faster the centre of mass drifts forward than a slope says it should while it
# rises, and on how far it still is from the trigger.
SIGHT = {
    "slope": (-0.1, 0.7),
    "push_by_drift": (-300.0, 300.0),
    "push_by_lean": (-600.0, 600.0),
    "stop_by_drift": (-4.0, 4.0),
    "stop_by_lean": (-20.0, 20.0),
}

# How stiffly the knee follows, N m/rad and N m s/rad.
STIFFNESS, DAMPING = 30.0, 0.35

# One thing takes over from another within these: an angle of lean, of the knee, a height of the foot, a time.
LEAN, BEND, HEIGHT, SOON = 0.02, 0.05, 0.01, 0.03

# A knee that has opened by this, rad, is pushing.
OPENED = 0.04

# The line from foot to head at the landing, rad; the square of the cosine of half the knee's angle, folded most.
FIRST, LAST, FOLDED = math.radians(40), math.radians(147), 0.02


@compiled
def centre(x, l):  # type: ignore[no-untyped-def]
    """Place and speed of the centre of mass."""
    c1, s1, c2, s2 = math.cos(x[2]), math.sin(x[2]), math.cos(x[2] + x[3]), math.sin(x[2] + x[3])
    w1, w2 = x[6], x[6] + x[7]
    place = x[0] + l * (1.5 * c1 + 0.5 * c2), x[1] + l * (1.5 * s1 + 0.5 * s2)
    return (*place, x[4] - l * (1.5 * s1 * w1 + 0.5 * s2 * w2), x[5] + l * (1.5 * c1 * w1 + 0.5 * c2 * w2))


@compiled
def aimed(x, p, place, last, early):  # type: ignore[no-untyped-def]
    """The angle of the knee in the air that brings the foot down at a place, the knee then at its last angle."""
    # Notation: phi the angle of the line from foot to head, psi of that from the foot to the centre of mass, rho the
    # length of the latter, delta between them at the landing
    m, l, g = p[0], p[1], p[2]
    cx, cy, vx, vy = centre(x, l)
    phi, turning = x[2] + 0.5 * x[3], x[6] + 0.5 * x[7]
    own, span = 2 * m * l * l / 3, 2 * m * l * l
    momentum = (own + span * math.cos(0.5 * x[3]) ** 2) * turning
    c, s = math.cos(0.5 * last), math.sin(0.5 * last)
    rho, delta = l * math.sqrt(4 * c * c + s * s), -math.atan2(s, 2 * c)
    psi, left = 2.0, 0.0
    for _ in range(5):
        left = (vy + math.sqrt(max(vy * vy + 2 * g * (cy - rho * math.sin(psi)), 0.0))) / g
        psi = math.acos(min(max((cx + vx * left - place) / rho, -1.0), 1.0))
        psi = min(max(psi - delta, FIRST), LAST) + delta
    # the end of the turning is done with the knee as it lands
    turn = psi - delta - phi - momentum * min(early, left) / (own + span * c * c)
    ratio = momentum * max(left - early, SOON) / turn if turn * momentum > 0 else math.inf
    fold = 2 * math.acos(math.sqrt(min(max((ratio - own) / span, FOLDED), 1.0)))
    r = min(max((left - early) / SOON, 0.0), 1.0)
    return last + r * r * (3 - 2 * r) * (math.copysign(fold, last) - last)


def law(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
    """Crouch, push, aim, land: by where the foot and the centre of mass are and how they move."""
    crouch, trigger, push, stop, slope = data[0], data[1], data[2], data[3], data[4]
    place, last, early = data[9], data[10], data[11]
    # a foot that has hardly left the ground, or hardly come down, is between two laws: no chatter at the contact
    air = min(max(x[1] / HEIGHT, 0.0), 1.0)
    above = below = 0.0
    if air > 0:
        above = STIFFNESS * (aimed(x, p, place, last, early) - x[3]) - DAMPING * x[7]
    if air < 1 and x[0] > 0.5 * place:
        below = data[12] + data[13] * (data[14] - x[3]) - data[15] * x[7]
    elif air < 1:
        cx, cy, vx, vy = centre(x, p[1])
        lean = math.atan2(cy - x[1], cx - x[0]) - trigger
        drift = vx - slope * vy
        begun = min(max(max(-lean / LEAN, (x[3] - crouch - OPENED) / LEAN), 0.0), 1.0)
        end = stop + data[7] * drift + data[8] * lean
        going = min(max((end - x[3]) / BEND, 0.0), 1.0)
        held, stopped = (STIFFNESS * (crouch - x[3]) - DAMPING * x[7], STIFFNESS * (end - x[3]) - DAMPING * x[7])
        pushed = going * (push + data[5] * drift + data[6] * lean) + (1 - going) * stopped
        below = (1 - begun) * held + begun * pushed
    u[0] = (1 - air) * below + air * above
    return 0


def start(values: Mapping[str, float]) -> dict[str, float]:
    """The crouch, a little beyond balance."""
    knee = values["crouch"]
    balanced = math.atan2(1.5 + 0.5 * math.cos(knee), 0.5 * math.sin(knee))
    return {"theta1": balanced - values["tip"], "theta2": knee}


def trial(values: Mapping[str, float], after: tuple[float, ...]) -> Trial:
    """The run of a candidate; ``after`` is what is done when it has landed."""
    told = [values[name] for name in ("crouch", "trigger", "push", "stop", *SIGHT, *AIM)]
    return Trial(start(values), Compiled(law, data=(*told, *after)))
