"""The memory of a differentiated run: what lies where in Q, and behind the arena D.

Columns of every matrix are, in this order, states at the start, parameters, and parameters of the
controller; some have one more, for time.
"""

# Fields of Q: sizes, addresses, limits, then places in D.
(
    NZ, NP, NC, NM, NEVENT, DERIVATIVES, SLOPES, ONLY, BLIND, SKIP, STRUCK, SIDED,
    TABLEAU, PHI, STAGE, NEXT, KZ, CU, INPUTS, HELD, MEMORY, MEMORY_NEXT, MEMORY_BASE, DER, SLOPE, EXT, DTAU, FORCES,
    COEF_P, LIMIT_P, TIMES, TANGENT, RATE, RATE_AFTER, RESULT, SPARE, SINCE, UNTIL, KEPT, SPEC, Q_END,
) = range(41)  # fmt: skip

# Places of a controller's parameter: the break that it moves, how many numbers it is, and where they are.
SPEC_WIDTH, MOST_PLACES = 6, 4

# Relative step of differences.
DIFFERENCE = 1e-3

# How often a difference of a reset is made smaller.
MOST_ATTEMPTS = 7

# In place of the number of a break, of an event that is none; a parameter that moves none has -1.
NO_BREAK = -2
