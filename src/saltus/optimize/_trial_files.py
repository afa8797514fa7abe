"""Files of impulse trials, which know the robot that they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from saltus._records import load_arrays, save_arrays
from saltus._write import check_path
from saltus.control._hands import two_hands
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._impulses import Swinger, Trials

FORMAT = "saltus impulses 3"

_WORLD = re.compile(r"bar\d|rope_")

# Values are the same if they are to this share.
SAME = 1e-12


def save_trials(path: str | Path, swinger: Swinger, trials: Trials) -> Path:
    """Write trials to a file, .npz, with the robot's parameters, whole or not at all, in double precision."""
    target = Path(path)
    check_path(target, (".npz",))
    arrays = {name: array if array.dtype == bool else array.astype(np.float64) for name, array in vars(trials).items()}
    _check_arrays(arrays)
    head = {"robot": swinger.robot.name, "holds": swinger.holds, "parameters": _counting(swinger.robot)}
    return save_arrays(target, FORMAT, head, arrays)


def read_trials(path: str | Path, robot: HybridSystem) -> Trials:
    """Read trials from a file; refused if it is damaged, or not of this robot."""
    head, arrays = load_arrays(Path(path), FORMAT, [one.name for one in fields(Trials)])
    try:
        _check_head(head)
        _check_arrays(arrays)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from None
    _check_robot(head, robot)
    return Trials(**arrays)


def _check_head(head: Mapping[str, Any]) -> None:
    for name in ("robot", "holds"):
        if not isinstance(head.get(name), str):
            raise InputError(f"it does not name its {name}")
    values = head.get("parameters")
    if not isinstance(values, dict) or not all(
        isinstance(value, Real) and not isinstance(value, bool) for value in values.values()
    ):
        raise InputError("its parameters are not numbers by name")


def _check_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse what are not trials: rows of one length, one of them truth values and the others numbers."""
    names = [one.name for one in fields(Trials)]
    if set(arrays) != set(names):
        raise InputError(f"trials are {', '.join(names)}, and there are {', '.join(arrays) or 'none'}")
    for name, array in arrays.items():
        kind = "b" if name == "reached" else "f"
        if array.dtype.kind != kind:
            raise InputError(f"{name} is of {'truth values' if kind == 'b' else 'numbers'}, not of {array.dtype}")
        if array.ndim != 1 or len(array) != len(arrays["start"]):
            raise InputError(f"all of trials are rows of one length, and {name} has the shape {array.shape}")


def _check_robot(head: Mapping[str, Any], robot: HybridSystem) -> None:
    """Refuse trials of another robot, or of one with other parameters."""
    if head["robot"] != robot.name:
        raise InputError(f"these trials are of {head['robot']}, not of {robot.name}")
    holds, _ = two_hands(robot, (), "impulses")
    if head["holds"] != holds:
        raise InputError(f"these trials are held by {head['holds']}, and {robot.name} here by {holds}")
    own = _counting(robot)
    for name in own.keys() ^ head["parameters"].keys():
        raise InputError(
            f"these trials are of a {robot.name} {_with(name, head['parameters'])}, and this is {_with(name, own)}"
        )
    for name, value in head["parameters"].items():
        if not abs(own[name] - value) <= SAME * max(abs(own[name]), abs(value)):
            raise InputError(
                f"these trials are of a {robot.name} with {name} = {value:.12g}, and here {name} = {own[name]:.12g}"
            )


def _with(name: str, values: Mapping[str, float]) -> str:
    return f"{'with' if name in values else 'without'} a parameter {name}"


def of_world(name: str) -> bool:
    """Whether a parameter tells where bars or a rope are."""
    return _WORLD.match(name) is not None


def _counting(robot: HybridSystem) -> dict[str, float]:
    """Values of the robot's own parameters: where bars are does not count."""
    return {name: float(value) for name, value in robot.values.items() if not of_world(name)}
