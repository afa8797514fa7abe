"""One of each kind of result that a user gets back, and what reads it, runs it or goes on with it wherever it is."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import casadi as ca
import numpy as np

import saltus
from saltus import control, gaits, hybrid, optimize, robots, studies
from saltus.contact import Bar, Grip, GroundPoint, Pivot, chatterjee
from saltus.control import Impulse, Sampled, Timed
from saltus.errors import RunFailed
from saltus.gaits.types import pieces
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import Mechanism, Prismatic, Revolute

# -- robots built by hand -------------------------------------------------------------------------


def kangaroo() -> HybridSystem:
    """A box that may bounce, with most of what a description may hold, and figures in a function of its own."""
    m = Mechanism("kangaroo")
    mass = m.parameter("mass", 1.5, "kg", "of the box", positive=True)
    spring = m.parameter("spring", 30.0, "N/m", "of the leash", lower=0)
    floor = m.parameter("floor", 0.0, "m", "height of the floor")
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    rail = m.body("rail", Prismatic("x"), mass=mass)
    box = m.body("box", Prismatic("y", axis=(0, 1)), parent=rail, mass=mass, inertia=0.1)
    m.body("tail", Revolute("tail", at=(0.1, 0)), parent=box, mass=0.2, inertia=0.01, com=(0, -0.3))
    foot = m.point("foot", box, (0, -0.1))
    m.point("tip", m.bodies["tail"], (0, -0.6))
    m.actuator("push", "x", limit=20)
    m.damping("tail", 0.05)
    m.potential(spring * m.coordinate("x").symbol ** 2 / 2)
    m.reading("height", foot.position[1] - floor, "m")
    highest = m.coordinate("y").symbol

    def figures(run: Any) -> dict[str, float | None]:
        place = ca.Function("place", [m.q], [highest])
        return {"last height": float(place(run.at(run.end_time)[: m.nq]))}

    return HybridSystem(
        m,
        units=(GroundPoint(foot, friction=0.4, law=chatterjee(0.6, 0.1), through=(0.0, floor)),),
        guards=(Guard("far", 2.0 - m.coordinate("x").symbol),),
        start={"y": floor + 0.5, "dx": 0.7},
        figures=figures,
        about="built by hand",
    )


def gibbon() -> HybridSystem:
    """Two links that hang from a bar by a hand, with friction about it."""
    m = Mechanism("gibbon")
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    slide = m.body("slide", Prismatic("x"))
    lift = m.body("lift", Prismatic("y", axis=(0, 1)), parent=slide)
    upper = m.body("upper", Revolute("one"), parent=lift, mass=1, inertia=0.1, com=(0, -0.2))
    lower = m.body("lower", Revolute("two", at=(0, -0.4)), parent=upper, mass=1, inertia=0.1, com=(0, -0.2))
    hand = Grip(m.point("A", upper, (0, 0)), (Bar((0, 0), 0.05),), closed=True)
    other = Grip(m.point("B", lower, (0, -0.4)), (Bar((0.5, 0), 0.05),))
    m.actuator("elbow", "two", limit=5.0)
    return HybridSystem(m, units=(hand, other, Pivot(hand, m.coordinate("one").symbol, coulomb=0.05)), start={"one": 1})


# -- controllers of a user's own ------------------------------------------------------------------


class Balance:
    """A plain class that knows no equality."""

    def __init__(self, gain: float):
        self.gain = gain

    def __call__(self, t: float, state: Any, mode: Any, memory: Any) -> float:
        return -self.gain * state["theta"]


def nested(gain: float) -> Callable[..., float]:
    """A function inside another, which pickle alone cannot send."""
    return lambda t, state, mode, memory: -gain * state["theta"]


def by_expressions(robot: HybridSystem) -> Callable[..., float]:
    """A function that holds expressions and makes a function of CasADi of them."""
    gravity = robot.dynamics.h

    def law(t: float, state: Any, mode: Any, memory: Any) -> float:
        d = robot.dynamics
        return 0.5 * float(ca.Function("gravity", [d.x, d.p], [gravity])(state.x, robot.parameter_values))

    return law


class Locked(Balance):
    """A controller with something that belongs to its process."""

    def __init__(self, gain: float):
        super().__init__(gain)
        self.lock = threading.Lock()


# -- results --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def swing() -> Any:
    return gaits.find_gait("swing", robots.monkeybot())


@lru_cache(maxsize=1)
def point() -> Any:
    return gaits.solve(swing(), {"dtheta1": 0.75, "dtheta2": 11.08}, {"motor_torque": 3.0})


def one_run(**options: Any) -> Any:
    return saltus.simulate(robots.pendulum(), {"theta": 0.3}, until=0.1, **options)


def failed() -> Any:
    def law(t: float, state: Any, mode: Any, memory: Any) -> float:
        if t > 0.02:
            raise ValueError("too late")
        return 0.0

    try:
        one_run(controller=law)
    except RunFailed as error:
        return error
    raise AssertionError


def family() -> Any:
    return gaits.follow(point(), "motor_torque", (2.95, 3.05))


def region() -> Any:
    segway = robots.segway()
    axes = ("theta", np.linspace(-0.2, 0.2, 3)), ("dtheta", np.linspace(-0.5, 0.5, 2))
    return gaits.region(segway, *axes, controller=segway.controllers["pd"], until=1.0)


def intervals() -> Any:
    return gaits.recoverable_intervals(
        robots.pendulum(), "theta", (0.0, 0.2), resolution=0.1, tolerance=1e-2, until=1.0, within={"dtheta": 0.05}
    )


def best() -> Any:
    from saltus.optimize import problem_names

    return optimize.search(optimize.find_problem(problem_names("hopper")[0]), runs=60, seed=1)


def by_hand() -> Any:
    """A problem whose functions hold the robot, and an expression in its symbols."""
    robot = gibbon()
    height = robot.mechanism.points["B"].position[1]

    def judge(batch: Any) -> np.ndarray:
        function = ca.Function("height", [robot.mechanism.q, robot.mechanism.p], [height])
        nq, p = robot.mechanism.nq, robot.parameter_values
        return np.array([float(function(row[:nq], p)) for row in batch.states])

    figures = saltus.Figures(("highest",), highest)
    return optimize.Problem(
        "hang high", robot, {"one": (-0.5, 0.5)}, lambda values: optimize.Trial(values, control.Constant(0.0)),
        lambda values: 0.0, judge, figures, "highest", 0.1,
    )  # fmt: skip


def highest(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
    """A compiled number of a user's own."""
    out[0] = max(out[0], t)
    return 0


