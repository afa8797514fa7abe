"""What every registered robot must satisfy: mechanics, kinematics, energy, and runs that can be trusted."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from saltus.conformance._violation import require, require_close, require_documented
from saltus.contact import SPACE
from saltus.engine import Control, Trajectory, simulate
from saltus.engine._simulate import bind
from saltus.hybrid import HybridSystem
from saltus.mechanism import has_position, position_of
from saltus.robots import find_robot

STATES = 25
INSTANT = 0.3


# -- the description ---------------------------------------------------------------------------------


def robot_can_be_built(name: str) -> None:
    """Its parameters, bodies, units and guards are accepted."""
    find_robot(name)


def description_is_complete(name: str) -> None:
    """It has its file's name, says what it is, and can be drawn."""
    system = find_robot(name)
    require_documented("robots", name)
    require(system.name == name, f"its file is {name}.py but its mechanism is named {system.name!r}")
    require(system.about.strip(), "about is empty; say in a few words what the robot does")
    require(system.skeleton, "skeleton is empty, so there is nothing to draw; name pairs of points")
    unknown = {end for line in system.skeleton for end in line} - set(system.mechanism.points)
    require(not unknown, f"skeleton names {', '.join(sorted(unknown))}, which are not points of the mechanism")


def parameters_have_units_and_say_what_they_are(name: str) -> None:
    """Numbers without a unit or a meaning cannot be changed with sense."""
    for parameter in find_robot(name).mechanism.parameters.values():
        require(parameter.unit.strip(), f"parameter {parameter.name!r} has no unit; write '1' if it is a plain number")
        require(parameter.about.strip(), f"parameter {parameter.name!r} does not say what it is")


def own_controllers_can_be_bound(name: str) -> None:
    """Every controller that it names is one, and fits it."""
    system = find_robot(name)
    for key, controller in system.controllers.items():
        require(key != "none", "a controller of its own is named none, which means no controller at all")
        require(isinstance(bind(controller, system), Control), f"controller {key!r} cannot be bound")


# -- the equations -----------------------------------------------------------------------------------


