"""A smooth impact: the normal velocity is reversed and scaled, nothing happens along the ground."""

import math

COEFFICIENTS = (("restitution", 0.5, 0.0, 1.0),)


def impulse(A, free, before, c, out, info):
    out[0] = out[1] = 0.0
    info[0] = info[1] = 0.0
    info[2] = math.nan
    need = -c[1] * min(before[1], 0.0) - free[1]
    if need > 0.0:
        out[1] = need / A[3]
        info[0] = 1.0 if c[1] == 0.0 else 0.0
    return 0
