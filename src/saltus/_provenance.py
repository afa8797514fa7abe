"""What made a file: versions of saltus, Python and the libraries that numbers depend on, and the processor."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "casadi", "numba", "llvmlite", "xarray", "matplotlib")


def provenance() -> dict[str, str]:
    """Versions and the processor, by name; nothing that names a computer, a person or a folder."""
    return dict(_found())


def provenance_line() -> str:
    """The same in one line, for files whose attributes are plain text."""
    return "; ".join(f"{name} {value}" for name, value in _found())


@lru_cache(maxsize=1)
def _found() -> tuple[tuple[str, str], ...]:
    from saltus import __version__

    rows = [("saltus", __version__), ("Python", platform.python_version())]
    for name in LIBRARIES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:  # vendored or frozen: there is no record of it
            continue
    return (*rows, ("machine", f"{platform.system()} {platform.machine()}"), ("processor", processor()))


def processor() -> str:
    """The processor's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
