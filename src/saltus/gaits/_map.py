"""Maps of a gait's error over any two quantities: where cycles nearly repeat, and where they cannot end."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from saltus._content import equal_by_content
from saltus._provenance import provenance_line
from saltus._write import check_path, write
from saltus.engine._refusals import Refusals, kinds_of, none_of, tally
from saltus.errors import InputError, unknown_name
from saltus.gaits._cycles import OPTIONS, Cycles, run_many
from saltus.gaits._gait import Gait
from saltus.gaits._plan import plan_of, robot_of
from saltus.mechanism import Parameter

# A map of more cells would not fit into the memory of most machines.
MOST_CELLS = 20_000_000

Axis = tuple[str, Sequence[float] | np.ndarray]


@equal_by_content
@dataclass(frozen=True)
class Minimum:
    """A cell whose error is below that of all cells around it; ``edge`` says that the map ends there."""

    x: float
    y: float
    error: float
    row: int
    column: int
    edge: bool


@equal_by_content
@dataclass(frozen=True)
class ErrorMap:
    """The error of one cycle over two quantities: a row for each value of ``y``, a column for each of ``x``.

    Where the cycle could not start or did not come to its end ``reason`` says why, and numbers are NaN.
    """

    gait: Gait
    knobs: dict[str, float]
    x_name: str
    x: np.ndarray
    y_name: str
    y: np.ndarray
    error: np.ndarray
    durations: dict[str, np.ndarray]
    reason: np.ndarray
    options: dict[str, Any]

    @property
    def good(self) -> np.ndarray:
        """Where the cycle came to its end."""
        return self.reason == ""

    @property
    def period(self) -> np.ndarray:
        """Time of the whole cycle, s."""
        return np.asarray(sum(self.durations.values()))

    @cached_property
    def kind(self) -> np.ndarray:
        """The reason of each cell, in the same words for all cells whose reasons differ in numbers alone."""
        kinds = kinds_of(self.reason[~self.good].tolist())
        names = {text: kind for kind, alike in kinds.items() for text in alike}
        return np.array([names.get(text, "") for text in self.reason.ravel()], dtype=object).reshape(self.reason.shape)

    @property
    def reasons(self) -> list[str]:
        """Every kind of reason there is, once."""
        return sorted({str(text) for text in self.kind.ravel()} - {""})

    @property
    def reason_counts(self) -> dict[str, int]:
        """How many cells have each kind of reason, the most frequent first."""
        return tally(self.reason[~self.good].tolist())

    def unit(self, name: str) -> str:
        """Unit of a free quantity, a knob or a parameter of the robot."""
        return unit_of(self.gait, name)

    def minima(self, most: int | None = None, below: float | None = None) -> list[Minimum]:
        """Cells that are below all their neighbours, the smallest first."""
        rows, columns = self.error.shape
        padded = np.full((rows + 2, columns + 2), np.inf)
        padded[1:-1, 1:-1] = np.where(self.good, self.error, np.inf)
        around = [
            padded[1 + i : 1 + i + rows, 1 + k : 1 + k + columns]
            for i in (-1, 0, 1)
            for k in (-1, 0, 1)
            if (i, k) != (0, 0)
        ]
        lowest = self.good & np.all([padded[1:-1, 1:-1] < other for other in around], axis=0)
        if below is not None:
            lowest &= padded[1:-1, 1:-1] < below
        found = [
            Minimum(
                float(self.x[k]), float(self.y[i]), float(self.error[i, k]), int(i), int(k),
                bool(i in (0, rows - 1) or k in (0, columns - 1)),
            )
            for i, k in np.argwhere(lowest)
        ]  # fmt: skip
        return sorted(found, key=lambda one: one.error)[:most]

    def to_dataset(self) -> xarray.Dataset:
        """The map with names, units and where it comes from."""
        dims = (self.y_name, self.x_name)
        second = {"units": "s"}
        codes = np.zeros(self.reason.shape, dtype=np.int16)
        for code, text in enumerate(self.reasons, 1):
            codes[self.kind == text] = code
        meanings = ["came to its end", *self.reasons]
        variables = {
            "error": (dims, self.error, {"long_name": "sum of the squared differences after a cycle"}),
            **{
                f"t_{name}": (dims, values, {**second, "long_name": f"how long {name} lasts"})
                for name, values in self.durations.items()
            },
            "period": (dims, self.period, {**second, "long_name": "time of the whole cycle"}),
            "reason": (
                dims,
                codes,
                {
                    "long_name": "why a cycle did not come to its end",
                    "flag_values": np.arange(len(meanings), dtype=np.int16),
                    "flag_meanings": " ".join(text.replace(" ", "_") for text in meanings),
                },
            ),
        }
        coordinates = {
            name: (name, values, {"units": self.unit(name)})
            for name, values in ((self.y_name, self.y), (self.x_name, self.x))
        }
        gait, varied = self.gait, (self.x_name, self.y_name)
        attributes = {
            "robot": gait.robot.name,
            "gait": gait.name,
            "made_with": provenance_line(),
            **self.options,
            "longest": gait.longest,
            **{f"section_{name}": value for name, value in gait.section.items()},
            **{f"start_{n}": v for n, v in gait.state().items() if n in gait.free and n not in varied},
            **{f"knob_{name}": value for name, value in self.knobs.items()},
            **{f"parameter_{name}": value for name, value in self._parameters().items() if name not in varied},
        }
        return xarray.Dataset(variables, coordinates, attributes)

    def _parameters(self) -> dict[str, float]:
        """Those of the robot that are the same in all cells."""
        own = {name: value for name, value in self.knobs.items() if name in self.gait.knobs}
        varied = {
            name
            for change in plan_of(self.gait).changes
            if change.parameter in (self.x_name, self.y_name)
            for name in change.names
        }
        return {name: value for name, value in robot_of(self.gait, own).values.items() if name not in varied}

    def save(self, path: str | Path) -> Path:
        """Write it to a .nc or .mat file, all or nothing."""
        check_map_target(Path(path))
        return write(Path(path), WRITERS[Path(path).suffix](self))


def check_map_target(path: Path) -> None:
    """Refuse a path that could not be written, before any work is done."""
    check_path(path, WRITERS)


def _netcdf(found: ErrorMap) -> bytes:
    return bytes(found.to_dataset().to_netcdf(engine="h5netcdf"))


def _matlab(found: ErrorMap) -> bytes:
    import scipy.io

    data = found.to_dataset()
    content: dict[str, Any] = {str(name): variable.values for name, variable in data.variables.items()}
    content["x_name"], content["y_name"] = found.x_name, found.y_name
    content["units"] = {str(name): v.attrs["units"] for name, v in data.variables.items() if "units" in v.attrs}
    content["reasons"] = np.array(["came to its end", *found.reasons], dtype=object)
    content["attributes"] = {str(key)[:63]: value for key, value in data.attrs.items()}
    file = io.BytesIO()
    scipy.io.savemat(file, content, do_compression=True, long_field_names=True)
    return file.getvalue()


WRITERS: dict[str, Callable[[ErrorMap], bytes]] = {".nc": _netcdf, ".mat": _matlab}


def error_map(
    gait: Gait,
    x: Axis,
    y: Axis,
    knobs: Mapping[str, float] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> ErrorMap:
    """The error of one cycle over two quantities; a cell whose cycle cannot start has its reason.

    Values beyond the bounds of a knob or of a parameter are such cells. It is an error, before any work, if no cycle
    can start.

    Parameters
    ----------
    x, y
        A name and its values, in increasing order: a free coordinate or velocity of the section, a knob,
        or a parameter of the robot.
    knobs
        Other values of the knobs that are not varied.
    progress
        Called with the number of cycles made and that of all.
    """
    values = gait.knob_values(knobs)
    names, axes = (x[0], y[0]), check_axes(gait, x, y)
    both = sorted(set(names) & set(knobs or {}))
    if both:
        raise InputError(f"{both[0]} is varied, so that it cannot be set too")
    shape = (len(axes[1]), len(axes[0]))
    grid = dict(zip(names, (part.ravel() for part in np.meshgrid(*axes)), strict=True))
    count = shape[0] * shape[1]
    error, reason = np.full(count, np.nan), np.full(count, "", dtype=object)
    durations = {phase.name: np.full(count, np.nan) for phase in gait.phases}
    begun = np.zeros(count, dtype=bool)
    robots, refusals = _robots(gait, grid, values)
    for k, (made, cells, of) in enumerate(robots):
        if made is None:
            reason[cells] = refusals.reasons[k]
            continue
        starts = {name: grid[name][cells] for name in names if name in gait.free}
        turned = values | {name: grid[name][cells] for name in names if name in values}

        def told(done: int, total: int, begun: float = of[0], share: float = of[1]) -> None:
            if progress is not None:
                progress(round(count * (begun + share * done / total)), count)

        if not starts and all(np.ndim(value) == 0 for value in turned.values()):
            starts = {name: np.full(len(cells), value) for name, value in gait.state().items() if name in gait.free}
        cycles: Cycles = run_many(made, starts, turned, threads=threads, progress=told, **options)
        error[cells] = np.where(cycles.good, cycles.error, np.nan)
        reason[cells], begun[cells] = cycles.reason, cycles.begun
        for name, row in cycles.durations.items():
            durations[name][cells] = np.where(cycles.good, row, np.nan)
    if not begun.any():
        raise none_of("cycles can start", reason.tolist())
    return ErrorMap(
        gait, {n: float(v) for n, v in values.items() if n not in names}, names[0], axes[0], names[1], axes[1],
        error.reshape(shape), {name: row.reshape(shape) for name, row in durations.items()}, reason.reshape(shape),
        {**OPTIONS, **options},
    )  # fmt: skip


def check_axes(gait: Gait, x: Axis, y: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Values of both axes of a map, or why there cannot be such a map."""
    found = _axis(gait, *x), _axis(gait, *y)
    if x[0] == y[0]:
        raise InputError(f"a map needs two different quantities, got {x[0]} twice")
    if len(found[0]) * len(found[1]) > MOST_CELLS:
        raise InputError(f"a map has at most {MOST_CELLS:,} cells, got {len(found[0]):,} times {len(found[1]):,}")
    return found


