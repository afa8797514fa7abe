"""The record that a run leaves: one row for each step, one for each event."""

import math

from saltus._native import compiled, never_inline
from saltus.engine import _layout as L
from saltus.engine._flow import energies

# No relative tolerance is made tighter than this: the rest is rounding.
TIGHTEST = 1e-14

# An energy is not known better than by some roundings of its largest value.
ROUNDINGS = 2 * 2.2e-16


@compiled
def record_step(I, D, steps, t, h):
    """Store a step: when, how long, its inputs and its dense output."""
    I[L.NSTEP] += 1
    if I[L.WATCH] == 1:
        return
    row = I[L.NRECORD] * I[L.STEP_ROW]
    steps[row + L.S_TIME] = t
    steps[row + L.S_LENGTH] = h
    steps[row + L.S_PIECE] = I[L.PIECE]
    steps[row + L.S_ARC] = I[L.ARC]
    steps[row + L.S_EVENTS] = I[L.NEVENT]
    steps[row + L.S_SAMPLE] = I[L.SAMPLE]
    nu = I[L.NU]
    for i in range(nu):
        steps[row + L.S_VECTORS + i] = D[I[L.U] + i]
    row += L.S_VECTORS + nu
    for i in range(I[L.N] * I[L.NRC]):
        steps[row + i] = D[I[L.DENSE] + i]
    I[L.NRECORD] += 1


@compiled
def watch(I, D, t, h):
    """Follow the energy balance over a step: energy now, less energy at the start, less work, plus losses.

    Returns whether the step is to be made again: the balance would be missed by more than it may be by
    now, and tolerances are a tenth from here on. Of what it may be missed by, a fifth is for the tolerances
    as given, less for those between, and two thirds are for the tightest and for rounding.
    """
    never_inline()
    if I[L.NSTEP] == 0:
        energies(I, D, t, I[L.Y])
        D[L.BALANCE] = D[I[L.ENERGIES]] + D[I[L.ENERGIES] + 1] + D[L.LOST]
        D[L.KINETIC_FIRST] = D[I[L.ENERGIES]]
        D[L.LOWEST] = D[L.HIGHEST] = D[I[L.ENERGIES] + 1]
        D[L.LARGEST] = max(D[I[L.ENERGIES]], 0.5 * D[I[L.ENERGIES] + 2])
        D[L.STEEPEST] = D[I[L.ENERGIES] + 3]
    yn, nx = I[L.YN], I[L.NX]
    energies(I, D, t + h, yn)
    e = I[L.ENERGIES]
    work, damping, friction = D[yn + nx], D[yn + nx + 1], D[yn + nx + 2]
    if D[L.CLOSES] > 0.0 and D[L.RTOL] > 1.001 * TIGHTEST:
        residual = D[e] + D[e + 1] + D[L.LOST] - D[L.BALANCE] - work + damping + friction
        allowed = D[L.CLOSES] * (0.35 - 0.15 * math.pow(0.5, I[L.TIGHTER]))
        if abs(residual) > max(allowed, ROUNDINGS * max(D[L.LARGEST], D[e])):
            D[L.ATOL] *= max(0.1, TIGHTEST / D[L.RTOL])
            D[L.RTOL] = max(0.1 * D[L.RTOL], TIGHTEST)
            I[L.TIGHTER] += 1
            return True
    D[L.PUSHED] = max(D[L.PUSHED], D[e + 4])
    follow_energy(D, D[e], D[e + 1], D[e + 2], D[e + 3], work, damping, friction)
    return False


