"""The loop: enter a mode, step, find events, handle them, record, until something ends the run."""

import math

from saltus._native import compiled
from saltus.engine import _layout as L
from saltus.engine._cuts import bend, changed_sides, forget_sides
from saltus.engine._entry import enter, first_step, flags_of_closed
from saltus.engine._events import begin, fire, handle, land, ulp
from saltus.engine._flow import flow, project, unit_length
from saltus.engine._guard_values import floor_of, follow_slides, guards, kinematics
from saltus.engine._guards import NOT_A_NUMBER, TOO_LONG, locate, longest_step, screen
from saltus.engine._instants import same_time
from saltus.engine._record import close_event, open_event, record_step, watch
from saltus.engine._status import (
    COLLAPSE,
    EVENT_LIMIT,
    EVENTS_FULL,
    FINISHED,
    NOT_FINITE,
    PAUSED,
    STALLED,
    STEP_LIMIT,
    STEPS_FULL,
)
from saltus.engine._stepsize import grown, shrunk
from saltus.engine._tableau import DENSE_ONLY, IF_ACCEPTED, NO_DENSE, step


@compiled
def accept(I, D):
    """Make the end of the step the present state, and its last stage the next first."""
    y, yn, k, nr = I[L.Y], I[L.YN], I[L.K], I[L.NROW]
    last = k + (I[L.NSTAGE] - 1) * I[L.NY]
    for i in range(I[L.NY]):
        D[k + i] = D[last + i]
    for i in range(I[L.N]):
        D[y + i] = D[yn + i]
        D[I[L.LOW] + i] = D[I[L.LOWN] + i]
    for r in range(nr):
        D[I[L.LAM] + r] = D[I[L.LAM] + (I[L.NSTAGE] - 1) * nr + r]


@compiled
def settle(I, D, t):
    """Move the end of a step onto the closed contacts, quaternions to length one, and its dense output with it.

    The terms at hand are those of the last stage, the end itself, unless stages for dense output
    came after it.
    """
    if I[L.NEXTRA] > 0 and I[L.NCLOSED] > 0:
        flow(I, D, t, I[L.YN], I[L.KD], I[L.LAMD])
    yn, change = I[L.YN], I[L.DENSE] + I[L.N]
    for i in range(I[L.NX]):
        D[change + i] -= D[yn + i]
    project(I, D, yn)
    unit_length(I, D, yn)
    for i in range(I[L.NX]):
        D[change + i] += D[yn + i]
        D[I[L.LOWN] + i] = 0.0


@compiled
def end(I, D, events, code):
    """Complete the record of the event in which the run ends, if it ends in one."""
    if I[L.PENDING] == 1:
        close_event(I, D, events, True)
    return code


