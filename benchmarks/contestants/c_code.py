"""The yardstick: `dopri5.c`, compiled when asked for and called through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from contestants.problem import BY_HAND, COUNT, SPACING, TOLERANCE, Contestant, robot, start

COMMAND = ("gcc", "-O3", "-march=native", "-shared", "-fPIC")
SOURCE = Path(__file__).parent.parent / "dopri5.c"
_PARAMETERS = ("m1", "m2", "L1", "L2", "r1", "r2", "I1", "I2", "g")


def _compiled() -> Any:
    """The C function ``simulate``; its library stays loaded after the folder is gone."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "dopri5.so"
        subprocess.run([*COMMAND, str(SOURCE), "-o", str(library), "-lm"], check=True)
        function = ctypes.CDLL(str(library)).simulate
    pointer, double = ctypes.c_void_p, ctypes.c_double
    function.argtypes = [pointer, pointer, double, double, double, ctypes.c_long, pointer, pointer]
    function.restype = ctypes.c_int
    return function


def contestants() -> list[Contestant]:
    """The C code; its output array is allocated beforehand."""
    function = _compiled()
    parameters = np.array([robot().values[name] for name in _PARAMETERS])
    arrays = (parameters, start(), np.zeros((COUNT + 1, 4)), np.zeros(2, dtype=np.int64))

    def solve(addresses: list[int]) -> np.ndarray:
        p, x0, out, tally = addresses
        if function(p, x0, TOLERANCE, TOLERANCE, SPACING, COUNT, out, tally) != 0:
            raise RuntimeError("dopri5.c found no step small enough")
        return arrays[2]

    return [Contestant(BY_HAND, lambda: [array.ctypes.data for array in arrays], solve, lambda out: out)]
