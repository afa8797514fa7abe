"""Many runs side by side: steps are made by vector instructions, events by the loop of a single run.

Runs without units and inputs differ in nothing but numbers between their events. A block holds
`WIDTH` of them, a row for each quantity; every run keeps its own arenas, to which it returns for
each step on which a guard may be zero, for its first step and for its last. A run that ends makes
room for the next. What a lane computes does not depend on the others.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import casadi as ca

from saltus._native import (
    LANES,
    STEP_OF_LANES,
    call_advance,
    call_lane_step,
    call_lanes,
    compile_entry,
    compiled,
    doubles_from,
    integers_from,
    never_inline,
    whole_above,
    whole_below,
)
from saltus._sincos import lane_sincos
from saltus.contact._unit import KINEMATIC
from saltus.engine import _layout as L
from saltus.engine import _many as M
from saltus.engine._emit import straight_line
from saltus.engine._events import ulp
from saltus.engine._guard_values import floor_of
from saltus.engine._guards import clear, longest_step, resolved
from saltus.engine._status import EVENTS_FULL, INTERRUPTED, PAUSED
from saltus.engine._stepsize import grown, shrunk
from saltus.engine._tableau import Tableau, find_method
from saltus.hybrid import HybridSystem

WIDTH = 32

# Rows of a block: what a run is at, its limits and what its step came to; then states, guards, stages.
(
    T, H, ERROR, ERROR_OLD, REJECTED, STEPS, REJECTS, END, LONGEST, MOST,
    KINETIC, POTENTIAL, SIZE, STEEPNESS, BALANCE, LOWEST, HIGHEST, LOST, LARGEST, STEEPEST, RESIDUAL, WORST,
    ALONE, FIRST,
) = range(24)  # fmt: skip

# Rows that a run brings from its arenas and takes back there, with their places.
NUMBERS = (
    (T, L.T), (H, L.H), (ERROR_OLD, L.ERROR_OLD), (END, L.T_END), (LONGEST, L.H_MAX),
    (BALANCE, L.BALANCE), (LOWEST, L.LOWEST), (HIGHEST, L.HIGHEST), (LOST, L.LOST), (LARGEST, L.LARGEST),
    (STEEPEST, L.STEEPEST), (RESIDUAL, L.RESIDUAL), (WORST, L.WORST),
)  # fmt: skip
COUNTS = ((REJECTED, L.REJECTED), (STEPS, L.NSTEP), (REJECTS, L.NREJECT), (MOST, L.MAXSTEP))

# Rows of each guard: value and rate at the start and at the end, which side of zero is watched, and
# below what it cannot be told from zero, where it was zero on entry.
(G0, SLOPE0, G1, SLOPE1, SIDE, FLOOR) = range(6)
GUARD_ROWS = 6

# What the floor of a guard is that was not zero on entry, and what of one that is not watched.
AWAY, UNWATCHED = -1.0, -2.0

# More places in the head of a batch: addresses of the kernels of the block, its stages, its guards.
(LANE_STEP, LANE_FLOW, LANE_WATCH, LANE_ACCEPT, STAGES, OWN_PARAMETERS) = range(M.HEAD, M.HEAD + 6)
HEAD = M.HEAD + 6


def rows(nx: int, guards: int, own: int) -> dict[str, int]:
    """Where rows of a block begin: state at the start, at a stage, at the end; guards, parameters, stages."""
    sizes = {"Y": nx, "YS": nx, "YN": nx, "G": GUARD_ROWS * guards, "P": own}
    places, end = {}, FIRST
    for name, size in sizes.items():
        places[name] = end
        end += size
    return {**places, "K": end}


def block_size(nx: int, guards: int, own: int, stages: int) -> int:
    """How many numbers a block holds."""
    return WIDTH * (rows(nx, guards, own)["K"] + stages * nx)


def _at(row: int) -> str:
    return f"B[{row * WIDTH} + l]"


def _loop(body: list[str]) -> list[str]:
    return [f"for l in range({WIDTH}):", *(f"    {line}" for line in body)]


def _function(name: str, arguments: str, body: list[str]) -> str:
    return "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in (*body, "return 0"))]) + "\n"


def flow_source(system: HybridSystem, *, own: bool) -> str:
    """Source of ``flow(B, p, k)``: the rates at the stage's states go to the rows at k."""
    d, nx = system.dynamics, system.dynamics.x.numel()
    place = rows(nx, len(system.guards), d.p.numel() if own else 0)

    def read(argument: int, element: int) -> str:
        if argument == 3:
            return _at(place["P"] + element) if own else f"p{element}"
        return {1: _at(place["YS"] + element), 2: "0.0"}.get(argument, _at(T))

    rates = ca.vertcat(d.qdot, d.free_acceleration)
    body, results = straight_line((d.t, d.x, d.u, d.p), ca.vertcat(ca.densify(rates), d.solver.pivots), read)
    checks = [f"({pivot} > 0.0)" for pivot in results[nx:]]
    body.append(f"good = {' & '.join(checks)}" if checks else "good = True")
    body += [f"B[k + {i * WIDTH} + l] = {rate} if good else math.nan" for i, rate in enumerate(results[:nx])]
    common = [] if own else [f"p{k} = p[{k}]" for k in range(d.p.numel())]
    return _function("flow", "B, p, k", [*common, *_loop(body)])


