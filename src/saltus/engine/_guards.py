"""Guards during a step: cheap screening of every step, and a careful search where a zero is suspected."""

import math

from saltus._native import call_kernel, call_part, compiled, never_inline
from saltus.contact._unit import FORCE, KINEMATIC, NONE
from saltus.engine import _layout as L
from saltus.engine._flow import flow
from saltus.engine._guard_values import (
    floor_of,
    floor_of_rate,
    guards,
    kinematics,
    rate_of_gap,
    sizes,
    slopes,
)
from saltus.engine._instants import same_time
from saltus.engine._slides import RESOLVED, astray
from saltus.engine._tableau import DENSE_ONLY, dense_at

# What screening says instead of a number of suspects.
NOT_A_NUMBER, TOO_LONG = -1, -2

# What SUSPECT says of a guard: that it may be zero in the step, and that its rate was used to locate the zero.
BY_VALUE, BY_SPEED = 1, 2

# The end of a flight no higher than so many times what a gap is known to is located by its rate.
UNSEEN = 1000.0

# Steps shorter than this are not cut for the sake of forces, s.
SHORT = 1e-3


@compiled
def longest_step(I, D):
    """The length of a step over which guards, waves of the angles, are resolved: no more than two radians in all.

    Where nothing but inertia turns a body, accuracy sets no bound. From s h + a h^2 / 2 = 2, with
    s and a the sums of all angular speeds and accelerations. No robot turns so fast that this is
    less than a microsecond; where numbers are that absurd, guards are not resolved.
    """
    never_inline()
    nv, k, speed, acceleration = I[L.NV], I[L.K] + I[L.NQ], 0.0, 0.0
    for i in range(nv):
        if I[I[L.ANGLE] + i] == 1:
            speed += abs(D[I[L.Y] + I[L.NQ] + i])
            acceleration += abs(D[k + i])
    return resolved(speed, acceleration)


@compiled
def resolved(speed, acceleration):
    """The time in which angles turn by two radians in all."""
    total = speed + math.sqrt(speed * speed + 4.0 * acceleration)
    return 4.0 / total if 0.0 < total < 4e6 else math.inf


@compiled
def _note(I, D, values, kind):
    never_inline()
    for slot in range(I[L.NGUARD]):
        if I[I[L.GUARD_KIND] + slot] == kind:
            g = D[values + slot]
            if g < D[I[L.GLOW] + slot]:
                D[I[L.GLOW] + slot] = g
            if g > D[I[L.GHIGH] + slot]:
                D[I[L.GHIGH] + slot] = g


@compiled
def screen(I, D, t, h):
    """Mark the guards that may have a zero in the step just made; returns how many.

    Force guards are judged by their values at the stages, the others by values and rates at both
    ends: by the hull of the cubic through them. Where that is not far from zero, five samples of
    the dense output decide; a guard whose fourth difference is large is not resolved by them and
    is looked at on a finer grid. Forces that follow inputs while nothing moves are judged by both,
    and if five samples do not resolve them the step is TOO_LONG. A guard may be NOT_A_NUMBER.
    """
    return call_part(I[L.SCREEN], I, D, t, h, 0, 0, 0)


