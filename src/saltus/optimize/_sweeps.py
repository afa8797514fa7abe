"""Sweeps of dynamic programming over a grid of states, compiled: every state moved on, and valued by where it gets."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types

from saltus._native import (
    FLOATS,
    INTEGERS,
    always_inline,
    compile_entry,
    compiled,
    ctypes_entry,
    never_inline,
)
from saltus.control import _grid as T
from saltus.control._grid import between, beyond, place_on
from saltus.engine import _single as S
from saltus.engine._single import BLOCK, call_move

# Beside the numbers of the grid, whole: which axis is cut into slices and which slice this is, the part of it that is
# to be done, steps of a motion, how many inputs are tried; the number of the sweep and the seed of random inputs; how
# often each state counts: once, or first those after a negative input, then those after a positive one.
AXIS, SLICE, FIRST, LAST, STEPS, INPUTS, SWEEP, SEED, SIDES, WHOLE = range(T.WHOLE, T.WHOLE + 10)

# Real: the length of a step, s, the rate of discount, 1/s, or what the full input costs; the largest input; what is
# left of a value after a reversal. Then inputs, and what each is worth.
LENGTH, DISCOUNT, LIMIT, LEFT, FIRST_INPUT = range(T.REAL, T.REAL + 5)
EFFORT = DISCOUNT

# What costs more than this has not come to the goal.
NEVER = 1e6

SHORTS = types.CPointer(types.int32)
SWEEP_KIND = types.float32(types.int64, *[FLOATS] * 6, SHORTS, INTEGERS, FLOATS)
"""sweep(move, V, out, kept, W, G, p, K, whole, real) -> the largest change, or how many inputs are new.

