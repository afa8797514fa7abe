"""The policy of tables [yang2016, 7.2]: looks ahead with every input, and takes the one to the best state."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control._grid import Axis
from saltus.control._hands import one_motor
from saltus.control._hardware import Hardware
from saltus.control._policy_numbers import Numbers
from saltus.control._protocol import check_period, finite
from saltus.control._table import Place, Table
from saltus.engine import Control
from saltus.engine._single import BLOCK
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# How often it acts on what an encoder tells, s; how early it asks slow claws to close, m from the bar.
SENSED, EARLY = 1e-3, 0.25


@equal_by_content
@dataclass(frozen=True)
class Policy:
    """Control by tables of what states are worth, for one mode or, with tables for each hand, from bar to bar.

    Every ``period`` a model of the robot is moved on by ``ahead`` with each of ``inputs`` inputs, and for as long again
    with each of ``then`` that may follow; the one is taken that meets the goal best, or leads to the state of largest
    value. In a world of bars the hand behind is asked to open
    while both hold, if there is a table for the hand ahead. The table is then that of the hand that holds whose goal is
    nearest to the next bar, on either side if the robot is the same in a mirror; the free hand is asked to close near
    that bar. The model looks at the bar where it is; one that is too far from all goals is refused.

    Where there are no bars, on a wall or along a rope, the free hand is asked to open where it is closed elsewhere, and
    to close at the goal of the table of the hand that holds; then the other hand swings, if there is a table for that.
    Tables of other modes are used while what holds in them does, one at a time.

    Tables of the recipe ``thesis`` keep an input for each state, which is given as it is.

    Parameters
    ----------
    tables
        One or several, or files of such.
    inputs, then
        How many are tried, evenly from the limit on one side to that on the other, and how many after each: 3 or more,
        or 1 for none. There are at most 64 pairs.
    ahead, steps
        How far the model is moved on with an input, s, and in how many steps.
    change
        Share of a value that a change of the input by its limit costs: more makes fewer switches.
    effort, reversal
        As in the recipe; those of the table if None.
    blend
        Whether the values of the two nearest tables are mixed, by their distances from the bar; else one counts.
    release_delay
        From when both hands hold until one is asked to open, s.
    near
        From a bar within which the free hand is asked to close, m.
    far
        How far from the goal of the nearest table the next bar may be, m.
    model
        Values of parameters that the model has, by name, where they are not the robot's own: a robot that is not what
        its tables were made for is then believed to be.
    period
        How often it acts, s.
    """

    tables: Table | str | Path | Sequence[Table | str | Path]
    inputs: int = 21
    ahead: float = 0.04
    steps: int = 10
    then: int = 3
    change: float = 0.0
    effort: float | None = None
    reversal: float | None = None
    blend: bool = False
    release_delay: float = 0.0
    near: float = 0.06
    far: float = 0.05
    model: Mapping[str, float] | None = None
    period: float = 0.02

    def __post_init__(self) -> None:
        for name, least, most in (("inputs", 3, BLOCK), ("then", 1, BLOCK), ("steps", 1, 1000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"policy: {name} is a whole number from {least} to {most}, got {value!r}")
        if self.then == 2 or self.inputs * self.then > BLOCK:
            raise InputError(
                f"policy: after each input 3 or more are tried, or 1 for none, and at most {BLOCK} pairs; "
                f"got {self.inputs} and {self.then}"
            )
        for name in ("ahead", "near", "far"):
            if not finite(getattr(self, name), f"policy: {name}") > 0:
                raise InputError(f"policy: {name} must be positive, got {getattr(self, name):g}")
        bounds = {"change": 1.0, "reversal": 1.0, "effort": math.inf, "release_delay": math.inf}
        for name, bound in bounds.items():
            value = getattr(self, name)
            if value is not None and not 0 <= finite(value, f"policy: {name}") <= bound:
                told = "must not be negative" if bound == math.inf else "is a share from 0 to 1"
                raise InputError(f"policy: {name} {told}, got {value:g}")
        if self.model is not None and not isinstance(self.model, Mapping):
            raise InputError(f"policy: model is values of parameters by name, got {self.model!r}")
        check_period(self.period)
        object.__setattr__(self, "tables", _read(self.tables))
        self._alike()

    def _alike(self) -> None:
        """Refuse tables that do not go together."""
        tables: tuple[Table, ...] = self.tables  # type: ignore[assignment]
        first = tables[0]
        for table in tables:
            if table.axes != first.axes or table.recipe["name"] != first.recipe["name"]:
                raise InputError(
                    f"policy: tables that are used together have one grid and one recipe, got {first!r} and {table!r}"
                )
            for name, value in _settings(first).items():
                if _settings(table)[name] != value:
                    raise InputError(
                        f"policy: tables that are used together are made alike, and {name} is {value} in {first!r} and "
                        f"{_settings(table)[name]} in {table!r}"
                    )
            if (table.holds is None) != (first.holds is None) or (table.holds is None and len(tables) > 1):
                raise InputError("policy: several tables are for hands that hold, each one for one hand and one goal")

    def suited(self, hardware: Hardware, keep: Collection[str] = ()) -> Policy:
        """The same policy as it knows of the hardware that it is to stand behind, but for options to ``keep``.

        Rates that are differences of an encoder's counts are over ten samples, so that it acts often; claws take their
        time, so that it asks early.
        """
        known: dict[str, Any] = {}
        if hardware.encoder is not None:
            known["period"] = min(self.period, SENSED)
        if hardware.gripper is not None:
            known["near"] = max(self.near, EARLY)
        return replace(self, **{name: value for name, value in known.items() if name not in keep})

    def bind(self, system: HybridSystem) -> Control:
        tables: tuple[Table, ...] = self.tables  # type: ignore[assignment]
        one_motor(system, "policy")
        believed = system if self.model is None else _believed(system, self.model)
        for table in tables:
            table.check(believed)
        return Numbers(self, system, believed, tables).control()


def _settings(table: Table) -> dict[str, Any]:
    """What the look ahead has once for all tables."""
    names = ("patience", "effort", "reversal", "soft", "stops")
    radius = None if table.goal is None else table.goal.radius
    return {"sides": table.sides, "radius": radius, **{name: table.recipe.get(name) for name in names}}


def _read(given: Any) -> tuple[Table, ...]:
    several = given if isinstance(given, (list, tuple)) else [given]
    tables = tuple(Table.load(one) if isinstance(one, (str, Path)) else one for one in several)
    if not tables or not all(isinstance(table, Table) for table in tables):
        raise InputError(f"policy: tables are saltus.control.Table or files of such, got {given!r}")
    return tables


def _believed(system: HybridSystem, model: Mapping[str, float]) -> HybridSystem:
    own = {name: value for name, value in model.items() if not name.startswith(("bar", "rope"))}
    return system.with_parameters(**own)


CONTROLLER = Policy

# A table that knows nothing, to try the law with.
EXAMPLE = {
    "tables": Table(
        axes=(
            Axis("theta1", -math.pi, math.pi, 3, periodic=True),
            *(Axis(name, -16.0, 16.0, 3) for name in ("theta2", "dtheta1", "dtheta2")),
        ),
        values=np.zeros((3, 3, 3, 3), dtype=np.float32), robot="brachiator", holds="A", parameters={},
        recipe={"name": "saltus", "patience": 1.0, "effort": 0.0, "reversal": 0.0, "stops": True, "soft": 1.5},
        goal=Place("B", 0.55, 0.0, 0.025),
    )
}  # fmt: skip
