"""Trajectories on disk: NetCDF, MATLAB and CSV files, written all or nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._write import check_path, write

if TYPE_CHECKING:
    import xarray

    from saltus.engine._trajectory import Trajectory


def check_target(path: Path) -> None:
    """Refuse a path that could not be written, before any work is done."""
    check_path(path, WRITERS)


def save(run: Trajectory, path: Path) -> Path:
    """Write a run to a file whose ending says how; a failed write leaves nothing behind."""
    check_target(path)
    return write(path, WRITERS[path.suffix](run))


def _netcdf(run: Trajectory) -> bytes:
    data = run.dataset.copy()
    data.attrs["events"] = json.dumps([event.to_dict() for event in run.events])
    return bytes(data.to_netcdf(engine="h5netcdf"))


def _matlab(run: Trajectory) -> bytes:
    import scipy.io

    data = run.dataset
    content: dict[str, Any] = {str(name): np.asarray(variable.values) for name, variable in data.data_vars.items()}
    content["mode"] = data["mode"].values.astype(object)
    content["t"] = data["t"].values
    for name in ("coordinate", "velocity", "row", "actuator", *(("quantity",) if "quantity" in data.coords else ())):
        content[f"{name}_names"] = np.array([str(v) for v in data[name].values], dtype=object)
    content["events"] = _struct_array([event.to_dict() for event in run.events])
    content["attributes"] = dict(zip(_fields(data.attrs), data.attrs.values(), strict=True))
    file = io.BytesIO()
    scipy.io.savemat(file, content, do_compression=True, long_field_names=True)
    return file.getvalue()


def _fields(names: Iterable[str]) -> list[str]:
    """Names as MATLAB allows them, plain letters and no more than 63; those that would be the same get a number."""
    made: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        field, number = plain[:63], 2
        while field in made:
            field, number = f"{plain[: 62 - len(str(number))]}_{number}", number + 1
        made.append(field)
    return made


def _struct_array(records: list[dict[str, Any]]) -> np.ndarray:
    keys = ("t", "guard", "from", "to", "energy_lost")
    table = np.zeros((len(records),), dtype=[(key, object) for key in keys])
    for k, record in enumerate(records):
        for key in keys:
            table[k][key] = record.get(key, 0.0)
    return table


def _csv(run: Trajectory) -> bytes:
    columns = _columns(run.dataset)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([repr(float(v)) if isinstance(v, float) else v for v in row])
    return file.getvalue().encode()


def _columns(data: xarray.Dataset) -> dict[str, np.ndarray]:
    """A column for each number: time, then coordinates and velocities by their names, then the rest.

    A coordinate or velocity whose name is that of another column, such as t or energy, gets ``q_`` or ``v_`` before it.
    """
    states: dict[str, np.ndarray] = {}
    rest: dict[str, np.ndarray] = {}
    for name, variable in data.data_vars.items():
        if variable.ndim == 1:
            rest[str(name)] = variable.values
            continue
        for label, column in zip(data[variable.dims[1]].values, variable.values.T, strict=True):
            if name in ("q", "v"):
                states[str(label)] = column
            else:
                rest[f"{name}_{label}"] = column
    taken = {"t", *rest}
    rates, columns = set(map(str, data["velocity"].values)), {"t": data["t"].values}
    for label, column in states.items():
        name = label
        while name in taken or (name != label and name in states):
            name = f"{'v' if label in rates else 'q'}_{name}"
        taken.add(name)
        columns[name] = column
    return columns | rest


WRITERS: dict[str, Callable[[Trajectory], bytes]] = {".nc": _netcdf, ".mat": _matlab, ".csv": _csv}