def unit_of(gait: Gait, name: str) -> str:
    """Unit of a coordinate or velocity at the section, a knob or a parameter of the robot."""
    m = gait.held(0).mechanism
    known = {**m.coordinates, **m.velocities}
    known |= {n: p.unit for n, p in {**gait.robot.mechanism.parameters, **gait.knobs}.items()}
    return known[name]


def _axis(gait: Gait, name: str, values: Any) -> np.ndarray:
    """Values of an axis, checked."""
    parameters = {**gait.robot.mechanism.parameters, **gait.knobs}
    if name not in gait.free and name not in parameters:
        if name in gait.section:
            raise InputError(f"gait {gait.name} begins where {name} = {gait.section[name]:g}: it cannot be varied")
        raise unknown_name("quantity", name, [*gait.free, *parameters], f"gait {gait.name} of {gait.robot.name}")
    try:
        axis = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"values of {name} must be numbers, got {values!r}") from None
    if axis.ndim != 1 or axis.size < 2:
        raise InputError(
            f"a map needs at least two values of {name}, got {axis.size if axis.ndim == 1 else axis.shape}"
        )
    if not np.isfinite(axis).all():
        raise InputError(f"values of {name} must be finite")
    if (np.diff(axis) <= 0).any():
        raise InputError(f"values of {name} must increase, got {axis[0]:g} to {axis[-1]:g}")
    if name in parameters:
        check_any_allowed(parameters[name], axis)
    return axis


