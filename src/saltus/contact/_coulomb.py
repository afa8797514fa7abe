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


@compiled
def plastic_in_space(A, free, target):
    """The impulse (t, n, s) that gives a normal velocity and stops what sliding can be stopped.

    Where the contact cannot move in every direction it is the one with the least friction.
    """
    return stopped_in_space(A, free[0], target - free[1], free[2])


@compiled
def stopped_in_space(A, along, need, aside):
    """The impulse (t, n, s) that changes the normal velocity by what it needs and stops what slides along and aside."""
    # the normal impulse eliminated: S is how sliding answers to friction while the normal velocity stays as wanted
    tt, ts, ss = A[0] - A[1] * A[3] / A[4], A[2] - A[1] * A[5] / A[4], A[8] - A[7] * A[5] / A[4]
    a, c = -along - A[1] * need / A[4], -aside - A[7] * need / A[4]
    det, trace, none = tt * ss - ts * ts, tt + ss, 1e-14 * (A[0] + A[4] + A[8])
    t = s = 0.0
    # S has no negative eigenvalue; where it is zero, rounding may make its trace negative
    if trace > none and det > none * trace:
        t, s = (ss * a - ts * c) / det, (tt * c - ts * a) / det
    elif trace > none:  # it slides in one direction only: the pseudo-inverse
        t, s = (tt * a + ts * c) / trace**2, (ts * a + ss * c) / trace**2
    return t, (need - A[3] * t - A[5] * s) / A[4], s


@compiled
def _without_limit(A, free, need):
    """The impulse (t, s) along the ground that sliding friction tends to as it grows beyond all limits.

    It acts against what sliding it leaves: it is f with (B + k) f = -v for some k > 0, where B is the Delassus matrix
    and v the velocity along the ground. The pressure tends to zero: f alone changes the normal velocity as needed.
    """
    if not need > 0.0:
        return 0.0, 0.0
    det, trace = A[0] * A[8] - A[2] * A[6], A[0] + A[8]
    across_t, across_s = A[2] * free[2] - A[8] * free[0], A[6] * free[0] - A[0] * free[2]
    b = need * trace + A[3] * free[0] + A[5] * free[2]
    c = min(need * det - A[3] * across_t - A[5] * across_s, 0.0)
    root = math.sqrt(b * b - 4.0 * need * c)
    k = -2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * need)
    size = det + k * (trace + k)
    return (across_t - k * free[0]) / size, (across_s - k * free[2]) / size


@compiled
def _slide(A, free, need, mu, angle):
    """Sliding on along a direction: how far it turns from that, how fast it slides along it, and the normal impulse."""
    c, s = math.cos(angle), math.sin(angle)
    along = A[4] - mu * (c * A[3] + s * A[5])
    if not along > 0.0:
        return math.nan, math.nan, math.nan
    n = need / along
    v_t = free[0] + n * (A[1] - mu * (c * A[0] + s * A[2]))
    v_s = free[2] + n * (A[7] - mu * (c * A[6] + s * A[8]))
    return c * v_s - s * v_t, c * v_t + s * v_s, n


# Directions that are looked at for one in which sliding goes on.
DIRECTIONS = 64


@compiled
def rebound_in_space(A, free, target, mu, out, info):
    """As `rebound`, in space: what does not stick slides on in the direction against which friction acts."""
    out[0] = out[1] = out[2] = 0.0
    info[0] = info[1] = 0.0
    info[2] = math.nan
    need = target - free[1]
    if need < 0.0:
        return 0
    info[0] = 1.0 if target == 0.0 else 0.0
    ideal, still = mu == math.inf, free[0] == 0.0 and free[2] == 0.0
    if need == 0.0 and not (ideal and not still):
        info[1] = 1.0 if still else 0.0
        return 0
    t, n, s = plastic_in_space(A, free, target)
    size = math.hypot(t, s)
    if ideal:
        # without limit the least pressure is enough, and what rounding makes of none is none
        if n * A[4] < -1e-14 * (need + abs(A[3] * t) + abs(A[5] * s)):
            out[0], out[2] = _without_limit(A, free, need)
            return 0
        out[0], out[1], out[2] = t, max(n, 0.0), s
        info[1] = 1.0
        return 0
    if n >= 0.0 and size <= mu * n * (1.0 + 1e-14) + 1e-15 * n:
        out[0], out[1], out[2] = t, n, s
        info[1] = 1.0
        return 0
    # from the direction against the force that would stop it, round the circle both ways
    middle = math.atan2(-s, -t)
    for k in range(DIRECTIONS):
        half = (k + 1) // 2 if k % 2 == 1 else -(k // 2)
        low = middle + (half - 0.5) * 2.0 * math.pi / DIRECTIONS
        high = low + 2.0 * math.pi / DIRECTIONS
        at_low, at_high = _slide(A, free, need, mu, low)[0], _slide(A, free, need, mu, high)[0]
        if not at_low * at_high <= 0.0:
            continue
        for _ in range(60):
            angle = 0.5 * (low + high)
            turn = _slide(A, free, need, mu, angle)[0]
            if turn * at_low > 0.0:
                low = angle
            else:
                high = angle
        turn, speed, normal = _slide(A, free, need, mu, high)
        if speed > 0.0:
            out[0], out[1], out[2] = -mu * normal * math.cos(high), normal, -mu * normal * math.sin(high)
            return 0
    return 1
