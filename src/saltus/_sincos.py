"""Sine and cosine together, inlined into kernels: within one unit in the last place, the same bits everywhere."""

from __future__ import annotations

import math

from saltus._native import always_inline, bits_of, compiled, double_of, never_inline

# Adding and taking away this number rounds to an integer: it leaves no room for a fraction.
ROUND = 6755399441055744.0

# Up to here multiples of the first two parts of pi/2 are exact.
LANE_LIMIT = 1.0e6

_SIGN = -(2**63)
_HALF = 2**32 - 1


def _words_of_two_over_pi(count: int) -> tuple[int, ...]:
    """The binary digits of 2/pi after the point, 64 in each word, as signed integers; pi is Machin's sum."""
    digits = 64 * count + 64

    def arc_cotangent(n: int) -> int:
        term = total = (1 << digits) // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))
    ratio = (2 << (2 * digits)) // pi >> 64
    words = [(ratio >> (64 * (count - 1 - k))) & (2**64 - 1) for k in range(count)]
    return tuple(word - 2**64 if word >= 2**63 else word for word in words)


# a word of zeros before them serves numbers whose last bit stands for a fraction
_DIGITS = (0, *_words_of_two_over_pi(20))


@compiled
def _reduced(x):
    """Reduce by multiples of pi/2 in three parts [ng1992]: the multiple with `ROUND` added, the rest, its rounding."""
    always_inline()
    shifted = x * 0.6366197723675814 + ROUND
    k = shifted - ROUND
    r = x - k * 1.57079632673412561417e00
    w = k * 6.07710050630396597660e-11
    y = r - w
    return shifted, y, ((r - y) - w) - k * 2.02226624879595063154e-21


@compiled
def _series(y, low):
    """Sine and cosine of y + low up to pi/4, by the minimax polynomials of fdlibm [ng1992]."""
    always_inline()
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
    return sine, cosine


@compiled
def _high_product(a, b):
    """The upper 64 bits of the product of a number below 2**53 and an unsigned one."""
    a0, a1, b0, b1 = a & _HALF, a >> 32, b & _HALF, (b >> 32) & _HALF
    cross = a0 * b1
    middle = a1 * b0 + (((a0 * b0) >> 32) & _HALF)
    return a1 * b1 + (middle >> 32) + ((cross >> 32) & _HALF) + (((middle & _HALF) + (cross & _HALF)) >> 32)


@compiled
def _digits_from(place):
    """64 digits of 2/pi from a place after the point on."""
    at = (place >> 6) + 1
    shift = place & 63
    if shift == 0:
        return _DIGITS[at]
    return (_DIGITS[at] << shift) | ((_DIGITS[at + 1] >> (64 - shift)) & ((1 << shift) - 1))


@compiled
def _reduced_far(x):
    """Reduce a large number by pi/2: only those digits of 2/pi are multiplied that tell the quadrant and the rest.

    The method is that of Payne and Hanek [payne1983]. Returns the quadrant, the rest, and its rounding.
    """
    never_inline()
    bits = bits_of(abs(x))
    m = (bits & (2**52 - 1)) | 2**52
    place = (bits >> 52) - 1075 - 2
    w0, w1, w2 = _digits_from(place), _digits_from(place + 64), _digits_from(place + 128)
    above = _high_product(m, w2)
    low = m * w1 + above
    carry = 1 if (low ^ _SIGN) < (above ^ _SIGN) else 0
    high = m * w0 + _high_product(m, w1) + carry
    # the two upper bits are the quadrant, the others a fraction of it: signed, from -1/2 to 1/2
    part = (high << 2) | ((low >> 62) & 3)
    quadrant = ((high >> 62) & 3) + (1 if part < 0 else 0)
    # a part of at most 53 bits, and what is left; near a multiple of pi/2 the first of them is all of it
    kept = -1 if -(2**52) < part < 2**52 else -2048
    first = float(part & kept)
    second = float(part & ~kept) + (float((low >> 9) & (2**53 - 1)) * 2.0**-53 + float(low & 511) * 2.0**-62)
    f = first + second
    rest = (first - f) + second
    f, rest = f * 2.0**-64, rest * 2.0**-64
    y = f * 1.5707963267948966
    # what rounding takes from the product [dekker1971]; pi/2 is the sum of three numbers
    wide = 134217729.0 * f
    f1 = wide - (wide - f)
    f2 = f - f1
    lost = ((f1 * 1.5707963407039642 - y) - f1 * 1.3909067675399456e-08 + f2 * 1.5707963407039642) - (
        f2 * 1.3909067675399456e-08
    )
    r = lost + (rest * 1.5707963267948966 + f * 6.123233995736766e-17)
    if x < 0.0:
        return -quadrant, -y, -r
    return quadrant, y, r


@compiled
def sincos(x):
    """Sine and cosine of one number; NaN for what is not finite."""
    always_inline()
    if abs(x) < 1.0e5:
        shifted, y, low = _reduced(x)
        quadrant = int(shifted - ROUND)
    elif abs(x) < math.inf:
        quadrant, y, low = _reduced_far(x)
    else:
        quadrant, y, low = 0, math.nan, math.nan
    sine, cosine = _series(y, low)
    quadrant &= 3
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
    shifted, y, low = _reduced(x if abs(x) <= LANE_LIMIT else math.nan)
    sine, cosine = _series(y, low)
    # the lowest bits of a number as large as ROUND are those of the integer that was added to it
    quadrant = bits_of(shifted)
    odd = (quadrant & 1) != 0
    s = cosine if odd else sine
    c = sine if odd else cosine
    s = double_of(bits_of(s) ^ ((quadrant << 62) & _SIGN))
    c = double_of(bits_of(c) ^ (((quadrant + 1) << 62) & _SIGN))
    return s, c
