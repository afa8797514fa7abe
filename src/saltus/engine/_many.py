"""Many runs in one compiled call: each begins as a copy of a template, gets its own numbers, and leaves a summary."""

import math

from saltus._native import call_advance, call_figures, compiled
from saltus.engine import _layout as L
from saltus.engine._status import EVENTS_FULL, FINISHED, INTERRUPTED, NOT_FINITE, PAUSED, TERMINAL

# Places in the head of a batch: addresses of the loop and of the law of figures, whether to stop,
# lengths of both arenas, how many places of each a run fills, events kept, figures with their memory.
(LOOP, LAW, STOP, INTEGERS_LENGTH, DOUBLES_LENGTH, INTEGERS_FILLED, DOUBLES_FILLED, KEPT, FIGURES) = range(9)
HEAD = 9

# Whole numbers that a run leaves, before its statuses and the cause, guard and statuses of each kept event.
(R_CODE, R_STEPS, R_REJECTED, R_EVENTS, R_SATURATED, R_REDUNDANT, R_TIGHTER, R_STATUSES) = range(8)

# Numbers that it leaves, before its state, the times of the kept events and the figures.
(R_TIME, R_RESIDUAL, R_WORST, R_SCALE, R_LARGEST, R_STEEPEST, R_PUSHED, R_STATE) = range(8)

# Moments at which a law of figures is called.
START, EVENT, END = range(3)


def integers_left(units: int, kept: int) -> int:
    """How many whole numbers a run leaves."""
    return R_STATUSES + units + kept * (2 + units)


def doubles_left(states: int, kept: int, figures: int) -> int:
    """How many numbers a run leaves."""
    return R_STATE + states + kept + figures


@compiled
def prepare(head, I0, D0, places, integers, doubles, I, D, run):
    """Copy the template and put in what is this run's own."""
    for k in range(head[INTEGERS_LENGTH]):
        I[k] = I0[k]
    for k in range(head[DOUBLES_LENGTH]):
        D[k] = D0[k]
    own = head[INTEGERS_FILLED]
    for k in range(own):
        I[places[k]] = integers[run * own + k]
    numbers = head[DOUBLES_FILLED]
    for k in range(numbers):
        D[places[own + k]] = doubles[run * numbers + k]


@compiled
def call_at(head, moment, I, D, results, out):
    """Tell the law of figures of the start or the end, where before and after are the same."""
    old = I[L.EVENT] + L.E_VECTORS + 2 * I[L.NY] + 3 * I[L.NROW]
    for unit in range(I[L.NUNIT]):
        D[old + unit] = I[I[L.STATUS] + unit]
    return call_figures(head[LAW], moment, D[L.T], D, I[L.Y], I[L.Y], old, old, -1, D, I[L.P], results, out)


@compiled
def read_events(head, I, D, events, counts, places, results, times, out):
    """Keep the first events, tell the law of figures of all, and give their rows free."""
    nunit, ny, failed = I[L.NUNIT], I[L.NY], 0
    for number in range(I[L.FIRST_EVENT], I[L.NEVENT]):
        row = (number - I[L.FIRST_EVENT]) * I[L.EVENT_ROW]
        before = row + L.E_VECTORS
        old = before + 2 * ny + 3 * I[L.NROW]
        guard = int(events[row + L.E_GUARD])
        if number < head[KEPT]:
            results[times + number] = events[row + L.E_TIME]
            place = places + number * (2 + nunit)
            counts[place] = int(events[row + L.E_CAUSE])
            counts[place + 1] = guard
            for unit in range(nunit):
                counts[place + 2 + unit] = int(events[old + unit])
        if head[LAW] != 0:
            failed |= call_figures(
                head[LAW], EVENT, events[row + L.E_TIME], events, before, before + ny, old, old + nunit, guard,
                D, I[L.P], results, out,
            )  # fmt: skip
    I[L.FIRST_EVENT] = I[L.NEVENT]
    return failed


