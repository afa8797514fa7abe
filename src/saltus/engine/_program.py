"""A hybrid system compiled: its kernels and laws by address, shared by all runs of the same model."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import casadi as ca
import numpy as np
from numba import types

from saltus._native import (
    ADVANCE,
    DOUBLES,
    INTEGERS,
    KERNEL,
    LAW,
    PART,
    compile_entry,
    ctypes_entry,
    entry_of,
    in_any_order,
)
from saltus.contact import plastic
from saltus.contact._unit import GROUND, SPACE
from saltus.engine import _layout as L
from saltus.engine._choose import choose_part
from saltus.engine._emit import SCOPE, emit
from saltus.engine._flow import flow_part
from saltus.engine._guards import locate_part, screen_part
from saltus.engine._impact import impact_part
from saltus.engine._loop import advance
from saltus.engine._many import many
from saltus.engine._sample import sample
from saltus.engine._straight import straight
from saltus.engine._tableau import find_method, step_part
from saltus.engine._transition import transition
from saltus.engine._wide import wide
from saltus.engine._zeno import MANY, REMEMBERED
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Velocity, position_of
from saltus.mechanism._space import column

_POINTER = ctypes.c_void_p


@dataclass(frozen=True)
class Engine:
    """The compiled loop and sampler, as Python callables."""

    advance: Any
    sample: Any
    entries: tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """Kernels of one mechanism with its units and guards."""

    kernels: dict[str, Any]
    sources: dict[str, str]

    def address(self, name: str) -> int:
        """Where a kernel's machine code is."""
        return int(self.kernels[name].place)


@lru_cache(maxsize=1)
def engine() -> Engine:
    """The engine, compiled once and cached on disk."""
    i8, size = types.int64, ctypes.c_int64
    sample_signature = types.int64(INTEGERS, DOUBLES, DOUBLES, INTEGERS, DOUBLES, i8, INTEGERS, DOUBLES, i8)
    made = compile_entry(advance, ADVANCE, "advance")
    sampler = compile_entry(sample, sample_signature, "sample")
    return Engine(
        ctypes_entry(made, size, [_POINTER] * 4),
        ctypes_entry(sampler, size, [_POINTER] * 5 + [size] + [_POINTER] * 2 + [size]),
        (made, sampler),
    )


@lru_cache(maxsize=1)
def transition_entry() -> Any:
    """The compiled transition matrix of a run, as a Python callable; and what keeps it alive."""
    signature = types.int64(INTEGERS, DOUBLES, DOUBLES, DOUBLES, INTEGERS, INTEGERS)
    made = compile_entry(transition, signature, "transition")
    return ctypes_entry(made, ctypes.c_int64, [_POINTER] * 6), made


@lru_cache(maxsize=2)
def batch_loop(*, lanes: bool) -> tuple[Any, int, Any]:
    """The loop over many runs as a Python callable, the address of the loop that it calls, and what must stay alive."""
    kinds = [INTEGERS, INTEGERS, DOUBLES, INTEGERS, INTEGERS, DOUBLES, INTEGERS, DOUBLES, INTEGERS, DOUBLES, DOUBLES]
    function, name = (wide, "wide") if lanes else (many, "many")
    made = compile_entry(function, types.int64(*kinds, types.int64, types.int64), name)
    call = ctypes_entry(made, ctypes.c_int64, [_POINTER] * len(kinds) + [ctypes.c_int64] * 2)
    return call, engine().entries[0].place, made


@lru_cache(maxsize=64)
def _step(method: str, n: int, carried: bool) -> Any:
    """The step of a method for a number of integrated quantities, with what rounding takes from them or without."""
    tableau = find_method(method)
    name = f"{method}-{n}" + ("-carried" if carried else "")
    return compile_entry(step_part(tableau, n, carried=carried), PART, name)


@lru_cache(maxsize=16)
def _part(function: Any) -> Any:
    return compile_entry(function, PART, function.__name__.replace("_", "-"))


def _parts(units: int, guards: int) -> dict[int, Any]:
    """The parts of the engine that a system needs, by their places; others are not even compiled."""
    needed = {L.FLOW: flow_part}
    if units:
        needed |= {L.CHOOSE: choose_part, L.IMPACT: impact_part}
    if guards:
        needed |= {L.SCREEN: screen_part, L.LOCATE: locate_part}
    return needed