def watch_source(system: HybridSystem, *, own: bool) -> str:
    """Source of ``watch(B, p, k)``: guards, their rates and both energies at the end of a step with the rates at k."""
    d, nx, guards = system.dynamics, system.dynamics.x.numel(), len(system.guards)
    place = rows(nx, guards, d.p.numel() if own else 0)
    rate = ca.SX.sym("rate", nx)

    def read(argument: int, element: int) -> str:
        if argument == 0:
            return f"({_at(T)} + {_at(H)})"
        if argument == 3:
            return _at(place["P"] + element) if own else f"p{element}"
        return _at(place["YN"] + element) if argument == 1 else f"B[k + {element * WIDTH} + l]"

    slope = ca.jacobian(d.kinetic + d.potential, d.x).T
    energies = ca.vertcat(d.kinetic, d.potential, ca.sum1(ca.fabs(slope * d.x)), ca.sum1(ca.fabs(slope)))
    values = ca.vertcat(*(ca.SX(guard.expression) for guard in system.guards), ca.SX.zeros(0))
    rates = ca.jtimes(values, ca.vertcat(d.t, d.x), ca.vertcat(1, rate))
    out = ca.vertcat(ca.densify(values), ca.densify(rates), energies)
    body, results = straight_line((d.t, d.x, rate, d.p), out, read)
    for kind, first in ((G1, 0), (SLOPE1, guards)):
        for i in range(guards):
            side = _at(place["G"] + SIDE * guards + i)
            body.append(f"{_at(place['G'] + kind * guards + i)} = {side} * {results[first + i]}")
    body += [
        f"{_at(row)} = {result}"
        for row, result in zip((KINETIC, POTENTIAL, SIZE, STEEPNESS), results[2 * guards :], strict=True)
    ]
    common = [] if own else [f"p{k} = p[{k}]" for k in range(d.p.numel())]
    return _function("watch", "B, p, k", [*common, *_loop(body)])


