"""Names of a package that are loaded when they are first used: who does without them does not wait for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def loaded_later(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        Its ``__name__``.
    modules
        The names that each of its modules defines. A type checker needs them imported under ``TYPE_CHECKING`` too.
    """
    where = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return get
