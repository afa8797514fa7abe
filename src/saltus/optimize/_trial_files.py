"""Files of impulse trials, which know the robot that they belong to."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np

from saltus._write import check_path, write
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._impulses import Swinger, Trials

FORMAT = "saltus impulses 1"

# Parameters that tell where bars or a rope are.
_WORLD = re.compile(r"bar\d|rope_")

# Values are the same if they are to this share.
SAME = 1e-12


def save_trials(path: str | Path, swinger: Swinger, trials: Trials) -> Path:
    """Write trials to a file, .npz, with the robot's parameters, whole or not at all."""
    target = Path(path)
    check_path(target, (".npz",))
    head = {"format": FORMAT, "robot": swinger.robot.name, "holds": swinger.holds, "parameters": _counting(swinger)}
    content = io.BytesIO()
    arrays = {name: array if array.dtype == bool else array.astype(np.float32) for name, array in vars(trials).items()}
    np.savez_compressed(content, head=np.array(json.dumps(head)), **arrays)  # type: ignore[arg-type]
    return write(target, content.getvalue())


def read_trials(path: str | Path, robot: HybridSystem) -> Trials:
    """Read trials from a file; refused if it is damaged, or not of this robot."""
    try:
        with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(str(arrays.pop("head")))
        known = head["format"] == FORMAT
        numbers = {name: array if array.dtype == bool else array.astype(float) for name, array in arrays.items()}
        trials = Trials(**numbers)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001 - a damaged archive fails in many ways
        raise InputError(f"{path} is not a file of impulses, or damaged: {error}") from None
    if not known:
        raise InputError(f"{path} is a file of another kind, {head['format']!r}; this is for {FORMAT!r}")
    if head["robot"] != robot.name:
        raise InputError(f"these trials are of {head['robot']}, not of {robot.name}")
    for name, value in head["parameters"].items():
        own = robot.values.get(name, np.nan)
        if not abs(own - value) <= SAME * max(abs(own), abs(value)):
            raise InputError(
                f"these trials are of a {robot.name} with {name} = {value:.12g}, and here {name} = {own:.12g}"
            )
    return trials


def _counting(swinger: Swinger) -> dict[str, float]:
    """Values of the robot's own parameters: where bars are does not count."""
    return {name: value for name, value in swinger.robot.values.items() if not _WORLD.match(name)}
