"""Drake: a MultibodyPlant under RK5 with error control, with three ways to get the state each millisecond."""

from __future__ import annotations

from typing import Any

import numpy as np

from contestants.problem import COUNT, END, SPACING, TOLERANCE, Contestant, robot, start, times


def _plant() -> Any:
    """The two links along -z, turning about y; of the inertias only that about y matters."""
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import RevoluteJoint, RotationalInertia, SpatialInertia

    p = robot().values
    plant = MultibodyPlant(time_step=0.0)
    parent, hang = plant.world_body(), [0.0, 0.0, 0.0]
    for k in ("1", "2"):
        inertia = SpatialInertia.MakeFromCentralInertia(
            p["m" + k], [0.0, 0.0, -p["r" + k]], RotationalInertia(p["I" + k], p["I" + k], 0.0)
        )
        body = plant.AddRigidBody("link" + k, inertia)
        joint = RevoluteJoint(
            "theta" + k, plant.AddFrame(_frame(parent, hang)), body.body_frame(), [0.0, 1.0, 0.0], 0.0
        )
        plant.AddJoint(joint)
        parent, hang = body, [0.0, 0.0, -p["L" + k]]
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -p["g"]])
    plant.Finalize()
    return plant


def _frame(body: Any, place: list[float]) -> Any:
    from pydrake.math import RigidTransform
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(f"end of {body.name()}", body.body_frame(), RigidTransform(place))


def _simulator(system: Any) -> Any:
    """A simulator at the start; its largest step is the whole run, so that only accuracy limits it."""
    from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

    simulator = Simulator(system)
    integrator = ResetIntegratorFromFlags(simulator, "runge_kutta5", END)
    integrator.set_target_accuracy(TOLERANCE)
    integrator.set_fixed_step_mode(False)
    # left to itself it would try a tenth of the largest step, and not recover from that
    integrator.request_initial_step_size_target(SPACING)
    simulator.get_mutable_context().SetContinuousState(start())
    simulator.Initialize()
    return simulator


def contestants() -> list[Contestant]:
    """Drake stopped each millisecond, with a logger each millisecond, and with its own dense output."""
    from pydrake.systems.framework import DiagramBuilder
    from pydrake.systems.primitives import LogVectorOutput

    plant, wanted = _plant(), times()
    builder = DiagramBuilder()
    logged = builder.AddSystem(_plant())
    logger = LogVectorOutput(logged.get_state_output_port(), builder, publish_period=SPACING)
    diagram = builder.Build()

    def loop(simulator: Any) -> np.ndarray:
        out = np.empty((COUNT + 1, 4))
        state = simulator.get_context().get_continuous_state_vector()
        out[0] = state.CopyToVector()
        for k in range(1, COUNT + 1):
            simulator.AdvanceTo(wanted[k])
            out[k] = state.CopyToVector()
        return out

    def log(simulator: Any) -> np.ndarray:
        simulator.AdvanceTo(END)
        rows: np.ndarray = logger.FindLog(simulator.get_context()).data()
        return rows

    def dense(simulator: Any) -> np.ndarray:
        integrator = simulator.get_mutable_integrator()
        integrator.StartDenseIntegration()
        simulator.AdvanceTo(END)
        rows: np.ndarray = integrator.StopDenseIntegration().vector_values(wanted)
        return rows

    return [
        Contestant("Drake, RK5, `AdvanceTo` each ms", lambda: _simulator(plant), loop, lambda x: x, slow=True),
        Contestant("Drake, RK5, logger each ms", lambda: _simulator(diagram), log, lambda x: x.T, slow=True),
        Contestant("Drake, RK5, dense output", lambda: _simulator(plant), dense, lambda x: x.T, slow=True),
    ]
