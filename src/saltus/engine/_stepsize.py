"""The size of the next step, from the error of the last."""

import math

from saltus._native import always_inline, bits_of, compiled, double_of
from saltus._sincos import ROUND

# Logarithm, to the base two, of the smallest error that the step controller remembers.
LOWEST_ERROR = math.log2(1e-4)

_FRACTION = 2**52 - 1
_ONE = 1023 << 52
_INTEGER = 4503599627370496.0  # 2^52: its lowest bits are those of an integer that was added to it
_INTEGER_BITS = (52 + 1023) << 52


@compiled
def _log2(x):
    """Logarithm to the base two of a positive number, to 2e-6: exponent, and a short series for the fraction.

    Steps need no better, and lanes no branch.
    """
    always_inline()
    bits = bits_of(x)
    exponent = double_of((bits >> 52) | _INTEGER_BITS) - (_INTEGER + 1023.0)
    m = double_of((bits & _FRACTION) | _ONE)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    return exponent + 2.8853900817779268 * s * (1.0 + z * (1.0 / 3.0 + z * (0.2 + z * (1.0 / 7.0 + z / 9.0))))


@compiled
def _exp2(x):
    """Two to a power within +-1000, to 2e-7."""
    always_inline()
    shifted = x + ROUND
    y = 0.6931471805599453 * (x - (shifted - ROUND))
    series = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0 + y * (1.0 / 120.0 + y / 720.0)))))
    return series * double_of((bits_of(shifted) + 1023) << 52)


@compiled
def shrunk(h, error, order):
    """A shorter step after one that was refused."""
    always_inline()
    power = _exp2(-_log2(min(max(error, 1.0), 1e100)) / order)
    return h * max(0.2, 0.9 * power) if error < math.inf else 0.1 * h


@compiled
def grown(error, remembered, refused, order):
    """Factor of the next step, and what to remember, by Gustafsson's controller [hairer1993, IV.2]."""
    always_inline()
    size = _log2(max(error, 1e-10))
    factor = 0.9 * _exp2(0.04 * remembered - (1.0 / order - 0.03) * size)
    return min(max(factor, 0.2), 1.0 if refused else 10.0), max(size, LOWEST_ERROR)
