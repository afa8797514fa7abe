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
)
from saltus._sincos import lane_sincos
from saltus.contact._unit import KINEMATIC
from saltus.engine import _layout as L
from saltus.engine import _many as M
from saltus.engine._emit import straight_line
from saltus.engine._events import ulp
from saltus.engine._guards import resolved
from saltus.engine._record import follow_energy
from saltus.engine._status import EVENTS_FULL, INTERRUPTED, PAUSED
from saltus.engine._stepsize import grown, shrunk
from saltus.engine._tableau import Tableau, find_method
from saltus.hybrid import HybridSystem

WIDTH = 32

# Rows of a block: time, step, error, what is watched at the end of the step; then states, then stages.
(T, H, ERROR, KINETIC, POTENTIAL, SIZE, STEEPNESS, FIRST) = range(8)

# More places in the head of a batch: addresses of both kernels of the block, its stages, its guards.
(LANE_STEP, LANE_FLOW, LANE_WATCH, STAGES, OWN_PARAMETERS) = range(M.HEAD, M.HEAD + 5)
HEAD = M.HEAD + 5


def rows(nx: int, guards: int, own: int) -> dict[str, int]:
    """Where rows of a block begin: state at the start, at a stage, at the end; guards, rates, parameters, stages."""
    sizes = {"Y": nx, "YS": nx, "YN": nx, "G": guards, "S": guards, "P": own}
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
    targets = [*range(place["G"], place["G"] + 2 * guards), KINETIC, POTENTIAL, SIZE, STEEPNESS]
    body += [f"{_at(row)} = {result}" for row, result in zip(targets, results, strict=True)]
    common = [] if own else [f"p{k} = p[{k}]" for k in range(d.p.numel())]
    return _function("watch", "B, p, k", [*common, *_loop(body)])


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
def _longest(B, place, I, D, l):
    """The longest step that a lane may make, by the rule of `_guards.longest_step` where there are guards."""
    if I[L.NUSER] == 0:
        return D[L.H_MAX]
    nq, speed, acceleration = I[L.NQ], 0.0, 0.0
    for i in range(I[L.NV]):
        if I[I[L.ANGLE] + i] == 1:
            speed += abs(B[(place[0] + nq + i) * WIDTH + l])
            acceleration += abs(B[(place[5] + nq + i) * WIDTH + l])
    return min(D[L.H_MAX], resolved(speed, acceleration))


@compiled
def _gather(B, place, I, D, l):
    """Bring a run from its arenas into a lane."""
    nx = I[L.NX]
    B[T * WIDTH + l] = D[L.T]
    for i in range(nx):
        B[(place[0] + i) * WIDTH + l] = D[I[L.Y] + i]
        B[(place[5] + i) * WIDTH + l] = D[I[L.K] + i]
    B[H * WIDTH + l] = min(D[L.H], _longest(B, place, I, D, l))


@compiled
def _scatter(B, place, I, D, l):
    """Take a run from its lane back to its arenas, at the start of the step."""
    D[L.T] = B[T * WIDTH + l]
    D[L.H] = B[H * WIDTH + l]
    for i in range(I[L.NX]):
        D[I[L.Y] + i] = B[(place[0] + i) * WIDTH + l]
        D[I[L.K] + i] = B[(place[5] + i) * WIDTH + l]


@compiled
def _near(B, place, I, D, l):
    """Whether a guard may be zero on the step of a lane, by the rule of `_guards.screen`; writes guards and rates."""
    third = B[H * WIDTH + l] / 3.0
    near = False
    for user in range(I[L.NUSER]):
        side = I[I[L.SIDE] + user]
        d, slope = side * B[(place[3] + user) * WIDTH + l], side * B[(place[4] + user) * WIDTH + l]
        D[I[L.G1] + user], D[I[L.SLOPE1] + user] = d, slope
        if I[I[L.GUARD_KIND] + user] == KINEMATIC:
            a = D[I[L.G0] + user]
            b, c = a + third * D[I[L.SLOPE0] + user], d - third * slope
            low, high = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
            near = near or math.isnan(d) or math.isnan(slope) or not low > 0.5 * (high - low)
    return near


