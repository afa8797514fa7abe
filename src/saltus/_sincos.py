"""Sine and cosine together, inlined into kernels: within one unit in the last place, twice as fast as libm."""

from __future__ import annotations

import math

from saltus._native import always_inline, bits_of, compiled, double_of

# Adding and taking away this number rounds to an integer: it leaves no room for a fraction.
ROUND = 6755399441055744.0

# Up to here multiples of the first two parts of pi/2 are exact.
LANE_LIMIT = 1.0e6

_SIGN = -(2**63)


@compiled
def _reduced(x):
    """Reduce by multiples of pi/2 in three parts, then two minimax polynomials.

    Returns the multiple with `ROUND` added, and sine and cosine of the rest. The parts of pi/2 and
    the minimax coefficients are those published with fdlibm [ng1992].
    """
    always_inline()
    shifted = x * 0.6366197723675814 + ROUND
    k = shifted - ROUND
    r = x - k * 1.57079632673412561417e00
    w = k * 6.07710050630396597660e-11
    y = r - w
    low = ((r - y) - w) - k * 2.02226624879595063154e-21
    z = y * y
    z2 = z * z
    # Estrin's scheme: the same polynomials as Horner's, in fewer steps that wait for each other
    ps = (8.33333333332248946124e-03 - z * 1.98412698298579493134e-04) + z2 * (
        (2.75573137070700676789e-06 - z * 2.50507602534068634195e-08) + z2 * 1.58969099521155010221e-10
    )
    v = z * y
    sine = y - ((z * (0.5 * low - v * ps) - low) + v * 1.66666666666666324348e-01)
    pc = (4.16666666666666019037e-02 - z * 1.38888888888741095749e-03) + z2 * (
        (2.48015872894767294178e-05 - z * 2.75573143513906633035e-07)
        + z2 * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11)
    )
    pc = z * pc
    half = 0.5 * z
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * pc - y * low))
    return shifted, sine, cosine


@compiled
def sincos(x):
    """Sine and cosine of one number; beyond |x| = 1e5 they are left to libm."""
    always_inline()
    if not abs(x) < 1.0e5:
        return math.sin(x), math.cos(x)
    shifted, sine, cosine = _reduced(x)
    quadrant = int(shifted - ROUND) & 3
    odd = (quadrant & 1) != 0
    s = cosine if odd else sine
    c = sine if odd else cosine
    s = -s if (quadrant & 2) != 0 else s
    c = -c if ((quadrant + 1) & 2) != 0 else c
    return s, c


@compiled
def lane_sincos(x):
    """The same without a branch, for loops over lanes: within two units up to `LANE_LIMIT`, NaN beyond."""
    always_inline()
    shifted, sine, cosine = _reduced(x if abs(x) <= LANE_LIMIT else math.nan)
    # the lowest bits of a number as large as ROUND are those of the integer that was added to it
    quadrant = bits_of(shifted)
    odd = (quadrant & 1) != 0
    s = cosine if odd else sine
    c = sine if odd else cosine
    s = double_of(bits_of(s) ^ ((quadrant << 62) & _SIGN))
    c = double_of(bits_of(c) ^ (((quadrant + 1) << 62) & _SIGN))
    return s, c
