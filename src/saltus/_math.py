"""Functions of `math` for compiled code, with the same bits on every processor.

A C library chooses another version of exp or atan2 for each processor, and their last bits differ. These use sums,
products, quotients and square roots only, which IEEE 754 defines to the bit. The reductions and minimax coefficients
are those published with fdlibm [ng1992]. Functions that are exact everywhere (`EXACT`) and constants come from `math`;
there are no others.
"""

from __future__ import annotations

import math
from typing import Any

from saltus._native import bits_of, compiled, double_of, never_inline, whole_above, whole_below
from saltus._sincos import ROUND, sincos

pi, inf, nan = math.pi, math.inf, math.nan

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG2_E = 1.44269504088896338700e00
_HALF_PI_HIGH, _HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
_PI_LOW = 1.2246467991473531772e-16
_SQRT_PI = 1.7724538509055160273
_TINY_NORMAL = 2.0**-1022
_SPLITTER = 2.0**27 + 1.0


# Defined to the bit by IEEE 754, or a matter of bits alone; numba's `degrees` and `radians` are one product.
EXACT = (
    "sqrt", "fabs", "copysign", "degrees", "radians", "frexp", "ldexp", "nextafter", "gcd", "isfinite", "isinf",
    "isnan", "e", "tau",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in EXACT:
        return getattr(math, name)
    raise AttributeError(f"math.{name} has no version that gives the same bits on every processor")


# Beyond this, an integer of 64 bits may have no room for a number; what a processor makes of it then, is its own.
_ROOM = 2.0**62


@compiled
def _integer(whole):
    """A whole number as an integer; of those without room, and of NaN, the same on every processor."""
    return int(min(max(whole, -_ROOM), _ROOM)) if whole == whole else 0


@compiled
def floor(x):
    """The largest integer that is not above x."""
    return _integer(whole_below(x))


@compiled
def ceil(x):
    """The least integer that is not below x."""
    return _integer(whole_above(x))


@compiled
def trunc(x):
    """The integer part of x."""
    return _integer(whole_below(x) if x > 0.0 else whole_above(x))


@compiled
def sin(x):
    """Sine."""
    return sincos(x)[0]


@compiled
def cos(x):
    """Cosine."""
    return sincos(x)[1]


@compiled
def tan(x):
    """Tangent."""
    s, c = sincos(x)
    return s / c


@compiled
def _scaled(x, k):
    """x times 2**k, in two steps, so that neither power overflows."""
    half = k >> 1
    return x * double_of((half + 1023) << 52) * double_of((k - half + 1023) << 52)


@compiled
def _reduced_exp(x, low):
    """exp(x + low) = 2**k (1 + r): k and r, for |x| < 750."""
    k = (x * _LOG2_E + ROUND) - ROUND
    high = x - k * _LN2_HIGH
    less = k * _LN2_LOW - low
    r = high - less
    z = r * r
    c = r - z * (
        1.66666666666666019037e-01
        + z
        * (
            -2.77777777770155933842e-03
            + z * (6.61375632143793436117e-05 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))
        )
    )
    return int(k), high - (less - r * c / (2.0 - c))


@compiled
def _exp_of_sum(x, low):
    never_inline()
    if x != x:
        return x
    if x > 710.0:
        return inf
    if x < -750.0:
        return 0.0
    k, r = _reduced_exp(x, low)
    return _scaled(1.0 + r, k)


@compiled
def exp(x):
    """e to the power of x."""
    return _exp_of_sum(x, 0.0)


@compiled
def expm1(x):
    """exp(x) - 1, exact to the last place near zero."""
    never_inline()
    if x != x or x == 0.0:
        return x
    if x > 710.0:
        return inf
    if x < -40.0:
        return -1.0
    k, r = _reduced_exp(x, 0.0)
    if k == 0:
        return r
    if k > 60:
        return _scaled(1.0 + r, k)
    return _scaled(r + (1.0 - _scaled(1.0, -k)), k)


