"""Names of a package that are loaded when they are first used: who does without them does not wait for them."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def loaded_later(package: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package: it loads what the package imports under ``if TYPE_CHECKING:``.

    Parameters
    ----------
    package
        Its ``__name__``.
    """
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_bytes())
    blocks = [node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    where = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(where[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