def advance(I, D, steps, events):
    """Go on until the run ends, pauses or runs out of room; the status says which."""
    budget = I[L.BUDGET]
    bends = False
    while True:
        t = D[L.T]
        if I[L.NEVENT] - I[L.FIRST_EVENT] + 1 >= I[L.EVENT_ROOM]:
            return EVENTS_FULL
        if I[L.ENTRY] != L.CAUSE_NONE:
            code = begin(I, D) if I[L.ENTRY] == L.CAUSE_START else 0
            if code == 0:
                code = enter(I, D, events)
            if code != 0:
                return end(I, D, events, code)
            if I[L.ENTRY] != L.CAUSE_NONE:
                continue
            if D[L.H] <= 0.0:
                D[L.H] = first_step(I, D)
        if I[L.NEVENT] >= I[L.MAXEVENT]:
            return EVENT_LIMIT
        if t >= D[L.T_END]:
            return FINISHED
        if I[L.NSTEP] >= I[L.MAXSTEP]:
            return STEP_LIMIT
        if I[L.NRECORD] + 1 >= I[L.STEP_ROOM]:
            return STEPS_FULL
        if budget <= 0:
            return PAUSED
        budget -= 1

        # no step crosses the end, a break of the schedule or a sample
        stop, why = D[L.T_END], L.CAUSE_NONE
        if I[L.PIECE] < I[L.NBREAK] and D[I[L.BREAKS] + I[L.PIECE]] <= stop:
            stop, why = D[I[L.BREAKS] + I[L.PIECE]], L.CAUSE_BREAK
        if I[L.CONTROL_KIND] == L.SAMPLED:
            sample = D[L.T_SAMPLE] * D[L.PERIOD]
            if sample < stop:
                stop, why = sample, L.CAUSE_SAMPLE
            elif sample == stop:
                why = L.CAUSE_SAMPLE
        h = min(D[L.H], D[L.H_MAX])
        if I[L.NGUARD] > 0:
            h = min(h, longest_step(I, D))
        arrives = h >= stop - t or (h >= 0.999 * (stop - t) and not bends)
        if arrives:
            h = stop - t

        # where no step is kept, dense output is made for those on which a guard may be zero
        dense = I[L.WATCH] == 0 or I[L.NCLOSED] + I[L.NQUAT] > 0
        follows = I[L.CONTROL_KIND] == L.CONTINUOUS
        forget_sides(I)
        code = step(I, D, t, h, IF_ACCEPTED if dense and not follows else NO_DENSE)
        error, cut = D[L.ERROR], False
        if follows and code == 0 and error <= 1.0:
            cut = changed_sides(I)  # on the step itself, whether or not it is kept
            if dense or cut:
                code = step(I, D, t, h, DENSE_ONLY)
        if code != 0 or not error <= 1.0:
            I[L.NREJECT] += 1
            I[L.REJECTED] = 1
            D[L.H] = shrunk(h, math.nan if code != 0 else error, I[L.ORDER])
            if code != 0 and D[L.H] <= same_time(t):
                return code  # however short the step, the motion does not go on
            if D[L.H] <= ulp(t):
                return COLLAPSE if math.isfinite(error) else NOT_FINITE
            continue
        bends = False
        if cut:
            shorter = bend(I, D, t, h)
            if shorter > 0.0:
                I[L.NREJECT] += 1
                D[L.H], bends = shorter, True
                continue

        factor, D[L.ERROR_OLD] = grown(error, D[L.ERROR_OLD], I[L.REJECTED] == 1, I[L.ORDER])
        I[L.REJECTED] = 0
        natural = h * factor
        if arrives:
            natural = max(natural, min(D[L.H], 10.0 * h))

        which = -1
        if I[L.NCLOSED] + I[L.NQUAT] > 0:
            settle(I, D, t + h)
        D[L.BEYOND] = same_time(t) / h if arrives else 0.0
        if I[L.NGUARD] > 0:
            suspects = screen(I, D, t, h)
            if suspects < 0:
                I[L.NREJECT] += 1
                I[L.REJECTED] = 1
                D[L.H] = 0.1 * h if suspects == NOT_A_NUMBER else 0.25 * h
                if D[L.H] <= ulp(t):
                    return NOT_FINITE
                continue
            if suspects > 0:
                which = locate(I, D, t, h)
                if which == TOO_LONG:
                    I[L.NREJECT] += 1
                    I[L.REJECTED] = 1
                    D[L.H] = 0.1 * h
                    continue
                s = D[L.FRACTION]
                if which >= 0:
                    fire(I, D, h, s)
                    whole = h
                    h = land(I, D, t, h, s, which)
                    if h < 0.0:
                        # a shorter step failed where the longer did not: try again, shorter
                        D[L.H] = 0.5 * whole
                        if D[L.H] <= ulp(t):
                            return COLLAPSE
                        continue
                    if I[L.NCLOSED] + I[L.NQUAT] > 0:
                        settle(I, D, t + h)
                    arrives = arrives and abs(stop - t - h) <= same_time(t)
                    natural = max(h, min(natural, whole))
                else:
                    kinematics(I, D, t + h, I[L.YN])
                    guards(I, D, I[L.LAM] + (I[L.NSTAGE] - 1) * I[L.NROW], I[L.G1])
        if (I[L.WATCH] == 1 or D[L.CLOSES] > 0.0) and watch(I, D, t, h):
            I[L.NREJECT] += 1
            I[L.REJECTED] = 1
            D[L.H] = 0.5 * h
            if D[L.H] <= ulp(t):
                return COLLAPSE
            continue
        record_step(I, D, steps, t, h)
        accept(I, D)
        I[L.COMMANDED] = 0
        D[L.H] = natural
        D[L.T] = stop if arrives else t + h
        if D[L.T] > t + 2.0 * ulp(t):
            I[L.SAME_TIME] = 0
        else:
            I[L.SAME_TIME] += 1
            if I[L.SAME_TIME] > 50:
                return STALLED if which >= 0 else COLLAPSE
        for slot in range(I[L.NGUARD]):
            D[I[L.G0] + slot] = D[I[L.G1] + slot]
            D[I[L.SLOPE0] + slot] = D[I[L.SLOPE1] + slot]
            # sizes are those of the entry: the guard was zero there
            if I[I[L.ZERO] + slot] == 1 and D[I[L.G1] + slot] > floor_of(I, D, slot, h):
                I[I[L.ZERO] + slot] = 0
        if I[L.NSLIDE] > 0 and which < 0:
            follow_slides(I, D)
        if which >= 0:
            code = handle(I, D, which)
            if code != 0:
                return end(I, D, events, code)
        if arrives and why != L.CAUSE_NONE:
            if which < 0:
                open_event(I, D, D[L.T], -1, why)
                flags_of_closed(I)
            else:
                for unit in range(I[L.NUNIT]):
                    # forces jump: what the guard named or ended is open again
                    I[I[L.CANDIDATES] + unit] = 0
                    I[I[L.ENDED] + unit] = -1
            if I[L.PIECE] < I[L.NBREAK] and D[I[L.BREAKS] + I[L.PIECE]] == stop:
                I[L.PIECE] += 1
            if why == L.CAUSE_SAMPLE:
                D[L.T_SAMPLE] += 1.0
            I[L.ENTRY] = why
