"""Trajectories on disk: NetCDF, MATLAB and CSV files, written all or nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._write import check_path, write

if TYPE_CHECKING:
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
    for name in ("coordinate", "velocity", "row", "actuator"):
        content[f"{name}_names"] = np.array([str(v) for v in data[name].values], dtype=object)
    content["events"] = _struct_array([event.to_dict() for event in run.events])
    content["attributes"] = {key[:63]: value for key, value in data.attrs.items()}
    file = io.BytesIO()
    scipy.io.savemat(file, content, do_compression=True, long_field_names=True)
    return file.getvalue()


def _struct_array(records: list[dict[str, Any]]) -> np.ndarray:
    keys = ("t", "guard", "from", "to", "energy_lost")
    table = np.zeros((len(records),), dtype=[(key, object) for key in keys])
    for k, record in enumerate(records):
        for key in keys:
            table[k][key] = record.get(key, 0.0)
    return table


def _csv(run: Trajectory) -> bytes:
    data = run.dataset
    columns: dict[str, Any] = {"t": data["t"].values}
    for name, variable in data.data_vars.items():
        if variable.ndim == 1:
            columns[str(name)] = variable.values
        else:
            labels = data[variable.dims[1]].values
            for k, label in enumerate(labels):
                prefix = "" if name in ("q", "v") else f"{name}_"
                columns[f"{prefix}{label}"] = variable.values[:, k]
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([repr(float(v)) if isinstance(v, float) else v for v in row])
    return file.getvalue().encode()


WRITERS: dict[str, Callable[[Trajectory], bytes]] = {".nc": _netcdf, ".mat": _matlab, ".csv": _csv}
