"""Run a command as if on another processor: ``python tests/processors.py SETTING COMMAND...``.

A setting switches all four sources of difference together: the instructions that compiled code may use (LLVM), the
versions of functions of the C library (glibc), NumPy's own SIMD, and the kernels of OpenBLAS. ``host`` switches none.
``generic`` is the least that the architecture has: no FMA, no AVX. ``other`` is a processor of the other maker, as far
as the host has its instructions.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import llvmlite.binding as llvm
from numpy._core import _multiarray_umath as numpy_core

SETTINGS = ("host", "generic", "other")
VARIABLES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "GLIBC_TUNABLES", "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE")

# What glibc, by its names of before and after 2.33, may not use of a processor.
_NO_FMA = ("AVX_Usable", "AVX2_Usable", "FMA_Usable", "FMA4_Usable", "AVX512F_Usable", "AVX", "AVX2", "FMA", "FMA4")
_NO_AVX512 = ("AVX512F_Usable", "AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ", "Prefer_No_AVX512_Probing")


def environment(setting: str) -> dict[str, str]:
    """The variables that make a process compute as on that processor."""
    if setting == "host" or platform.machine() not in ("x86_64", "AMD64"):
        return {}
    if setting == "generic":
        return {
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "GLIBC_TUNABLES": _without(_NO_FMA + _NO_AVX512),
            "NPY_DISABLE_CPU_FEATURES": _numpy_without("X86_V", "AVX"),
            "OPENBLAS_CORETYPE": "Prescott",
        }
    if setting == "other":
        features = llvm.get_host_cpu_features()
        intel = llvm.get_host_cpu_name().startswith(("znver", "bdver", "btver", "x86-64", "amdfam")) is False
        has = {name for name, there in features.items() if there and not name.startswith(("avx512", "avx10", "amx"))}
        wide = {"avx2", "fma"} <= has
        return {
            "NUMBA_CPU_NAME": ("znver3" if intel else "haswell") if wide else "x86-64",
            "NUMBA_CPU_FEATURES": ",".join(("+" if name in has else "-") + name for name in sorted(features)),
            "GLIBC_TUNABLES": _without(_NO_AVX512),
            "NPY_DISABLE_CPU_FEATURES": _numpy_without("X86_V4", "AVX512"),
            "OPENBLAS_CORETYPE": ("Zen" if intel else "Haswell") if wide else "Nehalem",
        }
    raise SystemExit(f"no setting {setting!r}; there are {', '.join(SETTINGS)}")


def _without(names: tuple[str, ...]) -> str:
    return "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in names)


def _numpy_without(*beginnings: str) -> str:
    """The features that NumPy could use here and shall not; it complains of others."""
    features, choices = numpy_core.__cpu_features__, numpy_core.__cpu_dispatch__
    return " ".join(name for name in choices if name.startswith(beginnings) and features.get(name))


def main() -> None:
    """Run the command, and end as it ends."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    setting, *command = sys.argv[1:]
    chosen = environment(setting)
    print(f"processor setting {setting}: " + (", ".join(f"{k}={v[:40]}" for k, v in chosen.items()) or "as it is"))
    sys.stdout.flush()
    # one setting may run another, as a test does
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    raise SystemExit(subprocess.call(command, env={**kept, **chosen}))


if __name__ == "__main__":
    main()
