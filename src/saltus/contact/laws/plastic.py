"""Plastic impact: no rebound, and no sliding afterwards where friction can stop it."""

from saltus.contact._coulomb import rebound, rebound_in_space

COEFFICIENTS = ()


def impulse(A, free, before, c, out, info):
    return rebound(A, free, 0.0, c[0], out, info)


def impulse_in_space(A, free, before, c, out, info):
    return rebound_in_space(A, free, 0.0, c[0], out, info)