def table() -> Any:
    task = control.Reach(robots.brachiator(), goal=("B", (0.55, 0.0)), holds="A", grid=5)
    return optimize.train_table(task, optimize.Discounted(sweeps=1))


def motion() -> Any:
    hopper = robots.hopper()
    guess = saltus.simulate(hopper, {"y": 1.0}, controller=control.Constant(0.0), until=0.1)
    return optimize.collocate(
        hopper, optimize.cut(guess, 0.05), guess, maximise=lambda begins, ends: -(ends[0][6] ** 2), start={"y": 1.0}
    )


def trials() -> Any:
    return optimize.random_impulses(optimize.Swinger(robots.brachiator()), 300, seed=1)


def committee() -> Any:
    swinger = optimize.Swinger(robots.brachiator())
    return optimize.committee(optimize.softest(optimize.random_impulses(swinger, 3000, seed=1)), swinger, members=1)


def compared_runs() -> Any:
    hopper = robots.hopper()
    return studies.compare_laws(hopper, laws=["plastic", "newton:restitution=0.3"], until=0.4)


def map_of_errors() -> Any:
    return gaits.error_map(swing(), ("dtheta1", np.linspace(1, 3, 3)), ("dtheta2", np.linspace(9, 12, 3)))


RESULTS: dict[str, Callable[[], Any]] = {
    "run": lambda: one_run(),
    "run of a class": lambda: one_run(controller=Sampled(Balance(3.0))),
    "run of a nested function": lambda: one_run(controller=nested(3.0)),
    "run of expressions": lambda: one_run(controller=by_expressions(robots.pendulum())),
    "run by hand": lambda: saltus.simulate(kangaroo().with_parameters(mass=2.0), until=0.8),
    "failed run": lambda: failed().run,
    "batch": lambda: saltus.simulate_many(robots.pendulum(), {"theta": [0.5, math.nan, 1.0]}, until=0.1),
    "batch of nested functions": lambda: saltus.simulate_many(
        robots.pendulum(), {"theta": [0.5, 0.6]}, controllers=[nested(1.0), nested(2.0)], until=0.1, keep="records"
    ),
    "rollout": lambda: saltus.rollout(robots.pendulum(), np.array([[0.1, 0.0], [0.2, 0.0]]), step=0.01, steps=5),
    "sensitivity": lambda: one_run().sensitivity(),
    "samples": lambda: one_run().samples,
    "friction": lambda: saltus.simulate(robots.segway(), until=0.1).needed_friction(),
    "system": lambda: robots.hopper().with_parameters(mu=0.5).with_law("newton").with_guards(**{"P.touch": "terminal"}),
    "system by hand": lambda: kangaroo().with_parameters(spring=20.0),
    "grips by hand": gibbon,
    "mechanism": lambda: gibbon().mechanism,
    "gait": lambda: swing().with_knob("m1").with_start(dtheta1=1.0),
    "gait by the clock": lambda: swing().timed({"switch": 0.1, "motor": 0.1, "vertical": 0.2}),
    "gait with a draw": lambda: pieces.make(robots.monkeybot(), pieces=1),
    "cycle": lambda: gaits.run_cycle(swing(), {"dtheta1": 2.6, "dtheta2": 11.4}, {"motor_torque": 3}, derivatives=True),
    "cycles": lambda: gaits.run_many(swing(), {"dtheta1": [1.0, 2.0], "dtheta2": 11.0}),
    "fixed point": point,
    "family": family,
    "error map": map_of_errors,
    "minimum": lambda: gaits.minimise(swing(), {"dtheta1": 2.6, "dtheta2": 11.4}, {"motor_torque": 3.0}),
    "iterates": lambda: gaits.iterate(point(), 2),
    "region": region,
    "intervals": intervals,
    "best": best,
    "problem by hand": by_hand,
    "motion": motion,
    "table": table,
    "trials": trials,
    "committee": committee,
    "laws": compared_runs,
    "swings": lambda: studies.try_swings("brachiator", "swing", mixes=studies.SwingMixes(count=2, seed=3)),
    "linear": lambda: saltus.linearize(robots.segway()),
    "linear arcs": lambda: saltus.linearize_along(one_run(), [0.0, 0.05, 0.1]),
    "symbolic linear": lambda: control.symbolic_linear(robots.segway(), {"theta": 0.0}, mode="open"),
    "symbolic mode": lambda: hybrid.symbolic_mode(robots.hopper(), "stick"),
    "graph": lambda: saltus.mode_graph(robots.hopper()),
    "painleve": lambda: hybrid.painleve(robots.rod(), ("theta", [0.5, 1.0]), ("x", [0.0, 1.0]), unit="A", within=()),
    "timed": lambda: Timed.of(point().cycle, cycles=2),
    "track": lambda: control.Track(saltus.simulate(robots.segway(), controller=None, until=0.1)),
    "impulse": lambda: Impulse(0.2, 5.0, 0.15),
}