def kernel_sources(system: HybridSystem) -> dict[str, str]:
    """Source of the mode-free kernels of a system: free, terms, gaps, rates, sizes, energy.

    A size bounds what a guard or the energy is the sum of, from its gradient; it tells zero from
    rounding, and how far errors of the state carry.
    """
    d = system.dynamics
    inputs = (d.t, d.x, d.u, d.p)
    powers = ca.vertcat(d.actuator_power, d.damping_power)
    units = [row for unit in system.units for _, row in unit.rows]
    positions = [position_of(row) for row in units]
    rows, drifts = [], []
    for row in units:
        J, drift = d.row(row)
        rows.append(J)
        drifts.append(drift)
    J = ca.vertcat(*rows) if rows else ca.SX.zeros(0, d.v.numel())
    MJ = d.solver.solve(J.T)
    bias = J @ d.free_acceleration + (ca.vertcat(*drifts) if drifts else ca.SX.zeros(0))
    free = ca.vertcat(d.qdot, d.free_acceleration, powers)
    terms = ca.vertcat(free, ca.vec(MJ), ca.vec(J @ MJ), bias, J @ d.v)
    if system.mechanism.quaternions:
        terms = ca.vertcat(terms, ca.vec(d.N @ MJ))
    kinematic = _kinematics(system, J)
    state = ca.vertcat(d.t, d.x)
    brief = [isinstance(row, Velocity) for row in units]
    sizes = [ca.SX(0) if k in _known(brief) else _size(kinematic[k], state) for k in range(kinematic.numel())]
    ways = [_way(system, unit) for unit in system.units for _ in unit.rows]
    for k in range(len(units)):
        if brief[k]:  # in space gradients are long: parts of what is added up will do
            parts = ca.fabs(J[k, :].T * d.v)
            sizes[k], sizes[len(units) + k] = ca.fabs(positions[k]) + ways[k], ca.sum1(parts)
    for k, unit in enumerate(system.units):
        # a distance changes no faster than the place; its own gradient is undefined at the centre of a bar
        first, last = system.first_rows[k], system.first_rows[k + 1]
        own = ca.vertcat(*sizes[first:last], *map(ca.SX, unit.fixed))
        sizes[2 * len(positions) + k] = ca.sum1(ca.fabs(own))
        if unit.kind == GROUND:
            # the way along a slope cancels in the gap, but for its rounding
            away, normal = unit.point.position - ca.vertcat(*unit.through), system.first_rows[k] + 1  # type: ignore[attr-defined]
            parts = ca.fabs(ca.cos(unit.slope) * away[1]) + ca.fabs(ca.sin(unit.slope) * away[0])  # type: ignore[attr-defined]
            sizes[normal] = ca.fmax(sizes[normal], parts)
    # the kernel of rates is given the rate of the state in place of inputs
    rate = ca.SX.sym("rate", d.x.numel())
    rates = ca.jtimes(kinematic[len(positions) :], state, ca.vertcat(1, rate))
    # closed contacts carry the rounding of one coordinate to others, on which inputs work
    pushed = ca.sum1(ca.fabs(d.S @ d.u)) * ca.sum1(ca.fabs(d.q))
    return {
        "rates": emit("rates", (d.t, d.x, rate, d.p), rates),
        "sizes": emit("sizes", inputs, ca.vertcat(*sizes)),
        "free": emit("free", inputs, free, d.solver.pivots),
        "terms": emit("terms", inputs, terms, d.solver.pivots),
        "gaps": emit("gaps", inputs, kinematic),
        "energy": emit(
            "energy", inputs, ca.vertcat(d.kinetic, d.potential, _sizes(d.kinetic + d.potential, d.x), pushed)
        ),
    }


def _way(system: HybridSystem, unit: Any) -> Any:
    """What is added up from the world to a contact in space, from joint to joint and on to its point, m."""
    if unit.kind != SPACE:
        return ca.SX(0)
    way, body = ca.sum1(ca.fabs(column(unit.point.at))), unit.body
    while body.motion.parent:
        way += ca.sum1(ca.fabs(body.motion.origin))
        body = system.mechanism.bodies.get(body.motion.parent, system.mechanism.world)
    return way


