"""The policy of tables [yang2016, 7.2]: looks ahead with every input, and takes the one to the best state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from saltus._native import double_bits
from saltus.contact import Grip
from saltus.control import _policy_law as P
from saltus.control._hands import one_motor
from saltus.control._hardware_law import nothing
from saltus.control._protocol import check_period, finite
from saltus.control._reach import Reach
from saltus.control._table import Axis, Place, Table, grid_numbers
from saltus.engine import Control
from saltus.engine import _single as S
from saltus.engine._control import compiled_control, seeing
from saltus.engine._layout import SAMPLED
from saltus.engine._single import BLOCK, Aim, Block
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# A robot is the same in a mirror if all is to this share.
MIRROR = 1e-9


@dataclass(frozen=True)
class Policy:
    """Control by tables of what states are worth, for one mode or, with tables for each hand, from bar to bar.

    Every ``period`` a model of the robot is moved on by ``ahead`` with each of ``inputs`` inputs; the one is taken that
    meets the goal best, or leads to the state of largest value. In a world of bars the hand behind is asked to open
    while both hold, if there is a table for the hand ahead. The table is then that of the hand that holds whose goal is
    nearest to the next bar, on either side if the robot is the same in a mirror; the free hand is asked to close near
    that bar. The model looks at the bar where it is.

    Tables of the recipe ``thesis`` keep an input for each state, which is given as it is.

    Parameters
    ----------
    tables
        One or several, or files of such.
    inputs
        How many are tried, evenly from the limit on one side to that on the other: 3 to 64.
    ahead, steps
        How far the model is moved on, s, and in how many steps.
    change, reversal
        Share of a value that a change of the input by its limit costs, and one that reverses it: more makes fewer
        switches.
    effort
        As in the recipe; that of the table if None.
    blend
        Whether the values of the two nearest tables are mixed, by their distances from the bar; else one counts.
    release_delay
        From when both hands hold until one is asked to open, s.
    near
        From the bar within which the free hand is asked to close, m.
    model
        Values of parameters that the model has, by name, where they are not the robot's own: a robot that is not what
        its tables were made for is then believed to be.
    period
        How often it acts, s.
    """

    tables: Table | str | Path | Sequence[Table | str | Path]
    inputs: int = 21
    ahead: float = 0.08
    steps: int = 16
    change: float = 0.0
    reversal: float = 0.12
    effort: float | None = None
    blend: bool = False
    release_delay: float = 0.0
    near: float = 0.06
    model: Mapping[str, float] | None = None
    period: float = 0.02

    def __post_init__(self) -> None:
        if isinstance(self.inputs, bool) or not isinstance(self.inputs, int) or not 3 <= self.inputs <= BLOCK:
            raise InputError(f"policy: inputs is a whole number from 3 to {BLOCK}, got {self.inputs!r}")
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 1 <= self.steps <= 1000:
            raise InputError(f"policy: steps is a whole number from 1 to 1000, got {self.steps!r}")
        for name in ("ahead", "near"):
            if not finite(getattr(self, name), f"policy: {name}") > 0:
                raise InputError(f"policy: {name} must be positive, got {getattr(self, name):g}")
        for name in ("change", "reversal", "release_delay"):
            if finite(getattr(self, name), f"policy: {name}") < 0:
                raise InputError(f"policy: {name} must not be negative, got {getattr(self, name):g}")
        if self.effort is not None and finite(self.effort, "policy: effort") < 0:
            raise InputError(f"policy: effort must not be negative, got {self.effort:g}")
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
            if (table.holds is None) != (first.holds is None) or (table.holds is None and len(tables) > 1):
                raise InputError("policy: several tables are for hands that hold, each one for one hand and one goal")

    def bind(self, system: HybridSystem) -> Control:
        tables: tuple[Table, ...] = self.tables  # type: ignore[assignment]
        one_motor(system, "policy")
        believed = system if self.model is None else _believed(system, self.model)
        for table in tables:
            table.check(believed)
        return _Numbers(self, system, believed, tables).control()


def _read(given: Any) -> tuple[Table, ...]:
    several = given if isinstance(given, (list, tuple)) else [given]
    tables = tuple(Table.load(one) if isinstance(one, (str, Path)) else one for one in several)
    if not tables or not all(isinstance(table, Table) for table in tables):
        raise InputError(f"policy: tables are saltus.control.Table or files of such, got {given!r}")
    return tables


def _same_in_a_mirror(task: Reach) -> bool:
    """Whether a mode moves to the left as it does to the right: all signs changed, at some states."""
    mode = task.mode
    if task.place is None or task.worth is not None:
        return False
    parts = [mode.acceleration, mode.kinetic]
    for _, lower, upper in mode.stops if task.stops else ():
        parts.append(lower + upper)
    odd = len(mode.names)

    def made() -> ca.Function:
        return ca.Function("mirror", [mode.q, mode.v, mode.u, mode.p], [ca.vertcat(*parts)])

    see = mode.system.once(f"policy: mirror, held by {task.holds}, {task.stops}", made)
    draw, p = np.random.default_rng(0), mode.values()
    for _ in range(5):
        state = [draw.uniform(-3, 3, 2), draw.uniform(-5, 5, 2), draw.uniform(-5, 5, mode.u.numel())]
        right = np.array(see(*state, p)).ravel()
        left = np.array(see(*(-part for part in state), p)).ravel()
        left[:odd] *= -1
        apart = np.abs(np.concatenate([(right - left)[: odd + 1], right[odd + 1 :]]))
        if not (apart <= MIRROR * (1 + np.abs(right[: odd + 1]).max())).all():
            return False
    return True


def _believed(system: HybridSystem, model: Mapping[str, float]) -> HybridSystem:
    own = {name: value for name, value in model.items() if not name.startswith(("bar", "rope"))}
    return system.with_parameters(**own)


class _Numbers:
    """The data of the law for one robot and some tables, and what has to live with it."""

    def __init__(self, policy: Policy, system: HybridSystem, believed: HybridSystem, tables: tuple[Table, ...]):
        self.policy, self.system, self.believed, self.tables = policy, system, believed, tables
        self.alive: list[Any] = [P.entry()]
        self.arrays: dict[int, np.ndarray] = {}
        self.names = [] if tables[0].holds is None else self._hands()

    def _hands(self) -> list[str]:
        grips = [unit.name for unit in self.system.units if isinstance(unit, Grip)]
        if len(grips) != 2 or "bar0_x" not in self.system.values:
            raise InputError(
                f"policy: tables of hands are for robots with two grips among bars; {self.system.name} is none"
            )
        for table in self.tables:
            if table.goal is None:
                raise InputError("policy: tables of hands have a place as their goal")
        return grips

    def control(self) -> Control:
        policy, system = self.policy, self.system
        recipe = self.tables[0].recipe
        data = [0.0] * P.HAND_DATA + [0.0]
        limit = float(system.input_limits[0])
        if not 0 < limit < math.inf:
            raise InputError(
                f"policy: the motor's limit must be positive and finite, that of {system.name} is {limit:g}"
            )
        effort = float(recipe.get("effort", 0.0)) if policy.effort is None else policy.effort
        data[P.INPUTS], data[P.LIMIT], data[P.STEPS] = policy.inputs, limit, policy.steps
        data[P.LENGTH], data[P.PATIENCE] = policy.ahead / policy.steps, float(recipe.get("patience", math.inf))
        data[P.EFFORT], data[P.CHANGE], data[P.REVERSAL] = effort, policy.change, policy.reversal
        data[P.DELAY], data[P.NEAR] = policy.release_delay, policy.near
        data[P.KEPT] = float(recipe["name"] == "thesis")
        data[P.BLENDS] = float(policy.blend)
        data[P.MIRRORS] = float(all(_same_in_a_mirror(self._mode(table)) for table in self.tables))
        data[P.LOOK] = self._look()
        for place, numbers in zip((P.WHOLE, P.REAL), grid_numbers(self.tables[0].axes), strict=True):
            data[place] = self._address(numbers, place)
        size = self._put_hands(data)
        data[P.PARAMETERS] = size
        self._put_tables(data)
        self._put_bars(data)
        memory = P.ROOM + S.ROWS * BLOCK // 2 + (size + 1) // 2
        return Control(
            kind=SAMPLED, address=P.entry().place, alive=tuple(self.alive), data=np.array(data),
            memory=np.zeros(memory), period=policy.period, arrays=self.arrays, name="policy",
        )  # fmt: skip

    def _address(self, array: np.ndarray, place: int) -> float:
        """The address of an array, which is going to be at a place of the data."""
        self.arrays[place] = array
        self.alive.append(array)
        return double_bits(array.ctypes.data)

    def _look(self) -> float:
        """What sees both hands' places, coordinates and rates."""
        m = self.system.mechanism
        names = [axis.name for axis in self.tables[0].axes[:2]]
        hands = [m.points[name].position for name in self.names] or [ca.SX.zeros(4)]
        places, rates = [m.index(name) for name in names], [m.velocity_index(name) for name in names]
        seen = ca.vertcat(*hands, m.q[places], m.v[rates])
        look = compiled_control(self.system.once("policy: look", lambda: seeing(nothing, self.system, "policy", seen)))
        self.alive.append(look.alive)
        return double_bits(look.address)

    def _mode(self, table: Table) -> Reach:
        """What was to be reached, with the model's parameters."""
        if table.task is not None:
            # expressions of a goal are in the symbols of the robot that it was told with
            known = {name: self.believed.values[name] for name in table.parameters}
            return replace(table.task, robot=table.task.robot.with_parameters(**known))
        if table.goal is None:
            raise InputError(
                "policy: this table's goal is an expression or a function, which a file or another process does not "
                "have: use it where it was made"
            )
        goal = (table.goal.point, (table.goal.x, table.goal.y))
        stops, soft = bool(table.recipe["stops"]), float(table.recipe["soft"])
        return Reach(self.believed, goal, table.holds, soft=soft, radius=table.goal.radius, stops=stops)

    def _put_hands(self, data: list[float]) -> int:
        """The motion of each hand's mode, and the parameters of it; how many these are."""
        size = 0
        for name in self.names or [None]:  # type: ignore[list-item]
            table = next((one for one in self.tables if one.holds == name), None)
            if table is None:
                data += [0.0, 0.0]
                continue
            task = self._mode(table)
            aim, values = task.aim(costs=False)
            block = self._block(task, aim)
            self.alive.append(block)
            numbers = np.concatenate([task.mode.values(), values]).astype(np.float32)
            size = len(numbers)
            data += [double_bits(block.place), self._address(numbers, len(data) + 1)]
        return size

    def _block(self, task: Reach, aim: Aim) -> Block:
        """The compiled motion to a goal; kept by the robot if it is told by a few words."""

        def made() -> Block:
            return Block(task.mode, aim, "leapfrog", stops=task.stops)

        if task.place is None or task.worth is not None:
            return made()
        words = f"policy: motion of {task.place.point} held by {task.holds}, {task.stops} {task.soft!r}"
        block: Block = self.system.once(words, made)
        return block

    def _put_tables(self, data: list[float]) -> None:
        data[P.TABLES], data[P.TABLE] = len(self.tables), len(data)
        for table in self.tables:
            hand = 0 if table.holds is None else self.names.index(table.holds)
            x, y = (0.0, 0.0) if table.goal is None else (table.goal.x, table.goal.y)
            values = self._address(table.values, len(data) + P.VALUES)
            kept = 0.0 if table.actions is None else self._address(table.actions, len(data) + P.ACTIONS)
            data += [hand, x, y, values, kept]

    def _put_bars(self, data: list[float]) -> None:
        data[P.HANDS] = len(self.names)
        if not self.names:
            return
        units = [unit.name for unit in self.system.units]
        data[P.FIRST], data[P.SECOND] = (units.index(name) for name in self.names)
        places = {name: k for k, name in enumerate(self.system.values)}
        data[P.PLACES] = len(data)
        count = 0
        while f"bar{count}_x" in places:
            data += [places[f"bar{count}_x"], places[f"bar{count}_y"]]
            count += 1
        data[P.BARS] = count


CONTROLLER = Policy

# A table that knows nothing, to try the law with.
EXAMPLE = {
    "tables": Table(
        axes=(
            Axis("theta1", -math.pi, math.pi, 3, periodic=True),
            *(Axis(name, -16.0, 16.0, 3) for name in ("theta2", "dtheta1", "dtheta2")),
        ),
        values=np.zeros((3, 3, 3, 3), dtype=np.float32), robot="brachiator", holds="A", parameters={},
        recipe={"name": "saltus", "patience": 1.0, "effort": 0.0, "stops": True, "soft": 1.5},
        goal=Place("B", 0.55, 0.0, 0.025),
    )
}  # fmt: skip
