"""The impulse that brings a contact to a given normal velocity under Coulomb friction."""

import math

from saltus._native import compiled


@compiled
def rebound(A, free, target, mu, out, info):
    """Stick if the impulse that stops all sliding lies in the cone, else slide on its edge.

    Arguments as for a law (`saltus.contact.laws`); ``target`` is the normal velocity afterwards.
    Returns 1 where sliding friction alone would drive the point into the ground. Infinite friction
    that could stop all sliding only by pulling at the ground does what ever larger friction tends
    to: it acts along the ground alone, until the point no longer approaches, and leaves the rest.
    """
    # Notation: [glocker2001]; sigma is the direction of sliding after the impact.
    out[0] = out[1] = 0.0
    info[0] = info[1] = 0.0
    info[2] = math.nan
    need = target - free[1]
    if need < 0.0:
        return 0
    info[0] = 1.0 if target == 0.0 else 0.0
    ideal = mu == math.inf
    if need == 0.0 and not (ideal and free[0] != 0.0):
        info[1] = 1.0 if free[0] == 0.0 else 0.0
        return 0
    det = A[0] * A[3] - A[1] * A[2]
    if det > 1e-14 * A[0] * A[3]:
        stick_t = (-free[0] * A[3] - A[1] * need) / det
        stick_n = (A[0] * need + A[2] * free[0]) / det
    else:
        stick_t, stick_n = 0.0, need / A[3]  # the point can move in one direction only
    if ideal:
        # without limit the least pressure is enough, and what rounding makes of none is none
        if stick_n * det < -1e-14 * (abs(A[0] * need) + abs(A[2] * free[0])):
            out[0] = need / A[2]
            return 0
        out[0], out[1] = stick_t, max(stick_n, 0.0)
        info[1] = 1.0
        return 0
    if stick_n >= 0.0 and abs(stick_t) <= mu * stick_n * (1.0 + 1e-14) + 1e-15 * stick_n:
        out[0], out[1] = stick_t, stick_n
        info[1] = 1.0
        return 0
    sigma = -1.0 if stick_t > 0.0 else 1.0
    along = A[3] - sigma * mu * A[2]
    if not along > 0.0:
        return 1
    out[1] = need / along
    out[0] = -sigma * mu * out[1]
    return 0