def screen_part(I, D, t, h, a, b, c):
    """The part behind `screen`."""
    stages = I[L.NSTAGE]
    ng, g0, g1, grid = I[L.NGUARD], I[L.G0], I[L.G1], I[L.GRID]
    low, high = I[L.GLOW], I[L.GHIGH]
    forces = kinematic = False
    for slot in range(ng):
        kind = I[I[L.GUARD_KIND] + slot]
        forces = forces or kind == FORCE
        kinematic = kinematic or kind == KINEMATIC
        D[low + slot] = D[high + slot] = D[g0 + slot]
    kinematics(I, D, t + h, I[L.YN])
    guards(I, D, I[L.LAM] + (stages - 1) * I[L.NROW], g1)
    for slot in range(ng):
        if I[I[L.GUARD_KIND] + slot] != NONE and math.isnan(D[g1 + slot]):
            return NOT_A_NUMBER
    if I[L.NSLIDE] > 0 and astray(I, D, h):
        return TOO_LONG
    _note(I, D, g1, KINEMATIC)
    _note(I, D, g1, FORCE)
    if forces:
        for j in range(1, stages - 1):
            guards(I, D, I[L.LAM] + j * I[L.NROW], grid)
            _note(I, D, grid, FORCE)
    I[L.UNRESOLVED] = 0
    # where accuracy does not limit the step, as at rest, inputs may change much within it
    idle = forces and I[L.CONTROL_KIND] == L.CONTINUOUS and D[L.ERROR] < 0.01
    if kinematic:
        slopes(I, D, t + h, I[L.YN], I[L.K] + (stages - 1) * I[L.NY], I[L.SLOPE1])
    near = kinematic and _near(I, D, h)
    if near or idle:
        if I[L.WATCH] == 1 and I[L.NCLOSED] + I[L.NQUAT] == 0:
            call_part(I[L.STEP], I, D, t, h, DENSE_ONLY, 0, 0)
        for j in range(1, 4):
            guards_at(I, D, t, h, 0.25 * j, idle, grid + j * ng)
            _note(I, D, grid + j * ng, KINEMATIC)
            if idle:
                _note(I, D, grid + j * ng, FORCE)
    found = 0
    for slot in range(ng):
        kind = I[I[L.GUARD_KIND] + slot]
        I[I[L.SUSPECT] + slot] = 0
        if kind == NONE or (kind == KINEMATIC and not near and not idle):
            continue
        spread = D[high + slot] - D[low + slot]
        suspect = not D[low + slot] > 0.5 * spread
        if kind == KINEMATIC or idle:
            middle = D[g0 + slot] + D[g1 + slot] + 6.0 * D[grid + 2 * ng + slot]
            fourth = abs(middle - 4.0 * (D[grid + ng + slot] + D[grid + 3 * ng + slot]))
            if fourth > 0.1 * spread and not D[low + slot] > 10.0 * spread:
                if kind == FORCE and h > SHORT:
                    return TOO_LONG
                I[L.UNRESOLVED] = 1
                suspect = True
        if suspect:
            I[I[L.SUSPECT] + slot] = BY_VALUE
            found += 1
    return found


@compiled
def clear(a, slope_a, d, slope_d, third, zero):
    """Whether the cubic through values and rates at both ends of a step, of three times this length, stays above zero.

    By the hull of its Bezier points, with room for what a cubic does not tell. One that is ``zero``
    at the start must leave it at once and rise evenly: a step over whole waves of a guard does not.
    """
    b, c = a + third * slope_a, d - third * slope_d
    low, high = min(b, min(c, d)), max(max(a, b), max(c, d))
    bend = max(abs(a - 2.0 * b + c), abs(b - 2.0 * c + d))
    return (low > 0.1 * high) & (bend < 0.2 * high) if zero else min(a, low) > 0.5 * (high - min(a, low))


@compiled
def _near(I, D, h):
    """Whether some guard is not clear of zero on the step."""
    never_inline()
    for slot in range(I[L.NGUARD]):
        if I[I[L.GUARD_KIND] + slot] == KINEMATIC:
            a, d, zero = D[I[L.G0] + slot], D[I[L.G1] + slot], I[I[L.ZERO] + slot] == 1
            if not clear(a, D[I[L.SLOPE0] + slot], d, D[I[L.SLOPE1] + slot], h / 3.0, zero):
                return True
    return False


@compiled
def guards_at(I, D, t, h, s, forces, out):
    """All guards at a fraction s of the step, on the dense output."""
    never_inline()
    dense_at(D, I[L.DENSE], I[L.N], I[L.NRC], s, D, I[L.YD], I[L.N])
    if forces:
        flow(I, D, t + s * h, I[L.YD], I[L.KD], I[L.LAMD])
    kinematics(I, D, t + s * h, I[L.YD])
    guards(I, D, I[L.LAMD], out)


@compiled
def guard_at(I, D, t, h, s, slot):
    """One guard at a fraction s of the step, on the dense output."""
    never_inline()
    guards_at(I, D, t, h, s, I[I[L.GUARD_KIND] + slot] == FORCE, I[L.G1])
    return D[I[L.G1] + slot]


