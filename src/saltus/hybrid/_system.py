"""A hybrid system: one mechanism, its units, its guards and the values of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus._whole import sent_whole
from saltus.contact import GRIP, Law, Unit, law_of
from saltus.contact._unit import GROUNDS
from saltus.errors import InputError, unknown_name
from saltus.hybrid._closed import consistent
from saltus.hybrid._readings import reading_names
from saltus.hybrid._symmetry import Symmetry
from saltus.hybrid._told import told_state
from saltus.mechanism import Dynamics, Mechanism, derive
from saltus.mechanism._welded import welded, whole

if TYPE_CHECKING:
    from saltus._pack import Packed

ACTIONS = ("ignore", "record", "terminal")
DIRECTIONS = ("down", "up", "both")

# What a system has made of its mechanism and units alone, whatever the values of its parameters.
_WITHOUT_VALUES = {"first_rows", "row_names", "blank_arenas", "_constants", "_welded"}


@sent_whole
@equal_by_content
@dataclass(frozen=True)
class Guard:
    """A scalar of state and time whose zero is an event of the robot's own.

    ``action`` says what happens there: the run ends, it is recorded, or nothing. ``direction``
    says which crossings count. ``no_start`` refuses a start at its zero, whatever the action.
    """

    name: str
    expression: Any
    action: str = "terminal"
    direction: str = "down"
    about: str = ""
    no_start: bool = False

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise unknown_name("guard action", self.action, ACTIONS, f"guard {self.name}")
        if self.direction not in DIRECTIONS:
            raise unknown_name("guard direction", self.direction, DIRECTIONS, f"guard {self.name}")


@equal_by_content
@dataclass(frozen=True)
class Profile:
    """A ready experiment on a robot: a controller, a start and a duration."""

    controller: Any = None
    start: Mapping[str, float] = field(default_factory=dict)
    until: float | None = None
    about: str = ""


def _no_figures(run: Any) -> dict[str, float | None]:
    return {}


@equal_by_content
@dataclass(frozen=True, eq=False)
class HybridSystem:
    """Everything about one robot that the engine needs, and what a user may change of it.

    Parameters are inputs of the compiled code: `with_parameters` costs nothing. ``start`` has numbers or expressions of
    the parameters, by name. ``controllers`` are those that this robot has a name for, beside the registered ones.
    """

    mechanism: Mechanism
    units: tuple[Unit, ...] = ()
    guards: tuple[Guard, ...] = ()
    start: Mapping[str, Any] = field(default_factory=dict)
    until: float = 10.0
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    controllers: Mapping[str, Any] = field(default_factory=dict)
    figures: Callable[[Any], dict[str, float | None]] = _no_figures
    skeleton: tuple[tuple[str, str], ...] = ()
    symmetry: Symmetry | None = None
    about: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""
    stops: frozenset[str] = frozenset()

    stands_alone: ClassVar[bool] = True
    shares_symbols: ClassVar[bool] = True

    def __post_init__(self) -> None:
        full = self._checked(self.values)
        names = [unit.name for unit in self.units] + [guard.name for guard in self.guards]
        if len(set(names)) != len(names):
            raise InputError(f"{self.name}: units and guards must have different names, got {names}")
        object.__setattr__(self, "values", full)
        self._check_guards()
        self._check_gates()
        if self.symmetry is not None:
            self.symmetry.check(self.mechanism)
        for unit in self.units:
            fixed = ca.vertcat(*map(ca.SX, (*unit.fixed, *unit.coefficients)))
            if ca.depends_on(fixed, ca.vertcat(self.mechanism.t, self.mechanism.q, self.mechanism.v)):
                raise InputError(
                    f"{self.name}'s {unit.name}: ground, friction, stops, holds and law may depend on parameters only"
                )
        self._check_constants()

    def _checked(self, values: Mapping[str, float]) -> dict[str, float]:
        """Values of all parameters, from those of some."""
        given, full = dict(values), {}
        for name, parameter in self.mechanism.parameters.items():
            full[name] = parameter.check(given.pop(name, parameter.value))
        for name in given:
            raise unknown_name("parameter", name, self.mechanism.parameters, self.name)
        return full

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self.mechanism.name

    @property
    def dynamics(self) -> Dynamics:
        """The derived equations of motion."""
        made: Dynamics = self.once("dynamics", self._derive)
        return made

    def _derive(self) -> Dynamics:
        m = self.mechanism
        if not m.nv:
            raise InputError(
                f"nothing in {self.name} moves, so that it has no equations of motion: give a body a joint with a "
                "coordinate; the root of a URDF file is free with free_flyer=True, or @free after its name"
            )
        return derive(m, [(m.velocity_index(name), value) for unit in self.units for name, value in unit.damping])

    @property
    def state_names(self) -> list[str]:
        """Names of coordinates, then velocities."""
        return self.mechanism.state_names

    @cached_property
    def row_names(self) -> list[str]:
        """Names of the contact rows: unit and direction."""
        return [f"{unit.name}.{direction}" for unit in self.units for direction, _ in unit.rows]

    @cached_property
    def first_rows(self) -> list[int]:
        """The place of each unit's first row, and how many rows there are."""
        places = [0]
        for unit in self.units:
            places.append(places[-1] + len(unit.rows))
        return places

    @property
    def parameter_values(self) -> np.ndarray:
        """Values of the parameters, in order."""
        return np.array([self.values[name] for name in self.mechanism.parameters], dtype=float)

    @property
    def start_values(self) -> dict[str, float]:
        """The default start by name, as the numbers that it is with these parameters."""
        if not any(isinstance(value, ca.SX) for value in self.start.values()):
            return dict(self.start)

        def made() -> Any:
            values = ca.vertcat(*map(ca.SX, self.start.values()))
            if ca.depends_on(values, ca.vertcat(self.mechanism.t, self.mechanism.q, self.mechanism.v)):
                raise InputError(f"start of {self.name} may depend on parameters only")
            return ca.Function("start", [self.mechanism.p], [values])

        values = np.array(self.once("start", made)(self.parameter_values), dtype=float).ravel()
        return dict(zip(self.start, values.tolist(), strict=True))

    def with_parameters(self, /, **values: float) -> HybridSystem:
        """The same system with other values of some parameters."""
        _ = self.blank_arenas  # shared from the first
        made = object.__new__(type(self))  # what does not depend on values was checked when this system was made
        kept = {one.name for one in fields(self)} | _WITHOUT_VALUES
        made.__dict__.update({name: thing for name, thing in self.__dict__.items() if name in kept})
        made.__dict__.update(values=self._checked({**self.values, **values}), derived=self.derived)
        made._check_constants()
        return made

    def with_start(self, start: Mapping[str, Any]) -> HybridSystem:
        """The same system with another default start."""
        return self._changed(start=dict(start))

    def with_law(self, law: Any, unit: str | None = None) -> HybridSystem:
        """The same system with another impact law at one unit or at all.

        A law may be told in words, ``newton:restitution=0.3``. What the words leave out is as the unit's own law has
        it, where that has a coefficient of this name, and else the default of the new law.
        """
        own = self.laws
        lawful = list(own)
        if not lawful or not isinstance(law, (str, Law)):
            none = f"{self.name} has no contacts that take an impact law"
            raise InputError(f"not an impact law: {law!r}" if lawful else none)
        if unit is not None and unit not in lawful:
            raise unknown_name("unit with an impact law", unit, lawful, self.name)
        laws = {
            name: law_of(law, one) if isinstance(law, str) else law for name, one in own.items() if unit in (None, name)
        }
        changed = tuple(replace(u, law=laws[u.name]) if u.name in laws else u for u in self.units)  # type: ignore[type-var]
        return self._changed(units=changed)

    @property
    def contact_guards(self) -> list[str]:
        """Names of the guards of all units: each ends a status of its unit, and the run too if it is in ``stops``."""
        names = [f"{u.name}.{name}" for u in self.units for row in u.guard_names for name in row if name]
        return list(dict.fromkeys(names))

    def with_guards(self, /, **actions: str) -> HybridSystem:
        """The same system with other actions (ignore, record, terminal) of some guards.

        The guards of contacts are what contacts are made of: they are recorded or terminal, and cannot be ignored.
        """
        own, units = {guard.name for guard in self.guards}, self.contact_guards
        stops = set(self.stops)
        for name, action in actions.items():
            if name not in own and name not in units:
                raise unknown_name("guard", name, [*own, *units], self.name)
            if name in own:
                continue
            if action not in ACTIONS:
                raise unknown_name("guard action", action, ACTIONS, f"guard {name}")
            if action == "ignore":
                raise InputError(
                    f"guard {name} of {self.name} cannot be ignored: without it the contact would be wrong; "
                    "it is recorded, or terminal"
                )
            (stops.add if action == "terminal" else stops.discard)(name)
        changed = tuple(replace(g, action=actions.get(g.name, g.action)) for g in self.guards)
        return self._changed(guards=changed, stops=frozenset(stops))

    def _changed(self, **fields: Any) -> HybridSystem:
        made = replace(self, **fields)
        # what was derived does not depend on values, laws or actions; constants depend on laws
        made.__dict__["derived"] = self.derived
        kept = {"first_rows", "row_names"} | (set() if "units" in fields else {"_constants"})
        made.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return made

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What was made of the model once, for this system and all that differ from it in numbers only."""
        return {}

    @cached_property
    def blank_arenas(self) -> dict[Any, Any]:
        """What was prepared for runs and journeys of this system and of all that differ from it in values only."""
        return {}

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Make something of the model unless it was made before."""
        if name not in self.derived:
            self.derived[name] = make()
        return self.derived[name]

    # -- state ------------------------------------------------------------------------------

    def state(self, given: Mapping[str, float] | Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """The state as a vector: from names (the default start for the rest) or from a vector."""
        names = self.state_names
        if given is None or isinstance(given, Mapping):
            vector = self._named_state(given or {})
        else:
            try:
                vector = np.array(given, dtype=float)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"state of {self.name} must be numbers, got {given!r}") from None
            if vector.shape != (len(names),):
                raise InputError(
                    f"state of {self.name} has {len(names)} entries ({', '.join(names)}), "
                    f"got an array of shape {vector.shape}"
                )
        for name, value in zip(names, vector, strict=True):
            if not math.isfinite(value):
                raise InputError(f"state of {self.name}: {name} must be finite, got {value}")
        if not self.unit_quaternions(vector[None])[0]:
            raise InputError(f"state of {self.name}: a quaternion must not be zero")
        return vector

    def unit_quaternions(self, rows: np.ndarray) -> np.ndarray:
        """Bring the quaternions of states, a row each, to length one; which of them can be."""
        good = np.ones(len(rows), dtype=bool)
        for place in self.mechanism.quaternions:
            parts = rows[:, place : place + 4]
            length = np.linalg.norm(parts, axis=1)
            good &= length > 0
            # what is of length one but for rounding stays as it is
            off = good & (np.abs(length - 1) > 1e-15)
            parts[off] /= length[off, None]
        return good

    def _named_state(self, given: Mapping[str, float]) -> np.ndarray:
        names, readings = self.state_names, reading_names(self)
        vector = np.zeros(len(names))
        for place in self.mechanism.quaternions:
            vector[place] = 1.0
        told = {}
        for source in (self.start_values, given):
            for name, value in source.items():
                if name in names:
                    vector[names.index(name)] = _number(name, value)
                elif name not in readings:
                    kind = "coordinate, velocity or reading" if readings else "coordinate or velocity"
                    raise unknown_name(kind, name, [*names, *readings], self.name)
                else:
                    told[name] = _number(name, value)
                    if not math.isfinite(told[name]):
                        raise InputError(f"state of {self.name}: {name} must be finite, got {told[name]}")
        kept = [name for name in given if name in names]
        if any(place <= names.index(name) < place + 4 for name in kept for place in self.mechanism.quaternions):
            # a posture told by a quaternion is not that of the default start
            told = {name: value for name, value in told.items() if name in given or name not in self.mechanism.readings}
        if told:
            return told_state(self, vector, told, kept, [name for name in given if name in readings])
        return vector

    def kinematics(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Clearances of all units and values of all guards at a state."""
        out = self.once("kinematics", self._kinematics)(t, x, self.parameter_values)
        values = np.array(out, dtype=float).reshape(-1)
        return values[: len(self.units)], values[len(self.units) :]

    def _kinematics(self) -> Any:
        d = self.dynamics
        expressions = [unit.clearance for unit in self.units] + [ca.SX(g.expression) for g in self.guards]
        return ca.Function("kinematics", [d.t, d.x, d.p], [ca.vertcat(*expressions)])

    def consistent(
        self,
        state: Mapping[str, float] | Sequence[float] | np.ndarray | None = None,
        mode: Mapping[str, str] | None = None,
        *,
        keep: Sequence[str] = (),
        rolling: bool = False,
    ) -> np.ndarray:
        """The nearest state, in the metric of the mass matrix, in which no closed grip moves and nothing slips that
        never does.

        Parameters
        ----------
        keep
            Names of velocities that stay as they are.
        rolling
            Let nothing slip that is on the ground to stay, whatever its friction.
        """
        return consistent(self, self.state(state), self.start_statuses(mode), keep, rolling)

    @cached_property
    def ideal_units(self) -> list[int]:
        """Places of the ground contacts whose friction is infinite: they never slip."""
        return [
            k
            for k, (unit, values) in enumerate(zip(self.units, self.unit_coefficients, strict=True))
            if unit.kind in GROUNDS and values[0] == math.inf
        ]

    def guard_sides(self, t: float, x: np.ndarray, values: np.ndarray) -> list[int]:
        """On which side of zero each guard begins: 1 or -1.

        One that is zero and counts in one direction begins on the side from which that is
        reached; one that counts in both, on the side to which it is going (without contacts).
        """
        sides = []
        for guard, value in zip(self.guards, values, strict=True):
            side = 1 if value > 0 else -1
            if value == 0:
                side = {"down": 1, "up": -1}.get(guard.direction, 0) or (1 if self._rate(guard, t, x) >= 0 else -1)
            sides.append(side)
        return sides

    def _rate(self, guard: Guard, t: float, x: np.ndarray) -> float:
        d = self.dynamics
        along = ca.vertcat(1, d.qdot, d.free_acceleration)
        rate = ca.jtimes(ca.SX(guard.expression), ca.vertcat(d.t, d.x), along)
        function = ca.Function("rate", [d.t, d.x, d.u, d.p], [rate])
        return float(function(t, x, np.zeros(d.u.numel()), self.parameter_values))

    def start_statuses(self, given: Mapping[str, str] | None = None) -> list[int]:
        """Statuses at the start, as numbers: grips are closed or not by their own default or as given.

        Those of other units follow from the state, and are zero here.
        """
        wanted = dict(given or {})
        statuses = []
        for unit, values in zip(self.units, self.unit_coefficients, strict=True):
            status = 1 if unit.kind == GRIP and unit.closed else 0  # type: ignore[attr-defined]
            if unit.name in wanted:
                word = wanted.pop(unit.name)
                if unit.kind != GRIP:
                    raise InputError(
                        f"{self.name}'s {unit.name}: its status follows from the state, only grips' are given"
                    )
                possible = [unit.statuses[k] for k in unit.possible(values)]
                if word not in possible:
                    raise unknown_name("status", word, possible, f"{self.name}'s {unit.name}")
                status = unit.statuses.index(word)
            statuses.append(status)
        for name in wanted:
            raise unknown_name("grip", name, [u.name for u in self.units if u.kind == GRIP], self.name)
        return statuses

    def mode_name(self, statuses: Sequence[int]) -> str:
        """What a mode is called: the unit's status, or every unit with its own; of many, those that are not open."""
        return " ".join(self.mode_words(statuses))

    def mode_words(self, statuses: Sequence[int]) -> list[str]:
        """The parts of a mode's name."""
        if not self.units:
            return ["free"]
        words = [unit.statuses[status] for unit, status in zip(self.units, statuses, strict=True)]
        if len(words) == 1:
            return words
        named = [(unit.name, word, status) for unit, word, status in zip(self.units, words, statuses, strict=True)]
        if len(words) > 3:  # only what is not open or free
            named = [entry for entry in named if entry[2] != 0]
        return [f"{name}:{word}" for name, word, _ in named] or ["open"]

    # -- numbers that do not change during a run ------------------------------------------------

    @cached_property
    def _constants(self) -> Any:
        """Masses, inertias, friction and law coefficients, and input limits, as functions of the parameters.

        In space the mass and inertia of a body are those of all that it is welded to.
        """
        m = self.mechanism
        wholes = {names: _whole(m, names) for names in self._welded.values()}
        groups = [
            [wholes[self._welded[name]][0] for name in m.bodies],
            [wholes[self._welded[name]][1] for name in m.bodies],
            [value for unit in self.units for value in unit.coefficients],
            [actuator.limit for actuator in m.actuators.values()],
        ]
        return ca.Function("constants", [m.p], [ca.vertcat(*map(ca.SX, group)) for group in groups])

    @property
    def constant_slopes(self) -> Any:
        """Derivatives of the coefficients of all units, and of the input limits, as functions of the parameters."""
        units, function = self.derived.get("constant slopes", (None, None))
        if units is not self.units:  # systems that differ in their laws share what was derived
            m = self.mechanism
            groups = [
                ca.vertcat(*(ca.SX(value) for unit in self.units for value in unit.coefficients), ca.SX.zeros(0)),
                ca.vertcat(*(ca.SX(actuator.limit) for actuator in m.actuators.values()), ca.SX.zeros(0)),
            ]
            function = ca.Function("slopes", [m.p], [ca.densify(ca.jacobian(group, m.p)) for group in groups])
            self.derived["constant slopes"] = (self.units, function)
        return function

    @cached_property
    def _welded(self) -> dict[str, tuple[str, ...]]:
        """Names of the bodies that each body is judged together with."""
        m = self.mechanism
        return welded(m) if m.dimension == 3 else {name: (name,) for name in m.bodies}

    @cached_property
    def constants(self) -> list[np.ndarray]:
        """The same as numbers."""
        return [np.array(group, dtype=float).reshape(-1) for group in self._constants(self.parameter_values)]

    @cached_property
    def unit_coefficients(self) -> list[list[float]]:
        """The numbers of each unit's behaviour, such as friction and law coefficients."""
        numbers = iter(self.constants[2])
        return [[float(next(numbers)) for _ in unit.coefficients] for unit in self.units]

    @property
    def laws(self) -> dict[str, Law]:
        """The impact law of each unit that takes one, with the numbers that its coefficients now are."""
        return {
            unit.name: replace(unit.law, coefficients=tuple(values[len(values) - len(unit.law.declared) :]))
            for unit, values in zip(self.units, self.unit_coefficients, strict=True)
            if unit.law is not None
        }

    @property
    def input_limits(self) -> np.ndarray:
        """Largest magnitude of each input."""
        return self.constants[3]

    def __deepcopy__(self, memo: Any) -> HybridSystem:
        return self  # nothing in it changes

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.packed, dict(self.values))

    def parts(self) -> dict[str, Any]:
        """What it consists of, without what was derived of that."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def packed(self) -> Packed:
        """All of it but the values of its parameters, as it is sent."""
        from saltus._pack import pack

        shared = self.blank_arenas  # with all that differ in values only
        if "packed" not in shared:
            parts = self.parts()
            del parts["values"]
            shared["packed"] = pack(parts, f"the robot {self.name}")
        made: Packed = shared["packed"]
        return made

    def _check_guards(self) -> None:
        m = self.mechanism
        known = {symbol.__hash__() for symbol in ca.symvar(ca.vertcat(m.t, m.q, m.v, m.p))}
        for guard in self.guards:
            try:
                expression = ca.SX(guard.expression)
            except NotImplementedError:  # how CasADi refuses what is no expression
                raise InputError(f"guard {guard.name!r} of {self.name} must be an expression") from None
            if expression.numel() != 1 or any(s.__hash__() not in known for s in ca.symvar(expression)):
                raise InputError(
                    f"guard {guard.name!r} of {self.name} must be one number made of its coordinates, velocities, "
                    f"parameters and time, got {guard.expression}"
                )

    def _check_gates(self) -> None:
        q = self.mechanism.q
        grips = {unit.name for unit in self.units if unit.kind == GRIP}
        for unit in self.units:
            if unit.gate is not None and unit.gate not in grips:
                raise InputError(f"{self.name}'s {unit.name} acts while {unit.gate} is closed, which is no grip of its")
            if unit.gate is not None and ca.depends_on(ca.jacobian(ca.SX(unit.rows[0][1]), q), q):
                raise InputError(f"{self.name}'s {unit.name}: its angle must be a sum of coordinates")

    def _check_constants(self) -> None:
        for body, mass, inertia in zip(self.mechanism.bodies.values(), *self.constants[:2], strict=True):
            alone = len(self._welded[body.name]) == 1
            where = f"body {body.name!r} of {self.name}" + ("" if alone else ", with all that is welded to it")
            if not 0 <= mass < math.inf:
                raise InputError(f"{where}: mass must be finite and not negative, got {mass:g} kg")
            if not 0 <= inertia < math.inf:
                raise InputError(f"{where}: inertia must be finite and not negative, got {inertia:g} kg m^2")
            if mass == 0 and inertia > 0:
                raise InputError(f"{where}: has inertia {inertia:g} kg m^2 but no mass")
        for unit, values in zip(self.units, self.unit_coefficients, strict=True):
            if not unit.allowed(np.array([values])).all():
                raise InputError(f"{self.name}'s {unit.name}: {unit.complaint(values)}")
        for name, limit in zip(self.mechanism.actuators, self.input_limits, strict=True):
            if not limit >= 0:
                raise InputError(f"limit of {self.name}'s actuator {name} must not be negative, got {limit:g}")


def _whole(m: Mechanism, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Mass and moment of inertia of a body; in space, the least of what must not be negative of its matrix, in kg m^2.

    These are the diagonal, the minors and the determinant; what rounding may have made negative counts as zero.
    """
    if m.dimension == 2:
        return m.bodies[names[0]].mass, m.bodies[names[0]].inertia
    mass, I = whole(m, names)
    size = I[0, 0] + I[1, 1] + I[2, 2]
    scale = ca.if_else(size > 0, size, 1)
    least = ca.fmin(ca.fmin(I[0, 0], I[1, 1]), I[2, 2])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        least = ca.fmin(least, (I[i, i] * I[j, j] - I[i, j] * I[j, i]) / scale)
    least = ca.fmin(least, ca.det(I) / scale**2)
    return mass, ca.if_else(least > -1e-12 * ca.fabs(size), ca.fmax(least, 0), least)


def _unpacked(packed: Packed, values: dict[str, float]) -> HybridSystem:
    """A system that was sent by its expressions."""
    return _received(packed).with_parameters(**values)


@lru_cache(maxsize=64)
def _received(packed: Packed) -> HybridSystem:
    """One system for all that arrive with the same content: what is derived of it is derived once."""
    from saltus._pack import unpack

    return HybridSystem(**unpack(packed))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