def accept_source(system: HybridSystem, tableau: Tableau, *, own: bool) -> str:
    """Source of ``accept(B, p, k)``: every lane goes on to the end of its step, tries a shorter one, or is to go alone.

    What the loop of a single run does after a step, by the same rules, for steps on which no guard
    may be zero.
    """
    d, nx, guards = system.dynamics, system.dynamics.x.numel(), len(system.guards)
    place = rows(nx, guards, d.p.numel() if own else 0)
    nq, last, order = d.q.numel(), place["K"] + (tableau.count - 1) * nx, tableau.order
    h, error = _at(H), _at(ERROR)

    def guard(kind: int, i: int) -> str:
        return _at(place["G"] + kind * guards + i)

    judge = [f"good = {error} <= 1.0"]
    for i in range(guards):
        numbers = ", ".join(guard(kind, i) for kind in (G0, SLOPE0, G1, SLOPE1))
        judge.append(f"far = clear({numbers}, {h} / 3.0, {guard(FLOOR, i)} >= 0.0)")
        judge.append(f"finite = ({guard(G1, i)} == {guard(G1, i)}) & ({guard(SLOPE1, i)} == {guard(SLOPE1, i)})")
        judge.append(f"good = good & ((far & finite) | ({guard(FLOOR, i)} == {UNWATCHED}))")
    # a step whose error is too large is tried again, shorter; what is not finite is left to the single run
    judge += [
        f"again = ({error} > 1.0) & ({error} < math.inf)",
        f"factor, size = grown({error}, {_at(ERROR_OLD)}, {_at(REJECTED)} > 0.0, {order})",
        f"less = shrunk({h}, {error}, {order})",
        f"t = {_at(T)} + {h}",
        f"kinetic, potential, lost = {_at(KINETIC)}, {_at(POTENTIAL)}, {_at(LOST)}",
        f"residual = kinetic + potential + lost - {_at(BALANCE)}",
        f"largest = max(max({_at(LARGEST)}, kinetic), 0.5 * {_at(SIZE)})",
        f"lowest, highest = min({_at(LOWEST)}, potential), max({_at(HIGHEST)}, potential)",
        f"steepest = max({_at(STEEPEST)}, {_at(STEEPNESS)})",
        f"worst = {_at(WORST)} if abs(residual) <= {_at(WORST)} else abs(residual)",
    ]
    angles = [i for i, unit in enumerate(system.mechanism.coordinates.values()) if unit == "rad"] if guards else []
    speed = " + ".join(f"abs({_at(place['YN'] + nq + i)})" for i in angles)
    acceleration = " + ".join(f"abs({_at(last + nq + i)})" for i in angles)
    longest = f"min({_at(LONGEST)}, resolved({speed}, {acceleration}))" if angles else _at(LONGEST)
    judge.append(f"more = min({h} * factor, {longest})")
    judge += [
        f"h = more if good else (less if again else {h})",
        f"steps, rejects, refused = {_at(STEPS)}, {_at(REJECTS)}, {_at(REJECTED)}",
        "steps = steps + 1.0 if good else steps",
        "rejects = rejects + 1.0 if again else rejects",
        "refused = 1.0 if again else (0.0 if good else refused)",
    ]
    new = {
        _at(T): "t", _at(ERROR_OLD): "size", _at(RESIDUAL): "residual", _at(LARGEST): "largest",
        _at(LOWEST): "lowest", _at(HIGHEST): "highest",
        _at(STEEPEST): "steepest", _at(WORST): "worst",
    }  # fmt: skip
    for i in range(guards):
        judge.append(f"left = {guard(G1, i)} > {guard(FLOOR, i)}")
        judge.append(f"floor{i} = {AWAY} if left & ({guard(FLOOR, i)} >= 0.0) else {guard(FLOOR, i)}")
        new |= {guard(G0, i): guard(G1, i), guard(SLOPE0, i): guard(SLOPE1, i), guard(FLOOR, i): f"floor{i}"}
    for i in range(nx):
        new |= {_at(place["Y"] + i): _at(place["YN"] + i), _at(place["K"] + i): _at(last + i)}
    # both are read before one is chosen, so that there is no branch
    for number, (row, value) in enumerate(new.items()):
        judge.append(f"old{number}, new{number} = {row}, {value}")
    judge += [f"{row} = new{number} if good else old{number}" for number, row in enumerate(new)]
    judge += [
        f"{h}, {_at(STEPS)}, {_at(REJECTS)}, {_at(REJECTED)} = h, steps, rejects, refused",
        "t = new0 if good else old0",
        f"ends = (h >= 0.999 * ({_at(END)} - t)) | (h <= 4.0 * ulp(t)) | (steps >= {_at(MOST)})",
        f"{_at(ALONE)} = 1.0 if ends | (not (good | again)) else 0.0",
    ]
    return _function("accept", "B, p, k", _loop(judge))


def step_source(tableau: Tableau, nx: int, guards: int, own: int) -> str:
    """Source of ``step(B, p, flow)``: one step of every lane, by its own length, and its error."""
    place = rows(nx, guards, own)

    def stage(j: int, i: int) -> str:
        return _at(place["K"] + j * nx + i)

    def combination(weights: tuple[float, ...], i: int) -> str:
        return " + ".join(f"{weight!r} * {stage(j, i)}" for j, weight in enumerate(weights) if weight != 0.0)

    body: list[str] = []
    last = tableau.count - 1
    for j in range(1, tableau.count):
        for i in range(nx):
            value = f"{_at(place['Y'] + i)} + {_at(H)} * ({combination(tableau.stages[j], i)})"
            body += _loop([f"{_at(place['YS'] + i)} = {value}"])
            if j == last:
                body += _loop([f"{_at(place['YN'] + i)} = {_at(place['YS'] + i)}"])
        body.append(f"call_lanes(flow, B, p, {(place['K'] + j * nx) * WIDTH})")
    error = ["total = 0.0", "second = 0.0"]
    for i in range(nx):
        size = f"max(abs({_at(place['Y'] + i)}), abs({_at(place['YN'] + i)}))"
        error += [f"scale = {_at(H)} / (atol + rtol * {size})", f"e = ({combination(tableau.error, i)}) * scale"]
        error.append("total = total + e * e")
        if tableau.second_error:
            error += [f"e = ({combination(tableau.second_error, i)}) * scale", "second = second + e * e"]
    if tableau.second_error:
        error.append("total = total * (total / (total + 0.01 * second + 1e-300))")
        error.append(f"total = max(total, (0.01 * rtol * second) * (0.01 * rtol * second) / {float(nx)})")
    error.append(f"{_at(ERROR)} = math.sqrt(total / {float(nx)})")
    return _function("step", "B, p, flow, rtol, atol", [*body, *_loop(error)])