@compiled
def _accept(B, place, stages, I, D, l):
    """Go on to the end of a lane's step."""
    nx, last = I[L.NX], place[5] + (stages - 1) * I[L.NX]
    h = B[H * WIDTH + l]
    energies = (KINETIC * WIDTH + l, POTENTIAL * WIDTH + l, SIZE * WIDTH + l, STEEPNESS * WIDTH + l)
    follow_energy(D, B[energies[0]], B[energies[1]], B[energies[2]], B[energies[3]], 0.0, 0.0, 0.0)
    I[L.NSTEP] += 1
    for i in range(nx):
        B[(place[0] + i) * WIDTH + l] = B[(place[2] + i) * WIDTH + l]
        B[(place[5] + i) * WIDTH + l] = B[(last + i) * WIDTH + l]
    for user in range(I[L.NUSER]):
        D[I[L.G0] + user], D[I[L.SLOPE0] + user] = D[I[L.G1] + user], D[I[L.SLOPE1] + user]
    B[T * WIDTH + l] += h
    factor, D[L.ERROR_OLD] = grown(B[ERROR * WIDTH + l], D[L.ERROR_OLD], I[L.REJECTED] == 1, I[L.ORDER])
    I[L.REJECTED] = 0
    B[H * WIDTH + l] = min(h * factor, _longest(B, place, I, D, l))


@compiled
def _alone(B, place, I, D, l):
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
    guards = I0[L.NUSER]
    g = FIRST + 3 * nx
    place = (FIRST, FIRST + nx, FIRST + 2 * nx, g, g + guards, g + 2 * guards + own)
    table = integers_from(I, WIDTH * li)
    B = doubles_from(D, WIDTH * ld)
    P = doubles_from(D0, I0[L.P])
    for k in range(WIDTH * (place[5] + stages * nx)):
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
                M.begin(head, Il, Dl, results, table[l] * sizes[1] + M.R_STATE + nx + kept, nfigure)
                for i in range(own):
                    B[(place[5] - own + i) * WIDTH + l] = Dl[Il[L.P] + i]
                active += 1
                if _ends_alone(head, B, place, Il, Dl, l, events, counts, results, table[l], sizes, nx, kept):
                    table[l] = NO_RUN
                    active -= 1
                    made += 1
        if active == 0:
            return made
        call_lane_step(head[LANE_STEP], B, P, head[LANE_FLOW], D0[L.RTOL], D0[L.ATOL])
        call_lanes(head[LANE_WATCH], B, P, (place[5] + (stages - 1) * nx) * WIDTH)
        for l in range(WIDTH):
            if table[l] == NO_RUN:
                continue
            Il, Dl = integers_from(I, l * li), doubles_from(D, l * ld)
            error = B[ERROR * WIDTH + l]
            near = True  # also what is not finite: lanes cannot reduce every angle
            if error > 1.0 and math.isfinite(error):
                Il[L.NREJECT] += 1
                Il[L.REJECTED] = 1
                B[H * WIDTH + l] = shrunk(B[H * WIDTH + l], error, Il[L.ORDER])
                near = False
            elif head[M.STOP] == 0 and error <= 1.0:
                near = _near(B, place, Il, Dl, l)
                if not near:
                    _accept(B, place, stages, Il, Dl, l)
            if near or head[M.STOP] != 0 or _alone(B, place, Il, Dl, l):
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
        if not _alone(B, place, I, D, l):
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


@lru_cache(maxsize=64)
def _compiled(name: str, function: str, source: str, key: str) -> Any:
    scope: dict[str, Any] = {"__name__": __name__, "math": math, "sincos": lane_sincos, "call_lanes": call_lanes}
    exec(compile(source, f"<{function} of lanes of {name}>", "exec"), scope)
    signature = STEP_OF_LANES if function == "step" else LANES
    return compile_entry(scope[function], signature, f"{name}-lanes-{function}", source + key)


def lane_kernels(system: HybridSystem, method: str, *, own: bool) -> dict[int, Any]:
    """The compiled kernels of a block, by their place in the head of a batch."""
    from saltus.engine._program import _SINCOS_KEY

    nx, guards = system.dynamics.x.numel(), len(system.guards)
    key = _SINCOS_KEY + ca.CasadiMeta.version()
    step = step_source(find_method(method), nx, guards, system.dynamics.p.numel() if own else 0)
    return {
        LANE_FLOW: _compiled(system.name, "flow", flow_source(system, own=own), key),
        LANE_WATCH: _compiled(system.name, "watch", watch_source(system, own=own), key),
        LANE_STEP: _compiled(method, "step", step, key),
    }