# -- what can be done with them -------------------------------------------------------------------


def used(thing: Any) -> Any:
    """What a result says, and what comes of going on with it, in numbers."""
    if isinstance(thing, RunFailed):
        return str(thing), used(thing.run)
    if isinstance(thing, saltus.Trajectory):
        on = saltus.simulate(thing.system, thing.at(0.0), controller=thing.controller, mode=began(thing), until=0.01)
        read = thing.samples.forces, thing.figures, thing.check().to_dict(), on.final
        return (*read, thing.jacobian() if thing.system.name == "kangaroo" else None)
    if isinstance(thing, saltus.Batch):
        return thing.reasons, thing.check().to_dict(), used(thing.run(0))
    if isinstance(thing, HybridSystem):
        return used(saltus.simulate(thing, until=0.05))
    if isinstance(thing, Mechanism):
        return used(HybridSystem(thing))
    if isinstance(thing, gaits.Gait):
        free = {name: thing.start[name] for name in thing.free if name in thing.start}
        cycles = gaits.run_many(thing, {name: [value, value + 0.01] for name, value in free.items()})
        return cycles.finals, cycles.reason.tolist()
    if isinstance(thing, gaits.Cycle):
        start = {name: thing.start[name] for name in thing.gait.free}
        again = gaits.run_cycle(thing.gait, start, thing.knobs, derivatives=True)
        return again.final, again.jacobian, thing.touched, [used(run) for run in thing.runs]
    if isinstance(thing, gaits.FixedPoint):
        return used(thing.cycle), thing.multipliers
    if isinstance(thing, gaits.Family):
        on = gaits.follow(thing.points[0], thing.knob, (2.94, 2.96), most=3)
        return [change.about for change in thing.changes], on.values
    if isinstance(thing, gaits.ErrorMap):
        return thing.minima(), used(thing.gait)
    if isinstance(thing, gaits.Region | gaits.RecoverableIntervals):
        return thing.to_dict()
    if isinstance(thing, optimize.Best):
        return optimize.verdict(thing.problem, thing.problem.trial(thing.values)).to_dict()
    if isinstance(thing, optimize.Problem):
        return thing.judge(saltus.simulate_many(thing.robot, {"one": [0.1, 0.2]}, until=thing.until)).tolist()
    if isinstance(thing, optimize.Motion):
        return used(saltus.simulate(thing.system, thing.start, controller=thing.controller(), until=0.01))
    if isinstance(thing, optimize.Committee):
        return thing.impulse(-0.5, 0.5)
    if isinstance(thing, control.Table):
        return control.Policy(thing).bind(robots.brachiator()).data.size
    if isinstance(thing, studies.SwingTrials):
        return thing.to_dict(), used(thing.run(0))
    if isinstance(thing, control.Track):
        return used(saltus.simulate(robots.segway(), controller=thing, until=0.05))
    if isinstance(thing, dict):
        return {name: used(one) for name, one in thing.items()}
    return thing.to_dict() if hasattr(thing, "to_dict") else None