@compiled
def _crossing(I, D, t, h, slot, base, a, b, ga, gb):
    """Where the guard is ``base`` in [a, b], above it at a and not at b (Illinois with bisection)."""
    never_inline()
    for k in range(80):
        if b - a <= 2e-16 * b or gb == 0.0:
            break
        s = b - gb * (b - a) / (gb - ga)
        if k % 3 == 2 or not a < s < b:
            s = 0.5 * (a + b)
        g = guard_at(I, D, t, h, s, slot) - base
        if g > 0.0:
            a, ga = s, g
            gb *= 0.5
        else:
            b, gb = s, g
            ga *= 0.5
    return b


@compiled
def _lowest(I, D, t, h, slot, a, b):
    """Golden-section search for a point of [a, b] where the guard is not positive, or its minimum."""
    never_inline()
    ratio = 0.6180339887498949
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    gc, gd = guard_at(I, D, t, h, c, slot), guard_at(I, D, t, h, d, slot)
    for _ in range(50):
        if gc <= 0.0:
            return c, gc
        if gd <= 0.0:
            return d, gd
        if b - a < 1e-9:
            break
        if gc < gd:
            b, d, gd = d, c, gc
            c = b - ratio * (b - a)
            gc = guard_at(I, D, t, h, c, slot)
        else:
            a, c, gc = c, d, gd
            d = a + ratio * (b - a)
            gd = guard_at(I, D, t, h, d, slot)
    return c, gc


@compiled
def _node(D, k, count):
    """Grid over the step, with one point very near each end to tell its slope there.

    Where the step ends at a break or a sample, the grid goes on for the time within which two
    instants count as one: what happens then happens together.
    """
    if k == 1:
        return 0.0009765625
    if k == count - 2:
        return 0.9990234375
    if k == count - 1:
        return 1.0 + D[L.BEYOND]
    return (k - 1) / (count - 3) if k > 0 else 0.0


@compiled
def _after_entry(I, D, t, h, slot, base, s, g):
    """Where a guard that was zero on entry falls below zero before s.

    It is halved until the guard is seen positive, which it is right after entry. One that never
    is, or falls in the same instant, may be zero in several derivatives, as a gap is where the
    force has just come to zero, and then a long step does not resolve it: TOO_LONG. In a short one
    it falls where it first differs from zero by more than rounding.
    """
    never_inline()
    a, near, far, g_near, g_far, floor = 0.5 * s, 0.0, s, 0.0, g, 0.0
    for _ in range(60):
        ga, rounding = guard_at(I, D, t, h, a, slot) - base, floor_of(I, D, slot, a * h)
        if ga > 0.25 * rounding:
            root = _crossing(I, D, t, h, slot, base, a, s, ga, g)
            return root if root * h > same_time(t) or h <= RESOLVED else TOO_LONG
        if near == 0.0 and ga > -rounding:
            near, g_near, far, g_far, floor = a, ga, s, g, rounding
        s, g = a, ga
        a *= 0.5
    if h > RESOLVED:
        return TOO_LONG
    if near == 0.0:
        return s
    D[I[L.BASE] + slot] = base - floor
    return _crossing(I, D, t, h, slot, base - floor, near, far, g_near + floor, g_far + floor)


@compiled
def _rate_at(I, D, t, h, s, slot):
    """Rate of a guard that is a distance, at a fraction of the step."""
    dense_at(D, I[L.DENSE], I[L.N], I[L.NRC], s, D, I[L.YD], I[L.N])
    kinematics(I, D, t + s * h, I[L.YD])
    return rate_of_gap(I, D, slot, I[L.GAP_V])