# Places behind the arenas of all lanes: which run is in each.
NO_RUN = -1


@compiled
def _gather(B, place, I, D, l):
    """Bring a run from its arenas into a lane."""
    nx, ng = I[L.NX], I[L.NUSER]
    for row, at in NUMBERS:
        B[row * WIDTH + l] = D[at]
    for row, at in COUNTS:
        B[row * WIDTH + l] = I[at]
    for i in range(nx):
        B[(place[0] + i) * WIDTH + l] = D[I[L.Y] + i]
        B[(place[2] + i) * WIDTH + l] = D[I[L.K] + i]
    for g in range(ng):
        row = (place[1] + g) * WIDTH + l
        B[row + G0 * ng * WIDTH] = D[I[L.G0] + g]
        B[row + SLOPE0 * ng * WIDTH] = D[I[L.SLOPE0] + g]
        B[row + SIDE * ng * WIDTH] = I[I[L.SIDE] + g]
        floor = floor_of(I, D, g, 0.0) if I[I[L.ZERO] + g] == 1 else AWAY
        B[row + FLOOR * ng * WIDTH] = floor if I[I[L.GUARD_KIND] + g] == KINEMATIC else UNWATCHED
    longest = longest_step(I, D) if ng > 0 else math.inf
    B[H * WIDTH + l] = min(D[L.H], min(D[L.H_MAX], longest))


@compiled
def _scatter(B, place, I, D, l):
    """Take a run from its lane back to its arenas, at the start of the step."""
    nx, ng = I[L.NX], I[L.NUSER]
    for row, at in NUMBERS:
        D[at] = B[row * WIDTH + l]
    for row, at in COUNTS:
        I[at] = int(B[row * WIDTH + l])
    for i in range(nx):
        D[I[L.Y] + i] = B[(place[0] + i) * WIDTH + l]
        D[I[L.K] + i] = B[(place[2] + i) * WIDTH + l]
    for g in range(ng):
        row = (place[1] + g) * WIDTH + l
        D[I[L.G0] + g] = B[row + G0 * ng * WIDTH]
        D[I[L.SLOPE0] + g] = B[row + SLOPE0 * ng * WIDTH]
        I[I[L.ZERO] + g] = 1 if B[row + FLOOR * ng * WIDTH] >= 0.0 else 0


@compiled
def _alone(B, I, D, l):
    """Whether a run must make its next step by itself: the first, the last, one too many, or one too short."""
    t, h = B[T * WIDTH + l], B[H * WIDTH + l]
    return I[L.NSTEP] == 0 or h >= 0.999 * (D[L.T_END] - t) or h <= 4.0 * ulp(t) or I[L.NSTEP] >= I[L.MAXSTEP]