@compiled
def _log_of(u, f_more, k):
    """log of 2**k u, where u is within a factor of sqrt(2) of one and f_more is what u - 1 lacks."""
    f = u - 1.0
    s = f / (2.0 + f)
    z = s * s
    R = z * (
        6.666666666666735130e-01
        + z
        * (
            3.999999999940941908e-01
            + z
            * (
                2.857142874366239149e-01
                + z
                * (
                    2.222219843214978396e-01
                    + z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))
                )
            )
        )
    )
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + R) + (k * _LN2_LOW + f_more))) - f)


@compiled
def _split(x):
    """k and u: x = 2**k u, u within a factor of sqrt(2) of one, for positive finite x."""
    k = 0
    if x < _TINY_NORMAL:
        x *= 2.0**54
        k = -54
    bits = bits_of(x)
    # adding this to the bits carries into the exponent where the fraction is above sqrt(2)
    up = (bits + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)) >> 52
    k += up - 1023
    return k, double_of(bits - ((up - 1023) << 52))


@compiled
def log(x):
    """Natural logarithm."""
    never_inline()
    if not x > 0.0:
        return -inf if x == 0.0 else nan
    if x == inf:
        return x
    k, u = _split(x)
    return _log_of(u, 0.0, float(k))


@compiled
def log1p(x):
    """log(1 + x), exact to the last place near zero."""
    never_inline()
    if not x > -1.0:
        return -inf if x == -1.0 else nan
    if x == inf or x == 0.0:
        return x
    whole = 1.0 + x
    lost = (x - (whole - 1.0)) if abs(x) < 1.0 else (1.0 - (whole - x))
    k, u = _split(whole)
    return _log_of(u, lost / whole, float(k))


@compiled
def log2(x):
    """Logarithm to the base 2."""
    never_inline()
    if not 0.0 < x < inf:
        return log(x)
    k, u = _split(x)
    return float(k) + _log_of(u, 0.0, 0.0) * _LOG2_E


@compiled
def log10(x):
    """Logarithm to the base 10."""
    return log(x) * 4.34294481903251816668e-01


@compiled
def atan(x):
    """Arc tangent."""
    never_inline()
    size = abs(x)
    if x != x:
        return x
    if size > 1.0e17:
        return math.copysign(_HALF_PI_HIGH, x)
    high = low = 0.0
    if size >= 2.4375:
        size, high, low = -1.0 / size, _HALF_PI_HIGH, _HALF_PI_LOW
    elif size >= 1.1875:
        size, high, low = (size - 1.5) / (1.0 + 1.5 * size), 9.82793723247329054082e-01, 1.39033110312309984516e-17
    elif size >= 0.6875:
        size, high, low = (size - 1.0) / (size + 1.0), 7.85398163397448278999e-01, 3.06161699786838301793e-17
    elif size >= 0.4375:
        size, high, low = (2.0 * size - 1.0) / (2.0 + size), 4.63647609000806093515e-01, 2.26987774529616870924e-17
    z = size * size
    w = z * z
    odd = z * (
        3.33333333333329318027e-01
        + w
        * (
            1.42857142725034663711e-01
            + w
            * (
                9.09088713343650656196e-02
                + w * (6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02))
            )
        )
    )
    even = w * (
        -1.99999999998764832476e-01
        + w
        * (
            -1.11111104054623557880e-01
            + w * (-7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))
        )
    )
    return math.copysign(high - ((size * (odd + even) - low) - size), x)


@compiled
def atan2(y, x):
    """Angle of the point (x, y), from -pi to pi."""
    never_inline()
    if x != x or y != y:
        return nan
    right = math.copysign(1.0, x) > 0.0
    if y == 0.0:
        return y if right else math.copysign(pi, y)
    if x == 0.0:
        return math.copysign(_HALF_PI_HIGH, y)
    if abs(x) == inf and abs(y) == inf:
        return math.copysign(0.25 * pi if right else 0.75 * pi, y)
    ratio = abs(y / x)
    if ratio > 1.0e18:
        angle = _HALF_PI_HIGH
    else:
        angle = atan(ratio)
        if not right:
            angle = pi - (angle - _PI_LOW)
    return math.copysign(angle, y)