``W`` and ``K`` are room for one block, ``G`` the rates of all states of a tile, with some more at the end.
"""

# Rows of a block, after those of its motion: the coordinates of the tile, and shares of the way between states.
FROM_0, FROM_1, F0, F1, F2, F3, ROOM = range(S.ROWS, S.ROWS + 7)


@compiled
def _fill(W, G, begin):
    """Put the states of a tile from one on into a block: rates from a table of them, coordinates from their rows."""
    for l in range(BLOCK):
        W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l] = G[2 * (begin + l)], G[2 * (begin + l) + 1]
    for l in range(BLOCK):
        W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l] = W[FROM_0 * BLOCK + l], W[FROM_1 * BLOCK + l]
        W[S.HIT * BLOCK + l] = np.float32(-1.0)
        W[S.A0 * BLOCK + l] = W[S.A1 * BLOCK + l] = np.float32(0.0)


@compiled
def _begin_tile(W, real, i, j):
    """Both coordinates of all lanes."""
    q0 = real[T.LOWER] + np.float32(i) / real[T.PER_UNIT]
    q1 = real[T.LOWER + 1] + np.float32(j) / real[T.PER_UNIT + 1]
    for l in range(BLOCK):
        W[FROM_0 * BLOCK + l], W[FROM_1 * BLOCK + l] = q0, q1
    return 0


@compiled
def _locate(W, K, whole, real):
    """Of each lane the state below it, the steps to its neighbours and the shares of the way to them, into rows."""
    never_inline()
    n0, n1, n2, n3 = np.int32(whole[0]), np.int32(whole[1]), np.int32(whole[2]), np.int32(whole[3])
    first, second = whole[T.CLOSED] != 0, whole[T.CLOSED + 1] != 0
    low0, low1, low2, low3 = real[T.LOWER], real[T.LOWER + 1], real[T.LOWER + 2], real[T.LOWER + 3]
    per0, per1, per2, per3 = real[T.PER_UNIT], real[T.PER_UNIT + 1], real[T.PER_UNIT + 2], real[T.PER_UNIT + 3]
    for l in range(BLOCK):
        a0, d0, f0 = place_on(n0, first, low0, per0, W[S.Q0 * BLOCK + l])
        a1, d1, f1 = place_on(n1, second, low1, per1, W[S.Q1 * BLOCK + l])
        a2, _, f2 = place_on(n2, False, low2, per2, W[S.V0 * BLOCK + l])
        a3, _, f3 = place_on(n3, False, low3, per3, W[S.V1 * BLOCK + l])
        K[l], K[BLOCK + l], K[2 * BLOCK + l] = ((a0 * n1 + a1) * n2 + a2) * n3 + a3, d0 * n1 * n2 * n3, d1 * n2 * n3
        W[F0 * BLOCK + l], W[F1 * BLOCK + l], W[F2 * BLOCK + l], W[F3 * BLOCK + l] = f0, f1, f2, f3
    return 0


@compiled
def _led_to(V, side, W, K, n3, l):
    """The value of the state to which a lane has come, of one side."""
    always_inline()
    return between(
        V, side + K[l], K[BLOCK + l], K[2 * BLOCK + l], n3, W[F0 * BLOCK + l], W[F1 * BLOCK + l], W[F2 * BLOCK + l],
        W[F3 * BLOCK + l],
    )  # fmt: skip


def reach(move, V, out, kept, W, G, p, K, whole, real):
    """One slice: the best of some inputs, by the value of where they lead, discounted; or of the goal, if it is met.

    Notation: W(x, s) = max over u of e^(-dt/T) W(x', s'), where s' is the sign of u, or s if u is zero, times what is
    left after a reversal if s' is not s; and at the goal e^(-t/T) times what that is worth.
    """
    n1, n2, n3 = whole[1], whole[2], whole[3]
    size, steps, h, rate = n2 * n3, whole[STEPS], real[LENGTH], real[DISCOUNT]
    later = np.float32(math.exp(-rate * h * np.float32(steps)))
    one, zero = np.float32(1.0), np.float32(0.0)
    two_sides = whole[SIDES] == 2
    # from a state to the same after a positive input, in the table and in the slice
    other = whole[0] * n1 * size
    beside = (n1 if whole[AXIS] == 0 else whole[0]) * size
    change = zero
    for cross in range(whole[FIRST], whole[LAST]):
        i, j = (whole[SLICE], cross) if whole[AXIS] == 0 else (cross, whole[SLICE])
        _begin_tile(W, real, i, j)
        for begin in range(0, size, BLOCK):
            count = min(BLOCK, size - begin)
            target = cross * size + begin
            for k in range(whole[INPUTS]):
                _fill(W, G, begin)
                u = real[FIRST_INPUT + k]
                for l in range(BLOCK):
                    W[S.U * BLOCK + l] = u
                call_move(move, W, p, h, steps)
                _locate(W, K, whole, real)
                worth = real[FIRST_INPUT + whole[INPUTS] + k]
                side = other if two_sides and u > zero else 0
                after_minus = real[LEFT] if u > zero else one
                after_plus = real[LEFT] if u < zero else one
                for l in range(count):
                    met = W[S.HIT * BLOCK + l]
                    second = zero
                    if met >= zero:
                        value = np.float32(math.exp(-rate * met)) * W[S.WORTH * BLOCK + l]
                        second = value
                    elif beyond(
                        whole, real, W[S.Q0 * BLOCK + l], W[S.Q1 * BLOCK + l], W[S.V0 * BLOCK + l], W[S.V1 * BLOCK + l]
                    ):
                        value = zero
                    else:
                        value = later * _led_to(V, side, W, K, n3, l)
                        second = later * _led_to(V, other, W, K, n3, l) if two_sides and u == zero else value
                    value *= worth
                    if not two_sides:
                        out[target + l] = value if k == 0 else max(out[target + l], value)
                        continue
                    second *= worth
                    minus, plus = after_minus * value, after_plus * second
                    out[target + l] = minus if k == 0 else max(out[target + l], minus)
                    out[beside + target + l] = plus if k == 0 else max(out[beside + target + l], plus)
            old = (i * n1 + j) * size + begin
            for l in range(count):
                change = max(change, abs(out[target + l] - V[old + l]))
                if two_sides:
                    change = max(change, abs(out[beside + target + l] - V[other + old + l]))
    return change


@compiled
def _drawn(seed, sweep, state):
    """A number from -1 to 1 for a state in a sweep: the same whoever asks for it, and in whatever order."""
    always_inline()
    x = np.uint64(state) + (np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) ^ (np.uint64(sweep) << np.uint64(40)))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.float32(np.int32(x >> np.uint64(40))) * np.float32(2.0 / 2**24) - np.float32(1.0)


@compiled
def _draw(W, whole, real, first):
    """Random inputs of the lanes."""
    never_inline()
    limit, seed, sweep = real[LIMIT], whole[SEED], whole[SWEEP]
    for l in range(BLOCK):
        W[S.U * BLOCK + l] = limit * _drawn(seed, sweep, first + l)
    return 0


def random_actions(move, V, out, kept, W, G, p, K, whole, real):
    """One slice: the input that is kept or a random one, by the cost of the state and of the nearest where it leads.

    Notation: [yang2016, 7.2.2], Q(X, u) = L(X) + V(f(X, u)) with the goal absorbing.
    """
    n1, n2, n3 = whole[1], whole[2], whole[3]
    size, steps, h, i = n2 * n3, whole[STEPS], real[LENGTH], whole[SLICE]
    half = np.float32(0.5)
    changed = np.float32(0.0)
    for j in range(whole[FIRST], whole[LAST]):
        _begin_tile(W, real, i, j)
        for begin in range(0, size, BLOCK):
            count = min(BLOCK, size - begin)
            first = (i * n1 + j) * size + begin
            for k in range(2):
                _fill(W, G, begin)
                if k == 1:
                    _draw(W, whole, real, first)
                else:
                    for l in range(count):
                        W[S.U * BLOCK + l] = kept[first + l]
                call_move(move, W, p, h, steps)
                _locate(W, K, whole, real)
                for l in range(count):
                    met, share = W[S.HIT * BLOCK + l], W[S.U * BLOCK + l] / real[LIMIT]
                    cost = W[S.COST * BLOCK + l] + real[EFFORT] * share * share
                    if met < np.float32(0.0):
                        there = (
                            K[l]
                            + (K[BLOCK + l] if W[F0 * BLOCK + l] > half else 0)
                            + (K[2 * BLOCK + l] if W[F1 * BLOCK + l] > half else 0)
                            + (n3 if W[F2 * BLOCK + l] > half else 0)
                            + (1 if W[F3 * BLOCK + l] > half else 0)
                        )
                        value = cost + V[there]
                    else:
                        value = cost if met > np.float32(0.0) else np.float32(0.0)
                    state = first + l
                    if k == 0:
                        out[state] = value
                    elif value < out[state]:
                        out[state] = value
                        kept[state] = W[S.U * BLOCK + l]
                        changed += np.float32(1.0)
    return changed


@lru_cache(maxsize=2)
def sweeper(name: str) -> tuple[Any, Any]:
    """A compiled sweep as a Python callable, and what must be kept for it."""
    law = {"reach": reach, "random_actions": random_actions}[name]
    entry = compile_entry(law, SWEEP_KIND, f"sweep-{name}")
    kinds = [ctypes.c_int64, *[ctypes.c_void_p] * 9]
    return ctypes_entry(entry, ctypes.c_float, kinds), entry