@compiled
def _end_of_low_flight(I, D, t, h, slot):
    """Where a unit that left its contact is back at it, if it rose too little to be seen; 2 if it is not, or did not.

    A gap is known to the rounding of places, and what falls below that falls unseen, to strike too late and too fast.
    Its rate is known much better: the gap is the integral of it (Simpson's rule), which is zero where its mean is.
    """
    never_inline()
    start = _rate_at(I, D, t, h, 0.0, slot)
    call_kernel(I[L.RATES], t, D, I[L.Y], I[L.K], I[L.P], I[L.RATE_V])
    fall = -rate_of_gap(I, D, slot, I[L.RATE_V])
    if not (start > floor_of_rate(I, D, slot) and fall > 0.0):
        return 2.0
    s = 2.0 * start / (fall * h)
    if s > 1.0 + D[L.BEYOND] or 0.25 * start * s * h > UNSEEN * floor_of(I, D, slot, s * h):
        return 2.0
    for _ in range(10):
        mean = (start + 4.0 * _rate_at(I, D, t, h, 0.5 * s, slot) + _rate_at(I, D, t, h, s, slot)) / 6.0
        last, s = s, s * start / (start - mean)
        if not 0.0 < s <= 1.0 + D[L.BEYOND]:
            return 2.0
        if abs(s - last) <= 1e-12 * s:
            break
    return s


@compiled
def _first_zero(I, D, t, h, slot, count):
    """The first zero of a guard in (0, 1], or 2 if there is none.

    One that was zero on entry, but for rounding below it, is measured from there until it is seen above zero.
    """
    never_inline()
    ng, grid, zero = I[L.NGUARD], I[L.GRID], I[I[L.ZERO] + slot] == 1
    base, floor = D[I[L.BASE] + slot] if zero else 0.0, 0.0
    if zero:
        root = _end_of_low_flight(I, D, t, h, slot)
        if root < 2.0:
            I[I[L.SUSPECT] + slot] = BY_SPEED
            return root
    for k in range(1, count):
        s, g = _node(D, k, count), D[grid + k * ng + slot] - base
        before = _node(D, k - 1, count)
        previous = D[grid + (k - 1) * ng + slot] - base
        if zero:
            floor = floor_of(I, D, slot, s * h)
            if k == 1:
                previous = 0.0
        if (g < -floor) if zero else (g <= 0.0):
            if previous <= 0.0:
                return _after_entry(I, D, t, h, slot, base, s, g)
            return _crossing(I, D, t, h, slot, base, before, s, previous, g)
        if zero and g + base > floor:
            zero, base = False, 0.0
        if k >= 2 and not zero:
            earlier = D[grid + (k - 2) * ng + slot]
            if earlier > previous and g > previous and previous > 0.0:
                at, lowest = _lowest(I, D, t, h, slot, _node(D, k - 2, count), s)
                if lowest <= 0.0:
                    start = _node(D, k - 2, count)
                    return _crossing(I, D, t, h, slot, 0.0, start, at, earlier, lowest)
    return 2.0


@compiled
def locate(I, D, t, h):
    """The slot of the guard that is first zero, or -1; where it is, as a fraction of the step, goes to FRACTION.

    TOO_LONG where a shorter step must tell.
    """
    return call_part(I[L.LOCATE], I, D, t, h, 0, 0, 0)


def locate_part(I, D, t, h, a, b, c):
    """The part behind `locate`."""
    ng, grid = I[L.NGUARD], I[L.GRID]
    count = L.GRID_POINTS if I[L.UNRESOLVED] == 1 else 19
    forces = False
    sizes(I, D, t, I[L.Y])
    for slot in range(ng):
        D[grid + slot] = D[I[L.G0] + slot]
        D[I[L.ROOT] + slot] = 2.0
        if I[I[L.SUSPECT] + slot] != 0 and I[I[L.GUARD_KIND] + slot] == FORCE:
            forces = True
    for k in range(1, count):
        guards_at(I, D, t, h, _node(D, k, count), forces, grid + k * ng)
    first, which = 2.0, -1
    for slot in range(ng):
        if I[I[L.SUSPECT] + slot] != 0:
            root = _first_zero(I, D, t, h, slot, count)
            if root < 0.0:
                return TOO_LONG
            D[I[L.ROOT] + slot] = root
            if root < first:
                first, which = root, slot
    D[L.FRACTION] = min(first, 1.0)
    return which
