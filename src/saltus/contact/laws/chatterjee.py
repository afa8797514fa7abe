"""Chatterjee and Ruina's algebraic law with a normal and a tangential restitution."""

import math

from saltus.contact._coulomb import plastic_in_space, stopped_in_space

COEFFICIENTS = (("normal", 0.0, 0.0, 1.0), ("tangential", 0.0, -1.0, 1.0))


def impulse(A, free, before, c, out, info):
    # Notation: [chatterjee1998] as in [oh_huang, item 3]: I frictionless, II fully plastic, and
    # the test impulse (1 + e_n) I + (1 + e_t) (II - I) that decides whether the cone binds.
    mu, e_n, e_t = c[0], c[1], c[2]
    out[0] = out[1] = 0.0
    info[0] = info[1] = 0.0
    info[2] = math.nan
    # restitution gives back part of the velocity before the event, whatever others add to it
    back = e_n * min(before[1], 0.0)
    if free[1] + back >= 0.0:
        info[0] = 1.0 if free[1] == 0.0 and back == 0.0 else 0.0
        return 0
    det = A[0] * A[3] - A[1] * A[2]
    one_n = -free[1] / A[3]
    given_n = one_n - back / A[3]
    two_t, two_n = 0.0, one_n  # the point can move in one direction only
    if det > 1e-14 * A[0] * A[3]:
        two_t = (-free[0] * A[3] + A[1] * free[1]) / det
        two_n = (-A[0] * free[1] + A[2] * free[0]) / det
    turn_t, turn_n, most = two_t, two_n - one_n, 1.0 + e_t
    other_t, other_n = before[0] - free[0], before[1] - free[1]
    if e_t != 0.0 and (other_t != 0.0 or other_n != 0.0) and det > 1e-14 * A[0] * A[3]:
        # so does tangential restitution: what others add is stopped, and not turned round
        other_t = (A[1] * other_n - A[3] * other_t) / det
        turn_t, turn_n = most * turn_t + e_t * other_t, most * turn_n - e_t * A[2] * other_t / A[3]
        most = 1.0
    test_t, test_n = most * turn_t, given_n + most * turn_n
    if mu == math.inf and not test_n > 0.0:
        kappa = -given_n / turn_n  # it would have to pull at the ground: what larger friction tends to
    elif abs(test_t) <= mu * test_n * (1.0 + 1e-14) + 1e-15 * given_n:
        kappa = most
        info[1] = 1.0 if e_n == 0.0 and e_t == 0.0 else 0.0
    else:
        bound = abs(turn_t) - mu * turn_n
        if not bound > 0.0:
            return 1
        kappa = mu * given_n / bound
    out[0] = kappa * turn_t
    out[1] = max(given_n + kappa * turn_n, 0.0)  # no rounding pulls
    info[0] = 1.0 if back == 0.0 else 0.0
    info[2] = kappa * (1.0 + e_t) / most
    return 0


def impulse_in_space(A, free, before, c, out, info):
    mu, e_n, e_t = c[0], c[1], c[2]
    out[0] = out[1] = out[2] = 0.0
    info[0] = info[1] = 0.0
    info[2] = math.nan
    back = e_n * min(before[1], 0.0)
    if free[1] + back >= 0.0:
        info[0] = 1.0 if free[1] == 0.0 and back == 0.0 else 0.0
        return 0
    one_n = -free[1] / A[4]
    given_n = one_n - back / A[4]
    two_t, two_n, two_s = plastic_in_space(A, free, 0.0)
    turn_t, turn_n, turn_s, most = two_t, two_n - one_n, two_s, 1.0 + e_t
    other_t, other_n, other_s = before[0] - free[0], before[1] - free[1], before[2] - free[2]
    if e_t != 0.0 and (other_t != 0.0 or other_n != 0.0 or other_s != 0.0):
        # as in the plane
        other_t, _, other_s = stopped_in_space(A, other_t, -other_n, other_s)
        turn_t, turn_s = most * turn_t + e_t * other_t, most * turn_s + e_t * other_s
        turn_n = most * turn_n - e_t * (A[3] * other_t + A[5] * other_s) / A[4]
        most = 1.0
    size, test_n = math.hypot(turn_t, turn_s), given_n + most * turn_n
    if mu == math.inf and not test_n > 0.0:
        kappa = -given_n / turn_n  # as in the plane
    elif most * size <= mu * test_n * (1.0 + 1e-14) + 1e-15 * given_n:
        kappa = most
        info[1] = 1.0 if e_n == 0.0 and e_t == 0.0 else 0.0
    else:
        bound = size - mu * turn_n
        if not bound > 0.0:
            return 1
        kappa = mu * given_n / bound
    out[0] = kappa * turn_t
    out[1] = max(given_n + kappa * turn_n, 0.0)  # no rounding pulls
    out[2] = kappa * turn_s
    info[0] = 1.0 if back == 0.0 else 0.0
    info[2] = kappa * (1.0 + e_t) / most
    return 0