class _Model:
    """Numerical functions of (q, v, u) of one robot."""

    def __init__(self, system: HybridSystem):
        self.system = system
        d = system.dynamics
        # every point may come to be a contact: those of the units alone may move in straight lines, which shows little
        found = [point.position for point in system.mechanism.points.values()]
        found += [row for unit in system.units for _, row in unit.rows]
        rows = [d.row(row) for row in found]
        # a wheel in space has a velocity along the ground, but no position
        self.placed = np.array([has_position(row) for row in found for _ in range(d.row(row)[0].shape[0])], dtype=bool)
        expressions = {
            "M": d.M,
            "kinetic": d.kinetic,
            "places": ca.vertcat(*map(position_of, found), ca.SX.zeros(0)),
            "J": ca.vertcat(*(J for J, _ in rows)) if rows else ca.SX.zeros(0, d.v.numel()),
            "drift": ca.vertcat(*(drift for _, drift in rows), ca.SX.zeros(0)),
            "qdot": d.qdot,
            "N": d.N,
            # d/dt (T + V) along the free flow: a directional derivative that the derivation never forms
            "energy_rate": ca.jtimes(d.kinetic + d.potential, d.x, ca.vertcat(d.qdot, d.free_acceleration)),
            "put_in": ca.dot(d.u, d.S.T @ d.v) - ca.dot(d.damping, d.v),
            "damped": d.damping * d.v,
            "power_scale": ca.sum1(ca.fabs(d.force * d.v) + ca.fabs(d.S @ d.u * d.v) + ca.fabs(d.h * d.v)),
        }
        inputs = [d.t, d.q, d.v, d.u, d.p]
        self._functions = {key: ca.Function(key, inputs, [ca.SX(value)]) for key, value in expressions.items()}

    def __call__(self, key: str, q: Any, v: Any, u: Any = None, p: Any = None) -> np.ndarray:
        u = np.zeros(len(self.system.mechanism.actuators)) if u is None else u
        p = self.system.parameter_values if p is None else p
        return np.array(self._functions[key](INSTANT, q, v, u, p), dtype=float)

    def states(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Coordinates all around and velocities, the same at every call."""
        random = np.random.default_rng(1)
        m = self.system.mechanism
        reach = np.array([np.pi if unit == "rad" else 2.0 for unit in m.coordinates.values()])
        for _ in range(STATES):
            q = random.uniform(-reach, reach)
            for place in m.quaternions:
                q[place : place + 4] /= np.linalg.norm(q[place : place + 4])
            yield q, random.uniform(-10, 10, m.nv)


@lru_cache(maxsize=8)
def _model(system: HybridSystem) -> _Model:
    return _Model(system)


def _shown(q: np.ndarray) -> str:
    return np.array2string(q, precision=3, separator=", ")


def mass_matrix_is_symmetric_and_positive_definite(name: str) -> None:
    """Every motion has positive kinetic energy."""
    model = _model(find_robot(name))
    for q, v in model.states():
        M = model("M", q, v)
        require_close(M, M.T, 1e-14 * np.abs(M).max(), f"the mass matrix is not symmetric at q = {_shown(q)}")
        eigenvalues = np.linalg.eigvalsh(M)
        require(
            eigenvalues[0] > 1e-9 * eigenvalues[-1] > 0,
            f"the mass matrix is not positive definite at q = {_shown(q)}: eigenvalues {_shown(eigenvalues)}; "
            "every coordinate must move some mass or inertia",
        )


def kinetic_energy_is_that_of_the_mass_matrix(name: str) -> None:
    """T = v^T M v / 2."""
    model = _model(find_robot(name))
    for q, v in model.states():
        half = 0.5 * v @ model("M", q, v) @ v
        require_close(model("kinetic", q, v), half, 1e-10 * (1 + abs(half)), f"kinetic energy at q = {_shown(q)}")


def power_put_in_is_the_rate_of_energy(name: str) -> None:
    """Along the free flow, energy changes by inputs and damping alone, and damping takes it out."""
    system = find_robot(name)
    model, random = _model(system), np.random.default_rng(2)
    # damping is zero by default in some robots: give every parameter that is zero a value
    p = system.parameter_values
    for k, parameter in enumerate(system.mechanism.parameters.values()):
        if p[k] == 0:
            p[k] = np.clip(0.3, parameter.lower, parameter.upper)
    for q, v in model.states():
        u = random.uniform(-5, 5, len(system.mechanism.actuators))
        rate, put_in, scale = (model(key, q, v, u, p).item() for key in ("energy_rate", "put_in", "power_scale"))
        require_close(rate, put_in, 1e-10 * (1 + scale), f"power in W at q = {_shown(q)}")
        damped = model("damped", q, v, u, p)
        require((damped >= 0).all(), f"damping must take energy out, it puts in {-damped.min():.3g} W")


# -- kinematics --------------------------------------------------------------------------------------


def _rate(function: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """Rate of change at zero, from both sides, with Richardson's extrapolation."""
    coarse = (function(step) - function(-step)) / (2 * step)
    fine = (function(step / 2) - function(-step / 2)) / step
    return (4 * fine - coarse) / 3


def jacobians_are_those_of_finite_differences(name: str) -> None:
    """Velocities of points and contacts follow from the coordinates' rates."""
    model = _model(find_robot(name))
    for q, v in model.states():
        J, size = model("J", q, v), 1 + np.abs(model("places", q, v)).max(initial=0.0)
        for k, along in enumerate(model("N", q, v).T):
            column = _rate(lambda s, q=q, v=v, a=along: model("places", q + s * a, v).ravel(), 1e-3)  # type: ignore[misc]
            placed, what = model.placed, f"column {k} of a Jacobian at q = {_shown(q)}"
            require_close(J[placed, k], column[placed], 1e-9 * size * _steepness(model, q, v), what)


def _steepness(model: _Model, q: np.ndarray, v: np.ndarray) -> float:
    """How much steeper than elsewhere things change here: a wheel that lies nearly flat touches ever farther off."""
    least = 1.0
    for unit in model.system.units:
        if unit.kind == SPACE and hasattr(unit, "axis"):
            axis = unit.body.pose.direction(unit.axis)  # type: ignore[attr-defined]
            m = model.system.mechanism
            level = ca.Function("level", [m.q, m.p], [ca.norm_2(axis[:2])])(q, model.system.parameter_values)
            least = min(least, float(level))
    return float(least**-6)


def drifts_are_those_of_finite_differences(name: str) -> None:
    """Accelerations of points and contacts at constant velocity."""
    model = _model(find_robot(name))
    for q, v in model.states():
        drift = model("drift", q, v).ravel()
        rate = model("qdot", q, v).ravel()
        moved = _rate(lambda s, q=q, v=v, r=rate: model("J", q + s * r, v) @ v, 1e-4)  # type: ignore[misc]
        size = (1 + np.abs(drift).max(initial=0.0)) * _steepness(model, q, v)
        require_close(drift, moved.ravel(), 1e-6 * size, f"the drift of a Jacobian at q = {_shown(q)}")


# -- runs --------------------------------------------------------------------------------------------


def experiments(system: HybridSystem) -> list[str]:
    """The robot by itself, and every profile that it brings."""
    return ["", *system.profiles]


@lru_cache(maxsize=64)
def _experiment(system: HybridSystem, profile: str) -> Trajectory:
    return _run(system, profile)


def _run(system: HybridSystem, profile: str) -> Trajectory:
    if not profile:
        return simulate(system)
    chosen = system.profiles[profile]
    return simulate(system, chosen.start, controller=chosen.controller, until=chosen.until)


def _title(profile: str) -> str:
    return f"profile {profile!r}" if profile else "the default run"


def default_start_is_accepted(name: str) -> None:
    """A run of no length ends where it starts."""
    system = find_robot(name)
    run = simulate(system, until=0.0)
    require(run.status.good, run.failure_message())
    require_close(list(run.final.values()), system.state(), 0.0, "the state after no time at all")


def runs_end_well(name: str) -> None:
    """The default run and every profile reach their end or a terminal guard."""
    system = find_robot(name)
    for profile in experiments(system):
        run = _experiment(system, profile)
        whole = run.status.name == "terminal" or run.end_time == run.requested_end
        require(run.status.good and whole, f"{_title(profile)}: {run.failure_message()}")


def runs_pass_their_audit(name: str) -> None:
    """Energy balances, contacts stay closed, guards are respected, impacts create nothing."""
    system = find_robot(name)
    for profile in experiments(system):
        audit = _experiment(system, profile).check()
        wrong = [f"{c.name} {c.value:.3g} {c.unit} (limit {c.limit:.1g})" for c in audit.checks if not c.ok]
        require(audit.ok, f"{_title(profile)}: {', '.join(wrong)}")


def runs_are_deterministic(name: str) -> None:
    """The same run twice is the same to the last bit."""
    system = find_robot(name)
    for profile in experiments(system):
        require(_same(_experiment(system, profile), _run(system, profile)), f"{_title(profile)}: two runs differ")


def _same(one: Trajectory, two: Trajectory) -> bool:
    # as bytes, since events hold numbers that are not numbers where a law has no figure of its own
    rows = (one.step_rows.tobytes(), one.event_rows.tobytes(), one.final)
    return rows == (two.step_rows.tobytes(), two.event_rows.tobytes(), two.final)


def velocities_are_the_rates_of_positions(name: str) -> None:
    """The record is of one motion, away from events and from jumps of the input."""
    system = find_robot(name)
    nq, width = system.mechanism.nq, 1e-4
    for profile in experiments(system):
        run = _experiment(system, profile)
        jumps = np.array([run.start_time, *(event.t for event in run.events), *run.control.breaks, run.end_time])
        for t in np.linspace(run.start_time, run.end_time, 41):
            near = np.abs(t - jumps).min()
            if run.control.period:
                near = min(near, abs(t - run.control.period * round(t / run.control.period)))
            if near > 2 * width:
                rate, x = _rate(lambda s, t=t, run=run: run.at(t + s)[:nq], width), run.at(t)  # type: ignore[misc]
                v = _model(system)("qdot", x[:nq], x[nq:]).ravel()
                require_close(rate, v, 1e-6 * (1 + np.abs(v).max()), f"{_title(profile)}: velocities at t = {t:.4g} s")


def impulses_do_the_work_that_is_lost(name: str) -> None:
    """At an impact the impulses, times the mean speeds of their rows, are the energy that left."""
    system = find_robot(name)
    for profile in experiments(system):
        run = _experiment(system, profile)
        times = [event.t for event in run.events]
        for event in run.events:
            sides = np.flatnonzero(run.samples.t == event.t)
            if times.count(event.t) > 1 or len(sides) != 2 or not any(event.impulse.values()):
                continue
            terms = np.array([event.impulse[row] for row in system.row_names]) * run.samples.speeds[sides].mean(axis=0)
            tolerance = 1e-8 * (1 + abs(event.energy_lost) + np.abs(terms).sum())
            what = f"{_title(profile)}: work in J of the impact at t = {event.t:.6g} s"
            require_close(-terms.sum(), event.energy_lost, tolerance, what)


def robot_travels_between_processes(name: str) -> None:
    """What was changed of it is there after the journey, and it moves as before."""
    system = find_robot(name)
    changed = system
    for key, parameter in system.mechanism.parameters.items():
        value = np.clip(1.1 * parameter.value, parameter.lower, parameter.upper)
        changed = changed.with_parameters(**{key: float(value)})
    copy = pickle.loads(pickle.dumps(changed))
    require(copy.values == changed.values, "parameters changed on the way to another process")
    actions = [[guard.action for guard in one.guards] for one in (copy, changed)]
    require(actions[0] == actions[1], "guards changed on the way to another process")
    require(
        _same(simulate(system, until=min(0.3, system.until)), simulate(_copy(system), until=min(0.3, system.until))),
        "it moves differently after the way to another process",
    )


def _copy(system: HybridSystem) -> HybridSystem:
    made: HybridSystem = pickle.loads(pickle.dumps(system))
    return made


CHECKS = (
    robot_can_be_built,
    description_is_complete,
    parameters_have_units_and_say_what_they_are,
    own_controllers_can_be_bound,
    mass_matrix_is_symmetric_and_positive_definite,
    kinetic_energy_is_that_of_the_mass_matrix,
    power_put_in_is_the_rate_of_energy,
    jacobians_are_those_of_finite_differences,
    drifts_are_those_of_finite_differences,
    default_start_is_accepted,
    runs_end_well,
    runs_pass_their_audit,
    runs_are_deterministic,
    velocities_are_the_rates_of_positions,
    impulses_do_the_work_that_is_lost,
    robot_travels_between_processes,
)
