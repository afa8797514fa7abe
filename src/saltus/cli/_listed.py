"""All that can be used by name: what is saltus's own is read from its files, and only plugins are loaded."""

from __future__ import annotations

import ast
from typing import Any

from saltus import registry
from saltus.errors import SaltusError


def everything() -> dict[str, Any]:
    """All that can be used by name, which file each plugin is, and what is wrong with the others."""
    problems = {str(path): reason for path, reason in registry.problems().items()}
    usable: dict[str, dict[str, str]] = {kind: {} for kind in registry.KINDS}
    for kind, found in usable.items():
        for name in registry.names(kind):
            try:
                found[name] = _described(kind, name)
            except SaltusError as error:
                problems[str(registry.where(kind, name))] = str(error)
    return {
        "robots": usable.pop("robots"),
        **{kind: list(found) for kind, found in usable.items()},
        "plugins": {
            f"{entry.kind}/{entry.name}": str(entry.path)
            for entry in registry.plugins()
            if str(entry.path) not in problems
        },
        "problems": problems,
    }


def _described(kind: str, name: str) -> str:
    """What a robot is, in one line, and nothing for other kinds; a plugin that cannot be used raises its error."""
    entry = registry.find(kind, name)
    if kind == "robots":
        return (None if entry.plugin else written_description(entry)) or _built_description(name)
    if entry.plugin:
        _load(kind, name)
    return ""


def written_description(entry: registry.Entry) -> str | None:
    """The text that the function ``build`` of a robot's file gives as ``about``; None where no or several texts are."""
    found: list[str] = []
    for function in ast.parse(entry.path.read_bytes()).body:
        if isinstance(function, ast.FunctionDef) and function.name == "build":
            calls = [getattr(statement, "value", None) for statement in function.body]
            words = [word for call in calls if isinstance(call, ast.Call) for word in call.keywords]
            values = [word.value for word in words if word.arg == "about"]
            found += [str(value.value) for value in values if isinstance(value, ast.Constant)]
    return found[0] if len(found) == 1 else None


def _built_description(name: str) -> str:
    from saltus.robots import find_robot

    return find_robot(name).about


def _load(kind: str, name: str) -> None:
    """Load a plugin, and see whether it is what its kind asks for."""
    from saltus.contact import find_law
    from saltus.control import find_controller
    from saltus.engine import find_method

    finders: dict[str, Any] = {"controllers": find_controller, "laws": find_law, "methods": find_method}
    if kind in finders:
        finders[kind](name)
    else:
        registry.load(kind, name)