@compiled
def follow_energy(D, kinetic, potential, size, slope, work, damping, friction):
    """Note what the energy balance misses, now and at worst, and how large and how steep the energy is."""
    D[L.LOWEST] = min(D[L.LOWEST], potential)
    D[L.HIGHEST] = max(D[L.HIGHEST], potential)
    D[L.EXCHANGED] = max(D[L.EXCHANGED], abs(work) + abs(damping) + abs(friction) + abs(D[L.LOST]))
    D[L.LARGEST] = max(max(D[L.LARGEST], kinetic), max(0.5 * size, D[L.EXCHANGED]))
    D[L.STEEPEST] = max(D[L.STEEPEST], slope)
    D[L.RESIDUAL] = kinetic + potential + D[L.LOST] - D[L.BALANCE] - work + damping + friction
    if not (abs(D[L.RESIDUAL]) <= D[L.WORST] or math.isnan(D[L.WORST])):
        D[L.WORST] = abs(D[L.RESIDUAL])


@compiled
def counts(I, slot):
    """Whether a crossing of a guard is an event: one of the robot's own may count in one direction only."""
    user = slot - L.SLOTS * I[L.NUNIT]
    if user < 0:
        return True
    direction = I[I[L.DIRECTION] + user]
    falling = I[I[L.SIDE] + user] == 1
    return direction == 2 or falling == (direction == 0)


@compiled
def open_event(I, D, t, guard, cause):
    """Begin the record of an event with everything before it."""
    never_inline()
    E, ny, nr = I[L.EVENT], I[L.NY], I[L.NROW]
    D[E + L.E_TIME] = t
    D[E + L.E_GUARD] = guard
    D[E + L.E_CAUSE] = cause
    D[E + L.E_ARC] = I[L.ARC]
    D[E + L.E_KAPPA] = math.nan
    D[E + L.E_MISSED] = D[E + L.E_CLOSED] = 0.0
    fired = 0.0
    for slot in range(min(I[L.NGUARD], 52)):
        if I[I[L.FIRED] + slot] == 1 and counts(I, slot):
            fired += float(1 << slot)
    D[E + L.E_FIRED] = fired
    energies(I, D, t, I[L.Y])
    D[E + L.E_KINETIC] = D[I[L.ENERGIES]]
    v = E + L.E_VECTORS
    for i in range(ny):
        D[v + i] = D[I[L.Y] + i]
    v += 2 * ny
    for r in range(nr):
        D[v + r] = D[I[L.LAM] + r]
        D[I[L.IMPULSE] + r] = 0.0
    v += 3 * nr
    for unit in range(I[L.NUNIT]):
        D[v + unit] = I[I[L.STATUS] + unit]
    I[L.PENDING] = 1


@compiled
def close_event(I, D, events, ended):
    """Complete the record of an event with everything after it, and store it."""
    never_inline()
    E, ny, nr, nunit = I[L.EVENT], I[L.NY], I[L.NROW], I[L.NUNIT]
    energies(I, D, D[L.T], I[L.Y])
    D[E + L.E_KINETIC_AFTER] = D[I[L.ENERGIES]]
    v = E + L.E_VECTORS
    for i in range(ny):
        D[v + ny + i] = D[I[L.Y] + i]
    v += 2 * ny
    for r in range(nr):
        D[v + nr + r] = D[I[L.LAM] + r]
        D[v + 2 * nr + r] = D[I[L.IMPULSE] + r]
    v += 3 * nr
    changed = False
    for unit in range(nunit):
        status = I[I[L.STATUS] + unit]
        D[v + nunit + unit] = status
        changed = changed or D[v + unit] != status
    D[E + L.E_ENDED] = 1.0 if ended else 0.0
    I[L.PENDING] = 0
    cause = D[E + L.E_CAUSE]
    if not changed and not ended and (cause == L.CAUSE_BREAK or cause == L.CAUSE_SAMPLE or cause == L.CAUSE_REARM):
        return
    if not ended:
        I[L.ARC] += 1
    D[L.LOST] += D[E + L.E_KINETIC] - D[E + L.E_KINETIC_AFTER]
    row = (I[L.NEVENT] - I[L.FIRST_EVENT]) * I[L.EVENT_ROW]
    for k in range(I[L.EVENT_ROW]):
        events[row + k] = D[E + k]
    I[L.NEVENT] += 1