def began(run: Any) -> dict[str, str]:
    """Which grips were closed when a run began."""
    statuses = zip(run.system.units, run.arc_statuses[0].tolist(), strict=True)
    return {unit.name: unit.statuses[status] for unit, status in statuses if isinstance(unit, Grip)}


@cache
def made(name: str) -> Any:
    """One of them, made once."""
    return RESULTS[name]()


def everything() -> dict[str, Any]:
    """All of them."""
    return {name: made(name) for name in RESULTS}


def back(things: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a worker does: the things as they arrived, and what it made of them."""
    return things, {name: used(thing) for name, thing in things.items()}


def pairs() -> dict[str, Any]:
    """A short run of every robot with every controller of saltus that it takes."""
    from saltus import registry
    from saltus.conformance.controllers import bound_example

    made = {}
    for name in registry.names("controllers", own=True):
        _, controller, _ = bound_example(name)
        for robot in registry.names("robots", own=True):
            system = robots.find_robot(robot)
            try:
                controller.bind(system)
            except saltus.errors.SaltusError:
                continue  # not for this robot
            made[f"{robot} with {name}"] = saltus.simulate(system, controller=controller, until=0.02)
    return made


def read(run: Any) -> tuple[Any, ...]:
    """What is read off a run with compiled code."""
    moment = 0.5 * (run.start_time + run.end_time)
    return run.at(moment), run.check().to_dict(), vars(run.everything_at([moment]))


def again(runs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a worker does with runs: as they arrived, what it reads off them, and the same runs made there."""
    readings = {name: read(run) for name, run in runs.items()}
    made = {
        name: saltus.simulate(run.system, controller=run.controller, until=run.requested_end)
        for name, run in runs.items()
    }
    return runs, readings, made


def loaded(sent: bytes) -> Any:
    """What arrives, or in which words it does not."""
    import pickle

    try:
        return pickle.loads(sent)
    except Exception as error:  # noqa: BLE001 - an error in a worker's argument ends the worker
        return error
