"""A trajectory's samples as an xarray dataset, with names, units and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray

from saltus._provenance import provenance_line
from saltus.engine._audit import energy_residual
from saltus.hybrid import read_off

if TYPE_CHECKING:
    from saltus.engine._batch import Batch
    from saltus.engine._trajectory import Trajectory


def dataset(run: Trajectory) -> xarray.Dataset:
    """Every sample of a run, labelled."""
    s, m = run.samples, run.system.mechanism
    nq = m.nq
    modes = np.array(run.arc_modes)
    joule = {"units": "J"}
    variables = {
        "q": (("t", "coordinate"), s.x[:, :nq], {"long_name": "coordinates"}),
        "v": (("t", "velocity"), s.x[:, nq:], {"long_name": "velocities"}),
        "mode": ("t", modes[s.arc], {"long_name": "mode"}),
        "arc": ("t", s.arc, {"long_name": "number of the arc"}),
        "force": (("t", "row"), s.forces, {"units": "N", "long_name": "contact forces"}),
        "torque": (
            ("t", "actuator"),
            s.inputs,
            {"long_name": "what is asked of the actuators"},
        ),
        "kinetic": ("t", s.kinetic, joule),
        "potential": ("t", s.potential, joule),
        "energy": ("t", s.kinetic + s.potential, joule),
        "work": ("t", s.integrals[:, 0], {**joule, "long_name": "work of the actuators"}),
        "damping_loss": ("t", s.integrals[:, 1], joule),
        "friction_loss": ("t", s.integrals[:, 2], joule),
        "impact_loss": ("t", s.impact_loss, joule),
        "energy_residual": ("t", energy_residual(s), {**joule, "long_name": "what the energy balance misses"}),
    }
    readings = read_off(run.system, s.x)
    if readings:
        values = np.column_stack(list(readings.values()))
        variables["reading"] = (("t", "quantity"), values, {"long_name": "what is read off the coordinates, and rates"})
    coordinates = {
        "t": ("t", s.t, {"units": "s"}),
        "coordinate": list(m.coordinates),
        "velocity": list(m.velocities),
        "coordinate_unit": ("coordinate", list(m.coordinates.values())),
        "velocity_unit": ("velocity", list(m.velocities.values())),
        "row": run.system.row_names,
        "actuator": list(m.actuators),
        "actuator_unit": ("actuator", [actuator.unit for actuator in m.actuators.values()]),
        **({"quantity": list(readings)} if readings else {}),
    }
    attributes = {
        "robot": run.system.name,
        "controller": run.control.name,
        "status": run.status.name,
        "method": run.method,
        "rtol": run.rtol,
        "atol": run.atol,
        "made_with": provenance_line(),
        **{f"parameter_{name}": value for name, value in run.system.values.items()},
    }
    return xarray.Dataset(variables, coordinates, attributes)


def batch_dataset(batch: Batch) -> xarray.Dataset:
    """Every summary of many runs, labelled."""
    m = batch.system.mechanism
    nq = m.nq
    joule = {"units": "J"}
    reasons = np.array([batch.reasons.get(run, "") for run in range(batch.n)], dtype=str)
    variables = {
        "q": (("run", "coordinate"), batch.states[:, :nq], {"long_name": "last coordinates"}),
        "v": (("run", "velocity"), batch.states[:, nq:], {"long_name": "last velocities"}),
        "q_start": (("run", "coordinate"), batch.starts[:, :nq], {"long_name": "first coordinates"}),
        "v_start": (("run", "velocity"), batch.starts[:, nq:], {"long_name": "first velocities"}),
        "parameters": (("run", "parameter"), batch.cases.parameters),
        "t_end": ("run", batch.t_end, {"units": "s"}),
        "status": ("run", batch.status),
        "good": ("run", batch.good),
        "reason": ("run", reasons, {"long_name": "why a run could not start or did not end well"}),
        "mode": ("run", batch.modes, {"long_name": "last mode"}),
        "steps": ("run", batch.steps),
        "rejected": ("run", batch.rejected),
        "event_count": ("run", batch.event_count),
        "event_times": (("run", "event"), batch.event_times, {"units": "s"}),
        "event_guards": (("run", "event"), batch.event_guards),
        "energy_residual": ("run", batch.energy_residual, joule),
        "energy_limit": ("run", batch.energy_limit, joule),
        **{f"figure_{name}": ("run", values) for name, values in batch.figures.items()},
    }
    coordinates = {
        "run": np.arange(batch.n),
        "coordinate": list(m.coordinates),
        "velocity": list(m.velocities),
        "coordinate_unit": ("coordinate", list(m.coordinates.values())),
        "velocity_unit": ("velocity", list(m.velocities.values())),
        "parameter": list(m.parameters),
        "parameter_unit": ("parameter", [parameter.unit for parameter in m.parameters.values()]),
    }
    attributes = {"robot": batch.system.name, "made_with": provenance_line()}
    attributes |= {name: batch.options[name] for name in ("method", "rtol", "atol", "start", "until")}
    return xarray.Dataset(variables, coordinates, attributes)
