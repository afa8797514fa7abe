"""The numbers of a policy for one robot and some tables: what its compiled law reads, and what has to live with it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus._native import double_bits
from saltus.contact import Grip
from saltus.control import _policy_law as P
from saltus.control._grid import grid_numbers
from saltus.control._hardware_law import nothing
from saltus.control._reach import Reach
from saltus.control._table import Table
from saltus.engine import Control
from saltus.engine import _single as S
from saltus.engine._control import compiled_control, seeing
from saltus.engine._layout import SAMPLED
from saltus.engine._single import BLOCK, Aim, Block
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

if TYPE_CHECKING:
    from saltus.control.policy import Policy

# A robot is the same in a mirror if all is to this share.
MIRROR = 1e-9


def same_in_a_mirror(task: Reach) -> bool:
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


class Numbers:
    """The data of the law for one robot and some tables, and what has to live with it."""

    def __init__(self, policy: Policy, system: HybridSystem, believed: HybridSystem, tables: tuple[Table, ...]):
        self.policy, self.system, self.believed, self.tables = policy, system, believed, tables
        self.alive: list[Any] = [P.entry()]
        self.arrays: dict[int, np.ndarray] = {}
        self.names = self._hands()

    @property
    def among_bars(self) -> bool:
        """Whether the robot has bars to swing to."""
        return "bar0_x" in self.system.values and self.tables[0].holds is not None

    def _hands(self) -> list[str]:
        """Both hands of a robot that goes from one to the other; none where one mode is all that there is."""
        system = self.system
        grips = [unit.name for unit in system.units if isinstance(unit, Grip)]
        swings = len(grips) == 2 and all(
            table.goal is not None and {table.holds, table.goal.point} == {*grips} for table in self.tables
        )
        if swings:
            return grips
        if self.among_bars:
            raise InputError(
                "policy: among bars tables are for robots with two grips, of which one holds and the other has a place "
                f"as its goal; {system.name} has {len(grips)}, and given is {self.tables[0]!r}"
            )
        if len(self.tables) > 1:
            raise InputError("policy: several tables are for the two hands of a robot, each with a place as its goal")
        return []

    def control(self) -> Control:
        policy, system = self.policy, self.system
        recipe = self.tables[0].recipe
        data = [0.0] * P.HAND_DATA + [0.0]
        limit = float(system.input_limits[0])
        if not 0 < limit < math.inf:
            raise InputError(
                f"policy: the motor's limit must be positive and finite, that of {system.name} is {limit:g}"
            )
        effort, reversal = (
            float(recipe.get(name, 0.0)) if given is None else given
            for name, given in (("effort", policy.effort), ("reversal", policy.reversal))
        )
        data[P.INPUTS], data[P.LIMIT], data[P.STEPS] = policy.inputs, limit, policy.steps
        data[P.LENGTH], data[P.PATIENCE] = policy.ahead / policy.steps, float(recipe.get("patience", math.inf))
        data[P.EFFORT], data[P.CHANGE], data[P.REVERSAL] = effort, policy.change, reversal
        data[P.THEN] = policy.then
        data[P.DELAY], data[P.NEAR] = policy.release_delay, policy.near
        data[P.FIRST] = data[P.SECOND] = -1
        data[P.KEPT] = float(recipe["name"] == "thesis")
        data[P.BLENDS] = float(policy.blend)
        data[P.OTHER] = math.prod(self.tables[0].shape) if self.tables[0].sides == 2 else 0
        data[P.MIRRORS] = float(all(same_in_a_mirror(self._mode(table)) for table in self.tables))
        data[P.LOOK] = self._look()
        for place, numbers in zip((P.WHOLE, P.REAL), grid_numbers(self.tables[0].axes), strict=True):
            data[place] = self._address(numbers, place)
        self._check_axes()
        size = self._put_hands(data)
        self._put_tables(data)
        self._put_units(data)
        if self.among_bars:
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

    def _check_axes(self) -> None:
        """Refuse tables whose axes are not those of the mode."""
        for table in self.tables:
            mode = self._mode(table).mode
            wanted = (*mode.names, *mode.velocity_names)
            if tuple(axis.name for axis in table.axes) != wanted:
                raise InputError(f"policy: the axes of a table are {', '.join(wanted)}, not those of {table!r}")

    def _look(self) -> float:
        """What sees both hands' places, coordinates and rates."""
        m = self.system.mechanism
        names = [axis.name for axis in self.tables[0].axes[:2]]
        units = {unit.name: unit for unit in self.system.units}
        hands = [units[name].point.position for name in self.names] or [ca.SX.zeros(4)]  # type: ignore[attr-defined]
        places, rates = [m.index(name) for name in names], [m.velocity_index(name) for name in names]
        seen = ca.vertcat(*hands, m.q[places], m.v[rates])
        words = f"policy: look at {names} {self.names}"
        look = compiled_control(self.system.once(words, lambda: seeing(nothing, self.system, "policy", seen)))
        self.alive.append(look.alive)
        return double_bits(look.address)

    def _mode(self, table: Table) -> Reach:
        """What was to be reached, with the model's parameters."""
        if not {"goal", "worth"} & {*table.told}:
            assert table.goal is not None
            goal = (table.goal.point, (table.goal.x, table.goal.y))
            stops, soft = bool(table.recipe["stops"]), float(table.recipe["soft"])
            return Reach(self.believed, goal, table.holds, soft=soft, radius=table.goal.radius, stops=stops)
        if table.task is None:
            raise InputError(
                "policy: this table's goal or its worth is an expression or a function, which a file or another "
                "process does not have: tell it again, by Table.load(path, task=...) or table.with_task(...)"
            )
        # expressions of a goal are in the symbols of the robot that it was told with
        known = {name: self.believed.values[name] for name in table.parameters}
        return replace(table.task, robot=table.task.robot.with_parameters(**known))

    def _put_hands(self, data: list[float]) -> int:
        """The motion of each hand's mode, and the parameters of it; how many these are at most."""
        most = 0
        holding: list[str | None] = [*self.names] or [self.tables[0].holds]
        for name in holding:
            table = next((one for one in self.tables if one.holds == name), None)
            if table is None:
                data += [0.0] * P.HAND
                continue
            task = self._mode(table)
            aim, values = task.aim(costs=False)
            block = self._block(task, aim)
            self.alive.append(block)
            numbers = np.concatenate([task.mode.values(), values]).astype(np.float32)
            most = max(most, len(numbers))
            data += [double_bits(block.place), self._address(numbers, len(data) + 1), len(numbers)]
        return most

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
            hand = self.names.index(table.holds) if self.names and table.holds is not None else 0
            x, y = (0.0, 0.0) if table.goal is None else (table.goal.x, table.goal.y)
            values = self._address(table.values, len(data) + P.VALUES)
            kept = 0.0 if table.actions is None else self._address(table.actions, len(data) + P.ACTIONS)
            data += [hand, x, y, values, kept]

    def _put_units(self, data: list[float]) -> None:
        """Both hands; or what holds, if anything does."""
        units, first = [unit.name for unit in self.system.units], self.tables[0]
        if self.names:
            data[P.FIRST], data[P.SECOND] = (units.index(name) for name in self.names)
        elif first.holds is not None:
            data[P.FIRST] = units.index(first.holds)
        if self.names and not self.among_bars and first.goal is not None:
            data[P.NEAR] = first.goal.radius

    def _put_bars(self, data: list[float]) -> None:
        places = {name: k for k, name in enumerate(self.system.values)}
        data[P.PLACES] = len(data)
        count = 0
        while f"bar{count}_x" in places:
            data += [places[f"bar{count}_x"], places[f"bar{count}_y"]]
            count += 1
        data[P.BARS] = count
        self._refuse_far(count, mirrors=data[P.MIRRORS] > 0)

    def _refuse_far(self, count: int, *, mirrors: bool) -> None:
        """Refuse bars that are farther from the one before than the tables of a hand know of."""
        values, sides = self.system.values, (1, -1) if mirrors else (1,)
        for k in range(self._held_at_start(count) + 1, count):
            x, y = (values[f"bar{k}_{axis}"] - values[f"bar{k - 1}_{axis}"] for axis in "xy")
            for hand in self.names:
                goals = [table.goal for table in self.tables if table.holds == hand and table.goal is not None]
                ways = [(math.hypot(x - side * goal.x, y - goal.y), goal) for goal in goals for side in sides]
                away, goal = min(ways, key=lambda pair: pair[0], default=(0.0, None))
                if goal is not None and away > self.policy.far + 1e-9:
                    raise InputError(
                        f"policy: bar {k} is {x:g}, {y:g} m from the one before, and the nearest table of hand {hand} "
                        f"is for {goal.x:g}, {goal.y:g} m: that is {away:.3g} m off, and {self.policy.far:g} m are "
                        "allowed (far); train a table for that bar"
                    )

    def _held_at_start(self, count: int) -> int:
        """The last bar at which a hand is where a run begins if nothing is said of it; the first if none is."""
        m, values = self.system.mechanism, self.system.values
        units = {unit.name: unit for unit in self.system.units}
        hands = ca.vertcat(*(units[name].point.position for name in self.names))  # type: ignore[attr-defined]
        start = [self.system.start_values.get(name, 0.0) for name in m.coordinates]
        places = np.array(ca.Function("hands", [m.q, m.p], [hands])(start, self.system.parameter_values)).reshape(2, 2)
        near = 2 * values.get("capture", 0.0)
        held = [
            k
            for k in range(count)
            if (np.hypot(*(places - [values[f"bar{k}_x"], values[f"bar{k}_y"]]).T) <= near).any()
        ]
        return max(held, default=0)
