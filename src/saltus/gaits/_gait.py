"""A gait type: its section, its phases and its residual; and what can be asked of it for any start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import GRIP
from saltus.errors import InputError, unknown_name
from saltus.gaits._phase import CLOCK, DURATION, HeldSystem, Phase
from saltus.hybrid import HybridSystem
from saltus.mechanism import Parameter, Pinned

if TYPE_CHECKING:
    from saltus._pack import Packed
    from saltus.gaits._rest import Rest

# Time after which a phase that has not ended will not be waited for, s.
LONGEST = 5.0

# What is kept of a gait under names that begin so, gaits that lose nothing, hangs on parameters of the robot alone.
COLLISIONLESS = "collisionless"


@equal_by_content
@dataclass(frozen=True, eq=False)
class Gait:
    """A way of moving that may repeat: the map from one passage of its section to the next.

    Parameters
    ----------
    robot
        The robot, with the parameters of all runs.
    phases
        What happens in a cycle, one after the other.
    section
        Coordinates or velocities that a cycle begins with, and their values there. The others are free:
        the residual of a cycle is by how much they differ at its end.
    start
        Values of the free ones if nothing is said.
    unknowns
        Those of the free ones that are searched for; all if none are named.
    knobs
        Numbers that phases read, with their values: their symbols are in ``symbols``.
    remembered
        What phases read of the state at the start of the cycle: an expression for each.
    longest
        How long a phase is waited for, s.
    draw
        A random start with knobs, from which a search may begin.
    rest
        Where the robot can be at rest when it changes hands, for collisionless gaits (`saltus.gaits.Rest`).
    """

    name: str
    robot: HybridSystem
    phases: tuple[Phase, ...]
    section: Mapping[str, float]
    start: Mapping[str, float] = field(default_factory=dict)
    unknowns: tuple[str, ...] = ()
    knobs: Mapping[str, Parameter] = field(default_factory=dict)
    symbols: Mapping[str, Any] = field(default_factory=dict)
    remembered: Mapping[str, Any] = field(default_factory=dict)
    longest: float = LONGEST
    draw: Callable[[np.random.Generator], dict[str, float]] | None = None
    rest: Rest | None = None
    about: str = ""

    stands_alone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.phases:
            raise InputError(f"gait {self.name} has no phases")
        if self.phases[0].holds is None:
            raise InputError(f"gait {self.name}: a cycle begins with a hold, from which its travel is measured")
        names = [phase.name for phase in self.phases]
        if len(set(names)) != len(names):
            raise InputError(f"gait {self.name}: phases must have different names, got {names}")
        if any(phase.relabel for phase in self.phases):
            if self.robot.symmetry is None:
                raise InputError(f"gait {self.name} needs a symmetry, and {self.robot.name} has none")
        self._check_names()
        for phase in self.phases:
            for actuator in phase.inputs:
                if actuator not in self.robot.mechanism.actuators:
                    raise unknown_name("actuator", actuator, self.robot.mechanism.actuators, self.robot.name)
        if not 0 < self.longest < math.inf:
            raise InputError(f"the longest time of a phase must be positive and finite, got {self.longest!r}")

    def _content(self) -> tuple[Any, ...]:
        """The robot's symbols come first: in these all else is said."""
        return self.robot, self.robot.mechanism.symbols, [getattr(self, one.name) for one in fields(self)]

    def __deepcopy__(self, memo: Any) -> Gait:
        return self  # nothing in it changes

    def __reduce__(self) -> tuple[Any, ...]:
        """The robot goes as robots do, and all else in the symbols of the robot."""
        return _unpacked, (self.robot, self._packed)

    @cached_property
    def _packed(self) -> Packed:
        from saltus._pack import pack

        parts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "robot"}
        return pack(parts, f"the gait {self.name}", self.robot.mechanism.symbols)

    def _check_names(self) -> None:
        """Refuse grips, coordinates and velocities that the robot does not have, or not while it holds."""
        grips = [unit.name for unit in self.robot.units if unit.kind == GRIP]
        for phase in self.phases:
            if phase.holds is not None and phase.holds not in grips:
                raise unknown_name("grip", phase.holds, grips, self.robot.name)
        if not (self.section or self.start or self.unknowns):
            return
        known, owner = self._names_held(), f"gait {self.name}"
        for what, names in (("section", self.section), ("start", self.start)):
            for name in names:
                if name not in known:
                    raise unknown_name(f"coordinate or velocity in the {what}", name, known, owner)
        for name in self.unknowns:
            if name not in known and name not in self.knobs:
                raise unknown_name("coordinate, velocity or knob in the unknowns", name, [*known, *self.knobs], owner)

    def _names_held(self) -> list[str]:
        m, holds = self.robot.mechanism, str(self.phases[0].holds)
        made: list[str] = self.robot.once(
            f"names while {holds} holds", lambda: Pinned(m, m.points[holds]).mechanism.state_names
        )
        return made

    @cached_property
    def lopsided(self) -> str:
        """By what the robot is another one when its parts change their names in a cycle; empty if it is the same."""
        symmetry = self.robot.symmetry
        if symmetry is None or not any(phase.relabel for phase in self.phases):
            return ""
        return symmetry.differences(self.robot.mechanism, self.robot.values)

    @cached_property
    def odd(self) -> bool:
        """Whether the parts have other names after a cycle."""
        return sum(phase.relabel for phase in self.phases) % 2 == 1

    @cached_property
    def swaps(self) -> bool:
        """Whether parameters change with the names of the parts: where the robot is not the same, or need not be."""
        if not any(phase.relabel for phase in self.phases):
            return False
        return bool(self.lopsided) or (not self.odd and any(n in self.robot.mechanism.parameters for n in self.knobs))

    def check_repeats(self) -> None:
        """Refuse a cycle that cannot repeat, since the next one is another robot's."""
        if self.lopsided and self.odd:
            raise InputError(
                f"{self.robot.name} is not the same under other names of its parts: {self.lopsided}; one cycle of "
                f"{self.name} ends with the other part holding, so that it cannot repeat: take a gait of two"
            )

    # -- names and numbers ------------------------------------------------------------------

    @cached_property
    def state_names(self) -> list[str]:
        """Coordinates and velocities at the section."""
        return self.held(0).mechanism.state_names

    @property
    def free(self) -> list[str]:
        """Those of them that a cycle may begin with at any value."""
        return [name for name in self.state_names if name not in self.section]

    def angles(self) -> list[str]:
        """Coordinates that are angles."""
        return [name for name, unit in self.held(0).mechanism.coordinates.items() if unit == "rad"]

    def state(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A start on the section: the free values that are given, and those of the gait for the rest."""
        full = self.states(given)
        for name, value in full.items():
            self.check_number(name, value)
        return full

    def check_number(self, name: str, value: Any) -> None:
        """Refuse what is not finite at the start."""
        if not np.isfinite(np.asarray(value, dtype=float)).all():
            raise InputError(f"start of gait {self.name}: {name} must be finite, got {value}")

    def states(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same for many starts, of which some may be impossible: rows of numbers that need not be finite."""
        for name in given or {}:
            if name in self.section:
                raise InputError(
                    f"gait {self.name} begins on its section, where {name} = {self.section[name]:g}: give "
                    f"{', '.join(self.free)} only"
                )
            if name not in self.free:
                raise unknown_name("free coordinate or velocity", name, self.free, self.name)
        full = dict.fromkeys(self.state_names, 0.0) | dict(self.section) | dict(self.start) | dict(given or {})
        for name, value in full.items():
            try:
                array = np.asarray(value, dtype=float)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"start of gait {self.name}: {name} must be a number, got {value!r}") from None
            if array.ndim == 0:
                self.check_number(name, value)
        return {name: full[name] for name in self.state_names}

    def knob_values(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Values of all knobs: those given, checked, and the gait's own for the rest."""
        values = self.many_knobs(given)
        for name, value in values.items():
            for one in np.unique(value) if np.ndim(value) else ():
                self.knobs[name].check(one)
        return values

    def many_knobs(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same for many cycles, of which some may be impossible: rows of values that need not be allowed."""
        values: dict[str, Any] = {name: knob.value for name, knob in self.knobs.items()}
        for name, value in (given or {}).items():
            if name not in self.knobs:
                raise unknown_name("knob", name, self.knobs, f"gait {self.name}")
            if np.ndim(value) == 0:
                values[name] = self.knobs[name].check(value)
                continue
            try:
                values[name] = np.asarray(value, dtype=float)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"knob {name!r} of gait {self.name} must be numbers, got {value!r}") from None
        return values

    def with_knobs(self, /, **values: float) -> Gait:
        """The same gait with other values of some knobs."""
        checked = self.knob_values(values)
        return self._changed(knobs={name: replace(knob, value=checked[name]) for name, knob in self.knobs.items()})

    def with_knob(self, parameter: str) -> Gait:
        """The same gait with a parameter of the robot as one more knob; what mirrors it follows."""
        known = self.robot.mechanism.parameters
        if parameter in self.knobs:
            return self
        if parameter not in known:
            raise unknown_name("knob or parameter", parameter, [*self.knobs, *known], f"gait {self.name}")
        value = self.robot.values[parameter]
        depends = any(
            ca.depends_on(
                ca.vertcat(*map(ca.SX, (*unit.coefficients, *(c for _, c in unit.damping)))), self._symbol(parameter)
            )
            for unit in self.robot.units
        )
        if depends and value == 0:
            raise InputError(f"gait {self.name}: {parameter} can be followed from a value above zero only")
        return self._changed(
            knobs={**self.knobs, parameter: replace(known[parameter], value=value)},
            symbols={**self.symbols, parameter: self._symbol(parameter)},
        )

    def _symbol(self, parameter: str) -> Any:
        m = self.robot.mechanism
        return m.p[list(m.parameters).index(parameter)]

    def renamed(self, name: str, about: str) -> Gait:
        """The same gait under another name."""
        return self._changed(name=name, about=about)

    def with_start(self, /, **values: float) -> Gait:
        """The same gait with another start."""
        return self._changed(start={**self.start, **{n: v for n, v in self.state(values).items() if n in self.free}})

    def with_parameters(self, /, **values: float) -> Gait:
        """The same gait of a robot with other parameters; knobs that drive a motor stay within its limits."""
        robot = self.robot.with_parameters(**values)
        limits = dict(zip(robot.mechanism.actuators, robot.input_limits, strict=True))
        knobs = dict(self.knobs)
        for phase in self.phases:
            for actuator, expression in phase.inputs.items():
                for name, knob in self.knobs.items():
                    if math.isfinite(knob.upper) and ca.is_equal(ca.SX(expression), self.symbols[name]):
                        limit = float(limits[actuator])
                        low, high = max(knob.lower, -limit), min(knob.upper, limit)
                        knobs[name] = replace(knob, value=min(max(knob.value, low), high), lower=low, upper=high)
        return replace(self, robot=robot, knobs=knobs)

    def timed(self, durations: Mapping[str, float] | None = None) -> Gait:
        """The same phases by the clock alone: each lasts as long as it is told, and nothing restarts the clock.

        The knobs ``<phase>_t`` are the durations. All coordinates and velocities are free.
        """
        knobs, symbols = dict(self.knobs), dict(self.symbols)
        phases, relabel = [], False
        for phase in self.phases:
            name = f"{phase.name}_t"
            relabel = relabel != phase.relabel
            if durations is not None and durations.get(phase.name) == 0.0:
                continue  # what takes no time does not happen, but for the change of names that it begins with
            if name not in knobs:
                if durations is None or phase.name not in durations:
                    raise InputError(f"gait {self.name}: how long is phase {phase.name}?")
                knobs[name] = duration_knob(phase.name, float(durations[phase.name]))
                symbols[name] = ca.SX.sym(name)
            elif durations is not None and phase.name in durations:
                knobs[name] = replace(knobs[name], value=float(durations[phase.name]))
            phases.append(replace(phase, ends=None, relabel=relabel))
            relabel = False
        start = {**self.start, **self.section}
        return replace(
            self,
            name=f"{self.name}, timed",
            phases=tuple(phases),
            section={},
            start=start,
            knobs=knobs,
            symbols=symbols,
        )

    def _changed(self, **fields: Any) -> Gait:
        made = replace(self, **fields)
        for name in ("_held", "state_names", "_told"):
            if name in self.__dict__:
                made.__dict__[name] = self.__dict__[name]
        made._made.update({name: thing for name, thing in self._made.items() if name[0] == COLLISIONLESS})
        return made

    def once(self, name: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Make something of the gait unless it was made before."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @cached_property
    def _made(self) -> dict[tuple[Any, ...], Any]:
        return {}

    # -- systems ----------------------------------------------------------------------------

    def held(self, phase: int) -> HeldSystem:
        """The system of a phase."""
        return self._held[self.phases[phase].holds]

    @cached_property
    def _told(self) -> tuple[list[Parameter], list[Any]]:
        told = [*self.knobs.values(), *(Parameter(name, 0.0, "1", "of the start") for name in self.remembered)]
        told += [Parameter(CLOCK, 0.0, "s", "time in the cycle"), Parameter(DURATION, 1.0, "s", "of a timed phase")]
        symbols = [self.symbols[name] for name in self.knobs]
        symbols += [self.memory[name] for name in self.remembered]
        return told, [*symbols, ca.SX.sym(CLOCK), ca.SX.sym(DURATION)]

    @cached_property
    def memory(self) -> dict[str, Any]:
        """Symbols of what is remembered of the start."""
        return {name: self.symbols.get(name, ca.SX.sym(name)) for name in self.remembered}

    @cached_property
    def _held(self) -> dict[str | None, HeldSystem]:
        made: dict[str | None, HeldSystem] = {}
        told, symbols = self._told
        for phase in self.phases:
            if phase.holds not in made:
                made[phase.holds] = HeldSystem(self.robot, phase.holds, told, symbols)
                made[phase.holds].add("elapsed", self.robot.mechanism.t - symbols[-1], "up")
            if phase.ends is not None:
                made[phase.holds].add(phase.name, phase.ends, phase.direction)
        return made


def _unpacked(robot: HybridSystem, packed: Packed) -> Gait:
    from saltus._pack import unpack

    return Gait(robot=robot, **unpack(packed, robot.mechanism.symbols))


def duration_knob(phase: str, value: float, lower: float = 0.0, upper: float = math.inf) -> Parameter:
    """The knob that says how long a timed phase lasts."""
    return Parameter(f"{phase}_t", value, "s", f"how long {phase} lasts", "", lower, upper, strict=lower == 0.0)