def _known(brief: list[bool]) -> set[int]:
    """Places of the sizes of rows, positions and then velocities, that are told in brief."""
    return {k + half for k, short in enumerate(brief) if short for half in (0, len(brief))}


def _kinematics(system: HybridSystem, J: Any) -> Any:
    """Positions and velocities of all contact rows, reach of all units, the robot's own guards."""
    positions = [position_of(row) for unit in system.units for _, row in unit.rows]
    reach = [ca.SX(unit.reach) for unit in system.units]
    return ca.vertcat(*positions, J @ system.dynamics.v, *reach, *(ca.SX(guard.expression) for guard in system.guards))


def _size(value: Any, variables: Any) -> Any:
    return ca.sum1(ca.fabs(ca.jacobian(value, variables).T * variables))


def _sizes(value: Any, variables: Any) -> Any:
    """How far relative and absolute errors of the variables carry, each over the error."""
    slope = ca.jacobian(value, variables).T
    return ca.vertcat(ca.sum1(ca.fabs(slope * variables)), ca.sum1(ca.fabs(slope)))


_PROGRAMS: dict[tuple[str, ...], Program] = {}


def program(system: HybridSystem) -> Program:
    """The compiled kernels of a system; the same model is compiled once per process and machine."""
    made: Program = system.once("program", lambda: _program_of(system, kernel_sources))
    return made


def derivative_program(system: HybridSystem) -> Program:
    """The compiled kernels of a system's derivatives, made when they are first asked for."""
    made: Program = system.once("derivatives", lambda: _program_of(system, derivative_sources))
    return made


def _program_of(system: HybridSystem, write: Callable[[HybridSystem], dict[str, str]]) -> Program:
    sources = write(system)
    key = tuple(sources.values())
    if key not in _PROGRAMS:
        kernels = {}
        for name, source in sources.items():
            if not system.units and name == "terms":
                continue
            kernels[name] = compile_entry(straight(source, SCOPE), KERNEL, f"{system.name}-{name}")
        _PROGRAMS[key] = Program(kernels, sources)
    return _PROGRAMS[key]


def derivative_sources(system: HybridSystem) -> dict[str, str]:
    """Source of two more kernels, columns by state, parameter and time: of the equations of motion and of the guards.

    ``derivatives`` takes inputs, accelerations and contact forces, which it holds fixed.
    """
    d = system.dynamics
    rows = [d.row(row) for unit in system.units for _, row in unit.rows]
    J = ca.vertcat(*(row for row, _ in rows)) if rows else ca.SX.zeros(0, d.v.numel())
    drift = ca.vertcat(*(drift for _, drift in rows), ca.SX.zeros(0))
    a, forces = ca.SX.sym("a", d.v.numel()), ca.SX.sym("f", len(rows))
    by = ca.vertcat(d.x, d.p, d.t)
    motion = ca.jacobian(d.force + J.T @ forces - d.M @ a, by)
    parts = [
        ca.jacobian(d.qdot, by), d.solver.solve(motion), d.solver.solve(d.S), ca.jacobian(J @ a + drift, by), J,
    ]  # fmt: skip
    derivatives = ca.vertcat(*(ca.vec(ca.densify(part)) for part in parts))
    slopes = ca.vec(ca.densify(ca.jacobian(_kinematics(system, J), ca.vertcat(d.t, d.x, d.p))))
    return {
        "derivatives": emit("derivatives", (d.t, d.x, ca.vertcat(d.u, a, forces), d.p), derivatives, d.solver.pivots),
        "slopes": emit("slopes", (d.t, d.x, d.u, d.p), slopes),
    }


def law_address(law: Any, *, in_space: bool = False) -> int:
    """Where a law's machine code is."""
    impulse = law.impulse_in_space if in_space else law.impulse
    if impulse is None:
        raise InputError(f"law {law.name} is for contacts in the plane; those in space need its impulse_in_space")
    return entry_of(impulse, LAW, f"law-{law.name}" + ("-in-space" if in_space else "")).place


