"""How inputs reach the engine: a compiled controller by address, or a Python function behind the same address."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saltus._native import CONTROL, compile_entry, compiled
from saltus.contact import GRIP
from saltus.contact._unit import AGAIN, CLOSE, RELEASE
from saltus.engine import _layout as L
from saltus.engine._emit import SCOPE, emit
from saltus.engine._straight import straight
from saltus.errors import InputError, NotSendable, unknown_name
from saltus.hybrid import HybridSystem

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_INTEGERS = ctypes.POINTER(ctypes.c_int64)
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_double,
    _DOUBLES,
    _INTEGERS,
    _DOUBLES,
    _DOUBLES,
    _DOUBLES,
    ctypes.c_int64,
    _DOUBLES,
    _INTEGERS,
)


@dataclass(frozen=True)
class Command:
    """What a controller asks for: inputs by actuator; of grips, by name, ``close``, ``open``, ``again`` or ``keep``.

    ``again`` closes what is within reach at that instant, even if it has let go there and not left.
    """

    torques: Any = ()
    requests: Mapping[str, str] = field(default_factory=dict)


WISHES = {"close": CLOSE, "open": RELEASE, "keep": 0, "again": AGAIN}


def wishes(requests: Mapping[str, str], system: HybridSystem) -> list[int]:
    """What is asked of each unit, as a number; nothing of those that are not named."""
    grips = [unit.name for unit in system.units if unit.kind == GRIP]
    for name, wish in requests.items():
        if name not in grips:
            raise unknown_name("grip", name, grips, system.name)
        if wish not in WISHES:
            raise unknown_name("request", wish, WISHES, f"{system.name}'s {name}")
    return [WISHES[requests.get(unit.name, "keep")] for unit in system.units]


@dataclass(frozen=True)
class ControlParameter:
    """A number of a controller that runs can be differentiated by: where it is in its data, which break it moves."""

    name: str
    places: tuple[int, ...]
    moves: int = -1


@dataclass
class Control:
    """A controller bound to a system, in the form that the loop calls.

    ``kind`` is one of PASSIVE, CONTINUOUS, SAMPLED; ``data`` are its numbers, ``parameters`` those of them that have
    names, ``arrays`` those that are too many for it, by the place in ``data`` of their address; ``breaks`` are times at
    which its output may jump; ``alive`` is what must live as long as the address is in use, several things where it
    calls others; ``raised`` is where a Python function leaves what it raised, one place for all who stand before or
    behind it.

    ``check_start`` refuses, by an `InputError`, a start that it can do nothing with: it is called before a run with the
    state, the statuses and the values of the parameters. ``rough`` says, if anything, why runs with it have no
    derivatives.
    """

    kind: int = L.PASSIVE
    address: int = 0
    data: np.ndarray = field(default_factory=lambda: np.zeros(0))
    memory: np.ndarray = field(default_factory=lambda: np.zeros(0))
    breaks: np.ndarray = field(default_factory=lambda: np.zeros(0))
    period: float = 0.0
    parameters: tuple[ControlParameter, ...] = ()
    arrays: Mapping[int, np.ndarray] = field(default_factory=dict)
    alive: Any = None
    name: str = "passive"
    check_start: Callable[[np.ndarray, Sequence[int], np.ndarray], None] | None = None
    rough: str = ""
    raised: list[BaseException | None] = field(default_factory=lambda: [None], repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotSendable(
            f"{self.name}, as bound to its robot, has addresses of this process and cannot be sent to another: "
            "send the controller itself, and bind it there"
        )

    @property
    def failure(self) -> BaseException | None:
        """What a Python function raised, or an interrupt."""
        return self.raised[0]

    @failure.setter
    def failure(self, error: BaseException | None) -> None:
        self.raised[0] = error

    @property
    def parts(self) -> tuple[Any, ...]:
        """What must live, one by one."""
        return self.alive if isinstance(self.alive, tuple) else (self.alive,)

    @property
    def python(self) -> bool:
        """Whether there is a Python function in it, which sees no parameters of the robot."""
        return any(isinstance(part, _CALLBACK) for part in self.parts)

    @property
    def lasting(self) -> bool:
        """Whether many runs can share it: all of it is compiled, or there is nothing."""
        return self.kind == L.PASSIVE or not self.python


class ControlTable(Sequence[Control]):
    """Controllers that differ in their numbers and breaks only, of which each has as many: a row of both for each.

    ``one`` is any of them, as it is bound alone.
    """

    def __init__(self, one: Control, data: np.ndarray, breaks: np.ndarray):
        self.one, self.data, self.breaks = one, data, breaks

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, place: Any) -> Any:
        return replace(self.one, data=self.data[place], breaks=self.breaks[place])

    def rows(self, places: np.ndarray) -> ControlTable:
        """Those at some places."""
        return ControlTable(self.one, self.data[places], self.breaks[places])


class State:
    """The state as a controller sees it: by name, or as arrays ``q`` and ``v``."""

    __slots__ = ("_index", "q", "v", "x")

    def __init__(self, index: dict[str, int], x: np.ndarray, nq: int):
        self._index = index
        self.x = x
        self.q = x[:nq]
        self.v = x[nq:]

    def __getitem__(self, name: str) -> float:
        try:
            return float(self.x[self._index[name]])
        except KeyError:
            raise unknown_name("coordinate or velocity", name, self._index) from None


class Mode(Mapping[str, str]):
    """The mode as a controller sees it: the status of each unit by name."""

    __slots__ = ("_statuses", "_system")

    def __init__(self, system: HybridSystem, statuses: Sequence[int]):
        self._system = system
        self._statuses = statuses

    def __getitem__(self, unit: str) -> str:
        for one, status in zip(self._system.units, self._statuses, strict=True):
            if one.name == unit:
                return one.statuses[status]
        raise unknown_name("unit", unit, [u.name for u in self._system.units], self._system.name)

    def __iter__(self) -> Iterator[str]:
        return (unit.name for unit in self._system.units)

    def __len__(self) -> int:
        return len(self._system.units)

    def __str__(self) -> str:
        return self._system.mode_name(list(self._statuses))


_COMPILED: dict[Any, Any] = {}


def compiled_control(law: Callable[..., Any], **fields: Any) -> Control:
    """A controller written in the compiled subset: ``law(t, x, status, memory, p, data, piece, u, request)``."""
    if law not in _COMPILED:
        name = f"control-{getattr(law, '__name__', 'law')}"
        _COMPILED[law] = compile_entry(law, CONTROL, name)
    entry = _COMPILED[law]
    return Control(address=entry.place, alive=entry, **fields)


def seeing(law: Callable[..., Any], system: HybridSystem, name: str, expression: Any) -> Callable[..., Any]:
    """A law that finds values of expressions of the robot's state in the first places of its memory."""

    def make() -> Callable[..., Any]:
        d = system.dynamics
        source = emit("look", (d.t, d.x, d.u, d.p), expression)
        looking = straight(source, SCOPE)
        # compiled in other processes, two of one name would be taken for one
        looking.__qualname__ = f"look_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        look, decide = compiled(looking), compiled(law)

        def seen(t, x, status, memory, p, data, piece, u, request):  # type: ignore[no-untyped-def]
            look(t, x, u, p, memory)
            return decide(t, x, status, memory, p, data, piece, u, request)

        _COMPILED[seen] = compile_entry(seen, CONTROL, f"control-{name}")
        return seen

    made: Callable[..., Any] = system.once(f"control {name} of {expression}", make)
    return made