@compiled
def summarise(I, D, code, counts, first, results, second):
    """Write how a run ended; a state that is not finite is never a good end."""
    for i in range(I[L.NX]):
        value = D[I[L.Y] + i]
        if not math.isfinite(value) and code in (FINISHED, TERMINAL):
            code = NOT_FINITE
        results[second + R_STATE + i] = value
    results[second + R_TIME] = D[L.T]
    results[second + R_RESIDUAL] = D[L.RESIDUAL]
    results[second + R_WORST] = D[L.WORST]
    now = abs(D[L.LOST])  # an impact in which the run ends is followed by no step
    for k in range(3):
        now += abs(D[I[L.Y] + I[L.NX] + k])
    results[second + R_SCALE] = D[L.KINETIC_FIRST] + (D[L.HIGHEST] - D[L.LOWEST]) + max(D[L.EXCHANGED], now)
    results[second + R_LARGEST] = D[L.LARGEST]
    results[second + R_STEEPEST] = D[L.STEEPEST]
    results[second + R_PUSHED] = D[L.PUSHED]
    for unit in range(I[L.NUNIT]):
        counts[first + R_STATUSES + unit] = I[I[L.STATUS] + unit]
    counts[first + R_STEPS] = I[L.NSTEP]
    counts[first + R_REJECTED] = I[L.NREJECT]
    counts[first + R_EVENTS] = I[L.NEVENT]
    counts[first + R_SATURATED] = I[L.SATURATED]
    counts[first + R_REDUNDANT] = I[L.REDUNDANT]
    counts[first + R_TIGHTER] = I[L.TIGHTER]
    counts[first + R_CODE] = code


@compiled
def begin(head, I, D, counts, results, run, sizes, nfigure):
    """Before a run: its rows are those of a run of which nothing is known, and the law of figures reads the start."""
    I[L.FAILED] = 0
    for k in range(run * sizes[0], (run + 1) * sizes[0]):
        counts[k] = 0
    out = (run + 1) * sizes[1] - nfigure
    for k in range(run * sizes[1], out):
        results[k] = math.nan
    for k in range(nfigure):
        results[out + k] = 0.0
    if head[LAW] != 0:
        I[L.FAILED] |= call_at(head, START, I, D, results, out)


@compiled
def read_on(head, I, D, events, counts, row, results, place, nx, kept):
    """Read the events since the last time."""
    times = place + R_STATE + nx
    found = read_events(head, I, D, events, counts, row + R_STATUSES + I[L.NUNIT], results, times, times + kept)
    I[L.FAILED] |= found


@compiled
def finish(head, I, D, code, counts, row, results, place, nx, kept):
    """After a run: the law of figures is told of the end, and the summary is written."""
    out = place + R_STATE + nx + kept
    if head[LAW] != 0:
        I[L.FAILED] |= call_at(head, END, I, D, results, out)
    if I[L.FAILED] != 0:
        for k in range(head[FIGURES]):
            results[out + k] = math.nan
    summarise(I, D, code, counts, row, results, place)


def many(head, I0, D0, places, integers, doubles, counts, results, I, D, events, first, last):
    """Make the runs of a range; I, D and events are this thread's own memory. Returns how many were made."""
    nunit, nx, kept, nfigure = I0[L.NUNIT], I0[L.NX], head[KEPT], head[FIGURES]
    wide, long = R_STATUSES + nunit + kept * (2 + nunit), R_STATE + nx + kept + nfigure
    for run in range(first, last):
        if head[STOP] != 0:
            return run - first
        prepare(head, I0, D0, places, integers, doubles, I, D, run)
        row, place = run * wide, run * long
        begin(head, I, D, counts, results, run, (wide, long), nfigure)
        code = EVENTS_FULL
        while code in (EVENTS_FULL, PAUSED):
            code = call_advance(head[LOOP], I, D, events, events)
            read_on(head, I, D, events, counts, row, results, place, nx, kept)
            if code == PAUSED and head[STOP] != 0:
                code = INTERRUPTED
        finish(head, I, D, code, counts, row, results, place, nx, kept)
    return last - first
