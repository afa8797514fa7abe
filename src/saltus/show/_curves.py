"""What a run has to show over time, in groups that share an axis: states, torques, energies, forces, own series."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saltus.contact._unit import GRIP, JOINT
from saltus.engine import Trajectory
from saltus.engine._trajectory import Samples
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, read_off
from saltus.show._points import on_ground

KINDS = {
    "m": "position",
    "rad": "angle",
    "m/s": "velocity",
    "rad/s": "angular velocity",
    "N": "force",
    "N m": "torque",
    "J": "energy",
}


# What never leaves zero by more, in any of the units above, is rounding, and is drawn as zero.
ROUNDING = 1e-13
# Limits up to so many times the largest value are drawn.
FAR = 5.0


@dataclass(frozen=True)
class Curves:
    """Quantities on one axis: a row of values for each, and levels to compare them with."""

    title: str
    axis: str
    rows: Mapping[str, np.ndarray]
    levels: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


def curves(run: Trajectory, samples: Samples) -> list[Curves]:
    """Every group of curves that a run's robot has, at some samples."""
    groups = [*_states(run, samples), *_torques(run, samples), *_energies(samples), *_forces(run, samples)]
    return [replace(group, rows={name: _sound(row) for name, row in group.rows.items()}) for group in groups]


def _sound(row: np.ndarray) -> np.ndarray:
    """Values without what is rounding alone."""
    known = row[np.isfinite(row)]
    return np.where(np.isfinite(row), 0.0, row) if known.size and np.abs(known).max() < ROUNDING else row


def own_curves(run: Trajectory, t: np.ndarray, series: Mapping[str, Any]) -> list[Curves]:
    """Quantities of a user, given at ``run.t``, read at other times; what is not a number leaves a gap."""
    made = []
    for name, given in series.items():
        try:
            values = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"series {name!r} must be numbers") from None
        if values.shape != run.t.shape:
            raise InputError(
                f"series {name!r} needs a value for each of the {len(run.t)} samples of run.t, got shape {values.shape}"
            )
        lost = int((~np.isfinite(values)).sum())
        note = f"{lost} of {len(values)} values of {name} are no numbers and left out." if lost else ""
        read = _read(run.t, np.where(np.isfinite(values), values, math.nan), t)
        made.append(Curves(name, name, {name: read}, note=note))
    return made


def axis_of(unit: str) -> str:
    """What an axis says: the kind of quantity and its unit."""
    kind = KINDS.get(unit, "value")
    return kind if unit in ("", "1") else f"{kind} ({unit.replace('^2', '²')})"


def force_ratio(along: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The tangential over the normal force; no number where there is no normal force."""
    least = 1e-9 * max(1.0, float(np.abs(normal[np.isfinite(normal)]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        acting = np.abs(normal) > least
    return np.divide(along, normal, out=np.full(len(normal), math.nan), where=acting)


def ratio_of_forces(system: HybridSystem, forces: np.ndarray, row: int) -> np.ndarray:
    """The ratio of a contact with the ground, from the forces of all rows; in space of the size along the ground."""
    along = forces[:, row] if system.mechanism.dimension == 2 else np.hypot(forces[:, row], forces[:, row + 2])
    return force_ratio(along, forces[:, row + 1])


def _states(run: Trajectory, samples: Samples) -> Iterator[Curves]:
    mechanism = run.system.mechanism
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, unit in {**mechanism.coordinates, **mechanism.velocities}.items():
        groups.setdefault(unit, {})[name] = samples.x[:, run.system.state_names.index(name)]
    for name, values in read_off(run.system, samples.x).items():
        own = name in mechanism.readings
        unit = mechanism.readings[name if own else name[1:]].unit
        groups.setdefault(unit if own else f"{unit}/s", {})[name] = values
    for unit, rows in groups.items():
        yield Curves(KINDS.get(unit, "state"), axis_of(unit), rows)


def _torques(run: Trajectory, samples: Samples) -> Iterator[Curves]:
    groups: dict[str, dict[str, int]] = {}
    for k, (name, actuator) in enumerate(run.system.mechanism.actuators.items()):
        groups.setdefault(actuator.unit, {})[name] = k
    for unit, members in groups.items():
        limits = {float(run.system.input_limits[k]) for k in members.values()}
        limit = limits.pop() if len(limits) == 1 else math.inf
        rows = {name: samples.inputs[:, k] for name, k in members.items()}
        largest = max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in rows.values())
        # a limit that is far away would leave nothing to see of the curves: it is told only
        near = math.isfinite(limit) and limit <= FAR * largest
        levels = {"limit": limit, "-limit": -limit} if near else {}
        note = f"The limit is {limit:g} {unit}." if math.isfinite(limit) and not near else ""
        yield Curves("actuators", axis_of(unit), rows, levels, note)


def _energies(samples: Samples) -> Iterator[Curves]:
    rows = {
        "kinetic": samples.kinetic,
        "potential": samples.potential,
        "total": samples.kinetic + samples.potential,
        "work of actuators": samples.integrals[:, 0],
        "lost to damping": samples.integrals[:, 1],
        "lost to friction": samples.integrals[:, 2],
        "lost in impacts": samples.impact_loss,
    }
    always = ("kinetic", "potential", "total")
    yield Curves("energy", axis_of("J"), {n: row for n, row in rows.items() if n in always or np.any(row != 0)})


def _forces(run: Trajectory, samples: Samples) -> Iterator[Curves]:
    system = run.system
    grounded = [(k, unit) for k, unit in enumerate(system.units) if on_ground(unit)]
    gripping = [k for k, unit in enumerate(system.units) if unit.kind == GRIP]
    names = system.row_names
    rows = [row for k in [*(k for k, _ in grounded), *gripping] for row in range(*system.first_rows[k : k + 2])]
    if rows:
        yield Curves("contact forces", axis_of("N"), {names[row]: samples.forces[:, row] for row in rows})
    yield from _joints(run, samples)
    if grounded:
        frictions = {float(system.unit_coefficients[k][0]) for k, _ in grounded}
        friction = frictions.pop() if len(frictions) == 1 else math.inf
        levels = {"friction": friction, "-friction": -friction} if math.isfinite(friction) else {}
        ratios = {}
        for k, unit in grounded:
            ratios[unit.name] = ratio_of_forces(system, samples.forces, system.first_rows[k])
        yield Curves("force ratio", "tangential over normal force", ratios, levels)


def _joints(run: Trajectory, samples: Samples) -> Iterator[Curves]:
    """What dry friction and stops of joints bear, where they ever do."""
    groups: dict[str, dict[str, np.ndarray]] = {}
    for unit, first in zip(run.system.units, run.system.first_rows, strict=False):
        if unit.kind == JOINT and samples.forces[:, first].any():
            pushes = unit.coordinate is not None and unit.coordinate.unit == "m"
            groups.setdefault("N" if pushes else "N m", {})[unit.name] = samples.forces[:, first]
    for unit_of_force, rows in groups.items():
        yield Curves("friction and stops", axis_of(unit_of_force), rows)


def _read(known: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Values at other times, straight between those that are known; a gap beside what is no number."""
    if len(known) == 1:
        return np.full(len(t), values[0])
    right = np.clip(np.searchsorted(known, t, side="right"), 1, len(known) - 1)
    left = right - 1
    width = known[right] - known[left]
    share = np.clip(np.divide(t - known[left], width, out=np.ones_like(width), where=width > 0), 0.0, 1.0)
    between = values[left] + share * (values[right] - values[left])
    # a neighbour that is no number does not matter at a sample itself
    return np.where(share == 0.0, values[left], np.where(share == 1.0, values[right], between))
