"""All that can be used by name, as the files say it: no plugin is run for a list."""

from __future__ import annotations

import ast
from typing import Any

from saltus import registry


def everything() -> dict[str, Any]:
    """All that can be used by name, which file each plugin is, and what is wrong with the others."""
    problems = {str(path): reason for path, reason in registry.problems().items()}
    usable = {kind: registry.names(kind) for kind in registry.KINDS}
    return {
        "robots": {name: _description(name) for name in usable.pop("robots")},
        **usable,
        "plugins": {f"{entry.kind}/{entry.name}": str(entry.path) for entry in registry.plugins()},
        "problems": problems,
    }


def _description(name: str) -> str:
    """What a robot is, in one line. That of a plugin is the text in its file, if it is plain there."""
    entry = registry.find("robots", name)
    written = written_description(entry)
    if written is None:
        return f"(see saltus list {name})" if entry.plugin else _built_description(name)
    return written


def written_description(entry: registry.Entry) -> str | None:
    """The text that the function ``build`` of a robot's file gives as ``about``; None where no or several texts are."""
    found: list[str] = []
    for function in registry.statements(entry.path):
        if isinstance(function, ast.FunctionDef) and function.name == "build":
            calls = [getattr(statement, "value", None) for statement in function.body]
            words = [word for call in calls if isinstance(call, ast.Call) for word in call.keywords]
            values = [word.value for word in words if word.arg == "about"]
            found += [str(value.value) for value in values if isinstance(value, ast.Constant)]
    return found[0] if len(found) == 1 else None


def _built_description(name: str) -> str:
    from saltus.robots import find_robot

    return find_robot(name).about
