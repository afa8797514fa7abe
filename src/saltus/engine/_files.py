"""Trajectories on disk: NetCDF, MATLAB and CSV files, written all or nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import InputError, SaltusError, unknown_name

if TYPE_CHECKING:
    from saltus.engine._trajectory import Trajectory


def check_target(path: Path) -> None:
    """Refuse a path that could not be written, before any work is done."""
    if path.suffix not in WRITERS:
        raise unknown_name("file type", path.suffix, WRITERS, str(path.name))
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: the folder {path.parent} is not writable")


def save(run: Trajectory, path: Path) -> Path:
    """Write a run to a file whose ending says how; a failed write leaves nothing behind."""
    check_target(path)
    content = WRITERS[path.suffix](run)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".saltus-", suffix=path.suffix)
    except OSError as error:
        raise SaltusError(f"cannot write {path}: {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise SaltusError(f"cannot write {path}: {error}") from error
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