def wide(head, I0, D0, places, integers, doubles, counts, results, I, D, events, first, last):
    """Make the runs of a range in lanes; behind the arenas I and D of all lanes are a table and the block.

    Arguments and result are those of `_many.many`.
    """
    li, ld = head[M.INTEGERS_LENGTH], head[M.DOUBLES_LENGTH]
    nunit, nx, kept, nfigure = I0[L.NUNIT], I0[L.NX], head[M.KEPT], head[M.FIGURES]
    sizes = (M.R_STATUSES + nunit + kept * (2 + nunit), M.R_STATE + nx + kept + nfigure)
    own, stages = head[OWN_PARAMETERS], head[STAGES]
    # where states, guards and stages begin
    g = FIRST + 3 * nx
    place = (FIRST, g, g + GUARD_ROWS * I0[L.NUSER] + own)
    last_stage = (place[2] + (stages - 1) * nx) * WIDTH
    table = integers_from(I, WIDTH * li)
    B = doubles_from(D, WIDTH * ld)
    P = doubles_from(D0, I0[L.P])
    for k in range(WIDTH * (place[2] + stages * nx)):
        B[k] = 0.0
    coming, made = first, 0
    active = 0
    for l in range(WIDTH):
        table[l] = NO_RUN
    while True:
        # lanes that are free take the next runs
        for l in range(WIDTH):
            while table[l] == NO_RUN and coming < last and head[M.STOP] == 0:
                table[l] = coming
                coming += 1
                Il, Dl = integers_from(I, l * li), doubles_from(D, l * ld)
                M.prepare(head, I0, D0, places, integers, doubles, Il, Dl, table[l])
                M.begin(head, Il, Dl, counts, results, table[l], sizes, nfigure)
                for i in range(own):
                    B[(place[2] - own + i) * WIDTH + l] = Dl[Il[L.P] + i]
                active += 1
                if _ends_alone(head, B, place, Il, Dl, l, events, counts, results, table[l], sizes, nx, kept):
                    table[l] = NO_RUN
                    active -= 1
                    made += 1
        if active == 0:
            return made
        call_lane_step(head[LANE_STEP], B, P, head[LANE_FLOW], D0[L.RTOL], D0[L.ATOL])
        call_lanes(head[LANE_WATCH], B, P, last_stage)
        if head[M.STOP] == 0:
            call_lanes(head[LANE_ACCEPT], B, P, last_stage)
        for l in range(WIDTH):
            if table[l] != NO_RUN and (B[ALONE * WIDTH + l] != 0.0 or head[M.STOP] != 0):
                Il, Dl = integers_from(I, l * li), doubles_from(D, l * ld)
                _scatter(B, place, Il, Dl, l)
                if _ends_alone(head, B, place, Il, Dl, l, events, counts, results, table[l], sizes, nx, kept):
                    table[l] = NO_RUN
                    active -= 1
                    made += 1


@compiled
def _ends_alone(head, B, place, I, D, l, events, counts, results, run, sizes, nx, kept):
    """Steps of a run by itself until it has ended, or can go on in its lane."""
    while True:
        if _step_alone(head, I, D, events, counts, results, run, sizes, nx, kept):
            return True
        _gather(B, place, I, D, l)
        if not _alone(B, I, D, l):
            return False


@compiled
def _step_alone(head, I, D, events, counts, results, run, sizes, nx, kept):
    """One step of a run by the loop of a single run; if the run has ended, its summary is written."""
    never_inline()
    row, place = run * sizes[0], run * sizes[1]
    I[L.BUDGET] = 1
    code = EVENTS_FULL
    while code == EVENTS_FULL:
        code = call_advance(head[M.LOOP], I, D, events, events)
        M.read_on(head, I, D, events, counts, row, results, place, nx, kept)
    if code == PAUSED and head[M.STOP] != 0:
        code = INTERRUPTED
    if code == PAUSED:
        return False
    M.finish(head, I, D, code, counts, row, results, place, nx, kept)
    return True


# -- compiled ---------------------------------------------------------------------------------


# What emitted code of lanes calls.
SCOPE: dict[str, Any] = {
    "__name__": __name__, "math": math, "whole_below": whole_below, "whole_above": whole_above, "sincos": lane_sincos,
    "call_lanes": call_lanes, "clear": clear, "grown": grown, "shrunk": shrunk, "resolved": resolved, "ulp": ulp,
}  # fmt: skip


@lru_cache(maxsize=64)
def _compiled(name: str, function: str, source: str) -> Any:
    scope = dict(SCOPE)
    exec(compile(source, f"<{function} of lanes of {name}>", "exec"), scope)
    signature = STEP_OF_LANES if function == "step" else LANES
    return compile_entry(scope[function], signature, f"{name}-lanes-{function}")


def lane_kernels(system: HybridSystem, method: str, *, own: bool) -> dict[int, Any]:
    """The compiled kernels of a block, by their place in the head of a batch."""
    made: dict[int, Any] = system.once(f"lanes {method} {own}", lambda: _lane_kernels(system, method, own=own))
    return made


def _lane_kernels(system: HybridSystem, method: str, *, own: bool) -> dict[int, Any]:
    nx, guards, tableau = system.dynamics.x.numel(), len(system.guards), find_method(method)
    accept = accept_source(system, tableau, own=own)
    step = step_source(tableau, nx, guards, system.dynamics.p.numel() if own else 0)
    return {
        LANE_FLOW: _compiled(system.name, "flow", flow_source(system, own=own)),
        LANE_WATCH: _compiled(system.name, "watch", watch_source(system, own=own)),
        LANE_ACCEPT: _compiled(system.name, "accept", accept),
        LANE_STEP: _compiled(method, "step", step),
    }