def check_any_allowed(parameter: Parameter, values: np.ndarray) -> None:
    """Refuse values of which not one is allowed."""
    refusals = Refusals(values.size)
    refusals.check(~parameter.allowed(values), lambda k: parameter.check(values[k]))
    if refusals.refused.all():
        raise none_of(f"values of {parameter.name} are allowed", list(refusals.reasons.values()))


_Part = tuple[Gait | None, np.ndarray, tuple[float, float]]


def _robots(gait: Gait, grid: Mapping[str, np.ndarray], knobs: Mapping[str, float]) -> tuple[list[_Part], Refusals]:
    """A gait for each robot in the map, which of the cells are its, and which part of the work that is.

    There is no gait where no robot has these parameters, or where knobs that are not varied ask too much of it.
    """
    varied = [name for name in grid if name not in gait.free and name not in gait.knobs]
    everything = np.arange(len(next(iter(grid.values()))))
    if not varied:
        return [(gait, everything, (0.0, 1.0))], Refusals(1)
    rows = np.column_stack([grid[name] for name in varied])
    robots, which = np.unique(rows, axis=0, return_inverse=True)
    which, refusals = which.ravel(), Refusals(len(robots))

    def make(k: int) -> Gait:
        made = gait.with_parameters(**dict(zip(varied, robots[k].tolist(), strict=True)))
        if not set(gait.knobs) & set(grid):
            for phase in range(len(made.phases)):
                plan_of(made).inputs_of(phase, knobs)
        return made

    return [
        (refusals.attempt(k, make), np.flatnonzero(which == k), (k / len(robots), 1 / len(robots)))
        for k in range(len(robots))
    ], refusals
