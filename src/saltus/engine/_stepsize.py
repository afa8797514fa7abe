"""The size of the next step, from the error of the last."""

import math

from saltus._native import compiled

# Logarithm of the smallest error that the step controller remembers.
LOWEST_ERROR = math.log(1e-4)


@compiled
def shrunk(h, error, order):
    """A shorter step after one that was refused."""
    return 0.1 * h if not math.isfinite(error) else h * max(0.2, 0.9 * error ** (-1.0 / order))


@compiled
def grown(error, remembered, refused, order):
    """Factor of the next step, and what to remember, by Gustafsson's controller [hairer1993, IV.2]."""
    size = math.log(max(error, 1e-10))
    factor = 0.9 * math.exp(0.04 * remembered - (1.0 / order - 0.03) * size)
    return min(max(factor, 0.2), 1.0 if refused else 10.0), max(size, LOWEST_ERROR)
