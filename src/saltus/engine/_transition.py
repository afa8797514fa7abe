"""How the end of a run depends on its start: along the recorded steps again, and over each event."""

import math

from saltus._native import compiled
from saltus.engine import _layout as L
from saltus.engine._flow import flow
from saltus.engine._saltation import jump, plain_break, set_mode, set_mode_of_event, settle_columns
from saltus.engine._tableau import dense_at
from saltus.engine._variation import (
    HELD,
    NEVENT,
    NM,
    NZ,
    ONLY,
    SIDED,
    SINCE,
    SKIP,
    UNTIL,
)
from saltus.engine._variation_flow import follow_step
from saltus.engine._variation_inputs import remember, take_sample, take_sides


@compiled
def _load_step(I, D, steps, row, fraction):
    """State and inputs at a fraction of a recorded step."""
    dense_at(steps, row + L.S_VECTORS + I[L.NU], I[L.N], I[L.NRC], fraction, D, I[L.Y], I[L.N])
    I[L.PIECE] = int(steps[row + L.S_PIECE])
    for i in range(I[L.NU]):
        D[I[L.U] + i] = steps[row + L.S_VECTORS + i]


def transition(I, D, steps, events, statuses, Q):
    """Carry PHI from SINCE to UNTIL along the record; or over one event ONLY, at which it starts."""
    length, count, nunit = I[L.STEP_ROW], I[L.NRECORD], I[L.NUNIT]
    since, until = D[Q[SINCE]], D[Q[UNTIL]]
    event = 0
    sample = -1
    settled = since > -math.inf or Q[ONLY] >= 0
    for step in range(count + 1):
        row = step * length
        last = step == count
        arc = I[L.ARC] + 2 if last else int(steps[row + L.S_ARC])
        before, after = max(step - 1, 0), min(step, count - 1)
        jumped = False
        while event < Q[NEVENT]:
            place = event * I[L.EVENT_ROW]
            t = events[place + L.E_TIME]
            if int(events[place + L.E_ARC]) >= arc:
                break
            same = event > 0 and events[place - I[L.EVENT_ROW] + L.E_TIME] == t
            wanted = event == Q[ONLY] if Q[ONLY] >= 0 else event >= Q[SKIP] and t <= until
            if wanted and events[place + L.E_CAUSE] == L.CAUSE_COMMAND and I[L.CONTROL_KIND] == L.SAMPLED:
                count_after = int(steps[after * length + L.S_SAMPLE])
                if count_after != sample:
                    # the command was given before it was obeyed
                    I[L.PIECE] = int(steps[after * length + L.S_PIECE])
                    set_mode_of_event(I, D, events, place + L.E_VECTORS + 2 * I[L.NY] + 3 * I[L.NROW])
                    for i in range(I[L.NX]):
                        D[I[L.YS] + i] = events[place + L.E_VECTORS + i]
                    take_sample(I, D, Q, t, I[L.YS])
                    sample = count_after
            if wanted:
                # an event at the end may come after the step of no length that holds the last state
                code = jump(I, D, Q, steps, events, place, event, min(before, count - 1), after, same)
                if code != 0:
                    return code
            jumped = True
            event += 1
        if last or Q[ONLY] >= 0:
            continue
        begin, h = steps[row + L.S_TIME], steps[row + L.S_LENGTH]
        first, final = max(begin, since), min(begin + h, until)
        if begin > until:
            continue
        if final < since:
            if I[L.CONTROL_KIND] == L.SAMPLED and int(steps[row + L.S_SAMPLE]) != sample:
                # what the controller remembers goes back further
                sample = int(steps[row + L.S_SAMPLE])
                set_mode(I, D, statuses, arc * nunit)
                _load_step(I, D, steps, row, 0.0)
                remember(I, D, Q, begin, I[L.Y])
            continue
        part = 0.0 if h == 0.0 else min(max((first - begin) / h, 0.0), 1.0)
        set_mode(I, D, statuses, arc * nunit)
        if step > 0 and not jumped and begin > since:
            if int(steps[row + L.S_PIECE]) != int(steps[row - length + L.S_PIECE]):
                _load_step(I, D, steps, row, 0.0)
                code = plain_break(I, D, Q, steps, before, after, begin, I[L.Y])
                if code != 0:
                    return code
        if final > first:
            middle = 0.5 * (first + final)
            _load_step(I, D, steps, row, (middle - begin) / h)
            take_sides(I, D, Q, middle, I[L.Y])
        _load_step(I, D, steps, row, part)
        if I[L.CONTROL_KIND] == L.SAMPLED and int(steps[row + L.S_SAMPLE]) != sample:
            take_sample(I, D, Q, begin, I[L.Y])
            sample = int(steps[row + L.S_SAMPLE])
            if begin < since:  # what was decided before does not depend on the state since
                for k in range(Q[NZ] * (I[L.NU] + Q[NM])):
                    D[Q[HELD] + k] = 0.0
        if not settled:
            # neighbours of a start in contact come into contact, or to rest on it, at once
            settled = True
            if event == 0 and I[L.NACTIVE] > 0:
                code = flow(I, D, begin, I[L.Y], I[L.K], I[L.LAM])
                if code != 0:
                    return code
                settle_columns(I, D, Q, begin, I[L.Y])
        if final > first:
            code = follow_step(I, D, Q, first, final - first)
            if code != 0:
                return code
            Q[SIDED] = 0
    return 0