@compiled
def _arc(z):
    """(asin(s) - s) / s for z = s**2 at most 1/4."""
    above = z * (
        1.66666666666666657415e-01
        + z
        * (
            -3.25565818622400915405e-01
            + z
            * (
                2.01212532134862925881e-01
                + z * (-4.00555345006794114027e-02 + z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05))
            )
        )
    )
    below = 1.0 + z * (
        -2.40339491173441421878e00
        + z * (2.02094576023350569471e00 + z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02))
    )
    return above / below


@compiled
def _upper_acos(x):
    """acos(x) from 1/2 to 1, halved: the root of (1 - x) / 2 to twice the digits, then a series."""
    z = 0.5 * (1.0 - x)
    s = math.sqrt(z)
    high = double_of(bits_of(s) & -0x100000000)
    rest = (z - high * high) / (s + high) if s > 0.0 else 0.0
    return high, rest + s * _arc(z)


@compiled
def asin(x):
    """Arc sine; NaN beyond one."""
    never_inline()
    size = abs(x)
    if not size <= 1.0:
        return nan
    if size < 0.5:
        return x + x * _arc(x * x)
    high, low = _upper_acos(size)
    return math.copysign(0.25 * pi - (2.0 * low - _HALF_PI_LOW - (0.25 * pi - 2.0 * high)), x)


@compiled
def acos(x):
    """Arc cosine; NaN beyond one."""
    never_inline()
    size = abs(x)
    if not size <= 1.0:
        return nan
    if size < 0.5:
        return _HALF_PI_HIGH - (x - (_HALF_PI_LOW - x * _arc(x * x)))
    high, low = _upper_acos(size)
    if x > 0.0:
        return 2.0 * (high + low)
    return pi - 2.0 * (high + (low - 0.5 * _PI_LOW))


@compiled
def sinh(x):
    """Hyperbolic sine."""
    never_inline()
    size = abs(x)
    if size > 40.0:
        root = exp(0.5 * size)
        return math.copysign(0.5 * root * root if size > 700.0 else 0.5 * exp(size), x)
    t = expm1(size)
    if size < 1.0:
        return math.copysign(0.5 * (2.0 * t - t * t / (t + 1.0)), x)
    return math.copysign(0.5 * (t + t / (t + 1.0)), x)


@compiled
def cosh(x):
    """Hyperbolic cosine."""
    never_inline()
    size = abs(x)
    if size > 700.0:
        root = exp(0.5 * size)
        return 0.5 * root * root
    if size < 0.5 * _LN2_HIGH:
        t = expm1(size)
        return 1.0 + t * t / (2.0 * (1.0 + t))
    t = exp(size)
    return 0.5 * t + 0.5 / t


@compiled
def tanh(x):
    """Hyperbolic tangent."""
    never_inline()
    size = abs(x)
    if x != x:
        return x
    if size > 22.0:
        return math.copysign(1.0, x)
    if size >= 1.0:
        return math.copysign(1.0 - 2.0 / (expm1(2.0 * size) + 2.0), x)
    t = expm1(-2.0 * size)
    return math.copysign(-t / (t + 2.0), x)


@compiled
def asinh(x):
    """Inverse of sinh."""
    never_inline()
    size = abs(x)
    if size > 1.0e9:
        return math.copysign(log(size) + (_LN2_HIGH + _LN2_LOW), x)
    square = size * size
    return math.copysign(log1p(size + square / (1.0 + math.sqrt(square + 1.0))), x)


@compiled
def acosh(x):
    """Inverse of cosh; NaN below one."""
    never_inline()
    if not x >= 1.0:
        return nan
    if x > 1.0e9:
        return log(x) + (_LN2_HIGH + _LN2_LOW)
    t = x - 1.0
    return log1p(t + math.sqrt(2.0 * t + t * t))


