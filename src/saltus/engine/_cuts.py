"""Inputs that meet their actuators' limits inside a step: their rate jumps there, and a step is to end there.

A step over such a bend costs accuracy that its error estimate may not see, and its derivatives would be those of
neither side.
"""

from saltus._native import compiled, never_inline
from saltus.engine import _layout as L
from saltus.engine._flow import set_inputs
from saltus.engine._instants import same_time
from saltus.engine._tableau import dense_at

# A bend so near to an end of a step, as a part of it, is at its end: what it costs falls with the square.
NEAR = 1e-6

# A step is made a little longer than to where a long one sees the bend, so that the next sees it better.
ROUGHLY, CLOSELY = 1e-3, 1e-7

# How many places of a step are looked at.
PLACES = 8


@compiled
def forget_sides(I):
    """Begin to note on which sides of their limits inputs are."""
    for i in range(I[L.NU]):
        I[I[L.SEEN] + i] = 0


@compiled
def keep_sides(I):
    """The sides noted since are those on which the next step begins."""
    for i in range(I[L.NU]):
        I[I[L.CUT] + i] = I[I[L.SEEN] + i]


@compiled
def changed_sides(I):
    """Whether an input was seen on another side of its limits than where the step began."""
    changed = False
    for i in range(I[L.NU]):
        changed = changed or I[I[L.SEEN] + i] & ~I[I[L.CUT] + i] != 0
    return changed


@compiled
def _changed_at(I, D, t, h, s):
    dense_at(D, I[L.DENSE], I[L.N], I[L.NRC], s, D, I[L.YD], I[L.N])
    forget_sides(I)
    return set_inputs(I, D, t + s * h, I[L.YD]) == 0 and changed_sides(I)


@compiled
def bend(I, D, t, h):
    """How long the step just made is to be instead, so that it ends where an input meets a limit; 0.0: as it is.

    Then the sides on which it ends are noted.
    """
    never_inline()
    low, high = 0.0, 0.0
    for k in range(PLACES):
        high = (k + 1.0) / PLACES
        if _changed_at(I, D, t, h, high):
            break
        low = high
    if low < high:
        while high - low > 0.1 * CLOSELY * high and high > NEAR:
            middle = 0.5 * (low + high)
            if _changed_at(I, D, t, h, middle):
                high = middle
            else:
                low = middle
        if NEAR < high < 1.0 - NEAR and high * h > same_time(t):
            return h * min(1.0, high * (1.0 + (CLOSELY if high > 1.0 - 10.0 * ROUGHLY else ROUGHLY)))
    forget_sides(I)
    set_inputs(I, D, t + h, I[L.YN])
    keep_sides(I)
    return 0.0
