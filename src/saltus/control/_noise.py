"""Random numbers by their place in a sequence: the same in every run of a seed, on any thread."""

from __future__ import annotations

import math

import numpy as np

from saltus._native import compiled


@compiled
def uniform(seed, place):
    """A number from 0 up to 1, the one at a place in the sequence of a seed, by the mixing of splitmix64, twice."""
    z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(place) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        z = z + np.uint64(0x9E3779B97F4A7C15)
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def normal_pair(seed, place):
    """Two independent normal numbers of variance one, from two places of the sequence, by Box and Muller."""
    size = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, place)))
    angle = 2.0 * math.pi * uniform(seed, place + 1)
    return size * math.cos(angle), size * math.sin(angle)