@compiled
def atanh(x):
    """Inverse of tanh; NaN beyond one."""
    never_inline()
    size = abs(x)
    if not size <= 1.0:
        return nan
    if size == 1.0:
        return math.copysign(inf, x)
    return math.copysign(0.5 * log1p(2.0 * size / (1.0 - size)), x)


@compiled
def _product(a, b):
    """a times b, and what rounding takes from it [dekker1971]."""
    whole = a * b
    wide = _SPLITTER * a
    a1 = wide - (wide - a)
    wide = _SPLITTER * b
    b1 = wide - (wide - b)
    a2, b2 = a - a1, b - b1
    return whole, ((a1 * b1 - whole) + a1 * b2 + a2 * b1) + a2 * b2


@compiled
def _long_log(x):
    """Logarithm as the sum of two numbers, for positive finite x."""
    k, u = _split(x)
    f = u - 1.0
    below = 2.0 + f
    lost = f - (below - 2.0)
    s = f / below
    back, less = _product(s, below)
    s_low = ((f - back) - less - s * lost) / below
    z = s * s
    # the series of 2 atanh(s) after its first term
    t = 1.0 / 23.0
    for n in range(21, 1, -2):
        t = 1.0 / n + z * t
    rest = 2.0 * (s_low + s * z * t)
    high, low = 2.0 * s, rest
    more = k * _LN2_HIGH
    whole = more + high
    low += (high - (whole - more)) if abs(more) >= abs(high) else (more - (whole - high))
    low += k * _LN2_LOW
    high = whole + low
    return high, low - (high - whole)


@compiled
def _whole_power(x, n):
    """x to a whole power that is not negative, by squaring."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@compiled
def pow(x, y):
    """x to the power of y; NaN for roots of negative numbers."""
    never_inline()
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return nan
    whole = whole_below(y) == y
    if whole and abs(y) <= 3.0:
        power = _whole_power(x, int(abs(y)))
        return power if y > 0.0 else 1.0 / power
    odd = whole and abs(y) < 2.0**53 and whole_below(0.5 * y) != 0.5 * y
    size = abs(x)
    if x < 0.0 and not whole and x != -inf:
        return nan
    if abs(y) == inf:
        if size == 1.0:
            return 1.0
        return inf if (size > 1.0) == (y > 0.0) else 0.0
    if size == 1.0:
        result = 1.0
    elif size == 0.0 or size == inf:
        result = inf if (size == inf) == (y > 0.0) else 0.0
    else:
        high, low = _long_log(size)
        if abs(y * high) > 800.0:
            result = inf if y * high > 0.0 else 0.0
        else:
            first, more = _product(y, high)
            result = _exp_of_sum(first, more + y * low)
    return -result if odd and math.copysign(1.0, x) < 0.0 else result


@compiled
def hypot(x, y):
    """Length of a vector in the plane."""
    x, y = abs(x), abs(y)
    if x == inf or y == inf:
        return inf
    large = max(x, y)
    if 1.0e-140 < large < 1.0e140:
        return math.sqrt(x * x + y * y)
    if not large > 0.0:
        return x + y
    scale = 2.0**600 if large < 1.0 else 2.0**-600
    x, y = x * scale, y * scale
    return math.sqrt(x * x + y * y) / scale


@compiled
def _erfc_fraction(x):
    """erfc(x) for x of 2 and more, by its continued fraction [abramowitz1964, 7.1.14]."""
    value = x
    for n in range(120, 0, -1):
        value = x + 0.5 * n / value
    square, lost = _product(x, x)
    return _exp_of_sum(-square, -lost) / (_SQRT_PI * value)


@compiled
def erf(x):
    """Error function."""
    never_inline()
    size = abs(x)
    if x != x:
        return x
    if size > 6.0:
        return math.copysign(1.0, x)
    if size >= 2.0:
        return math.copysign(1.0 - _erfc_fraction(size), x)
    # a series of positive terms [abramowitz1964, 7.1.6]
    term = total = 1.0
    n = 1
    while term > 1.0e-18 * total:
        term *= 2.0 * size * size / (2.0 * n + 1.0)
        total += term
        n += 1
    square, lost = _product(size, size)
    return math.copysign(2.0 * size / _SQRT_PI * _exp_of_sum(-square, -lost) * total, x)


@compiled
def _polynomial(coefficients, x):
    """A polynomial by Horner's rule, constant term first."""
    total = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        total = total * x + coefficients[k]
    return total