def python_control(
    function: Callable[..., Any], system: HybridSystem, kind: int, period: float, memory: int
) -> Control:
    """Any Python function ``(t, state, mode, memory) -> command`` as a controller.

    It is called through the same address as compiled ones, so both act at the same instants. An
    error it raises ends the run and is kept in ``failure``.
    """
    mechanism = system.mechanism
    nx, nu, nunit = mechanism.nq + mechanism.nv, len(mechanism.actuators), len(system.units)
    index = {name: k for k, name in enumerate(system.state_names)}
    actuators = list(mechanism.actuators)
    control = Control(kind=kind, memory=np.zeros(memory), period=period, name=getattr(function, "__name__", "python"))

    def call(t: float, x: Any, status: Any, mem: Any, p: Any, data: Any, piece: int, u: Any, request: Any) -> int:
        if isinstance(control.failure, KeyboardInterrupt):
            return 1
        try:
            state = State(index, np.ctypeslib.as_array(x, (nx,)).copy(), mechanism.nq)
            statuses = [status[k] for k in range(nunit)]
            answer = function(t, state, Mode(system, statuses), np.ctypeslib.as_array(mem, (memory,)))
            requests: Mapping[str, str] = {}
            if isinstance(answer, Command):
                requests = answer.requests
                answer = [0.0] * nu if np.size(answer.torques) == 0 else answer.torques
            for k, value in enumerate(_torques(answer, actuators, system.name)):
                u[k] = value
            for k, wish in enumerate(wishes(requests, system)):
                request[k] = wish
        except BaseException as error:  # noqa: BLE001 - crossing compiled code: kept, and raised on the other side
            control.failure = error
            return 1
        if isinstance(control.failure, Exception):
            control.failure = None  # a shorter step stays clear of what failed
        return 0

    callback = _CALLBACK(call)
    control.address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    control.alive = callback
    if nu == 0 and not any(unit.kind == GRIP for unit in system.units):
        raise InputError(f"{system.name} has no actuators and no grips, so it takes no controller")
    return control


def _torques(answer: Any, actuators: list[str], owner: str) -> list[float]:
    if isinstance(answer, Mapping):
        for name in answer:
            if name not in actuators:
                raise unknown_name("actuator", name, actuators, owner)
        return [float(answer.get(name, 0.0)) for name in actuators]
    if np.ndim(answer) == 0:
        answer = [answer]
    values = [float(value) for value in answer]
    if len(values) != len(actuators):
        raise InputError(
            f"a controller of {owner} must return {len(actuators)} inputs ({', '.join(actuators)}), got {len(values)}"
        )
    return values
