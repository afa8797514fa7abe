"""Events as a user reads them, from the rows that the loop records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.engine import _layout as L
from saltus.hybrid import HybridSystem


@equal_by_content
@dataclass(frozen=True)
class Event:
    """One event: when, why, and everything before and after it.

    ``guard`` is what caused it; ``guards`` are all that were zero at that instant; ``ended`` says
    whether the run ended in it.
    """

    t: float
    guard: str
    mode_before: str
    mode_after: str
    state_before: dict[str, float]
    state_after: dict[str, float]
    forces_before: dict[str, float]
    forces_after: dict[str, float]
    impulse: dict[str, float]
    energy_lost: float
    kappa: float | None = None
    ended: bool = False
    guards: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        record: dict[str, Any] = {
            "t": self.t,
            "guard": self.guard,
            "guards": list(self.guards),
            "from": self.mode_before,
            "to": self.mode_after,
            "before": self.state_before,
            "after": self.state_after,
            "forces_before": self.forces_before,
            "forces_after": self.forces_after,
        }
        if any(self.impulse.values()):
            record["impulse"] = self.impulse
            record["energy_lost"] = self.energy_lost
        if self.kappa is not None:
            record["kappa"] = self.kappa
        return record


def named(system: HybridSystem, x: np.ndarray) -> dict[str, float]:
    """A state by name."""
    return dict(zip(system.state_names, map(float, x), strict=True))


def read_event(system: HybridSystem, row: np.ndarray) -> Event:
    """Turn a row of the record into an event."""
    nunit, nx = len(system.units), len(system.state_names)
    ny, nr = nx + 3, system.first_rows[-1]
    parts = np.split(row[L.E_VECTORS :], np.cumsum([ny, ny, nr, nr, nr, nunit]))
    before, after, forces, forces_after, impulse, old, new = parts
    kappa = float(row[L.E_KAPPA])

    def by_row(values: np.ndarray) -> dict[str, float]:
        return dict(zip(system.row_names, map(float, values), strict=True))

    return Event(
        t=float(row[L.E_TIME]),
        guard=event_cause(system, int(row[L.E_CAUSE]), int(row[L.E_GUARD]), old),
        mode_before=system.mode_name(old.astype(int).tolist()),
        mode_after="end" if row[L.E_ENDED] else system.mode_name(new.astype(int).tolist()),
        state_before=named(system, before[:nx]),
        state_after=named(system, after[:nx]),
        forces_before=by_row(forces),
        forces_after=by_row(forces_after),
        impulse=by_row(impulse),
        energy_lost=float(row[L.E_KINETIC] - row[L.E_KINETIC_AFTER]),
        kappa=None if math.isnan(kappa) else kappa,
        ended=bool(row[L.E_ENDED]),
        guards=tuple(_guard(system, k, old) for k in range(52) if int(row[L.E_FIRED]) >> k & 1),
    )


def event_cause(system: HybridSystem, cause: int, guard: int, statuses: np.ndarray) -> str:
    """Name of what caused an event: a guard in the mode before it, a break, a sample or a command."""
    causes = {L.CAUSE_BREAK: "break", L.CAUSE_SAMPLE: "sample", L.CAUSE_COMMAND: "command"}
    return causes.get(int(cause)) or _guard(system, int(guard), statuses)


def _guard(system: HybridSystem, slot: int, statuses: np.ndarray) -> str:
    units = system.units
    if slot >= L.SLOTS * len(units):
        return system.guards[slot - L.SLOTS * len(units)].name
    unit = slot // L.SLOTS
    return f"{units[unit].name}.{units[unit].guard_names[int(statuses[unit])][slot % L.SLOTS]}"