# (1 + 2 x) exp(x**2) erfc(x) from x = 1/4 to 28 as a polynomial in t = (x - 3.75) / (x + 3.75), the variable of
# [shepherd1981]; by interpolation at Chebyshev's points with 60 digits, to 1e-18.
_ERFC = (
    1.2375126308378275, -0.14024059858554702, 0.0035854154854636703, 0.08227673849015105, -0.10880393014170639,
    0.09230432116019827, -0.058693398590567734, 0.02836227742149656, -0.009746579547464114, 0.0017556258328409449,
    0.0002937135946341891, -0.00029015398347572065, 5.164940219363342e-05, 2.238393620180628e-05,
    -1.144500368924123e-05, -9.72937337467381e-07, 1.7532632702676725e-06, -5.805596918568747e-08,
    -2.6071548099737683e-07, 2.3973965462222308e-08, 4.0318834154513466e-08, -4.088455530572096e-09,
    -5.935697370338262e-09, 3.8366643394469633e-10, 5.801469056943053e-10,
)  # fmt: skip

# log(gamma(1 + f)) / (f (f - 1)) from f = 0 to 1 as a polynomial in 2 f - 1, found in the same way, to 1e-19.
_LOG_GAMMA = (
    0.4831289505409809, -0.07297994795715304, 0.01572785026864124, -0.003913560937626377, 0.00104981866444897,
    -0.0002945507015146143, 8.510090382501114e-05, -2.5094328729337463e-05, 7.511391135508744e-06,
    -2.274247007665434e-06, 6.948461670338335e-07, -2.1386487330773735e-07, 6.622900445314835e-08,
    -2.0616739835613578e-08, 6.44852415578375e-09, -2.0242977543119116e-09, 6.347242958511528e-10,
    -2.0053209362875985e-10, 6.658783632912748e-11, -2.115980517431393e-11, 4.7104952913992804e-12,
    -1.4980798127914213e-12, 1.2501115664892499e-12, -4.009497966372805e-13,
)  # fmt: skip

# Stirling's series [abramowitz1964, 6.1.41]: 12 x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2) in 1 / x**2.
_STIRLING = (1.0, -1 / 30, 1 / 105, -1 / 140, 1 / 99, -691 / 30030, 1 / 13, -3617 / 10200, 43867 / 20349)
_HALF_LOG_2PI, _HALF_LOG_2PI_LOW = 0.9189385332046728, -3.878294158067242e-17
_LN2, _LN2_REST = 0.6931471805599453, 2.3190468138462996e-17


@compiled
def _erfc_above(x):
    """erfc(x) for x of 1/4 and more."""
    square, lost = _product(x, x)
    return _exp_of_sum(-square, -lost) * (_polynomial(_ERFC, (x - 3.75) / (x + 3.75)) / (1.0 + 2.0 * x))


@compiled
def erfc(x):
    """One minus the error function, exact to the last places also where that is next to nothing."""
    never_inline()
    if abs(x) < 0.25:
        return 1.0 - erf(x)
    if x > 28.0:
        return 0.0
    if x > 0.0:
        return _erfc_above(x)
    return 2.0 - _erfc_above(-x) if x > -7.0 else (2.0 if x == x else x)


@compiled
def exp2(x):
    """2 to the power of x."""
    never_inline()
    if x != x:
        return x
    if x > 1024.0:
        return inf
    if x < -1080.0:
        return 0.0
    whole = (x + ROUND) - ROUND
    first, more = _product(x - whole, _LN2)
    return _scaled(_exp_of_sum(first, more + (x - whole) * _LN2_REST), int(whole))


