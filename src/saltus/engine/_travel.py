"""A run that is sent to another process: its record goes along, and machine code is found or made where it arrives."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from saltus.engine import _layout as L
from saltus.engine._control import Control
from saltus.engine._program import arenas
from saltus.engine._trajectory import Trajectory
from saltus.errors import SaltusError, words
from saltus.hybrid import HybridSystem
from saltus.registry import PluginPaths

# What a trajectory consists of, beside its controller: all but what is bound to one process.
_FIELDS = (
    "system", "method", "rtol", "atol", "start_time", "requested_end", "output_step", "initial",
    "initial_mode", "status", "integers", "doubles", "step_rows", "event_rows",
)  # fmt: skip


def packed(run: Trajectory) -> tuple[Any, ...]:
    """How pickle sends a run."""
    from saltus._pack import sendable

    controller = sendable(run.controller, f"{run.control.name}, a controller of {run.system.name},")
    fields = {name: getattr(run, name) for name in _FIELDS}
    return unpacked, (PluginPaths(), controller, portable(run.control.failure), fields)


def copied(run: Trajectory, memo: dict[int, Any]) -> Trajectory:
    """A copy that shares nothing that may change."""
    fields = {name: copy.deepcopy(getattr(run, name), memo) for name in _FIELDS}
    return unpacked(PluginPaths(), copy.deepcopy(run.controller, memo), run.control.failure, fields)


def content(run: Trajectory) -> dict[str, Any]:
    """What makes runs equal: all but what is bound to one process, and where code and numbers lie in it."""
    integers, doubles = run.integers.copy(), run.doubles.copy()
    integers[list(L.ADDRESSES)] = 0
    integers[integers[L.LAW] : integers[L.LAW] + integers[L.NUNIT]] = 0
    doubles[integers[L.DATA] : integers[L.DATA] + run.control.data.size] = 0.0  # those of the controller
    failure = run.control.failure
    return {name: getattr(run, name) for name in _FIELDS} | {
        "integers": integers, "doubles": doubles, "controller": run.controller,
        "failure": None if failure is None else words(failure),
    }  # fmt: skip


class RemoteError(SaltusError):
    """An error of another process that could not be sent, in its words."""

    def __repr__(self) -> str:
        return str(self)


def portable(failure: BaseException | None) -> Any:
    """What a controller raised, or on arrival its words, where the error itself cannot be sent or made again."""
    return None if failure is None else _Failure(failure)


class _Failure:
    """Stands for an error, and becomes it, or its words, on arrival."""

    def __init__(self, failure: BaseException):
        self.failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        from saltus._pack import sendable

        said = words(self.failure)
        try:
            return _arrived, (said, pickle.dumps(sendable(self.failure, said)))
        except Exception:  # noqa: BLE001 - an error of somebody's own may fail in any way
            return RemoteError, (said,)


def _arrived(said: str, sent: bytes) -> BaseException:
    try:
        failure = pickle.loads(sent)
    except Exception:  # noqa: BLE001 - as above
        return RemoteError(said)
    return failure if isinstance(failure, BaseException) else RemoteError(said)


def unpacked(
    plugins: PluginPaths, controller: Any, failure: BaseException | None, fields: dict[str, Any]
) -> Trajectory:
    """The run again, with the addresses of this process."""
    from saltus.engine._simulate import bind

    system, integers, doubles = fields["system"], fields["integers"].copy(), fields["doubles"].copy()
    control = bind(controller, system)
    control.failure = failure
    fresh, _ = arenas(
        system, fields["method"], control.data.size, control.memory.size, control.breaks.size,
        bool(integers[L.N] > integers[L.NX]),
    )  # fmt: skip
    _check(system, control, integers, fresh)
    integers[list(L.ADDRESSES)] = fresh[list(L.ADDRESSES)]
    laws = slice(fresh[L.LAW], fresh[L.LAW] + fresh[L.NUNIT])
    integers[laws] = fresh[laws]
    integers[L.CONTROL] = control.address
    # the numbers of a controller may be addresses of others
    doubles[integers[L.DATA] : integers[L.DATA] + control.data.size] = control.data
    fields |= {"integers": integers, "doubles": doubles}
    return Trajectory(**fields, control=control, controller=controller)


def _check(system: HybridSystem, control: Control, I: np.ndarray, fresh: np.ndarray) -> None:
    """Refuse a record whose numbers lie elsewhere here."""
    sizes = (L.NX, L.N, L.NUNIT, L.NROW, L.NUSER, L.NBREAK, L.DATA, L.MEM, L.STEP_ROW, L.EVENT_ROW)
    if len(I) != len(fresh) or any(I[place] != fresh[place] for place in sizes):
        raise SaltusError(
            f"this run of {system.name} with {control.name} was made by another version of the robot, of the "
            "controller or of saltus, and cannot be read here"
        )
