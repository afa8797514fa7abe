"""Newton's restitution: v_n+ = -e v_n-, with Coulomb friction on the impulse.

With friction and restitution together it can create energy in rare configurations; the audit of a
run says so. Chatterjee's law of one contact does not.
"""

from saltus.contact._coulomb import rebound, rebound_in_space

COEFFICIENTS = (("restitution", 0.5, 0.0, 1.0),)
MAY_CREATE_ENERGY = True


def impulse(A, free, before, c, out, info):
    target = -c[1] * before[1] if before[1] < 0.0 else 0.0
    return rebound(A, free, target, c[0], out, info)


def impulse_in_space(A, free, before, c, out, info):
    target = -c[1] * before[1] if before[1] < 0.0 else 0.0
    return rebound_in_space(A, free, target, c[0], out, info)