def arenas(
    system: HybridSystem, method: str, data: int, memory: int, breaks: int, integrals: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Both arenas of a run, with sizes, addresses and everything constant filled in."""
    key = (method, data, memory, breaks, integrals)
    if key not in system.blank_arenas:
        I, D = _blank_arenas(system, *key)
        system.blank_arenas[key] = I, D, coefficient_places(system, I)
    I, D, places = system.blank_arenas[key]
    I, D = I.copy(), D.copy()
    D[I[L.P] : I[L.P] + len(system.values)] = system.parameter_values
    D[I[L.LIMIT] : I[L.LIMIT] + I[L.NU]] = system.input_limits
    D[places] = system.constants[2]
    return I, D


def _blank_arenas(
    system: HybridSystem, method: str, data: int, memory: int, breaks: int, integrals: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The same without what depends on the values of parameters."""
    m, tableau = system.mechanism, find_method(method)
    nq, nv, nu = m.nq, m.nv, len(m.actuators)
    nunit, nuser = len(system.units), len(system.guards)
    nr, nx = system.first_rows[-1], nq + nv
    ny = nx + 3
    n = ny if integrals else nx
    ng = L.SLOTS * nunit + nuser
    in_any_order(
        engine, lambda: program(system), lambda: _step(method, n, integrals),
        *(partial(_part, function) for function in _parts(nunit, ng).values()),
    )  # fmt: skip
    made = program(system)
    sizes = {
        "NQ": nq, "NV": nv, "NU": nu, "NX": nx, "NY": ny, "N": n, "NUNIT": nunit, "NROW": nr,
        "NUSER": nuser, "NGUARD": ng, "NBREAK": breaks, "NRC": tableau.coefficients, "NQUAT": len(m.quaternions),
    }  # fmt: skip
    doubles = {
        "Y": ny, "YN": ny, "YS": ny, "LOW": ny, "LOWN": ny, "YD": ny, "KD": ny, "LAMD": nr,
        "K": tableau.evaluations * ny, "LAM": tableau.evaluations * nr, "DENSE": tableau.coefficients * ny, "U": nu,
        "U_BEFORE": nu, "MEM": memory,
        "P": len(m.parameters), "DATA": data, "COEF": L.COEFFICIENTS * nunit, "LIMIT": nu, "BREAKS": breaks,
        "W": nq, "W_ACC": nv, "W_POWER": 2, "W_MJ": nr * nv, "W_A": nr * nr,
        "W_B": nr, "W_V": nr, "W_MQ": nq * nr if m.quaternions else 0, "GAP": nr, "GAP_V": nr, "GAP_REACH": nunit,
        "GAP_USER": nuser,
        "SIZE": 2 * nr + nunit + nuser, "RATE_V": nr, "RATE_REACH": nunit, "RATE_USER": nuser,
        "G0": ng, "G1": ng, "SLOPE0": ng, "SLOPE1": ng, "BASE": ng, "GLOW": ng, "GHIGH": ng, "GRID": L.GRID_POINTS * ng,
        "ROOT": ng,
        "SOLVE": nr * (2 * nr + 3), "WEIGHT": nr, "ACTIVE_TIE": nr, "SIDE_TIE": nr, "SLIDE": 4 * nunit, "LAMS": nr,
        "GIVEN": nr, "DAMP": nr, "MARGIN": 4 * nunit,
        "ACC": nr, "IMPULSE": nr, "ANSWER": nr, "STRUCK_AT": REMEMBERED * nunit, "LOW_IMPACTS": MANY + 1,
        "BEFORE": nr, "REDUCED": nr * nr, "REDUCED_V": nr, "REDUCED_B": nr, "LAW_IN": 15, "LAW_OUT": 3 + 3 * nunit,
        "ANCHOR": nr, "LEFT": nunit, "ENERGIES": 5, "EVENT": event_row(system),
    }  # fmt: skip
    per_unit = [
        "KIND",
        "STATUS",
        "WAS",
        "ROW",
        "COORDINATE",
        "ITS_RATE",
        "GATE",
        "LAW",
        "TOUCH",
        "STILL",
        "STRIKE",
        "TOUCHED",
        "STOOD",
        "CLOSING",
        "HELD",
        "CANDIDATES",
        "ENDED",
        "PICK",
        "BEST",
        "NEUTRAL",
        "REQUEST",
        "STOPS",
    ]
    integers = dict.fromkeys(per_unit, nunit)
    integers |= dict.fromkeys(("ACTIVE_ROW", "ACTIVE_PAIR", "ACTIVE_SIDE", "PIVOT", "BILATERAL", "KEPT", "PICKED"), nr)
    integers |= dict.fromkeys(("GUARD_KIND", "ZERO", "SUSPECT", "FIRED"), ng)
    integers |= dict.fromkeys(("SIDE", "ACTION", "DIRECTION"), nuser) | {"ANGLE": nv, "QUATERNION": len(m.quaternions)}
    integers |= {"SEEN": nu, "CUT": nu}
    I, D = L.arenas(sizes, doubles, integers)
    for place, name in (
        (L.FREE, "free"),
        (L.GAPS, "gaps"),
        (L.SIZES, "sizes"),
        (L.RATES, "rates"),
        (L.ENERGY, "energy"),
    ):
        I[place] = made.address(name)
    I[L.NSTAGE], I[L.NEXTRA], I[L.ORDER] = tableau.count, len(tableau.extra_stages), tableau.order
    I[L.STEP] = _step(method, n, integrals).place
    for place, function in _parts(nunit, ng).items():
        I[place] = _part(function).place
    if nunit:
        I[L.TERMS] = made.address("terms")
        I[L.PLASTIC] = law_address(plastic())
        if any(unit.kind == SPACE for unit in system.units):
            I[L.PLASTIC_IN_SPACE] = law_address(plastic(), in_space=True)
    if not m.quaternions:
        I[L.W_MQ] = I[L.W_MJ]
    I[I[L.ANGLE] : I[L.ANGLE] + nv] = [unit == "rad/s" for unit in m.velocities.values()]
    I[I[L.QUATERNION] : I[L.QUATERNION] + len(m.quaternions)] = m.quaternions
    I[L.EVENT_ROW] = event_row(system)
    I[L.STEP_ROW] = L.S_VECTORS + nu + n * tableau.coefficients
    D[I[L.LEFT] : I[L.LEFT] + nunit] = math.nan
    names = [unit.name for unit in system.units]
    for k, unit in enumerate(system.units):
        I[I[L.KIND] + k] = unit.kind
        I[I[L.ROW] + k] = system.first_rows[k]
        I[I[L.COORDINATE] + k] = -1 if unit.coordinate is None else m.index(unit.coordinate.name)
        I[I[L.ITS_RATE] + k] = -1 if unit.coordinate is None else m.velocity_index(unit.coordinate.name)
        I[I[L.GATE] + k] = -1 if unit.gate is None else names.index(unit.gate)
        I[I[L.LAW] + k] = 0 if unit.law is None else law_address(unit.law, in_space=unit.kind == SPACE)
        I[I[L.STOPS] + k] = sum(
            1 << (L.SLOTS * status + slot)
            for status, row in enumerate(unit.guard_names)
            for slot, name in enumerate(row)
            if name and f"{unit.name}.{name}" in system.stops
        )
    actions = {"ignore": L.IGNORE, "record": L.RECORD, "terminal": L.TERMINAL}
    for k, guard in enumerate(system.guards):
        I[I[L.SIDE] + k] = 1
        I[I[L.ACTION] + k] = actions[guard.action]
        I[I[L.DIRECTION] + k] = ("down", "up", "both").index(guard.direction)
    return I, D


def coefficient_places(system: HybridSystem, I: np.ndarray) -> list[int]:
    """Where in D the coefficients of all units go."""
    counts = [len(unit.coefficients) for unit in system.units]
    return [int(I[L.COEF]) + L.COEFFICIENTS * k + j for k, count in enumerate(counts) for j in range(count)]


def event_row(system: HybridSystem) -> int:
    """Length of an event's row: header, states, forces and impulse, statuses."""
    nunit, nr = len(system.units), system.first_rows[-1]
    return L.E_VECTORS + 2 * (system.mechanism.nq + system.mechanism.nv + 3) + 3 * nr + 2 * nunit