@compiled
def _sum(a, b):
    """a plus b, and what rounding takes from it [knuth1998]."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


@compiled
def _stirling(x):
    """log(gamma(x)) as the sum of two numbers, from x = 12 to 1e17."""
    high, low = _long_log(x)
    first, lost = _product(x - 0.5, high)
    # x - 1/2 has lost its half where x is so large that nothing depends on it
    rest = lost + (x - 0.5) * low + _polynomial(_STIRLING, 1.0 / (x * x)) / (12.0 * x)
    first, lost = _sum(first, -x)
    rest += lost + _HALF_LOG_2PI_LOW
    first, lost = _sum(first, _HALF_LOG_2PI)
    return _sum(first, rest + lost)


@compiled
def _log_gamma_from_one(f):
    """log(gamma(1 + f)) for f from 0 to 1."""
    return f * (f - 1.0) * _polynomial(_LOG_GAMMA, 2.0 * f - 1.0)


@compiled
def _steps_down(x):
    """x from 1 on is taken down to 1 + f by steps of one: f, and the product of what comes before."""
    product = 1.0
    while x >= 2.0:
        x -= 1.0
        product *= x
    return x - 1.0, product


@compiled
def _sine_of_pi(x):
    """The size of sin(pi x), whatever x is; zero for whole numbers only."""
    rest = abs(x - whole_below(x + 0.5))
    return abs(sincos(pi * rest)[0])


@compiled
def _gamma_above_zero(x):
    if x > 172.0:
        return inf
    if x < 1.0:
        return exp(_log_gamma_from_one(x)) / x
    # factorials up to here have no more than 53 bits, and are products without rounding
    if x < 12.0 or (x <= 23.0 and whole_below(x) == x):
        f, product = _steps_down(x)
        return exp(_log_gamma_from_one(f)) * product
    high, low = _stirling(x)
    return _exp_of_sum(high, low)


@compiled
def gamma(x):
    """The gamma function; NaN for negative whole numbers, infinite at zero."""
    never_inline()
    if x > 0.0 or x != x:
        return _gamma_above_zero(x) if x == x else x
    if x == 0.0:
        return math.copysign(inf, x)
    if whole_below(x) == x:
        return nan
    if x > -0.5:
        return exp(_log_gamma_from_one(1.0 + x)) / ((1.0 + x) * x)
    # reflection [abramowitz1964, 6.1.17]
    size = -x
    sign = -1.0 if whole_below(0.5 * whole_below(size)) * 2.0 == whole_below(size) else 1.0
    if size > 200.0:
        return sign * 0.0
    factor = sign * pi / (size * _sine_of_pi(size))
    if size < 12.0:
        return factor / _gamma_above_zero(size)
    # in two halves, of which none is too small for a double
    high, low = _stirling(size)
    root = _exp_of_sum(-0.5 * high, -0.5 * low)
    return factor * root * root


@compiled
def _log_gamma_above_zero(x):
    if x < 1.0:
        return _log_gamma_from_one(x) - log(x)
    if x < 2.0:
        return _log_gamma_from_one(x - 1.0) + 0.0  # no negative zero
    if x < 3.0:
        return _log_gamma_from_one(x - 2.0) + log1p(x - 2.0)
    if x < 12.0:
        f, product = _steps_down(x)
        return _log_gamma_from_one(f) + log(product)
    if x < 1.0e17:
        high, low = _stirling(x)
        return high + low
    return x * (log(x) - 1.0) if x < 1.0e306 else inf


@compiled
def lgamma(x):
    """Logarithm of the size of the gamma function.

    Below zero it is the difference of two logarithms: its error is a few units in the last place of the larger one.
    """
    never_inline()
    if x != x:
        return x
    if x > 0.0:
        return _log_gamma_above_zero(x)
    if whole_below(x) == x:  # so is minus infinity
        return inf
    size = -x
    if size < 1.0e-17:
        return -log(size)
    return log(pi / (size * _sine_of_pi(size))) - _log_gamma_above_zero(size)
