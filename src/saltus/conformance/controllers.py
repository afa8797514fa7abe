"""What every registered controller must satisfy: it binds, acts when it says, and does the same every time.

A controller whose options have no defaults names some in ``EXAMPLE``; it is tried on the first robot that it accepts.
"""

from __future__ import annotations

import dataclasses
import pickle
from functools import lru_cache
from typing import Any

import numpy as np

from saltus import registry
from saltus.conformance._violation import Violation, require, require_close, require_documented
from saltus.control import find_controller
from saltus.engine import Control, Trajectory, simulate
from saltus.engine import _layout as L
from saltus.errors import InputError, SaltusError
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot, robot_names

UNTIL = 0.3


def _made(name: str) -> Any:
    kind = find_controller(name)
    try:
        return kind(**getattr(registry.load("controllers", name), "EXAMPLE", {}))
    except TypeError as error:
        raise Violation(f"{error}; give every option a default, or define EXAMPLE, a dictionary of options") from None


def bound_example(name: str) -> tuple[HybridSystem, Any, Control]:
    """A robot that the controller accepts, the controller, and both together."""
    controller, refusal = _made(name), ""
    for robot in sorted(robot_names(), key=lambda robot: robot != "pendulum"):
        try:
            system = find_robot(robot)
        except SaltusError:
            continue  # a robot that cannot be built is no fault of the controller
        try:
            control = controller.bind(system)
        except InputError as error:
            refusal = refusal or str(error)
            continue
        require(isinstance(control, Control), f"bind must return a Control, got {control!r}")
        return system, controller, control
    raise Violation(f"no robot accepts it; the first refusal: {refusal}")


def _run(name: str, max_step: float = np.inf) -> Trajectory:
    system, controller, _ = bound_example(name)
    return simulate(system, controller=controller, until=UNTIL, max_step=max_step, output_step=UNTIL / 1000)


@lru_cache(maxsize=8)
def _first_run(module: object, name: str) -> Trajectory:
    return _run(name)


def _one_run(name: str) -> Trajectory:
    # kept by the module, since another file may come to have the same name
    return _first_run(registry.load("controllers", name), name)


def controller_can_be_bound(name: str) -> None:
    """There is a robot that it can drive."""
    bound_example(name)


def description_is_complete(name: str) -> None:
    """It says what it is, and cannot be changed once it is made."""
    require_documented("controllers", name)
    kind = find_controller(name)
    text = kind.__doc__ or ""
    # a dataclass without a docstring is given its own signature as one
    require(text.strip() and not text.startswith(f"{kind.__name__}("), f"class {kind.__name__} has no docstring")
    frozen = getattr(kind, "__dataclass_params__").frozen  # noqa: B009 - an attribute that type checkers do not know
    require(frozen, f"class {kind.__name__} must be a frozen dataclass, so that a run's record stays true")


def binding_is_repeatable(name: str) -> None:
    """Binding twice gives the same numbers and leaves the controller as it was."""
    system, controller, one = bound_example(name)
    options = {field.name: getattr(controller, field.name) for field in dataclasses.fields(controller)}
    two = controller.bind(system)
    require(_numbers(one) == _numbers(two), "binding it twice gives different data, memory, breaks or period")
    after = {field.name: getattr(controller, field.name) for field in dataclasses.fields(controller)}
    require(repr(options) == repr(after), "binding changes its options")


def _numbers(control: Control) -> tuple[Any, ...]:
    data = control.data.copy()
    data[list(control.arrays)] = 0.0  # where an array is may change, what is in it may not
    arrays = (data, control.memory, control.breaks, *control.arrays.values())
    return (control.kind, control.period, tuple(control.arrays), *(array.tobytes() for array in arrays))


def run_ends_well_and_passes_its_audit(name: str) -> None:
    """The robot moves on under it, and the books balance."""
    run = _one_run(name)
    require(run.status.good, run.failure_message())
    wrong = [f"{c.name} {c.value:.3g} {c.unit} (limit {c.limit:.1g})" for c in run.check().checks if not c.ok]
    require(not wrong, f"audit of {run.system.name}: {', '.join(wrong)}")


def inputs_respect_the_limits(name: str) -> None:
    """No actuator is driven beyond what it can do."""
    run = _one_run(name)
    inputs = np.abs(run.samples.inputs)
    require(np.isfinite(inputs).all(), "its inputs are not finite")
    require((inputs <= run.system.input_limits).all(), f"inputs beyond the limits of {run.system.name}")


def runs_are_repeatable(name: str) -> None:
    """Nothing is carried over from one run to the next."""
    one, two = _one_run(name), _run(name)
    same = one.step_rows.tobytes() == two.step_rows.tobytes() and one.final == two.final
    require(same, f"two runs of {one.system.name} differ; state from run to run belongs in memory, not in globals")


def it_acts_when_it_says(name: str) -> None:
    """Sampled, its inputs are held between samples; continuous, they do not depend on the integrator's steps."""
    run = _one_run(name)
    period = run.control.period
    if period:
        sample = np.floor(run.samples.t / period + 1e-9)
        inside = np.abs(run.samples.t / period - np.round(run.samples.t / period)) > 1e-6
        for k in np.unique(sample[inside]):
            held = run.samples.inputs[inside & (sample == k)]
            require_close(
                held, np.broadcast_to(held[0], held.shape), 0.0, f"inputs between samples {k:g} and {k + 1:g}"
            )
        return
    first = run.integers[L.MEM]
    after = run.doubles[first : first + run.control.memory.size]
    require_close(after, run.control.memory, 0.0, "a continuous controller must leave memory alone; give it a period")
    other = _run(name, max_step=UNTIL / 97)
    final, again = (np.array(list(r.final.values())) for r in (run, other))
    size = 1 + np.abs(final).max()
    require_close(
        final, again, 1e-6 * size,
        "a continuous controller must depend on time, state and mode alone, and jump only at its breaks; "
        "with other integration steps the final state differs",
    )  # fmt: skip


def controller_travels_between_processes(name: str) -> None:
    """It can be sent to where the runs of a batch are made."""
    system, controller, control = bound_example(name)
    try:
        copy = pickle.loads(pickle.dumps(controller))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Violation(f"it cannot be pickled: {error}") from None
    require(_numbers(copy.bind(system)) == _numbers(control), "it is another one after the way to another process")


CHECKS = (
    controller_can_be_bound,
    description_is_complete,
    binding_is_repeatable,
    run_ends_well_and_passes_its_audit,
    inputs_respect_the_limits,
    runs_are_repeatable,
    it_acts_when_it_says,
    controller_travels_between_processes,
)
