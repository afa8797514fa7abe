"""The verbs by name: each is loaded when it is used, and its short help is read from its file."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
import typer.core
import typer.main

# The file of each verb, in the order of the help.
VERBS = {
    "list": "_inspect",
    "check": "_inspect",
    "run": "_runs",
    "graph": "_graph",
    "linearize": "_linearize",
    "painleve": "_contacts",
    "laws": "_contacts",
    "export": "_urdf",
    "gait": "_gaits",
    "search": "_search",
    "collisionless": "_search",
    "family": "_search",
    "map": "_gaits",
    "region": "_region",
    "optimize": "_optimize",
    "trade": "_optimize",
    "train": "_train",
    "robustness": "_robustness",
    "compare": "_compare",
    "reproduce": "_papers",
}

# Options of the whole command that may stand after a verb too.
COMMON = ("plugins", "report", "force")


class VerbGroup(typer.core.TyperGroup):
    """A command whose verbs are loaded one by one."""

    def __init__(self, *, commands: Any = None, **rest: Any) -> None:
        super().__init__(commands=commands, **rest)
        common = [option for option in self.params if option.name in COMMON]
        self.commands: Any = _LoadedVerbs(common)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs; the base class would load them all."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs with their short help; the base class would load them all."""
        width = formatter.width - 6 - max(map(len, VERBS))
        rows = [
            (name, typer.core.TyperCommand(name, help=text).get_short_help_str(width))
            for name, text in verb_helps().items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class _LoadedVerbs(Mapping[str, Any]):
    """Commands by name, each made when it is first looked up."""

    def __init__(self, common: list[Any]) -> None:
        self._common = common
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(_callback(name))
            self._made[name] = typer.main.get_command(alone)
            self._made[name].params += self._common
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


def _callback(name: str) -> Callable[..., None]:
    """The function of a verb; an unknown name is a KeyError, as of any mapping."""
    module = importlib.import_module(f"saltus.cli.{VERBS[name]}")
    callback: Callable[..., None] = next(one.callback for one in module.app.registered_commands if one.name == name)
    return callback


def verb_helps() -> dict[str, str]:
    """The help of every verb by name: the docstrings of their functions, read from the files without running them."""
    found: dict[str, str] = {}
    for file in dict.fromkeys(VERBS.values()):
        tree = ast.parse((Path(__file__).parent / f"{file}.py").read_bytes())
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            for name in filter(None, map(_verb_name, function.decorator_list)):
                found[name] = ast.get_docstring(function) or ""
    return {name: found[name] for name in VERBS}


def _verb_name(decorator: ast.expr) -> str:
    """The name in ``@app.command("name")``; nothing for another decorator."""
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "app.command":
        return str(ast.literal_eval(decorator.args[0]))
    return ""
